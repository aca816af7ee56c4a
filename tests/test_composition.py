"""Composition: whenever a layout exists it is found and right; otherwise the refusal carries a true counterexample."""

from __future__ import annotations

import pickle
from itertools import product as cartesian
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relayout as rl
from relayout import ComposedLayout, E, Layout, Swizzle, composition
from relayout.integers.residues import first_hit, max_remainder
from relayout.layout import carry
from support import coordinates, extended, layouts, leaves, table, volume


def is_hierarchical(values: list[int]) -> bool:
    """Whether some layout of one leaf, split into any digits, has these values."""
    n, steps = len(values), [v - values[0] for v in values]
    if n <= 2 or all(v == k * steps[1] for k, v in enumerate(steps)):
        return True
    return any(
        n % p == 0
        and all(steps[q * p + r] == steps[q * p] + r * steps[1] for q in range(n // p) for r in range(p))
        and is_hierarchical(steps[::p])
        for p in range(2, n)
    )


def a_layout_exists(a: Layout, b: Layout) -> bool:
    """By brute force: is A(B(c)) a sum of one hierarchical function per leaf of B?"""
    sizes, strides = leaves(b.shape), leaves(b.stride)
    truth = {
        c: extended(a, b.offset + sum(x * d for x, d in zip(c, strides, strict=True)))
        for c in cartesian(*[range(n) for n in sizes])
    }
    origin = (0,) * len(sizes)
    lines = [[truth[(*origin[:k], x, *origin[k + 1 :])] for x in range(n)] for k, n in enumerate(sizes)]
    separable = all(
        truth[c] == truth[origin] + sum(line[x] - line[0] for line, x in zip(lines, c, strict=True)) for c in truth
    )
    return separable and all(is_hierarchical(line) for line in lines)


@settings(max_examples=400)
@given(layouts(64, offset=True), layouts(64, offset=True, negative=True))
def test_composition_is_found_exactly_when_it_exists(a: Layout, b: Layout) -> None:
    inner = [b(i) for i in range(b.size)]
    if min(inner) < 0:
        with pytest.raises(rl.OutOfBounds, match="below 0"):
            composition(a, b)
        return
    if not a_layout_exists(a, b):
        with pytest.raises(rl.NotExpressible) as caught:
            composition(a, b)
        error = caught.value
        assert error.value == extended(a, b(error.coordinate))
        assert error.value != error.expected
        return
    result = composition(a, b)
    assert rl.compatible(b.shape, result.shape)
    assert [result(i) for i in range(b.size)] == [extended(a, y) for y in inner]


@given(layouts(64, offset=True, swizzle=True, negative=True), layouts(64, offset=True))
def test_offset_and_swizzle_of_the_outer_layout_stay_outside(a: Layout, b: Layout) -> None:
    try:
        result = composition(a, b)
    except rl.NotExpressible:
        return
    assert result.swizzle == a.swizzle
    inside = Layout(a.shape, a.stride, offset=a.offset)
    for i in range(b.size):
        y = extended(inside, b(i))
        assert result(i) == (a.swizzle(y) if a.swizzle else y)


@given(layouts(64, offset=True, swizzle=True), layouts(64, offset=True, swizzle=True, window=True))
def test_a_composed_layout_is_always_exact(a: Layout, b: Layout) -> None:
    lazy = ComposedLayout(a, b, 3)
    inside = Layout(a.shape, a.stride, offset=a.offset)
    for c in coordinates(b):
        y = extended(inside, b(c) + 3)
        assert lazy(c) == lazy(*c) == (a.swizzle(y) if a.swizzle else y)
    assert lazy.offsets().shape == b.extents
    assert [int(x) for x in lazy.offsets().reshape(-1)] == [lazy(c) for c in coordinates(b)]
    assert (lazy.shape, lazy.size, lazy.rank, lazy.extents) == (b.shape, b.size, b.rank, b.extents)
    assert pickle.loads(pickle.dumps(lazy)) == lazy
    assert hash(pickle.loads(pickle.dumps(lazy))) == hash(lazy)


def test_what_peers_get_wrong_is_refused_with_the_place() -> None:
    with pytest.raises(rl.NotExpressible) as caught:
        composition(Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3)))
    assert caught.value.counterexample == ((2, 1), 8, 7)
    assert "ComposedLayout" in caught.value.hint


def test_carries_that_cancel_are_found() -> None:
    assert composition(Layout((2, 2, 2), (1, 5, 7)), Layout((2, 2), (3, 1))) == Layout((2, 2), (6, 1))


