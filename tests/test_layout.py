"""The value: coordinates, offsets, sizes and predicates agree with an evaluator that enumerates."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relayout as rl
from relayout import E, Layout, Swizzle
from support import colex, coordinates, layouts, leaves, table, value, volume

ANY = layouts(window=True, swizzle=True, offset=True, negative=True)


@given(ANY)
def test_every_form_of_a_coordinate_gives_the_enumerated_offset(layout: Layout) -> None:
    truth = table(layout)
    assert [layout(i) for i in range(layout.size)] == colex(layout)
    for i, c in enumerate(sorted(coordinates(layout), key=lambda c: c[::-1])):
        names = layout.coordinates(i)
        assert names.integer == i
        assert names.modes == c
        assert layout(c) == layout(*c) == layout(names.natural) == truth[c]
        assert layout.coordinates(names.natural) == layout.coordinates(c) == names


@given(ANY)
def test_offsets_is_the_table_of_all_calls(layout: Layout) -> None:
    got = layout.offsets()
    assert got.dtype == np.int64
    assert got.shape == layout.extents
    assert got.flags.c_contiguous
    assert (got == table(layout)).all()


@given(ANY)
def test_range_and_sizes(layout: Layout) -> None:
    values = colex(layout)
    assert layout.size == rl.size(layout) == len(values)
    assert (layout.min_offset, layout.max_offset) == (min(values), max(values))
    assert layout.padded_size == volume(layout.shape)
    assert layout.cosize == 1 + sum(
        (s - 1) * abs(d) for s, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True)
    )


@given(ANY)
def test_storage_holds_the_whole_box_and_is_rounded_only_where_the_swizzle_needs_it(layout: Layout) -> None:
    plain_end = max(colex(Layout(layout.shape, layout.stride, offset=layout.offset))) + 1
    end = max(colex(Layout(layout.shape, layout.stride, offset=layout.offset, swizzle=layout.swizzle))) + 1
    period = layout.swizzle.period if layout.swizzle else 1
    assert layout.storage_size == (plain_end if end <= plain_end else -(-plain_end // period) * period)


@given(ANY)
def test_predicates_mean_what_they_say(layout: Layout) -> None:
    values = colex(layout)
    row_major = [int(x) for x in table(layout).reshape(-1)]
    distinct = len(set(values))
    no_holes = distinct == max(values) - min(values) + 1
    assert layout.is_injective() == (distinct == len(values))
    assert layout.is_packed() == no_holes
    assert layout.is_bijective() == (no_holes and distinct == len(values))
    assert layout.is_contiguous() == all(b - a == 1 for a, b in pairwise(row_major))
    assert layout.is_fortran_contiguous() == all(b - a == 1 for a, b in pairwise(values))


@given(ANY, st.data())
def test_preimages_are_all_coordinates_of_an_offset(layout: Layout, data: Any) -> None:
    offset = data.draw(st.sampled_from([*colex(layout), 10**6]))
    truth = [c for c in sorted(coordinates(layout), key=lambda c: c[::-1]) if value(layout, c) == offset]
    assert [layout.coordinates(c).modes for c in layout.preimages(offset)] == truth
    if len(truth) == 1:
        assert layout.coordinates(layout.idx2crd(offset)).modes == truth[0]
    elif truth:
        with pytest.raises(rl.NotExpressible, match="several coordinates") as caught:
            layout.idx2crd(offset)
        assert set(caught.value.counterexample) <= set(truth)
    else:
        with pytest.raises(rl.OutOfBounds, match="no coordinate"):
            layout.idx2crd(offset)


@given(ANY)
def test_a_layout_is_the_sum_of_its_modes(layout: Layout) -> None:
    modes = list(layout)
    assert len(modes) == len(layout) == layout.rank == rl.rank(layout)
    for c in coordinates(layout):
        total = layout.offset + sum(m(x) for m, x in zip(modes, c, strict=True))
        assert layout(c) == (layout.swizzle(total) if layout.swizzle else total)


@given(ANY)
def test_text_and_pickle_give_the_same_layout_back(layout: Layout) -> None:
    assert Layout.parse(str(layout)) == layout
    assert eval(repr(layout), {"Layout": Layout, "Swizzle": Swizzle}) == layout
    assert pickle.loads(pickle.dumps(layout)) == layout
    assert hash(pickle.loads(pickle.dumps(layout))) == hash(layout)
    assert layout.copy() == layout


@given(st.lists(st.integers(0, 4), max_size=4))
def test_row_and_column_major_are_numpys(shape: list[int]) -> None:
    count = int(np.prod(shape, dtype=int))
    rows = np.arange(count).reshape(shape)
    assert (Layout.row_major(tuple(shape)).offsets() == rows).all()
    assert (Layout.col_major(tuple(shape)).offsets() == np.arange(count).reshape(shape, order="F")).all()
    if all(shape):
        assert Layout.row_major(tuple(shape)).stride == tuple(s // 8 for s in rows.strides)


def test_the_default_is_cutes_compact_column_major() -> None:
    assert Layout((4, 1, 3)).stride == (1, 0, 4)
    assert Layout(((2, 3), 4)).stride == ((1, 2), 6)
    assert Layout.col_major(4, 1, 3) == Layout((4, 1, 3))


def test_a_sparse_layout() -> None:
    sparse = Layout(4, 2)
    assert (sparse.size, sparse.cosize, rl.size(sparse), rl.cosize(sparse)) == (4, 7, 4, 7)
    assert (sparse.rank, sparse.depth, rl.depth(sparse)) == (1, 0, 0)


def test_cosize_takes_strides_without_their_sign() -> None:
    assert Layout(4, -1).cosize == 4


def test_a_one_tuple_is_not_its_entry() -> None:
    assert Layout((4,), (1,)) != Layout(4, 1)
    assert Layout((4,), (1,)).equivalent(Layout(4, 1))
    assert str(Layout((4,), (1,))) == "((4):(1))"


def test_the_window_is_only_a_domain() -> None:
    whole = Layout(((4, 2), 3), ((1, 12), 4), extents=(8, 3))
    assert not whole.windowed
    assert whole == Layout(((4, 2), 3), ((1, 12), 4))
    part = Layout(((4, 2), 3), ((1, 12), 4), extents=(5, 3), origin=(2, 0))
    assert part.windowed
    assert (part.extents, part.origin, part.size, part.padded_size) == ((5, 3), (2, 0), 15, 24)
    assert part.padded_shape == (8, 3)
    assert part.storage_size == 24
    assert Layout((8, 2), origin=(3, 0)).extents == (5, 2)


def test_modes_with_a_window_stay_one_mode() -> None:
    part = Layout(((4, 2), 3), ((1, 12), 4), extents=(5, 3), origin=(2, 0))
    assert part[0] == Layout(((4, 2),), ((1, 12),), extents=(5,), origin=(2,))
    assert part[1] == Layout(3, 4)
    assert Layout(((4, 2), 3))[0] == Layout((4, 2))
    assert Layout((4, 2))[-1] == Layout(2, 4)


def test_slicing_is_for_views() -> None:
    for key in (slice(0, 2), (0, 1)):
        with pytest.raises(rl.ShapeError, match="view"):
            Layout((4, 2))[key]
    with pytest.raises(rl.OutOfBounds):
        Layout((4, 2))[2]


def test_the_designs_example_of_str() -> None:
    text = "((8, (4, 2)):(1, (8, 64))) offset 5 extents (8, 7) origin (0, 1) swizzle <3,4,3>"
    layout = Layout.parse(text)
    assert layout == Layout(
        (8, (4, 2)), (1, (8, 64)), offset=5, extents=(8, 7), origin=(0, 1), swizzle=Swizzle(3, 4, 3)
    )
    assert str(layout) == text


def test_rank_zero() -> None:
    scalar = Layout((), (), offset=7)
    assert scalar() == scalar(()) == scalar(0) == 7
    assert (scalar.size, scalar.rank, scalar.cosize, scalar.storage_size) == (1, 0, 1, 8)
    assert scalar.offsets().shape == ()
    assert scalar.idx2crd(7) == ()


def test_huge_layouts_are_answered_at_once() -> None:
    huge = Layout(((2**40, 2**30), 2**50), ((2**50, 2**100), 1), offset=2**200)
    top = huge(huge.size - 1)
    assert top == 2**200 + (2**40 - 1) * 2**50 + (2**30 - 1) * 2**100 + 2**50 - 1
    assert huge.max_offset == top
    assert huge.is_injective()
    assert not huge.is_packed()
    assert huge.idx2crd(top) == ((2**40 - 1, 2**30 - 1), 2**50 - 1)
    assert Layout.row_major(2**40, 2**40).is_contiguous()
    swizzled = Layout((2**30, 64), (64, 1), swizzle=Swizzle(3, 3, 3))
    assert swizzled.is_bijective()
    assert (swizzled.min_offset, swizzled.max_offset, swizzled.storage_size) == (0, 2**36 - 1, 2**36)
    window = Layout(((8, 2**40),), ((1, 100),), extents=(2**42,), origin=(5,))
    assert window.min_offset == 5
    assert window.max_offset == max(window(2**42 - 1), window(2**42 - 6))
    assert window.is_injective()


def test_storage_is_not_rounded_for_a_swizzle_that_moves_nothing() -> None:
    assert Layout(4, 1, swizzle=(1, 0, 30)).storage_size == 4
    assert Layout(4, -1, offset=-10).storage_size == 0


def test_narrowed_blocks_of_many_dimensions_are_injective_at_once() -> None:
    blocked = Layout(((4, 4),) * 7)
    for k in range(7):
        blocked = blocked.narrow(k, 1, 14)
    assert blocked.is_injective()


def test_tables_may_pass_through_any_numbers() -> None:
    assert Layout(2, 2**64 - 1, offset=-(2**63)).offsets().tolist() == [-(2**63), 2**63 - 1]
    with pytest.raises(rl.LimitExceeded, match="dimensions"):
        Layout((1,) * 70).offsets()
    many = Layout((2,) * 1200, tuple(2**k for k in range(1200)))
    assert many.is_injective()
    assert many.idx2crd(5)[:4] == (1, 0, 1, 0)


def test_swizzles_of_long_periods() -> None:
    wide = Swizzle(2, 10, 20)
    quiet = Layout((4, 1000), (1000, 1), swizzle=wide)
    assert (quiet.min_offset, quiet.max_offset, quiet.storage_size) == (0, 3999, 4000)
    moving = Layout((4, 2**31), (2**31, 1), swizzle=wide)
    assert moving.storage_size == 2**33
    with pytest.raises(rl.LimitExceeded, match="period"):
        assert moving.max_offset
    assert Layout(3, 2**30, swizzle=wide).storage_size == 2**32
    with pytest.raises(rl.OutOfBounds, match="empty"):
        assert Layout((0, 4)).max_offset


def test_windows_that_fall_apart_are_limited() -> None:
    shattered = Layout(((2, 2, 2, 2),) * 4, ((1, 3, 5, 7),) * 4)
    for k in range(4):
        shattered = shattered.narrow(k, 1, 14)
    with pytest.raises(rl.LimitExceeded, match="boxes"):
        shattered.preimages(20)
    assert Layout(((2, 2),), ((1, 1),), extents=(2,), origin=(1,)).is_injective() is False
    assert Layout(((2, 2),), ((1, 1),), extents=(2,)).is_injective()
    with pytest.raises(rl.LimitExceeded, match="packed"):
        Layout(((2, 2**20), 2), ((1, 2), 1), extents=(2**21 - 1, 2)).is_packed()


def test_interleaving_strides_are_searched_or_left_undecided() -> None:
    assert Layout((3, 2), (2, 3)).is_injective()
    assert not Layout((4, 3), (2, 3)).is_injective()
    many = Layout((97,) * 12, tuple(10**6 + k * k * 7919 for k in range(12)))
    with pytest.raises(rl.LimitExceeded, match="undecided"):
        many.preimages(10**8 + 12345)


def test_basis_strides_give_coordinates() -> None:
    identity = rl.make_identity_layout((4, (2, 3)))
    assert str(identity) == "((4, (2, 3)):(1@0, (1@0@1, 1@1@1)))"
    assert Layout.parse(str(identity)) == identity
    assert eval(repr(identity), {"Layout": Layout, "E": E}) == identity
    for i in range(4):
        for j in range(2):
            for k in range(3):
                assert identity(i, (j, k)) == (i, (j, k))
    assert identity(5) == (1, (1, 0))
    assert Layout(3, E(1) * 2)(2) == (0, 4)
    assert rl.make_identity_layout(5)(3) == 3
    for refused in (lambda: identity.cosize, identity.offsets, identity.is_injective, lambda: rl.complement(identity)):
        with pytest.raises(rl.LayoutError, match="coordinate"):
            refused()


def test_basis_arithmetic() -> None:
    assert E(0) * 2 + E(1) - E(0) == E(0) + E(1)
    assert E(0) - E(0) == E(0) * 0 != 0
    assert str(E(1, 0) * 3) == "3@0@1"
    assert repr(E(1, 0) * 3 + E(0)) == "E(0) + E(1, 0) * 3"
    assert 0 - E(0) == -E(0)
    with pytest.raises(rl.ShapeError):
        E(0) + 1
    with pytest.raises(rl.ShapeError):
        E()
    with pytest.raises(rl.ShapeError):
        E(-1)
    with pytest.raises(rl.ShapeError, match="submodes"):
        Layout((2, 2), (E(0), E(0, 1)))(0)


@given(st.integers(0, 4), st.integers(0, 4), st.integers(-6, 6), st.integers(0, 2**12))
def test_a_swizzle_permutes_each_period(bits: int, base: int, shift: int, x: int) -> None:
    if abs(shift) < bits:
        with pytest.raises(rl.ShapeError, match="shift"):
            Swizzle(bits, base, shift)
        return
    swizzle = Swizzle(bits, base, shift)
    truth = value(Layout((), (), offset=x, swizzle=swizzle), ())
    assert swizzle(x) == truth
    assert swizzle(truth) == x
    assert truth // swizzle.period == x // swizzle.period
    assert (swizzle(np.array([x, x + 1])) == [swizzle(x), swizzle(x + 1)]).all()
    assert eval(repr(swizzle)) == swizzle
    assert pickle.loads(pickle.dumps(swizzle)) == swizzle


def test_a_swizzle_on_a_layout_becomes_its_swizzle() -> None:
    rows = Layout((8, 64), (64, 1))
    assert Swizzle(3, 3, 3)(rows) == rl.composition(Swizzle(3, 3, 3), rows) == rows.with_swizzle(Swizzle(3, 3, 3))
    assert Swizzle(0, 3, 3)(rows) == rows
    with pytest.raises(rl.NotExpressible, match="already"):
        Swizzle(3, 3, 3)(Swizzle(3, 3, 3)(rows))
