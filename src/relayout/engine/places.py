"""Which places of memory a plan reads and writes, proven from the structure of its layouts."""

from __future__ import annotations

from ..integers.nested import flatten
from ..layout.layout import Layout
from ..layout.ranges import box_bounds, check_places, no_places, offset_range


def check_in_memory(layout: Layout) -> None:
    """Refuse a layout of coordinates, or one that goes below 0."""
    if not layout.has_basis:
        if layout.offset >= 0 and layout.swizzle is None and min(flatten(layout.stride), default=0) >= 0:
            return
        if not layout.size or layout.min_offset >= 0:
            return
    raise no_places(layout)


def prove_places(target: Layout) -> bool:
    """Refuse a target where two elements share a place; tells whether its box is in memory, each place of it once.

    Strides that pass the reach of all smaller ones keep elements apart; only others need a closer look.
    """
    lowest, end, dense = target.offset, 1, target.swizzle is None
    digits = [(abs(d), n, d) for n, d in zip(flatten(target.shape), flatten(target.stride)) if n > 1]
    for step, n, stride in sorted(digits):
        if step < end:
            check_places(target)
            return False
        dense = dense and step == end
        end += (n - 1) * step
        if stride < 0:
            lowest -= (n - 1) * step
    return dense and lowest >= 0


def reach(layout: Layout) -> int:
    """No offset of the box, nor any part of one, is further from 0."""
    total: int = abs(layout.offset)
    for n, d in zip(flatten(layout.shape), flatten(layout.stride)):
        if n > 1:
            total += (n - 1) * abs(d)
    return total


def element_range(layout: Layout) -> tuple[int, int]:
    """From the lowest place of an element to behind the highest."""
    if not layout.size:
        return 0, 0
    low, high = offset_range(layout)
    return low, high + 1


def box_range(layout: Layout) -> tuple[int, int]:
    """From the lowest place of the box to the end of the storage, as far as that is memory: what a fill writes."""
    if not layout.padded_size:
        return 0, 0
    low, high = box_bounds(layout)
    if layout.swizzle is None:
        return max(low, 0), max(high + 1, 0)
    return max(low, 0) // layout.swizzle.period * layout.swizzle.period, layout.storage_size


def new_range(layout: Layout) -> tuple[int, int]:
    """The range of the box in memory that is new; refused where some of it is below 0, or no memory."""
    if not layout.has_basis:
        if not layout.padded_size:
            return 0, 0
        low, high = box_bounds(layout) if layout.swizzle is None else offset_range(layout.box)
        if low >= 0:
            return (low, high + 1) if layout.swizzle is None else box_range(layout)
    raise no_places(layout)
