"""Moves of which an artefact tells the shapes alone: every order that is possible, and what all have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

from ..elements.types import Element
from .kinds import UNDECIDED
from .making import make_move
from .move import Move, Place, Side

_MOST_DIMENSIONS = 6
"""The orders of more dimensions are not tried one by one."""


def orders_between(source: Sequence[int], target: Sequence[int]) -> list[tuple[int, ...]]:
    """The orders of dimensions that make one shape of another; sizes of 1 may stand anywhere, and count once.

    >>> orders_between((1, 8, 4, 4), (1, 4, 4, 8))
    [(0, 2, 3, 1), (0, 3, 2, 1)]
    """
    large = [d for d, n in enumerate(source) if n != 1]
    ones = [d for d, n in enumerate(source) if n == 1]
    found = []
    if sorted(source) == sorted(target) and len(large) <= _MOST_DIMENSIONS:
        for order in permutations(large):
            rest, one = iter(order), iter(ones)
            whole = tuple([next(one) if n == 1 else next(rest) for n in target])
            if tuple([source[d] for d in whole]) == tuple(target):
                found.append(whole)
    return found


def agreed_move(
    candidates: Sequence[Move], place: Place, op: str, shape: tuple[int, ...], element: Element | None, **more: Any
) -> Move:
    """The one move that is possible, or what all of them have in common; the rest is as for ``make_move``."""
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        side = Side("?", None, element, why="its shapes do not tell what it does")
        return make_move(place, op, side, side, shape=shape, **more)
    texts = [" or ".join(dict.fromkeys(t)) for t in zip(*[(m.source.text, m.target.text) for m in candidates])]
    sides = [Side(text, None, element, why="the file does not tell which order") for text in texts]
    move = make_move(place, op, sides[0], sides[1], shape=shape, **more)
    kinds = {m.kind for m in candidates}
    return replace(move, kind=kinds.pop() if len(kinds) == 1 else UNDECIDED)
