"""Numbers stored as others by a named rule: judged by the vendors' own conversions of every bit pattern."""

from __future__ import annotations

import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner

import relayout as rl
from relayout.cli.main import relayout
from relayout.elements.interface import as_interface
from relayout.elements.types import storage_dtype

VECTORS = json.loads((Path(__file__).parent / "packed_vectors" / "values.json").read_text())
NARROW = [v for v in VECTORS if "encoding" in v and "count" not in v]
WIDE = [v for v in VECTORS if "count" in v]
NAMES = ["uint4-8", "uint4+1", "int4-3", "uint8-128", "float8_e4m3fn*2", "float16*512", "float16*-8", "marlin_s0e5m3*4"]


def meaning(encoding: str, code: int) -> float:
    """What a byte of the vendor's is worth to its kernel, from the definition of the bits."""
    base, _, factor = encoding.partition("*")
    if base == "marlin_int4_fp8":
        return code if code < 8 else 7.0 - code
    if base == "float8_e8m0fnu":
        return float("nan") if code == 255 else 2.0 ** (code - 127) / int(factor)
    exponent, mantissa = code >> 3, code & 7
    if exponent == 31:
        return float("nan")
    half = (1 + mantissa / 8) * 2.0 ** (exponent - 15) if exponent else mantissa / 8 * 2.0**-14
    return half / 128 / int(factor or 1)


@pytest.mark.parametrize("vector", NARROW, ids=lambda v: v["encoding"])
def test_every_byte_becomes_what_the_vendor_makes_of_it_or_is_refused_where_that_loses(vector: dict[str, Any]) -> None:
    source, target = as_interface(vector["element"]), rl.Encoding(vector["encoding"])
    theirs, kept = bytes.fromhex(vector["stored"]), 0
    for code in range(1 << source.element.bits):
        stored = np.array([code], np.uint8).view(storage_dtype(source.element))
        value = np.asarray(source.decode(stored)).astype(np.float64)[0]
        try:
            made = target.encode(source.decode(stored))
        except rl.NotExpressible:
            lost = meaning(vector["encoding"], theirs[code]) != value or np.signbit(value)
            assert lost or np.isnan(value), code
            continue
        assert int(made.view(np.uint8)[0]) == theirs[code], code
        assert meaning(vector["encoding"], theirs[code]) == value
        assert target.decode(made)[0] == value
        kept += 1
    assert kept == {"marlin_s0e5m3": 120, "marlin_s0e5m3*2": 117, "marlin_s0e5m3*64": 80}.get(
        vector["encoding"], {"float8_e8m0fnu*64": 249, "marlin_int4_fp8": 16}.get(vector["encoding"])
    )


@pytest.mark.parametrize("vector", WIDE, ids=lambda v: v["encoding"])
def test_every_half_becomes_what_the_vendor_makes_of_it(vector: dict[str, Any]) -> None:
    target = rl.Encoding(vector["encoding"])
    dtype = np.dtype(np.float16 if vector["element"] == "float16" else ml_dtypes.bfloat16)
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    with np.errstate(all="ignore"):
        factor = float(target.name.partition("*")[2].removeprefix("2^"))
        factor = 2.0**factor if "^" in target.name else factor
        multiples = every.astype(np.float64) * factor
        exact = (multiples.astype(dtype).astype(np.float64) == multiples) & np.isfinite(multiples)
    assert int(exact.sum()) == vector["count"]
    assert hashlib.sha256(exact.tobytes()).hexdigest() == vector["exact"]
    made = target.encode(every[exact])
    assert hashlib.sha256(made.tobytes()).hexdigest() == vector["stored"]
    assert target.decode(made).tobytes() == every[exact].tobytes()
    for lost in every[~exact][::97]:
        with pytest.raises(rl.NotExpressible, match="does not hold it exactly"):
            target.encode(lost)


@pytest.mark.parametrize("name", NAMES)
def test_an_encoding_is_a_value_with_a_name(name: str) -> None:
    encoding = rl.Encoding(name)
    assert as_interface(name) == encoding == pickle.loads(pickle.dumps(encoding)) == eval(repr(encoding), vars(rl))
    assert hash(encoding) == hash(rl.Encoding(name))
    assert encoding.name == name
    assert encoding.decode(encoding.encode(1.0)) == 1.0
    if name != "uint4+1":
        assert encoding.decode(encoding.zero) == 0
        return
    with pytest.raises(rl.NotExpressible, match=r"^0 has no place in uint4: uint4\+1 does not hold it exactly"):
        encoding.zero  # noqa: B018


def test_one_encoding_has_one_name() -> None:
    assert rl.Encoding("float16*2^9") == rl.Encoding("float16*512")
    assert rl.Encoding("float16*-2^3").encode([1.0, -0.5]).tolist() == [-8.0, 4.0]
    assert rl.Encoding("bfloat16*2^120").name == "bfloat16*2^120"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("uint4", "mean themselves"),
        ("float16*3", "a power of two"),
        ("uint4*2", "for floating types"),
        ("uint16-3", "at most 8 bits"),
        ("float16-1", "at most 8 bits"),
        ("marlin_int4_fp8*2", "no factor"),
        ("marlin_s0e5m3-1", "no shift"),
        ("nothing*2", "no type 'nothing'"),
        ("uint4-8*2", "no name of a type"),
        (7, "no text"),
        ([], "no text"),
    ],
)
def test_what_is_no_encoding_is_refused_with_the_reason(name: Any, why: str) -> None:
    with pytest.raises(rl.ShapeError, match=why):
        rl.Encoding(name)


