"""The search: the best layout of each family for all accesses together, and what was looked at to say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from .candidates import (
    KINDS,
    TileCandidate,
    aligned,
    are_combined,
    bare,
    orders,
    pad_tile,
    paddings,
    swizzle_tile,
    swizzles,
    to_powers,
)
from .demand import Alike, Classes, Demand, widest_vectors
from .xor_search import MatrixSearch, swizzle_chain


class Choice(NamedTuple):
    """A candidate with the wavefronts of each access, and their weighted sum."""

    cost: int
    bytes: int
    candidate: TileCandidate
    wavefronts: tuple[int, ...]

    @property
    def rank(self) -> tuple[int, ...]:
        """Fewest wavefronts, then fewest bytes, then the least to say, then the simplest family."""
        return self.cost, self.bytes, self.candidate.parts, KINDS.index(self.candidate.kind)


class OrderedTile(NamedTuple):
    """A tile that swizzles and matrices move, with the classes of the instructions of each access."""

    order: tuple[int, ...]
    candidate: TileCandidate
    classes: list[Classes]


@dataclass(slots=True)
class Search:
    """What all accesses cost in every layout of four families; ``best`` has the cheapest choice of each.

    ``tried`` counts the layouts of each family that were looked at, ``total`` those that there are; a family is left
    when a layout of it costs no more than ``least``, which no layout is below, in as few bytes as any of the rest.
    """

    shape: tuple[int, ...]
    bits: int
    demands: Sequence[Demand]
    budget: int | None
    best: dict[str, Choice] = field(default_factory=dict)
    tried: dict[str, int] = field(default_factory=dict)
    total: dict[str, int] = field(default_factory=dict)
    least: int = 0
    """What no layout is below."""
    shorter: int = 0
    """The swizzles that break runs as long as the widest vector, some of which leave those of the accesses whole."""
    nodes: int = 0
    """The columns of XOR matrices that were chosen; 0 where no matrix was looked for."""
    every_padding: bool = True
    """Whether paddings of several dimensions were combined."""
    exhausted: bool = True
    """Whether every XOR matrix was looked at or ruled out."""
    _alike: list[Alike] = field(default_factory=list)

    @property
    def vector(self) -> int:
        """The elements that stay together, aligned: those of the widest access."""
        return max(8 * demand.access.bytes // self.bits for demand in self.demands)

    @property
    def turn(self) -> int:
        """The elements of one turn through all banks."""
        return max(1, 8 * self.demands[0].arch.wavefront_bytes // self.bits)

    @property
    def choice(self) -> Choice | None:
        """The best of all."""
        return min(self.best.values(), key=lambda found: found.rank, default=None)

    def run(self) -> Search:
        vectors = widest_vectors(self.demands, prod(self.shape))
        self._alike = [demand.alike(self.shape) for demand in self.demands]
        self.least = sum(demand.weight * demand.least(vectors) for demand in self.demands)
        chosen = orders(self.shape)
        self.total["none"] = len(chosen)
        for order in chosen:
            self._try(bare(self.shape, order))
        tiles = self._tiles([(order, aligned(self.shape, order, self.vector)) for order in chosen])
        self._try_swizzles(tiles)
        self._try_paddings([tile.order for tile in tiles])
        if not self._is_best("none", "swizzle"):
            self._try_matrices(tiles)
        if not self._is_best(*KINDS):
            wider = self._tiles([(order, to_powers(self.shape, order)) for order in chosen])
            wider = [tile for tile in wider if tile.candidate.elements > prod(self.shape)]
            self._try_swizzles(wider)
            self._try_matrices(wider)
        if not self._is_best(*KINDS):
            self._try_shorter_swizzles(tiles)
        return self

    def _is_best(self, *kinds: str) -> bool:
        """Whether a layout of these kinds reaches the bound."""
        return any(self.best[kind].cost == self.least for kind in kinds if kind in self.best)

    def _tiles(self, chosen: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> list[OrderedTile]:
        """The tiles, given by orders and paddings, that fit the budget and keep every vector whole; smallest first."""
        found = []
        for order, pads in chosen:
            tile = pad_tile(self.shape, order, pads)
            if self._affords(tile.elements) and all(d.addresses(tile.offsets) is not None for d in self.demands):
                found.append(OrderedTile(order, tile, [demand.classes(tile.offsets) for demand in self.demands]))
        return sorted(found, key=lambda tile: tile.candidate.elements)

    def _try_swizzles(self, tiles: Sequence[OrderedTile]) -> None:
        low, high = self.vector.bit_length() - 1, self.turn.bit_length() - 1
        chosen = [(*tile[1:], swizzle) for tile in tiles for swizzle in swizzles(tile.candidate, low, high)]
        self.total["swizzle"] = self.total.get("swizzle", 0) + len(chosen)
        for tile, classes, swizzle in chosen:
            self.tried["swizzle"] = self.tried.get("swizzle", 0) + 1
            counts = [demand.class_wavefronts(rows, [swizzle]) for demand, rows in zip(self.demands, classes)]
            found = self._keep(swizzle_tile(tile, [swizzle]), counts)
            if found is not None and found.cost == self.least and found.candidate.elements == tile.elements:
                return

    def _try_shorter_swizzles(self, tiles: Sequence[OrderedTile]) -> None:
        """Those that change bits inside of runs as long as the widest vector, where no access takes such a run."""
        named = [8 * d.access.bytes // self.bits for d in self.demands if d.elements.shape[-1] == 1]
        low, high = max([1, *named]).bit_length() - 1, self.turn.bit_length() - 1
        for _, tile, _ in tiles:
            for swizzle in swizzles(tile, low, high):
                if 1 << swizzle.base >= self.vector:
                    continue
                self.shorter += 1
                counts = [demand.wavefronts(swizzle(tile.offsets)) for demand in self.demands]
                known = [count for count in counts if count is not None]
                if len(known) == len(counts):
                    self._keep(swizzle_tile(tile, [swizzle]), known)

    def _try_paddings(self, chosen: Sequence[tuple[int, ...]]) -> None:
        found = [
            (padding, order)
            for order in chosen
            for padding in paddings(self.shape, order, self.vector, self.turn)
            if self._affords(padding.room)
        ]
        self.every_padding = are_combined(self.shape, self.vector, self.turn)
        self.total["padding"] = len(found)
        for padding, order in sorted(found, key=lambda one: one[0].room):
            choice = self._try(pad_tile(self.shape, order, padding.pads))
            if choice is not None and choice.cost == self.least:
                return

    def _try_matrices(self, tiles: Sequence[OrderedTile]) -> None:
        arch = self.demands[0].arch
        high = arch.banks.bit_length() - 1
        widest = max(demand.access.bytes for demand in self.demands)
        low = max(0, (widest // arch.bank_bytes).bit_length() - 1)
        scale = (8 * arch.bank_bytes).bit_length() - self.bits.bit_length()
        for _, tile, classes in tiles:
            wanted = []
            for demand, rows in zip(self.demands, classes):
                wanted += [(words, demand.weight * count) for words, count in demand.patterns(rows)]
            size = tile.bytes(self.bits)
            bound = min(found.cost + (found.bytes > size) for found in self.best.values())
            search = MatrixSearch(wanted, low, high, bound).run()
            self.nodes += search.nodes
            adds_up = all(demand.adds_up(rows) for demand, rows in zip(self.demands, classes))
            self.exhausted &= search.exhausted and adds_up
            if search.columns is not None:
                chain = swizzle_chain(search.columns, high, scale)
                counts = [demand.class_wavefronts(rows, chain) for demand, rows in zip(self.demands, classes)]
                found = self._keep(swizzle_tile(tile, chain), counts)
                # One that needs no more room than the tile may be left behind it.
                self.exhausted &= found is not None and found.candidate.elements == tile.elements
            if search.best == self.least:
                return

    def _affords(self, elements: int) -> bool:
        return self.budget is None or -(-elements * self.bits // 8) <= self.budget

    def _try(self, candidate: TileCandidate) -> Choice | None:
        """What the candidate costs, kept if it is the best of its kind; None if it breaks a vector or the budget."""
        self.tried[candidate.kind] = self.tried.get(candidate.kind, 0) + 1
        counts = [demand.wavefronts(candidate.offsets, alike) for demand, alike in zip(self.demands, self._alike)]
        known = [count for count in counts if count is not None]
        return self._keep(candidate, known) if len(known) == len(counts) else None

    def _keep(self, candidate: TileCandidate, counts: Sequence[int]) -> Choice | None:
        """The candidate as a choice, kept if it is the best of its kind; None if it breaks the budget."""
        if not self._affords(candidate.elements):
            return None
        cost = sum(demand.weight * count for demand, count in zip(self.demands, counts))
        found = Choice(cost, candidate.bytes(self.bits), candidate, tuple(counts))
        known = self.best.get(candidate.kind)
        if known is None or found.rank < known.rank:
            self.best[candidate.kind] = found
        return found
