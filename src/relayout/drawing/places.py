"""Where everything of a picture goes, in units that SVG and LaTeX share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import sqrt
from typing import Literal, NamedTuple

from .scene import Grid, LegendEntry, Pane, PaneAxis, Scene
from .words import fold

PAGE = 1120
"""Where a row of panes or grids is broken."""

_LONG = 4
"""A pane of no more rows is cut where it is wider than the page."""

_GAP = 28
_MARGIN = 14
_LINE = 17
_CHARACTER = 7.3
_SMALL = 6.1
_LABELS = 16
"""How high the labels of columns are."""

_LEVEL = 20
"""How high a step along the columns is with its text."""


class Geometry(NamedTuple):
    """Where the cells of a pane's grids are, inside each grid."""

    left: int
    top: int
    width: int
    height: int
    rows: int
    columns: int

    @property
    def right(self) -> int:
        return self.left + self.width * self.columns

    @property
    def bottom(self) -> int:
        return self.top + self.height * self.rows

    @property
    def size(self) -> tuple[int, int]:
        """The whole grid with its labels; rules and marks reach a little over the cells."""
        return self.right + 3, self.bottom + 3

    def corner(self, k: int) -> tuple[int, int]:
        """The upper left corner of cell ``k``."""
        row, column = divmod(k, self.columns)
        return self.left + column * self.width, self.top + row * self.height

    def middle(self, k: int) -> tuple[float, float]:
        x, y = self.corner(k)
        return x + self.width / 2, y + self.height / 2


def geometry(pane: Pane) -> Geometry:
    """The measures that all grids of a pane share, wide enough for every text, and for arrows where there are some."""
    lines = [line for grid in pane.grids for text in set(grid.texts) for line in text.split("\n")]
    longest = max(map(len, lines), default=0)
    tall = any("\n" in text for grid in pane.grids for text in grid.texts)
    labels = max(map(len, pane.columns.labels), default=0)
    room = 8 if any(grid.path for grid in pane.grids) else 0
    width = max(round(longest * _CHARACTER + 9), round(labels * _SMALL + 4), 24 if longest else 16) + room
    height = (36 if tall else 24 if longest else 16) + room
    axis = len(pane.rows.name) + 2 if pane.rows.name else 0
    names = max([axis, *map(len, pane.rows.labels)])
    left = (round(names * _SMALL) + 8 if names else 3) + sum([_stride_room(text) for _, _, text in pane.rows.strides])
    top = (18 if any(pane.columns.labels) or axis else 3) + _LEVEL * len(pane.columns.strides)
    return Geometry(left, top, width, height, pane.rows.count, pane.columns.count)


class Label(NamedTuple):
    """A label around a grid, half of it above ``y``; that of a column has its middle at ``x``, of a row its end."""

    of: Literal["column", "row"]
    x: float
    y: float
    text: str


def labels(pane: Pane, place: Geometry) -> Iterator[Label]:
    """The labels that have room, all but those of columns narrower than theirs; and the names of the axes."""
    head = place.top - 9.5
    for k, text in _labels_with_room(pane.columns, place.width):
        yield Label("column", place.left + place.width * (k + 0.5), head, text)
    for k, text in enumerate(pane.rows.labels):
        if text:
            yield Label("row", place.left - 5, place.top + place.height * (k + 0.5), text)
    names = "".join([axis.name and f"{axis.name}{arrow}" for axis, arrow in ((pane.rows, "↓"), (pane.columns, "→"))])
    if names and place.top > 3:
        yield Label("row", max(place.left - 5, round(len(names) * _SMALL)), head, names)


class PlacedStride(NamedTuple):
    """A step along an axis: an arrow in three straight pieces, and its text, half above ``y``.

    The text has its middle at ``x``, or for an axis that runs down its end.
    """

    of: Literal["column", "row"]
    points: tuple[tuple[float, float], ...]
    x: float
    y: float
    text: str


def placed_strides(pane: Pane, place: Geometry) -> Iterator[PlacedStride]:
    """The steps beside the labels, the innermost nearest to the cells."""
    y = place.top - _LABELS
    for start, end, text in pane.columns.strides:
        a, b = [place.left + place.width * (k + 0.5) for k in (start, end)]
        points = ((a, y), (a, y - 5), (b, y - 5), (b, y))
        yield PlacedStride("column", points, max((a + b) / 2, len(text) * _SMALL / 2), y - 12, text)
        y -= _LEVEL
    x = sum([_stride_room(text) for _, _, text in pane.rows.strides])
    for start, end, text in pane.rows.strides:
        a, b = [place.top + place.height * (k + 0.5) for k in (start, end)]
        yield PlacedStride("row", ((x, a), (x - 5, a), (x - 5, b), (x, b)), x - 8, (a + b) / 2, text)
        x -= _stride_room(text)


def _stride_room(text: str) -> int:
    """How wide a step along the rows is with its text."""
    return round(len(text) * _SMALL) + 12


