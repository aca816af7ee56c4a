"""Bad input and extreme input: each gives the right answer, or its own error class with code, operands and a hint."""

from __future__ import annotations

import contextlib
import copy
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relayout as rl
from relayout import (
    ComposedLayout,
    E,
    Layout,
    LayoutError,
    LayoutMismatch,
    LimitExceeded,
    NotExpressible,
    OutOfBounds,
    Overlap,
    ParseError,
    ShapeError,
    Swizzle,
    Undetermined,
    WindowError,
    parse,
)
from relayout.dialects.registry import BUILT_IN

BIG = 2**63
HUGE = 2**200

NESTED = Layout((2, (3, 2)), (1, (2, 6)))
IDENTITY = rl.make_identity_layout((2, 2))


def nest(levels: int, leaf: Any = 2) -> Any:
    for _ in range(levels):
        leaf = (leaf,)
    return leaf


def error_of(call: Any) -> LayoutError:
    with pytest.raises(LayoutError) as caught:
        call()
    return caught.value


# ---- non-congruent shape and stride --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "stride"),
    [
        ((2, 3), (1,)),
        ((2, 3), (1, 2, 6)),
        ((2, 3), 1),
        (4, (1,)),
        ((2, (3, 4)), (1, 2)),
        ((2, 3), (1, (2, 6))),
        ((2, (3, 4)), (1, (2,))),
        ((), 1),
        ((2,), ()),
    ],
)
def test_non_congruent_shape_and_stride(shape, stride):
    error = error_of(lambda: Layout(shape, stride))
    assert type(error) is ShapeError
    assert (error.shape, error.stride) == (shape, stride)
    assert type(error_of(lambda: rl.idx2crd(0, shape, stride))) is ShapeError


@pytest.mark.parametrize(
    ("shape", "stride"), [((2, 3), (1,)), ((2, 3), 1), ((2, 3), (1, (2, 6))), (4, (1,)), ((2, (3, 4)), (1, 2))]
)
@pytest.mark.parametrize("coord", ["integer", "tuple"])
def test_non_congruent_shape_and_stride_in_crd2idx(shape, stride, coord):
    at = 1 if coord == "integer" or not isinstance(shape, tuple) else (1,) * len(shape)
    with pytest.raises(ShapeError):
        rl.crd2idx(at, shape, stride)


def test_non_congruent_in_the_other_helpers():
    for call in (
        lambda: rl.inner_product((1, 2), (1, (2, 3))),
        lambda: rl.shape_div((4, 4), (2, 2, 2)),
        lambda: rl.compact_order((2, 3), (0, 1, 2)),
        lambda: rl.make_ordered_layout((2, 3), (0, (1, 2))),
        lambda: rl.idx2crd((1, 1), (2, 3), 5),
        lambda: rl.idx2crd((1, 1), (2, 3), (5,)),
    ):
        assert type(error_of(call)) is ShapeError


# ---- non-integers --------------------------------------------------------------------------------------------

NON_INTEGERS = [2.0, 2.5, "2", None, True, np.True_, np.float64(2), 2j, b"2", {2}, object()]
INTEGERS = [np.int64(2), np.int8(2), np.uint64(2), np.array(2)]


def ids(values: list[Any]) -> list[str]:
    return [f"{type(v).__name__}-{v}" if type(v) is not object else "object" for v in values]


@pytest.mark.parametrize("bad", NON_INTEGERS, ids=ids(NON_INTEGERS))
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda x: Layout(x, 1), id="Layout(x, 1)"),
        pytest.param(lambda x: Layout((3, x), (1, 3)), id="Layout((3, x), (1, 3))"),
        pytest.param(lambda x: Layout((3, 2), (1, x)), id="Layout((3, 2), (1, x))"),
        pytest.param(lambda x: Layout((3, (2, 2)), (1, (x, 6))), id="Layout((3, (2, 2)), (1, (x, 6)))"),
        pytest.param(lambda x: Layout(4, 1, offset=x), id="Layout(4, 1, offset=x)"),
        pytest.param(lambda x: Layout(4, 1, origin=(0,), extents=(x,)), id="Layout(4, 1, origin=(0,), extents=(x,))"),
        pytest.param(lambda x: Layout(4, 1, extents=(2,), origin=(x,)), id="Layout(4, 1, extents=(2,), origin=(x,))"),
        pytest.param(lambda x: Layout.row_major(3, x), id="Layout.row_major(3, x)"),
        pytest.param(lambda x: Layout.col_major(3, x), id="Layout.col_major(3, x)"),
        pytest.param(lambda x: Layout(4)(x), id="Layout(4)(x)"),
        pytest.param(lambda x: Layout((3, 3))(0, x), id="Layout((3, 3))(0, x)"),
        pytest.param(lambda x: NESTED(0, (x, 0)), id="NESTED(0, (x, 0))"),
        pytest.param(lambda x: Layout((4, (2, 2)), extents=(3, 3))(x), id="windowed(x)"),
        pytest.param(lambda x: Layout((4, (2, 2)), extents=(3, 3))(0, x), id="windowed(0, x)"),
        pytest.param(lambda x: Layout(4).coordinates(x), id="Layout(4).coordinates(x)"),
        pytest.param(lambda x: Layout(4).idx2crd(x), id="Layout(4).idx2crd(x)"),
        pytest.param(lambda x: Layout(4).preimages(x), id="Layout(4).preimages(x)"),
        pytest.param(lambda x: Layout(4).with_offset(x), id="Layout(4).with_offset(x)"),
        pytest.param(lambda x: Layout(4).ravel(x), id="Layout(4).ravel(x)"),
        pytest.param(lambda x: Layout(4).unravel(x), id="Layout(4).unravel(x)"),
        pytest.param(lambda x: Layout(4)[x], id="Layout(4)[x]"),
        pytest.param(lambda x: Layout(4).narrow(x, 0, 1), id="Layout(4).narrow(x, 0, 1)"),
        pytest.param(lambda x: Layout(4).narrow(0, x, 1), id="Layout(4).narrow(0, x, 1)"),
        pytest.param(lambda x: Layout(4).narrow(0, 0, x), id="Layout(4).narrow(0, 0, x)"),
        pytest.param(lambda x: Layout(4).pick(0, x), id="Layout(4).pick(0, x)"),
        pytest.param(lambda x: Layout((3, 3, 3)).permute(0, 1, x), id="Layout((3, 3, 3)).permute(0, 1, x)"),
        pytest.param(lambda x: Layout((1, 3)).broadcast_to(x, 3), id="Layout((1, 3)).broadcast_to(x, 3)"),
        pytest.param(lambda x: Layout(8).reshape(x, 4), id="Layout(8).reshape(x, 4)"),
        pytest.param(lambda x: Layout(4).chunk(x), id="Layout(4).chunk(x)"),
        pytest.param(lambda x: Layout(4).split(x), id="Layout(4).split(x)"),
        pytest.param(lambda x: Layout(4).unfold(0, x, 1), id="Layout(4).unfold(0, x, 1)"),
        pytest.param(lambda x: Layout(4).unfold(0, 1, x), id="Layout(4).unfold(0, 1, x)"),
        pytest.param(lambda x: Layout((2, 3, 4)).unsqueeze(x), id="Layout((2, 3, 4)).unsqueeze(x)"),
        pytest.param(lambda x: rl.IntTuple(4, (x, 2)), id="rl.IntTuple(4, (x, 2))"),
        pytest.param(lambda x: rl.crd2idx(x, 4), id="rl.crd2idx(x, 4)"),
        pytest.param(lambda x: rl.crd2idx(0, x), id="rl.crd2idx(0, x)"),
        pytest.param(lambda x: rl.idx2crd(x, 4), id="rl.idx2crd(x, 4)"),
        pytest.param(lambda x: rl.idx2crd(0, (2, x)), id="rl.idx2crd(0, (2, x))"),
        pytest.param(lambda x: rl.compact_order((2, 3), (0, x)), id="rl.compact_order((2, 3), (0, x))"),
        pytest.param(lambda x: rl.upcast(Layout(4), x), id="rl.upcast(Layout(4), x)"),
        pytest.param(lambda x: rl.downcast(Layout(4), x), id="rl.downcast(Layout(4), x)"),
        pytest.param(lambda x: rl.recast_layout(Layout(4), x, 2), id="rl.recast_layout(Layout(4), x, 2)"),
        pytest.param(lambda x: Swizzle(x, 0, 2), id="Swizzle(x, 0, 2)"),
        pytest.param(lambda x: Swizzle(2, x, 2), id="Swizzle(2, x, 2)"),
        pytest.param(lambda x: Swizzle(2, 0, x), id="Swizzle(2, 0, x)"),
        pytest.param(lambda x: Layout(4, 1, swizzle=(x, 0, 2)), id="Layout(4, 1, swizzle=(x, 0, 2))"),
        pytest.param(lambda x: E(x), id="E(x)"),
        pytest.param(lambda x: ComposedLayout(Layout(4), Layout(4), x), id="ComposedLayout(Layout(4), Layout(4), x)"),
    ],
)
def test_non_integers_are_refused(call, bad):
    assert type(error_of(lambda: call(bad))) is ShapeError


