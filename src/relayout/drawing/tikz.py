"""Scenes as LaTeX: a document of its own that needs TikZ and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise

from .colours import LIGHT
from .places import Geometry, arrange, labels, outline, placed_strides
from .scene import PADDING, PLAIN, Grid, Pane, Scale, Scene

_HEAD = r"""\documentclass[tikz,border=4pt]{standalone}
\usetikzlibrary{arrows.meta,patterns}
"""

_STYLES = r"""\begin{document}
\begin{tikzpicture}[x=0.75pt, y=-0.75pt,
  every node/.style={inner sep=0pt, text=ink, font=\ttfamily\footnotesize}, outside/.style={text=faint},
  tick/.style={text=faint, font=\ttfamily\scriptsize}, row tick/.style={tick, anchor=east},
  stride tick/.style={tick, text=ink}, stride row tick/.style={row tick, text=ink},
  step arrow/.style={draw=ink, line width=0.6pt, -{Stealth[length=3.5pt]}},
  words/.style={tick, anchor=base west}, heading/.style={anchor=base west, font=\ttfamily\small},
  sign/.style={anchor=base, font=\large}, padding/.style={pattern=north east lines, pattern color=hatch},
  hairline/.style={draw=line, line width=0.4pt}, rule1/.style={draw=rule, line width=0.9pt},
  rule2/.style={draw=rule, line width=1.7pt}, rule3/.style={draw=rule, line width=2.6pt},
  chosen/.style={draw=mark, line width=1.8pt, line cap=rect},
  on path/.style={inner sep=1.5pt}, order/.style={draw=ink, line width=0.7pt, -{Stealth[length=3.5pt]}, opacity=0.7}]
"""

_FOOT = r"""
\end{tikzpicture}
\end{document}
"""


def render_tikz(scene: Scene) -> str:
    """The whole picture as one document."""
    used: set[tuple[Scale, int]] = {
        (pane.scale, tint) for pane in scene.panes for grid in pane.grids for tint in grid.tints if tint >= 0
    }
    used |= {(entry.scale, tint) for entry in scene.legend for tint in entry.tints}
    named = [(name, getattr(LIGHT, name)) for name in ("ink", "faint", "line", "rule", "hatch", "mark")]
    named += [(_name(scale, tint), LIGHT.tint(scale, tint)) for scale, tint in sorted(used) if tint >= 0]
    colours = [rf"\definecolor{{{name}}}{{HTML}}{{{colour[1:].upper()}}}" for name, colour in named]
    return _HEAD + "\n".join(colours) + "\n" + _STYLES + "\n".join(_body(scene)) + _FOOT


def _name(scale: Scale, tint: int) -> str:
    """What a tint is called in the document: letters and a number, as LaTeX likes it."""
    return f"{scale}{tint}"


def _look(scale: Scale, tint: int) -> str:
    return "padding" if tint == PADDING else _name(scale, tint)


def _body(scene: Scene) -> Iterator[str]:
    arrangement = arrange(scene)
    for pane, grid, place, x, y in arrangement.grids:
        yield rf"\begin{{scope}}[shift={{({x},{y})}}]"
        yield from _grid(pane, grid, place)
        yield r"\end{scope}"
    for swatch in arrangement.swatches:
        for k, tint in enumerate(swatch.entry.tints):
            box = f"({swatch.x + swatch.step * k},{swatch.y}) rectangle +({swatch.step},{swatch.height})"
            look = _look(swatch.entry.scale, tint)
            yield rf"\fill[{look}] {box};" if tint != PLAIN else rf"\draw[draw=hatch] {box};"
    for role, left, base, text in arrangement.words:
        yield _node(_ROLES[role], left, base, text)


_ROLES = {"title": "heading", "caption": "words", "joint": "sign", "note": "words"}


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
    if grid.marked:
        yield rf"\draw[chosen] {' '.join([_line(*edge) for edge in outline(place, grid.marked)])};"
    yield from _texts(grid, place)
    yield from _labels(pane, place)
    yield from _strides(pane, place)
    for start, end in pairwise(grid.path):
        yield rf"\draw[order] (c{start}) -- (c{end});"


def _tints(pane: Pane, grid: Grid, place: Geometry) -> Iterator[str]:
    """The backgrounds: one box for each run of a tint along a row."""
    for row in range(place.rows):
        column = row * place.columns
        for tint, run in groupby(grid.tints[column : column + place.columns]):
            length = sum(1 for _ in run)
            x, y = place.corner(column)
            column += length
            if tint != PLAIN:
                yield rf"\fill[{_look(pane.scale, tint)}] ({x},{y}) rectangle +({length * place.width},{place.height});"


def _texts(grid: Grid, place: Geometry) -> Iterator[str]:
    """The texts of the cells; those that a path visits have a name, so that its arrows end beside the text."""
    visited = set(grid.path)
    for k, text in enumerate(grid.texts):
        if text or k in visited:
            looks = [("outside", grid.tints[k] == PADDING), ("align=center", "\n" in text), ("on path", k in visited)]
            look = ", ".join([look for look, wanted in looks if wanted])
            yield _node(look, *place.middle(k), text, f" (c{k})" if k in visited else "")


def _labels(pane: Pane, place: Geometry) -> Iterator[str]:
    for of, x, y, text in labels(pane, place):
        yield _node("tick" if of == "column" else "row tick", x, y, text)


def _strides(pane: Pane, place: Geometry) -> Iterator[str]:
    for of, points, x, y, text in placed_strides(pane, place):
        yield rf"\draw[step arrow] {' -- '.join([_point(*point) for point in points])};"
        yield _node("stride tick" if of == "column" else "stride row tick", x, y, text)


def _point(x: float, y: float) -> str:
    return f"({x:g},{y:g})"


def _line(x: float, y: float, right: float, bottom: float) -> str:
    return f"{_point(x, y)} -- {_point(right, bottom)}"


def _node(look: str, x: float, y: float, text: str, name: str = "") -> str:
    return rf"\node{f'[{look}]' if look else ''}{name} at {_point(x, y)} {{{escape_latex(text)}}};"


_SIGNS = {c: f"\\{c}" for c in "&%$#_"}
_SIGNS |= {"\n": r"\\"} | {c: rf"\char{ord(c)}{{}}" for c in "{}\\~^"}
_SIGNS |= {"→": r"$\rightarrow$", "←": r"$\leftarrow$", "↓": r"$\downarrow$", "·": r"$\cdot$", "∘": r"$\circ$"}
_SIGNS |= {"\u00f7": r"$\div$", "\u00d7": r"$\times$", "≠": r"$\neq$", "≤": r"$\leq$", "≥": r"$\geq$", "…": r"\ldots{}"}


def escape_latex(text: str) -> str:
    """The text for LaTeX; letters that its fonts may lack are written as their numbers in Unicode."""
    return "".join([_SIGNS.get(c) or (c if " " <= c <= "~" else f"U+{ord(c):04X}") for c in text])
