"""The work of a repack in units: each reads a part of the source, and writes a part of the destination of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..repack.blocks import Block
from ..repack.copying import fill_range
from ..repack.places import box_range
from ..repack.program import carrier
from .changes import Change
from .entry import Segment
from .pieces import SMALL, Buffers, Loader, Room
from .regions import Files


class Unit(NamedTuple):
    """Bytes ``low`` to ``high`` of a new tensor: a block of its plan; or copied, or fill in front of all blocks."""

    change: Change
    segments: tuple[Segment, ...]
    low: int
    high: int
    block: Block | None = None

    @property
    def size(self) -> int:
        return self.high - self.low


def units(change: Change, segments: tuple[Segment, ...], room: Room) -> Iterator[Unit]:
    """All units of one tensor, always in the same order for the same room."""
    plan = change.plan
    size = sum([segment.size for segment in segments])
    if plan is None:
        yield from _chunks(change, segments, size, room)
        return
    bits = plan.dst_element.element.bits
    first = box_range(plan.target)[0] * bits // 8
    if first and plan.fill is not None and any(plan.fill):
        yield from _chunks(change, segments, first, room)
    for block in plan.blocks(room.block_bytes(plan)):
        low, high = block.target_range
        yield Unit(change, segments, low * bits // 8, -(-high * bits // 8), block)


def _chunks(change: Change, segments: tuple[Segment, ...], size: int, room: Room) -> Iterator[Unit]:
    step = min(SMALL, room.target)
    for low in range(0, size, step):
        yield Unit(change, segments, low, min(low + step, size))


class Worker(NamedTuple):
    """Does units, in any thread."""

    sources: Files
    targets: Files
    room: Room
    buffers: Buffers

    def do(self, unit: Unit) -> None:
        """Read, rearrange, write."""
        loader = Loader(self.sources, unit.change.entry, self.room, self.buffers)
        plan = unit.change.plan
        if unit.block is not None:
            data = loader.load(unit.block)
        elif plan is None:
            data = loader.copied(unit.low, unit.size)
        else:
            kind = plan.dst_element.element
            data = self.buffers.get("target", unit.size)
            fill_range(data.view(carrier(kind)), (0, unit.size * 8 // kind.bits), kind, plan.fill or b"")
        self.targets.write(unit.segments, unit.low, data)
