"""``python -m relayout``, and what the command ``relayout`` starts: the command line, or what it lacks."""

import sys

from .missing import NEEDED, missing_package


def main() -> None:
    """Run the command line; a package that is missing is told in a sentence."""
    try:
        from .cli.main import main as run

        run()
    except ImportError as error:
        if error.name not in NEEDED:
            raise
        told = missing_package(error.name)
        sys.stderr.write(f"{told.message}\nHint: {told.hint}\n")
        sys.exit(3)


if __name__ == "__main__":
    main()
