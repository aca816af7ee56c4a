"""Divides and products, as in CuTe: a layout cut into tiles, a block repeated over a grid, each in several orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import NotExpressible, ShapeError
from ..integers.inttuple import as_ints, product_each
from ..integers.nested import flatten, product
from ..layout.layout import Layout
from .building import UNIT, make_layout, make_ordered_layout, zip_modes
from .composition import as_tiler, check_tiler, composition, join_modes, map_modes, on_inner, plain
from .inverses import complement, right_inverse


@on_inner
def logical_divide(layout: Layout, tiler: Any) -> Layout:
    """``layout`` cut by ``tiler`` into (tile, rest): ``composition(L, (tiler, complement(tiler, L.size)))``.

    A tuple divides mode by mode: None leaves a mode alone, modes past its end are kept. A tiler that does not divide is
    rounded up, as in CuTe: the last tile then runs on past the end of its mode, in the last leaf that is not of size 1.
    """
    plain(layout, "logical_divide", swizzle=True)
    if tiler is None:
        return layout
    if isinstance(tiler, tuple | list):
        return map_modes(layout, tuple(tiler), logical_divide)
    tile = as_tiler(tiler)
    return composition(_drop_last_units(layout), join_modes((tile, complement(tile, product(layout.shape)))))


def _drop_last_units(layout: Layout) -> Layout:
    """``layout`` without leaves of size 1 at its end: they never move, so a tile does not run on in them."""
    sizes = flatten(layout.shape)
    last = max([k for k, n in enumerate(sizes) if n != 1], default=len(sizes) - 1)
    if last == len(sizes) - 1:
        return layout
    strides = flatten(layout.stride)
    return Layout._make(sizes[: last + 1], strides[: last + 1], layout.offset, swizzle=layout.swizzle)


@on_inner
def logical_product(block: Layout, tiler: Any) -> Layout:
    """``block`` repeated by ``tiler`` as (block, grid): the grid is ``composition(complement(block), tiler)``.

    A tuple multiplies mode by mode: None leaves a mode alone, modes past its end are kept.
    """
    if tiler is None:
        return block
    if isinstance(tiler, tuple | list):
        plain(block, "logical_product", swizzle=True)
        return map_modes(block, tuple(tiler), logical_product)
    grid = as_tiler(tiler)
    plain(block, "logical_product")
    plain(grid, "logical_product")
    rest = complement(block, product(block.shape) * (grid.cosize + grid.offset))
    return join_modes((block, composition(rest, grid)))


def _unzip(split: Callable[[Layout, Any], Layout], layout: Layout, tiler: Any) -> Layout:
    """``split`` mode by mode, gathered into ((tiles...), (rests..., modes kept))."""
    if tiler is None:
        return make_layout(UNIT, layout)
    if not isinstance(tiler, tuple | list):
        return split(layout, tiler)
    plain(layout, split.__name__, swizzle=True)
    check_tiler(tiler, layout)
    modes = list(layout)
    offset = layout.offset
    tiles: list[Layout] = []
    rests: list[Layout] = []
    for m, t in zip(modes, tiler):
        part = _unzip(split, m, t)
        tile, rest = part
        offset += part.offset
        tiles.append(tile)
        rests.append(rest)
    return join_modes([join_modes(tiles), join_modes(rests + modes[len(tiles) :])], offset, layout.swizzle)


def _open_modes(layout: Layout, first: bool) -> Layout:
    """A layout of two modes with the second, and the first too if asked, opened into their own modes."""
    tile, rest = layout
    return join_modes([*(tile if first else [tile]), *rest], layout.offset, layout.swizzle)


@on_inner
def zipped_divide(layout: Layout, tiler: Any) -> Layout:
    """:func:`logical_divide` gathered as ((tile modes), (rest modes))."""
    return _unzip(logical_divide, layout, tiler)


@on_inner
def tiled_divide(layout: Layout, tiler: Any) -> Layout:
    """:func:`logical_divide` gathered as ((tile modes), rest, rest, ...)."""
    return _open_modes(zipped_divide(layout, tiler), False)


@on_inner
def flat_divide(layout: Layout, tiler: Any) -> Layout:
    """:func:`logical_divide` gathered as (tile, tile, ..., rest, rest, ...)."""
    return _open_modes(zipped_divide(layout, tiler), True)


@on_inner
def zipped_product(block: Layout, tiler: Any) -> Layout:
    """:func:`logical_product` gathered as ((block modes), (grid modes))."""
    return _unzip(logical_product, block, tiler)


@on_inner
def tiled_product(block: Layout, tiler: Any) -> Layout:
    """:func:`logical_product` gathered as ((block modes), grid, grid, ...)."""
    return _open_modes(zipped_product(block, tiler), False)


@on_inner
def flat_product(block: Layout, tiler: Any) -> Layout:
    """:func:`logical_product` gathered as (block, block, ..., grid, grid, ...)."""
    return _open_modes(zipped_product(block, tiler), True)


def _pad_rank(layout: Layout, rank: int) -> Layout:
    """``layout`` as a tuple of ``rank`` modes, the last ones unit modes."""
    return join_modes([*layout, *[UNIT] * (rank - layout.rank)], layout.offset, layout.swizzle)


def _product_of_equal_ranks(block: Layout, tiler: Layout) -> Layout:
    plain(block, "a product of layouts")
    plain(tiler, "a product of layouts")
    rank = max(block.rank, tiler.rank)
    return logical_product(_pad_rank(block, rank), _pad_rank(tiler, rank))


@on_inner
def blocked_product(block: Layout, tiler: Layout) -> Layout:
    """Every element of ``tiler`` replaced by a ``block``: mode k is (block[k], grid[k]), blocks stay together."""
    whole = _product_of_equal_ranks(block, tiler)
    return zip_modes(whole[0], whole[1]).with_offset(whole.offset)


@on_inner
def raked_product(block: Layout, tiler: Layout) -> Layout:
    """Like :func:`blocked_product` with the elements of blocks interleaved: mode k is (grid[k], block[k])."""
    whole = _product_of_equal_ranks(block, tiler)
    return zip_modes(whole[1], whole[0]).with_offset(whole.offset)


@on_inner
def tile_to_shape(tile: Layout, shape: Any, order: Any = None) -> Layout:
    """``tile`` repeated to cover ``shape``, the tiles ranked by ``order`` (column-major by default).

    A swizzled tile gives a swizzled result. Refused where the tile does not divide the shape.
    """
    plain(tile, "tile_to_shape", swizzle=True)
    target = product_each(as_ints(shape, "shape"))
    if tile.rank > len(target):
        raise ShapeError(
            f"the tile {tile} has more modes than the shape {shape}.",
            hint="give every mode a size",
            tile=tile,
            shape=shape,
        )
    block = _pad_rank(tile.with_swizzle(None), len(target))
    sizes = block.padded_shape
    if any(b == 0 or n % b for n, b in zip(target, sizes, strict=True)):
        raise NotExpressible(
            f"the tile {tile} of shape {sizes} does not divide the shape {shape}.",
            hint="round the shape up to whole tiles; a window (extents) then leaves the padding out",
            tile=tile,
            shape=shape,
        )
    grid = tuple([n // b for n, b in zip(target, sizes, strict=True)])
    tiles = Layout(grid) if order is None else make_ordered_layout(grid, order)
    return blocked_product(block, tiles).with_swizzle(tile.swizzle)


def make_layout_tv(threads: Layout, values: Layout) -> tuple[tuple[int, ...], Layout]:
    """The tile shape, and the layout from (thread, value) to the element of that tile."""
    tile = raked_product(threads, values)
    inverse = right_inverse(tile)
    if inverse.size != tile.size:
        raise NotExpressible(
            f"threads {threads} with values {values} do not fill their tile one to one.",
            hint="use layouts without holes and repetitions",
            threads=threads,
            values=values,
        )
    return tile.padded_shape, composition(inverse, Layout((threads.size, values.size)))
