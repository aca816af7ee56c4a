"""The architectures by name: those of this package, one module a vendor, and those that other packages add.

Another package adds one by an entry point in the group ``relayout.architectures`` that names an ``Architecture``. It is
found, listed and proven (``relayout.testing``) as the built-in ones are.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from ..errors import ShapeError, shown
from ..plugins import entry_points_of, load_entry
from .architecture import Architecture

VENDORS = ("nvidia", "amd")
"""The modules of this package that have ``ARCHITECTURES``."""

ENTRY_POINTS = "relayout.architectures"
"""The group of entry points that other packages name their architectures in."""


def architecture_named(name: str | Architecture) -> Architecture:
    """The architecture of that name: ``sm90``, ``sm_90a``, ``Hopper`` and ``H200`` are one."""
    if isinstance(name, Architecture):
        return name
    if not isinstance(name, str):
        raise ShapeError(f"an architecture is a name, not {shown(name)}.", hint="write sm90 or gfx942", arch=name)
    known = _by_name()
    wanted = _plain(name)
    found = known.get(wanted) or known.get(wanted.rstrip("af") if wanted.startswith("sm") else wanted)
    if found is not None:
        return found
    if wanted in _entry_points():
        return _load(wanted)
    raise ShapeError(f"there is no architecture {shown(name)}.", hint=_near(wanted), arch=name)


def architecture_names() -> list[str]:
    """Every architecture's name: the built-in ones, then those of other packages."""
    return [*dict.fromkeys(found.name for found in _by_name().values()), *_entry_points()]


def _plain(name: str) -> str:
    """A name without what spellings differ in: ``SM_90``, ``sm-90`` and ``compute_90`` are ``sm90``."""
    text = "".join(c for c in name.strip().lower() if c not in "_- ")
    text = text.partition(":")[0] if text.startswith("gfx") else text
    return f"sm{text.removeprefix('compute')}" if text.startswith("compute") else text


@cache
def _by_name() -> dict[str, Architecture]:
    built_in = [one for vendor in VENDORS for one in import_module(f".{vendor}", __package__).ARCHITECTURES]
    return {one.name: one for one in built_in} | {alias: one for one in built_in for alias in one.aliases}


@cache
def _entry_points() -> dict[str, Any]:
    points = entry_points_of(ENTRY_POINTS)
    return {_plain(point.name): point for point in points if _plain(point.name) not in _by_name()}


@cache
def _load(name: str) -> Architecture:
    found = load_entry(_entry_points()[name], "architecture", arch=name)
    if not isinstance(found, Architecture):
        hint = "repair or remove the package that names it in its entry points"
        raise ShapeError(f"what another package names {name!r} is no Architecture.", hint=hint, arch=name, got=found)
    return found


def _near(wanted: str) -> str:
    from difflib import get_close_matches

    names = [*_by_name(), *_entry_points()]
    close = get_close_matches(wanted[:80], names, 4, 0.5)
    return f"did you mean {', '.join(close)}?" if close else f"there are {', '.join(architecture_names())}"
