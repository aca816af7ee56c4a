"""The lines of a picture along one dimension: which positions are drawn, and where blocks begin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..algebra.composed import ComposedLayout
from ..integers.nested import product
from ..layout.layout import Layout
from ..layout.modes import Mode, digit_sum
from .scene import PaneAxis, StrideArrow


class Lines(NamedTuple):
    """The drawn positions ``start, start + step, ...`` of the box of one dimension.

    ``levels`` are the sizes of its blocks, smallest first. A position outside ``[origin, origin + extent)`` is no
    element. A line stands for ``chunk`` positions, each ``every`` after the one before, and shows the first.
    """

    dim: int
    mode: Mode
    levels: tuple[int, ...]
    start: int
    stop: int
    every: int = 1
    chunk: int = 1

    @property
    def step(self) -> int:
        return self.every * self.chunk

    @property
    def positions(self) -> range:
        return range(self.start, self.stop, self.step)

    @property
    def length(self) -> int:
        """How many positions are drawn; ``len`` has no answer for more than a machine word."""
        return max(0, -((self.start - self.stop) // self.step))

    @property
    def blocked(self) -> bool:
        """Whether the drawn positions are in more than one block."""
        return self.length > 0 and self.block_of(self.start) != self.block_of(self.positions[-1])

    @property
    def mixed(self) -> bool:
        """Whether a line stands for elements of several blocks."""
        return self.chunk > 1 and 0 < self.block < self.step

    @property
    def block(self) -> int:
        """The size of the largest blocks; 0 where there are none."""
        return self.levels[-1] if self.levels else 0

    def holds(self, position: int) -> bool:
        """Whether there is an element at a position."""
        return self.mode.origin <= position < self.mode.origin + self.mode.extent

    def block_of(self, position: int) -> int:
        return position // self.block if self.block else 0

    def value(self, position: int) -> Any:
        """What the position adds to the offset."""
        return digit_sum(self.mode.sizes, self.mode.strides, position)

    def drawn_at(self, coordinate: int) -> int | None:
        """The coordinate of the line that stands for this one; None where none does."""
        after = coordinate + self.mode.origin - self.start
        if after < 0 or after % self.every or coordinate + self.mode.origin >= self.stop:
            return None
        return coordinate - after % self.step

    def coarsen(self) -> Lines:
        """Lines of larger chunks, whole blocks if that is possible; chunks begin with an element."""
        whole = self.step < self.block and self.block % self.every == 0
        chunk = self.block // self.every if whole else 2 * self.chunk
        return self._replace(start=max(self.start, self.mode.origin), chunk=chunk)

    def crop(self, part: range) -> Lines:
        """Only the lines of these coordinates."""
        origin = self.mode.origin
        return self._replace(start=origin + part.start, stop=origin + part.stop, every=part.step)

    def axis(self, name: str, with_strides: bool = False) -> PaneAxis:
        places = self.positions
        labels = [str(p - self.mode.origin) if p >= self.mode.origin else "" for p in places]
        rules = [self._weight(p) for p in (*places, self.stop)]
        first = self.start - self.mode.origin
        strides = tuple(self._stride_arrows()) if with_strides else ()
        return PaneAxis(self.dim, name, tuple(labels), tuple(rules), first, self.step, strides)

    def _stride_arrows(self) -> Iterator[StrideArrow]:
        """For each nested mode the first drawn step along it; a mode without two drawn elements has none."""
        places, below = self.positions, 1
        for size, stride in zip(self.mode.sizes, self.mode.strides):
            for k, p in enumerate(places):
                after = p + below
                if p // below % size < size - 1 and after in places and self.holds(p) and self.holds(after):
                    sign = "" if isinstance(stride, int) and stride < 0 else "+"
                    yield StrideArrow(k, places.index(after), f"{sign}{stride}")
                    break
            below *= size

    def _weight(self, position: int) -> int:
        """How many kinds of blocks begin here, or after the line before."""
        before = position - self.step
        return sum(1 for level in self.levels if level > self.step and position // level != before // level)


def lines_along(layout: Layout | ComposedLayout, dim: int, padded: bool) -> Lines:
    """All of one dimension; where it is ``padded`` to whole blocks, with what the window leaves of them."""
    base = layout
    while isinstance(base, ComposedLayout):
        base = base.inner
    mode = base._mode(dim)
    levels = block_sizes(mode)
    start, stop = mode.origin, mode.origin + mode.extent
    if padded and mode.extent:
        block = levels[-1] if levels else product(mode.sizes)
        start -= start % block
        stop += -stop % block
    return Lines(dim, mode, levels, start, stop)


def block_sizes(mode: Mode) -> tuple[int, ...]:
    """The sizes of the blocks of a dimension, smallest first: nested modes are blocks, even if their strides merge."""
    sizes = [n for n in mode.sizes if n != 1]
    return tuple([product(tuple(sizes[: k + 1])) for k in range(len(sizes) - 1)])


NOTHING = PaneAxis(None, "", ("",), (0, 0))
"""The axis of a picture that has one line only, along no dimension."""
