"""``Drawing``: a picture, rendered when somebody asks for it, in a form for every place that shows one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import ShapeError
from ..integers.inttuple import as_int
from .scene import HTML_CELLS, SVG_CELLS, TIKZ_CELLS
from .svg import render_svg
from .terminal import render_text
from .tikz import render_tikz

if TYPE_CHECKING:
    from os import PathLike

    from .html import NotebookFrame
    from .scene import Scene


class Drawing:
    """A picture of layouts; more cells than a form holds are drawn as chunks, and the picture says so."""

    __slots__ = ("_build",)

    def __init__(self, build: Callable[[int], Scene]) -> None:
        self._build = build

    def scene(self, limit: int = SVG_CELLS) -> Scene:
        """What is drawn, with at most ``limit`` cells in a pane."""
        return self._build(limit)

    def svg(self) -> str:
        """A picture for documents, which follows the reader's light or dark mode."""
        return render_svg(self.scene())

    def html(self) -> str:
        """One page with everything in it: hover tells of an element, and shows it in every pane."""
        from .html import render_html

        return render_html(self.scene(HTML_CELLS))

    def frame(self, height: int = 480) -> NotebookFrame:
        """The page as a notebook shows it, ``height`` pixels high.

        By itself a notebook shows the SVG, which also lives where scripts do not: on a forge, in print, in an export.
        """
        from .html import NotebookFrame

        return NotebookFrame(self.html(), as_int(height, "a height"))

    def text(self) -> str:
        """Lines of plain text."""
        return render_text(self.scene())

    def ansi(self, width: int | None = None, colours: int = 256) -> str:
        """Lines for a terminal, in colour, cut into panels that fit into ``width`` columns."""
        return render_text(self.scene(), width, colours)

    def tikz(self) -> str:
        """A LaTeX document of its own."""
        return render_tikz(self.scene(TIKZ_CELLS))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the picture in the form that the ending names: ``.svg``, ``.html``, ``.tex``, ``.txt`` or ``.ans``."""
        from pathlib import Path

        forms = {".svg": self.svg, ".html": self.html, ".tex": self.tikz, ".txt": self.text, ".ans": self.ansi}
        where = Path(path)
        form = forms.get(where.suffix.lower())
        if form is None:
            raise ShapeError(
                f"no picture has the ending {where.suffix!r}.",
                hint=f"one of {', '.join(forms)} tells which form you want",
                path=str(where),
            )
        where.write_text(form(), encoding="utf-8")

    def __repr__(self) -> str:
        return self.text()

    def _repr_svg_(self) -> str:
        return self.svg()
