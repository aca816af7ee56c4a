"""Two layouts over the same coordinates as loop nests: one step of a loop moves both by a constant.

A dimension is cut where either layout carries. Where the cuts of both divide each other, its digits are common to both;
a window is cut further, into full boxes of those digits. Dimensions whose cuts do not divide each other, or that start
at different places of their blocks, become tables of offsets, one entry per coordinate: at most as many as the cuts
need to meet again, since from there on both layouts repeat.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from itertools import product as cartesian
from math import lcm, prod
from typing import TYPE_CHECKING, NamedTuple

from ..errors import LimitExceeded, ShapeError
from ..layout.layout import Layout
from ..layout.modes import Mode, boxes, simplify_mode, span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_TABLE = 1 << 26
"""The longest dimension that may become a table."""

MAX_OFFSET = 1 << 55
"""No table has larger numbers."""


class Loop(NamedTuple):
    """So many ``steps``; each moves ``source`` elements in the one layout and ``target`` in the other."""

    steps: int
    source: int
    target: int


class Table(NamedTuple):
    """A dimension whose offsets follow no common digits: they are looked up."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]


class Box(NamedTuple):
    """A part of one dimension: from these offsets on, all combinations of the loops and of the entries of a table."""

    source: int
    target: int
    loops: tuple[Loop, ...]
    table: Table | None = None


class Piece(NamedTuple):
    """A part of the whole: from these offsets on, all combinations of loops, the slowest first, and tables' entries."""

    source: int
    target: int
    loops: tuple[Loop, ...]
    tables: tuple[Table, ...] = ()

    @property
    def lookups(self) -> int:
        """The combinations of the tables' entries."""
        return prod([len(table.source) for table in self.tables])

    @property
    def size(self) -> int:
        return prod([loop.steps for loop in self.loops]) * self.lookups


def nest(source: Layout, target: Layout) -> tuple[Piece, ...]:
    """Both layouts, without their swizzles, as loops; every coordinate is in exactly one piece."""
    first, second, dims = dimensions(source, target)
    return tuple(_joined(first, second, dims))


def dimensions(source: Layout, target: Layout) -> tuple[int, int, list[list[Box]]]:
    """Where both layouts start, without their swizzles, and the boxes of each dimension."""
    check_extents(source, target)
    start = [source.offset, target.offset]
    found = []
    for d in range(source.rank):
        (a, mode), (b, other) = simplify_mode(source._mode(d)), simplify_mode(target._mode(d))
        start[0] += a
        start[1] += b
        digits = _common(mode, other) if mode.extent else []
        found.append(_periods(mode, other) if digits is None else digits)
    return start[0], start[1], found


def looked_up(source: Layout, target: Layout, d: int) -> Box:
    """Dimension ``d`` as one table, relative to where :func:`dimensions` starts."""
    return Box(0, 0, (), _table(simplify_mode(source._mode(d))[1], simplify_mode(target._mode(d))[1]))


def check_extents(source: Layout, target: Layout) -> None:
    """Refuse layouts of different shapes."""
    if source.extents != target.extents:
        raise ShapeError(
            f"the layouts have the extents {source.extents} and {target.extents}.",
            hint="repack between layouts of one shape",
            source=source,
            target=target,
        )


