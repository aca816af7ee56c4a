"""Layouts as panes: the logical view, where a cell is a coordinate, and the memory, where a cell is an address."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from itertools import product as cartesian
from typing import Any, NamedTuple

from ..composed import ComposedLayout
from ..errors import ShapeError, shown
from ..layout import Layout
from ..nested import product
from .lines import NOTHING, lines
from .scene import CATEGORIES, PADDING, PLAIN, STEPS, Axis, Grid, Pane, Scale

Tint = Callable[["Cell"], int]


class Subject(NamedTuple):
    """Something to draw: a layout, its title, the names of its dimensions, and what is stored at a coordinate."""

    layout: Layout | ComposedLayout
    title: str
    names: str = ""
    value: Callable[[tuple[int, ...]], Any] | None = None


class Cell(NamedTuple):
    """An element (or a place of padding) as texts and tints see it."""

    coordinate: tuple[int, ...]
    offset: Any
    blocks: tuple[int, ...]
    inside: bool


@dataclass(frozen=True, slots=True)
class Look:
    """How layouts are drawn; None lets the picture choose."""

    rows: int | None = None
    columns: int | None = None
    at: dict[int, int] | None = None
    part: dict[int, range] | None = None
    cells: str | None = None
    color: str | None = None
    path: bool = False
    mark: tuple[Any, ...] = ()
    width: int | None = None


class Logical:
    """A layout as grids over two of its dimensions, one for each coordinate of the others."""

    def __init__(self, subject: Subject, look: Look, limit: int) -> None:
        self.subject, self.look, self.notes = subject, look, []
        layout = subject.layout
        plain = isinstance(layout, Layout) and not layout.has_basis
        self.lines = [lines(layout, d, plain) for d in range(layout.rank)]
        for d, part in (look.part or {}).items():
            self.lines[d] = self.lines[d].cropped(part)
        self.down, self.across = self._chosen()
        empty = any(line.length == 0 for line in self.lines)
        if empty:
            self.notes.append("There are no elements.")
        else:
            self._fit(limit)
        self.names = tuple(subject.names) or tuple([str(d) for d in range(layout.rank)])
        self.slices = [] if empty else self._slices(limit)
        self.grids = [self._cells(fixed) for fixed in self.slices]

    notes: list[str]

    @property
    def shape(self) -> tuple[int, int]:
        down, across = [1 if d is None else self.lines[d].length for d in (self.down, self.across)]
        return down, across

    @property
    def chunked(self) -> bool:
        return any(line.step > 1 for line in self.lines)

    def _chosen(self) -> tuple[int | None, int | None]:
        """The dimensions that run down and across: by default the last two that have more than one coordinate."""
        free = [d for d in range(len(self.lines)) if d not in (self.look.at or {})]
        chosen = [self.look.rows, self.look.columns]
        ordered = sorted(free, key=lambda d: (self.lines[d].length > 1, d))
        for k in (1, 0):
            left = [d for d in ordered if d not in chosen]
            if chosen[k] is None and left:
                chosen[k] = left[-1]
        return chosen[0], chosen[1]

    def _fit(self, limit: int) -> None:
        """Draw chunks where elements are too many: whole blocks first, then twice as much of the longer side."""
        whole = self.shape
        shown_dims = [d for d in (self.down, self.across) if d is not None]
        steps = dict.fromkeys(shown_dims, 1)
        while product(self.shape) > limit:
            longest = max(shown_dims, key=lambda d: self.lines[d].length)
            line = self.lines[longest]
            steps[longest] = line.block if steps[longest] < line.block else 2 * steps[longest]
            self.lines[longest] = line.chunked(steps[longest])
        if whole != self.shape:
            chunk = " x ".join([str(self.lines[d].step) for d in shown_dims])
            self.notes.append(
                f"A cell is a chunk of {chunk} elements and shows its first: {' x '.join(map(str, whole))} cells"
                f" are over the {limit} of this form."
            )

    def _slices(self, limit: int) -> list[tuple[int | None, ...]]:
        """The coordinates of the dimensions that do not run, as many as there is room for."""
        at, part = self.look.at or {}, self.look.part or {}
        room = max(1, limit // max(product(self.shape), 1))
        ranges: list[Sequence[int | None]] = []
        count = 1
        for d, line in enumerate(self.lines):
            if d in (self.down, self.across):
                ranges.append((None,))
            elif d in at:
                ranges.append((at[d],))
            else:
                inside = part.get(d, range(line.mode.extent))
                count *= max(0, -((inside.start - inside.stop) // inside.step))
                ranges.append(inside[:room])
        if count > room:
            self.notes.append(f"{room} of {count} slices are drawn; `at` names others.")
        return list(islice(cartesian(*ranges), room))

    def _cells(self, fixed: tuple[int | None, ...]) -> list[Cell]:
        """The cells of one grid, row by row."""
        places = [
            self.lines[d].positions if x is None else (self.lines[d].mode.origin + x,) for d, x in enumerate(fixed)
        ]
        order = [d for d in (self.down, self.across) if d is not None]
        origin = [line.mode.origin for line in self.lines]
        position = [next(iter(p), 0) for p in places]
        value = self._values(position, order)
        running = [[(p, self.lines[d].holds(p), self.lines[d].block_of(p)) for p in places[d]] for d in order]
        blocks = [self.lines[d].block_of(p) for d, p in enumerate(position)]
        coordinate = [p - o for p, o in zip(position, origin)]
        found = []
        for entries in cartesian(*running):
            inside = True
            for d, (p, holds, block) in zip(order, entries):
                coordinate[d] = p - origin[d]
                blocks[d] = block
                inside = inside and holds
            offset = value(coordinate, [p for p, _, _ in entries]) if inside or self._has_box else ""
            found.append(Cell(tuple(coordinate), offset, tuple(blocks), inside))
        return found

    @property
    def _has_box(self) -> bool:
        """Whether places outside the window have offsets, too."""
        layout = self.subject.layout
        return isinstance(layout, Layout) and not layout.has_basis

    def _values(self, position: list[int], order: list[int]) -> Callable[[list[int], list[int]], Any]:
        """The offset of a cell, given its coordinate and its positions along the dimensions that run."""
        layout = self.subject.layout
        if not isinstance(layout, Layout) or layout.has_basis:
            if self.chunked:
                return lambda c, p: layout(tuple([max(x, 0) for x in c]))
            return lambda c, p: layout(tuple(c))
        base = layout.offset + sum([line.value(position[d]) for d, line in enumerate(self.lines) if d not in order])
        tables = [{p: self.lines[d].value(p) for p in self.lines[d].positions} for d in order]
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
        """The pane whose cells have these texts, tints and keys; padding is hatched and nobody's."""
        marks = {marked(self.subject.layout, c) for c in self.look.mark}
        is_marked = outlined or (lambda cell: cell.coordinate in marks)
        grids = []
        for fixed, cells in zip(self.slices, self.grids):
            tints = [tint(cell) if cell.inside else PADDING for cell in cells]
            keys = [key(cell) if cell.inside else -1 for cell in cells]
            chosen = frozenset([k for k, cell in enumerate(cells) if cell.inside and is_marked(cell)])
            grids.append(
                Grid(
                    fixed, [text(cell) for cell in cells], tints, keys, self._caption(fixed), chosen, self._path(cells)
                )
            )
        layout = self.subject.layout
        return Pane(
            self.subject.title,
            "logical",
            self._axis(self.down),
            self._axis(self.across),
            grids,
            scale,
            layout if isinstance(layout, Layout) else None,
            self.names,
            joint,
        )

    def _axis(self, d: int | None) -> Axis:
        return (
            NOTHING
            if d is None or not self.grids
            else self.lines[d].axis(self.subject.names[d] if self.subject.names else "")
        )

    def _caption(self, fixed: tuple[int | None, ...]) -> str:
        if all(x is None for x in fixed) or product(self.subject.layout.extents) == product(self.shape):
            return ""
        if self.subject.names:
            return " ".join([f"{name}={x}" for name, x in zip(self.names, fixed) if x is not None])
        return f"[{', '.join([':' if x is None else str(x) for x in fixed])}]"

    def _path(self, cells: list[Cell]) -> tuple[int, ...]:
        """The cells in the order of memory."""
        if not self.look.path or self.subject.layout.size == 0:
            return ()
        inside = [k for k, cell in enumerate(cells) if cell.inside and isinstance(cell.offset, int)]
        return tuple(sorted(inside, key=lambda k: cells[k].offset))


