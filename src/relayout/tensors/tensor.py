"""``Tensor``: real memory behind a layout, with the meaning of its elements and, if it has one, its block table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

from ..elements.interface import Interface, Plain, as_interface
from ..elements.memory import Memory, memory_of
from ..errors import OutOfBounds, ShapeError, shown
from ..format.factors import checked_axes
from ..format.format import Format
from ..immutable import Immutable
from ..integers.inttuple import as_int
from ..integers.nested import product
from ..layout.indexing import fold_keys
from ..layout.layout import Layout
from ..layout.ranges import offset_range
from .allocation import Padding, TensorAllocation, new_block_table
from .block_table import BlockTable
from .data import TensorData, misfit, values_of
from .gather import unscattered
from .places import TensorPlaces
from .views import TensorViews

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Tensor(TensorData, TensorViews, TensorPlaces, TensorAllocation, Immutable):
    """Memory, the layout of the elements in it, and what they mean. All but the memory stays as it was made.

    ``storage`` is an array, or bytes with an interface that says what they hold; with ``blocks`` it may be a list of
    those. Nothing is copied. ``layout`` is a layout; or a format, or a text, with the ``shape`` that it is for. Its
    blocks follow each other unless ``blocks`` tells where they are. ``interface`` is a type of elements, ``Plain`` or
    ``ScaleOffset``; ``axes`` names the dimensions. Every address of the layout is proven to be inside the storage
    before the first access.

    >>> Tensor(bytearray(range(6)), Layout((2, 3), (3, 1)), "uint8")[1, 2]
    5
    """

    __slots__ = ("__weakref__", "_flat", "_memories", "_table", "axes", "format", "interface", "layout", "padding")
    layout: Layout
    interface: Interface
    axes: str | None
    format: Format | None
    """The format that it was made by; None where that was a layout, and for a view."""
    padding: Padding | None
    """The padding that was asked for when it was allocated; None for a view, which has none of its own."""
    _memories: tuple[Memory, ...]
    _table: BlockTable | None
    _flat: tuple[int, Layout | None]
    """A buffer, and the layout that has the tensor's offsets there; None where a table scatters them."""

    def __init__(
        self,
        storage: Any,
        layout: Layout | Format | str,
        interface: Any = None,
        *,
        shape: Any = None,
        axes: str | None = None,
        blocks: BlockTable | None = None,
    ) -> None:
        if blocks is not None and not isinstance(blocks, BlockTable):
            raise ShapeError(f"blocks are a table, got {shown(blocks)}.", hint="BlockTable(starts, shape)", got=blocks)
        means = None if interface is None else as_interface(interface)
        several = isinstance(storage, tuple | list)
        if several and (blocks is None or not storage):
            raise ShapeError(
                f"a {type(storage).__name__} is no memory.",
                hint="pass an array or bytes; a list of those goes with a block table",
            )
        memories = tuple(
            [memory_of(x, None if means is None else means.element) for x in (storage if several else [storage])]
        )
        if len({m.element for m in memories}) > 1:
            raise ShapeError(
                f"the buffers hold different elements: {', '.join([m.element.name for m in memories])}.",
                hint="give buffers of one type",
            )
        means = means or Plain(memories[0].element)
        fmt = None
        if not isinstance(layout, Layout) or shape is not None:
            from ..dialects.resolve import resolve

            operand = resolve(layout, shape=shape, axes=axes, element=means)
            layout, axes = operand.placed, operand.axes
            fmt = operand.format if isinstance(operand.format, Format) else None
            if fmt is not None:
                _check_blocks(fmt, layout, blocks)
                blocks = blocks or new_block_table(fmt, layout)
        table = None if blocks is None else blocks.bound(memories)
        self._set(memories, layout, means, axes, table, None, fmt)

    def _set(
        self,
        memories: tuple[Memory, ...],
        layout: Layout,
        interface: Interface,
        axes: str | None,
        table: BlockTable | None,
        padding: Padding | None = None,
        fmt: Format | None = None,
    ) -> Self:
        if interface.axis is not None:
            check_channels(interface, layout)
        _prove(memories[0].count if table is None else table.count * table.elements, layout, table)
        return self._fill_in(memories, layout, interface, checked_axes(axes, layout.rank), table, padding, fmt)

    def _fill_in(
        self,
        memories: tuple[Memory, ...],
        layout: Layout,
        interface: Interface,
        axes: str | None,
        table: BlockTable | None,
        padding: Padding | None,
        fmt: Format | None,
    ) -> Self:
        """All parts, known to fit together."""
        _set_memories(self, memories)
        _set_layout(self, layout)
        _set_interface(self, interface)
        _set_axes(self, axes)
        _set_table(self, table)
        _set_padding(self, padding)
        _set_format(self, fmt)
        _set_flat(self, unscattered(layout, table))
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self._memories, self.layout, self.interface, self.axes, self._table, self.padding, self.format)
        return _rebuild_tensor, (type(self), *parts)

    def _like(self, layout: Layout, interface: Interface, axes: str | None) -> Self:
        """Another tensor over the same memory, which does not own it; of a table the part that it uses."""
        table = self._table
        if table is not None:
            from .trimming import trim_table

            layout, table = trim_table(layout, table)
        return self.__new__(type(self))._set(self._memories, layout, interface, axes, table)

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
        """Whether all of its memory may be written; blocks that share memory may not."""
        if self._table is None:
            return self._memories[0].writable
        return not self._table.shares and all(self._memories[k].writable for k in self._table.used)

    @property
    def owns_padding(self) -> bool:
        """Whether it was allocated with its padding; a view was not."""
        return self.padding is not None

    @property
    def raw(self) -> NDArray[Any]:
        """The flat memory, as the stored type; packed elements as bytes. Refused where there are several buffers."""
        if len(self._memories) > 1:
            raise ShapeError("the tensor has several buffers.", hint="t.block(i) is the memory of one block")
        memory = self._memories[0]
        return memory.bytes if memory.typed is None else memory.typed

    @property
    def blocks(self) -> BlockTable | None:
        """The block table, if the tensor has one: how many, of which shape and of how many bytes, and where."""
        return self._table

    def _repr_svg_(self) -> str | None:
        from ..drawing.notebook import svg_of

        return svg_of(self)

    def __repr__(self) -> str:
        words = [f"{'x'.join(map(str, self.shape)) or 'scalar'} {self.dtype}"]
        if not isinstance(self.interface, Plain):
            words.append(shown(self.interface))
        words.append(self._layout_name())
        if self.axes is not None:
            words.append(f"axes {self.axes}")
        room = self.layout.storage_size
        if self._table is not None:
            words.append(repr(self._table)[1:-1])
            room = self._table.count * self._table.elements
        if self.padding is not None and room > self.size:
            words.append(f"{1 - self.size / room:.0%} padding")
        return f"<{type(self).__name__} {', '.join(words)}>"

    def _layout_name(self) -> str:
        layout = self.layout
        if layout.depth < 2:
            return "row-major" if layout == Layout.row_major(layout.extents) else str(layout)
        from ..format import catalog

        bits = self.interface.element.bits
        names = catalog.find(layout, bits) if self.format is None else catalog.names_of(self.format, bits)
        text = str(layout) if self.format is None else f"{self.format.renamed(None)}"
        return names[0] + f" from {layout.origin}" * any(layout.origin) if names else text

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError("a scalar has no length.", hint="t[()] is its value")
        return self.shape[0]

    # ---- elements ----------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        """The value at a coordinate, or the view that slices, ``...``, None and fewer indices make.

        The index of a nested mode may be natural: a tuple nested like the mode. One integer for each leaf will do too.
        """
        keys = fold_keys(key, self.layout)
        coordinate = self._coordinate(keys)
        if coordinate is None:
            return self.slice(*keys)
        place = self._place(coordinate)
        memory = self._memories[place.buffer]
        if memory.typed is not None and isinstance(self.interface, Plain):
            return memory.typed.item(place.where)
        return self.interface.decode(memory.read(place.where), **self._channel(coordinate))

    def __setitem__(self, key: Any, value: Any) -> None:
        keys = fold_keys(key, self.layout)
        coordinate = self._coordinate(keys)
        if coordinate is None:
            self.slice(*keys)._assign(value)
            return
        place = self._place(coordinate)
        if not place.writable:
            self._refuse_to_write(place.block)
        number = values_of(value)
        if number.size != 1:
            raise misfit(number.shape, ())
        stored = self.interface.encode(number.reshape(()), **self._channel(coordinate))
        self._memories[place.buffer].write(place.where, stored)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        """Whether an element, in any dimension, has the value."""
        return bool((self.numpy() == value).any())

    def _coordinate(self, keys: tuple[Any, ...]) -> tuple[int, ...] | None:
        """One index >= 0 per dimension, if the keys are all integers."""
        if len(keys) != self.ndim or any(k is None or k is Ellipsis or isinstance(k, slice) for k in keys):
            return None
        numbers = [k if k.__class__ is int else as_int(k, "an index") for k in keys]
        shape = self.shape
        for d, (x, n) in enumerate(zip(numbers, shape)):
            if not -n <= x < n:
                raise OutOfBounds(
                    f"index {x} is outside dimension {d}, which has size {n}.",
                    hint=f"use {-n} <= index < {n}" if n else "the dimension is empty",
                    dim=d,
                    index=x,
                    size=n,
                )
        return tuple([x % n for x, n in zip(numbers, shape)])

    def _channel(self, coordinate: tuple[int, ...]) -> dict[str, int]:
        return {} if self.interface.axis is None else {"channel": coordinate[self.interface.axis]}


# Setters of the slots themselves, since an immutable value takes no other.
_set_memories, _set_layout, _set_interface, _set_axes, _set_table, _set_padding, _set_format, _set_flat = [
    vars(Tensor)[name].__set__
    for name in ("_memories", "layout", "interface", "axes", "_table", "padding", "format", "_flat")
]


def new_tensor() -> Tensor:
    """A tensor that ``_set`` makes, of memory and not of storage."""
    return Tensor.__new__(Tensor)


def _rebuild_tensor(kind: type[Tensor], *parts: Any) -> Tensor:
    return kind.__new__(kind)._set(*parts)


def check_channels(interface: Interface, layout: Layout) -> None:
    """Refuse scales that are not one for every index along their dimension."""
    axis, scale = interface.axis, getattr(interface, "scale", ())
    if axis is None or axis >= layout.rank or layout.extents[axis] != len(scale):
        raise ShapeError(
            f"{len(scale)} channels along dimension {axis} do not fit the shape {layout.extents}.",
            hint="one scale for every index along that dimension",
            interface=interface,
        )


def _check_blocks(fmt: Format, layout: Layout, blocks: BlockTable | None) -> None:
    """Refuse a table whose blocks are not those of the format."""
    if blocks is None or not layout.size:
        return
    own = fmt._stored_block_shape(layout) if fmt.indirect is not None else None
    if own is None or product(own) != blocks.elements:
        what = "has no table" if own is None else f"has blocks of {product(own)} elements"
        raise ShapeError(f"{fmt} {what}, not {blocks!r}.", hint="give the layout alone, or the table of the format")


def _prove(count: int, layout: Layout, table: BlockTable | None) -> None:
    """Refuse a layout that leaves ``count`` elements."""
    if layout.has_basis:
        raise ShapeError("the layout's values are coordinates, not places in memory.", hint="use integer strides")
    if layout.size == 0:
        return
    low, high = offset_range(layout)
    if low < 0 or high >= count:
        what = "the memory has" if table is None else f"{table!r} have"
        raise OutOfBounds(
            f"{layout} uses the elements {low} to {high}, and {what} {count}.",
            hint="give more memory, or another offset",
            layout=layout,
            low=low,
            high=high,
            count=count,
        )
