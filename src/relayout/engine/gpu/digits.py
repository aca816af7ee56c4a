"""What a kernel moves: two layouts over the same positions, axis by axis, as digits that step through both.

An axis counts positions. Some of them hold data and some are written; where both are all of them, nothing is masked.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import NamedTuple

from ...layout.layout import Layout
from ...layout.modes import simplify_mode
from ...layout.swizzle import Swizzle
from ..dims import digits_of
from ..loops import places_of, stride_at


class Digit(NamedTuple):
    """So many ``size`` values; each step moves this many units in the source and in the target."""

    size: int
    source: int
    target: int


class Axis(NamedTuple):
    """Digits, fastest first; positions from ``low`` to ``high`` hold data, and ``first`` to ``last`` are written."""

    digits: tuple[Digit, ...]
    low: int
    high: int
    first: int
    last: int

    @property
    def masked(self) -> bool:
        return (self.low, self.first) != (0, 0) or not self.high == self.last == prod([d.size for d in self.digits])


class Work(NamedTuple):
    """Where both sides start, in units of so many bytes, the axes, and swizzles as (mask, shift) of byte offsets."""

    source: int
    target: int
    source_bytes: int
    target_bytes: int
    axes: tuple[Axis, ...]
    source_swizzle: tuple[int, int] | None
    target_swizzle: tuple[int, int] | None


def common_axes(source: Layout, target: Layout, padded: bool) -> tuple[int, int, list[Axis]] | None:
    """Where both start, and an axis for each dimension of a shape that is not empty; ``padded`` writes padding too.

    None where a dimension has no digits that are common to both, or its padding has no position.
    """
    starts = [source.offset, target.offset]
    axes = []
    for d, n in enumerate(target.extents):
        a, s, o = digits_of(source, d)
        b, t, p = digits_of(target, d)
        if len(a) < 2:
            step = s[0] if a else 0
            starts[0] += (o - p) * step
            sizes, first, second, at = list(b), _multiples(b, step), list(t), p
        elif len(b) < 2:
            if padded and b and b[0] != n:
                return None
            step = t[0] if b else 0
            starts[1] += (p - o) * step
            sizes, first, second, at = list(a), list(s), _multiples(a, step), o
        else:
            found = _refined(source, target, d)
            if found is None or (padded and n != prod(b)):
                return None
            (one, other), (sizes, first, second, at) = found
            starts[0] += one
            starts[1] += other
        low, high = (at, at + n) if sizes else (0, 1)
        whole = prod(sizes)
        if not padded and sizes:
            place = prod(sizes[:-1])
            sizes[-1] = -(-high // place)
        written = (0, whole) if padded and len(a) < 2 else (low, high)
        digits = [Digit(*x) for x in zip(sizes, first, second)] or [Digit(1, 0, 0)]
        axes.append(Axis(tuple(digits), low, high, *written))
    return starts[0], starts[1], axes


def _multiples(sizes: Sequence[int], step: int) -> list[int]:
    return [step * prod(sizes[:k]) for k in range(len(sizes))]


def _refined(
    source: Layout, target: Layout, d: int
) -> tuple[tuple[int, int], tuple[list[int], list[int], list[int], int]] | None:
    """The digits of a dimension that has several on both sides, and what is constant."""
    (one, a), (other, b) = simplify_mode(source._mode(d)), simplify_mode(target._mode(d))
    if not a.sizes or not b.sizes:
        return (one, other), ([], [], [], 0)
    if a.origin != b.origin:
        return None
    places = sorted({*places_of(a), *places_of(b)})
    if any(high % low for low, high in pairwise(places)):
        return None
    sizes = [high // low for low, high in pairwise(places)]
    sizes.append(-(-(a.origin + a.extent) // places[-1]))
    return (one, other), (sizes, [stride_at(a, p) for p in places], [stride_at(b, p) for p in places], a.origin)


def simplify(work: Work, kept: set[int]) -> tuple[Work, dict[int, int]]:
    """The same with as few digits as there can be, and where the axes that are to be kept are now.

    Digits of other axes without a mask become axes of their own, along which the target goes up.
    """
    source, target = work.source, work.target
    free: list[Digit] = []
    masked: list[Axis] = []
    places: dict[int, int] = {}
    for k, axis in enumerate(work.axes):
        if axis.masked or k in kept:
            places[k] = len(masked)
            masked.append(axis._replace(digits=_merged(axis.digits)))
            continue
        for n, s, t in axis.digits:
            if n > 1 and t < 0:
                source, target, s, t = source + (n - 1) * s, target + (n - 1) * t, -s, -t
            free += [Digit(n, s, t)] * (n > 1)
    while True:
        ordered = sorted(free, key=lambda digit: (digit.target, abs(digit.source)))
        pairs = ((a, b) for a in ordered for b in ordered if a is not b and _follows(a, b))
        found = next(pairs, None)
        if found is None:
            break
        a, b = found
        free = [digit for digit in free if digit is not a and digit is not b] + [Digit(a.size * b.size, a[1], a[2])]
    axes = [Axis((digit,), 0, digit.size, 0, digit.size) for digit in ordered]
    moved = {k: len(axes) + place for k, place in places.items()}
    return work._replace(source=source, target=target, axes=(*axes, *masked)), moved


def _follows(a: Digit, b: Digit) -> bool:
    return b.source == a.source * a.size and b.target == a.target * a.size


def _merged(digits: tuple[Digit, ...]) -> tuple[Digit, ...]:
    out: list[Digit] = []
    for digit in digits:
        if out and _follows(out[-1], digit):
            out[-1] = out[-1]._replace(size=out[-1].size * digit.size)
        elif digit.size > 1 or not out:
            out.append(digit)
    return tuple(out)


def widen(work: Work, most: int) -> Work:
    """Elements that stay together as one unit of up to ``most`` bytes, which both memories are aligned to."""
    while 2 * work.source_bytes <= most:
        wider = _doubled(work)
        if wider is None:
            break
        work = wider
    return work


def _doubled(work: Work) -> Work | None:
    """Pairs as units; None where they do not stay together everywhere."""
    if work.source % 2 or work.target % 2:
        return None
    pair = 2 * work.source_bytes
    if any(
        swizzle is not None and moved_from(swizzle) < pair for swizzle in (work.source_swizzle, work.target_swizzle)
    ):
        return None
    axes = []
    doubled = False
    for axis in work.axes:
        first, *rest = axis.digits
        if not doubled and first[1:] == (1, 1) and not any(x % 2 for x in (first.size, *axis[1:])):
            doubled = True
            half = [Digit(first.size // 2, 1, 1)] if first.size > 2 or not rest else []
            digits = [*half, *[Digit(d.size, d.source // 2, d.target // 2) for d in rest]]
            if any(d.source % 2 or d.target % 2 for d in rest):
                return None
            axes.append(Axis(tuple(digits), *[x // 2 for x in axis[1:]]))
            continue
        if any(d.source % 2 or d.target % 2 for d in axis.digits):
            return None
        axes.append(axis._replace(digits=tuple([Digit(d.size, d.source // 2, d.target // 2) for d in axis.digits])))
    if not doubled:
        return None
    return work._replace(
        source=work.source // 2, target=work.target // 2, source_bytes=pair, target_bytes=pair, axes=tuple(axes)
    )


def byte_swizzle(swizzle: Swizzle | None, size: int) -> tuple[int, int] | None:
    """A swizzle of elements as one of bytes: the mask of the bits that are read, and how far down they are moved."""
    return None if swizzle is None else (swizzle.source_mask * size, swizzle.shift)


def moved_from(swizzle: tuple[int, int]) -> int:
    """Aligned runs of so many bytes stay together under a swizzle."""
    mask, shift = swizzle
    lowest = mask & -mask
    return min(lowest, lowest >> shift if shift > 0 else lowest << -shift)
