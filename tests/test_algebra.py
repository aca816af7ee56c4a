"""The law of every operation of the algebra, checked by enumeration."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from itertools import product as cartesian
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relayout as rl
from relayout import Layout, Swizzle
from support import (
    STRIDES,
    colex,
    compact_strides,
    coordinates,
    extended,
    layouts,
    leaves,
    like,
    shapes,
    table,
    volume,
)

COMPACT = layouts(64).filter(lambda layout: sorted(colex(layout)) == list(range(layout.size)))


def refuses_windows(operation: Any) -> None:
    with pytest.raises(rl.NotExpressible, match="window"):
        operation(Layout(((4, 2), 3), extents=(7, 3)))


@given(layouts(negative=True, offset=True, swizzle=True))
def test_coalesce_keeps_the_function_and_is_shortest(layout: Layout) -> None:
    result = rl.coalesce(layout)
    assert colex(result) == colex(layout)
    assert result.depth <= 1
    sizes, strides = leaves(result.shape), leaves(result.stride)
    assert sizes == [1] or 1 not in sizes
    assert all(strides[k + 1] != sizes[k] * strides[k] for k in range(len(sizes) - 1)), (
        "two neighbours could still be merged"
    )
    if layout.size == 1:
        assert (result.shape, result.stride) == (1, 0)


@given(layouts(negative=True, tuples_only=True))
def test_coalesce_by_profile_keeps_each_mode(layout: Layout) -> None:
    result = rl.coalesce(layout, (1,) * layout.rank)
    assert result.rank == layout.rank
    for mode, before in zip(result, layout, strict=True):
        assert colex(mode) == colex(before)
        assert mode.depth <= 1


def test_coalesce_by_hand() -> None:
    assert rl.coalesce(Layout((2, (1, 6)), (1, (6, 2)))) == Layout(12, 1)
    assert rl.coalesce(Layout((2, (1, 6)), (1, (6, 2))), (1, 1)) == Layout((2, 6), (1, 2))
    assert rl.coalesce(Layout((2, 2), (0, 0))) == Layout(4, 0)
    assert rl.coalesce(Layout((3, 2), (-1, -3))) == Layout(6, -1)
    assert rl.coalesce(Layout((3, 0, 2))).size == 0
    assert rl.coalesce(Layout((4, 1), (1, 7)), (None,)) == Layout((4, 1), (1, 7))
    with pytest.raises(rl.ShapeError):
        rl.coalesce(Layout((4, 2)), (1, 1, 1))
    refuses_windows(rl.coalesce)


@given(layouts(negative=True, offset=True))
def test_filter_keeps_every_offset_once_per_stride_zero_mode(layout: Layout) -> None:
    zeros = volume(tuple(s for s, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True) if d == 0))
    for result in (rl.filter(layout), rl.filter_zeros(layout)):
        assert set(colex(result)) == set(colex(layout))
        assert result.size * zeros == layout.size
    assert rl.congruent(rl.filter_zeros(layout).shape, layout.shape)


@given(layouts(offset=True, negative=True))
def test_the_nullspace_stays_at_the_start(layout: Layout) -> None:
    kernel = rl.nullspace(layout)
    zeros = volume(tuple(s for s, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True) if d == 0))
    assert kernel.size == zeros
    assert kernel.is_injective()
    assert all(layout(kernel(i)) == layout(0) for i in range(kernel.size))


@given(layouts(48, negative=True), st.integers(1, 200))
def test_complement_fills_what_is_left_out(layout: Layout, target: int) -> None:
    filtered = rl.filter(layout)
    try:
        rest = rl.complement(layout, target)
    except rl.NotExpressible as refusal:
        pair = refusal.operands["counterexample"]
        assert pair is None or (pair[0] != pair[1] and len({rl.filter_zeros(layout)(c) for c in pair}) == 1)
        modes = sorted((abs(d), s) for s, d in zip(leaves(filtered.shape), leaves(filtered.stride), strict=True))
        assert any(d < e * s for (e, s), (d, _) in pairwise(modes)), "modes that lie apart must not be refused"
        return
    both = rl.make_layout(filtered, rest)
    assert both.is_injective()
    assert len(set(colex(both))) == both.size
    spans = sorted((abs(d), s) for s, d in zip(leaves(filtered.shape), leaves(filtered.stride), strict=True))
    if all(d % (e * s) == 0 for (e, s), (d, _) in pairwise(spans) if e):
        assert set(range(target)) <= {abs(v) for v in colex(both)} or min(leaves(layout.stride)) < 0
        assert both.cosize >= target
    strides = leaves(rest.stride)
    assert strides == sorted(strides)


def test_complement_by_hand() -> None:
    assert rl.complement(Layout(4, 1), 24) == Layout(6, 4)
    assert rl.complement(Layout(6, 4), 24) == Layout(4, 1)
    assert rl.complement(Layout((4, 6), (1, 4)), 24) == Layout(1, 0)
    assert rl.complement(Layout(4, 2), 24) == Layout((2, 3), (1, 8))
    assert rl.complement(Layout((2, 4), (1, 6)), 24) == Layout(3, 2)
    assert rl.complement(Layout((2, 2), (1, 6)), 24) == Layout((3, 2), (2, 12))
    assert rl.complement(Layout(4, 0), 24) == Layout(24, 1)
    assert rl.complement(Layout(4, 2)) == Layout(2, 1)
    assert rl.complement(Layout(4, 1), (4, 6)) == rl.complement(Layout(4, 1), Layout((4, 6))) == Layout(6, 4)
    assert rl.complement(Layout(2**40, 1), 2**100) == Layout(2**60, 2**40)
    with pytest.raises(rl.NotExpressible) as caught:
        rl.complement(Layout((4, 4), (1, 2)), 24)
    a, b = caught.value.counterexample
    assert a[0] + 2 * a[1] == b[0] + 2 * b[1]
    with pytest.raises(rl.NotExpressible, match="interleave"):
        rl.complement(Layout((3, 2), (2, 3)))
    with pytest.raises(rl.NotExpressible, match="empty"):
        rl.complement(Layout(0, 1))
    with pytest.raises(rl.ShapeError, match="negative"):
        rl.complement(Layout(4, 1), -5)
    with pytest.raises(rl.ShapeError, match="negative"):
        rl.complement(Layout(4, 2), (3, -4))
    refuses_windows(rl.complement)


@given(layouts(negative=True))
def test_right_inverse(layout: Layout) -> None:
    inverse = rl.right_inverse(layout)
    values = colex(layout)
    assert [values[inverse(i)] for i in range(inverse.size)] == list(range(inverse.size))


@given(COMPACT)
def test_inverses_of_a_bijection_are_whole(layout: Layout) -> None:
    right, left = rl.right_inverse(layout), rl.left_inverse(layout)
    assert right.size == layout.size
    for i in range(layout.size):
        assert right(layout(i)) == left(layout(i)) == i


@given(layouts(negative=True))
def test_left_inverse(layout: Layout) -> None:
    values = colex(layout)
    try:
        inverse = rl.left_inverse(layout)
    except rl.NotExpressible as refusal:
        if len(set(values)) < len(values):
            pair = refusal.operands.get("counterexample")
            assert pair is None or layout(pair[0]) == layout(pair[1])
        return
    assert [inverse(v) for v in values] == [values.index(v) for v in values]
    if 0 not in [d for s, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True) if s > 1]:
        assert len(set(values)) == len(values)


@given(layouts(48))
def test_flatten_makes_every_leaf_a_mode(layout: Layout) -> None:
    flat = rl.flatten(layout)
    assert flat.depth <= 1
    assert (leaves(flat.shape), leaves(flat.stride)) == (leaves(layout.shape), leaves(layout.stride))
    assert colex(flat) == colex(layout)


def test_flatten_by_hand() -> None:
    nested = rl.group(rl.group(Layout((2, 3, 5, 7)), 0, 2), 1, 3)
    assert rl.flatten(nested) == Layout((2, 3, 5, 7))
    assert rl.flatten(Layout(4)) == Layout(4)
    assert rl.flatten(nested.with_offset(3)) == Layout((2, 3, 5, 7), offset=3)
    assert rl.flatten(((2, 3), 5)) == (2, 3, 5)


def test_inverses_by_hand() -> None:
    assert rl.right_inverse(Layout((4, 8), (8, 1))) == Layout((8, 4), (4, 1))
    assert rl.right_inverse(Layout((2, 4, 6), (4, 1, 8))) == Layout((4, 2, 6), (2, 1, 8))
    assert rl.right_inverse(Layout((2, 4, 6), (4, 1, 0))) == Layout((4, 2), (2, 1))
    assert rl.right_inverse(Layout(4, 2)) == Layout(1, 0)
    assert rl.left_inverse(Layout(4, 2)) == Layout((2, 4), (0, 1))
    assert rl.left_inverse(Layout((2, 2), (1, 4))) == Layout((4, 2), (1, 2))
    assert rl.left_inverse(Layout((2, 3, 2), (0, 1, 6))) == Layout((6, 2), (2, 6))
    assert rl.left_inverse(Layout(4, 1, offset=3)) == Layout(7, 1, offset=-3)
    assert rl.left_inverse(Layout((4, 2), (1, 8), offset=16)) == Layout((8, 4), (1, 4), offset=-8)
    for operation in (rl.right_inverse, rl.left_inverse):
        assert operation(Layout(8, -1, offset=7)) == Layout(8, -1, offset=7)
    with pytest.raises(rl.NotExpressible, match="none of its elements lies at 0"):
        rl.right_inverse(Layout(4, 1, offset=3))
    with pytest.raises(rl.NotExpressible, match="lowest offset 3 is no multiple of 8"):
        rl.left_inverse(Layout((4, 2), (1, 8), offset=3))
    with pytest.raises(rl.NotExpressible, match="below 0"):
        rl.left_inverse(Layout(4, -1, offset=2))
    for a, b in [(Layout(4), Layout(4, 1, offset=1)), (Layout(4, 1, offset=1), Layout(4))]:
        with pytest.raises(rl.NotExpressible, match="lies at 1"):
            rl.max_common_layout(a, b)
    for operation in (rl.right_inverse, rl.left_inverse):
        with pytest.raises(rl.NotExpressible, match="empty"):
            operation(Layout(0, 1))
        refuses_windows(operation)
    with pytest.raises(rl.NotExpressible, match="share one offset"):
        rl.left_inverse(Layout((2, 2), (1, 1)))
    with pytest.raises(rl.NotExpressible, match="multiple"):
        rl.left_inverse(Layout((2, 2), (2, 5)))


@st.composite
def divisions(draw: Any) -> tuple[Layout, Layout]:
    """A layout of any order and a tile that divides its size."""
    tile, rest = draw(st.sampled_from([2, 3, 4])), draw(st.sampled_from([1, 2, 3, 4]))
    step = draw(st.sampled_from([1, 2, 3]))
    layout = draw(st.sampled_from([Layout(tile * rest * step, 3), Layout((tile * step, rest), (rest, 1))]))
    return layout, Layout(tile, step)


@given(divisions())
def test_logical_divide_lists_every_element_by_tile(pair: tuple[Layout, Layout]) -> None:
    layout, tile = pair
    try:
        result = rl.logical_divide(layout, tile)
    except rl.NotExpressible:
        return
    assert result.rank == 2
    assert sorted(colex(result)) == sorted(colex(layout))
    assert [result(i, 0) for i in range(tile.size)] == [layout(tile(i)) for i in range(tile.size)]


@given(
    st.sampled_from([(2, 3), (4, 2), (6, 4)]),
    st.sampled_from([(1, 1), (2, 1), (2, 2)]),
    st.booleans(),
    st.sampled_from([0, 7]),
)
def test_divides_by_mode_are_numpys_reshape_and_transpose(
    grid: tuple[int, int], tile: tuple[int, int], rows_first: bool, offset: int
) -> None:
    m, n = grid[0] * tile[0], grid[1] * tile[1]
    layout = (Layout.row_major(m, n) if rows_first else Layout((m, n))).with_offset(offset)
    data = table(layout)
    tiles = data.reshape(grid[0], tile[0], grid[1], tile[1])
    logical = rl.logical_divide(layout, tile)
    zipped = rl.zipped_divide(layout, tile)
    tiled = rl.tiled_divide(layout, tile)
    flat = rl.flat_divide(layout, tile)
    for i, k, j, l in cartesian(range(grid[0]), range(tile[0]), range(grid[1]), range(tile[1])):  # noqa: E741
        truth = tiles[i, k, j, l]
        assert logical((k, i), (l, j)) == zipped((k, l), (i, j)) == tiled((k, l), i, j) == flat(k, l, i, j) == truth


def test_divide_leaves_alone_what_it_is_told_to() -> None:
    layout = Layout((4, 6, 5), (30, 5, 1))
    assert rl.logical_divide(layout, (2, None)) == Layout(((2, 2), 6, 5), ((30, 60), 5, 1))
    assert rl.zipped_divide(layout, (2, None)) == Layout(((2, 1), (2, 6, 5)), ((30, 0), (60, 5, 1)))
    assert rl.logical_divide(layout, None) is layout
    assert rl.logical_divide(Layout(12, 1), 4) == Layout((4, 3), (1, 4))
    assert rl.logical_divide(Layout(10, 1), 4) == Layout((4, 3), (1, 4)), "CuTe's last mode runs on"
    assert rl.logical_divide(Layout(((4, 2), 6)), ((2, None), 3)).shape == (((2, 2), 2), (3, 2))
    assert rl.zipped_divide(Layout(12, 1), Layout(3, 4)) == rl.logical_divide(Layout(12, 1), Layout(3, 4))
    assert rl.tiled_divide(Layout(12, 1), 4) == Layout((4, 3), (1, 4))
    for operation in (rl.logical_divide, rl.zipped_divide, rl.logical_product, rl.zipped_product):
        with pytest.raises(rl.ShapeError, match="more entries"):
            operation(Layout((4, 6)), (2, 2, 2))
        with pytest.raises(rl.LayoutError):
            operation(Layout((4, 6)), "x")


def test_divide_of_a_swizzled_layout_keeps_the_swizzle_outside() -> None:
    layout = Layout((8, 64), (64, 1), offset=64, swizzle=Swizzle(3, 3, 3))
    result = rl.zipped_divide(layout, (4, 8))
    for c in cartesian(range(4), range(8), range(2), range(8)):
        assert result((c[0], c[1]), (c[2], c[3])) == layout(c[0] + 4 * c[2], c[1] + 8 * c[3])


def test_divide_refuses_what_does_not_divide() -> None:
    with pytest.raises(rl.NotExpressible):
        rl.logical_divide(Layout((4, 6), (6, 1)), 3)


@given(layouts(12), layouts(12))
def test_logical_product_repeats_the_block(block: Layout, grid: Layout) -> None:
    try:
        result = rl.logical_product(block, grid)
    except rl.NotExpressible:
        return
    rest = rl.complement(block, block.size * grid.cosize)
    assert result.rank == 2
    assert colex(result[0]) == colex(block)
    for i, j in cartesian(range(block.size), range(grid.size)):
        assert result(i, j) == block(i) + extended(rest, grid(j))


@given(st.tuples(*[st.integers(1, 3)] * 4), st.booleans(), st.booleans())
def test_blocked_and_raked_products_of_dense_layouts(sizes: tuple[int, ...], a: bool, b: bool) -> None:
    m, n, p, q = sizes
    block = Layout.row_major(m, n) if a else Layout((m, n))
    grid = Layout.row_major(p, q) if b else Layout((p, q))
    blocked, raked = rl.blocked_product(block, grid), rl.raked_product(block, grid)
    for i, j, k, l in cartesian(range(m), range(n), range(p), range(q)):  # noqa: E741
        truth = value_of(block, i, j) + m * n * value_of(grid, k, l)
        assert blocked(i + m * k, j + n * l) == truth
        assert raked(k + p * i, l + q * j) == truth


def value_of(layout: Layout, i: int, j: int) -> int:
    return layout.offset + i * layout.stride[0] + j * layout.stride[1]


def test_products_by_hand() -> None:
    assert rl.logical_product(Layout((2, 2), (4, 1)), Layout(6, 1)) == Layout(((2, 2), (2, 3)), ((4, 1), (2, 8)))
    assert rl.logical_product(Layout(4, 1), 3) == Layout((4, 3), (1, 4))
    assert rl.logical_product(Layout((2, 3)), (None, 4)) == Layout((2, (3, (2, 2))), (1, (2, (1, 6))))
    assert rl.logical_product(Layout(4, 1), None) == Layout(4, 1)
    block, grid = Layout((2, 5), (5, 1)), Layout((3, 4), (1, 3))
    assert rl.zipped_product(block, grid) == rl.logical_product(block, grid)
    assert rl.tiled_product(block, grid) == Layout(((2, 5), 3, 4), ((5, 1), 10, 30))
    assert rl.flat_product(block, grid) == Layout((2, 5, 3, 4), (5, 1, 10, 30))
    assert rl.blocked_product(block, grid) == Layout(((2, 3), (5, 4)), ((5, 10), (1, 30)))
    assert rl.raked_product(block, grid) == Layout(((3, 2), (4, 5)), ((10, 5), (30, 1)))
    assert rl.blocked_product(Layout(4, 1), Layout((2, 3))) == Layout(((4, 2), (1, 3)), ((1, 4), (0, 8)))
    assert rl.blocked_product(Layout(4, 1), Layout(3, 1)) == Layout(((4, 3),), ((1, 4),))
    sparse = rl.blocked_product(Layout(2, 2), Layout(4, 1))
    assert colex(sparse) == [0, 2, 1, 3, 4, 6, 5, 7], "the grid fills the holes of the block first"
    with pytest.raises(rl.NotExpressible):
        rl.blocked_product(Layout(2, 2), Layout(3, 1))
    moved = rl.blocked_product(Layout((2, 2), offset=5), Layout((2, 2), offset=1))
    assert moved(0, 0) == 5 + 4
    refuses_windows(lambda w: rl.blocked_product(w, Layout((2, 2))))


def test_tile_to_shape() -> None:
    tile = Layout((2, 4), (4, 1))
    result = rl.tile_to_shape(tile, (6, 8))
    data = table(result)
    tiles = np.arange(48).reshape(2, 3, 2, 4)
    assert (data == tiles.transpose(1, 2, 0, 3).reshape(6, 8)).all()
    rows = rl.tile_to_shape(tile, (6, 8), (1, 0))
    assert (table(rows) == np.arange(48).reshape(3, 2, 2, 4).transpose(0, 2, 1, 3).reshape(6, 8)).all()
    assert rl.tile_to_shape(tile, (2, 4, 5)).shape == ((2, 1), (4, 1), (1, 5))
    assert rl.tile_to_shape(Layout(4, 1), 12) == Layout(((4, 3),), ((1, 4),))
    swizzled = rl.tile_to_shape(Layout((8, 8), (8, 1), swizzle=(3, 0, 3)), (16, 16))
    assert swizzled.swizzle == Swizzle(3, 0, 3)
    assert swizzled.is_bijective()
    with pytest.raises(rl.NotExpressible, match="does not divide") as caught:
        rl.tile_to_shape(tile, (6, 10))
    assert "window" in caught.value.hint
    with pytest.raises(rl.ShapeError, match="more modes"):
        rl.tile_to_shape(tile, 8)


@given(
    shapes(48).flatmap(
        lambda s: st.tuples(*[st.one_of(compact_strides(s), like(s, STRIDES)).map(partial(Layout, s))] * 2)
    )
)
def test_max_common_layout_sends_both_to_one_run(pair: tuple[Layout, Layout]) -> None:
    a, b = pair
    common = rl.max_common_layout(a, b)
    for i in range(common.size):
        assert a(common(i)) == b(common(i)) == i
    assert rl.max_common_vector(a, b) == common.size


def test_max_common_by_hand() -> None:
    assert rl.max_common_vector(Layout((4, 8), (8, 1)), Layout((4, 8), (8, 1))) == 32
    assert rl.max_common_vector(Layout((4, 8), (8, 1)), Layout((4, 8), (16, 1))) == 8
    assert rl.max_common_vector(Layout((4, 8), (8, 1)), Layout((4, 8), (1, 4))) == 1
    assert rl.max_common_layout(Layout((4, 8), (8, 1)), Layout((4, 8), (16, 1))) == Layout(8, 4)


def test_max_common_stays_inside_both_and_is_longest() -> None:
    assert rl.max_common_vector(Layout(4, 1), Layout(8, 1)) == rl.max_common_vector(Layout(8, 1), Layout(4, 1)) == 4
    a, b = Layout((5, 12), (1, 100)), Layout((12, 5), (1, 1000))
    assert rl.max_common_vector(a, b) == rl.max_common_vector(b, a) == 5


def test_thread_value_layouts_must_fill_their_tile() -> None:
    for threads, values in ((Layout(4, 1), Layout(3, 2)), (Layout(4, 2), Layout(3, 2)), (Layout(4, 0), Layout(3, 1))):
        with pytest.raises(rl.NotExpressible, match="one to one"):
            rl.make_layout_tv(threads, values)


def test_thread_value_layouts() -> None:
    tile, tv = rl.make_layout_tv(Layout((4, 8), (8, 1)), Layout((2, 2), (2, 1)))
    assert tile == (8, 16)
    assert tv.extents == (32, 4)
    elements = [(x % 8, x // 8) for x in (tv(t, v) for t in range(32) for v in range(4))]
    assert len(set(elements)) == 128
    for t, v in cartesian(range(32), range(4)):
        row, column = t // 8 * 2 + v // 2, t % 8 * 2 + v % 2
        assert tv(t, v) == row + 8 * column


@given(layouts(48, tuples_only=True, offset=True, swizzle=True, negative=True), st.data())
def test_modes_taken_apart_and_put_together(layout: Layout, data: Any) -> None:
    k = data.draw(st.integers(0, layout.rank - 1))
    inner = Layout(layout.shape, layout.stride, offset=layout.offset)
    swizzle = layout.swizzle or (lambda x: x)
    picked = rl.select(layout, k)
    assert [picked(i) for i in range(picked.size)] == [
        swizzle(inner.offset + inner[k](i)) for i in range(inner[k].size)
    ]
    order = data.draw(st.permutations(range(layout.rank)))
    assert rl.select(layout, tuple(order)).equivalent(layout.permute(order))
    begin = data.draw(st.integers(0, layout.rank))
    end = data.draw(st.integers(begin, layout.rank))
    grouped = rl.group(layout, begin, end)
    if begin < end:
        assert colex(grouped) == colex(layout)
        assert grouped.rank == layout.rank - (end - begin) + 1
    extra = Layout(3, 100)
    longer, front = rl.append(layout, extra), rl.prepend(layout, extra)
    swapped = rl.replace(layout, k, extra)
    for c in coordinates(layout):
        total = inner.offset + sum(m(x) for m, x in zip(inner, c, strict=True))
        assert longer(*c, 2) == front(2, *c) == swizzle(total + 200)
        assert swapped(*c[:k], 2, *c[k + 1 :]) == swizzle(total - inner[k](c[k]) + 200)


@given(layouts(24, tuples_only=True, offset=True), layouts(24, tuples_only=True, offset=True))
def test_make_layout_adds_and_zip_pairs(a: Layout, b: Layout) -> None:
    both = rl.make_layout(a, b)
    for i, j in cartesian(range(a.size), range(b.size)):
        assert both(i, j) == a(i) + b(j)
    if a.rank != b.rank:
        with pytest.raises(rl.ShapeError, match="rank"):
            rl.zip_modes(a, b)
        return
    zipped = rl.zip_modes(a, b)
    for c, d in cartesian(coordinates(a), coordinates(b)):
        assert zipped(tuple(zip(map(a_natural, c, a), map(a_natural, d, b), strict=True))) == a(c) + b(d)


def a_natural(x: int, mode: Layout) -> Any:
    return mode.coordinates(x).natural


@given(layouts(48, tuples_only=True, offset=True, swizzle=True, negative=True), st.data())
def test_slice_and_dice_share_out_the_modes(layout: Layout, data: Any) -> None:
    c = data.draw(st.sampled_from(coordinates(layout)))
    keep = data.draw(st.lists(st.booleans(), min_size=layout.rank, max_size=layout.rank))
    coord = tuple(None if kept else x for kept, x in zip(keep, c, strict=True))
    sliced, diced = rl.slice_layout(coord, layout), rl.dice(coord, layout)
    assert sliced.rank == sum(keep)
    assert diced.rank == layout.rank - sum(keep)
    for d in coordinates(sliced):
        rest = iter(d)
        assert sliced(d) == layout(tuple(next(rest) if kept else x for kept, x in zip(keep, c, strict=True)))
    assert rl.slice_layout(None, layout) is layout


def test_slice_reaches_into_modes() -> None:
    layout = Layout(((3, 2), (2, 5)), ((1, 6), (3, 12)))
    assert rl.slice_layout(((None, 1), 3), layout) == Layout((3,), (1,), offset=6 + 15)
    assert rl.dice(((None, 1), 3), layout) == Layout((2, (2, 5)), (6, (3, 12)))
    assert rl.slice_layout((2, (None, None)), layout) == Layout((2, 5), (3, 12), offset=2)
    for operation in (rl.slice_layout, rl.dice):
        with pytest.raises(rl.ShapeError):
            operation((1, 2, None), layout)
        with pytest.raises(rl.ShapeError):
            operation(((None, (1, 1)), 0), layout)
        with pytest.raises(rl.OutOfBounds):
            operation((6, None), layout)


@given(layouts(offset=True, window=True, swizzle=True, negative=True), st.data())
def test_domain_offset_looks_from_a_coordinate_on(layout: Layout, data: Any) -> None:
    start = data.draw(st.sampled_from(coordinates(layout)))
    seen = rl.domain_offset(start, layout)
    assert seen.extents == tuple(n - x for n, x in zip(layout.extents, start, strict=True))
    for c in coordinates(seen):
        assert seen(c) == layout(tuple(a + b for a, b in zip(start, c, strict=True)))


@given(layouts(64, offset=True, negative=True), st.sampled_from([1, 2, 4, 3]))
def test_upcast_counts_in_wider_elements(layout: Layout, n: int) -> None:
    try:
        result = rl.upcast(layout, n)
    except rl.NotExpressible:
        return
    ratios = [a // b if b else 1 for a, b in zip(leaves(layout.shape), leaves(result.shape), strict=True)]
    for digits in cartesian(*[range(s) for s in leaves(layout.shape)]):
        wide = sum(x // r * d for x, r, d in zip(digits, ratios, leaves(result.stride), strict=True)) + result.offset
        narrow = sum(x * d for x, d in zip(digits, leaves(layout.stride), strict=True)) + layout.offset
        assert wide == narrow // n


@given(layouts(48, offset=True), st.sampled_from([1, 2, 4, 3]))
def test_downcast_is_undone_by_upcast_and_reaches_every_part(layout: Layout, n: int) -> None:
    try:
        result = rl.downcast(layout, n)
    except rl.NotExpressible:
        assert sum(d == 1 and s > 1 for s, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True)) != 1
        return
    parts = {v * n + k for v in colex(layout) for k in range(n)}
    assert set(colex(result)) == parts
    assert result.size == layout.size * n
    assert rl.upcast(result, n).equivalent(layout)


def test_recast_by_hand() -> None:
    tile = Layout((8, 64), (64, 1), swizzle=Swizzle(3, 3, 3))
    assert rl.recast_layout(tile, 16, 8) == Layout((8, 128), (128, 1), swizzle=Swizzle(3, 4, 3))
    assert rl.recast_layout(tile, 16, 128) == Layout((8, 8), (8, 1), swizzle=Swizzle(3, 0, 3))
    assert rl.recast_layout(tile, 16, 16) == tile
    assert rl.recast_layout(Layout(12, 1), 16, 24) == Layout(8, 1)
    assert rl.upcast(Layout((4, 2), (2, 8)), 4) == Layout((2, 2), (1, 2))
    assert rl.upcast(Layout((2, 2), (1, 2)), 4) == Layout((1, 1), (1, 1))
    assert rl.upcast(Layout((2, 1), (1, 1)), 2) == Layout((1, 1), (1, 1))
    assert rl.upcast(Layout((4, 3), (1, 0)), 4) == Layout((1, 3), (1, 0))
    assert rl.upcast(Layout((0, 3), (1, 8)), 4).size == 0
    assert rl.upcast(Layout(8, -1, offset=7), 2) == Layout(4, -1, offset=3)
    assert rl.upcast(Layout((2, 4), (-1, 2), offset=1), 4) == Layout((1, 2), (-1, 1))
    for layout, n in (
        (Layout(6, 1), 4),
        (Layout((4, 2), (1, 6)), 4),
        (Layout(4, 1, offset=2), 4),
        (Layout((2, 2), (1, 1)), 2),
        (Layout(8, -1, offset=8), 2),
    ):
        with pytest.raises(rl.NotExpressible, match="recast"):
            rl.upcast(layout, n)
    with pytest.raises(rl.NotExpressible, match="swizzle"):
        rl.recast_layout(tile, 16, 256)
    with pytest.raises(rl.NotExpressible, match="stride 1"):
        rl.downcast(Layout(4, 2), 2)
    with pytest.raises(rl.ShapeError):
        rl.upcast(Layout(4, 1), 0)


@given(layouts(64, negative=True, offset=True))
def test_make_layout_like_keeps_shape_and_order(layout: Layout) -> None:
    result = rl.make_layout_like(layout)
    assert result.shape == layout.shape
    modes = list(zip(leaves(layout.shape), leaves(layout.stride), leaves(result.stride), strict=True))
    assert all((before == 0 or size == 1) == (after == 0) for size, before, after in modes)
    moving = [(abs(before), after) for size, before, after in modes if after]
    assert [a for _, a in sorted(moving, key=lambda m: m[0])] == sorted(a for _, a in moving)
    assert rl.filter(result).is_bijective()


def test_make_ordered_layout_breaks_ties_left_to_right() -> None:
    assert rl.make_ordered_layout((4, 3, 2), (7, 7, 0)) == Layout((4, 3, 2), (2, 8, 1))
    assert rl.make_ordered_layout((4, 3, 2), (7, 7, 0)).is_bijective()


@pytest.mark.parametrize(
    "operation",
    [
        lambda w: rl.select(w, 0),
        lambda w: rl.group(w, 0, 1),
        rl.append,
        rl.prepend,
        lambda w: rl.replace(w, 0, Layout(2, 1)),
        lambda w: rl.make_layout(w),
        lambda w: rl.zip_modes(w, w),
        lambda w: rl.slice_layout((None, 0), w),
        lambda w: rl.dice((None, 0), w),
        lambda w: rl.upcast(w, 2),
        lambda w: rl.downcast(w, 2),
        rl.filter,
        rl.nullspace,
        rl.make_layout_like,
        lambda w: rl.logical_divide(w, 2),
        lambda w: rl.logical_divide(w, (2,)),
        lambda w: rl.zipped_divide(w, (2,)),
        lambda w: rl.logical_product(w, 2),
        lambda w: rl.logical_product(w, (2,)),
        lambda w: rl.tile_to_shape(w, (14, 3)),
        lambda w: rl.max_common_layout(w, w),
        lambda w: rl.composition(w, 2),
    ],
)
def test_the_algebra_refuses_windows(operation: Any) -> None:
    refuses_windows(operation)


def test_empty_layouts_stay_empty() -> None:
    empty = Layout((0, 4), (0, 1))
    assert rl.filter(empty).size == rl.filter_zeros(empty).size == rl.coalesce(empty).size == 0
    assert rl.composition(Layout((0, 5), (8, 8)), Layout(0, 1)).size == 0


def test_group_stays_inside() -> None:
    with pytest.raises(rl.OutOfBounds):
        rl.group(Layout((2, 3)), 1, 3)


@pytest.mark.parametrize("layout", [Layout(0), Layout((0, 3), (1, 1)), Layout((3, 0), (1, 7))])
def test_what_is_empty_has_no_complement(layout: Layout) -> None:
    with pytest.raises(rl.NotExpressible, match="empty"):
        rl.complement(layout)


@given(layouts(48), st.integers(2, 5))
def test_strides_of_size_1_modes_decide_nothing(layout: Layout, n: int) -> None:
    """A layout divided, with modes of size 1 of any stride beside its own, is what it is without them."""
    plain = Layout((layout.shape,), (layout.stride,))
    for shape, stride in (((layout.shape, 1), (layout.stride, 7)), ((layout.shape, 1, 1), (layout.stride, 0, -3))):
        if layout.size == 1:
            continue
        padded = Layout((shape,), (stride,))
        try:
            truth = rl.logical_divide(plain, n)
        except rl.LayoutError as refusal:
            with pytest.raises(type(refusal)):
                rl.logical_divide(padded, n)
            continue
        result = rl.logical_divide(padded, n)
        assert result.equivalent(truth)


def test_size_1_modes_by_hand() -> None:
    assert rl.logical_divide(Layout((3, 2, 1), (1, 3, 0)), Layout(2, 2)) == rl.logical_divide(Layout(6), Layout(2, 2))
    for shape, stride in ((((3, 1), 4), None), (((3, 1), 4), ((1, 3), 3))):
        assert rl.zipped_divide(Layout(shape, stride), (2, 2)) == Layout(((2, 2), (2, 2)), ((1, 3), (2, 6)))
    assert rl.logical_divide(Layout.row_major(3, 1), 2) == Layout((2, 2), (1, 2))


def test_dice_of_tuples_and_by_one_integer() -> None:
    tl = pytest.importorskip("tensor_layouts")
    for coord, shape in (
        (0, (3, 4)),
        ((0, None), (3, 4)),
        (None, (3, 4)),
        ((0, 1), (3, 4)),
        ((0, (None, 1)), (3, (4, 5))),
    ):
        assert rl.dice(coord, shape) == tl.dice_modes(coord, shape)
    assert rl.dice(0, Layout((3, 4))) == Layout((3, 4))
    with pytest.raises(rl.OutOfBounds):
        rl.dice(12, Layout((3, 4)))
    with pytest.raises(rl.OutOfBounds):
        rl.dice(12, (3, 4))
    with pytest.raises(rl.ShapeError):
        rl.dice((0, 0, 0), (3, 4))


# ---- through swizzles ------------------------------------------------------------------------------------------


@given(layouts(48), st.integers(-3, 20), st.data())
def test_inverses_under_an_offset_and_backwards(layout: Layout, offset: int, data: Any) -> None:
    flips = data.draw(st.sets(st.integers(0, layout.rank - 1)) if layout.rank else st.just(set()))
    for k in flips:
        layout = layout.flip(k)
    layout = layout.with_offset(layout.offset + offset)
    values = colex(layout)
    try:
        right = rl.right_inverse(layout)
    except rl.NotExpressible:
        assert 0 not in values
    else:
        assert [values[right(i)] for i in range(right.size)] == list(range(right.size))
    try:
        left = rl.left_inverse(layout)
    except rl.NotExpressible:
        pass
    else:
        assert [left(v) for v in values] == [values.index(v) for v in values]


@st.composite
def swizzled_bits(draw: Any, bits: int = 6) -> Layout:
    """Modes of powers of two over all addresses of so many bits, in any order, under a swizzle."""
    order = draw(st.permutations(range(bits)))
    cuts = sorted(draw(st.sets(st.integers(1, bits - 1), max_size=3)))
    parts = [order[a:b] for a, b in pairwise([0, *cuts, bits])]
    width = draw(st.integers(0, 2))
    shift = draw(st.sampled_from([s for s in range(-3, 4) if abs(s) >= width]))
    base = draw(st.integers(0, bits - width - abs(shift)))
    layout = Layout(tuple([(2,) * len(p) for p in parts]), tuple([tuple([1 << k for k in p]) for p in parts]))
    return rl.coalesce(layout, (1,) * layout.rank).with_swizzle(Swizzle(width, base, shift))


@given(swizzled_bits())
def test_inverses_through_swizzles(layout: Layout) -> None:
    values = colex(layout)
    try:
        right = rl.right_inverse(layout)
        assert right.size == layout.size
        assert [values[right(i)] for i in range(right.size)] == list(range(right.size))
    except rl.NotExpressible as refusal:
        assert "ComposedLayout" in str(refusal.hint)
    try:
        left = rl.left_inverse(layout)
        assert [left(v) for v in values] == list(range(layout.size))
    except rl.NotExpressible as refusal:
        assert "ComposedLayout" in str(refusal.hint)


@given(layouts(48), st.sampled_from([Swizzle(1, 0, 2), Swizzle(2, 1, 3), Swizzle(1, 1, -2), Swizzle(1, 3, 1)]))
def test_inverses_of_any_swizzled_layout_obey_their_law(layout: Layout, swizzle: Swizzle) -> None:
    layout = layout.with_swizzle(swizzle)
    values = colex(layout)
    for operation in (rl.right_inverse, rl.left_inverse):
        try:
            inverse = operation(layout)
        except rl.LayoutError:
            continue
        if operation is rl.right_inverse:
            assert [values[inverse(i)] for i in range(inverse.size)] == list(range(inverse.size))
        else:
            assert [inverse(v) for v in values] == [values.index(v) for v in values]


@given(swizzled_bits(), swizzled_bits(), st.booleans())
def test_composition_through_swizzles(a: Layout, b: Layout, plain: bool) -> None:
    outer = a.with_swizzle(None) if plain else a
    try:
        result = rl.composition(outer, b)
    except rl.NotExpressible as refusal:
        assert "ComposedLayout" in str(refusal.hint)
        return
    assert rl.compatible(b.shape, result.shape)
    assert colex(result) == [outer(b(i)) for i in range(b.size)]


def test_through_swizzles_by_hand() -> None:
    for operation in (rl.right_inverse, rl.left_inverse):
        assert operation(Swizzle(1, 0, 2)(Layout((4, 4)))) == Layout(16, 1, swizzle=Swizzle(1, 0, 2))
        assert operation(Layout(6, 1, swizzle=(1, 0, 1))) == Layout(6, 1, swizzle=(1, 0, 1))
    assert rl.max_common_vector(Swizzle(2, 1, 3)(Layout(32)), Layout(32)) == 2
    assert rl.max_common_vector(Swizzle(2, 1, 3)(Layout(32)), Swizzle(2, 1, 3)(Layout(32))) == 32
    assert rl.max_common_vector(Swizzle(0, 1, 3)(Layout(32)), Layout(32)) == 32
    rows = Layout((8, 8), (8, 1))
    assert rl.composition(rows, Swizzle(2, 0, -3)(rows)) == Layout((8, 8), (1, 8), swizzle=Swizzle(2, 0, 3))
    assert colex(rl.composition(rows, Swizzle(2, 0, -3))) == [rows(Swizzle(2, 0, -3)(i)) for i in range(64)]
    assert rl.composition(Layout(12), Layout((3, 4), swizzle=(1, 0, 2))) == Layout((3, 4), swizzle=(1, 0, 2))
