"""Records: fields bit by bit against the definition, ggml's blocks against gguf's own quantisation."""

from __future__ import annotations

import json
import pickle
import re
from hashlib import sha256, shake_128
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relayout as rl
from relayout import Layout, Record
from relayout.elements.types import ELEMENTS
from relayout.format.named_records import CODECS
from relayout.format.record import element_width

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "record_vectors" / "vectors.json").read_text())
"""What the vendors' own packers made of known codes: ``record_vectors/record.py`` tells how."""

PACKED = {vector[0] for vector in json.loads((Path(__file__).parent / "packed_vectors" / "vectors.json").read_text())}
KNOWN = sorted(rl.catalog.known_records())
GGML = [name.partition(":")[2] for name in KNOWN if name.startswith("ggml:") and name not in {*VECTORS, *PACKED}]


def blocks(record: Record, count: int, seed: int) -> np.ndarray[Any, Any]:
    """Random records whose half-precision fields are ordinary numbers; bits that no field has are 0."""
    numbers = np.random.default_rng(seed)
    used = np.zeros(8 * record.nbytes, np.uint8)
    for field in record.fields:
        used[field.bit_places()] = 1
    data = numbers.integers(0, 256, (count, record.nbytes), dtype=np.uint8) & np.packbits(used, bitorder="little")
    for field in record.fields:
        if field.element == "float16":
            for at in (field.planes[0].layout.offsets().reshape(-1) // 8).tolist():
                data[:, at : at + 2] = numbers.normal(size=count).astype(np.float16).view(np.uint8).reshape(-1, 2)
    return data.reshape(-1)


# ---- ggml's blocks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GGML)
def test_blocks_decode_as_gguf_does_bit_for_bit(name: str) -> None:
    gguf = pytest.importorskip("gguf")
    kind = gguf.GGMLQuantizationType[name]
    record = rl.catalog.record(f"ggml:{name}")
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    assert record.nbytes == size
    assert record.block == (1, elements)
    shape = (3, 2 * elements)
    data = blocks(record, 6, seed=len(name))
    theirs = gguf.quants.dequantize(data.reshape(3, -1), kind).astype(np.float32)
    assert (record.decode(data.tobytes(), shape).view(np.uint32) == theirs.view(np.uint32)).all()


@pytest.mark.parametrize("name", KNOWN)
def test_fields_come_apart_and_together_bit_for_bit(name: str) -> None:
    record = rl.catalog.record(name)
    counts = (3, 8, 1)[: record.rank]
    shape = (2, *[n * b for n, b in zip(counts, record.block, strict=True)])
    data = blocks(record, 48, seed=3)
    fields = record.unpack(data, shape)
    for field in record.fields:
        assert fields[field.name].shape == (2, *[n * m for n, m in zip(counts, field.shape, strict=True)])
    assert record.pack(fields, shape).tobytes() == data.tobytes()


def test_every_named_record_has_a_judge() -> None:
    packed = {name for name in KNOWN if name in PACKED}  # test_packed_weights
    assert {*VECTORS, *[f"ggml:{name}" for name in GGML], *packed} == set(KNOWN)


@pytest.mark.parametrize("name", [name for name, vector in VECTORS.items() if vector["source"]])
def test_repacks_are_those_of_ggml(name: str) -> None:
    """And back: what ggml itself cannot read any more."""
    source, shape = rl.catalog.record(VECTORS[name]["source"]), tuple(VECTORS[name]["shape"])
    data = shake_128(name.partition(":")[2].encode()).digest(source.size_of(shape))
    made = rl.repack(data, name, src=VECTORS[name]["source"], shape=shape)
    assert sha256(made.tobytes()).hexdigest() == VECTORS[name]["sha256"]
    assert rl.repack(made, source, src=name, shape=shape).tobytes() == data
    ours, theirs = rl.catalog.record(name).decode(made, shape), source.decode(data, shape)
    assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("name", [name for name, vector in VECTORS.items() if not vector["source"]])
def test_planes_are_those_of_gptqmodel_and_triton(name: str) -> None:
    record, shape = rl.catalog.record(name), tuple(VECTORS[name]["shape"])
    codes = np.frombuffer(shake_128(name.encode()).digest(shape[0] * shape[1]), np.uint8).reshape(shape)
    codes = codes & ((1 << record["q"].bits) - 1)
    packed = record.pack({"q": codes}, shape)
    assert sha256(packed.tobytes()).hexdigest() == VECTORS[name]["sha256"]
    assert record.unpack(packed, shape)["q"].tolist() == codes.tolist()


def test_records_of_another_meaning_are_refused() -> None:
    data, shape = bytes(4 * 18), (4, 32)
    with pytest.raises(rl.NotExpressible, match=r"worth different things: d\*qs over nk, and d\*qs\+m"):
        rl.repack(data, "ggml:Q4_1", src="ggml:Q4_0", shape=shape)
    halves = Record.parse("record nk 1,64 bytes 34: d float16 @0; qs uint4-8 @2 (1,64):(0,4); value d*qs")
    with pytest.raises(rl.NotExpressible, match="one d stands for other numbers of elements"):
        rl.repack(bytes(34), "ggml:Q4_0", src=halves, shape=(1, 64))
    with pytest.raises(rl.ShapeError, match="records become records"):
        rl.repack(data, "0 1", src="ggml:Q4_0", shape=shape)
    narrow = Record.parse("record nk 1,32 bytes 14: d float16 @0; qs int3 @2 (1,32):(0,3); value d*qs")
    with pytest.raises(rl.OutOfBounds, match="-8 is no int3"):
        rl.repack(data, narrow, src="ggml:Q4_0", shape=shape)


def test_an_array_holds_the_words_that_a_format_packs() -> None:
    """GPTQ's words of eight codes along k to Marlin's, by a loop over the definition of the latter's address bits."""
    k, n = 32, 128
    codes = np.random.default_rng(1).integers(0, 16, (k, n))
    words = np.zeros((k // 8, n), np.uint32)
    for i in range(k):
        words[i // 8] |= codes[i].astype(np.uint32) << np.uint32(4 * (i % 8))
    gptq = rl.Format.parse("0 1 / 0,8 axes kn element_bits 4")
    marlin = rl.Format.parse("0 1 / 1,8@1 0,4@2 1,4@16 0,2@1 1,2@8 0,2@8 axes kn element_bits 4")
    made = rl.repack(words.view(np.int32), marlin, src=gptq, shape=(k, n))
    assert made.dtype == np.int32
    bits = [("k", 3), ("n", 3), ("k", 0), ("n", 4), ("n", 5), ("k", 1), ("k", 2), ("n", 0), ("n", 1), ("n", 2)]
    nibbles = np.stack([made.view(np.uint8) & 15, made.view(np.uint8) >> 4], 1).reshape(-1)
    for i, j in product(range(k), range(n)):
        at = sum(((i if axis == "k" else j) >> bit & 1) << place for place, (axis, bit) in enumerate(bits))
        assert nibbles[at + 1024 * (j // 64 + n // 64 * (i // 16))] == codes[i, j]
    assert rl.repack(made, gptq, src=marlin, shape=(k, n)).tolist() == words.view(np.int32).reshape(-1).tolist()


# ---- any record ------------------------------------------------------------------------------------------


@st.composite
def records(draw: Any) -> Record:
    """Records whose bits are dealt to fields at random: one plane for each bit, or whole elements together."""
    block = draw(st.sampled_from([(1, 4), (2, 3), (4, 2), (2, 2)]))
    numbers = np.random.default_rng(draw(st.integers(0, 999)))
    width = draw(st.sampled_from([1, 2, 3, 4, 6, 8]))
    count = block[0] * block[1]
    nbytes = -(-count * width // 8) + draw(st.integers(0, 2))
    strides = (width, block[0] * width) if draw(st.booleans()) else (block[1] * width, width)
    free = 8 * nbytes - count * width
    offset = int(numbers.integers(0, free + 1))
    together = Layout(block, strides, offset=offset)
    planes: list[Any] = [together]
    if draw(st.booleans()):
        steps = (1, block[0]) if draw(st.booleans()) else (block[1], 1)
        planes = [(Layout(block, steps, offset=int(p) * count), b, 1) for b, p in enumerate(numbers.permutation(width))]
    elif draw(st.booleans()) and block[1] % 2 == 0:
        half = (block[0], block[1] // 2)
        sub = Layout(half, strides, offset=offset)
        planes = [(sub, 0, width, (0, 0))]
        planes += [(sub.with_offset(offset + half[1] * strides[1]), 0, width, (0, half[1]))]
    return Record("ab", block, nbytes, [("q", f"uint{width}", planes)])


def by_definition(record: Record, data: bytes, shape: tuple[int, int], name: str) -> np.ndarray[Any, Any]:
    """Every element of a field, bit by bit: the record, its planes, the bits of each."""
    field = record[name]
    stored = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little").astype(int)
    grid = [n // b for n, b in zip(shape, record.block, strict=True)]
    found = np.zeros([g * n for g, n in zip(grid, field.shape, strict=True)], int)
    for i, j in product(range(grid[0]), range(grid[1])):
        bits = stored[(i * grid[1] + j) * 8 * record.nbytes :]
        for plane in field.planes:
            for c in product(*[range(n) for n in plane.layout.extents]):
                at = [g * n + s + x for g, n, s, x in zip((i, j), field.shape, plane.start, c, strict=True)]
                for b in range(plane.bits):
                    found[tuple(at)] |= bits[plane.layout(*c) + b] << (plane.low + b)
    return found


@settings(max_examples=60)
@given(records(), st.integers(1, 3), st.integers(1, 3), st.integers(0, 99))
def test_every_field_is_what_its_planes_say(record: Record, rows: int, columns: int, seed: int) -> None:
    shape = (rows * record.block[0], columns * record.block[1])
    data = np.random.default_rng(seed).integers(0, 256, record.size_of(shape), dtype=np.uint8).tobytes()
    found = record.unpack(data, shape)["q"]
    assert found.tolist() == by_definition(record, data, shape, "q").tolist()
    assert record.unpack(record.pack({"q": found}, shape), shape)["q"].tolist() == found.tolist()


@given(records())
def test_text_repr_and_pickle(record: Record) -> None:
    for same in (
        Record.parse(str(record)),
        eval(repr(record)),
        pickle.loads(pickle.dumps(record)),
        rl.parse(str(record)),
    ):
        assert same == record
        assert hash(same) == hash(record)


@pytest.mark.parametrize("bits", [3, 5, 6, 7])
def test_codes_that_straddle_words(bits: int) -> None:
    """GPTQ's dense stream: 32 codes of a column take as many words as a code has bits, and words of a row follow."""
    k, n = 64, 5
    record = Record.parse(f"record kn 32,1 bytes {4 * bits} order 0 2 1 / 2,32: q uint{bits} @0 (32,1):({bits},0)")
    codes = np.random.default_rng(bits).integers(0, 1 << bits, (k, n))
    words = np.zeros((k * bits // 32, n), np.uint32)
    for i, j, b in product(range(k), range(n), range(bits)):
        words[(bits * i + b) // 32, j] |= np.uint32((int(codes[i, j]) >> b & 1) << (bits * i + b) % 32)
    assert record.unpack(words, (k, n))["q"].tolist() == codes.tolist()
    assert record.pack({"q": codes}, (k, n)).tobytes() == words.tobytes()


@pytest.mark.parametrize(
    ("shape", "kind", "field"), [((4, 64), "Q4_K", "qs"), ((64,), "Q4_0", "d"), ((1, 33), "Q4_0", "d")]
)
def test_a_shape_of_no_whole_blocks_is_refused(shape: Any, kind: str, field: str) -> None:
    with pytest.raises(rl.ShapeError, match=r"whole blocks|does not fit"):
        rl.catalog.record(f"ggml:{kind}").planes(field, shape)


def test_bad_input_has_its_own_errors() -> None:
    q = rl.catalog.record("ggml:Q4_0")
    with pytest.raises(rl.OutOfBounds, match="17 bytes are not the 18 of a tensor"):
        q.unpack(bytes(17), (1, 32))
    with pytest.raises(rl.ShapeError, match="there is no field 'zeros'"):
        q["zeros"]
    fields = q.unpack(bytes(18), (1, 32))
    with pytest.raises(rl.ShapeError, match="the fields d are missing"):
        q.pack({"qs": fields["qs"]}, (1, 32))
    with pytest.raises(rl.OutOfBounds, match="16 is no uint4"):
        q.pack({**fields, "qs": fields["qs"] + 16}, (1, 32))
    with pytest.raises(rl.ShapeError, match=r"the field d has the shape \(1, 1\)"):
        q.pack({**fields, "d": np.zeros((1, 2), np.float16)}, (1, 32))
    with pytest.raises(rl.ShapeError, match="takes whole groups of records"):
        rl.catalog.record("mx:hopper").unpack(bytes(128), (16, 16))
    with pytest.raises(rl.ShapeError, match="is a record of the fields d, qs"):
        rl.resolve("ggml:Q4_0")
    with pytest.raises(rl.ShapeError, match="no record named 'ggml:Q9'"):
        rl.catalog.record("ggml:Q9")
    for text, why in [
        ("record nk 1,32", "begins otherwise"),
        ("record nk 1,32 bytes 2: d", "no field"),
        ("record nk 1,32 bytes 2: d float16 @x", "no place"),
        ("record nk 1,32 bytes 1: d float16 @0", "outside of 8 bits"),
        ("record nk 1,32 bytes 4: d float16 @0; e float16 @1", "is bit of d too"),
        ("record nk 1,32 bytes 2: d float16 @0 bits 0-7", "each of the 16 bits"),
        ("record nk 1,32 bytes 9: d uint4 @0 (1,5):(0,4)", "in a block of"),
    ]:
        with pytest.raises(rl.LayoutError, match=why):
            rl.parse(text)


def test_codecs_are_refused_with_the_reason() -> None:
    gguf = pytest.importorskip("gguf")
    codecs = {"TQ1_0", *[kind.name for kind in gguf.GGMLQuantizationType if re.match("IQ[123]", kind.name)]}
    assert codecs == set(CODECS)
    for name in codecs:
        for ask in (rl.parse, rl.catalog.record, rl.explain, lambda x: rl.repack(bytes(54), x, src=x, shape=(1, 256))):
            with pytest.raises(rl.NotExpressible, match=f"ggml:{name} is a codec and no layout"):
                ask(f"ggml:{name}")


def test_the_width_of_an_element_is_the_first_number_of_its_name() -> None:
    for name, kind in ELEMENTS.items():
        if name != "bool":
            assert element_width(name) == kind.bits
