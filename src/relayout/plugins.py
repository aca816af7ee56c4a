"""Entry points of other packages, looked for where packages are installed before Python's own reader is asked."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from .errors import ShapeError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def entry_points_of(group: str) -> list[EntryPoint]:
    """The entry points of a group, by their names.

    ``importlib.metadata`` takes longer to import than most questions take to answer: it is left alone where no package
    in the folders of ``sys.path`` names the group.
    """
    others = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions") and finder is not PathFinder]
    told = None if others else _told_in(tuple(sys.path))
    if told is not None and f"[{group}]" not in told:
        return []
    from importlib.metadata import entry_points

    return sorted(entry_points(group=group), key=lambda point: point.name)


def load_entry(point: Any, what: str, **operands: Any) -> Any:
    """What an entry point names; refused, as this kind of thing of another package, where it cannot be imported."""
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise ShapeError(
            f"the {what} {point.name!r} of another package cannot be imported: {error}.",
            hint="repair or remove the package that names it in its entry points",
            **operands,
        ) from error


def near_or_known(name: Any, names: list[str]) -> str:
    """The hint for a name that there is not: those most like it, and all."""
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), names, 3, 0.3) if isinstance(name, str) else []
    known = ", ".join(names)
    return f"did you mean {' or '.join(near)}? There are {known}" if near else f"there are {known}"


@lru_cache(maxsize=8)
def _told_in(folders: tuple[str, ...]) -> str | None:
    """The texts of all entry points that name relayout; None where something else than a folder may hold some."""
    found = []
    for folder in folders:
        try:
            packages = [x.path for x in os.scandir(folder or ".") if x.name.endswith((".dist-info", ".egg-info"))]
        except FileNotFoundError:
            continue
        except OSError:
            return None
        for package in packages:
            try:
                # pathlib takes as long to import as all of this.
                with open(f"{package}/entry_points.txt", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
                    text = file.read()
            except OSError:
                continue
            if "relayout." in text:
                found.append(text)
    return "\n".join(found)
