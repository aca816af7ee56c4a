"""Recipes: all that a repack needs to know but its memory, decided by types, shapes and layouts alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..dialects.resolve import resolve
from ..elements.interface import Interface, Plain, as_interface
from ..elements.memory import (
    ALIGNMENT,
    LARGE,
    Memory,
    address_of,
    allocate_bytes,
    bytes_of,
    find_address,
    no_memory,
    own_element,
)
from ..elements.types import ELEMENTS, Element, storage_dtype
from ..errors import ShapeError
from ..format.factors import checked_axes
from ..format.format import Format
from ..format.name_changes import clear_on_change
from ..immutable import NamedTuple
from ..integers.nested import product
from ..layout.layout import Layout
from ..tensors.allocation import Padding, new_block_table
from ..tensors.block_table import BlockTable
from ..tensors.data import strides_of
from ..tensors.make import tensor
from ..tensors.tensor import Tensor, new_tensor
from . import tuning
from .cache import Cache
from .cpu.flat import fill_range
from .cpu.program import buffer_dtype
from .fill import fill_bytes
from .growth import growth_warning
from .places import box_range, new_range
from .plan import Plan, check_threads, make_plan
from .ways import NativeWay

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..dialects.registry import Shapeless

RAW = bytes | bytearray | memoryview
"""Memory that does not tell its elements."""

MAX_ALIGNMENT = 16
"""No type of elements needs more."""


class Recipe(NamedTuple):
    """A repack but for its memory."""

    order: tuple[int, ...] | None
    """The dimensions of an array as its memory has them; None if that is more than an order."""
    plan: Plan
    filling: Plan | None
    """The plan that writes all of the memory, where there is one."""
    fill: bytes | None
    layout: Layout
    interface: Interface
    axes: str | None
    format: Format | None
    table: BlockTable | None
    dtype: np.dtype[Any]
    capacity: int
    """The elements of the memory."""
    nbytes: int
    """The bytes of the memory."""
    stored_shape: tuple[int, ...] | None
    """The shape of the stored array."""
    strided: tuple[tuple[int, ...], int, tuple[int, ...]] | None
    """Shape, offset and strides in bytes of the data, where it has some."""
    warning: str | None
    make_array: Callable[[NDArray[Any]], NDArray[Any] | None] | None = None
    """The short way of small arrays to new memory; it gives None where the plan has a reason not to copy."""

    def memory(self, x: Any) -> Any:
        """What the plan reads."""
        if self.order is None:
            if isinstance(x, Tensor):
                buffer, flat = x._flat
                typed = x._memories[buffer].typed
                return x if flat is None or typed is None else typed
            return x if isinstance(x, RAW) else tensor(x).raw
        return (x.transpose(self.order) if self.order else x).reshape(-1)

    def allocate(self) -> NDArray[Any]:
        """New memory that holds the fill, unless all of it will be written."""
        beside = self.filling is None and self.layout.size < self.capacity
        made = allocate_bytes(self.nbytes, zeroed=beside or self.interface.element.bits < 8)
        if beside and self.fill is not None and any(self.fill):
            element = self.interface.element
            fill_range(made.view(buffer_dtype(element)), (0, self.capacity), element, self.fill)
        return made.view(self.dtype)

    def array(self, target: NDArray[Any]) -> NDArray[Any]:
        """The memory as an array of the result's shape."""
        if self.stored_shape is not None:
            return target.reshape(self.stored_shape) if target.size == product(self.stored_shape) else target
        if self.strided is None:
            return target
        import numpy as np

        shape, start, strides = self.strided
        return np.ndarray(shape, target.dtype, target, start, strides)

    def tensor(self, target: NDArray[Any], owned: bool) -> Tensor:
        """The memory as a tensor, which owns its padding if it was made here."""
        import numpy as np

        memory = Memory(target.view(np.uint8), self.interface.element)
        if not owned:
            return new_tensor()._set((memory,), self.layout, self.interface, None, None)
        zeros = (0,) * self.layout.rank
        table = None if self.table is None else self.table.bound([memory])
        asked = Padding(zeros, zeros)
        return new_tensor()._fill_in((memory,), self.layout, self.interface, self.axes, table, asked, self.format)


_recipes: Cache[Recipe] = Cache(tuning.ACTIVE.cached_recipes)
clear_on_change(_recipes.clear)


