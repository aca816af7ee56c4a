"""``python -m relayout``: the command line."""

from .cli.main import main

main()
