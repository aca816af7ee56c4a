"""The work of a repack in units: each reads a part of the source, and writes a part of the destination of its own."""

from __future__ import annotations

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


class TensorUnits:
    """The units of one tensor by their numbers, always the same for the same budget; nothing is listed."""

    def __init__(self, change: TensorChange, segments: tuple[Segment, ...], budget: MemoryBudget) -> None:
        self.change, self.segments = change, segments
        self._tiling: Tiling | None = None
        plan = change.plan
        self._bytes = sum([segment.size for segment in segments])
        self._step = min(tuning.ACTIVE.part_bytes, budget.target)
        if change.records is not None:
            group = change.records.group_bytes
            # A group of rows is held three times: as read, its fields, and as written.
            self._step = max(1, budget.target // 3 // group) * group
        elif plan is not None and not _is_identity(plan):
            first = box_range(plan.target)[0] * plan.dst_element.element.bits // 8
            self._bytes = first if plan.fill is not None and any(plan.fill) else 0
            (self._tiling,) = tile_plans([plan], budget)
        self._byte_units = -(-self._bytes // self._step)

    def __len__(self) -> int:
        return self._byte_units + (0 if self._tiling is None else self._tiling.number)

    def __getitem__(self, number: int) -> WorkUnit | None:
        """The unit of that number; None if it has nothing to do."""
        if number < self._byte_units:
            low = number * self._step
            return WorkUnit(self.change, self.segments, low, min(self._step, self._bytes - low))
        tiling = self._tiling
        if tiling is None or number >= len(self):
            raise IndexError(number)
        block = tiling.part(number - self._byte_units)
        if block is None:
            return None
        places = block.target.padded_size if tiling.finest else block.target_range[1] - block.target_range[0]
        size = -(-places * tiling.plan.dst_element.element.bits // 8)
        return WorkUnit(self.change, self.segments, 0, size, tiling, block)


def _is_identity(plan: Plan) -> bool:
    """Whether it leaves every byte where it was."""
    target = plan.target
    return plan.source == target and plan.element == plan.dst_element and target.size == target.storage_size


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
