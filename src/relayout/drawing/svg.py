"""Scenes as SVG: small strings of paths and texts, styled by one sheet of classes."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby
from math import hypot
from zlib import crc32

from .colours import css
from .places import Geometry, Swatch, arrange, labels, outline, placed_strides, steps, text_box
from .scene import PADDING, PLAIN, Grid, Pane, Scale, Scene


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


def render_svg(scene: Scene) -> str:
    """The whole picture as one document."""
    grids, words, swatches, width, height = arrange(scene)
    hatch = _pattern_name(scene)
    body = [
        f'<g transform="translate({g.x} {g.y})">{"".join(_grid(g.pane, g.grid, g.place, hatch))}</g>' for g in grids
    ]
    body += [swatch_svg(swatch, hatch) for swatch in swatches]
    body += [f'<text class="{_ROLES[w.role]}" x="{w.x}" y="{w.y}">{escape(w.text)}</text>' for w in words]
    title = escape("; ".join([pane.title for pane in scene.panes]))
    return (
        f'<svg class="rl" xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" role="img"><title>{title}</title><style>{css()}</style>'
        f'{hatch_svg(hatch)}<rect class="bg" width="100%" height="100%"/>{"".join(body)}</svg>\n'
    )


def _pattern_name(scene: Scene) -> str:
    """A name that other pictures on the same page do not have: a pattern goes with the picture that hides it."""
    seen = [(pane.title, grid.caption, grid.texts, grid.tints) for pane in scene.panes for grid in pane.grids]
    return f"rl-{crc32(repr(seen).encode()):08x}"


_ROLES = {"title": "title", "caption": "start", "joint": "joint", "note": "start"}


def swatch_svg(swatch: Swatch, hatch: str = "rl-hatch") -> str:
    """The tints of a line of the legend, side by side; a cell without a tint is framed."""
    entry, x, y = swatch.entry, swatch.x, swatch.y
    boxes = []
    for k, tint in enumerate(entry.tints):
        box = f'x="{x + swatch.step * k}" y="{y}" width="{swatch.step}" height="{swatch.height}"'
        boxes.append(f"<rect {_look(entry.scale, tint, hatch)} {box}/>")
    return "".join(boxes)


def _look(scale: Scale, tint: int, hatch: str) -> str:
    if tint < 0:
        return f'fill="url(#{hatch})"' if tint == PADDING else 'class="none"'
    return f'class="{"c" if scale == "categories" else "r"}{tint}"'


# ---- one grid --------------------------------------------------------------------------------------------


def _grid(pane: Pane, grid: Grid, place: Geometry, hatch: str) -> Iterator[str]:
    yield from _tints(pane, grid, place, hatch)
    yield f'<path class="line" d="{_lines(place)}"/>'
    yield from _rules(pane, place)
    if grid.path:
        yield from _order(place, grid)
    if grid.marked:
        edges = [f"M{x} {y}L{right} {bottom}" for x, y, right, bottom in outline(place, grid.marked)]
        yield f'<path class="mark" d="{"".join(edges)}"/>'
    yield from _texts(grid, place)
    yield from _labels(pane, place)
    yield from _strides(pane, place)


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
    for tint, paths in sorted(boxes.items()):
        yield f'<path {_look(pane.scale, tint, hatch)} d="{"".join(paths)}"/>'


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


def _order(place: Geometry, grid: Grid) -> Iterator[str]:
    """Arrows from cell to cell, fainter where they pass over others, and a frame around the text of the first."""
    looks: dict[str, list[str]] = {"path": [], "path far": []}
    for x, y, u, v in steps(place, grid):
        length = hypot(u - x, v - y) or 1
        ahead, down = _HEAD * (u - x) / length, _HEAD * (v - y) / length
        left, right = (-ahead - down / 2, ahead / 2 - down), (down / 2 - ahead, -ahead / 2 - down)
        far = abs(u - x) > 1.5 * place.width or abs(v - y) > 1.5 * place.height
        arrow = f"M{_pair(x, y)}L{_pair(u, v)}m{_pair(*left)}L{_pair(u, v)}l{_pair(*right)}"
        looks["path far" if far else "path"].append(arrow)
    for look, arrows in looks.items():
        yield f'<path class="{look}" d="{"".join(arrows)}"/>' if arrows else ""
    (x, y), (wide, high) = place.middle(grid.path[0]), text_box(grid.texts[grid.path[0]])
    size = f'width="{2 * wide + 2:.4g}" height="{2 * high + 2:.4g}"'
    yield f'<rect class="path" x="{x - wide - 1:.4g}" y="{y - high - 1:.4g}" {size} rx="4"/>'


_HEAD = 4
"""How long the head of an arrow is."""


def _pair(x: float, y: float) -> str:
    return f"{round(x, 1):g} {round(y, 1):g}"


def _texts(grid: Grid, place: Geometry) -> Iterator[str]:
    for k, text in enumerate(grid.texts):
        if text:
            x, y = place.corner(k)
            look = ' class="out"' if grid.tints[k] == PADDING else ""
            lines = text.split("\n")
            first = y + place.height / 2 + 4 - 7 * (len(lines) - 1)
            for line in lines:
                yield f'<text{look} x="{x + place.width / 2:g}" y="{first:g}">{escape(line)}</text>'
                first += 14


def _labels(pane: Pane, place: Geometry) -> Iterator[str]:
    for of, x, y, text in labels(pane, place):
        look = "label" if of == "column" else "label row"
        yield f'<text class="{look}" x="{x:g}" y="{y + 3.5:g}">{escape(text)}</text>'


def _strides(pane: Pane, place: Geometry) -> Iterator[str]:
    """Arrows beside the labels, each with what its step adds to the offset."""
    for of, points, x, y, text in placed_strides(pane, place):
        (u, v), down = points[-1], of == "column"
        left, right = ((-3, -4), (3, -4)) if down else ((-4, -3), (-4, 3))
        head = "".join([f"M{_pair(u + a, v + b)}L{_pair(u, v)}" for a, b in (left, right)])
        yield f'<path class="step" d="M{"L".join([_pair(*point) for point in points])}{head}"/>'
        look = "stride" if down else "stride row"
        yield f'<text class="{look}" x="{x:g}" y="{y + 3.5:g}">{escape(text)}</text>'
