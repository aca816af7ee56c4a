"""Views of any layout (nested, windowed, swizzled, offset) against numpy on the enumerated table."""

from __future__ import annotations

from itertools import pairwise
from math import gcd
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relayout as rl
from relayout import Layout, MultipleBlocks, SingleBlock, UniformBlocks
from support import coordinates, layouts, table, volume

ANY = layouts(60, window=True, swizzle=True, offset=True, negative=True, tuples_only=True)
PLAIN = layouts(60, window=True, offset=True, negative=True, tuples_only=True)


def agrees(view: Layout, truth: Any) -> None:
    truth = np.asarray(truth, dtype=object)
    assert view.extents == truth.shape
    assert (table(view) == truth).all()


def a_mode_exists(steps: list[int]) -> bool:
    """Whether some mode on some window makes these steps: by trying every size of its lowest digit."""
    if len(set(steps)) <= 1:
        return True
    n = len(steps)
    for size in range(2, n + 2):
        for carry in range(size):
            low = {s for t, s in enumerate(steps) if t % size != carry}
            if len(low) <= 1 and len(steps[carry::size]) < n and a_mode_exists(steps[carry::size]):
                return True
    return False


def a_view_exists(truth: Any) -> bool:
    """Whether a table is a sum of one mode per dimension."""
    origin = (0,) * truth.ndim
    total = np.full(truth.shape, truth[origin], dtype=object)
    for k in range(truth.ndim):
        line = truth[(*origin[:k], slice(None), *origin[k + 1 :])]
        if not a_mode_exists([int(b - a) for a, b in pairwise(line)]):
            return False
        total = total + (line - line[0]).reshape([-1 if j == k else 1 for j in range(truth.ndim)])
    return bool((total == truth).all())


def agrees_or_cannot_exist(make: Any, truth: Any) -> None:
    try:
        view = make()
    except rl.NotExpressible as refusal:
        assert not a_view_exists(truth)
        assert refusal.hint
        return
    agrees(view, truth)


@given(ANY, st.data())
def test_narrow_pick_and_flip(layout: Layout, data: Any) -> None:
    truth = table(layout)
    dim = data.draw(st.integers(-layout.rank, layout.rank - 1))
    n = layout.extents[dim]
    start = data.draw(st.integers(0, n))
    length = data.draw(st.integers(0, n - start))
    agrees(layout.narrow(dim, start, length), truth.take(range(start, start + length), dim))
    index = data.draw(st.integers(-n, n - 1))
    agrees(layout.pick(dim, index), truth.take(index, dim))
    agrees(layout.flip(dim), np.flip(truth, dim))
    agrees(layout.flip(), np.flip(truth))


@given(PLAIN, st.data())
def test_slices_are_numpys(layout: Layout, data: Any) -> None:
    truth = table(layout)
    ends = st.one_of(st.none(), st.integers(-7, 7))
    steps = st.sampled_from([None, 1, 2, 3, -1, -2, 5])
    keys: list[Any] = [
        data.draw(st.one_of(st.builds(slice, ends, ends, steps), st.integers(-n, n - 1))) for n in layout.extents
    ]
    if data.draw(st.booleans()):
        keys.insert(data.draw(st.integers(0, len(keys))), None)
    if data.draw(st.booleans()):
        cut = data.draw(st.integers(0, len(keys)))
        keys = [*keys[:cut], Ellipsis] if data.draw(st.booleans()) else [Ellipsis, *keys[cut:]]
    agrees_or_cannot_exist(lambda: layout.view[tuple(keys)], truth[tuple(keys)])


@given(ANY, st.data())
def test_permute_transpose_broadcast_squeeze(layout: Layout, data: Any) -> None:
    truth = table(layout)
    order = data.draw(st.permutations(range(layout.rank)))
    agrees(layout.permute(*order), truth.transpose(order))
    a, b = data.draw(st.integers(0, layout.rank - 1)), data.draw(st.integers(-layout.rank, -1))
    agrees(layout.transpose(a, b), truth.swapaxes(a, b))
    new = data.draw(st.integers(-layout.rank - 1, layout.rank))
    agrees(layout.unsqueeze(new), np.expand_dims(truth, new))
    agrees(layout.squeeze(), truth.squeeze())
    dim = data.draw(st.integers(0, layout.rank - 1))
    agrees(layout.squeeze(dim), truth.squeeze(dim) if truth.shape[dim] == 1 else truth)
    target = (2, *[data.draw(st.integers(1, 3)) if n == 1 else n for n in layout.extents])
    agrees(layout.broadcast_to(target), np.broadcast_to(truth, target))


