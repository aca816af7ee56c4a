"""Which bytes of a file hold the elements of a layout: runs of one length, at the steps of nested loops."""

from __future__ import annotations

from typing import NamedTuple

from ...engine.blocks import single, unit_of
from ...engine.places import element_range
from ...layout.layout import Layout
from .. import tuning


class Loop(NamedTuple):
    """All values of a digit of a layout, and the places from one to the next."""

    step: int
    values: int
    dim: int
    digit: int


class Runs(NamedTuple):
    """Runs of ``length`` places: the first is at ``low``, the others at all sums of steps of the loops, slowest first.

    The memory that holds them has them one after another.
    """

    low: int
    length: int
    loops: tuple[Loop, ...] = ()

    @classmethod
    def of(cls, layout: Layout, bits: int, gap: int | None = None, finest: int = 0) -> Runs:
        """The runs of the elements, and up to ``gap`` places that are between two, by default what a call is worth.

        Only steps of at least ``finest`` lead from one run to another.
        """
        gap = tuning.ACTIVE.read_call_bytes * 8 // bits if gap is None else gap
        low, high = element_range(layout)
        low -= low % unit_of(layout, bits)
        length, loops = high - low, []
        if bits % 8 == 0 and layout.swizzle is None and layout.size:
            for loop in sorted(_loops(layout), reverse=True):
                inner = length - (loop.values - 1) * loop.step
                if loop.step < finest or loop.step - inner <= gap:
                    break
                loops.append(loop)
                length = inner
        return cls(low, length, tuple(loops))

    @property
    def number(self) -> int:
        """How many runs there are."""
        found = 1
        for loop in self.loops:
            found *= loop.values
        return found

    @property
    def places(self) -> int:
        """All places in runs."""
        return self.length * self.number

    def starts(self) -> list[int]:
        """Where the runs begin, counted from the first."""
        found = [0]
        for loop in self.loops:
            found = [start + k * loop.step for start in found for k in range(loop.values)]
        return found

    def local(self, layout: Layout) -> Layout:
        """The layout in the memory that holds the runs."""
        modes = [layout._mode(d) for d in range(layout.rank)]
        strides = [list(mode.strides) for mode in modes]
        step = self.length
        for loop in reversed(self.loops):
            strides[loop.dim][loop.digit] = step
            step *= loop.values
        return Layout._make(
            tuple([single(mode.sizes) for mode in modes]),
            tuple([single(tuple(found)) for found in strides]),
            layout.offset - self.low,
            layout._origin,
            layout._extents,
            layout.swizzle,
        )


def _loops(layout: Layout) -> list[Loop]:
    """The digits of modes that are used as a whole, forwards."""
    return [
        Loop(stride, n, d, k)
        for d in range(layout.rank)
        for mode in [layout._mode(d)]
        if not mode.windowed
        for k, (n, stride) in enumerate(zip(mode.sizes, mode.strides))
        if n > 1 and stride > 0
    ]
