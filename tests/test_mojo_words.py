"""Mojo's words beyond its page: functions on tuples, methods of tensors, forms of the algebra, and calls as texts."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relayout as rl
from relayout import mojo
from relayout.mojo import IntTuple, Layout, LayoutTensor
from support import layouts

nested = st.recursive(st.integers(-9, 9), lambda t: st.lists(t, max_size=4).map(tuple), max_leaves=8)


def leaves(t: Any) -> list[int]:
    return [x for e in t for x in leaves(e)] if isinstance(t, tuple) else [t]


# ---- tuples --------------------------------------------------------------------------------------------------


@given(st.lists(nested, max_size=4))
def test_an_int_tuple_is_the_tuple(items: list[Any]) -> None:
    made, plain = IntTuple(*items), tuple(items)
    assert made == plain
    assert hash(made) == hash(plain)
    assert list(made) == items
    assert eval(repr(made)) == made
    for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), made[:]):
        assert type(other) is IntTuple
        assert other == made
    assert all(type(e) in (int, IntTuple) for e in made)
    assert made.flatten() == tuple(leaves(plain))
    assert made.count_values() == len(leaves(plain))
    assert made.product_flatten() == tuple(int(np.prod(leaves(e))) for e in plain)
    assert [made.is_value(k) for k in range(len(made))] == [isinstance(e, int) for e in plain]
    assert made + plain == plain + plain
    assert mojo.depth(made) == mojo.depth(plain)
    assert mojo.congruent(made, plain)


def test_int_tuples_go_wherever_tuples_do() -> None:
    x = np.arange(24).reshape(4, 6)
    pair, tile = IntTuple(4, 6), IntTuple(2, 3)
    layout = Layout.row_major(pair)
    assert layout == Layout.row_major(4, 6)
    assert type(Layout(pair, IntTuple(6, 1)).shape) is tuple
    assert rl.tensor(x)[tile] == x[2, 3]
    assert rl.tensor(x).reshape(IntTuple(6, 4)).shape == (6, 4)
    assert layout.permute(IntTuple(1, 0)) == layout.permute(1, 0)
    assert rl.zipped_divide(layout, tile) == rl.zipped_divide(layout, (2, 3))
    assert rl.coalesce(layout, IntTuple(1, 1)) == layout
    assert rl.parse("AB2a3b", shape=pair).size == 24
    assert rl.repack(x, Layout.col_major(pair)).tolist() == x.tolist()
    assert rl.empty("AB2a3b", "uint8", pair).shape == (4, 6)


@given(nested)
def test_functions_on_leaves(t: Any) -> None:
    assert mojo.flatten(mojo.apply(lambda x: 3 * x - 1, t)) == tuple([3 * x - 1 for x in leaves(t)])
    assert mojo.congruent(mojo.apply(abs, t), t)
    assert mojo.mul(t, 3) == mojo.apply(lambda x: 3 * x, t)
    assert leaves(mojo.fill_like(t, 7)) == [7] * len(leaves(t))
    assert leaves(mojo.reverse(t)) == leaves(t)[::-1]
    assert mojo.to_nest(t, mojo.flatten(t)) == t
    assert mojo.tuple_max(t) == max(leaves(t), default=0)
    assert mojo.tuple_min(t, mojo.apply(lambda x: 1, t)) == mojo.apply(lambda x: min(x, 1), t)
    assert mojo.is_int(t) is not mojo.is_tuple(t)
    assert mojo.is_flat(t) == (isinstance(t, int) or all(isinstance(e, int) for e in t))


def test_functions_on_entries() -> None:
    assert mojo.reduce(lambda a, e: a + mojo.product(e), (2, (3, 4)), 1) == 15
    assert mojo.reduce(lambda a, e: a, 5, 1) == 5  # an integer is its own result
    assert mojo.shallow_apply(mojo.product, (2, (3, 4))) == (2, 12)
    assert mojo.apply_zip(lambda a, b: mojo.product(a) + b, (2, (3, 4)), (10, 20)) == (12, 32)
    assert mojo.apply_zip(lambda a, b, c: a + b * c, (1, 2), (3, 4), (5, 6)) == (16, 26)
    assert mojo.apply_zip(max, 3, 4) == 4
    assert mojo.product_flatten((4, 44, (444, 4444))) == (4, 44, 1973136)  # of Mojo's tests
    assert mojo.reverse((1, 2, (3, 4))) == ((4, 3), 2, 1)
    assert mojo.to_nest((2, (3, 4), 5), (1, 2, 3, 4)) == (1, (2, 3), 4)
    for wrong in (
        lambda: mojo.apply_zip(max, (1, 2), (1, 2, 3)),
        lambda: mojo.apply_zip(max, (1, 2), 3),
        lambda: mojo.tuple_min((1, 2), (1, (2, 3))),
        lambda: mojo.to_nest((2, (3, 4)), (1, 2)),
        lambda: mojo.apply(lambda x: x / 2, (4, 2)),
        lambda: mojo.apply(abs, ("a", 2)),
    ):
        with pytest.raises(rl.ShapeError):
            wrong()


# ---- layouts, as Mojo has them -------------------------------------------------------------------------------


@given(layouts(32))
def test_coalescing_mode_by_mode_keeps_rank_and_function(layout: Layout) -> None:
    kept = mojo.coalesce(layout, keep_rank=True)
    assert kept.rank == layout.rank
    assert kept.extents == layout.extents
    assert [kept(i) for i in range(layout.size)] == [layout(i) for i in range(layout.size)]
    assert mojo.coalesce(layout) == rl.coalesce(layout)


def test_zipped_divide_goes_mode_by_mode() -> None:
    matrix = Layout.row_major(6, 8)
    for tiler in (Layout((2, 4)), Layout((2, 4), (4, 1)), [Layout(2), Layout(4)], (2, 4), IntTuple(2, 4)):
        divided = mojo.zipped_divide(matrix, tiler)
        assert divided == mojo.hierarchical_unzip(matrix, tiler) == rl.zipped_divide(matrix, (2, 4))
        for a, b, c, d in np.ndindex(2, 4, 3, 2):
            assert divided((a, b), (c, d)) == matrix(a + 2 * c, b + 4 * d)
    assert mojo.zipped_divide(Layout.row_major(6, 8, 3), (2, 4))[1].rank == 3
    square = Layout.row_major(8, 8)
    assert rl.zipped_divide(square, Layout((2, 4))) != mojo.zipped_divide(square, Layout((2, 4)))
    with pytest.raises(rl.ShapeError):
        mojo.zipped_divide(matrix, (2, 4, 3))


def test_small_forms() -> None:
    matrix = Layout.row_major(6, 8)
    assert mojo.apply_tiler(mojo.logical_divide, matrix, [Layout(2), Layout(4)]) == rl.logical_divide(matrix, (2, 4))
    assert mojo.sublayout(Layout.row_major(3, 4, 5), 0, 2) == Layout((3, 5), (20, 1))
    assert mojo.expand_strides((2, (3, 4)), 5) == (5, (10, 30))
    assert mojo.is_row_major(matrix, 2)
    assert not mojo.is_row_major(matrix, 1)
    assert not mojo.is_row_major(Layout.col_major(6, 8), 2)
    assert [mojo.is_contiguous_dim(matrix, d) for d in (0, 1)] == [False, True]
    with pytest.raises(rl.ShapeError, match="nested"):
        mojo.is_contiguous_dim(Layout(((2, 2), 3)), 0)
    blocked = mojo.blocked_product(Layout(4), Layout(3), coalesce_output=True)
    assert blocked == Layout((12,), (1,))
    swizzle = mojo.make_swizzle(8, 64, 8)
    assert (swizzle.bits, swizzle.base, swizzle.shift) == (3, 3, 3)
    with pytest.raises(rl.ShapeError):
        mojo.make_swizzle(8, 8, 8)


# ---- tensors -------------------------------------------------------------------------------------------------


@pytest.fixture
def tensor() -> LayoutTensor:
    return LayoutTensor(np.arange(64, dtype=np.float32), Layout.row_major(8, 8))


def test_views_of_a_layout_tensor_are_layout_tensors(tensor: LayoutTensor) -> None:
    views = [
        tensor[1:, 2],
        tensor.tile((2, 4), (1, 1)),
        tensor.transpose(),
        tensor.vectorize(1, 4),
        tensor.distribute(Layout.row_major(2, 2), 1),
        tensor.coalesce(),
        tensor.composition(Layout(4, 2)),
        tensor.split(2)[1],
        tensor.bitcast("int32"),
        *tensor.tiled_iterator((4, 4), 1),
        pickle.loads(pickle.dumps(tensor)),
    ]
    assert {type(v) for v in views} == {LayoutTensor}
    assert repr(tensor) == "<LayoutTensor 8x8 float32, row-major>"


def test_sizes_and_strides(tensor: LayoutTensor) -> None:
    assert (tensor.rank, tensor.dim(1), tensor.stride(0), tensor.stride(-1)) == (2, 8, 8, 1)
    assert tensor.transpose().stride(0) == 1
    nested_tensor = LayoutTensor(np.arange(16), Layout(((2, 2), 4), ((1, 8), 2)))
    assert nested_tensor.dim(0) == 4
    with pytest.raises(rl.NotExpressible, match="nested"):
        nested_tensor.stride(0)
    with pytest.raises(rl.OutOfBounds):
        tensor.dim(2)


def test_split_makes_so_many_parts(tensor: LayoutTensor) -> None:
    for axis in (0, 1):
        parts = tensor.split(4, axis)
        for part, expected in zip(parts, np.split(tensor.numpy(), 4, axis), strict=True):
            assert part.numpy().tolist() == expected.tolist()
    for count in (3, 0, -1, 16):
        with pytest.raises(rl.ShapeError, match="equal parts"):
            tensor.split(count)
    assert len(rl.tensor(np.arange(8)).split(4)) == 2  # by size, as in torch


def test_vectors_are_loaded_and_stored(tensor: LayoutTensor) -> None:
    held = np.arange(64, dtype=np.float32).reshape(8, 8)
    vector = tensor.load(2, 4, width=4)
    assert vector.tolist() == held[2, 4:8].tolist() == tensor.load((2, 4), width=4).tolist()
    vector *= 2
    assert tensor[2, 4] == 20  # a vector is a value
    tensor.store(2, 4, vector)
    tensor.store(0, 0, 7)
    held[2, 4:8] *= 2
    held[0, 0] = 7
    assert tensor.numpy().tolist() == held.tolist()
    assert tensor.load(3, 7).tolist() == [31]
    assert tensor.transpose().load(3, 2).tolist() == [19]
    for wrong, error in [
        (lambda: tensor.load(2, 6, width=4), rl.OutOfBounds),
        (lambda: tensor.load(2, -1), rl.OutOfBounds),
        (lambda: tensor.transpose().load(0, 0, width=2), rl.NotExpressible),
        (lambda: tensor.load(2), rl.ShapeError),
        (lambda: tensor.store(1, [1, 2]), rl.ShapeError),
        (lambda: tensor.store(1, 1, [[1, 2]]), rl.ShapeError),
        (lambda: tensor.store(), rl.ShapeError),
    ]:
        with pytest.raises(error):
            wrong()


def test_bits_are_seen_as_another_type(tensor: LayoutTensor) -> None:
    raw = tensor.raw
    assert tensor.bitcast("uint32").numpy().tolist() == raw.view(np.uint32).reshape(8, 8).tolist()
    assert tensor.bitcast("uint8").numpy().tolist() == raw.view(np.uint8)[:64].reshape(8, 8).tolist()
    part = tensor[4:]
    assert part.bitcast("int16").numpy().tolist() == raw.view(np.int16)[64:96].reshape(4, 8).tolist()
    with pytest.raises(rl.OutOfBounds):
        tensor.bitcast("float64")
    with pytest.raises(rl.NotExpressible, match="inside of an element"):
        tensor[0, 1:3].bitcast("float64")


def test_natural_coordinates_of_tensors() -> None:
    layout = rl.parse("nChw8c", shape=(1, 20, 3, 3))
    for tensor in (rl.Tensor(np.arange(layout.storage_size), layout), LayoutTensor(np.arange(216), layout)):
        for low in range(8):
            for high in range(2):
                assert tensor[0, (low, high), 1, 2] == tensor[0, low, high, 1, 2] == tensor[0, low + 8 * high, 1, 2]
        assert tensor[0, (3, 1)].shape == (3, 3)
        assert tensor[..., (3, 1), 1, :].numpy().tolist() == tensor[:, 11, 1].numpy().tolist()
        assert tensor[None, 0, (3, 1), 1].numpy().tolist() == [tensor[0, 11, 1].numpy().tolist()]
        assert tensor.get_raw(0, (3, 1), 1, 2) == tensor.get_raw(0, 11, 1, 2)
        tensor[0, (3, 1), 1, 2] = -1
        assert tensor[0, 11, 1, 2] == -1
        for key, error in [
            ((0, (4, 2), 1, 2), rl.OutOfBounds),
            ((0, (8, 0), 1, 2), rl.OutOfBounds),
            ((0, (-1, 0), 1, 2), rl.OutOfBounds),
            ((0, (1, 1, 1), 1, 2), rl.ShapeError),
            ((0, 1, 1, 1, 1, 1), rl.ShapeError),
        ]:
            with pytest.raises(error):
                tensor[key]


# ---- calls as texts ------------------------------------------------------------------------------------------

B = Layout(((3, 2), (2, 5)), ((1, 6), (3, 12)))


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("tile_to_shape(Layout.col_major(3, 2), IntTuple(6, 10))", B),
        ("tile_to_shape(tile=Layout((3, 2)), shape=(6, 10),)", None),
        ("comptime l = blocked_product(Layout.col_major(3, 2).copy(), Layout.col_major(2, 5)^)  # tiles", B),
        ("make_ordered_layout(((3, 2), (2, 5)), ((0, 2), (1, 3)))", B),
        ("rl.blocked_product(((3, 2):(1, 3)), (2,5):(1,2))", B),
        ("auto b = cute::blocked_product(Layout<Shape<_3,_2>>{}, make_layout(make_shape(2, Int<5>{})));", B),
        ("make_layout(Layout(3, 4), 4:1)", Layout((3, 4), (4, 1))),
        ("make_layout(make_layout(make_shape(3), make_stride(4)), Layout<_4,_1>{})", None),
        ("composition((6,2):(8,2), (4,3):(3,1))", Layout(((2, 2), 3), ((24, 2), 8))),
        ("composition(20:2, (5,4):(4,1))", Layout((5, 4), (8, 2))),
        ("logical_divide(4:2, 2)", Layout((2, 2), (2, 4))),
        ("complement(4:2, 24)", Layout((2, 3), (1, 8))),
        ("coalesce((2,(1,6)):(1,(6,2)))", Layout(12, 1)),
        ("coalesce((2,(1,6)):(1,(6,2)), keep_rank=True)", Layout((2, 6), (1, 2))),
        ("logical_divide((9,(4,8)):(59,(13,1)), <3:3,(2,4):(1,8)>)", None),
        ("zipped_divide(Layout.row_major(6, 8), (2, 2))", Layout(((2, 2), (3, 4)), ((8, 1), (16, 2)))),
        ("right_inverse(Layout.row_major(3, 4))", Layout((4, 3), (3, 1))),
        (
            "composition(Swizzle<1,0,2>{}, Layout<Shape<_4,_2>,Stride<_2,_1>>{})",
            Layout((4, 2), (2, 1), swizzle=(1, 0, 2)),
        ),
        ("tile_to_shape(make_layout(Shape<_8,_64>{}, LayoutRight{}), make_shape(Int<16>{}, _64{}))", None),
    ],
)
def test_calls_are_read(text: str, layout: Layout | None) -> None:
    try:
        assert rl.parse(text) == rl.Layout.parse(text) == rl.resolve(text).layout
    except rl.ParseError:
        assert layout is None, text
        raise
    if layout is not None:
        assert rl.parse(text) == layout


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("blocked_product(tile, tiler)", rl.ParseError, "the variable, written out"),
        ("blocked_product(Layout(3)", rl.ParseError, "closing parenthesis"),
        ("tile_to_shape(Layout(3))", rl.ParseError, "missing a required argument"),
        ("tile_to_shape(Layout(3), 6, 7, 8)", rl.ParseError, "too many"),
        ("coalesce(Layout(3), depth=2)", rl.ParseError, "unexpected keyword"),
        ("complement(Layout(3), __import__('os'))", rl.ParseError, "a number, a tuple or a layout"),
        ("complement(4:2, 24) offset 3", rl.ParseError, "the end"),
        ("tile_to_shape(Layout(4), 6)", rl.NotExpressible, "does not divide"),
        ("composition((6,2):(1,7), (3,2):(2,3))", rl.NotExpressible, "at \\(2, 1\\)"),
        ("coalesce(3)", rl.ShapeError, "takes"),
        ("composition(" * 100 + "8:1" + ")" * 100, rl.LimitExceeded, "deeper"),
        ("make_layout(8:UNKNOWN_VALUE, 4:1)", rl.NotExpressible, "run time"),
    ],
)
def test_calls_that_make_no_layout_are_refused(text: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        rl.parse(text)


def test_a_call_that_means_two_things_needs_its_dialect() -> None:
    text = "zipped_divide(Layout.row_major(8, 8), Layout((2, 4)))"
    square, tiler = Layout.row_major(8, 8), Layout((2, 4))
    assert rl.parse("mojo:" + text) == mojo.zipped_divide(square, tiler)
    assert rl.parse("cute:" + text) == rl.zipped_divide(square, tiler)
    refused = "zipped_divide(Layout.row_major(6, 8), Layout((2, 4)))"
    with pytest.raises(rl.NotExpressible):
        rl.parse("cute:" + refused)
    for unclear in (text, refused):
        with pytest.raises(rl.ParseError, match="ambiguous"):
            rl.parse(unclear)


def test_the_vocabulary_is_one_name_for_one_thing() -> None:
    assert rl.mojo is mojo
    assert mojo.Layout is rl.Layout
    assert mojo.IntTuple is rl.IntTuple
    assert issubclass(LayoutTensor, rl.Tensor)
    assert all(hasattr(mojo, name) for name in mojo.__all__)
    assert "LayoutTensor" not in rl.__all__
    with pytest.raises(AttributeError, match=r"it is a word of relayout\.mojo"):
        _ = rl.LayoutTensor
    with pytest.raises(AttributeError, match=r"no attribute 'nowhere'$"):
        _ = rl.nowhere
