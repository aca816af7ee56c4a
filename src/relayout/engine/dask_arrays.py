"""Dask arrays repacked lazily: each chunk holds whole blocks of the format, and becomes a chunk of the stored array."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

from ..dialects.resolve import resolve
from ..errors import NotExpressible, ShapeError, shown
from ..format.format import Format
from ..immutable import NamedTuple
from ..integers.nested import product


def is_dask_array(x: Any) -> bool:
    """Whether it is an array of Dask, which is not imported to find out."""
    module = type(x).__module__
    return module.partition(".")[0] == "dask" and hasattr(x, "chunks") and hasattr(x, "blocks")


class ChunkedFormat(NamedTuple):
    """A format whose blocks can be told apart along each dimension: ``blocks`` are their sizes.

    ``rests`` has for every dimension the stored axis that counts its blocks, or None where there is one block.
    """

    format: Format
    blocks: tuple[int, ...]
    rests: tuple[int | None, ...]

    @classmethod
    def of(cls, format: Format) -> ChunkedFormat:
        """The format; one with aligned strides, or whose digits the size of a dimension decides, is refused."""
        if not format._unaligned or any(factor.rests for factor in format.factors):
            raise NotExpressible(
                f"the chunks of an array are no parts of {format}: its places depend on the whole shape.",
                hint="compute the array first, or repack a file",
                format=format,
            )
        blocks, rests = [], []
        for d in range(format.rank):
            own = [(k, factor) for k, factor in enumerate(format.factors) if factor.dim == d]
            blocks.append(product(tuple([factor.size for _, factor in own if factor.size])))
            rests.append(next((k for k, factor in own if not factor.size), None))
        return cls(format, tuple(blocks), tuple(rests))

    def chunks_for(self, chunks: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
        """The chunks nearest to these that hold whole blocks; the last of a dimension may be cut."""
        found: list[tuple[int, ...]] = []
        for d, sizes in enumerate(chunks):
            total, block, ends = sum(sizes), self.blocks[d], []
            if self.rests[d] is None:
                found.append((total,))
                continue
            end = 0
            for n in sizes:
                end += n
                ends.append(min(-(-end // block) * block, total))
            edges = [0, *sorted(set(ends))]
            found.append(tuple([b - a for a, b in pairwise(edges) if b > a] or [0]))
        return tuple(found)


def repack_dask(
    x: Any,
    dst: Any,
    *,
    src: Any = None,
    shape: Any = None,
    axes: str | None = None,
    fill: Any = None,
    element: Any = None,
) -> Any:
    """A lazy array of the stored shape of the format ``dst``, its chunks whole blocks; each is made by ``repack``.

    ``src`` and ``shape`` tell what a stored array holds. Chunks that cut blocks are made others first, with a
    warning that names both.
    """
    if src is not None:
        told = resolve(src, element=x.dtype)
        x, axes = _logical(x, told.format, shape), told.axes if axes is None else axes
    elif shape is not None:
        raise ShapeError("shape tells of a stored array, and there is no src.", hint="give src, or leave shape out")
    found = resolve(dst, element=x.dtype if element is None else element)
    fmt = found.for_data(tuple(x.shape), axes).format if found.layout is None else None
    if not isinstance(fmt, Format):
        raise NotExpressible(
            f"{shown(dst)} is a layout of one shape, whose parts are no chunks.",
            hint="give a format, such as a name of the catalog, or compute the array first",
        )
    return _stored(x, fmt, fill, element)


def _stored(x: Any, fmt: Format, fill: Any, element: Any) -> Any:
    """The array in the format."""
    import dask.array as da
    import numpy as np

    chunked = ChunkedFormat.of(fmt)
    if fmt.rank != x.ndim:
        raise ShapeError(f"the array has rank {x.ndim}, and the format {fmt.rank}.", hint="choose another", format=fmt)
    if any(n != n for sizes in x.chunks for n in sizes):
        raise ShapeError("the sizes of the array's chunks are not known.", hint="x.compute_chunk_sizes() finds them")
    wanted = chunked.chunks_for(x.chunks)
    if wanted != x.chunks:
        warnings.warn(
            f"chunks of {_largest(x.chunks)} cut blocks of {chunked.blocks}: rechunked to {_largest(wanted)} first.",
            stacklevel=4,
        )
        x = x.rechunk(wanted)
    labels = [f"d{factor.dim}" if not factor.size else f"f{k}" for k, factor in enumerate(fmt.factors)]
    fixed = {f"f{k}": factor.size for k, factor in enumerate(fmt.factors) if factor.size}
    counts = {
        f"d{d}": tuple([-(-n // chunked.blocks[d]) for n in wanted[d]])
        for d in range(fmt.rank)
        if chunked.rests[d] is not None
    }
    made = _repack_chunk(np.zeros((1,) * x.ndim, x.dtype), fmt, fill, element)
    return da.blockwise(
        _repack_chunk,
        labels,
        x,
        [f"d{d}" for d in range(x.ndim)],
        fmt=fmt,
        fill=fill,
        element=element,
        new_axes=fixed,
        adjust_chunks=counts,
        concatenate=True,
        dtype=made.dtype,
        name=None,
        token="relayout-repack",
        meta=np.empty((0,) * len(labels), made.dtype),
    )


def _repack_chunk(chunk: Any, fmt: Format, fill: Any, element: Any) -> Any:
    from .repack import repack

    return repack(chunk, fmt, fill=fill, element=element, threads=1)


def _logical(x: Any, fmt: Any, shape: Any) -> Any:
    """The logical array that a stored one holds."""
    import dask.array as da
    import numpy as np

    if not isinstance(fmt, Format) or shape is None:
        raise ShapeError("a stored array needs its format, src, and the logical shape.", hint="give src= and shape=")
    logical = tuple(shape)
    chunked = ChunkedFormat.of(fmt)
    if tuple(x.shape) != fmt.physical_shape(logical):
        raise ShapeError(
            f"{fmt} of shape {logical} is stored as {fmt.physical_shape(logical)}, and the array has {x.shape}.",
            hint="give the logical shape",
        )
    # The digits inside a block are whole; the axes that count blocks may be cut anywhere.
    wanted = tuple([x.chunks[k] if not factor.size else (factor.size,) for k, factor in enumerate(fmt.factors)])
    if wanted != x.chunks:
        warnings.warn(
            f"chunks of {_largest(x.chunks)} cut blocks: rechunked to {_largest(wanted)} first.", stacklevel=4
        )
        x = x.rechunk(wanted)
    labels = [f"d{factor.dim}" if not factor.size else f"f{k}" for k, factor in enumerate(fmt.factors)]
    rests = {d: k for d, k in enumerate(chunked.rests) if k is not None}
    whole = da.blockwise(
        _unpack_chunk,
        [f"d{d}" for d in range(fmt.rank)],
        x,
        labels,
        fmt=fmt,
        blocks=chunked.blocks,
        rests=chunked.rests,
        new_axes={f"d{d}": chunked.blocks[d] for d in range(fmt.rank) if d not in rests},
        adjust_chunks={f"d{d}": tuple([n * chunked.blocks[d] for n in wanted[k]]) for d, k in rests.items()},
        concatenate=True,
        dtype=x.dtype,
        token="relayout-unpack",
        meta=np.empty((0,) * fmt.rank, x.dtype),
    )
    return whole[tuple([slice(0, n) for n in logical])]


def _unpack_chunk(chunk: Any, fmt: Format, blocks: tuple[int, ...], rests: tuple[int | None, ...]) -> Any:
    import numpy as np

    from .repack import repack

    shape = tuple([n * (1 if k is None else chunk.shape[k]) for n, k in zip(blocks, rests)])
    flat = np.ascontiguousarray(chunk).reshape(-1)
    return repack(flat, f"format:{' '.join(map(str, range(len(shape))))}", src=fmt, shape=shape, threads=1)


def _largest(chunks: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    return tuple([max(sizes, default=0) for sizes in chunks])
