"""Views of tensors: chains of them against numpy on addresses, channels and names; Mojo's, Candle's, Core AI's."""

from __future__ import annotations

from itertools import product as cartesian
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

import relayout as rl
from relayout import Layout
from relayout.elements.interface import ScaleOffset
from relayout.engine.logical import from_logical
from relayout.tensors.make import empty, tensor
from relayout.tensors.tensor import Tensor
from support import coordinates, layouts, value

Array = np.ndarray[Any, Any]

# ---- chains of views -----------------------------------------------------------------------------------------


class Mirror:
    """What a tensor should be, by numpy: for each element its address and its coordinate in the first tensor."""

    def __init__(self, layout: Layout) -> None:
        shape = layout.extents
        places = np.array([value(layout, c) for c in coordinates(layout)]).reshape(shape)
        self.arrays: list[Array] = [places, *np.indices(shape)]

    def apply(self, view: Any) -> None:
        self.arrays = [view(x) for x in self.arrays]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.arrays[0].shape

    def follows(self, d: int) -> list[int]:
        """The dimensions along which the old coordinate ``d`` changes."""
        x = self.arrays[1 + d]
        return [e for e in range(x.ndim) if x.size and (x != x.take([0], axis=e)).any()]


def step(data: Any, shape: tuple[int, ...]) -> tuple[str, Any, Any]:
    """A name, a view of a tensor, and the same view of an array."""
    rank = len(shape)
    kinds = ["slice", "unsqueeze", "reshape"]
    if rank:
        kinds += [
            "permute",
            "flip",
            "narrow",
            "pick",
            "broadcast",
            "unfold",
            "chunk",
            "tile",
            "flatten",
            "squeeze",
            "cut",
        ]
    kind = data.draw(st.sampled_from(kinds))
    d = data.draw(st.integers(0, rank - 1)) if rank else 0
    n = shape[d] if rank else 1
    if kind == "slice":
        keys = tuple(
            data.draw(st.lists(st.one_of(st.slices(5), st.just(None), st.just(slice(None, None, -1))), max_size=rank))
        )
        return kind, lambda t: t[(*keys, ...)], lambda x: x[(*keys, ...)]
    if kind == "permute":
        order = data.draw(st.permutations(range(rank)))
        return kind, lambda t: t.permute(order), lambda x: x.transpose(order)
    if kind == "flip":
        return kind, lambda t: t.flip(d), lambda x: np.flip(x, d)
    if kind == "narrow":
        a = data.draw(st.integers(0, n))
        b = data.draw(st.integers(a, n))
        return kind, lambda t: t.narrow(d, a, b - a), lambda x: x.take(range(a, b), axis=d)
    if kind == "pick" and n:
        i = data.draw(st.integers(-n, n - 1))
        return kind, lambda t: t.pick(d, i), lambda x: x.take(i, axis=d)
    if kind == "squeeze":
        ones = tuple([e for e in range(rank) if shape[e] == 1])
        return kind, lambda t: t.squeeze(), lambda x: x.squeeze(ones)
    if kind == "unsqueeze":
        at = data.draw(st.integers(0, rank))
        return kind, lambda t: t.unsqueeze(at), lambda x: np.expand_dims(x, at)
    if kind == "broadcast":
        target = (2, *[3 if m == 1 else m for m in shape])
        return kind, lambda t: t.broadcast_to(target), lambda x: np.broadcast_to(x, target)
    if kind == "unfold" and n:
        size, by = data.draw(st.integers(1, n)), data.draw(st.integers(1, 3))
        return (
            kind,
            lambda t: t.unfold(d, size, by),
            lambda x: sliding_window_view(x, size, axis=d)[(*[slice(None)] * d, slice(None, None, by))],
        )
    if kind == "chunk" and n:
        parts = data.draw(st.integers(1, n))
        k = data.draw(st.integers(0, parts - 1))
        return kind, lambda t: t.chunk(parts, d)[k], lambda x: np.array_split(x, parts, d)[k]
    if kind == "cut" and n:
        size = data.draw(st.integers(1, n))
        return kind, lambda t: t.split(size, d)[-1], lambda x: np.split(x, range(size, n, size), d)[-1]
    if kind == "tile":
        sizes = [data.draw(st.integers(1, max(m, 1))) for m in shape]
        at = [data.draw(st.integers(0, max(0, (m - 1) // s))) for m, s in zip(shape, sizes, strict=True)]
        return (
            kind,
            lambda t: t.tile(sizes, at),
            lambda x: x[tuple([slice(a * s, a * s + s) for a, s in zip(at, sizes, strict=True)])],
        )
    if kind == "flatten":
        return kind, lambda t: t.flatten(d), lambda x: x.reshape(*shape[:d], prod(shape[d:]))
    sizes = list(shape) or [1]
    e = data.draw(st.integers(0, len(sizes) - 1))
    part = data.draw(st.sampled_from([k for k in range(1, sizes[e] + 1) if sizes[e] % k == 0] or [1]))
    target = (*sizes[:e], sizes[e] // part, part, *sizes[e + 1 :])
    return kind, lambda t: t.reshape(target), lambda x: x.reshape(target)


@given(layouts(window=True, offset=True, negative=True, tuples_only=True), st.data())
def test_chains_of_views_are_numpys(layout: Layout, data: Any) -> None:
    low = min(value(layout, c) for c in coordinates(layout))
    layout = layout.with_offset(layout.offset - min(low, 0))
    memory = np.arange(max(value(layout, c) for c in coordinates(layout)) + 1, dtype=np.int32)
    axis = data.draw(st.one_of(st.none(), st.integers(0, layout.rank - 1)))
    t = Tensor(memory, layout, axes="abcdefgh"[: layout.rank])
    if axis is not None:
        channels = range(1, layout.extents[axis] + 1)
        t = Tensor(memory, layout, ScaleOffset(list(channels), [-c for c in channels], "qint32", axis), axes=t.axes)
    first = t.axes
    mirror = Mirror(layout)
    for _ in range(data.draw(st.integers(1, 4))):
        name, view, same = step(data, mirror.shape)
        try:
            t = view(t)
        except rl.NotExpressible as refusal:
            if "channels" in str(refusal):
                mirror.apply(same)
                assert axis is not None
                assert name in ("reshape", "flatten", "unfold") or len(mirror.follows(axis)) > 1
            return
        except rl.LimitExceeded:
            return
        mirror.apply(same)
        assert t.shape == mirror.shape
        check_mirror(t, mirror, axis, first)


def check_mirror(t: Tensor, mirror: Mirror, axis: int | None, axes: str | None) -> None:
    places, *indices = mirror.arrays
    assert (t.stored() == places).all(), "the memory counts its own elements"
    assert t.layout.offsets().tolist() == places.tolist()
    if axis is not None:
        assert isinstance(t.interface, ScaleOffset)
        scale = indices[axis] + 1
        if t.interface.axis is None:
            assert t.size == 0 or (scale == t.interface.scale).all()
        else:
            along = [1] * t.ndim
            along[t.interface.axis] = -1
            assert (np.reshape(t.interface.scale, along) == scale).all()
            assert (np.reshape(t.interface.offset, along) == -scale).all()
        expected = (places.astype(np.float32) + scale.astype(np.float32)) * scale.astype(np.float32)
        assert (t.numpy() == expected).all()
        if t.size:
            c = tuple([n // 2 for n in t.shape])
            assert t[c] == expected[c]
    if t.axes is not None and axes is not None:
        assert len(t.axes) == t.ndim
        for d, name in enumerate(axes):
            moved = mirror.follows(d)
            assert moved in ([], [t.axes.index(name)] if name in t.axes else [])


@given(st.data())
def test_names_stay_with_their_dimensions(data: Any) -> None:
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    t = tensor(np.zeros(shape), axes="nhwc"[: len(shape)])
    names = list(t.axes or "")
    for _ in range(3):
        if data.draw(st.booleans()):
            order = data.draw(st.permutations(range(t.ndim)))
            t, names = t.permute(order), [names[k] for k in order]
        else:
            keys = [data.draw(st.sampled_from([slice(None), slice(0, 1), slice(None, None, -1), 0])) for _ in names]
            t, names = t[(*keys, ...)], [n for n, k in zip(names, keys, strict=True) if k != 0 or isinstance(k, slice)]
        if not isinstance(t, Tensor):
            return
        assert t.axes == "".join(names)
    assert t.unsqueeze(0).axes is None
    assert t.broadcast_to(2, *t.shape).axes is None


def test_names_of_no_dimensions() -> None:
    t = tensor(np.zeros((2, 3)), axes="hw")
    scalar = t[(0, 1, ...)]
    assert (scalar.axes, scalar[None].axes, scalar.reshape(1, 1).axes) == ("", None, None)
    assert t.reshape(2, 3).axes == "hw"
    assert t.reshape(3, 2).axes is None
    with pytest.raises(rl.ShapeError, match="different letter"):
        tensor(np.zeros((2, 3)), axes="hh")
    with pytest.raises(rl.ShapeError, match="2 dimensions"):
        tensor(np.zeros((2, 3)), axes="h")


def test_channels_that_no_dimension_follows() -> None:
    t = empty(Layout.row_major(4, 6), ScaleOffset([1] * 6, list(range(6)), "quint8", axis=1))
    for refused in (
        lambda: t.unfold(1, 2, 1),
        lambda: t.tile((2, 3)),
        lambda: t.vectorize(1, 2),
        lambda: t.composition(Layout(4)),
        lambda: t.coalesce(),
        lambda: t.reshape(3, 8),
    ):
        with pytest.raises(rl.NotExpressible, match="channels"):
            refused()
    for allowed, offsets in (
        (t.tile((2, 3), (1, 1)), (3, 4, 5)),
        (t[:, 5:2:-2].transpose(), (5, 3)),
        (t[:, 3], 3),
        (t[:, 3:4], (3,)),
        (t.reshape(2, 2, 6), tuple(range(6))),
        (t.flatten(), tuple(range(6)) * 4),
        (t[:0], tuple(range(6))),
        (t[:, :0], ()),
        (t[:, :0].transpose(), ()),
        (t[:, :0].reshape(3, 0), ()),
        (t[1:1, 2], 2),
    ):
        assert isinstance(allowed.interface, ScaleOffset)
        assert allowed.interface.offset == offsets
        assert allowed.numpy().shape == allowed.shape


# ---- Mojo's tensor operations --------------------------------------------------------------------------------


def test_views_write_to_the_memory_they_came_from() -> None:
    x = np.zeros((4, 6), np.int16)
    t = tensor(x)
    t.tile((2, 3), (1, 0)).fill(1)
    t.transpose()[5].fill(2)
    t.reshape(2, 2, 6)[0, 1, 0] = 3
    t.vectorize(1, 2)[0, 0].copy_from([[4, 5]])
    assert x.tolist() == [[4, 5, 0, 0, 0, 2], [3, 0, 0, 0, 0, 2], [1, 1, 1, 0, 0, 2], [1, 1, 1, 0, 0, 2]]
    assert t.broadcast_to(2, 4, 6)[1].numpy().tolist() == x.tolist()
    with pytest.raises(rl.Overlap, match="same place"):
        t.broadcast_to(2, 4, 6).fill(0)


@given(st.data())
def test_tiles_and_their_iterator(data: Any) -> None:
    shape = data.draw(st.tuples(st.integers(1, 9), st.integers(1, 9)))
    sizes = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    x = np.arange(prod(shape)).reshape(shape)
    t = tensor(x)
    counts = [-(-n // s) for n, s in zip(shape, sizes, strict=True)]
    for at in cartesian(*map(range, counts)):
        rows, columns = [slice(a * s, a * s + s) for a, s in zip(at, sizes, strict=True)]
        assert t.tile(sizes, at).numpy().tolist() == x[rows, columns].tolist()
        assert np.shares_memory(t.tile(sizes, at).numpy(), x)
    for dim in (0, 1, -1):
        start = [data.draw(st.integers(0, c - 1)) for c in counts]
        tiles = list(t.tiled_iterator(sizes, dim, start))
        assert len(tiles) == counts[dim] - start[dim]
        for k, tile in enumerate(tiles):
            at = list(start)
            at[dim] += k
            assert tile.layout == t.tile(sizes, at).layout
    with pytest.raises(rl.OutOfBounds):
        t.tiled_iterator(sizes, 0, (counts[0], 0))
    with pytest.raises(rl.OutOfBounds):
        t.tiled_iterator(sizes, 2)


@given(st.data())
def test_distribute_deals_elements_out_in_turn(data: Any) -> None:
    """Thread ``id`` of a compact layout stands at ``(id / stride) % shape``, and takes every shape-th element."""
    threads = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 4)))
    layout = data.draw(st.sampled_from([Layout.row_major(threads), Layout.col_major(threads)]))
    shape = [t * data.draw(st.integers(1, 3)) for t in threads]
    x = np.arange(prod(shape)).reshape(shape)
    t = tensor(x)
    seen: list[int] = []
    for thread in range(prod(threads)):
        fragment = t.distribute(layout, thread)
        row, column = [thread // stride % n if n > 1 else 0 for n, stride in zip(threads, layout.stride, strict=True)]
        assert fragment.numpy().tolist() == x[row :: threads[0], column :: threads[1]].tolist()
        seen += fragment.numpy().reshape(-1).tolist()
    assert sorted(seen) == list(range(x.size))


def test_distribute_refuses() -> None:
    t = tensor(np.zeros((4, 6)))
    with pytest.raises(rl.ShapeError, match="one to one"):
        t.distribute(Layout((2, 2), (1, 1)), 0)
    with pytest.raises(rl.ShapeError, match="2 dimensions"):
        t.distribute(Layout((1, 2, 2)), 0)
    with pytest.raises(rl.ShapeError, match="do not divide"):
        t.distribute(Layout.row_major(3, 2), 0)
    with pytest.raises(rl.OutOfBounds, match="no thread 4"):
        t.distribute(Layout.row_major(2, 2), 4)
    with pytest.raises(rl.ShapeError, match="takes a layout"):
        t.distribute((2, 2), 0)  # type: ignore[arg-type]


@pytest.mark.parametrize(("thread", "first"), [(0, 0), (37, 546), (74, 1092), (111, 1638)])
def test_distribute_takes_nested_threads_mode_by_mode(thread: int, first: int) -> None:
    """Mojo's own test of a warp group: it prints rows first, first + 8, + 16, + 24, and the same 256 further."""
    t = Tensor(np.arange(2048), Layout(((16, 16), 4), ((32, 2), 512)))
    dealt = t.distribute(Layout(((8, 4), 4), ((4, 1), 32)), thread)
    assert dealt.layout.shape == ((2, 4), 1)
    values = [[int(t.raw[dealt.layout((i, j), 0)]) for j in range(4)] for i in range(2)]
    assert values == [[first + 256 * i + 8 * j for j in range(4)] for i in range(2)]


@given(st.data())
def test_nested_threads_share_out_every_element_once(data: Any) -> None:
    """Thread (i, j) of a nested mode takes the places (i + m a, j + n b) of it, all threads together every place."""
    m, n, a, b = (data.draw(st.integers(1, 3)) for _ in range(4))
    layout = Layout(((m * a, n * b), 2), ((n * b, 1), m * a * n * b))
    t = Tensor(np.arange(layout.size), layout)
    threads = Layout(((m, n), 2), ((n, 1), m * n))
    seen: list[int] = []
    for i, j, k in cartesian(range(m), range(n), range(2)):
        dealt = t.distribute(threads, threads((i, j), k))
        expected = [layout((i + m * x, j + n * y), k) for y in range(b) for x in range(a)]
        assert dealt.numpy().ravel().tolist() == expected
        seen += expected
    assert sorted(seen) == list(range(layout.size))
    folded = t.distribute(Layout((m * n, 2)), 1)
    first = [layout(c % (m * n * a * b), 1 if m * n == 1 else 0) for c in range(m * n > 1, m * n * a * b, m * n)]
    assert folded.numpy().ravel().tolist() == first


def test_channels_follow_nested_threads() -> None:
    scales = tuple(range(1, 17))
    meaning = ScaleOffset(scales, 0, "int8", axis=0)
    t = Tensor(np.ones(32, np.int8), Layout(((4, 4), 2), ((4, 1), 16)), meaning, axes="ab")
    dealt = t.distribute(Layout((2, 2)), 0)
    assert dealt.numpy()[:, 0].tolist() == list(scales[::2])
    nested = t.distribute(Layout(((2, 2), 2)), 1)
    assert nested.axes == "ab"
    assert nested.numpy()[:, 0].tolist() == [scales[i + 4 * j] for j in (0, 2) for i in (1, 3)]


def test_nested_threads_that_do_not_fit_are_refused() -> None:
    t = Tensor(np.zeros(64), Layout(((8, 4), 2)))
    with pytest.raises(rl.ShapeError, match="do not divide"):
        t.distribute(Layout(((3, 2), 2)), 0)
    with pytest.raises(rl.ShapeError, match="more modes"):
        t.distribute(Layout(((2, 2, 2), 2)), 0)
    with pytest.raises(rl.NotExpressible, match="window"):
        t.narrow(0, 1, 8).distribute(Layout(((2, 2), 2)), 0)


def test_vectors_of_a_blocked_tensor() -> None:
    x = np.arange(4 * 12).reshape(4, 12)
    t = from_logical(x, "0 1 / 1,4")
    vectors = t.vectorize(1, 4)
    assert vectors.shape == (4, 3, 1, 4)
    assert vectors[2, 1].numpy().tolist() == [x[2, 4:8].tolist()]
    assert vectors[2, 1].is_contiguous()
    assert t.vectorize((2, 2)).shape == (2, 6, 2, 2)
    with pytest.raises(rl.NotExpressible, match="do not divide"):
        t.vectorize(3, 1)


def test_vectors_are_dealt_out() -> None:
    x = np.arange(4 * 16).reshape(4, 16)
    dealt = tensor(x).vectorize(1, 4).distribute(Layout.row_major(2, 2), 3)
    assert dealt.shape == (2, 2, 1, 4)
    assert dealt.numpy().tolist() == x.reshape(4, 4, 1, 4)[1::2, 1::2].tolist()
    assert tensor(x).distribute(Layout(4), 1).numpy().tolist() == x[1:2].tolist()


def test_composition_counts_elements_colexicographically() -> None:
    x = np.arange(24).reshape(4, 6)
    t = tensor(x)
    by = Layout((3, 2), (4, 1))
    composed = t.composition(by)
    order = x.flatten(order="F")
    for c in cartesian(range(3), range(2)):
        assert composed[c] == order[4 * c[0] + c[1]]
    assert np.shares_memory(composed.numpy(), x)
    for beyond in (Layout(3, 12), Layout(25), Layout(2, -1)):
        with pytest.raises(rl.OutOfBounds, match="24 elements"):
            t.composition(beyond)
    with pytest.raises(rl.ShapeError, match="takes a layout"):
        t.composition((2, 2))
    columns = tensor(x.T)
    assert columns.coalesce().shape == (24,)
    assert columns.coalesce().numpy().tolist() == list(range(24))


# ---- Candle's views ------------------------------------------------------------------------------------------


def test_candles_table_of_views() -> None:
    """Shape, stride and start offset of every view, and the same memory behind all of them."""
    memory = np.arange(24, dtype=np.float32)
    t = Tensor(memory, Layout.row_major(2, 3, 4))
    x = memory.reshape(2, 3, 4)
    table = [
        (t, x, (2, 3, 4), (12, 4, 1), 0),
        (t.narrow(1, 1, 2), x[:, 1:3], (2, 2, 4), (12, 4, 1), 4),
        (t.narrow(0, 1, 1), x[1:], (1, 3, 4), (12, 4, 1), 12),
        (t.transpose(0, 2), x.transpose(2, 1, 0), (4, 3, 2), (1, 4, 12), 0),
        (t.permute(1, 0, 2), x.transpose(1, 0, 2), (3, 2, 4), (4, 12, 1), 0),
        (t.broadcast_to(5, 2, 3, 4), np.broadcast_to(x, (5, 2, 3, 4)), (5, 2, 3, 4), (0, 12, 4, 1), 0),
        (t[:, :1].broadcast_to(2, 7, 4), np.broadcast_to(x[:, :1], (2, 7, 4)), (2, 7, 4), (12, 0, 1), 0),
        (t[:, :1].squeeze(1), x[:, 0], (2, 4), (12, 1), 0),
        (t.squeeze(1), x, (2, 3, 4), (12, 4, 1), 0),
        (t.unsqueeze(1), x[:, None], (2, 1, 3, 4), (12, 4, 4, 1), 0),
        (t.unsqueeze(3), x[..., None], (2, 3, 4, 1), (12, 4, 1, 1), 0),
        (t.flatten(), x.reshape(-1), (24,), (1,), 0),
        (t.flatten(1, 2), x.reshape(2, 12), (2, 12), (12, 1), 0),
        (t.reshape(4, 6), x.reshape(4, 6), (4, 6), (6, 1), 0),
        (t.pick(1, 2), x[:, 2], (2, 4), (12, 1), 8),
        (t.chunk(2, 2)[1], x[:, :, 2:], (2, 3, 2), (12, 4, 1), 2),
        (t.unfold(2, 2, 1), sliding_window_view(x, 2, 2), (2, 3, 3, 2), (12, 4, 1, 1), 0),
        (t.flip(2), x[..., ::-1], (2, 3, 4), (12, 4, -1), 3),
        (t[:, ::2, 1::2], x[:, ::2, 1::2], (2, 2, 2), (12, 8, 2), 1),
    ]
    for view, expected, shape, stride, offset in table:
        assert (view.layout.shape, view.layout.stride, view.layout.offset) == (shape, stride, offset)
        assert view.numpy().tolist() == expected.tolist()
        assert np.shares_memory(view.numpy(), memory)
    for dim, start, length in ((1, 4, 0), (1, 2, 2), (3, 0, 1), (0, -1, 1)):
        with pytest.raises(rl.OutOfBounds):
            t.narrow(dim, start, length)
    for dims in ((0, 0, 1), (0, 1), (0, 1, 3)):
        with pytest.raises(rl.LayoutError):
            t.permute(dims)
    scattered = t.transpose(0, 2).flatten()
    assert scattered.numpy().tolist() == x.transpose(2, 1, 0).reshape(-1).tolist(), "Candle copies here"
    assert scattered.get_raw(5).byte == 4 * x.transpose(2, 1, 0).reshape(-1)[5]


# ---- Core AI -------------------------------------------------------------------------------------------------


def test_slice_at_keeps_the_rank() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    t = tensor(x)
    assert t.slice_at(1).shape == (1, 3, 4)
    assert t.slice_at(1, slice(1, 3), -1).numpy().tolist() == x[1:2, 1:3, 3:4].tolist()
    assert t.slice_at(..., 0).shape == (2, 3, 1)
    assert t.slice_at(None, 0).shape == (1, 1, 3, 4)
    for bad in ((2,), (0, -4), (..., 4)):
        with pytest.raises(rl.OutOfBounds, match="outside dimension"):
            t.slice_at(*bad)
    with pytest.raises(rl.OutOfBounds, match="empty"):
        t[:0].slice_at(0)


def test_contiguous_elements_are_the_memory() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    t = tensor(x)
    assert t.is_contiguous()
    assert t.contiguous_elements().tolist() == list(range(24))
    assert np.shares_memory(t[1].contiguous_elements(), x)
    assert t[1].contiguous_elements().tolist() == list(range(12, 24))
    assert t[:, :, :0].contiguous_elements().tolist() == []
    for view in (t[:, 1:], t.permute(2, 0, 1), t.flip(0), t.broadcast_to(2, 2, 3, 4)):
        assert not view.is_contiguous()
        with pytest.raises(rl.NotExpressible, match="not contiguous"):
            view.contiguous_elements()
    packed = Tensor(bytearray(6), Layout.row_major(3, 4), "int4")
    assert packed.is_contiguous()
    with pytest.raises(rl.NotExpressible, match="share bytes"):
        packed.contiguous_elements()
    crouton = from_logical(np.zeros((1, 16, 8, 32), np.uint8), "htp:R4Crouton")
    assert crouton.is_contiguous(), "one column of blocks is row-major"
    assert not from_logical(np.zeros((1, 8, 16, 32), np.uint8), "htp:R4Crouton").is_contiguous()
