"""``draw``: from whatever somebody wants to see to its picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .drawing import Drawing


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
    strides: bool = False,
    mark: Any = None,
    tile: Any = None,
    width: int | None = None,
) -> Drawing:
    """A picture of layouts, formats, records, tensors, arrays or texts in any notation; several stand side by side.

    A record is drawn as its bytes, ``width`` of them in a line, with a colour for each field: a cell names the element
    whose bits it holds, and of long fields the first lines are drawn. A sharding is drawn as the tensor of ``shape``,
    cut where devices change, with a colour for each device. Also drawn are a comparison (what differs), an
    operation of the algebra before its operands, as in ``draw(rl.logical_divide, a, b)``, a ``LinearLayout``, what
    ``rl.banks`` and ``rl.sectors`` answer (the worst access: who wants which word), and with ``tile`` a layout from
    (thread, value) to the positions of a tile of that shape.

    Two dimensions run, ``rows`` down and ``columns`` across (by number or name; by default those with several blocks,
    else the last two); there is one grid for each coordinate of the others, or for those that ``at`` says; ``part`` is
    a key as numpy reads it, as in ``(0, ..., slice(8))``, of what is drawn; of a large comparison that is the
    surroundings of the first difference, unless ``part`` says otherwise (``part=...`` is all). ``cells`` is what is
    written into a cell: ``offset``, ``coordinate``, ``block``, ``value`` or ``none``. ``color`` is what its colour
    tells: ``block``, ``unit`` (16 bytes that lie together; the default for swizzles), ``memory`` (the order of
    addresses), ``coordinate`` (the order of elements), ``row``, ``column``, ``value`` or ``none``. ``view`` is
    ``logical``, ``memory`` (the addresses in order, ``width`` in a line) or ``both``. ``path`` draws the order of
    memory as arrows from cell to cell, ``strides`` what a step along each mode adds, and ``mark`` outlines a
    coordinate, or each of a list.

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
    from .choose_scene import drawing_of

    look = {"rows": rows, "columns": columns, "at": at, "part": part, "mark": mark}
    look |= {"cells": cells, "color": color, "path": path, "width": width, "strides": strides}
    return drawing_of(x, others, shape=shape, axes=axes, dtype=dtype, look=look, view=view, tile=tile)
