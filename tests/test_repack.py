"""Plans and repack against numpy, enumeration of both layouts, and every byte beside the data."""

from __future__ import annotations

import ctypes
import mmap
import pickle
from array import array
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relayout as rl
from relayout import Format, Layout, catalog
from relayout.engine.plan import Plan, plan
from relayout.engine.repack import repack
from relayout.tensors.tensor import Tensor
from support import table
from test_format import formats, stored
from test_loops import pairs


@settings(max_examples=300)
@given(pairs(), st.sampled_from(["uint8", "int16", "float32", "complex128"]))
def test_a_plan_moves_every_element_and_nothing_else(layouts: tuple[Layout, Layout], kind: str) -> None:
    source, target = layouts
    low = min(0, *[int(t.min()) for t in (table(source), table(target))])
    source, target = source.with_offset(source.offset - low), target.with_offset(target.offset - low)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, source.storage_size * np.dtype(kind).itemsize + 64, np.uint8).view(kind)
    out = rng.integers(0, 256, target.storage_size * np.dtype(kind).itemsize + 64, np.uint8).view(kind)
    try:
        made = plan(source, target, kind)
    except rl.Overlap:
        places = table(target).reshape(-1).tolist()
        assert len(set(places)) < len(places)
        return
    expected = out.copy()
    for a, b in zip(table(source).reshape(-1), table(target).reshape(-1), strict=True):
        expected[b] = x[a]
    assert made(x, out) is out
    assert out.tobytes() == expected.tobytes(), "NaN payloads and the bytes beside the target included"
    assert pickle.loads(pickle.dumps(made)).source == source
    assert made.explain().startswith(f"{source.size} element")


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint64"])
@pytest.mark.parametrize("behind", [0, 1, 16])
@pytest.mark.parametrize(
    ("shape", "form"),
    [
        ((5, 131, 77), "2 1 0 / 2,7 1,7"),
        ((5, 131, 77), "2 0 1 / 2,4 0,3 1,2 2,3"),
        ((4097, 11), "1 0"),
        ((21, 6, 19, 6, 3), "2 0 4 3 1"),
        ((131, 519), "0 1 / 1,3 0,64 1,6 0,4"),
        ((2, 61, 43, 19), "0 1 2 3 / 2,16 3,32 1,2 2,2"),
        ((509, 71), "0 1 / 1,4@2 1,4@8 1,2"),
        ((129, 4, 149), "0 2 1 / 2,6 0,2 0,7 1,6"),
        ((831, 187), "0 1 / 0,32@1 0,4@32 1,4"),
        ((67, 3, 131), "2 0 1 / 2,4 0,8 1,4 2,3"),
        ((14, 131, 77), "1 0 2 / 0,12 1,6"),
    ],
)
def test_digits_that_fill_no_vector(shape: tuple[int, ...], form: str, behind: int, kind: str) -> None:
    """In both directions, with padding, wherever the memory starts, and nothing beside it is touched."""
    rng = np.random.default_rng(0)
    plain, blocks = Layout.row_major(shape), Format.parse(form).layout(shape)
    width = np.dtype(kind).itemsize
    for source, target in ((plain, blocks), (blocks, plain)):
        x = rng.integers(0, 256, source.storage_size * width + behind, np.uint8)[behind:].view(kind)
        room = rng.integers(0, 256, behind + target.storage_size * width + 9, np.uint8)
        expected, out = room.copy(), room[behind : len(room) - 9].view(kind)
        filled = np.full(target.storage_size, 0x5A, kind)
        filled[target.offsets().reshape(-1)] = x[source.offsets().reshape(-1)]
        expected[behind : len(room) - 9] = filled.view(np.uint8)
        plan(source, target, kind, fill=0x5A)(x, out)
        assert room.tobytes() == expected.tobytes()


