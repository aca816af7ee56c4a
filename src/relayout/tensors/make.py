"""Tensors from arrays, and fresh ones: allocated on 64-byte boundaries, padding included."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ..elements.interface import Plain, as_interface
from ..elements.memory import ALIGNMENT, Memory, allocate, as_array, own_element
from ..errors import ShapeError
from ..format.factors import padding
from ..format.format import Format
from ..layout.layout import Layout
from ..layout.ranges import check_allocatable
from .allocation import Padding, checked_boundary, new_block_table, spread_blocks
from .data import fill_code
from .tensor import Tensor, new_tensor

if TYPE_CHECKING:
    from ..dialects.registry import Shapeless


def tensor(x: Any, interface: Any = None, *, axes: str | None = None) -> Tensor:
    """The array ``x`` as a tensor over the same memory: of numpy, or of any library with DLPack.

    The layout counts from the lowest element; strides may be negative or 0. A tensor gets another interface, and other
    names for its dimensions.
    """
    import numpy as np

    if isinstance(x, Tensor) and interface is None and axes is None:
        return x
    if isinstance(x, Tensor):
        kind = x.interface.element.underlying
        means = x.interface if interface is None else as_interface(interface)
    else:
        array = as_array(x)
        kind = own_element(array)
        means = Plain(kind) if interface is None else as_interface(interface)
    if means.element.underlying != kind:
        raise ShapeError(
            f"the array holds {kind.name}, not {means.element.underlying.name}.",
            hint="view it as that type first",
            got=kind,
            expected=means.element,
        )
    if isinstance(x, Tensor):
        return x._like(x.layout, means, x.axes if axes is None else axes)
    size = array.dtype.itemsize
    moving = [n > 1 and array.size > 0 for n in array.shape]
    if any(s % size for s, moves in zip(array.strides, moving) if moves):
        raise ShapeError(
            f"strides of {array.strides} bytes are no whole numbers of elements of {size} bytes.",
            hint="copy the array",
            strides=array.strides,
        )
    strides = [s // size for s in array.strides]
    reach = [(n - 1) * s if moves else 0 for n, s, moves in zip(array.shape, strides, moving)]
    index: Any = (..., *[slice(None, None, -1) if r < 0 else slice(None) for r in reach])
    lowest = array.view(f"V{size}")[index]
    span = 1 + sum([abs(r) for r in reach]) if array.size else 0
    flat = np.lib.stride_tricks.as_strided(lowest, (span,), (size,), writeable=array.flags.writeable)
    layout = Layout(array.shape, strides, offset=-sum([r for r in reach if r < 0]))
    return new_tensor()._set((Memory(flat.view(np.uint8), kind),), layout, means, axes, None)


def empty(
    layout: Layout | Format | Shapeless | str,
    dtype: Any,
    shape: Any = None,
    *,
    fill: Any = None,
    axes: str | None = None,
    left_pad: Any = None,
    right_pad: Any = None,
    gap: int = 0,
    align: int | None = None,
) -> Tensor:
    """A tensor of its own memory; a format needs the ``shape``. ``dtype`` is a type or an interface.

    All of the memory holds ``fill``, a stored value or ``"qzero"``; by default that of the format, else 0, and
    ``"qzero"`` in the padding that was asked for. The memory, and every block of a table, starts at a multiple of
    ``align`` bytes; ``gap`` bytes at least lie between two blocks of a table.
    """
    boundary = ALIGNMENT if align is None else checked_boundary(align)
    means = as_interface(dtype)
    from ..dialects.resolve import resolve

    operand = resolve(layout, axes=axes, element=means, fill=fill)
    if shape is not None or left_pad is not None or right_pad is not None:
        operand = operand.at(operand.placed.extents if shape is None else shape, left_pad=left_pad, right_pad=right_pad)
    if operand.width_mismatch is not None:
        warnings.warn(operand.width_mismatch, stacklevel=2)
    placed = operand.placed
    check_allocatable(placed)
    fmt = operand.format if isinstance(operand.format, Format) else None
    table = None if fmt is None else new_block_table(fmt, placed)
    if table is not None and (gap or align is not None):
        table = spread_blocks(table, means.element, gap, boundary if align is not None else 1)
    elif gap and placed.size:
        raise ShapeError("there are no blocks of a table to lie apart.", hint="leave gap out", format=fmt, gap=gap)
    room = placed.storage_size if table is None else int(table.starts[-1]) + table.elements
    memory = allocate(means.element, room, boundary=boundary)
    asked = Padding(padding(left_pad, "left_pad", placed.rank), padding(right_pad, "right_pad", placed.rank))
    bound = None if table is None else table.bound([memory])
    made = new_tensor()._set((memory,), placed, means, operand.axes, bound, asked, fmt)
    if operand.fill is not None:
        memory.fill(fill_code(means, operand.fill))
    if fill is None and any(asked.left + asked.right):
        made.fill_padding(user="qzero")
    return made


def full(
    layout: Layout | Format | Shapeless | str,
    value: Any,
    dtype: Any,
    shape: Any = None,
    *,
    fill: Any = None,
    axes: str | None = None,
    left_pad: Any = None,
    right_pad: Any = None,
    gap: int = 0,
    align: int | None = None,
) -> Tensor:
    """A tensor of its own memory with ``value`` at every element; the other arguments are those of :func:`empty`."""
    words = {"fill": fill, "axes": axes, "left_pad": left_pad, "right_pad": right_pad, "gap": gap, "align": align}
    return empty(layout, dtype, shape, **words).fill(value)
