"""Flat memory: what lies behind the arguments of a plan, checked before a run, and what a run returns.

Nothing is copied.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...elements.interface import Interface
from ...elements.memory import address_of, as_array, exports_array
from ...elements.types import Element, storage_dtype
from ...errors import LayoutMismatch, NotExpressible, OutOfBounds, Overlap, ShapeError, shown
from ...layout.layout import Layout
from ...tensors.make import tensor
from ...tensors.tensor import Tensor
from ..places import box_range, element_range
from .program import buffer_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..plan import Plan


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


def needs_table(x: Any, layout: Layout) -> bool:
    """Whether ``x`` is a tensor of this layout by its table of blocks, which lie elsewhere than the layout says."""
    if not isinstance(x, Tensor) or x._table is None:
        return False
    own = x._flat[1]
    return own is None or (own != layout and x.layout == layout)


def _of_tensor(x: Tensor, layout: Layout, kind: Element, what: str) -> NDArray[Any]:
    buffer, own = x._flat
    check_tensor(x, own or x.layout, layout, kind, what)
    memory = x._memories[buffer]
    return memory.bytes if memory.typed is None else memory.typed.view(buffer_dtype(kind))


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
    stored = buffer_dtype(kind) if kind.bits % 8 else storage_dtype(kind)
    if array.dtype not in (stored, buffer_dtype(kind)):
        raise ShapeError(
            f"the {what} holds {array.dtype}, and the plan moves {kind.name}.",
            hint=f"view it as {stored}, or pass memoryview(x).cast('B') for its bytes",
            got=array.dtype,
        )
    if array.ndim == 1 and array.flags.c_contiguous:
        return array.view(buffer_dtype(kind))
    if array.ndim != 1 and array.shape == layout.extents and kind.bits % 8 == 0:
        if array.flags.c_contiguous and _is_row_major(layout):
            return array.reshape(-1).view(buffer_dtype(kind))
        own = tensor(array)
        if own.layout.equivalent(layout):
            return own.raw.view(buffer_dtype(kind))
        strides = [s // array.itemsize for s in array.strides]
        raise LayoutMismatch(
            f"the {what} of shape {array.shape} has the strides {strides}, and the plan is made for {layout}.",
            hint="plan for rl.tensor(x).layout; or pass the stored memory, x.reshape(-1)",
            got=own.layout,
            expected=layout,
        )
    size = -(-layout.storage_size * kind.bits // 8) if kind.bits < 8 else layout.storage_size
    if array.ndim != 1 and array.size == size and array.flags.c_contiguous:
        return array.reshape(-1).view(buffer_dtype(kind))
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
            each = buffer_dtype(kind).itemsize
            return data[: data.size // each * each].view(buffer_dtype(kind))
        return _of_array(np.asarray(view), layout, kind, what)
    except (TypeError, ValueError, BufferError) as error:
        if isinstance(error, ShapeError | LayoutMismatch):
            raise
        raise ShapeError(
            f"the {what} {shown(x)} has no memory that can be used: {error}.",
            hint="pass an array, a tensor, or bytes",
            got=type(x),
        ) from None


# ---- checked and filled ----------------------------------------------------------------------------------


def check_memory(plan: Plan, x: NDArray[Any], out: NDArray[Any]) -> None:
    """Refuse flat memory that is too short, cannot be written, or is used for both."""
    if not out.flags.writeable:
        raise ShapeError("the target's memory is read-only.", hint="pass a writable array")
    written = element_range(plan.target) if plan.fill is None else box_range(plan.target)
    touched = []
    for array, layout, (low, high), bits, what in (
        (x, plan.source, element_range(plan.source), plan.element.element.bits, "source"),
        (out, plan.target, written, plan.dst_element.element.bits, "target"),
    ):
        count = array.nbytes * 8 // bits
        if high > count:
            raise OutOfBounds(
                f"the {what} {layout} goes up to {high - 1}, and its memory has {count} elements.",
                hint="give more memory",
                layout=layout,
            )
        address = address_of(array)
        touched.append((address + low * bits // 8, address - (-high * bits // 8)))
    (a, a_end), (b, b_end) = touched
    if max(a, b) < min(a_end, b_end):
        raise Overlap("source and target share memory.", hint="copy the source first")


def check_apart(source: Tensor, target: Tensor) -> None:
    """Refuse memory that cannot be written, or that holds the source as well."""
    import numpy as np

    target._check_writable()
    if any(np.may_share_memory(a.bytes, b.bytes) for a in source._memories for b in target._memories):
        raise Overlap("the data and out share memory.", hint="copy one of them first, or leave out= away")


def as_tensor(flat: NDArray[Any], layout: Layout, interface: Interface) -> Tensor:
    """A tensor over flat memory that is passed as bits."""
    element = interface.element
    return Tensor(flat if element.bits % 8 else flat.view(storage_dtype(element)), layout, interface)


def fill_range(out: NDArray[Any], places: tuple[int, int], element: Element, pattern: bytes) -> None:
    """Repeat a stored value, or eight that share bytes, over a range of flat memory."""
    import numpy as np

    low, high = places
    if element.bits % 8 == 0:
        out[low:high] = np.frombuffer(pattern, out.dtype)
        return
    from ...elements.subbyte import put, unpack

    # Eight elements begin and end with a byte.
    first, last = -(-low // 8), high // 8
    if first < last:
        out[first * element.bits : last * element.bits].reshape(-1, element.bits)[...] = np.frombuffer(
            pattern, np.uint8
        )
    edges = np.array([*range(low, min(first * 8, high)), *range(max(last * 8, low, first * 8), high)], np.int64)
    put(out, element, edges, unpack(pattern, element, 8)[edges % 8])
