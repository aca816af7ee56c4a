"""``draw``: from whatever somebody wants to see to its picture."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..errors import ShapeError, shown

if TYPE_CHECKING:
    from .drawing import Drawing

VIEWS = ("logical", "memory", "both")


def draw(
    x: Any,
    *others: Any,
    shape: Any = None,
    axes: str | None = None,
    dtype: Any = None,
    rows: int | str | None = None,
    columns: int | str | None = None,
    at: Mapping[int | str, int] | None = None,
    part: Any = None,
    cells: str | None = None,
    color: str | None = None,
    view: str = "logical",
    path: bool = False,
    mark: Any = None,
    tile: Any = None,
    width: int | None = None,
) -> Drawing:
    """A picture of layouts, formats, tensors, arrays or texts in any notation; several stand side by side.

    Also drawn are a comparison (what differs), an operation of the algebra before its operands, as in
    ``draw(rl.logical_divide, a, b)``, a ``LinearLayout``, and with ``tile`` a layout from (thread, value) to the
    positions of a tile of that shape.

    Two dimensions run, ``rows`` down and ``columns`` across (by number or name; by default those with several blocks,
    else the last two); there is one grid for each coordinate of the others, or for those that ``at`` says; ``part`` is
    a key as numpy reads it, as in ``(0, ..., slice(8))``, of what is drawn. ``cells`` is what is written into a cell:
    ``offset``, ``coordinate``, ``block``, ``value`` or ``none``. ``color`` is what its colour tells: ``block``,
    ``memory`` (the order of addresses), ``coordinate`` (the order of elements), ``row``, ``column``, ``value`` or
    ``none``. ``view`` is ``logical``, ``memory`` (the addresses in order, ``width`` in a line) or ``both``. ``path``
    draws the order of memory as arrows from cell to cell, and ``mark`` outlines a coordinate, or each of a list.

    >>> print(draw("((2,2),(2,2)):((1,4),(2,8))"))
    ((2,2),(2,2)):((1,4),(2,8))
         0  1 |  2  3
    --+-------+------
    0 |  0  2 |  8 10
    1 |  1  3 |  9 11
    --+-------+------
    2 |  4  6 | 12 14
    3 |  5  7 | 13 15
    """
    from ..algebra.linear import LinearLayout
    from ..layout.comparison import Comparison
    from .drawing import Drawing
    from .operations import operation_scene
    from .scenes import difference_scene, layouts_scene
    from .subjects import look_at, subjects_of
    from .threads import linear_scene, threads_scene

    if view not in VIEWS:
        raise ShapeError(f"there is no view {shown(view)}.", hint=f"one of {', '.join(VIEWS)}", got=view)
    look = {"rows": rows, "columns": columns, "at": at, "part": part, "mark": mark}
    look |= {"cells": cells, "color": color, "path": path, "width": width}
    given = {**look, "path": path or None, "view": None if view == VIEWS[0] else view, "tile": tile, "others": others}
    if isinstance(x, FunctionType):
        _refuse("an operation", {**given, "others": None})
        operands = [subjects_of([y], shape, axes, dtype)[0].layout if isinstance(y, str) else y for y in others]
        return Drawing(lambda limit: operation_scene(x, operands, limit))
    if isinstance(x, LinearLayout):
        _refuse("a LinearLayout", given)
        return Drawing(lambda limit: linear_scene(x, limit))
    if isinstance(x, Comparison):
        _refuse("a comparison", {name: given[name] for name in ("color", "view", "tile", "others")})
        compared = subjects_of([x.a, x.b], shape, axes, dtype)
        differing = look_at(compared, **look)
        return Drawing(lambda limit: difference_scene(x, compared, differing, limit))
    subjects = subjects_of([x, *others], shape, axes, dtype)
    if tile is not None:
        _refuse("a tile of threads", {**given, "tile": None})
        return Drawing(lambda limit: threads_scene(subjects[0], tile, limit))
    chosen = look_at(subjects, **look)
    return Drawing(lambda limit: layouts_scene(subjects, chosen, view, limit))


def _refuse(what: str, given: Mapping[str, Any]) -> None:
    """Refuse arguments that would say nothing."""
    said = [name for name, value in given.items() if value or (value is not None and isinstance(value, int | str))]
    if said:
        raise ShapeError(f"{what} is drawn without {', '.join(said)}.", hint="leave it out", given=said)
