"""Scenes as SVG: small strings of paths and texts, styled by one sheet of classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from math import sqrt
from textwrap import wrap
from typing import NamedTuple
from zlib import crc32

from .colours import css
from .scene import PADDING, PLAIN, STEPS, Axis, Grid, Meaning, Pane, Scene

_WIDTH = 1120
"""Where a row of panes or grids is broken, in units of the picture."""

_GAP = 28
_MARGIN = 14
_LINE = 17
_CHARACTER = 7.3
_SMALL = 6.1


class Geometry(NamedTuple):
    """Where the cells of a pane's grids are, inside each grid, in units of the picture."""

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


def geometry(pane: Pane) -> Geometry:
    """The measures that all grids of a pane share, wide enough for every text."""
    lines = [line for grid in pane.grids for text in set(grid.texts) for line in text.split("\n")]
    longest = max(map(len, lines), default=0)
    tall = any("\n" in text for grid in pane.grids for text in grid.texts)
    labels = max(map(len, pane.columns.labels), default=0)
    width = max(round(longest * _CHARACTER + 9), round(labels * _SMALL + 4), 24 if longest else 16)
    height = 36 if tall else 24 if longest else 16
    axis = len(pane.rows.name) + 2 if pane.rows.name else 0
    names = max([axis, *map(len, pane.rows.labels)])
    left = round(names * _SMALL) + 8 if names else 3
    top = 18 if any(pane.columns.labels) or axis else 3
    return Geometry(left, top, width, height, pane.rows.count, pane.columns.count)


def grid_svg(pane: Pane, grid: Grid, place: Geometry, hatch: str = "rl-hatch") -> str:
    """One grid as a picture of its own, for a page that has the style sheet and ``hatch_svg``."""
    width, height = place.size
    inside = "".join(_grid(pane, grid, place, hatch))
    words = escape(f"{pane.title} {grid.caption}".strip(), quote=True)
    return (
        f'<svg class="rl" xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" role="img" aria-label="{words}">{inside}</svg>'
    )


def hatch_svg(name: str = "rl-hatch") -> str:
    """The pattern of padding."""
    return (
        f'<defs><pattern id="{name}" width="6" height="6" patternUnits="userSpaceOnUse">'
        '<path class="hatch" d="M-1 1l2-2M0 6l6-6M5 7l2-2"/></pattern></defs>'
    )


def render(scene: Scene) -> str:
    """The whole picture as one document."""
    drawn = [_pane_block(pane) for pane in scene.panes]
    joints = [pane.joint for pane in scene.panes]
    middle = _LINE * max([len(block.title) for block in drawn], default=0) + 44
    hatch = f"rl-{crc32(repr(scene.panes).encode()):08x}"
    body: list[str] = []
    x = y = _MARGIN
    right = deepest = x
    for pane, block, joint in zip(scene.panes, drawn, joints):
        if x > _MARGIN:
            x += _GAP
            if x + block.width > _WIDTH and not joint:
                x, y = _MARGIN, deepest + _GAP
        if joint:
            body.append(f'<text class="joint" x="{x + 4}" y="{y + middle}">{escape(joint)}</text>')
            x += 26
        body += [_moved(x, y, part) for part in block.parts(pane, hatch)]
        x += block.width
        right, deepest = max(right, x), max(deepest, y + block.height)
    foot, width = _foot(scene, deepest + 14, hatch)
    body += foot
    total = (max(right, width) + _MARGIN, deepest + _MARGIN + (_LINE * len(foot) + 4 if foot else 0))
    title = escape("; ".join([pane.title for pane in scene.panes]))
    return (
        f'<svg class="rl" xmlns="http://www.w3.org/2000/svg" width="{total[0]}" height="{total[1]}"'
        f' viewBox="0 0 {total[0]} {total[1]}" role="img"><title>{title}</title><style>{css()}</style>'
        f'{hatch_svg(hatch)}<rect class="bg" width="100%" height="100%"/>{"".join(body)}</svg>\n'
    )


# ---- panes -----------------------------------------------------------------------------------------------


class _Block(NamedTuple):
    """A pane as it stands on the picture: its title's lines, and its grids in rows of ``across``."""

    width: int
    height: int
    title: list[str]
    across: int
    step: tuple[int, int]
    place: Geometry

    def parts(self, pane: Pane, hatch: str) -> Iterator[tuple[int, int, str]]:
        """Where each part goes inside the block, and what it is."""
        for k, line in enumerate(self.title):
            yield 0, 0, f'<text class="title" x="0" y="{_LINE * k + 12}">{escape(line)}</text>'
        top = _LINE * len(self.title) + (6 if self.title else 0)
        for k, grid in enumerate(pane.grids):
            down, across = divmod(k, self.across)
            x, y = across * self.step[0], top + down * self.step[1]
            if grid.caption:
                yield x, y, f'<text class="start" x="0" y="10">{escape(grid.caption)}</text>'
                y += _LINE
            yield x, y, "".join(_grid(pane, grid, self.place, hatch))


