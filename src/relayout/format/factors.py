"""What a format may be made of: factors with their place values, names, fill, alignments, one number per dimension."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import LimitExceeded, ShapeError, shown
from ..integers.inttuple import as_int

MAX_FACTORS = 1024
"""The most factors a format may have."""


class Factor(NamedTuple):
    """``size`` steps along dimension ``dim``, size 0 for all the rest; one step moves ``step`` elements of it.

    A negative ``step`` counts backwards: of the digits 0 to ``size - 1`` the last one is stored first.
    """

    dim: int
    size: int
    step: int


def checked_factors(rank: int, factors: Sequence[Sequence[int]]) -> tuple[Factor, ...]:
    """The factors with their place values: first the rest of every dimension, then blocks."""
    if rank < 0:
        raise ShapeError(f"rank {rank} is negative.", hint="a format has a rank >= 0", rank=rank)
    try:
        given = [tuple(f) for f in factors]
    except TypeError:
        raise ShapeError(
            f"the factors of a format are a list of pairs, got {shown(factors)}.",
            hint="write (dimension, size) for each, with size 0 for the rest",
            factors=factors,
        ) from None
    if max(rank, len(given)) > MAX_FACTORS:
        raise LimitExceeded(
            f"a format of rank {rank} with {len(given)} factors is over the limit of {MAX_FACTORS}.",
            hint="no format has that many",
            limit=MAX_FACTORS,
        )
    pairs = [tuple([as_int(x, "a factor") for x in f]) for f in given]
    for p in pairs:
        if len(p) not in (2, 3) or not 0 <= p[0] < rank or p[1] < 0 or (len(p) == 3 and not p[2]):
            raise ShapeError(
                f"{p} is no factor of a format of rank {rank}.",
                hint="write (dimension, size) with size 0 for the rest, or (dimension, size, place value), with a "
                "negative place value for a digit that counts backwards",
                factor=p,
                rank=rank,
            )
        if len(p) == 3 and not p[1] and p[2] < 0:
            raise ShapeError(
                f"the rest of dimension {p[0]} cannot count backwards: its size is not fixed.",
                hint="give the place value of a block a sign",
                factor=p,
                rank=rank,
            )
    rests = [p[0] for p in pairs[:rank]]
    if sorted(rests) != list(range(rank)) or any(p[1] for p in pairs[:rank]) or any(not p[1] for p in pairs[rank:]):
        raise ShapeError(
            f"the factors {shown(tuple(pairs))} do not start with the rest of every dimension, once each.",
            hint=f"begin with {rank} pairs (dimension, 0), then the blocks",
            factors=tuple(pairs),
        )
    return with_steps(rank, pairs)


def with_steps(rank: int, pairs: Sequence[tuple[int, ...]]) -> tuple[Factor, ...]:
    """The factors with their place values, which must make up whole digits of every dimension."""
    steps: list[int] = [0] * len(pairs)
    for d in range(rank):
        mine = [k for k, p in enumerate(pairs) if p[0] == d]
        running = 1
        for k in reversed(mine):
            steps[k] = pairs[k][2] if len(pairs[k]) == 3 else running
            running *= pairs[k][1] or 1
        running = 1
        for k in [*sorted(mine[1:], key=lambda k: (abs(steps[k]), pairs[k][1])), mine[0]]:
            if abs(steps[k]) != running:
                raise ShapeError(
                    f"the place values of dimension {d} leave a gap: {abs(steps[k])} where {running} is next.",
                    hint="give the digits of a dimension the place values 1, s0, s0*s1, ...",
                    factors=tuple(pairs),
                )
            running *= pairs[k][1]
    return tuple([Factor(p[0], p[1], s) for p, s in zip(pairs, steps)])


def checked_axes(axes: str | None, rank: int) -> str | None:
    """``axes`` itself; refused unless it is None or names every dimension by a letter of its own."""
    if axes is not None and (
        not isinstance(axes, str)
        or len(axes) != rank
        or len(set(axes)) != rank
        or not ((axes.isalpha() and axes.isascii()) or not axes)
    ):
        raise ShapeError(f"axes {axes!r} do not name {rank} dimensions.", hint="one different letter each", axes=axes)
    return axes


def checked_fill(fill: Any) -> int | float | str | None:
    """A number, or a word such as ``qzero``."""
    if fill is None or (isinstance(fill, str) and re.fullmatch("[a-z]+", fill)):
        return fill
    number = fill.item() if hasattr(fill, "item") else fill
    if isinstance(number, int | float) and not isinstance(number, bool):
        return number
    raise ShapeError(f"fill {shown(fill)} is no number.", hint="a stored value, or 'qzero'", fill=fill)


def checked_align(align: Sequence[int], factors: int) -> tuple[int, ...]:
    """One alignment for the total and one for each factor."""
    values = tuple([as_int(a, "an alignment") for a in align])
    if len(values) != factors + 1 or min(values) < 1:
        raise ShapeError(
            f"align {values} needs {factors + 1} values >= 1.",
            hint="one for the total, then one per factor",
            align=values,
        )
    return values


def in_range(value: Any, what: str, low: int, high: int) -> int:
    """The number, refused outside ``low`` to ``high``."""
    number = as_int(value, what)
    if not low <= number <= high:
        raise ShapeError(
            f"{what} {number} is outside {low} .. {high}.", hint=f"keep {low} <= {what} <= {high}", got=number
        )
    return number


def per_dim(entries: Any, what: str, rank: int) -> tuple[int, ...]:
    """One number >= 0 for each dimension."""
    values = entries if isinstance(entries, tuple | list) else (entries,)
    if len(values) != rank:
        raise ShapeError(
            f"{what} {shown(entries)} does not fit a format of rank {rank}.", hint="one entry per dimension"
        )
    numbers = tuple([as_int(v, what) for v in values])
    if min(numbers, default=0) < 0:
        raise ShapeError(f"{what} {numbers} has a negative entry.", hint="use entries >= 0", got=numbers)
    return numbers


def padding(entries: Any, what: str, rank: int) -> tuple[int, ...]:
    """One number >= 0 for each dimension; all are 0 where nothing is said."""
    return (0,) * rank if entries is None else per_dim(entries, what, rank)
