"""The kind of a move, decided for all readers by ``compare``: what is called a no-op is proven to be one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ..algebra.linear import LinearLayout
from ..ask.comparing import compare
from ..errors import LayoutError, NotExpressible
from ..integers.nested import flatten
from ..layout.layout import Layout
from .move import Side

REARRANGES = "rearranges"
"""Some element comes to another place."""

SAME_BYTES = "same bytes"
"""Every element stays at its place: what is written is what was read, or nothing is written at all."""

OTHER_MEMORY = "other memory, same layout"
"""Every element keeps its place, in another memory space."""

CONVERTS = "same layout, other type"
"""Every element keeps its place, and is written in another type."""

EXCHANGES = "between devices"
"""Some device holds another part."""

ACCESSES = "between memory and registers"
"""Threads take their elements from memory, or put them there; the remark says at what cost."""

UNDECIDED = "undecided"
"""A side is not understood, or nothing proves it either way; the remark says which."""

KINDS = (REARRANGES, SAME_BYTES, OTHER_MEMORY, CONVERTS, EXCHANGES, ACCESSES, UNDECIDED)


def decide_kind(source: Side, target: Side) -> tuple[str, str, dict[str, Any]]:
    """The kind of a move between two sides, why it is undecided where it is, and what more was found out.

    >>> from relayout.auditing.making import make_side
    >>> a = make_side("f32[4,8]{1,0}")
    >>> decide_kind(a, make_side("f32[4,8]{0,1}"))[0]
    'rearranges'
    >>> decide_kind(a, make_side("f32[4,8]{1,0}", memory="S(1)"))[0]
    'other memory, same layout'
    """
    for side in (source, target):
        if side.layout is None:
            return UNDECIDED, side.why or f"{side.text} is not understood", {}
    element = source.element or target.element
    try:
        same, more = _compare(source.layout, target.layout, None if element is None else element.name)
    except LayoutError as error:
        return UNDECIDED, error.message, {}
    if same is not None:
        return same, "", more
    if source.memory != target.memory:
        return OTHER_MEMORY, "", more
    if source.element is not None and target.element is not None and source.element != target.element:
        return CONVERTS, "", more
    return SAME_BYTES, "", more


@lru_cache(maxsize=4096)
def _compare(a: Any, b: Any, element: str | None) -> tuple[str | None, dict[str, Any]]:
    """The kind of two layouts that differ, or None for the same function; layouts of threads tell their cost too."""
    from ..sharding.sharding import Sharding

    if isinstance(a, LinearLayout) and isinstance(b, LinearLayout):
        from ..hardware.conversions import conversion

        cost = conversion(a, b, element=element)
        return (None if cost.way in ("nothing", "registers") else REARRANGES), cost.facts()
    if isinstance(a, Sharding):
        return (None if compare(a, b) else EXCHANGES), {}
    if isinstance(a, Layout) and isinstance(b, Layout) and a.extents != b.extents:
        return (None if _same_in_row_major_order(a, b) else REARRANGES), {}
    return (None if compare(a, b) else REARRANGES), {}


def _same_in_row_major_order(a: Layout, b: Layout) -> bool:
    """Whether two layouts of other dimensions place the elements alike that come at the same turn in row-major order.

    A view of one with the dimensions of the other answers at any size; else elements where a digit of either begins
    anew may show a difference, before all are counted.
    """
    if a.size == b.size:
        for one, other in ((a, b), (b, a)):
            try:
                return bool(compare(one.reshape(other.extents), other))
            except NotExpressible:
                continue
    a, b = row_major(a), row_major(b)
    turns = {k for layout in (a, b) for k in _weights(layout)}
    if a.size == b.size and any(a(k) != b(k) for turn in turns for k in (turn - 1, turn, 2 * turn) if 0 <= k < a.size):
        return False
    return bool(compare(a, b, flat=True))


def _weights(layout: Layout) -> Iterator[int]:
    """How many elements come before each digit of a layout counts on, from the first dimension."""
    before = 1
    shape = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
    for mode, extent in zip(shape, layout.extents):
        weight = before
        for size in flatten(mode):
            yield weight
            weight *= size
        before *= extent
        yield before


def row_major(layout: Layout) -> Layout:
    """The layout whose elements, counted from the first dimension on, are those of ``layout`` in row-major order."""
    return layout.permute(*reversed(range(layout.rank)))
