"""Scenes as lines of text: plain ASCII but for the dots of padding, or in the colours of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from .colours import LIGHT
from .scene import PADDING, PLAIN, Grid, LegendEntry, Pane, PaneAxis, Scale, Scene
from .words import fold

PAGE = 100
"""How wide a text is that is not for a terminal; a grid that is wider stays whole."""

_GAP = 3
_NARROWEST = 40
"""Titles above narrow grids that have neighbours are folded no earlier."""


class StyledText(NamedTuple):
    """A piece of a line; the look is the parameters of the escape that switches it on."""

    text: str
    look: str = ""


Line = list[StyledText]
Block = list[Line]


def render_text(scene: Scene, width: int | None = None, colours: int = 0) -> str:
    """The picture in ``width`` columns; ``colours`` is how many the terminal has: 0, 16, 256 or 2**24."""
    pen = _Pen(colours)
    lines = _around(scene, pen, width) if scene.around else []
    if not lines:
        blocks = [_pane(pane, pen, width, alone=len(scene.panes) == 1) for pane in scene.panes]
        lines = _side_by_side(blocks, [pane.joint for pane in scene.panes], width or PAGE)
    foot = [*_legend(scene.legend, pen, width or PAGE), *_notes(scene, width or PAGE)]
    if foot:
        lines += [[], *foot]
    return "\n".join([_ansi_line(line) for line in lines])


def _ansi_line(line: Line) -> str:
    parts = []
    for look, run in groupby(line, key=lambda span: span.look):
        text = "".join([span.text for span in run])
        parts.append(f"\x1b[{look}m{text}\x1b[0m" if look else text)
    return "".join(parts).rstrip(" ")


def _length(line: Line) -> int:
    return sum([len(span.text) for span in line])


# ---- colours ---------------------------------------------------------------------------------------------

_BRIGHT = (106, 103, 102, 105, 47, 101, 46, 107)
_BRIGHT_RAMP = (103, 103, 103, 102, 102, 102, 106, 106, 106, 46, 46, 46)


class _Pen:
    """How things look in the colours that there are; in none they all look alike."""

    def __init__(self, colours: int) -> None:
        self.colours = colours
        self.faint = "2" if colours else ""
        self.strong = "1" if colours else ""

    def cell(self, scale: Scale, tint: int, marked: bool = False) -> str:
        """Dark text on a light tint, whatever the terminal's own colours are; a mark swaps the two."""
        if not self.colours:
            return ""
        mark = ["1", "7"] if marked else []
        if tint == PADDING:
            return ";".join(["2", *mark])
        return ";".join([*mark, *([] if tint == PLAIN else self._tint(scale, tint))])

    def _tint(self, scale: Scale, tint: int) -> list[str]:
        if self.colours <= 16:
            return ["30", str((_BRIGHT if scale == "categories" else _BRIGHT_RAMP)[tint])]
        red, green, blue = bytes.fromhex(LIGHT.tint(scale, tint)[1:])
        if self.colours > 256:
            return ["38;2;0;0;0", f"48;2;{red};{green};{blue}"]
        return ["38;5;16", f"48;5;{_xterm_colour(red, green, blue)}"]


_LEVELS = (0, 95, 135, 175, 215, 255)


def _xterm_colour(*colour: int) -> int:
    """The colour of xterm's cube of 6 x 6 x 6 that is the most like this one."""
    red, green, blue = [min(range(6), key=lambda k: abs(_LEVELS[k] - part)) for part in colour]
    return 16 + 36 * red + 6 * green + blue


# ---- panes -----------------------------------------------------------------------------------------------


def _pane(pane: Pane, pen: _Pen, width: int | None, alone: bool) -> Block:
    """A pane's title over its grids, which stand beside each other where they fit."""
    table = _TextGrid(pane, pen)
    panels = list(table.panels(width))
    blocks = []
    for grid in pane.grids:
        stacked: Block = [[StyledText(grid.caption)]] if grid.caption else []
        for k, (first, last) in enumerate(panels):
            stacked += [*([[]] if k else []), *table.lines(grid, first, last)]
        blocks.append(stacked)
    inside = _side_by_side(blocks, [""] * len(blocks), width or PAGE)
    page = width or PAGE
    room = page if alone else min(page, max(_NARROWEST, _width(inside)))
    title = [[StyledText(line, pen.strong)] for line in fold(pane.title, room)]
    return [*title, *[[StyledText(line)] for line in fold(_strides(pane), room, "  ")], *inside]


