"""Inference judged by numpy: real views, real buffers made by pad, reshape and transpose, and opaque converters."""

from __future__ import annotations

import array
import ctypes
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import relayout as rl
from relayout import Format, Layout, LimitExceeded, NotExpressible, ShapeError, Swizzle, catalog
from relayout.ask.infer import infer
from relayout.ask.inference.relations import SHOWN
from relayout.ask.probes import probes
from relayout.elements.subbyte import pack
from relayout.errors import Undetermined
from relayout.format import packed_formats
from relayout.format.entries import read_table
from support import layouts, table

Array = np.ndarray[Any, Any]

PACKED = read_table(packed_formats.TABLE)[0]
ONCE = {(e.axes, f.pairs, f.element_bits): name for name, e in reversed(PACKED.items()) for f in e.forms.values()}
"""One name for each order of packed weights: many have several."""
FORMATS = {
    f"{name}/{bits or (form.element_bits if name in PACKED else 'any')}": form
    for name, entry in catalog.ENTRIES.items()
    for bits, form in entry.forms.items()
    if isinstance(form, Format) and (name not in PACKED or name in ONCE.values())
}


def stored(fmt: Format, data: Array, left: Any, right: Any, fill: Any) -> Array:
    """The flat buffer of ``data`` in a format, by padding, splitting every dimension into digits and transposing."""
    pads = []
    for n, a, b, block in zip(data.shape, left, right, fmt.block_shape, strict=True):
        pads.append((a, -(-(n + a + b) // block) * block - n - a))
    data = np.pad(data, pads, constant_values=fill)
    split: list[int] = []
    place: dict[int, int] = {}
    for d in range(fmt.rank):
        places = [(-abs(f.rests), f.size != 0, -abs(f.step), k) for k, f in enumerate(fmt.factors) if f.dim == d]
        mine = [k for *_, k in sorted(places)]
        split += [fmt.factors[k].size or data.shape[d] // fmt.block_shape[d] for k in mine]
        for k in mine:
            place[k] = len(place)
    digits = data.reshape(split).transpose([place[k] for k in range(len(fmt.factors))])
    return np.flip(digits, [k for k, f in enumerate(fmt.factors) if f.backwards]).reshape(-1)


def width(name: str) -> int | None:
    """The bits of the elements that choose a form."""
    bits = name.rpartition("/")[2]
    return None if bits == "any" else int(bits)


def numbered(shape: Any, dtype: Any = np.int32, start: int = 0) -> Array:
    return np.arange(start, start + int(np.prod(shape, dtype=int)), dtype=dtype).reshape(shape)


# ---- live arrays ---------------------------------------------------------------------------------------------


@st.composite
def views(draw: Any) -> tuple[Array, Array]:
    """A flat array of different numbers and a view of it: sliced with steps, reversed, transposed, broadcast."""
    shape = draw(st.lists(st.integers(1, 5), min_size=0, max_size=4))
    base = np.arange(int(np.prod(shape, dtype=int)), dtype=draw(st.sampled_from(["i2", "f4", "i8", "c16"])))
    view = base.reshape(shape)
    cuts = []
    for n in shape:
        step = draw(st.sampled_from([1, 1, 2, 3, -1, -2]))
        start = draw(st.integers(0, n - 1))
        cuts.append(slice(start, None, step))
    view = view[(*cuts, ...)].transpose(draw(st.permutations(range(len(shape)))))
    if draw(st.booleans()):
        view = np.broadcast_to(view, (draw(st.integers(1, 3)), *view.shape))
    return base, view


@settings(max_examples=300)
@given(views())
def test_live_views(both: tuple[Array, Array]) -> None:
    base, view = both
    found = infer(view)
    lowest = (np.lib.array_utils.byte_bounds(view)[0] - base.ctypes.data) // base.itemsize
    assert found.layout.extents == view.shape
    assert (base[lowest + found.layout.offsets()] == view).all()
    assert found.layout.min_offset == 0
    assert (found.elements, found.seen, found.padding) == (view.size, view.size, None)


class Capsule:
    """Nothing but DLPack."""

    def __init__(self, x: Array) -> None:
        self.x = x

    def __dlpack__(self, **words: Any) -> Any:
        return self.x.__dlpack__(**words)

    def __dlpack_device__(self) -> Any:
        return self.x.__dlpack_device__()


class Versioned(Capsule):
    def __dlpack__(self, **words: Any) -> Any:
        return self.x.__dlpack__(max_version=(1, 0))


class Compact(Capsule):
    """DLPack without strides, as older libraries give row-major arrays."""

    def __dlpack__(self, **words: Any) -> Any:
        self.shape = (ctypes.c_int64 * self.x.ndim)(*self.x.shape)
        data_and_device, strides_and_offset, manager = bytes(16), bytes(16), bytes(16)
        kind = self.x.ndim.to_bytes(4, "little") + bytes([2, 32, 1, 0])
        shape = ctypes.addressof(self.shape).to_bytes(8, "little")
        self.tensor = ctypes.create_string_buffer(data_and_device + kind + shape + strides_and_offset + manager)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


class Elsewhere:
    """An array that no host memory holds."""

    def __array__(self, *words: Any, **more: Any) -> Any:
        raise TypeError("the memory is on a device")


class Interface:
    """Nothing but an array interface, of the host or of a GPU whose memory is never touched."""

    def __init__(self, name: str, **words: Any) -> None:
        setattr(self, name, {"version": 3, "data": (4096, False), **words})


def test_any_library() -> None:
    grid = np.zeros((4, 6), np.float32)[::-1, ::2]
    expected = Layout((4, 3), (-6, 2), offset=18)
    assert infer(grid).layout == expected
    assert infer(Capsule(grid)).layout == infer(Versioned(grid)).layout == expected
    assert infer(memoryview(grid)).layout == expected
    assert infer(Compact(np.zeros((2, 3, 4), np.float32))).layout == Layout.row_major(2, 3, 4)
    with pytest.raises(ShapeError, match="copy it to the host"):
        infer(Elsewhere(), [1])
    words = {"shape": (4, 6), "typestr": "<f4", "strides": (4, 16)}
    for name in ("__array_interface__", "__cuda_array_interface__"):
        assert infer(Interface(name, **words)).layout == Layout((4, 6), (1, 4))
        assert infer(Interface(name, **{**words, "strides": None})).layout == Layout.row_major(4, 6)
    assert infer(array.array("d", [1, 2, 3])).layout == Layout(3, 1)
    assert infer(b"four").layout == infer(bytearray(4)).layout == Layout(4, 1)
    assert infer((ctypes.c_int32 * 3 * 2)()).layout == Layout((2, 3), (3, 1))
    assert infer(np.float64(3)).layout == infer(np.zeros(())).layout == Layout((), ())
    assert infer(np.zeros((3, 0))).layout.extents == (3, 0)


def test_names_of_live_arrays() -> None:
    x = np.zeros((2, 3, 5, 7))
    assert {"torch:contiguous_format", "htp:R4Flat"} <= set(infer(x).names)
    last = np.zeros((2, 5, 7, 3)).transpose(0, 3, 1, 2)
    assert "torch:channels_last" in infer(last).names
    assert "torch:contiguous_format" not in infer(last).names
    assert infer(last).format == Format(4, [(0, 0), (2, 0), (3, 0), (1, 0)])
    assert infer(x[:, :, :, ::2]).names == ()


def test_byte_strides_must_be_whole_elements() -> None:
    fields = np.zeros(4, [("a", "f4"), ("b", "u1")])
    assert infer(fields).layout == Layout(4, 1)
    with pytest.raises(NotExpressible, match="5 bytes") as error:
        infer(fields["a"])
    assert error.value.dim == 0
    assert infer(fields["b"]).layout == Layout(4, 5)
    assert infer(fields[:1]["a"]).layout.extents == (1,)


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(120).reshape(2, 3, 4, 5)
    for view in (x, x[:, 1:], x.permute(3, 0, 1, 2), x[..., ::2], x.expand(2, 3, 4, 5), x[:1].expand(3, 3, 4, 5)):
        found = infer(view).layout
        assert (found.shape, found.stride, found.offset) == (view.shape, view.stride(), view.storage_offset())
        assert (x.reshape(-1).numpy()[found.offsets()] == view.numpy()).all()
    last = torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    assert "torch:channels_last" in infer(last).names
    with pytest.raises(NotExpressible, match="sparse"):
        infer(torch.eye(3).to_sparse())
    halves = torch.arange(120, dtype=torch.bfloat16).reshape(4, 30)
    assert infer(halves, halves.t().contiguous()).layout == Layout((4, 30), (1, 4))
    with pytest.raises(ShapeError, match="strided view"):
        infer(halves, halves.t())


# ---- tables of offsets ---------------------------------------------------------------------------------------


@settings(max_examples=400)
@given(layouts(max_volume=200, window=True, swizzle=True, offset=True))
def test_tables_of_layouts(layout: Layout) -> None:
    truth = table(layout).astype(np.int64)
    found = infer(offsets=truth).layout
    assert (found.offsets() == truth).all()
    assert found.equivalent(layout)
    assert len(rl.flatten(found.shape)) <= max(len(rl.flatten(layout.shape)), layout.rank) or layout.swizzle is not None


@settings(max_examples=100)
@given(layouts(max_volume=60, window=True, offset=True, negative=True))
def test_tables_with_negative_offsets(layout: Layout) -> None:
    truth = table(layout).astype(np.int64)
    assume(truth.min() != -1)
    assert (infer(offsets=truth).layout.offsets() == truth).all()


@settings(max_examples=60)
@given(st.data())
def test_swizzled_tables_of_powers_of_two(data: Any) -> None:
    bits = [data.draw(st.integers(1, 6)) for _ in range(data.draw(st.integers(1, 3)))]
    order = data.draw(st.permutations(range(len(bits))))
    count = data.draw(st.integers(1, 3))
    shift = data.draw(st.integers(count, 6)) * data.draw(st.sampled_from([1, 1, -1]))
    swizzle = Swizzle(count, data.draw(st.integers(0, 4)), shift)
    plain = np.arange(1 << sum(bits)).reshape([1 << bits[d] for d in order]).transpose(np.argsort(order))
    reads = (plain >> (swizzle.base + max(shift, 0))) & ((1 << count) - 1)
    truth = plain ^ (reads << (swizzle.base + max(-shift, 0)))
    assert (infer(offsets=truth).layout.offsets() == truth).all()


def test_simplest_layouts() -> None:
    assert infer(offsets=[[0, 1, 2], [3, 4, 5]]).layout == Layout((2, 3), (3, 1))
    assert infer(offsets=[[0, 1, 4, 5], [2, 3, 6, 7]]).layout == Layout((2, (2, 2)), (2, (1, 4)))
    assert infer(offsets=[[0, 2], [0, 2]]).layout == Layout((2, 2), (0, 2))
    assert infer(offsets=[[5, 3, 1]]).layout == Layout((1, 3), (0, -2), offset=5)
    assert infer(offsets=[3, 10, 11, 12, 19]).layout == Layout(((3, 3),), ((1, 9),), offset=1, extents=5, origin=2)
    assert infer(offsets=7).layout == Layout((), (), offset=7)
    assert infer(offsets=[]).layout == Layout(0, 0)
    assert infer(offsets=np.zeros((2, 0), int)).layout.extents == (2, 0)
    swizzled = infer(offsets=np.arange(64).reshape(8, 8) ^ np.arange(8)[:, None]).layout
    assert swizzled == Layout((8, 8), (8, 1), swizzle=Swizzle(3, 0, 3))


def test_table_names_and_format() -> None:
    crouton = stored(catalog.get("htp:R4Crouton"), numbered((2, 9, 20, 50)), [0] * 4, [0] * 4, -1)
    places = np.empty(18000, int)
    places[crouton[crouton >= 0]] = np.flatnonzero(crouton >= 0)
    found = infer(offsets=places.reshape(2, 9, 20, 50))
    assert found.names == ("htp:R4Crouton",)
    assert found.format == Format(4, [(0, 0), (1, 0), (2, 0), (3, 0), (1, 8), (2, 8), (3, 32)])
    shifted = infer(offsets=places.reshape(2, 9, 20, 50) + 100)
    assert (shifted.names, shifted.format, shifted.layout.offset) == ((), None, 100)
    assert shifted.related == ("htp:R4Crouton after 100 elements",)


@settings(max_examples=200)
@given(st.data())
def test_partial_tables(data: Any) -> None:
    """What the known entries give is the truth; what they leave open is settled by the entries called missing."""
    layout = data.draw(layouts(max_volume=120, window=True, offset=True, tuples_only=True))
    truth = table(layout).astype(np.int64)
    keep = data.draw(st.sampled_from([0.0, 0.1, 0.3, 0.6, 0.9]))
    random = np.random.default_rng(data.draw(st.integers(0, 1000)))
    known = random.random(truth.shape) < keep
    try:
        found = infer(offsets=np.ma.masked_array(truth, ~known))
        missing = found.next_probe
        assert (found.layout.offsets() == truth)[known].all()
        assert found.settled == (not missing)
    except Undetermined as error:
        missing = error.missing
        assert missing
    if missing:
        assume(len(missing) < SHOWN)
        for coordinate in missing:
            assert not known[coordinate]
            known[coordinate] = True
        found = infer(offsets=np.where(known, truth, -1).tolist())
    assert (found.layout.offsets() == truth).all()
    assert found.seen == known.sum()


def test_kinds_of_unknown_entries() -> None:
    row = Layout((2, 3), (3, 1))
    assert infer(offsets=[[0, None, 2], [3, 4, 5]]).layout == row
    assert infer(offsets=[[0, -1, 2], [3, 4, 5]]).layout == row
    assert infer(offsets=np.array([[None, 1, 2], [3, 4, 5]])).layout == row
    assert infer(offsets=np.ma.masked_equal([[9, 1, 2], [3, 4, 5]], 9)).layout == row
    line = infer(offsets=[0, 1, None, 3])
    assert (line.next_probe, line.seen, line.settled) == (((2,),), 3, False)
    assert [candidate.layout for candidate in line.candidates] == [Layout(4, 1)]
    with pytest.raises(Undetermined, match="0 of 4") as error:
        infer(offsets=[[None, None], [None, None]])
    assert error.value.missing == ((0, 0), (1, 0), (0, 1))
    assert pickle.loads(pickle.dumps(error.value)).missing == error.value.missing


def test_swizzled_tables_with_unknown_entries() -> None:
    truth = np.arange(4096).reshape(64, 64) ^ ((np.arange(64) & 7) << 3)[:, None]
    random = np.random.default_rng(0)
    for keep in (0.99, 0.5):
        known = random.random(truth.shape) < keep
        known[np.arange(64), np.arange(64)] = False
        found = infer(offsets=np.where(known, truth, -1))
        assert (found.layout.offsets() == truth).all()


@settings(max_examples=200)
@given(st.data())
def test_corrupted_tables(data: Any) -> None:
    """One wrong entry is named, wherever it is, unless a layout has the corrupted table too."""
    shape = [data.draw(st.integers(4, 7)) for _ in range(data.draw(st.integers(2, 3)))]
    order = data.draw(st.permutations(range(len(shape))))
    truth = numbered([shape[d] for d in order], np.int64).transpose(np.argsort(order)).copy()
    where = tuple(data.draw(st.integers(0, n - 1)) for n in shape)
    truth[where] += data.draw(st.sampled_from([1, -1, 5, 64]))
    assume(truth.min() >= 0)
    try:
        assert (infer(offsets=truth).layout.offsets() == truth).all()
    except NotExpressible as error:
        assert error.counterexample == where
        assert error.got == truth[where]
        assert f"{error.expected} at {where}" in str(error)


def test_corrupted_lines_blocks_and_swizzles() -> None:
    line = np.arange(40)
    line[17] = 99
    crouton = Layout(((8, 3), (4, 5)), ((4, 256), (1, 32))).offsets().copy()
    crouton[9, 0] += 1
    swizzled = np.arange(4096).reshape(64, 64) ^ ((np.arange(64) & 7) << 3)[:, None]
    assert infer(offsets=swizzled).layout.swizzle == Swizzle(3, 3, 3)
    swizzled[20, 30] += 2
    wide = numbered((40, 41, 42), np.int64)
    wide[7, 8, 9] = 0
    for wrong, where in ((line, (17,)), (crouton, (9, 0)), (wide, (7, 8, 9)), (swizzled, (20, 30))):
        with pytest.raises(NotExpressible) as error:
            infer(offsets=wrong)
        assert error.value.counterexample == where
    assert error.value.nearest.swizzle == Swizzle(3, 3, 3)


def test_bad_tables() -> None:
    for bad in ([[0, 1], [2]], [0.5, 1], ["a"], [True, False], [None, 1.5], {}, [[[0]], [1]]):
        with pytest.raises(ShapeError):
            infer(offsets=bad)
    for huge in ([0, 1 << 60], [0, 1 << 70], np.array([0, 1 << 63], np.uint64), np.zeros((1 << 12, 1 << 13), np.int8)):
        with pytest.raises(LimitExceeded):
            infer(offsets=huge)


# ---- a reference and its dump --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=5)
@given(data=st.data())
def test_every_named_format(name: str, data: Any) -> None:
    fmt = FORMATS[name]
    most = 5 if fmt.rank > 4 else 40
    shape = [data.draw(st.integers(1, min(most, 2 * b + 3))) for b in fmt.block_shape]
    left = [data.draw(st.sampled_from([0, 0, 1, 3])) if b > 3 else 0 for b in fmt.block_shape]
    fill = data.draw(st.sampled_from([0, 31, -1] if width(name) != 1 else [0, 1]))
    reference = numbered(shape)
    dump = stored(fmt, reference, left, [0] * fmt.rank, fill)
    if width(name) not in (None, 32):
        kind = f"{'u' * (width(name) == 1)}int{width(name)}"
        sent = probes(shape, kind)
        dumps = [stored(fmt, p, left, [0] * fmt.rank, fill) for p in sent]
        narrow = width(name) < 8
        # A part of a block whose digits count backwards looks like one with padding in front.
        part = any(f.backwards for f in fmt.blocks) and any(n < b for n, b in zip(shape, fmt.block_shape, strict=True))
        whole = dump.size * width(name) % 8 == 0 and not part
        if narrow and fill < 8:
            dumps = [pack(d, kind) for d in dumps]
        found = infer(sent, dumps, dtype=kind if narrow and fill < 8 else None)
        assert name.rpartition("/")[0] in found.names or any(left) or not whole or (narrow and fill > 7)
        return
    found = infer(reference, dump)
    assert (dump[found.layout.offsets()] == reference).all()
    if not found.settled:
        assert 0 <= fill < reference.size
        assert sum(n > 1 for n in shape) < 2 or len(found.missing) > 1
        return
    assert found.layout.extents == tuple(shape)
    assert found.layout.storage_size == dump.size
    truth = np.flatnonzero(dump != fill) if fill < 0 else None
    assert truth is None or (np.sort(found.layout.offsets().reshape(-1)) == truth).all()
    assert (dump[found.layout.offsets()] == reference).all()
    assert found.padding == dump.size - reference.size
    assert found.fill == (fill if found.padding else None)
    if not any(left):
        word, own = name.rpartition("/")[0], fmt.element_bits
        assert (word in found.names) == (own in (None, 32))
        assert found.names or f"{word} for elements of {own} bits" in found.related
        assert found.format is not None
        assert (dump[found.format.layout(shape).offsets()] == reference).all()


@settings(max_examples=150)
@given(st.data())
def test_padded_arrays(data: Any) -> None:
    """A numpy pad of a transposed array: the padding is found on both sides."""
    shape = [data.draw(st.integers(2, 5)) for _ in range(data.draw(st.integers(1, 4)))]
    pads = [(data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))) for _ in shape]
    order = data.draw(st.permutations(range(len(shape))))
    reference = numbered(shape, start=1)
    padded = np.pad(reference, pads)
    found = infer(reference, np.ascontiguousarray(padded.transpose(order)))
    assert (padded.transpose(order).reshape(-1)[found.layout.offsets()] == reference).all()
    assert found.layout.storage_size == padded.size
    assert found.padding == padded.size - reference.size
    assert found.fill == (0 if found.padding else None)


def test_padding_around_blocks() -> None:
    """Tiles of 16x16 that no catalog has, entered in the middle: the block is known from where the elements lie."""
    reference = numbered((10, 40), start=1)
    padded = np.pad(reference, ((4, 2), (6, 2)), constant_values=-7)
    dump = padded.reshape(1, 16, 3, 16).transpose(0, 2, 1, 3).copy()
    found = infer(reference, dump)
    assert found.layout == Layout((16, (16, 3)), (16, (1, 256)), extents=(10, 40), origin=(4, 6))
    assert (found.padding, found.fill) == (16 * 48 - 400, -7)
    short = reference[:, :14].astype(np.int16)
    once = np.pad(short, ((4, 2), (6, 12)), constant_values=-7).reshape(1, 16, 2, 16).transpose(0, 2, 1, 3).copy()
    known = infer(short, once)
    assert known.layout == Layout((16, (16, 2)), (16, (1, 256)), extents=(10, 14), origin=(4, 6))
    assert (known.names, known.format) == ((), None)
    assert known.related == ("ascend:FRACTAL_NZ with left_pad=(4, 6)",)
    short = reference[:, :18].copy()
    once = np.pad(short, ((4, 2), (6, 16)), constant_values=-7).reshape(1, 16, 2, 20).transpose(0, 2, 1, 3).copy()
    assert infer(short, once).layout == Layout((16, (20, 2)), (20, (1, 320)), extents=(10, 18), origin=(4, 6))
    header = infer(reference, np.concatenate([[9, 9, 9], reference.T.reshape(-1)]).astype(np.int32))
    assert (header.layout, header.padding, header.fill) == (Layout((10, 40), (1, 10), offset=3), 3, 9)
    mixed = infer(reference, np.concatenate([[8, 8, -9], reference.reshape(-1), [-1]]).astype(np.int32))
    assert (mixed.padding, mixed.fill) == (4, None)


def test_the_value_of_the_padding_is_an_element_too() -> None:
    reference = numbered((3, 5))
    found = infer(reference, np.pad(reference, ((0, 1), (0, 3))))
    assert found.layout == Layout((4, 8), (8, 1), extents=(3, 5))
    assert (found.seen, found.padding, found.fill) == (14, 17, 0)
    open_line = infer(numbered(8), np.pad(numbered(8), (2, 3)))
    assert open_line.missing == ((0,),)
    assert Layout(8, 1, offset=2) in [candidate.layout for candidate in open_line.candidates]
    line = infer(numbered(8, start=1), np.pad(numbered(8, start=1), (2, 3)))
    assert line.layout == Layout(13, 1, extents=8, origin=2)
    twice = infer(numbered(8), np.concatenate([numbered(8), numbered(8)[4:]]))
    assert twice.missing == ((4,), (5,), (6,), (7,))


def test_limits() -> None:
    many = np.broadcast_to(np.uint8(1), (1 << 25,))
    with pytest.raises(LimitExceeded):
        infer(many, many)
    with pytest.raises(LimitExceeded):
        infer(np.arange(4, dtype="u1"), np.broadcast_to(np.uint8(1), (1 << 26,)))


def test_bits_are_compared() -> None:
    reference = np.array([[0.0, -0.0, np.nan], [1.0, np.inf, -np.inf]])
    payload = np.array([0x7FF8000000000001], np.uint64).view(float)
    reference[1, 0] = payload[0]
    assert infer(reference, reference.T.copy()).layout == Layout((2, 3), (1, 2))
    wide = np.array([[1 + 2j, 1 + 3j], [2 + 2j, 2 + 3j]])
    assert infer(wide, wide.T.copy()).layout == Layout((2, 2), (1, 2))
    words = np.array([["a", "b", "c"], ["d", "e", "long"]])
    assert infer(words, words.T.copy()).layout == Layout((2, 3), (1, 2))


def test_types_of_dumps() -> None:
    reference = numbered((4, 6), np.int64)
    expected = Layout((4, 6), (1, 4))
    turned = reference.T.copy()
    for dump in (turned.astype(np.float32), turned.tobytes(), turned.tolist(), turned.astype(">i4")):
        assert infer(reference, dump).layout == expected
    assert infer(reference.astype("u1"), memoryview(turned.astype("u1").tobytes())).layout == expected
    assert infer(reference.tolist(), turned).layout == expected
    with pytest.raises(ShapeError, match="cannot hold the same values"):
        infer(reference * 100, turned.astype("u1"))
    with pytest.raises(ShapeError, match="whole number of elements"):
        infer(reference, turned.tobytes()[:-3])
    with pytest.raises(ShapeError, match="strided view"):
        infer(reference, reference.T)
    with pytest.raises(ShapeError, match="type object"):
        infer(np.array([None, 1]), [1, 2])


def test_empty_and_single() -> None:
    empty = infer(np.zeros((0, 3)), np.full(4, 7.0))
    assert (empty.layout.extents, empty.padding, empty.fill) == ((0, 3), 4, 7.0)
    single = infer(np.array([[5]]), [1, 1, 5, 1])
    assert (single.layout(0, 0), single.padding, single.fill) == (2, 3, 1)
    assert infer(np.array(5), [5]).layout == Layout((), ())
    for ones, dump in ((np.array([[1]]), [1, 1, 1]), (np.array(1), [1, 1])):
        found = infer(ones, dump)
        assert (found.missing, found.settled) == (((0,) * ones.ndim,), False)


def test_a_dump_that_ends_early() -> None:
    reference = numbered((10, 10))
    found = infer(reference, reference.reshape(-1)[:95])
    assert (found.layout, found.seen, found.padding) == (Layout((10, 10), (10, 1)), 95, 0)
    with pytest.raises(Undetermined) as error:
        infer(numbered(10), numbered(8))
    assert error.value.missing == ((8,), (9,))


def test_converters_without_a_layout() -> None:
    reference = numbered((6, 7), start=1)
    lost = reference.T.copy()
    lost[2, 3] = 0
    with pytest.raises(NotExpressible) as error:
        infer(reference, lost)
    assert error.value.counterexample == (3, 2)
    swapped = reference.reshape(-1).copy()
    swapped[[8, 30]] = swapped[[30, 8]]
    with pytest.raises(NotExpressible) as error:
        infer(reference, swapped)
    assert error.value.counterexample == (1, 1)
    assert (error.value.expected, error.value.got) == (8, 30)
    with pytest.raises(NotExpressible):
        infer(reference, np.random.default_rng(0).permutation(reference.reshape(-1)))


# ---- narrow types: probes and repeated values -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "dtype", "count"),
    [
        ((7,), "uint8", 2),
        ((255, 256), "uint8", 2),
        ((256, 256), "uint8", 3),
        ((50, 41, 64), "uint8", 3),
        ((9, 9), "bool", 8),
        ((40, 40), "int8", 2),
        ((130, 128), "int8", 3),
        ((64, 64), "float16", 2),
        ((3, 4), "float64", 2),
        ((3, 4), "int32", 2),
        ((), "uint8", 2),
        ((0, 4), "uint8", 2),
    ],
)
def test_probes(shape: Any, dtype: str, count: int) -> None:
    made = probes(shape, dtype)
    assert len(made) == count
    assert all(p.shape == shape and p.dtype == dtype for p in made)
    keys = set(zip(*[p.reshape(-1).tolist() for p in made], strict=True))
    assert len(keys) == int(np.prod(shape, dtype=int))
    assert not any(len(set(key)) == 1 for key in keys)


@settings(max_examples=60)
@given(st.data())
def test_probes_through_an_opaque_converter(data: Any) -> None:
    name = data.draw(st.sampled_from([name for name in sorted(FORMATS) if width(name) in (None, 8, 16, 32)]))
    fmt = FORMATS[name]
    shape = [data.draw(st.integers(1, min(6 if fmt.rank > 4 else 40, 2 * b + 3))) for b in fmt.block_shape]
    fill = data.draw(st.integers(0, 255))

    def converter(x: Array) -> Array:
        return stored(fmt, x, [0] * fmt.rank, [0] * fmt.rank, fill)

    sent = probes(shape, f"uint{width(name) or fmt.element_bits or 8}")
    found = infer(sent, [converter(p) for p in sent])
    reference = numbered(shape, np.int64)
    assert (converter(reference.astype(np.int32))[found.layout.offsets()] == reference).all()
    assert found.layout.storage_size == converter(reference).size
    assert found.seen == found.elements == reference.size
    assert found.fill == (fill if found.padding else None)
    assert name.rpartition("/")[0] in found.names


def test_probes_with_garbage_and_edges_around() -> None:
    sent = probes((20, 30))
    random = np.random.default_rng(0)
    dumps = []
    for p in sent:
        buffer = random.integers(0, 256, (24, 40)).astype("u1")
        buffer[2:22, 3:33] = p
        dumps.append(buffer)
    found = infer(sent, dumps)
    assert found.layout == Layout((24, 40), (40, 1), extents=(20, 30), origin=(2, 3))
    assert (found.padding, found.fill) == (360, None)
    edges = infer(sent, [np.pad(p, 2, mode="edge") for p in sent])
    assert all(0 in c or 19 in c or 29 in c for c in edges.missing)
    assert Layout((20, 30), (34, 1), offset=70) in [c.layout for c in edges.candidates]


def test_bad_probes() -> None:
    with pytest.raises(LimitExceeded):
        probes((1 << 13, 1 << 12))
    for bad in ("bfloat17", "(3,4):(4,1)", "U3", object):
        with pytest.raises(ShapeError):
            probes(4, bad)
    with pytest.raises(ShapeError):
        probes((-1, 2))
    sent = probes((4, 5))
    cut = [sent[0], sent[1][:2]]
    for references, dumps in ((sent, sent[:1]), (sent, sent[0]), (cut, sent), (sent, cut)):
        with pytest.raises(ShapeError):
            infer(references, dumps)


def test_repeated_values_prove_nothing() -> None:
    fmt = FORMATS["htp:R4Crouton/any"]
    shape = (2, 9, 20, 50)
    reference = numbered(shape, np.uint8)
    dump = stored(fmt, reference, (0, 1, 3, 2), (0, 0, 0, 0), 31)
    found = infer(reference, dump)
    assert not found.settled
    assert "all data fit, but do not say where" in str(found)
    places = stored(fmt, numbered(shape), (0, 1, 3, 2), (0, 0, 0, 0), -1)
    layouts = [candidate.layout for candidate in found.candidates]
    assert any((places[c.offsets()] == numbered(shape)).all() for c in layouts)
    assert all((dump[c.offsets()] == reference).all() for c in layouts)
    for other in layouts[1:]:
        assert any(other(c) != layouts[0](c) for c in found.next_probe)


def test_repeated_values_that_fit_nothing() -> None:
    reference = np.random.default_rng(1).integers(0, 9, (16, 24)).astype("u1")
    dump = reference.copy()
    dump[5, 7] = 17
    with pytest.raises(Undetermined, match="nearest") as error:
        infer(reference, dump)
    assert error.value.candidates == ()
    assert error.value.counterexample == (5, 7)
    assert error.value.nearest == Layout((16, 24), (24, 1))
    with pytest.raises(Undetermined, match="has 7 elements"):
        infer(reference, dump.reshape(-1)[:7])


def test_repeated_values_around_a_cross_of_unique_ones() -> None:
    """A few unique values locate a row and a column; all else follows and is checked."""
    reference = np.zeros((5, 6), np.uint8)
    reference[2] = np.arange(1, 7)
    reference[:, 3] = np.arange(11, 16)
    found = infer(reference, reference.T.copy())
    assert (found.layout, found.seen) == (Layout((5, 6), (1, 5)), 10)
    broken = reference.T.copy()
    broken[5, 4] = 99
    with pytest.raises(NotExpressible, match=r"\(4, 5\) at 29, where the dump holds 99") as error:
        infer(reference, broken)
    assert error.value.counterexample == (4, 5)


# ---- the answer ----------------------------------------------------------------------------------------------


def test_the_answer_in_words() -> None:
    reference = numbered((1, 3, 5, 30), start=100)
    found = infer(reference, stored(FORMATS["htp:R4Crouton/any"], reference, [0] * 4, [0] * 4, 31))
    assert str(found).splitlines() == [
        "layout    ((1, 8, 8, 32):(0, 256, 32, 1)) extents (1, 3, 5, 30)",
        "format    0 1 2 3 / 1,8 2,8 3,32",
        "is        htp:R4Crouton for elements of 8 bits",
        "elements  450",
        "padding   1598, all 31",
    ]
    assert found.texts["mojo"] == str(found.layout)
    assert found.texts["htp"] == catalog.get("htp:R4Crouton").to("htp")
    assert isinstance(found.texts["candle"], NotExpressible)
    moved = infer(reference, stored(FORMATS["htp:R4Crouton/any"], reference, [0, 1, 0, 0], [0] * 4, 31))
    assert (moved.names, moved.layout.origin) == ((), (0, 1, 0, 0))
    assert moved.related == ("htp:R4Crouton with left_pad=(0, 1, 0, 0) and for elements of 8 bits",)
    assert isinstance(moved.texts["htp"], NotExpressible)
    with pytest.raises(AttributeError):
        found.layout = None  # type: ignore[misc]
    assert "7 of them seen" in str(infer(offsets=[[0, 1, 2, 3], [4, 5, 6, -1]]))


def test_what_infer_takes() -> None:
    for bad in ({}, {"dump": [1]}, {"x": [1], "offsets": [1]}, {"x": [1, 2]}, {"x": "text"}, {"x": 3}):
        with pytest.raises(ShapeError) as error:
            infer(**bad)
        assert error.value.hint
