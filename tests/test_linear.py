"""Linear layouts over GF(2): judged by XOR and matrix products over plain data, by enumeration, and by Triton."""

from __future__ import annotations

import copy
import pickle
from itertools import product as cartesian
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import relayout as rl
from relayout import Layout, Swizzle
from relayout.algebra.linear import LinearLayout
from support import coordinates, layouts, leaves, value

# ---- strategies and the truth --------------------------------------------------------------------------------

BITS = st.integers(0, 3)


@st.composite
def linears(draw: Any, ins: str = "abc", outs: str = "xyz", bits: st.SearchStrategy[int] = BITS) -> LinearLayout:
    """Any layout between some of the named dimensions; many bases are 0 or single bits."""
    sizes = {n: 1 << draw(bits) for n in outs if draw(st.booleans())}
    entries = [st.one_of(st.just(0), st.integers(0, s - 1)) for s in sizes.values()]
    bases = {n: [draw(st.tuples(*entries)) for _ in range(draw(bits))] for n in ins if draw(st.booleans())}
    return LinearLayout(bases, sizes)


@st.composite
def invertibles(draw: Any, most: int = 6) -> LinearLayout:
    """A permutation of bits with some bits added to others, cut into dimensions on both sides."""
    n = draw(st.integers(0, most))
    columns = [1 << k for k in draw(st.permutations(range(n)))]
    for _ in range(draw(st.integers(0, 8)) if n > 1 else 0):
        a, b = draw(st.sampled_from([(i, j) for i in range(n) for j in range(n) if i != j]))
        columns[a] ^= columns[b]
    cut, other = draw(st.integers(0, n)), draw(st.integers(0, n))
    basis = [(c % (1 << other), c >> other) for c in columns]
    return LinearLayout({"a": basis[:cut], "b": basis[cut:]}, {"x": 1 << other, "y": 1 << n - other})


def inputs(layout: LinearLayout) -> list[dict[str, int]]:
    """Every coordinate, the first dimension fastest."""
    sizes = layout.in_dims
    return [dict(zip(sizes, c[::-1], strict=True)) for c in cartesian(*[range(s) for s in list(sizes.values())[::-1]])]


def truth(bases: Any, names: list[str], coordinate: dict[str, int]) -> dict[str, int]:
    """The XOR of the bases at the set bits."""
    total = dict.fromkeys(names, 0)
    for dim, vectors in bases.items():
        for k, vector in enumerate(vectors):
            if coordinate[dim] >> k & 1:
                for name, x in zip(names, vector, strict=True):
                    total[name] ^= x
    return total


def bit_vector(coordinate: dict[str, int], sizes: dict[str, int]) -> Any:
    """The bits of a coordinate: low bits of the first dimension first."""
    return np.array([coordinate[n] >> k & 1 for n, s in sizes.items() for k in range(s.bit_length() - 1)], np.uint8)


def rank(matrix: Any) -> int:
    """The rank over GF(2), by elimination on a numpy matrix."""
    m, found = matrix.copy() % 2, 0
    for column in range(m.shape[1]):
        pivots = np.flatnonzero(m[found:, column])
        if pivots.size:
            m[[found, found + pivots[0]]] = m[[found + pivots[0], found]]
            others = np.flatnonzero(m[:, column])
            m[others[others != found]] ^= m[found]
            found += 1
    return found


# ---- the function --------------------------------------------------------------------------------------------


@given(linears())
def test_values_are_xors_of_bases_and_products_with_the_matrix(layout: LinearLayout) -> None:
    names = list(layout.out_dims)
    matrix = layout.matrix()
    assert matrix.dtype == np.uint8
    for i, c in enumerate(inputs(layout)):
        expected = truth(layout.bases, names, c)
        assert layout.apply(c) == layout.apply(**c) == expected
        values = tuple(expected.values())
        result = values[0] if len(values) == 1 else values
        assert layout(i) == layout(c) == layout(tuple(c.values())) == result
        if len(c) > 1:
            assert layout(*c.values()) == layout(**c) == result
        assert (matrix @ bit_vector(c, layout.in_dims) % 2 == bit_vector(expected, layout.out_dims)).all()


@given(linears(), st.sampled_from(["int64", "uint8", "int8", "uint64", "int32"]))
def test_arrays_are_mapped_element_by_element(layout: LinearLayout, dtype: str) -> None:
    every = inputs(layout)
    arrays = {n: np.array([c[n] for c in every], dtype) for n in layout.in_dims}
    for name, values in layout.apply(arrays).items():
        assert np.broadcast_to(values, len(every)).tolist() == [layout.apply(c)[name] for c in every]
    flat = layout(np.arange(len(every)))
    for column, name in zip([flat] if len(layout.out_dims) == 1 else flat, layout.out_dims, strict=True):
        assert column.dtype == np.int64
        assert column.tolist() == [layout.apply(c)[name] for c in every]


def test_arrays_broadcast_and_mix_with_integers() -> None:
    layout = LinearLayout({"r": [(1,), (2,)], "c": [(5,), (8,)]}, {"o": 16})
    expected = [[layout(r, c) for c in range(4)] for r in range(4)]
    assert layout(np.arange(4)[:, None], np.arange(4)).tolist() == expected
    assert layout(r=3, c=np.arange(4)).tolist() == expected[3]
    assert layout(np.int16(3), np.array(2)) == expected[3][2]
    assert type(layout(np.int16(3), np.array(2))) is int
    assert layout(np.zeros((0, 3), int), 1).shape == (0, 3)


