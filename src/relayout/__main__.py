"""``python -m relayout``: the command line."""

from .cli import main

main()
