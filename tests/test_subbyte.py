"""Packed elements, judged by one big integer: the buffer, little-endian, shifted and masked. And by Apple's runtime."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relayout.elements.interface import Plain
from relayout.elements.subbyte import get, pack, packed_bytes, put, unpack
from relayout.elements.types import ELEMENTS, element, storage_dtype
from relayout.errors import LayoutError, NotExpressible, OutOfBounds, Overlap

BITS = st.integers(1, 7)


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def elements_of(data: bytes, bits: int, signed: bool) -> list[int]:
    """All elements of a buffer, by shifts of one big integer."""
    number = int.from_bytes(data, "little")
    codes = [number >> i * bits & (1 << bits) - 1 for i in range(len(data) * 8 // bits)]
    return [c - (1 << bits) if signed and c >> (bits - 1) else c for c in codes]


@given(st.binary(max_size=60), BITS, st.booleans(), st.data())
def test_unpack_reads_the_big_integer(data: bytes, bits: int, signed: bool, draw: st.DataObject) -> None:
    want = elements_of(data, bits, signed)
    start = draw.draw(st.integers(0, len(want)))
    count = draw.draw(st.integers(0, len(want) - start))
    got = unpack(data, bits, count, start, signed=signed)
    assert got.tolist() == want[start : start + count]
    assert got.dtype == (np.int8 if signed else np.uint8)
    assert unpack(data, f"{'' if signed else 'u'}int{bits}", count, start).tolist() == got.tolist()
    assert [get(data, bits, i, signed=signed) for i in range(len(want))] == want
    picked = draw.draw(st.lists(st.integers(0, len(want) - 1), max_size=20)) if want else []
    assert get(data, bits, np.array(picked, np.uint16), signed=signed).tolist() == [want[i] for i in picked]


@given(BITS, st.booleans(), st.data())
def test_pack_builds_the_big_integer(bits: int, signed: bool, draw: st.DataObject) -> None:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    values = draw.draw(st.lists(st.integers(low, high), max_size=70))
    number = sum((v & (1 << bits) - 1) << i * bits for i, v in enumerate(values))
    size = packed_bytes(bits, len(values))
    assert 8 * size - 7 <= bits * len(values) <= 8 * size or size == len(values) == 0
    assert pack(values, bits, signed=signed).tobytes() == number.to_bytes(size, "little")
    for wrong in (low - 1, high + 1):
        with pytest.raises(NotExpressible):
            pack([*values, wrong], bits, signed=signed)


@given(st.binary(min_size=1, max_size=40), BITS, st.booleans(), st.data())
def test_put_changes_its_bits_only(data: bytes, bits: int, signed: bool, draw: st.DataObject) -> None:
    want = elements_of(data, bits, signed)
    number = int.from_bytes(data, "little")
    picked = draw.draw(st.lists(st.integers(0, max(len(want) - 1, 0)), max_size=20, unique=True)) if want else []
    low = -(1 << bits - 1) if signed else 0
    values = [draw.draw(st.integers(low, low + (1 << bits) - 1)) for _ in picked]
    one_by_one, at_once = bytearray(data), np.frombuffer(data, np.uint8).copy()
    for i, v in zip(picked, values):
        put(one_by_one, bits, i, v, signed=signed)
        number &= ~((1 << bits) - 1 << i * bits)
        number |= (v & (1 << bits) - 1) << i * bits
    put(at_once, bits, picked, values, signed=signed)
    assert bytes(one_by_one) == at_once.tobytes() == number.to_bytes(len(data), "little")


def test_rows_go_on_inside_a_byte() -> None:
    x = np.arange(15).reshape(3, 5) % 8
    number = sum(int(v) << 3 * i for i, v in enumerate(x.ravel()))
    assert pack(x, "uint3").tobytes() == number.to_bytes(6, "little")
    assert pack(x.T, "uint3").tobytes() == pack(np.ascontiguousarray(x.T), "uint3").tobytes()


def test_a_put_of_one_value_to_many() -> None:
    data = bytearray(6)
    put(data, "int6", np.array([[1], [4]]), -1)
    assert elements_of(data, 6, True) == [0, -1, 0, 0, -1, 0, 0, 0]


def test_any_array_is_its_bytes() -> None:
    wide = np.array([[0x0706050403020100]], np.uint64)
    assert unpack(wide, 4, 16).tolist() == elements_of(wide.tobytes(), 4, False)
    put(wide, 4, 15, 9)
    assert wide[0, 0] == 0x9706050403020100


def test_quantised_elements_are_packed_as_their_integers() -> None:
    assert pack([-8, 7], "qint4").tobytes() == b"\x78"
    assert unpack(b"\x78", "qint4", 2).tolist() == [-8, 7]
    assert unpack(b"\x78", "quint4", 2).tolist() == [8, 7]


@pytest.mark.parametrize("name", ["float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"])
def test_floats_are_ml_dtypes_codes(name: str) -> None:
    pytest.importorskip("ml_dtypes")
    bits = element(name).bits
    every = np.arange(1 << bits, dtype=np.uint8)
    values = every.view(storage_dtype(name))
    data = pack(values, name)
    assert data.tobytes() == pack(every, bits).tobytes()
    assert unpack(data, name, every.size).tobytes() == values.tobytes()
    k = int(np.argmax(values))
    assert get(data, name, k) == float(values[k])
    put(data, name, 0, 1.5)
    assert unpack(data, name, 1).tolist() == [1.5]
    encoded = Plain(name).encode([0.5, -1.4, 1.0])
    assert pack(encoded, name).tobytes() == pack(encoded.view(np.uint8), bits).tobytes()
    with pytest.raises(LayoutError, match="encode first"):
        put(data, name, 0, 0.3)


@pytest.mark.parametrize("name", ["int2", "uint2", "int4", "uint4", "float4_e2m1fn"])
def test_apple_packs_the_same_bytes(name: str) -> None:
    ml = pytest.importorskip("ml_dtypes")
    runtime = pytest.importorskip("coreai.runtime")
    bits = element(name).bits
    for shape in ((3, 5), (4, 8), (1, 1), (2, 3, 7)):
        codes = np.random.default_rng(len(shape)).integers(0, 1 << bits, shape).astype(np.uint8)
        limits = element(name).limits if element(name).integral else (0, 0)
        signed = codes.astype(np.int8)
        signed[signed > limits[1]] -= 1 << bits
        values = signed if limits[0] else codes
        array = values.view(ml.float4_e2m1fn) if limits == (0, 0) else values.astype(getattr(ml, name))
        theirs = np.frombuffer(runtime.NDArray(array)._tensor, np.uint8)
        ours = pack(array, name)
        assert unpack(theirs, name, codes.size).tolist() == array.reshape(-1).tolist()
        whole = codes.size * bits // 8
        assert ours[:whole].tobytes() == theirs[:whole].tobytes()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: unpack(b"\0", 8, 1), "1 to 7 bits"),
        (lambda: unpack(b"\0", 0, 1), "1 to 7 bits"),
        (lambda: unpack(b"\0", True, 1), "no element type"),
        (lambda: unpack(b"\0", "int8", 1), "less than 8 bits"),
        (lambda: unpack(b"\0", "bool", 1), "less than 8 bits"),
        (lambda: unpack(b"\0", "int4", 1, signed=False), "signed=False"),
        (lambda: unpack(b"\0", 3, 3), "which hold 2"),
        (lambda: unpack(b"\0", 3, 1, 2), "element 2"),
        (lambda: unpack(b"\0", 3, -1), "count is -1"),
        (lambda: unpack(b"\0", 3, 1, -1), "start is -1"),
        (lambda: unpack(b"\0", 3, 1.0), "integer"),
        (lambda: unpack(np.zeros(8, np.uint8)[::2], 4, 1), "strided"),
        (lambda: unpack(memoryview(bytes(8))[::2], 4, 1), "contiguous"),
        (lambda: unpack([1, 2], 4, 1), "no buffer"),
        (lambda: unpack(np.array([None]), 4, 1), "contiguous"),
        (lambda: get(b"\0", 4, 2), "which hold 2"),
        (lambda: get(b"\0", 4, -1), "least index is -1"),
        (lambda: get(b"\0", 4, 0.5), "indices are integers"),
        (lambda: get(b"\0", 4, [0, 2]), "which hold 2"),
        (lambda: put(b"\0", 4, 0, 1), "read-only"),
        (lambda: put(bytearray(1), 4, 0, 16), "outside 0 to 15"),
        (lambda: put(bytearray(1), "int4", 0, 8), "outside -8 to 7"),
        (lambda: put(bytearray(1), 4, [0, 1], [1, 2, 3]), "do not fit"),
        (lambda: put(bytearray(1), 4, [1, 1], [1, 2]), "index 1 is given twice"),
        (lambda: pack([0.5], 4), "not an integer"),
        (lambda: pack(["a"], 4), "no numbers"),
        (lambda: packed_bytes(4, -1), "count is -1"),
    ],
)
def test_refusals_say_why(call: Any, says: str) -> None:
    with pytest.raises(LayoutError, match=says) as refused:
        call()
    assert refused.value.hint


def test_a_refused_put_writes_nothing() -> None:
    data = bytearray(b"\x12\x34")
    for index, value, error in (([0, 3], [1, 16], NotExpressible), ([0, 0], 1, Overlap), ([0, 4], 1, OutOfBounds)):
        with pytest.raises(error):
            put(data, 4, index, value)
    assert data == b"\x12\x34"


def test_every_narrow_type_is_packed() -> None:
    pytest.importorskip("ml_dtypes")
    narrow = [e for e in ELEMENTS.values() if e.bits < 8]
    assert {e.bits for e in narrow} == set(range(1, 8))
    for kind in narrow:
        data = bytes(range(1, 1 + kind.bits * 4))
        values = unpack(data, kind, 32)
        assert values.dtype == storage_dtype(kind)
        assert pack(values, kind).tobytes() == data
