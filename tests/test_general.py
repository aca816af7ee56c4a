"""Copies without common loops against enumeration, bit by bit; hostile numbers, memories and threads."""

from __future__ import annotations

import os
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product as cartesian
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relayout as rl
from relayout import Layout, Swizzle
from relayout.elements.subbyte import pack
from relayout.engine import tuning
from relayout.engine.cpu import general as general_module
from relayout.engine.cpu.general import GeneralProgram
from relayout.engine.nest import make_nest
from relayout.native import native
from relayout.tensors.block_table import BlockTable
from support import SWIZZLES, coordinates, leaves, value
from test_loops import pairs

pytestmark = pytest.mark.skipif(native is None, reason="needs the compiled core")

BITS = [1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128]
GUARD = 16


def rebuilt(t: Any, values: Any) -> Any:
    return tuple(rebuilt(e, values) for e in t) if isinstance(t, tuple) else next(values)


@st.composite
def copies(draw: Any) -> tuple[Layout, Layout]:
    """A source of any kind and a target with a place for every element, over the same coordinates."""
    source, other = draw(pairs())
    sizes = leaves(other.shape)
    strides, running = [0] * len(sizes), 1
    for k in draw(st.permutations(range(len(sizes)))):
        strides[k] = running * draw(st.sampled_from([1, 1, 1, -1]))
        running *= sizes[k] + draw(st.sampled_from([0, 0, 0, 1]))
    target = Layout(other.shape, rebuilt(other.shape, iter(strides)), extents=other.extents, origin=other.origin)
    made = []
    for layout in (source, target):
        low = min(value(layout, c) for c in coordinates(layout))
        swizzle = draw(st.one_of(st.none(), SWIZZLES))
        made.append(layout.with_offset(layout.offset - low + draw(st.integers(0, 9))).with_swizzle(swizzle))
    return made[0], made[1]


