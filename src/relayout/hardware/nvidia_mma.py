"""NVIDIA's ``mma.sync``: which lane of a warp holds which element, for every shape and type of PTX.

A name is PTX's without ``.sync.aligned`` and ``.row.col``: the shape, then the types of D, A, B and C.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

from ..layout.layout import Layout
from .atom import Atom, product_operands, thread_value

SOURCE = "PTX ISA 9.0, 9.7.15: matrix fragments for mma; CUTLASS 7107b055, cute/atom/mma_traits_sm*.hpp"

# The first architecture, the shapes, and the types of D, A, B and C: one of each column, or where "=" stands the same
# as A's (in B) or as D's (in C). A row's last column is what PTX writes after the types.
TABLE = """
sm75  m16n8k8                            f16,f32  f16                 =      =
sm80  m16n8k16                           f16,f32  f16                 =      =
sm80  m16n8k8 m16n8k16                   f32      bf16                =      =
sm80  m16n8k4 m16n8k8                    f32      tf32                =      =
sm80  m8n8k4                             f64      f64                 =      =
sm90  m16n8k4 m16n8k8 m16n8k16           f64      f64                 =      =
sm75  m8n8k16                            s32      s8,u8               s8,u8  =
sm80  m16n8k16 m16n8k32                  s32      s8,u8               s8,u8  =
sm75  m8n8k32                            s32      s4,u4               s4,u4  =
sm80  m16n8k32 m16n8k64                  s32      s4,u4               s4,u4  =
sm75  m8n8k128                           s32      b1                  =      =     .xor.popc
sm80  m16n8k128 m16n8k256                s32      b1                  =      =     .xor.popc
sm80  m8n8k128 m16n8k128 m16n8k256       s32      b1                  =      =     .and.popc
sm89  m16n8k16 m16n8k32                  f16,f32  e4m3,e5m2           e4m3,e5m2  =
"""

BITS = {"f64": 64, "tf32": 32, "f16": 16, "bf16": 16, "s4": 4, "u4": 4, "b1": 1}
"""The width of an element in a register; the others have 8 bits."""


def atoms() -> Iterator[Atom]:
    """Every ``mma.sync``."""
    for row in TABLE.strip().splitlines():
        arch, *words = row.split()
        after = words.pop() if words[-1].startswith(".") else ""
        *shapes, d_types, a_types, b_types, _ = words
        for shape, d, a in product(shapes, d_types.split(","), a_types.split(",")):
            for b in [a] if b_types == "=" else b_types.split(","):
                yield _atom(arch, shape, (d, a, b, d), after)


def _atom(arch: str, shape: str, types: tuple[str, str, str, str], after: str) -> Atom:
    m, n, k = sizes = shape_of(shape)
    bits = BITS.get(types[1], 8)
    layouts = {"A": fragment(m, k, bits), "B": fragment(n, k, bits), "C": accumulator(m, n)}
    name = f"mma.{shape}.{'.'.join(types)}{after}"
    return Atom(name, sizes, 32, product_operands(sizes, layouts, types), arch, SOURCE, ("PTX's formulas",))


def shape_of(text: str) -> tuple[int, int, int]:
    """The sizes of a shape as PTX writes it: ``m16n8k16``."""
    m, rest = text.removeprefix("m").split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


@cache
def fragment(rows: int, k: int, bits: int) -> Layout:
    """A (rows x k) or B of a warp.

    Four lanes share a row, and each of their registers of 32 bits holds neighbours along k; the next registers are 8
    rows down, then four registers further along k.
    """
    together = max(1, 32 // bits)
    values = [(together, rows), (rows // 8, 8), (k // (4 * together), 4 * together * rows)]
    return thread_value(((4, 8), (together * rows, 1)), values)


@cache
def accumulator(m: int, n: int) -> Layout:
    """C of a warp: two neighbours along n, then 8 rows down."""
    return thread_value(((4, 8), (2 * m, 1)), [(2, m), (m // 8, 8), (n // 8, 8 * m)])
