"""Bounded integer equations: which digits ``x`` give ``sum(x[i] * strides[i]) == target``?

Preimages, injectivity and disjointness of layouts are all this one question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd

from ..errors import LimitExceeded

NODE_BUDGET = 1 << 18
"""How many search nodes an exact question may visit before it is left undecided."""


def solutions(
    sizes: Sequence[int], strides: Sequence[int], target: int, *, question: str, budget: int = NODE_BUDGET
) -> Iterator[tuple[int, ...]]:
    """Every ``x`` with ``0 <= x[i] < sizes[i]`` whose weighted sum is ``target``, each once.

    Sums and common divisors of the strides that remain prune the search: layouts whose strides grow past
    the span of the smaller ones are answered without any branching.
    """
    if any(n <= 0 for n in sizes):
        return
    order = sorted(range(len(sizes)), key=lambda i: -abs(strides[i]))
    count = len(order)
    n = [sizes[i] for i in order]
    d = [abs(strides[i]) for i in order]
    flipped = [strides[i] < 0 for i in order]
    reach = [0] * (count + 1)
    common = [0] * (count + 1)
    for k in range(count - 1, -1, -1):
        reach[k] = reach[k + 1] + (n[k] - 1) * d[k]
        common[k] = gcd(common[k + 1], d[k])
    start = target + sum((n[k] - 1) * d[k] for k in range(count) if flipped[k])
    if not 0 <= start <= reach[0] or (start % common[0] if common[0] else start):
        return
    digits = [0] * count
    rests = [start] + [0] * count
    open_choices: list[Iterator[int]] = []
    for _ in range(budget):
        depth = len(open_choices)
        if depth == count:
            x = [0] * count
            for j, i in enumerate(order):
                x[i] = n[j] - 1 - digits[j] if flipped[j] else digits[j]
            yield tuple(x)
        else:
            open_choices.append(iter(_digits(n[depth], d[depth], rests[depth], reach[depth + 1], common[depth + 1])))
        while open_choices:
            k = len(open_choices) - 1
            digit = next(open_choices[k], None)
            if digit is not None:
                digits[k] = digit
                rests[k + 1] = rests[k] - digit * d[k]
                break
            open_choices.pop()
        else:
            return
    raise LimitExceeded(
        f"{question} is undecided after {budget} search steps.",
        hint="too many combinations of its digits come near; simplify the layout",
        limit=budget,
    )


def _digits(n: int, d: int, rest: int, reach: int, common: int) -> range:
    """The digits of one place that leave a remainder the smaller places can still reach."""
    if d == 0:
        return range(n)
    low = max(0, -(-(rest - reach) // d))
    high = min(n - 1, rest // d)
    if common == 0:
        return range(low, high + 1)
    shared = gcd(d, common)
    step = common // shared
    if step == 1:
        return range(low, high + 1)
    first = (rest // shared) * pow(d // shared, -1, step) % step
    return range(low + (first - low) % step, high + 1, step)
