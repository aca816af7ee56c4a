"""What a notebook shows: pictures of values, and pages that answer to the mouse."""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

from ..errors import LayoutError

CELLS = 1 << 10
"""The most cells of a picture that nobody asked for."""


def svg_of(x: Any) -> str | None:
    """The picture of ``x``; None where there is none, so that the notebook prints it instead."""
    from .draw import draw
    from .svg import render

    try:
        scene = draw(x).scene(CELLS)
    except LayoutError:
        return None
    return render(scene) if any(pane.grids for pane in scene.panes) else None


class Frame(NamedTuple):
    """A page inside a notebook, which can reach nothing outside its frame."""

    page: str
    height: int

    def _repr_html_(self) -> str:
        look = f"width:100%;height:{self.height}px;border:0"
        return f'<iframe srcdoc="{escape(self.page, quote=True)}" sandbox="allow-scripts" style="{look}"></iframe>'
