"""What cells say and which tints they have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..errors import ShapeError
from .panes import Cell, LogicalGrids, Tint
from .scene import CATEGORIES, PLAIN, STEPS, Scale

CELLS = ("offset", "coordinate", "block", "value", "none")
COLORS = ("block", "unit", "memory", "coordinate", "row", "column", "value", "none")
VIEWS = ("logical", "memory", "both")
"""What is drawn of a layout: elements by their coordinates, by their addresses, or both."""


BLOCKS = 6
"""How many tints tell blocks apart."""


class Colouring(NamedTuple):
    """The tint of every cell, its scale, and what the colours tell; no words where there are none."""

    tint: Tint
    scale: Scale
    words: str
    tints: range


OF_BLOCKS = "a colour for each block"
MEMORY = "memory, from the lowest address to the highest"


def number(extents: Sequence[int], coordinate: Sequence[int]) -> int:
    """The number of an element in row-major order."""
    total = 0
    for n, c in zip(extents, coordinate):
        total = total * n + c
    return total


def value_text(value: Any) -> str:
    """What is stored, in as few characters as tell it."""
    kind = value.dtype.kind if hasattr(value, "dtype") else ""
    if kind == "c":
        return f"{complex(value):.4g}"
    if kind == "f" or isinstance(value, float):
        return f"{float(value):.4g}"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def text_of(what: str | None, drawn: LogicalGrids) -> Callable[[Cell], str]:
    """What is written into a cell."""
    value = drawn.value
    forms: dict[str, Callable[[Cell], str]] = {
        "offset": lambda cell: value_text(cell.offset),
        "coordinate": lambda cell: ",".join(map(str, cell.coordinate)) if cell.inside else "",
        "block": lambda cell: ",".join([str(cell.blocks[d]) for d in drawn.running]),
        "value": lambda cell: value_text(value(cell.coordinate)) if cell.inside and value is not None else "",
        "none": lambda cell: "",
    }
    return forms[what or ("value" if value is not None else "offset")]


def colouring_of(what: str | None, drawn: LogicalGrids, beside_memory: bool = False) -> Colouring:
    """How the cells are coloured: by what was asked for, else by what tells most."""
    has_blocks = any(line.blocked for line in drawn.lines) and not any(line.mixed for line in drawn.lines)
    plain = "coordinate" if beside_memory else "memory"
    unit = drawn.look.unit
    numeric = _numeric(drawn)
    chosen = what or ("unit" if unit and numeric else "block" if has_blocks else plain if numeric else "none")
    if chosen == "none" or (chosen in ("memory", "unit") and not numeric):
        return Colouring(lambda cell: PLAIN, "categories", "", range(0))
    if chosen == "block":
        across = drawn.across
        return Colouring(lambda cell: _block_tint(cell.blocks, across), "categories", OF_BLOCKS, range(BLOCKS))
    if chosen in ("row", "column"):
        dim = drawn.down if chosen == "row" else drawn.across
        words = f"a colour for each {chosen}"
        tint: Tint = lambda cell: 0 if dim is None else cell.coordinate[dim] % CATEGORIES  # noqa: E731
        return Colouring(tint, "categories", words, range(CATEGORIES))
    if chosen == "unit" and unit is not None:
        size = unit.elements
        tint = lambda cell: cell.offset // size % CATEGORIES  # noqa: E731
        return Colouring(tint, "categories", unit.words, range(CATEGORIES))
    value = drawn.value
    extents = drawn.subject.layout.extents
    measures: dict[str, tuple[Callable[[Cell], Any], str]] = {
        "memory": (lambda cell: cell.offset, MEMORY),
        "coordinate": (lambda cell: number(extents, cell.coordinate), "elements, from the first to the last"),
        "value": (lambda cell: _magnitude(value, cell), "values, from the lowest to the highest"),
    }
    measure, words = measures[chosen]
    seen = [measure(cell) for cells in drawn.grids for cell in cells if cell.inside]
    finite = [x for x in seen if isinstance(x, int) or abs(x) < float("inf")]
    low, high = min(finite, default=0), max(finite, default=0)
    return Colouring(lambda cell: step_of(measure(cell), low, high), "ramp", words, range(STEPS))


def step_of(x: Any, low: Any, high: Any) -> int:
    """Which step of the ramp a number has between the lowest and the highest; what is no number has none."""
    if x != x:
        return PLAIN
    if x <= low or high <= low:
        return 0
    return STEPS - 1 if x >= high else min(int((x - low) * STEPS // (high - low)), STEPS - 1)


def _magnitude(value: Callable[[tuple[int, ...]], Any] | None, cell: Cell) -> float:
    """A value as a number that may be multiplied by ``STEPS`` without becoming infinite."""
    found = 0.0 if value is None else value(cell.coordinate)
    if isinstance(found, complex):
        raise ShapeError("complex values have no order to colour by.", hint="draw their real parts, or abs(x)")
    return float(found) / 64


def _numeric(drawn: LogicalGrids) -> bool:
    return all(isinstance(cell.offset, int) for cells in drawn.grids for cell in cells[:1])


def _block_tint(blocks: tuple[int, ...], across: int | None) -> int:
    """A tint that differs from those of the blocks on all sides."""
    return sum([b if d == across else 3 * b for d, b in enumerate(blocks)]) % BLOCKS
