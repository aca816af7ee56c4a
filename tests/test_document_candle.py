"""Candle's page "Tensor Layout", statement by statement, then the two structs that it shows, method by method."""

from __future__ import annotations

import copy
import pickle
from itertools import islice
from itertools import product as cartesian
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relayout as rl
from documents import Document, Statement
from relayout.candle import SCALAR, D, Layout, Shape
from support import coordinates, layouts, value

PAGE = Document("coming_from/candle.md")


def memory(*shape: int) -> Any:
    """A contiguous array whose every element is its own address."""
    return np.arange(int(np.prod(shape))).reshape(shape)


@PAGE.says("you can think of the data in a tensor as linear memory, basically a `Vec` of the element type")
def _() -> None:
    flat = np.arange(24, dtype=np.float32)
    tensor = rl.Tensor(flat, Layout.contiguous(2, 3, 4))
    assert tensor.raw.ndim == 1
    assert np.shares_memory(tensor.raw, flat)


@PAGE.says("The Layout struct describes how that linear memory should be interpreted as a tensor")
def _() -> None:
    flat = np.arange(24, dtype=np.float32)
    assert (rl.Tensor(flat, Layout.contiguous(2, 3, 4)).numpy() == flat.reshape(2, 3, 4)).all()
    assert (rl.Tensor(flat, Layout.contiguous(4, 3, 2)).numpy() == flat.reshape(4, 3, 2)).all()


@PAGE.says("pub struct Layout { shape: Shape, stride: Vec<usize>, start_offset: usize }")
def _() -> None:
    layout = Layout((2, 3, 4), (12, 4, 1), offset=5)
    assert (layout.shape, layout.stride, layout.start_offset) == ((2, 3, 4), (12, 4, 1), 5)
    assert rl.parse("Layout { shape: [2, 3, 4], stride: [12, 4, 1], start_offset: 5 }") == layout


@PAGE.says(
    "It has 3 fields: `shape`, `stride`, and `offset`",
    because="A layout of blocks needs a window, and one of banks a swizzle",
)
def _() -> None:
    layout = Layout.contiguous(2, 3, 4)
    assert (layout.shape, layout.stride, layout.offset) == ((2, 3, 4), (12, 4, 1), 0)
    assert (layout.windowed, layout.swizzle) == (False, None)


@PAGE.says("pub struct Shape(Vec<usize>)")
def _() -> None:
    assert list(Shape([2, 3, 4])) == [2, 3, 4]


@PAGE.says("It is just a list of numbers with length equal to the number of dimensions in a tensor")
def _() -> None:
    assert len(Shape(2, 3, 4)) == Shape(2, 3, 4).rank == Layout.contiguous(2, 3, 4).rank == 3
    assert isinstance(Shape(2, 3, 4), tuple)


@PAGE.says("Each dimension has a corresponding size")
def _() -> None:
    assert [Shape(2, 3, 4).dim(d) for d in range(3)] == [2, 3, 4]
    assert [Layout.contiguous(2, 3, 4).dim(d) for d in range(3)] == [2, 3, 4]


@PAGE.says(
    "The strides are initially computed from the shape",
    because="`Layout(shape)` is CuTe's and Mojo's word too, and theirs is column-major",
)
def _() -> None:
    assert Layout.contiguous(2, 3, 4).stride == (12, 4, 1)
    assert Layout([2, 3, 4]).stride == (1, 2, 6)


@PAGE.says("They describe how many jumps each index in a particular dimension moves through linear memory")
def _() -> None:
    layout = Layout.contiguous(2, 3, 4)
    for dim, jump in enumerate(layout.stride):
        here = tuple(int(d == dim) for d in range(3))
        assert layout(here) - layout(0, 0, 0) == jump


@PAGE.says("`raveling` (multi-dimensional index → linear/flat index)")
def _() -> None:
    layout = Layout.contiguous(2, 3, 4)
    for c in np.ndindex(2, 3, 4):
        assert layout.ravel(c) == np.ravel_multi_index(c, (2, 3, 4))