@st.composite
def factorisations(draw: Any, n: int) -> list[int]:
    sizes = []
    while n > 1 and draw(st.booleans()):
        sizes.append(draw(st.sampled_from([d for d in range(2, n + 1) if n % d == 0])))
        n //= sizes[-1]
    sizes.append(n)
    if draw(st.booleans()):
        sizes.append(1)
    return draw(st.permutations(sizes))


@given(PLAIN, st.data())
def test_reshape_is_a_view_whenever_one_exists(layout: Layout, data: Any) -> None:
    truth = table(layout)
    shape = data.draw(factorisations(layout.size))
    agrees_or_cannot_exist(lambda: layout.reshape(*shape), truth.reshape(shape))
    agrees_or_cannot_exist(lambda: layout.reshape(-1), truth.reshape(-1))
    start = data.draw(st.integers(0, layout.rank - 1))
    end = data.draw(st.integers(start, layout.rank - 1))
    merged = (*truth.shape[:start], -1, *truth.shape[end + 1 :])
    agrees_or_cannot_exist(lambda: layout.flatten(start, end), truth.reshape(merged))


@given(PLAIN, st.data())
def test_unfold_slides_a_window(layout: Layout, data: Any) -> None:
    truth = table(layout)
    dim = data.draw(st.integers(0, layout.rank - 1))
    n = layout.extents[dim]
    size, step = data.draw(st.integers(1, n)), data.draw(st.integers(1, 3))
    windows = np.lib.stride_tricks.sliding_window_view(truth, size, dim).take(range(0, n - size + 1, step), dim)
    agrees_or_cannot_exist(lambda: layout.unfold(dim, size, step), windows)


@given(PLAIN, st.data())
def test_diagonals_are_numpys(layout: Layout, data: Any) -> None:
    truth = table(layout)
    if truth.ndim < 2:
        with pytest.raises(rl.LayoutError):
            layout.diagonal()
        return
    first, second = data.draw(st.permutations(range(-truth.ndim, 0)))[:2]
    offset = data.draw(st.integers(-max(truth.shape) - 1, max(truth.shape) + 1))
    agrees_or_cannot_exist(lambda: layout.diagonal(offset, first, second), np.diagonal(truth, offset, first, second))


def test_diagonals_by_hand() -> None:
    assert Layout.row_major(3, 4).diagonal() == Layout((3,), (5,))
    assert Layout.row_major(3, 4).diagonal(1) == Layout((3,), (5,), offset=1)
    assert Layout.row_major(3, 4).diagonal(-1) == Layout((2,), (5,), offset=4)
    assert Layout.row_major(3, 4).diagonal(9).extents == (0,)
    huge = Layout(((2**20, 2**30), 2**50), ((2**30, 1), 2**50))
    assert huge.diagonal()(2**20 + 1) == huge(2**20 + 1, 2**20 + 1)
    with pytest.raises(rl.ShapeError, match="two dimensions"):
        Layout((3, 4)).diagonal(0, 1, -1)


def test_a_tensors_diagonal() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    t = rl.tensor(x).diagonal(1, 2, 0)
    assert t.numpy().tolist() == np.diagonal(x, 1, 2, 0).tolist()
    assert np.shares_memory(t.numpy(), x)


