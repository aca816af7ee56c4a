"""Candle's page "Tensor Layout": its example, its formulas and its proof; then Candle's views, judged by numpy."""

from __future__ import annotations

from itertools import pairwise
from itertools import product as cartesian
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relayout import (
    Layout,
    LayoutError,
    MultipleBlocks,
    NotExpressible,
    OutOfBounds,
    ShapeError,
    SingleBlock,
    Swizzle,
    UniformBlocks,
)
from support import coordinates, layouts, value


def memory(*shape: int) -> np.ndarray[Any, Any]:
    """A contiguous array whose every element is its own address."""
    return np.arange(int(np.prod(shape))).reshape(shape)


def parts(layout: Layout) -> tuple[Any, Any, Any]:
    """Candle's three fields."""
    return layout.shape, layout.stride, layout.offset


# ---- shape and stride ----------------------------------------------------------------------------------------


def test_the_strides_of_2_3_4_are_12_4_1():
    layout = Layout.row_major(2, 3, 4)
    assert parts(layout) == ((2, 3, 4), (12, 4, 1), 0)
    assert parts(Layout.row_major([2, 3, 4])) == parts(layout)
    assert layout.size == layout.storage_size == 24


def test_each_index_jumps_12_4_and_1_elements():
    layout = Layout.row_major(2, 3, 4)
    for i, j, k in cartesian(range(2), range(3), range(4)):
        assert layout(i, j, k) == layout.ravel(i, j, k) == 12 * i + 4 * j + k
        assert layout.unravel(12 * i + 4 * j + k) == (i, j, k)


def test_permuting_permutes_the_strides_along_with_the_shape():
    layout = Layout.row_major(2, 3, 4)
    permuted = layout.permute(1, 0, 2)
    assert parts(permuted) == ((3, 2, 4), (4, 12, 1), 0)
    for i, j, k in cartesian(range(2), range(3), range(4)):
        assert permuted(j, i, k) == layout(i, j, k) == i * 12 + j * 4 + k * 1