@given(formats(), st.data())
def test_packing_and_unpacking_agree_with_numpy(fmt: Format, data: Any) -> None:
    shape = tuple(data.draw(st.integers(1, 9)) for _ in range(fmt.rank))
    x = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    packed = repack(x, fmt, fill=-1)
    assert packed.shape == fmt.physical_shape(shape)
    assert (packed.reshape(-1) == stored(fmt, shape, (0,) * fmt.rank, (0,) * fmt.rank)).all()
    back = repack(packed, Layout.row_major(shape), src=fmt, shape=shape)
    assert (back == x).all()
    assert back.shape == shape


@pytest.mark.parametrize(
    ("pattern", "split", "order"),
    [
        ("a b -> b a", (6, 8), (1, 0)),
        ("a (b p) -> b a p, p=4", (6, 2, 4), (1, 0, 2)),
        ("(a p) (b q) -> a b p q, p=3, q=2", (2, 3, 4, 2), (0, 2, 1, 3)),
        ("(a p r) b -> a b r p, p=3, r=2", (1, 3, 2, 8), (0, 3, 2, 1)),
        ("(a p)(b) -> (a b) p , p=2", (3, 2, 8), (0, 2, 1)),
    ],
)
def test_einops_patterns(pattern: str, split: Any, order: Any) -> None:
    x = np.arange(48, dtype=np.int16).reshape(6, 8)
    assert (repack(x, pattern).reshape(-1) == x.reshape(split).transpose(order).reshape(-1)).all()


def test_axes_meet_by_name() -> None:
    x = np.arange(2 * 40 * 9 * 9, dtype=np.uint8).reshape(2, 40, 9, 9)
    packed = repack(x, "htp:R4Crouton", axes="nchw")
    assert (packed == repack(np.ascontiguousarray(x.transpose(0, 2, 3, 1)), "htp:R4Crouton")).all()
    assert (packed.reshape(-1)[:32] == x[0, :32, 0, 0]).all()
    with pytest.raises(rl.ShapeError, match="axes"):
        repack(x, "htp:R4Crouton", axes="oihw")


def test_tensors_in_tensors_out_and_quantised() -> None:
    x = np.linspace(-1, 1, 3 * 5 * 30, dtype=np.float32).reshape(1, 3, 5, 30)
    t = repack(rl.tensor(x, axes="nhwc"), "htp:R4Crouton", element=rl.ScaleOffset(1 / 127, 128, "quint8"))
    assert isinstance(t, rl.Tensor)
    assert abs(t.numpy() - x).max() < 1 / 127
    assert t.raw[30:32].tolist() == [31, 31]
    back = repack(t, "htp:R4Flat")
    assert (back.stored() == t.stored()).all()


def test_out_keeps_what_is_beside_the_data() -> None:
    fmt = catalog.get("htp:R4Crouton")
    x = np.arange(450, dtype=np.uint8).reshape(1, 3, 5, 30)
    out = np.full(2048, 77, np.uint8)
    repack(x, fmt, out=out)
    assert (out == 77).sum() >= 2048 - 450
    repack(x, fmt, out=out, fill=0)
    assert (np.sort(out)[: 2048 - 450] == 0).all()


def test_swizzles_and_tables_take_the_general_path() -> None:
    swizzled = Layout((8, 64), (64, 1), swizzle=(3, 3, 3))
    x = np.arange(512, dtype=np.uint16).reshape(8, 64)
    moved = repack(x, swizzled)
    assert (moved[swizzled.offsets()] == x).all()
    assert "under the swizzle <3,3,3> of the target" in Plan(Layout.row_major(8, 64), swizzled, "uint16").explain()
    odd = Plan(Layout(((3, 8),), ((8, 1),)), Layout(((4, 6),), ((6, 1),)), "int8")
    assert "do not divide each other" in odd.explain()
    big = Plan(Layout(((3, 4000),), ((4000, 1),)), Layout(((4, 3000),), ((3000, 1),)), "int16")
    y = np.arange(12000, dtype=np.int16)
    assert (big(y, np.zeros(12000, np.int16))[big.target.offsets()] == y[big.source.offsets()]).all()


