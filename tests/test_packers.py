"""Opaque packers named by what they do, and packed data told from plain data and from data packed twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relayout as rl

Array = np.ndarray[Any, Any]


def tinychat(codes: Array) -> Array:
    """AWQ v2 by numpy: rows n in fours, k in 64s of two halves; each 32 codes as 4 x 8 turned, two a byte."""
    x = codes.T.reshape(codes.shape[1] // 4, 4, codes.shape[0] // 64, 2, 4, 8)
    nibbles = x.transpose(0, 2, 1, 3, 5, 4).reshape(-1)
    return (nibbles[::2] | nibbles[1::2] << 4).astype(np.uint8)


def awq(codes: Array) -> Array:
    k, n = codes.shape
    ordered = codes.reshape(k, n // 8, 8)[:, :, [0, 2, 4, 6, 1, 3, 5, 7]].astype(np.uint32)
    return (ordered << np.arange(0, 32, 4, dtype=np.uint32)).sum(-1, dtype=np.uint32).view(np.int32)


def hqq(codes: Array) -> Array:
    """Rows n of the first half in the high nibbles; of an odd number the second half has one row less, and a zero."""
    rows = np.ascontiguousarray(codes.T)
    half = -(-len(rows) // 2)
    second = np.concatenate([rows[half:], np.zeros((2 * half - len(rows), rows.shape[1]), np.uint8)])
    return (rows[:half] << 4 | second).astype(np.uint8)


@pytest.mark.parametrize("shape", [(24, 64), (40, 7), (8, 2)])
def test_packers_that_pair_halves_of_the_rows_are_named(shape: tuple[int, int]) -> None:
    found = rl.infer(hqq, shape=shape, element="uint4")
    assert "hqq:w4" in found.names
    found = rl.infer(lambda c: hqq(c) >> 4 | hqq(c) << 4, shape=shape, element="uint4")
    assert "quanto:w4" in found.names


@pytest.mark.parametrize(
    ("packer", "names"),
    [
        (tinychat, {"awq:v2", "trtllm:w4a16_sm80"}),
        (awq, {"awq:gemm"}),
        (lambda c: awq(c).tobytes(), {"awq:gemm"}),
        (lambda c: awq(c).T.copy().T, set()),
    ],
)
def test_a_packer_is_named_by_what_it_does(packer: Any, names: set[str]) -> None:
    found = rl.infer(packer, shape=(128, 64), element="uint4")
    assert found.settled
    assert names <= set(found.names)
    assert bool(found.names) == bool(names)


def test_a_flipped_sign_is_said() -> None:
    found = rl.infer(lambda c: awq(c) ^ np.int32(-0x77777778), shape=(64, 64), element="uint4")
    assert "awq:gemm" in found.names
    assert "highest bit flipped, XOR 8" in str(found)


def test_a_packer_that_is_no_layout_is_refused() -> None:
    shuffled = np.random.default_rng(3).permutation(64 * 32)
    with pytest.raises(rl.LayoutError):
        rl.infer(lambda c: awq(c.reshape(-1)[shuffled].reshape(64, 32)), shape=(64, 32), element="uint4")
    with pytest.raises(rl.ShapeError, match="needs a shape and a type"):
        rl.infer(awq)


def test_packed_plain_and_packed_twice_are_told_apart() -> None:
    plain = np.random.default_rng(1).integers(0, 255, (64, 96), dtype=np.uint8)

    def shuffle(x: Array) -> Array:
        return x.reshape(4, 16, 6, 16).transpose(0, 2, 1, 3).reshape(64, 96)

    once = shuffle(plain)
    assert rl.check(once, "aiter:16x16", reference=plain) is once
    for wrong, state in [(plain, "not packed"), (shuffle(once), "packed twice"), (once[::-1].copy(), "otherwise")]:
        with pytest.raises(rl.LayoutMismatch, match=state):
            rl.check(wrong, "aiter:16x16", reference=plain)
    with pytest.raises(rl.ShapeError, match="3072 elements are stored"):
        rl.check(once[:32], "aiter:16x16", reference=plain)


def test_bits_are_compared_not_numbers() -> None:
    plain = np.random.default_rng(4).normal(size=(32, 64)).astype(np.float16)
    plain[3, 5], plain[0, 0] = np.nan, -0.0
    shuffled = plain.reshape(2, 16, 8, 8).transpose(0, 2, 1, 3).reshape(32, 64)
    assert rl.check(shuffled, "aiter:16x16", reference=plain) is shuffled
    shuffled[0, 0] = 0
    with pytest.raises(rl.LayoutMismatch, match=r"packed otherwise: aiter:16x16 has element \(0, 0\)"):
        rl.check(shuffled, "aiter:16x16", reference=plain)


def test_packers_of_records_are_named() -> None:
    with pytest.raises(rl.NotExpressible, match=r"their bits lie as in the record gptq:w3\."):
        rl.infer(three_bits, shape=(64, 40), element="uint3")

    def allspark(codes: Array) -> Array:
        k, n = codes.shape
        tiles = codes.reshape(k // 16, 2, 4, 2, n // 32, 4, 8)
        return tiles.transpose(4, 6, 0, 2, 5, 1, 3).copy()

    assert rl.infer(allspark, shape=(64, 96), element="uint8").names == ("allspark:w8a16",)
    rows = np.arange(64).reshape(2, 8, 4).transpose(0, 2, 1).reshape(-1)
    assert "flashinfer:shuffled32" in rl.infer(lambda c: c.T[rows], shape=(48, 64), element="uint8").names


def test_padded_scales_are_told_apart_too() -> None:
    plain = np.random.default_rng(6).integers(0, 256, (130, 5), dtype=np.uint8)

    def swizzle(x: Array) -> Array:
        padded = np.zeros((256, 8), np.uint8)
        padded[: len(x), : x.shape[1]] = x
        return padded.reshape(2, 4, 32, 2, 4).transpose(0, 3, 2, 1, 4).reshape(256, 8)

    assert rl.check(swizzle(plain), "nvfp4:scales", reference=plain) is not None
    for wrong, state in [(plain, "is not packed: nvfp4:scales takes 2048"), (swizzle(swizzle(plain)), "packed twice")]:
        with pytest.raises(rl.LayoutMismatch, match=state):
            rl.check(wrong, "nvfp4:scales", reference=plain)


def three_bits(codes: Array) -> Array:
    """GPTQ by numpy: the bits of a column one after the other, in words."""
    bits = (codes[:, :, None] >> np.arange(3) & 1).transpose(1, 0, 2).reshape(codes.shape[1], -1, 32).astype(np.uint32)
    return np.ascontiguousarray((bits << np.arange(32, dtype=np.uint32)).sum(2, dtype=np.uint32).T)


def test_records_of_codes_are_checked() -> None:
    numbers = np.random.default_rng(7)
    codes = numbers.integers(0, 8, (64, 5), dtype=np.uint8)
    assert rl.check(three_bits(codes), "gptq:w3", reference=codes) is not None
    with pytest.raises(rl.LayoutMismatch, match="packed otherwise"):
        rl.check(three_bits(codes[::-1]), "gptq:w3", reference=codes)
    rows = numbers.integers(0, 256, (64, 12), dtype=np.uint8)
    order = np.arange(64).reshape(2, 8, 4).transpose(0, 2, 1).reshape(-1)  # row 1 becomes row 8
    assert rl.check(rows[order], "flashinfer:shuffled32", reference=rows) is not None
    for wrong, state in [(rows, "not packed"), (rows[order][order], "packed twice")]:
        with pytest.raises(rl.LayoutMismatch, match=state):
            rl.check(wrong, "flashinfer:shuffled32", reference=rows)
    with pytest.raises(rl.ShapeError, match="ggml:Q4_0 holds d, qs"):
        rl.check(codes, "ggml:Q4_0", reference=codes)


def test_packed_codes_are_checked_against_codes() -> None:
    codes = np.random.default_rng(2).integers(0, 16, (32, 64), dtype=np.uint8)
    assert rl.check(awq(codes), "awq:gemm", reference=codes) is not None
    with pytest.raises(rl.LayoutMismatch, match="packed otherwise"):
        rl.check(awq(codes[::-1]), "awq:gemm", reference=codes)
