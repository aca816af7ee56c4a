"""A nest of loops in no language: its axes, its loops, and the tile that the last two of them turn."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from .operands import OperandDigit
from .values import ONE, Monomial


class NestAxis(NamedTuple):
    """A dimension, or several that both operands run through as one: what it is called, and its size."""

    name: str
    title: str
    extent: Monomial


class NestLevel(NamedTuple):
    """One loop: ``steps`` at most, each of so many coordinates of its axis, and of elements on both sides.

    With ``clamped`` it ends where the axis ends. From ``low`` on, coordinates are in the window: with ``raised`` the
    loop starts there. ``source`` is None where the source's place is computed from the coordinate.
    """

    axis: int
    name: str
    place: Monomial
    steps: Monomial
    source: Monomial | None
    target: Monomial
    clamped: bool
    raised: bool
    slowness: tuple[int, int, int]


class LoopAxis(NamedTuple):
    """An axis with the window of positions that its loops count through, and the source's digits where they are cut
    elsewhere: of the position plus ``shift``.
    """

    axis: NestAxis
    low: int
    high: Monomial
    split: tuple[OperandDigit, ...] | None = None
    shift: int = 0


class NestTile(NamedTuple):
    """What the last two loops are where they turn a tile: ``columns`` neighbours in the source, of ``rows`` places
    that are neighbours in the target. Along axes that are ``overlapping`` the last tile starts early enough to be
    whole, and moves some elements once more.
    """

    rows: int
    columns: int
    overlapping: frozenset[int]
    whole: tuple[bool, bool]
    """Whether a tile is one run of the source, and of the target."""


class LoopNest(NamedTuple):
    """The loops, the slowest first, the axes they run through, and where both sides start."""

    axes: tuple[LoopAxis, ...]
    levels: tuple[NestLevel, ...]
    source: tuple[Monomial, ...]
    target: tuple[Monomial, ...]
    empty: bool
    tile: NestTile | None = None

    def around(self, k: int) -> list[NestLevel]:
        """The loops of the same axis around loop ``k``."""
        return [level for level in self.levels[:k] if level.axis == self.levels[k].axis]

    def inside(self, k: int) -> list[NestLevel]:
        """The loops of the same axis inside loop ``k``."""
        return [level for level in self.levels[k + 1 :] if level.axis == self.levels[k].axis]

    @property
    def run(self) -> bool:
        """Whether the last loop is a run of neighbours on both sides, one at least."""
        if not self.levels or (self.levels[-1].source, self.levels[-1].target) != (ONE, ONE):
            return False
        own = [level.place for level in self.levels if level.axis == self.levels[-1].axis]
        return all(inner.divides(outer) for outer, inner in pairwise(own))
