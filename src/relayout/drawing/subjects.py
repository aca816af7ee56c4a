"""What somebody wants drawn, as subjects: a layout, its title, names and values; and how they want it drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..algebra.composed import ComposedLayout
from ..dialects.resolve import Resolved, resolve
from ..errors import ShapeError, shown
from ..format.factors import checked_axes
from ..format.format import Format
from ..integers.inttuple import as_int
from ..layout.indexing import expand_ellipsis, slice_ends
from ..layout.layout import Layout
from ..tensors.data import is_tensor
from .cells import CELLS, COLORS
from .lines import lines_along
from .panes import WINDOW, Look, Subject, mode_coordinate
from .units import exchanged_elements, unit_of
from .words import title_line


def subjects_of(things: Sequence[Any], shape: Any, axes: str | None, dtype: Any) -> list[Subject]:
    """One subject for each thing; formats with names for their axes are brought into the order of the first."""
    operands = [_operand(x, dtype) for x in things]
    named = [x for x in operands if isinstance(x, Resolved)]
    order = axes or next((x.axes for x in named if x.axes), None)
    if shape is None:
        shape = next((x.layout.extents for x in named if x.layout is not None), None)
    return [_subject(x, operand, shape, axes, order) for x, operand in zip(things, operands)]


def _operand(x: Any, dtype: Any) -> Resolved | ComposedLayout | Any:
    """What is drawn: a layout, or with the values of its elements a tensor."""
    if isinstance(x, ComposedLayout) or is_tensor(x):
        return x
    if hasattr(x, "__array_interface__") or hasattr(x, "__dlpack__"):
        from ..tensors.make import tensor

        return tensor(x)
    return resolve(x, element=dtype)


def _subject(x: Any, operand: Any, shape: Any, axes: str | None, order: str | None) -> Subject:
    if is_tensor(operand):
        names = _names(axes or operand.axes, operand.layout.rank)
        outside = "padding" if operand.owns_padding else WINDOW
        return Subject(
            operand.layout, title_line(repr(operand)[1:-1]), names, operand, outside, operand.interface.element.bits
        )
    if isinstance(operand, ComposedLayout):
        return Subject(operand, title_line(x if isinstance(x, str) else str(operand)), _names(axes, operand.rank))
    found = operand.subject
    bits = _bits(operand)
    title = title_line(x if isinstance(x, str) else str(found))
    if isinstance(found, Layout):
        # Our own notation names the window; in those of others a window is what padding leaves.
        outside = "padding" if isinstance(x, str) and " extents " not in x else WINDOW
        return Subject(found, title, _names(axes, found.rank), outside=outside, bits=bits)
    if isinstance(found, Format):
        if order is not None and found.axes is not None:
            operand = operand.aligned(order)
        if shape is None and found.blocks and not any(f.rests for f in found.blocks):
            operand = operand.at(operand.format.block_shape)
            return Subject(operand.placed, f"one block of {title}", operand.axes or "", bits=bits)
    if shape is None:
        raise ShapeError(f"{title} is drawn for a shape, and none is given.", hint="pass shape=(...)", got=x)
    operand = operand.at(shape)
    layout, sizes = operand.placed, operand.shape or ()
    names = _names(operand.axes or axes, layout.rank)
    return Subject(layout, f"{title}, {' x '.join(map(str, sizes))}", names, None, "padding", bits)


def _bits(operand: Resolved) -> int | None:
    """How wide an element is: by its type, or by the format that is made for a width."""
    if operand.element is not None:
        return operand.element.bits
    return operand.format.element_bits if isinstance(operand.format, Format) else None


def _names(axes: str | None, rank: int) -> str:
    return checked_axes(axes, rank) or ""


# ---- the look --------------------------------------------------------------------------------------------


def look_at(
    subjects: Sequence[Subject],
    rows: int | str | None,
    columns: int | str | None,
    at: Mapping[Any, int] | None,
    part: Any,
    mark: Any,
    *,
    cells: str | None,
    color: str | None,
    path: bool,
    width: int | None,
    strides: bool,
) -> Look:
    """How the subjects are drawn, with every dimension by number, every coordinate and every word checked."""
    first = subjects[0]
    points, ranges = _points_and_ranges(part, first.layout.extents)
    fixed = _fixed_coordinates(at, first) | points
    down, across = [None if d is None else _dimension(d, first) for d in (rows, columns)]
    if (down is not None and (down == across or down in fixed)) or across in fixed:
        raise ShapeError("a dimension runs down, across, or stands still.", hint="name each dimension once", at=at)
    if down is None and across is None:
        down, across = _informative_dims(subjects, fixed)
    marks = tuple(mark) if isinstance(mark, list) else () if mark is None else (mark,)
    for x in subjects:
        _check_coordinates(x, fixed, ranges)
        for c in marks:
            mode_coordinate(x.layout, c)
        if x.tensor is None and "value" in (cells, color):
            raise ShapeError(f"{x.title} has no values to draw.", hint="draw a tensor or an array, or its offsets")
    _check_word(cells, CELLS, "cells cannot show")
    _check_word(color, COLORS, "cells cannot be coloured by")
    if width is not None and as_int(width, "a width") < 1:
        raise ShapeError(f"a line of memory has no {width} addresses.", hint="give a width of 1 or more", width=width)
    for x in subjects:
        if strides and isinstance(x.layout, ComposedLayout):
            raise ShapeError(
                f"{x.title} is a composition and has no strides.", hint="draw its inner layout", got=x.title
            )
    swizzled = any(map(exchanged_elements, subjects))
    unit = unit_of(subjects) if color == "unit" or (color is None and swizzled) else None
    zoom = part is None and not marks
    return Look(down, across, fixed, ranges, cells, color, bool(path), marks, width, bool(strides), unit, zoom)


def _informative_dims(subjects: Sequence[Subject], fixed: Mapping[int, int]) -> tuple[int | None, int | None]:
    """Two dimensions that tell most of all subjects: those with several blocks, then later ones; None if any two do."""
    layouts = [x.layout for x in subjects]
    extents = layouts[0].extents
    free = [d for d in range(len(extents)) if d not in fixed]
    if len(free) < 3 or any(layout.rank != len(extents) for layout in layouts):
        return None, None
    blocked = {d for d in free if any(lines_along(layout, d, False).blocked for layout in layouts)}
    down, across = sorted(sorted(free, key=lambda d: (d in blocked, extents[d] > 1, d))[-2:])
    return (down, across) if blocked else (None, None)


def _check_word(word: Any, words: Sequence[str], what: str) -> None:
    if word is not None and word not in words:
        raise ShapeError(f"{what} {shown(word)}.", hint=f"one of {', '.join(words)}", got=word)


def _check_coordinates(x: Subject, fixed: dict[int, int], ranges: dict[int, range]) -> None:
    """Refuse coordinates that a subject does not have."""
    for d, n in fixed.items():
        if not (d < x.layout.rank and 0 <= n < x.layout.extents[d]):
            raise ShapeError(
                f"{x.title} has no coordinate {shown(n)} in dimension {d}.",
                hint=f"its extents are {x.layout.extents}",
                at=fixed,
            )
    for d, r in ranges.items():
        if not (d < x.layout.rank and r.stop <= x.layout.extents[d]):
            raise ShapeError(
                f"{x.title} has no coordinates {r.start}:{r.stop} in dimension {d}.",
                hint=f"its extents are {x.layout.extents}",
                part=r,
            )


def _fixed_coordinates(at: Any, subject: Subject) -> dict[int, int]:
    """The coordinates of dimensions that stand still."""
    if at is not None and not isinstance(at, Mapping):
        raise ShapeError(f"at is a dict, got {shown(at)}.", hint='as in {"n": 0, "c": 3} or {0: 0, 3: 3}', at=at)
    return {_dimension(d, subject): as_int(n, "a coordinate") for d, n in (at or {}).items()}


def _points_and_ranges(part: Any, extents: Sequence[int]) -> tuple[dict[int, int], dict[int, range]]:
    """A key as numpy reads it: coordinates of dimensions that stand still, and ranges of those drawn in part."""
    points: dict[int, int] = {}
    ranges: dict[int, range] = {}
    keys = () if part is None else part if isinstance(part, tuple) else (part,)
    for d, (key, n) in enumerate(zip(expand_ellipsis(keys, len(extents)), extents)):
        if not isinstance(key, slice):
            k = as_int(key, "a coordinate")
            points[d] = k + n if -n <= k < 0 else k
        elif (found := range(*slice_ends(key, n))) != range(n):
            if found.step < 0:
                raise ShapeError("a part is drawn upwards.", hint="give a step of 1 or more", part=part)
            ranges[d] = found
    return points, ranges


def _dimension(d: int | str, subject: Subject) -> int:
    """A dimension by its number, counted from the end where negative, or by its name."""
    rank = subject.layout.rank
    k = subject.names.find(d) if isinstance(d, str) and len(d) == 1 else d
    if not isinstance(k, int) or isinstance(k, bool) or not (-rank <= k < rank) or (k < 0 and isinstance(d, str)):
        names = f" or one of {', '.join(subject.names)}" if subject.names else ""
        raise ShapeError(
            f"{subject.title} has no dimension {shown(d)}.", hint=f"a number from 0 to {rank - 1}{names}", got=d
        )
    return k % rank