def test_size_one_modes_never_stand_in_the_way() -> None:
    assert composition(Layout((4, 6), (6, 1)), Layout((1, 4), (5, 1))) == Layout((1, 4), (0, 6))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (Layout((2**40, 2**30), (2**30, 1)), Layout(2**70, 1), Layout((2**40, 2**30), (2**30, 1))),
        (Layout((2**40, 2**30), (2**30, 1)), Layout(2**60, 2**10), Layout((2**30, 2**30), (2**40, 1))),
        (Layout(8, 3), Layout(2**100, 1), Layout(2**100, 3)),
        (Layout((4, 8), (8, 1)), Layout(64, 1), Layout((4, 16), (8, 1))),
        (
            Layout((2**64, 2**64, 3), (1, 2**70, 5)),
            Layout((2**64, 2**64), (1, 2**64)),
            Layout((2**64, 2**64), (1, 2**70)),
        ),
    ],
)
def test_large_compositions_take_no_time(a: Layout, b: Layout, expected: Layout) -> None:
    assert composition(a, b) == expected


def test_large_compositions_are_refused_or_left_undecided_but_never_wrong() -> None:
    with pytest.raises(rl.NotExpressible) as caught:
        composition(Layout((6, 2**50), (1, 7)), Layout(2**40, 4))
    assert caught.value.value == extended(Layout((6, 2**50), (1, 7)), 4 * caught.value.coordinate)
    with pytest.raises(rl.NotExpressible):
        composition(Layout((6, 2**50), (1, 7)), Layout((2**40, 5), (3, 2)))
    with pytest.raises(rl.NotExpressible):
        composition(Layout((2**40 + 1, 2), (1, 2**60)), Layout((2**39, 2**20), (3, 5)))
    cancelling = Layout((2**30, 2, 2**30), (1, 2**30 + 1, 2**31 + 1))
    with pytest.raises((rl.LimitExceeded, rl.NotExpressible)):
        composition(cancelling, Layout((2**29, 2**20), (3, 7)))


def test_a_tuple_composes_mode_by_mode() -> None:
    a = Layout((12, (4, 8)), (59, (13, 1)))
    by_mode = composition(a, (Layout(3, 4), Layout(8, 2)))
    assert by_mode == Layout((3, (2, 4)), (236, (26, 1)))
    assert composition(a, (None, 4)) == Layout((12, 4), (59, 13))
    assert composition(a, (3,)) == Layout((3,), (59,))
    assert composition(Layout((4, 6), (6, 1), offset=5, swizzle=(1, 0, 1)), (Layout(2, 1, offset=2), None)) == Layout(
        (2, 6), (6, 1), offset=17, swizzle=(1, 0, 1)
    )
    assert composition(a, None) is a
    with pytest.raises(rl.ShapeError, match="more entries"):
        composition(a, (2, 2, 2))


def test_a_layout_and_a_tuple_as_tiler_differ() -> None:
    a = Layout((8, 16), (16, 1))
    assert composition(a, Layout((4, 8), (1, 4))).size == composition(a, (4, 8)).size == 32
    assert not composition(a, Layout((4, 8), (1, 4))).equivalent(composition(a, (4, 8)))


def test_identity_layouts_carry_coordinates_through() -> None:
    identity = rl.make_identity_layout((8, 6))
    tiled = rl.zipped_divide(identity, (4, 3))
    assert tiled((1, 2), (1, 0)) == (5, 2)
    memory = Layout((8, 6), (1, 100))
    through = composition(memory, tiled)
    for c in coordinates(through):
        assert through(c) == memory(tiled(c))
    sliced = rl.slice_layout((3, None), identity)
    assert sliced(4) == (3, 4)
    assert composition(memory, sliced)(4) == memory(3, 4)


def test_what_cannot_be_composed_with_coordinates() -> None:
    identity = rl.make_identity_layout((4, 4))
    with pytest.raises(rl.NotExpressible):
        composition(identity, identity)
    with pytest.raises(rl.NotExpressible, match="several modes"):
        composition(Layout((4, 4)), Layout(3, E(0) + E(1)))
    for misfit in (E(2), E(1, 1), E(0)):
        with pytest.raises(rl.ShapeError, match="does not fit"):
            composition(Layout((4, 4)), Layout(3, misfit))
    with pytest.raises(rl.OutOfBounds, match="reaches 4 along mode"):
        composition(Layout((4, 4)), Layout(3, E(1) * 2))
    assert composition(Layout((4, 4)), Layout(3, E(1, 0))) == Layout(3, 4)
    assert composition(Layout((4, 4), (10, 1)), rl.slice_layout((2, 3), identity)) == Layout((), (), offset=23)


