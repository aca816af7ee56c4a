"""Mojo's functions on layouts, where their names or arguments are not CuTe's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ShapeError
from ..integers.inttuple import as_int, as_shape
from ..integers.nested import flatten, running_products
from ..layout.layout import Layout, as_layout
from . import coalescing, tiling
from .building import select
from .composition import as_tiler, check_tiler, join_modes, plain


def coalesce(layout: Layout, keep_rank: bool = False) -> Layout:
    """The shortest layout of the same function; with ``keep_rank`` each mode by itself."""
    return coalescing.coalesce(layout, (1,) * as_layout(layout, "coalesce").rank if keep_rank else None)


def blocked_product(block: Layout, tiler: Layout, coalesce_output: bool = False) -> Layout:
    """Every element of ``tiler`` is a ``block``; with ``coalesce_output`` each mode is as short as can be."""
    product = tiling.blocked_product(block, tiler)
    return coalesce(product, keep_rank=True) if coalesce_output else product


def hierarchical_unzip(layout: Layout, tiler: Any) -> Layout:
    """(tiles, rest), mode by mode: ``tiler`` is a list of tilers, or a layout of which only the shape counts.

    CuTe's ``zipped_divide`` takes a layout as a tiler of the whole, strides included.
    """
    plain(layout, "hierarchical_unzip", swizzle=True)
    if not isinstance(tiler, tuple | list):
        tiler = as_tiler(tiler)
        if layout.rank == 1 or tiler.rank == 1:
            return tiling.logical_divide(layout, Layout(tiler.shape))
        tiler = list(tiler)
    check_tiler(tiler, layout)
    splits = [hierarchical_unzip(mode, part) for mode, part in zip(layout, tiler)]
    rest = [split[1] for split in splits] + list(layout)[len(splits) :]
    tiles = join_modes([split[0] for split in splits])
    return join_modes([tiles, join_modes(rest)], layout.offset, layout.swizzle)


zipped_divide = hierarchical_unzip
"""Mojo's: mode by mode, see :func:`hierarchical_unzip`."""


def apply_tiler(func: Callable[[Layout, Layout], Layout], layout: Layout, tiler: Any) -> Layout:
    """``func`` of each mode and the tiler at its place; modes behind the tilers are dropped, as in Mojo."""
    plain(layout, "apply_tiler")
    check_tiler(tiler, layout)
    return join_modes([func(mode, part) for mode, part in zip(layout, tiler)], layout.offset) if tiler else layout


def sublayout(layout: Layout, *modes: int) -> Layout:
    """The modes named, in that order."""
    return select(layout, *modes)


def expand_strides(shape: Any, stride: int) -> Any:
    """Column-major strides for ``shape`` that begin at ``stride``."""
    return running_products(as_shape(shape), as_int(stride, "stride"))


def is_row_major(layout: Layout, rank: int) -> bool:
    """Whether ``layout`` has ``rank`` leaves and the strides of a row-major array of them."""
    sizes = flatten(as_layout(layout, "is_row_major").shape)
    return len(sizes) == as_int(rank, "rank") and flatten(layout.stride) == flatten(Layout.row_major(sizes).stride)


def is_contiguous_dim(layout: Layout, dim: int) -> bool:
    """Whether the elements of a flat dimension lie next to each other, or there is only one with stride 0."""
    mode = as_layout(layout, "is_contiguous_dim")[dim]
    if isinstance(mode.shape, tuple):
        raise ShapeError(
            f"dimension {dim} of {layout} is nested.",
            hint="coalesce it first, or ask for one of its modes",
            layout=layout,
        )
    return bool(mode.stride == 1 or (mode.stride == 0 and mode.shape == 1))
