"""Block tables: a virtual address picks a block from the table, and the rest of it the place in the block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import OutOfBounds, ShapeError
from ..immutable import Immutable
from ..integers.inttuple import as_int
from ..integers.nested import product

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..elements.memory import Memory


LIMIT = 1 << 60
"""No buffer has more elements."""

MAX_BLOCKS = 1 << 32
"""No table has more blocks."""


class BlockTable(Immutable):
    """Where each block begins: its first element, and the buffer that it is in.

    The virtual address ``v`` is element ``starts[v // elements] + v % elements`` of buffer
    ``buffers[v // elements]``. ``shape`` is that of a block in memory, row-major. Blocks may share memory; such blocks
    are read-only. The arrays cannot be written, and those given are copied.
    """

    __slots__ = ("_bits", "_shares", "_start", "_used", "buffers", "elements", "shape", "shared", "starts")
    starts: NDArray[np.int64]
    buffers: NDArray[np.int64]
    shape: tuple[int, ...]
    elements: int
    shared: NDArray[np.bool_]
    """For each entry, whether another one has some of its elements."""
    _bits: int | None
    _start: tuple[int, int] | tuple[()] | None
    """``start`` once it was asked for, empty where there is none."""
    _shares: bool | None
    """``shares`` once it was asked for."""
    _used: tuple[int, ...] | None
    """``used`` once it was asked for."""

    def __init__(self, starts: Any, shape: int | Sequence[int], buffers: Any = None) -> None:
        sizes = _block_shape(shape)
        first = _block_integers(starts, "starts")
        held = _block_integers([0] * first.size if buffers is None else buffers, "buffers")
        if held.shape != first.shape:
            raise ShapeError(
                f"a table of {first.size} starts and {held.size} buffers, with blocks of {sizes}.",
                hint="one buffer for every start",
                starts=starts,
                shape=sizes,
            )
        self._set(first, held, sizes, None, _find_overlaps(held, first, product(sizes)))

    def _set(
        self,
        starts: NDArray[np.int64],
        buffers: NDArray[np.int64],
        shape: tuple[int, ...],
        bits: int | None,
        shared: NDArray[np.bool_],
        start: tuple[int, int] | tuple[()] | None = None,
    ) -> BlockTable:
        for array in (starts, buffers, shared):
            array.setflags(write=False)
        for name, value in (
            ("starts", starts),
            ("buffers", buffers),
            ("shared", shared),
            ("shape", shape),
            ("elements", product(shape)),
            ("_bits", bits),
            ("_start", start),
            ("_shares", None),
            ("_used", None),
        ):
            object.__setattr__(self, name, value)
        return self

    @classmethod
    def consecutive(cls, count: int, shape: int | Sequence[int]) -> BlockTable:
        """Blocks that follow each other in one buffer."""
        import numpy as np

        number, sizes = as_int(count, "count"), _block_shape(shape)
        elements = product(sizes)
        if not 0 <= number * elements <= LIMIT or number > MAX_BLOCKS:
            raise ShapeError(f"there are no {number} blocks of {sizes} in one buffer.", hint="count from 0 on")
        starts = np.arange(number, dtype=np.int64) * elements
        return _new()._set(starts, np.zeros(number, np.int64), sizes, None, np.zeros(number, bool))

    @property
    def count(self) -> int:
        return int(self.starts.size)

    @property
    def bytes(self) -> int:
        """The bytes of one block, known once the table belongs to a tensor."""
        if self._bits is None:
            raise ShapeError("a table counts elements.", hint="ask that of a tensor: t.blocks.bytes", table=self)
        return -(-self.elements * self._bits // 8)

    @property
    def start(self) -> tuple[int, int] | None:
        """The buffer and the first element of blocks that follow each other; None if they do not."""
        import numpy as np

        if self._start is None:
            scattered = (np.diff(self.starts) != self.elements).any() or np.diff(self.buffers).any()
            found = () if scattered or not self.count else (int(self.buffers[0]), int(self.starts[0]))
            object.__setattr__(self, "_start", found)
        return self._start or None

    @property
    def shares(self) -> bool:
        """Whether an entry has some of the elements of another one."""
        if self._shares is None:
            object.__setattr__(self, "_shares", bool(self.shared.any()))
        return bool(self._shares)

    @property
    def used(self) -> tuple[int, ...]:
        """The buffers that blocks are in."""
        if self._used is None:
            object.__setattr__(self, "_used", tuple(sorted(set(self.buffers.tolist()))))
        return self._used or ()

    def address(self, v: Any) -> tuple[Any, Any]:
        """The buffer and the element of a virtual address, or of an array of them, known to be inside."""
        block, place = divmod(v, self.elements)
        return self.buffers[block], self.starts[block] + place

    def bound(self, memories: Sequence[Memory]) -> BlockTable:
        """The table of these memories; refused where a block leaves them. Memories may overlap each other."""
        import numpy as np

        bits = memories[0].element.bits
        if self.start is not None:
            buffer, first = self.start
            if buffer < len(memories) and first + self.count * self.elements <= memories[buffer].count:
                apart = np.zeros(self.count, bool)
                return _new()._set(self.starts, self.buffers, self.shape, bits, apart, self.start)
        counts = np.array([m.count for m in memories], np.int64)
        foreign = self.buffers >= len(memories)
        if foreign.any():
            k = int(foreign.argmax())
            raise OutOfBounds(
                f"entry {k} of the table names buffer {self.buffers[k]} of {len(memories)}.",
                hint="number the buffers from 0",
                entry=k,
            )
        outside = self.starts > counts[self.buffers] - self.elements
        if outside.any():
            k = int(outside.argmax())
            first = int(self.starts[k])
            raise OutOfBounds(
                f"entry {k} of the table uses the elements {first} to {first + self.elements - 1} of a buffer of "
                f"{counts[self.buffers[k]]}.",
                hint="keep every block inside its buffer",
                entry=k,
            )
        bases = np.array([m.bytes.ctypes.data for m in memories], np.int64)
        places = bases[self.buffers] * 8 + self.starts * bits
        shared = _find_overlaps(np.zeros_like(places), places, self.elements * bits)
        return _new()._set(self.starts, self.buffers, self.shape, bits, shared)

    def entries(self, numbers: NDArray[np.int64]) -> BlockTable:
        """The table of these entries, in this order; what was shared stays shared."""
        starts, buffers, shared = self.starts[numbers], self.buffers[numbers], self.shared[numbers]
        if self.start is None or not (numbers[1:] > numbers[:-1]).all():
            shared = shared | _find_overlaps(buffers, starts, self.elements)
            return _new()._set(starts, buffers, self.shape, self._bits, shared)
        # Of blocks that follow each other no two overlap, and others do where no number is left out.
        gaps = not numbers.size or int(numbers[-1]) - int(numbers[0]) >= numbers.size
        start = () if gaps else (int(buffers[0]), int(starts[0]))
        return _new()._set(starts, buffers, self.shape, self._bits, shared, start)

    def first(self, count: int) -> BlockTable:
        """The table of the first ``count`` entries, with what is known of each."""
        parts = (self.starts[:count], self.buffers[:count], self.shape, self._bits, self.shared[:count])
        return _new()._set(*parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_table, (self.starts, self.buffers, self.shape, self._bits, self.shared)

    def __repr__(self) -> str:
        return f"<{self.count} block{'s' * (self.count != 1)} of {'x'.join(map(str, self.shape)) or 1}>"


def _block_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    """The shape of a block, which has at least one element and fits into memory."""
    listed = isinstance(shape, Sequence) and not isinstance(shape, str)
    sizes = tuple([as_int(n, "block shape") for n in (shape if listed else (shape,))])  # type: ignore[union-attr]
    if min(sizes, default=1) < 1 or product(sizes) > LIMIT:
        raise ShapeError(
            f"there are no blocks of {sizes}.",
            hint="blocks have at least one element, and fit into memory",
            shape=sizes,
        )
    return sizes


def _find_overlaps(buffers: NDArray[np.int64], starts: NDArray[np.int64], length: int) -> NDArray[np.bool_]:
    """Which ranges of one length have elements in common with another one of the same buffer."""
    import numpy as np

    order = np.lexsort((starts, buffers))
    close = (np.diff(starts[order]) < length) & (np.diff(buffers[order]) == 0)
    shared = np.zeros(starts.shape, bool)
    shared[order[1:]] |= close
    shared[order[:-1]] |= close
    return shared


def _new() -> BlockTable:
    return BlockTable.__new__(BlockTable)


def _rebuild_table(starts: Any, buffers: Any, shape: tuple[int, ...], bits: int | None, shared: Any) -> BlockTable:
    return _new()._set(starts, buffers, shape, bits, shared)


def _block_integers(x: Any, what: str) -> NDArray[np.int64]:
    """A copy of one integer for each block."""
    import numpy as np

    if not isinstance(x, np.ndarray) or (x.dtype.kind not in "iu" and x.ndim == 1):
        x = np.array([as_int(e, what) for e in (x if hasattr(x, "__iter__") else [x])], object)
    if x.ndim != 1 or (x.size and x.dtype.kind not in "iuO"):
        raise ShapeError(
            f"{what} of a block table are one for each block; got an array of shape {x.shape}.",
            hint="pass a list of integers",
            got=x,
        )
    if x.size and not 0 <= x.min() <= x.max() <= LIMIT:
        raise OutOfBounds(
            f"{what} of a block table are outside 0 to {LIMIT}: {x.min()} to {x.max()}.",
            hint="starts and buffers count from 0",
            got=x,
        )
    numbers: NDArray[np.int64] = x.astype(np.int64)
    return numbers
