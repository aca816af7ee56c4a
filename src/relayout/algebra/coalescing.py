"""Shorter layouts of one function: coalesced, without repetitions, and the repetitions alone."""

from __future__ import annotations

from typing import Any

from ..integers.nested import flatten, unflatten
from ..layout.layout import PLAIN, Layout
from ..layout.modes import coalesced
from .composition import map_modes, on_inner, plain


@on_inner
def coalesce(layout: Layout, profile: Any = None) -> Layout:
    """The shortest flat layout with the same values at the same integers; ``1:0`` when only one element is left.

    With a tuple as ``profile`` each of its modes is coalesced by itself and the others are kept.
    """
    plain(layout, "coalesce", swizzle=True)
    if isinstance(profile, tuple | list):
        return map_modes(layout, tuple(profile), coalesce)
    return flat_layout(*coalesced(flatten(layout.shape), flatten(layout.stride)), layout)


def flat_layout(sizes: list[int], strides: list[Any], source: Layout | None = None) -> Layout:
    """A layout of these modes, flat and as short as can be, with offset and swizzle of ``source``."""
    shape: Any
    stride: Any
    if 0 in sizes:
        shape, stride = 0, 0
    elif len(sizes) > 1:
        shape, stride = tuple(sizes), tuple(strides)
    else:
        shape, stride = (sizes[0], strides[0]) if sizes else (1, 0)
    if source is None or source._rest is PLAIN:
        return Layout._plain(shape, stride)
    return Layout._make(shape, stride, source.offset, swizzle=source.swizzle)


def filter_zeros(layout: Layout) -> Layout:
    """The layout with every stride-0 mode cut to size 1: each offset is kept, repetitions are not."""
    plain(layout, "filter_zeros", swizzle=True)
    sizes = [1 if d == 0 and s else s for s, d in zip(flatten(layout.shape), flatten(layout.stride), strict=True)]
    return Layout._make(unflatten(iter(sizes), layout.shape), layout.stride, layout.offset, swizzle=layout.swizzle)


def filter(layout: Layout) -> Layout:
    """The offsets of ``layout`` without the repetitions of stride-0 modes, coalesced."""
    plain(layout, "filter", swizzle=True)
    sizes, strides = [], []
    for s, d in zip(flatten(layout.shape), flatten(layout.stride)):
        if d != 0 or not s:
            sizes.append(s)
            strides.append(d)
    return flat_layout(*coalesced(sizes, strides), layout)


def nullspace(layout: Layout) -> Layout:
    """The integers that stride-0 modes send to the start: ``L(nullspace(L)(i)) == L(0)`` for every ``i``."""
    plain(layout, "nullspace", swizzle=True)
    sizes: list[int] = []
    strides: list[int] = []
    weight = 1
    for s, d in zip(flatten(layout.shape), flatten(layout.stride), strict=True):
        if d == 0 and s != 1:
            sizes.append(s)
            strides.append(weight)
        weight *= s
    return flat_layout(sizes, strides)
