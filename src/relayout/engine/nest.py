"""Two layouts over the same coordinates as one loop nest: a step of a loop moves both by a constant.

A dimension is cut where either layout carries. Where the cuts of both divide each other, its digits are common to both;
a window is cut further, into full boxes of those digits. Dimensions whose cuts do not divide each other, or that start
at different places of their blocks, become tables of offsets, one entry per coordinate: at most as many as the cuts
need to meet again, since from there on both layouts repeat.

Nothing is multiplied out unless :meth:`Nest.pieces` is asked for: the whole is every combination of one box per
dimension. The compiled core, the general copy, numpy's copy and the kernels of a device all run through this nest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from itertools import product as cartesian
from math import lcm, prod
from typing import TYPE_CHECKING, Any

from ..errors import LimitExceeded, ShapeError
from ..immutable import NamedTuple
from ..layout.layout import Layout
from ..layout.modes import Mode, coalesced, cut_range, places_of, simplify_mode, span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_TABLE = 1 << 26
"""The longest dimension that may become a table: 1 GiB of offsets for both sides."""

MAX_OFFSET = 1 << 55
"""No table has larger numbers, so that sums of a few fit into 64 bits, in bytes too."""


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
    """A part of one dimension: from these offsets on, all combinations of the loops and of the entries of a table.

    One without ``data`` is padding of the target.
    """

    source: int
    target: int
    loops: tuple[Loop, ...]
    table: Table | None = None
    data: bool = True


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


class Nest(NamedTuple):
    """Where both layouts start, without their swizzles, and the boxes of every dimension."""

    source: int
    target: int
    dims: tuple[tuple[Box, ...], ...]

    def in_bytes(self, width: int) -> Nest:
        """The nest of the bytes of elements of so many; it has no tables."""

        def widen(box: Box) -> Box:
            loops = [Loop(loop.steps, loop.source * width, loop.target * width) for loop in box.loops]
            return Box(box.source * width, box.target * width, tuple(loops), None, box.data)

        dims = [tuple([widen(box) for box in dim]) for dim in self.dims]
        whole = (Box(0, 0, (Loop(width, 1, 1),)),)
        return Nest(self.source * width, self.target * width, (*dims, whole))

    def pieces(self) -> Iterator[Piece]:
        """One piece for every combination of the dimensions' boxes, its loops in the order of the target and merged."""
        for combination in cartesian(*self.dims):
            loops = [loop for box in combination for loop in box.loops]
            ordered = sorted(loops, key=lambda loop: (abs(loop.target), abs(loop.source)))
            yield Piece(
                self.source + sum([box.source for box in combination]),
                self.target + sum([box.target for box in combination]),
                tuple(merge_loops(ordered)[::-1]),
                tuple([box.table for box in combination if box.table is not None]),
            )


class Dimension(NamedTuple):
    """A dimension whose digits are common to both layouts.

    Positions count through the loops, the fastest first, a step of which moves ``places`` positions; ``low`` to
    ``high`` are the window. Position 0 adds the offsets ``source`` and ``target``.
    """

    source: int
    target: int
    loops: tuple[Loop, ...]
    places: Sequence[int]
    low: int
    high: int

    def boxes(self, low: int, high: int, data: bool = True) -> list[Box]:
        """A range of positions, which is not empty, cut into full boxes of digits."""
        steps = self.loops[-1].steps
        if low == 0 and high == steps * self.places[-1]:
            return [Box(self.source, self.target, self.loops if steps > 1 else self.loops[:-1], None, data)]
        found = []
        for start, level, count in cut_range(self.places, low, high):
            # Every loop below the top one has several steps.
            _, step, other = self.loops[level]
            loops = (*self.loops[:level], Loop(count, step, other)) if count > 1 else self.loops[:level]
            source, target = self.source, self.target
            if start:
                for (_, s, t), place in zip(self.loops[::-1], self.places[::-1]):
                    digit, start = divmod(start, place)
                    source += digit * s
                    target += digit * t
            found.append(Box(source, target, loops, None, data))
        return found


class _Steps(NamedTuple):
    """The strides of both layouts as one stride."""

    source: int
    target: int

    def __mul__(self, n: Any) -> _Steps:
        return _Steps(self.source * n, self.target * n)


def merge_loops(loops: Sequence[Loop]) -> list[Loop]:
    """The fewest loops that run through the same offsets in the same order, the fastest first."""
    sizes, strides = coalesced([loop.steps for loop in loops], [_Steps(*loop[1:]) for loop in loops])
    return [Loop(n, *steps) for n, steps in zip(sizes, strides)]


def make_nest(source: Layout, target: Layout) -> Nest:
    """Both layouts, without their swizzles, as loops and tables; every coordinate is in exactly one piece."""
    check_extents(source, target)
    dims: list[tuple[Box, ...]] = []
    for a, b in zip(merged_modes(source), merged_modes(target)):
        dim = common_digits(a, b) if a.extent else None
        dims.append(tuple(dim.boxes(dim.low, dim.high) if dim else _periods(a, b) if a.extent else ()))
    return Nest(source.offset, target.offset, tuple(dims))