@PAGE.says("`unraveling` (linear/flat index → multi-dimensional index)")
def _() -> None:
    for i in range(24):
        assert Layout.contiguous(2, 3, 4).unravel(i) == np.unravel_index(i, (2, 3, 4))


@PAGE.says("if you have a tensor with shape `[2, 3, 4]`, you will have a strides array `[12, 4, 1]`")
def _() -> None:
    assert Layout.contiguous([2, 3, 4]).stride == Shape(2, 3, 4).stride_contiguous() == (12, 4, 1)


@PAGE.says("it's basically a `Vec` that's 24 elements long")
def _() -> None:
    layout = Layout.contiguous(2, 3, 4)
    assert layout.elem_count == layout.storage_size == Shape(2, 3, 4).elem_count == 24


@PAGE.says("For every first index we need to jump 12 elements; for every second index 4 elements, and so on")
def _() -> None:
    layout = Layout.contiguous(2, 3, 4)
    for i, j, k in cartesian(range(2), range(3), range(4)):
        assert layout(i, j, k) == 12 * i + 4 * j + k


@PAGE.says("Strides and offsets are necessary for optimized view operations like slices, skips, and permutes")
def _() -> None:
    layout = Layout.contiguous(4, 6)
    assert (layout.view[1:3, 2:].offsets() == memory(4, 6)[1:3, 2:]).all()
    assert (layout.view[::2, ::3].offsets() == memory(4, 6)[::2, ::3]).all()
    assert (layout.permute(1, 0).offsets() == memory(4, 6).T).all()


@PAGE.says(
    "to permute our `[2, 3, 4]`-shaped tensor into a `[3, 2, 4]` tensor, permute the strides along with the shape"
)
def _() -> None:
    permuted = Layout.contiguous(2, 3, 4).permute(1, 0, 2)
    assert (permuted.shape, permuted.stride, permuted.start_offset) == ((3, 2, 4), (4, 12, 1), 0)
    flat = np.arange(24)
    tensor = rl.Tensor(flat, permuted)
    assert (tensor.numpy() == flat.reshape(2, 3, 4).transpose(1, 0, 2)).all()
    assert np.shares_memory(tensor.numpy(), flat)


@PAGE.says("linear_index = index · strides = index[0]*strides[0] + index[1]*strides[1] + index[2]*strides[2] + ...")
def _() -> None:
    layout = Layout((2, 3, 4), (50, 7, 11))
    for c in np.ndindex(2, 3, 4):
        assert layout(c) == int(np.dot(c, (50, 7, 11)))


@PAGE.says("remains unchanged when we apply the same permutation to both vectors, since addition is commutative")
def _() -> None:
    layout = Layout((2, 3, 4), (50, 7, 11))
    for order in ((1, 2, 0), (2, 1, 0), (0, 2, 1)):
        for c in np.ndindex(2, 3, 4):
            assert layout.permute(order)([c[k] for k in order]) == layout(c)


@PAGE.says("Offset is initialized to zero at the beginning")
def _() -> None:
    assert Layout.contiguous(2, 3, 4).start_offset == 0


@PAGE.says("It represents how far past the start of our data our actual data begins")
def _() -> None:
    part = rl.Tensor(np.arange(24), Layout.contiguous_with_offset((3, 4), 12))
    assert (part.numpy() == memory(2, 3, 4)[1]).all()
    assert part.layout == Layout.contiguous(2, 3, 4).pick(0, 1)


@PAGE.says("slicing from the end `[:-4]`, where all you would have to do is adjust the shape")
def _() -> None:
    sliced = Layout.contiguous(24).view[:-4]
    assert (sliced.dims, sliced.stride, sliced.start_offset) == ((20,), 1, 0)
    assert sliced.offsets().tolist() == list(range(24))[:-4]


@PAGE.says("ravel_index(nd_index_a + nd_index_b) = ravel_index(nd_index_a) + ravel_index(nd_index_b)")
def _() -> None:
    for layout in (Layout.contiguous(4, 5, 6), Layout((4, 5, 6), (7, 100, 3), offset=9)):
        for a, b in cartesian(np.ndindex(2, 2, 3), np.ndindex(2, 3, 3)):
            total = tuple(int(x) for x in np.add(a, b))
            assert layout.ravel(total) == layout.ravel(a) + layout.ravel(b)


