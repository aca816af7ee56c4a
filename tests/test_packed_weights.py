"""Every packed weight of the catalog against what its vendor's own code made of the same codes.

The vectors were recorded by ``packed_vectors/record.py``.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
import pytest

import relayout as rl
from relayout import catalog
from relayout.format import packed_formats
from relayout.format.entries import read_table

sys.path.insert(0, str(Path(__file__).parent / "packed_vectors"))
from recipe import Vector, from_memory, in_memory, recorded, scales

VECTORS = list(recorded())
ENTRIES, OTHERS = read_table(packed_formats.TABLE)


def test_every_entry_is_judged_at_two_shapes_that_are_not_square() -> None:
    shapes = {(name, bits): set() for name in ENTRIES for bits in widths(name)}
    for v in VECTORS:
        shapes.setdefault((v.entry, v.bits), set()).add(v.shape)
    assert set(shapes) == {*[(name, bits) for name in ENTRIES for bits in widths(name)], *RECORD_WIDTHS}
    few = {name for (name, _), tried in shapes.items() if len(tried) < 2}
    assert few == {f"ggml:{field}" for field in FIELDS}
    assert all(v.shape[0] != v.shape[1] for v in VECTORS)


def widths(name: str) -> list[int]:
    """The widths of the elements that an entry is for."""
    return [bits or form.element_bits for bits, form in ENTRIES[name].forms.items()]


RECORDS = {v.entry for v in VECTORS} & set(catalog.known_records())
RECORD_WIDTHS = {(v.entry, v.bits) for v in VECTORS if v.entry in RECORDS}


def packed_record(name: str, codes: np.ndarray) -> bytes:
    """The codes and the scales of the recipe as records, by this library."""
    record = catalog.record(name)
    fields = {}
    for field in record.fields:
        shape = tuple([n // b * m for n, b, m in zip(codes.shape, record.block, field.shape)])
        if field.name in ("q", "qs"):
            # A pack that flips the top bit of a code of 4 bits stores the code minus 8; codes of 8 bits stay.
            as_stored = {"int4": codes.astype(np.int8) - 8, "int8": codes.view(np.int8)}
            fields[field.name] = as_stored.get(field.element, codes)
        else:
            made = scales(field.name, shape)
            fields[field.name] = made.view(np.float16) if field.element == "float16" else made
    return bytes(record.pack(fields, codes.shape).tobytes())


def packed(name: str, codes: np.ndarray, bits: int) -> bytes:
    """The codes in that order, by this library."""
    got = rl.repack(
        in_memory(codes, bits), catalog.get(name, bits), src="0 1", shape=codes.shape, element=f"uint{bits}"
    )
    return bytes(np.ascontiguousarray(got).view(np.uint8).tobytes())


@pytest.mark.parametrize("vector", VECTORS, ids=[f"{v.entry}-{v.bits}-{v.shape}-{v.judge.split()[0]}" for v in VECTORS])
def test_an_entry_packs_as_its_vendor_does(vector: Vector) -> None:
    if vector.entry in RECORDS:
        made = packed_record(vector.entry, vector.codes())
    else:
        made = packed(vector.entry, vector.codes(), vector.bits)
    whole = vector.bytes()
    if whole is not None:
        assert np.array_equal(from_memory(made, vector.bits), from_memory(whole, vector.bits))
    assert hashlib.sha256(made).hexdigest() == vector.sha256


# ---- GGUF: the reader of gguf tells which code each element has ----------------------------------------------------

ONE = b"\x00\x3c"
"""1.0 as float16."""
# of each field: its type, codes a block, bytes a block, its bits, where it begins, and what else is not zero
FIELDS: dict[str, tuple[str, int, int, int, int, dict[int, bytes]]] = {
    "Q4_0.quants": ("Q4_0", 32, 18, 4, 2, {0: ONE}),
    "Q4_1.quants": ("Q4_1", 32, 20, 4, 4, {0: ONE}),
    "Q5_0.quants": ("Q5_0", 32, 22, 4, 6, {0: ONE}),
    "Q5_1.quants": ("Q5_1", 32, 24, 4, 8, {0: ONE}),
    "IQ4_NL.quants": ("IQ4_NL", 32, 18, 4, 2, {0: ONE}),
    "IQ4_XS.quants": ("IQ4_XS", 256, 136, 4, 8, {0: ONE}),
    "MXFP4.quants": ("MXFP4", 32, 17, 4, 1, {0: b"\x7f"}),
    "NVFP4.quants": ("NVFP4", 64, 36, 4, 4, {0: b"\x38" * 4}),
    "Q8_0.quants": ("Q8_0", 32, 34, 8, 2, {0: ONE}),
    "Q2_K.quants": ("Q2_K", 256, 84, 2, 16, {0: b"\x01" * 16, 80: ONE}),
    "Q3_K.quants": ("Q3_K", 256, 110, 2, 32, {108: ONE}),
    "Q4_K.quants": ("Q4_K", 256, 144, 4, 16, {0: ONE, 4: b"\x01" * 12}),
    "Q5_K.quants": ("Q5_K", 256, 176, 4, 48, {0: ONE, 4: b"\x01" * 12}),
    "Q6_K.ql": ("Q6_K", 256, 210, 4, 0, {192: b"\x01" * 16, 208: ONE}),
    "Q6_K.qh": ("Q6_K", 256, 210, 2, 128, {192: b"\x01" * 16, 208: ONE}),
    "TQ2_0.quants": ("TQ2_0", 256, 66, 2, 0, {64: ONE}),
}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("shape", [(1, 512), (5, 768)])
def test_gguf_reads_the_codes_of_a_block_in_this_order(field: str, shape: tuple[int, int]) -> None:
    gguf = pytest.importorskip("gguf")
    kind, per, size, bits, at, rest = FIELDS[field]
    n, k = shape
    count = per * bits // 8

    def values(stored: np.ndarray) -> np.ndarray:
        """What gguf makes of blocks with these bytes in the field."""
        blocks = np.zeros((n, k // per, size), np.uint8)
        for place, given in rest.items():
            blocks[:, :, place : place + len(given)] = np.frombuffer(given, np.uint8)
        blocks[:, :, at : at + count] = stored
        made = gguf.quants.dequantize(blocks.reshape(n, -1), getattr(gguf.GGMLQuantizationType, kind))
        return np.asarray(made.reshape(shape))

    # Minus zero reads as zero, so FP4 does without.
    known = np.array([code for code in range(1 << bits) if "FP4" not in kind or code != 8], np.uint8)
    codes = np.random.default_rng(n).choice(known, n * k)
    memory = np.frombuffer(in_memory(codes, bits), np.uint8)
    read = values(memory.reshape(n, k // per, count))
    logical = np.full(shape, 255, np.uint8)
    for code in known:
        every = np.frombuffer(in_memory(np.full(count * 8 // bits, code, np.uint8), bits), np.uint8)
        logical[read == values(np.broadcast_to(every, (n, k // per, count)))] = code
    assert packed(f"ggml:{field}", logical, bits) == memory.tobytes()


# ---- one order, several names ----------------------------------------------------------------------------------------

# What the page on packed weights states, by system; the rest of a name is as listed.
SAME = [
    "awq:v2 trtllm:w4a16_sm80",
    "awq:gemv mlx:w4 mx:ocp mx:blackwell trtllm:w4a16_sm100 trtllm:w4afp8_sm100 compressed:pack4 compressed:fp4",
    "mlx:w8 trtllm:w8a16_sm100 compressed:pack8 ggml:Q8_0.quants hqq:w8",
    "mlx:w2 compressed:pack2",
    "ggml:q4_0_4x4.quants ggml:iq4_nl_4x4.quants ggml:mxfp4_4x4.quants kai:qsi4cxp4x4.quants kai:qsi4c32p4x4.quants",
    "ggml:q4_0_4x8.quants kai:qsi4cxp4x8.quants kai:qsi4c32p4x8.quants",
    "ggml:q4_0_8x8.quants ggml:iq4_nl_8x8.quants ggml:mxfp4_8x8.quants kai:qsi4cxp8x8.quants kai:qsi4c32p8x8.quants",
    "aiter:16x16.scales mx:cdna4.scales",
    "quanto:w2 bitnet:transformers",
    "ggml:NVFP4.quants mlas:w4_fp32_16 mlas:w4_fp32_neon",
    """ggml:Q4_0.quants ggml:Q4_1.quants ggml:Q5_0.quants ggml:Q5_1.quants ggml:IQ4_NL.quants ggml:IQ4_XS.quants
    ggml:MXFP4.quants mlas:w4_fp32_32 mlas:w4_int8_neon""",
    "ggml:Q4_K.quants ggml:Q5_K.quants mlas:w4_fp32_64",
    """cudnn:REORDERING_F8_128x4 cublaslt:VEC32_UE8M0 cublaslt:VEC16_UE4M3 mx:gfx1250.scales mx:blackwell.scales""",
]


def test_the_orders_that_several_systems_share_are_all_told() -> None:
    """By the offsets of every element: whole blocks of every format fit into this shape."""
    orders: dict[tuple[object, ...], set[str]] = {}
    for name, entry in catalog.ENTRIES.items():
        for form in entry.forms.values():
            if isinstance(form, rl.Format) and len(form.axes or "") == 2 and form.element_bits and form.axes != "mn":
                axes = "".join(sorted(form.axes))
                offsets = form.aligned(axes).layout((512, 256)).offsets()
                orders.setdefault((axes, form.element_bits, offsets.tobytes()), set()).add(name)
    several = {frozenset(names) for names in orders.values() if len({name.partition(":")[0] for name in names}) > 1}
    assert several == {frozenset(line.split()) for line in SAME}


@pytest.mark.parametrize("line", SAME)
def test_shared_orders_are_proven(line: str) -> None:
    first, *others = line.split()
    for other in others:
        padded = any(name.startswith(("mx:blackwell", "compressed:")) for name in (first, other))
        assert rl.compare(first, other, shape=(96, 256) if padded else None), other


def test_one_system_may_have_several_orders() -> None:
    for one, other in [
        ("trtllm:w4a16_sm80", "trtllm:w4a16_sm90"),
        ("torch:int4pack_avx2", "torch:int4pack_avx512"),
        ("gptq:w4", "exllama:w4"),
    ]:
        assert not rl.compare(one, other)


def test_names_are_of_the_width_of_the_elements() -> None:
    for name, bits in [("marlin:w4a16", 4), ("gptq:w2", 2), ("awq:gemm_w8", 8), ("mlx:w4", 4)]:
        sent = rl.probes((64, 128), f"uint{bits}")
        dumps = [rl.repack(p, name, element=f"uint{bits}") for p in sent]
        found = rl.infer(sent, dumps, dtype=f"uint{bits}" if bits < 8 else None).names
        assert name in found
        assert all(form.element_bits in (None, bits) for n in found for form in [catalog.entry(n).format])
        wide = rl.infer(offsets=catalog.get(name).layout((64, 128)).offsets()).names
        assert (name in wide) == (name != "mlx:w4")


@pytest.mark.parametrize("bits", [3, 5, 6])
def test_odd_widths_of_compressed_tensors_lie_as_those_of_mlx_in_whole_words_only(bits: int) -> None:
    codes = np.random.default_rng(bits).integers(0, 1 << bits, (3, 96)).astype(np.uint8)
    record = catalog.record(f"compressed:pack{bits}")
    assert record.pack({"q": codes}, codes.shape).tobytes() == packed(f"mlx:w{bits}", codes, bits)
    with pytest.raises(rl.ShapeError, match="are no whole blocks"):
        record.pack({"q": codes[:, :20]}, (3, 20))
