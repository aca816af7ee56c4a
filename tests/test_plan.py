"""Plans, compiled and by numpy alone, against the enumeration of both layouts and every byte beside the target."""

from __future__ import annotations

import os
import pickle
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from threading import Thread
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relayout as rl
from relayout import Format, Layout, Plan, catalog
from relayout.engine import tuning, ways
from relayout.engine.cpu import general, program
from relayout.engine.cpu.program import compile_program
from relayout.engine.tuning import EngineTuning
from support import table
from test_loops import pairs

WIDTHS = {1: "uint8", 2: "int16", 4: "float32", 8: "int64", 16: "complex128"}
GUARD = 64


@contextmanager
def pure() -> Iterator[None]:
    """Without the compiled core."""
    with (
        patch.object(program, "native", None),
        patch.object(general, "native", None),
        patch.object(ways, "native", None),
    ):
        general.general_program.cache_clear()
        yield
        general.general_program.cache_clear()


def memory(count: int, kind: str, at: int = 0, seed: int = 0) -> np.ndarray[Any, Any]:
    """Random elements that start ``at`` elements behind a multiple of 64 bytes, between guards."""
    size = np.dtype(kind).itemsize
    room = np.full((count + at) * size + 4 * GUARD, 0xA5, np.uint8)
    start = -(room.ctypes.data + GUARD) % 64 + GUARD + at * size
    found = room[start : start + count * size]
    found[:] = np.random.default_rng(seed).integers(0, 256, count * size, np.uint8)
    return found.view(kind)


def guarded(flat: np.ndarray[Any, Any]) -> bool:
    """Whether nothing around the memory was written."""
    room: Any = flat
    while room.base is not None:
        room = room.base
    return (room == 0xA5).sum() - (flat.view(np.uint8) == 0xA5).sum() == room.size - flat.nbytes  # type: ignore[no-any-return]


def judged(source: Layout, target: Layout, x: Any, out: Any, fill: Any) -> Any:
    """``out`` after the copy, by enumeration."""
    expected = out.copy()
    if fill is not None:
        expected[max(int(target.box.offsets().min()), 0) if target.padded_size else 0 : target.storage_size] = fill
    expected[target.offsets().reshape(-1)] = x[source.offsets().reshape(-1)]
    return expected


def agrees(source: Layout, target: Layout, kind: str, fill: Any = None, at: int = 0, threads: int = 1) -> None:
    """All ways to run the plan give what enumeration gives, and nothing beside the target is written."""
    x = memory(source.storage_size, kind, at, 1)
    out = memory(target.storage_size, kind, at, 2)
    before = out.copy()
    expected = judged(source, target, x, out, fill)
    made = Plan(source, target, kind, fill=fill, threads=threads)
    with pure():
        slow = Plan(source, target, kind, fill=fill)
    for run, way in ((made, nullcontext()), (slow, pure())):
        with way:
            assert run(x, out) is out
        assert out.tobytes() == expected.tobytes(), (source, target, kind, fill)
        assert guarded(out)
        out[...] = before
    if made._program_with_fill is not None:
        streaming = compile_program(source, target, made.element, made.element, made.fill, nontemporal_from=0)
        assert streaming(x, out, threads) == 0
        assert out.tobytes() == expected.tobytes(), (source, target, kind, fill)
        assert guarded(out)


@settings(max_examples=300)
@given(pairs(), st.sampled_from(sorted(WIDTHS)), st.sampled_from([None, 0, 31]), st.integers(0, 5))
def test_any_pair_of_layouts(layouts: tuple[Layout, Layout], width: int, fill: Any, at: int) -> None:
    source, target = layouts
    low = min(0, *[int(t.min()) for t in (table(source), table(target))])
    source, target = source.with_offset(source.offset - low), target.with_offset(target.offset - low)
    places = table(target).reshape(-1).tolist()
    if len(set(places)) < len(places):
        with pytest.raises(rl.Overlap):
            Plan(source, target, WIDTHS[width])
        return
    agrees(source, target, WIDTHS[width], fill, at)


FORMS = {what: name for name in catalog.names() for what in catalog.entry(name).forms.values()}