@pytest.mark.parametrize("good", INTEGERS, ids=ids(INTEGERS))
def test_numpy_integers_are_accepted_and_become_python_integers(good):
    layout = Layout((good, (good, 3)), (1, (good, 4)), offset=good)
    assert layout == Layout((2, (2, 3)), (1, (2, 4)), offset=2)
    assert all(type(x) is int for x in (*rl.flatten(layout.shape), *rl.flatten(layout.stride), layout.offset))
    assert type(Layout((3, 3))(good)) is type(Layout((3, 3))(0, good)) is int
    assert Layout((3, 3))(good) == 2
    assert Layout((3, 3))(0, good) == 6
    assert Layout(4, 1, extents=(good,), origin=(good,)).origin == (2,)
    assert Swizzle(good, good, good) == Swizzle(2, 2, 2)
    assert Layout.row_major(3, good).narrow(0, good, 1).offset == 4


def test_numpy_integers_do_not_wrap():
    assert Layout((np.int8(100), np.int8(100))).size == 10_000
    assert Layout(np.int64(2**62), np.int64(2**62))(np.int64(2**61)) == 2**123


def test_the_helpers_take_numpy_integers_as_integers():
    assert (rl.size(np.int64(4)), rl.rank(np.int64(4)), rl.depth(np.int64(4))) == (4, 1, 0)
    assert rl.product((np.int8(100), np.int8(100))) == 10_000
    assert rl.prefix_product((np.int8(100), np.int8(100), 2)) == (1, 100, 10_000)
    assert rl.inner_product((np.int8(100), 1), (np.int8(100), 1)) == 10_001


def test_numpy_strides_do_not_wrap_in_crd2idx():
    assert rl.crd2idx((1, 1), (2, 3), (np.int8(100), np.int8(100))) == 200
    assert rl.crd2idx(3, (2, 3), (np.int8(100), np.int8(100))) == 200
    assert rl.idx2crd(201, (2, 2), (np.int8(100), np.int8(101))) == (1, 1)


@pytest.mark.parametrize("bad", [1.5, "a", None, np.float64(2)], ids=str)
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda x: rl.crd2idx((1, 1), (2, 3), (1, x)), id="rl.crd2idx((1, 1), (2, 3), (1, x))"),
        pytest.param(lambda x: rl.crd2idx(5, (2, 3), (1, x)), id="rl.crd2idx(5, (2, 3), (1, x))"),
        pytest.param(lambda x: rl.idx2crd(1, (2, 3), (1, x)), id="rl.idx2crd(1, (2, 3), (1, x))"),
        pytest.param(lambda x: rl.prefix_product((2, x)), id="rl.prefix_product((2, x))"),
        pytest.param(lambda x: rl.product((2, x)), id="rl.product((2, x))"),
        pytest.param(lambda x: rl.product(x), id="rl.product(x)"),
        pytest.param(lambda x: rl.inner_product((1, 2), (1, x)), id="rl.inner_product((1, 2), (1, x))"),
        pytest.param(lambda x: rl.shape_div(x, 2), id="rl.shape_div(x, 2)"),
        pytest.param(lambda x: rl.size(x), id="rl.size(x)"),
    ],
)
def test_non_integers_in_the_helpers_are_refused(call, bad):
    assert type(error_of(lambda: call(bad))) is ShapeError


def test_lists_count_as_tuples_in_the_helpers_too():
    assert Layout([2, [3, 2]], [1, [2, 6]]) == NESTED
    assert rl.size([2, 3]) == rl.product([2, 3]) == 6
    assert rl.flatten([1, [2]]) == (1, 2)
    assert rl.congruent([1, 2], (1, 2))


@pytest.mark.parametrize("bad", [1.5, "a", None, True, [1, 2]], ids=str)
def test_a_swizzle_maps_integers_only(bad):
    assert type(error_of(lambda: Swizzle(2, 0, 2)(bad))) is ShapeError


def test_a_swizzle_refuses_an_array_of_floats():
    assert type(error_of(lambda: Swizzle(2, 0, 2)(np.arange(4.0)))) is ShapeError


@pytest.mark.parametrize("bad", [1.5, "a", None], ids=str)
def test_a_basis_scales_by_integers_only(bad):
    with pytest.raises((ShapeError, TypeError)):
        E(0) * bad


@pytest.mark.parametrize("key", [slice(1.5, None), slice("a"), slice(None, None, 0), slice(None, None, 0.5), "a", 1.5])
def test_an_index_is_an_integer_or_a_slice_with_a_step(key):
    assert isinstance(error_of(lambda: Layout(4).view[key]), ShapeError)
    assert isinstance(error_of(lambda: Layout((4, 4)).slice(0, key)), ShapeError)


@pytest.mark.parametrize("bad", [4, (2, 3), "4:1", None], ids=str)
@pytest.mark.parametrize(
    "call",
    [
        rl.cosize,
        rl.coalesce,
        rl.complement,
        rl.right_inverse,
        rl.left_inverse,
        rl.make_layout,
        rl.format_layout,
        rl.make_layout_like,
        pytest.param(lambda x: rl.render(x, "mojo"), id="rl.render(x, 'mojo')"),
        pytest.param(lambda x: Layout(4).compare(x), id="Layout(4).compare(x)"),
        pytest.param(lambda x: Layout(4).equivalent(x), id="Layout(4).equivalent(x)"),
        pytest.param(lambda x: rl.composition(x, Layout(4)), id="rl.composition(x, Layout(4))"),
        pytest.param(lambda x: rl.logical_divide(x, 2), id="rl.logical_divide(x, 2)"),
        pytest.param(lambda x: rl.blocked_product(Layout(4), x), id="rl.blocked_product(Layout(4), x)"),
        pytest.param(lambda x: rl.select(x, 0), id="rl.select(x, 0)"),
        pytest.param(lambda x: rl.append(Layout(4), x), id="rl.append(Layout(4), x)"),
        pytest.param(lambda x: rl.domain_offset(0, x), id="rl.domain_offset(0, x)"),
        pytest.param(lambda x: rl.upcast(x, 2), id="rl.upcast(x, 2)"),
        pytest.param(lambda x: ComposedLayout(Layout(4), x), id="ComposedLayout(Layout(4), x)"),
    ],
)
def test_what_is_no_layout_is_refused(call, bad):
    assert type(error_of(lambda: call(bad))) is ShapeError


