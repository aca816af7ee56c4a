"""A layout as a grid of offsets in which blocks are set apart, cut into panels that fit a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as cartesian

import click

from ..errors import LimitExceeded
from ..layout import Layout
from ..modes import coalesced
from ..nested import product

CELL_LIMIT = 1 << 12
"""The largest picture, in cells."""

_COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "red")


def picture(layout: Layout, rows: int | None, columns: int | None, width: int | None) -> Iterator[str]:
    """The lines of a picture: one grid over two dimensions for each coordinate of the others.

    A width is that of a terminal: panels fit into it, and every block has a colour.
    """
    if layout.size > CELL_LIMIT:
        raise LimitExceeded(
            f"a picture of {layout.size} cells is over the limit of {CELL_LIMIT}.",
            hint="draw a part of it, as in --part 0,:8,:8,0",
            limit=CELL_LIMIT,
        )
    down, across = _chosen(layout, rows, columns)
    if not layout.size:
        yield "no elements"
        return
    others = [range(n) if d not in (down, across) else (None,) for d, n in enumerate(layout.extents)]
    for k, fixed in enumerate(cartesian(*others)):
        if k:
            yield ""
        if any(x is not None for x in fixed):
            yield f"[{', '.join([':' if x is None else str(x) for x in fixed])}]"
        yield from _Grid(layout, fixed, down, across, width).lines()


def _chosen(layout: Layout, rows: int | None, columns: int | None) -> tuple[int | None, int | None]:
    """The dimensions that run down and across: by default the last two that have more than one coordinate."""
    chosen = [None if d is None else layout._dim(d) for d in (rows, columns)]
    longer = [d for d, n in enumerate(layout.extents) if n > 1]
    single = [d for d, n in enumerate(layout.extents) if n <= 1]
    for k in (1, 0):
        free = [d for d in (*single, *longer) if d not in chosen]
        if chosen[k] is None and free:
            chosen[k] = free[-1]
    return chosen[0], chosen[1]


class _Grid:
    """One grid: the offsets of all coordinates that have the fixed entries, one row and one column for the others."""

    def __init__(
        self, layout: Layout, fixed: tuple[int | None, ...], down: int | None, across: int | None, width: int | None
    ) -> None:
        self.layout, self.fixed, self.down, self.across, self.coloured = layout, fixed, down, across, width is not None
        self.rows, self.columns = [1 if d is None else layout.extents[d] for d in (down, across)]
        self.row_blocks, self.column_blocks = _blocks(layout, down), _blocks(layout, across)
        self.cell = max(len(str(n)) for n in (layout.min_offset, layout.max_offset, self.columns - 1))
        self.label = len(str(self.rows - 1))
        self.width = width

    def lines(self) -> Iterator[str]:
        first = 0
        while first < self.columns:
            last = self._fitting(first)
            if first:
                yield ""
            yield self._line("", [f"{c:>{self.cell}}" for c in range(first, last)], first)
            for r in range(self.rows):
                if r == 0 or self.row_blocks[r] != self.row_blocks[r - 1]:
                    yield self._rule(first, last)
                label = f"{r:>{self.label}}" if self.down is not None else ""
                yield self._line(label, [self._offset(r, c) for c in range(first, last)], first)
            first = last

    def _fitting(self, first: int) -> int:
        """The end of the columns that fit beside each other; at a block's end where one fits."""
        if self.width is None:
            return self.columns
        room, last, whole = self.width - self.label - 2, first, first
        for c in range(first, self.columns):
            room -= self.cell + 1 + 2 * self._starts(c, first)
            if room < 0 and c > first:
                return whole if whole > first else last
            last = c + 1
            if last == self.columns or self._starts(last, first):
                whole = last
        return self.columns

    def _starts(self, column: int, first: int) -> bool:
        """Whether a block starts at this column of a panel, other than at its left end."""
        return column > first and self.column_blocks[column] != self.column_blocks[column - 1]

    def _line(self, label: str, cells: list[str], first: int) -> str:
        parts = [" |" * self._starts(first + k, first) + f" {cell}" for k, cell in enumerate(cells)]
        bar = "|" if label or self.down is None else " "
        return f"{label:>{self.label}} {bar}{''.join(parts)}"

    def _rule(self, first: int, last: int) -> str:
        parts = ["-+" * self._starts(c, first) + "-" * (self.cell + 1) for c in range(first, last)]
        return f"{'-' * self.label}-+{''.join(parts)}"

    def _offset(self, row: int, column: int) -> str:
        places = {self.down: row, self.across: column}
        value = self.layout([places[d] if x is None else x for d, x in enumerate(self.fixed)])
        text = f"{value!s:>{self.cell}}"
        colour = _COLOURS[(self.row_blocks[row] * 3 + self.column_blocks[column]) % len(_COLOURS)]
        return click.style(text, fg=colour) if self.coloured else text


def _blocks(layout: Layout, dim: int | None) -> list[int]:
    """The number of the block along a dimension, for each of its coordinates."""
    if dim is None:
        return [0]
    mode = layout._mode(dim)
    sizes, _ = coalesced(mode.sizes, mode.strides)
    block = product(tuple(sizes[:-1])) if len(sizes) > 1 else mode.origin + mode.extent
    return [(mode.origin + c) // max(block, 1) for c in range(mode.extent)]
