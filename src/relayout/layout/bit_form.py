"""Layouts over the bits of their integer coordinate: where every sum is an XOR, and where it first is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..immutable import NamedTuple
from .modes import simplify_mode
from .ranges import numeric_modes

if TYPE_CHECKING:
    from .layout import Layout


class BitForm(NamedTuple):
    """A layout over the bits of its integer coordinate, as far as its sums do not carry.

    ``columns`` are the values at 1, 2, 4, ... XOR ``start``, the value at 0. Without a ``carry`` every value is
    ``start`` XOR the columns at the set bits of its coordinate. Otherwise that holds up to, but not including, the
    coordinate ``sum(carry)``: ``carry`` are the two powers of two that first fail to add up.
    """

    start: int
    columns: tuple[int, ...]
    carry: tuple[int, int] | None


def bit_form(layout: Layout) -> BitForm | None:
    """The layout over bits; None unless every mode is whole digits whose sizes are powers of two.

    Adding a stride ``d`` to ``x`` flips the bits ``x ^ (x + d)``. They stay the same when ``x`` changes, unless ``x``
    changes in one of them, which turns the carry out of it. So sums are XORs exactly when no two strides flip one bit.
    """
    start = layout.offset
    strides: list[int] = []
    for mode in numeric_modes(layout):
        constant, mode = simplify_mode(mode)
        start += constant
        if mode.windowed or any(s & (s - 1) or not s for s in mode.sizes):
            return None
        strides += [d << k for s, d in zip(mode.sizes, mode.strides) for k in range(s.bit_length() - 1)]
    flips: list[int] = []
    carry = None
    for d in strides:
        flip = start ^ (start + d)
        clash = next((k for k, earlier in enumerate(flips) if earlier & flip), None)
        flips.append(flip)
        if clash is not None:
            carry = 1 << clash, 1 << (len(flips) - 1)
            break
    swizzle = layout.swizzle
    if swizzle is not None:
        start, flips = swizzle(start), [swizzle(flip) for flip in flips]
    return BitForm(start, tuple(flips), carry)
