"""Sums of multiples fed through the digits of a layout: when is the result again a sum of digits?

With the weights ``w`` of A's digits, ``A(y) = d0 * y + sum(e_i * floor(y / w_i))`` where ``e_i`` is what a carry into
digit i changes. So ``A(sum(c_j * b_j))`` is a sum of one function per ``c_j`` exactly when the carries that several of
them cause *together* add up to nothing; and each of these functions is a layout when its own carries come in nested
periods.
"""

from __future__ import annotations

from itertools import product as cartesian
from math import gcd
from typing import Any

from .errors import LimitExceeded, NotExpressible, OutOfBounds
from .inttuple import flatten, product, unflatten
from .layout import Layout
from .modes import digit_sum

Leaf = tuple[int, Any]

BUDGET = 1 << 16
"""How many elements a composition may look at when carries cross and only a search can tell."""


def extended(a: Layout) -> tuple[list[int], list[Any]]:
    """A's digits, coalesced, with the last one unbounded: sizes of all but the last, and all strides."""
    sizes: list[int] = []
    strides: list[Any] = []
    leaves = flatten(a.shape)
    last = len(leaves) - 1
    for k, (s, d) in enumerate(zip(leaves, flatten(a.stride), strict=True)):
        if s == 1 and k < last:
            continue
        if strides and strides[-1] * sizes[-1] == d:
            sizes[-1] *= s
        else:
            sizes.append(s)
            strides.append(d)
    if not strides:
        return [], [0]
    sizes[-1] = 0
    return sizes, strides


def composed(
    sizes: list[int], strides: list[Any], leaves: list[Leaf], start: int, operands: tuple[Any, Any]
) -> list[list[Leaf]]:
    """For each leaf ``(n, b)`` of B the digits of its part, so that ``A(start + sum(c*b)) - A(start)`` is their sum."""
    if any(n == 0 for n, _ in leaves):
        return [[(n, 0)] for n, _ in leaves]
    if product(operands[0].shape) == 0:
        raise OutOfBounds(
            f"{operands[0]} is empty, so nothing can be composed with it.",
            hint="an empty layout has no values",
            a=operands[0],
            b=operands[1],
        )
    if start < 0 or any(b < 0 for _, b in leaves):
        return _with_negative_strides(sizes, strides, leaves, start, operands)
    parts: list[list[Leaf] | None] = [_divided(sizes, strides, n, b) for n, b in leaves]
    alone = len(leaves) == 1 and not start
    if None in parts or not (alone or _carries_stay_apart(sizes, leaves, start)):
        return _searched(sizes, strides, leaves, start, parts, operands)
    return parts  # type: ignore[return-value]


def _with_negative_strides(
    sizes: list[int], strides: list[Any], leaves: list[Leaf], start: int, operands: tuple[Any, Any]
) -> list[list[Leaf]]:
    """Leaves that count down are turned round: the digits of the reversed leaf with negated strides."""
    low = start + sum((n - 1) * b for n, b in leaves if b < 0)
    if low < 0:
        raise OutOfBounds(
            f"{operands[1]} reaches {low}, and {operands[0]} has no values below 0.",
            hint="give the inner layout an offset, as flip does",
            a=operands[0],
            b=operands[1],
        )
    parts = composed(sizes, strides, [(n, abs(b)) for n, b in leaves], low, operands)
    return [[(n, -d) for n, d in part] if b < 0 else part for part, (_, b) in zip(parts, leaves, strict=True)]


def _divided(sizes: list[int], strides: list[Any], n: int, b: int) -> list[Leaf] | None:
    """The digits of ``x -> A(x * b)`` for ``x < n`` where sizes and ``b`` divide each other, else None."""
    if n == 1:
        return [(1, 0)]
    if b == 0:
        return [(n, 0)]
    found: list[Leaf] = []
    for k in range(len(sizes) - 1):
        s = sizes[k]
        if b >= s:
            if b % s:
                return None
            b //= s
            continue
        if (n - 1) * b < s:
            found.append((n, b * strides[k]))
            return found
        count, remainder = divmod(s, b)
        if remainder or n % count:
            return None
        found.append((count, b * strides[k]))
        n //= count
        b = 1
        if n == 1:
            return found
    found.append((n, b * strides[-1]))
    return found


def _carries_stay_apart(sizes: list[int], leaves: list[Leaf], start: int) -> bool:
    """Whether at every level the leaves' largest remainders add up to less than the level: no carry between leaves."""
    weight = 1
    for s in sizes[:-1]:
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


def _searched(
    sizes: list[int],
    strides: list[Any],
    leaves: list[Leaf],
    start: int,
    parts: list[list[Leaf] | None],
    operands: tuple[Any, Any],
) -> list[list[Leaf]]:
    """The same answer by a bounded search: tables leaf by leaf, then every combination of carries."""
    found: list[list[Leaf]] = []
    for k, ((n, b), part) in enumerate(zip(leaves, parts, strict=True)):
        if part is None or not _carries_stay_apart(sizes, [(n, b)], start):
            part = _leaf_digits(sizes, strides, n, b, start, k, leaves, operands)
        found.append(part)
    _prove_sum(sizes, strides, leaves, start, operands)
    return found


