"""``Tensor``: real memory behind a layout, with the meaning of its elements and, if it has one, its block table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import catalog
from .block_table import BlockTable
from .elements import storage_dtype
from .errors import NotExpressible, OutOfBounds, Overlap, ShapeError, shown
from .image import collision
from .interface import Interface, Plain, as_interface
from .inttuple import as_int
from .layout import Layout
from .memory import Memory, memory_of
from .modes import simplified
from .tensor_views import TensorViews

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Raw(NamedTuple):
    """Where an element is: its buffer, the byte (and bit) that it begins at, and the bytes that hold it."""

    buffer: int
    byte: int
    bit: int
    view: memoryview


class Padding(NamedTuple):
    """The padding that was asked for, in front of and behind the data, for each dimension."""

    left: tuple[int, ...]
    right: tuple[int, ...]


class Tensor(TensorViews):
    """Memory, the layout of the elements in it, and what they mean.

    ``storage`` is an array, or bytes with an interface that says what they hold; with ``blocks`` it may be a list of
    those. Nothing is copied. ``interface`` is a type of elements, ``Plain`` or ``ScaleOffset``; ``axes`` names the
    dimensions. Every address of the layout is proven to be inside the storage before the first access.

    >>> Tensor(bytearray(range(6)), Layout((2, 3), (3, 1)), "uint8")[1, 2]
    5
    """

    __slots__ = ("_memories", "_padding", "_table", "axes", "interface", "layout")
    layout: Layout
    interface: Interface
    axes: str | None
    _memories: tuple[Memory, ...]
    _table: BlockTable | None
    _padding: Padding | None

    def __init__(
        self,
        storage: Any,
        layout: Layout,
        interface: Any = None,
        *,
        axes: str | None = None,
        blocks: BlockTable | None = None,
    ) -> None:
        if not isinstance(layout, Layout):
            raise ShapeError(
                f"a tensor has a layout, got {shown(layout)}.", hint="a format makes one: format.layout(shape)"
            )
        means = None if interface is None else as_interface(interface)
        buffers = storage if isinstance(storage, tuple | list) else [storage]
        memories = tuple([memory_of(x, None if means is None else means.element) for x in buffers])
        if not memories or len({m.element for m in memories}) > 1 or (blocks is None and len(memories) > 1):
            raise ShapeError(
                f"{len(memories)} buffers of {[m.element.name for m in memories]}.",
                hint="give one buffer, or several of one type with a block table",
            )
        self._set(memories, layout, means or Plain(memories[0].element), axes, blocks)

    def _set(
        self,
        memories: tuple[Memory, ...],
        layout: Layout,
        interface: Interface,
        axes: str | None,
        table: BlockTable | None,
        padding: Padding | None = None,
    ) -> None:
        if axes is not None and len(axes) != layout.rank:
            raise ShapeError(f"axes {axes!r} do not name {layout.rank} dimensions.", hint="one letter each", axes=axes)
        if interface.axis is not None:
            _check_channels(interface, layout)
        _prove(memories, layout, table)
        self._memories, self.layout, self.interface = memories, layout, interface
        self.axes, self._table, self._padding = axes, table, padding

    def _like(self, layout: Layout, interface: Interface, axes: str | None) -> Tensor:
        """Another tensor over the same memory, which does not own it."""
        other = Tensor.__new__(Tensor)
        other._set(self._memories, layout, interface, axes, self._table)
        return other

    # ---- what it is --------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layout.extents

    @property
    def ndim(self) -> int:
        return self.layout.rank

    @property
    def size(self) -> int:
        return self.layout.size

    @property
    def dtype(self) -> str:
        """The name of the stored type."""
        return self.interface.element.name

    @property
    def writable(self) -> bool:
        """Whether all of its memory may be written; a table that shares blocks may be read only."""
        return all(m.writable for m in self._memories) and not (self._table is not None and self._table.shared)

    @property
    def owns_padding(self) -> bool:
        """Whether it was allocated with its padding; a view was not."""
        return self._padding is not None

    @property
    def raw(self) -> NDArray[Any]:
        """The flat memory, as the stored type; packed elements as bytes. Refused where there are several buffers."""
        if len(self._memories) > 1:
            raise ShapeError("the tensor has several buffers.", hint="t.block(i) is the memory of one block")
        memory = self._memories[0]
        return memory.bytes if memory.typed is None else memory.typed

    @property
    def blocks(self) -> BlockTable | None:
        """The block table, if the tensor has one."""
        return self._table

    def block(self, i: int) -> Tensor:
        """Block ``i`` of the table: a tensor over its elements, in the order of memory."""
        if self._table is None:
            raise ShapeError("the tensor has no block table.", hint="it lies in one piece: t.raw", tensor=self)
        k = as_int(i, "a block")
        if not 0 <= k < self._table.count:
            raise OutOfBounds(f"block {k} of {self._table.count}.", hint="blocks count from 0", block=k)
        if self.interface.axis is not None:
            raise NotExpressible(
                "a block does not know which channel its elements belong to.",
                hint="index the tensor itself",
                interface=self.interface,
            )
        buffer, start = int(self._table.buffers[k]), int(self._table.starts[k])
        other = Tensor.__new__(Tensor)
        layout = Layout.row_major(self._table.shape).with_offset(start)
        other._set((self._memories[buffer],), layout, self.interface, None, None)
        return other

    def __repr__(self) -> str:
        names = catalog.find(self.layout)
        words = [" x ".join(map(str, self.shape)) or "scalar", str(self.interface), *(names[:1] or [str(self.layout)])]
        if self.axes is not None:
            words.append(f"axes {self.axes}")
        room = self.layout.storage_size
        if self._table is not None:
            words.append(repr(self._table)[1:-1])
            room = self._table.count * self._table.elements
        if self._padding is not None and room > self.size:
            words.append(f"{1 - self.size / room:.0%} unused")
        return f"<Tensor {', '.join(words)}>"

    # ---- elements ----------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        """The value at a coordinate, or the view that slices, ``...`` and fewer indices make."""
        keys = key if isinstance(key, tuple) else (key,)
        coordinate = self._coordinate(keys)
        if coordinate is None:
            return self.slice(*keys)
        buffer, where = self._place(coordinate)
        return _plain(self._decoded(self._memories[buffer].read(where), coordinate))

    def __setitem__(self, key: Any, value: Any) -> None:
        keys = key if isinstance(key, tuple) else (key,)
        coordinate = self._coordinate(keys)
        if coordinate is None:
            self.slice(*keys)._assign(value)
            return
        self._check_writable()
        buffer, where = self._place(coordinate)
        channel = {} if self.interface.axis is None else {"channel": coordinate[self.interface.axis]}
        self._memories[buffer].write(where, self.interface.encode(value, **channel))

    def _coordinate(self, keys: tuple[Any, ...]) -> tuple[int, ...] | None:
        """One index >= 0 per dimension, if the keys are all integers."""
        if len(keys) != self.ndim or any(k is None or k is Ellipsis or isinstance(k, slice) for k in keys):
            return None
        numbers = [as_int(k, "an index") for k in keys]
        for d, (x, n) in enumerate(zip(numbers, self.shape)):
            if not -n <= x < n:
                raise OutOfBounds(
                    f"index {x} is outside dimension {d}, which has size {n}.",
                    hint=f"use {-n} <= index < {n}",
                    dim=d,
                    index=x,
                    size=n,
                )
        return tuple([x % n for x, n in zip(numbers, self.shape)])

    def _place(self, coordinate: tuple[int, ...]) -> tuple[int, int]:
        """The buffer of an element, and its number there."""
        v = self.layout(coordinate)
        if self._table is None:
            return 0, v
        buffer, where = self._table.address(v)
        return int(buffer), int(where)

    def _decoded(self, stored: Any, coordinate: tuple[int, ...]) -> Any:
        channel = {} if self.interface.axis is None else {"channel": coordinate[self.interface.axis]}
        return self.interface.decode(_plain(stored) if channel else stored, **channel)

    def get_raw(self, *coordinate: Any) -> Raw:
        """Where the element at a coordinate is, and the bytes that hold it, writable if the memory is."""
        keys = coordinate[0] if len(coordinate) == 1 and isinstance(coordinate[0], tuple | list) else coordinate
        place = self._coordinate(tuple(keys))
        if place is None:
            raise ShapeError(f"get_raw takes one index per dimension, got {shown(coordinate)}.", hint="one element")
        buffer, where = self._place(place)
        bits = self.interface.element.bits
        first, bit = divmod(where * bits, 8)
        last = -(-(where + 1) * bits // 8)
        held: Any = self._memories[buffer].bytes[first:last]
        return Raw(buffer, first, bit, memoryview(held))

    # ---- all of it ---------------------------------------------------------------------------------------

    def stored(self) -> NDArray[Any]:
        """The stored values in logical order; over the same memory where strides can say so, else a copy."""
        strided = self._strided()
        return self._gathered() if strided is None else strided

    def numpy(self) -> NDArray[Any]:
        """The values in logical order; over the same memory where strides can say so and values are stored as such."""
        stored = self.stored()
        return stored if isinstance(self.interface, Plain) else self.interface.decode(stored)

    def _strided(self) -> NDArray[Any] | None:
        """A numpy array over the same memory, if there is one."""
        import numpy as np

        memory = self._memories[0]
        layout = self.layout
        if self._table is not None or memory.typed is None or layout.swizzle is not None:
            return None
        strides = []
        start = layout.offset
        for d in range(layout.rank):
            constant, mode = simplified(layout._mode(d))
            if len(mode.sizes) > 1:
                return None
            start += constant
            strides.append(mode.strides[0] if mode.sizes else 0)
        if layout.size == 0:
            return np.empty(layout.extents, memory.typed.dtype)
        size = memory.typed.itemsize
        in_bytes = [s * size for s in strides]
        return np.ndarray(layout.extents, memory.typed.dtype, memory.typed, start * size, in_bytes)

    def _gathered(self) -> NDArray[Any]:
        """A copy of the stored values, in logical order."""
        import numpy as np

        if self.layout.size == 0:
            return np.empty(self.shape, storage_dtype(self.interface.element))
        where = self.layout.offsets()
        if self._table is None:
            return self._memories[0].read(where)  # type: ignore[no-any-return]
        buffers, where = self._table.address(where)
        out = np.empty(self.shape, storage_dtype(self.interface.element))
        for k, memory in enumerate(self._memories):
            mine = buffers == k
            out[mine] = memory.read(where[mine])
        return out

    def _assign(self, values: Any) -> None:
        """Write values, broadcast to the shape, to every element."""
        import numpy as np

        self._check_writable()
        if isinstance(values, Tensor):
            values = values.numpy()
        if self.size == 0:
            return
        try:
            data = np.broadcast_to(np.asarray(values), self.shape)
        except ValueError:
            raise ShapeError(
                f"values of shape {np.shape(values)} do not fit a tensor of shape {self.shape}.",
                hint="give one value, or an array that broadcasts to the shape",
                shape=self.shape,
            ) from None
        self._put(self.interface.encode(data))

    def _put(self, stored: NDArray[Any]) -> None:
        """Write stored values, one for every element."""
        clash = collision(self.layout)
        if clash is not None:
            raise Overlap(
                f"{clash[0]} and {clash[1]} are the same place in memory: {self.layout}.",
                hint="write to a tensor whose coordinates have places of their own",
                coordinates=clash,
            )
        where = self.layout.offsets()
        if self._table is None:
            self._memories[0].write(where, stored)
            return
        buffers, where = self._table.address(where)
        for k, memory in enumerate(self._memories):
            mine = buffers == k
            memory.write(where[mine], stored[mine])

    def _check_writable(self) -> None:
        if not all(m.writable for m in self._memories):
            raise ShapeError("the memory is read-only.", hint="copy it, or pass a bytearray or a writable array")
        if self._table is not None and self._table.shared:
            raise Overlap(
                "the block table names a block twice, so a write would change two places.",
                hint="give every entry a block of its own",
                table=self._table,
            )

    def fill(self, value: Any) -> Tensor:
        """Write one value to every element."""
        self._assign(value)
        return self

    def copy_from(self, source: Any) -> Tensor:
        """Write the values of another tensor or array of the same shape; what overlaps is read before it is written."""
        import numpy as np

        values = source.numpy() if isinstance(source, Tensor) else np.asarray(source)
        if values.shape != self.shape:
            raise ShapeError(
                f"a source of shape {values.shape} does not fit a tensor of shape {self.shape}.",
                hint="take a view of the same shape, or assign t[...] = value to broadcast",
                shape=self.shape,
            )
        if any(np.may_share_memory(values, m.bytes) for m in self._memories):
            values = values.copy()
        self._assign(values)
        return self

    def fill_padding(self, user: Any = "qzero", auto: Any = None) -> Tensor:
        """Fill the padding that was asked for with ``user`` and that of whole blocks with ``auto``, as stored values.

        ``"qzero"`` is the stored value that means 0; None leaves what is there. Only a tensor that was allocated with
        its padding may: the cells beside a view are somebody's data.
        """
        if self._padding is None:
            raise ShapeError(
                "this tensor is a view: the cells beside it may be somebody's data.",
                hint="fill the tensor that was allocated: rl.from_logical, rl.empty and rl.full make such",
                tensor=self,
            )
        self._check_writable()
        left, right = self._padding
        origin = [o - a for o, a in zip(self.layout.origin, left)]
        extents = [n + a + b for n, a, b in zip(self.layout.extents, left, right)]
        asked = Layout._make(
            self.layout.shape,
            self.layout.stride,
            self.layout.offset,
            tuple(origin),
            tuple(extents),
            self.layout.swizzle,
        )
        self._fill_between(asked, self.layout, user)
        self._fill_between(self.layout.box, asked, auto)
        return self

    def _fill_between(self, outer: Layout, inner: Layout, value: Any) -> None:
        """Put a stored value wherever ``outer`` is and ``inner`` is not."""
        import numpy as np

        if value is None or outer.extents == inner.extents:
            return
        code = self.interface.zero if isinstance(value, str) and value == "qzero" else value
        if isinstance(code, tuple):
            raise ShapeError(
                "zero differs from channel to channel.", hint="fill with a stored value", interface=self.interface
            )
        where = outer.offsets()
        keep = np.ones(where.shape, bool)
        keep[tuple([slice(i - o, i - o + n) for i, o, n in zip(inner.origin, outer.origin, inner.extents)])] = False
        code = Plain(self.interface.element.underlying).encode(code)
        buffers, places = (0, where[keep]) if self._table is None else self._table.address(where[keep])
        for k, memory in enumerate(self._memories):
            mine = np.broadcast_to(np.asarray(buffers) == k, places.shape)
            memory.write(places[mine], code)

    # ---- for other libraries -----------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        import numpy as np

        if copy is False and (self._strided() is None or not isinstance(self.interface, Plain)):
            raise ValueError("the values have no strides in memory, so they cannot be had without a copy")
        array = self.numpy()
        return np.array(array, dtype=dtype, copy=True if copy else None)

    def __dlpack__(self, **words: Any) -> Any:
        """The memory for other libraries; refused where they could not read it as it is."""
        array = self._strided()
        if array is None or not isinstance(self.interface, Plain):
            raise NotExpressible(
                f"{self.layout} has no strides that DLPack could say, or its values are quantised.",
                hint="export t.numpy(), a copy; or t.raw, the flat memory",
                tensor=self,
            )
        if any(s < 0 for s in array.strides) or not array.flags.writeable:
            raise NotExpressible(
                "the array has negative strides or is read-only, which makes some readers crash or write.",
                hint="export t.numpy().copy()",
                tensor=self,
            )
        try:
            return array.__dlpack__(**words)
        except (BufferError, TypeError) as error:
            raise NotExpressible(
                f"DLPack does not hold it: {error}.", hint="export t.raw as integers of the same width", tensor=self
            ) from None

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError("a scalar has no length.", hint="t[()] is its value")
        return self.shape[0]


def _plain(x: Any) -> Any:
    """A numpy scalar as Python's number, where Python has one."""
    return x.item() if hasattr(x, "item") and type(x).__module__ == "numpy" else x


def _check_channels(interface: Interface, layout: Layout) -> None:
    axis, scale = interface.axis, getattr(interface, "scale", ())
    if axis is None or axis >= layout.rank or layout.extents[axis] != len(scale):
        raise ShapeError(
            f"{len(scale)} channels along dimension {axis} do not fit the shape {layout.extents}.",
            hint="one scale for every index along that dimension",
            interface=interface,
        )


def _prove(memories: Sequence[Memory], layout: Layout, table: BlockTable | None) -> None:
    """Refuse a layout that leaves the memory, or a table that does."""
    if layout.has_basis:
        raise ShapeError("the layout's values are coordinates, not places in memory.", hint="use integer strides")
    if table is not None:
        table.check([m.count for m in memories])
    count = memories[0].count if table is None else table.count * table.elements
    if layout.size == 0:
        return
    low, high = layout.min_offset, layout.max_offset
    if low < 0 or high >= count:
        what = "the memory has" if table is None else f"a table of {table.count} blocks has"
        raise OutOfBounds(
            f"{layout} uses the elements {low} to {high}, and {what} {count}.",
            hint="give more memory, or another offset",
            layout=layout,
            low=low,
            high=high,
            count=count,
        )
