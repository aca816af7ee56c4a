"""Intel's atoms: DPAS by the reference code of its extension and sycl-tla's traits, AMX by the manual's operation."""

from __future__ import annotations

from typing import Any

import numpy as np

import relayout as rl
from relayout.hardware.atom import Atom
from relayout.hardware.intel_dpas import BITS

Array = np.ndarray[Any, Any]
DPAS = rl.atoms.search("dpas.*")
AMX = [name for name in rl.atoms if rl.atoms[name].operands[0].where == "tile registers"]


def random_factors(atom: Atom, seed: int) -> dict[str, Array]:
    """A (m, k) and B (n, k)."""
    m, n, k = atom.shape
    rng = np.random.default_rng(seed)
    return {"A": rng.integers(-99, 99, (m, k)), "B": rng.integers(-99, 99, (n, k))}


def in_threads(atom: Atom, which: str, matrix: Array) -> Array:
    """What each thread holds of a matrix, by the atom's layout: (thread, value)."""
    layout = atom.operand(which).layout
    flat = matrix.flatten(order="F")
    threads, values = layout.extents
    return np.array([[flat[layout(t, v)] for v in range(values)] for t in range(threads)])


# ---- DPAS -------------------------------------------------------------------------------------------------


def matrix_mad(a: Array, b: Array, m: int, bits: int) -> Array:
    """The extension's built-in functions, run by all work items: what each has of the result.

    ``a`` has for each work item its part of each row (for tf32 of every second row, the upper work items having the
    odd ones); ``b`` has for each work item its column, 8 registers of 32 bits.
    """
    items = len(a)
    per = 32 // bits
    registers = b.reshape(items, 8, per)
    if bits == 32 and items == 16:
        rows = [[a[(row % 2) * 8 + i, row // 2] for i in range(8)] for row in range(m)]
    else:
        parts = a.reshape(items, m, -1)
        rows = [np.concatenate([parts[item, row] for item in range(items)]) for row in range(m)]
    words = np.array(rows).reshape(m, 8, per)
    result = np.zeros((items, m), int)
    for item in range(items):
        for row in range(m):
            for i in range(8):
                result[item, row] += words[row, i] @ registers[item, i]
    return result


def test_every_dpas_multiplies_by_the_extensions_reference():
    assert len(DPAS) == 92
    for seed, name in enumerate(DPAS):
        atom = rl.atoms[name]
        given = random_factors(atom, seed)
        bits = BITS[atom.operand("A").element]
        held = {which: in_threads(atom, which, given[which]) for which in "AB"}
        made = matrix_mad(held["A"], held["B"], atom.shape[0], bits)
        wanted = in_threads(atom, "C", given["A"] @ given["B"].T)
        assert (made == wanted).all(), name


def test_k_and_the_work_items_are_those_of_the_machines():
    """tensor-layouts 0.3.2 has the subgroups of Xe-HPC and Xe-HPG in each other's place, and k = 8 for all types."""
    for name in DPAS:
        atom = rl.atoms[name]
        assert atom.shape[2] == 8 * (32 // BITS[atom.operand("A").element])
        assert atom.threads == atom.shape[1] == {"xe-hpc": 16, "xe-hpg": 8}[atom.arch]
    assert rl.atoms["dpas.m8n16k16.f32.bf16.bf16.f32"].arch == "xe-hpc"
    assert rl.atoms["dpas.m8n8k32.s32.s8.s8.s32"].arch == "xe-hpg"


TRAITS = {
    "16x16": ("(16,{m}):({m},1)", "(16,16):(1,16)"),
    "16x32": ("(16,(2,{m})):({twice},({m},1))", "(16,32):(1,16)"),
    "16x8": ("((8,2),{half}):(({m},1),2)", "(16,8):(1,16)"),
}
"""A and B of sycl-tla's traits (mma_traits_xe_legacy.hpp) by n x k."""

SYCL_TLA = (
    "16x16_F32BF16BF16F32",
    "16x16_BF16BF16BF16BF16",
    "16x16_F32F16F16F32",
    "16x16_F16F16F16F16",
    "16x32_S32S8S8S32",
    "16x32_S32U8U8S32",
    "16x8_F32TF32TF32F32",
)


def test_sycl_tlas_names_and_traits():
    for name in SYCL_TLA:
        for m in (8, 4, 2, 1):
            atom = rl.atoms[f"XE_{m}x{name}_TT"]
            a, b = TRAITS[name.partition("_")[0]]
            if "TF32" in name and m == 1:
                a = "((8,2),1):((1,0),0)"
            wanted = {"A": a.format(m=m, twice=2 * m, half=m // 2), "B": b, "C": f"(16,{m}):({m},1)"}
            for which, text in wanted.items():
                assert rl.compare(atom.operand(which).layout, f"cute:{text}"), (name, m, which)


def test_sycl_tlas_other_view_counts_the_same_registers():
    """``XE_DPAS_TT`` numbers the values of narrow types by bytes dealt round to the work items, the extension by words.

    Both are right: they say the same of the registers, which hold A row by row, and B by rows of packed elements.
    """
    for name in DPAS:
        atom = rl.atoms[name]
        m, n, k = atom.shape
        element = atom.operand("A").element
        if n == 8 or (BITS[element] == 32 and m == 1):
            continue
        per_word = 32 // BITS[element]
        per_byte = max(1, 8 // BITS[element])
        for which, in_registers in (
            ("A", rl.Layout((k, m), (m, 1))),
            ("B", rl.Layout((per_word, 16, k // per_word), (16, 1, 16 * per_word))),
        ):
            layout = atom.operand(which).layout
            per_item = per_word if which == "B" else max(1, per_word // 2)
            by_extension, by_bytes = {}, {}
            for item in range(16):
                for v in range(layout.extents[1]):
                    word, part = divmod(v, per_item)
                    by_extension[per_item * (item + 16 * word) + part] = layout(item, v)
                    byte, part = divmod(v, per_byte)
                    place = per_byte * (item + 16 * byte) + part
                    by_bytes[place] = in_registers(place)
            assert by_extension == by_bytes, (name, which)


# ---- AMX --------------------------------------------------------------------------------------------------


def tile_product(a: Array, b: Array, per: int) -> Array:
    """The manual's operation on tiles of 16 rows: every row of B's tile has ``per`` elements for each column."""
    made = np.zeros((16, 16), int)
    for m in range(16):
        for k in range(16):
            for n in range(16):
                for i in range(per):
                    made[m, n] += a[m, per * k + i] * b[k, per * n + i]
    return made


def test_every_amx_product_is_the_manuals():
    assert len(AMX) == 11
    for seed, name in enumerate(AMX):
        atom = rl.atoms[name]
        k = atom.shape[2]
        given = random_factors(atom, seed)
        a = in_threads(atom, "A", given["A"]).reshape(16, k)
        b = in_threads(atom, "B", given["B"]).reshape(16, k)
        made = tile_product(a, b, k // 16)
        assert (made.reshape(1, 256) == in_threads(atom, "C", given["A"] @ given["B"].T)).all(), name


def test_amx_is_found_by_the_manuals_name_and_the_intrinsics():
    assert rl.atoms["TDPBF16PS"] is rl.atoms["_tile_dpbf16ps"] is rl.atoms["tdpbf16ps"]
    assert rl.atoms["tdpbssd"].shape == (16, 16, 64)


def test_amxs_b_is_the_catalogs_tile():
    """The catalog's tile takes (k, n) to its place; the atom's B takes that place back to n + 16 k."""
    for name, k in (("TDPBF16PS", 32), ("TDPBSSD", 64)):
        tile, packed = rl.catalog.get(f"amx:{name}_tsrc2"), rl.atoms[name].B
        for along, n in np.ndindex(k, 16):
            assert packed(0, tile(along, n)) == n + 16 * along