@PAGE.says("instead of storing the entire `Vec<usize>` for the offset, cache the linear offset into our 1D tensor")
def _() -> None:
    layout = Layout.contiguous(4, 5, 6)
    for corner in np.ndindex(4, 5, 6):
        start = layout.view[tuple(slice(c, None) for c in corner)].start_offset
        assert isinstance(start, int)
        assert start == layout.ravel(corner)


@PAGE.says("ravel_index(a + b) = (a[0] + b[0])*strides[0] + (a[1] + b[1])*strides[1] = ravel_index(a) + ravel_index(b)")
def _() -> None:
    s = (17, 3)
    layout = Layout((4, 5), s)
    for a, b in cartesian(np.ndindex(2, 3), np.ndindex(2, 2)):
        lines = [
            layout.ravel((a[0] + b[0], a[1] + b[1])),
            (a[0] + b[0]) * s[0] + (a[1] + b[1]) * s[1],
            a[0] * s[0] + b[0] * s[0] + a[1] * s[1] + b[1] * s[1],
            a[0] * s[0] + a[1] * s[1] + b[0] * s[0] + b[1] * s[1],
            layout.ravel(a) + layout.ravel(b),
        ]
        assert len(set(lines)) == 1


@PAGE.says(
    "The proof for higher dimensions follows the same pattern",
    because="the carry of a block is not linear, and `ravel` of such a layout says where the element lies all the same",
)
def _() -> None:
    flat = Layout((2, 2, 2, 2, 2), (1, 30, 2, 400, 8))
    for a in np.ndindex(2, 2, 2, 2, 2):
        b = tuple(1 - x for x in a)
        assert flat.ravel(1, 1, 1, 1, 1) == flat.ravel(a) + flat.ravel(b)
    blocked = rl.coreai.layout([8], [100], (0, 4))
    assert blocked.ravel(3) + blocked.ravel(1) == 4
    assert blocked.ravel(4) == 100


@pytest.mark.parametrize("statement", PAGE.statements, ids=PAGE.names())
def test_the_page_statement_by_statement(statement: Statement) -> None:
    statement.check()


def test_every_other_answer_has_its_reason_on_the_page_for_readers_of_candle() -> None:
    assert PAGE.unexplained() == []
    assert any(s.because for s in PAGE.statements)


# ---- the struct Layout ---------------------------------------------------------------------------------------


def test_the_layout_is_relayouts_own() -> None:
    assert Layout is rl.Layout


def test_contiguous_and_its_offset() -> None:
    assert (
        Layout.contiguous(2, 3) == Layout.contiguous((2, 3)) == Layout.contiguous(Shape(2, 3)) == Layout((2, 3), (3, 1))
    )
    assert Layout.contiguous_with_offset((2, 3), 7) == Layout((2, 3), (3, 1), offset=7)
    assert Layout.contiguous(()).dims == ()
    assert Layout.contiguous(SCALAR).elem_count == 1


@given(layouts(window=True, swizzle=True, offset=True, negative=True))
def test_the_facts_under_candles_names(layout: Layout) -> None:
    first = next(iter(coordinates(layout)))
    assert layout.start_offset == value(layout, first)
    assert layout.dims == layout.extents
    assert layout.elem_count == len(list(coordinates(layout)))
    addresses = [value(layout, c) for c in coordinates(layout)]
    start, end = addresses[0], addresses[-1] + 1
    expected = (start, end) if addresses == list(range(start, end)) else None
    assert layout.contiguous_offsets() == expected


@given(layouts(window=True, swizzle=True, offset=True, negative=True))
def test_strided_index_is_every_offset_in_row_major_order(layout: Layout) -> None:
    assert list(layout.strided_index()) == [value(layout, c) for c in coordinates(layout)]