def _leaf_digits(
    sizes: list[int],
    strides: list[Any],
    n: int,
    b: int,
    start: int,
    k: int,
    leaves: list[Leaf],
    operands: tuple[Any, Any],
) -> list[Leaf]:
    first = digit_sum(sizes, strides, start)
    sequence = [digit_sum(sizes, strides, start + x * b) - first for x in range(min(n, BUDGET))]
    digits, broken = hierarchy(sequence, n)
    if broken is not None:
        x, expected = broken
        coordinate = tuple([x if j == k else 0 for j in range(len(leaves))])
        raise _refusal(operands, coordinate, first + sequence[x], first + expected)
    if n > BUDGET:
        raise _undecided(operands, n)
    return digits


def hierarchy(sequence: list[Any], length: int) -> tuple[list[Leaf], tuple[int, Any] | None]:
    """The digits of the layout whose values are ``sequence`` (the start of ``length`` values, the first being 0).

    With them None, or the first position that no layout allows and the value that it would need there.
    """
    digits: list[Leaf] = []
    weight = 1
    while len(sequence) > 1:
        step = sequence[1]
        run = 2
        while run < len(sequence) and sequence[run] == run * step:
            run += 1
        if run == len(sequence):
            digits.append((length, step))
            return digits, None
        if length % run:
            return digits, (run * weight, run * step)
        for x, got in enumerate(sequence):
            expected = sequence[x - x % run] + x % run * step
            if got != expected:
                return digits, (x * weight, expected)
        digits.append((run, step))
        sequence = sequence[::run]
        length //= run
        weight *= run
    return digits or [(1, 0)], None


def _prove_sum(sizes: list[int], strides: list[Any], leaves: list[Leaf], start: int, operands: tuple[Any, Any]) -> None:
    """Raise unless the leaves' own functions add up to the composition everywhere.

    Only levels where carries can meet matter, and there a leaf acts through its remainders, which repeat.
    """
    weight, top = 1, 0
    for s in sizes[:-1]:
        weight *= s
        if start % weight + sum(min((n - 1) * b, weight - gcd(b, weight)) for n, b in leaves) >= weight:
            top = weight
    if not top:
        return
    ranges = [range(min(n, top // gcd(b, top))) for n, b in leaves]
    count = 1
    for r in ranges:
        count *= len(r)
    if count > BUDGET:
        _probe(sizes, strides, leaves, start, ranges, operands)
        raise _undecided(operands, count)
    first = digit_sum(sizes, strides, start)
    tables = [
        [digit_sum(sizes, strides, start + x * b) - first for x in r] for (_, b), r in zip(leaves, ranges, strict=True)
    ]
    for c in cartesian(*ranges):
        value = digit_sum(sizes, strides, start + sum(x * b for x, (_, b) in zip(c, leaves, strict=True)))
        expected = first + sum((t[x] for t, x in zip(tables, c, strict=True)), 0)
        if value != expected:
            raise _refusal(operands, c, value, expected)


def _probe(
    sizes: list[int], strides: list[Any], leaves: list[Leaf], start: int, ranges: list[range], operands: tuple[Any, Any]
) -> None:
    """Raise if one of a few telling coordinates already shows that no layout is the composition."""
    first = digit_sum(sizes, strides, start)
    corners = [sorted({0, 1, len(r) // 2, len(r) - 1} & set(r)) for r in ranges]
    for c in list(cartesian(*corners))[:BUDGET] if len(corners) <= 8 else []:
        value = digit_sum(sizes, strides, start + sum(x * b for x, (_, b) in zip(c, leaves, strict=True)))
        expected = first + sum(
            (digit_sum(sizes, strides, start + x * b) - first for x, (_, b) in zip(c, leaves, strict=True)), 0
        )
        if value != expected:
            raise _refusal(operands, c, value, expected)


def _refusal(operands: tuple[Any, Any], digits: tuple[int, ...], value: Any, expected: Any) -> NotExpressible:
    a, b = operands
    coordinate = digits
    if isinstance(b, Layout):
        coordinate = unflatten(iter(digits), b.shape)
    return NotExpressible(
        f"no layout is the composition of {a} with {b}: at {coordinate} the composition gives {value + a.offset}, "
        f"but a layout that agrees everywhere before would give {expected + a.offset}.",
        hint="ComposedLayout(A, B) is the exact function; or choose sizes that divide",
        operation="composition",
        a=a,
        b=b,
        coordinate=coordinate,
        value=value + a.offset,
        expected=expected + a.offset,
        counterexample=(coordinate, value + a.offset, expected + a.offset),
    )


def _undecided(operands: tuple[Any, Any], count: int) -> LimitExceeded:
    a, b = operands
    return LimitExceeded(
        f"whether a layout is {a} after {b} is undecided: {count} combinations are over the budget of {BUDGET}.",
        hint="ComposedLayout(A, B) is the exact function; or choose sizes that divide",
        limit=BUDGET,
        a=a,
        b=b,
    )
