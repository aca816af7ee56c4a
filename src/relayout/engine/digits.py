"""The digits of one layout: what its memory is cut along."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, lcm
from typing import Any

from ..immutable import NamedTuple
from ..layout.layout import Layout


class LayoutDigit(NamedTuple):
    """The ``index``-th digit of a dimension, the fastest first: its size, its stride, and how many coordinates a step
    of it moves.
    """

    dim: int
    index: int  # type: ignore[assignment]
    place: int
    size: int
    stride: int


def digits_of(layout: Layout) -> Iterator[LayoutDigit]:
    """All digits with more than one value."""
    for d in range(layout.rank):
        mode = layout._mode(d)
        place = 1
        for k, (n, stride) in enumerate(zip(mode.sizes, mode.strides)):
            if n > 1:
                yield LayoutDigit(d, k, place, n, stride)
            place *= n


def alignment_unit(layout: Layout, bits: int) -> int:
    """Parts that start at multiples of so many elements share no byte, and swizzle alike."""
    whole = 8 // gcd(bits, 8)
    return whole if layout.swizzle is None else lcm(whole, layout.swizzle.period)


def as_mode(entries: tuple[int, ...]) -> Any:
    """Flat sizes or strides as a layout writes those of one mode."""
    return entries[0] if len(entries) == 1 else entries
