"""AMD's transposing loads: against Triton's rule, the descriptions of others, and the operands that they load."""

from __future__ import annotations

import pytest

import relayout as rl

# By Triton's TargetFeatures.cpp: bits of an element, bits a lane reads, leading bases of registers and of lanes.
TRITON = {
    "ds_read_b64_tr_b16": (16, 64, 0, 2),
    "ds_read_b64_tr_b8": (8, 64, 0, 1),
    "ds_read_b64_tr_b4": (4, 64, 0, 0),
    "ds_load_tr16_b128": (16, 128, 0, 0),
    "ds_load_tr8_b64": (8, 64, 2, 1),
    "ds_load_tr4_b64": (4, 64, 3, 1),
}


@pytest.mark.parametrize("name", TRITON)
def test_every_bit_arrives_as_tritons_lowering_counts_on(name: str):
    """The low bits of a lane are the element of a run; R[0:a], L[t:t+b], R[a:t], L[t+b:] are the lane that named it."""
    atom = rl.atoms[name]
    bits, width, a, b = TRITON[name]
    t, p = (width // bits - 1).bit_length(), (atom.threads - 1).bit_length()
    dst = atom.operand("dst")
    for lane in range(atom.threads):
        for register in range(width // bits):
            order = [register >> i & 1 for i in range(a)] + [lane >> i & 1 for i in range(t, t + b)]
            order += [register >> i & 1 for i in range(a, t)] + [lane >> i & 1 for i in range(t + b, p)]
            named = sum(bit << i for i, bit in enumerate(order))
            for bit in range(bits):
                there = bit + bits * (lane % (width // bits))
                assert dst.coordinate(lane, bit + bits * register) == (there, named)
    assert atom.operand("src").coordinate(7, 5) == (5, 7)
    assert dst.layout.size == atom.src.size == len(set(dst.layout.offsets().flat))


@pytest.mark.parametrize("bits", [16, 8, 4])
def test_sixteen_lanes_of_gfx950_get_the_columns_of_the_rows_that_they_read(bits: int):
    """As Mojo describes it: 16 lanes read a matrix of 64 / bits rows of 16, and each gets one column."""
    dst = rl.atoms[f"ds_read_b64_tr_b{bits}"].operand("dst")
    rows, per_row = 64 // bits, 16 * bits // 64
    for lane in range(64):
        for row in range(rows):
            bit, named = dst.coordinate(lane, bits * row)
            group, place = divmod(named, 16)
            assert (group, place // per_row, 64 // bits * (place % per_row) + bit // bits) == (
                lane // 16,
                row,
                lane % 16,
            )


def test_eight_lanes_of_gfx1250_exchange_rows_and_columns():
    dst = rl.atoms["ds_load_tr16_b128"].operand("dst")
    for lane in range(32):
        for register in range(8):
            assert dst.coordinate(lane, 16 * register) == (16 * (lane % 8), 8 * (lane // 8) + register)


@pytest.mark.parametrize(
    ("load", "bits", "product"), [("b16", 16, "v_mfma_f32_16x16x16_f16"), ("b8", 8, "v_mfma_f32_16x16x32_fp8_fp8")]
)
def test_a_matrix_whose_rows_are_along_m_arrives_as_a(load: str, bits: int, product: str):
    """LDS holds row k after row k, 16 elements along m each, and the lanes name it in order: they get A."""
    dst, a = rl.atoms[f"ds_read_b64_tr_{load}"].operand("dst"), rl.atoms[product].operand("A")
    for lane in range(64):
        for value in range(64 // bits):
            bit, named = dst.coordinate(lane, bits * value)
            k, m = divmod(named * (64 // bits) + bit // bits, 16)
            assert a.coordinate(lane, value) == (m, k)


def test_the_names_of_compilers():
    assert rl.atoms["llvm.amdgcn.ds.read.tr16.b64"].name == "ds_read_b64_tr_b16"
    assert "i0 = v%16 + 16*(t%4)" in rl.explain("rocdl.ds.read.tr16.b64")