@given(ANY, st.data())
def test_split_and_chunk_cover_a_dimension(layout: Layout, data: Any) -> None:
    truth = table(layout)
    dim = data.draw(st.integers(0, layout.rank - 1))
    n = layout.extents[dim]
    each = data.draw(st.integers(1, n + 1))
    for pieces in (layout.split(each, dim), layout.chunk(each, dim)):
        assert (np.concatenate([table(p) for p in pieces], axis=dim) == truth).all()
    assert all(p.extents[dim] == each for p in layout.split(each, dim)[:-1])
    sizes = [p.extents[dim] for p in layout.chunk(each, dim)]
    assert len(sizes) == min(each, n)
    assert max(sizes) - min(sizes) <= 1
    assert sizes == sorted(sizes, reverse=True)
    cut = data.draw(st.integers(0, n))
    first, second = layout.split([cut, n - cut], dim)
    agrees(first, truth.take(range(cut), dim))
    agrees(second, truth.take(range(cut, n), dim))


@given(PLAIN, st.data())
def test_tiles(layout: Layout, data: Any) -> None:
    truth = table(layout)
    sizes = tuple(data.draw(st.integers(1, n)) for n in layout.extents)
    place = tuple(data.draw(st.integers(0, (n - 1) // t)) for n, t in zip(layout.extents, sizes, strict=True))
    window = tuple(slice(i * t, (i + 1) * t) for i, t in zip(place, sizes, strict=True))
    agrees(layout.tile(sizes, place), truth[window])
    if any(n % t for n, t in zip(layout.extents, sizes, strict=True)):
        with pytest.raises(rl.NotExpressible, match="divide"):
            layout.tile(sizes)
        return
    halves = [x for n, t in zip(layout.extents, sizes, strict=True) for x in (n // t, t)]
    order = [*range(0, len(halves), 2), *range(1, len(halves), 2)]
    agrees_or_cannot_exist(lambda: layout.tile(sizes), truth.reshape(halves).transpose(order))


@given(ANY)
def test_strided_blocks_are_the_layout_in_row_major_order(layout: Layout) -> None:
    blocks = layout.strided_blocks()
    moved = [start + k for start in blocks.block_starts() for k in range(blocks.length)]
    assert moved == [int(x) for x in table(layout).reshape(-1)]
    assert blocks.block_count * blocks.length == layout.size
    if layout.is_contiguous():
        assert isinstance(blocks, SingleBlock) or layout.swizzle is not None


@given(layouts(60, window=True, offset=True, tuples_only=True))
def test_strided_blocks_are_as_long_as_equal_blocks_can_be(layout: Layout) -> None:
    row_major = [int(x) for x in table(layout).reshape(-1)]
    runs = [1]
    for a, b in pairwise(row_major):
        runs = [*runs[:-1], runs[-1] + 1] if b == a + 1 else [*runs, 1]
    assert layout.strided_blocks().length <= gcd(*runs)
    if not layout.windowed:
        assert layout.strided_blocks().length == gcd(*runs) or len(runs) > 1


def test_strided_blocks_of_windows_and_idle_swizzles() -> None:
    assert Layout(((3, 2),), ((1, 6),), extents=(4,), origin=(1,)).strided_blocks() == UniformBlocks(1, 2, 2, 5)
    assert Layout(64, 1, swizzle=(3, 4, 3)).strided_blocks() == SingleBlock(0, 64)
    blocks = Layout(((8, 30), (8, 20)), ((8, 1280), (1, 64)), extents=(200, 130)).strided_blocks()
    assert (blocks.length, blocks.block_count) == (2, 13000)


def test_strided_blocks_by_hand() -> None:
    assert Layout.row_major(3, 4).strided_blocks() == SingleBlock(0, 12)
    assert Layout((3, 4), (10, 1), offset=5).strided_blocks() == UniformBlocks(5, 4, 3, 10)
    assert Layout((2, 3, 4), (100, 10, 1)).strided_blocks() == MultipleBlocks(4, Layout((2, 3), (100, 10)))
    assert Layout(4, 2).strided_blocks() == UniformBlocks(0, 1, 4, 2)
    assert Layout((), (), offset=3).strided_blocks() == SingleBlock(3, 1)
    assert Layout((0, 4)).strided_blocks().length == 0


@given(layouts(60, offset=True, negative=True, window=True, swizzle=True))
def test_ravel_leaves_offset_and_swizzle_out(layout: Layout) -> None:
    plain = layout.with_swizzle(None)
    for c in coordinates(layout):
        assert layout.ravel(c) == table(plain)[c] - layout.offset
    if layout.is_injective():
        assert all(layout.coordinates(layout.unravel(layout.ravel(c))).modes == c for c in coordinates(layout))


def test_a_flat_mode_shrinks_and_a_nested_one_gets_a_window() -> None:
    crouton = Layout(((8, 4), 3), ((1, 24), 8))
    assert crouton.narrow(0, 3, 10) == Layout(((8, 4), 3), ((1, 24), 8), extents=(10, 3), origin=(3, 0))
    assert crouton.narrow(1, 1, 2) == Layout(((8, 4), 2), ((1, 24), 8), offset=8)
    assert Layout(8, 3).narrow(0, 2, 4) == Layout(4, 3, offset=6)
    assert crouton.narrow(0, 3, 10).narrow(0, 1, 2).origin == (4, 0)


def test_what_other_libraries_copy_is_a_view() -> None:
    rows = Layout.row_major(6, 4)
    assert rows.view[::2] == Layout((3, 4), (8, 1))
    assert rows.flip(1) == Layout((6, 4), (4, -1), offset=3)
    assert rows.transpose(0, 1).flatten() == Layout(((6, 4),), ((4, 1),))
    assert rows.transpose(0, 1).reshape(2, 2, 6) == Layout((2, 2, 6), (2, 1, 4))
    assert rows.reshape(2, 1, 12) == Layout((2, 1, 12), (12, 12, 1))
    assert rows.reshape(2, 3, 2, 2).stride == (12, 4, 2, 1)
    assert rows.narrow(1, 0, 2).reshape(2, 3, 2).stride == (12, 4, 1)
    blocked = Layout(((3, 2), 4), ((1, 12), 3))
    assert blocked.reshape(2, 3, 4) == Layout((2, 3, 4), (12, 1, 3))


def test_an_inner_dimension_with_a_window_merges_when_its_steps_allow_it() -> None:
    inner = Layout(((1, 2), (2, 4)), ((7, 4), (0, 4)), offset=10, extents=(2, 3), origin=(0, 5))
    agrees(inner.reshape(6), table(inner).reshape(6))
    agrees(inner.reshape(1, 6), table(inner).reshape(1, 6))
    blocks = Layout(((8, 3), (8, 2)), ((8, 128), (1, 64)), extents=(20, 13))
    with pytest.raises(rl.NotExpressible, match="unevenly") as caught:
        blocks.flatten()
    assert len(str(caught.value)) < 500
    with pytest.raises(rl.NotExpressible, match="unevenly"):
        blocks.reshape(4, 65)
    with pytest.raises(rl.NotExpressible, match="add up") as caught:
        Layout.row_major(100, 101).permute(1, 0).reshape(100, 101)
    assert caught.value.counterexample
    assert Layout(((2, 4),), ((4, 1),)).unfold(0, 3, 4).extents == (2, 3)
    with pytest.raises(rl.NotExpressible, match="add up to 38"):
        Layout(((4, 6),), ((1, 10),)).narrow(0, 2, 20).reshape(2, 10)


def test_views_of_huge_layouts() -> None:
    huge = Layout(((2**20, 2**30), 2**40), ((2**40, 2**70), 1))
    assert huge.view[5 :: 2**20, ::-1].extents == (2**30, 2**40)
    window = huge.narrow(0, 3 * 2**20, 2**40)
    assert window.reshape(2**20, 2**20, 2**40)(5, 7, 9) == window(5 * 2**20 + 7, 9)
    assert huge.flip(0)(0, 0) == huge(2**50 - 1, 0)
    with pytest.raises(rl.LimitExceeded, match="undecided"):
        huge.narrow(0, 3, 2**40).reshape(2**20, 2**20, 2**40)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda m: m.narrow(0, 2, 3), rl.OutOfBounds, "leaves dimension"),
        (lambda m: m.narrow(0, -1, 1), rl.OutOfBounds, "leaves dimension"),
        (lambda m: m.narrow(2, 0, 1), rl.OutOfBounds, "does not exist"),
        (lambda m: m.pick(0, 4), rl.OutOfBounds, "outside dimension"),
        (lambda m: m.permute(0, 0), rl.ShapeError, "twice"),
        (lambda m: m.permute(0), rl.ShapeError, "names 1 of 2"),
        (lambda m: m.permute(0, 5), rl.OutOfBounds, "does not exist"),
        (lambda m: m.broadcast_to(5, 6), rl.ShapeError, "broadcast"),
        (lambda m: m.broadcast_to(6), rl.ShapeError, "broadcast"),
        (lambda m: m.reshape(5, 5), rl.ShapeError, "do not fit"),
        (lambda m: m.reshape(-1, -1), rl.ShapeError, "do not fit"),
        (lambda m: m.reshape(-1, 7), rl.ShapeError, "do not fit"),
        (lambda m: m.reshape(-2, 12), rl.ShapeError, "flat tuple"),
        (lambda m: m.reshape((4, (3, 2))), rl.ShapeError, "flat tuple"),
        (lambda m: m.flatten(1, 0), rl.ShapeError, "ends before"),
        (lambda m: m.split(0), rl.ShapeError, "at least 1"),
        (lambda m: m.split([1, 2]), rl.ShapeError, "add up"),
        (lambda m: m.chunk(0), rl.ShapeError, "at least 1"),
        (lambda m: m.unfold(0, 5, 1), rl.OutOfBounds, "leaves dimension"),
        (lambda m: m.unfold(0, 2, 0), rl.OutOfBounds, "leaves dimension"),
        (lambda m: m.unsqueeze(4), rl.OutOfBounds, "cannot be added"),
        (lambda m: m.tile((2,)), rl.ShapeError, "one size"),
        (lambda m: m.tile((2, 2), (2, 0)), rl.OutOfBounds, "no tile"),
        (lambda m: m.view[0, 0, 0], rl.ShapeError, "3 indices"),
        (lambda m: m.view[..., ...], rl.ShapeError, "more than once"),
        (lambda m: m.view["x"], rl.ShapeError, "integer"),
        (lambda m: m.view[0.5:], rl.ShapeError, "slice"),
        (lambda m: m.view[::0], rl.ShapeError, "step"),
    ],
)
def test_refused_views(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make(Layout((4, 6)))


def test_empty_layouts_have_views() -> None:
    empty = Layout((0, 4))
    assert empty.reshape(2, 0, 3).extents == (2, 0, 3)
    assert empty.flip().extents == (0, 4)
    assert empty.view[:, ::2].extents == (0, 2)
    assert empty.flatten().extents == (0,)
    assert Layout((4, 6)).view[2:2, ::-1].size == 0
    assert volume(Layout((4, 6)).narrow(0, 4, 0).extents) == 0


def test_nested_modes_of_empty_layouts_have_views() -> None:
    empty = Layout((0, (4, 2)), (8, (2, 1)))
    assert empty.unfold(1, 3, 2).extents == (0, 3, 3)
    assert empty.view[:, ::3].extents == empty.view[:, ::-3].extents == (0, 3)


@given(ANY)
def test_coordinates_may_have_one_entry_per_leaf(layout: Layout) -> None:
    """As in Mojo: nested like the shape, without the parentheses."""
    leaves = rl.flatten(layout.shape)
    if len(leaves) == layout.rank:
        return
    for c in coordinates(layout):
        natural = layout.coordinates(c).natural
        assert layout(*rl.flatten(natural)) == layout(c) == layout(natural)
        assert layout.coordinates(rl.flatten(natural)).modes == tuple(c)


def test_coordinates_per_leaf_by_hand() -> None:
    layout = Layout((4, (3, 2)), (6, (2, 1)))
    assert layout(1, 1, 1) == 9
    with pytest.raises(rl.OutOfBounds):
        layout(1, 3, 1)
    with pytest.raises(rl.ShapeError):
        layout(1, 1, 1, 0)
    with pytest.raises(rl.ShapeError):
        layout(1, (1, 1), 1)


def test_flatten_of_a_scalar() -> None:
    assert Layout((), (), offset=3).flatten().extents == (1,)