@given(st.data())
def test_the_dot_product_survives_any_permutation(data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    stride = [data.draw(st.integers(0, 50)) for _ in shape]
    order = data.draw(st.permutations(range(len(shape))))
    index = [data.draw(st.integers(0, n - 1)) for n in shape]
    permuted = Layout(tuple(shape), tuple(stride)).permute(*order)
    assert permuted.ravel([index[k] for k in order]) == int(np.dot(index, stride))


# ---- offset --------------------------------------------------------------------------------------------------


def test_the_offset_starts_at_zero_and_slicing_moves_it():
    layout = Layout.row_major(2, 3, 4)
    assert layout.offset == 0
    assert parts(layout.view[1:]) == ((1, 3, 4), (12, 4, 1), 12)
    assert parts(layout.view[:, 1:, 2:]) == ((2, 2, 2), (12, 4, 1), 4 + 2)
    assert parts(layout.view[1, 2]) == ((4,), (1,), 12 + 8)


def test_slicing_from_the_end_only_adjusts_the_shape():
    sliced = Layout.row_major(24).view[:-4]
    assert parts(sliced) == (20, 1, 0)
    assert sliced.offsets().tolist() == list(range(24))[:-4]


@given(st.data())
def test_the_offset_of_a_slice_is_the_raveled_corner(data):
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    corner = [data.draw(st.integers(0, n - 1)) for n in shape]
    sliced = Layout.row_major(*shape).view[tuple(slice(c, None) for c in corner)]
    assert sliced.offset == np.ravel_multi_index(corner, shape)
    assert (sliced.offsets() == memory(*shape)[tuple(slice(c, None) for c in corner)]).all()


# ---- the proof -----------------------------------------------------------------------------------------------


@st.composite
def flat_layouts(draw: Any) -> Layout:
    shape = draw(st.lists(st.integers(1, 1000), min_size=1, max_size=5))
    stride = [draw(st.integers(-(2**70), 2**70)) for _ in shape]
    return Layout(tuple(shape), tuple(stride), offset=draw(st.integers(-1000, 1000)))


@given(flat_layouts(), st.data())
def test_raveling_is_linear(layout, data):
    total = [data.draw(st.integers(0, n - 1)) for n in layout.shape]
    a = [data.draw(st.integers(0, t)) for t in total]
    b = [t - x for t, x in zip(total, a, strict=True)]
    assert layout.ravel(total) == layout.ravel(a) + layout.ravel(b)
    assert layout.ravel(a) == sum(x * d for x, d in zip(a, layout.stride, strict=True))


@given(flat_layouts(), st.data())
def test_raveling_leaves_out_the_offset(layout, data):
    c = [data.draw(st.integers(0, n - 1)) for n in layout.shape]
    assert layout.ravel(c) == layout(c) - layout.offset
    assert layout.ravel([0] * layout.rank) == 0


def test_raveling_comes_before_the_swizzle():
    layout = Layout(16, 1, offset=4, swizzle=Swizzle(2, 0, 2))
    assert [layout.ravel(i) for i in range(16)] == list(range(16))
    assert layout.unravel(7) == 7


def test_an_offset_as_a_coordinate_and_as_a_number_agree():
    """Why one integer is enough: a slice at nd-offset ``a`` is the layout moved by ravel(a)."""
    layout = Layout.row_major(5, 6)
    assert layout.narrow(0, 2, 3).narrow(1, 3, 3).offset == layout.ravel(2, 3) == 2 * 6 + 3


@given(st.data())
def test_unraveling_undoes_raveling_where_the_layout_is_injective(data):
    sizes = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    stride, running = [0] * len(sizes), 1
    for k in data.draw(st.permutations(range(len(sizes)))):  # any order, with holes: injective by construction
        stride[k] = running * data.draw(st.integers(1, 3))
        running = stride[k] * sizes[k]
    layout = Layout(tuple(sizes), tuple(stride), offset=data.draw(st.integers(0, 9)))
    c = tuple(data.draw(st.integers(0, n - 1)) for n in sizes)
    assert layout.unravel(layout.ravel(c)) == c
    assert layout.ravel(layout.unravel(layout.ravel(c))) == int(np.dot(c, stride))


def test_unraveling_a_hole_is_refused():
    with pytest.raises(OutOfBounds, match="no coordinate"):
        Layout((2, 3), (8, 1)).unravel(5)


# ---- narrow, transpose, permute ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dim", "start", "length", "expected"),
    [
        (0, 1, 1, ((1, 3, 4), (12, 4, 1), 12)),
        (1, 1, 2, ((2, 2, 4), (12, 4, 1), 4)),
        (2, 3, 1, ((2, 3, 1), (12, 4, 1), 3)),
        (-1, 1, 2, ((2, 3, 2), (12, 4, 1), 1)),
        (1, 0, 3, ((2, 3, 4), (12, 4, 1), 0)),
    ],
)
def test_narrow_adds_stride_times_start_to_the_offset(dim, start, length, expected):
    layout = Layout.row_major(2, 3, 4)
    narrowed = layout.narrow(dim, start, length)
    assert parts(narrowed) == expected
    assert (narrowed.offsets() == memory(2, 3, 4).take(range(start, start + length), axis=dim)).all()


@pytest.mark.parametrize(("start", "length"), [(4, 0), (4, 1), (3, 1), (0, 4), (2, 2), (-1, 1), (0, -1)])
def test_narrow_past_the_end_is_refused(start, length):
    with pytest.raises(OutOfBounds) as caught:
        Layout.row_major(2, 3, 4).narrow(1, start, length)
    assert (caught.value.dim, caught.value.start, caught.value.length, caught.value.size) == (1, start, length, 3)


def test_narrow_to_nothing_at_the_end_is_empty():
    assert Layout.row_major(2, 3, 4).narrow(1, 3, 0).extents == (2, 0, 4)


