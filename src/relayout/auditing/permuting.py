"""Moves of graphs whose values are row-major: a transpose, and another shape for the same elements.

Sizes may be open: names of numbers that the artefact does not tell. What holds for a move with open sizes is proven for
every number that they may be, or undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any

from ..elements.types import Element
from ..layout.layout import Layout
from .kinds import REARRANGES, SAME_BYTES, UNDECIDED
from .making import make_move
from .move import Move, Place, Side

Size = int | str
"""A number, or the name of one that is not told."""

NOWHERE = Place("")
"""The place of a move that is made once and then placed."""

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
    made = _transpose(op, tuple(shape), tuple(order), element, texts, None if result is None else tuple(result))
    return placed_move(made, place, **more)


@lru_cache(maxsize=4096)
def _transpose(
    op: str,
    shape: tuple[Size, ...],
    order: tuple[int, ...],
    element: Element | None,
    texts: tuple[str, str] | None,
    result: tuple[Size, ...] | None,
) -> Move:
    source_text, target_text = texts or _order_texts(order)

    def at(sizes: tuple[int, ...]) -> Move:
        before = Layout.row_major(sizes).permute(*order)
        after = Layout.row_major(tuple([sizes[d] for d in order]))
        return make_move(NOWHERE, op, Side(source_text, before, element), Side(target_text, after, element))

    return for_all_sizes(at, shape, [shape[d] for d in order] if result is None else result, element)


def placed_move(made: Move, place: Place, *, remarks: tuple[str, ...] = (), **more: Any) -> Move:
    """A move that was made ``NOWHERE`` at its place; the rest is as for ``make_move``."""
    return replace(made, place=place, remarks=(*remarks, *made.remarks), **more)


def for_all_sizes(
    at: Callable[[tuple[int, ...]], Move], shape: Sequence[Size], result: Sequence[Size], element: Element | None
) -> Move:
    """The move that ``at`` makes of sizes, for a shape of which some are open: what holds for every number they may be.

    What rearranges where they are 1 does so for all, since that is a part of every larger tensor; and what moves
    nothing for sizes that have nothing in common moves nothing at all. The bytes are not known then.
    """
    sizes = tuple([n for n in shape if isinstance(n, int)])
    if len(sizes) == len(shape):
        return replace(at(sizes), shape=known_sizes(result))
    move, smallest = at(_stand_in(shape)), at(tuple([n if isinstance(n, int) else 1 for n in shape]))
    kind = SAME_BYTES if move.kind == SAME_BYTES else REARRANGES if smallest.kind == REARRANGES else UNDECIDED
    names = list(dict.fromkeys([n for n in shape if isinstance(n, str)]))
    said = f"{_words(names)} not known"
    if element is not None and sum([isinstance(n, str) for n in shape]) == 1:
        padded = move.target.stored_bytes or 0
        said = f"{padded // _stand_in(shape)[list(shape).index(names[0])]} bytes for each {_unit(names[0])}"
    why = (said, f"with {_words(names)} = 1 nothing would move") if kind == UNDECIDED else (said,)
    bytes = 0 if move.bytes == 0 else None
    return replace(move, kind=kind, shape=known_sizes(result), bytes=bytes, remarks=(*move.remarks, *why))


def make_view(
    place: Place,
    op: str,
    shape: Sequence[Size] | None,
    result: Sequence[Size] | None,
    element: Element | None,
    **more: Any,
) -> Move:
    """A row-major tensor under another shape: nothing moves, whatever the open sizes are."""
    before, after = (known_sizes((None,) if sizes is None else sizes) for sizes in (shape, result))
    return placed_move(_view(op, before, after, element), place, **more)


@lru_cache(maxsize=4096)
def _view(op: str, before: tuple[int, ...], after: tuple[int, ...], element: Element | None) -> Move:
    sides = [Side("row-major", None if -1 in sizes else Layout.row_major(sizes), element) for sizes in (before, after)]
    if -1 not in before + after:
        if prod(before) != prod(after):
            sides = [side._replace(layout=None, why=f"{before} and {after} differ in size") for side in sides]
        return make_move(NOWHERE, op, sides[0], sides[1], shape=after, copies=False)
    one = Side("row-major", Layout.row_major((1,)), element)
    move = make_move(NOWHERE, op, one, one, copies=False)
    return replace(move, source=sides[0], target=sides[1], shape=after)


def known_sizes(shape: Sequence[Size | None]) -> tuple[int, ...]:
    """A shape as a move has it: -1 for a size that is not told."""
    return tuple([n if isinstance(n, int) else -1 for n in shape])


def _stand_in(shape: Sequence[Size]) -> tuple[int, ...]:
    """Numbers in place of open sizes, the same for the same name.

    Permutations undo each other for all sizes if they do for sizes above 1, so that these tell pairs as well.
    """
    taken = {n for n in shape if isinstance(n, int)}
    # From the largest on, which are rarely taken: the same name is the same number in a later move too.
    free = iter([p for p in reversed(_PRIMES) if p not in taken])
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
    return ", ".join(dict.fromkeys(["an open size" if n.startswith("?") else n for n in names]))


def _unit(name: str) -> str:
    return "step of an open size" if name.startswith("?") else name
