"""Tiles that pad inside, combine dimensions, or have more of them than what they cut: the layout of one shape.

A dimension that is cut becomes a number of tiles and a place in the tile. Where the tile does not divide it, the last
tile is padded; a coordinate that never gets past it has plain digits, and one that wraps has them only where the two
steps make one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import NotExpressible
from ..format.format import in_box_of
from ..immutable import NamedTuple
from ..integers.nested import product
from ..layout.layout import Layout
from ..layout.modes import coalesced

COMBINED = 0
"""The size in a tile that stands for ``*``: this dimension is combined with the next faster one before it is cut."""


class _Cut(NamedTuple):
    """A coordinate below ``size``: one stored dimension, or a number of tiles of ``tile`` and a place in one."""

    size: int
    tile: int = 0
    outer: int = -1
    inner: int = -1


class _Counted(NamedTuple):
    """A stored dimension: what it counts, and how many steps it has with its padding.

    It counts a coordinate, or two of them combined: the slow one in rows of the fast one.
    """

    size: int
    node: int = -1
    combined: tuple[_Counted, _Counted] | None = None


def tiled_layout(shape: Sequence[int], order: Sequence[int], tiles: Sequence[Sequence[int]], tail: int = 1) -> Layout:
    """The layout of that shape whose dimensions, slowest first in ``order``, are cut by one tile after the other.

    ``tail`` rounds up the number of elements that are reserved.
    """
    nodes = [_Cut(shape[d]) for d in order]
    roots = {d: k for k, d in enumerate(order)}
    stored = [_Counted(shape[d], k) for k, d in enumerate(order)]
    for k, sizes in enumerate(tiles):
        stored = [_Counted(1, _new(nodes, 1)) for _ in range(len(sizes) - len(stored))] + stored
        first = len(stored) - len(sizes)
        outer, inner = stored[:first], []
        slow: _Counted | None = None
        for fast, tile in zip(stored[first:], sizes):
            here = fast if slow is None else _Counted(slow.size * fast.size, combined=(slow, fast))
            slow = here if tile == COMBINED else None
            if slow is None and k == len(tiles) - 1 and not any(sizes[:-1]):
                # Nothing comes between the tiles and what is in them: this only pads.
                outer.append(here._replace(size=-(-here.size // tile) * tile))
            elif slow is None:
                above, below = _cut(nodes, here, tile)
                outer.append(above)
                inner.append(below)
        stored = outer + inner
    steps: dict[int, int] = {}
    total = 1
    for dimension in reversed(stored):
        _give_steps(steps, dimension, total)
        total *= dimension.size
    modes = [_digits(nodes, steps, roots[d], True) for d in range(len(shape))]
    total = -(-total // tail) * tail
    flat = [(m[0][0], m[1][0]) if len(m[0]) == 1 else m for m in modes]
    layout = Layout(tuple([m[0] for m in flat]), tuple([m[1] for m in flat]), extents=tuple(shape))
    return (
        layout if not shape or not product(tuple(shape)) or total <= layout.storage_size else in_box_of(total, layout)
    )


def elements_in_tiles(shape: Sequence[int], order: Sequence[int], tiles: Sequence[Sequence[int]], tail: int = 1) -> int:
    """The elements that memory is reserved for: whole tiles of what is stored, rounded up to a multiple of ``tail``."""
    stored = [shape[d] for d in order]
    for sizes in tiles:
        stored = [1] * (len(sizes) - len(stored)) + stored
        outer = stored[: len(stored) - len(sizes)]
        rows = 1
        for n, tile in zip(stored[len(stored) - len(sizes) :], sizes):
            rows *= n
            if tile != COMBINED:
                outer.append(-(-rows // tile))
                rows = 1
        stored = outer + [tile for tile in sizes if tile != COMBINED]
    return -(-product(tuple(stored)) // tail) * tail


def _new(nodes: list[_Cut], size: int) -> int:
    nodes.append(_Cut(size))
    return len(nodes) - 1


def _cut(nodes: list[_Cut], here: _Counted, tile: int) -> tuple[_Counted, _Counted]:
    """The number of tiles and the place in one."""
    count = -(-here.size // tile)
    if here.combined is None:
        size = nodes[here.node].size
        outer, inner = _new(nodes, -(-size // tile)), _new(nodes, tile)
        nodes[here.node] = _Cut(size, tile, outer, inner)
        return _Counted(count, outer), _Counted(tile, inner)
    slow, fast = here.combined
    if slow.size == 1:
        above, below = _cut(nodes, fast, tile)
        return above._replace(size=count), below
    if slow.size * fast.size <= tile:
        return _Counted(count, _new(nodes, 1)), _Counted(tile, combined=here.combined)
    if fast.size % tile == 0:
        above, below = _cut(nodes, fast, tile)
        return _Counted(count, combined=(slow, above)), below
    if tile % fast.size == 0:
        above, below = _cut(nodes, slow, tile // fast.size)
        return above._replace(size=count), _Counted(tile, combined=(below, fast))
    raise NotExpressible(
        f"tiles of {tile} cut {slow.size} combined rows of {fast.size}: some have the end of one row and the beginning "
        "of the next, so that no dimension has steps of its own.",
        hint=f"use a tile that divides {fast.size} or is a multiple of it, or flatten these dimensions first",
        tile=tile,
        size=fast.size,
    )


def _give_steps(steps: dict[int, int], here: _Counted, step: int) -> None:
    if here.combined is None:
        steps[here.node] = step
        return
    slow, fast = here.combined
    _give_steps(steps, fast, step)
    _give_steps(steps, slow, step * fast.size)


def _digits(
    nodes: Sequence[_Cut], steps: dict[int, int], node: int, top: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The sizes and strides of a coordinate's digits, the fastest first; the slowest of all may be padded."""
    size, tile, outer, inner = nodes[node]
    if not tile:
        return (size,), (steps.get(node, 0),)
    below = _digits(nodes, steps, inner, top and nodes[outer].size == 1)
    above = _digits(nodes, steps, outer, top)
    sizes, strides = (*below[0], *above[0]), (*below[1], *above[1])
    if size % tile == 0 or top:
        return sizes, strides
    merged = coalesced(sizes, strides)
    if len(merged[0]) > 1:
        raise NotExpressible(
            f"a tile of {tile} pads the {size} steps inside a larger tile, which no digits do.",
            hint="use tiles that divide one another",
            tile=tile,
            size=size,
        )
    return (size,), (merged[1][0] if merged[1] else 0,)