def test_axes_that_a_slice_leaves_keep_their_place() -> None:
    identity = rl.make_identity_layout((4, (5, 6)))
    assert rl.slice_layout((None, 0), identity)(2) == (2, (0, 0))
    assert identity.pick(1, 0)(2) == (2, (0, 0))
    assert composition(identity, Layout(4, 1))(2) == (2, (0, 0))
    again = Layout.parse(str(identity.pick(1, 0)))
    assert again == identity.pick(1, 0)
    assert again(3) == (3, (0, 0))
    assert rl.parse(identity.pick(1, 0).to("cute")) == again


def test_counterexamples_are_true_under_swizzles_and_coordinates() -> None:
    a, b = Layout((6, 2), (1, 7), swizzle=(2, 0, 3)), Layout((3, 2), (2, 3))
    with pytest.raises(rl.NotExpressible) as caught:
        composition(a, b)
    assert caught.value.value == ComposedLayout(a, b)(caught.value.coordinate)
    a = Layout(((6, 2), 3, 3), ((1, 7), 100, 1000))
    b = Layout((3, 2, 2), (E(0) * 2, E(0) * 3, E(1)), offset=E(2) * 2)
    with pytest.raises(rl.NotExpressible) as caught:
        composition(a, b)
    assert caught.value.value == ComposedLayout(a, b)(caught.value.coordinate)


