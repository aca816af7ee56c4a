"""The algebra of layouts: simplify, invert, complement, divide and multiply. Colexicographic, as in CuTe.

Every function states the law that its result obeys and refuses, with the reason, where no layout obeys it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import LimitExceeded, NotExpressible, ShapeError
from ..integers.inttuple import as_ints, as_shape, product_each
from ..integers.nested import flatten, product, unflatten
from ..layout.layout import PLAIN, Layout
from ..layout.modes import coalesced
from ..layout.ranges import collision
from .building import UNIT, make_layout, make_ordered_layout, zip_modes
from .composition import as_tiler, check_tiler, composition, join_modes, plain


def coalesce(layout: Layout, profile: Any = None) -> Layout:
    """The shortest flat layout with the same values at the same integers; ``1:0`` when only one element is left.

    With a tuple as ``profile`` each of its modes is coalesced by itself and the others are kept.
    """
    plain(layout, "coalesce", swizzle=True)
    if isinstance(profile, tuple | list):
        return _mode_by_mode(layout, tuple(profile), coalesce)
    return _flat(*coalesced(flatten(layout.shape), flatten(layout.stride)), layout)


def _flat(sizes: list[int], strides: list[Any], source: Layout | None = None) -> Layout:
    """A layout of these modes, flat and as short as can be, with offset and swizzle of ``source``."""
    shape: Any
    stride: Any
    if 0 in sizes:
        shape, stride = 0, 0
    elif len(sizes) > 1:
        shape, stride = tuple(sizes), tuple(strides)
    else:
        shape, stride = (sizes[0], strides[0]) if sizes else (1, 0)
    if source is None or source._rest is PLAIN:
        return Layout._plain(shape, stride)
    return Layout._make(shape, stride, source.offset, swizzle=source.swizzle)


def _mode_by_mode(layout: Layout, tiler: tuple[Any, ...], operation: Callable[[Layout, Any], Layout]) -> Layout:
    """``operation`` on each mode that ``tiler`` has an entry for; the other modes are kept."""
    check_tiler(tiler, layout)
    modes = list(layout)
    for k, entry in enumerate(tiler):
        modes[k] = operation(modes[k], entry)
    return join_modes(modes, layout.offset, layout.swizzle)


def filter_zeros(layout: Layout) -> Layout:
    """The layout with every stride-0 mode cut to size 1: each offset is kept, repetitions are not."""
    plain(layout, "filter_zeros", swizzle=True)
    sizes = [1 if d == 0 and s else s for s, d in zip(flatten(layout.shape), flatten(layout.stride), strict=True)]
    return Layout._make(unflatten(iter(sizes), layout.shape), layout.stride, layout.offset, swizzle=layout.swizzle)


def filter(layout: Layout) -> Layout:
    """The same offsets without the repetitions of stride-0 modes, coalesced."""
    plain(layout, "filter", swizzle=True)
    sizes, strides = [], []
    for s, d in zip(flatten(layout.shape), flatten(layout.stride)):
        if d != 0 or not s:
            sizes.append(s)
            strides.append(d)
    return _flat(*coalesced(sizes, strides), layout)


def nullspace(layout: Layout) -> Layout:
    """The integers that stride-0 modes send to the start: ``L(nullspace(L)(i)) == L(0)`` for every ``i``."""
    plain(layout, "nullspace", swizzle=True)
    sizes: list[int] = []
    strides: list[int] = []
    weight = 1
    for s, d in zip(flatten(layout.shape), flatten(layout.stride), strict=True):
        if d == 0 and s != 1:
            sizes.append(s)
            strides.append(weight)
        weight *= s
    return _flat(sizes, strides)


def complement(layout: Layout, cotarget: Any = None) -> Layout:
    """What ``layout`` leaves out: offsets that, added to those of ``layout``, repeat none of them.

    The result is ordered and ``make_layout(L, result)`` is injective; it fills ``cotarget`` (by default the cosize of
    ``layout``) where every stride is a multiple of the span below it. Stride-0 modes do not count. Refused where modes
    of ``layout`` overlap or interleave.
    """
    plain(layout, "complement")
    if layout.size == 0:
        raise NotExpressible(
            f"{layout} is empty and has no complement.", hint="an empty layout leaves everything out", layout=layout
        )
    target = layout.cosize if cotarget is None else _as_size(cotarget)
    sizes: list[int] = []
    strides: list[int] = []
    filled = 1
    for d, s in sorted([(abs(d), s) for s, d in zip(flatten(layout.shape), flatten(layout.stride)) if s != 1]):
        if d == 0:
            continue
        if d < filled:
            raise _not_apart("complement", filter_zeros(layout))
        sizes.append(d // filled)
        strides.append(filled)
        filled = d * s
    sizes.append(-(-target // filled))
    strides.append(filled)
    return _flat(*coalesced(sizes, strides))


def _as_size(x: Any) -> int:
    if x.__class__ is int and x >= 0:
        return x
    return x.size if isinstance(x, Layout) else product(as_shape(x, "the target"))


def _not_apart(operation: str, layout: Layout) -> NotExpressible:
    try:
        pair = collision(layout)
    except LimitExceeded:
        pair = None
    why = f"{pair[0]} and {pair[1]} share one offset" if pair else "its modes interleave"
    return NotExpressible(
        f"{operation} of {layout} is refused: {why}.",
        hint="every stride must be at least the span of the modes with smaller strides",
        operation=operation,
        layout=layout,
        counterexample=pair,
    )


def right_inverse(layout: Layout) -> Layout:
    """``R`` with ``L(R(i)) == i`` for every ``i < R.size``, as far as strides 1, s0, s0*s1, ... are found."""
    _without_offset(layout, "right_inverse")
    leaves = []
    weight = 1
    for s, d in zip(flatten(layout.shape), flatten(layout.stride), strict=True):
        if s != 1 and d > 0:
            leaves.append((d, weight, s))
        weight *= s
    sizes: list[int] = []
    strides: list[int] = []
    reach = 1
    for d, place, s in sorted(leaves):
        if d == reach:
            sizes.append(s)
            strides.append(place)
            reach *= s
    return _flat(*coalesced(sizes, strides))


def left_inverse(layout: Layout) -> Layout:
    """``N`` with ``N(L(i)) == i`` for every ``i < L.size``.

    Refused, as in CuTe, unless every stride is a multiple of the next smaller one and lies past that one's mode.
    """
    _without_offset(layout, "left_inverse")
    leaves = []
    weight = 1
    for s, d in zip(flatten(layout.shape), flatten(layout.stride)):
        if s != 1:
            leaves.append((d, weight, s))
        weight *= s
    sizes: list[int] = []
    strides = [0]
    below, filled = 1, 1
    for d, place, s in sorted(leaves):
        if d < 0:
            raise NotExpressible(
                f"left_inverse of {layout} is refused: it reaches below 0, where no layout has values.",
                hint="flip the modes of negative stride first",
                layout=layout,
            )
        if d < filled:
            raise _not_apart("left_inverse", layout)
        if d % below:
            raise NotExpressible(
                f"left_inverse of {layout} is refused: the stride {d} is no multiple of {below}.",
                hint="L.idx2crd(i) finds the coordinate of any offset",
                layout=layout,
            )
        sizes.append(d // below)
        strides.append(place)
        below, filled = d, d * s
    return _flat(*coalesced([*sizes, filled // below], strides))


def _without_offset(layout: Layout, operation: str) -> None:
    plain(layout, operation)
    if layout._rest is not PLAIN:
        raise NotExpressible(
            f"{operation} of {layout} is refused: no layout undoes the offset {layout.offset}.",
            hint="invert L.with_offset(0) and subtract the offset first",
            operation=operation,
            layout=layout,
        )
    if layout.size == 0:
        raise NotExpressible(
            f"{operation} of the empty layout {layout} is not defined.",
            hint="give every mode a size",
            operation=operation,
            layout=layout,
        )


def logical_divide(layout: Layout, tiler: Any) -> Layout:
    """``layout`` cut by ``tiler`` into (tile, rest): ``composition(L, (tiler, complement(tiler, L.size)))``.

    A tuple divides mode by mode: None leaves a mode alone, modes past its end are kept. A tiler that does not divide is
    rounded up, as in CuTe: the last tile then runs on past the end of its mode.
    """
    plain(layout, "logical_divide", swizzle=True)
    if tiler is None:
        return layout
    if isinstance(tiler, tuple | list):
        return _mode_by_mode(layout, tuple(tiler), logical_divide)
    tile = as_tiler(tiler)
    return composition(layout, join_modes((tile, complement(tile, product(layout.shape)))))


def logical_product(block: Layout, tiler: Any) -> Layout:
    """``block`` repeated by ``tiler`` as (block, grid): the grid is ``composition(complement(block), tiler)``.

    A tuple multiplies mode by mode: None leaves a mode alone, modes past its end are kept.
    """
    if tiler is None:
        return block
    if isinstance(tiler, tuple | list):
        plain(block, "logical_product", swizzle=True)
        return _mode_by_mode(block, tuple(tiler), logical_product)
    grid = as_tiler(tiler)
    plain(block, "logical_product")
    plain(grid, "logical_product")
    rest = complement(block, product(block.shape) * (grid.cosize + grid.offset))
    return join_modes((block, composition(rest, grid)))


def _unzipped(split: Callable[[Layout, Any], Layout], layout: Layout, tiler: Any) -> Layout:
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
        part = _unzipped(split, m, t)
        tile, rest = part
        offset += part.offset
        tiles.append(tile)
        rests.append(rest)
    return join_modes([join_modes(tiles), join_modes(rests + modes[len(tiles) :])], offset, layout.swizzle)


def _spread(layout: Layout, first: bool) -> Layout:
    """A layout of two modes with the second, and the first too if asked, opened into their own modes."""
    tile, rest = layout
    return join_modes([*(tile if first else [tile]), *rest], layout.offset, layout.swizzle)


def zipped_divide(layout: Layout, tiler: Any) -> Layout:
    """:func:`logical_divide` gathered as ((tile modes), (rest modes))."""
    return _unzipped(logical_divide, layout, tiler)


def tiled_divide(layout: Layout, tiler: Any) -> Layout:
    """:func:`logical_divide` gathered as ((tile modes), rest, rest, ...)."""
    return _spread(zipped_divide(layout, tiler), False)


def flat_divide(layout: Layout, tiler: Any) -> Layout:
    """:func:`logical_divide` gathered as (tile, tile, ..., rest, rest, ...)."""
    return _spread(zipped_divide(layout, tiler), True)


def zipped_product(block: Layout, tiler: Any) -> Layout:
    """:func:`logical_product` gathered as ((block modes), (grid modes))."""
    return _unzipped(logical_product, block, tiler)


def tiled_product(block: Layout, tiler: Any) -> Layout:
    """:func:`logical_product` gathered as ((block modes), grid, grid, ...)."""
    return _spread(zipped_product(block, tiler), False)


def flat_product(block: Layout, tiler: Any) -> Layout:
    """:func:`logical_product` gathered as (block, block, ..., grid, grid, ...)."""
    return _spread(zipped_product(block, tiler), True)


def _padded(layout: Layout, rank: int) -> Layout:
    """``layout`` as a tuple of ``rank`` modes, the last ones unit modes."""
    return join_modes([*layout, *[UNIT] * (rank - layout.rank)], layout.offset, layout.swizzle)


def _product_of_equal_ranks(block: Layout, tiler: Layout) -> Layout:
    plain(block, "a product of layouts")
    plain(tiler, "a product of layouts")
    rank = max(block.rank, tiler.rank)
    return logical_product(_padded(block, rank), _padded(tiler, rank))


def blocked_product(block: Layout, tiler: Layout) -> Layout:
    """Every element of ``tiler`` replaced by a ``block``: mode k is (block[k], grid[k]), blocks stay together."""
    whole = _product_of_equal_ranks(block, tiler)
    return zip_modes(whole[0], whole[1]).with_offset(whole.offset)


def raked_product(block: Layout, tiler: Layout) -> Layout:
    """Like :func:`blocked_product` with the elements of blocks interleaved: mode k is (grid[k], block[k])."""
    whole = _product_of_equal_ranks(block, tiler)
    return zip_modes(whole[1], whole[0]).with_offset(whole.offset)


def tile_to_shape(tile: Layout, shape: Any, order: Any = None) -> Layout:
    """``tile`` repeated to cover ``shape``, the tiles ranked by ``order`` (column-major by default).

    A swizzled tile gives a swizzled result. Refused where the tile does not divide the shape.
    """
    plain(tile, "tile_to_shape", swizzle=True)
    target = product_each(as_ints(shape, "shape"))
    target = target if isinstance(target, tuple) else (target,)
    if tile.rank > len(target):
        raise ShapeError(
            f"the tile {tile} has more modes than the shape {shape}.",
            hint="give every mode a size",
            tile=tile,
            shape=shape,
        )
    block = _padded(tile.with_swizzle(None), len(target))
    sizes = block.padded_shape
    if any(not isinstance(n, int) or b == 0 or n % b for n, b in zip(target, sizes, strict=True)):
        raise NotExpressible(
            f"the tile {tile} of shape {sizes} does not divide the shape {shape}.",
            hint="round the shape up to whole tiles; a window (extents) then leaves the padding out",
            tile=tile,
            shape=shape,
        )
    grid = tuple([int(n) // b for n, b in zip(target, sizes, strict=True)])  # type: ignore[arg-type]
    tiles = Layout(grid) if order is None else make_ordered_layout(grid, order)
    return blocked_product(block, tiles).with_swizzle(tile.swizzle)


def max_common_layout(a: Layout, b: Layout) -> Layout:
    """The longest ``C`` along b's unit strides that both send to the same run: ``a(C(i)) == b(C(i)) == i``."""
    _without_offset(a, "max_common_layout")
    inverse = right_inverse(b)
    sizes: list[int] = []
    strides: list[int] = []
    for s, d in zip(flatten(inverse.shape), flatten(inverse.stride)):
        low, high = 1, s
        while low < high:
            middle = (low + high + 1) // 2
            if _runs(a, _flat([*sizes, middle], [*strides, d])):
                low = middle
            else:
                high = middle - 1
        if low > 1:
            sizes.append(low)
            strides.append(d)
        if low < s:
            break
    return _flat(sizes, strides)


def _runs(a: Layout, inner: Layout) -> bool:
    """Whether ``a`` sends ``inner``, all of it inside ``a``, to 0, 1, 2, ..."""
    if inner.cosize > a.size:
        return False
    try:
        run = coalesce(composition(a, inner))
    except NotExpressible:
        return False
    return run == Layout._plain(inner.size, 1)


def max_common_vector(a: Layout, b: Layout) -> int:
    """How many consecutive elements of memory ``a`` and ``b`` both reach by the same coordinates."""
    return max_common_layout(a, b).size


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
