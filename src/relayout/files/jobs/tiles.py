"""How a plan between files is cut: into parts for which little is read that they do not need, in few calls.

A part that is a range of the target may need bytes from all over the source, as for a transpose; a tile, which is long
in both, is then read and written in runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...engine.blocks import Block, cut_plan, cutting_digits, interface_of_part, part_at, part_count
from ...engine.cache import Cache
from ...engine.digits import LayoutDigit, alignment_unit
from ...engine.places import element_range
from ...engine.plan import Plan, make_plan
from ...layout.layout import Layout
from .. import tuning
from .memory_budget import MemoryBudget
from .part_sizes import choose_counts
from .runs import Runs

SPLIT_LOSS = 1 / 16
"""A source is read in smaller steps where all of them take at most so much longer."""


class ReadStep(NamedTuple):
    """A part of a source: where its runs begin, in bytes, how many bytes they have in all, and where they go by a plan:
    from byte ``place`` of the part on.

    ``first`` has the coordinates of its first element, counted from those of the part that is made.
    """

    starts: list[int]
    size: int
    plan: Plan
    place: int
    first: tuple[int, ...]


class PartRecipe(NamedTuple):
    """How a part is made, at whatever place: where its runs in the target begin, in bytes, how many elements they have
    in all, what they are filled with before, and what they are made of.
    """

    starts: list[int]
    places: int
    fill: bytes | None
    steps: list[ReadStep]


class Tiling:
    """The parts of a plan, with ``counts`` values of its digits each; ``finest`` is the least step between runs."""

    def __init__(
        self, plan: Plan, budget: MemoryBudget, cuts: Sequence[LayoutDigit], counts: Sequence[int], finest: int
    ) -> None:
        self.plan, self.budget, self.cuts, self.counts, self.finest = plan, budget, cuts, counts, finest
        self._recipes: Cache[PartRecipe] = Cache(tuning.ACTIVE.cached_recipes)

    def __iter__(self) -> Iterator[Block]:
        return cut_plan(self.plan, self.cuts, self.counts)

    @property
    def number(self) -> int:
        """How many parts there are, those that hold nothing included."""
        return part_count(self.cuts, self.counts)

    def part(self, number: int) -> Block | None:
        """A part by its number; None if it holds nothing."""
        return part_at(self.plan, self.cuts, self.counts, number)

    def recipe(self, block: Block) -> tuple[PartRecipe, int, int]:
        """How a part is made, and which bytes of the source and of the target its runs are counted from."""
        plan = self.plan
        bits, to_bits = plan.element.element.bits, plan.dst_element.element.bits
        source, shift = _move_to_front(block.source, bits)
        target, to_shift = _move_to_front(block.target, to_bits)
        index = () if plan.element.axis is plan.dst_element.axis is None else block.index
        key = source, target, index
        found = self._recipes.get(key)
        if found is None:
            found = self._recipes.keep(key, self._build_recipe(source, target, block))
        return found, shift, to_shift

    def _build_recipe(self, source: Layout, target: Layout, block: Block) -> PartRecipe:
        plan = self.plan
        bits = plan.dst_element.element.bits
        low, high = block.target_range
        runs = Runs(low - block.target.offset + target.offset, high - low)
        if self.finest:
            runs = Runs.of(target.box, bits, 0, self.finest)
        fill = None if runs.places == target.size else plan.fill
        most = self.budget.source
        step = most if self.finest or fill is not None else min(most, tuning.ACTIVE.step_bytes)
        pieces = list(_split_source(source, runs.local(target), block.index, most, step, plan.element.element.bits))
        before = fill if len(pieces) > 1 else None
        alike: dict[tuple[Any, ...], Plan] = {}
        steps = [self._read_step(*piece, block.index, None if before else fill, alike) for piece in pieces]
        return PartRecipe(_byte_starts(runs, bits), runs.places, before, steps)

    def _read_step(
        self,
        source: Layout,
        target: Layout,
        index: tuple[int, ...],
        first: tuple[int, ...],
        fill: bytes | None,
        alike: dict[tuple[Any, ...], Plan],
    ) -> ReadStep:
        """A step that reads a part; steps that move their elements alike, at other places, have one plan."""
        plan = self.plan
        bits, to_bits = plan.element.element.bits, plan.dst_element.element.bits
        before, after = [interface_of_part(x, index, source.extents) for x in (plan.element, plan.dst_element)]
        runs = Runs.of(source, bits)
        place = element_range(target)[0] if fill is None else 0
        place -= place % alignment_unit(target, to_bits)
        local, target = runs.local(source), target.with_offset(target.offset - place)
        key = local, target, before, after
        if key not in alike:
            alike[key] = make_plan(local, target, before, after, fill, plan.threads)
        moved = tuple([n - start for n, start in zip(index, first)])
        size = -(-runs.places * bits // 8)
        return ReadStep(_byte_starts(runs, bits), size, alike[key], place * to_bits // 8, moved)


def tile_plans(plans: Sequence[Plan], budget: MemoryBudget) -> list[Tiling]:
    """Tilings of several plans of one target, which have equal parts."""
    cuts, reaches = cutting_digits(plans[0])
    counts, finest = choose_counts(plans, cuts, reaches, budget)
    return [Tiling(plan, budget, cuts, counts, finest) for plan in plans]


def _move_to_front(layout: Layout, bits: int) -> tuple[Layout, int]:
    """The layout moved to the front, and by how many bytes."""
    front = layout.offset % alignment_unit(layout, bits)
    return layout.with_offset(front), (layout.offset - front) * bits // 8


def _byte_starts(runs: Runs, bits: int) -> list[int]:
    return [(runs.low + start) * bits // 8 for start in runs.starts()]


def _split_source(
    source: Layout, target: Layout, index: tuple[int, ...], most: int, step: int, bits: int
) -> Iterator[tuple[Layout, Layout, tuple[int, ...]]]:
    """The elements of two layouts, in parts for each of which at most ``most`` bytes of the source are read, and
    ``step`` where that takes no more calls and bytes.

    With each goes the index of its first element; ``index`` is that of the whole.
    """
    whole = Runs.of(source, bits)
    if whole.places * bits <= 8 * step or source.size == 1:
        yield source, target, index
        return
    # Powers of two keep blocks whole.
    halves = [(d, 1 << ((n - 1).bit_length() - 1)) for d, n in enumerate(source.extents) if n > 1]
    costs = [Runs.of(source.narrow(d, 0, n), bits).read_cost(bits) for d, n in halves]
    cost, (dim, half) = min(zip(costs, halves))
    share = half / source.extents[dim]
    if whole.places * bits <= 8 * most and cost > (1 + SPLIT_LOSS) * share * whole.read_cost(bits):
        yield source, target, index
        return
    for start, length in ((0, half), (half, source.extents[dim] - half)):
        moved = tuple([at + start * (d == dim) for d, at in enumerate(index)])
        yield from _split_source(
            source.narrow(dim, start, length), target.narrow(dim, start, length), moved, most, step, bits
        )
