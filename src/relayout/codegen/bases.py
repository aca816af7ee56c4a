"""Trees for languages whose slices have no elements before their start: the place of a ``Base`` as a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .statements import INDEX, At, Base, Binary, Expression, Let, Name, Number, Routine, Unary, names_in, nodes_in


def rewrite(tree: Any, change: Callable[[Any], Any]) -> Any:
    """A tree whose nodes were each changed, those inside first."""
    if not isinstance(tree, tuple):
        return tree
    parts = [rewrite(part, change) for part in tree]
    return change(type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts))


def steps_backwards(function: Routine) -> bool:
    """Whether a place may count backwards from a ``Base``."""
    negative: set[str] = set()
    for x in nodes_in(function.body):
        if isinstance(x, Let) and x.name[:4] in ("src_", "dst_"):
            negative |= {x.name} if _has_minus(x.value) or names_in(x.value) & negative else set()
    bases = {node.name for node in nodes_in(function.body) if isinstance(node, Base)}
    places = [node.place for node in nodes_in(function.body) if isinstance(node, At) and node.memory in bases]
    return any(_has_minus(place) or names_in(place) & negative for place in places)


def _has_minus(x: Expression) -> bool:
    for node in nodes_in((x,)):
        if isinstance(node, (Binary, Unary)) and node.sign == "-":
            return True
        if isinstance(node, Number) and node.value < 0:
            return True
    return False


def bases_as_numbers(function: Routine) -> Routine:
    """The function with the place of every ``Base`` as a number, which is added."""
    bases = {node.name: node.memory for node in nodes_in(function.body) if isinstance(node, Base)}

    def change(node: Any) -> Any:
        if isinstance(node, Base):
            return Let(node.name, INDEX, node.place)
        if isinstance(node, At) and node.memory in bases:
            sign, step = ("-", node.place.value) if isinstance(node.place, Unary) else ("+", node.place)
            place = Name(node.memory) if step == Number(0) else Binary(sign, Name(node.memory), step)
            return At(bases[node.memory], place)
        return node

    return function._replace(body=rewrite(function.body, change))
