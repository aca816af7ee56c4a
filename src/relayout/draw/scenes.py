"""Scenes of layouts: side by side, with their memory, and with what differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..compare import Comparison
from .panes import Cell, Logical, Look, Subject, memory_pane, number, text_of, tint_of
from .scene import PADDING, PLAIN, Meaning, Pane, Scene

DIFFERENT = 3
"""The tint of elements that two layouts place differently."""


def layouts_scene(subjects: Sequence[Subject], look: Look, view: str, limit: int) -> Scene:
    """Every subject, and where ``view`` asks for it the memory behind it; the same element has the same key."""
    panes: list[Pane] = []
    notes: list[str] = []
    ramps: list[str] = []
    for subject in subjects:
        drawn = Logical(subject, look, limit)
        tint, scale, words = tint_of(look.color, drawn, view != "logical")
        ramps.append(words)
        if view != "memory":
            panes.append(drawn.pane(text_of(look.cells, drawn), tint, scale, _element_key(subject)))
            notes += drawn.notes
        if view != "logical":
            memory = memory_pane(subject, tint, scale, look, limit)
            if memory is None:
                notes.append(f"The memory of {subject.title} is not drawn: more than {limit} addresses, or none.")
            else:
                panes.append(memory)
    return Scene(panes, _legend(panes, ramps), list(dict.fromkeys(notes)))


def difference_scene(verdict: Comparison, subjects: Sequence[Subject], look: Look, limit: int) -> Scene:
    """Both layouts of a comparison; elements that they place differently are coloured, the first one is marked."""
    if verdict.domains is not None:
        scene = layouts_scene(subjects, look, "logical", limit)
        return Scene(scene.panes, scene.legend, [str(verdict), *scene.notes])
    if verdict.coordinate is not None:
        look = replace(look, mark=(verdict.coordinate, *look.mark))
    panes = []
    notes = [str(verdict)]
    for subject in subjects:
        drawn = Logical(subject, look, limit)

        def tint(cell: Cell) -> int:
            there = [s.layout(cell.coordinate) for s in subjects]
            return DIFFERENT if there[0] != there[1] else PLAIN

        panes.append(drawn.pane(text_of(look.cells, drawn), tint, "categories", _element_key(subject)))
        notes += drawn.notes
    legend = [] if verdict else [Meaning(DIFFERENT, "placed differently")]
    return Scene(panes, legend + _legend(panes, []), list(dict.fromkeys(notes)))


def _element_key(subject: Subject) -> Callable[[Cell], int]:
    extents = subject.layout.extents
    return lambda cell: number(extents, cell.coordinate)


def _legend(panes: Sequence[Pane], ramps: Sequence[str]) -> list[Meaning]:
    """What is not plain from the picture: which way a ramp goes, and what is hatched."""
    found = [Meaning(None, words) for words in dict.fromkeys(ramps) if words]
    hatched = [pane.kind for pane in panes if any(PADDING in grid.tints for grid in pane.grids)]
    if "logical" in hatched:
        found.append(Meaning(PADDING, "padding"))
    elif hatched:
        found.append(Meaning(PADDING, "no element"))
    return found
