"""The picture that a state asks for, with what stands beside it: the notations found, the verdict, the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..algebra import coalescing, inverses, tiling
from ..algebra.composition import composition
from ..ask.banks import Banks
from ..ask.record_comparison import RecordComparison
from ..dialects.read import dialects_reading
from ..dialects.resolve import resolve_together
from ..dialects.tilers import parse_layout, parse_tiler
from ..drawing.draw import draw
from ..drawing.drawing import Drawing
from ..drawing.html import data, figures
from ..drawing.scene import Pane, Scene
from ..drawing.words import title_line
from ..errors import LimitExceeded, NotExpressible, ShapeError, shown
from ..format.factors import checked_axes
from ..hardware.atom import Atom
from ..layout.comparison import Comparison
from ..layout.layout import Layout
from ..sharding.comparison import ShardingComparison
from .atoms import atom_in, atom_json
from .banks import asked_banks
from .records import PageRecord, record_json, record_picture
from .shardings import PageSharding, sharding_json, sharding_picture
from .state import State, blame_field, operand_in, shape_for

CELLS = 1 << 14
"""The most cells of a pane on the page."""

DIMENSIONS = 32
"""The most dimensions of a layout on the page."""

BINARY: dict[str, Callable[..., Layout]] = {
    "composition": composition,
    "logical_divide": tiling.logical_divide,
    "zipped_divide": tiling.zipped_divide,
    "logical_product": tiling.logical_product,
    "blocked_product": tiling.blocked_product,
    "raked_product": tiling.raked_product,
}
UNARY: dict[str, Callable[..., Layout]] = {
    "complement": inverses.complement,
    "coalesce": coalescing.coalesce,
    "right_inverse": inverses.right_inverse,
    "left_inverse": inverses.left_inverse,
}
LOOKS = ("", "look", "beside", "compare", "code")
"""What draws layouts as the fields say, slices and all."""

WHOLE_LAYOUTS = ("blocked_product", "raked_product")
"""The operations whose second operand is a layout, never a tiler."""


class PageSubject(NamedTuple):
    """What stands in a field, or came out of an operation."""

    label: str
    text: str
    found: Any
    layout: Layout
    names: str = ""
    example: bool = False
    shape: tuple[int, ...] = ()
    """That of the tensor; the layout of threads and values has other extents."""


class Picture(NamedTuple):
    """A picture and what it is of: layouts, records, shardings, or an atom."""

    drawing: Drawing
    subjects: list[PageSubject]
    verdict: Comparison | RecordComparison | ShardingComparison | Banks | None = None
    refusal: str = ""
    records: Sequence[PageRecord] = ()
    atom: Atom | None = None
    shardings: Sequence[PageSharding] = ()


def picture_of(state: State) -> Picture:
    """The picture of a state, before anything of it is drawn."""
    atom = atom_in(state)
    if atom is not None:
        return Picture(draw(atom), [], atom=atom)
    of_shardings = sharding_picture(state)
    if of_shardings is not None:
        return Picture(of_shardings.drawing, [], of_shardings.verdict, shardings=of_shardings.shardings)
    of_records = record_picture(state)
    if of_records is not None:
        return Picture(of_records.drawing, [], of_records.verdict, records=of_records.records)
    picture = _picture(state)
    for subject in picture.subjects:
        if subject.layout.rank > DIMENSIONS:
            raise LimitExceeded(
                f"{subject.layout.rank} dimensions are more than the {DIMENSIONS} that are drawn.",
                hint="nest some of them into one, as in (2,(2,2))",
                limit=DIMENSIONS,
            )
    return picture


def _picture(state: State) -> Picture:
    if state.do in BINARY or state.do in UNARY:
        return _operation(state)
    if state.do == "compare":
        return _comparison(state)
    if state.do in ("beside", "code"):
        names = ("a",) if state.do == "code" and not state.b.strip() else ("a", "b")
        subjects = _subjects(state, *names)
        return Picture(_draw_subjects(state, subjects), subjects)
    if state.do == "threads":
        subjects = _subjects(state, "a")
        sizes = state.tile_sizes
        with blame_field("tile"):
            if sizes is None:
                raise ShapeError("a tile has a shape, and none is given.", hint="fill it in, as in 16,16")
        return Picture(_with_titles(draw(subjects[0].layout, tile=sizes), subjects), subjects)
    if state.do == "banks":
        subjects = _subjects(state, "a")
        asked = asked_banks(state, subjects[0].layout)
        return Picture(draw(asked), subjects, asked)
    if state.do not in ("", "look"):
        raise ShapeError(f"there is nothing called {shown(state.do)} to do.", hint="pick one of the page's buttons")
    subjects = _subjects(state, "a")
    return Picture(_draw_subjects(state, subjects), subjects)


def _subjects(state: State, *names: str) -> list[PageSubject]:
    """What the fields hold, all for one shape and with their dimensions in one order."""
    operands = [operand_in(state, name) for name in names]
    with blame_field("axes"):
        operands = resolve_together(operands, axes=state.axes or None)
    shape, example = shape_for(state, *operands)
    subjects = []
    for name, x in zip(names, operands):
        with blame_field("shape" if shape is None or state.shape else name):
            if shape is None:
                raise ShapeError("this text says nothing about the shape.", hint="pass shape=(...)")
            layout = x.at(shape).placed
            sizes = x.at(shape).shape or ()
        with blame_field("axes"):
            axes = checked_axes(x.axes or state.axes or None, layout.rank)
        subjects.append(PageSubject(name.upper(), getattr(state, name), x.subject, layout, axes or "", example, sizes))
    return subjects


def _draw_subjects(state: State, subjects: list[PageSubject]) -> Drawing:
    """The layouts of the subjects side by side, as the fields say."""
    names = next((subject.names for subject in subjects if subject.names), None)
    extents = subjects[0].layout.extents
    return draw(
        *[subject.text for subject in subjects],
        shape=subjects[0].shape or extents,
        axes=names,
        dtype=state.dtype or None,
        **look_words(state, extents),
    )


def look_words(state: State, extents: tuple[int, ...]) -> dict[str, Any]:
    """What the fields say about the look; dimensions and coordinates that a layout does not have are left out."""
    chosen = [state.dimension(field) for field in ("rows", "columns")]
    down, across = [None if d is not None and d >= len(extents) else d for d in chosen]
    fixed = {d: n for d, n in state.fixed.items() if d not in (down, across) and d < len(extents) and n < extents[d]}
    found = {
        "rows": down,
        "columns": None if across == down else across,
        "at": fixed or None,
        "cells": state.cells or None,
        "color": state.color or None,
        "view": state.view if state.view != "logical" else None,
        "path": state.path == "1" or None,
        "strides": state.strides == "1" or None,
        "part": ... if state.whole == "1" and state.do == "compare" else None,
        "width": state.line,
    }
    return {name: value for name, value in found.items() if value is not None and value != ""}


def _comparison(state: State) -> Picture:
    subjects = _subjects(state, "a", "b")
    verdict = subjects[0].layout.compare(subjects[1].layout)
    if shown_by_colour(state):
        return Picture(_draw_subjects(state, subjects), subjects, verdict)
    names = subjects[0].names or subjects[1].names or None
    drawing = draw(verdict, axes=names, dtype=state.dtype or None, **look_words(state, subjects[0].layout.extents))
    return Picture(_with_titles(drawing, subjects), subjects, verdict)


def shown_by_colour(state: State) -> bool:
    """Whether compared layouts are drawn as any others are, because a colour or their memory was asked for."""
    return bool(state.color) or state.view not in ("", "logical")


def _with_titles(drawing: Drawing, subjects: list[PageSubject]) -> Drawing:
    """The picture with the texts of the fields over its panes."""

    def build(limit: int) -> Scene:
        scene = drawing.scene(limit)
        panes = [replace(pane, title=title_line(subject.text)) for pane, subject in zip(scene.panes, subjects)]
        return replace(scene, panes=panes)

    return Drawing(build)


def operands(state: State) -> list[Any]:
    """What an operation works on: a layout, and where it takes another the layout or the tiler."""
    found: list[Any] = [_subjects(state, "a")[0].layout]
    if state.do in BINARY:
        with blame_field("b"):
            if not state.b.strip():
                raise ShapeError(
                    f"{state.do} has a second operand.", hint="a layout, or a tiler as in 2,4 or <2:1, 4:2>"
                )
            found.append(parse_layout(state.b) if state.do in WHOLE_LAYOUTS else parse_tiler(state.b))
    return found


def _operation(state: State) -> Picture:
    found = operands(state)
    subject = _subjects(state, "a")[0]
    operation = {**BINARY, **UNARY}[state.do]
    try:
        result = operation(*found)
    except NotExpressible as refusal:
        if state.do != "composition":
            raise
        # The function has a picture, though no layout is that function.
        return Picture(draw(operation, *found), [subject], refusal=refusal.message)
    made = PageSubject("result", state.do, result, result)
    if state.do in BINARY:
        return Picture(draw(operation, *found), [made, subject])
    before = subject.layout
    return Picture(
        Drawing(lambda limit: _arrow(draw(before).scene(limit), draw(result).scene(limit), state.do)), [made, subject]
    )


def _arrow(before: Scene, after: Scene, name: str) -> Scene:
    """A layout and what an operation makes of it; their elements are not the same things."""
    made = []
    for pane in after.panes:
        grids = [replace(grid, keys=[-1] * len(grid.keys)) for grid in pane.grids]
        made.append(replace(pane, joint="\u2192", title=f"{name} = {pane.title}", grids=grids))
    first = [replace(pane, title=f"A = {pane.title}") for pane in before.panes]
    return Scene([*first, *made], before.legend, list(dict.fromkeys([*before.notes, *after.notes])))


# ---- the answer ------------------------------------------------------------------------------------------


def view(state: State) -> dict[str, Any]:
    """The picture, and what the page shows beside its fields."""
    picture = picture_of(state)
    scene = picture.drawing.scene(CELLS)
    sliders = _sliders(scene, state.fixed) if state.do in LOOKS else []
    places = ",".join([f"{slider['dim']}:{slider['value']}" for slider in sliders])
    if sliders and places != state.at:
        return view(replace(state, at=places))
    said = "" if picture.verdict is None else str(picture.verdict)
    notes = [note for note in scene.notes if note != said and note not in said.splitlines()]
    scene = replace(scene, notes=[*notes, *_taken_by_position(picture.subjects if state.do in LOOKS else [])])
    subjects = [*map(_subject_json, picture.subjects), *map(record_json, picture.records)]
    subjects += map(sharding_json, picture.shardings)
    return {
        "figures": figures(scene),
        "data": data(scene),
        "subjects": subjects if picture.atom is None else [atom_json(picture.atom)],
        "notations": {name: dialects_reading(getattr(state, name)) for name in ("a", "b")},
        "verdict": None if picture.verdict is None else _verdict_json(picture.verdict),
        "refusal": picture.refusal,
        "sliders": sliders,
        "part": any(_in_part(pane) for pane in scene.panes),
    }


def _taken_by_position(subjects: list[PageSubject]) -> Iterator[str]:
    """Which layouts have no names for their dimensions, though another one beside them has."""
    names = next((subject.names for subject in subjects if subject.names), "")
    for subject in subjects:
        if names and not subject.names:
            yield f"{subject.label} names no axes: its dimensions are taken for {', '.join(names)}, by position."


def _in_part(pane: Pane) -> bool:
    """Whether a pane runs over less than there is along its dimensions."""
    if pane.layout is None or pane.kind != "logical" or not pane.grids:
        return False
    axes = [axis for axis in (pane.rows, pane.columns) if axis.dim is not None]
    return any(axis.count * axis.step < pane.layout.extents[axis.dim or 0] for axis in axes)


def _subject_json(subject: PageSubject) -> dict[str, Any]:
    return {
        "label": subject.label,
        "layout": str(subject.layout),
        "shape": list(map(str, subject.layout.extents)),
        "names": list(subject.names),
        "example": subject.example,
    }


def _verdict_json(verdict: Comparison | RecordComparison | ShardingComparison | Banks) -> dict[str, Any]:
    if isinstance(verdict, Banks):
        return {"same": not verdict.conflicts, "words": str(verdict), "coordinate": None}
    coordinate = None if isinstance(verdict, RecordComparison) else verdict.coordinate
    where = None if coordinate is None else list(map(str, coordinate))
    return {"same": bool(verdict), "words": str(verdict), "coordinate": where}


def _sliders(scene: Scene, fixed: dict[int, int]) -> list[dict[str, Any]]:
    """The dimensions whose slices did not all find room, for the page to ask about one by one."""
    for pane in scene.panes:
        if pane.kind != "logical" or pane.layout is None or not pane.grids:
            continue
        extents = pane.layout.extents
        still = [d for d, n in enumerate(extents) if n > 1 and d not in (pane.rows.dim, pane.columns.dim)]
        if any(len({grid.fixed[d] for grid in pane.grids}) < extents[d] for d in still):
            drawn = pane.grids[0].fixed
            return [_slider_json(d, pane.names[d], extents[d], fixed.get(d, drawn[d])) for d in still]
    return []


def _slider_json(dim: int, name: str, extent: int, place: int | None) -> dict[str, Any]:
    value = place if place is not None and place < extent else 0
    return {"dim": dim, "name": name, "extent": str(extent), "value": str(value)}