def _common(a: Mode, b: Mode) -> list[Box] | None:
    """The dimension as full boxes of digits that both modes have; None where they have none in common."""
    if not a.sizes or not b.sizes:
        return [Box(0, 0, ())]
    straight, other = len(a.sizes) == 1, len(b.sizes) == 1
    origin = b.origin if straight else a.origin
    if not straight and not other and a.origin != b.origin:
        return None
    places = sorted({*places_of(a), *places_of(b)})
    if any(high % low for low, high in pairwise(places)):
        return None
    sizes = [high // low for low, high in pairwise(places)]
    sizes.append(-(-(origin + a.extent) // places[-1]))
    first = [stride_at(a, p) for p in places]
    second = [stride_at(b, p) for p in places]
    moved = [m.origin * m.strides[0] - origin * m.strides[0] if len(m.sizes) == 1 else 0 for m in (a, b)]
    found = []
    cut = Mode(tuple(sizes), tuple(first), origin, a.extent)
    for box, same in zip(boxes(cut), boxes(cut._replace(strides=tuple(second))), strict=True):
        loops = [Loop(*step) for step in zip(box.sizes, box.strides, same.strides)]
        found.append(Box(box.base + moved[0], same.base + moved[1], tuple(loops[::-1])))
    return found


def places_of(mode: Mode) -> Iterator[int]:
    """Where the digits of a mode begin, as far as its window goes."""
    place = 1
    for n in mode.sizes:
        yield place
        place *= n


def stride_at(mode: Mode, place: int) -> int:
    """How far a step of ``place`` coordinates moves, as long as it carries into no further digit."""
    weight = 1
    for k, (n, stride) in enumerate(zip(mode.sizes, mode.strides)):
        if place < weight * n or k == len(mode.sizes) - 1:
            return int(stride * (place // weight))
        weight *= n
    return 0


def _periods(a: Mode, b: Mode) -> list[Box]:
    """The dimension as a table that repeats, and a table of what is left."""
    weights = prod(a.sizes[:-1]), prod(b.sizes[:-1])
    period = lcm(*weights)
    count, rest = divmod(a.extent, period)
    steps = [period // weight * m.strides[-1] for weight, m in zip(weights, (a, b))]
    found = []
    if count:
        loops = (Loop(count, steps[0], steps[1]),) if count > 1 else ()
        found.append(Box(0, 0, loops, _table(a._replace(extent=period), b._replace(extent=period))))
    if rest:
        table = _table(a._replace(extent=rest), b._replace(extent=rest))
        found.append(Box(count * steps[0], count * steps[1], (), table))
    return found


def _table(a: Mode, b: Mode) -> Table:
    if a.extent > MAX_TABLE:
        raise LimitExceeded(
            f"a dimension of {a.extent}, whose blocks do not divide each other, is over the limit of {MAX_TABLE}.",
            hint="repack it in parts (narrow)",
            limit=MAX_TABLE,
        )
    return Table(_offsets(a), _offsets(b))


def _offsets(mode: Mode) -> NDArray[np.int64]:
    """The value of a mode at each coordinate of its window."""
    import numpy as np

    low, high = span(mode)
    if max(-low, high, mode.origin + mode.extent, *map(abs, mode.strides)) > MAX_OFFSET:
        raise LimitExceeded(
            f"a dimension whose offsets go from {low} to {high} fits into no memory.",
            hint="repack it in parts (narrow)",
            limit=MAX_OFFSET,
        )
    total: NDArray[np.int64] = np.zeros(mode.extent, np.int64)
    rest = np.arange(mode.origin, mode.origin + mode.extent)
    for n, stride in zip(mode.sizes[:-1], mode.strides):
        rest, digit = np.divmod(rest, n)
        total += digit * stride
    total += rest * mode.strides[-1]
    return total


def _joined(source: int, target: int, dims: list[list[Box]]) -> Iterator[Piece]:
    """One piece for every combination of the dimensions' boxes, its loops merged and put in order."""
    for combination in cartesian(*dims):
        loops = [loop for box in combination for loop in box.loops if loop.steps > 1]
        yield Piece(
            source + sum([box.source for box in combination]),
            target + sum([box.target for box in combination]),
            merged(loops),
            tuple([box.table for box in combination if box.table is not None]),
        )


def merged(loops: list[Loop]) -> tuple[Loop, ...]:
    """The loops in the order of the target, slowest first, those that step as one in both merged."""
    ordered = sorted(loops, key=lambda loop: (-abs(loop.target), -abs(loop.source)))
    out: list[Loop] = []
    for loop in ordered:
        last = out[-1] if out else None
        if last and last.source == loop.source * loop.steps and last.target == loop.target * loop.steps:
            out[-1] = Loop(last.steps * loop.steps, loop.source, loop.target)
        else:
            out.append(loop)
    return tuple(out)
