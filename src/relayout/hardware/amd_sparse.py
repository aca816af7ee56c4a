"""AMD's sparse SMFMAC (gfx942) and SWMMAC (RDNA4): of every four elements of A along k two are kept.

A has the kept ones, k / 2 of them in a row, and lies as the A of a dense instruction with half of k; B is dense. E has
for each kept element its place among the four, two bits, in the lane and in the order of A. A name is the mnemonic, and
on RDNA4 the wave that the compiler's builtin says: ``v_swmmac_f32_16x16x32_f16_w32``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ..layout.layout import Layout
from . import amd_mfma, amd_wmma
from .amd_mfma import CALCULATOR
from .atom import Atom, Operand

MFMA_SOURCE = "AMD CDNA3 ISA: sparse matrix arithmetic instructions"
WMMA_SOURCE = "AMD RDNA4 ISA: sparse wave matrix multiply accumulate"

# The types of C and of A and B (a pair of each, where several), and the shapes.
MFMA_TABLE = """
f32  f16      32x32x16 16x16x32
f32  bf16     32x32x16 16x16x32
i32  i8       32x32x32 16x16x64
f32  fp8,bf8  32x32x32 16x16x64
"""
WMMA_TABLE = """
f32   f16      16x16x32
f32   bf16     16x16x32
f16   f16      16x16x32
bf16  bf16     16x16x32
i32   iu8      16x16x32
i32   iu4      16x16x32 16x16x64
f32   fp8,bf8  16x16x32
"""

NOTE = "of every four along k A keeps two, which j counts; C and D are one register"


def atoms() -> Iterator[Atom]:
    """Every sparse instruction of gfx942 and RDNA4."""
    for c, a, b, (m, n, k) in _rows(MFMA_TABLE):
        layouts = (amd_mfma.factor(m, k // 2), amd_mfma.factor(n, k), amd_mfma.accumulator(m, n))
        name = f"v_smfmac_{c}_{m}x{n}x{k}_{_types(a, b)}"
        yield _atom(name, (m, n, k), 64, (c, a, b), layouts, "gfx942", MFMA_SOURCE)
    for wave, (c, a, b, (m, n, k)) in product((32, 64), _rows(WMMA_TABLE)):
        bits = amd_wmma.BITS.get(a, 8)
        kept, dense = amd_wmma.factor(k // 2, bits, wave), amd_wmma.factor(k, bits, wave)
        name = f"v_swmmac_{c}_{m}x{n}x{k}_{_types(a, b)}_w{wave}"
        note = f"; {amd_wmma.UNREAD.replace('A and B', 'A and E')}" if 8 * k * bits < 32 * wave else ""
        layouts = (kept, dense, amd_wmma.accumulator(wave))
        yield _atom(name, (m, n, k), wave, (c, a, b), layouts, "gfx1200", WMMA_SOURCE, note)


def _atom(
    name: str,
    shape: tuple[int, int, int],
    threads: int,
    types: tuple[str, str, str],
    layouts: tuple[Layout, Layout, Layout],
    arch: str,
    source: str,
    note: str = "",
) -> Atom:
    m, n, k = shape
    c, a, b = types
    kept, dense, sums = layouts
    operands = (
        Operand("D", sums, (m, n), c),
        Operand("A", kept, (m, k // 2), a),
        Operand("B", dense, (n, k), b),
        Operand("C", sums, (m, n), c),
        Operand("E", kept, (m, k // 2), "u2"),
    )
    return Atom(name, shape, threads, operands, arch, source, (CALCULATOR,), note=NOTE + note)


def _types(a: str, b: str) -> str:
    return f"{a}_{b}" if a in amd_mfma.FORMATS else a


def _rows(table: str) -> Iterator[tuple[str, str, str, tuple[int, int, int]]]:
    for row in table.strip().splitlines():
        c, inputs, *shapes = row.split()
        for shape, a, b in product(shapes, inputs.split(","), inputs.split(",")):
            yield c, a, b, amd_mfma.sizes_of(shape)
