"""Sums of multiples fed through the digits of a layout: when is the result again a sum of digits?

With the weights ``w`` of A's digits, ``A(y) = d0 * y + sum(e_i * floor(y / w_i))`` where ``e_i`` is what a carry into
digit i changes. So ``A(sum(c_j * b_j))`` is a sum of one function per ``c_j`` exactly when the carries that several of
them cause *together* add up to nothing; and each of these functions is a layout when its own carries come in nested
periods.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, islice
from itertools import product as cartesian
from math import gcd
from operator import mul
from typing import Any, NamedTuple

from ..errors import LimitExceeded, NotExpressible, OutOfBounds
from ..integers.nested import flatten, product, unflatten
from .layout import Layout
from .modes import coalesced, open_sum

Leaf = tuple[int, Any]

BUDGET = 1 << 16
"""How many elements a composition may look at when carries cross and only a search can tell."""


def extended(a: Layout) -> tuple[list[int], list[Any]]:
    """A's digits, coalesced, the last one without a size because it runs on: one size less than strides."""
    leaves, steps = flatten(a.shape), flatten(a.stride)
    if not leaves:
        return [], [0]
    sizes, strides = coalesced(leaves[:-1], steps[:-1])
    if sizes and sizes[-1] * strides[-1] == steps[-1]:
        sizes.pop()
    else:
        strides.append(steps[-1])
    return sizes, strides


class _Sum(NamedTuple):
    """``A(start + sum(c_j * b_j))`` for leaves ``(n_j, b_j)``: A by its open-ended digits, every ``b_j`` at least 0.

    ``operands`` and ``reversed_`` (the leaves that were turned round) serve the error messages only.
    """

    sizes: list[int]
    strides: list[Any]
    leaves: list[Leaf]
    start: int
    operands: tuple[Any, Any]
    reversed_: list[bool]

    def at(self, y: int) -> Any:
        return open_sum(self.sizes, self.strides, y)

    def weights(self) -> list[int]:
        return list(accumulate(self.sizes, mul))


def composed(
    sizes: list[int], strides: list[Any], leaves: list[Leaf], start: int, operands: tuple[Any, Any]
) -> list[list[Leaf]]:
    """For each leaf ``(n, b)`` of B the digits of its part, so that ``A(start + sum(c*b)) - A(start)`` is their sum."""
    parts: list[list[Leaf] | None] = []
    simple = start >= 0
    for n, b in leaves:
        part = _divided(sizes, strides, n, b) if b >= 0 else None
        if part is None:
            simple = False
        parts.append(part)
    if simple and ((not start and len(leaves) == 1) or _carries_stay_apart(sizes, leaves, start)):
        return parts  # type: ignore[return-value]
    if any(n == 0 for n, _ in leaves):
        return [[(n, 0)] for n, _ in leaves]
    downward = [b < 0 for _, b in leaves]
    lowest = start + sum((n - 1) * b for n, b in leaves if b < 0)
    if lowest < 0:
        raise OutOfBounds(
            f"{operands[1]} reaches {lowest}, and {operands[0]} has no values below 0.",
            hint="give the inner layout an offset, as flip does",
            a=operands[0],
            b=operands[1],
        )
    upward = [(n, abs(b)) for n, b in leaves]
    found = _searched(_Sum(sizes, strides, upward, lowest, operands, downward))
    return [[(n, -d) for n, d in part] if down else part for part, down in zip(found, downward)]


def _divided(sizes: list[int], strides: list[Any], n: int, b: int) -> list[Leaf] | None:
    """The digits of ``x -> A(x * b)`` for ``x < n`` where sizes and ``b`` divide each other, else None."""
    if n == 1:
        return [(1, 0)]
    if b == 0:
        return [(n, 0)]
    found: list[Leaf] = []
    for s, d in zip(sizes, strides):
        if b >= s:
            if b % s:
                return None
            b //= s
            continue
        if (n - 1) * b < s:
            found.append((n, b * d))
            return found
        count, remainder = divmod(s, b)
        if remainder or n % count:
            return None
        found.append((count, b * d))
        n //= count
        b = 1
        if n == 1:
            return found
    found.append((n, b * strides[-1]))
    return found


def _carries_stay_apart(sizes: list[int], leaves: list[Leaf], start: int) -> bool:
    """Whether at every level the leaves' largest remainders add up to less than the level: no carry between leaves."""
    weight = 1
    for s in sizes:
        weight *= s
        total = start % weight
        for n, b in leaves:
            span = (n - 1) * b
            if span < weight:
                total += span
            elif b % weight:
                total += weight - gcd(b, weight)
        if total >= weight:
            return False
    return True