def test_many_bits() -> None:
    wide = LinearLayout.identity_1d(1 << 63, "x", "y") * LinearLayout.identity_1d(1 << 200, "z", "z")
    assert wide(x=(1 << 63) - 1, z=1 << 199) == ((1 << 63) - 1, 1 << 199)
    for layout in (wide, LinearLayout.identity_1d(1 << 64, "x", "y") * LinearLayout.zeros_1d(1, "z", "z")):
        with pytest.raises(rl.LimitExceeded, match="int64"):
            layout(np.arange(4), 0)
    reversed_bits = LinearLayout({"x": [(1 << 63 - k,) for k in range(1, 64)] + [(1,)]}, {"y": 1 << 63})
    x = np.array([1, 1 << 62, 1 << 63, (1 << 64) - 1], np.uint64)
    assert reversed_bits(x).tolist() == [1 << 62, 1, 1, (1 << 63) - 2]
    assert [reversed_bits(int(v)) for v in x] == [1 << 62, 1, 1, (1 << 63) - 2]


@given(linears())
def test_onto_and_one_to_one(layout: LinearLayout) -> None:
    outputs = {tuple(layout.apply(c).values()) for c in inputs(layout)}
    size_in, size_out = (int(np.prod([*dims.values()], dtype=int)) for dims in (layout.in_dims, layout.out_dims))
    assert layout.is_surjective() == (len(outputs) == size_out)
    assert layout.is_injective() == (len(outputs) == size_in)
    assert layout.is_invertible() == (layout.is_surjective() and layout.is_injective())
    assert len(outputs) == 1 << rank(layout.matrix())


# ---- combining -----------------------------------------------------------------------------------------------


@st.composite
def successions(draw: Any) -> tuple[LinearLayout, LinearLayout]:
    """A layout, and one that takes its outputs, in any order and at most twice as large."""
    inner = draw(linears())
    vectors = st.tuples(st.integers(0, 7), st.integers(0, 3))
    bits = {n: inner.out_dims[n].bit_length() - 1 for n in draw(st.permutations(list(inner.out_dims)))}
    bases = {n: [draw(vectors) for _ in range(k + draw(st.integers(0, 1)))] for n, k in bits.items()}
    return inner, LinearLayout(bases, {"p": 8, "q": 4})


@given(successions())
def test_composition_is_one_after_the_other(pair: tuple[LinearLayout, LinearLayout]) -> None:
    inner, outer = pair
    result = inner.compose(outer)
    assert (result.in_dims, result.out_dims) == (inner.in_dims, outer.out_dims)
    for c in inputs(inner):
        assert result.apply(c) == outer.apply(inner.apply(c))
    if inner.out_dims == outer.in_dims:
        aligned = outer.transpose_ins(list(inner.out_dims))
        assert (result.matrix() == aligned.matrix() @ inner.matrix() % 2).all()


@given(invertibles())
def test_the_inverse_undoes_the_layout(layout: LinearLayout) -> None:
    inverse = layout.invert()
    assert (inverse.in_dims, inverse.out_dims) == (layout.out_dims, layout.in_dims)
    assert (inverse.matrix() @ layout.matrix() % 2 == np.eye(len(layout.matrix()), dtype=int)).all()
    for c in inputs(layout):
        assert inverse.apply(layout.apply(c)) == c
    assert inverse.invert() == layout
    assert inverse == layout.pseudo_invert()


@given(linears())
def test_an_inverse_exists_or_the_counterexample_shows_why_not(layout: LinearLayout) -> None:
    outputs = [layout.apply(c) for c in inputs(layout)]
    try:
        inverse = layout.invert()
    except rl.NotExpressible as refused:
        if isinstance(refused.counterexample, tuple):
            one, two = refused.counterexample
            assert one != two
            assert layout.apply(one) == layout.apply(two)
        else:
            assert refused.counterexample not in outputs
            assert all(0 <= refused.counterexample[n] < s for n, s in layout.out_dims.items())
    else:
        assert [inverse.apply(y) for y in outputs] == inputs(layout)


@given(linears())
def test_the_pseudo_inverse_gives_the_smallest_input(layout: LinearLayout) -> None:
    smallest: dict[Any, dict[str, int]] = {}
    for c in inputs(layout):
        smallest.setdefault(tuple(layout.apply(c).values()), c)
    try:
        inverse = layout.pseudo_invert()
    except rl.NotExpressible as refused:
        assert tuple(refused.counterexample.values()) not in smallest
        return
    assert len(smallest) == len(inputs(inverse))
    for y in inputs(inverse):
        assert inverse.apply(y) == smallest[tuple(y.values())]