def recipe_of(
    x: Any,
    dst: Any,
    src: Any,
    shape: Any,
    axes: Any,
    new: bool,
    fill: Any,
    element: Any,
    threads: Any,
    on_device: bool = False,
) -> Recipe:
    """The recipe for these arguments; those that were seen before are looked up."""
    key: tuple[Any, ...] = (_form(x), dst, src, shape, axes, new, fill, element, threads, on_device)
    if fill is not None or dst.__class__ is Format or shape is not None or threads is not None:
        # 0.0, -0.0, 0 and False are equal, and not the same.
        key = (*key, repr((fill, getattr(dst, "fill", None), shape, threads)))
    try:
        found = _recipes.get(key)
    except (TypeError, ValueError):  # arguments without a hash
        return build_recipe(x, dst, src, shape, axes, new, fill, element, threads, on_device)
    if found is None:
        found = build_recipe(x, dst, src, shape, axes, new, fill, element, threads, on_device)
        if isinstance(dst, str | Layout | Format) or _is_interleaved(dst):  # the key of another would keep its memory
            _recipes.keep(key, found)
    return found


def _is_interleaved(x: Any) -> bool:
    from ..format.interleave import InterleaveLayout

    return isinstance(x, InterleaveLayout)


def _form(x: Any) -> Any:
    """All that a recipe depends on of the data."""
    if isinstance(x, Tensor):
        return x.interface, x.axes, x._flat[1], x.layout
    if isinstance(x, RAW):
        return address_of(bytes_of(x)) % MAX_ALIGNMENT
    return x.shape, x.strides, x.dtype, x.flags.aligned


class _Data(NamedTuple):
    """The data of a repack: its layout in flat memory, which is None where a table scatters it."""

    logical: Layout
    flat: Layout | None
    interface: Interface
    axes: str | None


