"""Moves of graphs whose values are row-major: a transpose, and another shape for the same elements.

Sizes may be open: names of numbers that the artefact does not tell. What holds for a move with open sizes is proven for
every number that they may be, or undecided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from ..elements.types import Element
from ..layout.layout import Layout
from .kinds import REARRANGES, SAME_BYTES, UNDECIDED
from .making import make_move
from .move import Move, Place, Side

Size = int | str
"""A number, or the name of one that is not told."""

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


def make_transpose(
    place: Place,
    op: str,
    shape: Sequence[Size],
    order: Sequence[int],
    element: Element | None,
    *,
    texts: tuple[str, str] | None = None,
    result: Sequence[Size] | None = None,
    **more: Any,
) -> Move:
    """A row-major tensor whose dimensions come in another order, ``order[i]`` as dimension ``i``, row-major again.

    ``result`` is the shape of what comes out where it has other dimensions than those that move, and ``texts`` are the
    words for both sides. The rest is as for ``make_move``.

    >>> print(make_transpose(Place("graph"), "Transpose", ("N", 8, 1, 1), (0, 2, 3, 1), None).kind)
    same bytes
    >>> print(make_transpose(Place("graph"), "Transpose", ("N", 8, 4), (0, 2, 1), None).kind)
    rearranges
    >>> print(make_transpose(Place("graph"), "Transpose", ("N", 8), (1, 0), None).kind)
    undecided
    """
    names = [n for n in shape if isinstance(n, str)]
    source_text, target_text = texts or _order_texts(order)
    result = tuple([shape[d] for d in order]) if result is None else tuple(result)

    def at(sizes: tuple[int, ...]) -> Move:
        before = Layout.row_major(sizes).permute(*order)
        after = Layout.row_major(tuple([sizes[d] for d in order]))
        return make_move(
            place, op, Side(source_text, before, element), Side(target_text, after, element), **more
        )

    if not names:
        return replace(at(tuple(shape)), shape=tuple(result))  # type: ignore[arg-type]
    move, smallest = at(_stand_in(shape)), at(tuple([1 if isinstance(n, str) else n for n in shape]))
    kind = SAME_BYTES if move.kind == SAME_BYTES else REARRANGES if smallest.kind == REARRANGES else UNDECIDED
    why = () if kind != UNDECIDED else (f"with {_words(names)} = 1 nothing would move",)
    return replace(open_move(move, shape, result, element), kind=kind, remarks=(*move.remarks, *why))


def make_view(
    place: Place,
    op: str,
    shape: Sequence[Size] | None,
    result: Sequence[Size] | None,
    element: Element | None,
    **more: Any,
) -> Move:
    """The same elements in row-major order under another shape: the same bytes, whatever the sizes are."""
    told = [n for n in (result or shape or ()) if isinstance(n, int)]
    layouts: list[Layout | None] = [None, None]
    for k, sizes in enumerate((shape, result)):
        if sizes is not None and all(isinstance(n, int) for n in sizes):
            layouts[k] = Layout.row_major(tuple(sizes))
    sides = [Side("row-major", layout, element) for layout in layouts]
    if None not in layouts and prod(layouts[0].extents) == prod(layouts[1].extents):  # type: ignore[union-attr]
        return make_move(place, op, sides[0], sides[1], copies=False, **more)
    one = Side("row-major", Layout.row_major(tuple(told)), element)
    move = make_move(place, op, one, one, copies=False, **more)
    return replace(move, source=sides[0], target=sides[1], shape=known_sizes(result or ()))


def open_move(move: Move, shape: Sequence[Size], result: Sequence[Size], element: Element | None) -> Move:
    """A move whose sizes are partly not told: its bytes are not known, but those for each unit of one open size are."""
    names = sorted({n for n in shape if isinstance(n, str)})
    remark: tuple[str, ...] = (f"{_words(names)} not known",)
    if element is not None and len(names) == 1 and sum([n == names[0] for n in shape]) == 1:
        each = -(-prod([n for n in shape if isinstance(n, int)]) * element.bits // 8)
        remark = (f"{each} bytes for each {_words(names)}",)
    bytes = 0 if move.bytes == 0 else None
    return replace(move, shape=known_sizes(result), bytes=bytes, remarks=(*move.remarks, *remark))


def known_sizes(shape: Sequence[Size | None]) -> tuple[int, ...]:
    """A shape as a move has it: -1 for a size that is not told."""
    return tuple([n if isinstance(n, int) else -1 for n in shape])


def _stand_in(shape: Sequence[Size]) -> tuple[int, ...]:
    """Numbers in place of open sizes, the same for the same name.

    Permutations undo each other for all sizes if they do for sizes above 1, so that these tell pairs as well.
    """
    taken = {n for n in shape if isinstance(n, int)}
    free = iter([p for p in _PRIMES if p not in taken])
    given: dict[str, int] = {}
    for n in shape:
        if isinstance(n, str) and n not in given:
            given[n] = next(free, 41)
    return tuple([n if isinstance(n, int) else given[n] for n in shape])


def _order_texts(order: Sequence[int]) -> tuple[str, str]:
    """Both sides in letters, the target's dimensions in the order of the alphabet, slowest first."""
    if len(order) > len(_LETTERS):
        return f"dimensions {tuple(order)}", "row-major"
    places = [list(order).index(d) for d in range(len(order))]
    return "".join([_LETTERS[p] for p in places]), _LETTERS[: len(order)]


def _words(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(["a size" if n.startswith("?") else n for n in names]))
