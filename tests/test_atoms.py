"""The atoms: the registry, and every layout of NVIDIA's against the index formulas of the PTX ISA."""

from __future__ import annotations

import pytest

import relayout as rl

REGISTER = {"f64": 1, "tf32": 1, "f16": 2, "bf16": 2, "s4": 8, "u4": 8, "b1": 32}
"""How many elements PTX's fragments count per register."""


def a_or_b_place(rows: int, lane: int, i: int, per_register: int) -> tuple[int, int]:
    """The row and the k of element i, as PTX's formulas write it: groupID = lane >> 2, threadID_in_group = lane % 4."""
    register, within = divmod(i, per_register)
    group, thread = lane >> 2, lane % 4
    row = group + 8 * (register % 2) if rows == 16 else group
    half = register // 2 if rows == 16 else register
    return row, thread * per_register + within + half * 4 * per_register


def c_place(lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + 8 * (i // 2), (lane % 4) * 2 + i % 2


def test_every_mma_of_a_warp_is_as_ptx_says():
    names = [name for name in rl.atoms.search("mma.m*") if rl.atoms[name].threads == 32]
    assert len(names) >= 58
    for name in names:
        atom = rl.atoms[name]
        m, n, k = atom.shape
        for which, rows in (("A", m), ("B", n)):
            operand = atom.operand(which)
            per_register = REGISTER.get(operand.element, 4)
            assert operand.layout.size == rows * k
            for lane in range(32):
                for i in range(rows * k // 32):
                    place = a_or_b_place(rows, lane, i, per_register)
                    assert operand.coordinate(lane, i) == place, (name, which, lane, i)
        for which in ("C", "D"):
            operand = atom.operand(which)
            assert operand.layout.size == m * n
            for lane in range(32):
                for i in range(m * n // 32):
                    assert operand.coordinate(lane, i) == c_place(lane, i), (name, which, lane, i)


def test_an_atom_is_found_by_the_name_that_ptx_writes_in_full():
    short = rl.atoms["mma.m16n8k16.f32.f16.f16.f32"]
    assert rl.atoms["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"] is short
    assert rl.atoms["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32;"] is short


def test_an_unknown_atom_lists_near_ones():
    with pytest.raises(rl.UnknownName, match=r"near it are mma\.m16n8k16\.f32\.f16\.f16\.f32") as told:
        _ = rl.atoms["mma.m16n8k16.f32.f16.f16"]
    assert isinstance(told.value, KeyError)
    assert "mma.m16n8k16" not in rl.atoms
    assert rl.atoms.get("nothing") is None
    with pytest.raises(rl.UnknownName, match="it has D, A, B, C"):
        _ = rl.atoms["mma.m16n8k16.f32.f16.f16.f32"].SFA
    with pytest.raises(rl.UnknownName):
        _ = rl.atoms[5]


def test_the_registry_is_a_mapping():
    assert len(rl.atoms) == len(list(rl.atoms)) == len(set(rl.atoms))
    assert all(atom.name == name for name, atom in rl.atoms.items())
    assert rl.atoms.search("mma.m8n8k4.f64*") == ["mma.m8n8k4.f64.f64.f64.f64"]
    assert rl.atoms.search("TF32")
