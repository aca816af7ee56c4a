"""``repack``: data in another layout, in one call."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from ..dialects.einops import is_pattern, pattern_format
from ..dialects.registry import with_shape
from ..elements.interface import Interface, as_interface
from ..elements.memory import (
    Memory,
    address_of,
    allocate_bytes,
    as_array,
    bytes_of,
    exports_array,
    memory_of,
    no_memory,
    own_element,
)
from ..errors import Overlap, ShapeError
from ..format.factors import checked_axes
from ..format.format import Format
from ..integers.nested import product
from ..layout.layout import Layout
from ..tensors.block_table import BlockTable
from ..tensors.gather import unscattered
from ..tensors.make import _blocks, placement, tensor
from ..tensors.tensor import Padding, Tensor, new_tensor
from .buffers import flat_memory, for_library_of, is_scattered
from .copying import as_tensor, check_memory, fill_range
from .gpu import on_device
from .places import box_range
from .plan import Plan, Progress, checked_threads, make_plan, stored_bytes
from .program import carrier

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def repack(
    x: Any,
    dst: Layout | Format | str,
    *,
    src: Layout | Format | str | None = None,
    shape: Any = None,
    axes: str | None = None,
    out: Any = None,
    fill: Any = None,
    element: Any = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Any:
    """The data of ``x``, a tensor or an array, in the layout ``dst``: a layout, a format, a text in any dialect, or an
    einops pattern with sizes, ``h (w q) -> w h q, q=8``.

    ``src`` says how a flat buffer is laid out, with ``shape`` where that is a format; ``axes`` names the dimensions of
    the data, and a format with names is aligned to them. ``element`` is the type or interface of the result. Fresh
    memory holds ``fill`` beside the data, by default that of the format, else 0; of ``out``, flat memory, only elements
    are written, unless ``fill`` is given. A tensor of the layout ``dst`` may be ``out`` as well: it gets the values, as
    it stores them. ``threads`` and ``progress`` are those of a plan. An array on a CUDA device is repacked there.

    A tensor gives a tensor. An array gives one of its library: of the stored shape for a format, one axis per factor;
    with the strides of a plain layout; else flat.
    """
    import numpy as np

    given = x
    if x.__class__ is not np.ndarray and not isinstance(x, Tensor | RAW if src is not None else Tensor):
        if on_device(x):
            from .gpu.run import repack as on_a_device

            return on_a_device(x, dst, src, shape, axes, out, fill, element, progress)
        x = as_array(x) if src is None or exports_array(x) else bytes_of(x).data
    if isinstance(out, Tensor):
        return _into_tensor(x, dst, src, shape, axes, out, fill, element, threads, progress)
    recipe = recipe_of(x, dst, src, shape, axes, out is None, fill, element, threads)
    memory = recipe.memory(x)
    if out is None:
        if recipe.warning is not None:
            warnings.warn(recipe.warning, stacklevel=2)
        target = recipe.fresh()
        run = recipe.filling or recipe.plan
    elif recipe.fill is None and out.__class__ is np.ndarray and out.ndim == 1 and out.dtype == recipe.dtype:
        target, run = out, recipe.plan
    else:
        held = memory_of(out, recipe.means.element)
        target = held.bytes if held.typed is None else held.typed
        run = _into(recipe, memory, held, target)
    if progress is None:
        run(memory, target)
    else:
        run(memory, target, progress=progress)
    if isinstance(x, Tensor):
        return recipe.tensor(target, out is None)
    made = recipe.array(target)
    return made if given is x else for_library_of(given, made, target)


class Recipe(NamedTuple):
    """A repack but for its memory: what is decided by types, shapes and layouts alone."""

    order: tuple[int, ...] | None
    """The dimensions of an array as its memory has them; None if that is more than an order."""
    plan: Plan
    filling: Plan | None
    """The plan that writes all of the memory, where there is one."""
    fill: bytes | None
    layout: Layout
    means: Interface
    axes: str | None
    table: BlockTable | None
    dtype: np.dtype[Any]
    places: int
    size: int
    """The elements of the memory, and its bytes."""
    stored: tuple[int, ...] | None
    """The shape of the stored array."""
    strided: tuple[tuple[int, ...], int, tuple[int, ...]] | None
    """Shape, offset and strides in bytes of the data, where it has some."""
    warning: str | None

    def memory(self, x: Any) -> Any:
        """What the plan reads."""
        if self.order is None:
            return x if isinstance(x, Tensor | RAW) else tensor(x).raw
        return (x.transpose(self.order) if self.order else x).reshape(-1)

    def fresh(self) -> NDArray[Any]:
        """New memory that holds the fill, unless all of it will be written."""
        beside = self.filling is None and self.layout.size < self.places
        made = allocate_bytes(self.size, zeroed=beside or self.means.element.bits < 8)
        if beside and self.fill is not None and any(self.fill):
            kind = self.means.element
            fill_range(made.view(carrier(kind)), (0, self.places), kind, self.fill)
        return made.view(self.dtype)

    def array(self, target: NDArray[Any]) -> NDArray[Any]:
        """The memory as an array of the result's shape."""
        if self.stored is not None:
            return target.reshape(self.stored) if target.size == product(self.stored) else target
        if self.strided is None:
            return target
        import numpy as np

        shape, start, strides = self.strided
        return np.ndarray(shape, target.dtype, target, start, strides)

    def tensor(self, target: NDArray[Any], owned: bool) -> Tensor:
        """The memory as a tensor, which owns its padding if it was made here."""
        import numpy as np

        memory = Memory(target.view(np.uint8), self.means.element)
        if not owned:
            return new_tensor()._set((memory,), self.layout, self.means, None, None)
        zeros = (0,) * self.layout.rank
        table = None if self.table is None else self.table.bound([memory])
        return new_tensor()._set((memory,), self.layout, self.means, self.axes, table, Padding(zeros, zeros))


