"""Tiles of one kind: with an image of the source, of the target, or of both."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, permutations
from math import gcd, prod

from .. import tuning
from .extents import Extents
from .geometry import SOURCE, TARGET, DigitKey
from .shared_memory import LINE, VECTOR, WARP, Image, Part, make_image
from .tiles import MAX_SHARED_BYTES, Tile, tiles_until_next
from .turns import Turns
from .work import Work

MAX_ORDERS = 24
"""So many orders of threads are tried at most."""

MAX_IDLE = 1.06
"""So many more turns than there could be are taken for more threads."""


class TileMaker(Extents):
    """Makes tiles whose images have ``shared`` bytes at most."""

    def __init__(self, work: Work, aligned: tuple[int, int], converts: bool, shared: int = MAX_SHARED_BYTES) -> None:
        super().__init__(work, aligned, converts)
        self.shared = shared
        self.vectors = [self.vector(side) for side in (SOURCE, TARGET)]

    @property
    def dense(self) -> bool:
        """Whether the target can have an image: runs without gaps, written from the first position on."""
        whole = self.swizzles[TARGET] is None and self.units[TARGET] == 1
        whole = whole and all(axis.first == 0 for axis in self.work.axes)
        return whole and all(digit.target > 0 for digit in self.digits.values())

    def staged_tile(self, runs: tuple[int, int], tiles: int = 1) -> Tile | None:
        """A tile with images of both sides, which threads go through element by element; as large as so many."""
        found = self.first_with_room((True, True), runs, tuning.ACTIVE.few_tiles, tiles=tiles)
        return None if found is None else found._replace(direct_edges=not found.writes_whole_runs)

    def target_tile(self, runs: tuple[int, int], few: int = 0, tiles: int = 1) -> Tile | None:
        """A tile that reads vectors of the source, and has an image of the target alone."""
        found = self.first_with_room((False, True), runs, few, tiles=tiles)
        return None if found is None else found._replace(direct_edges=not found.writes_whole_runs)

    def first_with_room(
        self,
        images: tuple[bool, bool],
        wanted: tuple[int, int],
        few: int = 0,
        realign: bool = False,
        tiles: int = 1,
    ) -> Tile | None:
        """A tile with these images, with runs as long as they should be or as there is room for.

        Digits of ``few`` tiles at most are counted first. With ``realign`` runs of the target are shifted. It is as
        large as so many ``tiles``.
        """
        side = SOURCE if images == (False, True) else TARGET
        both = images == (True, True)
        micro: dict[DigitKey, list[int]] = {} if both else {key: [size] for key, size in self.vectors[side].items()}
        if images[1 - side] and not both and not self.converts:
            for key, size in self.steps_to_whole_words(1 - side, self.vectors[side], images[TARGET]).items():
                micro.setdefault(key, []).append(size)
        chunk = self.bytes[side] * (1 if both else prod(self.vectors[side].values()))
        whole = {key: prod(sizes) for key, sizes in micro.items()}
        s, t = wanted
        shorter = [(s, t // 2), *[(max(1, s // n), max(1, t // n)) for n in (2, 4, 8, 16, 128)]]
        size = tiles * tuning.ACTIVE.tile_bytes
        for room, most in ((size, size * 3 // 2), (size, self.shared), (size // 2, size)):
            for runs in (wanted, *shorter):
                extents = self.extents(whole, runs, room)
                if prod(extents.values()) * max(self.bytes) <= most:
                    found = self.tile(micro, extents, images, side, chunk, few, realign)
                    if sum([image.size for image in found.images if image]) <= self.shared and not found.has_gaps:
                        return found
        return None

    def tile(
        self,
        micro: dict[DigitKey, list[int]],
        extents: dict[DigitKey, int],
        images: tuple[bool, bool],
        side: int,
        chunk: int,
        few: int,
        realign: bool,
    ) -> Tile:
        small, lanes, grid = list[Part](), list[Part](), list[Part]()
        for key, digit in self.digits.items():
            sizes = micro.get(key, [])
            inner = extents[key] // prod(sizes)
            *own, lane, block = self.parts(key, [*sizes, inner, -(-digit.steps // extents[key])])
            small += own
            lanes += [lane] * (lane.size > 1)
            grid += [block] * (block.size > 1)
        small.sort(key=lambda part: abs(part.step(side)))
        lanes.sort(key=lambda part: abs(part.step(side)))
        made: tuple[Image | None, Image | None] = None, None
        if any(images):
            # Threads that have images on both sides may be in any order.
            both = images == (True, True)
            orders = list(islice(self.all_orders(lanes), MAX_ORDERS)) if both else self.lane_orders(lanes, side, chunk)
            made, lanes = min(
                [(self.make_images(images, small, order, grid, realign), order) for order in orders],
                key=lambda pair: (
                    sum([image.turns(small, pair[1]) for image in pair[0] if image])
                    + (2 if pair[1] and pair[1][0].size * chunk < LINE and not both else 0),
                    sum([image.size for image in pair[0] if image]),
                ),
            )
        chunks = [self.bytes[s] if s != side or images[s] else chunk for s in (SOURCE, TARGET)]
        if not any(images) and self.bytes[SOURCE] == VECTOR:
            chunks = [VECTOR, VECTOR]
        parts = tuple(small), tuple(lanes), tuple(self.order_tiles(grid, few))
        found = Tile(self.work, *parts, made, (chunks[0], chunks[1]), WARP, self.reads_ahead(grid))
        return found._replace(threads=self.threads(found, prod(extents.values()) * max(self.bytes) // VECTOR))

    @staticmethod
    def order_tiles(grid: list[Part], few: int) -> list[Part]:
        """In the order of the target, so that what is written in turn lies together.

        Digits of a ``few`` tiles are first: what is shared by neighbours on either side stays in the cache.
        """
        grid.sort(key=lambda part: (part.size > few, part.target, abs(part.source)))
        return grid

    @staticmethod
    def reads_ahead(grid: list[Part]) -> bool:
        after = tiles_until_next(grid)
        return after is not None and 1 < after <= tuning.ACTIVE.concurrent_tiles

    def threads(self, tile: Tile, vectors: int) -> int:
        """So many that each has two vectors of a tile, or four where much is computed, and as evenly as can be."""
        each = 4 if self.converts or any(axis.masked for axis in self.work.axes) else 2
        most = min(tuning.ACTIVE.max_threads * 2 // each, max(128, -(-vectors // (WARP * each)) * WARP))
        loops = tile.loops()
        counts = range(most, most // 2, -WARP)
        costs = [sum([weight * Turns.of(sizes, n).warps for sizes, weight in loops]) for n in counts]
        return next(n for n, cost in zip(counts, costs) if cost <= MAX_IDLE * min(costs))

    def make_images(
        self, images: tuple[bool, bool], micro: list[Part], lanes: list[Part], grid: list[Part], realign: bool = False
    ) -> tuple[Image | None, Image | None]:
        """The images of a tile whose threads are in this order."""
        sizes = dict.fromkeys(range(len(self.work.axes)), 1)
        for part in (*micro, *lanes, *grid):
            sizes[part.axis] = max(sizes[part.axis], part.place * part.size)
        masked = {k for k, axis in enumerate(self.work.axes) if axis.masked or sizes[k] != axis.last}
        made = []
        for side in (SOURCE, TARGET):
            start = self.starts[side] * self.bytes[side]
            even = gcd(VECTOR, self.aligned[side], start, *[part.step(side) for part in grid])
            made.append(make_image(self.work, side, micro, lanes, even, masked, realign) if images[side] else None)
        return made[0], made[1]

    @staticmethod
    def all_orders(lanes: list[Part]) -> Iterator[list[Part]]:
        """The parts of the threads in all orders, and with a few steps of one before those of another."""
        near = [min(lanes, key=lambda part: abs(part.step(side)) or 1 << 62) for side in (SOURCE, TARGET) if lanes]
        for one, other in ((near[0], near[1]), (near[1], near[0])) if near else ():
            for few in (4, 8, 16):
                if one is not other and one.size % few == 0 and one.size > few:
                    inner, outer = one.split(few)
                    yield [inner, other, outer, *[part for part in lanes if part is not one and part is not other]]
        yield from [list(order) for order in permutations(lanes)]

    def lane_orders(self, lanes: list[Part], side: int, chunk: int) -> list[list[Part]]:
        """The parts of the threads: some along a line of the vectors' side first, then all along the image's words."""
        if not lanes:
            return [lanes]
        first = lanes[0]
        word = min(lanes, key=lambda part: abs(part.step(1 - side)) or 1 << 62)
        if word is first:
            return [lanes]
        found = []
        rest = [part for part in lanes if part is not first and part is not word]
        for near in range(first.size, 0, -1):
            if first.size % near == 0 and LINE // 2 <= near * chunk <= 2 * LINE:
                inner, outer = first.split(near)
                found.append([inner, word, *[outer] * (outer.size > 1), *rest])
        return found or [[first, word, *rest]]
