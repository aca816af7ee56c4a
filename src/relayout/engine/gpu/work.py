"""What a kernel moves: two layouts over the same positions, axis by axis, as digits that step through both.

An axis counts positions. Some of them hold data and some are written; where both are all of them, nothing is masked.
"""

from __future__ import annotations

from math import prod

from ...immutable import NamedTuple
from ...layout.layout import Layout
from ...layout.swizzle import Swizzle
from ..nest import Loop, common_digits, merge_loops, merged_modes


class Axis(NamedTuple):
    """Digits, fastest first; positions from ``low`` to ``high`` hold data, and ``first`` to ``last`` are written."""

    digits: tuple[Loop, ...]
    low: int
    high: int
    first: int
    last: int

    @property
    def masked(self) -> bool:
        return (self.low, self.first) != (0, 0) or not self.high == self.last == prod([d.steps for d in self.digits])


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
    for a, b in zip(merged_modes(source), merged_modes(target)):
        dim = common_digits(a, b)
        if dim is None:
            return None
        starts[0] += dim.source
        starts[1] += dim.target
        digits, written = dim.loops, (dim.low, dim.high)
        if padded and b.windowed:
            if len(a.sizes) > 1:
                return None
            *lower, top = digits
            whole = prod(b.sizes)
            digits, written = (*lower, top._replace(steps=whole // prod([loop.steps for loop in lower]))), (0, whole)
        axes.append(Axis(digits, dim.low, dim.high, *written))
    return starts[0], starts[1], axes


def merge_axes(work: Work, kept: set[int]) -> tuple[Work, dict[int, int]]:
    """Work with as few digits as there can be, and where the axes that are to be kept are in it.

    Digits of other axes without a mask become axes of their own, along which the target goes up.
    """
    source, target = work.source, work.target
    free: list[Loop] = []
    masked: list[Axis] = []
    places: dict[int, int] = {}
    for k, axis in enumerate(work.axes):
        if axis.masked or k in kept:
            places[k] = len(masked)
            masked.append(axis._replace(digits=tuple(merge_loops(axis.digits)) or axis.digits[:1]))
            continue
        for n, s, t in axis.digits:
            if n > 1 and t < 0:
                source, target, s, t = source + (n - 1) * s, target + (n - 1) * t, -s, -t
            free += [Loop(n, s, t)] * (n > 1)
    ordered = merge_loops(sorted(free, key=lambda loop: (loop.target, abs(loop.source))))
    axes = [Axis((digit,), 0, digit.steps, 0, digit.steps) for digit in ordered]
    moved = {k: len(axes) + place for k, place in places.items()}
    return work._replace(source=source, target=target, axes=(*axes, *masked)), moved


def widen(work: Work, most: int) -> Work:
    """Elements that stay together as one unit of up to ``most`` bytes, which both memories are aligned to."""
    while 2 * work.source_bytes <= most:
        wider = _pair_units(work)
        if wider is None:
            break
        work = wider
    return work


def _pair_units(work: Work) -> Work | None:
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
        if not doubled and first[1:] == (1, 1) and not any(x % 2 for x in (first.steps, *axis[1:])):
            doubled = True
            half = [Loop(first.steps // 2, 1, 1)] if first.steps > 2 or not rest else []
            digits = [*half, *[Loop(d.steps, d.source // 2, d.target // 2) for d in rest]]
            if any(d.source % 2 or d.target % 2 for d in rest):
                return None
            axes.append(Axis(tuple(digits), *[x // 2 for x in axis[1:]]))
            continue
        if any(d.source % 2 or d.target % 2 for d in axis.digits):
            return None
        axes.append(axis._replace(digits=tuple([Loop(d.steps, d.source // 2, d.target // 2) for d in axis.digits])))
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