def _pane_block(pane: Pane) -> _Block:
    place = geometry(pane)
    width, height = place.size
    captions = max([round(len(grid.caption) * _SMALL) for grid in pane.grids], default=0)
    step = (max(width, captions) + _GAP // 2, height + (_LINE if captions else 0) + _GAP // 2)
    count = max(len(pane.grids), 1)
    across = max(1, min((_WIDTH - 2 * _MARGIN) // step[0], count if count <= 4 else _squarest(count, *step)))
    wide = across * step[0] - _GAP // 2
    title = wrap(pane.title, max(round(wide / _CHARACTER), 48), break_long_words=True) if pane.title else []
    written = max([round(len(line) * _CHARACTER) for line in title], default=0)
    down = -(-count // across)
    tall = down * step[1] - _GAP // 2 + _LINE * len(title) + (6 if title else 0)
    return _Block(max(wide, written), tall, title, across, step, place)


def _squarest(count: int, width: int, height: int) -> int:
    """How many of ``count`` equal pictures stand beside each other so that the whole is about twice as wide as high."""
    return max(1, round(sqrt(2 * count * height / width)))


def _moved(x: int, y: int, part: tuple[int, int, str]) -> str:
    return f'<g transform="translate({x + part[0]} {y + part[1]})">{part[2]}</g>'


# ---- one grid --------------------------------------------------------------------------------------------


def _grid(pane: Pane, grid: Grid, place: Geometry, hatch: str) -> Iterator[str]:
    yield from _tints(pane, grid, place, hatch)
    yield f'<path class="line" d="{_lines(place)}"/>'
    yield from _rules(pane, place)
    if grid.path:
        yield from _order(place, grid.path)
    if grid.marked:
        yield f'<path class="mark" d="{"".join(_outline(place, grid.marked))}"/>'
    yield from _texts(grid, place)
    yield from _labels(pane, place)


def _cell(place: Geometry, k: int) -> tuple[int, int]:
    row, column = divmod(k, place.columns)
    return place.left + column * place.width, place.top + row * place.height


def _tints(pane: Pane, grid: Grid, place: Geometry, hatch: str) -> Iterator[str]:
    """The backgrounds: one path for each tint, one box for each run of it along a row."""
    boxes: dict[int, list[str]] = {}
    for row in range(place.rows):
        x, y = place.left, place.top + row * place.height
        for tint, run in groupby(grid.tints[row * place.columns : (row + 1) * place.columns]):
            wide = place.width * sum(1 for _ in run)
            if tint != PLAIN:
                boxes.setdefault(tint, []).append(f"M{x} {y}h{wide}v{place.height}h{-wide}z")
            x += wide
    letter = "c" if pane.scale == "categories" else "r"
    for tint, paths in sorted(boxes.items()):
        look = f'fill="url(#{hatch})"' if tint == PADDING else f'class="{letter}{tint}"'
        yield f'<path {look} d="{"".join(paths)}"/>'


def _lines(place: Geometry) -> str:
    """The hairlines between cells."""
    across = [f"M{place.left} {place.top + r * place.height}H{place.right}" for r in range(1, place.rows)]
    down = [f"M{place.left + c * place.width} {place.top}V{place.bottom}" for c in range(1, place.columns)]
    return "".join([*across, *down])


def _rules(pane: Pane, place: Geometry) -> Iterator[str]:
    """The frame and the lines between blocks, the heavier the larger the blocks."""
    weights: dict[int, list[str]] = {1: [f"M{place.left} {place.top}H{place.right}V{place.bottom}H{place.left}z"]}
    for k, weight in enumerate(pane.rows.rules[1:-1], 1):
        if weight:
            path = f"M{place.left} {place.top + k * place.height}H{place.right}"
            weights.setdefault(min(weight, 3), []).append(path)
    for k, weight in enumerate(pane.columns.rules[1:-1], 1):
        if weight:
            path = f"M{place.left + k * place.width} {place.top}V{place.bottom}"
            weights.setdefault(min(weight, 3), []).append(path)
    for weight, paths in sorted(weights.items()):
        yield f'<path class="rule{weight}" d="{"".join(paths)}"/>'


def _outline(place: Geometry, cells: frozenset[int]) -> Iterator[str]:
    """The edges between these cells and all others."""
    for k in sorted(cells):
        (row, column), (x, y) = divmod(k, place.columns), _cell(place, k)
        if row == 0 or k - place.columns not in cells:
            yield f"M{x} {y}h{place.width}"
        if row == place.rows - 1 or k + place.columns not in cells:
            yield f"M{x} {y + place.height}h{place.width}"
        if column == 0 or k - 1 not in cells:
            yield f"M{x} {y}v{place.height}"
        if column == place.columns - 1 or k + 1 not in cells:
            yield f"M{x + place.width} {y}v{place.height}"


def _order(place: Geometry, path: Sequence[int]) -> Iterator[str]:
    """A line through the middles of the cells, from a dot to a square."""
    middles = [(x + place.width / 2, y + place.height / 2) for x, y in (_cell(place, k) for k in path)]
    yield f'<path class="path" d="M{"L".join([f"{x:g} {y:g}" for x, y in middles])}"/>'
    (x, y), (u, v) = middles[0], middles[-1]
    yield f'<circle class="end" cx="{x:g}" cy="{y:g}" r="5"/>'
    yield f'<rect class="end" x="{u - 4.5:g}" y="{v - 4.5:g}" width="9" height="9"/>'


def _texts(grid: Grid, place: Geometry) -> Iterator[str]:
    for k, text in enumerate(grid.texts):
        if text:
            x, y = _cell(place, k)
            look = ' class="out"' if grid.tints[k] == PADDING else ""
            lines = text.split("\n")
            first = y + place.height / 2 + 4 - 7 * (len(lines) - 1)
            for line in lines:
                yield f'<text{look} x="{x + place.width / 2:g}" y="{first:g}">{escape(line)}</text>'
                first += 14


def _labels(pane: Pane, place: Geometry) -> Iterator[str]:
    for k, label in _shown(pane.columns, place.width):
        x = place.left + place.width * (k + 0.5)
        yield f'<text class="label" x="{x:g}" y="{place.top - 6}">{escape(label)}</text>'
    for k, label in _shown(pane.rows, 2 * place.height):
        y = place.top + place.height * (k + 0.5) + 3.5
        yield f'<text class="label row" x="{place.left - 5}" y="{y:g}">{escape(label)}</text>'
    corner = "".join([pane.rows.name and f"{pane.rows.name}\u2193", pane.columns.name and f"{pane.columns.name}\u2192"])
    if corner and place.top > 3:
        x = max(place.left - 5, round(len(corner) * _SMALL))
        yield f'<text class="label row" x="{x}" y="{place.top - 6}">{escape(corner)}</text>'


def _shown(axis: Axis, room: int) -> Iterator[tuple[int, str]]:
    """The labels that have room: all of them, unless they are wider than their cells."""
    longest = max(map(len, axis.labels), default=0)
    every = -(-round(longest * _SMALL + 2) // room) if longest else 1
    return ((k, label) for k, label in enumerate(axis.labels) if label and k % every == 0)


# ---- below the panes -------------------------------------------------------------------------------------


def _foot(scene: Scene, top: int, hatch: str) -> tuple[list[str], int]:
    """The legend and the notes, one line each, and how wide they are."""
    lines: list[str] = []
    width = 0
    for meaning in scene.legend:
        y = top + _LINE * len(lines)
        swatch, wide = _swatch(meaning, hatch, y)
        lines.append(f'{swatch}<text class="start" x="{_MARGIN + wide + 7}" y="{y + 9}">{escape(meaning.words)}</text>')
        width = max(width, _MARGIN + wide + 7 + round(len(meaning.words) * _SMALL))
    for note in scene.notes:
        y = top + _LINE * len(lines)
        lines.append(f'<text class="start" x="{_MARGIN}" y="{y + 9}">{escape(note)}</text>')
        width = max(width, _MARGIN + round(len(note) * _SMALL))
    return lines, width


def _swatch(meaning: Meaning, hatch: str, y: int) -> tuple[str, int]:
    if meaning.tint is None:
        steps = [f'<rect class="r{k}" x="{_MARGIN + 7 * k}" y="{y}" width="7" height="11"/>' for k in range(STEPS)]
        return "".join(steps), 7 * STEPS
    look = f'fill="url(#{hatch})"' if meaning.tint == PADDING else f'class="c{meaning.tint}"'
    frame = f'<rect class="line" x="{_MARGIN}" y="{y}" width="18" height="11"/>'
    return f'<rect {look} x="{_MARGIN}" y="{y}" width="18" height="11"/>{frame}', 18
