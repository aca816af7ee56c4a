"""AMD's atoms: every entry against AMD's calculator and emulator, Triton, Composable Kernel and a device."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relayout as rl
from relayout.hardware.amd_mfma import CALCULATOR, CK, FORMATS, ROCJITSU, TRITON
from relayout.hardware.atom import Atom, Operand
from triton_vectors import Vector, vectors

Array = np.ndarray[Any, Any]
RECORDED = json.loads((Path(__file__).parent / "atom_vectors" / "amd.json").read_text())
BROADCAST = (".4x64", ".64x4")
NAMES = [name for unit in ("mfma", "wmma", "smfmac", "swmmac") for name in rl.atoms.search(f"v_{unit}_*")]


@cache
def places(layout: rl.Layout) -> Array:
    """The place in the tile of every value of every thread, by the layout's own call."""
    threads, values = layout.extents
    return np.array([[layout(t, v) for v in range(values)] for t in range(threads)])


def every_place(operand: Operand) -> Array:
    return places(operand.layout)


def sums(lane: Sequence[int], value: Sequence[int]) -> Array:
    """What a map says of every lane and value that adds a basis for each bit."""
    made = [np.zeros(1, int), np.zeros(1, int)]
    for side, bases in enumerate((lane, value)):
        for basis in bases:
            made[side] = np.concatenate([made[side], made[side] ^ basis])
    return made[0][:, None] ^ made[1]


# ---- the calculator ---------------------------------------------------------------------------------------


def recorded_name(found: dict[str, Any]) -> str:
    name = str(found["name"])
    if name.startswith(("v_wmma", "v_swmmac")):
        name += f"_w{found['lanes']}"
    return name + "_gfx12" * (found["arch"] == "gfx12" and "E" not in found)


def test_every_instruction_of_amds_calculator_is_an_atom_and_every_element_lies_where_it_says():
    judged = set()
    for found in RECORDED:
        atom = rl.atoms[recorded_name(found)]
        judged.add(atom.name)
        assert [*atom.shape, atom.blocks] == found["shape"]
        assert atom.threads == found["lanes"]
        assert [operand.name for operand in atom.operands] == [*"DABC", *"E" * ("E" in found)]
        for which in [operand.name for operand in atom.operands]:
            basis = found["C" if which == "D" else which]
            told = sums(basis["lane"], basis["value"])
            read = every_place(atom.operand(which))[: len(told)]
            assert (read == told).all(), (atom.name, which)
            assert len(told) == atom.threads or "not read" in atom.note
    assert judged == {name for name in NAMES if CALCULATOR in rl.atoms[name].judges and not name.endswith(BROADCAST)}


def test_the_first_architecture_of_an_instruction_is_the_first_that_lists_it():
    first: dict[str, str] = {}
    for found in RECORDED:
        first.setdefault(rl.atoms[recorded_name(found)].name, found["arch"])
    for name, arch in first.items():
        assert rl.atoms[name].arch == {"gfx11": "gfx1100", "gfx12": "gfx1200"}.get(arch, arch), name
        assert rl.atoms[name].arch != "gfx950"


def test_element_types_are_those_of_the_calculator():
    words = {
        "fp64": "f64",
        "fp32": "f32",
        "fp16": "f16",
        "int32": "i32",
        "int8": "i8",
        "amd_fp8": "fp8",
        "amd_bf8": "bf8",
    }
    for found in RECORDED:
        atom = rl.atoms[recorded_name(found)]
        a, b, c = [words.get(kind, kind) for kind in found["types"]]
        assert [atom.operand(x).element for x in "ABC"] == [a, b, c], atom.name


# ---- Triton -----------------------------------------------------------------------------------------------


def stated(text: str, word: str, default: Any = None) -> Any:
    """What an encoding says of a word: ``version = 3``, ``instrShape = [32, 32, 8]``."""
    found = re.search(rf"\b{word} = (\[.*?\]|[^,\]}}]+)", text)
    return json.loads(found[1]) if found else default


def triton_key(vector: Vector) -> tuple[Any, ...]:
    """What tells operands apart: unit, version, sizes, operand or None for C, width along k, wide C, shape."""
    text = vector.text
    sizes = tuple(stated(text, "instrShape", [16, 16, 16]))
    if "amd_" not in text or (stated(text, "isTransposed?") and sizes[:2] != (64, 4)):
        return ()
    unit = "mfma" if "amd_mfma" in text else "wmma"
    wide = stated(text, "elementBitWidth") == 64
    return unit, stated(text, "version"), sizes, stated(text, "opIdx"), stated(text, "kWidth"), wide, vector.shape


TOLD = {key: vector for vector in vectors("operands") if (key := triton_key(vector))}
SCALES = {vector.text: vector for vector in vectors("scales")}


