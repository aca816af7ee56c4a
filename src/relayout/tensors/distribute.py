"""Elements dealt out to threads, as Mojo does it: nested modes of both sides meet mode by mode."""

from __future__ import annotations

from typing import Any

from ..algebra.composition import composition
from ..errors import NotExpressible, OutOfBounds, ShapeError
from ..integers.inttuple import as_int, crd2idx
from ..integers.nested import product
from ..layout.layout import Layout, as_layout


def thread_coordinate(threads: Any, thread_id: Any, rank: int) -> Any:
    """Where a thread stands, nested like the layout that numbers threads, one to one, along at most ``rank`` modes."""
    layout = as_layout(threads, "distribute")
    if layout.rank > rank or not layout.size or not layout.is_bijective() or layout.min_offset != 0:
        raise ShapeError(
            f"{layout} does not number threads along {rank} dimensions from 0, one to one.",
            hint="use a compact layout, such as Layout.row_major(4, 8)",
            thread_layout=layout,
        )
    places = layout.preimages(as_int(thread_id, "thread_id"))
    if not places:
        raise OutOfBounds(f"there is no thread {thread_id} of {layout.size}.", hint="threads count from 0")
    natural = layout.coordinates(places[0]).natural
    return natural if isinstance(layout.shape, tuple) else (natural,)


def deal_elements(layout: Layout, threads: Layout, place: tuple[Any, ...]) -> Layout:
    """The elements of the thread that stands at ``place``: every n-th along each mode that has n threads.

    A nested mode of the data under a nested mode of the threads is dealt out mode by mode, any other by its integer
    coordinate. Modes behind those of the threads stay whole.
    """
    result = layout
    shapes = threads.shape if isinstance(threads.shape, tuple) else (threads.shape,)
    for d, (shape, at) in enumerate(zip(shapes, place)):
        mine, steps, _, extent = layout._parts()[d]
        if isinstance(shape, tuple) and isinstance(mine, tuple):
            if layout._mode(d).windowed or threads._mode(d).windowed:
                raise NotExpressible(
                    f"dimension {d} of {layout} has a window, so its nested modes cannot be dealt out one by one.",
                    hint="give the threads of this dimension as one flat mode",
                    layout=layout,
                    thread_layout=threads,
                )
            rest_shape, rest_stride, moved = _deal_mode(mine, steps, shape, at, d)
            result = result._with_part(d, (rest_shape, rest_stride, 0, product(rest_shape)), moved)
        else:
            count = threads.extents[d]
            _check_divides(count, extent, d)
            start = crd2idx(at, shape)
            result = result.slice(*[slice(None)] * d, slice(start, None, count))
    return result


def _deal_mode(shape: Any, stride: Any, threads: Any, at: Any, dim: int) -> tuple[Any, Any, Any]:
    """Shape and stride of one thread's part of a mode, and how far it begins from the start of the mode."""
    if isinstance(shape, tuple) and isinstance(threads, tuple):
        if len(threads) > len(shape):
            raise ShapeError(
                f"threads {threads} have more modes than {shape} of dimension {dim}.",
                hint="nest the threads like the data, or give them as one flat mode",
                shape=shape,
                threads=threads,
            )
        parts = [_deal_mode(s, d, t, x, dim) for s, d, t, x in zip(shape, stride, threads, at)]
        kept = len(parts)
        return (
            (*[p[0] for p in parts], *shape[kept:]),
            (*[p[1] for p in parts], *stride[kept:]),
            sum(p[2] for p in parts),
        )
    count, n = product(threads), product(shape)
    _check_divides(count, n, dim)
    part = composition(Layout._plain(shape, stride), Layout(n // count, count, offset=crd2idx(at, threads)))
    return part.shape, part.stride, part.offset


def _check_divides(threads: int, elements: int, dim: int) -> None:
    if elements % threads:
        raise ShapeError(f"{threads} threads do not divide the {elements} elements of dimension {dim}.", hint="pad it")
