"""Layouts from threads and values to the places of a tile: who holds what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product as cartesian
from typing import Any

from ..algebra.linear import LinearLayout
from ..errors import LimitExceeded, ShapeError, shown
from ..integers.inttuple import as_shape
from ..integers.nested import flatten, product
from ..layout.layout import Layout
from .panes import Subject
from .scene import CATEGORIES, HTML_CELLS, PLAIN, Grid, Pane, PaneAxis, Scene

Owner = tuple[int, int]
"""A thread and the number of its value."""

OWNERS = 1 << 17
"""The most values of all threads."""


def threads_scene(subject: Subject, tile: Any, limit: int) -> Scene:
    """The tile of a layout whose first mode is the thread, whose second the value, and whose values count places.

    Places are counted colexicographically, as CuTe does.
    """
    layout, sizes = subject.layout, flatten(as_shape(tile))
    if not isinstance(layout, Layout) or layout.rank != 2 or layout.has_basis or not 1 <= len(sizes) <= 2:
        raise ShapeError(
            f"{subject.title} is no layout of threads and values for a tile {shown(tile)}.",
            hint="two modes, (thread, value), and a tile of one or two sizes",
            tile=tile,
        )
    rows, columns = sizes if len(sizes) == 2 else (1, sizes[0])
    check_limit(rows * columns, limit)
    check_limit(layout.size, OWNERS)
    owners: dict[int, list[Owner]] = {}
    for t, v in cartesian(*[range(n) for n in layout.extents]):
        place = layout(t, v)
        if not 0 <= place < rows * columns:
            raise ShapeError(
                f"thread {t} holds value {v} at {place}, outside the tile of {rows * columns}.",
                hint="give the tile that the layout covers",
                tile=tile,
            )
        owners.setdefault(place % rows * columns + place // rows, []).append((t, v))
    return _scene(subject.title, rows, columns, owners, ("", ""))


def linear_scene(linear: LinearLayout, limit: int) -> Scene:
    """The places of a linear layout's outputs; ``register`` counts values, all other inputs together the thread."""
    names, sizes = list(linear.out_dims), list(linear.out_dims.values())
    if not 1 <= len(names) <= 2:
        raise ShapeError(
            f"{linear} has {len(names)} outputs, and a picture has two sides.", hint="reshape_outs to two", got=linear
        )
    rows, columns = sizes if len(sizes) == 2 else (1, sizes[0])
    check_limit(rows * columns, limit)
    check_limit(product(tuple(linear.in_dims.values())), OWNERS)
    owners: dict[int, list[Owner]] = {}
    for place, owner in _linear_places(linear):
        owners.setdefault(place[0] * columns + place[1] if len(place) == 2 else place[0], []).append(owner)
    words = (names[0], names[1]) if len(names) == 2 else ("", names[0])
    return _scene(f"{' x '.join(names)} of {', '.join(linear.in_dims)}", rows, columns, owners, words)


def _linear_places(linear: LinearLayout) -> Iterator[tuple[Sequence[int], Owner]]:
    values = "register" if "register" in linear.in_dims else None
    for coordinate in cartesian(*[range(n) for n in linear.in_dims.values()]):
        named = dict(zip(linear.in_dims, coordinate))
        thread, weight = 0, 1
        for name, x in named.items():
            if name != values:
                thread += x * weight
                weight *= linear.in_dims[name]
        place = linear.apply(named)
        yield list(place.values()), (thread, named[values] if values else 0)


def check_limit(count: int, limit: int) -> None:
    """Refuse a picture of more places than the limit."""
    if count > limit:
        raise LimitExceeded(
            f"a picture of {count} places is over the limit of {limit}.",
            hint=f"a page (.html) holds {HTML_CELLS}; or draw the layout of a smaller tile",
            limit=limit,
        )


def _scene(title: str, rows: int, columns: int, owners: dict[int, list[Owner]], names: tuple[str, str]) -> Scene:
    return Scene([owners_pane(title, rows, columns, owners, names)], [], shared_notes([owners]))


def owners_pane(
    title: str, rows: int, columns: int, owners: dict[int, list[Owner]], names: tuple[str, str], letter: str = "T"
) -> Pane:
    """A grid of places, counted row by row, each with its first owner: a thread by its letter and number, and a value.

    Cells of one thread have one colour and one key; where there is one thread alone, each of its values has.
    """
    held = [owner for found in owners.values() for owner in found]
    many_threads, many_values = [any(owner[k] for owner in held) for k in (0, 1)]
    texts, tints, keys = [], [], []
    for k in range(rows * columns):
        found = owners.get(k, [])
        if not found:
            texts.append("")
            tints.append(PLAIN)
            keys.append(-1)
            continue
        (thread, value), more = found[0], f" +{len(found) - 1}" if len(found) > 1 else ""
        words = [f"{letter}{thread}{more}"] if many_threads or not many_values else []
        texts.append("\n".join([*words, *[f"V{value}"] * many_values]))
        number = thread if words else value
        tints.append(number % CATEGORIES)
        keys.append(number)
    axes = [PaneAxis(None, name, tuple(map(str, range(n))), (0,) * (n + 1)) for name, n in zip(names, (rows, columns))]
    return Pane(title, "threads", axes[0], axes[1], [Grid((), texts, tints, keys)])


def shared_notes(all_owners: Sequence[dict[int, list[Owner]]]) -> list[str]:
    """What the signs in cells with several owners mean, where there are such cells."""
    if any(len(found) > 1 for owners in all_owners for found in owners.values()):
        return ["+ and a number: so many more threads or values hold the same place."]
    return []