@pytest.mark.parametrize(("a", "b"), [(0, 1), (0, 2), (1, 1), (-1, 0), (-2, -1)])
def test_transpose_exchanges_two_dimensions(a, b):
    assert (Layout.row_major(2, 3, 4).transpose(a, b).offsets() == memory(2, 3, 4).swapaxes(a, b)).all()


@pytest.mark.parametrize("dims", [(2, 0, 1), (0, 1, 2), (-1, 0, 1), (2, 1, 0)])
def test_permute_like_numpy(dims):
    expected = memory(2, 3, 4).transpose(dims)
    assert (Layout.row_major(2, 3, 4).permute(*dims).offsets() == expected).all()
    assert (Layout.row_major(2, 3, 4).permute(dims).offsets() == expected).all()


@pytest.mark.parametrize(
    ("dims", "error", "says"),
    [
        ((0, 1), ShapeError, "names 2 of 3 dimensions"),
        ((0, 1, 2, 2), ShapeError, "names 4 of 3 dimensions"),
        ((0, 1, 1), ShapeError, "twice"),
        ((0, 1, -2), ShapeError, "twice"),
        ((0, 1, 3), OutOfBounds, "dimension 3 of a layout of rank 3 does not exist"),
    ],
)
def test_permute_has_three_errors(dims, error, says):
    with pytest.raises(error, match=says):
        Layout.row_major(2, 3, 4).permute(*dims)


# ---- broadcast, squeeze, unsqueeze ---------------------------------------------------------------------------


def test_broadcast_strides_are_0_where_it_repeats_and_kept_from_1_to_1():
    layout = Layout((1, 3, 1), (7, 2, 9), offset=5)
    assert parts(layout.broadcast_to(4, 1, 3, 6)) == ((4, 1, 3, 6), (0, 7, 2, 0), 5)


@pytest.mark.parametrize(("shape", "target"), [((3,), (2, 3)), ((1, 3), (4, 3)), ((2, 1, 4), (5, 2, 3, 4)), ((), (2,))])
def test_broadcast_like_numpy(shape, target):
    expected = np.broadcast_to(memory(*shape), target)
    assert (Layout.row_major(tuple(shape)).broadcast_to(target).offsets() == expected).all()


@pytest.mark.parametrize("target", [(3,), (2, 4), (4, 3), (2, 1), (3, 2)])
def test_broadcast_that_does_not_fit_is_refused(target):
    with pytest.raises(ShapeError, match="cannot be broadcast"):
        Layout.row_major(2, 3).broadcast_to(target)


def test_squeeze_takes_size_1_away_and_leaves_the_rest_unchanged():
    layout = Layout((2, 1, 3), (3, 99, 1), offset=4)
    assert parts(layout.squeeze(1)) == ((2, 3), (3, 1), 4)
    assert layout.squeeze(0) == layout
    assert layout.squeeze(-1) == layout
    assert parts(Layout((1, 2, 1), (5, 1, 7)).squeeze()) == ((2,), (1,), 0)


@pytest.mark.parametrize(
    ("dim", "shape", "stride"),
    [
        (0, (1, 2, 3), (3, 3, 1)),
        (1, (2, 1, 3), (3, 1, 1)),
        (2, (2, 3, 1), (3, 1, 1)),
        (-1, (2, 3, 1), (3, 1, 1)),
        (-3, (1, 2, 3), (3, 3, 1)),
    ],
)
def test_unsqueeze_takes_the_stride_of_that_dimension_or_1_at_the_end(dim, shape, stride):
    assert parts(Layout.row_major(2, 3).unsqueeze(dim)) == (shape, stride, 0)
    assert parts(Layout((2, 3), (5, 40)).unsqueeze(1)) == ((2, 1, 3), (5, 40, 40), 0)
    assert parts(Layout((2, 3), (5, 40)).unsqueeze(2)) == ((2, 3, 1), (5, 40, 1), 0)


@pytest.mark.parametrize("dim", [3, -4])
def test_unsqueeze_out_of_range_is_refused(dim):
    with pytest.raises(OutOfBounds):
        Layout.row_major(2, 3).unsqueeze(dim)


