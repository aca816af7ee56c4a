"""Scenes of layouts: side by side, with their memory, and with what differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..layout.comparison import Comparison
from .cells import number, text_of, tint_of
from .memory import SHARED, memory_pane
from .panes import Cell, LogicalGrids, Look, Subject
from .scene import PADDING, PLAIN, LegendEntry, Pane, Scene

FULL = 4
"""So many panes may have all the cells that a form allows; more share them."""

DIFFERENT = 3
"""The tint of elements that two layouts place differently."""


def layouts_scene(subjects: Sequence[Subject], look: Look, view: str, limit: int) -> Scene:
    """Every subject, and where ``view`` asks for it the memory behind it; the same element has the same key."""
    panes: list[Pane] = []
    notes: list[str] = []
    legend: list[LegendEntry] = []
    hatched: list[LegendEntry] = []
    limit = limit * FULL // max(FULL, len(subjects) * (2 if view == "both" else 1))
    for subject in subjects:
        drawn = LogicalGrids(subject, look, limit)
        tint, scale, words = tint_of(look.color, drawn, view != "logical")
        if words and subject.layout.size > 1:
            legend.append(LegendEntry(None, words))
        if view != "memory":
            panes.append(drawn.pane(text_of(look.cells, drawn), tint, scale, _row_major_number(subject)))
            hatched += _hatch_legend(panes[-1])
            notes += drawn.notes
        if view != "logical":
            memory = memory_pane(subject, tint, scale, look, limit)
            if memory is None:
                notes.append(f"The memory of {subject.title} is not drawn: more than {limit} addresses, or none.")
            else:
                panes.append(memory)
                hatched += [] if hatched else _hatch_legend(memory)
                notes += [SHARED] * any(text.endswith("+") for text in memory.grids[0].texts)
    return Scene(panes, list(dict.fromkeys(legend + hatched)), list(dict.fromkeys(notes)))


def difference_scene(verdict: Comparison, subjects: Sequence[Subject], look: Look, limit: int) -> Scene:
    """Both layouts of a comparison; elements that they place differently are coloured, the first one is marked."""
    if verdict.domains is not None:
        scene = layouts_scene(subjects, look, "logical", limit)
        return Scene(scene.panes, scene.legend, [str(verdict), *scene.notes])
    if verdict.coordinate is not None:
        look = replace(look, mark=(verdict.coordinate, *look.mark))
    both = [LogicalGrids(subject, look, limit) for subject in subjects]
    panes = []
    notes = [str(verdict)]
    hatched: list[LegendEntry] = []
    for drawn, other in zip(both, reversed(subjects)):
        element = _colex_number(drawn.subject)

        def tint(cell: Cell, element: Callable[[Cell], int] = element, other: Subject = other) -> int:
            return DIFFERENT if other.layout(element(cell)) != cell.offset else PLAIN

        panes.append(drawn.pane(text_of(look.cells, drawn), tint, "categories", element))
        hatched += _hatch_legend(panes[-1])
        notes += drawn.notes
    words = "begins with an element placed differently" if any(d.chunked for d in both) else "placed differently"
    legend = [] if verdict else [LegendEntry(DIFFERENT, words)]
    return Scene(panes, list(dict.fromkeys(legend + hatched)), list(dict.fromkeys(notes)))


def _row_major_number(subject: Subject) -> Callable[[Cell], int]:
    """The number of a cell's element, last dimension fastest."""
    extents = subject.layout.extents
    return lambda cell: number(extents, cell.coordinate)


def _colex_number(subject: Subject) -> Callable[[Cell], int]:
    """The number of a cell's element, first dimension fastest: an integer coordinate, whatever the dimensions are."""
    extents = subject.layout.extents[::-1]
    return lambda cell: number(extents, cell.coordinate[::-1])


def _hatch_legend(pane: Pane) -> list[LegendEntry]:
    """What is hatched in a pane, if anything is."""
    return [LegendEntry(PADDING, pane.outside)] if any(PADDING in grid.tints for grid in pane.grids) else []
