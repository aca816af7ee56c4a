"""Weights stored in the order of registers: what vendors' kernels expect, derived from the instruction alone."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import relayout as rl
from relayout.hardware import fragment_format

HALF = "mma.m16n8k16.f32.f16.f16.f32"
BYTE = "mma.m16n8k32.s32.s8.s8.s32"
NIBBLES = rl.Layout((4, 2), (2, 1))
"""Codes taken out of a word two at a time, the n-th and the (n + 4)-th: value 2n and 2n + 1."""

DERIVED = {
    "marlin:w4a16": (HALF, "B", (None, 64, None), {"unpack": NIBBLES}),
    "marlin:w8a16": (HALF, "B", (None, 64, None), {"unpack": rl.Layout((2, 2), (2, 1))}),
    "marlin:w4a8": (BYTE, "B", (None, 32, None), {"unpack": rl.Layout((2, 4), (4, 1))}),
    "marlin:w8a8": (BYTE, "B", (None, 32, None), {}),
    "machete:w4a16": (HALF, "A", (None, None, 64), {"unpack": NIBBLES, "axes": "nk"}),
    "machete:w8a16": (HALF, "A", (None, None, 64), {"axes": "nk"}),
    "machete:w4a8": (BYTE, "A", (None, None, 64), {"axes": "nk"}),
    "tinygemm:k2": (HALF, "B", (None, None, 32), {"unpack": NIBBLES, "rests": (0, 1)}),
    "tinygemm:k4": (HALF, "B", (None, None, 64), {"unpack": NIBBLES, "rests": (0, 1)}),
    "tinygemm:k8": (HALF, "B", (None, None, 128), {"unpack": NIBBLES, "rests": (0, 1)}),
}


@pytest.mark.parametrize("name", DERIVED)
def test_the_weights_of_a_kernel_follow_from_its_instruction(name):
    atom, operand, tile, options = DERIVED[name]
    found = fragment_format(rl.tile_mma(atom, permutation=tile), operand, **options)
    assert rl.compare(found, name).equivalent


def test_marlins_permutation_as_its_own_code_makes_it():
    """``_get_perms`` of IST-DASLab's Marlin, written again: the weights of each of 32 lanes, then 0 2 4 6 1 3 5 7."""
    order = []
    for lane in range(32):
        for j in range(4):
            mine = [
                16 * row + lane // 4 + 8 * block + 256 * j
                for block in (0, 1)
                for row in (2 * (lane % 4), 2 * (lane % 4) + 1, 2 * (lane % 4) + 8, 2 * (lane % 4) + 9)
            ]
            order += [mine[k] for k in (0, 2, 4, 6, 1, 3, 5, 7)]
    codes = np.arange(16 * 64).reshape(4, 16, 16)  # four tiles of 16 x 16 side by side, as Marlin reshapes them
    weights = codes.transpose(1, 0, 2).reshape(16, 64)  # k x n
    tile = rl.tile_mma(HALF, permutation=(None, 64, None))
    layout = fragment_format(tile, unpack=NIBBLES).layout((64, 16))
    memory = np.zeros(1024, int)
    for n, k in product(range(64), range(16)):
        memory[layout(n, k)] = weights[k, n]
    assert memory.tolist() == order


@pytest.mark.parametrize("name", [HALF, BYTE, "mma.m16n8k8.f32.tf32.tf32.f32", "v_mfma_f32_32x32x8_f16"])
@pytest.mark.parametrize("operand", ["A", "B", "C"])
def test_every_threads_values_lie_together(name, operand):
    found = rl.atoms[name].operand(operand)
    layout = fragment_format(name, operand).layout(found.tile)
    threads, values = found.layout.extents
    for thread, value in product(range(threads), range(values)):
        assert layout(*found.coordinate(thread, value)) == thread * values + value


def test_what_several_warps_hold_is_stored_once():
    tile = rl.tile_mma(HALF, (2, 2))
    layout = fragment_format(tile).layout((16, 16))
    assert sorted(layout(n, k) for n, k in product(range(16), range(16))) == list(range(256))


def test_what_has_no_such_order_is_refused():
    with pytest.raises(rl.ShapeError, match="does not order the 4 values"):
        fragment_format(HALF, unpack=NIBBLES)
    with pytest.raises(rl.ShapeError, match="does not order"):
        fragment_format(HALF, unpack=rl.Layout((2, 2), (1, 1)))
    with pytest.raises(rl.NotExpressible, match="not dealt to threads"):
        fragment_format("wgmma.m64n8k16.f32.f16.f16")
    with pytest.raises(rl.UnknownName, match="it has D, A, B, C"):
        fragment_format(HALF, "weights")
    for atom in ("mma", 5):
        with pytest.raises(rl.UnknownName):
            fragment_format(atom)
    with pytest.raises(rl.ShapeError):
        fragment_format(HALF, unpack=5)
    for rests in ((0, 0), 5, (0,)):
        with pytest.raises(rl.ShapeError, match="tiles follow each other"):
            fragment_format(HALF, rests=rests)


@pytest.mark.parametrize(
    ("name", "bits"),
    [("v_mfma_f32_16x16x32_bf16", 16), ("v_mfma_i32_16x16x64_i8", 8), ("v_mfma_f32_16x16x128_f8f6f4.fp4.fp4", 4)],
)
def test_aiters_shuffle_is_the_order_of_gfx950s_registers(name, bits):
    """16 rows of 16 bytes: at shapes that are whole instructions, where neither has padding."""
    found, aiter = fragment_format(name, rests=(0, 1)), rl.catalog.get("aiter:16x16", bits)
    k = rl.atoms[name].shape[2]
    for shape in ((16, k), (48, k), (16, 3 * k), (80, 2 * k)):
        assert rl.compare(found, aiter, shape=shape)
    narrower = fragment_format("v_mfma_f32_16x16x16_bf16", rests=(0, 1))
    assert not rl.compare(narrower, rl.catalog.get("aiter:16x16", 16), shape=(16, 32))
