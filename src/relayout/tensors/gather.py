"""All elements of a layout at once, in and out of memory: by strided views where it has some, else by their offsets.

Nothing is proven here: every offset is inside the memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product as cartesian
from math import prod
from typing import TYPE_CHECKING, Any

from ..elements.memory import Memory
from ..elements.types import Element, storage_dtype
from ..errors import LimitExceeded, shown
from ..layout.layout import Layout
from ..layout.modes import boxes
from ..layout.ranges import effective_swizzle
from ..native import native
from .block_table import BlockTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

SLAB = 1 << 22
"""How many offsets are looked up at once."""

MIN_PLANNED = 512
"""So many elements are moved by a plan, fewer by numpy."""

LARGE_BLOCK = 64
"""Blocks of so many elements are read one by one, smaller ones element by element.

For 2^20 float32 in shuffled blocks, element by element takes 0.4 times as long as block by block for blocks of 16, 2.4
times for 64 and 12 times for 256.
"""

MAX_VIEWS = 512
"""Into how many strided views a layout may fall apart before it is copied by its offsets."""

MAX_DIMS = 64
"""numpy's limit."""


MAX_ELEMENTS = 1 << 42
"""The largest array that is made."""


def check_shape(shape: tuple[int, ...]) -> None:
    """Refuse a shape that no numpy array has."""
    if len(shape) > MAX_DIMS or prod([max(n, 1) for n in shape]) > MAX_ELEMENTS:
        raise LimitExceeded(
            f"an array of shape {shown(shape)} is over {MAX_DIMS} dimensions or {MAX_ELEMENTS} elements.",
            hint="take a part of the tensor",
            limit=MAX_ELEMENTS,
        )


def gather(memories: Sequence[Memory], layout: Layout, table: BlockTable | None) -> NDArray[Any]:
    """A new array of the stored values, in logical order."""
    import numpy as np

    out = np.empty(layout.extents, storage_dtype(memories[0].element))
    buffer, flat = unscattered(layout, table)
    typed = memories[buffer].typed
    if flat is not None and typed is not None and out.size >= MIN_PLANNED:
        copy_stored(flat, _row_major(out.shape), memories[0].element, typed, out.reshape(-1))
        return out
    if flat is None and typed is not None and out.size >= MIN_PLANNED and native is not None:
        _copy_blocks(memories, layout, table, out, to_memory=False)
        return out
    if (
        flat is None
        and table is not None
        and table.elements >= LARGE_BLOCK
        and typed is not None
        and fits_views(layout)
    ):
        flat, typed = layout, _concatenate_blocks(memories, table)
    if flat is not None and typed is not None and fits_views(flat):
        for stored, values in views(flat, typed, out):
            values[...] = stored
        return out
    for index, part in slabs(layout):
        for k, mine, where in _by_buffer(memories, part, table):
            out[index][mine] = memories[k].read(where)
    return out


def scatter(memories: Sequence[Memory], layout: Layout, table: BlockTable | None, values: NDArray[Any]) -> None:
    """Write stored values of the layout's shape, which are no part of the memory."""
    buffer, flat = unscattered(layout, table)
    typed = memories[buffer].typed
    if typed is not None and values.size >= MIN_PLANNED and values.dtype == typed.dtype:
        found = _flat_values(values)
        if found is not None and flat is not None:
            copy_stored(found[0], flat, memories[0].element, found[1], typed)
            return
        if flat is None and native is not None:
            _copy_blocks(memories, layout, table, values, to_memory=True)
            return
    if flat is not None and typed is not None and fits_views(flat):
        for stored, part_values in views(flat, typed, values):
            stored[...] = part_values
        return
    for index, part in slabs(layout):
        for k, mine, where in _by_buffer(memories, part, table):
            memories[k].write(where, values[index][mine])


def copy_stored(source: Layout, target: Layout, element: Element, x: NDArray[Any], out: NDArray[Any]) -> None:
    """Move stored elements as they are from one flat memory to another."""
    from ..engine.plan import plan_of_elements

    plan_of_elements(source, target, element)(x, out)


_row_major = lru_cache(maxsize=1024)(Layout.row_major)


def _copy_blocks(
    memories: Sequence[Memory], layout: Layout, table: BlockTable | None, values: NDArray[Any], *, to_memory: bool
) -> None:
    """Move elements between blocks that are scattered, or swizzled from a start, and an array in logical order."""
    import numpy as np

    from ..engine.ways import copy_scattered

    own, bits = [m.bytes for m in memories], memories[0].element.bits
    flat = [np.ascontiguousarray(values).reshape(-1).view(np.uint8)]
    if to_memory:
        copy_scattered(_row_major(values.shape), layout, bits, flat, own, None, table)
    else:
        copy_scattered(layout, _row_major(values.shape), bits, own, flat, table, None)


