"""What somebody wants drawn, as subjects: a layout, its title, names and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..align import subject as layout_or_format
from ..composed import ComposedLayout
from ..dialects import Shapeless, with_shape
from ..errors import ShapeError, shown
from ..format import Format
from ..indexing import completed, slice_ends
from ..inttuple import as_int
from ..layout import Layout
from ..tensor_data import is_tensor
from .panes import Look, Subject, marked


def subjects_of(things: Sequence[Any], shape: Any, axes: str | None, dtype: Any) -> list[Subject]:
    """One subject for each thing; formats with names for their axes are brought into the order of the first."""
    found = [_found(x, dtype) for x in things]
    order = axes or next((x.axes for x in found if isinstance(x, Format) and x.axes), None)
    if shape is None:
        shape = next((x.extents for x in found if isinstance(x, Layout)), None)
    return [_subject(x, what, shape, axes, order) for x, what in zip(things, found)]


def _found(x: Any, dtype: Any) -> Layout | ComposedLayout | Shapeless | Any:
    if isinstance(x, ComposedLayout) or is_tensor(x):
        return x
    if hasattr(x, "__array_interface__") or hasattr(x, "__dlpack__"):
        from ..making import tensor

        return tensor(x)
    return layout_or_format(x, "draw", dtype)


def _subject(x: Any, found: Any, shape: Any, axes: str | None, order: str | None) -> Subject:
    if is_tensor(found):
        names = axes or found.axes or ""
        return Subject(found.layout, repr(found)[1:-1], names, lambda c: found[c] if c else found.numpy()[()])
    title = x.strip() if isinstance(x, str) else str(found)
    if isinstance(found, Layout | ComposedLayout):
        return Subject(found, title, axes or "")
    if isinstance(found, Format):
        if order is not None and found.axes is not None:
            found = found.aligned(order)
        if shape is None and found.blocks:
            return Subject(found.layout(found.block_shape), f"one block of {title}", found.axes or "")
    if shape is None:
        raise ShapeError(
            f"{title} is drawn for a shape, and none is given.", hint="pass shape=(...), as in (1, 8, 8, 32)", got=x
        )
    layout = with_shape(found, shape)
    names = getattr(found, "axes", None) or axes or ""
    return Subject(layout, f"{title}, {' x '.join(map(str, layout.extents))}", names)


def look_at(
    subjects: Sequence[Subject],
    rows: int | str | None,
    columns: int | str | None,
    at: Mapping[Any, int] | None,
    part: Any,
    mark: Any,
    **rest: Any,
) -> Look:
    """How the subjects are drawn, with every dimension by number and every coordinate checked."""
    first = subjects[0]
    fixed = {_dimension(d, first): n for d, n in (at or {}).items()}
    points, ranges = _keys(part, first.layout.extents)
    fixed |= points
    down, across = [None if d is None else _dimension(d, first) for d in (rows, columns)]
    if (down is not None and (down == across or down in fixed)) or across in fixed:
        raise ShapeError("a dimension runs down, across, or stands still.", hint="name each dimension once", at=at)
    marks = tuple(mark) if isinstance(mark, list) else () if mark is None else (mark,)
    for x in subjects:
        for d, n in fixed.items():
            if not (d < x.layout.rank and 0 <= n < x.layout.extents[d]):
                raise ShapeError(
                    f"{x.title} has no coordinate {shown(n)} in dimension {d}.",
                    hint=f"its extents are {x.layout.extents}",
                    at=at,
                )
        for d, r in ranges.items():
            if not (d < x.layout.rank and r.stop <= x.layout.extents[d]):
                raise ShapeError(
                    f"{x.title} has no coordinates {r.start}:{r.stop} in dimension {d}.",
                    hint=f"its extents are {x.layout.extents}",
                    part=part,
                )
        for c in marks:
            marked(x.layout, c)
    return Look(down, across, fixed, ranges, mark=marks, **rest)


def _keys(part: Any, extents: Sequence[int]) -> tuple[dict[int, int], dict[int, range]]:
    """A key as numpy reads it: coordinates of dimensions that stand still, and ranges of those drawn in part."""
    points: dict[int, int] = {}
    ranges: dict[int, range] = {}
    keys = () if part is None else part if isinstance(part, tuple) else (part,)
    for d, (key, n) in enumerate(zip(completed(keys, len(extents)), extents)):
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
