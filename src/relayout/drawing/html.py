"""Scenes as one page with everything in it: hover tells of an element, and shows it in every pane."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

from ..layout.layout import Layout
from .colours import css
from .lines import block_sizes
from .places import Geometry, Swatch, geometry
from .scene import SVG_CELLS, Grid, LegendEntry, Pane, PaneAxis, Scene
from .svg import grid_svg, hatch_svg, swatch_svg

MODULES = (
    "digits.js",
    "readout.js",
    "canvas.js",
    "stage.js",
    "slices.js",
    "copy.js",
    "theme.js",
    "picture.js",
    "page.js",
)
"""The scripts of a picture: each needs only those before it."""

STYLE = "picture.css"
_IMPORT = re.compile(r'^import .* from "\./.*";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)
_EXACT = 1 << 53
"""Integers up to here are exact in JavaScript."""


def render_html(scene: Scene) -> str:
    """The whole page."""
    parts = {
        "policy": _policy(),
        "title": escape("; ".join([pane.title for pane in scene.panes]) or "layout"),
        "style": _style(),
        "figures": figures(scene),
        "data": script_json(data(scene)),
        "script": _script(),
    }
    return fill_template(page_file("page.html"), parts)


def fill_template(page: str, parts: dict[str, str]) -> str:
    """The page with every ``{{name}}`` replaced by that part."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], page)