def loop_nest(source: Layout, target: Layout, padded: bool) -> Nest | None:
    """Both layouts, of one shape that is not empty, as loops alone; ``padded`` runs through the target's padding too.

    None where some dimension has no digits that are common to both.
    """
    dims: list[tuple[Box, ...]] = []
    for a, b in zip(merged_modes(source), merged_modes(target)):
        if len(a.sizes) == len(b.sizes) == 1 and not (padded and b.windowed):
            (s,), (t,), n = a.strides, b.strides, a.extent
            dims.append((Box(a.origin * s, b.origin * t, (Loop(n, s, t),) if n > 1 else ()),))
            continue
        dim = common_digits(a, b)
        if dim is None:
            return None
        found = dim.boxes(dim.low, dim.high)
        if padded and b.windowed:
            found += padding(b)
        dims.append(tuple(found))
    return Nest(source.offset, target.offset, tuple(dims))


def padding(mode: Mode) -> Iterator[Box]:
    """The positions of a dimension of the target before and behind its window."""
    sizes, strides, origin, extent = mode
    end = prod(sizes)
    whole = Dimension(0, 0, tuple([Loop(n, 0, stride) for n, stride in zip(sizes, strides)]), places_of(mode), 0, end)
    for low, high in ((0, origin), (origin + extent, end)):
        if low < high:
            yield from whole.boxes(low, high, data=False)


def merged_modes(layout: Layout) -> list[Mode]:
    """The dimensions of a layout, each with as few digits as can be."""
    return [mode if len(mode.sizes) < 2 else _merge_digits(mode) for mode in map(layout._mode, range(layout.rank))]


def _merge_digits(mode: Mode) -> Mode:
    sizes, strides = coalesced(mode.sizes, mode.strides)
    return Mode(tuple(sizes), tuple(strides), mode.origin, mode.extent)


def common_digits(a: Mode, b: Mode) -> Dimension | None:
    """A dimension, which is not empty, by digits that both layouts have; None where there are none.

    A layout with one digit there has whatever digits the other one has.
    """
    start = end = 0
    first: Sequence[int]
    second: Sequence[int]
    if len(a.sizes) > 1 and len(b.sizes) > 1:
        (start, a), (end, b) = simplify_mode(a), simplify_mode(b)
    if len(a.sizes) < 2:
        low, places = b.origin, places_of(b)
        first, second = [place * a.strides[0] for place in places] if a.sizes else [0] * len(places), b.strides
        start += (a.origin - low) * first[0]
    elif len(b.sizes) < 2:
        low, places = a.origin, places_of(a)
        first, second = a.strides, [place * b.strides[0] for place in places] if b.sizes else [0] * len(places)
        end += (b.origin - low) * second[0]
    else:
        low, places = a.origin, sorted({*places_of(a), *places_of(b)})
        if b.origin != low or any(above % place for place, above in pairwise(places)):
            return None
        first, second = _strides_at(a, places), _strides_at(b, places)
    high = low + a.extent
    sizes = [above // place for place, above in pairwise(places)]
    sizes.append(-(-high // places[-1]))
    return Dimension(start, end, tuple(map(Loop, sizes, first or (0,), second or (0,))), places, low, high)


def check_extents(source: Layout, target: Layout) -> None:
    """Refuse layouts of different shapes."""
    if source.extents != target.extents:
        raise ShapeError(
            f"the layouts have the extents {source.extents} and {target.extents}.",
            hint="repack between layouts of one shape",
            source=source,
            target=target,
        )


def _strides_at(mode: Mode, places: Sequence[int]) -> list[int]:
    """How far a step of so many coordinates moves, for each place, as long as it carries into no further digit."""
    strides, weight, k = [], 1, 0
    for place in places:
        while k < len(mode.sizes) - 1 and place >= weight * mode.sizes[k]:
            weight *= mode.sizes[k]
            k += 1
        strides.append(mode.strides[k] * (place // weight))
    return strides


# ---- tables ----------------------------------------------------------------------------------------------


def looked_up(source: Layout, target: Layout, d: int) -> Box:
    """Dimension ``d`` as one table."""
    (start, a), (end, b) = simplify_mode(source._mode(d)), simplify_mode(target._mode(d))
    return Box(start, end, (), _table(a, b))


def _periods(a: Mode, b: Mode) -> Iterator[Box]:
    """A dimension as a table that repeats, and a table of what is left."""
    (start, a), (end, b) = simplify_mode(a), simplify_mode(b)
    weights = prod(a.sizes[:-1]), prod(b.sizes[:-1])
    period = lcm(*weights)
    count, rest = divmod(a.extent, period)
    steps = [period // weight * m.strides[-1] for weight, m in zip(weights, (a, b))]
    if count:
        loops = (Loop(count, steps[0], steps[1]),) if count > 1 else ()
        yield Box(start, end, loops, _table(a._replace(extent=period), b._replace(extent=period)))
    if rest:
        table = _table(a._replace(extent=rest), b._replace(extent=rest))
        yield Box(start + count * steps[0], end + count * steps[1], (), table)


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