def _searched(question: _Sum) -> list[list[Leaf]]:
    """The same answer where sizes do not divide or carries may meet: leaf by leaf, then all leaves together."""
    found: list[list[Leaf]] = []
    for k, (n, b) in enumerate(question.leaves):
        part = _divided(question.sizes, question.strides, n, b)
        if part is None or not _carries_stay_apart(question.sizes, [(n, b)], question.start):
            part, broken = _leaf_digits(question, n, b)
            if broken is not None:
                digits = [broken[0] if j == k else 0 for j in range(len(question.leaves))]
                raise _refusal(question, digits, broken[1], "even steps give")
            if part is None:
                raise _undecided(question, n)
        found.append(part)
    _prove_sum(question)
    return found


def _leaf_digits(question: _Sum, n: int, b: int) -> tuple[list[Leaf] | None, tuple[int, Any] | None]:
    """The digits of ``x -> A(start + x * b)``, ``x < n``; or an ``x`` that rules them out and the value needed there.

    Short leaves are tabulated. For long ones each level tells where its carries first change the step: there the first
    digit ends, and every later run must be as long. Both None when the changes of several levels cancel.
    """
    start, at = question.start, question.at
    first = at(start)
    if n <= BUDGET:
        digits, broken = hierarchy([at(start + x * b) - first for x in range(n)])
        return digits, None if broken is None else (broken[0], first + broken[1])
    found: list[Leaf] = []
    weight = 1
    while n > 1:
        step = at(start + b) - first
        levels = [_Level(w, start % w, b % w) for w in question.weights() if b % w]
        run = min([level.run for level in levels], default=n)
        if run >= n:
            return [*found, (n, step)], None
        if at(start + run * b) == first + run * step:
            return None, None
        if n % run:
            return None, (run * weight, first + run * step)
        irregular = [x for level in levels if (x := level.irregular(run, n)) is not None]
        if irregular:
            x = min(irregular)
            expected = at(start + (x - x % run) * b) + x % run * step
            return None, None if at(start + x * b) == expected else (x * weight, expected)
        found.append((run, step))
        n, b, weight = n // run, b * run, weight * run
    return found, None