def marked(layout: Layout | ComposedLayout, coordinate: Any) -> tuple[int, ...]:
    """A coordinate in any of its forms as one number for each dimension."""
    base = layout
    while isinstance(base, ComposedLayout):
        base = base.inner
    return base.coordinates(coordinate).modes


# ---- texts, tints and keys -------------------------------------------------------------------------------


def number(extents: Sequence[int], coordinate: Sequence[int]) -> int:
    """The number of an element in row-major order."""
    total = 0
    for n, c in zip(extents, coordinate):
        total = total * n + c
    return total


def step_of(x: Any, low: Any, high: Any) -> int:
    """Which step of the ramp a number has between the lowest and the highest."""
    return 0 if high <= low else min(int((x - low) * STEPS / (high - low)), STEPS - 1)


def written(value: Any) -> str:
    """What is stored, in as few characters as tell it."""
    if isinstance(value, float) or (hasattr(value, "dtype") and value.dtype.kind == "f"):
        return f"{float(value):.4g}"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def text_of(what: str | None, drawn: Logical) -> Callable[[Cell], str]:
    """What is written into a cell."""
    value = drawn.subject.value
    if what == "value" and value is None:
        raise ShapeError(
            "a layout has no values to write into its cells.", hint="draw a tensor or an array, or write its offsets"
        )
    shown_dims = [d for d in (drawn.down, drawn.across) if d is not None]
    forms: dict[str, Callable[[Cell], str]] = {
        "offset": lambda cell: written(cell.offset),
        "coordinate": lambda cell: ",".join(map(str, cell.coordinate)) if cell.inside else "",
        "block": lambda cell: ",".join([str(cell.blocks[d]) for d in shown_dims]),
        "value": lambda cell: written(value(cell.coordinate)) if cell.inside and value is not None else "",
        "none": lambda cell: "",
    }
    chosen = what or ("value" if value is not None else "offset")
    if chosen not in forms:
        raise ShapeError(f"cells cannot show {shown(chosen)}.", hint=f"one of {', '.join(forms)}", got=chosen)
    return forms[chosen]


