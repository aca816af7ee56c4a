"""One mode on a window: a mixed-radix digit sum over ``[origin, origin + extent)``.

A mode is given by its flat sizes and strides, fastest first. Its *levels* are the weights 1, s0, s0*s1, ...: the
places where a carry moves on to the next digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import gcd
from typing import Any

from ..immutable import NamedTuple
from ..integers.nested import product


class Mode(NamedTuple):
    """Flat sizes and strides, fastest first, with the range of the box that is used."""

    sizes: tuple[int, ...]
    strides: tuple[Any, ...]
    origin: int
    extent: int

    @property
    def windowed(self) -> bool:
        return self.origin != 0 or self.extent != product(self.sizes)


def coalesced(sizes: Sequence[int], strides: Sequence[Any]) -> tuple[list[int], list[Any]]:
    """The shortest sizes and strides with the same function; size-1 places are gone, possibly all of them."""
    out_sizes: list[int] = []
    out_strides: list[Any] = []
    following: Any = None
    for s, d in zip(sizes, strides):
        if s == 1:
            continue
        if d == following:
            out_sizes[-1] *= s
        else:
            out_sizes.append(s)
            out_strides.append(d)
        following = d * s
    return out_sizes, out_strides


def digit_sum(sizes: Sequence[int], strides: Sequence[Any], x: int) -> Any:
    """The sum of the digits of ``x`` times the strides; the last place takes all that is left."""
    return open_sum(sizes[:-1], strides, x) if sizes else 0


def open_sum(sizes: Sequence[int], strides: Sequence[Any], x: int) -> Any:
    """The sum of the digits of ``x`` times the strides, one more than the sizes: the last place has none."""
    total: Any = 0
    for s, d in zip(sizes, strides):
        x, digit = divmod(x, s)
        total += digit * d
    return total + x * strides[len(sizes)]


class DigitBox(NamedTuple):
    """A full box of digits from ``start`` on: the values ``base + sum(k[i] * strides[i])`` for ``k[i] < sizes[i]``."""

    start: int
    base: Any
    sizes: tuple[int, ...]
    strides: tuple[Any, ...]


def boxes(mode: Mode) -> list[DigitBox]:
    """The window cut into full boxes, in order: at most two per level."""
    sizes, strides, low, extent = mode
    if extent <= 0:
        return []
    if not mode.windowed:
        return [DigitBox(0, 0, sizes, strides)]
    return [
        DigitBox(start, digit_sum(sizes, strides, start), (*sizes[:level], count), strides[: level + 1])
        for start, level, count in cut_range(places_of(mode), low, low + extent)
    ]


def places_of(mode: Mode) -> list[int]:
    """The positions that a step of each digit moves: 1, s0, s0*s1, ..., the levels of a carry."""
    places = [1]
    for n in mode.sizes[:-1]:
        places.append(places[-1] * n)
    return places


def cut_range(places: Sequence[int], low: int, high: int) -> list[tuple[int, int, int]]:
    """A range of positions, which is not empty, cut into full boxes of the digits at these places: at most two per
    level.

    Each is told by its first position, and by the digit that takes so many of its values; lower digits take all.
    """
    if len(places) < 2:
        return [(low, 0, high - low)]
    # Up to the next multiple of each place, then down from the highest place to the end.
    ends = [(level, -(-low // above) * above) for level, above in enumerate(places[1:]) if low % above]
    ends += [(level, high) for level in range(len(places) - 1, -1, -1)]
    cuts = []
    for level, end in ends:
        place = places[level]
        count = (min(end, high) - low) // place
        if count > 0:
            cuts.append((low, level, count))
            low += count * place
            if low == high:
                break
    return cuts


def span(mode: Mode) -> tuple[int, int]:
    """The smallest and the largest value on a window that is not empty."""
    ends = []
    for box in boxes(mode):
        reach = [(n - 1) * d for n, d in zip(box.sizes, box.strides, strict=True)]
        ends.append((box.base + sum(r for r in reach if r < 0), box.base + sum(r for r in reach if r > 0)))
    return min(low for low, _ in ends), max(high for _, high in ends)


def simplify_mode(mode: Mode) -> tuple[Any, Mode]:
    """A constant and a mode with the same values, coalesced, without a window wherever none is needed."""
    if mode.extent == 0:
        return 0, Mode((0,), (0,), 0, 0)
    sizes, strides = coalesced(mode.sizes, mode.strides)
    origin, extent = mode.origin, mode.extent
    constant: Any = 0
    while sizes:
        weight = 1
        for s in sizes[:-1]:
            weight *= s
        first, last = origin // weight, (origin + extent - 1) // weight
        if first == last:
            constant += first * strides[-1]
            origin -= first * weight
            sizes.pop()
            strides.pop()
        elif origin % weight == 0 and extent % weight == 0:
            constant += first * strides[-1]
            sizes[-1] = extent // weight
            origin = 0
            break
        else:
            constant += first * strides[-1]
            sizes[-1] = last - first + 1
            origin -= first * weight
            break
    if extent == 2 and len(sizes) > 1:
        low, high = digit_sum(sizes, strides, origin), digit_sum(sizes, strides, origin + 1)
        return constant + low, Mode((2,), (high - low,), 0, 2)
    return constant, Mode(tuple(sizes), tuple(strides), origin, extent)


def fit_mode(values: Sequence[Any]) -> Mode | None:
    """A mode whose window has these values relative to the first; None when no mode has."""
    ruler = _ruler([b - a for a, b in pairwise(values)])
    if ruler is None:
        return None
    origin, levels = ruler
    strides: list[Any] = []
    span: Any = 0
    for s, step in levels:
        strides.append(step + span)
        span += (s - 1) * strides[-1]
    return Mode(tuple([s for s, _ in levels]), tuple(strides), origin, len(values))


def _ruler(steps: Sequence[Any]) -> tuple[int, list[tuple[int, Any]]] | None:
    """An origin, and for each level its size and the step that a carry to it makes, so that ``steps`` follow.

    The lowest level's step is one of the first two. All other steps must lie in one residue class; the widest such
    class serves whenever any does.
    """
    if all(step == steps[0] for step in steps):
        return 0, [(len(steps) + 1, steps[0] if steps else 0)]
    for lowest in dict.fromkeys(steps[:2]):
        others = [t for t, step in enumerate(steps, 1) if step != lowest]
        period = gcd(*[t - others[0] for t in others]) or len(steps) + 1
        if period > 1:
            first = (others[0] - 1) % period + 1
            above = _ruler(steps[first - 1 :: period])
            if above is not None:
                return -first % period + period * above[0], [(period, lowest), *above[1]]
    return None
