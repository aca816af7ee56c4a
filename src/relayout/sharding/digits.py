"""How one dimension is dealt: digits, the most significant first, of which some are mesh axes and the rest is kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ..errors import LimitExceeded, ShapeError, shown
from ..integers.inttuple import as_int
from ..integers.nested import product

MAX_RUNS = 1 << 16
"""A device holds no more runs of one dimension than this."""

Runs = tuple[tuple[int, int], ...]
"""Ranges ``(start, stop)`` of one dimension, upwards and apart, in the order of the local array."""


class Deal(NamedTuple):
    """One digit of a dimension: dealt along a mesh axis, or with ``axis`` None kept by every device.

    A digit of an axis may be a part of it: the ``size`` that comes after ``before``, counted from the most significant,
    as Shardy's ``"y":(before)size``. A kept digit of size 0 is the rest: what the others leave of the dimension.
    """

    axis: str | None
    size: int
    before: int = 1

    def __str__(self) -> str:
        if self.axis is None:
            return str(self.size) if self.size else "..."
        return self.axis


REST = Deal(None, 0)


def checked_deals(entry: Any, axes: dict[str, int]) -> tuple[Deal, ...]:
    """The digits that somebody wrote for one dimension; the rest comes last where it is not said.

    ``None`` is a whole dimension, a word a mesh axis, ``("y", 1, 2)`` a part of one, an integer a digit that is kept,
    and ``...`` the rest.
    """
    if entry is None:
        return (REST,)
    if isinstance(entry, str) or entry is Ellipsis or isinstance(entry, Deal) or _is_part(entry):
        entry = (entry,)
    if not isinstance(entry, Sequence):
        raise ShapeError(
            f"a dimension is dealt to mesh axes, got {shown(entry)}.",
            hint="None, an axis, or a tuple of axes, the most significant first",
            got=entry,
        )
    deals = [_as_deal(x, axes) for x in entry]
    if deals.count(REST) > 1:
        raise ShapeError(f"{shown(entry)} has the rest twice.", hint="write ... once, or leave it out", got=entry)
    return tuple(deals if REST in deals else [*deals, REST])


def _is_part(x: Any) -> bool:
    """Whether ``x`` is a part of an axis: its name and two integers."""
    return isinstance(x, tuple) and len(x) == 3 and isinstance(x[0], str) and all(isinstance(n, int) for n in x[1:])


def _as_deal(x: Any, axes: dict[str, int]) -> Deal:
    if isinstance(x, Deal):
        x = ... if x == REST else x.size if x.axis is None else (x.axis, x.before, x.size)
    if x is Ellipsis:
        return REST
    if isinstance(x, str) or _is_part(x):
        name = x if isinstance(x, str) else x[0]
        if name not in axes:
            known = f"there are {', '.join(axes)}" if axes else "the mesh has none"
            raise ShapeError(f"there is no mesh axis {name!r}.", hint=known, got=x)
        before, size = (1, axes[name]) if isinstance(x, str) else (x[1], x[2])
        if before < 1 or size < 1 or axes[name] % (before * size):
            raise ShapeError(
                f"({before}){size} is no part of mesh axis {name!r} of size {axes[name]}.",
                hint="the two numbers multiply to a divisor of the axis",
                got=x,
            )
        return Deal(name, size, before)
    size = as_int(x, "a digit that is kept")
    if size < 1:
        raise ShapeError(f"a digit that is kept has the size {size}.", hint="1 or more, or ... for the rest", got=x)
    return Deal(None, size)


class DimensionPart(NamedTuple):
    """What one device holds of a dimension of size ``n``: digits as ``(size, value)``, where a kept one has no value.

    ``chunked`` splits every piece by itself, as ``torch.chunk`` does; otherwise the dimension is padded once.
    """

    n: int
    digits: tuple[tuple[int, int | None], ...]
    chunked: bool


@lru_cache(maxsize=1 << 14)
def runs_of(part: DimensionPart) -> Runs:
    """The ranges of a part, as long as they can be."""
    found = _chunked_runs(part) if part.chunked else _padded_runs(part)
    merged: list[tuple[int, int]] = []
    for start, stop in found:
        if merged and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], stop)
        elif start < stop:
            merged.append((start, stop))
    return tuple(merged)


def padded_size(part: DimensionPart) -> int:
    """The dimension rounded up, so that every digit is whole."""
    fixed = product(tuple([size for size, _ in part.digits if size]))
    return -(-part.n // fixed) * fixed


def _padded_runs(part: DimensionPart) -> list[tuple[int, int]]:
    n, digits = part.n, list(part.digits)
    box = padded_size(part)
    rest = box // product(tuple([size for size, _ in digits if size]))
    weight = box
    starts = [0]
    while any(value is not None for _, value in digits):
        size, value = digits.pop(0)
        size = size or rest
        weight = weight // size if size else 0
        if value is not None:
            starts = [start + value * weight for start in starts]
        else:
            _check_count(len(starts) * size)
            starts = [start + k * weight for start in starts for k in range(size)]
    return [(start, min(start + weight, n)) for start in starts if start < n]


def _chunked_runs(part: DimensionPart) -> list[tuple[int, int]]:
    pieces = [(0, part.n)]
    digits = list(part.digits)
    while any(value is not None for _, value in digits):
        size, value = digits.pop(0)
        below = product(tuple([s for s, _ in digits]))
        split: list[tuple[int, int]] = []
        for start, stop in pieces:
            step = below if not size else -(-(stop - start) // size)
            count = size or -(-(stop - start) // max(step, 1))
            chosen = range(count) if value is None else (value,)
            _check_count(len(split) + len(chosen))
            split += [(min(start + k * step, stop), min(start + (k + 1) * step, stop)) for k in chosen]
        pieces = split
    return [piece for piece in pieces if piece[0] < piece[1]]


def _check_count(count: int) -> None:
    if count > MAX_RUNS:
        raise LimitExceeded(
            f"a device holds more than {MAX_RUNS} runs of one dimension.",
            hint="ask about a smaller shape, or holders(coordinate) for one element",
            limit=MAX_RUNS,
        )


def length(runs: Runs) -> int:
    """How many coordinates the ranges have."""
    return sum([stop - start for start, stop in runs])


def common(a: Runs, b: Runs) -> int:
    """How many coordinates are in both."""
    total = i = j = 0
    while i < len(a) and j < len(b):
        total += max(0, min(a[i][1], b[j][1]) - max(a[i][0], b[j][0]))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return total


def place_in(runs: Runs, c: int) -> int | None:
    """The number of a coordinate among those of the ranges; None where it is in none."""
    before = 0
    for start, stop in runs:
        if start <= c < stop:
            return before + c - start
        before += stop - start
    return None


def nth(runs: Runs, k: int) -> int:
    """The coordinate with that number."""
    for start, stop in runs:
        if k < stop - start:
            return start + k
        k -= stop - start
    raise ShapeError("there is no coordinate with that number.", hint="stay below local_shape", got=k)


def dealt_values(n: int, deals: Sequence[Deal], chunked: bool, c: int) -> tuple[int, ...]:
    """The values of the dealt digits at a coordinate: whose it is."""
    box = padded_size(DimensionPart(n, tuple([(deal.size, None) for deal in deals]), chunked))
    rest = box // product(tuple([deal.size for deal in deals if deal.size]))
    values = []
    start, stop, weight = 0, n, box
    for k, deal in enumerate(deals):
        if chunked:
            below = product(tuple([d.size for d in deals[k + 1 :]]))
            weight = below if not deal.size else -(-(stop - start) // deal.size)
        else:
            weight //= deal.size or rest
        digit = (c - start) // max(weight, 1)
        start, stop = start + digit * weight, min(start + (digit + 1) * weight, stop)
        if deal.axis is not None:
            values.append(digit)
    return tuple(values)
