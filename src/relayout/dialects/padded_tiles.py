"""Tiles that pad inside, or that have more dimensions than what they cut: the layout of one shape.

A dimension that is cut becomes a number of tiles and a place in the tile. Where the tile does not divide it, the last
tile is padded; a coordinate that never gets past it has plain digits, and one that wraps has them only where the two
steps make one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..errors import NotExpressible
from ..format.format import in_box_of
from ..integers.nested import product
from ..layout.layout import Layout
from ..layout.modes import coalesced


class _Cut(NamedTuple):
    """A coordinate below ``size``: one stored dimension, or a number of tiles of ``tile`` and a place in one."""

    size: int
    tile: int = 0
    outer: int = -1
    inner: int = -1


def tiled_layout(shape: Sequence[int], order: Sequence[int], tiles: Sequence[Sequence[int]], tail: int = 1) -> Layout:
    """The layout of that shape whose dimensions, slowest first in ``order``, are cut by one tile after the other.

    ``tail`` rounds up the number of elements that are reserved.
    """
    nodes = [_Cut(shape[d]) for d in order]
    roots = {d: k for k, d in enumerate(order)}
    stored = list(range(len(nodes)))
    for sizes in tiles:
        for _ in range(len(sizes) - len(stored)):
            nodes.append(_Cut(1))
            stored.insert(0, len(nodes) - 1)
        first = len(stored) - len(sizes)
        outer, inner = stored[:first], []
        for node, tile in zip(stored[first:], sizes):
            size = nodes[node].size
            nodes += [_Cut(-(-size // tile)), _Cut(tile)]
            nodes[node] = _Cut(size, tile, len(nodes) - 2, len(nodes) - 1)
            outer.append(len(nodes) - 2)
            inner.append(len(nodes) - 1)
        stored = outer + inner
    steps: dict[int, int] = {}
    total = 1
    for node in reversed(stored):
        steps[node] = total
        total *= nodes[node].size
    modes = [_digits(nodes, steps, roots[d], True) for d in range(len(shape))]
    total = -(-total // tail) * tail
    sizes_, strides = tuple([m[0] for m in modes]), tuple([m[1] for m in modes])
    layout = Layout(sizes_, strides, extents=tuple(shape))
    return (
        layout if not shape or not product(tuple(shape)) or total <= layout.storage_size else in_box_of(total, layout)
    )


def _digits(
    nodes: Sequence[_Cut], steps: dict[int, int], node: int, top: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The sizes and strides of a coordinate's digits, the fastest first; the slowest of all may be padded."""
    size, tile, outer, inner = nodes[node]
    if not tile:
        return (size,), (steps[node],)
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