def shapes(what: Format) -> list[tuple[int, ...]]:
    """Shapes that fill whole blocks, that do not, of size 1 and empty."""
    exact = tuple([max(2 if d < 2 else 1, min(b, 64)) for d, b in enumerate(what.block_shape)])
    ragged = tuple([b + 1 if b < 9 else b - 3 for b in exact])
    return [
        exact,
        ragged,
        (1,) * what.rank,
        (0, *exact[1:]),
        tuple([[2, 3, 5, 7, 11][d % 5] for d in range(what.rank)]),
    ]


def test_the_catalog() -> None:
    numbers = np.random.default_rng(0)
    for what in FORMS:
        if isinstance(what, Layout):
            continue
        for shape in shapes(what):
            flat, packed = Layout.row_major(shape), what.layout(shape)
            if flat.size > 20000 or packed.storage_size > 200000:
                continue
            kind = WIDTHS[int(numbers.choice(sorted(WIDTHS)))]
            at = int(numbers.integers(0, 16))
            agrees(flat, packed, kind, int(numbers.integers(0, 100)), at)
            agrees(packed, flat, kind, None, at)
            agrees(flat, what.layout(shape, left_pad=(1,) * what.rank), kind, 5)


def test_random_formats() -> None:
    numbers = np.random.default_rng(1)
    for _ in range(300):
        rank = int(numbers.integers(1, 5))
        blocks = [(int(numbers.integers(rank)), int(numbers.choice([2, 3, 4, 8, 16, 32]))) for _ in range(4)]
        rests = [[(int(d), 0) for d in numbers.permutation(rank)] for _ in range(2)]
        shape = [int(n) for n in numbers.integers(1, [200, 60, 20, 10][rank - 1] + 1, rank)]
        left = numbers.choice([0, 0, 0, 1, 5], rank).tolist()
        sides = [Format(rank, rests[0]).layout(shape)]
        sides.append(Format(rank, rests[1] + blocks[: int(numbers.integers(5))]).layout(shape, left_pad=left))
        source, target = sides if numbers.random() < 0.6 else sides[::-1]
        if sides[1].storage_size < 200000:
            kind = WIDTHS[int(numbers.choice(sorted(WIDTHS)))]
            agrees(source, target, kind, int(numbers.integers(100)), int(numbers.integers(16)))


