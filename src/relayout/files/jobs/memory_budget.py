"""The memory that a thread may use while it repacks files, and the buffers that it uses again and again."""

from __future__ import annotations

from threading import local
from typing import TYPE_CHECKING, NamedTuple

from ...elements.memory import allocate_bytes
from ...errors import LimitExceeded
from .. import tuning

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class MemoryBudget(NamedTuple):
    """How many bytes of a source and of a target a thread may hold."""

    source: int
    target: int

    @classmethod
    def of(cls, max_memory: int, jobs: int, reserved: int = 0) -> MemoryBudget:
        """The budget of each of so many threads; ``reserved`` bytes are for other things than parts."""
        own, least = tuning.ACTIVE.process_bytes + reserved, tuning.ACTIVE.min_thread_bytes
        each = (max_memory - own) // jobs
        if each < 2 * least:
            raise LimitExceeded(
                f"{max_memory} bytes of memory are too few for {jobs} jobs.",
                hint=f"give at least {(own + 2 * least * jobs) >> 20} MiB, or fewer jobs",
                limit=max_memory,
            )
        return cls(each // 2, each - each // 2)

    def threads_within(self, max_memory: int) -> int:
        """How many threads with this budget that memory has room for; none is refused."""
        own, each = tuning.ACTIVE.process_bytes, self.source + self.target
        room = (max_memory - own) // each
        if room < 1:
            raise LimitExceeded(
                f"{max_memory} bytes of memory are too few for a run whose parts were cut for {each} bytes.",
                hint=f"give at least {-(-(own + each) >> 20)} MiB, or start again with force",
                limit=max_memory,
            )
        return room


class ThreadBuffers(local):
    """Memory that a thread uses again and again, by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, NDArray[np.uint8]] = {}

    def get(self, name: str, size: int) -> NDArray[np.uint8]:
        """Bytes that hold anything; those got by this name before are overwritten."""
        if name not in self._by_name or self._by_name[name].size < size:
            self._by_name.pop(name, None)
            self._by_name[name] = allocate_bytes(size, zeroed=False)
        return self._by_name[name][:size]
