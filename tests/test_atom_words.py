"""What ``explain`` says of an atom: its formulas are evaluated for every thread and value."""

from __future__ import annotations

import numpy as np
import pytest

import relayout as rl
from relayout.ask.atom_words import index_formulas
from relayout.hardware.atom import Operand
from relayout.hardware.atoms import as_atom


def test_every_formula_gives_the_coordinate_of_every_value():
    seen: set[tuple[rl.Layout, tuple[int, ...]]] = set()
    untold = set()
    for name in rl.atoms:
        for operand in rl.atoms[name].operands:
            if (operand.layout, operand.tile) in seen or operand.layout.size > 1 << 15:
                continue
            seen.add((operand.layout, operand.tile))
            formulas = index_formulas(operand)
            if not formulas:
                untold.add(name)
                continue
            threads, values = operand.layout.extents
            t, v = np.meshgrid(np.arange(threads), np.arange(values), indexing="ij")
            place, below = np.zeros_like(t), 1
            for formula, size in zip(formulas, operand.tile, strict=True):
                along = eval(formula.partition(" = ")[2], {}, {"t": t, "v": v})
                assert np.all(along < size)
                place, below = place + along * below, below * size
            assert (place == operand.layout.offsets()).all(), (name, operand.name, formulas)
    assert len(seen) > 250
    assert all(name.startswith("cp.async.bulk.tensor.swizzle") for name in untold)


def test_an_atom_is_explained_as_a_manual_writes_it():
    told = rl.explain(rl.atoms["mma.m16n8k16.f32.f16.f16.f32"]).splitlines()
    assert told[0] == "mma.m16n8k16.f32.f16.f16.f32: D = A * B + C of 16 x 8 x 16, by 32 threads t with values v."
    assert "C and D (f32 16 x 8): m = t//4 + 8*(v//2), n = v%2 + 2*(t%4)." in told
    assert "A (f16 16 x 16): m = t//4 + 8*(v//2%2), k = v%2 + 2*(t%4) + 8*(v//4)." in told
    assert "each element 2 times" in rl.explain(rl.atoms["v_wmma_f32_16x16x16_f16_w32"])
    assert "b = t//4" in rl.explain(rl.atoms["v_mfma_f32_4x4x4_16b_f16"])
    assert "by 1 thread with values v" in rl.explain(rl.atoms["tdpbf16ps"])
    assert "Of A and B, lanes 32 to 63 are not read." in rl.explain(rl.atoms["v_wmma_i32_16x16x16_iu4_w64_gfx12"])


def test_what_is_no_sum_of_digits_is_told_as_a_layout():
    told = rl.explain(rl.atoms["cp.async.bulk.tensor.swizzle_128B"])
    assert "Sw<3,4,3>" in told
    assert "i0 = v%128, i1 = v//128" in told
    odd = Operand("A", rl.Layout((4, 3), (5, 3)), (4, 6), "f32")
    assert index_formulas(odd) == []


def test_an_atom_has_its_own_sizes():
    with pytest.raises(rl.ShapeError, match="its own sizes and types"):
        rl.explain(rl.atoms["tdpbf16ps"], shape=(16, 16))


def test_an_atom_is_explained_by_its_name():
    for name in ("mma.m16n8k16.f32.f16.f16.f32", "v_mfma_f32_32x32x8f16", "XE_8x16x16_F32BF16BF16F32_TT", "TDPBF16PS"):
        assert rl.explain(name) == rl.explain(rl.atoms[name])
    for name in rl.atoms:
        assert as_atom(name) is rl.atoms[name]
    with pytest.raises(rl.UnknownName, match="near it are v_mfma_f32_32x32x8_f16"):
        rl.explain("v_mfma_f32_32x32x8_f8")
    for name in (*rl.catalog.names(), "(4,2):(1,4)", "abcd", "f32[2,3]{1,0}", "v", "t", "cp", "llvm"):
        assert as_atom(name) is None


def test_where_one_layout_is_wanted_an_atom_names_its_operands():
    atom = rl.atoms["v_mfma_f32_32x32x8_f16"]
    for ask in (lambda: rl.compare(atom, atom), lambda: rl.rosetta(atom), lambda: rl.repack(np.zeros(4), atom)):
        with pytest.raises(rl.ShapeError, match=r"is an instruction.* ask about atom\.D, atom\.A, atom\.B, atom\.C"):
            ask()
    assert rl.compare(atom.operand("A"), atom.B)
