"""Which tile a kernel has: the kinds that were fastest for such elements and alignments, first to last."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, prod

from .. import tuning
from .gathered_tiles import GatherMaker
from .geometry import SOURCE, TARGET
from .shared_memory import LINE, VECTOR, WORD
from .tiles import MAX_SHARED_BYTES, Tile, tiles_until_next
from .work import Work

STAGED_RUNS, LONG_RUNS, LONGEST_RUNS = (128, 256), (128, 512), (256, 512)
"""The bytes of the source and of the target that lie together in a tile, if they can."""

SHORT_RUN = 400
"""Runs of the target of fewer bytes that are not aligned are made longer, by a larger tile."""

MAX_TURNS = 4
"""Where threads wait so often for each other's banks, images of both sides are faster."""


def tile(work: Work, aligned: tuple[int, int], converts: bool, shared: int = MAX_SHARED_BYTES) -> Tile | None:
    """The tile for memories with addresses of known alignment; None where there is none that serves."""
    return _TileChooser(work, aligned, converts, shared).choose()


def other_tiles(work: Work, aligned: tuple[int, int], shared: int = MAX_SHARED_BYTES) -> Iterator[Tile]:
    """Tiles of other kinds than the chosen one, for the same work without a conversion; one may be as it is."""
    return _TileChooser(work, aligned, False, shared).others()


class _TileChooser(GatherMaker):
    """Looks at the tile for vectors that are aligned, and where it has none or few, at those that do without."""

    def choose(self) -> Tile | None:
        plain = self.plain_tile()
        if self.converts or not self.can_stage:
            return plain
        if plain is None:
            return self.staged_tile(STAGED_RUNS)
        return self.unaligned_tile(plain) or plain

    def unaligned_tile(self, plain: Tile) -> Tile | None:
        """The tile that is faster than one of aligned vectors; None where there is none.

        By measurements on an H200 of 1350 layouts that seeds drew, each with 7 to 20 tiles.
        """
        vectors = plain.images[TARGET] is None and plain.chunks[TARGET] == VECTOR
        wide = plain.chunks[SOURCE] if plain.images[SOURCE] is None else 0
        crowded = max([image.turns(list(plain.micro), list(plain.lanes)) for image in plain.images if image], default=0)
        unit = self.bytes[SOURCE]
        if unit == 1:
            return self.tile_of_bytes(plain, vectors, wide, crowded)
        filled = self.is_filled and not self.has_whole_lines
        if unit < VECTOR and filled and (vectors or unit > 2):
            return self.staged_tile(LONGEST_RUNS)
        if unit > WORD:
            return self.target_tile(LONGEST_RUNS)
        return self.tile_of_halves(vectors, wide) if unit == 2 else self.tile_of_words(vectors, wide, crowded)

    def tile_of_words(self, vectors: bool, wide: int, crowded: float) -> Tile | None:
        """That of elements of 4 bytes."""
        if not vectors:
            return self.target_tile(LONG_RUNS) if wide == VECTOR else self.staged_tile(LONGEST_RUNS, 2)
        if self.has_whole_lines:
            return None if self.is_filled else self.target_tile(LONGEST_RUNS)
        return self.staged_tile(STAGED_RUNS) if crowded >= MAX_TURNS else None

    def tile_of_halves(self, vectors: bool, wide: int) -> Tile | None:
        """That of elements of 2 bytes."""
        if vectors:
            if self.has_whole_lines:
                return None if self.is_filled else self.target_tile(LONG_RUNS, tuning.ACTIVE.few_tiles)
            return self.staged_tile(LONGEST_RUNS)
        if wide == VECTOR:
            return self.target_tile(LONG_RUNS, tiles=2)
        return self.worth_gathering(LONGEST_RUNS, 2 * tuning.ACTIVE.tile_bytes, 500) or self.staged_tile(LONG_RUNS)

    def tile_of_bytes(self, plain: Tile, vectors: bool, wide: int, crowded: float) -> Tile | None:
        """That of single bytes."""
        source, target = plain.images
        if vectors and (self.is_filled or self.has_whole_lines):
            return None
        if WORD <= wide < VECTOR:
            return self.target_tile(LONG_RUNS)
        if wide == VECTOR and target is not None and target.even < VECTOR and target.length < SHORT_RUN:
            return self.target_tile(LONGEST_RUNS, tiles=2)
        words = target is None and plain.chunks[TARGET] >= WORD and source is not None and source.length >= LINE
        if vectors or words or wide == VECTOR:
            return self.staged_tile(STAGED_RUNS) if crowded >= MAX_TURNS else None
        return self.worth_gathering(LONG_RUNS, tuning.ACTIVE.tile_bytes, 250) or self.staged_tile(STAGED_RUNS)

    def others(self) -> Iterator[Tile]:
        """The tiles that are most often faster than the chosen one, where that is not the fastest."""
        if not self.can_stage:
            return
        found = [
            self.plain_tile(),
            self.target_tile(LONGEST_RUNS),
            self.staged_tile(LONGEST_RUNS),
            self.staged_tile(LONG_RUNS, 2),
            None if self.is_filled else self.gathering_tile(LONG_RUNS, 2 * tuning.ACTIVE.tile_bytes),
        ]
        yield from [made for made in found if made is not None]

    @property
    def can_stage(self) -> bool:
        """Whether both sides can have images."""
        can_read = self.units[SOURCE] <= tuning.ACTIVE.max_source_gap and self.reads_vectors()
        return can_read and self.dense

    @property
    def is_filled(self) -> bool:
        """Whether positions without data are written."""
        return any((axis.low, axis.high) != (axis.first, axis.last) for axis in self.work.axes)

    @property
    def has_whole_lines(self) -> bool:
        """Whether runs of both sides begin at lines of memory."""
        steps = [self.stride(key, side) * self.bytes[side] for key in self.digits for side in (SOURCE, TARGET)]
        return gcd(LINE, *[step for step in steps if abs(step) >= LINE]) == LINE

    def worth_gathering(self, runs: tuple[int, int], size: int, least: int) -> Tile | None:
        """The tile that gathers, where runs of the target are long, and far apart in the image."""
        found = None if self.is_filled else self.gathering_tile(runs, size)
        if found is None or found.run.size * self.bytes[TARGET] < least:
            return None
        image = found.images[SOURCE]
        apart = image is not None and abs(found.run.source) >= min(image.length, LINE // 2)
        return found if apart and image is not None and (image.even < VECTOR or self.bytes[SOURCE] == 1) else None

    def plain_tile(self) -> Tile | None:
        """The tile for aligned vectors: from the one that should be fastest to smaller ones, until one has room."""
        runs = tuning.ACTIVE.source_run_bytes, tuning.ACTIVE.target_run_bytes
        images = self.choose_images([prod(v.values()) * size for v, size in zip(self.vectors, self.bytes)])
        if images is None:
            return None
        few = 0 if self.has_whole_lines else tuning.ACTIVE.few_tiles
        found = self.first_with_room(images, runs, few, realign=images[TARGET])
        if found is not None and not found.writes_whole_runs:
            found = found._replace(direct_edges=True)
        elif images[TARGET] and found is None:
            images = True, False
            found = self.first_with_room(images, runs, few)
        if found is not None and images[SOURCE] and tiles_until_next(found.grid) is not None and not found.ahead:
            longer = self.first_with_room(images, (2 * runs[SOURCE], runs[TARGET]), few)
            return longer if longer is not None and longer.writes_whole_runs and not found.direct_edges else found
        return found

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
        if wide[SOURCE] > wide[TARGET] and self.dense:
            return False, True
        return True, False
