"""Scenes as LaTeX: a document of its own that needs TikZ and nothing else, with the measures of the SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from .colours import LIGHT
from .scene import PADDING, PLAIN, STEPS, Grid, Pane, Scale, Scene
from .svg import _GAP, _LINE, _SMALL, _WIDTH, Geometry, _cell, _pane_block, _shown, geometry

_HEAD = r"""\documentclass[tikz,border=4pt]{standalone}
\usetikzlibrary{arrows.meta,patterns}
"""

_STYLES = r"""\begin{document}
\begin{tikzpicture}[x=0.75pt, y=-0.75pt,
  every node/.style={inner sep=0pt, text=ink, font=\ttfamily\footnotesize}, outside/.style={text=faint},
  tick/.style={text=faint, font=\ttfamily\scriptsize}, row tick/.style={tick, anchor=east},
  words/.style={tick, anchor=base west}, heading/.style={anchor=base west, font=\ttfamily\small},
  sign/.style={font=\large}, padding/.style={pattern=north east lines, pattern color=hatch},
  hairline/.style={draw=line, line width=0.4pt}, rule1/.style={draw=rule, line width=0.9pt},
  rule2/.style={draw=rule, line width=1.7pt}, rule3/.style={draw=rule, line width=2.6pt},
  chosen/.style={draw=mark, line width=1.8pt},
  on path/.style={inner sep=1.5pt}, order/.style={draw=ink, line width=0.7pt, -{Stealth[length=3.5pt]}, opacity=0.7}]
