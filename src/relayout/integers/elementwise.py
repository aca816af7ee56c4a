"""Functions over nested tuples of integers, entry by entry or leaf by leaf, with Mojo's names.

Mojo writes the function as a parameter, ``apply[func](t)``; here it comes first: ``apply(func, t)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import ShapeError
from . import nested
from .inttuple import as_int, as_ints

A = TypeVar("A")


def is_int(t: Any) -> bool:
    """Whether ``t`` is an integer, not a tuple."""
    return not isinstance(as_ints(t), tuple)


def is_tuple(t: Any) -> bool:
    """Whether ``t`` is a tuple, possibly of one."""
    return not is_int(t)


def is_flat(t: Any) -> bool:
    """Whether no entry is a tuple."""
    return nested.depth(as_ints(t)) <= 1


def apply(func: Callable[[int], int], t: Any) -> Any:
    """``func`` of every leaf, nested like ``t``."""
    t = as_ints(t)
    return nested.unflatten(iter([as_int(func(x), "a result") for x in nested.flatten(t)]), t)


def shallow_apply(func: Callable[[Any], int], t: Any) -> tuple[int, ...]:
    """``func`` of every entry, which may be a tuple."""
    return tuple([as_int(func(e), "a result") for e in _entries(as_ints(t))])


def apply_zip(func: Callable[..., Any], *tuples: Any) -> Any:
    """``func`` of the entries at each place, which may be tuples; of integers, ``func`` of those.

    The tuples must be equally long, where Mojo stops at the end of the shortest.
    """
    operands = [as_ints(t) for t in tuples]
    if not any(isinstance(t, tuple) for t in operands):
        return as_ints(func(*operands))
    if len({len(t) if isinstance(t, tuple) else None for t in operands}) != 1:
        raise ShapeError(
            f"apply_zip needs tuples of one length, got {' and '.join(map(str, operands))}.",
            hint="give as many entries in each",
            tuples=operands,
        )
    return tuple([as_ints(func(*entries)) for entries in zip(*map(_entries, operands))])


def reduce(func: Callable[[A, Any], A], t: Any, initializer: A) -> Any:
    """``func`` of the result so far and the next entry, from ``initializer`` on; an integer is its own result."""
    t = as_ints(t)
    if not isinstance(t, tuple):
        return t
    result = initializer
    for entry in t:
        result = func(result, entry)
    return result


def tuple_min(a: Any, b: Any) -> Any:
    """The smaller of two leaves at every place of two congruent tuples."""
    a, b = as_ints(a), as_ints(b)
    if not nested.congruent(a, b):
        raise ShapeError(f"tuple_min needs congruent tuples, got {a} and {b}.", hint="nest both alike", a=a, b=b)
    return nested.unflatten(map(min, nested.flatten(a), nested.flatten(b)), a)


def tuple_max(t: Any) -> int:
    """The largest leaf; 0 where there is none.

    Mojo begins at 0, so that of a tuple of negative integers it gives 0; this is the true one.
    """
    return max(nested.flatten(as_ints(t)), default=0)


def fill_like(t: Any, value: int) -> Any:
    """``value`` at every leaf, nested like ``t``."""
    return apply(lambda _: value, t)


def mul(t: Any, factor: int) -> Any:
    """Every leaf times ``factor``."""
    return apply(lambda x: x * as_int(factor, "a factor"), t)


def reverse(t: Any) -> Any:
    """The entries from right to left, at every level."""
    t = as_ints(t)
    return tuple([reverse(e) for e in reversed(t)]) if isinstance(t, tuple) else t


def to_nest(profile: Any, flat: Any) -> Any:
    """The integers of ``flat``, as many as ``profile`` has leaves, nested like ``profile``."""
    profile, leaves = as_ints(profile), nested.flatten(as_ints(flat))
    if len(leaves) != len(nested.flatten(profile)):
        raise ShapeError(
            f"{len(leaves)} integers cannot be nested like {profile}.",
            hint=f"give {len(nested.flatten(profile))}",
            profile=profile,
        )
    return nested.unflatten(iter(leaves), profile)


def _entries(t: Any) -> tuple[Any, ...]:
    return t if isinstance(t, tuple) else (t,)