# ---- sizes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [-1, (2, -3), (2, (3, -1)), (0, -1), -HUGE])
@pytest.mark.parametrize("make", [Layout, Layout.row_major, Layout.col_major, rl.make_identity_layout])
def test_negative_sizes_are_refused(make, shape):
    error = error_of(lambda: make(shape))
    assert type(error) is ShapeError
    assert error.shape == shape
    assert "negative size" in str(error)


EMPTY = [Layout(0), Layout((0, 3)), Layout((2, (3, 0)), (1, (5, 9))), Layout((2, 0, 4), (HUGE, 1, 0), offset=7)]


@pytest.mark.parametrize("layout", EMPTY, ids=str)
def test_zero_sizes_make_an_empty_layout(layout):
    assert layout.size == layout.padded_size == layout.cosize == layout.storage_size == 0
    table = layout.offsets()
    assert (table.shape, table.dtype) == (np.empty(layout.extents).shape, np.int64)
    assert layout.is_contiguous()
    assert layout.is_fortran_contiguous()
    assert layout.is_injective()
    assert layout.is_packed()
    assert layout.preimages(0) == []


@pytest.mark.parametrize("layout", EMPTY, ids=str)
def test_an_empty_layout_has_no_coordinates_and_no_offsets(layout):
    for call in (
        lambda: layout(0),
        lambda: layout((0,) * layout.rank),
        lambda: layout.coordinates(0),
        lambda: layout.idx2crd(0),
        lambda: layout.min_offset,
        lambda: layout.max_offset,
    ):
        error = error_of(call)
        assert type(error) is OutOfBounds
        assert isinstance(error, IndexError)


def test_views_of_an_empty_layout_are_those_of_numpy():
    array, layout = np.empty((2, 0, 4)), Layout.row_major(2, 0, 4)
    assert layout.permute(2, 0, 1).extents == array.transpose(2, 0, 1).shape
    assert layout.narrow(2, 1, 2).extents == array[:, :, 1:3].shape
    assert layout.narrow(1, 0, 0).extents == array[:, 0:0].shape
    assert layout.view[::-1, ::2, None].extents == array[::-1, ::2, None].shape
    assert layout.pick(0, 1).extents == array[1].shape
    assert layout.flip().extents == np.flip(array).shape
    assert layout.broadcast_to(3, 2, 0, 4).extents == np.broadcast_to(array, (3, 2, 0, 4)).shape
    assert layout.reshape(0, 7).extents == array.reshape(0, 7).shape
    assert layout.reshape(2, -1).extents == array.reshape(2, -1).shape
    assert layout.flatten().extents == array.reshape(-1).shape
    assert layout.unsqueeze(0).extents == array[None].shape
    assert layout.squeeze().extents == array.shape
    assert layout.unfold(2, 2, 1).extents == np.lib.stride_tricks.sliding_window_view(array, 2, axis=2).shape
    with pytest.raises(OutOfBounds):
        layout.pick(1, 0)
    with pytest.raises(OutOfBounds):
        layout.narrow(1, 0, 1)


def test_empty_layouts_compare_by_their_domain():
    assert Layout((0, 3), (1, 5)).equivalent(Layout((0, 3), (9, 9), offset=4))
    assert not Layout((0, 3)).equivalent(Layout((3, 0)))


def test_an_empty_table_too_wide_for_numpy_is_past_the_limit():
    assert type(error_of(lambda: Layout((0, BIG), (1, 1)).offsets())) is LimitExceeded


# ---- windows outside the box ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "window",
    [
        {"extents": (2, 7)},
        {"extents": (3, 6)},
        {"origin": (0, 7)},
        {"origin": (3, 0)},
        {"origin": (-1, 0)},
        {"origin": (-1, 0), "extents": (1, 1)},
        {"origin": (0, 1), "extents": (2, 6)},
        {"origin": (0, 6), "extents": (2, 1)},
        {"extents": (2, -1)},
        {"origin": (0, HUGE), "extents": (1, 1)},
    ],
    ids=str,
)
def test_a_window_outside_the_box(window):
    error = error_of(lambda: Layout((2, (3, 2)), **window))
    assert type(error) is WindowError
    assert isinstance(error, ShapeError)
    assert isinstance(error, OutOfBounds)
    assert error.box == (2, 6)
    assert all(getattr(error, name) == entries for name, entries in window.items())


@pytest.mark.parametrize("entries", [(2,), (2, 3, 1), 2, (), (2, (3, 1)), "ab"])
@pytest.mark.parametrize("name", ["extents", "origin"])
def test_a_window_has_one_integer_per_mode(name, entries):
    assert type(error_of(lambda: Layout((2, (3, 2)), **{name: entries}))) is ShapeError


def test_windows_at_the_edge_are_legal():
    assert Layout((2, (3, 2)), origin=(0, 6), extents=(2, 0)).size == 0
    assert Layout((2, (3, 2)), origin=(1, 5)).extents == (1, 1)
    assert Layout((2, (3, 2)), extents=(2, 6)) == Layout((2, (3, 2)))


# ---- wrong rank, out of range --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "coord"),
    [
        (Layout((2, 3)), (0, 0, 0)),
        (Layout((2, 3)), (0,)),
        (Layout((2, 3)), ()),
        (Layout(4), (0, 0)),
        (Layout(4), ()),
        (NESTED, (0, (0, 0, 0))),
        (NESTED, (0, ())),
        (NESTED, ((0, 1), 0)),
        (Layout((2, (3, 2)), extents=(2, 5)), (0, 0, 0, 0)),
        (Layout((2, (3, 2)), extents=(2, 5)), (0, (0, 0, 0))),
    ],
)
def test_a_coordinate_of_the_wrong_rank(layout, coord):
    error = error_of(lambda: layout(coord))
    assert type(error) is ShapeError
    assert "does not fit" in str(error)


@pytest.mark.parametrize(
    ("layout", "coord"),
    [
        (Layout((2, 3)), 6),
        (Layout((2, 3)), -1),
        (Layout((2, 3)), (2, 0)),
        (Layout((2, 3)), (0, 3)),
        (Layout((2, 3)), (-1, 0)),
        (Layout((2, 3)), (0, -1)),
        (NESTED, 12),
        (NESTED, (0, 6)),
        (NESTED, (0, -1)),
        (NESTED, (0, (3, 0))),
        (NESTED, (0, (0, 2))),
        (NESTED, (0, (-1, 1))),
        (NESTED, (0, (0, -1))),
        (Layout(4), HUGE),
        (Layout((2, (3, 2)), extents=(2, 5)), 10),
        (Layout((2, (3, 2)), extents=(2, 5)), (0, 5)),
        (Layout((2, (3, 2)), extents=(2, 5)), (0, -1)),
        (Layout((2, (3, 2)), extents=(2, 5)), (0, (2, 1))),
        (Layout((2, (3, 2)), origin=(0, 1)), -1),
        (Layout((2, (3, 2)), origin=(0, 1)), (0, 5)),
    ],
)
@pytest.mark.parametrize("method", ["__call__", "coordinates", "ravel"])
def test_a_coordinate_out_of_range(layout, coord, method):
    error = error_of(lambda: getattr(layout, method)(coord))
    assert type(error) is OutOfBounds
    assert isinstance(error, IndexError)
    assert error.coord == coord


