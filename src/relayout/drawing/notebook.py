"""What a notebook shows of a value by itself: a small picture of it."""

from __future__ import annotations

from typing import Any

from ..errors import LayoutError
from .draw import draw
from .svg import render_svg

CELLS = 1 << 10
"""The most cells of a picture that nobody asked for."""


def svg_of(x: Any) -> str | None:
    """The picture of ``x``; None where there is none, so that the notebook prints it instead."""
    try:
        scene = draw(x).scene(CELLS)
    except LayoutError:
        return None
    return render_svg(scene) if any(pane.grids for pane in scene.panes) else None
