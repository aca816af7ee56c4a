"""The loop nest between two operands, in no language: which loops, in which order, how far, and what a step moves.

A dimension is cut where either operand carries. Where the cuts of both divide each other, every loop moves both by a
constant; where they do not, the loops are the target's and the source's place is computed from the coordinate. A loop
over a part of a dimension ends where the window ends, given the loops of that dimension around it, so that one nest
serves every size, whole blocks or not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from .loop_nest import LoopAxis, LoopNest, NestAxis, NestLevel
from .operands import DigitOperand, OperandDigit
from .tiles import cut_tiles, finish_lines
from .values import ONE, Definitions, Monomial

ZERO = Monomial(0)


def build_nest(
    names: Sequence[str],
    extents: Sequence[Monomial],
    source: DigitOperand,
    target: DigitOperand,
    definitions: Definitions,
    apart: Collection[int] = (),
    size: int = 0,
) -> LoopNest:
    """The loops over all elements, in the order of the target's memory; dimensions ``apart`` have an axis each.

    Elements of ``size`` bytes are moved by whole tiles where both sides have neighbours elsewhere; with 0 one by one.
    """
    axes, first, second = merge_nest_axes(names, extents, source, target, apart)
    found: list[LoopAxis] = []
    levels: list[NestLevel] = []
    starts, ends = list(source.offset), list(target.offset)
    for axis, (a, low_a), (b, low_b) in zip(axes, first, second):
        cut, own, moved, shifted = _cut_axis(len(found), axis, a, low_a, b, low_b, definitions)
        found.append(cut)
        levels += own
        starts += moved
        ends += shifted
    tiled, tile = cut_tiles(levels, found, definitions, size)
    tiled = finish_lines(tiled, found, definitions, size, tile)
    ordered = sorted(tiled, key=lambda level: level.slowness)
    empty = any(extent == ZERO for extent in extents)
    nest = LoopNest(tuple(found), tuple(ordered), tuple(starts), tuple(ends), empty, tile)
    return nest if empty else _set_bounds(nest)


Digits = tuple[tuple[OperandDigit, ...], int]
"""The digits of an operand along one axis, and where its window starts."""


def merge_nest_axes(
    names: Sequence[str],
    extents: Sequence[Monomial],
    source: DigitOperand,
    target: DigitOperand,
    apart: Collection[int] = (),
) -> tuple[list[NestAxis], list[Digits], list[Digits]]:
    """The axes of several steps; those that follow each other on both sides, without a cut, as one."""
    kept = [d for d, extent in enumerate(extents) if extent != ONE]
    axes = [NestAxis(names[d], names[d], extents[d]) for d in kept]
    first: list[Digits] = [(source.dims[d], source.origins[d]) for d in kept]
    second: list[Digits] = [(target.dims[d], target.origins[d]) for d in kept]
    alone = {names[d] for d in apart}
    k = 0
    while k + 1 < len(axes):
        outer, inner = axes[k], axes[k + 1]
        sides = [(side[k][0], side[k + 1][0]) for side in (first, second)]
        plain = all(len(x) == len(y) == 1 for x, y in sides)
        plain = plain and not alone & {outer.name, inner.name}
        if plain and all(x[0].stride == y[0].stride * inner.extent for x, y in sides):
            axes[k : k + 2] = [
                NestAxis(f"{outer.name}_{inner.name}", f"{outer.title} and {inner.title}", outer.extent * inner.extent)
            ]
            for side in (first, second):
                side[k : k + 2] = [side[k + 1]]
        else:
            k += 1
    return axes, first, second


def _cut_axis(
    index: int,
    axis: NestAxis,
    a: tuple[OperandDigit, ...],
    low_a: int,
    b: tuple[OperandDigit, ...],
    low_b: int,
    definitions: Definitions,
) -> tuple[LoopAxis, list[NestLevel], list[Monomial], list[Monomial]]:
    """The loops along one axis, and what the start of the window moves the starts of both sides."""
    places = common_places(a, low_a, b, low_b)
    split = None
    if places is None:
        places, low, split = [digit.place for digit in b], low_b, a
    else:
        low = low_a if len(b) < 2 else low_b
    high = Monomial(axis.extent.number + low) if axis.extent.known else axis.extent
    moved = [] if split is not None or low_a == low else [_stride_at(a, ONE) * (low_a - low)]
    shifted = [] if low_b == low else [_stride_at(b, ONE) * (low_b - low)]
    levels = []
    for k, place in enumerate(places):
        top = k == len(places) - 1
        whole = definitions.quotient(high, place, f"{axis.name}_blocks") if top else places[k + 1].over(place)
        name = axis.name if len(places) == 1 else f"{axis.name}_{k}"
        steps = None if split is not None else _stride_at(a, place)
        digit = _digit_at(b, place)
        ratio = place.over(digit.place) if digit else place
        slowness = (digit.slowness if digit else 0, -len(ratio.names), -ratio.number)
        levels.append(NestLevel(index, name, place, whole, steps, _stride_at(b, place), False, False, slowness))
    return LoopAxis(axis, low, high, split, low_a - low), levels, moved, shifted


def common_places(
    a: tuple[OperandDigit, ...], low_a: int, b: tuple[OperandDigit, ...], low_b: int
) -> list[Monomial] | None:
    """Where to cut so that every loop moves both by a constant; None where the cuts do not divide each other."""
    first, second = [digit.place for digit in a], [digit.place for digit in b]
    if len(a) < 2:
        return second or [ONE]
    if len(b) < 2:
        return first
    if low_a != low_b:
        return None
    places = sorted({*first, *second}, key=lambda place: (len(place.names), place.number))
    return places if all(x.divides(y) for x, y in pairwise(places)) else None


def _digit_at(digits: tuple[OperandDigit, ...], place: Monomial) -> OperandDigit | None:
    """The digit that a step of so many coordinates moves: the slowest whose own steps divide it."""
    found = None
    for digit in digits:
        if digit.place.divides(place):
            found = digit
    return found


def _stride_at(digits: tuple[OperandDigit, ...], place: Monomial) -> Monomial:
    digit = _digit_at(digits, place)
    return ZERO if digit is None else digit.stride * place.over(digit.place)


def _set_bounds(nest: LoopNest) -> LoopNest:
    """The nest with each loop's bounds: a number where it is known, else the end or start of the window."""
    levels = list(nest.levels)
    for k, level in enumerate(levels):
        own = nest.axes[level.axis]
        around = [x for x in levels[:k] if x.axis == level.axis]
        inside = [x for x in levels[k + 1 :] if x.axis == level.axis]
        known = own.high.known and all(x.place.known and x.steps.known for x in (*around, level, *inside))
        if known:
            place, count, high = level.place.number, level.steps.number, own.high.number
            if not around:
                count = min(count, -(-high // place))
            reach = sum([(x.steps.number - 1) * x.place.number for x in around])
            rest = sum([(x.steps.number - 1) * x.place.number for x in inside])
            clamped = reach + (count - 1) * place >= high and not (nest.tile and level.axis in nest.tile.overlapping)
            levels[k] = level._replace(steps=Monomial(count), clamped=clamped, raised=own.low > rest)
        else:
            levels[k] = level._replace(clamped=bool(around) or not _is_top(level, inside))
    kept = [level for level in levels if level.steps != ONE or level.clamped or level.raised]
    return nest._replace(levels=tuple(kept))


def _is_top(level: NestLevel, others: Sequence[NestLevel]) -> bool:
    return all(other.place.divides(level.place) for other in others)
