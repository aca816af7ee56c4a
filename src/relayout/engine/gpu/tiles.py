"""Tiles: how a kernel cuts its work among blocks and threads, and which side of it goes through shared memory.

A tile has whole runs of both sides, so that every line of memory is read and written at once. A thread moves a *micro*
tile: vectors of the one side, as many as make whole words of the other. Where a vector of one side is single elements
of the other, that other side is kept as an *image* in shared memory, which goes to or comes from memory run by run.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from ...immutable import NamedTuple
from .. import tuning
from .extents import Extents
from .geometry import SOURCE, TARGET, DigitKey
from .shared_memory import LINE, VECTOR, WARP, Image, Part, make_image
from .work import Work

MAX_WASTE = 0.25
"""More positions of a digit than that are not read for nothing, where its steps do not fill the last vector."""

MAX_SHARED_BYTES = 48 << 10
"""No tile, and no image, has more: a block has so much shared memory without asking."""


class Tile(NamedTuple):
    """The parts of a kernel: micro tiles of the threads, fastest first, and tiles of the blocks, fastest first.

    ``chunks`` are the bytes that are moved at once on each side that has no image. With ``ahead`` the rest of a pair of
    lines is read by a tile that runs soon after, and is fetched along with the first. With ``direct_edges`` tiles that
    are not written as a whole go to memory element by element. The chunks of a ``shifted_source`` begin anywhere.
    """

    work: Work
    micro: tuple[Part, ...]
    lanes: tuple[Part, ...]
    grid: tuple[Part, ...]
    images: tuple[Image | None, Image | None]
    chunks: tuple[int, int]
    threads: int
    ahead: bool
    direct_edges: bool = False
    shifted_source: bool = False


def tile(work: Work, aligned: tuple[int, int], converts: bool) -> Tile | None:
    """The tile for memories with addresses of known alignment; None where there is none that serves."""
    return _TilePlanner(work, aligned, converts).choose()


class _TilePlanner(Extents):
    """Tries tiles, from the one that should be fastest to smaller ones, until one has room."""

    def choose(self) -> Tile | None:
        runs = tuning.ACTIVE.source_run_bytes, tuning.ACTIVE.target_run_bytes
        vectors = [self.vector(side) for side in (SOURCE, TARGET)]
        images = self.choose_images([prod(v.values()) * size for v, size in zip(vectors, self.bytes)])
        if images is None:
            return None
        found = self.first_with_room(images, vectors, runs)
        shifted = self.shifted_tile(vectors[TARGET], runs) if images == (True, True) else None
        if shifted is not None:
            images, found = (False, True), shifted
        if found is not None and images[TARGET] and not _whole_runs(found):
            found = found._replace(direct_edges=True)
        elif images[TARGET] and found is None:
            images = True, False
            found = self.first_with_room(images, vectors, runs)
        if found is not None and images[SOURCE] and _tiles_until_next(found.grid) is not None and not found.ahead:
            longer = self.first_with_room(images, vectors, (2 * runs[SOURCE], runs[TARGET]))
            return longer if longer is not None and (_whole_runs(longer) and not found.direct_edges) else found
        return found

    def first_with_room(
        self, images: tuple[bool, bool], vectors: list[dict[DigitKey, int]], wanted: tuple[int, int], tiles: int = 1
    ) -> Tile | None:
        """A tile with these images, with runs as long as they should be or as there is room for.

        It is as large as so many ``tiles``.
        """
        side = SOURCE if images == (False, True) else TARGET
        micro: dict[DigitKey, list[int]] = {key: [size] for key, size in vectors[side].items()}
        if images == (True, True):
            micro = self.few_elements()
        elif images[1 - side] and not self.converts:
            for key, size in self.steps_to_whole_words(1 - side, vectors[side], images[TARGET]).items():
                micro.setdefault(key, []).append(size)
        chunk = self.bytes[side] * (1 if images == (True, True) else prod(vectors[side].values()))
        whole = {key: prod(sizes) for key, sizes in micro.items()}
        s, t = wanted
        shorter = [(s, t // 2), *[(max(1, s // n), max(1, t // n)) for n in (2, 4, 8, 16, 128)]]
        size = tiles * tuning.ACTIVE.tile_bytes
        for room, most in ((size, size * 3 // 2), (size, MAX_SHARED_BYTES), (size // 2, size)):
            for runs in (wanted, *shorter):
                extents = self.extents(whole, runs, room)
                if prod(extents.values()) * max(self.bytes) <= most:
                    found = self.tile(micro, extents, images, side, chunk)
                    if sum([image.size for image in found.images if image]) <= MAX_SHARED_BYTES and _no_gaps(found):
                        return found
        return None

    def shifted_tile(self, target: dict[DigitKey, int], runs: tuple[int, int]) -> Tile | None:
        """The tile that reads vectors of small elements from any address; None where that is not worth it."""
        vector = self.vector(SOURCE, anywhere=True)
        steps = [(self.digits[key].steps, taken) for key, taken in vector.items()]
        wasted = max([-n % taken / n for n, taken in steps], default=1)
        whole = prod(vector.values()) * self.bytes[SOURCE] == VECTOR and wasted <= MAX_WASTE
        small = self.bytes[SOURCE] <= tuning.ACTIVE.max_realigned_bytes
        if not whole or not small or any(self.swizzles) or self.converts:
            return None
        # Four vectors of single bytes make words of the target: twice as many bytes keep all threads busy.
        found = self.first_with_room((False, True), [vector, target], runs, 2 if self.bytes[SOURCE] == 1 else 1)
        if found is None:
            return None
        count = -(-prod([part.size for part in found.lanes]) // WARP) * WARP
        return found._replace(shifted_source=True, threads=max(128, min(tuning.ACTIVE.max_threads, count)))

    def choose_images(self, wide: list[int]) -> tuple[bool, bool] | None:
        """Which sides have an image, by the bytes of their vectors."""
        can_read = self.units[SOURCE] <= tuning.ACTIVE.max_source_gap and self.reads_vectors()
        if not can_read and (self.swizzles[SOURCE] or self.converts):
            return None
        if not can_read:
            return False, False
        if self.converts:
            return True, False
        if self.bytes[SOURCE] == VECTOR:
            return self.common_run() < tuning.ACTIVE.unstaged_run_bytes, False
        dense = self.swizzles[TARGET] is None and self.units[TARGET] == 1
        dense = dense and all(axis.first == 0 for axis in self.work.axes)
        dense = dense and all(digit.target > 0 for digit in self.digits.values())
        if wide[SOURCE] > wide[TARGET] and dense:
            return False, True
        return True, wide[TARGET] < 4 and dense

    def tile(
        self,
        micro: dict[DigitKey, list[int]],
        extents: dict[DigitKey, int],
        images: tuple[bool, bool],
        side: int,
        chunk: int,
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
            orders = self.lane_orders(lanes, side, chunk)
            made, lanes = min(
                [(self.make_images(images, small, order, grid), order) for order in orders],
                key=lambda pair: (
                    sum([image.turns(small, pair[1]) for image in pair[0] if image])
                    + (2 if pair[1] and pair[1][0].size * chunk < LINE else 0)
                ),
            )
        chunks = [self.bytes[s] if s != side or images[s] else chunk for s in (SOURCE, TARGET)]
        if not any(images) and self.bytes[SOURCE] == VECTOR:
            chunks = [VECTOR, VECTOR]
        # In the order of the target: what is written in turn lies together.
        grid.sort(key=lambda part: (part.target, abs(part.source)))
        after = _tiles_until_next(grid)
        return Tile(
            self.work,
            tuple(small),
            tuple(lanes),
            tuple(grid),
            made,
            (chunks[0], chunks[1]),
            self.threads(prod(extents.values()) * max(self.bytes) // VECTOR),
            after is not None and 1 < after <= tuning.ACTIVE.concurrent_tiles,
        )

    def threads(self, vectors: int) -> int:
        """So many that each has two vectors of a tile, or four where much is computed, and as evenly as can be."""
        each = 4 if self.converts or any(axis.masked for axis in self.work.axes) else 2
        most = min(tuning.ACTIVE.max_threads * 2 // each, max(128, -(-vectors // (32 * each)) * 32))
        return min(range(most, most // 2, -32), key=lambda n: -(-vectors // n) * n)

    def make_images(
        self, images: tuple[bool, bool], micro: list[Part], lanes: list[Part], grid: list[Part]
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
            # A source that vectors of the target are made of is read by elements anyway.
            realign = images[TARGET]
            made.append(make_image(self.work, side, micro, lanes, even, masked, realign) if images[side] else None)
        return made[0], made[1]

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


def _tiles_until_next(grid: Sequence[Part]) -> int | None:
    """After how many tiles a run of the source goes on; None where it has ended, or has two lines already."""
    steps = [abs(part.source) for part in grid]
    nearest = min(steps, default=2 * LINE)
    return prod([part.size for part in grid[: steps.index(nearest)]]) if nearest < 2 * LINE else None


def _no_gaps(tile: Tile) -> bool:
    """Whether runs of the target's image are written by the tile alone: what lies between its elements is not its."""
    image = tile.images[TARGET]
    return image is None or not image.run or image.run[0].target == image.unit


def _whole_runs(tile: Tile) -> bool:
    """Whether what is written of each run of the target's image is its beginning, so that it has one length."""
    image = tile.images[TARGET]
    if image is None:
        return True
    outside = [*[row for row, _ in image.rows], *tile.grid]
    for k, axis in enumerate(tile.work.axes):
        mine = [part for part in image.run if part.axis == k]
        size = max(
            [part.place * part.size for part in (*tile.micro, *tile.lanes, *tile.grid) if part.axis == k], default=1
        )
        if not mine or (axis.first == 0 and size == axis.last):
            continue
        straight = all(part.target * mine[0].place == mine[0].target * part.place for part in mine)
        alone = not any(part.axis == k for part in outside)
        if not straight or mine[0].place > 1 or not (alone or image.run[-1].axis == k):
            return False
    return True
