"""Ours against two peers, with enumeration as the judge of both.

The rule for every operation: a peer's answer counts when it obeys the operation's law at every coordinate. Then ours
must exist and be the same function. When we answer, our answer obeys the law whatever the peer says; when we refuse, so
must enumeration: the peer's answer, if it has one, breaks the law. Laws are evaluated by `tests/support.py` and by the
small evaluator below from shapes and strides alone; neither library's call is trusted, except where the call is tested.

What is compared: *descriptions* (the same shape, profile included, and the same strides except at size 1, where strides
never matter and conventions differ: we write 0 in compact layouts as CuTe C++ does, pycute the running product) with
pycute, which keeps CuTe's profiles; *functions* (the same number of coordinates and the same value at every integer)
with tensor-layouts, which drops tuples of one and regroups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from itertools import product as cartesian
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import relayout as rl
from relayout import Layout, Swizzle
from support import SIZES, colex, compact_strides, extended, layouts, leaves, like, shapes, value, volume

pc = pytest.importorskip("pycute")
tl = pytest.importorskip("tensor_layouts")
tu = pytest.importorskip("tensor_layouts.layout_utils")

bounded = settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
PEERS = pytest.mark.parametrize("peer", [pytest.param(pc, id="pycute"), pytest.param(tl, id="tensor_layouts")])


# ---- answers as plain data ---------------------------------------------------------------------------------


class Seen(NamedTuple):
    """A layout of any library: plain nested tuples and the offset."""

    shape: Any
    stride: Any
    offset: int = 0

    @property
    def ours(self) -> Layout:
        return Layout(self.shape, self.stride, offset=self.offset)

    @property
    def size(self) -> int:
        return volume(self.shape)

    def at(self, i: int) -> int:
        """The value at an integer, the last leaf running on beyond its size."""
        return extended(self.ours, i)

    def values(self) -> list[int]:
        return [self.at(i) for i in range(self.size)]

    def modes(self) -> list[Seen]:
        if not isinstance(self.shape, tuple):
            return [Seen(self.shape, self.stride)]
        return [Seen(s, d) for s, d in zip(self.shape, self.stride, strict=True)]


def seen(x: Any) -> Any:
    """An answer as plain data; numbers and tuples stay as they are."""
    if isinstance(x, Layout):
        assert x.swizzle is None
        assert not x.windowed
        return Seen(x.shape, x.stride, x.offset)
    if hasattr(x, "shape") and hasattr(x, "stride"):
        return Seen(x.shape, x.stride)
    return x


def made(peer: Any, layout: Layout) -> Any:
    """``layout`` as the peer's own; without an offset, which no peer has."""
    return peer.Layout(layout.shape, layout.stride)


def composed(peer: Any, a: Any, b: Any) -> Any:
    return pc.composition(a, b) if peer is pc else tl.compose(a, b)


Law = Callable[[Any], bool]


def answer(call: Callable[[], Any], refusals: type[BaseException] | tuple[type[BaseException], ...]) -> Any:
    """What ``call`` returns as plain data; None when it refuses."""
    try:
        return seen(call())
    except refusals:
        return None


def judged(peer: Any, ours: Callable[[], Any], theirs: Callable[[], Any], law: Law) -> None:
    """The rule of this file for one operation on one input."""
    mine = answer(ours, rl.LayoutError)
    other = answer(theirs, Exception)
    other_holds = other is not None and _holds(law, other)
    if mine is not None:
        assert law(mine), f"our answer {mine} breaks the law"
    if other_holds:
        assert mine is not None, f"we refuse, and {other} obeys the law"
        if isinstance(mine, Seen):
            assert mine.values() == other.values(), f"two answers obey the law: ours {mine}, theirs {other}"
            if peer is pc:
                assert same_description(mine, other), f"one function, two descriptions: ours {mine}, theirs {other}"
        else:
            assert mine == other


def _holds(law: Law, other: Any) -> bool:
    try:
        return law(other)
    except (rl.LayoutError, TypeError, ValueError, IndexError):
        return False


def same_description(a: Seen, b: Seen) -> bool:
    """The same shape, and the same strides wherever the size is not 1."""
    return (
        a.shape == b.shape
        and a.offset == b.offset
        and all(s == 1 or x == y for s, x, y in zip(leaves(a.shape), leaves(a.stride), leaves(b.stride), strict=True))
    )


# ---- inputs ------------------------------------------------------------------------------------------------


