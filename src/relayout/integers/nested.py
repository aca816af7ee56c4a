"""Nested tuples that are known to be well formed: the loops under everything, without checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..errors import LimitExceeded
from ..native import native

MAX_DEPTH = 64
"""Nesting deeper than this is refused, so that recursion always ends well."""


def _flatten(t: Any) -> tuple[Any, ...]:
    """The leaves from left to right."""
    if t.__class__ is not tuple:
        return (t,)
    for e in t:
        if e.__class__ is tuple:
            leaves: list[Any] = []
            for x in t:
                if x.__class__ is tuple:
                    leaves += _flatten(x)
                else:
                    leaves.append(x)
            return tuple(leaves)
    return t


def unflatten(leaves: Iterator[Any], profile: Any) -> Any:
    """``leaves`` arranged like ``profile``, left to right."""
    if profile.__class__ is tuple:
        return tuple([unflatten(leaves, e) if e.__class__ is tuple else next(leaves) for e in profile])
    return next(leaves)


def _product(t: Any) -> int:
    """The product of all leaves; 1 for the empty tuple."""
    if t.__class__ is not tuple:
        return t  # type: ignore[no-any-return]
    result = 1
    for e in t:
        result *= _product(e) if e.__class__ is tuple else e
    return result


def running_products(t: Any, running: int = 1) -> Any:
    """For each leaf the product of all leaves to its left, times ``running``."""
    if t.__class__ is not tuple:
        return running
    result = []
    for e in t:
        result.append(running_products(e, running))
        running *= product(e)
    return tuple(result)


def agree(a: Any, b: Any, at_leaf: Callable[[Any, Any], bool]) -> bool:
    """Whether the tuple part of ``a`` stands in ``b`` too and ``at_leaf`` holds where ``a`` ends."""
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(agree(x, y, at_leaf) for x, y in zip(a, b))
    return at_leaf(a, b)


def congruent(a: Any, b: Any) -> bool:
    """Whether both have the same hierarchical structure."""
    return agree(a, b, lambda _, y: not isinstance(y, tuple))


def _is_plain_pair(shape: Any, stride: Any, level: int = 0) -> bool:
    """Whether both are integers, or congruent tuples of them, with sizes >= 0: nothing to convert or refuse."""
    if shape.__class__ is int:
        return stride.__class__ is int and shape >= 0
    if shape.__class__ is not tuple or stride.__class__ is not tuple or len(shape) != len(stride) or level == MAX_DEPTH:
        return False
    for s, d in zip(shape, stride):
        if s.__class__ is int:
            if d.__class__ is not int or s < 0:
                return False
        elif not _is_plain_pair(s, d, level + 1):
            return False
    return True


def depth(t: Any) -> int:
    """The nesting depth; an integer has 0."""
    return 1 + max((depth(e) for e in t), default=0) if t.__class__ is tuple else 0


def within_depth(t: Any, what: str) -> Any:
    """``t`` itself, unless it is nested too deep."""
    if isinstance(t, tuple | list) and _deeper(t, MAX_DEPTH):
        raise LimitExceeded(
            f"{what} is nested deeper than {MAX_DEPTH} levels.", hint="flatten it first", limit=MAX_DEPTH
        )
    return t


def _deeper(t: Any, levels: int) -> bool:
    for e in t:
        if isinstance(e, tuple | list) and (levels == 1 or _deeper(e, levels - 1)):
            return True
    return False


flatten: Callable[[Any], tuple[Any, ...]] = _flatten if native is None else native.flatten
product: Callable[[Any], int] = _product if native is None else native.product
is_plain_pair: Callable[[Any, Any], bool] = _is_plain_pair if native is None else native.is_plain_pair
