"""How much of a layout lies together in memory: the blocks that a copy in row-major order can move at once."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import TYPE_CHECKING, TypeAlias

from ..errors import LimitExceeded, NotExpressible
from ..immutable import NamedTuple
from ..integers.nested import flatten
from .modes import simplify_mode
from .ranges import effective_swizzle
from .strided_index import strided_index

if TYPE_CHECKING:
    from .layout import Layout


class SingleBlock(NamedTuple):
    """All elements lie together, in order."""

    start: int
    length: int

    @property
    def block_count(self) -> int:
        return 1

    def block_starts(self) -> Iterator[int]:
        """Where each block begins, in row-major order."""
        return iter((self.start,))


class UniformBlocks(NamedTuple):
    """``block_count`` blocks of one length, ``step`` apart."""

    start: int
    length: int
    block_count: int
    step: int

    def block_starts(self) -> Iterator[int]:
        """Where each block begins, in row-major order."""
        return (self.start + k * self.step for k in range(self.block_count))


class MultipleBlocks(NamedTuple):
    """Blocks of one length; ``starts`` is the layout of where they begin."""

    length: int
    starts: Layout

    @property
    def block_count(self) -> int:
        return self.starts.size

    def block_starts(self) -> Iterator[int]:
        """Where each block begins, in row-major order."""
        return strided_index(self.starts)


Blocks: TypeAlias = SingleBlock | UniformBlocks | MultipleBlocks


def strided_blocks(layout: Layout) -> Blocks:
    """Blocks of equal length, as long as the structure shows, that in turn are the layout in row-major order."""
    if layout.size == 0:
        return SingleBlock(layout.offset, 0)
    if layout.rank == 0:
        return SingleBlock(layout(), 1)
    merged = _merge_tail(layout)
    mode = simplify_mode(merged._mode(merged.rank - 1))[1]
    length = mode.sizes[0] if mode.sizes and mode.strides[0] == 1 else 1
    if mode.windowed:
        first = min(mode.extent, length - mode.origin % length)
        rest = mode.extent - first
        length = gcd(first, length if rest >= length else 0, rest % length)
    starts = _starts(layout, merged, length)
    swizzle = effective_swizzle(layout)
    if swizzle is None:
        starts = starts.with_swizzle(None)
    else:
        aligned = gcd(length, 1 << swizzle.base, starts.offset, *flatten(starts.stride))
        if aligned != length:
            length, starts = aligned, _starts(layout, merged, aligned)
    if starts.size == 1:
        return SingleBlock(starts(0), length)
    if swizzle is None:
        row = _merge_tail(starts)
        mode = row._mode(0)
        if row.rank == 1 and len(simplify_mode(mode)[1].sizes) == 1:
            return UniformBlocks(row(0), length, row.size, row(1) - row(0))
    return MultipleBlocks(length, starts)


def _merge_tail(layout: Layout) -> Layout:
    """As many of the last dimensions as possible merged into one."""
    for k in range(layout.rank - 1):
        try:
            return layout.flatten(k, -1)
        except (NotExpressible, LimitExceeded):
            continue
    return layout


def _starts(layout: Layout, merged: Layout, length: int) -> Layout:
    """The first element of each block: of whole trailing dimensions where the blocks are such, else of merged ones."""
    starts, inside = layout, 1
    while inside < length and length % (inside * starts.extents[-1]) == 0:
        inside *= starts.extents[-1]
        starts = starts.pick(-1, 0)
    if inside == length:
        return starts
    *outer, n = merged.extents
    return merged.reshape(*outer, n // length, length).pick(-1, 0)
