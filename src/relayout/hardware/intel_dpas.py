"""Intel's DPAS, the systolic array of Xe GPUs: which work item of a subgroup holds which element.

A name is the shape, then the types of D, A, B and C: ``dpas.m8n16k16.f32.bf16.bf16.f32``. A subgroup has n work items:
16 on Xe-HPC, Xe2 and later, 8 on Xe-HPG; m is the repeat count, and k is 8 times as many elements as 32 bits hold.
The operands are those of Intel's OpenCL and SPIR-V extension: B comes packed (VNNI), the elements of one register of a
work item being neighbours along k. sycl-tla's names are taken as well: ``XE_8x16x16_F32BF16BF16F32_TT``.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..layout.layout import Layout
from .atom import Atom, product_operands, thread_value

SOURCE = "OpenCL extensions cl_intel_subgroup_matrix_multiply_accumulate and ..._tf32"
JUDGES = ("the extension's reference implementation",)
SYCL_TLA = "sycl-tla's MMA traits"

# The work items of a subgroup, and the types of D, A, B and C: one of each column, where "=" stands the same as A's (in
# B) or as D's (in C).
TABLE = """
8   f32       f16,bf16        =      =
8   s32       s8,u8           s8,u8  =
8   s32       s4,u4           s4,u4  =
16  f32       tf32,f16,bf16   =      =
16  f16       f16             =      =
16  bf16      bf16            =      =
16  s32       s8,u8           s8,u8  =
16  s32       s4,u4           s4,u4  =
"""

BITS = {"tf32": 32, "f16": 16, "bf16": 16, "s8": 8, "u8": 8, "s4": 4, "u4": 4}
ROWS = (8, 4, 2, 1)
"""The repeat counts."""


def atoms() -> Iterator[Atom]:
    """Every DPAS whose A and B have elements of one width."""
    for n, d, a, b in _rows():
        for m in ROWS:
            yield _atom(m, n, (d, a, b, d))


def other_names() -> Iterator[tuple[str, str]]:
    """sycl-tla's names of those for subgroups of 16 that have A and B of one type."""
    for n, d, a, b in _rows():
        if n == 16 and a == b and BITS[a] > 4:
            for m in ROWS:
                k = 256 // BITS[a]
                yield f"XE_{m}x16x{k}_{f'{d}{a}{b}{d}'.upper()}_TT", _name(m, n, k, (d, a, b, d))


def _rows() -> Iterator[tuple[int, str, str, str]]:
    for row in TABLE.strip().splitlines():
        n, d, a_types, b_types, _ = row.split()
        for a in a_types.split(","):
            for b in [a] if b_types == "=" else b_types.split(","):
                yield int(n), d, a, b


def _name(m: int, n: int, k: int, types: tuple[str, str, str, str]) -> str:
    return f"dpas.m{m}n{n}k{k}.{'.'.join(types)}"


def _atom(m: int, n: int, types: tuple[str, str, str, str]) -> Atom:
    bits = BITS[types[1]]
    k = 256 // bits
    layouts = {"A": row_parts(m, n, bits), "B": Layout((n, k), (1, n)), "C": thread_value((n, m), [(m, 1)])}
    note = "work items 8 to 15 are not read for A" if n * bits > 256 and m == 1 else ""
    judges = (*JUDGES, SYCL_TLA) if n == 16 else JUDGES
    arch = "xe-hpc" if n == 16 else "xe-hpg"
    operands = product_operands((m, n, k), layouts, types)
    return Atom(_name(m, n, k, types), (m, n, k), n, operands, arch, SOURCE, judges, note=note)


def row_parts(m: int, n: int, bits: int) -> Layout:
    """A: the work items share each row, 256 bits of it; what is too wide for that has two rows in every register."""
    if n * bits > 256:
        return thread_value(((8, 2), (m, min(1, m - 1))), [(m // 2, 2)])
    near = 256 // (n * bits)
    return thread_value((n, near * m), [(near, m), (m, 1)])