def test_values_of_any_type_are_taken_exactly() -> None:
    encoding = rl.Encoding("float64*2")
    for values in ([True, False], np.array([3, -4], np.int8), np.array([0.5, 2], ml_dtypes.bfloat16), [1 << 53]):
        given = np.asarray(values, np.float64)
        assert (encoding.encode(values) == 2 * given).all()
    for lost in ((1 << 53) + 1, (1 << 64) - 1, float("inf"), float("nan"), 1j):
        with pytest.raises(rl.NotExpressible):
            encoding.encode(lost)


def test_factors_beyond_float32_are_refused() -> None:
    with pytest.raises(rl.NotExpressible, match="no float32"):
        rl.Encoding("float8_e8m0fnu*2^300")


def test_repack_converts_on_the_way_and_back() -> None:
    scales = np.linspace(0.0625, 8, 4 * 128, dtype=np.float32).astype(ml_dtypes.float8_e4m3fn).reshape(4, 128)
    made = rl.repack(scales, "marlin:nvfp4.scales", element="marlin_s0e5m3")
    plain = rl.repack(scales, "marlin:nvfp4.scales").view(np.uint8)
    theirs = np.frombuffer(bytes.fromhex(NARROW[0]["stored"]), np.uint8)
    assert np.array_equal(made.reshape(-1), theirs[plain.reshape(-1)])
    t = rl.Tensor(made.reshape(-1), rl.parse("marlin:nvfp4.scales").layout((4, 128)), rl.Encoding("marlin_s0e5m3"))
    assert np.array_equal(rl.repack(t, "0 1", element="float8_e4m3fn").stored(), scales)
    broken = scales.copy()
    broken[1, 3] = -2
    with pytest.raises(rl.NotExpressible, match=r"-2\.0 at \(1, 3\)"):
        rl.repack(broken, "marlin:nvfp4.scales", element="marlin_s0e5m3")


def test_codes_around_8_become_signed_ones_by_their_top_bit() -> None:
    words = np.arange(256, dtype=np.uint8)
    layout = rl.Layout.row_major((8, 64))
    t = rl.Tensor(words, layout, rl.Encoding("uint4-8"))
    made = rl.repack(t, layout, element="int4")
    assert np.array_equal(made.raw, words ^ 0x88)
    assert np.array_equal(rl.repack(made, layout, element="uint4-8").raw, words)
    assert rl.plan(layout, layout, "uint4-8", "int4")(words).tolist() == (words ^ 0x88).tolist()


def test_only_elements_of_the_layout_are_refused() -> None:
    zeros = bytes([0x31, 0x02])
    plan = rl.plan(rl.Layout(3), rl.Layout(3), "uint4", "uint4+1")
    assert plan.way.name == "recoded"
    assert plan(zeros, np.zeros(2, np.uint8)).tolist() == [0x20, 0x01]
    with pytest.raises(rl.NotExpressible, match=r"0 at \(3,\) has no place"):
        rl.plan(rl.Layout(4), rl.Layout(4), "uint4", "uint4+1")(zeros)


@pytest.mark.parametrize(("source", "target"), [("uint4-8", "int4"), ("uint8", "uint8+1"), ("uint2-2", "int2")])
def test_the_table_of_bytes_gives_what_decode_and_encode_give(source: str, target: str) -> None:
    one, two = as_interface(source), as_interface(target)
    every = np.arange(256, dtype=np.uint8)[1:]
    count = every.size * 8 // one.element.bits
    made = rl.plan(rl.Layout(count), rl.Layout(count), source, target)(every)
    stored = two.encode(rl.Tensor(every, rl.Layout(count), one).numpy())
    assert np.array_equal(rl.Tensor(made, rl.Layout(count), two.element.name).numpy(), stored)


def test_files_carry_the_encoding_and_tell_it(tmp_path: Path) -> None:
    scales = np.linspace(0.25, 4, 128).astype(np.float16).reshape(2, 64)
    np.save(tmp_path / "s.npy", scales)
    out, back = tmp_path / "out.safetensors", tmp_path / "back.npy"
    (row,) = rl.repack_file(tmp_path / "s.npy", out, to="marlin:w4a8.scales", dtype="float16*512", verify=True).rows
    assert row.after == "float16*512 [2, 64] marlin:w4a8.scales"
    told = json.loads(CliRunner().invoke(relayout, ["inspect", str(out), "--json"]).stdout)["result"]["tensors"]
    assert told[0]["dtype"] == "float16*512"
    with rl.open(out) as file:
        assert file["s"].interface == rl.Encoding("float16*512")
        assert np.array_equal(file["s"].numpy(), scales)
        assert np.array_equal(np.sort(file["s"].raw), np.sort(scales.reshape(-1) * 512))
    rl.repack_file(out, back, to="row-major", dtype="float16")
    assert np.array_equal(np.load(back), scales)
    np.save(tmp_path / "large.npy", scales * 64)
    with pytest.raises(rl.NotExpressible, match="does not hold it exactly"):
        rl.repack_file(tmp_path / "large.npy", tmp_path / "x.safetensors", dtype="float16*512")


def test_a_guard_asks_for_an_encoding() -> None:
    @rl.expects(x=("row-major", rl.Encoding))
    def kernel(x: Any) -> float:
        return float(x[0, 0])

    assert kernel(rl.tensor(np.full((2, 2), 512, np.float16), "float16*512")) == 1
    with pytest.raises(rl.LayoutMismatch, match="expected row-major, with an Encoding interface"):
        kernel(np.ones((2, 2), np.float16))
