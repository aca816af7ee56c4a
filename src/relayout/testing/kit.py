"""``conformance``: finds the kit of laws for what is to be checked."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any

from ..errors import ShapeError, shown
from .laws import ConformanceError

__all__ = ["ConformanceError", "conformance"]


def conformance(x: Any, *, samples: Iterable[str | PathLike[str]] = ()) -> None:
    """Check a container, or the one of that name, and raise a ``ConformanceError`` that names every law it breaks.

    ``samples`` are valid files of a container that is read only, which the kit cannot make itself. Everything is
    written to a temporary folder.
    """
    from .containers import check_container, find_container

    container = find_container(x)
    if container is None:
        raise ShapeError(f"there is nothing to check in {shown(x)}.", hint="pass a container, or its name", got=x)
    check_container(container, samples)