class _Level(NamedTuple):
    """Multiples of ``advance`` from ``remainder`` on, modulo ``weight``: each wrap-around is a carry."""

    weight: int
    remainder: int
    advance: int

    @property
    def carries_at_once(self) -> bool:
        return self.remainder + self.advance >= self.weight

    @property
    def run(self) -> int:
        """The number of elements before the step first changes."""
        return self._steps(self.remainder) + 1

    def _steps(self, remainder: int) -> int:
        """How many steps from ``remainder`` on are like the very first one."""
        gap = self.weight - self.advance
        if self.carries_at_once:
            return remainder // gap
        return max(0, -(-(gap - remainder) // self.advance))

    def irregular(self, run: int, n: int) -> int | None:
        """The first element below ``n`` that a shorter run than ``run`` brings out of step."""
        gap = self.weight - self.advance
        low, high = (
            (0, (run - 1) * gap - 1) if self.carries_at_once else (gap - (run - 2) * self.advance, self.weight - 1)
        )
        if low > high:
            return None
        q = first_hit(self.remainder, self.advance * run, self.weight, low, high)
        if q is None or q * run >= n:
            return None
        x = q * run + self._steps((self.remainder + q * run * self.advance) % self.weight) + 1
        return x if x < n else None


def hierarchy(sequence: list[Any]) -> tuple[list[Leaf], tuple[int, Any] | None]:
    """The digits of the layout whose values are ``sequence``, the first being 0.

    With them None, or the first position that no layout allows and the value that it would need there.
    """
    digits: list[Leaf] = []
    weight = 1
    while len(sequence) > 1:
        step = sequence[1]
        run = 2
        while run < len(sequence) and sequence[run] == run * step:
            run += 1
        if len(sequence) % run:
            return digits, (run * weight, run * step)
        for x, got in enumerate(sequence):
            expected = sequence[x - x % run] + x % run * step
            if got != expected:
                return digits, (x * weight, expected)
        digits.append((run, step))
        sequence = sequence[::run]
        weight *= run
    return digits or [(1, 0)], None


def _prove_sum(question: _Sum) -> None:
    """Raise unless the leaves' own functions add up to the composition everywhere.

    Only levels where carries meet matter, and there a leaf acts through its remainders, which repeat.
    """
    top = 0
    for w in question.weights():
        if question.start % w + sum(max_remainder(n, b, w) for n, b in question.leaves) >= w:
            top = w
    if not top:
        return
    counts = [min(n, top // gcd(b, top)) for n, b in question.leaves]
    total = product(tuple(counts))
    if total > BUDGET:
        telling = cartesian(*[sorted({0, min(1, n - 1), n // 2, n - 1}) for n in counts])
        _check_sums(question, islice(telling, BUDGET))
        raise _undecided(question, total)
    _check_sums(question, cartesian(*[range(n) for n in counts]))


def _check_sums(question: _Sum, coordinates: Iterable[tuple[int, ...]]) -> None:
    """Raise if the composition at one of the coordinates is not the sum of the leaves' own functions."""
    start, at = question.start, question.at
    first = at(start)
    tables: list[dict[int, Any]] = [{} for _ in question.leaves]
    for c in coordinates:
        y, expected = start, first
        for x, (_, b), table in zip(c, question.leaves, tables, strict=True):
            y += x * b
            if x not in table:
                table[x] = at(start + x * b) - first
            expected += table[x]
        if at(y) != expected:
            raise _refusal(question, c, expected, "its modes add up to")


def max_remainder(n: int, b: int, weight: int) -> int:
    """The largest ``x * b % weight`` for ``x < n``."""
    if (n - 1) * b < weight:
        return (n - 1) * b
    if n >= weight // gcd(b, weight):
        return weight - gcd(b, weight)
    low, high = 0, weight - 1
    while low < high:
        middle = (low + high + 1) // 2
        hit = first_hit(0, b, weight, middle, weight - 1)
        if hit is not None and hit < n:
            low = middle
        else:
            high = middle - 1
    return low


def first_hit(start: int, advance: int, modulus: int, low: int, high: int) -> int | None:
    """The smallest ``x >= 0`` with ``low <= (start + x * advance) % modulus <= high``, by Euclid's algorithm."""
    low, high = (low - start) % modulus, (high - start) % modulus
    return 0 if low > high else _first_multiple(advance % modulus, modulus, low, high)


def _first_multiple(advance: int, modulus: int, low: int, high: int) -> int | None:
    if low == 0:
        return 0
    if advance == 0:
        return None
    if 2 * advance > modulus:
        return _first_multiple(modulus - advance, modulus, modulus - high, modulus - low)
    x = -(-low // advance)
    if x * advance <= high:
        return x
    wraps = _first_multiple(modulus % advance, advance, -high % advance, -low % advance)
    return None if wraps is None else -(-(low + modulus * wraps) // advance)


def _refusal(question: _Sum, digits: Sequence[int], expected: Any, but: str) -> NotExpressible:
    a, b = question.operands
    value = question.at(question.start + sum(x * d for x, (_, d) in zip(digits, question.leaves)))
    forward = [n - 1 - x if r else x for x, (n, _), r in zip(digits, question.leaves, question.reversed_)]
    coordinate: Any = tuple(forward)
    if isinstance(b, Layout):
        coordinate = unflatten(iter(forward), b.shape)
        inner = extended_value(a.with_swizzle(None), b(coordinate))
        if not isinstance(inner, tuple):
            value, expected = inner, inner + expected - value
        if a.swizzle is not None:
            value, expected = a.swizzle(value), a.swizzle(expected)
    return NotExpressible(
        f"no layout is {a} after {b}: at {coordinate} the composition is {value}, but {but} {expected}.",
        hint="ComposedLayout(A, B) is the exact function; or choose sizes that divide",
        operation="composition",
        a=a,
        b=b,
        coordinate=coordinate,
        value=value,
        expected=expected,
        counterexample=(coordinate, value, expected),
    )


def extended_value(outer: Any, y: Any) -> Any:
    """The value of ``outer`` at ``y``; an integer past a plain layout's size runs on in its last mode."""
    if isinstance(outer, Layout) and not outer.windowed and y.__class__ is int and y >= outer.size > 0:
        inner = outer.offset + open_sum(*extended(outer), y)
        return inner if outer.swizzle is None else outer.swizzle(inner)
    return outer(y)


def _undecided(question: _Sum, count: int) -> LimitExceeded:
    a, b = question.operands
    return LimitExceeded(
        f"whether a layout is {a} after {b} is undecided: {count} combinations are over the budget of {BUDGET}.",
        hint="ComposedLayout(A, B) is the exact function; or choose sizes that divide",
        limit=BUDGET,
        a=a,
        b=b,
    )
