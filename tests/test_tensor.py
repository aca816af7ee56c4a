"""Tensors read and write the bytes that their layout names: judged by bits of the buffer, enumeration and numpy."""

from __future__ import annotations

import copy
import mmap
import pickle
import weakref
from itertools import product as cartesian
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import relayout as rl
from relayout import Format, Layout
from relayout.elements.interface import Plain, ScaleOffset
from relayout.elements.memory import ALIGNMENT
from relayout.elements.types import element, storage_dtype
from relayout.engine.logical import from_logical
from relayout.tensors import gather as transfer
from relayout.tensors.make import empty, full, tensor
from relayout.tensors.tensor import Tensor
from support import coordinates, layouts, value

WHOLE = ["uint8", "int16", "float32", "float64", "complex64", "int64", "bfloat16", "float8_e4m3fn", "float16"]
PACKED = ["int4", "uint4", "int2", "uint1", "int3", "uint6", "int7", "float4_e2m1fn", "float6_e3m2fn"]


def code(buffer: bytes | bytearray, bits: int, i: int) -> int:
    """Element ``i`` of the buffer as a number, read from one little-endian integer."""
    return int.from_bytes(buffer, "little") >> (i * bits) & ((1 << bits) - 1)


def bits_of(x: Any, dtype: str) -> int:
    """A stored value as the number that its bits make."""
    kind = element(dtype)
    return int.from_bytes(np.array(x, storage_dtype(kind)).tobytes(), "little") & ((1 << kind.bits) - 1)


def placed(layout: Layout) -> Layout:
    """The layout moved so that its lowest offset is not negative."""
    plain = layout.with_swizzle(None)
    low = min(value(plain, c) for c in coordinates(plain))
    return layout if low >= 0 else layout.with_offset(layout.offset - low)


