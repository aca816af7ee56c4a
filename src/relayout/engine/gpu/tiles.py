"""Tiles: how a kernel cuts its work among blocks and threads, and which side of it goes through shared memory.

A tile has whole runs of both sides, so that every line of memory is read and written at once. A thread moves a *micro*
tile: vectors of the one side, as many as make whole words of the other. Where a vector of one side is single elements
of the other, that other side is kept as an *image* in shared memory, which goes to or comes from memory run by run.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...immutable import NamedTuple
from .geometry import TARGET
from .shared_memory import LINE, VECTOR, Image, Part
from .work import Work

MAX_SHARED_BYTES = 99 << 10
"""No tile has more, where its device has so much for a block that asks for it, as all have since compute 8.0."""

PORTABLE_SHARED_BYTES = 48 << 10
"""A block has so much shared memory everywhere, without asking."""


class Tile(NamedTuple):
    """The parts of a kernel: micro tiles of the threads, fastest first, and tiles of the blocks, fastest first.

    ``chunks`` are the bytes that are moved at once on each side that has no image. With ``ahead`` the rest of a pair of
    lines is read by a tile that runs soon after, and is fetched along with the first. With ``direct_edges`` tiles that
    are not written as a whole go to memory element by element. With ``gathers`` threads have no micro tiles: they make
    vectors of the target, which begin anywhere, of elements of the source's image; ``even`` divides its address.
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
    gathers: bool = False
    even: int = VECTOR

    @property
    def run(self) -> Part:
        """The part of the threads that moves along the target, where they gather."""
        return next(part for part in self.lanes if part.target == self.work.target_bytes)

    def loops(self) -> list[tuple[dict[str, int], int]]:
        """The sizes of the loops of all phases, each with the vectors that are moved in a turn of it."""
        sizes = {f"l{k}": part.size for k, part in enumerate(self.lanes)}
        moved = prod([part.size for part in self.micro]) * self.work.target_bytes
        found = [(sizes, -(-moved // VECTOR))]
        if self.gathers:
            vectors = -(-self.run.size * self.work.target_bytes // VECTOR)
            found = [(sizes | {f"l{self.lanes.index(self.run)}": vectors}, 2)]
        for image in self.images:
            if image is not None:
                rows = {f"r{k}": part.size for k, (part, _) in enumerate(image.rows) if part.step(image.side)}
                found.append(({"v": image.vectors, **rows}, 1))
        return found

    @property
    def has_gaps(self) -> bool:
        """Whether something lies between the elements of a run of the target's image, which the tile may not write."""
        image = self.images[TARGET]
        return image is not None and bool(image.run) and image.run[0].target != image.unit

    @property
    def writes_whole_runs(self) -> bool:
        """Whether what is written of each run of the target's image is its beginning, so that it has one length."""
        image = self.images[TARGET]
        if image is None:
            return True
        outside = [*[row for row, _ in image.rows], *self.grid]
        for k, axis in enumerate(self.work.axes):
            mine = [part for part in image.run if part.axis == k]
            size = max(
                [part.place * part.size for part in (*self.micro, *self.lanes, *self.grid) if part.axis == k], default=1
            )
            if not mine or (axis.first == 0 and size == axis.last):
                continue
            straight = all(part.target * mine[0].place == mine[0].target * part.place for part in mine)
            alone = not any(part.axis == k for part in outside)
            if not straight or mine[0].place > 1 or not (alone or image.run[-1].axis == k):
                return False
        return True


def tiles_until_next(grid: Sequence[Part]) -> int | None:
    """After how many tiles a run of the source goes on; None where it has ended, or has two lines already."""
    steps = [abs(part.source) for part in grid]
    nearest = min(steps, default=2 * LINE)
    return prod([part.size for part in grid[: steps.index(nearest)]]) if nearest < 2 * LINE else None