@pytest.mark.parametrize("dim", [2, -3, HUGE])
@pytest.mark.parametrize(
    "call",
    [
        lambda d: Layout((2, 3))[d],
        lambda d: Layout((2, 3)).narrow(d, 0, 1),
        lambda d: Layout((2, 3)).pick(d, 0),
        lambda d: Layout((2, 3)).transpose(0, d),
        lambda d: Layout((2, 3)).squeeze(d),
        lambda d: Layout((2, 3)).flip(d),
        lambda d: Layout((2, 3)).flatten(0, d),
        lambda d: Layout((2, 3)).chunk(2, d),
        lambda d: Layout((2, 3)).split(2, d),
        lambda d: Layout((2, 3)).unfold(d, 1, 1),
        lambda d: rl.select(Layout((2, 3)), d),
        lambda d: rl.replace(Layout((2, 3)), d, Layout(4)),
    ],
)
def test_a_dimension_out_of_range(call, dim):
    error = error_of(lambda: call(dim))
    assert type(error) is OutOfBounds
    assert (error.dim, error.rank) == (dim, 2)


def test_the_wrong_number_of_entries_in_views():
    for call in (
        lambda: Layout((2, 3)).permute(0),
        lambda: Layout((2, 3)).view[0, 0, 0],
        lambda: Layout((2, 3)).view[..., ...],
        lambda: Layout((2, 3)).tile((2,)),
        lambda: Layout((2, 3)).broadcast_to(3),
        lambda: Layout((2, 3)).reshape((2, (3, 1))),
        lambda: rl.slice_layout((None, 0, 0), Layout((2, 3))),
        lambda: rl.composition(Layout((2, 3)), (2, 3, 1)),
        lambda: rl.logical_divide(Layout((2, 3)), (1, 1, 1)),
        lambda: rl.tile_to_shape(Layout((2, 3)), (4,)),
    ):
        assert isinstance(error_of(call), ShapeError)


# ---- swizzles ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [(3, 0, 2), (3, 0, -2), (1, 0, 0), (-1, 0, 2), (1, -1, 2), (HUGE, 0, 1)])
def test_a_swizzle_whose_shift_is_smaller_than_its_bits(parameters):
    error = error_of(lambda: Swizzle(*parameters))
    assert type(error) is ShapeError
    assert (error.bits, error.base, error.shift) == parameters
    assert type(error_of(lambda: Layout(8, 1, swizzle=parameters))) is ShapeError
    text = ",".join(map(str, parameters))
    assert type(error_of(lambda: parse(f"(8:1) swizzle <{text}>"))) is ShapeError


@pytest.mark.parametrize("parameters", [(0, 0, 0), (3, 0, 3), (3, 4, -3), (0, 5, 0)])
def test_swizzles_at_the_edge_are_legal(parameters):
    assert Swizzle(*parameters).parameters == parameters


@pytest.mark.parametrize("bad", [5, "<1,0,1>", (1, 0), (1, 0, 1, 0), object()])
def test_what_is_no_swizzle_is_refused(bad):
    assert type(error_of(lambda: Layout(4, 1, swizzle=bad))) is ShapeError


# ---- nesting -------------------------------------------------------------------------------------------------

DEEP = [65, 100_000]


@pytest.mark.parametrize("levels", DEEP)
def test_nesting_deeper_than_64_is_past_the_limit(levels):
    for call in (
        lambda: Layout(nest(levels)),
        lambda: Layout(2, nest(levels)),
        lambda: Layout(nest(64), nest(levels)),
        lambda: Layout.row_major(nest(levels)),
        lambda: rl.IntTuple(nest(levels)),
        lambda: rl.idx2crd(0, nest(levels)),
        lambda: rl.crd2idx(0, nest(levels)),
        lambda: rl.compact_order(nest(levels), 0),
        lambda: rl.compact_order(2, nest(levels)),
        lambda: rl.size(nest(levels)),
        lambda: E(*[0] * levels),
    ):
        error = error_of(call)
        assert type(error) is LimitExceeded
        assert error.limit == 64


def test_nesting_of_64_is_legal():
    layout = Layout(nest(64))
    assert layout.depth == 64
    assert layout(nest(64, 1)) == layout(1) == 1
    assert eval(repr(layout)) == layout
    assert parse(str(layout)) == layout
    assert parse(layout.to("cute"), "cute") == layout


L64 = Layout(nest(64))


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda t: L64(t), id="call"),
        pytest.param(lambda t: Layout(4)(t), id="call-flat"),
        pytest.param(lambda t: Layout((4, (2, 2)), extents=(3, 3))((0, t)), id="call-window"),
        pytest.param(lambda t: Layout(4).coordinates(t), id="coordinates"),
        pytest.param(lambda t: Layout(4).ravel(t), id="ravel"),
        pytest.param(lambda t: rl.crd2idx(t, 4), id="crd2idx-coord"),
        pytest.param(lambda t: rl.crd2idx(1, 4, t), id="crd2idx-stride"),
        pytest.param(lambda t: rl.crd2idx(1, (4,), t), id="crd2idx-stride-2"),
        pytest.param(lambda t: rl.idx2crd(t, nest(64)), id="idx2crd-index"),
        pytest.param(lambda t: rl.idx2crd(1, 4, t), id="idx2crd-stride"),
        pytest.param(lambda t: rl.crd2crd(t, t), id="crd2crd"),
        pytest.param(lambda t: rl.congruent(t, t), id="congruent"),
        pytest.param(lambda t: rl.weakly_congruent(t, t), id="weakly_congruent"),
        pytest.param(lambda t: rl.compatible(t, t), id="compatible"),
        pytest.param(lambda t: rl.weakly_compatible(t, t), id="weakly_compatible"),
        pytest.param(lambda t: rl.flatten(t), id="flatten"),
        pytest.param(lambda t: rl.product(t), id="product"),
        pytest.param(lambda t: rl.product_each(t), id="product_each"),
        pytest.param(lambda t: rl.prefix_product(t), id="prefix_product"),
        pytest.param(lambda t: rl.inner_product(t, t), id="inner_product"),
        pytest.param(lambda t: rl.shape_div(t, 2), id="shape_div"),
        pytest.param(lambda t: rl.depth(t), id="depth"),
        pytest.param(lambda t: rl.slice_layout(t, L64), id="slice_layout"),
        pytest.param(lambda t: rl.dice(t, L64), id="dice"),
        pytest.param(lambda t: rl.domain_offset(t, L64), id="domain_offset"),
        pytest.param(lambda t: rl.coalesce(L64, t), id="coalesce"),
        pytest.param(lambda t: rl.composition(L64, t), id="composition"),
        pytest.param(lambda t: rl.logical_divide(L64, t), id="logical_divide"),
        pytest.param(lambda t: rl.zipped_divide(L64, t), id="zipped_divide"),
        pytest.param(lambda t: rl.logical_product(L64, t), id="logical_product"),
        pytest.param(lambda t: rl.tile_to_shape(Layout(2), (2,), t), id="tile_to_shape-order"),
        pytest.param(lambda t: Layout(4, 1, extents=t), id="extents"),
        pytest.param(lambda t: Layout(4, 1, offset=t), id="offset"),
        pytest.param(lambda t: Layout(4, 1, swizzle=t), id="swizzle"),
        pytest.param(lambda t: Swizzle(t, 0, 1), id="Swizzle"),
        pytest.param(lambda t: Layout(4).permute(t), id="permute"),
        pytest.param(lambda t: Layout(4).reshape(t), id="reshape"),
        pytest.param(lambda t: Layout(4).broadcast_to(t), id="broadcast_to"),
        pytest.param(lambda t: Layout(4).view[t], id="view"),
        pytest.param(lambda t: Layout(4).split(t), id="split"),
        pytest.param(lambda t: Layout(4).narrow(t, 0, 1), id="narrow"),
        pytest.param(lambda t: Layout(4).tile(t), id="tile"),
        pytest.param(lambda t: parse(t), id="parse"),
        pytest.param(lambda t: rl.compare(t, t), id="compare"),
    ],
)
def test_nested_arguments_end_well(call):
    """A tuple of 100,000 levels is answered or refused, never a RecursionError."""
    with contextlib.suppress(LayoutError):
        call(nest(100_000, 1))


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "(" * 100_000 + "2:1" + ")" * 100_000,
        "2:" + "(" * 100_000,
        "(2:" + "(" * 66 + "1" + ")" * 67,
        "(2:1) extents " + "(" * 100_000,
        "(2:1) offset " + "(" * 100_000,
        "cute:" + "(" * 100_000,
        "cute:2:" + "(" * 100_000,
        "2:1" + "@0" * 100_000,
        "(" * 70 + "2:1" + ")" * 70,
    ],
    ids=lambda t: f"{t[:16]}-{len(t)}",
)
def test_texts_nested_too_deeply_are_refused(text):
    assert isinstance(error_of(lambda: parse(text)), LimitExceeded | ParseError)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: rl.make_layout(L64), id="make_layout"),
        pytest.param(lambda: rl.append(Layout(2), L64), id="append"),
        pytest.param(lambda: rl.prepend(Layout(2), L64), id="prepend"),
        pytest.param(lambda: rl.replace(Layout((2, 3)), 0, L64), id="replace"),
        pytest.param(lambda: rl.group(L64, 0, 1), id="group"),
        pytest.param(lambda: rl.zip_modes(L64, L64), id="zip_modes"),
        pytest.param(lambda: rl.blocked_product(L64, L64), id="blocked_product"),
        pytest.param(lambda: rl.raked_product(L64, L64), id="raked_product"),
        pytest.param(lambda: rl.logical_product(L64, Layout(2)), id="logical_product"),
        pytest.param(lambda: rl.tile_to_shape(L64, (4,)), id="tile_to_shape"),
        pytest.param(
            lambda: rl.composition(Layout((2, 2), (1, 4)), Layout(nest(64, 4), nest(64, 1))), id="composition"
        ),
    ],
)
def test_no_operation_nests_deeper_than_64(make):
    try:
        layout = make()
    except LimitExceeded:
        return
    assert layout.depth <= 64
    assert eval(repr(layout)) == layout