@st.composite
def conversions(draw: Any) -> tuple[LinearLayout, LinearLayout]:
    """Two layouts into the same outputs, the second at least as large; they often share dimensions."""
    inner = draw(linears())
    names = draw(st.permutations(list(inner.out_dims)))
    sizes = {n: inner.out_dims[n] << draw(st.integers(0, 1)) for n in names}
    place = [list(inner.out_dims).index(n) for n in names]
    bases: dict[str, Any] = {}
    for n in draw(st.lists(st.sampled_from("abcde"), unique=True, max_size=3)):
        if n in inner.bases and draw(st.booleans()):
            bases[n] = [tuple(v[k] for k in place) for v in inner.bases[n]]
        else:
            entries = st.tuples(*[st.one_of(st.just(0), st.integers(0, s - 1)) for s in sizes.values()])
            bases[n] = draw(st.lists(entries, max_size=3))
    return inner, LinearLayout(bases, sizes)


SHARED = LinearLayout({"w": [(1,)], "l": [(3,)]}, {"x": 4}), LinearLayout({"w": [(1,)], "l": [(2,)]}, {"x": 4})
"""The first needs the dimension that both share for another one too."""


@settings(max_examples=200)
@given(conversions())
@example(SHARED)
def test_invert_and_compose_finds_an_input_of_the_same_output(pair: tuple[LinearLayout, LinearLayout]) -> None:
    inner, outer = pair
    reached = [outer.apply(c) for c in inputs(outer)]
    try:
        result = inner.invert_and_compose(outer)
    except rl.NotExpressible as refused:
        assert refused.counterexample not in reached
        assert refused.counterexample in [inner.apply(c) for c in inputs(inner)]
        return
    assert (result.in_dims, result.out_dims) == (inner.in_dims, outer.in_dims)
    for c in inputs(inner):
        assert outer.apply(result.apply(c)) == inner.apply(c)


