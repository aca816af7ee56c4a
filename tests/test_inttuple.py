"""Nested tuples: structure, products and coordinates against plain enumeration."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import relayout as rl
from support import STRIDES, leaves, like, shapes, volume


@given(shapes())
def test_measures(shape: Any) -> None:
    assert rl.flatten(shape) == tuple(leaves(shape))
    assert rl.product(shape) == volume(shape)
    assert rl.rank(shape) == (len(shape) if isinstance(shape, tuple) else 1)
    each = tuple(volume(s) for s in shape) if isinstance(shape, tuple) else (shape,)
    assert rl.product_each(shape) == each
    assert rl.congruent(shape, shape)
    assert rl.congruent(shape, rl.prefix_product(shape))
    running = 1
    for size, stride in zip(leaves(shape), leaves(rl.prefix_product(shape)), strict=True):
        assert stride == running
        running *= size


@given(shapes())
def test_coordinates_of_every_index(shape: Any) -> None:
    for i in range(volume(shape)):
        coord = rl.idx2crd(i, shape)
        assert rl.congruent(coord, shape)
        rest, digits = i, []
        for size in leaves(shape):
            digits.append(rest % size)
            rest //= size
        assert leaves(coord) == digits
        assert rl.crd2idx(coord, shape) == rl.crd2idx(i, shape) == i
        assert rl.crd2crd(coord, volume(shape), shape) == i
        assert rl.crd2crd(i, shape) == coord


@given(shapes().flatmap(lambda s: st.tuples(st.just(s), like(s, STRIDES))))
def test_strided_coordinates(pair: tuple[Any, Any]) -> None:
    shape, stride = pair
    seen: dict[int, list[int]] = {}
    for i in range(volume(shape)):
        digits = leaves(rl.idx2crd(i, shape))
        index = sum(x * d for x, d in zip(digits, leaves(stride), strict=True))
        assert rl.crd2idx(i, shape, stride) == index
        assert rl.inner_product(rl.idx2crd(i, shape), stride) == index
        seen.setdefault(index, []).append(i)
    for index, found in seen.items():
        if len(found) == 1:
            assert rl.idx2crd(index, shape, stride) == rl.idx2crd(found[0], shape)
        else:
            with pytest.raises(rl.NotExpressible, match="several"):
                rl.idx2crd(index, shape, stride)
    with pytest.raises(rl.OutOfBounds):
        rl.idx2crd(10**6, shape, stride)


def test_structure_relations() -> None:
    assert rl.congruent((1, (2, 3)), (4, (5, 6)))
    assert not rl.congruent((1, (2, 3)), (4, 5))
    assert not rl.congruent(1, (1,))
    assert rl.weakly_congruent((1, 2), (4, (5, 6)))
    assert rl.weakly_congruent(1, (4, 5))
    assert not rl.weakly_congruent((4, (5, 6)), (1, 2))
    assert rl.compatible(24, (4, 6))
    assert rl.compatible((4, 6), ((2, 2), 6))
    assert not rl.compatible(((2, 2), 6), (4, 6))
    assert not rl.compatible((4, 6), (6, 4))
    assert rl.weakly_compatible(4, 8)
    assert rl.weakly_compatible((2, 3), ((2, 2), 6))
    assert not rl.weakly_compatible((3, 3), ((2, 2), 6))
    assert rl.weakly_compatible(0, 0)


def test_shape_div() -> None:
    assert rl.shape_div((3, 4), 6) == (1, 2)
    assert rl.shape_div(12, 4) == 3
    assert rl.shape_div(4, 12) == 1
    assert rl.shape_div((6, 8), (3, 16)) == (2, 1)
    assert rl.shape_div(12, (2, 3)) == 2
    for bad in ((4, 3), (0, 3), (3, 0)):
        with pytest.raises(rl.NotExpressible):
            rl.shape_div(*bad)
    with pytest.raises(rl.ShapeError):
        rl.shape_div((4, 3), (2,))


def test_compact_order() -> None:
    assert rl.compact_order(((3, 2), (2, 5)), ((0, 2), (1, 3))) == ((1, 6), (3, 12))
    assert rl.compact_order((4, 3, 2), (2, 1, 0)) == (6, 2, 1)
    assert rl.compact_order((4, 3, 2), (0, 0, 0)) == (1, 4, 12)
    assert rl.compact_order((4, 3, 2), (1, 0, 0)) == (6, 1, 3)
    assert rl.compact_order(((4, 3), 2), (1, 0)) == ((2, 8), 1)
    assert rl.compact_order((4, 1, 3), (0, 1, 2)) == (1, 0, 4)
    with pytest.raises(rl.ShapeError):
        rl.compact_order((4, 3), (0, 1, 2))


def test_an_int_tuple_is_a_tuple() -> None:
    assert rl.IntTuple(4, rl.IntTuple(2, 2)) == (4, (2, 2))
    assert isinstance(rl.IntTuple(1), tuple)
    assert rl.depth(rl.IntTuple(4, rl.IntTuple(2, 2))) == 2
    assert rl.depth(4) == 0
    assert rl.depth(()) == 1


def test_crd2crd_needs_to_know_where_a_coordinate_comes_from() -> None:
    assert rl.crd2crd((1, 2), 20, (4, 5)) == 9
    assert rl.crd2crd((1, 2), (6, 4), (4, 6)) == (3, 1)
    with pytest.raises(rl.OutOfBounds):
        rl.crd2crd((5, 0), (6, 4), (4, 6))
    for call in (lambda: rl.crd2idx(1, (-2, -3), (1, 5)), lambda: rl.idx2crd(5, (-2, -3))):
        with pytest.raises(rl.ShapeError, match="negative"):
            call()
    assert rl.crd2crd((1, 2), ((2, 2), 5), (4, 5)) == ((1, 0), 2)
    assert rl.crd2crd(((1, 0), 2), (4, 5), ((2, 2), 5)) == (1, 2)
    with pytest.raises(rl.ShapeError, match="src_shape"):
        rl.crd2crd((1, 2), 20)
