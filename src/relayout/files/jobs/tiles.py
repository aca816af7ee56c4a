"""How a plan between files is cut: into parts for which little is read that they do not need, in few calls.

A part that is a range of the target may need bytes from all over the source, as for a transpose; a tile, which is long
in both, is then read and written in runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...engine.blocks import Block, cut_plan, cutting_digits, interface_of_part, part_at, part_count
from ...engine.cache import Cache
from ...engine.digits import LayoutDigit, alignment_unit
from ...engine.plan import Plan, make_plan
from ...layout.layout import Layout
from .. import tuning
from .memory_budget import MemoryBudget
from .part_sizes import choose_counts
from .runs import Runs


class ReadStep(NamedTuple):
    """A part of a source: where its runs begin, in bytes, how many bytes they have in all, and where they go.

    ``first`` has the coordinates of its first element, counted from those of the part that is made.
    """

    starts: list[int]
    size: int
    plan: Plan
    first: tuple[int, ...]


class PartRecipe(NamedTuple):
    """How a part is made, at whatever place: where its runs in the target begin, in bytes, how many elements they have
    in all, and what they are made of. Where there are several steps, none of them fills.
    """

    starts: list[int]
    places: int
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
        pieces = list(
            _split_source(source, runs.local(target), block.index, self.budget.source, plan.element.element.bits)
        )
        fill = plan.fill if len(pieces) == 1 else None
        return PartRecipe(
            _byte_starts(runs, bits), runs.places, [self._read_step(*piece, block.index, fill) for piece in pieces]
        )

    def _read_step(
        self, source: Layout, target: Layout, index: tuple[int, ...], first: tuple[int, ...], fill: bytes | None
    ) -> ReadStep:
        plan = self.plan
        bits = plan.element.element.bits
        sides = [interface_of_part(x, index, source.extents) for x in (plan.element, plan.dst_element)]
        runs = Runs.of(source, bits)
        copy = make_plan(runs.local(source), target, sides[0], sides[1], fill, plan.threads)
        moved = tuple([n - start for n, start in zip(index, first)])
        return ReadStep(_byte_starts(runs, bits), -(-runs.places * bits // 8), copy, moved)


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
        yield from _split_source(
            source.narrow(dim, start, length), target.narrow(dim, start, length), moved, most, bits
        )
