"""Whether two shardings put every element on the same devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..errors import LimitExceeded, ShapeError
from ..integers.nested import product
from .digits import Deal, Runs, place_in
from .sharding import Sharding

SEARCHED_SIZES = 1 << 10
"""Without a shape, sizes up to this are searched for one at which two shardings differ."""


class ShardingComparison(NamedTuple):
    """True where both are the same; otherwise a ``device`` that does not hold the same, and an element that shows it.

    ``coordinate`` is the first element that only one of the two gives that device; ``only`` says which: ``first`` or
    ``second``. ``shape`` is that of both, or while they have none the one that shows it. A local array has its elements
    in the order of the tensor, so what holds the same elements has them at the same places.
    """

    a: Sharding
    b: Sharding
    shape: tuple[int, ...] | None = None
    device: int | None = None
    coordinate: tuple[int, ...] | None = None
    only: str = ""

    def __bool__(self) -> bool:
        return self.device is None

    def __str__(self) -> str:
        unknown = self.a.shape is None and self.b.shape is None
        if self:
            return "the same sharding" + (" for every shape" if unknown else "")
        where = f"for the shape {self.shape}: " if unknown else ""
        if self.coordinate is None:
            return f"{where}different: device {self.device} is only in the {self.only} mesh"
        return f"{where}different: device {self.device} holds {self.coordinate} only in the {self.only}"

    def _repr_html_(self) -> str:
        from ..drawing.notebook_tables import verdict_html

        return verdict_html(self)


def compare_shardings(a: Sharding, b: Sharding) -> ShardingComparison:
    """Both for the shape that one of them has; without any for every shape."""
    shape = a.shape if a.shape is not None else b.shape
    if a.shape is not None and b.shape is not None and a.shape != b.shape:
        raise ShapeError(f"{a.shape} and {b.shape} are not one tensor's.", hint="give both one shape", a=a, b=b)
    if _same_digits(a, b):
        return ShardingComparison(a, b, shape)
    if shape is not None:
        return _compare_at(a, b, shape)
    for candidate in _telling_shapes(a, b):
        verdict = _compare_at(a, b, candidate)
        if not verdict:
            return verdict
    raise LimitExceeded(
        f"{a} and {b} agree for every shape that was tried, and are not known to for all.",
        hint="pass shape=(...)",
        a=a,
        b=b,
    )


def _devices(a: Sharding, b: Sharding) -> tuple[int, ...]:
    return a.mesh.devices or b.mesh.devices or (0,)


def _same_digits(a: Sharding, b: Sharding) -> bool:
    """Whether the digits are the same, dimension by dimension, and every device has the same values of them."""
    if {*_devices(a, b)} != {*_devices(b, a)}:
        return False
    rank = max(len(a.dims), len(b.dims))
    rules = {a.uneven, b.uneven}
    even = "refuse" in rules
    one, other = [[_pattern(s, d, even) for d in range(rank)] for s in (a, b)]
    if one != other:
        return False
    if (
        not even
        and len(rules) > 1
        and "chunk" in rules
        and any(len(p) > 2 or p[-1:] not in ((), (("kept", 0),)) for p in one)
    ):
        return False
    return all(_values(a, device, rank, even) == _values(b, device, rank, even) for device in _devices(a, b))


def _pattern(s: Sharding, d: int, even: bool) -> tuple[tuple[str, int], ...]:
    """The digits of a dimension without the names of axes; neighbours that are dealt, or kept, are one.

    Not so where every piece is split by itself, unless all sizes are ``even``: then the order of splits shows.
    """
    found: list[tuple[str, int]] = []
    for deal in _digits(s, d):
        kind = "kept" if deal.axis is None else "dealt"
        if found and found[-1][0] == kind and found[-1][1] and deal.size and (even or s.uneven != "chunk"):
            found[-1] = (kind, found[-1][1] * deal.size)
        else:
            found.append((kind, deal.size))
    return tuple(found) if any(kind == "dealt" for kind, _ in found) else ()


def _digits(s: Sharding, d: int) -> Sequence[Deal]:
    return [deal for deal in (s.dims[d] if d < len(s.dims) else ()) if deal.size != 1]


def _values(s: Sharding, device: int, rank: int, even: bool) -> list[tuple[int, ...]]:
    """Which part of each dimension a device has: one number for each run of dealt digits."""
    found = []
    dealt = s.dealt(device)
    for d in range(rank):
        numbers: list[int] = []
        given = iter(dealt[d] if d < len(dealt) else ())
        follows = False
        for deal in s.dims[d] if d < len(s.dims) else ():
            value = next(given) if deal.axis is not None else 0
            if deal.size == 1:
                continue
            if deal.axis is not None and follows and (even or s.uneven != "chunk"):
                numbers[-1] = numbers[-1] * deal.size + value
            elif deal.axis is not None:
                numbers.append(value)
            follows = deal.axis is not None
        found.append(tuple(numbers))
    return found


def _compare_at(a: Sharding, b: Sharding, shape: tuple[int, ...]) -> ShardingComparison:
    one, other = a.at(shape), b.at(shape)
    for s, t, only in ((one, other, "first"), (other, one, "second")):
        missing = {*(s.mesh.devices or ())} - {*_devices(t, s)}
        if missing:
            return ShardingComparison(a, b, shape, min(missing), only=only)
    for device in sorted(_devices(a, b)):
        held = one.runs(device), other.runs(device)
        if held[0] != held[1] and any(all(runs) for runs in held):
            return _difference(a, b, shape, device, *held)
    return ShardingComparison(a, b, shape)


def _difference(
    a: Sharding, b: Sharding, shape: tuple[int, ...], device: int, one: list[Runs], other: list[Runs]
) -> ShardingComparison:
    """The first element that only one of two lists of ranges has, or that they have at different places."""
    for mine, others, only in ((one, other, "first"), (other, one, "second")):
        first = tuple([runs[0][0] for runs in mine if runs])
        for d in range(len(shape) if all(mine) else 0):
            lacking = _first_outside(mine[d], others[d])
            if lacking is not None:
                return ShardingComparison(a, b, shape, device, (*first[:d], lacking, *first[d + 1 :]), only)
    raise LimitExceeded("two parts differ in no element.", hint="report this", a=a, b=b)


def _first_outside(runs: Runs, others: Runs) -> int | None:
    """The first coordinate of ``runs`` that is in none of ``others``."""
    for start, stop in runs:
        c = start
        while c < stop:
            if place_in(others, c) is None:
                return c
            c = next(end for begin, end in others if begin <= c < end)
    return None


def _telling_shapes(a: Sharding, b: Sharding) -> Iterator[tuple[int, ...]]:
    """Shapes of which one dimension runs through small sizes, and the others are as large as no device has none."""
    rank = max(len(a.dims), len(b.dims), 1)
    whole = [product(tuple([deal.size for s in (a, b) for deal in _digits(s, d) if deal.size])) for d in range(rank)]
    yield tuple(whole)
    for d in range(rank):
        step = whole[d] if "refuse" in (a.uneven, b.uneven) else 1
        for n in range(step, min(4 * whole[d], SEARCHED_SIZES) + 1, step):
            yield (*whole[:d], n, *whole[d + 1 :])
