"""Views of blocked memory keep the blocks that they use: the table is trimmed, and the layout numbers them anew.

A digit of a layout whose stride is whole blocks moves from block to block, every other digit inside a block. Where
those never leave their block, the first sort alone tells which blocks are used.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..integers.nested import product
from ..layout.layout import Layout
from ..layout.modes import Mode
from .block_table import BlockTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MAX_CACHED_BLOCKS = 4096
"""Of larger tables the blocks of a view are found again, since the numbers of all would be kept."""


class _ModeDigit:
    """Digit ``place`` of mode ``dim``, the fastest being 0."""

    __slots__ = ("dim", "place", "size", "stride")

    def __init__(self, dim: int, place: int, size: int, stride: int) -> None:
        self.dim, self.place, self.size, self.stride = dim, place, size, stride

    @property
    def reach(self) -> int:
        """How far its last value lies from its first."""
        return (self.size - 1) * self.stride


def trim_table(layout: Layout, table: BlockTable) -> tuple[Layout, BlockTable]:
    """The elements of ``layout`` by a table of only the blocks that they lie in, numbered anew in their old order.

    Where a digit of the layout moves through a block and on to another, so that blocks and the places in them do not
    separate, all blocks from the first to the last one stay.
    """
    if layout.size == 0 or layout.swizzle is not None:
        return layout, table
    find = _used_blocks if table.count <= MAX_CACHED_BLOCKS else _used_blocks.__wrapped__
    layout, numbers = find(layout, table.elements, table.count)
    return layout, table if numbers is None else table.entries(numbers)


@lru_cache(maxsize=256)
def _used_blocks(layout: Layout, elements: int, count: int) -> tuple[Layout, NDArray[np.int64] | None]:
    """The layout by the blocks that it uses, and their numbers; None for all of them."""
    offset, modes = layout.offset, []
    for d in range(layout.rank):
        moved, mode = _trim_mode(layout._mode(d), elements)
        offset += moved
        modes.append(mode)
    block, place = divmod(offset, elements)
    digits = [
        _ModeDigit(d, k, size, stride)
        for d, mode in enumerate(modes)
        for k, (size, stride) in enumerate(zip(mode.sizes, mode.strides))
    ]
    inside = [digit for digit in digits if digit.stride % elements]
    across = [digit for digit in digits if digit.stride and digit.stride % elements == 0]
    across.sort(key=lambda digit: (-abs(digit.stride), digit.size == 1))
    lowest, highest = _ends(place, [digit.reach for digit in inside])
    first, last = _ends(block, [digit.reach // elements for digit in across])
    separate = 0 <= lowest <= highest < elements
    if not separate or first < 0 or last >= count or product(tuple([d.size for d in across])) > count:
        return _trim_ends(layout, elements, count)
    strides = [list(mode.strides) for mode in modes]
    running = elements
    for digit in reversed(across):
        if digit.stride < 0:
            place += (digit.size - 1) * running
        strides[digit.dim][digit.place] = -running if digit.stride < 0 else running
        running *= digit.size
    parts: list[Any] = []
    for mode, steps, shape in zip(modes, strides, layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)):
        nested = isinstance(shape, tuple)
        parts.append((mode.sizes if nested else mode.sizes[0], tuple(steps) if nested else steps[0], *mode[2:]))
    return layout.with_offset(place)._rebuild(parts), _block_numbers(first, across, elements)


def _trim_mode(mode: Mode, elements: int) -> tuple[int, Mode]:
    """A constant, and the mode without the first and the last blocks of ``elements`` that its window does not reach."""
    sizes, origin = list(mode.sizes), mode.origin
    moved = 0
    for k in range(len(sizes) - 1, -1, -1):
        if mode.strides[k] % elements:
            break
        weight = product(tuple(sizes[:k]))
        first, last = origin // weight, (origin + mode.extent - 1) // weight
        moved += first * mode.strides[k]
        sizes[k] = last - first + 1
        origin -= first * weight
        if sizes[k] > 1:
            break
    return moved, Mode(tuple(sizes), mode.strides, origin, mode.extent)


def _ends(start: int, reaches: Iterable[int]) -> tuple[int, int]:
    """The smallest and the largest sum of ``start`` and some of these."""
    reaches = list(reaches)
    return start + sum([r for r in reaches if r < 0]), start + sum([r for r in reaches if r > 0])


def _block_numbers(first: int, across: Iterable[_ModeDigit], elements: int) -> NDArray[np.int64]:
    """The numbers of all blocks that digits reach from block ``first`` on, the slowest digit first."""
    import numpy as np

    numbers = np.array(first)
    for digit in across:
        if digit.size > 1:
            numbers = np.add.outer(numbers, np.arange(digit.size) * (abs(digit.stride) // elements))
    numbers = numbers.reshape(-1)
    numbers.setflags(write=False)
    return numbers


def _trim_ends(layout: Layout, elements: int, count: int) -> tuple[Layout, NDArray[np.int64] | None]:
    """The elements of ``layout`` by the blocks from the first to the last one that it uses."""
    import numpy as np

    first, last = layout.min_offset // elements, layout.max_offset // elements
    if last - first + 1 == count:
        return layout, None
    numbers = np.arange(first, last + 1)
    numbers.setflags(write=False)
    return layout.with_offset(layout.offset - first * elements), numbers
