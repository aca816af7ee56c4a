"""How a plan between files is cut: into parts for which little is read that they do not need, in few calls.

A part that is a range of the target may need bytes from all over the source, as for a transpose; a tile, which is long
in both, is then read and written in runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...engine.blocks import Block, Digit, cuts_of, in_order, part, part_of, parts, unit_of
from ...engine.plan import Plan, make_plan
from ...layout.layout import Layout
from .. import tuning
from .memory_budget import MemoryBudget
from .runs import Runs


class Step(NamedTuple):
    """A part of a source: where its runs begin, in bytes, how many bytes they have in all, and where they go.

    ``first`` has the coordinates of its first element, counted from those of the part that is made.
    """

    starts: list[int]
    size: int
    plan: Plan
    first: tuple[int, ...]


class Recipe(NamedTuple):
    """How a part is made, at whatever place: where its runs in the target begin, in bytes, how many elements they have
    in all, and what they are made of. Where there are several steps, none of them fills.
    """

    starts: list[int]
    places: int
    steps: list[Step]


class Tiling:
    """The parts of a plan, with ``counts`` values of its digits each; ``finest`` is the least step between runs."""

    def __init__(
        self, plan: Plan, budget: MemoryBudget, cuts: Sequence[Digit], counts: Sequence[int], finest: int
    ) -> None:
        self.plan, self.budget, self.cuts, self.counts, self.finest = plan, budget, cuts, counts, finest
        self._recipes: dict[tuple[Layout, Layout, tuple[int, ...]], Recipe] = {}

    def __iter__(self) -> Iterator[Block]:
        return parts(self.plan, self.cuts, self.counts)

    def recipe(self, block: Block) -> tuple[Recipe, int, int]:
        """How a part is made, and which bytes of the source and of the target its runs are counted from."""
        plan = self.plan
        bits, to_bits = plan.element.element.bits, plan.dst_element.element.bits
        source, shift = _moved(block.source, bits)
        target, to_shift = _moved(block.target, to_bits)
        index = () if plan.element.axis is plan.dst_element.axis is None else block.index
        key = source, target, index
        found = self._recipes.get(key)
        if found is None:
            if len(self._recipes) >= tuning.ACTIVE.cached_recipes:
                self._recipes.clear()
            found = self._recipes[key] = self._made(source, target, block)
        return found, shift, to_shift

    def _made(self, source: Layout, target: Layout, block: Block) -> Recipe:
        plan = self.plan
        bits = plan.dst_element.element.bits
        low, high = block.target_range
        runs = Runs(low - block.target.offset + target.offset, high - low)
        if self.finest:
            runs = Runs.of(target.box, bits, 0, self.finest)
        pieces = list(_pieces(source, runs.local(target), block.index, self.budget.source, plan.element.element.bits))
        fill = plan.fill if len(pieces) == 1 else None
        return Recipe(_bytes(runs, bits), runs.places, [self._step(*piece, block.index, fill) for piece in pieces])

    def _step(
        self, source: Layout, target: Layout, index: tuple[int, ...], first: tuple[int, ...], fill: bytes | None
    ) -> Step:
        plan = self.plan
        bits = plan.element.element.bits
        means = part_of(plan.element, index, source.extents), part_of(plan.dst_element, index, source.extents)
        runs = Runs.of(source, bits)
        made = make_plan(runs.local(source), target, *means, fill, plan.threads)
        moved = tuple([n - start for n, start in zip(index, first)])
        return Step(_bytes(runs, bits), -(-runs.places * bits // 8), made, moved)


def tilings(plans: Sequence[Plan], budget: MemoryBudget) -> list[Tiling]:
    """The same parts for several plans of one target."""
    cuts, reaches = cuts_of(plans[0])
    counts, finest = _counts(plans, cuts, reaches, budget)
    return [Tiling(plan, budget, cuts, counts, finest) for plan in plans]


def _moved(layout: Layout, bits: int) -> tuple[Layout, int]:
    """The layout moved to the front, and by how many bytes."""
    front = layout.offset % unit_of(layout, bits)
    return layout.with_offset(front), (layout.offset - front) * bits // 8


def _bytes(runs: Runs, bits: int) -> list[int]:
    return [(runs.low + start) * bits // 8 for start in runs.starts()]


# ---- how large the parts are -----------------------------------------------------------------------------


class _Cost(NamedTuple):
    """Of one part: bytes of the target, the most that are read of a source, and the time by that of its bytes."""

    size: int
    read: int
    factor: float

    def fits(self, budget: MemoryBudget) -> bool:
        return self.size <= budget.target and self.read <= budget.source


def _counts(
    plans: Sequence[Plan], cuts: Sequence[Digit], reaches: Sequence[int], budget: MemoryBudget
) -> tuple[list[int], int]:
    """How many values of each digit a part has, and the least step between runs: 0 where a part is a range."""
    bits = plans[0].dst_element.element.bits
    size = min(tuning.ACTIVE.part_bytes, budget.target)
    counts = in_order(cuts, reaches, size * 8 // bits)
    if (
        all(n >= digit.size for digit, n in zip(cuts, counts))
        or _cost(plans, cuts, counts, 0).factor <= tuning.ACTIVE.acceptable_cost
    ):
        return counts, 0
    if bits % 8 == 0 and plans[0].target.swizzle is None and all(digit.stride > 0 for digit in cuts):
        tile = _tile(plans, cuts, budget)
        if tile is not None:
            return tile, cuts[-1].stride
    while size < budget.target and _cost(plans, cuts, counts, 0).factor > tuning.ACTIVE.acceptable_cost:
        size = min(2 * size, budget.target)
        counts = in_order(cuts, reaches, size * 8 // bits)
    return counts, 0


def _tile(plans: Sequence[Plan], cuts: Sequence[Digit], budget: MemoryBudget) -> list[int] | None:
    """A part that grows along the digits that make it cheaper, as long as that pays; None if none fits the budget.

    A part that is too small for its calls is first made larger anyhow.
    """
    counts = [1] * len(cuts)
    cost = _cost(plans, cuts, counts, cuts[-1].stride)
    if not cost.fits(budget):
        return None
    while True:
        grown = [_grown(cuts, counts, k) for k in reversed(range(len(cuts)))]
        options = [(_cost(plans, cuts, option, cuts[-1].stride), option) for option in grown if option is not None]
        fitting = [found for found in options if found[0].fits(budget)]
        if not fitting:
            return counts
        best, option = min(fitting, key=lambda found: found[0].factor)
        if cost.size >= tuning.ACTIVE.part_bytes and best.factor > tuning.ACTIVE.min_gain * cost.factor:
            return counts
        cost, counts = best, option


def _grown(cuts: Sequence[Digit], counts: Sequence[int], k: int) -> list[int] | None:
    """Twice as many values of one digit, if all lower ones of its dimension are whole."""
    dim, place, size, _ = cuts[k]
    below = [n < cut.size for cut, n in zip(cuts, counts) if cut.dim == dim and cut.place < place]
    if counts[k] >= size or any(below):
        return None
    return [min(2 * n, size) if j == k else n for j, n in enumerate(counts)]


def _cost(plans: Sequence[Plan], cuts: Sequence[Digit], counts: Sequence[int], finest: int) -> _Cost:
    """Of the part with the first element."""
    ranges = []
    for digit, count in zip(cuts, counts):
        if count < digit.size:
            at = plans[0].target.origin[digit.dim] // digit.place % digit.size // count * count
            ranges.append((digit, at, min(count, digit.size - at)))
    found = [part(plan, ranges) for plan in plans]
    bits = plans[0].dst_element.element.bits
    low, high = found[0].target_range
    runs = Runs.of(found[0].target.box, bits, 0, finest) if finest else Runs(low, high - low)
    size = needed = -(-runs.places * bits // 8)
    time, most = size + tuning.ACTIVE.write_call_bytes * runs.number, 0
    for block, plan in zip(found, plans):
        bits = plan.element.element.bits
        runs = Runs.of(block.source, bits)
        read = runs.places * bits // 8
        needed += block.source.size * bits // 8
        time, most = time + read + tuning.ACTIVE.read_call_bytes * runs.number, max(most, read)
    return _Cost(size, most, time / max(needed, 1))


def _pieces(
    source: Layout, target: Layout, index: tuple[int, ...], most: int, bits: int
) -> Iterator[tuple[Layout, Layout, tuple[int, ...]]]:
    """The elements of two layouts, in parts for each of which at most so many bytes of the source are read.

    With each goes the index of its first element; ``index`` is that of the whole.
    """
    if Runs.of(source, bits).places * bits <= 8 * most or source.size == 1:
        yield source, target, index
        return
    # Powers of two keep blocks whole.
    halves = [(d, 1 << ((n - 1).bit_length() - 1)) for d, n in enumerate(source.extents) if n > 1]
    dim, half = min(halves, key=lambda cut: Runs.of(source.narrow(cut[0], 0, cut[1]), bits).places)
    for start, length in ((0, half), (half, source.extents[dim] - half)):
        moved = tuple([at + start * (d == dim) for d, at in enumerate(index)])
        yield from _pieces(source.narrow(dim, start, length), target.narrow(dim, start, length), moved, most, bits)
