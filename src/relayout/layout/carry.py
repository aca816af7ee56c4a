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
from typing import Any

from ..integers.nested import product
from ..integers.residues import first_hit, max_remainder
from .modes import open_sum

Leaf = tuple[int, Any]

BUDGET = 1 << 16
"""How many elements a composition may look at when carries cross and only a search can tell."""


class NoDigits(Exception):
    """Why a sum has no digits; the caller, who knows the operands, turns this into an error to read."""


class BelowZero(NoDigits):
    """The sum reaches ``lowest``, and digits have no values below 0."""

    def __init__(self, lowest: int) -> None:
        self.lowest = lowest


class Carried(NoDigits):
    """At ``coordinate``, one entry per leaf, the sum is ``value``, but ``reason`` ``expected``."""

    def __init__(self, coordinate: list[int], value: Any, expected: Any, reason: str) -> None:
        self.coordinate, self.value, self.expected, self.reason = coordinate, value, expected, reason


class Undecided(NoDigits):
    """Only a look at ``count`` combinations, more than ``limit``, could tell."""

    def __init__(self, count: int, limit: int) -> None:
        self.count, self.limit = count, limit


class _Sum:
    """``A(start + sum(c_j * b_j))`` for leaves ``(n_j, b_j)``: A by its open-ended digits, every ``b_j`` at least 0.

    ``downward`` are the leaves that were turned round for it; a refusal turns their coordinates back.
    """

    __slots__ = ("downward", "leaves", "sizes", "start", "strides")

    def __init__(
        self, sizes: list[int], strides: list[Any], leaves: list[Leaf], start: int, downward: list[bool]
    ) -> None:
        self.sizes, self.strides, self.leaves, self.start, self.downward = sizes, strides, leaves, start, downward

    def at(self, y: int) -> Any:
        return open_sum(self.sizes, self.strides, y)

    def weights(self) -> list[int]:
        return list(accumulate(self.sizes, mul))

    def refusal(self, coordinate: Sequence[int], expected: Any, reason: str) -> Carried:
        value = self.at(self.start + sum(x * b for x, (_, b) in zip(coordinate, self.leaves)))
        given = [n - 1 - x if down else x for x, (n, _), down in zip(coordinate, self.leaves, self.downward)]
        return Carried(given, value, expected, reason)

    def leaf_refusal(self, k: int, x: int, expected: Any) -> Carried:
        """The refusal at ``x`` along leaf ``k`` alone, where even steps would give ``expected``."""
        return self.refusal([x if j == k else 0 for j in range(len(self.leaves))], expected, "even steps give")


def compose_digits(sizes: list[int], strides: list[Any], leaves: list[Leaf], start: int) -> list[list[Leaf]]:
    """For each leaf ``(n, b)`` the digits of its part, so that ``A(start + sum(c * b)) - A(start)`` is their sum.

    A is given by its digits, the last one without a size: one size less than strides. ``NoDigits`` where none serve.
    """
    parts: list[list[Leaf] | None] = []
    simple = start >= 0
    for n, b in leaves:
        part = _divide_digits(sizes, strides, n, b) if b >= 0 else None
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
        raise BelowZero(lowest)
    upward = [(n, abs(b)) for n, b in leaves]
    digits = _search_digits(_Sum(sizes, strides, upward, lowest, downward))
    return [[(n, -d) for n, d in part] if down else part for part, down in zip(digits, downward)]


def _divide_digits(sizes: list[int], strides: list[Any], n: int, b: int) -> list[Leaf] | None:
    """The digits of ``x -> A(x * b)`` for ``x < n`` where sizes and ``b`` divide each other, else None."""
    if n == 1:
        return [(1, 0)]
    if b == 0:
        return [(n, 0)]
    digits: list[Leaf] = []
    for s, d in zip(sizes, strides):
        if b >= s:
            if b % s:
                return None
            b //= s
            continue
        if (n - 1) * b < s:
            digits.append((n, b * d))
            return digits
        count, remainder = divmod(s, b)
        if remainder or n % count:
            return None
        digits.append((count, b * d))
        n //= count
        b = 1
        if n == 1:
            return digits
    digits.append((n, b * strides[-1]))
    return digits


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


def _search_digits(question: _Sum) -> list[list[Leaf]]:
    """The digits of each leaf's part where sizes do not divide or carries may meet: leaf by leaf, then all together."""
    parts: list[list[Leaf]] = []
    for k, (n, b) in enumerate(question.leaves):
        part = _divide_digits(question.sizes, question.strides, n, b)
        if part is None or not _carries_stay_apart(question.sizes, [(n, b)], question.start):
            part = _tabulate_leaf(question, k) if n <= BUDGET else _jump_along_leaf(question, k)
        parts.append(part)
    _prove_sum(question)
    return parts


def _tabulate_leaf(question: _Sum, k: int) -> list[Leaf]:
    """The digits of ``x -> A(start + x * b)`` for the leaf ``(n, b)`` at ``k``, read off all of its values."""
    n, b = question.leaves[k]
    first = question.at(question.start)
    values = [question.at(question.start + x * b) - first for x in range(n)]
    digits: list[Leaf] = []
    weight = 1
    while len(values) > 1:
        step = values[1]
        run = 2
        while run < len(values) and values[run] == run * step:
            run += 1
        if len(values) % run:
            raise question.leaf_refusal(k, run * weight, first + run * step)
        for x, value in enumerate(values):
            expected = values[x - x % run] + x % run * step
            if value != expected:
                raise question.leaf_refusal(k, x * weight, first + expected)
        digits.append((run, step))
        values = values[::run]
        weight *= run
    return digits or [(1, 0)]


def _jump_along_leaf(question: _Sum, k: int) -> list[Leaf]:
    """The digits of ``x -> A(start + x * b)`` for the long leaf ``(n, b)`` at ``k``, from where each level carries.

    Where carries first change the step the first digit ends, and every later run must be as long. What the carries of
    several levels change may cancel: then this stays undecided.
    """
    start, at = question.start, question.at
    first = at(start)
    n, b = question.leaves[k]
    undecided = Undecided(n, BUDGET)
    digits: list[Leaf] = []
    weight = 1
    while n > 1:
        step = at(start + b) - first
        levels = [_Level(w, start % w, b % w) for w in question.weights() if b % w]
        run = min([level.run for level in levels], default=n)
        if run >= n:
            return [*digits, (n, step)]
        if at(start + run * b) == first + run * step:
            raise undecided
        if n % run:
            raise question.leaf_refusal(k, run * weight, first + run * step)
        irregular = [x for level in levels if (x := level.irregular(run, n)) is not None]
        if irregular:
            x = min(irregular)
            expected = at(start + (x - x % run) * b) + x % run * step
            raise undecided if at(start + x * b) == expected else question.leaf_refusal(k, x * weight, expected)
        digits.append((run, step))
        n, b, weight = n // run, b * run, weight * run
    return digits


class _Level:
    """Multiples of ``advance`` from ``remainder`` on, modulo ``weight``: each wrap-around is a carry."""

    __slots__ = ("advance", "remainder", "weight")

    def __init__(self, weight: int, remainder: int, advance: int) -> None:
        self.weight, self.remainder, self.advance = weight, remainder, advance

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
        raise Undecided(total, BUDGET)
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
            raise question.refusal(c, expected, "its modes add up to")
