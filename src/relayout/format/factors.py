"""What a format may be made of: factors with their place values, names, fill, alignments, one number per dimension."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..errors import LimitExceeded, ShapeError, shown
from ..immutable import NamedTuple
from ..integers.inttuple import as_int

MAX_FACTORS = 1024
"""The most factors a format may have."""


class Factor(NamedTuple):
    """``size`` steps along dimension ``dim``, size 0 for all the rest; one step moves ``step`` elements of it.

    A digit above the rest has ``step`` 0: one step moves ``rests`` times all that the rest and the digits below it
    count, which the shape decides. A negative place value counts backwards: of the digits 0 to ``size - 1`` the last
    one is stored first.
    """

    dim: int
    size: int
    step: int
    rests: int = 0

    @property
    def backwards(self) -> bool:
        return self.step < 0 or self.rests < 0

    @property
    def place(self) -> int | str:
        """The place value as it is written: a number, or for a digit above the rest ``rest``, ``-rest``, ``2rest``."""
        if not self.rests:
            return self.step
        return f"{'-' * self.backwards}{abs(self.rests) if abs(self.rests) > 1 else ''}rest"


Written = tuple[int | str, ...]
"""A factor as it is written: a dimension, a size, and where it is not the usual one a place value."""


def checked_factors(rank: int, factors: Sequence[Sequence[int | str]]) -> tuple[Factor, ...]:
    """The factors with their place values: first the rest of every dimension, then blocks."""
    if rank < 0:
        raise ShapeError(f"rank {rank} is negative.", hint="a format has a rank >= 0", rank=rank)
    try:
        given = [(f.dim, f.size, f.place) if isinstance(f, Factor) else tuple(f) for f in factors]
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
    read = [_read_factor(f, rank) for f in given]
    rests = [f.dim for f in read[:rank]]
    if sorted(rests) != list(range(rank)) or any(f.size for f in read[:rank]) or any(not f.size for f in read[rank:]):
        raise ShapeError(
            f"the factors {shown(tuple(given))} do not start with the rest of every dimension, once each.",
            hint=f"begin with {rank} pairs (dimension, 0), then the blocks",
            factors=tuple(given),
        )
    return with_steps(rank, read)


def _read_factor(given: Written, rank: int) -> Factor:
    """A factor as it is written; step 0 where it has no place value."""
    size_and_dim = [as_int(x, "a factor") for x in given[:2]]
    last = given[2] if len(given) == 3 else None
    rests = re.fullmatch(r"(-?)([1-9]\d*)?rest", last) if isinstance(last, str) else None
    places = [] if rests else [as_int(x, "a factor") for x in given[2:]]
    if len(given) not in (2, 3) or not 0 <= size_and_dim[0] < rank or size_and_dim[1] < 0 or 0 in places:
        raise ShapeError(
            f"{shown(given)} is no factor of a format of rank {rank}.",
            hint="write (dimension, size) with size 0 for the rest, or (dimension, size, place value), with a "
            "negative place value for a digit that counts backwards, and 'rest' for one above the rest",
            factor=given,
            rank=rank,
        )
    dim, size = size_and_dim
    if not size and (rests or min(places, default=1) < 0):
        raise ShapeError(
            f"the rest of dimension {dim} cannot count backwards or lie above itself: its size is not fixed.",
            hint="give that place value to a block",
            factor=given,
            rank=rank,
        )
    if rests:
        return Factor(dim, size, 0, int(f"{rests[1]}{rests[2] or 1}"))
    return Factor(dim, size, *places or [0])


def with_steps(rank: int, factors: Sequence[Factor]) -> tuple[Factor, ...]:
    """The factors with the usual place values where they have none; refused unless all make up whole digits."""
    found = list(factors)
    for d in range(rank):
        mine = [k for k, f in enumerate(factors) if f.dim == d]
        running = 1
        for k in reversed([k for k in mine if not factors[k].rests]):
            found[k] = found[k]._replace(step=found[k].step or running)
            running *= found[k].size or 1
        below = sorted([found[k] for k in mine[1:] if not found[k].rests], key=lambda f: (abs(f.step), f.size))
        above = sorted([found[k] for k in mine[1:] if found[k].rests], key=lambda f: (abs(f.rests), f.size))
        for digits in ([*below, found[mine[0]]], above):
            running = 1
            for f in digits:
                if abs(f.step + f.rests) != running:
                    got, due = (f"{n}{'rest' * bool(f.rests)}" for n in (abs(f.step + f.rests), running))
                    raise ShapeError(
                        f"the place values of dimension {d} leave a gap: {got} where {due} is next.",
                        hint="give the digits of a dimension the place values 1, s0, s0*s1, ..., and those above its "
                        "rest the values rest, s0rest, ...",
                        factors=tuple(factors),
                    )
                running *= f.size
    return tuple(found)


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


def per_dim(entries: Any, what: str, rank: int, axes: str | None = None) -> tuple[int, ...]:
    """One number >= 0 for each dimension, whose names are ``axes``."""
    values = entries if isinstance(entries, tuple | list) else (entries,)
    if len(values) != rank:
        names = f": {', '.join(axes)}" if axes else ""
        raise ShapeError(
            f"{what} {shown(entries)} does not fit a format of rank {rank}.", hint=f"one entry per dimension{names}"
        )
    numbers = tuple([as_int(v, what) for v in values])
    if min(numbers, default=0) < 0:
        raise ShapeError(f"{what} {numbers} has a negative entry.", hint="use entries >= 0", got=numbers)
    return numbers


def padding(entries: Any, what: str, rank: int) -> tuple[int, ...]:
    """One number >= 0 for each dimension; all are 0 where nothing is said."""
    return (0,) * rank if entries is None else per_dim(entries, what, rank)