# ---- flatten and reshape: more than Candle -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "shape"), [(0, -1, (24,)), (0, 1, (6, 4)), (1, 2, (2, 12)), (1, 1, (2, 3, 4))]
)
def test_flatten_a_contiguous_layout(start, end, shape):
    flat = Layout.row_major(2, 3, 4).flatten(start, end)
    assert flat.extents == shape
    assert (flat.offsets() == memory(*shape)).all()


def test_flatten_merges_evenly_spaced_elements_that_candle_copies():
    spaced = Layout((2, 3, 4), (24, 8, 2), offset=5)
    assert not spaced.is_contiguous()
    assert parts(spaced.flatten()) == ((24,), (2,), 5)


def test_flatten_merges_the_dimensions_that_it_can():
    padded = Layout((5, 2, 3, 4), (32, 12, 4, 1))
    assert parts(padded.flatten(1)) == ((5, 24), (32, 1), 0)


def test_flatten_a_broadcast():
    assert parts(Layout.row_major(1).broadcast_to(3, 4).flatten()) == ((12,), (0,), 0)


def is_separable(array: np.ndarray[Any, Any]) -> bool:
    """Whether every address is a sum of one number per dimension, as in any layout."""
    total: Any = array.flat[0]
    for dim in range(array.ndim):
        axis = np.moveaxis(array, dim, -1)[(0,) * (array.ndim - 1)]
        total = total + (axis - axis[0]).reshape([-1 if k == dim else 1 for k in range(array.ndim)])
    return bool((total == array).all())


@pytest.mark.parametrize("target", [(24,), (4, 6), (2, 12), (8, 3), (2, 2, 3, 2), (24, 1), (-1,), (3, -1)])
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (0, 2, 1)])
def test_reshape_gives_numpys_order_or_says_that_no_view_exists(order, target):
    expected = memory(2, 3, 4).transpose(order).reshape(target)
    try:
        got = Layout.row_major(2, 3, 4).permute(order).reshape(target)
    except NotExpressible:
        assert not is_separable(expected)
        return
    assert got.extents == expected.shape
    assert (got.offsets() == expected).all()


def test_reshape_of_a_permuted_layout_splits_within_a_dimension():
    got = Layout.row_major(4, 6).transpose(0, 1).reshape(2, 3, 2, 2)
    assert parts(got) == ((2, 3, 2, 2), (3, 1, 12, 6), 0)


@pytest.mark.parametrize("target", [(5,), (2, 3, 5), (-1, 5), (-1, -1), (0,), ()])
def test_reshape_to_another_number_of_elements_is_refused(target):
    with pytest.raises(ShapeError):
        Layout.row_major(2, 3, 4).reshape(target)


# ---- unfold, chunk, split, flip, steps -----------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_unfold_is_numpys_sliding_window(dim, size, step):
    every = np.lib.stride_tricks.sliding_window_view(memory(5, 7), size, axis=dim)
    expected = every.take(range(0, every.shape[dim % 2], step), axis=dim % 2)
    assert (Layout.row_major(5, 7).unfold(dim, size, step).offsets() == expected).all()


def test_unfold_overlaps():
    windows = Layout.row_major(6).unfold(0, 3, 1)
    assert windows.extents == (4, 3)
    assert windows.offsets().tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]
    assert not windows.is_injective()


@pytest.mark.parametrize(("size", "step"), [(7, 1), (-1, 1), (2, 0), (2, -1)])
def test_unfold_past_the_end_or_without_a_step_is_refused(size, step):
    with pytest.raises(LayoutError):
        Layout.row_major(6).unfold(0, size, step)


