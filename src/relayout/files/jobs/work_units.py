"""The work of a repack in units: each reads a part of the source, and writes a part of the destination of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...engine.blocks import Block
from ...engine.cpu.flat import fill_range
from ...engine.cpu.program import buffer_dtype
from ...engine.places import box_range
from ...engine.plan import Plan
from ...errors import NotExpressible
from .. import tuning
from ..contents import Segment, with_tensor
from ..file_pool import FilePool
from .changes import TensorChange
from .loader import LoadedPart, Loader
from .memory_budget import MemoryBudget, ThreadBuffers
from .tiles import Tiling, tile_plans


class WorkUnit(NamedTuple):
    """A part of a new tensor: a block of its plan, or the bytes ``low`` to ``low + size``, copied or filled."""

    change: TensorChange
    segments: tuple[Segment, ...]
    low: int
    size: int
    tiling: Tiling | None = None
    block: Block | None = None


def work_units(change: TensorChange, segments: tuple[Segment, ...], budget: MemoryBudget) -> Iterator[WorkUnit]:
    """All units of one tensor, always in the same order for the same budget."""
    plan = change.plan
    size = sum([segment.size for segment in segments])
    if change.records is not None:
        group = change.records.group_bytes
        # A group of rows is held three times: as read, its fields, and as written.
        yield from _byte_units(change, segments, size, max(1, budget.target // 3 // group) * group)
        return
    if plan is None or _is_identity(plan):
        yield from _byte_units(change, segments, size, budget.target)
        return
    bits = plan.dst_element.element.bits
    first = box_range(plan.target)[0] * bits // 8
    if first and plan.fill is not None and any(plan.fill):
        yield from _byte_units(change, segments, first, budget.target)
    (tiling,) = tile_plans([plan], budget)
    for block in tiling:
        places = block.target.padded_size if tiling.finest else block.target_range[1] - block.target_range[0]
        yield WorkUnit(change, segments, 0, -(-places * bits // 8), tiling, block)


def _is_identity(plan: Plan) -> bool:
    """Whether it leaves every byte where it was."""
    target = plan.target
    return plan.source == target and plan.element == plan.dst_element and target.size == target.storage_size


def _byte_units(change: TensorChange, segments: tuple[Segment, ...], size: int, most: int) -> Iterator[WorkUnit]:
    step = most if change.records is not None else min(tuning.ACTIVE.part_bytes, most)
    for low in range(0, size, step):
        yield WorkUnit(change, segments, low, min(step, size - low))


class Worker(NamedTuple):
    """Does units, in any thread."""

    sources: FilePool
    targets: FilePool
    buffers: ThreadBuffers

    def run(self, unit: WorkUnit) -> None:
        """Read, rearrange, write."""
        loader = Loader(self.sources, unit.change.entry, self.buffers)
        plan = unit.change.plan
        if unit.tiling is not None and unit.block is not None:
            try:
                made = loader.load(unit.tiling, unit.block)
            except NotExpressible as error:
                raise with_tensor(error, unit.change.entry.name) from None
        elif unit.change.records is not None:
            found = loader.load_bytes(unit.low, unit.size)
            made = found._replace(data=unit.change.records.convert(found.data))
        elif plan is None or _is_identity(plan):
            made = loader.load_bytes(unit.low, unit.size)
        else:
            kind = plan.dst_element.element
            made = LoadedPart([unit.low], self.buffers.get("target", unit.size))
            fill_range(made.data.view(buffer_dtype(kind)), (0, unit.size * 8 // kind.bits), kind, plan.fill or b"")
        self.targets.write(unit.segments, made.starts, made.data)