COLORS = ("block", "memory", "coordinate", "row", "column", "value", "none")


def tint_of(what: str | None, drawn: Logical, beside_memory: bool = False) -> tuple[Tint, Scale, str]:
    """The tint of a cell, its scale, and what a ramp goes along."""
    has_blocks = any(line.blocked for line in drawn.lines)
    plain = "coordinate" if beside_memory else "memory"
    chosen = what or ("block" if has_blocks else plain if _numeric(drawn) else "none")
    if chosen not in COLORS:
        raise ShapeError(
            f"cells cannot be coloured by {shown(chosen)}.", hint=f"one of {', '.join(COLORS)}", got=chosen
        )
    if chosen == "none" or (chosen == "memory" and not _numeric(drawn)):
        return (lambda cell: PLAIN), "categories", ""
    if chosen == "block":
        across = drawn.across
        return (lambda cell: _block_tint(cell.blocks, across)), "categories", ""
    if chosen in ("row", "column"):
        dim = drawn.down if chosen == "row" else drawn.across
        return (lambda cell: 0 if dim is None else cell.coordinate[dim] % CATEGORIES), "categories", ""
    value = drawn.subject.value
    if chosen == "value" and value is None:
        raise ShapeError("a layout has no values to colour by.", hint="draw a tensor or an array", got=chosen)
    extents = drawn.subject.layout.extents
    measures: dict[str, tuple[Callable[[Cell], Any], str]] = {
        "memory": (lambda cell: cell.offset, "memory, from the lowest address to the highest"),
        "coordinate": (lambda cell: number(extents, cell.coordinate), "elements, from the first to the last"),
        "value": (lambda cell: float(value(cell.coordinate)), "values, from the lowest to the highest"),  # type: ignore[misc]
    }
    measure, words = measures[chosen]
    seen = [measure(cell) for cells in drawn.grids for cell in cells if cell.inside]
    low, high = min(seen, default=0), max(seen, default=0)
    return (lambda cell: step_of(measure(cell), low, high)), "ramp", words


def _numeric(drawn: Logical) -> bool:
    return all(isinstance(cell.offset, int) for cells in drawn.grids for cell in cells[:1])


def _block_tint(blocks: tuple[int, ...], across: int | None) -> int:
    """A tint that differs from those of the blocks on all sides."""
    return sum([b if d == across else 3 * b for d, b in enumerate(blocks)]) % 6


# ---- memory ----------------------------------------------------------------------------------------------


def memory_pane(subject: Subject, tint: Tint, scale: Scale, look: Look, limit: int) -> Pane | None:
    """The addresses in order, each with the element that lives there; None where they are more than ``limit``."""
    layout = subject.layout
    if not isinstance(layout, Layout) or layout.has_basis or not 0 < layout.size <= limit:
        return None
    low, high = layout.min_offset, layout.max_offset
    if low >= 0:
        high = max(high, layout.storage_size - 1)
    width = look.width or (16 if high - low < 256 else 32)
    low = 0 if 0 <= low < 8 * width else low - low % width
    if high - low >= limit:
        return None
    columns = min(width, high - low + 1)
    rows = -(-(high - low + 1) // width)
    count = rows * columns
    texts, tints, keys = [""] * count, [PADDING] * count, [-1] * count
    for k in range(high - low + 1, count):
        tints[k] = PLAIN
    marks = {marked(layout, c) for c in look.mark}
    chosen = []
    for cell in _elements(layout):
        k = cell.offset - low
        if keys[k] < 0:
            texts[k], tints[k] = ",".join(map(str, cell.coordinate)), tint(cell)
            keys[k] = number(layout.extents, cell.coordinate)
        elif not texts[k].endswith("+"):
            texts[k] += "+"
        if cell.coordinate in marks:
            chosen.append(k)
    down = Axis(None, "", tuple([str(low + r * columns) for r in range(rows)]), (0,) * (rows + 1), low, columns)
    across = Axis(None, "", tuple([f"+{c}" for c in range(columns)]), (0,) * (columns + 1))
    grid = Grid((), texts, tints, keys, "", frozenset(chosen))
    return Pane(f"memory of {subject.title}", "memory", down, across, [grid], scale, layout, tuple(subject.names))


def _elements(layout: Layout) -> Iterator[Cell]:
    """Every element of a layout, in row-major order."""
    every = [lines(layout, d, False) for d in range(layout.rank)]
    for position in cartesian(*[line.positions for line in every]):
        coordinate = tuple([p - line.mode.origin for p, line in zip(position, every)])
        total = layout.offset + sum([line.value(p) for p, line in zip(position, every)])
        offset = total if layout.swizzle is None else layout.swizzle(total)
        yield Cell(coordinate, offset, tuple([line.block_of(p) for p, line in zip(position, every)]), True)
