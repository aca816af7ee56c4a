"""Packages that relayout imports when they are first needed: where one is not installed, a sentence says so."""

from __future__ import annotations

import sys
from typing import Any

from .errors import MissingPackage

NEEDED = ("numpy", "click", "rich")
"""What is installed with relayout, and so is missing only where somebody left it out."""


class MissingPackages:
    """The last of Python's finders: it is asked for what no other found, and speaks where relayout asks."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        """Raise ``MissingPackage`` for an import by relayout of what it needs; nothing else is found or refused."""
        if name in NEEDED and _importer() == __package__:
            raise missing_package(name)


def missing_package(name: str) -> MissingPackage:
    """The error that says which package is not installed; in the page of a browser none can be."""
    if sys.platform == "emscripten":
        hint = "install relayout, and `relayout explore` answers it"
        return MissingPackage(f"this needs {name}, which is not in this page.", hint=hint, name=name)
    return MissingPackage(
        f"relayout needs {name}, which is not installed.", hint=f"python -m pip install {name}", name=name
    )


def _importer() -> str:
    """The package whose code is importing something."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(("importlib", __name__)):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def watch_imports() -> None:
    """Have missing packages told of from here on."""
    if MissingPackages not in sys.meta_path:
        sys.meta_path.append(MissingPackages)
