"""Runs of a plan: the compiled core where it can, else numpy, with the same results."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..elements.interface import Interface
from ..elements.memory import address_of
from ..elements.subbyte import put, unpack
from ..elements.types import Element, storage_dtype
from ..errors import LimitExceeded, NotExpressible, OutOfBounds, Overlap, ShapeError
from ..layout.layout import Layout
from ..native import native
from ..tensors.gather import scatter
from ..tensors.tensor import Tensor
from .general import General
from .places import box_range, element_range
from .pure import copy_elements

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .plan import Plan


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


def copied_at_once(plan: Plan, x: NDArray[Any], out: NDArray[Any]) -> bool:
    """Whether the compiled core has done it all; it leaves memory alone that is too short, shared or read-only."""
    return plan._compiled is not None and plan._compiled(x, out, plan._threads) == 0


def copy_flat(plan: Plan, x: NDArray[Any], out: NDArray[Any]) -> None:
    """Fill and copy between flat memories that are known to fit."""
    if copied_at_once(plan, x, out):
        return
    kind = plan.dst_element.element
    converts = plan.element != plan.dst_element
    # A value may be refused, and then nothing is written.
    stored = converted(plan, x) if converts and plan._program is None else None
    if plan.fill is not None:
        low, high = box_range(plan.target)
        if high - low > plan.target.size:
            fill_range(out, (low, high), kind, plan.fill)
    if not plan.source.size:
        return
    if plan._compiled is None and plan._program is not None and plan._program(x, out, plan._threads) == 0:
        return
    if converts:
        made = as_tensor(out, plan.target, plan.dst_element)
        scatter(made._memories, made.layout, None, converted(plan, x) if stored is None else stored)
        return
    try:
        general(plan.source, plan.target, kind.bits)([x], [out], threads=workers(plan.threads))
    except (LimitExceeded, NotExpressible):
        copy_elements(plan.source, plan.target, kind, x, out)


def converted(plan: Plan, x: NDArray[Any]) -> NDArray[Any]:
    """The data as the target stores it, in logical order."""
    stored: NDArray[Any] = plan.dst_element.encode(as_tensor(x, plan.source, plan.element).numpy())
    return stored


def as_tensor(flat: NDArray[Any], layout: Layout, means: Interface) -> Tensor:
    """A tensor over flat memory that is passed as bits."""
    return Tensor(flat if means.element.bits % 8 else flat.view(storage_dtype(means.element)), layout, means)


def check_apart(source: Tensor, target: Tensor) -> None:
    """Refuse memory that cannot be written, or that holds the source as well."""
    import numpy as np

    target._check_writable()
    if any(np.may_share_memory(a.bytes, b.bytes) for a in source._memories for b in target._memories):
        raise Overlap("the data and out share memory.", hint="copy one of them first, or leave out= away")


def copy_blocks(source: Tensor, target: Tensor, threads: int | None) -> None:
    """Copy between tensors of one shape whose blocks may be scattered."""
    if source.interface != target.interface or native is None:
        target.copy_from(source)
        return
    sides = [(t.layout, t._table, [m.bytes for m in t._memories]) for t in (source, target)]
    (a, x_table, x), (b, out_table, out) = sides
    sizes = [None if table is None else table.elements for table in (x_table, out_table)]
    run = general(a, b, source.interface.element.bits, *sizes)
    run(x, out, x_table, out_table, workers(threads))


def workers(threads: int | None) -> int:
    """As many threads as asked for, else ``RELAYOUT_THREADS`` of the environment, else all processors."""
    return threads or (1 if native is None else native.default_threads())


general = lru_cache(maxsize=256)(General)


def fill_range(out: NDArray[Any], places: tuple[int, int], kind: Element, pattern: bytes) -> None:
    """Repeat a stored value, or eight that share bytes, over a range of flat memory."""
    import numpy as np

    low, high = places
    if kind.bits % 8 == 0:
        out[low:high] = np.frombuffer(pattern, out.dtype)
        return
    # Eight elements begin and end with a byte.
    first, last = -(-low // 8), high // 8
    if first < last:
        out[first * kind.bits : last * kind.bits].reshape(-1, kind.bits)[...] = np.frombuffer(pattern, np.uint8)
    edges = np.array([*range(low, min(first * 8, high)), *range(max(last * 8, low, first * 8), high)], np.int64)
    put(out, kind, edges, unpack(pattern, kind, 8)[edges % 8])