@pytest.mark.parametrize("width", sorted(WIDTHS))
@pytest.mark.parametrize("at", [0, 1])
def test_larger_ones_by_several_threads(width: int, at: int) -> None:
    shape = (3, 67, 61, 144 // width)
    flat = Layout.row_major(shape)
    for text in ("0 3 1 2", "htp:R4Crouton", "onednn:nChw16c", "0 1 2 3 / 3,4 2,2", "3 2 1 0"):
        packed = rl.parse(text, shape=shape)
        assert isinstance(packed, Layout)
        agrees(flat, packed, WIDTHS[width], 3, at, threads=2)
        agrees(packed, flat, WIDTHS[width], None, at, threads=3)


# ---- blocks ----------------------------------------------------------------------------------------------


def check_blocks(source: Layout, target: Layout, kind: str, fill: Any, most: int) -> list[int]:
    """Parts cover every place once, keep to their ranges, and make the same target as the whole."""
    whole = Plan(source, target, kind, fill=fill)
    x, out = memory(source.storage_size, kind, 0, 1), memory(target.storage_size, kind, 0, 2)
    local = out.copy()
    expected = judged(source, target, x, out, fill)
    seen = np.zeros(source.extents, np.int64)
    ranges = []
    for block in whole.blocks(most):
        before = out.copy()
        seen[tuple([slice(a, a + n) for a, n in zip(block.index, block.shape, strict=True)])] += 1
        block.plan()(x, out)
        low, high = block.target_range
        assert (out[:low].tobytes(), out[high:].tobytes()) == (before[:low].tobytes(), before[high:].tobytes())
        ranges.append((low, high))
        first, last = block.source_range
        block.plan(local=True)(x[first:last], local[low:high])
    assert (seen == 1).all()
    assert out.tobytes() == local.tobytes() == expected.tobytes()
    ranges.sort()
    assert all(a[1] <= b[0] for a, b in pairwise(ranges))
    return [high - low for low, high in ranges]


@settings(max_examples=150)
@given(pairs(), st.sampled_from([None, 7]), st.integers(1, 60))
def test_blocks_of_any_pair(layouts: tuple[Layout, Layout], fill: Any, most: int) -> None:
    source, target = layouts
    low = min(0, *[int(t.min()) for t in (table(source), table(target))])
    source, target = source.with_offset(source.offset - low), target.with_offset(target.offset - low)
    places = table(target).reshape(-1).tolist()
    if len(set(places)) == len(places):
        check_blocks(source, target, "int16", fill, most)


@pytest.mark.parametrize("fill", [None, 31])
@pytest.mark.parametrize("left", [0, 1])
def test_blocks_of_a_crouton(fill: Any, left: int) -> None:
    shape = (2, 9, 7, 40)
    target = catalog.get("htp:R4Crouton").layout(shape, left_pad=(0, left, 0, 8 * left))  # type: ignore[union-attr]
    for most, size in ((1 << 20, target.storage_size), (6000, 4096), (2048, 2048), (300, 256)):
        sizes = check_blocks(Layout.row_major(shape), target, "uint8", fill, most)
        assert max(sizes) <= size
        if fill is not None:
            assert sum(sizes) == target.storage_size
            assert len(sizes) >= target.storage_size // size


def test_what_cannot_be_cut_is_one_block() -> None:
    interleaved = Layout((4, 4), (3, 4))
    assert interleaved.is_injective()
    assert len(list(Plan(Layout((4, 4)), interleaved, "int8").blocks(2))) == 1
    odd = Layout(((3, 4),), ((4, 1),))
    assert len(list(Plan(Layout((12,)), odd, "int8").blocks(2))) == 1, "the slowest digit is not the highest"
    gaps = Layout((4, 5), (8, 1))
    assert len(list(Plan(Layout((4, 5)), gaps, "int8").blocks(8))) == 4
    assert len(list(Plan(Layout((4, 5)), gaps, "int8", fill=0).blocks(8))) == 1, "gaps belong to no part"
    with pytest.raises(rl.ShapeError, match="at least one byte"):
        Plan(Layout(4), Layout(4), "int8").blocks(0)


def test_progress_and_cancelling() -> None:
    shape = (40, 50)
    made = Plan(Layout.row_major(shape), Layout(shape), "int16", fill=0)
    x, out, told = memory(2000, "int16"), np.full(2000, 7, np.int16), []
    with patch.object(tuning, "ACTIVE", EngineTuning(progress_bytes=800)):
        made(x, out, progress=lambda done, total: told.append((done, total)))
        assert told == [(800 * k, 4000) for k in range(1, 6)]
        assert (x.reshape(40, 50) == out.reshape(50, 40).T).all()
        out[:] = 7
        with pytest.raises(rl.Cancelled, match="1600 of 4000") as caught:
            made(x, out, progress=lambda done, _: done < 1600)
        assert (caught.value.done, caught.value.total) == (1600, 4000)
        assert (x.reshape(40, 50)[:, :20] == out[:800].reshape(20, 40).T).all()
        assert (out[800:] == 7).all()
        with pytest.raises(ZeroDivisionError):
            made(x, out, progress=lambda done, _: done // 0)


# ---- conversions -----------------------------------------------------------------------------------------

CONVERSIONS = [
    ("float32", rl.ScaleOffset(0.1, 120, "quint8")),
    (rl.ScaleOffset(0.1, 120, "quint8"), "float32"),
    (rl.ScaleOffset(0.1, 120, "quint8"), rl.ScaleOffset(0.03, -5, "qint16")),
    ("float32", "float16"),
    ("float16", "float64"),
    ("uint8", "int32"),
    ("int16", "float32"),
    ("float64", "bfloat16"),
    ("float8_e4m3fn", "float32"),
    ("int8", "complex64"),
]


@settings(max_examples=150)
@given(pairs(), st.sampled_from(CONVERSIONS), st.sampled_from([None, 1]))
def test_conversions_are_those_of_the_interfaces(layouts: tuple[Layout, Layout], kinds: Any, fill: Any) -> None:
    source, target = layouts
    low = min(0, *[int(t.min()) for t in (table(source), table(target))])
    source, target = source.with_offset(source.offset - low), target.with_offset(target.offset - low)
    places = table(target).reshape(-1).tolist()
    if len(set(places)) < len(places):
        return
    made = Plan(source, target, *kinds, fill=fill)
    x = rl.empty(Layout(source.storage_size), made.element).raw
    x[...] = (np.arange(x.size) * 37 % 101 + 1).astype(x.dtype)
    out, expected = [rl.full(Layout(target.storage_size), 1, made.dst_element).raw for _ in range(2)]
    before = out.copy()
    if fill is not None:
        expected[max(int(target.box.offsets().min()), 0) :] = fill
    decoded = made.element.decode(x)
    expected[target.offsets()] = made.dst_element.encode(decoded[source.offsets()])
    for way in (nullcontext(), pure()):
        with way:
            run = Plan(source, target, *kinds, fill=fill)
            assert run(x, out) is out
        assert out.tobytes() == expected.tobytes()
        out[...] = before


def test_a_quantised_crouton() -> None:
    shape = (2, 9, 17, 40)
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    means = rl.ScaleOffset(0.05, 100, "quint8")
    found = rl.repack(x, "htp:R4Crouton", element=means)
    expected = rl.repack(means.encode(x), "htp:R4Crouton")
    assert (found == expected).all()
    back = rl.repack(found, Layout.row_major(shape), src="htp:R4Crouton", shape=shape)
    assert (back == means.encode(x)).all()
    channels = rl.ScaleOffset(list(np.linspace(0.01, 0.4, 40)), [100] * 40, "quint8", axis=3)
    several = Plan(Layout.row_major(shape), catalog.get("htp:R4Crouton").layout(shape), "float32", channels, fill=9)  # type: ignore[union-attr]
    with pytest.raises(rl.ShapeError, match="channels"):
        Plan(Layout(4), Layout(4), "float32", channels)
    packed = several(x)
    assert (packed[several.target.offsets()] == channels.encode(x)).all()
    parts = np.zeros_like(packed)
    for block in several.blocks(4096):
        block.plan()(x.reshape(-1), parts)
    assert (parts == packed).all()


# ---- what a plan is called with --------------------------------------------------------------------------


def test_arrays_of_any_shape_are_never_misread() -> None:
    made = Plan(Layout((3, 3), (3, 1)), Layout((3, 3), (1, 3)), "int16")
    x = np.arange(9, dtype=np.int16)
    expected = x.reshape(3, 3).T.reshape(-1)
    for data in (x, x.reshape(3, 3), x.reshape(1, 9), x.tobytes(), bytearray(x.tobytes()), array("h", x.tolist())):
        assert (made(data) == expected).all()
    assert (made(memoryview(x)) == expected).all()
    assert (made(memoryview(x).cast("B")) == expected).all()
    out = np.zeros((3, 3), np.int16, order="F")
    assert made(x, out=out) is out
    assert (out == x.reshape(3, 3)).all()
    for wrong in (x.reshape(3, 3).T, np.asfortranarray(x.reshape(3, 3))):
        with pytest.raises(rl.LayoutMismatch, match="strides") as caught:
            made(wrong)
        assert caught.value.hint
    with pytest.raises(rl.LayoutMismatch):
        made(x, np.zeros((3, 3), np.int16))
    with pytest.raises(rl.ShapeError, match="neither"):
        made(np.repeat(x, 2)[::2])
    with pytest.raises(rl.ShapeError, match="neither"):
        made(np.zeros((2, 5), np.int16))
    with pytest.raises(rl.LayoutMismatch, match="layout"):
        made(rl.Tensor(x, Layout((3, 3), (1, 3))))
    with pytest.raises(rl.ShapeError, match="holds"):
        made(rl.Tensor(x.view(np.uint16), Layout((3, 3), (3, 1))))
    t = made(rl.tensor(x.reshape(3, 3), axes="hw"))
    assert isinstance(t, rl.Tensor)
    assert t.axes == "hw"
    assert (t.numpy() == x.reshape(3, 3)).all()
    with pytest.raises(rl.ShapeError, match="read-only"):
        made(x, x.tobytes())
    unaligned = np.frombuffer(b"a" + x.tobytes(), np.uint8)[1:].view(np.int16)
    assert (made(unaligned) == expected).all()


def test_memory_of_both_may_be_shared_where_ranges_do_not_meet() -> None:
    made = Plan(Layout(4), Layout(4, offset=4), "int8")
    memory = np.arange(8, dtype=np.int8)
    made(memory, memory)
    assert memory.tolist() == [0, 1, 2, 3] * 2
    for target in (Layout(4, offset=3), Layout(4)):
        with pytest.raises(rl.Overlap):
            Plan(Layout(4), target, "int8")(memory, memory)
    memory, box = np.arange(10, dtype=np.int8), Layout(((4, 2),), ((1, 4),), extents=(4,))
    assert Plan(Layout((4,), offset=6), box, "int8")(memory, memory).tolist() == [6, 7, 8, 9, 4, 5, 6, 7, 8, 9]
    with pytest.raises(rl.Overlap):
        Plan(Layout((4,), offset=6), box, "int8", fill=0)(memory, memory)


def test_texts_and_formats_take_the_shape_of_the_other() -> None:
    made = rl.plan(Layout.row_major((2, 8, 8, 32)), "htp:R4Crouton", "uint8")
    assert made is rl.plan(Layout.row_major((2, 8, 8, 32)), catalog.get("htp:R4Crouton"), "uint8")
    assert made.target.storage_size == 2 * 2048
    assert rl.plan("4:1", Layout(4), "int8") == Plan(Layout(4), Layout(4), "int8")
    assert repr(made).startswith("<Plan Layout(")
    ragged = rl.plan(Layout.row_major((1, 8, 8, 30)), "htp:R4Crouton", "uint8")
    x = np.zeros(8 * 8 * 30, np.uint8)
    assert sorted(set(ragged(x).tolist())) == [0, 31], "new memory holds the fill of the format"
    assert not ragged(x, np.zeros(2048, np.uint8)).any(), "and what is given only the elements"
    assert ragged != Plan(ragged.source, ragged.target, "uint8")
    late = Plan(Layout((3,)), Layout((3,), (1,), offset=2), "int8", fill=7)
    assert late(np.zeros(3, np.int8)).tolist() == [7, 7, 0, 0, 0]
    assert late(np.zeros(3, np.int8), np.ones(5, np.int8)).tolist() == [1, 1, 0, 0, 0]


def test_one_plan_by_many_threads_and_after_a_fork() -> None:
    shape = (600, 700)
    made = Plan(Layout.row_major(shape), Layout(shape), "float32", threads=2)
    x = np.random.default_rng(0).integers(0, 1 << 32, 420000, np.uint32).view(np.float32)
    expected = made(x).tobytes()
    outs = [np.zeros(420000, np.float32) for _ in range(8)]
    threads = [Thread(target=lambda out=out: [made(x, out) for _ in range(5)]) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(out.tobytes() == expected for out in outs)
    child = os.fork()
    if child == 0:
        os._exit(0 if made(x).tobytes() == expected else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert pickle.loads(pickle.dumps(made)) == made


def test_offsets_beyond_32_bits() -> None:
    far = 5 << 30
    try:
        memory, target = np.zeros(far + 4096, np.uint8), np.zeros(far + 4096, np.uint8)
    except MemoryError:
        pytest.skip("there is not enough address space")
    memory[far : far + 60] = np.arange(60)
    memory[:60] = 7
    shape = (3, 4, 5)
    for way in (nullcontext(), pure()):
        with way:
            Plan(Layout.row_major(shape).with_offset(far), Layout(shape, offset=far), "uint8")(memory, target)
            assert (target[far : far + 60].reshape(5, 4, 3).transpose() == np.arange(60).reshape(shape)).all()
            rows = Layout((3, 20), (far // 2, 1))
            assert Plan(rows, Layout((3, 20), (20, 1)), "uint8")(memory, target[:60])[40:].tolist() == list(range(20))
            assert (target[:20] == 7).all()


def test_masked_arrays_are_refused_by_every_call() -> None:
    made = Plan(Layout(4), Layout(4), "float32")
    masked, plain = np.ma.masked_array(np.ones(4, np.float32), [0, 1, 0, 0]), np.zeros(4, np.float32)
    for x, out in ((masked, plain), (plain, masked)):
        with pytest.raises(rl.ShapeError, match="masked"):
            made(x, out)
        with pytest.raises(rl.ShapeError, match="masked"):
            made(x, out=out)
    assert not plain.any()
    assert masked.data.all()


def test_blocks_are_made_one_by_one() -> None:
    parts = Plan(Layout(1 << 70, 0), Layout(1 << 70), "uint8").blocks(1 << 20)
    assert [next(parts).target_range for _ in range(2)] == [(0, 1 << 20), (1 << 20, 1 << 21)]


def test_blocks_that_follow_each_other_by_chance() -> None:
    made = Plan(Layout((2, 8), (8, 1)), Layout((2, 8), (8, 1)), "int32")
    for starts in ([8, 16], [16, 8], [0, 8]):
        x = np.arange(24, dtype=np.int32)
        expected = np.concatenate([x[k : k + 8] for k in starts])
        paged = rl.Tensor(x, made.source, "int32", blocks=rl.BlockTable(starts, 8))
        assert made(paged, np.zeros(16, np.int32)).tolist() == expected.tolist()
        back = rl.Tensor(np.zeros(24, np.int32), made.target, "int32", blocks=rl.BlockTable(starts, 8))
        made(expected, back)
        assert back.numpy().reshape(-1).tolist() == expected.tolist()


def test_many_combinations_of_boxes_are_not_compiled() -> None:
    rank = 9
    fmt = Format(rank, [(d, block) for block in (0, 2) for d in range(rank)])
    made = Plan(Layout.row_major((3,) * rank), fmt, "uint8", fill=7)
    assert made.way.name == "general", "there are 3 ** 9 of them"
    x = np.arange(3**rank, dtype=np.uint8)
    expected = np.full(made.target.storage_size, 7, np.uint8)
    expected[made.target.offsets()] = x[made.source.offsets()]
    assert made(x).tobytes() == expected.tobytes()


def test_a_plan_says_its_way() -> None:
    rows, swizzled = Layout.row_major((4, 8)), Layout((4, 8), (8, 1), swizzle=rl.Swizzle(1, 0, 3))
    quantised = rl.ScaleOffset([0.5] * 8, 3, "quint8", axis=1)
    made = [
        ("native", Plan(rows, Layout((4, 8)), "uint8", fill=1)),
        ("general", Plan(rows, swizzled, "uint8")),
        ("encoded", Plan(rows, Layout((4, 8)), "float32", "uint8")),
        ("strided", Plan(Layout((0, 3)), Layout((0, 3)), "uint8")),
    ]
    with pure():
        made.append(("strided", Plan(rows, swizzled, "uint8")))
        made.append(("encoded", Plan(rows, rows, quantised, "float32")))
    for name, plan in made:
        assert plan.way.name == name
        assert repr(plan).endswith(f" {name}>")
        assert not plan.source.size or f"Way: {name}." in plan.explain().splitlines()


@pytest.mark.parametrize("dst_element", [None, "float64"])
def test_texts_formats_and_patterns_take_a_shape(dst_element: Any) -> None:
    made = rl.plan("h (w q) -> w h q, q=2", "row-major", "uint8", dst_element, shape=(3, 5))
    assert made.source == rl.parse("h (w q) -> w h q, q=2").layout((3, 5))  # type: ignore[union-attr]
    assert made.target == Layout.row_major((3, 5))
    with pytest.raises(rl.ShapeError, match="no shape yet"):
        rl.plan("htp:R4Crouton", "row-major", "uint8")


def test_axes_meet_by_name() -> None:
    made = rl.plan("onednn:nhwc", "htp:R4Flat", "uint8", shape=(2, 3, 4, 5))
    turned = rl.plan("onednn:nhwc", "htp:R4Flat", "uint8", shape=(2, 4, 5, 3), axes="nhwc")
    x = np.arange(made.source.storage_size, dtype=np.uint8)
    assert made.source.extents == (2, 3, 4, 5), "in the order of the source, n c h w"
    assert turned.source.extents == (2, 4, 5, 3)
    assert made(x).tobytes() == turned(x).tobytes() == x.tobytes(), "both are n h w c in memory"


def test_a_refused_conversion_leaves_the_target_as_it_was() -> None:
    plan = Plan(Layout(4), Layout((4,), (2,)), "float32", "int8", fill=7)
    out = np.full(7, 99, np.int8)
    with pytest.raises(rl.NotExpressible, match="not an integer"):
        plan(np.array([1, 2, 0.5, 3], np.float32), out)
    assert (out == 99).all()
    assert plan(np.array([1, 2, 5, 3], np.float32), out).tolist() == [1, 7, 2, 7, 5, 7, 3]
