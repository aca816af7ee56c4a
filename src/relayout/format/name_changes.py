"""Who remembers what the names of the catalog mean, and forgets it when a program adds or removes one."""

from __future__ import annotations

from collections.abc import Callable

_caches: list[Callable[[], None]] = []


def clear_on_change(clear: Callable[[], None]) -> None:
    """Call ``clear`` whenever a name comes or goes: for whoever remembers what a name means."""
    _caches.append(clear)


def clear_caches() -> None:
    """Tell all of them that a name came or went."""
    for clear in _caches:
        clear()