def test_strided_index_is_lazy_at_any_size() -> None:
    n = 10**30
    assert list(islice(Layout.contiguous(n, n, n).permute(2, 1, 0).strided_index(), 3)) == [0, n * n, 2 * n * n]
    assert list(islice(Layout.contiguous(n, 2).strided_index(), 5)) == [0, 1, 2, 3, 4]
    assert list(islice(Layout(5).broadcast_as(n, 5).strided_index(), 7)) == [0, 1, 2, 3, 4, 0, 1]
    starts = Layout.contiguous(n, n, 3).permute(1, 0, 2).strided_blocks().block_starts()
    assert list(islice(starts, 2)) == [0, 3 * n]


def test_strided_index_of_nothing_and_of_a_scalar() -> None:
    assert list(Layout.contiguous(2, 0, 3).strided_index()) == []
    assert list(Layout.contiguous_with_offset((), 7).strided_index()) == [7]
    with pytest.raises(rl.LayoutError, match="points along a coordinate"):
        rl.make_identity_layout((2, 3)).strided_index()


def test_the_examples_of_candles_own_tests() -> None:
    """tests/layout_tests.rs: blocks of a tensor of 2x3x4, of its parts and of its transposes."""
    layout = Layout.contiguous(2, 3, 4)
    assert layout.strided_blocks() == rl.SingleBlock(0, 24)
    assert Layout.contiguous(26).view[2:].reshape(2, 3, 4).strided_blocks() == rl.SingleBlock(2, 24)
    assert layout.view[1].strided_blocks() == rl.SingleBlock(12, 12)
    assert layout.view[:, 1].strided_blocks() == rl.UniformBlocks(4, 4, 2, 12)
    transposed = layout.transpose(-2, -1)
    assert transposed.strided_blocks().length == 1
    expected = [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, 12, 16, 20, 13, 17, 21, 14, 18, 22, 15, 19, 23]
    assert list(transposed.strided_index()) == list(transposed.strided_blocks().block_starts()) == expected
    swapped = layout.transpose(0, 1).strided_blocks()
    assert (swapped.length, list(swapped.block_starts())) == (4, [0, 12, 4, 16, 8, 20])


@pytest.mark.parametrize("shape", [(4, 1, 3, 6), Shape(4, 1, 3, 6), [4, 1, 3, 6]])
def test_broadcast_as(shape: Any) -> None:
    made = Layout((1, 3, 1), (7, 2, 9), offset=5).broadcast_as(shape)
    assert (made.dims, made.stride, made.start_offset) == ((4, 1, 3, 6), (0, 7, 2, 0), 5)
    with pytest.raises(rl.ShapeError, match="broadcast"):
        Layout.contiguous(2, 3).broadcast_as(3, 3)


def test_dim_counts_from_the_end_too() -> None:
    layout = Layout.contiguous(2, 3, 4)
    assert (layout.dim(0), layout.dim(D.Minus1), layout.dim(D.Minus2), layout.dim(D.Minus(3))) == (2, 4, 3, 2)
    with pytest.raises(rl.OutOfBounds, match="dimension 3"):
        layout.dim(3)


# ---- the struct Shape ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "dims"),
    [
        (Shape(()), ()),
        (Shape(42), (42,)),
        (Shape((2,)), (2,)),
        (Shape((2, 3)), (2, 3)),
        (Shape([2, 3, 4]), (2, 3, 4)),
        (Shape(2, 3, 4, 5), (2, 3, 4, 5)),
        (Shape(Shape(2, 3)), (2, 3)),
        (Shape.from_dims([7, 0]), (7, 0)),
        (Shape(np.int64(3), 1), (3, 1)),
    ],
)
def test_what_a_shape_is_made_of(made: Shape, dims: tuple[int, ...]) -> None:
    assert made == made.dims == dims
    assert (made.into_dims(), made.rank, made.elem_count) == (list(dims), len(dims), int(np.prod(dims)))
    assert eval(repr(made), {"Shape": Shape}) == made
    assert str(made) == str(list(dims))
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made
    assert type(copy.copy(made)) is Shape