def triton_places(vector: Vector, operand: int | None) -> Array:
    """The column-major index in A (m, k), B (n, k) or C of every lane and register."""
    rows, columns = vector.shape
    if operand == 1:
        rows, columns = columns, rows

    def index(basis: tuple[int, ...]) -> int:
        row, column = reversed(basis) if operand == 1 else basis
        return row + rows * column

    return sums([index(b) for b in vector.bases["lane"]], [index(b) for b in vector.bases["register"]])


def triton_operand(atom: Atom, which: str) -> Array:
    """What Triton says of an operand of the atom."""
    m, n, k = atom.shape
    unit = atom.name[2:6]
    version = {"gfx1100": 1, "gfx1200": 2, "gfx1250": 3, "gfx950": 4}.get(atom.arch, 3)
    wide = atom.operand("C").element == "f64"
    sizes = (m, n, 8) if unit == "mfma" else (m, n, k)
    if which == "C":
        key = (unit, version, sizes, None, None, wide, (m, n))
        return triton_places(TOLD[key], None)
    rows = m if which == "A" else n
    index = "AB".index(which)
    if unit == "mfma":
        width = k // 16 if atom.name.endswith(BROADCAST) else rows * k // 64
    else:
        width = {1: 16, 2: k // 2, 3: 2 if k == 4 else 8}[version]
    if "f8f6f4" in atom.name or atom.name.endswith("_f4"):
        width = 32 if atom.operand(which).element == "fp4" else 16
    key = (unit, version, sizes, index, width, wide, (rows, k) if index == 0 else (k, rows))
    if key not in TOLD and unit == "mfma":
        return triton_places(SCALES[f"mfma_scale {m}x{n}x{k} {which}"], index)
    return triton_places(TOLD[key], index)


def test_every_atom_that_triton_knows_is_as_triton_says():
    judged = [rl.atoms[name] for name in NAMES if TRITON in rl.atoms[name].judges]
    assert len(judged) == 132
    for atom in judged:
        for which in "ABC":
            told, read = triton_operand(atom, which), every_place(atom.operand(which))
            if atom.arch == "gfx1200" and which != "C" and "number k otherwise" in atom.note:
                assert (told != read).any(), "the note says that they differ"
            else:
                assert told.shape == read.shape, (atom.name, which)
                assert (told == read).all(), (atom.name, which)


def test_triton_numbers_the_k_of_rdna4_otherwise_but_in_a_and_b_alike():
    """One permutation of k takes AMD's numbers to Triton's, in both operands, and so leaves the product as it is."""
    for name in ("v_wmma_f32_16x16x16_f16_w32_gfx12", "v_wmma_bf16_16x16x16_bf16_w32_gfx12"):
        atom = rl.atoms[name]
        permutations = []
        for which in "AB":
            told, read = triton_operand(atom, which), every_place(atom.operand(which))
            assert (told % 16 == read % 16).all(), "the rows are the same"
            permutations.append({(int(r), int(t)) for r, t in zip((read // 16).flat, (told // 16).flat)})
        assert permutations[0] == permutations[1]
        assert len(permutations[0]) == 16


def test_scales_are_where_triton_and_composable_kernel_put_them():
    scaled = [rl.atoms[name] for name in NAMES if "scale" in name]
    assert len(scaled) == 2 * 25 + 2 * 25 + 2
    for atom in scaled:
        m, n, k = atom.shape
        for which, rows in (("A", m), ("B", n)):
            operand = atom.operand(f"SF{which}")
            size = k // operand.tile[1]
            text = f"mfma_scale {m}x{n}x{k} {which} scale"
            if atom.arch == "gfx1250":
                text = f"wmma_scale {m}x{n}x{k} {which} scale {size}"
            assert (every_place(operand) == triton_places(SCALES[text], None)).all(), atom.name
            assert operand.tile == (rows, k // size)


# ---- Composable Kernel, and a device ----------------------------------------------------------------------


def test_narrow_elements_lie_as_composable_kernel_loads_them():
    """By its tables: lane group g holds k = c g to c g + c - 1, then a whole round of groups further, and so on.

    c is 16 elements of 8 bits, or 8 of them in the WMMA with k = 64; it is 32 elements of 6 and 4 bits.
    """
    names = [name for name in NAMES if CK in rl.atoms[name].judges]
    assert len(names) == 100 + 63 + 9 + 8
    assert {name for name in NAMES if "f8f6f4" in name} <= set(names)
    for name in names:
        atom = rl.atoms[name]
        m, n, k = atom.shape
        for which, rows in (("A", m), ("B", n)):
            operand = atom.operand(which)
            near = 32 if operand.element in ("fp6", "bf6", "fp4") else 8 if k == 64 and atom.threads == 32 else 16
            groups = atom.threads // rows
            t, v = np.arange(atom.threads)[:, None], np.arange(rows * k // atom.threads)
            along = near * (t // rows + groups * (v // near)) + v % near
            assert (every_place(operand) == t % rows + rows * along).all(), (name, which)


def emulated(atom: Atom, which: str) -> Array:
    """Where rocJITsu finds the elements of an operand: (thread, value) to the place."""
    m, n, k = atom.shape
    rows, columns = {"A": (m, k), "B": (n, k), "C": (m, n)}[which]
    bits = {"f64": 64, "f32": 32, "xf32": 32, "i32": 32, "f16": 16, "bf16": 16, "fp6": 6, "bf6": 6, "fp4": 4}
    width = bits.get(atom.operand(which).element, 8)
    row, column, block = np.meshgrid(np.arange(rows), np.arange(columns), np.arange(atom.blocks), indexing="ij")
    if which != "C" and atom.threads == 64:
        groups = 64 // (rows * atom.blocks)
        held = k // groups
        if held > 16 and width >= 8:
            group, value = column // 16 % groups, column // 16 // groups * 16 + column % 16
        else:
            group, value = column // held, column % held
        lane = block * rows + group * rows * atom.blocks + row
    elif which != "C":
        near = 2 if width == 32 else 8 if width == 16 else 16 if width == 8 else 32
        lane = row % 16 + 16 * (column // near % 2)
        value = column // (2 * near) * near + column % near + row // 16 * (k // 2)
    elif atom.threads == 64:
        high = 1 if width == 64 else 4
        strips, beside = 64 // n, -(-64 // (m * n // high))
        value = block * (m * n // 64) + row // (high * strips) * high + row % high
        lane = block % beside * n + row // high % strips * beside * n + column
    else:
        lane, value = row % 16 // 8 * n + column, row // 16 * 8 + row % 8
    made = np.full((atom.threads, rows * columns * atom.blocks // atom.threads), -1)
    made[lane, value] = row + rows * (column + columns * block)
    return made


def test_amds_emulator_finds_every_element_there():
    """Its rules hold for every MFMA, for every C of gfx1250, and for A and B but where k has other numbers."""
    dense = [name for name in NAMES if name[:6] in ("v_mfma", "v_wmma") and not name.endswith(BROADCAST)]
    names = [name for name in dense if rl.atoms[name].arch not in ("gfx1100", "gfx1200")]
    assert {name for name in NAMES if ROCJITSU in rl.atoms[name].judges} <= set(names)
    for name in names:
        atom = rl.atoms[name]
        for which in "ABC":
            if which == "C" or atom.threads == 64 or ROCJITSU in atom.judges:
                assert (emulated(atom, which) == every_place(atom.operand(which))).all(), (name, which)


PROBED = {(16, 16, 128): (0, 32, 0, 32, 16, 48, 16, 48), (32, 32, 64): (0, 32, 0, 32)}
"""Which lane's scale a gfx950 applied to each 16 bytes of row 0, in the order of a load of 32 neighbours a lane.

Measured by Composable Kernel's scale_mapping programs; row m is the same, m lanes further.
"""


@pytest.mark.parametrize("shape", PROBED)
def test_a_device_applied_the_scales_as_the_atoms_say(shape: tuple[int, int, int]):
    m, n, k = shape
    atom = rl.atoms[f"v_mfma_scale_f32_{m}x{n}x{k}_f8f6f4.fp8.fp8"]
    for row in range(m):
        for loaded in range(k):
            lane, value = row + m * (loaded // 32), loaded % 32
            along = atom.operand("A").coordinate(lane, value)[1]
            holders = [t for t in range(64) if atom.SFA(t, 0) == row + m * (along // 32)]
            assert holders == [PROBED[shape][loaded // 16] + row]


# ---- several blocks ---------------------------------------------------------------------------------------


def test_blocks_are_the_slowest_dimension_of_each_operand():
    atom = rl.atoms["v_mfma_f32_4x4x4_16b_f16"]
    assert atom.operand("A").tile == atom.operand("C").tile == (4, 4, 16)
    assert atom.operand("C").coordinate(4 * 7 + 1, 3) == (3, 1, 7)


def test_one_block_given_to_all_makes_a_4x64_product():
    """Every instruction is run by its definition: block b of C gets A of block ``abid`` times B of block b."""
    rng = np.random.default_rng(1)
    forms = [name for name in NAMES if name.endswith(BROADCAST)]
    assert len(forms) == 2 * 5
    for name in forms:
        atom, block = rl.atoms[name], rl.atoms[name.rpartition(".")[0]]
        m, n, k = atom.shape
        a, b = rng.integers(-9, 9, (m, k)), rng.integers(-9, 9, (n, k))
        near = k // 16
        few, many = ("A", "B") if m == 4 else ("B", "A")
        values = {"A": a.T.flatten(), "B": b.T.flatten()}
        shared = values[few][every_place(atom.operand(few))]
        others = values[many][every_place(atom.operand(many))]
        lanes_c = np.zeros((64, 4), int)
        for abid in range(16):
            given_a, given_b = np.zeros((4, near, 16), int), np.zeros((4, near, 16), int)
            for t, v in np.ndindex(64, near):
                given_a[block.operand("A").coordinate(t, v)] = shared[t, v]
                given_b[block.operand("B").coordinate(t, v)] = others[t, near * abid + v]
            made = np.einsum("ik,jkb->ijb", given_a[:, :, abid], given_b)
            for t, v in np.ndindex(64, 4):
                lanes_c[t, v] += made[block.operand("C").coordinate(t, v)]
        whole = np.zeros(m * n, int)
        whole[every_place(atom.operand("C"))] = lanes_c
        assert (a @ b.T == whole.reshape(n, m).T).all(), name


# ---- all of them ------------------------------------------------------------------------------------------


def test_every_operand_covers_its_tile_and_c_holds_each_element_once():
    assert len(NAMES) == len(set(NAMES)) == 313
    for name in NAMES:
        atom = rl.atoms[name]
        assert atom.judges
        for operand in atom.operands:
            places = every_place(operand)
            assert set(places.flat) == set(range(int(np.prod(operand.tile)))), (name, operand.name)
            if operand.name in ("C", "D"):
                assert len(set(places.flat)) == places.size


def test_older_and_other_spellings_name_the_same_atom():
    for spelling, name in {
        "v_mfma_f32_32x32x1f32": "v_mfma_f32_32x32x1_2b_f32",
        "v_mfma_f32_16x16x16bf16_1k": "v_mfma_f32_16x16x16_bf16",
        "llvm.amdgcn.mfma.f32.32x32x8f16": "v_mfma_f32_32x32x8_f16",
        "rocdl.mfma.f64.16x16x4f64": "v_mfma_f64_16x16x4_f64",
        "__builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12": "v_wmma_f32_16x16x16_f16_w32_gfx12",
        "v_mfma_f32_16x16x128_f8f6f4 cbsz:4 blgp:4": "v_mfma_f32_16x16x128_f8f6f4.fp4.fp4",
        "v_mfma_scale_f32_32x32x64_f8f6f4 blgp:1": "v_mfma_scale_f32_32x32x64_f8f6f4.fp8.bf8",
    }.items():
        assert rl.atoms[spelling].name == name
    assert FORMATS.index("fp4") == 4


def test_a_name_of_several_instructions_lists_them():
    with pytest.raises(rl.UnknownName, match=r"_w32, .*_w64, .*_w32_gfx12, .*_w64_gfx12"):
        _ = rl.atoms["v_wmma_f32_16x16x16_f16"]
    with pytest.raises(rl.UnknownName, match=r"f8f6f4\.fp8\.fp8"):
        _ = rl.atoms["v_mfma_f32_16x16x128_f8f6f4"]
    with pytest.raises(rl.UnknownName):
        _ = rl.atoms["v_mfma_f32_16x16x128_f8f6f4 cbsz:7"]


OTHERS = (
    ("v_mfma_f32_32x32x8_f16", "A", "((2,32),4):((0,1),32)", 4),
    ("v_mfma_f32_32x32x8_f16", "C", "((2,32),(4,4)):((4,32),(8,1))", 8),
    ("v_mfma_f32_16x16x16_f16", "C", "((4,16),(1,4)):((4,16),(16,1))", 16),
    ("v_wmma_f32_16x16x16_f16_w32", "C", "((2,16),8):((8,16),1)", 2),
    ("v_wmma_f32_16x16x16_f16_w32_gfx12", "C", "((2,16),8):((8,16),1)", 16),
)
"""What tensor-layouts 0.3.2 says, and how many of its entries AMD's calculator confirms."""


@pytest.mark.parametrize(("name", "which", "text", "right"), OTHERS)
def test_the_tables_of_others_are_not_ours(name: str, which: str, text: str, right: int):
    (found,) = [one for one in RECORDED if recorded_name(one) == name]
    told = sums(found[which]["lane"], found[which]["value"])
    assert (places(rl.parse(f"cute:{text}")) == told).sum() == right
    assert (every_place(rl.atoms[name].operand(which)) == told).all()


def test_instructions_that_do_not_exist_have_no_atom():
    """``v_wmma_f32_16x16x32_f16`` is gfx1250's, not RDNA4's."""
    assert not [name for name in NAMES if "16x16x32_f16" in name and name.endswith("gfx12")]
    assert rl.atoms["v_wmma_f32_16x16x32_f16"].arch == "gfx1250"
