"""Images: runs of one side of a tile in shared memory, laid out so that threads seldom wait for each other.

Shared memory has 32 banks of a word each; threads that want different words of one bank take turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as cartesian
from math import gcd

from ...immutable import NamedTuple
from .. import tuning
from .work import Axis, Work

VECTOR = 16
LINE = 128
"""The bytes that memory moves at once, for several threads."""

SECTOR = 32
"""The bytes that memory moves at least."""

WARP, BANKS, WORD = 32, 32, 4
MAX_TRIES = 128


class Part(NamedTuple):
    """A range of a digit of one axis: a step moves so many positions of the axis, and bytes of each side."""

    axis: int
    place: int
    size: int
    source: int
    target: int

    def step(self, side: int) -> int:
        return self[3 + side]

    def split(self, inner: int) -> tuple[Part, Part]:
        axis, place, size, s, t = self
        return Part(axis, place, inner, s, t), Part(axis, place * inner, size // inner, s * inner, t * inner)

    def behind(self, side: int, axis: Axis) -> int:
        """The bytes of a run up to the end of this part of it; positions of no use do not count."""
        step, end = abs(self.step(side)), axis.last if side else axis.high
        if end < self.place * self.size and step % self.place == 0:
            return step // self.place * end
        return step * self.size


class Image(NamedTuple):
    """Runs of ``length`` bytes, each as it lies in memory from ``lowest`` on; all together ``size`` bytes.

    ``run`` are the parts within a run, and ``rows`` those that lead from run to run, each with its step in the image.
    ``even`` divides the addresses of runs. Where that is not a vector, steps in the image leave the rests of steps in
    memory, so that each run begins as many bytes behind a vector as its address does. Runs that are ``realigned`` begin
    at vectors in the image, and anywhere in memory: they are shifted on their way.
    """

    side: int
    unit: int
    run: tuple[Part, ...]
    rows: tuple[tuple[Part, int], ...]
    lowest: int
    length: int
    even: int
    size: int
    realigned: bool = False

    @property
    def aligned(self) -> bool:
        """Whether all runs begin at vectors in the image."""
        return self.realigned or self.even == VECTOR

    @property
    def vectors(self) -> int:
        """How many vectors hold a run."""
        return -(-(self.length + (0 if self.aligned else VECTOR - 1)) // VECTOR)

    def step(self, part: Part) -> int:
        """The bytes that a part steps in the image."""
        for row, step in self.rows:
            if row == part:
                return step
        return part.step(self.side)

    def turns(self, micro: list[Part], lanes: list[Part]) -> float:
        """How many turns a warp takes for an access, on average, beside as few as there can be."""
        at = offsets(micro, [self.step(part) for part in micro])
        even = gcd(VECTOR if self.realigned else self.even, *[self.step(part) for part in lanes])
        width, starts = chunk_accesses(at, self.unit, even, bool(self.side))
        threads = offsets(lanes, [self.step(part) for part in lanes], WARP)
        at_once = WARP if width <= WORD else WARP * WORD // width
        total = least = 0
        for start in starts[:: max(1, len(starts) // 4)]:
            for first in range(0, len(threads), at_once):
                words = {
                    (x + start) // WORD + k for x in threads[first : first + at_once] for k in range(-(-width // WORD))
                }
                banks: dict[int, int] = {}
                for word in words:
                    banks[word % BANKS] = banks.get(word % BANKS, 0) + 1
                total += max(banks.values())
                least += 1
        return total / least


def make_image(
    work: Work, side: int, micro: list[Part], lanes: list[Part], even: int, masked: set[int], realign: bool
) -> Image:
    """The image of a tile; ``even`` divides the addresses where tiles begin, and some axes are ``masked``.

    With ``realign`` runs of small elements that begin anywhere in memory begin at vectors in the image.
    """
    unit = work.target_bytes if side else work.source_bytes
    moving = [part for part in (*micro, *lanes) if part.size > 1 and part.step(side)]
    run, rows = list[Part](), sorted(moving, key=lambda part: abs(part.step(side)))
    while rows and (not run or _follows(rows[0], run[-1], side, work)):
        if not run and abs(rows[0].step(side)) > 4 * unit:
            break
        # Runs that could go on are cut behind a line: only between them can there be room.
        free = side == 0 or not {part.axis for part in (*run, *rows)} & masked
        whole = abs(rows[0].step(side)) >= LINE and gcd(VECTOR, even, *[part.step(side) for part in rows]) == VECTOR
        if run and free and whole:
            break
        run.append(rows.pop(0))
    lowest = sum([(part.size - 1) * part.step(side) for part in run if part.step(side) < 0])
    length = sum([(part.size - 1) * abs(part.step(side)) for part in run]) + unit
    even = gcd(VECTOR, even, lowest, *[part.step(side) for part in rows])
    swizzle = work.target_swizzle if side else work.source_swizzle
    # It is worth a shift where threads then have wider accesses, or several runs that would be shifted apart.
    wide = gcd(VECTOR, lowest, *[part.step(side) for part in lanes if part in run]) > unit
    small = unit <= tuning.ACTIVE.max_realigned_bytes and (wide or any(part in rows for part in micro))
    realigned = realign and even < VECTOR and small and swizzle is None
    bare = Image(side, unit, tuple(run), (), lowest, length, even, 0, realigned)
    still = [(part, 0) for part in (*micro, *lanes) if part.size > 1 and not part.step(side)]
    options = [VECTOR * k for k in range(8)]
    pads: tuple[int, ...] = ()
    for _ in rows:
        tries = [(*pads, pad, *[0] * (len(rows) - len(pads) - 1)) for pad in options]
        best = min(tries, key=lambda each: (_pad_rows(bare, rows, still, each).turns(micro, lanes), sum(each)))
        pads = best[: len(pads) + 1]
    if len(rows) == 2 and _pad_rows(bare, rows, still, pads).turns(micro, lanes) > 1:
        pads = min(
            list(cartesian(options, options))[:MAX_TRIES],
            key=lambda each: (_pad_rows(bare, rows, still, each).turns(micro, lanes), sum(each)),
        )
    return _pad_rows(bare, rows, still, pads)


def _follows(part: Part, last: Part, side: int, work: Work) -> bool:
    """Whether a run goes on with a part; what is less than a sector behind it is read anyway."""
    gap = abs(part.step(side)) - last.behind(side, work.axes[last.axis])
    return gap == 0 or (side == 0 and 0 < gap < SECTOR)


def _pad_rows(bare: Image, rows: list[Part], still: list[tuple[Part, int]], pads: tuple[int, ...]) -> Image:
    """The image with so many bytes more in every step of the rows; no two runs have a vector in common."""
    room, steps = bare.length, []
    slack = 0 if bare.aligned else VECTOR - 1
    for part, pad in zip(rows, pads):
        rest = 0 if bare.aligned else part.step(bare.side) % VECTOR
        step = room + slack + (rest - room - slack) % VECTOR + pad
        steps.append((part, step))
        room += step * (part.size - 1)
    return bare._replace(rows=(*steps, *still), size=-(-(room + slack) // VECTOR) * VECTOR)


def offsets(parts: Sequence[Part], steps: list[int], most: int | None = None) -> list[int]:
    """The offset of every combination of the parts, the first one fastest; of the first ``most`` of them."""
    found = [0]
    for part, step in zip(parts, steps):
        count = part.size if most is None else min(part.size, -(-most // len(found)))
        found = [at + k * step for k in range(count) for at in found][:most]
    return found


def chunk_accesses(at: list[int], unit: int, even: int, whole: bool) -> tuple[int, list[int]]:
    """Elements as chunks of so many bytes, and where those begin: the widest that are used for the most part.

    With ``whole`` they have no other bytes at all. ``even`` divides what is added to the offsets.
    """
    size = len(set(at)) * unit
    for width in (16, 8, 4, 2):
        if even % width == 0 and width >= unit:
            starts = sorted({x // width * width for x in at})
            if len(starts) * width <= size * (1 if whole else 2) or (not whole and width == WORD):
                return width, starts
    return unit, sorted(set(at))