# ---- past 2^63 and past 2^200 --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [BIG, HUGE])
def test_calls_and_sizes_are_exact_past_int64(n):
    layout = Layout((n, n), (n, 1), offset=n)
    assert layout(n - 1, n - 1) == n + (n - 1) * n + n - 1
    assert layout.size == layout.cosize == n * n
    assert layout.storage_size == n * n + n
    assert (layout.min_offset, layout.max_offset) == (n, n + n * n - 1)
    assert layout(n * n - 1) == n + n * n - 1
    assert layout(n) == n + 1
    assert rl.cosize(Layout((3, n), (-n, 1))) == 2 * n + n - 1 + 1
    assert rl.crd2idx((n - 1, 1), (n, 2)) == 2 * n - 1


@pytest.mark.parametrize("n", [BIG, HUGE])
def test_idx2crd_is_exact_past_int64(n):
    assert rl.idx2crd(5 * n + 3, (n, 7)) == (3, 5)
    assert rl.idx2crd(5 * n + 3, (7, n), (n, 1)) == (5, 3)
    assert Layout((7, n), (n, 1), offset=n).idx2crd(6 * n + 3) == (5, 3)
    assert Layout(((7, n), 2), ((n, 1), 7 * n)).idx2crd(12 * n + 3) == ((5, 3), 1)
    with pytest.raises(OutOfBounds):
        rl.idx2crd(7 * n, (n, 7))


