"""Where the elements of a tensor are: their addresses, and the blocks of memory that they lie in."""

# Every TensorPlaces is a Tensor: the class only keeps these methods in a file of their own.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..elements.memory import address_of
from ..errors import NotExpressible, OutOfBounds, ShapeError, shown
from ..immutable import NamedTuple
from ..integers.inttuple import as_int
from ..integers.nested import product
from ..layout.indexing import fold_keys
from ..layout.layout import Layout

if TYPE_CHECKING:
    from .tensor import Tensor


class RawElement(NamedTuple):
    """Where an element is: its buffer, the byte (and bit) that it begins at, the bytes that hold it, their address."""

    buffer: int
    byte: int
    bit: int
    view: memoryview
    address: int


class ElementPlace(NamedTuple):
    """The buffer of an element, its number there, the entry of the table that led to it, and if it may be written."""

    buffer: int
    where: int
    block: int | None
    writable: bool


class TensorPlaces:
    """The methods of :class:`Tensor` that tell where in memory elements are."""

    __slots__ = ()

    def get_raw(self: Tensor, *coordinate: Any) -> RawElement:
        """Where the element at a coordinate is, and the bytes that hold it, writable if it is.

        Coordinates count from 0. Below 0 HTP has the padding in front and numpy the last elements: that is refused.
        """
        keys = coordinate[0] if len(coordinate) == 1 and isinstance(coordinate[0], tuple | list) else coordinate
        keys = fold_keys(tuple(keys), self.layout)
        index = self._coordinate(keys)
        if index is None:
            raise ShapeError(f"get_raw takes one index per dimension, got {shown(coordinate)}.", hint="one element")
        if index != tuple([as_int(k, "an index") for k in keys]):
            d = next(d for d, k in enumerate(keys) if k < 0)
            raise OutOfBounds(
                f"index {keys[d]} of dimension {d} is below 0: padding in HTP's count, the end in numpy's.",
                hint=f"the last one is {self.shape[d] - 1}; t.block_at(...) shows the padding around data",
                dim=d,
                index=keys[d],
            )
        place = self._place(index)
        bits = self.interface.element.bits
        first, bit = divmod(place.where * bits, 8)
        memory = self._memories[place.buffer].bytes
        held: Any = memory[first : -(-(place.where + 1) * bits // 8)]
        view = memoryview(held)
        shown_view = view if place.writable else view.toreadonly()
        return RawElement(place.buffer, first, bit, shown_view, address_of(memory) + first)

    def get_raw_addr(self: Tensor, *coordinate: Any) -> int:
        """The address in memory of the element at a coordinate, in bytes; of a packed one that of its byte."""
        return self.get_raw(*coordinate).address

    @property
    def address(self: Tensor) -> int:
        """The address in memory of the first element, in bytes."""
        return self.get_raw_addr((0,) * self.ndim)

    def block(self: Tensor, i: int) -> Tensor:
        """Block ``i`` of the table: a tensor over its elements, in the order of memory."""
        if self._table is None:
            raise ShapeError("the tensor has no block table.", hint="it lies in one piece: t.raw", tensor=self)
        k = as_int(i, "a block")
        if not 0 <= k < self._table.count:
            raise OutOfBounds(f"block {k} of {self._table.count}.", hint="blocks count from 0", block=k)
        self._check_no_channels()
        layout = Layout.row_major(self._table.shape).with_offset(k * self._table.elements)
        return self._like(layout, self.interface, None)

    def block_at(self: Tensor, *coordinate: Any) -> Tensor:
        """The whole block that the element at a coordinate lies in, padding included: a view of the block's shape.

        Its coordinates are those of the tensor, from the block's first element on, and ``.address`` is where that is.
        The blocks are those of the table, or else of the format that the tensor was allocated by.
        """
        keys = coordinate[0] if len(coordinate) == 1 and isinstance(coordinate[0], tuple | list) else coordinate
        keys = fold_keys(tuple(keys), self.layout)
        index = self._coordinate(keys)
        if index is None:
            raise ShapeError(f"block_at takes one index per dimension, got {shown(coordinate)}.", hint="one element")
        self._check_no_channels()
        elements = self._block_elements()
        first, whole = self.layout.offset, self.layout.swizzle is None
        shapes: list[Any] = []
        strides: list[Any] = []
        for d, x in enumerate(index):
            mode = self.layout._mode(d)
            inside = sum([stride % elements != 0 for stride in mode.strides])
            whole = whole and all(stride % elements for stride in mode.strides[:inside])
            left = (mode.origin + x) // product(mode.sizes[:inside])
            for n, stride in zip(mode.sizes[inside:], mode.strides[inside:]):
                first += left % n * stride
                left //= n
            shapes.append(mode.sizes[:inside] if inside > 1 else product(mode.sizes[:inside]))
            strides.append(mode.strides[:inside] if inside > 1 else sum(mode.strides[:inside]))
        layout = Layout(tuple(shapes), tuple(strides), offset=first)
        if not whole or layout.size != elements or layout.min_offset // elements != layout.max_offset // elements:
            raise NotExpressible(
                f"{self.layout} does not show whole blocks of {elements} elements.",
                hint="ask the tensor that it is a view of, or t.block(i), a block in the order of memory",
                tensor=self,
            )
        return self._like(layout, self.interface, self.axes)

    def _block_elements(self: Tensor) -> int:
        """The elements of one block: of the table, or of the format."""
        if self._table is not None:
            return self._table.elements
        if self.format is None:
            raise ShapeError(
                "the tensor has no blocks: neither a table nor a format tells them.",
                hint="allocate it by a format: rl.empty, rl.full, rl.from_logical",
                tensor=self,
            )
        return product(self.format._stored_block_shape(self.layout))

    def _check_no_channels(self: Tensor) -> None:
        if self.interface.axis is not None:
            raise NotExpressible(
                "a block does not know which channel its elements belong to.",
                hint="index the tensor itself",
                interface=self.interface,
            )

    def _place(self: Tensor, coordinate: tuple[int, ...]) -> ElementPlace:
        v, table = self.layout(coordinate), self._table
        if table is None:
            return ElementPlace(0, v, None, self._memories[0].writable)
        block = v // table.elements
        buffer = int(table.buffers[block])
        writable = self._memories[buffer].writable and not table.shared[block]
        return ElementPlace(buffer, int(table.starts[block]) + v % table.elements, block, writable)
