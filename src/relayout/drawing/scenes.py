"""Scenes of layouts: side by side, with their memory, and with what differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from ..integers.nested import product
from ..layout.comparison import Comparison
from .cells import OF_BLOCKS, Colouring, colouring_of, number, text_of
from .memory import SHARED, memory_pane
from .panes import Cell, LogicalGrids, Look, Subject, mode_coordinate, running_dims
from .scene import PADDING, PLAIN, LegendEntry, Pane, Scene

FULL = 4
"""So many panes may have all the cells that a form allows; more share them."""

LEGIBLE = 24
"""The most lines of a comparison that are all drawn; of more those around the first difference are."""

AROUND = 8
"""The part of a comparison begins so many lines before the first difference, or less, and ends so many after."""

Meaning = TypeVar("Meaning")

ORDINALS = ("first", "second", "third", "fourth")


def layouts_scene(subjects: Sequence[Subject], look: Look, view: str, limit: int) -> Scene:
    """Every subject, and where ``view`` asks for it the memory behind it; the same element has the same key."""
    panes: list[Pane] = []
    notes: list[str] = []
    colourings: list[Colouring] = []
    hatched: list[str] = []
    limit = limit * FULL // max(FULL, len(subjects) * (2 if view == "both" else 1))
    for subject in subjects:
        drawn = LogicalGrids(subject, look, limit)
        colouring = colouring_of(look.color, drawn, view != "logical")
        colourings.append(colouring if subject.layout.size > 1 else colouring._replace(tints=range(0)))
        outside = ""
        if view != "memory":
            key = _row_major_number(subject)
            panes.append(drawn.pane(text_of(look.cells, drawn), colouring.tint, colouring.scale, key))
            outside = _outside(panes[-1])
            notes += drawn.notes
        if view != "logical":
            memory = memory_pane(subject, colouring.tint, colouring.scale, look, limit)
            if memory is None:
                notes.append(f"The memory of {subject.title} is not drawn: more than {limit} addresses, or none.")
            else:
                panes.append(memory)
                outside = outside or _outside(memory)
                notes += [SHARED] * any(text.endswith("+") for text in memory.grids[0].texts)
        hatched.append(outside)
    legend = [*_colour_legend(colourings), *_hatch_legend(hatched)]
    return Scene(panes, legend, list(dict.fromkeys(notes)))


def difference_scene(verdict: Comparison, subjects: Sequence[Subject], look: Look, limit: int) -> Scene:
    """Both layouts of a comparison; only elements that they place differently are coloured, the first one is marked."""
    if verdict.domains is not None:
        scene = layouts_scene(subjects, look, "logical", limit)
        return Scene(scene.panes, scene.legend, [str(verdict), *scene.notes])
    notes = [str(verdict)]
    if verdict.coordinate is not None:
        first = mode_coordinate(subjects[0].layout, verdict.coordinate)
        part = _around(first, [x.layout.extents for x in subjects], look)
        notes += [] if part == look else ["Only what is around the first difference is drawn."]
        look = replace(part, mark=(verdict.coordinate, *look.mark))
    both = [LogicalGrids(subject, look, limit) for subject in subjects]
    colourings = [_of_differences(drawn, other) for drawn, other in zip(both, subjects[::-1])]
    panes = []
    for drawn, colouring in zip(both, colourings):
        element = _colex_number(drawn.subject)
        panes.append(drawn.pane(text_of(look.cells, drawn), colouring.tint, colouring.scale, element))
        notes += drawn.notes
    words = "begins with an element placed differently" if any(d.chunked for d in both) else "placed differently"
    legend = [] if verdict else [*_colour_legend(colourings, words), LegendEntry((PLAIN,), "placed alike")]
    legend += _hatch_legend([_outside(pane) for pane in panes])
    return Scene(panes, legend, list(dict.fromkeys(notes)))


def _of_differences(drawn: LogicalGrids, other: Subject) -> Colouring:
    """Colours for elements that another layout places elsewhere, and none for all others."""
    element, colouring = _colex_number(drawn.subject), colouring_of(None, drawn)
    if not colouring.words:
        colouring = colouring._replace(tint=lambda cell: 0, tints=range(1))
    tint = colouring.tint
    return colouring._replace(tint=lambda cell: PLAIN if other.layout(element(cell)) == cell.offset else tint(cell))


def _around(first: Sequence[int], extents: Sequence[Sequence[int]], look: Look) -> Look:
    """The look of the part around a coordinate, if nobody chose a part and the whole is too much to see."""
    sizes = extents[0]
    if not look.zoom or any(n != sizes for n in extents):
        return look
    running = running_dims(look, sizes)
    whole = product(tuple([n for d, n in enumerate(sizes) if d not in look.at]))
    at, part = dict(look.at), {}
    for d, (n, c) in enumerate(zip(sizes, first)):
        if d in running and n > LEGIBLE:
            start = max(c // AROUND - 1, 0) * AROUND
            part[d] = range(start, min(start + 2 * AROUND, n))
        elif d not in running and n > 1 and whole > LEGIBLE**2:
            at.setdefault(d, c)
    return replace(look, at=at, part=part)


# ---- legends ---------------------------------------------------------------------------------------------


def _colour_legend(colourings: Sequence[Colouring], which: str = "") -> Iterator[LegendEntry]:
    """What the colours tell, and where layouts have different ones whose: alone, blocks tell it by their frames.

    ``which`` are the elements that have a colour, where not all do.
    """
    meanings = _by_meaning([(x.words, x.scale, x.tints) if x.tints else None for x in colourings])
    for (words, scale, tints), whose in meanings.items():
        who = ", ".join(filter(None, (whose, which)))
        if which or len(meanings) > 1 or words != OF_BLOCKS:
            yield LegendEntry(tuple(tints), ": ".join(filter(None, (who, words))), scale)


def _hatch_legend(outsides: Sequence[str]) -> list[LegendEntry]:
    """What is hatched in the picture of each layout, if anything is."""
    meanings = _by_meaning([words or None for words in outsides])
    return [LegendEntry((PADDING,), f"{whose}: {words}" if whose else words) for words, whose in meanings.items()]


def _by_meaning(meanings: Sequence[Meaning | None]) -> dict[Meaning, str]:
    """Each meaning with the words that say whose it is; none where it is everybody's."""
    found: dict[Meaning, list[str]] = {}
    for k, meaning in enumerate(meanings):
        if meaning is not None:
            found.setdefault(meaning, []).append(ORDINALS[k] if k < len(ORDINALS) else f"{k + 1}th")
    return {meaning: f"{' and '.join(whose)} layout" if len(found) > 1 else "" for meaning, whose in found.items()}


def _outside(pane: Pane) -> str:
    """What is hatched in a pane; nothing where nothing is."""
    return pane.outside if any(PADDING in grid.tints for grid in pane.grids) else ""


def _row_major_number(subject: Subject) -> Callable[[Cell], int]:
    """The number of a cell's element, last dimension fastest."""
    extents = subject.layout.extents
    return lambda cell: number(extents, cell.coordinate)


def _colex_number(subject: Subject) -> Callable[[Cell], int]:
    """The number of a cell's element, first dimension fastest: an integer coordinate, whatever the dimensions are."""
    extents = subject.layout.extents[::-1]
    return lambda cell: number(extents, cell.coordinate[::-1])