def script_json(value: Any) -> str:
    """JSON that a script element may hold: nothing in it ends the element."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


@cache
def page_file(name: str) -> str:
    """A file of the page: one of ``MODULES``, the ``STYLE`` or the template."""
    return (files(__package__) / "page" / name).read_text("utf-8")


@cache
def _script() -> str:
    """The modules as one: without what joins them."""
    return "\n".join([_EXPORT.sub("", _IMPORT.sub("", page_file(name))) for name in MODULES])


@cache
def _style() -> str:
    return f"{css()}{page_file(STYLE)}"


@cache
def _policy() -> str:
    """What a page of ours may do: run its script and use its style, as they are, and ask nobody for anything."""
    script, style = [b64encode(sha256(text.encode()).digest()).decode() for text in (_script(), _style())]
    allowed = f"script-src 'sha256-{script}'; style-src 'sha256-{style}'; img-src data:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


class NotebookFrame(NamedTuple):
    """A page inside a notebook, which can reach nothing outside its frame."""

    page: str
    height: int

    def __repr__(self) -> str:
        return f"<page of {len(self.page.encode())} bytes, {self.height} pixels high>"

    def _repr_html_(self) -> str:
        look = f"width:100%;height:{self.height}px;border:0"
        return f'<iframe srcdoc="{escape(self.page, quote=True)}" sandbox="allow-scripts" style="{look}"></iframe>'


# ---- what is seen ----------------------------------------------------------------------------------------


def figures(scene: Scene) -> str:
    """The panes as elements of a page, with the legend and the notes."""
    return "".join(_figures(scene))


def _figures(scene: Scene) -> Iterator[str]:
    yield f'<svg class="rl" width="0" height="0" aria-hidden="true">{hatch_svg()}</svg>'
    yield f'<div class="panes{" around" if scene.around else ""}">'
    for pane in scene.panes:
        if pane.joint:
            yield f'<div class="joined"><div class="joint" aria-hidden="true">{escape(pane.joint)}</div>'
        title = f'<span class="title">{escape(pane.title)}</span>'
        yield f'<figure class="pane {pane.kind}"><figcaption>{title}</figcaption><div class="grids">'
        place = geometry(pane)
        for grid in pane.grids:
            yield _grid(pane, grid, place)
        yield "</div></figure></div>" if pane.joint else "</div></figure>"
    yield "</div>"
    if scene.legend:
        yield f'<ul class="legend">{"".join([_legend_entry(entry) for entry in scene.legend])}</ul>'
    if scene.notes:
        yield f'<p class="notes">{"<br>".join(map(escape, scene.notes))}</p>'


def _grid(pane: Pane, grid: Grid, place: Geometry) -> str:
    label = escape(f"{pane.title} {grid.caption}".strip(), quote=True)
    caption = f'<p class="caption">{escape(grid.caption)}</p>' if grid.caption else ""
    inside = "<canvas></canvas>" if _on_canvas(pane) else grid_svg(pane, grid, place)
    kind = "scroll on-canvas" if _on_canvas(pane) else "scroll"
    return (
        f'<div class="grid" tabindex="0" role="application" aria-label="{label}: arrow keys move from cell to cell">'
        f'{caption}<div class="{kind}"><div class="stage">{inside}</div></div></div>'
    )


def _on_canvas(pane: Pane) -> bool:
    return pane.cells > SVG_CELLS


def _legend_entry(entry: LegendEntry) -> str:
    swatch = Swatch(entry, 0, 0)
    size = f'width="{swatch.width}" height="{swatch.height}"'
    return f'<li><svg class="rl" {size} aria-hidden="true">{swatch_svg(swatch)}</svg>{escape(entry.words)}</li>'


# ---- what the scripts know -------------------------------------------------------------------------------


def data(scene: Scene) -> dict[str, Any]:
    """The scene in the types of JSON; numbers that a double may not hold are texts."""
    largest = max([key for pane in scene.panes for grid in pane.grids for key in grid.keys], default=0)
    numbers: dict[int, int] | None = None if largest < _EXACT else {-1: -1}
    return {"panes": [_pane(pane, numbers) for pane in scene.panes]}


def _pane(pane: Pane, numbers: dict[int, int] | None) -> dict[str, Any]:
    place = geometry(pane)
    layout = pane.layout
    return {
        "title": pane.title,
        "kind": pane.kind,
        "scale": pane.scale,
        "rows": _axis(pane.rows),
        "columns": _axis(pane.columns),
        "names": list(pane.names) or ([] if layout is None else [str(d) for d in range(layout.rank)]),
        "extents": [] if layout is None else list(map(str, layout.extents)),
        "outside": pane.outside,
        "geometry": {"left": place.left, "top": place.top, "width": place.width, "height": place.height},
        "size": place.size,
        "layout": None if layout is None or layout.has_basis else _layout(layout),
        "grids": [_cells(grid, numbers, _on_canvas(pane)) for grid in pane.grids],
    }


def _axis(axis: PaneAxis) -> dict[str, Any]:
    found = {"dim": axis.dim, "name": axis.name, "count": axis.count, "labels": axis.labels, "rules": axis.rules}
    return {**found, "first": str(axis.first), "step": str(axis.step), "strides": axis.strides}


def _cells(grid: Grid, numbers: dict[int, int] | None, painted: bool) -> dict[str, Any]:
    """The cells; ``numbers`` gives keys that are too large others, in the order of their appearance."""
    keys = grid.keys if numbers is None else [numbers.setdefault(key, len(numbers) - 1) for key in grid.keys]
    fixed = [None if place is None else str(place) for place in grid.fixed]
    found = {"fixed": fixed, "keys": keys, "texts": grid.texts, "words": grid.words}
    drawn = (grid.tints, sorted(grid.marked), grid.path) if painted else ([], [], [])
    return {**found, **dict(zip(("tints", "marked", "path"), drawn))}


def _layout(layout: Layout) -> dict[str, Any]:
    modes = []
    for d in range(layout.rank):
        mode = layout._mode(d)
        block = max(block_sizes(mode), default=0)
        digits = {"sizes": list(map(str, mode.sizes)), "strides": list(map(str, mode.strides))}
        modes.append({**digits, "origin": str(mode.origin), "block": str(block)})
    swizzle = None if layout.swizzle is None else layout.swizzle.parameters
    return {"modes": modes, "offset": str(layout.offset), "swizzle": swizzle}
