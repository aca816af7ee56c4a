"""Texts of several lines, which a notebook shows as such."""

from __future__ import annotations

from html import escape


class NotebookText(str):
    """A string that a notebook shows line by line, where it would print a string with its line ends written out."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        look = "white-space:pre-wrap;text-align:left;font-family:ui-monospace,Menlo,Consolas,monospace"
        return f'<pre style="{look}">{escape(self)}</pre>'