@st.composite
def pairs(draw: Any, max_volume: int = 64) -> tuple[Layout, Layout]:
    """Two layouts of which the second often fits the first: its strides are products of the first one's sizes."""
    a = draw(layouts(max_volume=max_volume))
    weights = [1]
    for s in leaves(a.shape):
        weights.append(weights[-1] * s)
    fitting = st.one_of(
        st.sampled_from([0, *weights]),
        st.sampled_from([w // k for w in weights for k in (1, 2, 3, 4) if w % k == 0]),
        st.integers(0, 12),
    )
    shape = draw(shapes(max_volume=24))
    stride = draw(st.one_of(compact_strides(shape), like(shape, fitting)))
    return a, Layout(shape, stride)


@st.composite
def orders(draw: Any) -> tuple[Any, tuple[int, ...]]:
    shape = draw(shapes(max_volume=64, tuples_only=True))
    return shape, tuple(draw(st.permutations(range(len(shape)))))


@st.composite
def by_mode(draw: Any) -> tuple[Layout, tuple[Any, ...]]:
    """A layout, and one tiler (an integer, a layout or None) for each of its first modes."""
    a = draw(layouts(max_volume=64, tuples_only=True))
    entry = st.one_of(
        SIZES,
        st.tuples(SIZES, st.integers(1, 4)).map(lambda p: Layout(*p)),
        st.none(),
    )
    count = draw(st.integers(1, a.rank))
    return a, tuple(draw(entry) for _ in range(count))


def tilers(peer: Any, tiler: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(made(peer, t) if isinstance(t, Layout) else t for t in tiler)


def as_layout(t: Any) -> Layout:
    return t if isinstance(t, Layout) else Layout(t, 1)


# ---- tuples and coordinates --------------------------------------------------------------------------------


@PEERS
@bounded
@given(shape=shapes(max_volume=10**9))
def test_functions_of_tuples(peer: Any, shape: Any) -> None:
    assert rl.flatten(shape) == peer.flatten(shape)
    assert rl.prefix_product(shape) == peer.prefix_product(shape)
    assert rl.prefix_product(shape, 3) == peer.prefix_product(shape, 3)
    assert rl.inner_product(shape, shape) == peer.inner_product(shape, shape)
    assert rl.size(shape) == peer.size(shape) == volume(shape)
    if peer is pc:
        assert rl.product(shape) == pc.product(shape)
    else:
        assert rl.product_each(shape) == tl.product_each(shape)


@PEERS
@bounded
@given(shape=shapes(max_volume=10**6), divisor=st.integers(1, 48))
def test_shape_div(peer: Any, shape: Any, divisor: int) -> None:
    """Law: every leaf is divided by what is left of the divisor, or is used up and divides it."""

    def law(answer: Any) -> bool:
        rest = divisor
        for s, got in zip(leaves(shape), leaves(answer), strict=True):
            if s % rest and rest % s:
                return False
            if got != max(1, s // rest):
                return False
            rest = max(1, rest // s)
        return bool(rl.congruent(shape, answer))

    judged(peer, lambda: rl.shape_div(shape, divisor), lambda: peer.shape_div(shape, divisor), law)


@bounded
@given(a=shapes(), b=shapes())
def test_shape_div_of_tuples(a: Any, b: Any) -> None:
    def law(answer: Any) -> bool:
        return bool(rl.congruent(a, answer)) and answer == pc.shape_div(a, b)

    judged(pc, lambda: rl.shape_div(a, b), lambda: pc.shape_div(a, b), law)


@bounded
@given(a=shapes(), b=shapes())
def test_congruence(a: Any, b: Any) -> None:
    assert rl.congruent(a, b) == tl.congruent(a, b)
    assert rl.weakly_congruent(a, b) == tl.weakly_congruent(a, b)


def coordinate_of(coord: Any, shape: Any) -> bool:
    """Whether ``coord`` can be read as a coordinate of ``shape``."""
    if isinstance(coord, tuple):
        return (
            isinstance(shape, tuple)
            and len(coord) == len(shape)
            and all(coordinate_of(c, s) for c, s in zip(coord, shape, strict=True))
        )
    return 0 <= coord < volume(shape)


def natural(shape: Any) -> Iterable[Any]:
    """Every coordinate nested like ``shape``."""
    return cartesian(*[natural(s) for s in shape]) if isinstance(shape, tuple) else range(shape)


@bounded
@given(a=shapes(max_volume=32), b=shapes(max_volume=32))
@example(a=(2, 2, 3), b=(4, 3))
def test_compatible(a: Any, b: Any) -> None:
    """Law: equal sizes, and every coordinate of one is a coordinate of the other."""
    truth = volume(a) == volume(b) and all(coordinate_of(c, b) for c in natural(a))
    assert rl.compatible(a, b) == truth
    if tl.compatible(a, b) == truth:
        assert rl.compatible(a, b) == tl.compatible(a, b)


@PEERS
@bounded
@given(layout=layouts(negative=True), data=st.data())
def test_calls(peer: Any, layout: Layout, data: Any) -> None:
    theirs = made(peer, layout)
    i = data.draw(st.integers(0, layout.size - 1))
    c = layout.coordinates(i)
    truth = colex(layout)[i]
    assert layout(i) == theirs(i) == truth
    assert layout(c.natural) == theirs(c.natural) == truth
    if isinstance(layout.shape, tuple):
        assert layout(*c.modes) == layout(c.modes) == theirs(*c.modes) == value(layout, c.modes)
    assert rl.crd2idx(i, layout.shape, layout.stride) == peer.crd2idx(i, layout.shape, layout.stride) == truth
    assert rl.crd2idx(c.natural, layout.shape) == peer.crd2idx(c.natural, layout.shape) == i
    assert rl.idx2crd(i, layout.shape) == peer.idx2crd(i, layout.shape) == c.natural
    assert rl.crd2crd(i, layout.shape) == peer.crd2crd(i, layout.shape) == c.natural


@bounded
@given(layout=layouts(), data=st.data())
def test_idx2crd_with_strides(layout: Layout, data: Any) -> None:
    """Law: the answer is the only coordinate whose offset is the index."""
    offsets = colex(layout)
    i = data.draw(st.integers(0, max(offsets)))

    def law(answer: Any) -> bool:
        return (
            offsets.count(i) == 1
            and coordinate_of(answer, layout.shape)
            and rl.congruent(answer, layout.shape)
            and rl.crd2idx(answer, layout.shape, layout.stride) == i
        )

    judged(
        pc,
        lambda: rl.idx2crd(i, layout.shape, layout.stride),
        lambda: pc.idx2crd(i, layout.shape, layout.stride),
        law,
    )
    assert answer(lambda: rl.idx2crd(i, layout.shape, layout.stride), rl.LayoutError) is None or offsets.count(i) == 1


@PEERS
@bounded
@given(layout=layouts())
def test_sizes(peer: Any, layout: Layout) -> None:
    theirs = made(peer, layout)
    offsets = colex(layout)
    assert rl.size(layout) == peer.size(theirs) == len(offsets)
    assert rl.cosize(layout) == peer.cosize(theirs) == max(offsets) - min(offsets) + 1


@bounded
@given(layout=layouts())
def test_rank_and_depth(layout: Layout) -> None:
    assert rl.rank(layout) == tl.rank(made(tl, layout)) == len(made(pc, layout))
    assert rl.depth(layout) == tl.depth(made(tl, layout))


@bounded
@given(layout=layouts())
def test_predicates(layout: Layout) -> None:
    from tensor_layouts import analysis

    theirs = made(tl, layout)
    offsets = colex(layout)
    assert layout.is_injective() == analysis.is_injective(theirs) == (len(set(offsets)) == len(offsets))
    packed = sorted(set(offsets)) == list(range(max(offsets) + 1))
    assert layout.is_packed() == analysis.is_surjective(theirs) == packed
    assert layout.is_bijective() == analysis.is_bijective(theirs) == (packed and layout.is_injective())


@bounded
@given(a=layouts(max_volume=24), b=layouts(max_volume=24))
def test_functionally_equal(a: Layout, b: Layout) -> None:
    from tensor_layouts import analysis

    truth = colex(a) == colex(b)
    assert bool(rl.compare(a, b, flat=True)) == truth
    assert analysis.functionally_equal(made(tl, a), made(tl, b)) == truth


# ---- simplify ----------------------------------------------------------------------------------------------


@PEERS
@bounded
@given(layout=layouts(negative=True))
def test_compact_strides(peer: Any, layout: Layout) -> None:
    """Functions: strides of size-1 modes follow three conventions."""
    assert colex(Layout(layout.shape)) == seen(peer.Layout(layout.shape)).values()


@PEERS
@bounded
@given(layout=layouts(negative=True))
def test_coalesce(peer: Any, layout: Layout) -> None:
    """Law: the same values at the same integers, flat, and no two neighbours that could still merge."""

    def law(r: Seen) -> bool:
        flat = list(zip(leaves(r.shape), leaves(r.stride), strict=True))
        merged = all(s != 1 and s * d != e for (s, d), (_, e) in pairwise(flat))
        return r.values() == colex(layout) and rl.depth(r.shape) <= 1 and merged

    judged(peer, lambda: rl.coalesce(layout), lambda: peer.coalesce(made(peer, layout)), law)


@bounded
@given(layout=layouts(tuples_only=True))
def test_coalesce_by_mode(layout: Layout) -> None:
    """Law: every mode keeps its values. tensor-layouts reads a profile of integers as sizes, so it gets None."""

    def law(r: Seen) -> bool:
        return [m.values() for m in r.modes()] == [m.values() for m in seen(layout).modes()]

    for count in range(1, layout.rank + 1):
        ones = partial(rl.coalesce, layout, (1,) * count)
        judged(pc, ones, partial(pc.coalesce, made(pc, layout), (1,) * count), law)
    nones = (None,) * layout.rank
    judged(tl, lambda: rl.coalesce(layout, nones), lambda: tl.coalesce(made(tl, layout), nones), law)


@PEERS
@bounded
@given(layout=layouts())
def test_filter(peer: Any, layout: Layout) -> None:
    """Law: the same offsets in the same order of first appearance, and none of its modes repeats or does nothing."""

    def law(r: Seen) -> bool:
        kept = [(s, d) for s, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True) if d and s != 1]
        expected = Seen(tuple([s for s, _ in kept]), tuple([d for _, d in kept]))
        return r.values() == expected.values() and (r.size == 1 or all(leaves(r.stride)))

    def theirs() -> Any:
        return pc.filter(made(pc, layout)) if peer is pc else tl.coalesce(made(tl, layout).filter())

    judged(peer, lambda: rl.filter(layout), theirs, law)


@bounded
@given(layout=layouts())
def test_nullspace(layout: Layout) -> None:
    """Law: as many integers as the stride-0 modes have coordinates, all different, all at the first offset."""
    repeats = volume(tuple([s for s, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True) if d == 0]))

    def law(r: Seen) -> bool:
        found = r.values()
        return len(set(found)) == repeats == len(found) and all(colex(layout)[i] == 0 for i in found)

    judged(tl, lambda: rl.nullspace(layout), lambda: tl.nullspace(made(tl, layout)), law)


# ---- composition, complement, inverses ---------------------------------------------------------------------


def composition_law(a: Layout, b: Layout) -> Law:
    truth = [extended(a, y) for y in colex(b)]

    def law(r: Seen) -> bool:
        return r.values() == truth and rl.compatible(b.shape, r.shape)

    return law


@PEERS
@settings(bounded, max_examples=500)
@given(pair=pairs())
@example(pair=(Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3))))
@example(pair=(Layout((2, 2, 2), (1, 5, 7)), Layout((2, 2), (3, 1))))
def test_composition(peer: Any, pair: tuple[Layout, Layout]) -> None:
    """Law: R(c) == A(B(c)) for every coordinate, in a shape that refines B's."""
    a, b = pair
    law = composition_law(a, b)
    judged(peer, lambda: rl.composition(a, b), lambda: composed(peer, made(peer, a), made(peer, b)), law)


@PEERS
@bounded
@given(given=by_mode())
def test_composition_by_mode(peer: Any, given: tuple[Layout, tuple[Any, ...]]) -> None:
    """Law: mode by mode. A tiler as long as the layout: peers keep modes past its end, CuTe C++ and we drop them."""
    a, tiler = given
    assume(len(tiler) == a.rank)

    def law(r: Seen) -> bool:
        modes = seen(a).modes()
        return len(r.modes()) == len(modes) and all(
            m.values() == before.values() if t is None else composition_law(before.ours, as_layout(t))(m)
            for m, before, t in zip(r.modes(), modes, tiler, strict=True)
        )

    judged(peer, lambda: rl.composition(a, tiler), lambda: composed(peer, made(peer, a), tilers(peer, tiler)), law)


def complement_law(a: Layout, target: int) -> Law:
    """Increasing from 0, no offset twice together with A's, and copies of A, each with its period, reach ``target``.

    The period of A is what its slowest mode takes, holes included: ``(2,3):(4,1)`` has period 8 and cosize 7. Nothing
    obeys it when A repeats an offset other than by a stride 0.
    """
    offsets = set(colex(a))
    elements = volume(tuple([s for s, d in zip(leaves(a.shape), leaves(a.stride), strict=True) if d]))
    period = max([1, *[s * d for s, d in zip(leaves(a.shape), leaves(a.stride), strict=True) if s != 1]])

    def law(r: Seen) -> bool:
        steps = r.values()
        sums = [x + y for x in offsets for y in steps]
        return (
            len(offsets) == elements
            and steps[0] == 0
            and all(x < y for x, y in pairwise(steps))
            and len(set(sums)) == len(sums)
            and max(steps) + period >= target
        )

    return law


@PEERS
@bounded
@given(layout=layouts(max_volume=24), target=st.integers(1, 80))
@example(layout=Layout(1, 0), target=8)
@example(layout=Layout((2, 2), (1, 1)), target=8)
def test_complement(peer: Any, layout: Layout, target: int) -> None:
    judged(
        peer,
        lambda: rl.complement(layout, target),
        lambda: peer.complement(made(peer, layout), target),
        complement_law(layout, target),
    )


def right_inverse_law(layout: Layout) -> Law:
    """L(R(i)) == i for every i below R's size, which is as large as strides 1, s0, s0*s1, ... allow.

    Of modes with equal strides the leftmost counts, as in CuTe C++.
    """
    reach = 1
    for d, s in sorted(zip(leaves(layout.stride), leaves(layout.shape), strict=True), key=lambda mode: mode[0]):
        if s != 1 and d == reach:
            reach *= s

    def law(r: Seen) -> bool:
        return r.size == reach and all(extended(layout, y) == i for i, y in enumerate(r.values()))

    return law


@PEERS
@bounded
@given(layout=layouts())
def test_right_inverse(peer: Any, layout: Layout) -> None:
    judged(
        peer,
        lambda: rl.right_inverse(layout),
        lambda: peer.right_inverse(made(peer, layout)),
        right_inverse_law(layout),
    )


def left_inverse_law(layout: Layout) -> Law:
    """N(L(i)) is the first of the integers that L sends where it sends i."""
    values = colex(layout)

    def law(r: Seen) -> bool:
        return all(r.at(y) == values.index(y) for y in values)

    return law


@PEERS
@settings(bounded, max_examples=300)
@given(layout=layouts())
@example(layout=Layout((4, 8), (1, 5)))
@example(layout=Layout((2, 2), (1, 6)))
def test_left_inverse(peer: Any, layout: Layout) -> None:
    """Functions on the offsets of L only: what N does with offsets that L leaves out is free."""
    law = left_inverse_law(layout)
    mine = answer(lambda: rl.left_inverse(layout), rl.LayoutError)
    other = answer(lambda: peer.left_inverse(made(peer, layout)), Exception)
    if mine is not None:
        assert law(mine)
    if other is not None and _holds(law, other):
        assert mine is not None, f"we refuse, and {other} is a left inverse"


@bounded
@given(a=layouts(max_volume=48), b=layouts(max_volume=48))
def test_max_common_layout(a: Layout, b: Layout) -> None:
    """Law: a(C(i)) == b(C(i)) == i, inside both; ours is at least as long as a peer's that obeys it.

    Where two modes of b share a stride, C follows the left one, as in CuTe C++, and the peer the shorter one.
    """

    def law(r: Seen) -> bool:
        inside = all(y < min(a.size, b.size) for y in r.values())
        return inside and all(extended(a, y) == extended(b, y) == i for i, y in enumerate(r.values()))

    mine = seen(rl.max_common_layout(a, b))
    assert law(mine)
    assert rl.max_common_vector(a, b) == mine.size
    other = answer(lambda: tl.max_common_layout(made(tl, a), made(tl, b)), Exception)
    steps = [d for s, d in zip(leaves(b.shape), leaves(b.stride), strict=True) if s != 1 and d]
    if other is not None and _holds(law, other) and len(set(steps)) == len(steps):
        assert mine.size >= other.size
        assert mine.values()[: other.size] == other.values()


# ---- divide and multiply -----------------------------------------------------------------------------------


def divide_law(a: Layout, tiler: Layout) -> Law | None:
    """R(t, r) == A(T(t) + C(r)) with C the complement of T up to A's size; None when T has no complement.

    A runs on in its last leaf that is not of size 1.
    """
    rest = answer(lambda: rl.complement(tiler, a.size), rl.LayoutError)
    if rest is None:
        return None
    both = Layout((tiler.shape, rest.shape), (tiler.stride, rest.stride))
    moving = [(s, d) for s, d in zip(leaves(a.shape), leaves(a.stride), strict=True) if s != 1]
    if moving:
        a = Layout(tuple([s for s, _ in moving]), tuple([d for _, d in moving]), offset=a.offset)
    return composition_law(a, both)


def product_law(block: Layout, tiler: Layout) -> Law | None:
    """Mode 0 is the block, mode 1 is C(T(j)) with C the complement of the block; None when it has none."""
    rest = answer(lambda: rl.complement(block, block.size * tiler.cosize), rl.LayoutError)
    if rest is None:
        return None
    grid = composition_law(rest.ours, tiler)

    def law(r: Seen) -> bool:
        first, second = r.modes()
        return first.values() == colex(block) and grid(second)

    return law


def whole(law: Law | None) -> Law:
    """``law``; without one nothing obeys it."""
    return law or (lambda _: False)


@PEERS
@settings(bounded, max_examples=300)
@given(pair=pairs(max_volume=48))
def test_logical_divide(peer: Any, pair: tuple[Layout, Layout]) -> None:
    a, tiler = pair
    judged(
        peer,
        lambda: rl.logical_divide(a, tiler),
        lambda: peer.logical_divide(made(peer, a), made(peer, tiler)),
        whole(divide_law(a, tiler)),
    )


@PEERS
@settings(bounded, max_examples=300)
@given(pair=pairs(max_volume=16))
def test_logical_product(peer: Any, pair: tuple[Layout, Layout]) -> None:
    block, tiler = pair
    judged(
        peer,
        lambda: rl.logical_product(block, tiler),
        lambda: peer.logical_product(made(peer, block), made(peer, tiler)),
        whole(product_law(block, tiler)),
    )


Split = Callable[[Layout, Layout], "Law | None"]


def by_mode_law(a: Layout, tiler: tuple[Any, ...], split: Split) -> Law:
    """Each mode split by its tiler, modes past the end of the tiler kept."""

    def law(r: Seen) -> bool:
        befores = seen(a).modes()
        return len(r.modes()) == len(befores) and all(
            after.values() == before.values()
            if k >= len(tiler) or tiler[k] is None
            else whole(split(before.ours, as_layout(tiler[k])))(after)
            for k, (after, before) in enumerate(zip(r.modes(), befores, strict=True))
        )

    return law


@PEERS
@bounded
@given(given=by_mode())
def test_divide_by_mode(peer: Any, given: tuple[Layout, tuple[Any, ...]]) -> None:
    a, tiler = given
    judged(
        peer,
        lambda: rl.logical_divide(a, tiler),
        lambda: peer.logical_divide(made(peer, a), tilers(peer, tiler)),
        by_mode_law(a, tiler, divide_law),
    )


@PEERS
@bounded
@given(given=by_mode())
def test_product_by_mode(peer: Any, given: tuple[Layout, tuple[Any, ...]]) -> None:
    a, tiler = given
    layouts_only = tuple(as_layout(t) if isinstance(t, int) else t for t in tiler)
    judged(
        peer,
        lambda: rl.logical_product(a, tiler),
        lambda: peer.logical_product(made(peer, a), tilers(peer, layouts_only)),
        by_mode_law(a, tiler, product_law),
    )


def gathered(r: Seen, tiles: int, a: Layout, kind: str) -> Seen | None:
    """A zipped, tiled or flat result as the logical one: mode k is (tile k, rest k), modes past the tiler are kept."""
    modes = r.modes()
    if kind == "zipped":
        if len(modes) != 2:
            return None
        first, second = modes[0].modes(), modes[1].modes()
    elif kind == "tiled":
        first, second = modes[0].modes(), modes[1:]
    else:
        first, second = modes[:tiles], modes[tiles:]
    if len(first) != tiles or len(second) != a.rank:
        return None
    parts = [
        Seen((x.shape, y.shape), (x.stride, y.stride)) for x, y in zip(first, second[:tiles], strict=True)
    ] + second[tiles:]
    return Seen(tuple([p.shape for p in parts]), tuple([p.stride for p in parts]))


@PEERS
@bounded
@given(given=by_mode(), kind=st.sampled_from(["zipped", "tiled", "flat"]))
def test_gathered_divides(peer: Any, given: tuple[Layout, tuple[Any, ...]], kind: str) -> None:
    """Laws: the logical law after undoing the gathering. pycute has no flat_divide, tensor-layouts no None."""
    a, tiler = given
    assume(peer is pc or None not in tiler)
    assume(peer is tl or kind != "flat")
    inner = by_mode_law(a, tuple(1 if t is None else t for t in tiler), divide_law)

    def law(r: Seen) -> bool:
        logical = gathered(r, len(tiler), a, kind)
        return logical is not None and inner(logical)

    op = f"{kind}_divide"
    judged(
        peer,
        lambda: getattr(rl, op)(a, tiler),
        lambda: getattr(peer, op)(made(peer, a), tilers(peer, tiler)),
        law,
    )


@PEERS
@bounded
@given(given=by_mode(), kind=st.sampled_from(["zipped", "tiled", "flat"]))
def test_gathered_products(peer: Any, given: tuple[Layout, tuple[Any, ...]], kind: str) -> None:
    a, tiler = given
    assume(None not in tiler)
    assume(peer is tl or kind != "flat")
    layouts_only = tuple(as_layout(t) for t in tiler)
    inner = by_mode_law(a, layouts_only, product_law)

    def law(r: Seen) -> bool:
        logical = gathered(r, len(tiler), a, kind)
        return logical is not None and inner(logical)

    op = f"{kind}_product"
    judged(
        peer,
        lambda: getattr(rl, op)(a, layouts_only),
        lambda: getattr(peer, op)(made(peer, a), tilers(peer, layouts_only)),
        law,
    )


def padded(layout: Layout, rank: int) -> Layout:
    modes = seen(layout).modes() + [Seen(1, 0)] * (rank - layout.rank)
    return Layout(tuple([m.shape for m in modes]), tuple([m.stride for m in modes]))


def zipped_product_law(block: Layout, tiler: Layout, block_first: bool) -> Law:
    """Mode k is (block k, grid k), or (grid k, block k): together they are the logical product of equal ranks."""
    rank = max(block.rank, tiler.rank)
    inner = whole(product_law(padded(block, rank), padded(tiler, rank)))

    def law(r: Seen) -> bool:
        split = [m.modes() for m in r.modes()]
        if len(split) != rank or any(len(m) != 2 for m in split):
            return False
        blocks = [m[0 if block_first else 1] for m in split]
        grid = [m[1 if block_first else 0] for m in split]
        return inner(
            Seen(
                (tuple([m.shape for m in blocks]), tuple([m.shape for m in grid])),
                (tuple([m.stride for m in blocks]), tuple([m.stride for m in grid])),
            )
        )

    return law


@bounded
@given(pair=pairs(max_volume=16), op=st.sampled_from(["blocked_product", "raked_product"]))
def test_blocked_and_raked_product(pair: tuple[Layout, Layout], op: str) -> None:
    """pycute has neither."""
    block, tiler = pair
    judged(
        tl,
        lambda: getattr(rl, op)(block, tiler),
        lambda: getattr(tl, op)(made(tl, block), made(tl, tiler)),
        zipped_product_law(block, tiler, op == "blocked_product"),
    )


# ---- building and recasting --------------------------------------------------------------------------------


@bounded
@given(given=orders())
def test_make_ordered_layout(given: tuple[Any, tuple[int, ...]]) -> None:
    """Law: compact, and the modes' strides grow as their order says.

    tensor-layouts lists the modes from fast to slow; CuTe and we give each mode its rank.
    """
    shape, order = given
    fastest_first = tuple(sorted(range(len(order)), key=lambda k: order[k]))

    def law(r: Seen) -> bool:
        modes = r.modes()
        running = 1
        for k in fastest_first:
            if modes[k].values() != [i * running for i in range(volume(shape[k]))]:
                return False
            running *= volume(shape[k])
        return bool(r.shape == shape)

    judged(
        tl,
        lambda: rl.make_ordered_layout(shape, order),
        lambda: tu.make_ordered_layout(shape, fastest_first),
        law,
    )


@bounded
@given(
    tile=layouts(max_volume=12, tuples_only=True),
    data=st.data(),
)
def test_tile_to_shape(tile: Layout, data: Any) -> None:
    """Law: the target's sizes, the tile at the start, and the blocked product with an ordered grid."""
    target = tuple([n * data.draw(st.integers(1, 3)) + data.draw(st.sampled_from([0, 0, 0, 1])) for n in tile.extents])
    divides = all(t % n == 0 for t, n in zip(target, tile.extents, strict=True))
    grid = Layout(tuple([t // n for t, n in zip(target, tile.extents, strict=True)]))
    inner = zipped_product_law(tile, grid, True)

    def law(r: Seen) -> bool:
        return divides and tuple([m.size for m in r.modes()]) == target and inner(r)

    judged(
        tl,
        lambda: rl.tile_to_shape(tile, target),
        lambda: tu.tile_to_shape(made(tl, tile), target),
        law,
    )


def recast_law(wide: Layout, fine: Layout, n: int) -> bool:
    """``fine(c) // n == wide(c // ratio)`` with one whole ratio per leaf: ``wide`` counts units of ``n`` elements."""
    if not rl.congruent(wide.shape, fine.shape):
        return False
    ratios = []
    for s, t in zip(leaves(fine.shape), leaves(wide.shape), strict=True):
        if t == 0 or s % t:
            return False
        ratios.append(s // t)
    sizes = leaves(fine.shape)
    for c in cartesian(*[range(s) for s in sizes]):
        low = sum(x * d for x, d in zip(c, leaves(fine.stride), strict=True))
        high = sum(x // r * d for x, r, d in zip(c, ratios, leaves(wide.stride), strict=True))
        if low // n != high:
            return False
    return True


@bounded
@given(layout=layouts(), n=st.sampled_from([2, 3, 4, 8]))
def test_upcast(layout: Layout, n: int) -> None:
    """Law: whole runs only. What steps inside a unit, in one mode or in several in a row, fills units."""

    def law(r: Seen) -> bool:
        runs: list[list[int]] = []
        for d, s in sorted(zip(leaves(layout.stride), leaves(layout.shape), strict=True)):
            if s != 1 and runs and runs[-1][0] * runs[-1][1] == d:
                runs[-1][1] *= s
            elif s != 1:
                runs.append([d, s])
        whole_runs = all(d % n == 0 or (n % d == 0 and s % (n // d) == 0) for d, s in runs)
        return whole_runs and recast_law(r.ours, layout, n)

    judged(tl, lambda: rl.upcast(layout, n), lambda: tl.upcast(made(tl, layout), n), law)


@bounded
@given(layout=layouts(), n=st.sampled_from([2, 3, 4]))
def test_downcast(layout: Layout, n: int) -> None:
    """Law: each element is followed by its n parts, and no part is missing."""
    offsets = colex(layout)

    def law(r: Seen) -> bool:
        parts = sorted(o * n + k for o in offsets for k in range(n))
        return sorted(r.values()) == parts and recast_law(layout, r.ours, n)

    judged(tl, lambda: rl.downcast(layout, n), lambda: tl.downcast(made(tl, layout), n), law)


@bounded
@given(layout=layouts(tuples_only=True), data=st.data())
def test_slice_and_dice(layout: Layout, data: Any) -> None:
    """Law: the slice runs over the free modes, from where the fixed ones stand."""
    coord = tuple(data.draw(st.one_of(st.none(), st.integers(0, n - 1))) for n in layout.extents)
    assume(None in coord)
    mine = seen(rl.slice_layout(coord, layout))
    fixed = [0 if c is None else c for c in coord]
    free = [range(n) if c is None else range(1) for c, n in zip(coord, layout.extents, strict=True)]
    truth = [
        value(layout, tuple(x + f for x, f in zip(c[::-1], fixed, strict=True))) for c in cartesian(*reversed(free))
    ]
    assert mine.values() == truth
    sub, offset = pc.slice_and_offset(coord, made(pc, layout))
    assert same_description(mine, Seen(sub.shape, sub.stride, offset))
    sub, offset = tl.slice_and_offset(coord, made(tl, layout))
    assert mine.values() == [x + offset for x in seen(sub).values()]
    diced = seen(rl.dice(coord, layout))
    assert [m for m, c in zip(seen(layout).modes(), coord, strict=True) if c is not None] == diced.modes()
    if len(diced.modes()) > 1:
        assert diced == seen(tl.dice_modes(coord, made(tl, layout)))


@bounded
@given(layout=layouts(tuples_only=True), mode=layouts(max_volume=12), data=st.data())
def test_modes_put_together(layout: Layout, mode: Layout, data: Any) -> None:
    k = data.draw(st.integers(0, layout.rank - 1))
    end = data.draw(st.integers(k + 1, layout.rank))
    a, m = made(tl, layout), made(tl, mode)
    assert seen(rl.replace(layout, k, mode)) == seen(tl.replace(a, k, m))
    assert seen(rl.append(layout, mode)).values() == seen(tl.append(a, m)).values()
    assert seen(rl.prepend(layout, mode)).values() == seen(tl.prepend(a, m)).values()
    assert seen(rl.group(layout, k, end)).values() == seen(tl.group(a, k, end)).values()
    assert seen(rl.make_layout(layout, mode)) == seen(pc.make_layout(made(pc, layout), made(pc, mode)))
    assert seen(rl.make_layout(layout, mode)) == seen(tl.Layout(a, m))


SWIZZLED = Layout((2, 2), (2, 1), swizzle=(1, 1, 1))


@PEERS
@bounded
@given(
    bits=st.integers(0, 3),
    base=st.integers(0, 3),
    more=st.integers(0, 3),
    sign=st.sampled_from([1, -1]),
    x=st.integers(0, 4096),
)
def test_swizzle(peer: Any, bits: int, base: int, more: int, sign: int, x: int) -> None:
    shift = sign * (bits + more)
    assume(peer is tl or shift)  # pycute recurses for ever at shift 0; see KNOWN_PEER_ERRORS
    truth = value(Layout(1 << 13, 1, swizzle=(bits, base, shift)) if bits else Layout(1 << 13, 1), (x,))
    assert Swizzle(bits, base, shift)(x) == peer.Swizzle(bits, base, shift)(x) == truth


@bounded
@given(layout=layouts(), bits=st.integers(1, 2), base=st.integers(0, 2), more=st.integers(0, 2), data=st.data())
def test_swizzled_layout(layout: Layout, bits: int, base: int, more: int, data: Any) -> None:
    i = data.draw(st.integers(0, layout.size - 1))
    parameters = (bits, base, bits + more)
    ours = rl.composition(Swizzle(*parameters), layout)
    truth = colex(ours)[i]
    assert ours(i) == truth
    assert tl.compose(tl.Swizzle(*parameters), made(tl, layout))(i) == truth
    assert pc.ComposedLayout(pc.Swizzle(*parameters), 0, made(pc, layout))(i) == truth


# ---- the peers' known errors -------------------------------------------------------------------------------


class Wrong(NamedTuple):
    """One wrong answer of a peer, with the law that shows it and what we say instead."""

    name: str
    theirs: Callable[[], Any]
    said: Any
    """Their wrong answer as plain data, or the exception with which they stop at a legal question."""
    law: Law
    ours: Callable[[], Any]
    we_say: Any
    """Our answer as plain data, or the error class of our refusal."""


def refused(_: Any) -> bool:
    """The law of a question that has no answer: none obeys it."""
    return False


def exactly(truth: Any) -> Law:
    """The law of a question with one answer: a number, a tuple, or a layout with these values."""
    return lambda r: (r.values() if isinstance(r, Seen) else r) == truth


def every(call: Callable[[int], Any], count: int) -> list[Any]:
    return [call(i) for i in range(count)]


def swizzled(parameters: tuple[int, int, int], *layout: Any) -> Any:
    return tl.compose(tl.Swizzle(*parameters), tl.Layout(*layout))


CARRY = Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3))
CANCEL = Layout((2, 2, 2), (1, 5, 7)), Layout((2, 2), (3, 1))
SHORT = Layout((2, 2), (1, 1)), Layout(3, 1)
UNIT_STRIDE = Layout((2, 2), (0, 1)), Layout(1, 3)
BEYOND = Layout(1, 1), Layout(2, 1)
ONTO = Layout((2, 2), (1, 1))
INTERLEAVED = Layout((2, 2), (2, 3))
NO_COMPLEMENT = Layout((2, 4), (1, 2)), Layout((2, 2), (2, 3))


def both(
    name: str, op: str, args: tuple[Layout, ...], said: tuple[Any, Any], law: Law, ours: Callable[[], Any], we_say: Any
) -> list[Wrong]:
    """The same question to both peers; ``said`` holds None for one that answers rightly."""
    found = []
    for peer, answered in zip((pc, tl), said, strict=True):
        spelled = {"composition": "compose"}.get(op, op) if peer is tl else op
        if answered is not None:
            call = partial(lambda p, f: getattr(p, f)(*[made(p, a) for a in args]), peer, spelled)
            found.append(Wrong(f"{peer.__name__}: {name}", call, answered, law, ours, we_say))
    return found


KNOWN_PEER_ERRORS: list[Wrong] = [
    # Composition. CuTe C++ prints the first wrong answer too, and stops at the next two.
    *both(
        "composition ignores the carry between two leaves",
        "composition",
        CARRY,
        (Seen((3, 2), (2, 3)), Seen((3, 2), (2, 3))),
        composition_law(*CARRY),
        lambda: rl.composition(*CARRY),
        rl.NotExpressible,
    ),
    *both(
        "composition refuses carries that cancel",
        "composition",
        CANCEL,
        (AssertionError, tl.LayoutError),
        composition_law(*CANCEL),
        lambda: rl.composition(*CANCEL),
        Seen((2, 2), (6, 1)),
    ),
    *both(
        "composition refuses the stride of a single element",
        "composition",
        UNIT_STRIDE,
        (AssertionError, tl.LayoutError),
        composition_law(*UNIT_STRIDE),
        lambda: rl.composition(*UNIT_STRIDE),
        Seen(1, 0),
    ),
    *both(
        "composition forgets the stride with which a layout of one element runs on",
        "composition",
        BEYOND,
        (Seen(2, 0), Seen(2, 0)),
        composition_law(*BEYOND),
        lambda: rl.composition(*BEYOND),
        Seen(2, 1),
    ),
    *both(
        "composition loses elements that do not divide",
        "composition",
        SHORT,
        (Seen(2, 1), None),
        composition_law(*SHORT),
        lambda: rl.composition(*SHORT),
        rl.NotExpressible,
    ),
    Wrong(
        "pycute: composition by mode keeps modes that CuTe drops",
        lambda: pc.composition(pc.Layout((4, 8), (8, 1)), (2,)),
        Seen((2, 8), (8, 1)),
        exactly([0, 8]),
        lambda: rl.composition(Layout((4, 8), (8, 1)), (2,)),
        Seen((2,), (8,)),
    ),
    Wrong(
        "tensor_layouts: composition by mode keeps modes that CuTe drops",
        lambda: tl.compose(tl.Layout((4, 8), (8, 1)), (2,)),
        Seen((2, 8), (8, 1)),
        exactly([0, 8]),
        lambda: rl.composition(Layout((4, 8), (8, 1)), (2,)),
        Seen((2,), (8,)),
    ),
    # Complement, divide, product.
    *both(
        "complement of a layout that is not injective",
        "complement",
        (ONTO,),
        (Seen(0, 2), Seen(2, 2)),
        complement_law(ONTO, 3),
        lambda: rl.complement(ONTO),
        rl.NotExpressible,
    ),
    *both(
        "complement of interleaved modes overlaps them",
        "complement",
        (INTERLEAVED,),
        (Seen((2, 0), (1, 4)), Seen(2, 1)),
        complement_law(INTERLEAVED, 6),
        lambda: rl.complement(INTERLEAVED),
        rl.NotExpressible,
    ),
    Wrong(
        "pycute: complement of interleaved modes is a bare assert",
        lambda: pc.complement(pc.Layout((2, 3), (4, 3))),
        AssertionError,
        refused,
        lambda: rl.complement(Layout((2, 3), (4, 3))),
        rl.NotExpressible,
    ),
    *both(
        "logical_divide by a tiler without complement",
        "logical_divide",
        NO_COMPLEMENT,
        (Seen(((2, 2), (2, 0, 2)), ((2, 3), (1, 4, 6))), Seen(((2, 2), (2, 2)), ((2, 3), (1, 6)))),
        refused,
        lambda: rl.logical_divide(*NO_COMPLEMENT),
        rl.NotExpressible,
    ),
    Wrong(
        "tensor_layouts: logical_divide by an integer has three modes instead of (tile, rest)",
        lambda: tl.logical_divide(tl.Layout((8, 6), (6, 1)), 4),
        Seen(((4, 2), 6), ((6, 24), 1)),
        lambda r: [m.size for m in r.modes()] == [4, 12] and r.values() == colex(Layout((8, 6), (6, 1))),
        lambda: rl.logical_divide(Layout((8, 6), (6, 1)), 4),
        Seen((4, (2, 6)), (6, (24, 1))),
    ),
    Wrong(
        "tensor_layouts: logical_divide does not take None for a mode left alone",
        lambda: tl.logical_divide(tl.Layout((2, 4), (1, 2)), (None, 2)),
        TypeError,
        exactly(list(range(8))),
        lambda: rl.logical_divide(Layout((2, 4), (1, 2)), (None, 2)),
        Seen((2, (2, 2)), (1, (2, 4))),
    ),
    Wrong(
        "pycute: logical_product by an integer divides",
        lambda: pc.logical_product(pc.Layout(4, 1), 2),
        Seen((2, 2), (1, 2)),
        whole(product_law(Layout(4, 1), Layout(2, 1))),
        lambda: rl.logical_product(Layout(4, 1), 2),
        Seen((4, 2), (1, 4)),
    ),
    Wrong(
        "pycute: zipped_product by integers divides",
        lambda: pc.zipped_product(pc.Layout((2, 2), (1, 2)), (2, 2)),
        Seen(((2, 2), (1, 1)), ((1, 2), (0, 0))),
        lambda r: [m.size for m in r.modes()] == [4, 4],
        lambda: rl.zipped_product(Layout((2, 2), (1, 2)), (2, 2)),
        Seen(((2, 2), (2, 2)), ((1, 2), (2, 1))),
    ),
    Wrong(
        "pycute: logical_product loses copies",
        lambda: pc.logical_product(pc.Layout(2, 2), pc.Layout(3, 1)),
        Seen((2, 2), (2, 1)),
        whole(product_law(Layout(2, 2), Layout(3, 1))),
        lambda: rl.logical_product(Layout(2, 2), Layout(3, 1)),
        rl.NotExpressible,
    ),
    Wrong(
        "pycute: logical_product divides by zero",
        lambda: pc.logical_product(pc.Layout((2, 2), (1, 1)), pc.Layout(1, 1)),
        ZeroDivisionError,
        refused,
        lambda: rl.logical_product(ONTO, Layout(1, 1)),
        rl.NotExpressible,
    ),
    Wrong(
        "tensor_layouts: blocked_product scales by the cosize instead of filling the gaps",
        lambda: tl.blocked_product(tl.Layout(2, 2), tl.Layout(2, 1)),
        Seen(((2, 2),), ((2, 3),)),
        zipped_product_law(Layout(2, 2), Layout(2, 1), True),
        lambda: rl.blocked_product(Layout(2, 2), Layout(2, 1)),
        Seen(((2, 2),), ((2, 1),)),
    ),
    Wrong(
        "tensor_layouts: blocked and raked product are not the same copies",
        lambda: sorted(seen(tl.blocked_product(tl.Layout((2, 2), (1, 4)), tl.Layout((2, 2), (1, 2)))).values()),
        [0, 1, 4, 5, 6, 7, 10, 11, 12, 13, 16, 17, 18, 19, 22, 23],
        lambda r: r == sorted(seen(tl.raked_product(tl.Layout((2, 2), (1, 4)), tl.Layout((2, 2), (1, 2)))).values()),
        lambda: sorted(colex(rl.blocked_product(Layout((2, 2), (1, 4)), Layout((2, 2), (1, 2))))),
        list(range(16)),
    ),
    Wrong(
        "tensor_layouts: raked_product of a block that is not injective",
        lambda: tl.raked_product(tl.Layout((2, 2), (1, 1)), tl.Layout(2, 1)),
        Seen(((2, 2), (1, 2)), ((2, 1), (0, 1))),
        zipped_product_law(ONTO, Layout(2, 1), False),
        lambda: rl.raked_product(ONTO, Layout(2, 1)),
        rl.NotExpressible,
    ),
    Wrong(
        "tensor_layouts: tile_to_shape overshoots a shape that the tile does not divide",
        lambda: tu.tile_to_shape(tl.Layout((2, 2), (1, 2)), (3, 2)),
        Seen(((2, 2), (2, 1)), ((1, 4), (2, 8))),
        lambda r: [m.size for m in r.modes()] == [3, 2],
        lambda: rl.tile_to_shape(Layout((2, 2), (1, 2)), (3, 2)),
        rl.NotExpressible,
    ),
    Wrong(
        "tensor_layouts: tile_to_shape leaves the gaps of the tile empty",
        lambda: tu.tile_to_shape(tl.Layout((2, 2), (1, 4)), (4, 2)),
        Seen(((2, 2), (2, 1)), ((1, 6), (4, 12))),
        zipped_product_law(Layout((2, 2), (1, 4)), Layout((2, 1), (1, 2)), True),
        lambda: rl.tile_to_shape(Layout((2, 2), (1, 4)), (4, 2)),
        Seen(((2, 2), (2, 1)), ((1, 2), (4, 0))),
    ),
    # Inverses. A right inverse that is too short is no false statement; CuTe C++ finds the longer one.
    Wrong(
        "pycute: right_inverse gives up at a stride 0",
        lambda: pc.right_inverse(pc.Layout((2, 2), (0, 1))),
        Seen(1, 0),
        right_inverse_law(Layout((2, 2), (0, 1))),
        lambda: rl.right_inverse(Layout((2, 2), (0, 1))),
        Seen(2, 2),
    ),
    *both(
        "right_inverse follows the shorter of two unit strides, not the first",
        "right_inverse",
        (Layout((3, 2), (1, 1)),),
        (Seen(2, 3), Seen(2, 3)),
        right_inverse_law(Layout((3, 2), (1, 1))),
        lambda: rl.right_inverse(Layout((3, 2), (1, 1))),
        Seen(3, 1),
    ),
    Wrong(
        "pycute: left_inverse of strides that do not divide",
        lambda: pc.left_inverse(pc.Layout((2, 2), (1, 3))),
        Seen(2, 1),
        left_inverse_law(Layout((2, 2), (1, 3))),
        lambda: rl.left_inverse(Layout((2, 2), (1, 3))),
        Seen((3, 2), (1, 2)),
    ),
    Wrong(
        "tensor_layouts: left_inverse of interleaved modes",
        lambda: tl.left_inverse(tl.Layout((2, 2), (2, 3))),
        Seen((2, 2), (0, 2)),
        left_inverse_law(INTERLEAVED),
        lambda: rl.left_inverse(INTERLEAVED),
        rl.NotExpressible,
    ),
    *both(
        "left_inverse of a layout that is not injective",
        "left_inverse",
        (ONTO,),
        (Seen(2, 1), None),  # tensor-layouts says, as CuTe C++, that its answer then only obeys L(N(L(i))) == L(i)
        left_inverse_law(ONTO),
        lambda: rl.left_inverse(ONTO),
        rl.NotExpressible,
    ),
    Wrong(
        "tensor_layouts: max_common_layout runs past the end",
        lambda: tl.max_common_layout(tl.Layout((2, 1), (1, 1)), tl.Layout((2, 2), (1, 2))),
        Seen(4, 1),
        lambda r: every(Seen((2, 1), (1, 1)).at, r.size) == list(range(r.size)),
        lambda: rl.max_common_layout(Layout((2, 1), (1, 1)), Layout((2, 2), (1, 2))),
        Seen(2, 1),
    ),
    # Coalesce, recast, order.
    Wrong(
        "tensor_layouts: coalesce with a profile sorts by stride and changes the function",
        lambda: tl.coalesce(tl.Layout((2, 2), (2, 1)), (4,)),
        Seen((4,), (1,)),
        exactly([0, 2, 1, 3]),
        lambda: rl.coalesce(Layout((2, 2), (2, 1)), (4,)),
        Seen((2, 2), (2, 1)),
    ),
    Wrong(
        "tensor_layouts: coalesce with CuTe's profile of ones drops every element but one",
        lambda: tl.coalesce(tl.Layout((2, 3), (3, 1)), (1, 1)),
        Seen((1, 1), (0, 0)),
        exactly([0, 3, 1, 4, 2, 5]),
        lambda: rl.coalesce(Layout((2, 3), (3, 1)), (1, 1)),
        Seen((2, 3), (3, 1)),
    ),
    Wrong(
        "tensor_layouts: coalesce drops modes past the end of its profile",
        lambda: tl.coalesce(tl.Layout((2, 3), (3, 1)), (None,)),
        Seen(2, 3),
        exactly([0, 3, 1, 4, 2, 5]),
        lambda: rl.coalesce(Layout((2, 3), (3, 1)), (None,)),
        Seen((2, 3), (3, 1)),
    ),
    Wrong(
        "tensor_layouts: upcast rounds a stride that does not divide",
        lambda: tl.upcast(tl.Layout(2, 3), 2),
        Seen(2, 2),
        lambda r: recast_law(r.ours, Layout(2, 3), 2),
        lambda: rl.upcast(Layout(2, 3), 2),
        rl.NotExpressible,
    ),
    Wrong(
        "tensor_layouts: upcast rounds a run that is not whole",
        lambda: tl.upcast(tl.Layout(3, 1), 2),
        Seen(2, 1),
        lambda r: recast_law(r.ours, Layout(3, 1), 2),
        lambda: rl.upcast(Layout(3, 1), 2),
        rl.NotExpressible,
    ),
    Wrong(
        "tensor_layouts: downcast without adjacent elements loses half of the memory",
        lambda: tl.downcast(tl.Layout(2, 2), 2),
        Seen(2, 4),
        lambda r: sorted(r.values()) == [0, 1, 4, 5],
        lambda: rl.downcast(Layout(2, 2), 2),
        rl.NotExpressible,
    ),
    Wrong(
        "tensor_layouts: make_ordered_layout of a nested shape",
        lambda: tu.make_ordered_layout(((2, 2), 3), (1, 0)),
        tl.LayoutError,
        lambda r: sorted(r.values()) == list(range(12)),
        lambda: rl.make_ordered_layout(((2, 2), 3), (1, 0)),
        Seen(((2, 2), 3), ((3, 6), 1)),
    ),
    # Swizzles.
    Wrong(
        "pycute: a swizzle with shift 0 recurses for ever",
        lambda: pc.Swizzle(0, 0, 0)(5),
        RecursionError,
        exactly(5),
        lambda: Swizzle(0, 0, 0)(5),
        5,
    ),
    Wrong(
        "tensor_layouts: a swizzle with a shift below its bits is not its own inverse",
        lambda: tl.Swizzle(2, 0, 1)(tl.Swizzle(2, 0, 1)(4)),
        5,
        exactly(4),
        lambda: Swizzle(2, 0, 1),
        rl.ShapeError,
    ),
    Wrong(
        "tensor_layouts: a swizzle pushed through a layout",
        lambda: every(tl.compose(tl.Layout(3, 3), tl.Swizzle(1, 0, 2)), 3),
        [0, 3, 7],
        exactly([0, 3, 6]),
        lambda: every(rl.ComposedLayout(Layout(3, 3), rl.composition(Swizzle(1, 0, 2), Layout(3, 1))), 3),
        [0, 3, 6],
    ),
    Wrong(
        "tensor_layouts: logical_product by a swizzled tiler",
        lambda: every(lambda j: tl.logical_product(tl.Layout(1, 1), swizzled((1, 1, 1), 3, 2))((0, j)), 3),
        [0, 2, 4],
        exactly([0, 2, 6]),
        lambda: rl.logical_product(Layout(1, 1), Layout(3, 2, swizzle=(1, 1, 1))),
        rl.NotExpressible,
    ),
    Wrong(
        "tensor_layouts: a slice of a swizzled layout",
        lambda: every(lambda j: sum(f(j) if callable(f) else f for f in sliced_by_tl()), 2),
        [1, 4],
        exactly([1, 6]),
        lambda: every(rl.slice_layout((1, None), Layout((2, 2), (1, 3), swizzle=(1, 1, 1))), 2),
        [1, 6],
    ),
    Wrong(
        "tensor_layouts: right_inverse of a swizzled layout",
        lambda: every(
            lambda i: swizzled((1, 1, 1), (2, 2), (2, 1))(tl.right_inverse(swizzled((1, 1, 1), (2, 2), (2, 1)))(i)),
            4,
        ),
        [0, 3, 2, 1],
        exactly([0, 1, 2, 3]),
        lambda: [SWIZZLED(rl.right_inverse(SWIZZLED)(i)) for i in range(4)],
        [0, 1, 2, 3],
    ),
    # Tuples and coordinates. That coordinates are not checked is CuTe's own convention, and an error in Python.
    Wrong(
        "pycute: idx2crd with a stride 0 divides by zero",
        lambda: pc.idx2crd(1, (2, 2), (0, 1)),
        ZeroDivisionError,
        refused,
        lambda: rl.idx2crd(1, (2, 2), (0, 1)),
        rl.NotExpressible,
    ),
    Wrong(
        "pycute: idx2crd of strides that are not compact",
        lambda: pc.idx2crd(3, (2, 2), (1, 3)),
        (1, 1),
        lambda c: sum(x * d for x, d in zip(c, (1, 3), strict=True)) == 3,
        lambda: rl.idx2crd(3, (2, 2), (1, 3)),
        (0, 1),
    ),
    Wrong(
        "pycute: idx2crd past the end wraps",
        lambda: pc.idx2crd(7, (2, 2)),
        (1, 1),
        refused,
        lambda: rl.idx2crd(7, (2, 2)),
        rl.OutOfBounds,
    ),
    Wrong(
        "tensor_layouts: idx2crd past the end wraps",
        lambda: tl.idx2crd(7, (2, 2)),
        (1, 1),
        refused,
        lambda: rl.idx2crd(7, (2, 2)),
        rl.OutOfBounds,
    ),
    Wrong(
        "pycute: a coordinate outside the shape reads past the end",
        lambda: pc.Layout((3, 4), (4, 1))(5, 9),
        29,
        lambda x: x in range(12),
        lambda: Layout((3, 4), (4, 1))(5, 9),
        rl.OutOfBounds,
    ),
    Wrong(
        "tensor_layouts: a coordinate outside the shape reads past the end",
        lambda: tl.Layout((3, 4), (4, 1))(5, 9),
        29,
        lambda x: x in range(12),
        lambda: Layout((3, 4), (4, 1))(5, 9),
        rl.OutOfBounds,
    ),
    Wrong(
        "pycute: crd2crd ignores the source shape of a nested coordinate",
        lambda: pc.crd2crd(((0, 1), 0), (6, 2), ((2, 3), 2)),
        AssertionError,
        exactly((2, 0)),
        lambda: rl.crd2crd(((0, 1), 0), (6, 2), ((2, 3), 2)),
        (2, 0),
    ),
    Wrong(
        "tensor_layouts: compatible accepts a shape whose coordinates do not fit",
        lambda: tl.compatible((2, 2, 3), (4, 3)),
        True,
        exactly(all(coordinate_of(c, (4, 3)) for c in natural((2, 2, 3)))),
        lambda: rl.compatible((2, 2, 3), (4, 3)),
        False,
    ),
    Wrong(
        "pycute: a layout whose shape and stride do not fit",
        lambda: pc.Layout((2, 3), (1, 2, 6)).stride,
        (1, 2, 6),
        lambda d: len(d) == 2,
        lambda: Layout((2, 3), (1, 2, 6)),
        rl.ShapeError,
    ),
    Wrong(
        "pycute: cosize with a negative stride",
        lambda: pc.cosize(pc.Layout(2, -1)),
        0,
        exactly(2),
        lambda: rl.cosize(Layout(2, -1)),
        2,
    ),
    Wrong(
        "pycute: cosize of an empty layout divides by zero",
        lambda: pc.cosize(pc.Layout((0, 4), (1, 1))),
        ZeroDivisionError,
        exactly(0),
        lambda: rl.cosize(Layout((0, 4), (1, 1))),
        0,
    ),
    Wrong(
        "tensor_layouts: cosize of an empty layout",
        lambda: tl.cosize(tl.Layout((0, 4), (1, 1))),
        3,
        exactly(0),
        lambda: rl.cosize(Layout((0, 4), (1, 1))),
        0,
    ),
]


def sliced_by_tl() -> Any:
    return tl.slice_and_offset((1, None), swizzled((1, 1, 1), (2, 2), (1, 3)))


@pytest.mark.parametrize("wrong", KNOWN_PEER_ERRORS, ids=[w.name for w in KNOWN_PEER_ERRORS])
def test_known_peer_error(wrong: Wrong) -> None:
    """The peer still says it, enumeration shows that it is wrong, and we are right or refuse."""
    if isinstance(wrong.said, type):
        with pytest.raises(wrong.said):
            wrong.theirs()
    else:
        said = seen(wrong.theirs())
        assert said == wrong.said
        assert not _holds(wrong.law, said)
    if isinstance(wrong.we_say, type):
        with pytest.raises(wrong.we_say) as refusal:
            wrong.ours()
        assert refusal.value.hint
    else:
        mine = seen(wrong.ours())
        assert wrong.law(mine)
        assert same_description(mine, wrong.we_say) if isinstance(mine, Seen) else mine == wrong.we_say


@pytest.mark.parametrize(
    ("question", "counterexample"),
    [
        (lambda: rl.composition(*CARRY), ((2, 1), 8, 7)),
        (lambda: rl.composition(*SHORT), None),
        (lambda: rl.complement(ONTO), None),
        (lambda: rl.left_inverse(ONTO), None),
        (lambda: rl.logical_product(ONTO, Layout(1, 1)), None),
        (lambda: rl.idx2crd(1, (2, 2), (0, 1)), ((0, 1), (1, 1))),
    ],
)
def test_refusals_show_a_counterexample(question: Callable[[], Any], counterexample: Any) -> None:
    with pytest.raises(rl.NotExpressible) as refusal:
        question()
    assert refusal.value.counterexample
    if counterexample is not None:
        assert refusal.value.counterexample == counterexample
