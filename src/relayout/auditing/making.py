"""Moves made of what an artefact writes: its words become layouts, and two sides a move whose kind is decided."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..dialects.resolve import resolve
from ..elements.types import Element
from ..elements.types import element as element_of
from ..errors import LayoutError, ParseError
from ..layout.layout import Layout
from .kinds import SAME_BYTES, decide_kind
from .move import Move, Place, Side

if TYPE_CHECKING:
    from ..dialects.registry import Shapeless


@lru_cache(maxsize=4096)
def make_side(
    text: str,
    *,
    shape: tuple[int, ...] | None = None,
    element: str | Element | None = None,
    dialect: str | None = None,
    axes: str | None = None,
    memory: str = "",
    shown: str | None = None,
) -> Side:
    """The side that a text in any dialect means, for a tensor of ``shape``; what is refused is kept as the reason.

    ``shown`` is what the table shows in place of the text.
    """
    layout, kind, why = _understand(text, shape, element, dialect, axes)
    return Side(text if shown is None else shown, layout, kind, memory, why)


def _understand(
    text: str, shape: tuple[int, ...] | None, element: str | Element | None, dialect: str | None, axes: str | None
) -> tuple[Layout | Shapeless | None, Element | None, str]:
    try:
        kind = None if element is None else element_of(element)
    except LayoutError as error:
        return None, None, error.message
    try:
        found = resolve(text, dialect=dialect, shape=shape, axes=axes, element=kind)
    except ParseError:
        return None, kind, f"no dialect reads {text}" if dialect is None else f"{dialect} does not read {text}"
    except LayoutError as error:
        return None, kind, error.message
    return found.subject, kind or found.element, ""


def make_move(
    place: Place,
    op: str,
    source: Side,
    target: Side,
    *,
    shape: tuple[int, ...] | None = None,
    copies: bool = True,
    bytes: int | None = None,
    time: float | None = None,
    reads: str = "",
    writes: str = "",
    remarks: tuple[str, ...] = (),
    details: Mapping[str, Any] | None = None,
) -> Move:
    """The move between two sides, its kind decided and its bytes counted.

    Both layouts are over the same coordinates: for a transpose the source's dimensions come in the target's order.
    Where the shapes differ, as those of a reshape do, elements are matched in row-major order. ``copies`` is False for
    an operation that only gives the same bytes another type, as a bitcast does. ``bytes`` come from the target's layout
    unless the artefact itself tells them.
    """
    kind, why, more, own_bytes, own_shape = _decide(source, target, copies)
    size = own_bytes if bytes is None else bytes
    sizes = own_shape if shape is None else shape
    said = (*remarks, why) if why else remarks
    facts = {**more, **details} if details else more
    return Move(place, op, kind, source, target, sizes, size, time, 1, reads, writes, said, facts)


@lru_cache(maxsize=4096)
def _decide(
    source: Side, target: Side, copies: bool
) -> tuple[str, str, Mapping[str, Any], int | None, tuple[int, ...]]:
    """The kind, the reason if it is undecided, what more was found out, the bytes that are written, and the shape."""
    kind, why, more = decide_kind(source, target)
    size = 0 if kind == SAME_BYTES and not copies else target.stored_bytes
    return kind, why, more, size, tuple(target.layout.extents) if isinstance(target.layout, Layout) else ()