"""

_FOOT = r"""
\end{tikzpicture}
\end{document}
"""


def render(scene: Scene) -> str:
    """The whole picture as one document."""
    used: set[tuple[Scale, int]] = {
        (pane.scale, tint) for pane in scene.panes for grid in pane.grids for tint in grid.tints if tint >= 0
    }
    for meaning in scene.legend:
        used |= {("ramp", k) for k in range(STEPS)} if meaning.tint is None else {("categories", meaning.tint)}
    named = [(name, getattr(LIGHT, name)) for name in ("ink", "faint", "line", "rule", "hatch", "mark")]
    named += [(_name(scale, tint), LIGHT.tint(scale, tint)) for scale, tint in sorted(used) if tint >= 0]
    colours = [rf"\definecolor{{{name}}}{{HTML}}{{{colour[1:].upper()}}}" for name, colour in named]
    return _HEAD + "\n".join(colours) + "\n" + _STYLES + "\n".join(_body(scene)) + _FOOT


def _name(scale: Scale, tint: int) -> str:
    """What a tint is called in the document: letters and a number, as LaTeX likes it."""
    return f"{scale}{tint}"


def _body(scene: Scene) -> Iterator[str]:
    x = y = deepest = 0
    for pane in scene.panes:
        block = _pane_block(pane)
        if x:
            x += _GAP
            if x + block.width > _WIDTH and not pane.joint:
                x, y = 0, deepest + _GAP
        if pane.joint:
            yield _node("sign", x + 4, y + block.height / 2, pane.joint)
            x += 26
        for k, line in enumerate(block.title):
            yield _node("heading", x, y + _LINE * k + 12, line)
        top = y + _LINE * len(block.title) + 6 * bool(block.title)
        for k, grid in enumerate(pane.grids):
            down, across = divmod(k, block.across)
            left, start = x + across * block.step[0], top + down * block.step[1]
            if grid.caption:
                yield _node("words", left, start + 10, grid.caption)
                start += _LINE
            yield rf"\begin{{scope}}[shift={{({left},{start})}}]"
            yield from _grid(pane, grid, geometry(pane))
            yield r"\end{scope}"
        x += block.width
        deepest = max(deepest, y + block.height)
    yield from _foot(scene, deepest + _GAP // 2)


def _grid(pane: Pane, grid: Grid, place: Geometry) -> Iterator[str]:
    yield from _tints(pane, grid, place)
    across = [_line(place.left, y, place.right, y) for y in range(place.top, place.bottom, place.height)]
    down = [_line(x, place.top, x, place.bottom) for x in range(place.left, place.right, place.width)]
    yield rf"\draw[hairline] {' '.join(across + down)};"
    yield rf"\draw[rule1] ({place.left},{place.top}) rectangle ({place.right},{place.bottom});"
    for k, weight in enumerate(pane.rows.rules[1:-1], 1):
        if weight:
            y = place.top + k * place.height
            yield rf"\draw[rule{min(weight, 3)}] {_line(place.left, y, place.right, y)};"
    for k, weight in enumerate(pane.columns.rules[1:-1], 1):
        if weight:
            x = place.left + k * place.width
            yield rf"\draw[rule{min(weight, 3)}] {_line(x, place.top, x, place.bottom)};"
    for k in sorted(grid.marked):
        x, y = _cell(place, k)
        yield rf"\draw[chosen] ({x + 1},{y + 1}) rectangle +({place.width - 2},{place.height - 2});"
    yield from _texts(grid, place)
    yield from _labels(pane, place)
    for start, end in pairwise(grid.path):
        yield rf"\draw[order] (c{start}) -- (c{end});"


def _tints(pane: Pane, grid: Grid, place: Geometry) -> Iterator[str]:
    """The backgrounds: one box for each run of a tint along a row."""
    for row in range(place.rows):
        column = row * place.columns
        for tint, run in groupby(grid.tints[column : column + place.columns]):
            length = sum(1 for _ in run)
            x, y = _cell(place, column)
            column += length
            if tint != PLAIN:
                look = "padding" if tint == PADDING else _name(pane.scale, tint)
                yield rf"\fill[{look}] ({x},{y}) rectangle +({length * place.width},{place.height});"


def _texts(grid: Grid, place: Geometry) -> Iterator[str]:
    """The texts of the cells; those that a path visits have a name, so that its arrows end beside the text."""
    visited = set(grid.path)
    for k, text in enumerate(grid.texts):
        if text or k in visited:
            looks = [("outside", grid.tints[k] == PADDING), ("align=center", "\n" in text), ("on path", k in visited)]
            look = ", ".join([look for look, wanted in looks if wanted])
            yield _node(look, *_middle(place, k), text, f" (c{k})" if k in visited else "")


def _labels(pane: Pane, place: Geometry) -> Iterator[str]:
    for k, label in _shown(pane.columns, place.width):
        yield _node("tick", place.left + place.width * (k + 0.5), place.top - 9, label)
    for k, label in _shown(pane.rows, 2 * place.height):
        yield _node("row tick", place.left - 5, place.top + place.height * (k + 0.5), label)
    corner = "".join([pane.rows.name and f"{pane.rows.name}↓", pane.columns.name and f"{pane.columns.name}→"])
    if corner:
        yield _node("row tick", max(place.left - 5, round(len(corner) * _SMALL)), place.top - 9, corner)


def _foot(scene: Scene, top: int) -> Iterator[str]:
    """The legend and the notes, one line each."""
    for meaning in scene.legend:
        steps: Sequence[str] = [_name("ramp", k) for k in range(STEPS)]
        if meaning.tint is not None:
            steps = ["padding" if meaning.tint == PADDING else _name("categories", meaning.tint)]
        wide = 7 if len(steps) > 1 else 18
        for k, look in enumerate(steps):
            yield rf"\fill[{look}] ({wide * k},{top}) rectangle +({wide},11);"
        yield _node("words", wide * len(steps) + 7, top + 9, meaning.words)
        top += _LINE
    for note in scene.notes:
        yield _node("words", 0, top + 9, note)
        top += _LINE


def _middle(place: Geometry, k: int) -> tuple[float, float]:
    x, y = _cell(place, k)
    return x + place.width / 2, y + place.height / 2


def _point(x: float, y: float) -> str:
    return f"({x:g},{y:g})"


def _line(x: float, y: float, right: float, bottom: float) -> str:
    return f"{_point(x, y)} -- {_point(right, bottom)}"


def _node(look: str, x: float, y: float, text: str, name: str = "") -> str:
    return rf"\node{f'[{look}]' if look else ''}{name} at {_point(x, y)} {{{escaped(text)}}};"


_SIGNS = {c: f"\\{c}" for c in "&%$#_"}
_SIGNS |= {"\n": r"\\"} | {c: rf"\char{ord(c)}{{}}" for c in "{}\\~^"}
_SIGNS |= {"→": r"$\rightarrow$", "←": r"$\leftarrow$", "↓": r"$\downarrow$", "·": r"$\cdot$", "∘": r"$\circ$"}
_SIGNS |= {"⊗": r"$\otimes$", "⊘": r"$\oslash$", "≠": r"$\neq$", "≤": r"$\leq$", "≥": r"$\geq$", "…": r"\ldots{}"}


def escaped(text: str) -> str:
    """The text for LaTeX; letters that its fonts may lack are written as their numbers in Unicode."""
    return "".join([_SIGNS.get(c) or (c if " " <= c <= "~" else f"U+{ord(c):04X}") for c in text])