@given(linears("ab", "xy"), linears("bc", "yz"))
def test_the_product_puts_the_second_above_the_first(low: LinearLayout, high: LinearLayout) -> None:
    both = low * high
    assert list(both.in_dims) == [n for n in "abc" if n in {**low.in_dims, **high.in_dims}]
    assert list(both.out_dims) == [n for n in "xyz" if n in {**low.out_dims, **high.out_dims}]
    for c in inputs(both):
        below = low.apply({n: c[n] % s for n, s in low.in_dims.items()})
        above = high.apply({n: c[n] // low.in_dims.get(n, 1) for n in high.in_dims})
        expected = {n: below.get(n, 0) + above.get(n, 0) * low.out_dims.get(n, 1) for n in both.out_dims}
        assert both.apply(c) == expected
    assert low * LinearLayout() == LinearLayout() * low == low


# ---- dimensions ----------------------------------------------------------------------------------------------


@given(linears(), st.data())
def test_reordering_reshaping_and_restricting(layout: LinearLayout, data: Any) -> None:
    ins, outs = (data.draw(st.permutations(list(d))) for d in (layout.in_dims, layout.out_dims))
    turned = layout.transpose_ins(ins).transpose_outs(outs)
    assert (list(turned.in_dims), list(turned.out_dims)) == (ins, outs)
    flat = layout.flatten_ins().flatten_outs()
    assert list(flat.in_dims) == list(layout.in_dims)[:1]
    assert list(flat.out_dims) == list(layout.out_dims)[:1]
    some_in, some_out = (data.draw(st.permutations(n)) for n in (ins[:2], outs[:2]))
    part = layout.sublayout(some_in, some_out)
    assert list(part.in_dims) == [n for n in layout.in_dims if n in some_in]
    assert part.out_dims == {n: s for n, s in layout.out_dims.items() if n in some_out}
    for i, c in enumerate(inputs(layout)):
        assert turned.apply(c) == layout.apply(c)
        packed, weight = 0, 1
        for n, s in layout.out_dims.items():
            packed, weight = packed + weight * layout.apply(c)[n], weight * s
        assert flat(i) == (packed if layout.out_dims else ())
        if not any(x for n, x in c.items() if n not in some_in):
            assert part.apply({n: c[n] for n in some_in}) == {n: layout.apply(c)[n] for n in part.out_dims}
    assert flat.reshape_ins(layout.in_dims).reshape_outs(list(layout.out_dims.items())) == layout


# ---- layouts -------------------------------------------------------------------------------------------------

POWERS = st.sampled_from([1, 2, 2, 4, 8])
SWIZZLES = [None, *[Swizzle(b, m, s) for b in (1, 2) for m in (0, 1, 2) for s in (-3, -2, 2, 3)], Swizzle(1, 0, 1)]


@st.composite
def disjoint_layouts(draw: Any) -> Layout:
    """Layouts over powers of two whose strides share no bits, at most 128 elements, nested, often swizzled."""
    sizes = draw(st.lists(POWERS, min_size=1, max_size=4).filter(lambda s: int(np.prod(s)) <= 128))
    strides = [0] * len(sizes)
    running = 1
    for k in draw(st.permutations(range(len(sizes)))):
        strides[k] = draw(st.sampled_from([running, running, running, 0]))
        running *= sizes[k] * draw(st.sampled_from([1, 1, 2]))
    cut = draw(st.integers(1, len(sizes)))
    shape = (tuple(sizes[:cut]), *sizes[cut:]) if draw(st.booleans()) else tuple(sizes)
    stride = (tuple(strides[:cut]), *strides[cut:]) if isinstance(shape[0], tuple) else tuple(strides)
    return Layout(shape, stride, swizzle=draw(st.sampled_from(SWIZZLES)))


@given(disjoint_layouts())
def test_a_layout_becomes_the_same_function_and_comes_back(layout: Layout) -> None:
    linear = LinearLayout.from_layout(layout)
    assert linear.in_dims == {f"dim{k}": n for k, n in enumerate(layout.extents)}
    assert list(linear.out_dims) == ["offset"]
    back = linear.to_layout()
    assert back.extents == layout.extents
    for i, c in enumerate(sorted(coordinates(layout), key=lambda c: c[::-1])):
        assert linear(c) == linear(i) == layout(c) == value(layout, c) == value(back, c)
    top = max(value(layout, c) for c in coordinates(layout))
    assert top < linear.out_dims["offset"] <= max(2 * top, 1)
    if back.swizzle is not None or layout.swizzle is None:
        assert layout.swizzle is not None or back.swizzle is None
        assert len(leaves(back.shape)) <= max(len(leaves(layout.shape)), 1)


STEPS = st.sampled_from([0, 1, 1, 2, 2, 3, 4, 4, 5, 8, 16, -1])


@st.composite
def carrying_layouts(draw: Any) -> Layout:
    """Layouts over powers of two with any strides, which often carry; some have an offset or a swizzle."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 2, 4]), min_size=1, max_size=4))
    offset = draw(st.sampled_from([0, 0, 0, 1, 8]))
    return Layout(
        tuple(sizes), tuple(draw(STEPS) for _ in sizes), offset=offset, swizzle=draw(st.sampled_from(SWIZZLES))
    )


@settings(max_examples=300)
@given(st.one_of(carrying_layouts(), layouts(64, window=True, swizzle=True, offset=True, negative=True)))
@example(Layout((4, 4), (1, 4), extents=(2, 4)))
@example(Layout(((6, 3),), ((1, 6),), extents=(16,)))
@example(Layout(((4, 4),), ((1, 8),), extents=(6,)))
@example(Layout(2, -4))
def test_what_is_not_linear_is_refused_with_a_counterexample(layout: Layout) -> None:
    table = {c: value(layout, c) for c in coordinates(layout)}
    powers = all(n & (n - 1) == 0 for n in layout.extents)
    both = [(c, d) for c in table for d in table if not any(x & y for x, y in zip(c, d, strict=True))] if powers else []
    joined = {(c, d): tuple(x | y for x, y in zip(c, d, strict=True)) for c, d in both}
    linear = (
        powers and min(table.values()) >= 0 and all(table[e] == table[c] ^ table[d] for (c, d), e in joined.items())
    )
    try:
        result = LinearLayout.from_layout(layout)
    except rl.NotExpressible as refused:
        # A window that starts inside a block can hide a linear function; nothing else can.
        assert not linear or any(layout.origin)
        if "carry" in str(refused):
            c, d = refused.counterexample
            assert table[joined[c, d]] != table[c] ^ table[d]
        return
    assert linear
    assert {c: result(c) for c in table} == table


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        (Layout((3, 4)), r"mode 0 has 3 coordinates"),
        (Layout((0, 4)), r"mode 0 has 0 coordinates"),
        (Layout(4, 1, offset=3), r"the offset at \(0,\) is 3"),
        (Layout((4, 2), (1, -4)), r"the offset at \(0, 1\) is -4, below 0"),
        (Layout((4, 4), (1, 3)), r"the offsets 1 at \(1, 0\) and 3 at \(0, 1\) carry.*at \(1, 1\) it is 4.*XOR 2"),
        (Layout(((3, 4),), ((1, 5),), extents=(8,)), r"window"),
    ],
)
def test_refusals_say_why(layout: Layout, reason: str) -> None:
    with pytest.raises(rl.NotExpressible, match=reason) as caught:
        LinearLayout.from_layout(layout)
    assert caught.value.layout == layout
    assert caught.value.hint


def test_layouts_found_are_all_that_exist() -> None:
    """Every function of three bits into four: a layout is found exactly when some swizzle separates the columns."""
    swizzles = [(0, 0, 0)] + [
        (bits, base, shift)
        for bits in (1, 2, 3, 4)
        for base in range(5)
        for shift in range(-5, 6)
        if abs(shift) >= bits
    ]
    columns = np.array(list(cartesian(range(16), repeat=3)))
    exists = np.zeros(len(columns), bool)
    for bits, base, shift in swizzles:
        read = columns & ((1 << bits) - 1 << base + max(shift, 0))
        d = columns ^ (read >> shift if shift > 0 else read << -shift)
        exists |= (d[:, 0] & d[:, 1] | d[:, 0] & d[:, 2] | d[:, 1] & d[:, 2]) == 0
    assert 300 < exists.sum() < 4096
    for (a, b, c), possible in zip(columns.tolist(), exists, strict=True):
        linear = LinearLayout({"i": [(a,), (b,)], "j": [(c,)]}, {"offset": 16})
        try:
            layout = linear.to_layout()
        except rl.NotExpressible as refused:
            assert not possible
            one, two = refused.counterexample
            assert linear(one) & linear(two)
        else:
            assert possible
            assert [value(layout, (x % 4, x // 4)) for x in range(8)] == [linear(x) for x in range(8)]


def test_the_simplest_layout_comes_back() -> None:
    for layout in [
        Layout((8, 64), (64, 1)),
        Layout((32, (8, 4)), (8, (1, 256))),
        Layout(16, 2),
        Layout((4, 1, 8), (0, 0, 1)),
        Layout(((2, 2, 4),), ((4, 1, 8),)),
        Layout((8, 16), (128, 2), swizzle=Swizzle(3, 4, 3)),
        Layout((8, 4), (8, 2), swizzle=Swizzle(3, 0, 3)),
        Layout((4, 8), (1, 4), swizzle=Swizzle(2, 0, -3)),
    ]:
        assert LinearLayout.from_layout(layout).to_layout() == layout
    split = Layout(((2, 4), (8, 2, 4)), ((64, 128), (1, 8, 16)), swizzle=Swizzle(3, 3, 3))
    assert LinearLayout.from_layout(split).to_layout() == Layout((8, 64), (64, 1), swizzle=Swizzle(3, 3, 3))
    assert LinearLayout.from_layout(Layout((8, 8), swizzle=Swizzle(3, 4, 3))).to_layout() == Layout((8, 8))
    assert LinearLayout({}, {"offset": 4}).to_layout() == Layout((), ())
    with pytest.raises(rl.NotExpressible, match="flatten_outs"):
        LinearLayout({"x": [(1, 0)]}, {"r": 2, "c": 2}).to_layout()


def test_a_swizzled_tile_of_shared_memory_inverts() -> None:
    """The 128-byte swizzle of 8 rows of 64 two-byte elements: element (r, c) lies at 64 r + (c ^ 8 r)."""
    tile = LinearLayout.from_layout(Layout((8, 64), (64, 1), swizzle=Swizzle(3, 3, 3)), ["row", "col"])
    inverse = tile.invert()
    for r, c in cartesian(range(8), range(64)):
        assert tile(r, c) == 64 * r + (c ^ 8 * r)
        assert inverse(64 * r + (c ^ 8 * r)) == (r, c)


# ---- published facts -----------------------------------------------------------------------------------------


def test_the_worked_swizzle_of_tritons_documentation() -> None:
    layout = LinearLayout({"t": [(1, 1), (2, 2)], "w": [(0, 1), (0, 2)]}, ["x", "y"])
    assert layout.out_dims == {"x": 4, "y": 4}
    rows = ["00 01 02 03", "11 10 13 12", "22 23 20 21", "33 32 31 30"]
    for t, row in enumerate(rows):
        assert [layout(t=t, w=w) for w in range(4)] == [(int(p[0]), int(p[1])) for p in row.split()]


def test_examples_of_tritons_documentation() -> None:
    make = LinearLayout
    turned = make({"x": [(4,), (8,), (1,), (2,)]}, ["y"])
    assert [turned(x) for x in range(16)] == [int(d, 16) for d in "048C159D26AE37BF"]
    assert make({"x": [(1,), (2,), (14,), (12,)]}, {"y": 16})(6) == 12
    spread = make({"in0": [(1,), (4,)], "in1": [(2,), (8,)]}, ["o"])
    assert spread.out_dims == {"o": 16}
    assert spread(3, 3) == 15
    assert make({"in1": [(0, 1), (0, 2)], "in2": [(0, 4), (0, 8), (1, 1)]}, ["out1", "out2"]).out_dims == {
        "out1": 2,
        "out2": 16,
    }
    with pytest.raises(rl.ShapeError, match="miss outputs"):
        make({"in1": [(1, 0), (5, 1), (2, 2)]}, ["out1", "out2"])
    matrix = make({"b": [(1, 1), (2, 0)], "a": [(2, 0), (3, 0)]}, {"p": 4, "q": 2}).matrix()
    assert ["".join(map(str, row)) for row in matrix.tolist()] == ["1001", "0111", "1000"]


def test_products_of_tritons_documentation() -> None:
    one, zero = LinearLayout.identity_1d, LinearLayout.zeros_1d
    assert one(4, "i", "o") * one(2, "i", "o") == one(8, "i", "o")
    assert [(one(4, "i", "o") * zero(2, "i", "o"))(x) for x in range(8)] == [x % 4 for x in range(8)]
    assert [(zero(2, "i", "o") * one(4, "i", "o"))(x) for x in range(8)] == [x // 2 for x in range(8)]
    two = one(4, "i", "o1") * one(8, "i", "o2")
    assert [two(x) for x in range(32)] == [(x % 4, x // 4) for x in range(32)]
    ab, ac, ba = (one(2, x, "o") * one(2, y, "o") for x, y in ("ab", "ac", "ba"))
    assert list((ab * ac).in_dims) == ["a", "b", "c"]
    with pytest.raises(rl.ShapeError, match="conflicting orders"):
        ab * ba


def test_a_broadcast_dimension_stays_in_place() -> None:
    """Both hold the same data in either block, so a conversion between them need not leave its block."""
    a = LinearLayout({"thread": [(1,), (2,)], "block": [(0,)]}, ["o"])
    b = LinearLayout({"thread": [(2,), (1,)], "block": [(0,)]}, ["o"])
    assert a.invert_and_compose(b).bases == {"thread": ((2, 0), (1, 0)), "block": ((0, 1),)}
    # Output bits that others use too leave the smallest input, as everywhere else.
    a = LinearLayout({"w": [(1,)], "l": [(2,), (1,)]}, ["o"])
    b = LinearLayout({"l": [(1,), (2,)], "w": [(1,)]}, ["o"])
    assert a.invert_and_compose(b).bases == {"w": ((1, 0),), "l": ((2, 0), (1, 0))}


# ---- as a value ----------------------------------------------------------------------------------------------


@given(linears())
def test_it_is_a_value(layout: LinearLayout) -> None:
    assert eval(repr(layout), {"LinearLayout": LinearLayout}) == layout
    assert LinearLayout(list(layout.bases.items()), list(layout.out_dims.items())) == layout
    for other in (pickle.loads(pickle.dumps(layout)), copy.deepcopy(layout)):
        assert other == layout
        assert hash(other) == hash(layout)
    assert layout != layout * LinearLayout.identity_1d(2, "new", "new")
    with pytest.raises(AttributeError, match="immutable"):
        layout._columns = ()
    layout.bases.clear()
    assert layout == LinearLayout(layout.bases, layout.out_dims)


def test_the_order_of_dimensions_is_part_of_the_value() -> None:
    layout = LinearLayout({"a": [(1,)], "b": [(2,)]}, ["o"])
    assert layout != layout.transpose_ins(["b", "a"])
    assert layout != LinearLayout(layout.bases, {"o": 8})
    assert layout != "LinearLayout"


BAD: list[tuple[Any, str]] = [
    (lambda: LinearLayout({"x": [(1,)]}, {"o": 3}), "not a power of two"),
    (lambda: LinearLayout({"x": [(2,)]}, {"o": 2}), "does not fit"),
    (lambda: LinearLayout({"x": [(-1,)]}, {"o": 2}), "does not fit"),
    (lambda: LinearLayout({"x": [(1,)]}, ["o", "p"]), "does not fit"),
    (lambda: LinearLayout({"x": [(1, 1), (1,)]}, ["o"]), "does not fit"),
    (lambda: LinearLayout({"x": [1, 2]}, ["o"]), "list of tuples"),
    (lambda: LinearLayout({"x": [(1.0,)]}, ["o"]), "integer"),
    (lambda: LinearLayout({0: [(1,)]}, ["o"]), "map names"),
    (lambda: LinearLayout({"x": [(1,)]}, "o"), "map names"),
    (lambda: LinearLayout([("x", []), ("x", [])], {}), "twice"),
    (lambda: LinearLayout({"x": [(1, 0)]}, ["o", "o"]), "twice"),
    (lambda: LinearLayout.strided_1d(4, 3, "x", "y"), "step of x is 3"),
    (lambda: LinearLayout.identity_1d(6, "x", "y"), "not a power of two"),
    (lambda: ONE.compose(LinearLayout.identity_1d(2, "o", "p")), "do not hold"),
    (lambda: ONE.compose(LinearLayout.identity_1d(8, "q", "p")), "do not hold"),
    (lambda: ONE.compose(Layout(4, 1)), "takes a LinearLayout"),
    (lambda: ONE.invert_and_compose(LinearLayout.identity_1d(2, "i", "o")), "do not hold"),
    (lambda: ONE.transpose_ins(["j"]), "no dimension"),
    (lambda: ONE.transpose_ins(3), "takes names"),
    (lambda: ONE.transpose_ins([["i"]]), "no dimension"),
    (lambda: ONE.transpose_outs([]), "lacks o"),
    (lambda: ONE.sublayout(["i", "i"], ["o"]), "twice"),
    (lambda: ONE.reshape_ins({"i": 8}), "3 bits of 2"),
    (lambda: ONE(1, 2), "does not fit"),
    (lambda: ONE(1, i=2), "does not fit"),
    (lambda: ONE(j=2), "no dimension"),
    (lambda: ONE.apply(), "lacks i"),
    (lambda: ONE.apply({"i": 1}, i=2), "twice"),
    (lambda: ONE.apply(3), "map names"),
    (lambda: ONE(np.array([0.5])), "array of float64"),
    (lambda: LinearLayout.from_layout(Layout((4, 4)), ["i"]), "2 modes"),
    (lambda: LinearLayout.from_layout(Layout((4, 4)), "ij"), "2 modes"),
    (lambda: LinearLayout.from_layout((4, 4)), "takes a layout"),
    (lambda: LinearLayout.from_layout(rl.make_identity_layout((4, 4))), "coordinate"),
]
ONE = LinearLayout.identity_1d(4, "i", "o")


@pytest.mark.parametrize(("wrong", "message"), BAD)
def test_bad_input_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(rl.ShapeError, match=message) as caught:
        wrong()
    assert caught.value.hint


@pytest.mark.parametrize("x", [4, -1, np.array([0, 4]), np.array([-1, 0])])
def test_coordinates_outside_are_refused(x: Any) -> None:
    with pytest.raises(rl.OutOfBounds, match="outside its size 4"):
        ONE(x)
    with pytest.raises(rl.OutOfBounds, match=r"i = (4|-1) is outside"):
        ONE(i=x)
    with pytest.raises(TypeError):
        ONE * 3


# ---- Triton --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def triton() -> Any:
    return pytest.importorskip("triton._C.libtriton.linear_layout").LinearLayout


def theirs(triton: Any, layout: LinearLayout) -> Any:
    bases = [(name, [list(v) for v in vectors]) for name, vectors in layout.bases.items()]
    return triton.from_bases(bases, list(layout.out_dims), list(layout.out_dims.values()), False)


def check_same(ours: LinearLayout, other: Any) -> None:
    """The same bases, sizes, order, properties, matrix and printed form."""
    assert [(name, [list(v) for v in vectors]) for name, vectors in ours.bases.items()] == other.bases
    assert list(ours.out_dims.items()) == other.out_dims
    assert ours.matrix().tolist() == other.get_matrix_view()
    assert str(ours) == str(other).lstrip("\n")
    assert ours.is_surjective() == other.is_surjective()
    assert ours.is_injective() == other.is_injective()
    assert ours.is_invertible() == other.is_invertible()


@settings(max_examples=200)
@given(linears(), linears("abcd", "wxyz"))
def test_triton_agrees(triton: Any, a: LinearLayout, b: LinearLayout) -> None:
    peer = theirs(triton, a)
    check_same(a, peer)
    for x in inputs(a)[:64]:
        assert a.apply(x) == peer.apply(x)
    check_same(a * b, peer * theirs(triton, b))
    if a.is_surjective():
        check_same(a.pseudo_invert(), peer.pseudoinvert())
        names = list(a.out_dims)
        inferred = LinearLayout(a.bases, names)
        check_same(inferred, triton.from_bases([(n, [list(v) for v in g]) for n, g in a.bases.items()], names))


@given(successions())
def test_triton_agrees_on_compositions(triton: Any, pair: tuple[LinearLayout, LinearLayout]) -> None:
    inner, outer = pair
    check_same(inner.compose(outer), theirs(triton, inner).compose(theirs(triton, outer)))


@given(invertibles())
def test_triton_agrees_on_inverses(triton: Any, layout: LinearLayout) -> None:
    inverse, peer = layout.invert(), theirs(triton, layout)
    check_same(inverse, peer.invert())
    check_same(layout.compose(inverse), peer.compose(peer.invert()))


@settings(max_examples=200)
@given(conversions())
def test_triton_agrees_on_conversions(triton: Any, pair: tuple[LinearLayout, LinearLayout]) -> None:
    inner, outer = pair
    try:
        ours = inner.invert_and_compose(outer)
    except rl.NotExpressible:
        return  # Triton ends the process here.
    check_same(ours, theirs(triton, inner).invert_and_compose(theirs(triton, outer)))


@pytest.mark.parametrize("size", [0, 1, 2, 64])
def test_triton_agrees_on_one_dimension(triton: Any, size: int) -> None:
    check_same(LinearLayout.identity_1d(size, "i", "o"), triton.identity_1d(size, "i", "o"))
    check_same(LinearLayout.strided_1d(size, 8, "i", "o"), triton.strided_1d(size, 8, "i", "o"))
    check_same(LinearLayout.zeros_1d(size, "i", "o", 4), triton.zeros_1d(size, "i", "o", 4))
    check_same(LinearLayout.zeros_1d(size, "i", "o"), triton.zeros_1d(size, "i", "o"))
    check_same(LinearLayout(), triton())


@given(disjoint_layouts())
def test_triton_applies_layouts_as_we_do(triton: Any, layout: Layout) -> None:
    peer = theirs(triton, LinearLayout.from_layout(layout))
    for c in coordinates(layout):
        assert peer.apply({f"dim{k}": x for k, x in enumerate(c)}) == {"offset": value(layout, c)}


# ---- taken apart and put together ----------------------------------------------------------------------------


@given(linears(), linears())
def test_factors_of_a_product_are_found(low: LinearLayout, high: LinearLayout) -> None:
    try:
        whole = low * high
    except rl.ShapeError:
        return
    for rest, again in (
        (whole.divide_left(low), low * whole.divide_left(low)),
        (whole.divide_right(high), whole.divide_right(high) * high),
    ):
        assert list(rest.in_dims) == list(whole.in_dims)
        assert list(rest.out_dims) == list(whole.out_dims)
        for x in inputs(whole):
            assert again.apply(x) == whole.apply(x)


@given(linears(), linears())
def test_what_is_called_a_factor_is_one(whole: LinearLayout, part: LinearLayout) -> None:
    for left in (True, False):
        try:
            rest = whole.divide_left(part) if left else whole.divide_right(part)
            again = part * rest if left else rest * part
        except (rl.NotExpressible, rl.ShapeError):
            continue
        assert again.in_dims == whole.in_dims
        assert all(again.apply(x) == whole.apply(x) for x in inputs(whole))


def test_division_by_hand() -> None:
    """As Triton's own tests have it: an identity divides a larger one, and not one that is swizzled."""
    four, eight = LinearLayout.identity_1d(4, "i", "o"), LinearLayout.identity_1d(8, "i", "o")
    assert eight.divide_left(four) == eight.divide_right(four) == LinearLayout.identity_1d(2, "i", "o")
    assert eight.divide_left(eight).in_dims == {"i": 1}
    with pytest.raises(rl.NotExpressible, match="no product"):
        four.divide_left(eight)
    swizzled = LinearLayout({"i": [(1,), (2,), (5,)]}, {"o": 8})
    with pytest.raises(rl.NotExpressible, match="no product"):
        swizzled.divide_left(four)
    with pytest.raises(rl.NotExpressible, match="no product"):
        eight.divide_left(LinearLayout.identity_1d(2, "j", "o"))
    with pytest.raises(rl.ShapeError, match="LinearLayout"):
        eight.divide_left(4)  # type: ignore[arg-type]


def test_quotients_by_hand() -> None:
    warps = LinearLayout.identity_1d(4, "warp", "warp")
    lanes = LinearLayout({"lane": [(2,), (1,)]}, {"lane": 4})
    both = lanes * warps
    assert both.is_trivial_over(["warp"])
    assert not both.is_trivial_over(["lane"])
    assert both.quotient(["warp"]) == lanes
    with pytest.raises(rl.NotExpressible, match="identity"):
        both.quotient(["lane"])
    mixed = LinearLayout({"lane": [(1, 1)], "warp": [(0, 1)]}, {"lane": 2, "warp": 2})
    assert not mixed.is_trivial_over(["warp"])


@given(linears())
def test_free_variables_are_what_makes_it_one_to_one(layout: LinearLayout) -> None:
    masks = layout.free_variable_masks()
    images = [tuple(layout.apply(x).values()) for x in inputs(layout)]
    kept = [tuple(layout.apply(x).values()) for x in inputs(layout) if not any(x[n] & masks[n] for n in x)]
    assert len(set(kept)) == len(kept)
    assert set(kept) == set(images)


@given(linears())
def test_consecutive_elements_are_counted(layout: LinearLayout) -> None:
    count = layout.num_consecutive()
    if not layout.in_dims or not layout.out_dims:
        assert count == 1
        return
    first, out = next(iter(layout.in_dims)), next(iter(layout.out_dims))

    def holds(n: int) -> bool:
        if n > layout.in_dims[first] or n > layout.out_dims[out]:
            return False
        for x in inputs(layout):
            start = layout.apply({**x, first: x[first] // n * n})
            if start[out] % n or layout.apply(x) != {**start, out: start[out] + x[first] % n}:
                return False
        return True

    assert holds(count)
    assert not holds(2 * count)


@given(linears(), st.sampled_from([1, 2, 4, 16]))
def test_sizes_and_names_change(layout: LinearLayout, size: int) -> None:
    for name in layout.in_dims:
        other = layout.resize_in(name, size)
        assert other.in_dims == {**layout.in_dims, name: size}
        for x in inputs(other):
            assert other.apply(x) == layout.apply({**x, name: x[name] % layout.in_dims[name]})
        renamed = layout.rename_in(name, "new")
        for x in inputs(layout):
            assert renamed.apply({"new" if n == name else n: v for n, v in x.items()}) == layout.apply(x)
    for name in layout.out_dims:
        other = layout.resize_out(name, size)
        assert other.out_dims == {**layout.out_dims, name: size}
        place = list(layout.out_dims).index(name)
        for dim, bases in layout.bases.items():  # Triton's rule: a coordinate past the size becomes 0
            kept = [tuple(0 if k == place and x >= size else x for k, x in enumerate(b)) for b in bases]
            assert list(other.bases[dim]) == kept
        assert list(layout.rename_out(name, "new").out_dims.values()) == list(layout.out_dims.values())
    if len(layout.out_dims) > 1:
        first, second = list(layout.out_dims)[:2]
        with pytest.raises(rl.ShapeError, match="free name"):
            layout.rename_out(first, second)


def test_a_smaller_output_drops_whole_bases_and_takes_no_remainder() -> None:
    layout = LinearLayout({"t": [(1,), (3,)]}, {"x": 4})
    assert layout.resize_out("x", 2) == LinearLayout({"t": [(1,), (0,)]}, {"x": 2})
    assert [layout.resize_out("x", 2)(t) for t in range(4)] == [0, 1, 0, 1] != [layout(t) % 2 for t in range(4)]


@given(linears())
def test_concatenations(layout: LinearLayout) -> None:
    other = layout
    for name in layout.in_dims:
        other = other.rename_in(name, name + "2")
    both = layout.concat_ins(other)
    for x, y in cartesian(inputs(layout)[:8], inputs(other)[:8]):
        a, b = layout.apply(x), other.apply(y)
        assert both.apply({**x, **y}) == {n: a[n] ^ b[n] for n in a}
    other = layout
    for name in layout.out_dims:
        other = other.rename_out(name, name + "2")
    wide = layout.concat_outs(other)
    for x in inputs(layout):
        assert wide.apply(x) == {**layout.apply(x), **other.apply(x)}
    if layout.in_dims:
        with pytest.raises(rl.ShapeError, match="both layouts have"):
            layout.concat_ins(layout)
        with pytest.raises(rl.ShapeError, match="differ"):
            layout.concat_outs(layout.rename_in(next(iter(layout.in_dims)), "new"))


@given(linears())
def test_the_generalized_inverse_is_one_on_what_is_reached(layout: LinearLayout) -> None:
    inverse = layout.generalized_inverse()
    smallest: dict[Any, Any] = {}
    for x in inputs(layout):
        smallest.setdefault(tuple(layout.apply(x).items()), x)
    for y, x in smallest.items():
        assert inverse.apply(dict(y)) == x
    if layout.is_surjective():
        assert inverse == layout.pseudo_invert()