class Arena:
    """A buffer of just the bytes that some elements need, with guards around it."""

    def __init__(self, elements: int, bits: int, seed: int) -> None:
        size = -(-elements * bits // 8)
        self.all = bytearray(random.Random(seed).randbytes(size + 2 * GUARD))
        self.buffer = memoryview(self.all)[GUARD : GUARD + size]
        self.before = self.bits_now()

    def bits_now(self) -> Any:
        return np.unpackbits(np.frombuffer(self.all, np.uint8), bitorder="little").copy()


def places(layout: Layout) -> list[int]:
    return [value(layout, c) for c in coordinates(layout)]


def check(source: list[tuple[int, int]], target: list[tuple[int, int]], bits: int, x: Any, out: Any) -> None:
    """Every element, a pair of buffer and place, is copied, and nothing else has changed."""
    expected = [arena.before.copy() for arena in out]
    for (a, i), (b, j) in zip(source, target, strict=True):
        first, second = (8 * GUARD + k * bits for k in (i, j))
        expected[b][second : second + bits] = x[a].before[first : first + bits]
    for arena, wanted in zip(out, expected, strict=True):
        assert (arena.bits_now() == wanted).all()
    for arena in x:
        assert (arena.bits_now() == arena.before).all()


@settings(max_examples=500, deadline=None)
@given(copies(), st.sampled_from(BITS), st.sampled_from([1, 3]))
def test_a_copy_moves_every_element_and_nothing_else(layouts: tuple[Layout, Layout], bits: int, threads: int) -> None:
    source, target = map(places, layouts)
    x, out = Arena(max(source) + 1, bits, 1), Arena(max(target) + 1, bits, 2)
    GeneralProgram(*layouts, bits)([x.buffer], [out.buffer], threads=threads)
    check([(0, i) for i in source], [(0, i) for i in target], bits, [x], [out])


def scattered(draw: Any, end: int, bits: int, seed: int) -> tuple[BlockTable, list[Arena]]:
    """A table of blocks for so many virtual addresses, in any order in several buffers, and those."""
    block = draw(st.sampled_from([1, 2, 3, 4, 7, 8, 16, 64]))
    count = -(-end // block)
    buffers = draw(st.integers(1, 3))
    order = draw(st.permutations(range(count)))
    held, starts, ends = [0] * count, [0] * count, [0] * buffers
    for k in order:
        held[k] = draw(st.integers(0, buffers - 1))
        starts[k] = ends[held[k]] + draw(st.sampled_from([0, 0, 1]))
        ends[held[k]] = starts[k] + block
    return BlockTable(starts, block, held), [Arena(end, bits, seed + k) for k, end in enumerate(ends)]


@settings(max_examples=300, deadline=None)
@given(copies(), st.sampled_from(BITS), st.data())
def test_blocks_may_be_anywhere(layouts: tuple[Layout, Layout], bits: int, data: Any) -> None:
    sides: list[Any] = []
    for seed, layout in enumerate(layouts):
        numbers = places(layout)
        if data.draw(st.booleans()):
            table, arenas = scattered(data.draw, max(numbers) + 1, bits, 10 * seed)
            where = [tuple(map(int, table.address(v))) for v in numbers]
        else:
            table, arenas = None, [Arena(max(numbers) + 1, bits, 10 * seed)]
            where = [(0, v) for v in numbers]
        sides.append((table, arenas, where))
    (x_table, x, source), (out_table, out, target) = sides
    blocks = [None if table is None else table.elements for table in (x_table, out_table)]
    copy = GeneralProgram(*layouts, bits, *blocks)
    copy([a.buffer for a in x], [a.buffer for a in out], x_table, out_table)
    check(source, target, bits, x, out)


def tiles(rows: int, columns: int, height: int, width: int, swizzle: Swizzle | None, by_column: bool = False) -> Layout:
    """Row-major tiles over a matrix of that many tiles; elements inside by row or by column."""
    inner = (1, height) if by_column else (width, 1)
    size = height * width
    shape = ((height, rows), (width, columns))
    return Layout(shape, ((inner[0], size * columns), (inner[1], size)), swizzle=swizzle)


ROW = Layout.row_major
LARGE = [
    (ROW((192, 320)), tiles(3, 5, 64, 64, Swizzle(3, 3, 3))),
    (ROW((192, 320)), tiles(3, 5, 64, 64, Swizzle(3, 3, 3), by_column=True)),
    (tiles(3, 5, 64, 64, Swizzle(2, 4, 3), by_column=True), tiles(3, 5, 64, 64, Swizzle(3, 3, 3))),
    (tiles(24, 5, 8, 64, Swizzle(3, 4, 3)), ROW((192, 320))),
    (tiles(3, 5, 64, 64, Swizzle(1, 1, -3)).narrow(0, 5, 150).narrow(1, 3, 201), ROW((150, 201))),
    # Pitches that are no multiple of a period, and periods that no tile holds.
    (Layout((300, 100), (103, 1), swizzle=Swizzle(3, 3, 3)), Layout((300, 100), (1, 300), swizzle=Swizzle(2, 2, 5))),
    (Layout(70000, 1, swizzle=Swizzle(3, 5, 8)), Layout(70000, -1, offset=69999)),
    (Layout((3, 70000), (70000, 1), swizzle=Swizzle(2, 3, 14)), Layout((3, 70000), (70001, 1))),
    # Blocks that do not divide each other: few, many, more than fit in a tile; and a window.
    (Layout(((3, 400), 50), ((1, 150), 3)), Layout(((4, 300), 50), ((1, 200), 4))),
    (Layout(((30, 20), 40), ((1, 1200), 30)), Layout(((24, 25), 40), ((1, 960), 24))),
    (Layout(((101, 100), 3), ((1, 303), 101)), Layout(((100, 101), 3), ((3, 300), 1))),
    (
        Layout(((3, 400), 50), ((1, 150), 3)).narrow(0, 1, 1197),
        Layout(((4, 300), 50), ((1, 200), 4)).narrow(0, 2, 1197),
    ),
    (
        Layout(((3, 40), (5, 40)), ((1, 600), (3, 15))),
        Layout(((4, 30), (7, 30)), ((7, 840), (1, 28))).narrow(1, 9, 200),
    ),
    # Primes, runs longer than a tile, a source that stays where it is.
    (ROW((257, 263)), Layout((257, 263), (1, 257), swizzle=Swizzle(2, 0, 4))),
    (Layout((2, 100003), (100003, 1)), Layout((2, 100003), (100010, 1), swizzle=Swizzle(1, 17, 1))),
    (Layout((300, 301), (0, 1)), Layout((300, 301), (301, 1), swizzle=Swizzle(1, 2, 2))),
]


@pytest.mark.parametrize("bits", [4, 8, 16, 32, 128])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("layouts", LARGE)
def test_large_copies(layouts: tuple[Layout, Layout], threads: int, bits: int) -> None:
    source, target = (layout.offsets().reshape(-1) for layout in layouts)
    width = max(bits // 8, 1)
    rng = np.random.default_rng(3)
    x, out = (rng.integers(0, 256, (int(o.max()) + 1, width), np.uint8) for o in (source, target))
    expected = out.copy()
    expected[target] = x[source]
    if bits == 4:
        x, out, expected = (pack(a & 15, "uint4") for a in (x, out, expected))
    GeneralProgram(*layouts, bits)([x.reshape(-1)], [out.reshape(-1)], threads=threads)
    assert (out == expected).all()


def test_large_blocks() -> None:
    target = tiles(6, 6, 64, 64, Swizzle(3, 3, 3))
    table = BlockTable(np.random.default_rng(1).permutation(36) * 4096 + 5, (64, 64))
    x = np.arange(384 * 384, dtype=np.uint16)
    out = np.zeros(36 * 4096 + 5, np.uint16)
    GeneralProgram(ROW((384, 384)), target, 16, None, 4096)([x], [out], None, table, threads=3)
    blocks, rest = np.divmod(target.offsets(), 4096)
    assert (out[table.starts[blocks] + rest].reshape(-1) == x).all()
    assert np.count_nonzero(out) == np.count_nonzero(x)
    back = np.zeros_like(x)
    GeneralProgram(target, ROW((384, 384)), 16, 4096, None)([out], [back], table, None, threads=3)
    assert (back == x).all()


def test_layouts_of_many_windows_are_copied() -> None:
    shape, extents = ((2, 2, 2, 2),) * 5, (13,) * 5
    layouts = []
    for order in (lambda k: k, lambda k: 19 - k):
        strides = iter([1 << order(k) for k in range(20)])
        layouts.append(Layout(shape, rebuilt(shape, strides), extents=extents, origin=(1,) * 5))
    x = np.random.default_rng(2).integers(0, 256, 1 << 20, np.uint8)
    out = np.zeros_like(x)
    boxes = [len(dim) for dim in make_nest(*layouts).dims]
    assert np.prod(boxes) > tuning.ACTIVE.max_general_boxes
    GeneralProgram(*layouts, 8)([x], [out])
    assert (out[layouts[1].offsets()] == x[layouts[0].offsets()]).all()
    assert np.count_nonzero(out) == np.count_nonzero(x[layouts[0].offsets()])


def test_tables_are_as_short_as_the_blocks() -> None:
    source = Layout(((3, 1 << 40),), ((1, 4),))
    target = Layout(((4, 3 << 38),), ((1, 5),))
    (boxes,) = make_nest(source, target).dims
    assert [len(box.table.source) for box in boxes if box.table] == [12]
    assert [box.loops for box in boxes] == [((1 << 38, 16, 15),)]


def test_an_empty_layout_copies_nothing() -> None:
    GeneralProgram(Layout((0, 3)), Layout((0, 3)), 8)([b""], [bytearray()])


def test_what_is_too_large_is_refused() -> None:
    for offset in (1 << 55, 1 << 63, 1 << 100):
        with pytest.raises(rl.LimitExceeded):
            GeneralProgram(Layout(4, offset=offset), Layout(4), 8)
    with pytest.raises(rl.LimitExceeded):
        GeneralProgram(Layout(((3, 4),), ((1 << 70, 1),)), Layout(((4, 3),), ((1, 4),)), 8)
    with pytest.raises(rl.ShapeError):
        GeneralProgram(Layout(4), Layout(5), 8)


def test_without_the_core_there_is_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(general_module, "native", None)
    with pytest.raises(rl.NotExpressible):
        GeneralProgram(Layout(4), Layout(4), 8)


@pytest.mark.parametrize("bits", [3, 4, 8, 16])
def test_memory_is_checked_to_the_last_element(bits: int) -> None:
    source, target = Layout((5, 7), (7, 1)), Layout((5, 7), (1, 5), swizzle=Swizzle(1, 2, 3))
    copy = GeneralProgram(source, target, bits)
    assert target.max_offset < Swizzle(1, 2, 3).period  # a bound by the period would ask for more
    need = [-(-(layout.max_offset + 1) * bits // 8) for layout in (source, target)]
    full = [bytearray(b"\xff" * n) for n in need]
    copy([full[0]], [full[1]])
    for short in ((1, 0), (0, 1)):
        x, out = (bytearray(n - k) for n, k in zip(need, short, strict=True))
        with pytest.raises(rl.OutOfBounds):
            copy([b"\xff" * len(x)], [out])
        assert not any(out)


def test_memory_that_is_shared_is_refused() -> None:
    copy = GeneralProgram(Layout((8, 8), (8, 1)), Layout((8, 8), (1, 8)), 8)
    memory = np.arange(128, dtype=np.uint8)
    for start in (0, 1, 63):
        with pytest.raises(rl.Overlap):
            copy([memory[:64]], [memory[start : start + 64]])
        with pytest.raises(rl.Overlap):
            copy([memory[start : start + 64]], [memory[:64]])
    assert (memory == np.arange(128)).all()
    copy([memory[:64]], [memory[64:]])
    assert (memory[64:] == np.arange(64).reshape(8, 8).T.reshape(-1)).all()
    # Blocks of one buffer, one between the others.
    copy = GeneralProgram(Layout(8), Layout(8), 8, 4, 4)
    copy([memory], [memory], BlockTable([0, 8], 4), BlockTable([4, 12], 4))
    assert (memory[4:8] == memory[0:4]).all()
    with pytest.raises(rl.Overlap):
        copy([memory], [memory], BlockTable([0, 8], 4), BlockTable([4, 11], 4))


def test_memories_that_do_not_fit_are_refused() -> None:
    copy = GeneralProgram(Layout(8), Layout(8), 8)
    fixed = np.zeros(8, np.uint8)
    fixed.setflags(write=False)
    for out in (bytes(8), fixed):
        with pytest.raises(rl.ShapeError, match="written"):
            copy([bytes(8)], [out])
    with pytest.raises(rl.ShapeError):
        copy([np.zeros(16, np.uint8)[::2]], [bytearray(8)])
    for x in ([], [bytes(8), bytes(8)]):
        with pytest.raises(ValueError, match="one buffer"):
            copy(x, [bytearray(8)])
    for wrong in (5, [None]):
        with pytest.raises(TypeError):
            copy(wrong, [bytearray(8)])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no size of blocks"):
        copy([bytes(8)], [bytearray(8)], BlockTable([0], 8))
    with pytest.raises(ValueError, match="thread"):
        copy([bytes(8)], [bytearray(8)], threads=0)
    blocked = GeneralProgram(Layout(8), Layout(8), 8, 4)
    with pytest.raises(ValueError, match="no table"):
        blocked([bytes(8)], [bytearray(8)])
    zeros = bytearray(8)
    for table in (
        BlockTable([0], 4),
        BlockTable([0, 5], 4),
        BlockTable([0, 4], 4, [0, 1]),
        BlockTable([0, 1 << 60], 4),
    ):
        with pytest.raises(rl.OutOfBounds):
            blocked([b"\xff" * 8], [zeros], table)
    assert not any(zeros)
    assert native is not None
    raw = native.GeneralProgram(8, 0, 0, (((0, 0, ((8, 1, 1),), None),),), None, None, 4, None)
    for numbers in ([-1, 0], [0, -4], [0, -(1 << 63)]):
        entries = np.array(numbers, np.int64)
        for held in ((np.zeros(2, np.int64), entries), (entries, np.zeros(2, np.int64))):
            with pytest.raises(IndexError):
                raw([bytes(8)], [zeros], held, None, 1)


ONE = (((0, 0, ((4, 1, 1),), None),),)
I8, I32 = np.zeros(2, np.int64), np.zeros(2, np.int32)


@pytest.mark.parametrize(
    "arguments",
    [
        (0, 0, 0, ONE),
        (-8, 0, 0, ONE),
        (9, 0, 0, ONE),
        (24, 0, 0, ONE),
        (256, 0, 0, ONE),
        (8, -1, 0, ONE),
        (8, 0, -1, ONE),
        (8, 1 << 63, 0, ONE),
        (8, 0, -(1 << 63), ONE),
        (8, (1 << 63) - 1, 0, ONE),
        (8, 0, 0, (((0, 0, ((1 << 62, 4, 1),), None),),)),
        (8, 0, 0, (((0, 0, ((1 << 40, 1 << 40, 1),), None),),)),
        (8, 0, 0, (((0, 0, ((-4, 1, 1),), None),),)),
        (8, 0, 0, (((0, 0, ((-(1 << 63), 1, 1),), None),),)),
        (8, 0, 0, (((0, 0, ((2, -(1 << 63), 1),), None),),)),
        (8, 0, 0, (((0, 0, ((1 << 30, 0, 0),) * 3, None),),)),
        (8, 0, 0, (((0, 0, ((4, -1, 1),), None),),)),
        (8, 0, 0, (((0, 0, (), (I8 - 1, I8)),),)),
        (8, 0, 0, (((0, 0, (), (I8 + (1 << 62), I8)),),)),
        (8, 0, 0, (((0, 0, (), (I8, I8[:1])),),)),
        (8, 0, 0, ((((1 << 54), 0, ((4, 1, 1),), None),) * 2,) * 3),
        (8, 0, 0, ONE * 1 + (((0, 0, (), None),) * 2,) * 17),
        (8, 0, 0, ONE, (40, 10, 40)),
        (8, 0, 0, ONE, (-1, 0, 0)),
        (8, 0, 0, ONE, (1, -1, 0)),
        (8, 0, 0, ONE, (1 << 40, 0, 0)),
        (8, 0, 0, ONE, None, (1, 0, 1 << 63)),
        (8, 0, 0, ONE, None, None, 0),
        (8, 0, 0, ONE, None, None, None, -3),
        (8, 0, 0, ONE, None, None, 1 << 60),
    ],
)
def test_hostile_numbers_are_refused(arguments: tuple[Any, ...]) -> None:
    assert native is not None
    with pytest.raises(ValueError, match=r"."):
        native.GeneralProgram(*arguments, *[None] * (8 - len(arguments)))


@pytest.mark.parametrize(
    "arguments",
    [
        (8.0, 0, 0, ONE),
        (1 << 40, 0, 0, ONE),
        (8, "0", 0, ONE),
        (8, 0, 0, None),
        (8, 0, 0, (5,)),
        (8, 0, 0, ((5,),)),
        (8, 0, 0, (((0, 0, ()),),)),
        (8, 0, 0, (((0, 0, 5, None),),)),
        (8, 0, 0, (((0, 0, ((4, 1),), None),),)),
        (8, 0, 0, (((0, 0, ((4, 1, 1.5),), None),),)),
        (8, 0, 0, (((0, 0, (), I8),),)),
        (8, 0, 0, (((0, 0, (), (I8, None)),),)),
        (8, 0, 0, (((0, 0, (), (I32, I32)),),)),
        (8, 0, 0, ONE, (1, 2)),
        (8, 0, 0, ONE, None, None, 2.5),
    ],
)
def test_other_types_are_refused(arguments: tuple[Any, ...]) -> None:
    assert native is not None
    with pytest.raises(TypeError):
        native.GeneralProgram(*arguments, *[None] * (8 - len(arguments)))


NUMBERS = st.one_of(
    st.integers(-3, 12), st.sampled_from([-(1 << 63), -(1 << 55), (1 << 54) - 1, 1 << 55, (1 << 63) - 1])
)


@st.composite
def boxes(draw: Any) -> tuple[Any, ...]:
    loops = tuple([(draw(st.integers(0, 5)), draw(NUMBERS), draw(NUMBERS)) for _ in range(draw(st.integers(0, 2)))])
    length = draw(st.integers(0, 5))
    entries = [np.array([draw(NUMBERS) for _ in range(length)], np.int64) for _ in range(2)]
    return draw(NUMBERS), draw(NUMBERS), loops, draw(st.sampled_from([None, tuple(entries)]))


@settings(max_examples=500, deadline=None)
@given(
    st.lists(st.lists(boxes(), max_size=2).map(tuple), max_size=3).map(tuple),
    st.tuples(NUMBERS, NUMBERS),
    st.tuples(*[st.one_of(st.none(), st.tuples(*[st.integers(0, 3)] * 2, st.integers(-4, 4)))] * 2),
    st.sampled_from([1, 4, 6, 8, 32]),
    st.integers(0, 64),
)
def test_no_numbers_reach_beside_the_memory(dims: Any, start: Any, swizzles: Any, bits: int, length: int) -> None:
    """What is not refused reads and writes the elements that it says, all inside."""
    assert native is not None
    x, out = Arena(length, bits, 1), Arena(length, bits, 2)
    try:
        native.GeneralProgram(bits, *start, dims, *swizzles, None, None)([x.buffer], [out.buffer], None, None, 3)
    except (ValueError, IndexError):
        assert (out.bits_now() == out.before).all()
        return
    moved = [swizzle or (0, 0, 0) for swizzle in swizzles]
    pairs_of = []
    for combination in cartesian(*dims):
        offsets = [(start[0] + sum(b[0] for b in combination), start[1] + sum(b[1] for b in combination))]
        for _, _, loops, table in combination:
            for n, s, t in loops:
                offsets = [(a + k * s, b + k * t) for a, b in offsets for k in range(n)]
            if table is not None:
                offsets = [(a + int(s), b + int(t)) for a, b in offsets for s, t in zip(*table, strict=True)]
        pairs_of += [tuple(_swizzled(v, *m) for v, m in zip(pair, moved, strict=True)) for pair in offsets]
    touched = np.zeros_like(out.before)
    room = out.buffer.nbytes * 8 // bits
    for a, b in pairs_of:
        assert 0 <= a < room
        assert 0 <= b < room
        touched[8 * GUARD + b * bits :][:bits] = 1
    assert (out.bits_now() == out.before)[touched == 0].all()


def _swizzled(v: int, bits: int, base: int, shift: int) -> int:
    read = v & (((1 << bits) - 1) << (base + max(shift, 0)))
    return v ^ (read >> shift if shift >= 0 else read << -shift)


def transposed(n: int) -> tuple[GeneralProgram, Any, Any]:
    """A copy of n x n bytes, its source and what it makes of it."""
    target = Layout((n, n), (1, n), swizzle=Swizzle(3, 3, 3))
    x = np.random.default_rng(n).integers(0, 256, n * n, np.uint8)
    expected = np.zeros(n * n, np.uint8)
    expected[target.offsets().reshape(-1)] = x
    return GeneralProgram(ROW((n, n)), target, 8), x, expected


def test_many_threads_copy_at_once() -> None:
    copy, x, expected = transposed(512)

    def work(seed: int) -> bool:
        for k in range(20):
            out = np.zeros_like(x)
            copy([x], [out], threads=1 + (seed + k) % 5)
            if not (out == expected).all():
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_more_threads_than_there_are_tiles() -> None:
    copy, x, expected = transposed(512)
    out = np.zeros_like(x)
    copy([x], [out], threads=100000)
    assert (out == expected).all()


def test_idle_threads_take_no_time() -> None:
    copy, x, _ = transposed(512)
    out = np.zeros_like(x)
    copy([x], [out], threads=4)
    time.sleep(0.01)
    before, start = time.process_time(), time.perf_counter()
    time.sleep(0.2)
    assert time.process_time() - before < 0.5 * (time.perf_counter() - start)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_copies_with_threads_too() -> None:
    copy, x, expected = transposed(512)
    out = np.zeros_like(x)
    copy([x], [out], threads=3)
    for _ in range(5):
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            mine = np.zeros_like(x)
            for _ in range(3):
                copy([x], [mine], threads=3)
            os._exit(0 if (mine == expected).all() else 1)
        copy([x], [out], threads=3)
        assert os.waitpid(child, 0)[1] == 0
    assert (out == expected).all()