@pytest.mark.parametrize(
    ("size", "chunks", "sizes"),
    [
        (10, 4, [3, 3, 2, 2]),
        (10, 5, [2, 2, 2, 2, 2]),
        (10, 3, [4, 3, 3]),
        (10, 1, [10]),
        (3, 5, [1, 1, 1]),
        (5, 5, [1, 1, 1, 1, 1]),
        (0, 3, []),
    ],
)
def test_chunk_distributes_like_candle(size, chunks, sizes):
    got = Layout.row_major(size, 2).chunk(chunks, 0)
    assert [part.extents for part in got] == [(n, 2) for n in sizes]
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    for part, start, n in zip(got, starts, sizes, strict=True):
        assert (part.offsets() == memory(size, 2)[start : start + n]).all()


@pytest.mark.parametrize("chunks", [0, -1])
def test_chunk_into_nothing_is_refused(chunks):
    with pytest.raises(ShapeError, match="at least 1"):
        Layout.row_major(4).chunk(chunks)


@pytest.mark.parametrize(
    ("sizes", "expected"), [(3, [3, 3, 1]), (7, [7]), (9, [7]), ([2, 5], [2, 5]), ([0, 7], [0, 7])]
)
def test_split_like_numpy(sizes, expected):
    got = Layout.row_major(2, 7).split(sizes, 1)
    pieces = np.split(memory(2, 7), np.cumsum(expected)[:-1], axis=1)
    assert [p.offsets().tolist() for p in got] == [p.tolist() for p in pieces]


@pytest.mark.parametrize("sizes", [0, -1, [3, 3], [8, -1], [], [7, 1]])
def test_split_that_does_not_cover_is_refused(sizes):
    with pytest.raises(ShapeError):
        Layout.row_major(2, 7).split(sizes, 1)


@pytest.mark.parametrize("dims", [(0,), (1,), (0, 2), (-1,), (0, 1, 2)])
def test_flip_like_numpy(dims):
    assert (Layout.row_major(2, 3, 4).flip(*dims).offsets() == np.flip(memory(2, 3, 4), dims)).all()


def test_flip_is_a_negative_stride_at_the_last_element():
    assert parts(Layout.row_major(2, 3).flip(1)) == ((2, 3), (3, -1), 2)
    assert parts(Layout.row_major(5).flip()) == (5, -1, 4)


STEPS = [slice(None, None, 2), slice(5, None, -2), slice(1, 6, 3), slice(None, None, -1), slice(6, 2, -3), slice(3, 3)]


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_steps_like_numpy(step):
    assert (Layout.row_major(7).view[step].offsets() == memory(7)[step]).all()
    assert (Layout.row_major(7, 3).view[step, 1].offsets() == memory(7, 3)[step, 1]).all()
    assert (Layout.row_major(3, 7).view[..., step].offsets() == memory(3, 7)[..., step]).all()


# ---- strided blocks ------------------------------------------------------------------------------------------


def row_major_offsets(layout: Layout) -> list[int]:
    return [value(layout, c) for c in coordinates(layout)]


def copied(layout: Layout) -> list[int]:
    """The addresses that a block copy reads, in order."""
    blocks = layout.strided_blocks()
    return [start + k for start in blocks.block_starts() for k in range(blocks.length)]


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        (Layout.row_major(2, 3, 4), SingleBlock(0, 24)),
        (Layout.row_major(2, 3, 4).narrow(0, 1, 1), SingleBlock(12, 12)),
        (Layout((2, 1, 4), (4, 99, 1)), SingleBlock(0, 8)),
        (Layout.row_major(2, 3, 4).narrow(1, 1, 2), UniformBlocks(4, 8, 2, 12)),
        (Layout.row_major(2, 3, 4).narrow(2, 1, 2), UniformBlocks(1, 2, 6, 4)),
        (Layout((5,), (3,), offset=7), UniformBlocks(7, 1, 5, 3)),
        (Layout.row_major(5).flip(), UniformBlocks(4, 1, 5, -1)),
        (Layout.row_major(4).broadcast_to(3, 4), UniformBlocks(0, 4, 3, 0)),
    ],
)
def test_single_and_uniform_blocks(layout, expected):
    assert layout.strided_blocks() == expected
    assert copied(layout) == row_major_offsets(layout)


