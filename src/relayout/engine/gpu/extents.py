"""How many steps of each digit a tile has: whole runs of both sides, and then what is nearest."""

from __future__ import annotations

from math import prod

from .. import tuning
from .geometry import SOURCE, TARGET, DigitKey, WorkGeometry
from .shared_memory import Part

MANY_TILES = 8
"""A rest at the end of so many tiles wastes less than tiles that are larger than wanted, or runs that are shorter."""


class Extents(WorkGeometry):
    """The steps of a tile along every digit."""

    def extents(self, micro: dict[DigitKey, int], wanted: tuple[int, int], room: int) -> dict[DigitKey, int]:
        """How many steps of each digit a tile has: runs of so many bytes, and then what is nearest on both sides.

        It has about as many bytes as there is room for, up to half as many more.
        """
        extents = {key: micro.get(key, 1) for key in self.digits}
        for side in (SOURCE, TARGET):
            self.grow(side, extents, micro, -(-wanted[side] // self.bytes[side]))
        left = [key for key in self.digits if extents[key] < self.digits[key].steps]
        together = self.grow(SOURCE, extents, micro, 0) == prod(extents.values())
        enough = tuning.ACTIVE.run_tile_bytes if together and not self.converts else room
        while left and prod(extents.values()) * max(self.bytes) * 4 <= enough * 3:
            key = min(left, key=lambda key: self.reach(key) * extents[key])
            before = extents[key]
            extents[key] = self.choose_steps(key, 2 * before, micro.get(key, 1))
            if prod(extents.values()) * max(self.bytes) * 2 > room * 3:
                extents[key] = before
                left.remove(key)
            elif extents[key] >= self.digits[key].steps:
                left.remove(key)
        return extents

    def reach(self, key: DigitKey) -> int:
        """How far a step moves, on the side where that is more: tiles stay within few pages of memory."""
        return max([abs(self.stride(key, side)) * self.bytes[side] for side in (SOURCE, TARGET)])

    def grow(self, side: int, extents: dict[DigitKey, int], micro: dict[DigitKey, int], wanted: int) -> int:
        """Make the runs of one side at least so many elements long, where they can be; tells how long they are."""
        run, seen = self.units[side], set[DigitKey]()
        while True:
            key = self.next_in_run(side, run, seen)
            if key is None:
                return run
            seen.add(key)
            need = -(-wanted // run)
            if need > extents[key]:
                extents[key] = self.choose_steps(key, need, micro.get(key, 1))
            axis, taken = self.work.axes[key.axis], extents[key]
            run = self.parts(key, [taken])[0].behind(side, axis) // self.bytes[side]
            if taken < self.digits[key].steps:
                return run

    def choose_steps(self, key: DigitKey, wanted: int, unit: int) -> int:
        """About so many steps of a digit, a multiple of ``unit``: all, a divisor, or a part that leaves a rest."""
        size = self.digits[key].steps
        if size <= wanted or (size <= 1.5 * wanted and size % unit == 0):
            return -(-size // unit) * unit
        options = range(-(-wanted // unit) * unit, max(2 * wanted, wanted + unit), unit)
        if self.is_top(key) and size >= MANY_TILES * options.start:
            return options.start
        even = [n for n in options if size % n == 0]
        if even:
            return even[0]
        if self.is_top(key):
            # What a rest wastes, in sixteenths, counts more than the size.
            return min(options, key=lambda n: ((-(-size // n) * n - size) * 16 // size, n))
        larger = range(options.start, min(size, tuning.ACTIVE.max_step_excess * wanted), unit)
        return next((n for n in larger if size % n == 0), size)

    def parts(self, key: DigitKey, sizes: list[int]) -> list[Part]:
        """Consecutive ranges of one digit."""
        place = prod([d.steps for d in self.work.axes[key.axis].digits[: key.digit]])
        step, found = 1, []
        _, s, t = self.digits[key]
        for size in sizes:
            found.append(Part(key.axis, place * step, size, s * step * self.bytes[0], t * step * self.bytes[1]))
            step *= size
        return found
