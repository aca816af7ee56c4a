"""Linear layouts of registers, lanes and warps as thread-value layouts, and back."""

from __future__ import annotations

from typing import Any

from ..algebra.linear import LinearLayout
from ..errors import ShapeError, shown
from ..integers.inttuple import as_int
from ..integers.nested import product
from ..layout.bit_layouts import linear_columns, linear_layout
from ..layout.layout import Layout
from .triton_encoding import THREADS


def thread_value_layout(linear: LinearLayout) -> Layout:
    """(thread, value) to the place in the tile, counted colexicographically: lanes count first, then warps and blocks.

    >>> tile = LinearLayout({"register": [(0, 1)], "lane": [(1, 0), (0, 2)]}, {"dim0": 2, "dim1": 4})
    >>> print(thread_value_layout(tile))
    (((2, 2), 2):((1, 4), 2))
    """
    if not set(linear.in_dims) <= set(THREADS):
        raise ShapeError(
            f"the inputs {', '.join(linear.in_dims)} are not those of threads.",
            hint=f"they are {', '.join(THREADS)}; rename_in changes a name",
            got=linear,
        )
    columns = {name: [basis[0] for basis in group] for name, group in linear.flatten_outs().bases.items()}
    threads = [c for name in THREADS[1:] for c in columns.get(name, ())]
    return linear_layout([threads, columns.get(THREADS[0], [])])


def linear_thread_values(layout: Layout, tile: Any, lanes: int = 32) -> LinearLayout:
    """The linear layout of a thread-value layout over a tile, in warps of ``lanes``; sizes are powers of two."""
    sizes = tuple([as_int(n, "a size") for n in (tile if hasattr(tile, "__iter__") else (tile,))])
    count = as_int(lanes, "lanes")
    if layout.rank != 2 or count < 1 or layout.extents[0] % count:
        raise ShapeError(
            f"{layout} has no two modes, (thread, value), of whole warps of {shown(lanes)}.",
            hint="give the lanes of a warp: 32, or 64 on CDNA; fewer threads are a warp of their own",
            layout=layout,
        )
    if not 0 <= layout.max_offset < product(sizes):
        raise ShapeError(
            f"{layout} reaches place {layout.max_offset} of a tile of {product(sizes)}.",
            hint="give the tile that it covers",
            tile=tile,
        )
    columns = linear_columns(layout)
    threads, low = layout.extents[0].bit_length() - 1, count.bit_length() - 1
    groups = {"register": columns[threads:], "lane": columns[:low], "warp": columns[low:threads], "block": ()}
    dims = {f"dim{d}": n for d, n in enumerate(sizes)}
    whole = LinearLayout({name: [(c,) for c in group] for name, group in groups.items()}, {"place": product(sizes)})
    return whole.reshape_outs(dims)