def _labels_with_room(axis: PaneAxis, room: int) -> Iterator[tuple[int, str]]:
    longest = max(map(len, axis.labels), default=0)
    every = -(-round(longest * _SMALL + 2) // room) if longest else 1
    return ((k, label) for k, label in enumerate(axis.labels) if label and k % every == 0)


def outline(place: Geometry, cells: frozenset[int]) -> Iterator[tuple[int, int, int, int]]:
    """The edges between these cells and all others: where each starts and ends."""
    for k in sorted(cells):
        (row, column), (x, y) = divmod(k, place.columns), place.corner(k)
        right, bottom = x + place.width, y + place.height
        if row == 0 or k - place.columns not in cells:
            yield x, y, right, y
        if row == place.rows - 1 or k + place.columns not in cells:
            yield x, bottom, right, bottom
        if column == 0 or k - 1 not in cells:
            yield x, y, x, bottom
        if column == place.columns - 1 or k + 1 not in cells:
            yield right, y, right, bottom


def steps(place: Geometry, grid: Grid) -> Iterator[tuple[float, float, float, float]]:
    """The steps of a grid's path: from beside the text of a cell to beside that of the next."""
    for k, m in pairwise(grid.path):
        (x, y), (u, v) = place.middle(k), place.middle(m)
        away, near = _reach(grid.texts[k], u - x, v - y), _reach(grid.texts[m], u - x, v - y)
        yield x + away * (u - x), y + away * (v - y), u - near * (u - x), v - near * (v - y)


def text_box(text: str) -> tuple[float, float]:
    """Half the width and half the height of a cell's text with a little room around it."""
    lines = text.split("\n")
    return max(map(len, lines)) * _CHARACTER / 2 + 1, 5.5 * len(lines) + 1 if text else 1


def _reach(text: str, right: float, down: float) -> float:
    """How much of a way from the middle of a text lies on it."""
    wide, high = text_box(text)
    return min(wide / abs(right) if right else 1, high / abs(down) if down else 1)


# ---- whole pictures --------------------------------------------------------------------------------------


class TextLine(NamedTuple):
    """A line of text that stands on ``y``; it starts at ``x``, where a joint has its middle."""

    role: Literal["title", "caption", "joint", "note"]
    x: int
    y: int
    text: str


class PlacedGrid(NamedTuple):
    """A grid and where it goes."""

    pane: Pane
    grid: Grid
    place: Geometry
    x: int
    y: int


class Swatch(NamedTuple):
    """The boxes of a line of the legend, one for each of its tints."""

    entry: LegendEntry
    x: int
    y: int
    height: int = 11

    @property
    def step(self) -> int:
        """How wide a box is."""
        return 7 if len(self.entry.tints) > 1 else 18

    @property
    def width(self) -> int:
        return self.step * len(self.entry.tints)


class Arrangement(NamedTuple):
    """Everything of a picture in its place, and how large that is."""

    grids: list[PlacedGrid]
    words: list[TextLine]
    swatches: list[Swatch]
    width: int
    height: int


def arrange(scene: Scene) -> Arrangement:
    """The panes in rows as wide as the page, operands and results in one; below them the legend and the notes."""
    grids, words, right, deepest = _around(scene.panes) if scene.around else _in_rows(scene.panes)
    swatches: list[Swatch] = []
    y = deepest + 14
    lines: list[tuple[LegendEntry | None, str]] = [(entry, entry.words) for entry in scene.legend]
    for entry, text in [*lines, *[(None, note) for note in scene.notes]]:
        x = _MARGIN
        if entry is not None:
            swatches.append(Swatch(entry, x, y))
            x += swatches[-1].width + 7
        words.append(TextLine("note", x, y + 9, text))
        right = max(right, x + round(len(text) * _SMALL))
        y += _LINE
    height = deepest + _MARGIN + (y - deepest - 10 if y > deepest + 14 else 0)
    return Arrangement(grids, words, swatches, right + _MARGIN, height)


def _in_rows(panes: Sequence[Pane]) -> tuple[list[PlacedGrid], list[TextLine], int, int]:
    """Panes beside each other, in rows as wide as the page; and how far they reach right and down."""
    operation = any(pane.joint for pane in panes)
    parts = [part for pane in panes for part in ([(pane, geometry(pane))] if operation else _cut_wide_pane(pane))]
    blocks = [_place_pane(pane, place) for pane, place in parts]
    middle = _LINE * max([len(block.title) for block in blocks], default=0) + 44
    grids: list[PlacedGrid] = []
    words: list[TextLine] = []
    x = y = right = deepest = _MARGIN
    for (pane, _), block in zip(parts, blocks):
        if x > _MARGIN:
            x += _GAP
            if x + block.width > PAGE and not pane.joint:
                x, y = _MARGIN, deepest + _GAP
        if pane.joint:
            words.append(TextLine("joint", x + 4, y + middle, pane.joint))
            x += 26
        words += [TextLine("title", x, y + _LINE * k + 12, line) for k, line in enumerate(block.title)]
        for k, grid in enumerate(pane.grids):
            down, across = divmod(k, block.across)
            left, top = x + across * block.step[0], y + block.top + down * block.step[1]
            if grid.caption:
                words.append(TextLine("caption", left, top + 10, grid.caption))
                top += _LINE
            grids.append(PlacedGrid(pane, grid, block.place, left, top))
        x += block.width
        right, deepest = max(right, x), max(deepest, y + block.height)
    return grids, words, right, deepest


def _around(panes: Sequence[Pane]) -> tuple[list[PlacedGrid], list[TextLine], int, int]:
    """The second pane left of the third and the first above it, in cells of one size."""
    places = [geometry(pane) for pane in panes]
    width, height = max([place.width for place in places]), max([place.height for place in places])
    left, top = max(places[0].left, places[2].left), max(places[1].top, places[2].top)
    above, beside, inner = [place._replace(width=width, height=height) for place in places]
    above, beside, inner = above._replace(left=left), beside._replace(top=top), inner._replace(left=left, top=top)
    titles = [fold(pane.title, max(round(place.size[0] / _CHARACTER), 24)) for pane, place in zip(panes, places)]
    x = _MARGIN + max(beside.size[0], *[round(len(line) * _CHARACTER) for line in titles[1]]) + _GAP
    first = _MARGIN + _LINE * len(titles[0]) + 6
    second = first + above.size[1] + _GAP // 2 + _LINE * max(len(titles[1]), len(titles[2])) + 6
    corners = ((x, first), (_MARGIN, second), (x, second))
    grids, words, right = [], [], _MARGIN
    for pane, place, (corner, down), title in zip(panes, (above, beside, inner), corners, titles):
        words += [TextLine("title", corner, down - 11 - _LINE * k, line) for k, line in enumerate(reversed(title))]
        grids.append(PlacedGrid(pane, pane.grids[0], place, corner, down))
        right = max(right, corner + place.size[0], *[corner + round(len(line) * _CHARACTER) for line in title])
    return grids, words, right, second + max(beside.size[1], inner.size[1])


def _cut_wide_pane(pane: Pane) -> Iterator[tuple[Pane, Geometry]]:
    """A long pane in parts as wide as the page; they end where a block ends if one fits, else after a multiple of 8."""
    place, columns = geometry(pane), pane.columns
    fitting = max(1, (PAGE - 2 * _MARGIN - place.size[0] + place.right - place.left) // place.width)
    if columns.count <= fitting or place.rows > _LONG or len(pane.grids) > 1 or pane.grids[0].path:
        yield pane, place
        return
    first = 0
    while first < columns.count:
        last = min(first + fitting, columns.count)
        if last < columns.count:
            ends = [k for k in range(first + 1, last + 1) if columns.rules[k]]
            last = max(ends, default=last - fitting % 8 if fitting > 8 else last)
        yield _cut_columns(pane, first, last), place._replace(columns=last - first)
        first = last


def _cut_columns(pane: Pane, first: int, last: int) -> Pane:
    """The columns of a pane of one grid from ``first`` to before ``last``; only the first part has a title."""
    (grid,), axis, count = pane.grids, pane.columns, pane.columns.count
    kept = [row * count + column for row in range(pane.rows.count) for column in range(first, last)]
    part = Grid(
        grid.fixed,
        [grid.texts[k] for k in kept],
        [grid.tints[k] for k in kept],
        [grid.keys[k] for k in kept],
        grid.caption,
        frozenset([n for n, k in enumerate(kept) if k in grid.marked]),
    )
    labels, rules, start = axis.labels[first:last], axis.rules[first : last + 1], axis.first + first * axis.step
    columns = replace(axis, labels=labels, rules=rules, first=start)
    return replace(pane, title="" if first else pane.title, columns=columns, grids=[part])


class _PlacedPane(NamedTuple):
    """A pane as it stands on the picture: its title's lines, and its grids in rows of ``across``."""

    width: int
    height: int
    title: list[str]
    across: int
    step: tuple[int, int]
    place: Geometry

    @property
    def top(self) -> int:
        return _LINE * len(self.title) + 6 * bool(self.title)


def _place_pane(pane: Pane, place: Geometry) -> _PlacedPane:
    width, height = place.size
    captions = max([round(len(grid.caption) * _SMALL) for grid in pane.grids], default=0)
    step = (max(width, captions) + _GAP // 2, height + (_LINE if captions else 0) + _GAP // 2)
    count = max(len(pane.grids), 1)
    across = max(1, min((PAGE - 2 * _MARGIN) // step[0], count if count <= 4 else _grids_across(count, *step)))
    wide = across * step[0] - _GAP // 2
    title = fold(pane.title, max(round(wide / _CHARACTER), 48))
    written = max([round(len(line) * _CHARACTER) for line in title], default=0)
    tall = -(-count // across) * step[1] - _GAP // 2 + _LINE * len(title) + 6 * bool(title)
    return _PlacedPane(max(wide, written), tall, title, across, step, place)


def _grids_across(count: int, width: int, height: int) -> int:
    """How many of ``count`` equal pictures stand beside each other so that the whole is about twice as wide as high."""
    return max(1, round(sqrt(2 * count * height / width)))
