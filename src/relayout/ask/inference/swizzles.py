"""Which swizzles could a table have? Looked for on a sample of its rectangles and stretches of its lines.

Without its swizzle a table is a sum of lines: the four corners of any rectangle cancel, and every stretch of a line is
a mode. A swizzle that fails this anywhere on the sample is out; the caller checks the others on the whole table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...layout.swizzle import Swizzle
from .lines import fitting_prefix, mode_of
from .relations import LineSum, hub, line_through

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RECTANGLES = 1 << 11
"""How many rectangles are looked at. More rule out more swizzles before the whole table is, and cost every swizzle."""

STARS = 1 << 8
"""How many entries are compared with the lines through the centre; what more of them trade is said above."""

STRETCHES = (32, 256, 2048, 16384)
"""The lengths of the stretches: short ones are tried first, since most swizzles break even those."""


class Sample:
    """Corners of known rectangles, and stretches of known lines, spread over a table."""

    def __init__(self, table: NDArray[np.int64], known: NDArray[np.bool_]) -> None:
        values = table[known]
        low, high = int(values.min()), int(values.max())
        bits = max(-low, high).bit_length()
        # All bits above a negative number are set, so a swizzle may read them and still change the bits below.
        self.bits = bits if low >= 0 else min(2 * bits + 2, 60)
        self.corners = _corners(table, known)
        centre = hub(known)
        self.stars = None if centre is None else _stars(table, known, centre)
        self.stretches = [] if centre is None else _stretches(table, centre)
        self.nearest: Swizzle | None = None

    def candidates(self) -> Iterator[Swizzle]:
        """The swizzles that nothing in the sample speaks against, fewest bits first.

        Once all are tried, ``nearest`` is the one that fewest rectangles speak against; None if that is no swizzle.
        """
        fewest = self._broken_rectangles(None)
        for swizzle in _swizzles(self.bits):
            broken = self._broken_rectangles(swizzle)
            if broken < fewest:
                fewest, self.nearest = broken, swizzle
            if broken or not self._stars_agree(swizzle):
                continue
            if all(mode_of(swizzle(stretch)) is not None for stretch in self.stretches):
                yield swizzle

    def _stars_agree(self, swizzle: Swizzle) -> bool:
        """Whether the entries that were no sums of their lines are sums without the swizzle."""
        if self.stars is None:
            return True
        values = swizzle(self.stars)
        centre, entries, lines = values[0], values[1], values[2:]
        return bool((entries - centre == (lines - centre).sum(axis=0)).all())

    def _broken_rectangles(self, swizzle: Swizzle | None) -> int:
        a, b, c, d = self.corners if swizzle is None else swizzle(self.corners)
        return int((a - b != c - d).sum())


def _swizzles(bits: int) -> Iterator[Swizzle]:
    """Every swizzle that reads bits below ``bits`` and could undo another; the rest have the same effect as these.

    With a positive shift the bits that are read stay, so they are all below. With a negative one a bit may be moved
    up to where it just outweighs the table.
    """
    for count in range(1, bits + 1):
        for shift in range(count, bits):
            yield from (Swizzle(count, base, shift) for base in range(bits - shift - count + 1))
        for shift in range(count, bits + 2):
            yield from (Swizzle(count, base, -shift) for base in range(min(bits - count, bits + 1 - shift) + 1))


def _corners(table: NDArray[np.int64], known: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The values at the four corners of known rectangles, one side along one dimension: an array of four rows."""
    import numpy as np

    random = np.random.default_rng(0)
    long = [d for d, n in enumerate(table.shape) if n > 1]
    if len(long) < 2:
        return np.zeros((4, 0), np.int64)
    here, there = (np.stack([random.integers(0, n, RECTANGLES) for n in table.shape]) for _ in range(2))
    side = random.choice(long, RECTANGLES)
    mine = np.arange(table.ndim)[:, None] == side
    places = [here, np.where(mine, there, here), np.where(mine, here, there), there]
    seen = np.logical_and.reduce([known[tuple(p)] for p in places])
    return np.stack([table[tuple(p)][seen] for p in places])


def _stars(table: NDArray[np.int64], known: NDArray[np.bool_], centre: tuple[int, ...]) -> NDArray[np.int64]:
    """The centre, some entries that are not the sum of its lines, and what each of its lines has for them: in rows."""
    import numpy as np

    lines = [line_through(table, centre, d) for d in range(table.ndim)]
    expected = LineSum(int(table[centre]), tuple([line - table[centre] for line in lines])).table()
    wrong = np.flatnonzero((expected != table) & known)
    where = np.unravel_index(wrong[:: max(1, wrong.size // STARS)], table.shape)
    entries = table[where]
    return np.stack([np.full(entries.size, table[centre]), entries, *[line[x] for line, x in zip(lines, where)]])


def _stretches(table: NDArray[np.int64], centre: tuple[int, ...]) -> list[NDArray[np.int64]]:
    """Parts of the lines through the centre, short ones first: their beginnings, and around where they break."""
    found = []
    for d in range(table.ndim):
        line = line_through(table, centre, d)
        broken = fitting_prefix(line) if mode_of(line) is None else 0
        for reach in STRETCHES:
            found += [line[:reach], line[max(0, broken - reach) : broken + reach]]
    return sorted([s for s in found if s.size > 2], key=len)
