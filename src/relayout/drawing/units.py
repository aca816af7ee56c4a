"""Units of memory that a swizzle moves as a whole, for pictures that show what it exchanges."""

from __future__ import annotations

from collections.abc import Sequence

from ..algebra.composed import ComposedLayout
from ..layout.swizzle import Swizzle
from .panes import Subject, Unit

UNIT_BITS = 128
"""What a wide load moves at once, and swizzles exchange: 16 bytes."""


def exchanged_elements(x: Subject) -> int:
    """How many elements lie together that a swizzle moves; 0 where there is none."""
    layout = x.layout.outer if isinstance(x.layout, ComposedLayout) else x.layout
    swizzle = layout if isinstance(layout, Swizzle) else getattr(layout, "swizzle", None)
    return 0 if swizzle is None or not swizzle.bits else 1 << swizzle.base + max(-swizzle.shift, 0)


def unit_of(subjects: Sequence[Subject]) -> Unit:
    """Units of 16 bytes, or of what swizzles exchange where that is less; without a type its width is assumed."""
    pieces = [n for n in map(exchanged_elements, subjects) if n]
    bits = next((x.bits for x in subjects if x.bits), None)
    size = min([*pieces, max(UNIT_BITS // bits, 1)]) if bits else min(pieces, default=8)
    what = "element" if size == 1 else f"{size} elements"
    if bits:
        return Unit(size, f"a colour for each {what}, {size * bits / 8:g} bytes")
    assumed = f"16 bytes if an element has {UNIT_BITS // size} bits" if 2 <= size <= UNIT_BITS else "what is exchanged"
    return Unit(size, f"a colour for each {what}, {assumed}")
