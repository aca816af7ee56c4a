"""Layouts as panes: grids over two dimensions, where a cell is a coordinate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from itertools import product as cartesian
from typing import TYPE_CHECKING, Any, NamedTuple

from ..algebra.composed import ComposedLayout
from ..integers.nested import product
from ..layout.layout import Layout
from .lines import NOTHING, lines_along
from .scene import PADDING, Grid, Pane, PaneAxis, Scale

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

READ_AT_ONCE = 1 << 18
"""The elements of a tensor that are all read, even if fewer are drawn."""

SMALLEST = 16
"""A grid takes the room of this many cells at least: for its labels."""

WINDOW = "outside the window"
"""What the places of a layout's box are that hold no element: padding, or what a slice left; it does not know."""


class Subject(NamedTuple):
    """Something to draw: a layout, its title, the names of its dimensions, and the tensor whose values it places.

    ``outside`` says what the places of the box are that hold no element, ``bits`` how wide an element is, if known.
    """

    layout: Layout | ComposedLayout
    title: str
    names: str = ""
    tensor: Tensor | None = None
    outside: str = WINDOW
    bits: int | None = None


class Unit(NamedTuple):
    """So many elements that lie together in memory and have one colour."""

    elements: int
    words: str


class Cell(NamedTuple):
    """An element, or a place of the box that holds none, as texts and tints see it."""

    coordinate: tuple[int, ...]
    offset: Any
    blocks: tuple[int, ...]
    inside: bool


Tint = Callable[[Cell], int]


@dataclass(frozen=True, slots=True)
class Look:
    """How layouts are drawn; None lets the picture choose, and ``zoom`` which part of a comparison is drawn."""

    rows: int | None = None
    columns: int | None = None
    at: dict[int, int] = field(default_factory=dict)
    part: dict[int, range] = field(default_factory=dict)
    cells: str | None = None
    color: str | None = None
    path: bool = False
    mark: tuple[Any, ...] = ()
    width: int | None = None
    strides: bool = False
    unit: Unit | None = None
    zoom: bool = False

    def shows(self, coordinate: Sequence[int]) -> bool:
        """Whether a coordinate is in what was asked for."""
        return all(coordinate[d] == n for d, n in self.at.items()) and all(
            coordinate[d] in r for d, r in self.part.items()
        )


