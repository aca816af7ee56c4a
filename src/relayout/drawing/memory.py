"""The memory of a layout as a pane: the addresses in order, where a cell is the element that lives there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as cartesian

from ..layout.layout import Layout
from .cells import number
from .lines import lines_along
from .panes import Cell, Look, Subject, Tint, mode_coordinate
from .scene import PADDING, PLAIN, Grid, Pane, PaneAxis, Scale

SHARED = "A + after an element: others live at the same address."


def memory_pane(subject: Subject, tint: Tint, scale: Scale, look: Look, limit: int) -> Pane | None:
    """The addresses in order, with tints for what ``look`` shows; None where they are more than ``limit``, or none."""
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
    marks = {mode_coordinate(layout, c) for c in look.mark}
    chosen = []
    for cell in _elements(layout):
        k = cell.offset - low
        if keys[k] < 0:
            texts[k], tints[k] = ",".join(map(str, cell.coordinate)), PLAIN
            keys[k] = number(layout.extents, cell.coordinate)
        elif not texts[k].endswith("+"):
            texts[k] += "+"
        if tints[k] == PLAIN and look.shows(cell.coordinate):
            tints[k] = tint(cell)
        if cell.coordinate in marks:
            chosen.append(k)
    down = PaneAxis(None, "", tuple([str(low + r * columns) for r in range(rows)]), (0,) * (rows + 1), low, columns)
    across = PaneAxis(None, "", tuple([f"+{c}" for c in range(columns)]), (0,) * (columns + 1))
    grid = Grid((), texts, tints, keys, "", frozenset(chosen))
    return Pane(f"memory of {subject.title}", "memory", down, across, [grid], scale, layout, tuple(subject.names))


def _elements(layout: Layout) -> Iterator[Cell]:
    """Every element of a layout, in row-major order."""
    every = []
    for d in range(layout.rank):
        line = lines_along(layout, d, False)
        every.append([(p - line.mode.origin, line.value(p), line.block_of(p)) for p in line.positions])
    for entries in cartesian(*every):
        total = layout.offset + sum([value for _, value, _ in entries])
        offset = total if layout.swizzle is None else layout.swizzle(total)
        yield Cell(tuple([c for c, _, _ in entries]), offset, tuple([block for _, _, block in entries]), True)
