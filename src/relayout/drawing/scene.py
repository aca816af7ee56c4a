"""What a picture shows, before it is drawn: panes side by side, each one or more grids of cells.

Every renderer draws the same scene; none of them knows what a layout is, but for the words that a page shows on hover.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from ..layout.layout import Layout

PLAIN = -1
"""The tint of a cell without a colour."""

PADDING = -2
"""The tint of a cell that holds no element: it is hatched."""

CATEGORIES = 8
"""How many tints tell things apart, when the scale is ``categories``."""

STEPS = 12
"""How many tints go from low to high, when the scale is ``ramp``."""

SVG_CELLS = 1 << 12
"""The most cells of a picture in SVG or text."""

TIKZ_CELLS = 1 << 10
"""The most cells of a picture in TikZ: several panes with paths must fit into the memory of LaTeX."""

HTML_CELLS = 1 << 16
"""The most cells of a picture in HTML."""

Scale = Literal["categories", "ramp"]
Kind = Literal["logical", "memory", "threads", "record"]


class StrideArrow(NamedTuple):
    """A step from one line of an axis to another, and what it adds to the offset."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class PaneAxis:
    """What runs down or across a pane.

    Line ``k`` is the logical coordinate ``first + k * step`` of dimension ``dim``, which is None where there is nothing
    to run along. ``rules[k]`` is the weight of the line before line ``k``: 0 between elements, 1 between blocks, 2
    between blocks of blocks, and so on; it has one entry more than there are labels. ``strides`` are the steps that
    are drawn beside it, from the innermost mode to the outermost.
    """

    dim: int | None
    name: str
    labels: tuple[str, ...]
    rules: tuple[int, ...]
    first: int = 0
    step: int = 1
    strides: tuple[StrideArrow, ...] = ()

    @property
    def count(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True)
class Grid:
    """One rectangle of cells, row by row.

    ``fixed`` is the coordinate of the dimensions that do not run, None for those that do. A text may have two lines.
    Cells that have the same key, here or in another pane, are the same thing; a key of -1 is nobody's. ``path`` visits
    cells in order. ``words`` say what a cell is and on a second line where, if its text and the axes do not.
    """

    fixed: tuple[int | None, ...]
    texts: list[str]
    tints: list[int]
    keys: list[int]
    caption: str = ""
    marked: frozenset[int] = frozenset()
    path: tuple[int, ...] = ()
    words: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Pane:
    """The grids of one thing, which share their axes; ``joint`` is the sign between the pane before and this one.

    ``layout`` is what a logical pane shows and a memory pane is the memory of; ``names`` are those of its dimensions,
    and ``outside`` says what its cells are that hold no element.
    """

    title: str
    kind: Kind
    rows: PaneAxis
    columns: PaneAxis
    grids: list[Grid]
    scale: Scale = "categories"
    layout: Layout | None = None
    names: tuple[str, ...] = ()
    joint: str = ""
    outside: str = "no element"

    @property
    def cells(self) -> int:
        return self.rows.count * self.columns.count * len(self.grids)


class LegendEntry(NamedTuple):
    """A line of the legend: what these tints mean, which stand side by side."""

    tints: tuple[int, ...]
    words: str
    scale: Scale = "categories"


@dataclass(frozen=True, slots=True)
class Scene:
    """A whole picture: its panes, what the tints mean where that is not plain, and what a reader must be told.

    With ``around`` there are three panes of one grid each: the second stands left of the third and the first above it,
    so that their rows and columns run on, as those of A and B do around A * B.
    """

    panes: list[Pane]
    legend: list[LegendEntry]
    notes: list[str]
    around: bool = False
