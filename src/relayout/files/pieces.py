"""Blocks of a repack made from files: what they need is read piece by piece, to hold little memory at a time."""

from __future__ import annotations

from collections.abc import Iterator
from threading import local
from typing import TYPE_CHECKING, NamedTuple

from ..errors import LimitExceeded
from ..layout import Layout
from ..memory import fresh_bytes
from ..nested import product
from ..repack.blocks import Block, _part, _unit
from ..repack.copying import fill_range
from ..repack.places import element_range
from ..repack.plan import Plan, make_plan
from ..repack.program import carrier
from .entry import Entry
from .regions import Files

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OWN = 48 << 20
"""What Python, numpy and this package take themselves; the rest of the memory that is granted is for data."""

SMALL = 2 << 20
"""Blocks of so many bytes stay in the cache of a processor on their way."""

LEAST = 1 << 20
"""No thread does with fewer bytes."""

LONG_RUN = 4 << 10
"""Runs of so many bytes are read one by one rather than with all that is between them."""


class Room(NamedTuple):
    """How many bytes of a source and of a target a thread may hold."""

    source: int
    target: int

    @classmethod
    def of(cls, max_memory: int, jobs: int) -> Room:
        """The room of each of so many threads."""
        each = (max_memory - OWN) // jobs
        if each < 2 * LEAST:
            raise LimitExceeded(
                f"{max_memory} bytes of memory are too few for {jobs} jobs.",
                hint=f"give at least {(OWN + 2 * LEAST * jobs) >> 20} MiB, or fewer jobs",
                limit=max_memory,
            )
        return cls(each // 4, each - each // 4)

    def block_bytes(self, plan: Plan) -> int:
        """How large the blocks of a plan should be: small, unless they then read much that they do not need."""
        size = min(self.target, SMALL)
        while size < self.target:
            first = next((block for block in plan.blocks(size) if product(block.shape)), None)
            read = 0 if first is None else Region.of(first.source, plan.element.element.bits).places
            if first is None or 4 * read <= 5 * product(first.shape):
                break
            size = min(2 * size, self.target)
        return size


class Buffers(local):
    """Memory that a thread uses again and again, by name."""

    def __init__(self) -> None:
        self._held: dict[str, NDArray[np.uint8]] = {}

    def get(self, name: str, size: int) -> NDArray[np.uint8]:
        """Bytes that hold anything; those got by this name before are overwritten."""
        if name not in self._held or self._held[name].size < size:
            self._held.pop(name, None)
            self._held[name] = fresh_bytes(size, zeroed=False)
        return self._held[name][:size]


class Region(NamedTuple):
    """What is read for the elements of a layout: ``runs`` runs of ``length`` places, each ``step`` behind the last.

    ``dim`` is the dimension whose steps lead from one run to the next.
    """

    low: int
    length: int
    runs: int = 1
    step: int = 0
    dim: int = 0

    @property
    def places(self) -> int:
        """All places that are read."""
        return self.length * self.runs

    @classmethod
    def of(cls, layout: Layout, bits: int) -> Region:
        """The whole range of the elements, or the runs in it where they are long and far from each other."""
        low, high = element_range(layout)
        if bits % 8 == 0 and layout.swizzle is None and layout.size:
            modes = [layout._mode(d) for d in range(layout.rank)]
            step, dim = max(
                [(max(map(abs, m.strides)), d) for d, m in enumerate(modes) if m.extent > 1], default=(0, 0)
            )
            runs = modes[dim].extent if modes else 1
            length = high - low - (runs - 1) * step
            if runs > 1 and modes[dim].strides == (step,) and length * bits >= 8 * LONG_RUN and 2 * length <= step:
                return cls(low, length, runs, step, dim)
        low -= low % _unit(layout, bits)
        return cls(low, high - low)

    def local(self, layout: Layout) -> Layout:
        """The layout in memory that holds just what is read, run after run."""
        if self.runs > 1:
            _, stride, origin, _ = layout._parts()[self.dim]
            layout = layout._with_part(self.dim, (self.runs, self.length, 0, self.runs), origin * stride)
        return layout.with_offset(layout.offset - self.low)


class Loader(NamedTuple):
    """Makes blocks of plans whose source is a tensor of a file."""

    files: Files
    entry: Entry
    room: Room
    buffers: Buffers

    def load(self, block: Block, name: str = "target") -> NDArray[np.uint8]:
        """The bytes of the target in the range of the block."""
        plan, (low, high) = block.whole, block.target_range
        held, kind = plan.element.element, plan.dst_element.element
        size = -(-(high - low) * kind.bits // 8)
        if size > max(self.room.target, LEAST):
            raise LimitExceeded(
                f"tensor {self.entry.name!r}: a block that cannot be cut has {size} bytes, and there is memory for "
                f"{self.room.target}.",
                hint="give more memory, or fewer jobs",
                limit=self.room.target,
            )
        out = self.buffers.get(name, size)
        target = block.target.with_offset(block.target.offset - low)
        pieces = list(_pieces(block.source, target, block.index, self.room.source, held.bits))
        typed, fill = out.view(carrier(kind)), plan.fill
        if fill is not None and len(pieces) != 1:
            fill_range(typed, (0, high - low), kind, fill)
            fill = None
        for source, part, index in pieces:
            means = _part(plan.element, index, source.extents), _part(plan.dst_element, index, source.extents)
            region = Region.of(source, held.bits)
            run = make_plan(region.local(source), part, *means, fill, plan.threads)
            run(self._read(region, held.bits).view(carrier(held)), typed)
        return out

    def copied(self, low: int, size: int, name: str = "target") -> NDArray[np.uint8]:
        """Bytes of the tensor as they are stored."""
        data = self.buffers.get(name, size)
        self._fetch(low, data)
        return data

    def _read(self, region: Region, bits: int) -> NDArray[np.uint8]:
        data = self.buffers.get("source", -(-region.places * bits // 8))
        length = -(-region.length * bits // 8)
        for k in range(region.runs):
            self._fetch((region.low + k * region.step) * bits // 8, data[k * length : (k + 1) * length])
        return data

    def _fetch(self, low: int, out: NDArray[np.uint8]) -> None:
        if self.entry.inline is None:
            self.files.read(self.entry.segments, low, out)
        else:
            out.data[:] = self.entry.inline[low : low + out.size]


def _pieces(
    source: Layout, target: Layout, index: tuple[int, ...], most: int, bits: int
) -> Iterator[tuple[Layout, Layout, tuple[int, ...]]]:
    """The elements of two layouts, in parts for each of which at most so many bytes of the source are read.

    With each goes the index of its first element; ``index`` is that of the whole.
    """
    if Region.of(source, bits).places * bits <= 8 * most or source.size == 1:
        yield source, target, index
        return
    # Powers of two keep blocks whole.
    halves = [(d, 1 << ((n - 1).bit_length() - 1)) for d, n in enumerate(source.extents) if n > 1]
    dim, half = min(halves, key=lambda cut: Region.of(source.narrow(cut[0], 0, cut[1]), bits).places)
    for start, length in ((0, half), (half, source.extents[dim] - half)):
        moved = tuple([at + start * (d == dim) for d, at in enumerate(index)])
        yield from _pieces(source.narrow(dim, start, length), target.narrow(dim, start, length), moved, most, bits)
