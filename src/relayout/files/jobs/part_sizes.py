"""How large the parts of a plan between files are: so large that calls to the system do not count, and no larger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...engine.blocks import consecutive_counts, make_part
from ...engine.digits import LayoutDigit
from ...engine.plan import Plan
from .. import tuning
from .memory_budget import MemoryBudget
from .runs import Runs

LINE = 64
"""So many elements are whole cache lines, whatever their size."""


class PartCost(NamedTuple):
    """Of one part: the bytes of the target, the most bytes that are read of a source, and how many times as long as
    moving its bytes it takes.
    """

    size: int
    read: int
    factor: float

    def fits(self, budget: MemoryBudget) -> bool:
        return self.size <= budget.target and self.read <= budget.source


def choose_counts(
    plans: Sequence[Plan], cuts: Sequence[LayoutDigit], reaches: Sequence[int], budget: MemoryBudget
) -> tuple[list[int], int]:
    """How many values of each digit a part has, and the least step between runs: 0 where a part is a range."""
    bits = plans[0].dst_element.element.bits
    size = min(tuning.ACTIVE.part_bytes, budget.target)
    counts = consecutive_counts(cuts, reaches, size * 8 // bits)
    if (
        all(n >= digit.size for digit, n in zip(cuts, counts))
        or _part_cost(plans, cuts, counts, 0).factor <= tuning.ACTIVE.acceptable_cost
    ):
        return counts, 0
    if bits % 8 == 0 and plans[0].target.swizzle is None and all(digit.stride > 0 for digit in cuts):
        tile = _grow_tile(plans, cuts, budget)
        if tile is not None:
            return tile, cuts[-1].stride
    while size < budget.target and _part_cost(plans, cuts, counts, 0).factor > tuning.ACTIVE.acceptable_cost:
        size = min(2 * size, budget.target)
        counts = consecutive_counts(cuts, reaches, size * 8 // bits)
    return counts, 0


def _grow_tile(plans: Sequence[Plan], cuts: Sequence[LayoutDigit], budget: MemoryBudget) -> list[int] | None:
    """A part that grows along the digits that make it cheaper, as long as that pays; None if none fits the budget.

    A part that is too small for its calls is first made larger anyhow. In the end it may become smaller along one digit
    for being larger along another.
    """
    target = plans[0].target.storage_size * plans[0].dst_element.element.bits // 8
    most = max(target // tuning.ACTIVE.min_tiles, tuning.ACTIVE.part_bytes)
    budget = budget._replace(target=min(budget.target, most))
    counts = [1] * len(cuts)
    cost = _part_cost(plans, cuts, counts, cuts[-1].stride)
    if not cost.fits(budget):
        return None
    while True:
        found = _cheapest(plans, cuts, budget, [_double(cuts, counts, k) for k in reversed(range(len(cuts)))])
        if found is None or (
            cost.size >= tuning.ACTIVE.part_bytes and found[0].factor > tuning.ACTIVE.min_gain * cost.factor
        ):
            break
        cost, counts = found
    while True:
        traded = [
            _double(cuts, smaller, k)
            for j in range(len(cuts))
            for smaller in [_halve(cuts, counts, j)]
            for k in range(len(cuts))
            if smaller is not None and j != k
        ]
        found = _cheapest(plans, cuts, budget, traded)
        if found is None or found[0].factor >= cost.factor:
            return counts
        cost, counts = found


def _cheapest(
    plans: Sequence[Plan], cuts: Sequence[LayoutDigit], budget: MemoryBudget, options: list[list[int] | None]
) -> tuple[PartCost, list[int]] | None:
    """The cheapest of these parts that fits, with its cost."""
    costs = [(_part_cost(plans, cuts, option, cuts[-1].stride), option) for option in options if option is not None]
    return min([found for found in costs if found[0].fits(budget)], key=lambda found: found[0].factor, default=None)


def _double(cuts: Sequence[LayoutDigit], counts: Sequence[int], k: int) -> list[int] | None:
    """Half as many parts along one digit, or fewer, if all lower ones of its dimension are whole."""
    dim, _, place, size, _ = cuts[k]
    below = [n < cut.size for cut, n in zip(cuts, counts) if cut.dim == dim and cut.place < place]
    if counts[k] >= size or any(below):
        return None
    parts = -(-size // counts[k])
    return _with_parts(cuts, counts, k, range((parts + 1) // 2, 0, -1))


def _halve(cuts: Sequence[LayoutDigit], counts: Sequence[int], k: int) -> list[int] | None:
    """Twice as many parts along one digit, or more, if there is one value of all higher ones of its dimension."""
    dim, _, place, size, _ = cuts[k]
    above = [n > 1 for cut, n in zip(cuts, counts) if cut.dim == dim and cut.place > place]
    if counts[k] == 1 or any(above):
        return None
    return _with_parts(cuts, counts, k, range(min(2 * -(-size // counts[k]), size), size + 1))


def _with_parts(cuts: Sequence[LayoutDigit], counts: Sequence[int], k: int, numbers: Iterable[int]) -> list[int]:
    """The first of these numbers of parts along one digit that makes them about as large as one another.

    Those with many values have whole cache lines of them.
    """
    size = cuts[k].size
    each = next(n for n in (-(-size // parts) for parts in numbers) if 4 * (-size % n) <= size)
    each = min(-(-each // LINE) * LINE, size) if each >= LINE * LINE // 4 else each
    return [each if j == k else n for j, n in enumerate(counts)]


def _part_cost(plans: Sequence[Plan], cuts: Sequence[LayoutDigit], counts: Sequence[int], finest: int) -> PartCost:
    """The cost of the part with the first element; of tiles, more where others are smaller, and as many are read."""
    ranges = []
    uneven = 1.0
    for digit, count in zip(cuts, counts):
        if count < digit.size:
            at = plans[0].target.origin[digit.dim] // digit.place % digit.size // count * count
            ranges.append((digit, at, min(count, digit.size - at)))
            uneven *= 1 + (-digit.size % count) / digit.size if finest else 1
    found = [make_part(plan, ranges) for plan in plans]
    bits = plans[0].dst_element.element.bits
    low, high = found[0].target_range
    runs = Runs.of(found[0].target.box, bits, 0, finest) if finest else Runs(low, high - low)
    size = needed = -(-runs.places * bits // 8)
    time, most = size + tuning.ACTIVE.write_call_bytes * runs.number, 0
    for block, plan in zip(found, plans):
        bits = plan.element.element.bits
        runs = Runs.of(block.source, bits)
        needed += block.source.size * bits // 8
        time, most = time + runs.read_cost(bits), max(most, runs.places * bits // 8)
    return PartCost(size, most, uneven * time / max(needed, 1))
