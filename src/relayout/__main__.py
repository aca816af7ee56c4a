"""``python -m relayout``, and what the command ``relayout`` starts: the command line, or what it lacks."""

import sys

NEEDED = ("click", "numpy", "rich")
"""The packages that the command line does not run without."""


def main() -> None:
    """Run the command line; a package that is missing is told in a sentence."""
    try:
        from .cli.main import main as run

        run()
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        told = f"relayout needs {error.name}, which is not installed.\nHint: python -m pip install {error.name}\n"
        sys.stderr.write(told)
        sys.exit(3)


if __name__ == "__main__":
    main()
