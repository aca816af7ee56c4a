"""Block tables: every element by the table, views that trim it, sharing, and several buffers."""

from __future__ import annotations

import pickle
from itertools import product as cartesian
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relayout as rl
from relayout import Format, Layout
from relayout.elements.interface import ScaleOffset
from relayout.engine.logical import from_logical
from relayout.tensors import gather as transfer
from relayout.tensors.block_table import BlockTable
from relayout.tensors.make import empty
from relayout.tensors.tensor import Tensor
from relayout.tensors.trimming import trim_table
from support import coordinates, layouts, value

CROUTON = rl.parse("htp:R4Crouton")


def by_hand(buffers: list[Any], layout: Layout, table: BlockTable) -> dict[tuple[int, ...], Any]:
    """Every element, by the definition."""
    found = {}
    for c in coordinates(layout):
        block, place = divmod(value(layout, c), prod(table.shape))
        found[c] = buffers[table.buffers[block]][table.starts[block] + place]
    return found


@st.composite
def tables(draw: Any, apart: bool = False) -> tuple[Layout, BlockTable, list[Any]]:
    """A layout of virtual addresses, blocks of any size anywhere in up to three buffers, and the buffers."""
    layout = draw(layouts(window=True, offset=True, swizzle=True, tuples_only=True))
    reach = max(value(layout, c) for c in coordinates(layout)) + 1
    elements = draw(st.sampled_from([1, 2, 3, 4, 8, 16, 24, 64]))
    count = -(-reach // elements) + draw(st.integers(0, 2))
    buffers = draw(st.integers(1, 3))
    room = elements * count + 5
    held = [draw(st.integers(0, buffers - 1)) for _ in range(count)]
    starts = [draw(st.integers(0, room - elements)) for _ in range(count)]
    if apart:
        starts = [k * elements for k in draw(st.permutations(range(count)))]
    numbers = np.random.default_rng(draw(st.integers(0, 9)))
    data = [numbers.permutation(room).astype(np.int32) + 1000 * k for k in range(buffers)]
    return layout, BlockTable(starts, elements, held), data


@given(tables())
def test_every_element_is_in_its_block(case: Any) -> None:
    layout, table, buffers = case
    t = Tensor(buffers, layout, blocks=table)
    expected = by_hand(buffers, layout, table)
    stored = t.numpy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transfer, "LARGE_BLOCK", 1)
        by_blocks = t.numpy()
    for c, number in expected.items():
        assert t[c] == stored[c] == by_blocks[c] == number
        raw = t.get_raw(c)
        assert int.from_bytes(raw.view, "little", signed=True) == number
        assert buffers[raw.buffer][raw.byte // 4] == number
    assert t.blocks is not None
    assert (t.blocks.count, t.blocks.elements, t.blocks.bytes) == (table.count, table.elements, 4 * table.elements)
    assert t.blocks.starts.tolist() == table.starts.tolist()


@given(tables(apart=True), st.data())
def test_writes_go_to_the_block_and_nowhere_else(case: Any, data: Any) -> None:
    layout, table, buffers = case
    before = [b.copy() for b in buffers]
    t = Tensor(buffers, layout, blocks=table)
    c = data.draw(st.sampled_from(coordinates(layout)))
    t[c] = -7
    block, place = divmod(value(layout, c), table.elements)
    before[table.buffers[block]][table.starts[block] + place] = -7
    assert all((a == b).all() for a, b in zip(before, buffers, strict=True))
    numbers = np.random.default_rng(0).integers(0, 99, t.shape)
    if len({value(layout, c) for c in coordinates(layout)}) < layout.size:
        with pytest.raises(rl.Overlap):
            t[...] = numbers
    else:
        t[...] = numbers
        for c in coordinates(layout):
            block, place = divmod(value(layout, c), table.elements)
            before[table.buffers[block]][table.starts[block] + place] = numbers[c]
    assert all((a == b).all() for a, b in zip(before, buffers, strict=True))


@given(tables(), st.data())
def test_views_use_a_part_of_the_table(case: Any, data: Any) -> None:
    layout, table, buffers = case
    t = Tensor(buffers, layout, blocks=table)
    expected = t.numpy()
    for _ in range(2):
        d = data.draw(st.integers(0, t.ndim - 1))
        start = data.draw(st.integers(0, t.shape[d] - 1))
        length = data.draw(st.integers(1, t.shape[d] - start))
        if data.draw(st.booleans()):
            t, expected = t.narrow(d, start, length), expected.take(range(start, start + length), axis=d)
        else:
            t, expected = t.flip(d), np.flip(expected, d)
        assert t.blocks is not None
        assert t.blocks.count <= table.count
        assert (t.numpy() == expected).all()
        c = tuple([n - 1 for n in t.shape])
        assert t[c] == expected[c]


@given(tables())
def test_trimming_keeps_every_address(case: Any) -> None:
    layout, table, _ = case
    new, part = trim_table(layout, table)
    for c in coordinates(layout):
        before, after = table.address(layout(c)), part.address(new(c))
        assert tuple(map(int, before)) == tuple(map(int, after))


def test_swizzles_act_on_virtual_addresses() -> None:
    memory = np.arange(40, dtype=np.int16)
    layout = Layout(32, swizzle=(2, 0, 3))
    for starts in ([1, 17], [17, 1], [0, 16]):
        table = BlockTable(starts, 16)
        t = Tensor(memory, layout, blocks=table)
        assert [t.numpy()[k] for k in range(32)] == list(by_hand([memory], layout, table).values())


def test_a_view_that_names_a_block_twice_is_read_only() -> None:
    memory = np.arange(16, dtype=np.int16)
    t = Tensor(memory, Layout((2, 2), (4, 4)), blocks=BlockTable([12, 8, 4, 0], 4))
    view = t[...]
    assert view.numpy().tolist() == [[12, 8], [8, 4]]
    with pytest.raises(rl.Overlap):
        view.fill(1)
    assert memory.tolist() == list(range(16))


def test_a_run_through_neighbouring_blocks_is_contiguous() -> None:
    memory = np.arange(28, dtype=np.int16)
    t = Tensor(memory, Layout(16), blocks=BlockTable([0, 4, 20, 24], 4))
    assert [t[a:b].is_contiguous() for a, b in ((0, 8), (2, 7), (5, 6), (4, 12), (9, 16))] == [
        True,
        True,
        True,
        False,
        True,
    ]
    assert np.shares_memory(t[9:].numpy(), memory)
    assert t[9:].contiguous_elements().tolist() == list(range(21, 28))
    assert t[4:12].numpy().tolist() == [4, 5, 6, 7, 20, 21, 22, 23]
    still = Tensor(memory, Layout(8, swizzle=(1, 0, 3)), blocks=BlockTable([20], 8))
    assert still.is_contiguous()
    assert np.shares_memory(still.numpy(), memory), "the swizzle reads a bit that no address has"
    swizzled = Tensor(memory, Layout(16, swizzle=(1, 0, 3)), blocks=BlockTable([9], 16))
    assert not swizzled.is_contiguous()
    assert swizzled.numpy().tolist() == [*range(9, 17), 18, 17, 20, 19, 22, 21, 24, 23]


def test_a_view_that_would_need_a_longer_table_keeps_the_old_one() -> None:
    memory = np.arange(8, dtype=np.int16)
    t = Tensor(memory, Layout(8), blocks=BlockTable(np.arange(8)[::-1], 1))
    windows = t.unfold(0, 4, 1)
    assert windows.blocks is t.blocks
    assert windows.numpy().tolist() == [[7 - k - j for j in range(4)] for k in range(5)]


def blocks_of(fmt: Format, shape: Any) -> tuple[int, int]:
    """How many blocks a tensor has, and how large they are."""
    physical = fmt.physical_shape(shape)
    return prod(physical[: fmt.indirect]), prod(physical[fmt.indirect :])


INDIRECT = [name for name, entry in rl.catalog.ENTRIES.items() if getattr(entry.forms.get(None), "indirect", None)]
OTHERS = ["2 0 1 / 0,2 2,3 indirect 3 element_bits 8", "1 0 / 1,2 0,2 1,2 indirect 2 element_bits 16"]


@pytest.mark.parametrize("text", INDIRECT + OTHERS)
@pytest.mark.parametrize("single", range(6))
def test_views_of_whole_blocks_have_the_formats_layout(text: str, single: int) -> None:
    """Of tensors that have several blocks along every dimension, or only one along one of them."""
    fmt = rl.parse(text)
    assert isinstance(fmt, Format)
    block = fmt.block_shape
    shape = tuple([b if d == single else 2 * b + b // 2 + 1 for d, b in enumerate(block)])
    count, elements = blocks_of(fmt, shape)
    order = np.random.default_rng(1).permutation(count)
    memory = np.zeros(count * elements, f"u{fmt.element_bits // 8}")  # type: ignore[operator]
    t = Tensor(memory, fmt.layout(shape), axes=fmt.axes, blocks=BlockTable(order * elements, elements))
    x = np.arange(prod(shape), dtype=memory.dtype).reshape(shape)
    t.copy_from(x)
    assert (t.numpy() == x).all()
    in_table = [f.dim for f in fmt.factors[: fmt.indirect]]
    for starts in cartesian(*[(0, b) if d in in_table and d != single else (0,) for d, b in enumerate(block)]):
        for lengths in (block, shape, [b + 1 for b in block]):
            key = tuple(
                [slice(s, s + n) if d in in_table else slice(None) for d, (s, n) in enumerate(zip(starts, lengths))]
            )
            view = t[key]
            assert view.layout == fmt.layout(view.shape)
            assert view.blocks is not None
            assert (view.blocks.count, view.blocks.elements) == blocks_of(fmt, view.shape)
            assert (view.numpy() == x[key]).all()
            assert set(view.blocks.starts.tolist()) <= set((order * elements).tolist())
            assert np.shares_memory(view.raw, memory)


def test_deep_blocks_take_the_whole_padded_depth() -> None:
    """R4DeepAR4_16b picks blocks by batch, row and four columns: three factors of the format are in the table."""
    x = np.arange(2 * 3 * 10 * 70, dtype=np.uint16).reshape(2, 3, 10, 70)
    t = from_logical(x, "htp:R4DeepAR4_16b")
    assert t.blocks is not None
    assert (t.blocks.count, t.blocks.shape, t.blocks.bytes) == (2 * 3 * 3, (3, 2, 32, 2), 2 * 4 * 96)
    for b, h, w in cartesian(range(2), range(3), range(3)):
        block = t.block((b * 3 + h) * 3 + w).numpy()
        for column, c in cartesian(range(4), range(70)):
            if 4 * w + column < 10:
                assert block[c // 32, column // 2, c % 32, column % 2] == x[b, h, 4 * w + column, c]
    moved = Tensor(t.raw, t.layout, blocks=BlockTable(t.blocks.starts[::-1], t.blocks.shape))
    assert moved[0, 0, 0, 5] == t[1, 2, 8, 5]
    assert moved[1, 2, 8, 69] == t[0, 0, 0, 69]
    assert moved[0, 1].blocks.count == 3
    assert moved[0, 1, 4:8, 5:9].numpy().tolist() == moved.numpy()[0, 1, 4:8, 5:9].tolist()


def test_a_block_is_a_view_of_its_memory() -> None:
    x = np.arange(2 * 9 * 20 * 50, dtype=np.uint8).reshape(2, 9, 20, 50)
    t = from_logical(x, CROUTON)
    assert t.blocks is not None
    assert (t.blocks.count, t.blocks.shape, t.blocks.bytes) == (2 * 2 * 3 * 2, (8, 8, 32), 2048)
    for i, (b, h, w, c) in enumerate(cartesian(range(2), range(2), range(3), range(2))):
        block = t.block(i)
        assert np.shares_memory(block.numpy(), t.raw)
        assert t.get_raw(b, 8 * h, 8 * w, 32 * c).byte == 2048 * i, "the chunk starts at its first element"
        part = x[b, 8 * h : 8 * h + 8, 8 * w : 8 * w + 8, 32 * c : 32 * c + 32]
        assert (block.numpy()[tuple([slice(n) for n in part.shape])] == part).all()
        assert (block.numpy() == 31).sum() == 2048 - part.size + (part == 31).sum()
    t.block(3)[0, 0, 0] = 200
    assert t[0, 0, 8, 32] == 200
    for i in (-1, 24):
        with pytest.raises(rl.OutOfBounds, match="of 24"):
            t.block(i)
    with pytest.raises(rl.ShapeError, match="no block table"):
        from_logical(x, "htp:R4Flat").block(0)
    by_channel = ScaleOffset([1.0] * 50, 0, "quint8", axis=3)
    with pytest.raises(rl.NotExpressible, match="which channel"):
        Tensor(t.raw, t.layout, by_channel, blocks=t.blocks).block(0)


def test_tables_come_and_go() -> None:
    """What a device hands over: croutons anywhere in two heaps, and a table of pointers."""
    x = np.arange(1 * 16 * 16 * 32, dtype=np.uint8).reshape(1, 16, 16, 32)
    heaps = [np.zeros(3 * 2048 + 100, np.uint8), bytearray(2048 * 2)]
    table = BlockTable([100, 2048, 0, 4196], (8, 8, 32), [0, 1, 1, 0])
    t = Tensor(heaps, CROUTON.layout(x.shape), "uint8", blocks=table).copy_from(x)
    for i, (h, w) in enumerate(cartesian(range(2), range(2))):
        heap, start = heaps[table.buffers[i]], int(table.starts[i])
        block = np.frombuffer(heap, np.uint8)[start : start + 2048].reshape(8, 8, 32)
        assert (block == x[0, 8 * h : 8 * h + 8, 8 * w : 8 * w + 8]).all()
    assert (t.numpy() == x).all()
    assert t.blocks is not None
    again = Tensor(heaps, t.layout, "uint8", blocks=BlockTable(t.blocks.starts, t.blocks.shape, t.blocks.buffers))
    assert (again.numpy() == x).all()
    part = t[:, 8:, :8]
    assert part.blocks is not None
    assert (part.blocks.starts.tolist(), part.blocks.buffers.tolist()) == ([0], [1])
    assert np.shares_memory(part.numpy(), np.frombuffer(heaps[1], np.uint8)), "one block has strides"
    flat = np.array(t.blocks.starts)
    flat[0] = 7
    assert t.blocks.starts[0] == 100
    with pytest.raises(ValueError, match="read-only"):
        t.blocks.starts[0] = 7
    with pytest.raises(rl.ShapeError, match="several buffers"):
        t.raw  # noqa: B018
    assert pickle.loads(pickle.dumps(t.blocks)).bytes == 2048
    with pytest.raises(rl.ShapeError, match="counts elements"):
        table.bytes  # noqa: B018


def test_shared_blocks_are_read_and_not_written() -> None:
    memory = np.zeros(3 * 4, np.int16)
    layout = Layout.row_major(4, 4)
    t = Tensor(memory, layout, blocks=BlockTable([0, 4, 0, 8], 4))
    assert t.blocks is not None
    assert t.blocks.shared.tolist() == [True, False, True, False]
    assert not t.writable
    for refused in (
        lambda: t.fill(1),
        lambda: t.__setitem__((0, 0), 1),
        lambda: t.__setitem__((2, 3), 1),
        lambda: t[2].fill(1),
        lambda: t[:2].fill(1),
        lambda: t.block(0).fill(1),
    ):
        with pytest.raises(rl.Overlap, match="shares memory"):
            refused()
    assert not memory.any()
    assert t.get_raw(2, 0).view.readonly
    assert not t[2].numpy().flags.writeable
    t[1] = 5
    t[3, 1] = 6
    t[1::2, 2] = [8, 9]
    assert memory.tolist() == [0] * 4 + [5, 5, 8, 5] + [0, 6, 9, 0]
    assert (t.numpy()[0] == t.numpy()[2]).all()
    partly = Tensor(memory, Layout.row_major(2, 4), blocks=BlockTable([0, 2], 4))
    with pytest.raises(rl.Overlap, match="shares memory"):
        partly.fill(1)


def test_buffers_that_overlap_share_their_blocks() -> None:
    heap = bytearray(16)
    apart = Tensor(
        [memoryview(heap)[:8], memoryview(heap)[8:]], Layout(16), "uint8", blocks=BlockTable([0, 0], 8, [0, 1])
    )
    assert apart.writable
    same = Tensor([heap, heap], Layout(16), "uint8", blocks=BlockTable([0, 0], 8, [0, 1]))
    assert not same.writable
    inside = Tensor([heap, memoryview(heap)[4:]], Layout(16), "uint8", blocks=BlockTable([0, 0], 8, [0, 1]))
    with pytest.raises(rl.Overlap, match="shares memory"):
        inside[3] = 1


def test_only_the_buffers_in_use_need_be_writable() -> None:
    t = Tensor([bytearray(4), bytes(4)], Layout.row_major(2, 4), "uint8", blocks=BlockTable([0, 0], 4, [0, 1]))
    assert not t.writable
    t[0] = 3
    t[0, 1] = 4
    for refused in (lambda: t.fill(1), lambda: t[1].fill(1), lambda: t.__setitem__((1, 1), 1)):
        with pytest.raises(rl.ShapeError, match="read-only"):
            refused()
    assert t.numpy().tolist() == [[3, 4, 3, 3], [0, 0, 0, 0]]


def test_packed_blocks() -> None:
    x = np.arange(2 * 12).reshape(2, 12) % 16 - 8
    fmt = Format(2, [(0, 0), (1, 0), (1, 6)], indirect=2)
    t = from_logical(x, fmt, "int4")
    assert t.blocks is not None
    assert (t.blocks.count, t.blocks.elements, t.blocks.bytes) == (4, 6, 3)
    moved = Tensor(t.raw, t.layout, "int4", blocks=BlockTable([18, 0, 6, 12], 6))
    order = x.reshape(4, 6)[[3, 0, 1, 2]].reshape(2, 12)
    assert (moved.numpy() == order).all()
    moved[...] = x
    assert (moved.numpy() == x).all()
    assert moved[1, 6] == x[1, 6]


def test_padding_of_scattered_blocks() -> None:
    layout = CROUTON.layout((1, 3, 5, 30))
    t = empty(CROUTON, "uint8", (1, 3, 5, 30), fill=7)
    assert set(t.raw.tolist()) == {7}
    t.fill(1).fill_padding(user=None, auto=31)
    assert (t.raw[layout.offsets()] == 1).all()
    assert (t.raw == 31).sum() == 2048 - 3 * 5 * 30


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (lambda: BlockTable([0, -4], 4), "outside 0"),
        (lambda: BlockTable([0, 2**63], 4), "outside 0"),
        (lambda: BlockTable(np.array([2**64 - 1], np.uint64), 4), "outside 0"),
        (lambda: BlockTable([2**100], 4), "outside 0"),
        (lambda: BlockTable([0.5], 4), "must be an integer"),
        (lambda: BlockTable(np.array([0.5]), 4), "must be an integer"),
        (lambda: BlockTable(np.array([0.5], object), 4), "must be an integer"),
        (lambda: BlockTable([[0, 4]], 4), "must be an integer"),
        (lambda: BlockTable(np.array([[0, 4]]), 4), "one for each block"),
        (lambda: BlockTable([True], 4), "must be an integer"),
        (lambda: BlockTable([0, 4], 0), "at least one"),
        (lambda: BlockTable([0, 4], (4, -1)), "at least one"),
        (lambda: BlockTable([0, 4], 2**70), "fit into memory"),
        (lambda: BlockTable([0, 4], 4, [0]), "one buffer for every start"),
        (lambda: BlockTable([0, 4], 4, [0, -1]), "outside 0"),
        (
            lambda: Tensor(bytes(8), Layout(8), "uint8", blocks=BlockTable([0, 5], 4)),
            "elements 5 to 8 of a buffer of 8",
        ),
        (lambda: Tensor(bytes(8), Layout(8), "uint8", blocks=BlockTable([0, 2**60], 4)), "of a buffer of 8"),
        (lambda: Tensor(bytes(8), Layout(8), "uint8", blocks=BlockTable([0, 4], 4, [0, 1])), "buffer 1 of 1"),
        (lambda: Tensor(bytes(8), Layout(9), "uint8", blocks=BlockTable([0, 4], 4)), "elements 0 to 8"),
        (lambda: Tensor(bytes(8), Layout(2, -1), "uint8", blocks=BlockTable([0, 4], 4)), "elements -1 to 0"),
        (lambda: Tensor([bytes(8)], Layout(8), "uint8"), "block table"),
        (lambda: Tensor(bytes(8), Layout(8), "uint8", blocks=[0, 4]), "blocks are a table"),  # type: ignore[arg-type]
        (lambda: Tensor([], Layout(0), "uint8", blocks=BlockTable([], 4)), "no memory"),
        (
            lambda: Tensor([np.zeros(4), np.zeros(4, np.int8)], Layout(8), blocks=BlockTable([0, 0], 4, [0, 1])),
            "different elements",
        ),
    ],
)
def test_bad_tables(table: Any, words: str) -> None:
    with pytest.raises(rl.LayoutError, match=words):
        table()


def test_an_empty_table() -> None:
    t = Tensor(bytes(8), Layout((0, 4)), "uint8", blocks=BlockTable([], 4))
    assert t.numpy().shape == (0, 4)
    assert repr(BlockTable([], 4)) == "<0 blocks of 4>"
    assert t[:, 1:].blocks.count == 0
