"""Tiles whose threads gather vectors of the target from an image of the source, element by element."""

from __future__ import annotations

from math import prod

from .. import tuning
from .geometry import SOURCE, TARGET, DigitKey
from .shared_memory import BANKS, VECTOR, WARP, WORD, Image, Part
from .tile_makers import TileMaker
from .tiles import Tile


class GatherMaker(TileMaker):
    """Makes such tiles, beside all others."""

    def gathering_tile(self, runs: tuple[int, int], size: int) -> Tile | None:
        """The tile that reads an image of the source by elements, and writes vectors at any address of the target."""
        key = self.next_in_run(TARGET, 1, set())
        if key is None:
            return None
        near = self.next_in_run(SOURCE, self.units[SOURCE], set())
        even = {near: 8} if near is not None and self.is_top(near) and self.digits[near].steps >= 64 else {}
        even = {} if near == key else even
        for room in (size, size // 2):
            for n in (1, 2, 4):
                extents = self.extents(even, (runs[SOURCE] // n, runs[TARGET] // n), room)
                found = self.gathering(key, extents)
                image = found.images[SOURCE]
                if image is not None and image.size <= self.shared and self.ends_at_rests(found):
                    return found
        return None

    def gathering(self, key: DigitKey, extents: dict[DigitKey, int]) -> Tile:
        """The tile with these extents, whose runs are of one digit of the target."""
        lanes, grid = list[Part](), list[Part]()
        for k, digit in self.digits.items():
            lane, block = self.parts(k, [extents[k], -(-digit.steps // extents[k])])
            lanes += [lane] * (lane.size > 1 or k == key)
            grid += [block] * (block.size > 1)
        run = next(part for part in lanes if part.axis == key.axis and part.target == self.bytes[TARGET])
        rows = sorted([part for part in lanes if part is not run], key=lambda part: abs(part.source))
        self.order_tiles(grid, tuning.ACTIVE.few_tiles)
        tries = []
        for count in (4, 8, 16):
            order = _few_first(run, rows, count)
            images = self.make_images((True, False), [], order, grid)
            tries.append((_gather_turns(images[SOURCE], run, order, VECTOR // self.bytes[TARGET]), order, images))
        _, order, images = min(tries, key=lambda each: each[0])
        parts = (), tuple(order), tuple(grid)
        found = Tile(
            self.work, *parts, images, self.bytes, WARP, self.reads_ahead(grid), gathers=True, even=self.aligned[TARGET]
        )
        return found._replace(threads=self.threads(found, prod(extents.values()) * max(self.bytes) // VECTOR))

    def ends_at_rests(self, tile: Tile) -> bool:
        """Whether only the rest of the outermost digit makes runs shorter."""
        run = tile.run
        axis = self.work.axes[run.axis]
        size = max([p.place * p.size for p in (*tile.lanes, *tile.grid) if p.axis == run.axis])
        return size == axis.last or (run.place == 1 and len(axis.digits) == 1)


def _few_first(run: Part, rows: list[Part], count: int) -> list[Part]:
    """Rows, a few steps of them before the run, as many as ``count`` in all."""
    first, rest, left = list[Part](), list(rows), count
    while rest and left > 1:
        part = rest.pop(0)
        few = max([n for n in range(1, left + 1) if part.size % n == 0])
        inner, outer = part.split(few)
        first += [inner] * (few > 1)
        left //= few
        if outer.size > 1:
            rest = [outer, *rest]
            break
    return [*first, run, *rest]


def _gather_turns(image: Image | None, run: Part, order: list[Part], each: int) -> int:
    """How many turns a warp takes to read an element for each of its vectors."""
    if image is None:
        return 0
    step = image.step(run) * each
    vectors = max(1, run.size // each)
    places = [0]
    for part in order:
        size, by = (vectors, step) if part is run else (part.size, image.step(part))
        places = [at + k * by for k in range(min(size, WARP)) for at in places][:WARP]
    banks: dict[int, set[int]] = {}
    for at in places:
        banks.setdefault(at // WORD % BANKS, set()).add(at // WORD)
    return max(map(len, banks.values()))
