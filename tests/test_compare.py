"""Same function or not: the verdict, the first difference and the normal form, against enumeration."""

from __future__ import annotations

import timeit
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relayout as rl
from relayout import Layout, Swizzle, compare
from support import colex, layouts, leaves, table

ANY = layouts(48, window=True, swizzle=True, offset=True, negative=True, tuples_only=True)


@st.composite
def relatives(draw: Any) -> tuple[Layout, Layout]:
    """Two layouts that are often, but not always, the same function written differently."""
    a = draw(ANY)
    b = a
    for change in draw(st.lists(st.sampled_from(["flip", "split", "pad", "stride", "offset", "swizzle"]), max_size=3)):
        dim = draw(st.integers(0, b.rank - 1))
        if change == "flip":
            b = b.flip(dim).flip(dim)
        elif change == "split":
            b = Layout(*split_leaf(b.shape, b.stride), **words(b))
        elif change == "pad":
            shape = (*b.shape[:dim], (b.shape[dim], 3), *b.shape[dim + 1 :])
            stride = (*b.stride[:dim], (b.stride[dim], 77), *b.stride[dim + 1 :])
            b = Layout(shape, stride, **words(b))
        elif change == "stride":
            k = draw(st.integers(0, len(leaves(b.stride)) - 1))
            b = Layout(b.shape, bumped(b.stride, k), **words(b))
        elif change == "offset":
            b = b.with_offset(b.offset + 1)
        else:
            b = b.with_swizzle(draw(st.sampled_from([None, Swizzle(1, 0, 1), Swizzle(1, 9, 1), Swizzle(2, 1, 2)])))
    return a, b


def words(layout: Layout) -> dict[str, Any]:
    return {"offset": layout.offset, "extents": layout.extents, "origin": layout.origin, "swizzle": layout.swizzle}