RAW = bytes | bytearray | memoryview
"""Memory that does not tell its elements."""

MAX_ALIGNMENT = 16
"""No type of elements needs more."""

MAX_RECIPES = 1024
"""How many are kept."""

_recipes: dict[Any, Recipe] = {}


def recipe_of(
    x: Any, dst: Any, src: Any, shape: Any, axes: Any, new: bool, fill: Any, element: Any, threads: Any
) -> Recipe:
    """The recipe for these arguments; those that were seen before are looked up."""
    key: tuple[Any, ...] = (_kind(x), dst, src, shape, axes, new, fill, element, threads)
    if fill is not None or dst.__class__ is Format or shape is not None or threads is not None:
        # 0.0, -0.0, 0 and False are equal, and not the same.
        key = (*key, repr((fill, getattr(dst, "fill", None), shape, threads)))
    try:
        found = _recipes.get(key)
    except (TypeError, ValueError):
        return _decided(x, dst, src, shape, axes, new, fill, element, threads)
    if found is None:
        found = _decided(x, dst, src, shape, axes, new, fill, element, threads)
        if len(_recipes) >= MAX_RECIPES:
            _recipes.clear()
        _recipes[key] = found
    return found


def _kind(x: Any) -> Any:
    """All that a recipe depends on of the data."""
    if isinstance(x, Tensor):
        return x.interface, x.axes, is_scattered(x), unscattered(x.layout, x._table)[1] or x.layout
    if isinstance(x, RAW):
        return address_of(bytes_of(x)) % MAX_ALIGNMENT
    return x.shape, x.strides, x.dtype, x.flags.aligned