def test_a_crouton_in_words() -> None:
    shape = (16, 217, 221, 50)
    target = catalog.get("htp:R4Crouton").layout(shape)  # type: ignore[union-attr]
    words = plan(Layout.row_major(shape), target, "uint8", fill=31, threads=2).explain().splitlines()
    assert words[0] == "38365600 elements of uint8, 16 x 217 x 221 x 50."
    assert words[1] == "Reads 36.6 MiB, writes 49.0 MiB, 12.4 MiB of that padding."
    assert words[3].startswith("  16 (2397850 -> 3211264), 27 (88400 -> 114688)")
    assert words[3].endswith(": 23887872 elements")
    assert words[7] == "  and 4 smaller pieces at the edges"
    assert words[-1].startswith("2 threads, about 0.")
    if rl.native_available():
        assert any("runs of 32 bytes" in line for line in words)
    quantised = Plan(Layout((4, 4)), Layout((4, 4), (4, 1)), "float32", rl.ScaleOffset(0.5, 0, "qint8"))
    assert "converted from Plain('float32') to ScaleOffset(0.5, 0, 'qint8')" in quantised.explain()
    assert Plan(Layout(0), Layout(0), "int8").explain().endswith("writes 0 bytes.")
    for kind in ("uint3", "int8", "complex128"):
        for fill in (None, 1):
            assert "of the speed of memcpy" in Plan(Layout((3, 5)), Layout((3, 5), (8, 1)), kind, fill=fill).explain()


def test_few_elements_in_words() -> None:
    assert plan(Layout(()), Layout(()), "uint8").explain().startswith("1 element of uint8, a scalar.")
    assert "Reads 3 bytes, writes 3 bytes." in plan(Layout(5), Layout(5), "int4").explain()