def split_leaf(shape: Any, stride: Any) -> tuple[Any, Any]:
    """Every even leaf as two digits: the same function."""
    if isinstance(shape, tuple):
        pairs = [split_leaf(s, d) for s, d in zip(shape, stride, strict=True)]
        return tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)
    return ((2, shape // 2), (stride, 2 * stride)) if shape % 2 == 0 else (shape, stride)


def bumped(stride: Any, k: int) -> Any:
    flat = iter([d + (j == k) for j, d in enumerate(leaves(stride))])

    def arrange(t: Any) -> Any:
        return tuple(arrange(e) for e in t) if isinstance(t, tuple) else next(flat)

    return arrange(stride)


@settings(max_examples=400)
@given(relatives())
def test_compare_tells_the_truth_and_the_first_difference(pair: tuple[Layout, Layout]) -> None:
    a, b = pair
    verdict = compare(a, b)
    first, second = colex(a), colex(b)
    if a.extents != b.extents:
        assert not verdict
        assert verdict.domains == (a.extents, b.extents)
        assert "domains" in str(verdict)
    elif first == second:
        assert verdict
        assert verdict.equivalent
        assert a.equivalent(b)
        assert verdict.coordinate is verdict.offsets is verdict.domains is None
        assert str(verdict).startswith("the same function")
    else:
        where = next(i for i in range(a.size) if first[i] != second[i])
        assert not verdict
        assert not a.equivalent(b)
        assert verdict.coordinate == a.coordinates(where).modes
        assert verdict.offsets == (first[where], second[where])
        assert str(verdict.coordinate) in str(verdict)
    assert verdict.same_storage == (a.storage_size == b.storage_size)
    flat = compare(a, b, flat=True)
    assert bool(flat) == (first == second)
    if not flat and len(first) == len(second):
        assert flat.coordinate == next(i for i in range(a.size) if first[i] != second[i])


@given(relatives())
def test_normal_forms_are_equal_exactly_for_equivalent_layouts(pair: tuple[Layout, Layout]) -> None:
    forms = []
    for layout in pair:
        try:
            forms.append(layout.normal_form())
        except rl.NotExpressible:
            assert any(layout.origin)
            return
        assert forms[-1].extents == layout.extents
        assert (table(forms[-1]) == table(layout)).all()
        assert forms[-1].normal_form() == forms[-1]
    if forms[0].swizzle == forms[1].swizzle:
        assert (forms[0] == forms[1]) == bool(compare(*pair))


@given(
    st.lists(st.sampled_from([1, 2, 4]), min_size=1, max_size=4),
    st.lists(st.sampled_from([1, 2, 4]), min_size=1, max_size=4),
    st.sampled_from([None, Swizzle(1, 0, 2), Swizzle(2, 0, 2), Swizzle(1, 1, -1)]),
    st.sampled_from([None, Swizzle(1, 0, 2), Swizzle(2, 0, 3)]),
)
def test_swizzled_powers_of_two_compare_by_bits(a: list[int], b: list[int], s: Any, t: Any) -> None:
    first, second = Layout(tuple(a), swizzle=s), Layout(tuple(b), swizzle=t)
    verdict = compare(first, second, flat=True, limit=0) if first.size == second.size else None
    if verdict is not None:
        assert bool(verdict) == (colex(first) == colex(second))


TINY = st.sampled_from([1, 2, 2, 4])
STEPS = st.sampled_from([0, 1, 1, 2, 2, 3, 4, 4, 6, 8, 16, -1, -2, -4, -8])


@st.composite
def over_bits(draw: Any, sizes: tuple[int, ...]) -> Layout:
    """A layout whose sizes are powers of two, with carries, offsets, negative strides, windows and swizzles."""
    stride = tuple(draw(STEPS) for _ in sizes)
    swizzle = draw(st.sampled_from([None, Swizzle(1, 0, 1), Swizzle(1, 0, 2), Swizzle(2, 1, 2), Swizzle(1, 1, -1)]))
    offset = draw(st.sampled_from([0, 0, 1, 3, 7, 8, 15, -8]))
    if draw(st.booleans()):
        return Layout(sizes, stride, offset=offset, swizzle=swizzle)
    shape = tuple((n, 2) for n in sizes)
    steps = tuple((d, draw(STEPS)) for d in stride)
    origin = tuple(n * draw(st.integers(0, 1)) for n in sizes)
    return Layout(shape, steps, offset=offset, swizzle=swizzle, extents=sizes, origin=origin)


@settings(max_examples=500)
@given(st.data())
def test_powers_of_two_are_decided_over_bits(data: Any) -> None:
    sizes = tuple(data.draw(st.lists(TINY, min_size=1, max_size=3)))
    a, b = data.draw(over_bits(sizes)), data.draw(over_bits(sizes))
    if data.draw(st.booleans()):
        b = a.with_swizzle(b.swizzle)
    first, second = colex(a), colex(b)
    try:
        verdict = compare(a, b, flat=True, limit=0)
    except rl.LimitExceeded:
        # Left open without enumeration: both sums carry, that is, neither is its start XOR its values at powers of two.
        assert not affine(first)
        assert not affine(second)
        return
    where = next((i for i in range(a.size) if first[i] != second[i]), None)
    assert verdict.coordinate == where
    assert bool(verdict) == (where is None)


def affine(values: list[int]) -> bool:
    """Whether the value at ``i`` is the first one XOR the changes at the set bits of ``i``, for every ``i``."""
    for i, x in enumerate(values):
        expected = values[0]
        for k in range(i.bit_length()):
            if i >> k & 1:
                expected ^= values[0] ^ values[1 << k]
        if x != expected:
            return False
    return True


def test_huge_swizzled_layouts_are_decided_over_bits() -> None:
    n = 1 << 40
    rows = Layout((n, 64), (64, 1), swizzle=Swizzle(3, 3, 3))
    assert compare(rows, Layout((n, (8, 8)), (64, (1, 8)), swizzle=Swizzle(3, 3, 3)), limit=0)
    assert compare(rows, Layout((n, 64), (64, 1), swizzle=Swizzle(3, 3, 4)), limit=0).coordinate == (1, 0)
    # A flip is an XOR too: 63 - c is 63 ^ c.
    flipped = Layout((n, 64), (64, -1), offset=63, swizzle=Swizzle(3, 3, 3))
    assert compare(flipped, flipped.with_swizzle(Swizzle(2, 3, 3)), limit=0).coordinate == (4, 0)
    # One sum carries and the other does not: they part where the carry starts.
    carrying, swizzled = Layout((2, 2, n), (1, 3, 8)), Layout((2, 2, n), (1, 2, 8), swizzle=Swizzle(1, 0, 1))
    assert compare(carrying, swizzled, limit=0).coordinate == (1, 1, 0)
    assert compare(swizzled, carrying, limit=0).offsets == (2, 4)
    # Both carry, one of them earlier: 1 + 5 at (1, 0, 1) is no XOR, 1 + 6 is.
    early = Layout((2, 2, 2, n), (1, 2, 5, 16), swizzle=Swizzle(1, 0, 2))
    late = Layout((2, 2, 2, n), (1, 2, 6, 16), swizzle=Swizzle(1, 1, 1))
    for verdict in (compare(early, late, limit=0), compare(late, early, limit=0)):
        assert verdict.coordinate == (1, 0, 1, 0)


def test_windows_that_cut_a_digit_are_no_bits() -> None:
    a = Layout(((4, 4), 2), ((1, 8), 64), extents=(6, 2), swizzle=Swizzle(1, 0, 6))
    assert compare(a, a.with_swizzle(Swizzle(1, 1, 6))).coordinate == (0, 1)


def test_ranks_are_domains() -> None:
    assert not compare(Layout(12, 1), Layout((3, 4)))
    assert compare(Layout(12, 1), Layout((3, 4)), flat=True)
    assert compare(Layout(12, 1), Layout((12,), (1,)))
    assert not compare(Layout(12, 1), Layout((6, 2)).with_offset(1), flat=True)


def test_size_one_strides_never_matter() -> None:
    assert Layout((1, 4), (99, 1)).equivalent(Layout((1, 4), (0, 1)))
    assert Layout((1, 4), (99, 1)) != Layout((1, 4), (0, 1))


def test_slicing_a_crouton_and_laying_out_a_shorter_tensor_are_the_same() -> None:
    crouton = Layout(((8, 4), (8, 2)), ((8, 128), (1, 64)))
    shorter = Layout(((8, 2), (8, 2)), ((8, 128), (1, 64)), extents=(9, 16))
    verdict = compare(crouton.narrow(0, 0, 9), shorter)
    assert verdict
    assert not verdict.same_storage
    assert "storage differs" in str(verdict)


def test_origins_that_start_inside_a_block() -> None:
    a = Layout(((4, 6),), ((1, 10),), extents=(9,), origin=(6,))
    b = Layout(((2, 2, 3),), ((1, 2, 10),), extents=(9,), origin=(2,), offset=10)
    assert compare(a, b)
    with pytest.raises(rl.NotExpressible, match="inside a block"):
        a.normal_form()
    assert compare(a, Layout(((4, 6),), ((1, 10),), extents=(9,), origin=(7,))).coordinate == (0,)


def test_huge_layouts_compare_in_well_under_a_millisecond() -> None:
    a = Layout(((10**3, 10**6), (7, 10**9)), ((1, 10**4), (10**11, 10**13)), extents=(10**9 - 5, 10**9), origin=(3, 11))
    split = Layout(
        ((10, 100, 10**3, 10**3), (7, 10**9)),
        ((1, 10, 10**4, 10**7), (10**11, 10**13)),
        extents=(10**9 - 5, 10**9),
        origin=(3, 11),
    )
    last = Layout(
        ((10**3, 999_999, 2), (7, 10**9)),
        ((1, 10**4, 999_999 * 10**4 + 1), (10**11, 10**13)),
        extents=(10**9 - 5, 10**9),
        origin=(3, 11),
    )
    assert compare(a, split)
    verdict = compare(a, last)
    assert verdict.coordinate == (999_999_000 - 3, 0)
    assert verdict.offsets[1] - verdict.offsets[0] == 1
    assert min(timeit.repeat(lambda: compare(a, split), number=1, repeat=50)) < 1e-3


def test_what_needs_enumeration_is_limited() -> None:
    a = Layout((3**9, 3**9), swizzle=Swizzle(2, 1, 3))
    b = Layout((3**9, 3**9), swizzle=Swizzle(2, 2, 3))
    assert compare(a, b).coordinate == a.coordinates(next(i for i in range(100) if a(i) != b(i))).modes
    with pytest.raises(rl.LimitExceeded, match="undecided") as caught:
        compare(Layout((3**9, 3**9), (1, 3**9 + 5), swizzle=(1, 0, 1)), Layout((3**9, 3**9), (1, 3**9 + 5)), limit=1)
    assert caught.value.limit == 1


def test_a_swizzle_that_moves_nothing_does_not_count() -> None:
    assert compare(Layout((8, 8), swizzle=Swizzle(3, 4, 3)), Layout((8, 8)))
    assert Layout((8, 8), swizzle=Swizzle(3, 4, 3)).normal_form() == Layout((8, 8)).normal_form()


def test_empty_layouts_are_equal_on_equal_domains() -> None:
    assert compare(Layout((0, 4), (5, 7)), Layout((0, 4)))
    assert not compare(Layout((0, 4)), Layout((4, 0)))
    assert Layout((0, 4), (5, 7), offset=3).normal_form() == Layout((0, 4)).normal_form()


def test_compare_takes_layouts() -> None:
    with pytest.raises(rl.ShapeError, match="expected a layout"):
        compare(Layout(4, 1), (4, 1))
    with pytest.raises(rl.ShapeError, match="coordinate"):
        compare(rl.make_identity_layout((4,)), Layout((4,), (1,)))


# ---- one memory, two domains ----------------------------------------------------------------------------------


def numpy_view(a: Layout, verdict: Any) -> Any:
    """The addresses of ``a`` as numpy regroups them."""
    x = a.offsets()
    for name, sizes in verdict.regrouping.steps:
        x = x.reshape(sizes) if name == "reshape" else x.transpose(sizes)
    return x


@st.composite
def one_memory(draw: Any) -> tuple[Layout, Layout]:
    """A layout of which no two elements share a place, and the same memory under cut and reordered dimensions."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    a = Layout.row_major(tuple(sizes)).permute(draw(st.permutations(range(len(sizes)))))
    b = a.permute(draw(st.permutations(range(len(sizes)))))
    dim = draw(st.integers(0, len(sizes) - 1))
    n = b.extents[dim]
    cut = draw(st.sampled_from([k for k in range(1, n + 1) if n % k == 0]))
    b = b.reshape(*b.extents[:dim], n // cut, cut, *b.extents[dim + 1 :])
    return a, b.permute(draw(st.permutations(range(b.rank))))


@given(one_memory())
def test_two_descriptions_of_one_memory_are_told(pair: tuple[Layout, Layout]) -> None:
    for a, b in (pair, pair[::-1]):
        verdict = compare(a, b)
        assert verdict.domains == (a.extents, b.extents)
        assert not verdict
        assert (numpy_view(a, verdict) == b.offsets()).all()
        assert str(verdict).endswith(f"two descriptions of one memory: b is a.{verdict.regrouping}")
        assert eval(f"a.{verdict.regrouping}", {"a": a}).equivalent(b)


@given(ANY, ANY)
def test_a_regrouping_is_only_told_where_it_is_true(a: Layout, b: Layout) -> None:
    verdict = compare(a, b)
    if verdict.regrouping is not None:
        assert (numpy_view(a, verdict) == b.offsets()).all()
        assert a.extents != b.extents


CORE_AI = "shape=[8, 256, 256], strides=[262144, 1024, 4] interleaveLayout=InterleaveLayout(dimension: 0, factor: 4)"
HUGE = 10**30
SPLIT = "shape=[2, 256, 256, 4], strides=[262144, 1024, 4, 1] interleaveLayout=nil"


@pytest.mark.parametrize(
    ("a", "b", "view"),
    [
        (CORE_AI, SPLIT, "reshape(2, 4, 256, 256).permute(0, 2, 3, 1)"),
        (SPLIT, CORE_AI, "permute(0, 3, 1, 2).reshape(8, 256, 256)"),
        ("shape=[2, 3], strides=[3, 1]", "shape=[3, 2], strides=[1, 3]", "permute(1, 0)"),
        ("shape=[2, 3], strides=[3, 1]", "shape=[6], strides=[1]", "reshape(6)"),
        (f"shape=[{HUGE}, 6], strides=[6, 1]", f"(3,2,{HUGE}):(2,1,6)", f"reshape({HUGE}, 3, 2).permute(1, 2, 0)"),
        # Neighbours that are not: the last block is padded, another offset, another stride, another number of elements.
        ("shape=[10, 5] interleaveLayout: .init(dimension: 0, factor: 4)", "shape=[3, 5, 4], strides=[20, 4, 1]", ""),
        ("shape=[2, 3], strides=[3, 1]", "shape=[3, 2], strides=[1, 3] offset=1", ""),
        ("shape=[2, 3], strides=[3, 1]", "shape=[3, 2], strides=[1, 4]", ""),
        ("shape=[2, 3], strides=[3, 1]", "shape=[4], strides=[1]", ""),
    ],
)
def test_core_ais_two_forms_point_at_each_other(a: str, b: str, view: str) -> None:
    verdict = compare(a, b)
    assert verdict.domains is not None
    assert ("" if verdict.regrouping is None else str(verdict.regrouping)) == view


def test_a_dimension_that_ends_inside_a_block_stays_whole() -> None:
    odd = rl.coreai.packed((10, 5, 3), rl.coreai.InterleaveLayout(0, 4))
    verdict = compare(odd, odd.permute(2, 0, 1))
    assert str(verdict.regrouping) == "permute(2, 0, 1)"
    assert (numpy_view(odd, verdict) == odd.permute(2, 0, 1).offsets()).all()
    assert (
        compare(odd, rl.coreai.packed((10, 5, 3), rl.coreai.InterleaveLayout(0, 3)).permute(2, 0, 1)).regrouping is None
    )


def test_one_memory_is_not_claimed_where_it_is_undecided() -> None:
    rows = Layout((3 << 20, 2), (2, 1), swizzle=Swizzle(1, 0, 22))
    verdict = compare(rows, Layout((2, 3 << 20), (1, 2)))
    assert verdict.domains is not None
    assert verdict.regrouping is None
