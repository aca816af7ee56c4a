"""Block tables: a virtual address picks a block from the table, and the rest of it the place in the block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import OutOfBounds, ShapeError
from ..immutable import Immutable
from ..integers.inttuple import as_int
from ..integers.nested import product
from ..layout.layout import Layout

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

    __slots__ = ("_bits", "buffers", "elements", "shape", "shared", "starts")
    starts: NDArray[np.int64]
    buffers: NDArray[np.int64]
    shape: tuple[int, ...]
    elements: int
    shared: NDArray[np.bool_]
    """For each entry, whether another one has some of its elements."""
    _bits: int | None

    def __init__(self, starts: Any, shape: int | Sequence[int], buffers: Any = None) -> None:
        listed = isinstance(shape, Sequence) and not isinstance(shape, str)
        sizes = tuple([as_int(n, "block shape") for n in (shape if listed else (shape,))])  # type: ignore[union-attr]
        first = _integers(starts, "starts")
        held = _integers([0] * first.size if buffers is None else buffers, "buffers")
        if min(sizes, default=1) < 1 or product(sizes) > LIMIT or held.shape != first.shape:
            raise ShapeError(
                f"a table of {first.size} starts and {held.size} buffers, with blocks of {sizes}.",
                hint="one buffer for every start, and blocks of at least one element that fit into memory",
                starts=starts,
                shape=sizes,
            )
        self._set(first, held, sizes, None, _overlapping(held, first, product(sizes)))

    def _set(
        self,
        starts: NDArray[np.int64],
        buffers: NDArray[np.int64],
        shape: tuple[int, ...],
        bits: int | None,
        shared: NDArray[np.bool_],
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
        ):
            object.__setattr__(self, name, value)
        return self

    @classmethod
    def consecutive(cls, count: int, shape: int | Sequence[int]) -> BlockTable:
        """Blocks that follow each other in one buffer."""
        import numpy as np

        number = as_int(count, "count")
        one = cls([], shape)
        if not 0 <= number * one.elements <= LIMIT or number > MAX_BLOCKS:
            raise ShapeError(f"there are no {number} blocks of {one.shape} in one buffer.", hint="count from 0 on")
        return cls(np.arange(number, dtype=np.int64) * one.elements, one.shape)

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

        if not self.count or (np.diff(self.starts) != self.elements).any() or np.diff(self.buffers).any():
            return None
        return int(self.buffers[0]), int(self.starts[0])

    def address(self, v: Any) -> tuple[Any, Any]:
        """The buffer and the element of a virtual address, or of an array of them, known to be inside."""
        block, place = divmod(v, self.elements)
        return self.buffers[block], self.starts[block] + place

    def bound(self, memories: Sequence[Memory]) -> BlockTable:
        """The table of these memories; refused where a block leaves them. Memories may overlap each other."""
        import numpy as np

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
        bits = memories[0].element.bits
        bases = np.array([m.bytes.ctypes.data for m in memories], np.int64)
        places = bases[self.buffers] * 8 + self.starts * bits
        shared = _overlapping(np.zeros_like(places), places, self.elements * bits)
        return _new()._set(self.starts, self.buffers, self.shape, bits, shared)

    def entries(self, numbers: NDArray[np.int64]) -> BlockTable:
        """The table of these entries, in this order; what was shared stays shared."""
        starts, buffers = self.starts[numbers], self.buffers[numbers]
        shared = self.shared[numbers] | _overlapping(buffers, starts, self.elements)
        return _new()._set(starts, buffers, self.shape, self._bits, shared)

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (self.starts, self.buffers, self.shape, self._bits, self.shared)

    def __repr__(self) -> str:
        return f"<{self.count} block{'s' * (self.count != 1)} of {'x'.join(map(str, self.shape)) or 1}>"


def trimmed(layout: Layout, table: BlockTable) -> tuple[Layout, BlockTable]:
    """The same elements by a table of the blocks that the layout uses only, numbered anew in their old order.

    Where a digit of the layout moves through a block and on to another, so that blocks and the places in them do not
    separate, all blocks from the first to the last one stay.
    """
    import numpy as np

    if layout.size == 0 or layout.swizzle is not None:
        return layout, table
    offset, modes = layout.offset, []
    for d in range(layout.rank):
        moved, mode = _without_unused(layout, d, table.elements)
        offset += moved
        modes.append(mode)
    digits = [(d, k) for d, mode in enumerate(modes) for k in range(len(mode[0]))]
    size = {(d, k): modes[d][0][k] for d, k in digits}
    step = {(d, k): modes[d][1][k] for d, k in digits}
    block, place = divmod(offset, table.elements)
    inner = [(size[c] - 1) * step[c] for c in digits if step[c] % table.elements]
    if place + sum([r for r in inner if r < 0]) < 0 or place + sum([r for r in inner if r > 0]) >= table.elements:
        return _from_first_to_last(layout, table)
    outer = [c for c in digits if step[c] and step[c] % table.elements == 0]
    outer.sort(key=lambda c: (-abs(step[c]), size[c] == 1))
    reach = [(size[c] - 1) * step[c] // table.elements for c in outer]
    first, last = block + sum([r for r in reach if r < 0]), block + sum([r for r in reach if r > 0])
    if first < 0 or last >= table.count or product(tuple([size[c] for c in outer])) > table.count:
        return _from_first_to_last(layout, table)
    numbers, running = np.array(first), 1
    for c in [c for c in outer if size[c] > 1]:
        numbers = np.add.outer(numbers, np.arange(size[c]) * (abs(step[c]) // table.elements))
    for c in reversed(outer):
        new = running * table.elements
        if step[c] < 0:
            place, new = place + (size[c] - 1) * new, -new
        modes[c[0]][1][c[1]] = new
        running *= size[c]
    parts = []
    for (sizes, steps, origin, extent), nested in zip(modes, layout._parts()):
        flat = not isinstance(nested[0], tuple)
        parts.append((sizes[0] if flat else tuple(sizes), steps[0] if flat else tuple(steps), origin, extent))
    return layout.with_offset(place)._rebuild(parts), table.entries(numbers.reshape(-1))


def _from_first_to_last(layout: Layout, table: BlockTable) -> tuple[Layout, BlockTable]:
    import numpy as np

    first, last = layout.min_offset // table.elements, layout.max_offset // table.elements
    if last - first + 1 == table.count:
        return layout, table
    return layout.with_offset(layout.offset - first * table.elements), table.entries(np.arange(first, last + 1))


def _without_unused(layout: Layout, d: int, elements: int) -> tuple[int, tuple[list[int], list[int], int, int]]:
    """A constant, and mode ``d`` without the first and the last blocks that its window does not reach."""
    mode = layout._mode(d)
    sizes, steps, origin = list(mode.sizes), list(mode.strides), mode.origin
    moved = 0
    for k in range(len(sizes) - 1, -1, -1):
        weight = product(tuple(sizes[:k]))
        first, last = origin // weight, (origin + mode.extent - 1) // weight
        if steps[k] % elements:
            break
        moved += first * steps[k]
        sizes[k] = last - first + 1
        origin -= first * weight
        if sizes[k] > 1:
            break
    return moved, (sizes, steps, origin, mode.extent)


def _overlapping(buffers: NDArray[np.int64], starts: NDArray[np.int64], length: int) -> NDArray[np.bool_]:
    """Which ranges of one length have elements in common with another one of the same buffer."""
    import numpy as np

    order = np.lexsort((starts, buffers))
    close = (np.diff(starts[order]) < length) & (np.diff(buffers[order]) == 0)
    found = np.zeros(starts.shape, bool)
    found[order[1:]] |= close
    found[order[:-1]] |= close
    return found


def _new() -> BlockTable:
    return BlockTable.__new__(BlockTable)


def _remade(starts: Any, buffers: Any, shape: tuple[int, ...], bits: int | None, shared: Any) -> BlockTable:
    return _new()._set(starts, buffers, shape, bits, shared)


def _integers(x: Any, what: str) -> NDArray[np.int64]:
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
