"""Tensors from arrays, and fresh ones: allocated on 64-byte boundaries, padding included."""

from __future__ import annotations

from typing import Any

from .block_table import BlockTable
from .dialects import parse
from .errors import ShapeError, shown
from .format import Format
from .interface import Interface, Plain, as_interface
from .layout import Layout
from .memory import Memory, as_array, fresh, own_element
from .nested import product
from .tensor import Padding, Tensor


def tensor(x: Any, interface: Any = None, *, axes: str | None = None) -> Tensor:
    """The array ``x`` as a tensor over the same memory: of numpy, or of any library with DLPack.

    The layout counts from the lowest element; strides may be negative or 0.
    """
    import numpy as np

    if isinstance(x, Tensor):
        return x
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
    size = array.dtype.itemsize
    if any(s % size for s, n in zip(array.strides, array.shape) if n > 1):
        raise ShapeError(
            f"strides of {array.strides} bytes are no whole numbers of elements of {size} bytes.",
            hint="copy the array",
            strides=array.strides,
        )
    strides = [s // size if n > 1 else 0 for s, n in zip(array.strides, array.shape)]
    rising = array[tuple([slice(None, None, -1) if s < 0 else slice(None) for s in strides])]
    span = 1 + sum([(n - 1) * abs(s) for n, s in zip(array.shape, strides)]) if array.size else 0
    flat = np.lib.stride_tricks.as_strided(rising, (span,), (size,), writeable=array.flags.writeable)
    start = sum([(n - 1) * -s for n, s in zip(array.shape, strides) if s < 0]) if array.size else 0
    made = Tensor.__new__(Tensor)
    made._set((Memory(flat.view(np.uint8), kind),), Layout(array.shape, strides, offset=start), means, axes, None)
    return made


def empty(
    layout: Layout | Format | str,
    dtype: Any,
    shape: Any = None,
    *,
    axes: str | None = None,
    left_pad: Any = None,
    right_pad: Any = None,
) -> Tensor:
    """A tensor of its own memory, zeroed; a format needs the ``shape``. ``dtype`` is a type or an interface.

    The padding of a format, if it names a fill, is filled with it.
    """
    means = as_interface(dtype)
    made, fill = _allocated(layout, means, shape, axes, left_pad, right_pad)
    return made if fill is None else made.fill_padding(user=None, auto=fill)


def full(layout: Layout | Format | str, value: Any, dtype: Any, shape: Any = None, **words: Any) -> Tensor:
    """The same with ``value`` at every element."""
    return empty(layout, dtype, shape, **words).fill(value)


def from_logical(
    array: Any,
    layout: Layout | Format | str,
    interface: Any = None,
    *,
    fill: Any = None,
    axes: str | None = None,
    left_pad: Any = None,
    right_pad: Any = None,
) -> Tensor:
    """A copy of ``array`` in another layout; ``axes`` names the array's dimensions, in their order.

    Everything beside the data gets ``fill``, a stored value or ``"qzero"``; by default that of the format, else 0.
    """
    import numpy as np

    source = (
        array.numpy() if isinstance(array, Tensor) else as_array(array) if not np.isscalar(array) else np.asarray(array)
    )
    axes = axes or (array.axes if isinstance(array, Tensor) else None)
    means = Plain(own_element(source)) if interface is None else as_interface(interface)
    made, usual = _allocated(layout, means, source.shape, axes, left_pad, right_pad)
    value = usual if fill is None else fill
    if value is not None:
        made.fill_padding(user=value, auto=value)
    made._assign(source)
    return made


def _allocated(
    layout: Layout | Format | str, means: Interface, shape: Any, axes: str | None, left_pad: Any, right_pad: Any
) -> tuple[Tensor, Any]:
    """A zeroed tensor that owns its padding, and the fill that the format names."""
    found = parse(layout) if isinstance(layout, str) else layout
    fill = table = None
    if isinstance(found, Format):
        if shape is None:
            raise ShapeError(f"{found} has no shape yet.", hint="pass shape=(...)", format=found)
        fmt = found if axes is None else found.aligned(axes)
        made = fmt.layout(shape, left_pad=left_pad, right_pad=right_pad)
        axes, fill = fmt.axes, fmt.fill
        room = made.storage_size
        if fmt.indirect is not None and room:
            physical = fmt.physical_shape(shape, left_pad=left_pad, right_pad=right_pad)
            table = BlockTable.consecutive(product(physical[: fmt.indirect]), physical[fmt.indirect :])
    elif isinstance(found, Layout):
        made, room = found, found.storage_size
        if (shape is not None and tuple(shape) != made.extents) or left_pad is not None or right_pad is not None:
            raise ShapeError(
                f"{found} has its shape and padding already.", hint="leave shape and padding out", layout=found
            )
    else:
        raise ShapeError(f"expected a layout, a format or a text, got {shown(layout)}.", hint="rl.parse makes one")
    if made.size and made.min_offset < 0:
        raise ShapeError(f"{made} goes down to {made.min_offset}.", hint="add to its offset", layout=made)
    zeros = (0,) * made.rank
    padding = Padding(tuple(left_pad or zeros), tuple(right_pad or zeros))
    result = Tensor.__new__(Tensor)
    memory = fresh(means.element, room)
    result._set((memory,), made, means, axes, table, padding)
    return result, fill
