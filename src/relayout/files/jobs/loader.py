"""Parts of tensors made from files: what they need is read run by run, to hold little memory at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...engine.blocks import Block, error_in_whole
from ...engine.cpu.flat import fill_range
from ...engine.cpu.program import buffer_dtype
from ...errors import LimitExceeded, NotExpressible
from .. import tuning
from ..contents import StoredTensor
from ..file_pool import FilePool
from .memory_budget import ThreadBuffers
from .tiles import Tiling

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class LoadedPart(NamedTuple):
    """Bytes of a target, and where they belong: runs of one length, and where each begins."""

    starts: Sequence[int]
    data: NDArray[np.uint8]


class Loader(NamedTuple):
    """Makes parts of plans whose source is a tensor of a file."""

    files: FilePool
    entry: StoredTensor
    buffers: ThreadBuffers

    def load(self, tiling: Tiling, block: Block, name: str = "target") -> LoadedPart:
        """A part of the target."""
        plan, (recipe, source, target) = tiling.plan, tiling.recipe(block)
        source_element, element = plan.element.element, plan.dst_element.element
        size = -(-recipe.places * element.bits // 8)
        if size > max(tiling.budget.target, tuning.ACTIVE.min_thread_bytes):
            raise LimitExceeded(
                f"tensor {self.entry.name!r}: a block that cannot be cut has {size} bytes, and there is memory for "
                f"{tiling.budget.target}.",
                hint="give more memory, or fewer jobs",
                limit=tiling.budget.target,
            )
        out = self.buffers.get(name, size)
        dtype = buffer_dtype(element)
        if recipe.fill is not None:
            fill_range(out.view(dtype), (0, recipe.places), element, recipe.fill)
        for step in recipe.steps:
            data = self.buffers.get("source", step.size)
            self.files.read_tensor(self.entry, [source + start for start in step.starts], data)
            try:
                step.plan(data.view(buffer_dtype(source_element)), out[step.place :].view(dtype))
            except NotExpressible as error:
                raise error_in_whole(error, [n + k for n, k in zip(block.index, step.first)]) from None
        return LoadedPart([target + start for start in recipe.starts], out)

    def load_bytes(self, low: int, size: int) -> LoadedPart:
        """Bytes of the tensor as they are stored."""
        data = self.buffers.get("target", size)
        self.files.read_tensor(self.entry, [low], data)
        return LoadedPart([low], data)