def _around(scene: Scene, pen: _Pen, width: int | None) -> Block:
    """The second pane left of the third and the first above it; nothing where they are wider than a terminal."""
    tables = [_TextGrid(pane, pen) for pane in scene.panes]
    cell, label = max([table.cell for table in tables]), max(tables[0].label, tables[2].label)
    blocks: list[Block] = []
    for table, pane in zip(tables, scene.panes):
        table.set_widths(cell, table.label if pane is scene.panes[1] else label)
        inside = list(table.lines(pane.grids[0], 0, pane.columns.count))
        blocks.append([[StyledText(line, pen.strong)] for line in fold(pane.title, max(24, _width(inside)))] + inside)
    above, beside, inner = blocks
    for block in (beside, inner):
        block[:0] = [[]] * (max(len(beside), len(inner)) - len(block))
    left = _width(beside) + _GAP
    if width is not None and left + max(_width(above), _width(inner)) > width:
        return []
    lines: Block = [[StyledText(" " * left), *line] for line in above]
    return [*lines, [], *[[*a, StyledText(" " * (left - _length(a))), *b] for a, b in zip(beside, inner)]]


def _strides(pane: Pane) -> str:
    """What a step along each axis adds to the offset, from its innermost mode to its outermost."""
    found = []
    for axis, way in ((pane.rows, "down"), (pane.columns, "across")):
        steps = [(text, (end - start) * axis.step) for start, end, text in axis.strides]
        words = [text if wide == 1 else f"{text} every {wide}" for text, wide in steps]
        found += [f"{way} {', '.join(words)}"] if words else []
    return f"strides: {'; '.join(found)}" if found else ""


def _side_by_side(blocks: Sequence[Block], joints: Sequence[str], width: int) -> Block:
    """The blocks in rows as wide as fits, with the sign of each before it, or above where it does not fit."""
    rows: list[list[Block]] = []
    used = 0
    for block, joint in zip(blocks, joints):
        parts = [_sign(joint, block), block] if joint else [block]
        wide = sum([_width(part) for part in parts]) + _GAP * len(parts)
        if rows and used + wide - _GAP <= width:
            rows[-1] += parts
            used += wide
        else:
            rows.append(parts if wide - _GAP <= width or not joint else [[[StyledText(joint)], *block]])
            used = wide
    lines: Block = []
    for row in rows:
        lines += [[]] if lines else []
        widths = [_width(block) for block in row]
        for k in range(max(map(len, row))):
            line: Line = []
            for block, wide in zip(row, widths):
                part = block[k] if k < len(block) else []
                line += [*part, StyledText(" " * (wide - _length(part) + _GAP))]
            lines.append(line)
    return lines


def _width(block: Block) -> int:
    return max(map(_length, block), default=0)


