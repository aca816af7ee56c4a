"""Which bytes of a file hold the elements of a layout: runs of one length, at the steps of nested loops."""

from __future__ import annotations

from typing import NamedTuple

from ...engine.digits import LayoutDigit, alignment_unit, as_mode, digits_of
from ...engine.places import element_range
from ...integers.nested import product
from ...layout.layout import Layout
from .. import tuning


class Runs(NamedTuple):
    """Runs of ``length`` places: the first is at ``low``, the others at all sums of steps of digits, slowest first.

    The memory that holds them has them one after another.
    """

    low: int
    length: int
    loops: tuple[LayoutDigit, ...] = ()

    @classmethod
    def of(cls, layout: Layout, bits: int, gap: int | None = None, finest: int = 0) -> Runs:
        """The runs of the elements, and up to ``gap`` places that are between two, by default what a call is worth.

        Only steps of at least ``finest`` lead from one run to another.
        """
        gap = tuning.ACTIVE.read_call_bytes * 8 // bits if gap is None else gap
        low, high = element_range(layout)
        low -= low % alignment_unit(layout, bits)
        length, loops = high - low, []
        if bits % 8 == 0 and layout.swizzle is None and layout.size:
            whole = [digit for digit in digits_of(layout) if digit.stride > 0 and not layout._mode(digit.dim).windowed]
            for digit in sorted(whole, key=lambda x: (x.stride, x.size, x.dim, x.index), reverse=True):
                inner = length - (digit.size - 1) * digit.stride
                if digit.stride < finest or digit.stride - inner <= gap:
                    break
                loops.append(digit)
                length = inner
        return cls(low, length, tuple(loops))

    @property
    def number(self) -> int:
        """How many runs there are."""
        return product(tuple([digit.size for digit in self.loops]))

    @property
    def places(self) -> int:
        """All places in runs."""
        return self.length * self.number

    def read_cost(self, bits: int) -> int:
        """What reading them takes, in bytes that could be moved instead."""
        return self.places * bits // 8 + tuning.ACTIVE.read_call_bytes * self.number

    def starts(self) -> list[int]:
        """Where the runs begin, counted from the first."""
        found = [0]
        for digit in self.loops:
            found = [start + k * digit.stride for start in found for k in range(digit.size)]
        return found

    def local(self, layout: Layout) -> Layout:
        """The layout in the memory that holds the runs."""
        modes = [layout._mode(d) for d in range(layout.rank)]
        strides = [list(mode.strides) for mode in modes]
        step = self.length
        for digit in reversed(self.loops):
            strides[digit.dim][digit.index] = step
            step *= digit.size
        return Layout._make(
            tuple([as_mode(mode.sizes) for mode in modes]),
            tuple([as_mode(tuple(found)) for found in strides]),
            layout.offset - self.low,
            layout._origin,
            layout._extents,
            layout.swizzle,
        )
