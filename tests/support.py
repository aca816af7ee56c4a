"""Strategies that make layouts, and an evaluator that shares no code with the library: the truth of the tests."""

from __future__ import annotations

from itertools import product as cartesian
from typing import Any

import numpy as np
from hypothesis import strategies as st

from relayout import Layout, Swizzle

SIZES = st.sampled_from([1, 2, 2, 3, 4, 5, 6])
STRIDES = st.sampled_from([0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24])
SIGNED = st.one_of(STRIDES, st.sampled_from([-1, -2, -3, -8]))
SWIZZLES = st.sampled_from([Swizzle(1, 0, 1), Swizzle(2, 1, 2), Swizzle(1, 1, -2), Swizzle(2, 0, 3), Swizzle(3, 2, 3)])


def leaves(t: Any) -> list[Any]:
    return [x for e in t for x in leaves(e)] if isinstance(t, tuple) else [t]


def volume(t: Any) -> int:
    result = 1
    for x in leaves(t):
        result *= x
    return result


def like(t: Any, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A tuple nested like ``t`` with leaves from ``values``."""
    return st.tuples(*[like(e, values) for e in t]) if isinstance(t, tuple) else values


def shapes(max_volume: int = 96, tuples_only: bool = False) -> st.SearchStrategy[Any]:
    nested = st.recursive(SIZES, lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=5)
    wanted = nested.filter(lambda s: volume(s) <= max_volume)
    return wanted.map(lambda s: s if isinstance(s, tuple) else (s,)) if tuples_only else wanted


@st.composite
def compact_strides(draw: Any, shape: Any) -> Any:
    """Strides of a compact layout whose modes stand in any order."""
    sizes = leaves(shape)
    strides = [0] * len(sizes)
    running = 1
    for k in draw(st.permutations(range(len(sizes)))):
        strides[k] = running
        running *= sizes[k]
    rest = iter(strides)

    def arrange(t: Any) -> Any:
        return tuple(arrange(e) for e in t) if isinstance(t, tuple) else next(rest)

    return arrange(shape)


@st.composite
def layouts(
    draw: Any,
    max_volume: int = 96,
    window: bool = False,
    swizzle: bool = False,
    offset: bool = False,
    negative: bool = False,
    tuples_only: bool = False,
) -> Layout:
    """Layouts with at most ``max_volume`` elements; half of them compact, the others with any strides."""
    shape = draw(shapes(max_volume, tuples_only))
    stride = draw(st.one_of(compact_strides(shape), like(shape, SIGNED if negative else STRIDES)))
    words: dict[str, Any] = {}
    if offset:
        words["offset"] = draw(st.sampled_from([0, 0, 1, 5, 10]))
    if window and draw(st.booleans()):
        box = [volume(s) for s in shape] if isinstance(shape, tuple) else [shape]
        origin = [draw(st.integers(0, n - 1)) for n in box]
        words["origin"] = origin
        words["extents"] = [draw(st.integers(1, n - o)) for n, o in zip(box, origin, strict=True)]
    if swizzle and draw(st.booleans()):
        words["swizzle"] = draw(SWIZZLES)
    return Layout(shape, stride, **words)


def value(layout: Layout, coordinate: tuple[int, ...]) -> int:
    """The offset at one integer per mode, digit by digit."""
    shape, stride = layout.shape, layout.stride
    if not isinstance(shape, tuple):
        shape, stride = (shape,), (stride,)
    total = layout.offset
    for s, d, o, x in zip(shape, stride, layout.origin, coordinate, strict=True):
        x += o
        for size, step in zip(leaves(s), leaves(d), strict=True):
            total += x % size * step
            x //= size
    if layout.swizzle is not None:
        bits, base, shift = layout.swizzle.parameters
        before = total
        for k in range(bits):
            low, high = base + k, base + k + abs(shift)
            source, target = (high, low) if shift >= 0 else (low, high)
            total ^= ((before >> source) & 1) << target
    return total


def table(layout: Layout) -> np.ndarray[Any, Any]:
    """All offsets as an object array of shape ``extents``."""
    out = np.empty(layout.extents, dtype=object)
    for c in coordinates(layout):
        out[c] = value(layout, c)
    return out


def coordinates(layout: Layout) -> list[tuple[int, ...]]:
    """All coordinates, one integer per mode, in row-major order."""
    return list(cartesian(*[range(n) for n in layout.extents]))


def colex(layout: Layout) -> list[int]:
    """All offsets in colexicographic order."""
    return [int(x) for x in table(layout).flatten(order="F")]


def extended(layout: Layout, i: int) -> int:
    """CuTe's value at any integer >= 0: the last leaf runs on beyond its size."""
    sizes, strides = leaves(layout.shape), leaves(layout.stride)
    total = layout.offset
    for size, step in zip(sizes[:-1], strides[:-1], strict=True):
        total += i % size * step
        i //= size
    return total + (i * strides[-1] if strides else 0)
