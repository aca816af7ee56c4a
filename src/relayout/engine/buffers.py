"""What a plan is called with, as the flat memory behind it, and what it returns. Nothing is copied."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..elements.memory import as_array, exports_array
from ..elements.types import Element, storage_dtype
from ..errors import LayoutMismatch, NotExpressible, ShapeError, shown
from ..layout.layout import Layout
from ..tensors.gather import unscattered
from ..tensors.make import tensor
from ..tensors.tensor import Tensor
from .program import carrier

if TYPE_CHECKING:
    from numpy.typing import NDArray


def flat_memory(x: Any, layout: Layout, kind: Element, what: str) -> NDArray[Any]:
    """The memory that ``layout`` counts in: of a tensor of this layout, of an array, or bytes.

    An array of one dimension is the memory itself, and so is one of any other shape with all of the layout's storage,
    in row-major order. One of the layout's own extents is the data, and has the layout's strides. Elements narrower
    than a byte are packed, in bytes or in uint8.
    """
    if isinstance(x, Tensor):
        return _of_tensor(x, layout, kind, what)
    if not exports_array(x):
        return _of_buffer(x, layout, kind, what)
    return _of_array(as_array(x), layout, kind, what)


def is_scattered(x: Any) -> bool:
    """Whether ``x`` is a tensor whose blocks do not follow each other, so that it has no flat memory."""
    return isinstance(x, Tensor) and unscattered(x.layout, x._table)[1] is None


def needs_table(x: Any, layout: Layout) -> bool:
    """Whether ``x`` is a tensor of this layout by its table of blocks, which lie elsewhere than the layout says."""
    if not isinstance(x, Tensor) or x._table is None:
        return False
    own = unscattered(x.layout, x._table)[1]
    return own is None or (own != layout and x.layout == layout)


def _of_tensor(x: Tensor, layout: Layout, kind: Element, what: str) -> NDArray[Any]:
    buffer, own = unscattered(x.layout, x._table)
    check_tensor(x, own or x.layout, layout, kind, what)
    memory = x._memories[buffer]
    return memory.bytes if memory.typed is None else memory.typed.view(carrier(kind))


def check_tensor(x: Tensor, own: Layout, layout: Layout, kind: Element, what: str) -> None:
    """Refuse a tensor of another layout or type than the plan's."""
    if x.interface.element.underlying != kind.underlying:
        raise ShapeError(
            f"the {what} holds {x.dtype}, and the plan moves {kind.name}.", hint="make a plan for its type", tensor=x
        )
    if own != layout and not (own.extents == layout.extents and own.equivalent(layout)):
        raise LayoutMismatch(
            f"the {what} has the layout {own}, and the plan is made for {layout}.",
            hint="make a plan for its layout, or pass its memory: t.raw",
            tensor=x,
            expected=layout,
        )


def _of_array(array: NDArray[Any], layout: Layout, kind: Element, what: str) -> NDArray[Any]:
    stored = carrier(kind) if kind.bits % 8 else storage_dtype(kind)
    if array.dtype not in (stored, carrier(kind)):
        raise ShapeError(
            f"the {what} holds {array.dtype}, and the plan moves {kind.name}.",
            hint=f"view it as {stored}, or pass memoryview(x).cast('B') for its bytes",
            got=array.dtype,
        )
    if array.ndim == 1 and array.flags.c_contiguous:
        return array.view(carrier(kind))
    if array.ndim != 1 and array.shape == layout.extents and kind.bits % 8 == 0:
        if array.flags.c_contiguous and _is_row_major(layout):
            return array.reshape(-1).view(carrier(kind))
        own = tensor(array)
        if own.layout.equivalent(layout):
            return own.raw.view(carrier(kind))
        strides = [s // array.itemsize for s in array.strides]
        raise LayoutMismatch(
            f"the {what} of shape {array.shape} has the strides {strides}, and the plan is made for {layout}.",
            hint="plan for rl.tensor(x).layout; or pass the stored memory, x.reshape(-1)",
            got=own.layout,
            expected=layout,
        )
    size = -(-layout.storage_size * kind.bits // 8) if kind.bits < 8 else layout.storage_size
    if array.ndim != 1 and array.size == size and array.flags.c_contiguous:
        return array.reshape(-1).view(carrier(kind))
    raise ShapeError(
        f"the {what} of shape {array.shape} and strides {array.strides} is neither flat memory, nor the data, of shape "
        f"{layout.extents}, nor all {size} elements of the storage.",
        hint="pass its memory: x.reshape(-1), or copy it first (numpy.ascontiguousarray)",
        shape=array.shape,
    )


@lru_cache(maxsize=1024)
def _is_row_major(layout: Layout) -> bool:
    return Layout.row_major(layout.extents).equivalent(layout)


def for_library_of(x: Any, made: NDArray[Any], flat: NDArray[Any]) -> Any:
    """An array for the library that ``x`` is of, over the same memory; ``flat`` where it has no such strides."""
    from_dlpack = _importer(x)
    if from_dlpack is None:
        return made
    try:
        return from_dlpack(tensor(made))
    except NotExpressible:
        return from_dlpack(tensor(flat))
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ShapeError(
            f"the library of {type(x).__name__} does not take {flat.dtype}: {error}.",
            hint="pass rl.tensor(x), which gives a tensor, or numpy.asarray(x)",
            got=type(x),
        ) from None


def _importer(x: Any) -> Any:
    """How the library of an array takes memory of others; None for numpy's own and for those that do not tell."""
    import numpy as np

    if isinstance(x, np.ndarray | Tensor) or not hasattr(x, "__dlpack__"):
        return None
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return torch.from_dlpack
    return x.__array_namespace__().from_dlpack if hasattr(x, "__array_namespace__") else None


def _of_buffer(x: Any, layout: Layout, kind: Element, what: str) -> NDArray[Any]:
    import numpy as np

    try:
        view = memoryview(x)
        if view.ndim == 1 and view.c_contiguous and view.format.strip("@=<") in ("B", "b", "c"):
            data: NDArray[np.uint8] = np.frombuffer(view, np.uint8)
            each = carrier(kind).itemsize
            return data[: data.size // each * each].view(carrier(kind))
        return _of_array(np.asarray(view), layout, kind, what)
    except (TypeError, ValueError, BufferError) as error:
        if isinstance(error, ShapeError | LayoutMismatch):
            raise
        raise ShapeError(
            f"the {what} {shown(x)} has no memory that can be used: {error}.",
            hint="pass an array, a tensor, or bytes",
            got=type(x),
        ) from None