def _sign(joint: str, block: Block) -> Block:
    """The sign before a block, at half its height."""
    return [*[[] for _ in range(len(block) // 2)], [StyledText(joint)]]


# ---- one grid --------------------------------------------------------------------------------------------


class _TextGrid:
    """How all grids of a pane are set: the widths of its columns and labels, and the signs of its rules."""

    def __init__(self, pane: Pane, pen: _Pen) -> None:
        self.pane, self.pen = pane, pen
        texts = {_on_one_line(text) for grid in pane.grids for text in grid.texts}
        self.brackets = not pen.colours and any(grid.marked for grid in pane.grids)
        self.corner = "".join([axis.name and f"{axis.name}{arrow}" for axis, arrow in _named_axes(pane)])
        self.after = " " if pen.colours or self.brackets else ""
        self.step = " " if any(grid.path for grid in pane.grids) else ""
        self.signs = ("", "│", "┃") if pen.colours else ("", " |", " ||")
        cell = max(map(len, (*texts, *pane.columns.labels)), default=1)
        self.set_widths(cell, max(map(len, (self.corner, *pane.rows.labels, " "))))

    def set_widths(self, cell: int, label: int) -> None:
        """How wide the text of a cell is, and the label of a row."""
        self.cell, self.label = cell, label
        self.room = cell + 1 + len(self.after) + len(self.step)

    def panels(self, width: int | None) -> Iterator[tuple[int, int]]:
        """Ranges of columns that fit beside each other; they end where a block ends, if one fits."""
        first, count = 0, self.pane.columns.count
        while first < count:
            last = count if width is None else self._panel_end(first, width)
            yield first, last
            first = last

    def _panel_end(self, first: int, width: int) -> int:
        room, whole = width - self.label - 2, first
        for column in range(first, self.pane.columns.count):
            room -= len(self._sign(column, first)) + self.room
            if room < 0 and column > first:
                return whole if whole > first else column
            if self._weight(self.pane.columns, column + 1, first):
                whole = column + 1
        return self.pane.columns.count

    def lines(self, grid: Grid, first: int, last: int) -> Iterator[Line]:
        """The columns from ``first`` to before ``last`` under their labels."""
        rows, columns = self.pane.rows, self.pane.columns
        arrows = dict(_arrows(grid, columns.count))
        head = [self._pad(label) for label in columns.labels[first:last]]
        yield self._line(f"{self.corner:>{self.label}}  ", [StyledText(text, self.pen.faint) for text in head], first)
        for row in range(rows.count):
            weight = 1 if row == 0 else self._weight(rows, row, 0)
            if weight:
                yield [StyledText(self._rule(weight, first, last), self.pen.faint)]
            places = range(row * columns.count + first, row * columns.count + last)
            cells = [self._cell(grid, k, arrows.get(k, self.step)) for k in places]
            yield self._line(f"{rows.labels[row]:>{self.label}} {'│' if self.pen.colours else '|'}", cells, first)

    def _line(self, label: str, cells: list[StyledText], first: int) -> Line:
        line = [StyledText(label, self.pen.faint)]
        for k, cell in enumerate(cells):
            sign = self._sign(first + k, first)
            line += [StyledText(sign, self.pen.faint), cell] if sign else [cell]
        return line

    def _rule(self, weight: int, first: int, last: int) -> str:
        stroke = ("─", "━")[weight - 1] if self.pen.colours else "-="[weight - 1]
        crossed = f"{stroke * (self.label + 1)}{self._crossing(weight, 1)[-1]}"
        for column in range(first, last):
            crossing = self._crossing(weight, self._weight(self.pane.columns, column, first))
            crossed += crossing + stroke * self.room
        return crossed

    def _crossing(self, weight: int, other: int) -> str:
        """What stands in a rule where the rule of a column meets it."""
        if self.pen.colours:
            return ("", "┼┿"[weight - 1], "╂╋"[weight - 1])[other]
        return self.signs[other].replace("|", "+").replace(" ", "-="[weight - 1])

    def _sign(self, column: int, first: int) -> str:
        return self.signs[self._weight(self.pane.columns, column, first)]

    @staticmethod
    def _weight(axis: PaneAxis, k: int, first: int) -> int:
        """The weight of the rule before line ``k`` of a panel that starts at line ``first``."""
        return min(axis.rules[k], 2) if first < k < axis.count else 0

    def _cell(self, grid: Grid, k: int, arrow: str) -> StyledText:
        tint, marked = grid.tints[k], k in grid.marked
        written = self._pad(_on_one_line(grid.texts[k]), marked and self.brackets, arrow)
        if tint == PADDING:
            written = written.replace(" ", "·")
        return StyledText(written, self.pen.cell(self.pane.scale, tint, marked))

    def _pad(self, text: str, in_brackets: bool = False, arrow: str | None = None) -> str:
        """A text with the room around it, which brackets take, and an arrow."""
        written = f"{'[' + text:>{self.cell + 1}}]" if in_brackets else f" {text:>{self.cell}}{self.after}"
        return written + (self.step if arrow is None else arrow)


_ARROWS = ("↖↑↗←·→↙↓↘", "⇖⇑⇗⇐·⇒⇙⇓⇘")
"""Arrows by direction, row by row: to a neighbour, and over others."""


def _arrows(grid: Grid, columns: int) -> Iterator[tuple[int, str]]:
    """The cells of a path, each with an arrow towards the next one."""
    for k, after in pairwise(grid.path):
        down, right = after // columns - k // columns, after % columns - k % columns
        far = max(abs(down), abs(right)) > 1
        yield k, _ARROWS[far][3 * ((down > 0) - (down < 0) + 1) + (right > 0) - (right < 0) + 1]


def _on_one_line(text: str) -> str:
    return text.replace("\n", "")


def _named_axes(pane: Pane) -> Iterator[tuple[PaneAxis, str]]:
    yield pane.rows, "↓"
    yield pane.columns, "→"


# ---- below the panes -------------------------------------------------------------------------------------


def _legend(legend: Sequence[LegendEntry], pen: _Pen, width: int) -> Iterator[Line]:
    """What the tints mean that can be seen."""
    for tints, words, scale in legend:
        if tints == (PADDING,):
            swatch = [StyledText("···", pen.faint)]
        elif not pen.colours:
            continue
        else:
            swatch = [StyledText(" " if len(tints) > 1 else "   ", pen.cell(scale, tint)) for tint in tints]
        for line in fold(words, max(width - _length(swatch) - 1, 1)):
            yield [*swatch, StyledText(f" {line}")]
            swatch = [StyledText(" " * _length(swatch))]


def _notes(scene: Scene, width: int) -> Iterator[Line]:
    notes = list(scene.notes)
    if any(grid.path for pane in scene.panes for grid in pane.grids):
        notes.append("An arrow after a cell points to where memory goes on; a double one passes over others.")
    for note in notes:
        yield from [[StyledText(line)] for line in fold(note, width, "  ")]
