"""Tensors and the memory that was allocated for them: copies, other dimensions in it, and blocks that lie apart."""

# Every TensorAllocation is a Tensor: the class only keeps these methods in a file of their own.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..elements.memory import Memory, address_of, allocate_bytes
from ..elements.types import Element
from ..errors import OutOfBounds, ShapeError
from ..format.format import Format
from ..immutable import NamedTuple
from ..integers.inttuple import as_int
from ..integers.nested import product
from ..layout.layout import Layout
from .block_table import BlockTable

if TYPE_CHECKING:
    from .tensor import Tensor

MAX_BOUNDARY = 1 << 16
"""The copy of memory that starts at a multiple of a power of two does so as well, up to this one."""


class Padding(NamedTuple):
    """The padding that was asked for, in front of and behind the data, for each dimension."""

    left: tuple[int, ...]
    right: tuple[int, ...]


class TensorAllocation:
    """The methods of :class:`Tensor` that ask for memory, or use again what was allocated."""

    __slots__ = ()

    def copy(self: Tensor) -> Tensor:
        """A tensor of the same values in memory of its own: layout, table, padding and meaning stay.

        What was allocated is copied whole. Of a view only the memory from its first to its last element is, or the
        blocks that it uses, one after another.
        """
        if self.padding is not None:
            memories, layout, table = [_copy_memory(m) for m in self._memories], self.layout, self._table
        elif self._table is not None:
            memories = [_copy_blocks(self._memories, self._table)]
            table = BlockTable.consecutive(self._table.count, self._table.shape)
            layout = self.layout
        else:
            table, layout = None, self.layout
            low, high = (layout.min_offset, layout.max_offset + 1) if layout.size else (0, 0)
            low = 0 if layout.swizzle is not None else low
            memories = [_copy_memory(self._memories[0], low, high)]
            layout = layout.with_offset(layout.offset - low) if layout.size else layout
        return self._allocated_as(tuple(memories), layout, None if table is None else table.bound(memories))

    def with_dims(self: Tensor, *dims: Any) -> Tensor:
        """A tensor of other dimensions in the memory that was allocated for this one: HTP's ``set_dims``.

        It has the same format, padding and meaning, and the first blocks of the table. Nothing is written, so the data
        is what lies there. Refused where the memory does not reach, and for a view.
        """
        shape = dims[0] if len(dims) == 1 and hasattr(dims[0], "__iter__") else dims
        if self.padding is None or self.format is None:
            raise ShapeError(
                "only a tensor that was allocated by a format gets other dimensions: what lies beside a view is "
                "somebody's data.",
                hint="rl.empty, rl.full and rl.from_logical make such; t.reshape is a view of the same elements",
                tensor=self,
            )
        layout = self.format.layout(tuple(shape), left_pad=self.padding.left, right_pad=self.padding.right)
        table, needed = self._table, layout.storage_size
        room = self._memories[0].count if table is None else table.count * table.elements
        if needed > room:
            raise OutOfBounds(
                f"{'x'.join(map(str, layout.extents))} needs {needed} elements, and {room} were allocated.",
                hint="allocate a tensor of these dimensions",
                shape=layout.extents,
                tensor=self,
            )
        if table is not None:
            block = self.format._stored_block_shape(layout) if needed else table.shape
            if block != table.shape:
                raise ShapeError(
                    f"blocks of {block} are not those of {table.shape} that were allocated.",
                    hint="allocate a tensor of these dimensions",
                    tensor=self,
                )
            table = table.first(needed // table.elements)
        return self._allocated_as(self._memories, layout, table)

    def _allocated_as(self: Tensor, memories: tuple[Memory, ...], layout: Layout, table: BlockTable | None) -> Tensor:
        """A tensor of this one's class and meaning, with its padding and format, in other memory or another layout."""
        made: Tensor = type(self).__new__(type(self))
        return made._set(memories, layout, self.interface, self.axes, table, self.padding, self.format)


def _copy_memory(memory: Memory, low: int = 0, high: int | None = None) -> Memory:
    """A copy of the elements from ``low`` to before ``high``, at an address as even; of packed ones the bytes."""
    import numpy as np

    bits = memory.element.bits
    end = memory.count if high is None else high
    if low * bits % 8:
        made = Memory(allocate_bytes(-(-(end - low) * bits // 8)), memory.element)
        made.write(np.arange(end - low), memory.read(np.arange(low, end)))
        return made
    held = memory.bytes[low * bits // 8 : -(-end * bits // 8)]
    boundary = min(address_of(memory.bytes) & -address_of(memory.bytes), MAX_BOUNDARY)
    made_bytes = allocate_bytes(held.size, zeroed=False, boundary=boundary)
    made_bytes[:] = held
    return Memory(made_bytes, memory.element)


def _copy_blocks(memories: tuple[Memory, ...], table: BlockTable) -> Memory:
    """A copy of the blocks of a table, one after another."""
    import numpy as np

    element = memories[0].element
    made = Memory(allocate_bytes(-(-table.count * table.elements * element.bits // 8)), element)
    for k, (buffer, start) in enumerate(zip(table.buffers.tolist(), table.starts.tolist())):
        here = np.arange(table.elements)
        made.write(k * table.elements + here, memories[buffer].read(start + here))
    return made


def new_block_table(fmt: Format, layout: Layout) -> BlockTable | None:
    """A table of fresh blocks, if the format of a layout has them and the layout is not empty."""
    if fmt.indirect is None or not (size := layout.storage_size):
        return None
    shape = fmt._stored_block_shape(layout)
    return BlockTable.consecutive(size // product(shape), shape)


def spread_blocks(table: BlockTable, element: Element, gap: Any, align: int) -> BlockTable:
    """The blocks of a table ``gap`` bytes apart, each at a multiple of ``align`` bytes from the start of the memory."""
    import numpy as np

    step = -(-(table.elements * element.bits + as_int(gap, "gap") * 8) // (align * 8)) * align * 8
    if as_int(gap, "gap") < 0 or step % element.bits:
        raise ShapeError(
            f"blocks of {table.elements} {element.name} cannot begin {step / 8:g} bytes apart.",
            hint="a gap is a whole number of elements, counted in bytes",
            gap=gap,
            align=align,
        )
    return BlockTable(np.arange(table.count, dtype=np.int64) * (step // element.bits), table.shape)


def checked_boundary(align: Any) -> int:
    """A number of bytes that memory may start at a multiple of: a power of two."""
    boundary = as_int(align, "align")
    if boundary < 1 or boundary & (boundary - 1) or boundary > 1 << 30:
        raise ShapeError(f"memory starts at a multiple of a power of two, not of {boundary}.", hint="as in align=2048")
    return boundary
