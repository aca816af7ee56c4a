"""Block tables: a virtual address picks a block from the table, and the rest of it the place in the block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .errors import OutOfBounds, ShapeError
from .inttuple import as_int
from .nested import product

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class BlockTable:
    """Where each block begins: which buffer it is in, and its first element there.

    The virtual address ``v`` is element ``starts[v // elements] + v % elements`` of buffer
    ``buffers[v // elements]``. Several entries may name the same block; such a tensor is read-only.
    """

    __slots__ = ("buffers", "elements", "shape", "starts")
    starts: NDArray[np.int64]
    buffers: NDArray[np.int64]
    elements: int
    shape: tuple[int, ...]

    def __init__(self, starts: Any, shape: int | Sequence[int], buffers: Any = None) -> None:
        import numpy as np

        self.shape = tuple([as_int(n, "block shape") for n in ((shape,) if isinstance(shape, int) else shape)])
        self.elements = product(self.shape)
        self.starts = _integers(starts, "starts")
        self.buffers = np.zeros_like(self.starts) if buffers is None else _integers(buffers, "buffers")
        if self.elements < 1 or self.buffers.shape != self.starts.shape:
            raise ShapeError(
                f"a table of {self.starts.size} starts and {self.buffers.size} buffers, with blocks of {self.shape}.",
                hint="one buffer for every start, and blocks of at least one element",
                starts=starts,
                shape=self.shape,
            )

    @classmethod
    def consecutive(cls, count: int, shape: int | Sequence[int]) -> BlockTable:
        """Blocks that follow each other in one buffer."""
        import numpy as np

        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        return cls(np.arange(count, dtype=np.int64) * product(sizes), sizes)

    @property
    def count(self) -> int:
        return int(self.starts.size)

    @property
    def shared(self) -> bool:
        """Whether two entries have elements in common."""
        import numpy as np

        order = np.lexsort((self.starts, self.buffers))
        starts, buffers = self.starts[order], self.buffers[order]
        return bool(((np.diff(starts) < self.elements) & (np.diff(buffers) == 0)).any())

    def check(self, counts: Sequence[int]) -> None:
        """Refuse a table that leaves buffers of so many elements."""
        for k, (start, buffer) in enumerate(zip(self.starts.tolist(), self.buffers.tolist())):
            if not 0 <= buffer < len(counts):
                raise OutOfBounds(
                    f"entry {k} of the table names buffer {buffer} of {len(counts)}.",
                    hint="number the buffers from 0",
                    entry=k,
                )
            if start < 0 or start + self.elements > counts[buffer]:
                raise OutOfBounds(
                    f"entry {k} of the table uses the elements {start} to {start + self.elements - 1} of a buffer of "
                    f"{counts[buffer]}.",
                    hint="keep every block inside its buffer",
                    entry=k,
                )

    def address(self, v: Any) -> tuple[Any, Any]:
        """The buffer and the element of a virtual address, or of an array of them."""
        block, place = divmod(v, self.elements)
        return self.buffers[block], self.starts[block] + place

    def __getitem__(self, entries: Any) -> BlockTable:
        """The table of these entries, in this order."""
        return BlockTable(self.starts[entries].reshape(-1), self.shape, self.buffers[entries].reshape(-1))

    def __repr__(self) -> str:
        return f"<{self.count} blocks of {self.shape}>"


def _integers(x: Any, what: str) -> NDArray[np.int64]:
    import numpy as np

    array = np.asarray(x)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ShapeError(
            f"{what} of a block table are integers, one for each block; got {array.dtype} of shape {array.shape}.",
            hint="pass a list of integers",
            got=x,
        )
    limit = np.iinfo(np.int64).max
    if array.size and (int(array.max()) > limit):
        raise OutOfBounds(f"{what} of a block table go up to {limit}.", hint="no buffer is that long", got=x)
    return array.astype(np.int64)