@st.composite
def filled(draw: Any, dtypes: list[str]) -> tuple[Layout, str, bytes]:
    """A layout, a type, and random memory for it, a bit longer than needed."""
    layout = placed(draw(layouts(offset=True, window=True, swizzle=True, negative=True)))
    dtype = draw(st.sampled_from(dtypes))
    reach = max(value(layout, c) for c in coordinates(layout)) + 1 + draw(st.integers(0, 3))
    size = -(-reach * element(dtype).bits // 8)
    return layout, dtype, np.random.default_rng(draw(st.integers(0, 99))).bytes(size)


# ---- reading -------------------------------------------------------------------------------------------------


@given(filled(WHOLE + PACKED))
def test_every_element_is_read_from_its_own_bits(case: tuple[Layout, str, bytes]) -> None:
    layout, dtype, buffer = case
    t = Tensor(buffer, layout, dtype)
    stored = t.stored()
    assert (t.shape, t.ndim, t.size, t.dtype) == (layout.extents, layout.rank, layout.size, dtype)
    assert stored.shape == layout.extents
    bits = element(dtype).bits
    for c in coordinates(layout):
        where = value(layout, c)
        expected = code(buffer, bits, where)
        assert bits_of(stored[c], dtype) == expected
        raw = t.get_raw(c)
        assert (raw.buffer, 8 * raw.byte + raw.bit) == (0, where * bits)
        assert int.from_bytes(raw.view, "little") >> raw.bit & ((1 << bits) - 1) == expected
        scalar = t[c]
        assert isinstance(scalar, int | float | complex)
        negative = tuple([x - n for x, n in zip(c, layout.extents, strict=True)])
        with np.errstate(all="ignore"):
            same = np.array(scalar).astype(storage_dtype(element(dtype)))
        assert scalar != scalar or bits_of(same, dtype) == expected
        assert scalar != scalar or t[negative] == scalar


@given(filled(WHOLE))
def test_numpy_is_a_view_exactly_where_strides_can_say_it(case: tuple[Layout, str, bytes]) -> None:
    layout, dtype, content = case
    buffer = bytearray(content)
    t = Tensor(buffer, layout, dtype)
    places = np.array([value(layout, c) for c in coordinates(layout)]).reshape(layout.extents)
    origin = (0,) * layout.rank
    steps = [places[(*origin[:d], 1, *origin[d + 1 :])] - places[origin] if n > 1 else 0 for d, n in enumerate(t.shape)]
    affine = places[origin] + sum(np.indices(t.shape)[d] * s for d, s in enumerate(steps))
    moved = False
    if layout.swizzle is not None:
        _, base, shift = layout.swizzle.parameters
        moved = max(value(layout.with_swizzle(None), c) for c in coordinates(layout)) >> (base + max(shift, 0)) > 0
    strided = bool((places == affine).all()) and not moved
    array = t.numpy()
    memory = np.frombuffer(buffer, np.uint8)
    assert np.shares_memory(array, memory) == strided
    assert array.flags.writeable == (not strided or len(set(places.flat)) == places.size)
    assert np.shares_memory(np.asarray(t), memory) == strided
    if strided:
        assert np.shares_memory(np.array(t, copy=False), memory)
    else:
        with pytest.raises(ValueError, match="without a copy"):
            np.array(t, copy=False)
    assert not np.shares_memory(np.array(t, copy=True), memory)


@given(filled(["uint8", "float32", "complex64"]))
def test_views_and_offset_tables_copy_the_same(case: tuple[Layout, str, bytes]) -> None:
    layout, dtype, content = case
    assume(layout.swizzle is None)
    t = Tensor(bytearray(content), layout, dtype)
    flat = t.raw
    by_views = np.zeros(t.shape, flat.dtype)
    for stored, values in transfer.views(layout, flat, by_views):
        assert np.shares_memory(stored, flat)
        values[...] = stored
    assert by_views.tobytes() == flat[layout.offsets()].tobytes()
    assert by_views.tobytes() == transfer.gather(t._memories, layout, None).tobytes()


def test_large_copies_go_by_slabs(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(6 * 10 * 14, dtype=np.int32).reshape(6, 10, 14)
    layout = Layout((6, (4, 3), (2, 8)), (192, (1, 64), (32, 4)), extents=(6, 10, 14), swizzle=(2, 0, 3))
    assert layout.is_injective()
    whole = from_logical(x, layout).raw.tobytes()
    monkeypatch.setattr(transfer, "SLAB", 37)
    t = from_logical(x, layout)
    assert t.raw.tobytes() == whole
    assert (t.numpy() == x).all()
    assert all(t[c] == x[c] for c in cartesian(range(6), range(10), range(14)))


# ---- writing -------------------------------------------------------------------------------------------------


@given(filled(["uint8", "int16", "float32", "int4", "uint1", "uint6", "bfloat16"]), st.data())
def test_a_scalar_goes_to_its_own_bits(case: tuple[Layout, str, bytes], data: Any) -> None:
    layout, dtype, content = case
    buffer = bytearray(content)
    t = Tensor(buffer, layout, dtype)
    c = data.draw(st.sampled_from(coordinates(layout)))
    number = data.draw(st.integers(0, 1))
    t[c] = number
    bits = element(dtype).bits
    where = value(layout, c)
    mask = ((1 << bits) - 1) << (where * bits)
    before, after = int.from_bytes(content, "little"), int.from_bytes(buffer, "little")
    assert before & ~mask == after & ~mask
    assert bits_of(number, dtype) == code(buffer, bits, where)


KEYS = st.one_of(
    st.integers(-3, 2), st.slices(4), st.just(Ellipsis), st.none(), st.just(slice(None)), st.just(slice(None, None, -1))
)


@given(filled(["uint8", "int16", "float32", "uint4", "int3"]), st.lists(KEYS, max_size=4), st.data())
def test_slices_are_numpys(case: tuple[Layout, str, bytes], keys: list[Any], data: Any) -> None:
    layout, dtype, content = case
    buffer = bytearray(content)
    t = Tensor(buffer, layout, dtype)
    x = t.stored().copy()
    key = tuple(keys)
    try:
        expected = x[key]
    except IndexError:
        with pytest.raises(rl.LayoutError):
            t[key]
        return
    try:
        got = t[key]
    except (rl.NotExpressible, rl.LimitExceeded):
        return
    if not isinstance(got, Tensor):
        assert got == expected or got != got
        return
    assert got.shape == expected.shape
    np.testing.assert_array_equal(got.stored(), expected)
    numbers = data.draw(st.sampled_from([1, np.ones(got.shape[-1:], np.int8), np.ones((1, *got.shape), np.int8)]))
    if got.layout.is_injective():
        t[key] = numbers
        assert bytes(got.stored()) == bytes(np.ones(got.shape, expected.dtype))
        if layout.is_injective():
            x[key] = numbers
            np.testing.assert_array_equal(t.stored(), x)
    else:
        with pytest.raises(rl.Overlap):
            t[key] = numbers
        assert buffer == content
    untouched = set(range(len(content) * 8 // element(dtype).bits)) - {value(layout, c) for c in coordinates(layout)}
    for k in untouched:
        assert code(buffer, element(dtype).bits, k) == code(content, element(dtype).bits, k)


def test_assignment_broadcasts_as_numpys_does() -> None:
    x = np.zeros((3, 4), np.float32)
    t = tensor(x)
    t[1] = [1, 2, 3, 4]
    t[:, 0] = np.array([[7], [8], [9]])[:, 0]
    t[2:, 1:3] = t[1:2, 2:]
    assert x.tolist() == [[7, 0, 0, 0], [8, 2, 3, 4], [9, 3, 4, 0]]
    t[...] = 5
    assert (x == 5).all()
    t[2, 3] = np.float64(6)
    assert x[2, 3] == 6
    for bad in ([1, 2, 3], np.zeros((3, 5)), np.zeros((2, 3, 4))):
        with pytest.raises(rl.ShapeError, match="do not fit"):
            t[...] = bad
    with pytest.raises(rl.ShapeError, match="do not fit"):
        t[0, 0] = [1, 2]
    with pytest.raises(rl.ShapeError, match="nested lists"):
        t[0] = [[1], [2, 3]]
    with pytest.raises(rl.ShapeError, match="no numbers"):
        t[0] = "abcd"


def test_what_overlaps_is_read_before_it_is_written() -> None:
    for stride in (1, 3):
        memory = np.arange(40, dtype=np.int32)
        expected = memory.copy()
        t = Tensor(memory, Layout(10, stride))
        expected[: 10 * stride : stride][1:] = memory.copy()[: 10 * stride : stride][:-1]
        t[1:] = t[:-1]
        assert (memory == expected).all()
    blocked = Layout(((2, 3), 4), ((1, 8), 2))
    memory = np.arange(24, dtype=np.int32)
    t = Tensor(memory, blocked)
    x = t.numpy().copy()
    t[...] = t.flip(0)
    assert (t.numpy() == x[::-1]).all()
    t[...] = t.numpy()[::-1]
    assert (t.numpy() == x).all()
    memory = np.arange(36, dtype=np.int32)
    source = memory[6:30].reshape(6, 4)[::-1]
    expected = source.copy()
    windowed = Tensor(memory, Layout(((3, 3), 4), ((1, 12), 3), extents=(6, 4), origin=(1, 0)))
    windowed.copy_from(source)
    assert (windowed.numpy() == expected).all()


def test_a_refused_write_changes_nothing() -> None:
    memory = np.arange(12, dtype=np.uint8)
    t = Tensor(memory, Layout((3, 4), (4, 1)))
    for values in (300, -1, [0, 1, 2, 256], 0.5, np.nan, 1j):
        with pytest.raises(rl.NotExpressible):
            t[1] = values
    assert (memory == np.arange(12)).all()


def test_copy_from_takes_stored_values_as_they_are() -> None:
    """Decoding and encoding again would lose the low bits of qint32."""
    means = ScaleOffset(0.1, 7, "qint32")
    codes = np.array([2**31 - 1, -(2**31), 123456789, 16777217], np.int32)
    a = tensor(codes, means)
    b = empty(Layout(4, 2), means).copy_from(a)
    assert b.stored().tolist() == codes.tolist()
    assert means.encode(means.decode(codes)).tolist() != codes.tolist()
    c = from_logical(a, Layout(4, 3))
    assert c.interface == means
    assert c.stored().tolist() == codes.tolist()
    b[...] = a[2:3]
    assert b.stored().tolist() == [123456789] * 4
    with pytest.raises(rl.ShapeError, match="same shape"):
        b.copy_from(a[:2])


def test_channels_of_another_dimension_are_not_taken_for_its_own() -> None:
    means = ScaleOffset([1, 2, 4], 0, "quint8", axis=0)
    row = from_logical(np.array([4.0, 8.0, 16.0]), Layout(3), means)
    t = empty(Layout((3, 3)), means)
    t[...] = row
    assert t.numpy().tolist() == [[4, 8, 16]] * 3
    assert t.stored().tolist() == [[4, 8, 16], [2, 4, 8], [1, 2, 4]]


def test_copy_from_between_interfaces_keeps_the_meaning() -> None:
    q = from_logical(np.array([-1.0, 0.25, 3.0]), Layout(3), ScaleOffset(0.25, 10, "quint8"))
    assert q.stored().tolist() == [6, 11, 22]
    other = empty(Layout(3), ScaleOffset(0.5, 100, "quint16")).copy_from(q)
    assert other.stored().tolist() == [98, 100, 106]
    assert empty(Layout(3), "float64").copy_from(q).numpy().tolist() == [-1.0, 0.25, 3.0]
    assert empty(Layout(3), "int8").copy_from([3, 2, 1]).numpy().tolist() == [3, 2, 1]


# ---- storage -------------------------------------------------------------------------------------------------


def test_arrays_are_wrapped_as_they_are() -> None:
    base = np.arange(60, dtype=np.int16).reshape(3, 4, 5)
    for x in (
        base,
        base.T,
        base[::-1, 1:3, ::-2],
        np.broadcast_to(base[0], (2, 4, 5)),
        base[1, 2, 3, None],
        base[1, 2, 3, ...],
        base[:0],
        np.asfortranarray(base),
        base.view(np.recarray),
        np.lib.stride_tricks.as_strided(base, (7, 3), (2, 2)),
    ):
        t = tensor(x)
        assert t.shape == x.shape
        assert x.size == 0 or np.shares_memory(t.numpy(), x)
        assert t.size == 0 or t.layout.min_offset == 0
        assert t.raw.size == (t.layout.max_offset + 1 if t.size else 0)
        np.testing.assert_array_equal(t.numpy(), x)
        assert t.numpy().strides == x.strides or any(n < 2 for n in x.shape)
    frozen = base.copy()
    frozen.setflags(write=False)
    assert not tensor(frozen).writable
    assert tensor(tensor(base)).raw is not base
    assert tensor(memoryview(base)).layout == tensor(base).layout


def test_the_same_memory_with_another_meaning() -> None:
    x = np.array([[10, 20], [30, 40]], np.uint8)
    t = tensor(x, axes="hw")
    assert tensor(t) is t
    q = tensor(t, ScaleOffset(0.5, 20, "quint8"))
    assert (q.axes, q.numpy().tolist()) == ("hw", [[-5, 0], [5, 10]])
    q[0, 0] = 1
    assert x[0, 0] == 22
    assert tensor(q, "uint8", axes="ab").numpy().tolist() == x.tolist()
    with pytest.raises(rl.ShapeError, match="holds uint8, not int8"):
        tensor(q, "int8")
    for axes in ("h", "hh", 5):
        with pytest.raises(rl.ShapeError, match="axes"):
            tensor(t, axes=axes)  # type: ignore[arg-type]


def test_bytes_need_a_type_and_are_never_copied() -> None:
    data = bytearray(range(32))
    with mmap.mmap(-1, 32) as mapped:
        mapped[:] = bytes(data)
        for storage in (data, memoryview(data), np.frombuffer(data, np.uint8), mapped):
            t = Tensor(storage, Layout((2, 4), (4, 1)), "uint8")
            t[1, 3] = 99
            assert memoryview(storage)[7] == 99
            memoryview(storage)[7] = 7
            del t
        words = Tensor(memoryview(data)[8:], Layout(3, 2), "uint32")
        assert words.numpy().tolist() == [int.from_bytes(data[k : k + 4], "little") for k in (8, 16, 24)]
        assert np.shares_memory(words.numpy(), np.frombuffer(data, np.uint8))
        del words, storage
    with pytest.raises(rl.ShapeError, match="pass the dtype"):
        Tensor(data, Layout(4))
    fixed = Tensor(bytes(data), Layout(4), "uint8")
    assert not fixed.writable
    assert fixed.get_raw(1).view.readonly
    with pytest.raises(rl.ShapeError, match="read-only"):
        fixed[0] = 1


def test_packed_elements_in_an_array_of_bytes() -> None:
    data = np.array([0x21, 0xF3, 0x80], np.uint8)
    t = Tensor(data, Layout((3, 2), (2, 1)), "int4")
    assert t.numpy().tolist() == [[1, 2], [3, -1], [0, -8]]
    t[1] = [5, -2]
    assert data.tobytes().hex() == "21e580"
    assert t.raw is not None
    assert t.raw.dtype == np.uint8
    assert np.shares_memory(t.raw, data)
    with pytest.raises(rl.ShapeError, match="not int4"):
        Tensor(data.view(np.int8), Layout(3), "int4")


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu"])
def test_ml_dtypes_are_wrapped(name: str) -> None:
    x = np.array([0.5, 1, 2, 4], getattr(ml_dtypes, name))
    t = tensor(x)
    assert t.dtype == name
    assert [t[k] for k in range(4)] == [0.5, 1, 2, 4]
    assert np.shares_memory(t.numpy(), x)
    t[0] = 8
    assert float(x[0]) == 8


def test_ml_dtypes_below_a_byte_are_packed() -> None:
    x = np.array([[1, -2, 3], [-4, 5, -6]], ml_dtypes.int4)
    with pytest.raises(rl.ShapeError, match="byte of its own"):
        tensor(x)
    t = from_logical(x, Layout.row_major(2, 3))
    assert t.dtype == "int4"
    assert t.raw.tobytes().hex() == "e1c3a5"
    assert t.numpy().tolist() == x.astype(int).tolist()


def test_fresh_memory_is_aligned_and_clean() -> None:
    for dtype in ("uint8", "float64", "int4", "complex128"):
        for count in (1, 7, 1000):
            t = empty(Layout(count), dtype)
            assert t.raw.ctypes.data % ALIGNMENT == 0
            assert not t.raw.any()
            assert t.raw.nbytes == -(-count * element(dtype).bits // 8)
    with pytest.raises(rl.LimitExceeded, match="no memory"):
        empty(Layout(1 << 80), "uint8")


def test_tensors_travel() -> None:
    t = from_logical(np.arange(20, dtype=np.int16).reshape(4, 5), "0 1 / 0,3 1,2 fill 9 indirect 2", axes="hw")
    for other in (*[pickle.loads(pickle.dumps(t, protocol)) for protocol in range(6)], copy.deepcopy(t)):
        other[0, 0] = 77
        assert (other[0, 0], t[0, 0]) == (77, 0)
        assert bytes(other.get_raw(0, 0).view) == (77).to_bytes(2, "little")
        assert (other.layout, other.axes, other.interface) == (t.layout, t.axes, t.interface)
        assert other.fill_padding(user=None, auto=3)[3, 4] == t[3, 4]
    assert copy.copy(t).raw is t.raw


def test_what_was_proven_stays() -> None:
    t = rl.empty("0 1 / 0,3 1,2 indirect 2", "int16", (4, 5))
    for thing, names in ((t, ("layout", "interface", "axes")), (t.blocks, ("starts", "shape", "elements"))):
        for name in names:
            with pytest.raises(AttributeError, match="immutable"):
                setattr(thing, name, getattr(thing, name))
            with pytest.raises(AttributeError, match="immutable"):
                delattr(thing, name)
    assert weakref.ref(t)() is t


# ---- padding -------------------------------------------------------------------------------------------------


@st.composite
def formats(draw: Any) -> tuple[Format, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    rank = draw(st.integers(1, 3))
    rests = [(d, 0) for d in draw(st.permutations(range(rank)))]
    blocks = draw(st.lists(st.tuples(st.integers(0, rank - 1), st.integers(1, 3)), max_size=4))
    indirect = draw(st.sampled_from([None, rank, 1, 0]))
    sizes = st.lists(st.integers(1, 4), min_size=rank, max_size=rank).map(tuple)
    pads = st.lists(st.integers(0, 3), min_size=rank, max_size=rank).map(tuple)
    forward = Format(rank, rests + blocks).blocks
    signed = [(f.dim, f.size, draw(st.sampled_from([1, 1, -1])) * f.step) for f in forward]
    return Format(rank, rests + signed, indirect=indirect), draw(sizes), draw(pads), draw(pads)


def physical(fmt: Format, x: np.ndarray[Any, Any], left: Any, right: Any, user: Any, auto: Any) -> Any:
    """The memory of ``x`` under a format by numpy alone: pad twice, split every dimension into digits, reorder them."""
    x = np.pad(x, list(zip(left, right, strict=True)), constant_values=user)
    whole = [-n % prod([f.size for f in fmt.blocks if f.dim == d]) for d, n in enumerate(x.shape)]
    x = np.pad(x, [(0, w) for w in whole], constant_values=auto)
    digits: list[int] = []
    place: dict[int, int] = {}
    for d in range(fmt.rank):
        mine = [k for k, f in enumerate(fmt.factors) if f.dim == d]
        sizes = [fmt.factors[k].size for k in mine]
        sizes[0] = x.shape[d] // prod(sizes[1:])
        for k in mine:
            place[k] = len(place)
        digits += sizes
    stored = x.reshape(digits).transpose([place[k] for k in range(len(fmt.factors))])
    return np.flip(stored, [k for k, f in enumerate(fmt.factors) if f.step < 0])


@given(formats(), st.sampled_from(["uint8", "int32", "uint4"]))
def test_padding_is_what_was_asked_for_and_what_blocks_add(case: Any, dtype: str) -> None:
    fmt, shape, left, right = case
    x = (np.arange(prod(shape)) % 5).reshape(shape).astype(storage_dtype(element(dtype)))
    t = from_logical(x, fmt, dtype, left_pad=left, right_pad=right, fill=6)
    expected = physical(fmt, x, left, right, 6, 6)
    stored = Tensor(t.raw, Layout(expected.size), dtype).stored() if t.raw.size else np.empty(0)
    assert stored.tolist() == expected.reshape(-1).tolist()
    t.fill_padding(user=9, auto=11)
    stored = Tensor(t.raw, Layout(expected.size), dtype).stored()
    assert stored.tolist() == physical(fmt, x, left, right, 9, 11).reshape(-1).tolist()
    t.fill_padding(user=None, auto=12)
    t.fill_padding(user=13)
    stored = Tensor(t.raw, Layout(expected.size), dtype).stored()
    assert stored.tolist() == physical(fmt, x, left, right, 13, 12).reshape(-1).tolist()
    assert (t.numpy() == x).all()


def test_padding_of_one_dimension_may_be_a_number() -> None:
    t = from_logical(np.arange(1, 4, dtype=np.uint8), "0 / 0,4 fill 9", ScaleOffset(1, 7, "quint8"), left_pad=2)
    assert t.raw.tolist() == [7, 7, 8, 9, 10, 9, 9, 9]


def test_padding_by_default() -> None:
    """What was asked for means 0, what blocks add is the format's."""
    means = ScaleOffset(0.5, 100, "quint8")
    x = np.ones((1, 2, 2, 2), np.float32)
    t = from_logical(x, "htp:R4Crouton", means, left_pad=(0, 1, 0, 0), right_pad=(0, 0, 1, 0))
    expected = physical(rl.parse("htp:R4Crouton"), means.encode(x), (0, 1, 0, 0), (0, 0, 1, 0), 100, 31)
    assert t.raw.tobytes() == expected.tobytes()
    assert t[0, 0, 0, 0] == 1.0
    e = empty("htp:R4Crouton", means, (1, 2, 2, 2), left_pad=(0, 1, 0, 0))
    assert e.raw.tolist().count(100) == 1 * 1 * 2 * 2
    assert set(e.raw.tolist()) == {31, 100}
    assert full("htp:R4Crouton", 1.0, means, (1, 2, 2, 2)).raw.tolist().count(102) == 8
    assert from_logical(x, "htp:R4Crouton", means, fill="qzero").raw.tolist().count(100) == 2048 - 8
    assert set(from_logical(x.astype(np.int8), Layout((1, 2, 2, 2), (0, 8, 4, 2)), fill=3).raw[1::2]) == {3}


def test_padding_may_be_filled_by_its_owner_only() -> None:
    t = from_logical(np.zeros((4, 5), np.uint8), "0 1 / 0,8 1,8")
    assert t.owns_padding
    before = t.raw.copy()
    for view in (t[...], t[1:], t.permute(1, 0), Tensor(t.raw, t.layout), tensor(t.raw)):
        assert not view.owns_padding
        with pytest.raises(rl.ShapeError, match="somebody's data"):
            view.fill_padding(user=1, auto=1)
    with pytest.raises(rl.NotExpressible, match="256"):
        t.fill_padding(auto=256)
    assert (t.raw == before).all()
    folded = Layout(((4, 2),), ((1, 2),), extents=(5,))
    with pytest.raises(rl.Overlap, match="fall on data"):
        empty(folded, "uint8").fill_padding(auto=1)


def test_zero_by_channel() -> None:
    x = np.zeros((2, 3), np.float32)
    same = ScaleOffset([1, 2, 3], [5, 5, 5], "quint8", axis=1)
    assert from_logical(x, "0 1 / 1,4", same, fill="qzero").raw.tolist() == [5] * 8
    with pytest.raises(rl.ShapeError, match="channel to channel"):
        from_logical(x, "0 1 / 1,4", ScaleOffset([1, 2, 3], [5, 6, 5], "quint8", axis=1), fill="qzero")


# ---- making --------------------------------------------------------------------------------------------------


def test_axes_lead_the_data_to_its_place() -> None:
    x = np.arange(2 * 3 * 5 * 7).reshape(2, 3, 5, 7)
    for axes in ("nchw", "nhwc", "cwhn"):
        t = from_logical(x, "tensorrt:kCHW4", axes=axes)
        assert t.axes == axes
        nchw = x.transpose([axes.index(a) for a in "nchw"])
        n, c, h, w = nchw.shape
        padded = np.pad(nchw, [(0, 0), (0, -c % 4), (0, 0), (0, 0)])
        stored = padded.reshape(n, -1, 4, h, w).transpose(0, 1, 3, 4, 2)
        assert t.raw.tolist() == stored.reshape(-1).tolist()
        assert (t.numpy() == x).all()
        again = from_logical(t, "torch:channels_last")
        assert again.axes == axes
        assert again.raw.tolist() == nchw.transpose(0, 2, 3, 1).reshape(-1).tolist()
    with pytest.raises(rl.ShapeError, match="axes"):
        from_logical(x, "tensorrt:kCHW4", axes="abcd")


def test_a_name_chooses_by_the_width_of_the_elements() -> None:
    x = np.zeros((1, 8, 8, 32))
    for dtype, blocks in (("uint8", 1), ("float16", 2), ("float32", 4)):
        t = from_logical(x, "htp:Crouton", dtype)
        assert t.blocks is not None
        assert (t.blocks.count, t.blocks.bytes) == (blocks, 2048)
    with pytest.raises(rl.ShapeError, match="width"):
        from_logical(x, "htp:Crouton", "float64")
    with pytest.warns(UserWarning, match="8 bits"):
        empty("htp:R4Crouton", "float32", (1, 8, 8, 32))


def test_what_cannot_be_made() -> None:
    with pytest.raises(rl.ShapeError, match="no shape yet"):
        empty("htp:R4Flat", "uint8")
    with pytest.raises(rl.ShapeError, match=r"already|extents"):
        empty(Layout(4), "uint8", (5,))
    with pytest.raises(rl.ShapeError, match=r"already|extents"):
        empty(Layout(4), "uint8", left_pad=(1,))
    with pytest.raises(rl.ShapeError, match="goes below 0"):
        empty(Layout(4, -1), "uint8")
    with pytest.raises(rl.ShapeError, match="goes below 0"):
        empty(Layout(((2, 2),), ((1, -4),), extents=(2,)), "uint8")
    with pytest.raises(rl.ShapeError, match="got 7"):
        empty(7, "uint8")  # type: ignore[arg-type]
    with pytest.raises(rl.ShapeError, match="pass shape"):
        Tensor(b"abc", "row-major", "uint8")  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="8 bits"), pytest.raises(rl.NotExpressible, match="31"):
        empty("htp:R4Crouton", "int4", (1, 1, 1, 1))


def test_scalars_and_empty_tensors() -> None:
    scalar = from_logical(np.float32(2.5), Layout(()))
    assert (scalar[()], scalar.numpy().tolist(), scalar.shape) == (2.5, 2.5, ())
    scalar[()] = 4
    assert scalar[...].numpy() == 4
    scalar[...] = 5
    assert scalar.raw.tolist() == [5]
    with pytest.raises(rl.ShapeError, match="no length"):
        len(scalar)
    hidden = from_logical(np.float32(2.5), Format(0, [], indirect=0))
    assert hidden.blocks is not None
    assert hidden.numpy() == 2.5
    none = from_logical(np.zeros((0, 3)), "0 1 / 0,4")
    assert (none.shape, none.numpy().shape, none.raw.size, len(none), list(none)) == ((0, 3), (0, 3), 0, 0, [])
    none[...] = 3
    none.fill_padding(user=1, auto=1)
    with pytest.raises(rl.OutOfBounds, match="empty"):
        none[0, 0]
    assert Tensor(b"", Layout((0, 4)), "float64").stored().shape == (0, 4)


def test_iteration_and_length() -> None:
    t = from_logical(np.arange(6).reshape(2, 3), "0 1 / 1,2")
    assert len(t) == 2
    assert [row.numpy().tolist() for row in t] == [[0, 1, 2], [3, 4, 5]]
    assert list(t[1]) == [3, 4, 5]
    grid = from_logical(np.array([[1.0, 2.5], [3.0, 4.0]]), Layout((2, 2)), ScaleOffset(0.5, 1, "quint8"))
    assert 2.5 in grid
    assert 2 not in grid
    assert 4 in grid[1]
    assert 3 not in grid[:0]


def test_repr_says_what_it_is() -> None:
    x = np.zeros((1, 3, 5, 30), np.float32)
    t = from_logical(x, "htp:R4Crouton", ScaleOffset(0.5, 3, "quint8"))
    for word in (
        "1x3x5x30",
        "quint8",
        "ScaleOffset(0.5, 3",
        "htp:R4Crouton",
        "nhwc",
        "1 block of 8x8x32",
        "78% padding",
    ):
        assert word in repr(t)
    assert repr(tensor(x)) == "<Tensor 1x3x5x30 float32, row-major>"
    assert "from (0, 1, 0, 0)" in repr(t[:, 1:])
    assert repr(tensor(x[0, 0, :, ::2])) == "<Tensor 5x15 float32, ((5, 15):(30, 2))>"
    many = ScaleOffset([1] * 500, 0, "quint8", axis=0)
    assert len(repr(empty(Layout(500), many))) < 400


def test_interfaces_by_channel() -> None:
    x = np.linspace(-3, 3, 24, dtype=np.float32).reshape(2, 3, 4)
    means = ScaleOffset([0.5, 0.25, 0.125], [10, 20, 30], "quint8", axis=1)
    t = from_logical(x, "0 1 2 / 1,2 2,4", means)
    for c in cartesian(range(2), range(3), range(4)):
        one = means.channel(c[1])
        assert t.stored()[c] == one.encode(float(x[c]))
        assert t[c] == t.numpy()[c] == one.decode(one.encode(float(x[c])))
    t[1, 2, 3] = -1
    assert t.stored()[1, 2, 3] == 22
    with pytest.raises(rl.ShapeError, match="3 channels"):
        empty(Layout((2, 4, 4)), means)
    with pytest.raises(rl.ShapeError, match="3 channels"):
        empty(Layout(2), means)
    assert Tensor(t.raw, t.layout, means, blocks=t.blocks).interface == means
    assert Plain("uint8") == Tensor(t.raw, t.layout).interface
