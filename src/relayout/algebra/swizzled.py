"""What comes after a swizzle: a layout behind swizzled offsets, over bits, where every sum is an XOR."""

from __future__ import annotations

from typing import Any

from ..errors import NotExpressible
from ..integers.gf2 import multiply
from ..integers.nested import flatten, unflatten
from ..layout.bit_layouts import linear_columns, linear_layout
from ..layout.layout import Layout
from ..layout.modes import coalesced
from ..layout.swizzle import Swizzle


def identity_to(layout: Layout) -> int:
    """Up to which integer a layout without offset and swizzle is the identity: its size if it is ``n:1``, else 0."""
    if layout.offset != 0 or layout.swizzle is not None or layout.windowed:
        return 0
    sizes, strides = coalesced(flatten(layout.shape), flatten(layout.stride))
    return sizes[0] if len(sizes) == 1 and strides[0] == 1 else 0


def compose_bits(outer: Layout, inner: Layout) -> Layout:
    """The layout ``outer(inner(c))`` for functions that are linear over bits, shaped like the leaves of ``inner``.

    ``outer`` must have as many bits as the values of ``inner`` need. Refused where either is not linear over bits, or
    where no layout is the result.
    """
    columns = linear_columns(inner)
    steps = linear_columns(outer)
    needed = max((c.bit_length() for c in columns), default=0)
    if needed > len(steps):
        raise NotExpressible(
            f"{inner} reaches past the {outer.size} elements of {outer}.",
            hint="ComposedLayout(A, B) is the exact function",
            a=outer,
            b=inner,
        )
    groups: list[list[int]] = []
    start = 0
    for n in flatten(inner.shape):
        bits = n.bit_length() - 1
        groups.append([multiply(steps, c) for c in columns[start : start + bits]])
        start += bits
    flat = linear_layout(groups)
    if not isinstance(inner.shape, tuple):
        alone = isinstance(flat.shape, tuple)
        shape, stride = (flat.shape[0], flat.stride[0]) if alone else (flat.shape, flat.stride)
    else:
        shapes: Any = flat.shape if isinstance(flat.shape, tuple) else (flat.shape,)
        strides: Any = flat.stride if isinstance(flat.stride, tuple) else (flat.stride,)
        shape, stride = unflatten(iter(shapes), inner.shape), unflatten(iter(strides), inner.shape)
    return Layout._make(shape, stride, swizzle=flat.swizzle)


def kept_multiple(swizzle: Swizzle) -> int:
    """The length of the shortest aligned runs that ``swizzle`` maps to themselves."""
    if not swizzle.bits:
        return 1
    return 1 << (swizzle.base + swizzle.bits) if swizzle.shift > 0 else swizzle.period
