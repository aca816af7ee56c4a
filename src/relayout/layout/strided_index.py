"""The offsets of a layout one after the other, in row-major order, whatever its size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING

from .modes import Mode, digit_sum
from .ranges import numeric_modes

if TYPE_CHECKING:
    from .layout import Layout


def strided_index(layout: Layout) -> Iterator[int]:
    """Every offset in row-major order, made when it is asked for."""
    modes = numeric_modes(layout)
    if layout.size == 0:
        return iter(())
    walked = _walk(modes, layout.offset)
    return walked if layout.swizzle is None else map(layout.swizzle, walked)


def _walk(modes: list[Mode], start: int) -> Iterator[int]:
    """The sums of one value of each mode, from ``start``; the last mode is the fastest."""
    *outer, last = modes or [Mode((1,), (0,), 0, 1)]
    index = [0] * len(outer)
    parts = [_value(mode, 0) for mode in outer]
    while True:
        yield from _run(last, start + sum(parts))
        d = len(outer) - 1
        while d >= 0 and index[d] + 1 == outer[d].extent:
            index[d], parts[d] = 0, _value(outer[d], 0)
            d -= 1
        if d < 0:
            return
        index[d] += 1
        parts[d] = _value(outer[d], index[d])


def _value(mode: Mode, i: int) -> int:
    value: int = digit_sum(mode.sizes, mode.strides, mode.origin + i)
    return value


def _run(mode: Mode, start: int) -> Iterable[int]:
    """The values along one mode."""
    if len(mode.sizes) > 1:
        return (start + _value(mode, i) for i in range(mode.extent))
    step = mode.strides[0]
    first = start + mode.origin * step
    return range(first, first + mode.extent * step, step) if step else repeat(first, mode.extent)