@pytest.mark.parametrize(
    ("a", "b", "error", "words"),
    [
        (Layout(((4, 2),), extents=(7,)), Layout(2, 1), rl.NotExpressible, "window"),
        (Layout(8, 1), Layout(((4, 2),), extents=(7,)), rl.NotExpressible, "window"),
        (Layout((3, 2), (2, 1)), Layout(6, 1, swizzle=(1, 0, 1)), rl.NotExpressible, "swizzle"),
        (Layout((3, 2), (2, 1)), Swizzle(1, 0, 1), rl.NotExpressible, "swizzle"),
        (Layout(8, 1), "x", rl.ShapeError, "integer"),
        (7, Layout(8, 1), rl.ShapeError, "layouts"),
        (Swizzle(1, 0, 1), 7, rl.ShapeError, "layout"),
        (Layout((4, 0)), Layout(2, 1), rl.OutOfBounds, "empty"),
        (Layout(8, 1), Layout(4, -1), rl.OutOfBounds, "below 0"),
    ],
)
def test_refused_operands(a: Any, b: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        composition(a, b)


def test_empty_inner_layouts_compose_with_anything() -> None:
    assert composition(Layout((4, 6), (7, 1)), Layout((2, 0), (3, 5))).shape == (2, 0)
    assert composition(Layout(0, 1), Layout(0, 1)).size == 0


def test_counting_down() -> None:
    reversed_rows = composition(Layout((4, 6), (6, 1)), Layout(24, -1, offset=23))
    assert [reversed_rows(i) for i in range(24)] == [int(x) for x in table(Layout((4, 6), (6, 1))).flatten("F")][::-1]
    assert volume(reversed_rows.shape) == 24


def test_a_composed_layout_takes_layouts_only() -> None:
    with pytest.raises(rl.ShapeError):
        ComposedLayout(Layout(8, 1), 3)
    double = ComposedLayout(Swizzle(1, 0, 1), ComposedLayout(Swizzle(1, 1, 1), Layout(8, 1)))
    assert [double(i) for i in range(8)] == [Swizzle(1, 0, 1)(Swizzle(1, 1, 1)(i)) for i in range(8)]
    assert [int(x) for x in double.offsets()] == [double(i) for i in range(8)]
    assert str(ComposedLayout(Swizzle(1, 0, 1), Layout(8, 1))) == "<1,0,1> o 0 o (8:1)"
    assert (
        repr(ComposedLayout(Swizzle(1, 0, 1), Layout(8, 1), 2)) == "ComposedLayout(Swizzle(1, 0, 1), Layout(8, 1), 2)"
    )


@given(st.integers(2, 6), st.integers(2, 6))
def test_with_shape_recounts_colexicographically(m: int, n: int) -> None:
    layout = Layout((m * n, 3), (3, 1))
    shaped = rl.with_shape(layout, (m, n, 3))
    assert [shaped(i) for i in range(3 * m * n)] == [layout(i) for i in range(3 * m * n)]


@given(st.integers(1, 60), st.integers(0, 90), st.integers(0, 59), st.data())
def test_remainders_by_euclid_are_the_enumerated_ones(modulus: int, advance: int, start: int, data: Any) -> None:
    low = data.draw(st.integers(0, modulus - 1))
    high = data.draw(st.integers(low, modulus - 1))
    hits = (x for x in range(modulus) if low <= (start + x * advance) % modulus <= high)
    assert first_hit(start, advance, modulus, low, high) == next(hits, None)
    n = data.draw(st.integers(1, 70))
    assert max_remainder(n, advance, modulus) == max(x * advance % modulus for x in range(n))


@settings(max_examples=300)
@given(
    layouts(40, tuples_only=True),
    st.sampled_from([2, 3, 4, 6, 8, 9, 12, 16, 24, 30]),
    st.integers(1, 30),
    st.integers(0, 5),
)
def test_long_leaves_are_decided_without_looking_at_their_elements(a: Layout, n: int, step: int, start: int) -> None:
    b = Layout(n, step, offset=start)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(carry, "BUDGET", 1)
        try:
            result = composition(a, b)
        except rl.NotExpressible as refusal:
            assert not a_layout_exists(a, b)
            assert refusal.value == extended(a, b(refusal.coordinate)) != refusal.expected
        except rl.LimitExceeded as undecided:
            assert undecided.limit == 1
        else:
            assert [result(i) for i in range(n)] == [extended(a, b(i)) for i in range(n)]


def test_long_leaves_by_hand() -> None:
    a = Layout((10**9 + 7, 10**9), (1, 10**10))
    assert composition(a, Layout(10**6, 3)) == Layout(10**6, 3)
    with pytest.raises(rl.NotExpressible) as caught:
        composition(a, Layout(10**9, 3))
    assert caught.value.coordinate == 333_333_336
    blocks = Layout((2**20 * 3, 2**40), (1, 2**30))
    assert composition(blocks, Layout(2**20 * 2**30, 3)) == Layout((2**20, 2**30), (3, 2**30))
    assert composition(blocks, Layout(2**30, 3, offset=3 * 2**20)) == Layout((2**20, 2**10), (3, 2**30), offset=2**30)
    with pytest.raises(rl.NotExpressible):
        composition(blocks, Layout(2**30, 3, offset=3))


# ---- compositions as layouts -----------------------------------------------------------------------------------


@st.composite
def composed(draw: Any) -> ComposedLayout:
    """A layout or a swizzle after a layout of 24 or 32 elements, many of them no layout."""
    outer = draw(
        st.sampled_from([Layout((6, 8), (1, 7)), Layout((3, 16), (16, 1)), Swizzle(2, 0, 2), Swizzle(1, 1, -2)])
    )
    inner = draw(
        st.sampled_from([Layout((4, 6)), Layout((4, 6), (6, 1)), Layout((4, (2, 4)), (8, (4, 1)), swizzle=(1, 0, 2))])
    )
    return ComposedLayout(outer, inner, draw(st.integers(0, 3)))


@given(composed(), st.data())
def test_what_regroups_coordinates_works_on_the_inner_layout(c: ComposedLayout, data: Any) -> None:
    """``op(A o B)`` at a coordinate is A at what ``op(B)`` has there."""
    operations = [
        lambda x: rl.logical_divide(x, (2, 2)),
        lambda x: rl.zipped_divide(x, (2, 3)),
        lambda x: rl.tiled_divide(x, (4, None)),
        lambda x: rl.flat_divide(x, 2),
        lambda x: rl.coalesce(x),
        lambda x: rl.select(x, 1, 0),
        lambda x: rl.group(x, 0, 2),
        lambda x: rl.append(x),
        lambda x: rl.composition(x, Layout(4, 2)),
        lambda x: rl.with_shape(x, (2, 2)),
        lambda x: rl.logical_product(x, Layout(2)),
        lambda x: rl.blocked_product(x, Layout((2, 1))),
        lambda x: rl.slice_layout((None, 1), x),
        lambda x: rl.dice((None, 1), x),
        lambda x: rl.dice((1, 0), x),
        lambda x: rl.dice(3, x),
        lambda x: x.slice(slice(1, 3), 0),
        lambda x: x.view[1, ::2],
    ]
    operation = data.draw(st.sampled_from(operations))
    try:
        inner = operation(c.inner)
    except rl.LayoutError as refusal:
        with pytest.raises(type(refusal)):
            operation(c)
        return
    result = operation(c)
    assert result.extents == inner.extents
    outer = ComposedLayout(c.outer, Layout(1 << 12))
    assert [result(i) for i in range(inner.size)] == [outer(inner(i) + c.offset) for i in range(inner.size)]


@given(composed())
def test_a_composition_measures_and_compares_as_its_values_do(c: ComposedLayout) -> None:
    values = [c(i) for i in range(c.size)]
    assert c.cosize == max(values) + 1
    assert (c.min_offset, c.max_offset) == (min(values), max(values))
    found = c.collapse()
    assert [found(i) for i in range(c.size)] == values
    assert c.equivalent(found)
    assert rl.compare(c, found)
    for k in range(c.rank):
        zeros = [0] * c.rank
        for x in range(c.extents[k]):
            zeros[k] = x
            assert c[k](x) == c(tuple(zeros))
    other = ComposedLayout(c.outer, c.inner, c.offset + 1)
    verdict = rl.compare(c, other)
    differ = [i for i in range(c.size) if c(i) != other(i)]
    assert bool(verdict) == (not differ) == c.equivalent(other)
    if differ:
        assert verdict.coordinate == c.coordinates(differ[0]).modes
        assert verdict.offsets == (c(differ[0]), other(differ[0]))


@st.composite
def deep(draw: Any) -> ComposedLayout:
    """Compositions whose inner or outer one is a composition, with offsets, forwards and backwards."""
    c = draw(composed())
    outer = draw(
        st.sampled_from([Swizzle(1, 0, 3), Swizzle(2, 0, -2), Layout(64, -1, offset=63), Layout((8, 9), (9, 1))])
    )
    offset = draw(st.integers(-1, 4))
    if draw(st.booleans()):
        return ComposedLayout(outer, c, offset)
    return ComposedLayout(ComposedLayout(outer, Layout((8, 9)), 1), c.inner, max(0, offset))


@given(composed() | deep())
def test_inverses_of_compositions(c: ComposedLayout) -> None:
    try:
        values = [c(i) for i in range(c.size)]
    except rl.OutOfBounds:
        return
    try:
        right = rl.right_inverse(c)
        assert [values[right(i)] for i in range(right.size)] == list(range(right.size))
    except rl.NotExpressible:
        pass
    try:
        left = rl.left_inverse(c)
        assert [left(v) for v in values] == [values.index(v) for v in values]
    except rl.NotExpressible:
        pass


def test_inverses_of_compositions_by_hand() -> None:
    sw, backwards = Swizzle(2, 0, 2), Layout(16, -1, offset=15)
    whole = [
        ComposedLayout(sw, ComposedLayout(backwards, Layout((4, 4), swizzle=Swizzle(1, 0, 3)))),
        ComposedLayout(sw, Layout((4, 4), (-1, 4)), 3),
        ComposedLayout(ComposedLayout(backwards, Layout(16, swizzle=Swizzle(1, 0, 3))), Layout((4, 4), (4, 1))),
        ComposedLayout(Layout((4, 8), (8, 1)), Layout((4, 8), (8, 1), swizzle=Swizzle(1, 0, 3)), 0),
    ]
    for c in whole:
        values = [c(i) for i in range(c.size)]
        right, left = rl.right_inverse(c), rl.left_inverse(c)
        assert right.size == c.size
        assert [values[right(i)] for i in range(c.size)] == list(range(c.size)) == [left(v) for v in values]
    high = ComposedLayout(sw, Layout((4, 4), swizzle=Swizzle(1, 0, 3)), 5)
    assert 0 not in [high(i) for i in range(16)]
    with pytest.raises(rl.NotExpressible, match="gives 0 at 0, which"):
        rl.right_inverse(high)
    with pytest.raises(rl.NotExpressible, match="plus 5 has no value"):
        rl.left_inverse(high)
    with pytest.raises(rl.NotExpressible, match="from 0 on"):
        rl.left_inverse(ComposedLayout(sw, ComposedLayout(Swizzle(1, 0, 3), Layout((4, 4), (4, 1))), -1))
    assert [rl.left_inverse(ComposedLayout(sw, Layout(16), 8))(sw(i + 8)) for i in range(16)] == list(range(16))


def test_a_layout_after_a_swizzle_collapses() -> None:
    rows = Layout((8, 8), (8, 1))
    made = ComposedLayout(rows, Layout((8, 8), (8, 1), swizzle=Swizzle(2, 0, -3)))
    assert made.collapse() == Layout((8, 8), (1, 8), swizzle=Swizzle(2, 0, 3))
    assert ComposedLayout(Swizzle(1, 0, 2), Layout((4, 4))).collapse() == Layout((4, 4), swizzle=Swizzle(1, 0, 2))
