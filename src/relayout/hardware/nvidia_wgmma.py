"""NVIDIA's ``wgmma``: four warps of Hopper. A is in registers or in shared memory, B in shared memory, C in registers.

A name is PTX's without ``.mma_async.sync.aligned``: the shape, then the types of D, A and B.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

from ..layout.layout import Layout
from .atom import Atom, Operand, thread_value

SOURCE = "PTX ISA 9.0, 9.7.15: wgmma; CUTLASS 7107b055, cute/atom/mma_traits_sm90_gmma.hpp"

# The k, the types of D, A and B ("=" is that of A), what PTX writes after them, and which n there are.
TABLE = """
16   f16,f32  f16        =          .          eights
16   f32      bf16       =          .          eights
8    f32      tf32       =          .          eights
32   f16,f32  e4m3,e5m2  e4m3,e5m2  .          eights
32   s32      s8,u8      s8,u8      .          sixteens
256  s32      b1         =          .and.popc  sixteens
"""

WIDTHS = {"eights": tuple(range(8, 257, 8)), "sixteens": (8, 16, 24, *range(32, 257, 16))}

ALONG_K = ("smem:K_INTER", "smem:K_SW32", "smem:K_SW64", "smem:K_SW128")
ALONG_ROWS = ("smem:MN_INTER", "smem:MN_SW32", "smem:MN_SW64", "smem:MN_SW128")
"""The tiles of shared memory; those along the rows only for elements of 16 bits."""

JUDGES = ("PTX's formulas", "Triton's linear layouts", "an H200")


def atoms() -> Iterator[Atom]:
    """Every ``wgmma``."""
    for row in TABLE.strip().splitlines():
        k, d_types, a_types, b_types, after, widths = row.split()
        for n, d, a in product(WIDTHS[widths], d_types.split(","), a_types.split(",")):
            for b in [a] if b_types == "=" else b_types.split(","):
                yield _atom((64, n, int(k)), (d, a, b), after.rstrip("."))


def _atom(shape: tuple[int, int, int], types: tuple[str, str, str], after: str) -> Atom:
    m, n, k = shape
    d, a, b = types
    tiles = ALONG_K + (ALONG_ROWS if a in ("f16", "bf16") else ())
    operands = (
        Operand("D", accumulator(n), (m, n), d),
        Operand("A", fragment(k), (m, k), a, "registers or shared memory", tiles),
        Operand("B", shared_operand(n, k), (n, k), b, "shared memory", tiles),
        Operand("C", accumulator(n), (m, n), d),
    )
    judged_by_triton = n & (n - 1) == 0 and a != "b1"
    judges = JUDGES if judged_by_triton else (JUDGES[0], JUDGES[2])
    return Atom(f"wgmma.m64n{n}k{k}.{'.'.join(types)}{after}", shape, 128, operands, "sm90", SOURCE, judges)


@cache
def fragment(k: int) -> Layout:
    """A in registers: each warp has 16 rows, as in ``mma.sync``; k is always 256 bits."""
    together = k // 8
    return thread_value(((4, 8, 4), (64 * together, 1, 16)), [(together, 64), (2, 8), (2, 64 * 4 * together)])


@cache
def accumulator(n: int) -> Layout:
    """C: each warp has 16 rows, and of every 8 columns what a warp of ``mma.sync`` has."""
    return thread_value(((4, 8, 4), (128, 1, 16)), [(2, 64), (2, 8), (n // 8, 512)])


@cache
def shared_operand(rows: int, k: int) -> Layout:
    """An operand in shared memory, which all threads name together."""
    return Layout((128, (rows, k)), (0, (1, rows)))
