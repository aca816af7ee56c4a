"""Who asks for what: the elements that each thread of a program touches, as byte addresses of vectorised accesses.

Memory is whatever has a layout. Threads are a layout from (thread, value) to the column-major index of the memory's
logical shape, a text or a ``LinearLayout`` of Triton, a list of coordinates (one for each thread, or a list of them),
or one of the words ``rows`` and ``columns``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..algebra.composed import ComposedLayout
from ..algebra.linear import LinearLayout
from ..dialects.resolve import resolve
from ..elements.types import Element
from ..elements.types import element as element_of
from ..errors import LimitExceeded, OutOfBounds, Overlap, ShapeError, shown
from ..hardware.architecture import Access
from ..integers.nested import product
from ..layout.layout import Layout
from .walks import check_walk, walk

OFF = -1
"""The index, and the address, of what takes no part."""

HIGHEST = 1 << 48
"""No offset and no address is as large as this."""

TABLE = 1 << 20
"""The most elements of a memory whose offsets are all worked out at once; of a larger one each is asked for."""

VALUES = 1 << 20
"""The most values of all threads."""

REGISTERS = "register"
"""Triton's name for the values of a thread; all other inputs of its layouts count threads."""


class TileMemory(NamedTuple):
    """A memory: the logical shape, the function from its coordinates to offsets, and the type of its elements."""

    layout: Layout | ComposedLayout | LinearLayout
    extents: tuple[int, ...]
    element: Element

    @property
    def size(self) -> int:
        return product(self.extents)

    @property
    def last_offset(self) -> int:
        """The largest offset that storage holds."""
        if isinstance(self.layout, LinearLayout):
            return product(tuple(self.layout.out_dims.values())) - 1
        return self.layout.storage_size - 1

    def offsets(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """The offsets of elements by their column-major index; what takes no part keeps ``OFF``."""
        on = indices != OFF
        found = np.full(indices.shape, OFF, np.int64)
        if isinstance(self.layout, LinearLayout):
            found[on] = self.layout.flatten_outs()(indices[on])
        elif self.size <= TABLE:
            found[on] = self.layout.offsets().ravel(order="F")[indices[on]]
        else:
            known, where = np.unique(indices[on], return_inverse=True)
            values = [self.layout(index) for index in known.tolist()]
            found[on] = np.array([min(max(x, -HIGHEST), HIGHEST) for x in values], np.int64)[where]
        outside = np.argwhere(on & ((found < 0) | (found >= HIGHEST)))
        if len(outside):
            thread, offset = int(outside[0][0]), int(found[tuple(outside[0])])
            before = offset < 0
            raise OutOfBounds(
                f"thread {thread} has an element {'before the start' if before else 'past the end'} of any memory.",
                hint="give the layout an offset, so that its lowest place is 0" if before else "smaller strides fit",
                thread=thread,
            )
        return found


def memory_of(x: Any, element: Any, shape: Any = None) -> TileMemory:
    """The memory that ``x`` describes; ``element`` comes before its own type, ``shape`` is for a format."""
    if isinstance(x, LinearLayout):
        linear = _to_offsets(x)
        return TileMemory(linear, tuple(linear.in_dims.values()), _element(element, x))
    if isinstance(x, ComposedLayout):
        return TileMemory(x, x.extents, _element(element, x))
    found = resolve(x, shape=shape, element=element)
    layout = found.placed
    if layout.has_basis:
        raise ShapeError(f"{layout} gives coordinates, not places in memory.", hint="give a layout of offsets", got=x)
    return TileMemory(layout, layout.extents, _element(found.element, x))


def _element(element: Any, x: Any) -> Element:
    if element is None:
        raise ShapeError(f"nothing tells the elements of {shown(x)}.", hint='pass element="float16"', got=x)
    return element if isinstance(element, Element) else element_of(element)


def _to_offsets(x: LinearLayout) -> LinearLayout:
    """The layout from coordinates to offsets; Triton's shared layouts go the other way."""
    if "offset" in x.in_dims:
        others = [name for name, size in x.in_dims.items() if name != "offset" and size > 1]
        if others:
            raise ShapeError(
                f"the memory {x} has the inputs {', '.join(x.in_dims)}: it lies in several blocks.",
                hint="ask about the layout of one block",
                got=x,
            )
        return x.sublayout(["offset"], list(x.out_dims)).invert()
    return x


def thread_indices(threads: Any, memory: TileMemory, vector: int = 1, lanes: int = 32) -> NDArray[np.int64]:
    """The column-major index of every (thread, value) in the memory's logical shape.

    Threads by a word are ``lanes`` that take ``vector`` elements at a time.
    """
    if not memory.size:
        raise ShapeError(
            f"a tile of {memory.extents} has no element.", hint="give every dimension a size", threads=threads
        )
    if isinstance(threads, str) and threads.isidentifier():
        check_walk(threads)
        _check_count(memory.size)
        return walk(threads, memory.extents, max(vector, 1), lanes)
    if isinstance(threads, LinearLayout):
        table = _of_linear(threads, memory)
    elif isinstance(threads, np.ndarray) or (isinstance(threads, Sequence) and not isinstance(threads, str)):
        table = _of_coordinates(threads, memory)
    else:
        table = _of_layout(threads, memory)
    wrong = np.argwhere((table < OFF) | (table >= memory.size))
    if len(wrong):
        thread, value = wrong[0].tolist()
        raise OutOfBounds(
            f"thread {thread} has value {value} at {table[thread, value]}, outside the tile of {memory.size} elements.",
            hint=f"count the elements of {memory.extents} in column-major order",
            thread=thread,
            value=value,
        )
    return table


def _of_layout(threads: Any, memory: TileMemory) -> NDArray[np.int64]:
    if isinstance(threads, ComposedLayout):
        layout: Layout | ComposedLayout = threads
    else:
        found = resolve(threads)
        # An encoding of Triton without a type is that of the memory's shape.
        layout = (found.at(memory.extents) if found.threads and found.layout is None else found).placed
    if not 1 <= layout.rank <= 2 or getattr(layout, "has_basis", False):
        raise ShapeError(
            f"{layout} is no layout of threads and values.", hint="two modes, (thread, value)", threads=threads
        )
    _check_count(layout.size)
    if not layout.size:
        raise ShapeError(f"{layout} has no thread, or no value.", hint="give each thread a value", threads=threads)
    table = layout.offsets()
    if (table < 0).any():
        thread = int(np.argwhere(table.reshape(len(table), -1) < 0)[0][0])
        raise OutOfBounds(
            f"thread {thread} has a value before the first element of the tile.",
            hint="indices count from 0",
            thread=thread,
        )
    return table.reshape(table.shape[0], -1)


def _of_linear(threads: LinearLayout, memory: TileMemory) -> NDArray[np.int64]:
    sizes = tuple(threads.out_dims.values())
    if len(sizes) > 1 and sizes != memory.extents:
        raise ShapeError(
            f"the threads cover a tile of {sizes}, and the memory has {memory.extents}.",
            hint="give both the same shape",
            threads=threads,
        )
    _check_count(product(tuple(threads.in_dims.values())))
    flat = threads.flatten_outs()
    who = [name for name in flat.in_dims if name != REGISTERS]
    if REGISTERS in flat.in_dims:
        flat = flat.transpose_ins([REGISTERS, *who])
    values = flat.in_dims.get(REGISTERS, 1)
    count = product(tuple(flat.in_dims.values()))
    found: NDArray[np.int64] = flat(np.arange(count)) if count > 1 else np.zeros(1, np.int64)
    return found.reshape(-1, values)


def _of_coordinates(threads: Any, memory: TileMemory) -> NDArray[np.int64]:
    entries = threads.tolist() if isinstance(threads, np.ndarray) else list(threads)
    if not entries:
        raise ShapeError("there is no thread.", hint="give each thread a coordinate", threads=threads)
    rows = [_values(entry, thread, memory) for thread, entry in enumerate(entries)]
    count = max((len(row) for row in rows if row is not None), default=1)
    _check_count(count * len(rows))
    for thread, row in enumerate(rows):
        if row is not None and len(row) != count:
            raise ShapeError(
                f"thread {thread} has {len(row)} values, others have {count}.",
                hint="give every thread as many; None is a thread that is off",
                thread=thread,
            )
    return np.array([[OFF] * count if row is None else row for row in rows], np.int64).reshape(len(rows), count)


def _values(entry: Any, thread: int, memory: TileMemory) -> list[int] | None:
    """The indices of one thread's values, from a coordinate or a list of them."""
    if entry is None:
        return None
    if isinstance(entry, np.ndarray):
        entry = entry.tolist()
    if isinstance(entry, Sequence) and not isinstance(entry, str) and any(isinstance(c, Sequence) for c in entry):
        return [_index(coordinate, thread, memory) for coordinate in entry]
    return [_index(entry, thread, memory)]


def _index(coordinate: Any, thread: int, memory: TileMemory) -> int:
    alone = isinstance(coordinate, int | np.integer)
    entries, sizes = ([coordinate], [memory.size]) if alone else (coordinate, memory.extents)
    fits = isinstance(entries, Sequence) and len(entries) == len(sizes)
    if not fits or any(isinstance(c, bool) or not isinstance(c, int | np.integer) for c in entries):
        raise ShapeError(
            f"thread {thread} has {shown(coordinate)}, which is no coordinate of {memory.extents}.",
            hint=f"give {len(memory.extents)} integers for each thread, or a list of such coordinates",
            thread=thread,
        )
    index, weight = 0, 1
    for c, size in zip(entries, sizes):
        if not 0 <= c < size:
            raise OutOfBounds(
                f"thread {thread} has {shown(coordinate)}, outside the tile of {memory.extents}.",
                hint="coordinates count from 0",
                thread=thread,
            )
        index, weight = index + int(c) * weight, weight * size
    return index


def _check_count(count: int) -> None:
    if count > VALUES:
        raise LimitExceeded(
            f"{count} values of all threads are over the limit of {VALUES}.",
            hint="ask about the threads of one block",
            limit=VALUES,
        )


# ---- vectors ------------------------------------------------------------------------------------------------


def vector_length(values: int, element: Element, width: int, access: str) -> int:
    """How many of a thread's values an access of ``width`` bytes moves at once; 1 where it names only the first."""
    together = 8 * width // element.bits
    if 8 * width % element.bits or (values > 1 and values % max(together, 1)):
        held = f"{values} values of " if values > 1 else ""
        raise ShapeError(
            f"{access} moves {width} bytes of each thread, which {held}{element.name} do not fill.",
            hint="choose an access of whole elements that divides what a thread has",
            access=access,
            element=element.name,
        )
    return together if values > 1 else 1


def vector_addresses(
    offsets: NDArray[np.int64], memory: TileMemory, width: int, access: str, base: int = 0
) -> NDArray[np.int64]:
    """The byte address of every (thread, access), where an access moves ``width`` bytes of each thread.

    Values that one access moves lie together, in order. A thread with one value names the first element of its access.
    """
    bits, values = memory.element.bits, offsets.shape[1]
    vector_length(values, memory.element, width, access)
    together = 8 * width // bits
    first = offsets if values == 1 else offsets[:, ::together]
    on = first != OFF
    if values > 1:
        _check_together(offsets, together, access)
    ends = np.where(on, first + together - 1, 0)
    if values == 1 and (ends > memory.last_offset).any():
        thread = int(np.argwhere(ends > memory.last_offset)[0][0])
        raise OutOfBounds(
            f"the {width} bytes of thread {thread} reach past the end of the memory.",
            hint="start earlier, or choose a narrower access",
            thread=thread,
            access=access,
        )
    places = np.where(on, first * bits, 0)
    if (places % 8).any():
        thread = int(np.argwhere(places % 8)[0][0])
        raise ShapeError(
            f"thread {thread} begins in the middle of a byte, at element {first[thread].max()}.",
            hint="begin where a byte does",
            thread=thread,
            access=access,
        )
    found: NDArray[np.int64] = np.where(on, base + places // 8, OFF)
    return found


def _check_together(offsets: NDArray[np.int64], together: int, access: str) -> None:
    runs = offsets.reshape(len(offsets), -1, together)
    apart = (runs != np.where(runs[:, :, :1] == OFF, OFF, runs[:, :, :1] + np.arange(together))).any(axis=2)
    if apart.any():
        thread, number = np.argwhere(apart)[0].tolist()
        run = runs[thread, number].tolist()
        rows = " a lane gives the row that it points at, not what it receives;" if "matrix" in access else ""
        raise ShapeError(
            f"{access} moves {together} elements that lie together; those of thread {thread} lie at {shown(run)}.",
            hint=f"{rows} order the values as they lie, or choose a narrower access".strip(),
            thread=thread,
            offsets=run,
            access=access,
        )


def access_addresses(
    smem: Any, threads: Any, element: Any, shape: Any, access: Access, lanes: int
) -> tuple[TileMemory, NDArray[np.int64]]:
    """The memory, and the byte address of every (thread, access) of an access to it; writes that race are refused."""
    memory = memory_of(smem, element, shape)
    offsets = memory.offsets(thread_indices(threads, memory, 8 * access.bytes // memory.element.bits, lanes))
    addresses = vector_addresses(offsets, memory, access.bytes, access.name)
    if access.writes:
        serving = np.isin(np.arange(len(addresses)) % lanes, access.lanes)
        check_race(np.where(serving[:, None], addresses, OFF), access.bytes, access.name)
    return memory, addresses


def warp_table(addresses: NDArray[np.int64], lanes: int) -> NDArray[np.int64]:
    """The addresses of (thread, access) as (warp, access, lane); threads that a last warp lacks are off."""
    warps = max(1, -(-len(addresses) // lanes))
    table = np.full((warps * lanes, addresses.shape[1]), OFF, np.int64)
    table[: len(addresses)] = addresses
    return table.reshape(warps, lanes, -1).transpose(0, 2, 1)


def check_race(addresses: NDArray[np.int64], width: int, access: str) -> None:
    """Refuse that two threads, or one twice, write the same bytes: ``addresses`` of (thread, access)."""
    threads = np.broadcast_to(np.arange(len(addresses))[:, None], addresses.shape)[addresses != OFF]
    places = addresses[addresses != OFF]
    order = np.argsort(places, kind="stable")
    places, threads = places[order], threads[order]
    clash = np.flatnonzero(places[1:] < places[:-1] + width)
    if len(clash):
        at = int(clash[0])
        raise Overlap(
            f"{access} writes byte {places[at + 1]} twice: by thread {threads[at]} and by thread {threads[at + 1]}.",
            hint="leave one of them off (None), or give them places of their own",
            threads=(int(threads[at]), int(threads[at + 1])),
            address=int(places[at + 1]),
        )
