"""Entry points of other packages, looked for where packages are installed before Python's own reader is asked."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

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