class LogicalGrids:
    """A layout as grids over two of its dimensions, one for each coordinate of the others."""

    def __init__(self, subject: Subject, look: Look, limit: int) -> None:
        self.subject, self.look = subject, look
        self.notes: list[str] = []
        self.value = None if subject.tensor is None else _reader(subject.tensor)
        layout = subject.layout
        plain = isinstance(layout, Layout) and not layout.has_basis
        self.lines = [lines_along(layout, d, plain) for d in range(layout.rank)]
        for d, part in look.part.items():
            self.lines[d] = self.lines[d].crop(part)
        self.down, self.across = running_dims(look, [line.length for line in self.lines])
        self.running = [d for d in (self.down, self.across) if d is not None]
        if look.strides and getattr(layout, "swizzle", None) is not None:
            self.notes.append("The strides are those before the swizzle.")
        empty = any(line.length == 0 for line in self.lines)
        if empty:
            self.notes.append("There are no elements.")
        else:
            self._fit(limit)
        self.names = tuple(subject.names) or tuple([str(d) for d in range(layout.rank)])
        self.slices = [] if empty else self._slices(limit)
        self.grids = [self._cells(fixed) for fixed in self.slices]

    @property
    def shape(self) -> tuple[int, int]:
        down, across = [1 if d is None else self.lines[d].length for d in (self.down, self.across)]
        return down, across

    @property
    def chunked(self) -> bool:
        return any(line.chunk > 1 for line in self.lines)

    def _fit(self, limit: int) -> None:
        """Draw chunks where elements are too many: whole blocks first, then twice as much of the longer side."""
        whole = self.shape
        while product(self.shape) > limit:
            longest = max(self.running, key=lambda d: self.lines[d].length)
            self.lines[longest] = self.lines[longest].coarsen()
        if self.chunked:
            chunk = " x ".join([str(self.lines[d].chunk) for d in self.running])
            self.notes.append(
                f"A cell is a chunk of {chunk} elements and shows its first: {' x '.join(map(str, whole))} cells"
                f" are over the limit of {limit}."
            )

    def _slices(self, limit: int) -> list[tuple[int | None, ...]]:
        """The coordinates of the dimensions that do not run, as many as there is room for."""
        room = max(1, limit // max(product(self.shape), SMALLEST))
        ranges: list[Sequence[int | None]] = []
        count = 1
        for d, line in enumerate(self.lines):
            if d in self.running:
                ranges.append((None,))
            elif d in self.look.at:
                ranges.append((self.look.at[d],))
            else:
                inside = self.look.part.get(d, range(line.mode.extent))
                count *= max(0, -((inside.start - inside.stop) // inside.step))
                ranges.append(inside[:room])
        if count > room:
            self.notes.append(f"{room} of {count} slices are drawn; `at` names others.")
        return list(islice(cartesian(*ranges), room))

    def _cells(self, fixed: tuple[int | None, ...]) -> list[Cell]:
        """The cells of one grid, row by row."""
        origin = [line.mode.origin for line in self.lines]
        position = [line.start if x is None else o + x for line, o, x in zip(self.lines, origin, fixed)]
        value = self._values(position)
        running = [
            [(p, self.lines[d].holds(p), self.lines[d].block_of(p)) for p in self.lines[d].positions]
            for d in self.running
        ]
        blocks = [line.block_of(p) for line, p in zip(self.lines, position)]
        coordinate = [p - o for p, o in zip(position, origin)]
        found = []
        for entries in cartesian(*running):
            inside = True
            for d, (p, holds, block) in zip(self.running, entries):
                coordinate[d] = p - origin[d]
                blocks[d] = block
                inside = inside and holds
            found.append(Cell(tuple(coordinate), value(coordinate, [e[0] for e in entries]), tuple(blocks), inside))
        return found

    def _values(self, position: list[int]) -> Callable[[list[int], list[int]], Any]:
        """The offset of a cell, given its coordinate and its positions along the dimensions that run."""
        layout = self.subject.layout
        if not isinstance(layout, Layout) or layout.has_basis:
            return lambda c, p: layout(tuple(c))
        still = [line.value(p) for d, (line, p) in enumerate(zip(self.lines, position)) if d not in self.running]
        base = layout.offset + sum(still)
        tables = [{p: self.lines[d].value(p) for p in self.lines[d].positions} for d in self.running]
        swizzle = layout.swizzle
        if swizzle is None:
            return lambda c, p: base + sum([table[x] for table, x in zip(tables, p)])
        return lambda c, p: swizzle(base + sum([table[x] for table, x in zip(tables, p)]))

    # ---- from cells to grids -----------------------------------------------------------------------------

    def pane(
        self,
        text: Callable[[Cell], str],
        tint: Tint,
        scale: Scale,
        key: Callable[[Cell], int],
        outlined: Callable[[Cell], bool] | None = None,
        joint: str = "",
    ) -> Pane:
        """The pane whose cells have these texts, tints and keys; what is no element is hatched and nobody's."""
        marks = self._marks()
        is_marked = outlined or (lambda cell: cell.coordinate in marks)
        grids = []
        for fixed, cells in zip(self.slices, self.grids):
            tints = [tint(cell) if cell.inside else PADDING for cell in cells]
            keys = [key(cell) if cell.inside else -1 for cell in cells]
            chosen = frozenset([k for k, cell in enumerate(cells) if cell.inside and is_marked(cell)])
            texts = [text(cell) for cell in cells]
            grids.append(Grid(fixed, texts, tints, keys, self._caption(fixed), chosen, self._path(cells)))
        layout = self.subject.layout
        rows, columns = self._axis(self.down), self._axis(self.across)
        known = layout if isinstance(layout, Layout) else None
        outside = self.subject.outside
        return Pane(self.subject.title, "logical", rows, columns, grids, scale, known, self.names, joint, outside)

    def _axis(self, d: int | None) -> PaneAxis:
        if d is None or not self.grids:
            return NOTHING
        return self.lines[d].axis(self.subject.names[d] if self.subject.names else "", self.look.strides)

    def _marks(self) -> set[tuple[int | None, ...]]:
        """The coordinates of the cells that show what is marked."""
        marks = [mode_coordinate(self.subject.layout, c) for c in self.look.mark]
        return {tuple([self.lines[d].drawn_at(x) if d in self.running else x for d, x in enumerate(c)]) for c in marks}

    def _caption(self, fixed: tuple[int | None, ...]) -> str:
        if all(x is None or n == 1 for x, n in zip(fixed, self.subject.layout.extents)):
            return ""
        if self.subject.names:
            return " ".join([f"{name}={x}" for name, x in zip(self.names, fixed) if x is not None])
        return f"[{', '.join([':' if x is None else str(x) for x in fixed])}]"

    def _path(self, cells: list[Cell]) -> tuple[int, ...]:
        """The cells in the order of memory."""
        if not self.look.path:
            return ()
        inside = [k for k, cell in enumerate(cells) if cell.inside and isinstance(cell.offset, int)]
        return tuple(sorted(inside, key=lambda k: cells[k].offset))


def running_dims(look: Look, lengths: Sequence[int]) -> tuple[int | None, int | None]:
    """The dimensions that run down and across: by default the last two that have more than one coordinate."""
    chosen = [look.rows, look.columns]
    free = [d for d in range(len(lengths)) if d not in look.at and d not in chosen]
    best = sorted(free, key=lambda d: (lengths[d] > 1, d), reverse=True)
    for d in sorted(best[: chosen.count(None)], reverse=True):
        chosen[1 if chosen[1] is None else 0] = d
    return chosen[0], chosen[1]


def _reader(tensor: Tensor) -> Callable[[tuple[int, ...]], Any]:
    """What is stored at a coordinate: all at once where that is little, else what is asked for."""
    if tensor.size <= READ_AT_ONCE:
        return tensor.numpy().__getitem__
    return cache(tensor.__getitem__)


def mode_coordinate(layout: Layout | ComposedLayout, coordinate: Any) -> tuple[int, ...]:
    """A coordinate in any of its forms as one number for each dimension."""
    base = layout
    while isinstance(base, ComposedLayout):
        base = base.inner
    return base.coordinates(coordinate).modes
