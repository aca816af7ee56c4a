"""Tiles: how a kernel cuts its work among blocks and threads, and which side of it goes through shared memory.

A tile has whole runs of both sides, so that every line of memory is read and written at once. A thread moves a *micro*
tile: vectors of the one side, as many as make whole words of the other. Where a vector of one side is single elements
of the other, that other side is kept as an *image* in shared memory, which goes to or comes from memory run by run.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import NamedTuple

from .shared_memory import LINE, VECTOR, Image, Part, made_image
from .work import Work, moved_from

SOURCE, TARGET = 0, 1

TILE_BYTES = 16 << 10
"""About so many bytes are in a tile; up to half as many more where sizes do not divide."""

SMALL_TILE_BYTES = 4 << 10
"""The same where the source of a tile is one run."""

MAX_BYTES = 48 << 10
"""No tile, and no image, has more: a block has so much shared memory without asking."""

RUNS = 128, 256
"""The bytes that lie together in a tile, of the source and of the target, where they can."""

THREADS = 512
"""The most threads of a block; half as many where much is computed."""

STAGED_BELOW = 32
"""Vectors that stay together in runs of so many bytes need no image."""

SOON = 512
"""About so many tiles run at once."""

MAX_STEPS = 64
"""How much larger than wanted a divisor may be."""

MAX_GAP = 4
"""Elements of the source that are at most so many apart are read with what is between them."""


class Tile(NamedTuple):
    """The parts of a kernel: micro tiles of the threads, fastest first, and tiles of the blocks, fastest first.

    ``chunks`` are the bytes that are moved at once on each side that has no image. With ``ahead`` the rest of a pair of
    lines is read by a tile that runs soon after, and is fetched along with the first.
    """

    work: Work
    micro: tuple[Part, ...]
    lanes: tuple[Part, ...]
    grid: tuple[Part, ...]
    images: tuple[Image | None, Image | None]
    chunks: tuple[int, int]
    threads: int
    ahead: bool


class Key(NamedTuple):
    axis: int
    digit: int


def tile(work: Work, aligned: tuple[int, int], converts: bool) -> Tile | None:
    """The tile for memories with addresses of known alignment; None where there is none that serves."""
    return _Planner(work, aligned, converts).planned()


class _Planner:
    def __init__(self, work: Work, aligned: tuple[int, int], converts: bool) -> None:
        self.work, self.aligned, self.converts = work, aligned, converts
        self.bytes = work.source_bytes, work.target_bytes
        self.starts = work.source, work.target
        self.swizzles = work.source_swizzle, work.target_swizzle
        self.digits = {Key(i, k): d for i, axis in enumerate(work.axes) for k, d in enumerate(axis.digits)}
        steps = [[abs(d[1 + side]) for d in self.digits.values() if d.steps > 1 and d[1 + side]] for side in (0, 1)]
        self.units = [min(s, default=1) for s in steps]

    def planned(self) -> Tile | None:
        vectors = [self.vector(side) for side in (SOURCE, TARGET)]
        images = self.staged([prod(v.values()) * size for v, size in zip(vectors, self.bytes)])
        if images is None:
            return None
        found = self.smallest(images, vectors, RUNS)
        if images[TARGET] and (found is None or not _whole_runs(found)):
            images = True, False
            found = self.smallest(images, vectors, RUNS)
        if found is not None and images[SOURCE] and _goes_on(found.grid) is not None and not found.ahead:
            longer = self.smallest(images, vectors, (2 * RUNS[SOURCE], RUNS[TARGET]))
            return longer if longer is not None and _whole_runs(longer) else found
        return found

    def smallest(
        self, images: tuple[bool, bool], vectors: list[dict[Key, int]], wanted: tuple[int, int]
    ) -> Tile | None:
        """A tile with these images, with runs as long as they should be or as there is room for."""
        side = SOURCE if images == (False, True) else TARGET
        micro: dict[Key, list[int]] = {key: [size] for key, size in vectors[side].items()}
        if images == (True, True):
            micro = self.few_elements()
        elif images[1 - side] and not self.converts:
            for key, size in self.words(1 - side, vectors[side]).items():
                micro.setdefault(key, []).append(size)
        chunk = self.bytes[side] * (1 if images == (True, True) else prod(vectors[side].values()))
        whole = {key: prod(sizes) for key, sizes in micro.items()}
        s, t = wanted
        shorter = [(s, t // 2), *[(max(1, s // n), max(1, t // n)) for n in (2, 4, 8, 16, 128)]]
        for room, most in ((TILE_BYTES, TILE_BYTES * 3 // 2), (TILE_BYTES, MAX_BYTES), (TILE_BYTES // 2, TILE_BYTES)):
            for runs in (wanted, *shorter):
                extents = self.extents(whole, runs, room)
                if prod(extents.values()) * max(self.bytes) <= most:
                    found = self.tile(micro, extents, images, side, chunk)
                    if sum([image.size for image in found.images if image]) <= MAX_BYTES and _no_gaps(found):
                        return found
        return None

    def staged(self, wide: list[int]) -> tuple[bool, bool] | None:
        """Which sides have an image, by the bytes of their vectors."""
        can_read = self.units[SOURCE] <= MAX_GAP and self.reads_vectors()
        if not can_read and (self.swizzles[SOURCE] or self.converts):
            return None
        if not can_read:
            return False, False
        if self.converts:
            return True, False
        if self.bytes[SOURCE] == VECTOR:
            return self.common_run() < STAGED_BELOW, False
        dense = self.swizzles[TARGET] is None and self.units[TARGET] == 1
        dense = dense and all(axis.first == 0 for axis in self.work.axes)
        dense = dense and all(digit.target > 0 for digit in self.digits.values())
        if wide[SOURCE] > wide[TARGET] and dense:
            return False, True
        return True, wide[TARGET] < 4 and dense

    def reads_vectors(self) -> bool:
        """Whether a swizzle of the source, if there is one, leaves vectors whole."""
        swizzle = self.swizzles[SOURCE]
        if swizzle is None:
            return True
        inner = {key: d.steps for key, d in self.digits.items() if abs(d.source) * self.bytes[SOURCE] < VECTOR}
        return self.granularity(SOURCE, inner) == VECTOR and moved_from(swizzle) >= VECTOR

    def common_run(self) -> int:
        """The bytes that stay together."""
        return max([d.steps for d in self.digits.values() if d[1:] == (1, 1)], default=1) * self.bytes[SOURCE]

    def few_elements(self) -> dict[Key, list[int]]:
        """A micro tile of elements that are near each other on both sides."""
        micro: dict[Key, list[int]] = {}
        for side in (TARGET, SOURCE):
            key = self.next_in_run(side, self.units[side], set())
            if key is not None and key not in micro:
                size = self.digits[key].steps
                few = 4 if self.is_top(key) and size > 16 else gcd(size, 4)
                micro |= {key: [few]} if few > 1 else {}
        return micro

    def is_top(self, key: Key) -> bool:
        return key.digit == len(self.work.axes[key.axis].digits) - 1

    def stride(self, key: Key, side: int) -> int:
        return self.digits[key][1 + side]

    def next_in_run(self, side: int, run: int, seen: set[Key]) -> Key | None:
        """The digit that continues a run of so many elements."""
        for key, digit in self.digits.items():
            if key not in seen and digit.steps > 1 and abs(self.stride(key, side)) == run:
                return key
        return None

    def granularity(self, side: int, vector: dict[Key, int]) -> int:
        """The bytes that all starts of vectors are aligned to."""
        steps = [self.starts[side]]
        for key, digit in self.digits.items():
            taken = vector.get(key, 1)
            if digit.steps > taken:
                steps.append(self.stride(key, side) * taken)
        swizzle = self.swizzles[side]
        whole = [] if swizzle is None else [moved_from(swizzle)]
        return gcd(VECTOR, self.aligned[side], *whole, *[step * self.bytes[side] for step in steps])

    def vector(self, side: int) -> dict[Key, int]:
        """The digits of a vector of one side, and how many steps it has of each."""
        most, found, run = VECTOR // self.bytes[side], dict[Key, int](), 1
        while run < most:
            key = self.next_in_run(side, run, set(found))
            if key is None or self.stride(key, side) < 0:
                break
            size = self.digits[key].steps
            rest = self.is_top(key) and size >= most // run
            taken = most // run if rest else gcd(size, most // run)
            if taken == 1:
                break
            found[key] = taken
            run *= taken
            if taken < size:
                break
        while found and prod(found.values()) * self.bytes[side] > self.granularity(side, found):
            last = list(found)[-1]
            found[last] //= 2
            if found[last] == 1:
                del found[last]
        return found

    def words(self, side: int, vector: dict[Key, int]) -> dict[Key, int]:
        """What a micro tile needs beside its vectors, for whole words of the other side."""
        size = self.bytes[side]
        key = self.next_in_run(side, 1, set())
        if size >= 4 or key is None:
            return {}
        have = vector.get(key, 1)
        more = 4 // size // have
        left = self.digits[key].steps // have
        if more <= 1 or self.digits[key].steps % have:
            return {}
        if left % more == 0 or (self.is_top(key) and left > 8 * more):
            return {key: more} if self.granularity(side, {key: have * more}) >= 4 else {}
        return {key: left} if left <= 8 else {}

    def extents(self, micro: dict[Key, int], wanted: tuple[int, int], room: int) -> dict[Key, int]:
        """How many steps of each digit a tile has: runs of so many bytes, and then what is nearest on both sides.

        It has about as many bytes as there is room for, up to half as many more.
        """
        extents = {key: micro.get(key, 1) for key in self.digits}
        for side in (SOURCE, TARGET):
            self.grow(side, extents, micro, -(-wanted[side] // self.bytes[side]))
        left = [key for key in self.digits if extents[key] < self.digits[key].steps]
        together = self.grow(SOURCE, extents, micro, 0) == prod(extents.values())
        enough = SMALL_TILE_BYTES if together and not self.converts else room
        while left and prod(extents.values()) * max(self.bytes) * 4 <= enough * 3:
            key = min(left, key=lambda key: self.reach(key) * extents[key])
            before = extents[key]
            extents[key] = self.pick(key, 2 * before, micro.get(key, 1))
            if prod(extents.values()) * max(self.bytes) * 2 > room * 3:
                extents[key] = before
                left.remove(key)
            elif extents[key] >= self.digits[key].steps:
                left.remove(key)
        return extents

    def reach(self, key: Key) -> int:
        """How far a step moves, on the side where that is more: tiles stay within few pages of memory."""
        return max([abs(self.stride(key, side)) * self.bytes[side] for side in (SOURCE, TARGET)])

    def grow(self, side: int, extents: dict[Key, int], micro: dict[Key, int], wanted: int) -> int:
        """Make the runs of one side at least so many elements long, where they can be; tells how long they are."""
        run, seen = self.units[side], set[Key]()
        while True:
            key = self.next_in_run(side, run, seen)
            if key is None:
                return run
            seen.add(key)
            need = -(-wanted // run)
            if need > extents[key]:
                extents[key] = self.pick(key, need, micro.get(key, 1))
            axis, taken = self.work.axes[key.axis], extents[key]
            run = self.parts(key, [taken])[0].behind(side, axis) // self.bytes[side]
            if taken < self.digits[key].steps:
                return run

    def pick(self, key: Key, wanted: int, unit: int) -> int:
        """About so many steps of a digit, a multiple of ``unit``: all, a divisor, or a part that leaves a rest."""
        size = self.digits[key].steps
        if size <= wanted or (size <= 1.5 * wanted and size % unit == 0):
            return -(-size // unit) * unit
        options = range(-(-wanted // unit) * unit, max(2 * wanted, wanted + unit), unit)
        even = [n for n in options if size % n == 0]
        if even:
            return even[0]
        if self.is_top(key):
            # What a rest wastes, in sixteenths, counts more than the size.
            return min(options, key=lambda n: ((-(-size // n) * n - size) * 16 // size, n))
        larger = range(options.start, min(size, MAX_STEPS * wanted), unit)
        return next((n for n in larger if size % n == 0), size)

    def parts(self, key: Key, sizes: list[int]) -> list[Part]:
        """Consecutive ranges of one digit."""
        place = prod([d.steps for d in self.work.axes[key.axis].digits[: key.digit]])
        step, found = 1, []
        _, s, t = self.digits[key]
        for size in sizes:
            found.append(Part(key.axis, place * step, size, s * step * self.bytes[0], t * step * self.bytes[1]))
            step *= size
        return found

    def tile(
        self,
        micro: dict[Key, list[int]],
        extents: dict[Key, int],
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
            orders = self.orders(lanes, side, chunk)
            made, lanes = min(
                [(self.imaged(images, small, order, grid), order) for order in orders],
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
        after = _goes_on(grid)
        return Tile(
            self.work,
            tuple(small),
            tuple(lanes),
            tuple(grid),
            made,
            (chunks[0], chunks[1]),
            self.threads(prod(extents.values()) * max(self.bytes) // VECTOR),
            after is not None and 1 < after <= SOON,
        )

    def threads(self, vectors: int) -> int:
        """So many that each has two vectors of a tile, or four where much is computed, and as evenly as can be."""
        each = 4 if self.converts or any(axis.masked for axis in self.work.axes) else 2
        most = min(THREADS * 2 // each, max(128, -(-vectors // (32 * each)) * 32))
        return min(range(most, most // 2, -32), key=lambda n: -(-vectors // n) * n)

    def imaged(
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
            made.append(made_image(self.work, side, micro, lanes, even, masked) if images[side] else None)
        return made[0], made[1]

    def orders(self, lanes: list[Part], side: int, chunk: int) -> list[list[Part]]:
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


def _goes_on(grid: Sequence[Part]) -> int | None:
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
        if not mine or (not axis.masked and size == axis.last):
            continue
        straight = all(part.target * mine[0].place == mine[0].target * part.place for part in mine)
        alone = not any(part.axis == k for part in outside)
        if not straight or mine[0].place > 1 or not (alone or image.run[-1].axis == k):
            return False
    return True
