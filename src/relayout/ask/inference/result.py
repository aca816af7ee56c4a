"""``Inference``: what was found out about some data."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...errors import LayoutError
from ...format.format import Format
from ...layout.layout import Layout
from ..rosetta import rosetta


class Inference(NamedTuple):
    """What was found out about some data.

    ``layout`` is the simplest exact layout; with a dump its box fills the dump wherever a box can. ``format`` is the
    plainest format that gives it, of a padded shape where the box is larger; ``names`` are all its names in the
    catalog. ``seen`` counts the elements whose place the data give; the places of the others follow, as in any layout
    without a swizzle. ``padding`` counts the positions of the dump that hold no element, and ``fill`` is the value of
    all of them, if it is one.
    """

    layout: Layout
    format: Format | None
    names: tuple[str, ...]
    elements: int
    seen: int
    padding: int | None = None
    fill: Any = None

    @property
    def texts(self) -> dict[str, str | LayoutError]:
        """The layout in every dialect, or the refusal of a dialect that cannot hold it.

        A dialect that cannot hold the layout has the format instead, if that gives the layout for its extents.
        """
        texts = dict(rosetta(self.layout))
        if self.format is not None and self.format.layout(self.layout.extents).equivalent(self.layout):
            for dialect, text in rosetta(self.format).items():
                if isinstance(text, str) and not isinstance(texts[dialect], str):
                    texts[dialect] = text
        return texts

    def __str__(self) -> str:
        lines = [f"layout    {self.layout}"]
        if self.format is not None:
            lines.append(f"format    {self.format}")
        if self.names:
            lines.append(f"names     {', '.join(self.names)}")
        lines.append(f"elements  {self.elements}" + f", {self.seen} of them seen" * (self.seen < self.elements))
        if self.padding:
            lines.append(f"padding   {self.padding}" + (f", all {self.fill!r}" if self.fill is not None else ""))
        return "\n".join(lines)