FOUR = np.zeros(4, np.int8)
BYTES = Plan(Layout(4), Layout(4), "int8")


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Plan(Layout(4), Layout(4, 0), "int8"), rl.Overlap, "same place"),
        (lambda: Plan(Layout(4, -1), Layout(4), "int8"), rl.ShapeError, "below 0"),
        (lambda: Plan(Layout(4), Layout(5), "int8"), rl.ShapeError, "extents"),
        (lambda: Plan(Layout(4), Layout(4), "int4")(FOUR, FOUR.copy()), rl.ShapeError, "holds int8"),
        (lambda: BYTES(FOUR[:3], FOUR.copy()), rl.OutOfBounds, "goes up"),
        (lambda: BYTES(FOUR.astype(np.int16), FOUR.copy()), rl.ShapeError, "holds int16"),
        (lambda: BYTES(FOUR, np.frombuffer(b"abcd", np.int8)), rl.ShapeError, "read-only"),
        (lambda: BYTES(FOUR, FOUR), rl.Overlap, "share memory"),
        (lambda: repack(np.zeros(8, np.uint8), Layout(8), src="htp:R4Crouton"), rl.ShapeError, "shape"),
    ],
)
def test_refused(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        make()
    assert caught.value.hint  # type: ignore[attr-defined]


# ---- hostile arguments -----------------------------------------------------------------------------------


def test_out_that_is_the_source_is_refused_before_anything_is_written() -> None:
    y = np.arange(12, dtype=np.uint8)
    with pytest.raises(rl.Overlap, match="share memory"):
        repack(y.reshape(3, 4), Layout((3, 4), (1, 3)), out=y, fill=9)
    assert y.tolist() == list(range(12))
    floats = np.arange(16, dtype=np.float32)
    with pytest.raises(rl.Overlap):
        repack(floats.reshape(4, 4), Layout((4, 4), (1, 4)), out=memoryview(floats).cast("B"), fill=0, element="int32")
    assert floats.tolist() == list(range(16))
    with pytest.raises(rl.ShapeError, match="read-only"):
        repack(y.reshape(3, 4), Layout((3, 4), (1, 3)), out=np.frombuffer(bytes(12), np.uint8), fill=1)


def test_a_refused_value_leaves_out_as_it_was_although_there_is_a_fill() -> None:
    x = np.array([[1.0, 2.0], [3.0, 300.5]])
    scattered = Tensor(x.reshape(-1), Layout.row_major(2, 2), blocks=rl.BlockTable([2, 0], 2))
    for data in (x, rl.tensor(x), scattered):
        y = np.full(9, 99, np.uint8)
        with pytest.raises(rl.NotExpressible, match=r"300\.5"):
            repack(data, Layout((2, 2), (4, 1)), out=y, fill=5, element="uint8")
        assert y.tolist() == [99] * 9


@pytest.mark.parametrize(
    "call",
    [
        lambda: plan(Layout(1), Layout((4,), swizzle=(1, 0, 1)), "uint8"),
        lambda: plan("nope", Layout(4), "uint8"),
        lambda: plan("htp:R4Crouton", "htp:R4Flat", "uint8"),
        lambda: plan(Layout(4), Layout(4), [1]),
        lambda: plan(Layout(4), Layout(4), "uint8", threads=0),
        lambda: Plan(None, Layout(4), "uint8"),
        lambda: BYTES("abcd", FOUR.copy()),
        lambda: BYTES(array("f", [1, 2, 3, 4]), FOUR.copy()),
        lambda: BYTES(FOUR.reshape(2, 2)[:, :1], FOUR.copy()),
        lambda: repack(rl.tensor(FOUR), Layout(4), src=Layout(4)),
        lambda: repack(FOUR, Layout(4), shape=(99,)),
        lambda: repack(FOUR, Layout(4), src=Layout(4), shape=(5,)),
        lambda: repack(FOUR.reshape(2, 2), Layout((2, 2)), axes="aa"),
        lambda: repack(FOUR.reshape(2, 2), Layout((2, 2)), axes=5),  # type: ignore[arg-type]
        lambda: repack(np.ma.array([1, 2], mask=[0, 1]), Layout(2), src=Layout(2)),
        lambda: repack([[1], [2, 3]], Layout(3), src=Layout(3)),
        lambda: repack(b"abcd", Layout(4), src=Layout(4)),
        lambda: repack(np.zeros((4, 4))[:, ::2], Layout(8), src=Layout(8)),
        lambda: repack(FOUR, Layout(4), fill=[1, 2]),
        lambda: repack(FOUR, Layout(4), fill=Layout(())),
        lambda: repack(FOUR, Layout(4), threads=memoryview(bytearray(4))),  # type: ignore[arg-type]
        lambda: rl.empty(Layout(8), "int4", fill=[1, 2]),
        lambda: rl.empty(Layout(8), "int4", fill=np.float32),
        lambda: rl.empty(Layout(8), "int4", fill=Layout((2, 3))),
        lambda: rl.from_logical(rl.tensor(FOUR), Layout(4), axes=FOUR),  # type: ignore[arg-type]
        lambda: rl.empty(Layout(4), "uint8", shape=300),
        lambda: rl.empty(Layout(4), "uint8", shape=np.zeros((2, 3))),
        lambda: rl.check(np.zeros((2, 3)), "hw", axes=5),  # type: ignore[arg-type]
        lambda: rl.check(np.zeros((2, 3)), rl.make_identity_layout((2, 3))),
        lambda: rl.BlockTable.consecutive(-1, 4),
        lambda: rl.BlockTable.consecutive(2**70, 4),
        lambda: rl.BlockTable.consecutive(3, "a"),  # type: ignore[arg-type]
        lambda: rl.BlockTable(np.array(1.5), 4),
        lambda: rl.ScaleOffset([1.0, 2.0], [0, 0], "quint8", axis=0).take(3),  # type: ignore[arg-type]
        lambda: rl.tensor(np.zeros((4, 4))).tiled_iterator((2, 2), 0, 3),
        lambda: rl.expects(x="hw")(max),
        lambda: rl.tensor(np.zeros((2, 2)))[(None,) * 70].numpy(),
        lambda: rl.tensor(np.zeros((2, 2)))[(None,) * 70].fill(3),
        lambda: rl.Tensor(b"", Layout((0, 10**30)), "uint8").numpy(),
        lambda: rl.Tensor(bytes(8), Layout((10**30,), (0,)), "uint8").numpy(),
    ],
)
def test_odd_arguments_are_refused_with_a_hint(call: Any) -> None:
    with pytest.raises(rl.LayoutError) as caught:
        call()
    assert caught.value.hint


def test_bytes_and_tensors_as_memory() -> None:
    assert repack(bytes(range(6)), Layout((2, 3), (1, 2)), src=Layout((2, 3), (3, 1)), element="uint8").tolist() == [
        [0, 1, 2],
        [3, 4, 5],
    ]
    out = rl.empty(Layout(4), "int8")
    BYTES(rl.tensor(np.arange(4, dtype=np.int8)), out)
    assert out.numpy().tolist() == [0, 1, 2, 3]
    assert pickle.loads(pickle.dumps(BYTES)) == BYTES
    assert hash(BYTES) == hash(Plan(Layout(4), Layout(4), "int8"))
    assert Plan(Layout(4), Layout(4), "uint8") != BYTES


def test_one_element_keeps_the_bits_of_a_nan() -> None:
    t = rl.tensor(np.zeros(1, np.float32))
    t[0] = np.array([0x7F812345], np.uint32).view(np.float32)[0]
    assert int(t.raw.view(np.uint32)[0]) in (0x7F812345, 0x7FC12345), "the quiet bit may be set by the scalar itself"
    t[0] = np.array([0x7F812345], np.uint32).view(np.float32)
    assert int(t.raw.view(np.uint32)[0]) == 0x7F812345


# ---- what is looked up, and what a result is ---------------------------------------------------------------


def pads(shape: tuple[int, ...], fmt: Format, value: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """numpy's: padded, split into blocks, and put into the order of the factors."""
    x = np.arange(1, 1 + int(np.prod(shape))).astype(dtype).reshape(shape)
    padded = np.pad(x, [(0, -n % b) for n, b in zip(shape, fmt.block_shape, strict=True)], constant_values=value)
    split = [k for n, b in zip(padded.shape, fmt.block_shape, strict=True) for k in (n // b, b)]
    order = [2 * f.dim if f.size == 0 else 2 * f.dim + 1 for f in fmt.factors]
    missing = [k for k in range(2 * fmt.rank) if k not in order]
    return padded.reshape(split).transpose(order + missing).reshape(fmt.physical_shape(shape))


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 8, 8, 32), (2, 9, 11, 40), (1, 1, 1, 1), (0, 3, 3, 3), (3, 0, 8, 8)])
def test_repack_is_pad_reshape_transpose(shape: tuple[int, ...], dtype: str) -> None:
    x = np.arange(1, 1 + int(np.prod(shape))).astype(dtype).reshape(shape)
    for fmt in (Format(4, [(0, 0), (1, 0), (2, 0), (3, 0), (1, 8), (2, 8), (3, 32)]), rl.parse("onednn:nChw16c")):
        assert isinstance(fmt, Format)
        expected = pads(shape, fmt, 5, dtype)
        others = [x, np.asfortranarray(x), np.repeat(x, 2, 1)[:, ::2], x[:, ::-1].copy()[:, ::-1]]
        for data in others + others:
            found = repack(data, fmt, fill=5)
            assert found.shape == expected.shape
            assert found.tobytes() == expected.tobytes()
            assert found.size == 0 or found.ctypes.data % 64 == 0
        out = np.full(expected.size + 3, 9, dtype)
        repack(x, fmt, fill=5, out=out)
        assert out[: expected.size].tobytes() == expected.tobytes()
        assert (out[expected.size :] == 5).all(), "all of the memory is filled"


def test_equal_fills_that_are_not_the_same() -> None:
    x = np.ones((1, 3), np.float32)
    fmt = Format(2, [(0, 0), (1, 0), (1, 4)])
    for _ in range(2):
        assert np.signbit(repack(x, fmt, fill=-0.0)[0, 0, 3])
        assert not np.signbit(repack(x, fmt, fill=0.0)[0, 0, 3])
        assert np.signbit(repack(x, Format(2, [(0, 0), (1, 0), (1, 4)], fill=-0.0))[0, 0, 3])
        assert not np.signbit(repack(x, Format(2, [(0, 0), (1, 0), (1, 4)], fill=0))[0, 0, 3])
        assert np.signbit(repack(x, fmt, fill=np.float32(-0.0))[0, 0, 3])
        assert not np.signbit(repack(x, fmt, fill=np.float32(0.0))[0, 0, 3])
        assert np.isnan(repack(x, fmt, fill=float("nan"))[0, 0, 3])
        with pytest.raises(rl.ShapeError):
            repack(x, fmt, shape=(1, 3.0))


def test_results_of_plain_and_odd_layouts() -> None:
    x = np.arange(6, dtype=np.int16).reshape(2, 3)
    for _ in range(2):
        plain = repack(x, Layout((2, 3), (4, 1), offset=1))
        assert (plain == x).all()
        assert plain.strides == (8, 2)
        assert plain.base is not None
        flat = repack(x, Layout((2, (3, 2)), (8, (1, 4)), extents=(2, 3)), fill=7)
        assert flat.tolist() == [0, 1, 2, 7, 7, 7, 7, 7, 3, 4, 5, 7, 7, 7, 7]
        backwards = repack(x, Layout((2, 3), (3, -1), offset=2))
        assert (backwards == x).all()
        assert repack(x[:0], Layout((0, 3), (3, 1))).shape == (0, 3)
        assert repack(np.array(5), Layout(())).tolist() == 5


def test_other_libraries() -> None:
    torch = pytest.importorskip("torch")
    t = torch.arange(24, dtype=torch.bfloat16).reshape(2, 12)
    found = repack(t, Format(2, [(1, 0), (0, 0), (1, 4)]))
    assert found.dtype == torch.bfloat16
    assert found.tolist() == t.reshape(2, 3, 4).permute(1, 0, 2).tolist()
    columns = repack(t, Layout((2, 12), (1, 2)))
    assert columns.equal(t)
    assert columns.stride() == (1, 2)
    backwards = repack(t, Layout((2, 12), (12, -1), offset=11))
    assert backwards.equal(t.flip(1).reshape(-1)), "flat, since torch has no such strides"
    room = torch.zeros(24, dtype=torch.bfloat16)
    assert repack(t, Layout((2, 12), (1, 2)), out=room).data_ptr() == room.data_ptr()
    assert plan(Layout(24), Layout(24), "bfloat16")(t.reshape(-1)).equal(t.reshape(-1))
    with pytest.raises(rl.ShapeError, match="does not take float8_e3m4"):
        repack(t, Layout((2, 12)), element="float8_e3m4")
    made = plan(Layout((2, 12), (12, 1)), Layout((2, 12)), "bfloat16")
    out = torch.zeros(24, dtype=torch.bfloat16)
    assert made(t, out=out) is out
    assert out.reshape(12, 2).T.equal(t)
    with pytest.raises(rl.ShapeError):
        made(t.float(), out=out)


def test_a_library_of_the_array_api() -> None:
    class Other:
        """An array of a library that is known by its protocols only."""

        def __init__(self, data: Any) -> None:
            self.data = data

        def __dlpack__(self, **words: Any) -> Any:
            return self.data.__dlpack__(**words)

        def __dlpack_device__(self) -> Any:
            return self.data.__dlpack_device__()

        def __array_namespace__(self) -> Any:
            return SimpleNamespace(from_dlpack=lambda x: Other(np.from_dlpack(x)))

    x = np.arange(6, dtype=np.int16).reshape(2, 3)
    for found in (
        repack(Other(x), Layout((2, 3), (1, 2))),
        repack(Other(x), Layout((2, 3), (1, 2)), out=np.zeros(6, "i2")),
    ):
        assert isinstance(found, Other)
        assert found.data.tolist() == x.tolist()
        assert found.data.strides == (2, 4)
    assert plan(Layout((2, 3), (3, 1)), Layout((2, 3)), "int16")(Other(x)).data.tolist() == [0, 3, 1, 4, 2, 5]


def test_large_memory_is_aligned_and_zeroed() -> None:
    made = rl.empty(Layout(3 << 20), "float32")
    assert made.raw.ctypes.data % 64 == 0
    assert not made.raw.any()
    assert made.writable
    x = np.arange(2100 * 2100, dtype=np.uint16).reshape(2100, 2100)
    packed = repack(x, "0 1 / 0,64 1,64", fill=3, threads=2)
    assert packed.ctypes.data % 64 == 0
    expected = np.pad(x, [(0, 12), (0, 12)], constant_values=3).reshape(33, 64, 33, 64).transpose(0, 2, 1, 3)
    assert (packed == expected).all()


def test_progress_and_threads_of_a_repack() -> None:
    told: list[Any] = []
    repack(np.zeros((4, 4)), Layout((4, 4)), progress=lambda done, total: told.append((done, total)), threads=2)
    assert told == [(128, 128)]
    with pytest.raises(rl.Cancelled):
        repack(np.zeros((4, 4)), Layout((4, 4)), progress=lambda done, total: False)
    for threads in (0, -1, 2.5, "a"):
        with pytest.raises(rl.LayoutError):
            repack(np.zeros((4, 4)), Layout((4, 4)), threads=threads)  # type: ignore[arg-type]


def test_scattered_blocks_come_and_go() -> None:
    blocks = rl.BlockTable([24, 0, 8, 16], 8)
    memory = np.arange(32, dtype=np.int32)
    scattered = rl.Tensor(memory, Layout((4, 8), (8, 1)), "int32", blocks=blocks)
    expected = memory.reshape(4, 8)[[3, 0, 1, 2]]
    assert (repack(scattered, Layout((4, 8), (1, 4))).numpy() == expected).all()
    back = rl.Tensor(np.zeros(32, np.int32), Layout((4, 8), (8, 1)), "int32", blocks=blocks)
    plan(Layout((4, 8), (8, 1)), Layout((4, 8), (8, 1)), "int32")(scattered, back)
    assert (back.numpy() == expected).all()
    assert (back.raw == memory).all()
    flat = np.zeros(32, np.int32)
    plan(Layout((4, 8), (8, 1)), Layout((4, 8), (8, 1)), "int32")(scattered, flat)
    assert (flat.reshape(4, 8) == expected).all()
    with pytest.raises(rl.NotExpressible, match="not filled"):
        plan(Layout((4, 8), (8, 1)), Layout((4, 8), (8, 1)), "int32", fill=0)(flat, back)
    with pytest.raises(rl.Overlap):
        plan(Layout((4, 8), (8, 1)), Layout((4, 8), (8, 1)), "int32")(scattered, memory)


def test_packed_elements() -> None:
    values = np.arange(30).reshape(5, 6) % 8
    t = rl.from_logical(values, Layout((5, 6), (6, 1)), "uint3")
    for _ in range(2):
        moved = repack(t, Layout((5, 6), (1, 5), offset=1), fill=7)
        assert (moved.numpy() == values).all()
        assert moved.raw[0] & 7 == 7
    made = plan(Layout((5, 6), (6, 1)), Layout((5, (4, 2)), (8, (1, 4)), extents=(5, 6)), "uint3", fill=5)
    packed = made(t.raw)
    tensor = rl.Tensor(packed, made.target, "uint3")
    assert (tensor.numpy() == values).all()
    box = rl.Tensor(packed, made.target.box, "uint3").numpy()
    assert (box[:, 6:] == 5).all()


def test_out_may_be_a_tensor() -> None:
    x = np.arange(9 * 9 * 40, dtype=np.uint8).reshape(1, 9, 9, 40)
    out = rl.empty("htp:R4Crouton", "uint8", x.shape, fill=7)
    assert repack(x, "htp:R4Crouton", out=out) is out
    assert (out.raw.reshape(1, 2, 2, 2, 8, 8, 32) == repack(x, "htp:R4Crouton", fill=7)).all()
    starts = np.arange(8)[::-1] * 2048
    scattered = Tensor(np.zeros(8 * 2048, np.uint8), out.layout, blocks=rl.BlockTable(starts, (8, 8, 32)))
    assert repack(rl.tensor(x), out.layout, out=scattered) is scattered
    assert (scattered.numpy() == x).all()
    means = rl.ScaleOffset(0.5, 3, "quint8")
    reals = np.arange(6, dtype=np.float32).reshape(2, 3) / 2
    codes = rl.empty(Layout((2, 3), (1, 4)), means, fill=9)
    repack(reals, Layout((2, 3), (1, 4)), out=codes)
    assert codes.raw.tolist() == [3, 6, 9, 9, 4, 7, 9, 9, 5, 8]
    for words in ({"fill": 1}, {"element": "uint8"}):
        with pytest.raises(rl.ShapeError, match="out "):
            repack(reals, Layout((2, 3), (1, 4)), out=codes, **words)
    with pytest.raises(rl.LayoutMismatch):
        repack(reals, Layout((2, 3), (3, 1)), out=codes)
    assert codes.raw.tolist() == [3, 6, 9, 9, 4, 7, 9, 9, 5, 8]


def test_bytes_of_any_kind_are_a_source() -> None:
    expected = np.arange(16, dtype=np.float32).reshape(4, 4)
    with mmap.mmap(-1, 64) as mapped:
        mapped[:] = expected.tobytes()
        for x in (mapped, array("f", range(16)), (ctypes.c_float * 16)(*range(16)), memoryview(expected)):
            found = repack(x, Layout((4, 4), (1, 4)), src=Layout((4, 4), (4, 1)), element="float32")
            assert (found == expected).all()
            assert found.strides == (4, 16)
            del x
    room = memoryview(bytearray(72))
    start = -np.frombuffer(room, np.uint8).ctypes.data % 4
    for moved in (1, 0, 1):
        call = partial(repack, room[start + moved :], Layout(16), src=Layout(16), element="float32")
        if moved:
            with pytest.raises(rl.ShapeError, match="not aligned"):
                call()
        else:
            assert (call() == 0).all()


def test_a_target_beyond_all_memory_is_past_the_limit() -> None:
    for step in (1 << 40, 1 << 59, 1 << 62, 1 << 70):
        with pytest.raises(rl.LimitExceeded, match="no memory"):
            repack(np.zeros(32), Layout(32, step))


def test_scattered_blocks_can_be_cancelled() -> None:
    x = Tensor(np.arange(8.0), Layout.row_major(2, 4), blocks=rl.BlockTable([4, 0], 4))
    with pytest.raises(rl.Cancelled) as stopped:
        repack(x, Layout.row_major(2, 4), progress=lambda done, total: False)
    assert (stopped.value.done, stopped.value.total) == (64, 64)  # type: ignore[attr-defined]
