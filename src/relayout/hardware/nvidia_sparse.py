"""NVIDIA's sparse ``mma.sp``: of every four elements of A along k two are kept.

A has the kept ones, k / 2 of them in a row, and lies as the A of a dense instruction with half of k; B is dense. E says
which are kept, two bits for each: its place among the four. Of 32-bit elements one of two is kept, and E has four bits
for it (4 for the first, 14 for the second); 4-bit ones are kept in pairs, and E has two bits for a pair. A name is
PTX's without ``::ordered_metadata.sync.aligned`` and ``.row.col``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ..layout.layout import Layout
from .atom import Atom, Operand, thread_value
from .nvidia_mma import BITS, accumulator, fragment, shape_of

SOURCE = "PTX ISA 9.0, 9.7.14: mma.sp and its sparse matrix storage"

# The first architecture, the shapes, and the types of D, A and B; "=" is the type of A. C has the type of D.
TABLE = """
sm80  m16n8k16 m16n8k32    f16,f32  f16        =
sm80  m16n8k16 m16n8k32    f32      bf16       =
sm80  m16n8k8 m16n8k16     f32      tf32       =
sm80  m16n8k32 m16n8k64    s32      s8,u8      s8,u8
sm80  m16n8k64 m16n8k128   s32      s4,u4      s4,u4
sm89  m16n8k64             f32      e4m3,e5m2  e4m3,e5m2
"""

JUDGES = ("an H200",)


def atoms() -> Iterator[Atom]:
    """Every ``mma.sp`` up to Hopper."""
    for row in TABLE.strip().splitlines():
        arch, *shapes, d_types, a_types, b_types = row.split()
        for shape, d, a in product(shapes, d_types.split(","), a_types.split(",")):
            for b in [a] if b_types == "=" else b_types.split(","):
                yield _atom(arch, shape, (d, a, b))


def _atom(arch: str, shape: str, types: tuple[str, str, str]) -> Atom:
    m, n, k = sizes = shape_of(shape)
    d, a, b = types
    bits = BITS.get(a, 8)
    layout, element, kept = indices(k, bits)
    operands = (
        Operand("D", accumulator(m, n), (m, n), d),
        Operand("A", fragment(m, k // 2, bits), (m, k // 2), a),
        Operand("B", fragment(n, k, bits), (n, k), b),
        Operand("C", accumulator(m, n), (m, n), d),
        Operand("E", layout, (m, kept), element),
    )
    return Atom(f"mma.sp.{shape}.{'.'.join((*types, d))}", sizes, 32, operands, arch, SOURCE, JUDGES)


def indices(k: int, bits: int) -> tuple[Layout, str, int]:
    """E: its layout, its element and how many there are in a row.

    A register has 8 times four bits. Of wide elements they are for 4 parts of a row, then for the row 8 below, and the
    next lanes have further parts; of bytes and less for 8 parts of a row, with the row 8 below in the next lane. Where
    some lanes of a quad have no part of their own, the instruction says which ones it reads.
    """
    parts = k // {32: 2, 4: 8}.get(bits, 4)
    together = 1 if bits == 32 else 2
    step = 16 * together
    if bits >= 16:
        spread = parts // 4
        quad, values = [(spread, 4 * step), (4 // spread, 0)], [(4, step), (2, 8)]
    else:
        quad, values = [(2, 8), (2, 8 * step if parts == 16 else 0)], [(8, step)]
    threads = [*[digit for digit in quad if digit[0] > 1], (8, 1)]
    sizes, strides = zip(*threads)
    return thread_value((sizes, strides), [(together, 16), *values]), "u4" if bits == 32 else "u2", parts * together