def _flat_values(values: NDArray[Any]) -> tuple[Layout, NDArray[Any]] | None:
    """The layout of an array, and its flat memory; None where it is one value, or elements do not lie at their size."""
    if values.flags.c_contiguous:
        return _row_major(values.shape), values.reshape(-1)
    if not values.flags.aligned or not any(values.strides) or any(s % values.itemsize for s in values.strides):
        return None
    from .make import tensor

    found = tensor(values)
    return found.layout, found.raw


def unscattered(layout: Layout, table: BlockTable | None) -> tuple[int, Layout | None]:
    """A buffer, and the layout that has its offsets there; None where a table scatters it.

    A swizzle of bits that no offset has is gone; another counts from where the table starts, which no layout says.
    """
    if layout.swizzle is not None and (layout.size == 0 or effective_swizzle(layout) is None):
        layout = layout.with_swizzle(None)
    if table is None:
        return 0, layout
    if table.start is None or layout.swizzle is not None:
        return 0, None
    buffer, start = table.start
    return buffer, layout.with_offset(layout.offset + start) if start else layout


@lru_cache(maxsize=1024)
def fits_views(layout: Layout) -> bool:
    """Whether few strided views hold all elements."""
    if layout.swizzle is not None:
        return False
    modes = [layout._mode(d) for d in range(layout.rank)]
    digits = sum([sum([n > 1 for n in mode.sizes]) for mode in modes])
    return digits <= MAX_DIMS and prod([len(boxes(mode)) for mode in modes]) <= MAX_VIEWS


def views(layout: Layout, flat: NDArray[Any], array: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Pairs of views, one of the memory and one of an array of the layout's shape, of the same elements.

    A window is cut into full boxes of digits, so that no view reaches beside it.
    """
    import numpy as np

    item = flat.itemsize
    for shape, start, strides, index in strided_boxes(layout):
        stored: NDArray[Any] = np.ndarray(shape, flat.dtype, flat, start * item, [s * item for s in strides])
        # To cut dimensions into digits never takes a copy.
        yield stored, array[index].reshape(shape)


@lru_cache(maxsize=256)
def strided_boxes(layout: Layout) -> tuple[tuple[tuple[int, ...], int, tuple[int, ...], Any], ...]:
    """The full boxes of digits of a layout: shape, first offset, strides, and which elements in logical order."""
    found = []
    for combination in cartesian(*[boxes(layout._mode(d)) for d in range(layout.rank)]):
        start = layout.offset + sum([box.base for box in combination])
        digits = [digit for box in combination for digit in zip(box.sizes[::-1], box.strides[::-1]) if digit[0] > 1]
        firsts = [box.start - o for box, o in zip(combination, layout.origin)]
        index = (..., *[slice(a, a + prod(box.sizes)) for a, box in zip(firsts, combination)])
        found.append((tuple([n for n, _ in digits]), start, tuple([s for _, s in digits]), index))
    return tuple(found)


def slabs(layout: Layout) -> Iterator[tuple[tuple[Any, ...], Layout]]:
    """The layout cut into parts of at most ``SLAB`` elements, each with its place."""
    todo = [((0,) * layout.rank, layout)]
    while todo:
        at, part = todo.pop()
        if part.size <= SLAB:
            yield (..., *[slice(a, a + n) for a, n in zip(at, part.extents)]), part
            continue
        d = part.extents.index(max(part.extents))
        half = part.extents[d] // 2
        todo.append((at, part.narrow(d, 0, half)))
        todo.append(((*at[:d], at[d] + half, *at[d + 1 :]), part.narrow(d, half, part.extents[d] - half)))


def _concatenate_blocks(memories: Sequence[Memory], table: BlockTable) -> NDArray[Any]:
    """A copy of the blocks, one behind the other: virtual addresses are its offsets."""
    import numpy as np

    typed: Any = [memory.typed for memory in memories]
    starts = zip(table.buffers.tolist(), table.starts.tolist())
    return np.concatenate([typed[buffer][start : start + table.elements] for buffer, start in starts])


def _by_buffer(memories: Sequence[Memory], layout: Layout, table: BlockTable | None) -> Iterator[tuple[int, Any, Any]]:
    """For each buffer which of the elements are in it, and their numbers there."""
    import numpy as np

    if table is None:
        yield 0, ..., layout.offsets()
        return
    buffers, where = map(np.asarray, table.address(layout.offsets()))
    for k in range(len(memories)):
        mine = buffers == k
        if mine.any():
            yield k, mine, where[mine]