def build_recipe(
    x: Any,
    dst: Any,
    src: Any,
    shape: Any,
    axes: Any,
    new: bool,
    fill: Any,
    element: Any,
    threads: Any,
    on_device: bool = False,
) -> Recipe:
    """Resolve the layouts, and plan the copy between them; ``new`` memory is allocated, and filled beside the data."""
    import numpy as np

    threads = check_threads(threads)
    data = _data(x, src, shape, element)
    extents = data.logical.extents
    interface = data.interface if element is None else as_interface(element)
    names = data.axes if axes is None else checked_axes(axes, len(extents))
    operand = resolve(dst, element=interface, fill=fill).for_data(extents, names)
    layout = operand.placed
    fmt = operand.format if isinstance(operand.format, Format) else None
    fill = operand.fill if new else fill
    box = new_range(layout) if new else box_range(layout)
    table = new_block_table(fmt, layout) if new and fmt is not None else None
    count = box[1] if table is None else table.count * table.elements
    bits = interface.element.bits
    code = fill_bytes(interface, fill) if fill is not None else bytes(bits if bits < 8 else bits // 8) if new else None
    used = count if new else layout.max_offset + 1 if layout.size else 0
    if -(-used * bits // 8) >= 1 << 63:
        raise no_memory(-(-used * bits // 8))
    parts = (data.logical if data.flat is None else data.flat, layout, data.interface, interface)
    filling = None
    if on_device:
        plan = make_plan(*parts, code, None, on_device=True)
    else:
        if code is not None and data.flat is not None and box == (0, count) and data.interface == interface:
            whole = make_plan(*parts, code, threads)
            filling = whole if isinstance(whole.way, NativeWay) and whole.way.fills else None
        plan = filling if new and filling is not None else make_plan(*parts, None, threads)
    growth = growth_warning(-(-layout.size * bits // 8), -(-count * bits // 8))
    dtype = storage_dtype(interface.element) if bits % 8 == 0 else np.dtype(np.uint8)
    recipe = Recipe(
        _order(x) if src is None else () if isinstance(x, np.ndarray) else None,
        plan,
        filling,
        code,
        layout,
        interface,
        None if fmt is None else operand.axes,
        fmt,
        table,
        dtype,
        count,
        -(-count * bits // 8),
        operand.stored_shape,
        _array_strides(layout, dtype) if fmt is None and not layout.windowed and bits % 8 == 0 else None,
        " ".join(filter(None, [operand.width_mismatch, growth])) or None if new else None,
    )
    return recipe._replace(make_array=_array_maker(recipe)) if new and isinstance(x, np.ndarray) else recipe


def _array_maker(recipe: Recipe) -> Callable[[NDArray[Any]], NDArray[Any] | None] | None:
    """The short way, if the recipe is for a small array, and one program writes every byte of the result."""
    import numpy as np

    way, order = recipe.plan.way, recipe.order
    if order is None or not isinstance(way, NativeWay) or not way.fills or recipe.nbytes >= LARGE:
        return None
    if recipe.warning is not None or (recipe.filling is None and recipe.layout.size < recipe.capacity):
        return None
    shape: tuple[int, ...] = (recipe.nbytes // recipe.dtype.itemsize,)
    start, strides = 0, None
    if recipe.stored_shape is None and recipe.strided is not None:
        shape, start, strides = recipe.strided
    elif recipe.stored_shape is not None and product(recipe.stored_shape) == shape[0]:
        shape = recipe.stored_shape
    # Names of the function itself are looked up at once, and most of the time is that of calls.
    copy, room_size, dtype = way.element_program.call_untyped, recipe.nbytes + ALIGNMENT, recipe.dtype
    empty, array, byte = np.empty, np.ndarray, np.uint8

    def make_array(x: NDArray[Any]) -> NDArray[Any] | None:
        room = empty(room_size, byte)
        first = -find_address(room) % ALIGNMENT
        done = copy(x.transpose(order) if order else x, room, first)
        return array(shape, dtype, room, first + start, strides) if done else None

    return make_array


def _array_strides(layout: Layout, dtype: np.dtype[Any]) -> tuple[tuple[int, ...], int, tuple[int, ...]] | None:
    """Shape, offset and strides in bytes of an array of this layout, if there is one."""
    import numpy as np

    if layout.size == 0:
        return layout.extents, 0, np.empty(layout.extents, dtype).strides
    found = strides_of(layout)
    if found is None:
        return None
    start, strides = found
    return layout.extents, start * dtype.itemsize, tuple([s * dtype.itemsize for s in strides])


def _order(x: Any) -> tuple[int, ...] | None:
    """The dimensions of an array as its memory has them, slowest first, if that is all there is to it."""
    if isinstance(x, Tensor):
        return None
    if x.flags.c_contiguous:
        return ()
    order = sorted(range(x.ndim), key=lambda d: -int(x.strides[d]))
    return tuple(order) if x.transpose(order).flags.c_contiguous else None


def _data(x: Any, src: Any, shape: Any, element: Any) -> _Data:
    """What the data is; with ``src`` it is flat memory of that layout, whose ``shape`` a format needs."""
    if src is not None:
        return _of_memory(x, src, shape, element)
    if not isinstance(x, Tensor) and x.flags.c_contiguous and x.flags.aligned:
        layout = Layout.row_major(x.shape)
        found = _Data(layout, layout, Plain(own_element(x)), None)
    else:
        t = tensor(x)
        found = _Data(t.layout, t._flat[1], t.interface, t.axes)
    if shape is not None:
        resolve(found.logical, shape=shape)
    return found


def packed_element(src: Any, kind: Element) -> Element | None:
    """The type of the elements that words of that type are packed with: ``src`` is made for ones under a byte."""
    if isinstance(src, Layout):
        return None
    return _packed_element(src, kind) if isinstance(src, str | Format) else _packed_element.__wrapped__(src, kind)


@lru_cache(maxsize=256)
def _packed_element(src: Any, kind: Element) -> Element | None:
    fmt = resolve(src, element=kind).format
    bits = fmt.element_bits if isinstance(fmt, Format) else None
    return None if bits is None or bits >= 8 or kind.bits == bits else ELEMENTS[f"uint{bits}"]


clear_on_change(_packed_element.cache_clear)


def _of_memory(x: Any, src: Layout | Format | Shapeless | str, shape: Any, element: Any) -> _Data:
    """Flat memory of the layout ``src``."""
    if isinstance(x, Tensor):
        raise ShapeError("a tensor knows its layout.", hint="leave src out, or pass t.raw for its memory", tensor=x)
    raw = isinstance(x, RAW)
    if not raw and not x.flags.c_contiguous:
        raise ShapeError("the memory does not lie together.", hint="copy it: numpy.ascontiguousarray", got=x.shape)
    if raw and element is None:
        raise ShapeError("bytes do not tell their elements.", hint="pass element=", got=type(x))
    operand = resolve(src, shape=shape, element=element if raw else own_element(x))
    t = Tensor(x if raw else x.reshape(-1), operand.placed, element if raw else None, axes=operand.axes)
    return _Data(t.layout, t._flat[1], t.interface, t.axes)