@pytest.mark.parametrize("n", [BIG, HUGE])
def test_compare_is_exact_past_int64(n):
    plain = Layout((n, n))
    assert rl.compare(plain, Layout(((2, n // 2), n), ((1, 2), n)))
    verdict = rl.compare(plain, Layout(((n // 2, 2), n), ((1, n // 2 + 1), n)))
    assert not verdict
    assert (verdict.coordinate, verdict.offsets) == ((n // 2, 0), (n // 2, n // 2 + 1))
    last = rl.compare(Layout((n, 2), (1, n)), Layout((n, 2), (1, n + 1)))
    assert (last.coordinate, last.offsets) == ((0, 1), (n, n + 1))


@pytest.mark.parametrize("n", [BIG, HUGE])
def test_composition_and_division_are_exact_past_int64(n):
    composed = rl.composition(Layout((n, n), (n, 1)), Layout((2, n // 2), (1, 2)))
    assert composed(1, n // 2 - 1) == (n - 1) * n
    assert composed(0, 1) == 2 * n
    divided = rl.logical_divide(Layout(n * n, 3), n)
    assert divided.shape == (n, n)
    assert divided(n - 1, n - 1) == 3 * (n * n - 1)
    assert rl.complement(Layout(2, n), 8 * n).size == 4 * n
    assert rl.coalesce(Layout((n, n))) == Layout(n * n, 1)


@pytest.mark.parametrize("n", [BIG, HUGE])
def test_views_are_exact_past_int64(n):
    layout = Layout.row_major(n, n)
    assert layout.flip()(0, 0) == n * n - 1
    assert layout.flatten()(n * n - 1) == n * n - 1
    assert layout.narrow(0, n - 1, 1).offset == (n - 1) * n
    assert layout.view[::-2](1, 0) == (n - 3) * n
    assert [part.size for part in Layout(n).chunk(2)] == [n // 2, n // 2]
    assert parse(str(layout)) == layout


@pytest.mark.parametrize(
    "layout",
    [
        Layout((BIG, HUGE)),
        Layout(4, HUGE),
        Layout(2, BIG),
        Layout(4, 1, offset=BIG - 3),
        Layout(4, -1, offset=2 - BIG),
        Layout(BIG, 0),
        Layout((2, (2, 2)), (1, (2, BIG)), extents=(2, 3)),
        Layout(4, 1, offset=BIG, swizzle=(1, 0, 1)),
        Layout(2, 1, offset=1, swizzle=(1, 0, -63)),
    ],
    ids=str,
)
def test_a_table_past_int64_is_past_the_limit(layout):
    assert type(error_of(layout.offsets)) is LimitExceeded


def test_a_table_at_the_edge_of_int64_is_exact():
    top = Layout(4, 1, offset=BIG - 4).offsets()
    assert top.tolist() == [BIG - 4, BIG - 3, BIG - 2, BIG - 1]
    bottom = Layout(4, -1, offset=3 - BIG).offsets()
    assert bottom.tolist() == [3 - BIG, 2 - BIG, 1 - BIG, -BIG]
    assert Layout((2, 1), (BIG - 1, HUGE)).offsets().tolist() == [[0], [BIG - 1]]


@pytest.mark.parametrize(
    "composed",
    [
        ComposedLayout(Layout(HUGE, HUGE), Layout(4)),
        ComposedLayout(Layout(4, BIG), Layout(4)),
        ComposedLayout(Layout(HUGE), Layout(4), BIG),
        ComposedLayout(Layout(HUGE), Layout(4, BIG // 8), BIG - 1),
        ComposedLayout(Swizzle(1, 0, 1), Layout(4), BIG),
        ComposedLayout(Swizzle(1, 0, 1), Layout(4, BIG // 8), BIG - 1),
        ComposedLayout(Swizzle(1, 0, -63), Layout(2)),
        ComposedLayout(Swizzle(1, 0, -100), Layout(2)),
    ],
    ids=str,
)
def test_a_composed_table_past_int64_is_past_the_limit(composed):
    """Its exact values, which a call gives, leave int64."""
    exact = [composed(i) for i in range(composed.size)]
    assert max(exact) >= BIG
    assert type(error_of(composed.offsets)) is LimitExceeded


@pytest.mark.parametrize(
    ("swizzle", "array"),
    [
        (Swizzle(1, 0, 100), np.arange(4)),
        (Swizzle(1, 0, 63), np.arange(4)),
        (Swizzle(1, 0, 62), np.arange(4)),
        (Swizzle(1, 0, -62), np.arange(4)),
        (Swizzle(1, 0, -63), np.arange(4)),
        (Swizzle(2, 3, -60), np.arange(32)),
        (Swizzle(1, 0, -7), np.arange(4, dtype=np.int8)),
        (Swizzle(1, 0, -10), np.arange(4, dtype=np.int8)),
        (Swizzle(1, 0, 10), np.arange(4, dtype=np.int8)),
        (Swizzle(1, 0, -7), np.arange(4, dtype=np.uint8)),
        (Swizzle(1, 0, -8), np.arange(4, dtype=np.uint8)),
        (Swizzle(2, 1, 3), np.arange(64, dtype=np.uint8)),
    ],
    ids=lambda x: f"{x.dtype}" if isinstance(x, np.ndarray) else str(x),
)
def test_a_swizzled_array_is_exact_or_refused(swizzle, array):
    bits, base, shift = swizzle.parameters
    exact = []
    for x in array.tolist():
        y = x
        for k in range(base, base + bits):
            source, target = (k + shift, k) if shift >= 0 else (k, k - shift)
            y ^= (x >> source & 1) << target
        exact.append(y)
    try:
        got = swizzle(array)
    except LayoutError:
        return
    assert got.tolist() == exact


def bounded(code: str) -> str:
    """The output of a program that may use 256 MB and a minute."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))\n"
    done = subprocess.run([sys.executable, "-c", limit + code], capture_output=True, text=True, timeout=60)
    return done.stdout.strip() + done.stderr.strip()[-200:]


@pytest.mark.parametrize(
    "call",
    [
        "rl.Layout(2**200).split(1)",
        "rl.Layout(2**200).chunk(2**200)",
        "rl.Layout(2**40).chunk(2**70)",
        "rl.Layout(2, rl.E(2**200))(1)",
        "rl.format_layout(rl.Layout((2**200, 2**200)))",
        "rl.format_layout(rl.Layout((0, 2**200)))",
        "rl.Layout(2**200, 0).preimages(0)",
    ],
)
def test_a_result_too_long_to_hold_is_past_the_limit(call):
    code = f"import relayout as rl\ntry: {call}\nexcept rl.LimitExceeded as e: print(type(e).__name__)"
    assert bounded(code) == "LimitExceeded"


# ---- stride 0 in idx2crd -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "stride", "index"), [((2, 3), (0, 1), 1), ((2, 3), (1, 0), 1), (4, 0, 0), ((2, (3, 2)), (1, (2, 0)), 3)]
)
def test_stride_0_in_idx2crd_has_several_answers(shape, stride, index):
    for call in (lambda: rl.idx2crd(index, shape, stride), lambda: Layout(shape, stride).idx2crd(index)):
        error = error_of(call)
        assert type(error) is NotExpressible
        assert error.index == index
        first, second = error.counterexample
        assert first != second
        assert Layout(shape, stride)(first) == Layout(shape, stride)(second) == index


def test_the_counterexample_of_the_function_are_coordinates():
    first, second = error_of(lambda: rl.idx2crd(3, (2, (3, 2)), (1, (2, 0)))).counterexample
    assert {first, second} == {(1, (1, 0)), (1, (1, 1))}


@pytest.mark.parametrize("index", [1, -1, HUGE])
def test_stride_0_in_idx2crd_may_have_no_answer(index):
    assert type(error_of(lambda: rl.idx2crd(index, 4, 0))) is OutOfBounds
    assert type(error_of(lambda: Layout(4, 0).idx2crd(index))) is OutOfBounds


def test_stride_0_of_size_1_is_harmless():
    assert rl.idx2crd(2, (1, 3), (0, 1)) == (0, 2)
    assert Layout((1, 3), (0, 1)).idx2crd(2) == (0, 2)
    assert rl.idx2crd(0, 1, 0) == 0


def test_preimages_list_what_stride_0_repeats():
    assert Layout((2, 3), (0, 1)).preimages(1) == [(0, 1), (1, 1)]


# ---- values: immutable, pickled, copied ----------------------------------------------------------------------

VALUES = [
    Layout((2, (3, 4)), offset=5, extents=(2, 5), origin=(0, 1), swizzle=(1, 0, 1)),
    Layout(0),
    Layout(()),
    Layout((HUGE, 2), (-HUGE, 0)),
    IDENTITY,
    Swizzle(3, 4, -3),
    E(1, 0) * 3 + E(0),
    ComposedLayout(Swizzle(1, 0, 1), Layout((2, 3)), 7),
    rl.compare(Layout(4), Layout(4, 2)),
    Layout.row_major(2, 3).strided_blocks(),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_values_pickle(value, protocol):
    again = pickle.loads(pickle.dumps(value, protocol))
    assert type(again) is type(value)
    assert again == value
    assert hash(again) == hash(value)
    assert repr(again) == repr(value)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_copy(value):
    assert copy.copy(value) == copy.deepcopy(value) == value


@pytest.mark.parametrize("value", [*VALUES, IDENTITY.unsqueeze(2), IDENTITY.narrow(0, 1, 1)], ids=repr)
def test_repr_evaluates(value):
    assert eval(repr(value), {name: getattr(rl, name) for name in rl.__all__}) == value


ATTRIBUTES = [
    (VALUES[0], ["shape", "stride", "offset", "swizzle", "extents", "origin", "_origin", "_extents", "size", "new"]),
    (Swizzle(3, 4, -3), ["bits", "base", "shift", "new"]),
    (E(1, 0), ["terms", "new"]),
    (ComposedLayout(Layout(4), Layout(4)), ["outer", "inner", "offset", "new"]),
]


@pytest.mark.parametrize(("value", "name"), [(v, n) for v, names in ATTRIBUTES for n in names], ids=str)
def test_values_are_immutable(value, name):
    fresh, before = copy.deepcopy(value), repr(value)
    with pytest.raises(AttributeError):
        setattr(fresh, name, 1)
    with pytest.raises(AttributeError):
        delattr(fresh, name)
    assert repr(fresh) == before


def test_a_layout_does_not_share_the_callers_lists():
    shape, stride, extents = [2, [3, 2]], [1, [2, 6]], [2, 5]
    layout = Layout(shape, stride, extents=extents)
    shape[1].append(9)
    stride[0] = 7
    extents[0] = 1
    assert layout == Layout((2, (3, 2)), (1, (2, 6)), extents=(2, 5))
    assert hash(layout) == hash(Layout((2, (3, 2)), (1, (2, 6)), extents=(2, 5)))


def test_the_table_is_fresh_each_time():
    layout = Layout((2, 3))
    layout.offsets()[:] = -1
    assert layout.offsets().tolist() == [[0, 2, 4], [1, 3, 5]]


# ---- strides in a basis --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: Layout((2, 2), (E(0), 1)), id="Layout((2, 2), (E(0), 1))"),
        pytest.param(lambda: Layout(4, 1, offset=E(0)), id="Layout(4, 1, offset=E(0))"),
        pytest.param(lambda: Layout(4, E(0), offset=3), id="Layout(4, E(0), offset=3)"),
        pytest.param(lambda: Layout(4).with_offset(E(0)), id="Layout(4).with_offset(E(0))"),
        pytest.param(lambda: IDENTITY.with_offset(3), id="IDENTITY.with_offset(3)"),
        pytest.param(lambda: IDENTITY.with_swizzle(Swizzle(1, 0, 1)), id="IDENTITY.with_swizzle(Swizzle(1, 0, 1))"),
        pytest.param(lambda: parse("(2:1) offset 1@0"), id="parse('(2:1) offset 1@0')"),
        pytest.param(lambda: parse("Sw<1,0,1> o 1@0 o 4:1"), id="parse('Sw<1,0,1> o 1@0 o 4:1')"),
        pytest.param(lambda: E(0) + 1, id="E(0) + 1"),
    ],
)
def test_memory_and_coordinates_do_not_mix(call):
    assert type(error_of(call)) is ShapeError


@pytest.mark.parametrize("layout", [IDENTITY, IDENTITY.pick(0, 1), IDENTITY.pick(0, 1).pick(0, 1)], ids=repr)
@pytest.mark.parametrize(
    "question",
    ["offsets", "is_injective", "is_packed", "is_contiguous", "is_fortran_contiguous", "normal_form"],
)
def test_a_layout_of_coordinates_has_no_addresses(layout, question):
    error = error_of(getattr(layout, question))
    assert isinstance(error, ShapeError | NotExpressible)
    assert "coordinate" in error.message


@pytest.mark.parametrize("name", ["cosize", "storage_size", "min_offset", "max_offset"])
def test_a_layout_of_coordinates_spans_no_memory(name):
    assert isinstance(error_of(lambda: getattr(IDENTITY, name)), ShapeError | NotExpressible)


# ---- the errors ----------------------------------------------------------------------------------------------

CODES = {
    LayoutError: "RL000",
    ParseError: "RL001",
    ShapeError: "RL002",
    OutOfBounds: "RL003",
    WindowError: "RL004",
    Overlap: "RL005",
    NotExpressible: "RL006",
    LayoutMismatch: "RL007",
    LimitExceeded: "RL008",
    Undetermined: "RL009",
    rl.Cancelled: "RL010",
    rl.BadFile: "RL011",
    rl.DeviceError: "RL012",
    rl.AmbiguousAxes: "RL013",
    rl.MissingPackage: "RL014",
    rl.UnknownName: "RL015",
    rl.ClusterError: "RL016",
}


@pytest.mark.parametrize(("cls", "code"), CODES.items(), ids=lambda x: getattr(x, "__name__", x))
def test_every_error_class_has_a_stable_code_and_a_way_out(cls, code):
    assert cls.code == cls("x").code == code
    assert issubclass(cls, LayoutError)
    assert issubclass(cls, ValueError)
    assert issubclass(cls, IndexError) is (cls in (OutOfBounds, WindowError))
    assert cls.meaning
    assert cls.way_out
    assert cls.__doc__


def test_no_error_class_is_missing_from_the_list():
    public = {x for x in vars(rl).values() if isinstance(x, type) and issubclass(x, LayoutError)}
    assert public == set(CODES)
    assert set(rl.errors.error_classes()) == set(CODES) - {LayoutError}


RAISED = [
    pytest.param(lambda: parse("(4:"), ParseError, ("text", "position"), id="parse"),
    pytest.param(lambda: parse("(4:1) banana"), ParseError, ("text", "position"), id="parse-word"),
    pytest.param(lambda: Layout((2, 3), (1,)), ShapeError, ("shape", "stride"), id="congruent"),
    pytest.param(lambda: Layout(2.5), ShapeError, ("got",), id="integer"),
    pytest.param(lambda: Layout(-1), ShapeError, ("shape",), id="negative"),
    pytest.param(lambda: Layout(4)(0, 0), ShapeError, ("coord", "shape"), id="rank"),
    pytest.param(lambda: Swizzle(3, 0, 1), ShapeError, ("bits", "base", "shift"), id="swizzle"),
    pytest.param(lambda: parse("4:1", "nope"), ShapeError, ("name",), id="dialect"),
    pytest.param(lambda: rl.inner_product((1, 2), 3), ShapeError, ("a", "b"), id="inner_product"),
    pytest.param(lambda: rl.shape_div((4, 4), (2, 2, 2)), ShapeError, ("a", "b"), id="shape_div-rank"),
    pytest.param(lambda: rl.idx2crd(0, (2, 3), (1,)), ShapeError, ("shape", "stride"), id="idx2crd-congruent"),
    pytest.param(lambda: Layout(4).split(0), ShapeError, ("sizes",), id="split"),
    pytest.param(lambda: Layout(4).chunk(0), ShapeError, ("chunks",), id="chunk"),
    pytest.param(lambda: E(-1), ShapeError, ("path",), id="basis"),
    pytest.param(lambda: E(0) + 1, ShapeError, ("a", "b"), id="basis-sum"),
    pytest.param(lambda: Layout(4)(4), OutOfBounds, ("coord", "shape"), id="coordinate"),
    pytest.param(lambda: Layout(4, 2).idx2crd(1), OutOfBounds, ("index", "layout"), id="hole"),
    pytest.param(lambda: Layout(4)[1], OutOfBounds, ("dim", "rank"), id="dimension"),
    pytest.param(lambda: Layout(4).narrow(0, 3, 2), OutOfBounds, ("dim", "start", "length", "size"), id="narrow"),
    pytest.param(lambda: Layout(4).pick(0, 4), OutOfBounds, ("dim", "index", "size"), id="pick"),
    pytest.param(lambda: Layout(4).tile(2, 2), OutOfBounds, ("at", "sizes"), id="tile"),
    pytest.param(lambda: Layout(4, 1, extents=5), WindowError, ("origin", "extents", "box"), id="window"),
    pytest.param(lambda: Layout(4, 0).idx2crd(0), NotExpressible, ("index", "counterexample"), id="several"),
    pytest.param(lambda: rl.right_inverse(Layout(0)), NotExpressible, ("operation", "layout"), id="empty"),
    pytest.param(lambda: rl.complement(Layout((2, 2), (1, 1))), NotExpressible, ("counterexample",), id="complement"),
    pytest.param(lambda: rl.shape_div(4, 3), NotExpressible, ("a", "b"), id="shape_div"),
    pytest.param(lambda: Layout(nest(65)), LimitExceeded, ("limit",), id="nesting"),
    pytest.param(lambda: parse("(" * 70), LimitExceeded, ("limit",), id="nesting-text"),
    pytest.param(lambda: E(*[0] * 65), LimitExceeded, ("limit",), id="nesting-basis"),
    pytest.param(lambda: parse(" " * (1 << 21)), LimitExceeded, ("limit",), id="text"),
    pytest.param(lambda: Layout(HUGE).offsets(), LimitExceeded, ("limit",), id="table"),
    pytest.param(lambda: Layout(2, HUGE).offsets(), LimitExceeded, ("limit",), id="int64"),
    pytest.param(lambda: rl.format_layout(Layout(HUGE)), LimitExceeded, ("limit",), id="picture"),
]


@pytest.mark.parametrize(("call", "cls", "operands"), RAISED)
def test_a_raised_error_carries_its_operands_as_attributes(call, cls, operands):
    error = error_of(call)
    assert type(error) is cls
    assert error.code == CODES[cls]
    for name in operands:
        assert getattr(error, name) is not None
    for name, operand in error.operands.items():
        assert getattr(error, name) is operand
    with pytest.raises(AttributeError):
        error.no_such_operand  # noqa: B018


@pytest.mark.parametrize(("call", "cls", "operands"), RAISED)
def test_a_raised_error_has_a_hint(call, cls, operands):
    error = error_of(call)
    assert error.hint
    assert error.hint in str(error)


@pytest.mark.parametrize(("call", "cls", "operands"), RAISED)
def test_a_raised_error_pickles_and_copies(call, cls, operands):
    error = error_of(call)
    for again in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error), copy.copy(error)):
        assert type(again) is cls
        assert str(again) == str(error)
        assert (again.message, again.hint, again.operands) == (error.message, error.hint, error.operands)
        assert [getattr(again, name) for name in operands] == [getattr(error, name) for name in operands]


def test_a_parse_error_with_a_hint_pickles():
    error = ParseError("bad", text="(4:x", position=3, hint="write an integer", candidates=[1])
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "bad\n  (4:x\n     ^\nHint: write an integer"
    assert (again.message, again.hint, again.text, again.position) == (error.message, error.hint, "(4:x", 3)
    assert again.candidates == [1]


# ---- texts ---------------------------------------------------------------------------------------------------

JUNK = [
    ("", 0),
    ("   ", 3),
    ("\x00", 0),
    ("(", 1),
    ("()", 2),
    ("(:)", 1),
    ("4", 1),
    ("4:", 2),
    ("4:x", 2),
    ("4:+1", 2),
    ("--4:1", 0),
    ("4.0:1", 1),
    ("4:1.5", 3),
    ("4_4:1", 1),
    ("4:1)", 3),
    ("(4:1", 4),
    ("(4:1))", 5),
    ("(4:1),", 5),
    ("(4:1) x", 6),
    ("(4:1)\n\n x", 8),
    ("(2,,3):(1,2)", 3),
    ("(2 3):(1,2)", 3),
    ("(2, 3]:(1, 2)", 5),
    ("((2, 3):(1, 2)", 14),
    ("((2:1), (3:2))", 6),
    ("(4:1) offset", 12),
    ("(4:1) offset x", 13),
    ("(4:1) offset 1 offset 2", 15),
    ("(4:1) banana 3", 6),
    ("(4:1) swizzle 1", 14),
    ("(4:1) swizzle <1,2>", 18),
    ("(4:1) swizzle <1,2,3", 20),
    ("4:1@", 4),
    ("4:1@-1", 4),
    ("4:1+", 3),
    ("Sw<1,0,1> o 4:1", 13),
    ("Sw<1,0,1> x 0 o 4:1", 10),
    ("²:1", 0),
    ("4:" + "9" * 4301, 2),
    ("(4:1)" + " " * 200 + "!", 205),
    ("(" + "1, " * 100 + "x", 301),
]


@pytest.mark.parametrize(("text", "position"), JUNK, ids=[repr(t[:24]) for t, _ in JUNK])
def test_junk_is_a_parse_error_that_points_at_the_character(text, position):
    error = error_of(lambda: parse(text))
    assert type(error) is ParseError
    assert error.position == position
    assert error.text == text
    lines = str(error).split("\n")
    shown, caret = lines[1], lines[2]
    assert caret.strip() == "^"
    under = shown[caret.index("^") :][:1]
    expected = text[position : position + 1]
    assert under == (expected if expected.isprintable() else " ")
    if "gets past its beginning" in lines[0]:
        assert not text[:position].strip()
        return
    if not expected:
        assert "got the end" in lines[0]
        assert len(shown.rstrip("\n")) <= caret.index("^") + 1
    assert repr(expected) in lines[0] or not expected


@pytest.mark.parametrize(("text", "position"), [("mojo:(4", 7), ("cute: 4:x", 8), ("mojo:", 5), (" cute :4:1)", 10)])
def test_the_position_counts_from_the_start_of_the_whole_text(text, position):
    error = error_of(lambda: parse(text))
    assert type(error) is ParseError
    assert (error.text, error.position) == (text, position)


@pytest.mark.parametrize("bad", [None, 4, b"4:1", ["4:1"]], ids=str)
def test_what_is_no_text_is_refused(bad):
    assert type(error_of(lambda: parse(bad))) is ShapeError
    assert type(error_of(lambda: Layout.parse(bad))) is ShapeError
    assert type(error_of(lambda: parse(bad, "mojo"))) is ShapeError


@pytest.mark.parametrize("name", ["nope", "", 5, object()], ids=["nope", "nothing", "a number", "an object"])
def test_an_unknown_dialect_is_refused(name):
    assert type(error_of(lambda: parse("4:1", name))) is ShapeError
    assert type(error_of(lambda: Layout(4).to(name))) is ShapeError
    assert type(error_of(lambda: rl.format_layout(Layout(4), name))) is ShapeError


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("((2, 3):(1))", ShapeError),
        ("(-2:1)", ShapeError),
        ("2@0:1", ShapeError),
        ("(4:1) swizzle <3,0,1>", ShapeError),
        ("(4:1) extents (1, 2)", ShapeError),
        ("(4:1) extents 5", WindowError),
        ("((2, 3):(1, 2)) extents (1, 1) origin (5, 5)", WindowError),
    ],
)
def test_a_text_of_a_bad_layout_is_the_error_of_that_layout(text, error):
    assert type(error_of(lambda: parse(text))) is error


PIECES = st.sampled_from(
    [
        *"()0123456789:,-_@+<> ",
        "offset",
        "extents",
        "origin",
        "swizzle",
        "Sw",
        " o ",
        "mojo:",
        "cute:",
        "(4:1)",
        "((2, ",
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join), st.text(alphabet="()12:,@-+ <>", max_size=60)))
def test_any_text_is_a_layout_or_a_layout_error(text):
    for dialect in (None, *BUILT_IN):
        try:
            layout = parse(text, dialect)
        except LayoutError:
            continue
        assert type(layout).parse(str(layout)) == layout
        assert eval(repr(layout), vars(rl)) == layout


def mutated(text: str, place: int, piece: str, cut: int) -> str:
    place %= len(text) + 1
    return text[:place] + piece + text[place + cut :]


@given(
    st.sampled_from(
        [
            "((8, (4, 2)):(1, (8, 64))) offset 5 extents (8, 7) origin (0, 1) swizzle <3,4,3>",
            "Sw<3,4,3> o 5 o (_8,(_4,_2)):(_1,(_8,_64))",
            "((2, 2):(1@0, 1@0@1))",
        ]
    ),
    st.integers(0, 100),
    st.one_of(PIECES, st.text(max_size=3)),
    st.integers(0, 4),
)
def test_a_mutated_text_is_a_layout_or_a_layout_error(text, place, piece, cut):
    try:
        layout = parse(mutated(text, place, piece, cut))
    except LayoutError:
        return
    assert type(layout).parse(str(layout)) == layout
