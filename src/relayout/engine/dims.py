"""Two layouts over the same coordinates, dimension by dimension: full boxes whose loops step through both at once.

Nothing is multiplied out: the whole is every combination of one box per dimension.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from ..integers.nested import flatten, product
from ..layout.layout import Layout
from ..layout.modes import coalesced, digit_sum, simplify_mode
from .loops import _common

DimBox: TypeAlias = tuple[bool, int, int, tuple[tuple[int, int, int], ...]]
"""Whether it holds data, the offsets that it adds in source and target, and loops (count, source and target step).

A box without data is padding of the target.
"""


class Dims(NamedTuple):
    """Where both layouts start, and the boxes of every dimension."""

    source: int
    target: int
    boxes: tuple[tuple[DimBox, ...], ...]


def dims(source: Layout, target: Layout, padded: bool) -> Dims | None:
    """The boxes of two layouts of one shape that is not empty, without their swizzles; with or without padding.

    None where some dimension has no digits that are common to both.
    """
    found: list[tuple[DimBox, ...]] = []
    for d, n in enumerate(target.extents):
        a, s, o = digits_of(source, d)
        b, t, p = digits_of(target, d)
        boxes: list[DimBox]
        if len(a) < 2:
            step = s[0] if a else 0
            boxes = [
                (True, (at - p + o) * step, base, tuple([(k, place * step, y) for k, place, y in loops]))
                for at, base, loops in _cut(b, t, p, p + n)
            ]
        elif len(b) < 2:
            step = t[0] if b else 0
            boxes = [
                (True, base, (at - o + p) * step, tuple([(k, x, place * step) for k, place, x in loops]))
                for at, base, loops in _cut(a, s, o, o + n)
            ]
        else:
            (first, mode), (second, other) = simplify_mode(source._mode(d)), simplify_mode(target._mode(d))
            pieces = _common(mode, other)
            if pieces is None:
                return None
            boxes = [(True, first + piece.source, second + piece.target, piece.loops) for piece in pieces]
        if padded:
            for low, high in ((0, p), (p + n, product(tuple(b)))):
                for _, base, loops in _cut(b, t, low, high):
                    boxes.append((False, 0, base, tuple([(k, 0, y) for k, _, y in loops])))
        found.append(tuple(boxes))
    return Dims(source.offset, target.offset, tuple(found))


def digits_of(layout: Layout, d: int) -> tuple[Sequence[int], Sequence[int], int]:
    """Sizes and strides of a dimension, fastest first and as few as can be, and where its window starts."""
    shape, stride = layout.shape, layout.stride
    if shape.__class__ is tuple:
        shape, stride = shape[d], stride[d]
    _, origin, _, _ = layout._rest
    sizes, strides = coalesced(flatten(shape), flatten(stride)) if shape.__class__ is tuple else ((shape,), (stride,))
    return sizes, strides, 0 if origin is None else origin[d]


def _cut(
    sizes: Sequence[int], strides: Sequence[Any], low: int, high: int
) -> Iterator[tuple[int, int, list[tuple[int, int, int]]]]:
    """The range cut into full boxes: where each begins, its value there, and loops (count, place, stride)."""
    if low >= high:
        return
    places = [1]
    for n in sizes[:-1]:
        places.append(places[-1] * n)
    top = len(places) - 1
    ends = [
        (level, -(-low // places[level + 1]) * places[level + 1]) for level in range(top) if low % places[level + 1]
    ]
    ends += [(level, high) for level in range(top, -1, -1)]
    for level, end in ends:
        count = (min(end, high) - low) // places[level]
        if count > 0:
            loops = [(n, place, stride) for n, place, stride in zip(sizes[:level], places, strides) if n > 1]
            if count > 1:
                loops.append((count, places[level], strides[level]))
            yield low, digit_sum(sizes, strides, low) if low else 0, loops
            low += count * places[level]