@pytest.mark.parametrize("wrong", [(-1,), (1.5,), ("x",), ([2, [3]],), (2, None), (True,)])
def test_what_no_shape_is_made_of(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(rl.LayoutError) as caught:
        Shape(*wrong)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("shape", "strides"), [((), ()), ((42,), (1,)), ((42, 1337), (1337, 1)), ((299, 792, 458), (458 * 792, 458, 1))]
)
def test_the_strides_of_candles_own_tests(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    assert Shape(shape).stride_contiguous() == strides
    assert Shape(shape).is_contiguous(strides)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 10)), max_size=4))
def test_contiguous_by_candles_rule_unless_empty(modes: list[tuple[int, int]]) -> None:
    shape, stride = Shape([n for n, _ in modes]), [d for _, d in modes]

    def rule(pairs: list[tuple[int, int]]) -> bool:
        running = 1
        for n, d in pairs:
            if n > 1 and d != running:
                return False
            running *= n
        return True

    assert shape.is_contiguous(stride) == (rule(modes[::-1]) or shape.elem_count == 0)
    assert shape.is_fortran_contiguous(stride) == (rule(modes) or shape.elem_count == 0)
    assert not shape.is_contiguous([*stride, 1])
    assert not shape.is_fortran_contiguous([*stride, 1])


def test_the_sizes_of_a_known_rank() -> None:
    assert SCALAR.dims0() == ()
    assert Shape(7).dims1() == 7
    assert Shape(2, 3).dims2() == (2, 3)
    assert Shape(2, 3, 4).dims3() == (2, 3, 4)
    assert Shape(2, 3, 4, 5).dims4() == (2, 3, 4, 5)
    assert Shape(2, 3, 4, 5, 6).dims5() == (2, 3, 4, 5, 6)
    for dims in (SCALAR.dims1, Shape(7).dims0, Shape(7).dims2, Shape(7).dims3, Shape(7).dims4, Shape(7).dims5):
        with pytest.raises(rl.ShapeError, match="dimensions, not"):
            dims()


def test_one_size_of_a_shape() -> None:
    assert (Shape(2, 3).dim(1), Shape(2, 3).dim(D.Minus1), Shape(2, 3).dim(D.Minus2)) == (3, 3, 2)
    for shape in (Shape(2, 3), SCALAR):
        with pytest.raises(rl.OutOfBounds, match="does not exist"):
            shape.dim(2)


def test_extend_leaves_the_shape_as_it_was() -> None:
    shape = Shape(2, 3)
    assert shape.extend([4, 5]) == Shape(2, 3, 4, 5)
    assert shape == (2, 3)


SIZES = st.lists(st.sampled_from([0, 1, 1, 2, 3]), max_size=4).map(tuple)


@given(SIZES, SIZES)
def test_broadcasting_two_shapes_is_numpys(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(rl.ShapeError, match="add: the shapes"):
            Shape(a).broadcast_shape_binary_op(Shape(b), "add")
    else:
        assert Shape(a).broadcast_shape_binary_op(b, "add") == expected


@given(SIZES, SIZES)
def test_broadcasting_two_matrices_is_numpys(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    try:
        expected = np.matmul(np.empty(a), np.empty(b)).shape if min(len(a), len(b)) > 1 else None
    except ValueError:
        expected = None
    if expected is None:
        with pytest.raises(rl.ShapeError):
            Shape(a).broadcast_shape_matmul(b)
    else:
        left, right = Shape(a).broadcast_shape_matmul(b)
        assert (*left[:-1], right[-1]) == expected
        assert left[:-2] == right[:-2]
        assert (left[-2:], right[-2:]) == (a[-2:], b[-2:])


def test_a_shape_is_taken_where_a_shape_is() -> None:
    shape = Shape(2, 3)
    assert Layout(shape).dims == rl.Format(2, [(0, 0), (1, 0)]).layout(shape).dims == (2, 3)
    assert rl.empty("row-major", "int8", shape).shape == (2, 3)
    assert np.zeros(shape).shape == (2, 3)