def _decided(
    x: Any, dst: Any, src: Any, shape: Any, axes: Any, new: bool, fill: Any, element: Any, threads: Any
) -> Recipe:
    import numpy as np

    threads = checked_threads(threads)
    source = _source(x, src, shape, element)
    means = source.interface if element is None else as_interface(element)
    if isinstance(dst, str) and is_pattern(dst):
        dst = pattern_format(dst)
    found = placement(dst, means.element)
    names = source.axes if axes is None else checked_axes(axes, source.ndim)
    if isinstance(found, Format) and names is not None:
        found = found.aligned(names)
    layout = with_shape(found, source.shape)
    fmt = found if isinstance(found, Format) else None
    table = warning = None
    if new:
        if layout.has_basis or (layout.padded_size and layout.box.min_offset < 0):
            raise ShapeError(
                f"{layout} goes below 0, or has no places in memory.", hint="add to its offset", layout=layout
            )
        fill = fmt.fill if fmt is not None and fill is None else fill
        if fmt is not None:
            table = _blocks(fmt, layout, None, None)
            if fmt.element_bits not in (None, means.element.bits):
                warning = f"{fmt} is made for elements of {fmt.element_bits} bits, not for {means.element.name}."
    count = layout.storage_size if table is None else table.count * table.elements
    code = bytes(means.element.bits if means.element.bits < 8 else means.element.bytes) if new else None
    if fill is not None:
        code = stored_bytes(means, fill)
    own = unscattered(source.layout, source._table)[1]
    parts = (source.layout if own is None else own, layout, source.interface, means)
    filling = None
    if code is not None and own is not None and box_range(layout) == (0, count):
        filling = make_plan(*parts, code, threads)
        filling = None if filling._compiled is None else filling
    used = count if new else layout.max_offset + 1 if layout.size else 0
    size = -(-used * means.element.bits // 8)
    if size >= 1 << 63:
        raise no_memory(size)
    # Only its shape and strides are looked at: one byte stands for memory of any size, on the host or a device.
    byte = np.empty(1, np.uint8)
    sample = Memory(np.lib.stride_tricks.as_strided(byte, (size,), (1,)), means.element)
    view = new_tensor()._set((sample,), layout, means, None, None)._as_strided()
    strided = None
    if view is not None and fmt is None and not layout.windowed:
        start = address_of(view) - address_of(sample.bytes) if view.size else 0
        strided = view.shape, start, view.strides
    return Recipe(
        _order(x) if src is None else () if isinstance(x, np.ndarray) else None,
        filling if new and filling is not None else make_plan(*parts, None, threads),
        filling,
        code,
        layout,
        means,
        None if fmt is None else fmt.axes,
        table,
        np.dtype(np.uint8) if sample.typed is None else sample.typed.dtype,
        count,
        -(-count * means.element.bits // 8),
        None if fmt is None else fmt.physical_shape(source.shape),
        strided,
        warning,
    )


def _order(x: Any) -> tuple[int, ...] | None:
    """The dimensions of an array as its memory has them, slowest first, if that is all there is to it."""
    if isinstance(x, Tensor):
        return None
    if x.flags.c_contiguous:
        return ()
    order = sorted(range(x.ndim), key=lambda d: -int(x.strides[d]))
    return tuple(order) if x.transpose(order).flags.c_contiguous else None


def _into_tensor(
    x: Any,
    dst: Any,
    src: Any,
    shape: Any,
    axes: Any,
    out: Tensor,
    fill: Any,
    element: Any,
    threads: Any,
    progress: Progress | None,
) -> Any:
    """The repack to a tensor, which is returned; nothing beside its elements is written."""
    if fill is not None:
        raise ShapeError("out is a tensor: its padding is its own.", hint="out.fill_padding(auto=...)", tensor=out)
    if element is not None and as_interface(element) != out.interface:
        raise ShapeError(f"out holds {out.interface}, not {element}.", hint="leave element away", tensor=out)
    recipe = recipe_of(x, dst, src, shape, axes, False, None, out.interface, threads)
    return recipe.plan(recipe.memory(x), out, progress=progress)


def _into(recipe: Recipe, memory: Any, held: Memory, target: NDArray[Any]) -> Plan:
    """The plan that writes to memory which was given, filled before where the plan does not."""
    import numpy as np

    if recipe.fill is None:
        return recipe.plan
    if recipe.filling is not None and held.count == recipe.places:
        return recipe.filling
    kind = recipe.means.element
    if isinstance(memory, Tensor):
        sources = [m.bytes for m in memory._memories]
    else:
        sources = [flat_memory(memory, recipe.plan.source, recipe.plan.element.element, "data")]
        check_memory(recipe.plan, sources[0], target)
    if any(np.may_share_memory(source, target) for source in sources):
        raise Overlap("the data and out share memory.", hint="copy one of them first, or leave out= away")
    if not held.writable:
        raise ShapeError("the memory is read-only.", hint="pass a writable array")
    means = recipe.plan.element
    if means != recipe.means and recipe.plan._program is None:
        # A value may be refused, and then nothing is written.
        data = memory if isinstance(memory, Tensor) else as_tensor(sources[0], recipe.plan.source, means)
        recipe.means.encode(data.numpy())
    fill_range(target.view(carrier(kind)), (0, held.count), kind, recipe.fill)
    return recipe.plan


def _source(x: Any, src: Layout | Format | str | None, shape: Any, kind: Any) -> Tensor:
    """The data as a tensor; with ``src`` flat memory of that layout, whose ``shape`` a format needs."""
    if src is None:
        found = tensor(x)
        if shape is not None:
            with_shape(Layout.row_major(found.shape), shape)
        return found
    if isinstance(x, Tensor):
        raise ShapeError("a tensor knows its layout.", hint="leave src out, or pass t.raw for its memory", tensor=x)
    raw = isinstance(x, RAW)
    if not raw and not x.flags.c_contiguous:
        raise ShapeError("the memory does not lie together.", hint="copy it: numpy.ascontiguousarray", got=x.shape)
    if raw and kind is None:
        raise ShapeError("bytes do not tell their elements.", hint="pass element=", got=type(x))
    placed = placement(src, as_interface(kind).element if raw else own_element(x))
    if isinstance(placed, Format) and shape is None:
        raise ShapeError(f"{placed} has no shape yet.", hint="pass the shape of the data: shape=(...)", format=placed)
    layout = placed if shape is None else with_shape(placed, shape)
    axes = placed.axes if isinstance(placed, Format) else None
    return Tensor(x if raw else x.reshape(-1), layout, kind if raw else None, axes=axes)  # type: ignore[arg-type]