def test_multiple_blocks():
    layout = Layout.row_major(4, 5, 6).view[1:3, 1:4, 2:5]
    blocks = layout.strided_blocks()
    assert isinstance(blocks, MultipleBlocks)
    assert (blocks.length, blocks.block_count) == (3, 6)
    assert list(blocks.block_starts()) == [memory(4, 5, 6)[i, j, 2] for i in (1, 2) for j in (1, 2, 3)]
    assert copied(layout) == row_major_offsets(layout)


def test_a_transposed_layout_has_blocks_of_one():
    layout = Layout.row_major(2, 3).transpose(0, 1)
    blocks = layout.strided_blocks()
    assert isinstance(blocks, MultipleBlocks)
    assert (blocks.length, blocks.block_count) == (1, 6)
    assert copied(layout) == [0, 3, 1, 4, 2, 5]


@pytest.mark.parametrize("layout", [Layout.row_major(0, 3), Layout((2, 0), (7, 9), offset=4)])
def test_an_empty_layout_is_one_empty_block(layout):
    assert isinstance(layout.strided_blocks(), SingleBlock)
    assert copied(layout) == []


@given(layouts(window=True, swizzle=True, offset=True, negative=True))
def test_blocks_are_the_row_major_elements(layout):
    assert copied(layout) == row_major_offsets(layout)


@given(layouts(offset=True, negative=True))
def test_blocks_are_as_long_as_equal_blocks_can_be(layout):
    addresses = row_major_offsets(layout)
    longest = next(
        n
        for n in range(len(addresses), 0, -1)
        if len(addresses) % n == 0
        and all(addresses[i + 1] == addresses[i] + 1 for i in steps_inside(len(addresses), n))
    )
    starts = addresses[::longest]
    even = len({b - a for a, b in pairwise(starts)}) == 1
    kind = SingleBlock if len(starts) == 1 else UniformBlocks if even else MultipleBlocks
    blocks = layout.strided_blocks()
    assert (type(blocks), blocks.length, blocks.block_count) == (kind, longest, len(starts))


def steps_inside(count: int, length: int) -> list[int]:
    """The places i where i and i + 1 lie in one block."""
    return [i for i in range(count - 1) if (i + 1) % length]


# ---- contiguous ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "c", "f"),
    [
        (Layout.row_major(2, 3, 4), True, False),
        (Layout.col_major(2, 3, 4), False, True),
        (Layout((2, 1, 4), (4, 999, 1)), True, False),
        (Layout((2, 1, 4), (1, 999, 2)), False, True),
        (Layout((1, 1), (7, 9)), True, True),
        (Layout((1, 5), (999, 1)), True, True),
        (Layout((2, 3), (4, 1)), False, False),
        (Layout((2, 3), (3, 2)), False, False),
        (Layout(5, -1, offset=4), False, False),
        (Layout((2, 3), (3, 1), offset=17), True, False),
    ],
)
def test_strides_count_only_where_the_size_is_more_than_one(layout, c, f):
    assert (layout.is_contiguous(), layout.is_fortran_contiguous()) == (c, f)


@pytest.mark.parametrize("layout", [Layout((0, 3), (99, 77)), Layout((2, 0, 4), (1, 2, 3)), Layout(0, 5)])
def test_empty_is_contiguous_as_in_numpy(layout):
    assert np.empty(layout.extents).flags.c_contiguous
    assert layout.is_contiguous()
    assert layout.is_fortran_contiguous()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 12)), min_size=1, max_size=4))
def test_contiguous_is_what_numpy_says(modes):
    shape, stride = tuple(n for n, _ in modes), tuple(d for _, d in modes)
    array = np.lib.stride_tricks.as_strided(np.zeros(200, np.int8), shape, stride)
    layout = Layout(shape, stride)
    assert layout.is_contiguous() == array.flags.c_contiguous
    assert layout.is_fortran_contiguous() == array.flags.f_contiguous
