"""NVIDIA's ``mma.sync``: which lane of a warp holds which element, for every shape and type of PTX.

A name is PTX's without ``.sync.aligned`` and ``.row.col``: the shape, then the types of D, A, B and C.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

from ..layout.layout import Layout
from .atom import Atom, Operand, product_operands, thread_value

SOURCE = "PTX ISA 9.0, 9.7.14: matrix fragments for mma; CUTLASS 7107b055, cute/atom/mma_traits_sm*.hpp"

# The first architecture, the shapes with what PTX writes right after them, the types of D, A, B and C, and what PTX
# writes after those. A column has one type or several; "=" is the type of A (for B) or of D (for C).
TABLE = """
sm75  m16n8k8                       f16,f32  f16        =          =
sm80  m16n8k16                      f16,f32  f16        =          =
sm80  m16n8k8 m16n8k16              f32      bf16       =          =
sm80  m16n8k4 m16n8k8               f32      tf32       =          =
sm80  m8n8k4                        f64      f64        =          =
sm90  m16n8k4 m16n8k8 m16n8k16      f64      f64        =          =
sm75  m8n8k16                       s32      s8,u8      s8,u8      =
sm80  m16n8k16 m16n8k32             s32      s8,u8      s8,u8      =
sm75  m8n8k32                       s32      s4,u4      s4,u4      =
sm80  m16n8k32 m16n8k64             s32      s4,u4      s4,u4      =
sm75  m8n8k128                      s32      b1         =          =  .xor.popc
sm80  m16n8k128 m16n8k256           s32      b1         =          =  .xor.popc
sm80  m8n8k128 m16n8k128 m16n8k256  s32      b1         =          =  .and.popc
sm89  m16n8k16 m16n8k32             f16,f32  e4m3,e5m2  e4m3,e5m2  =

sm120 m16n8k32.kind::f8f6f4         f16,f32  e4m3,e5m2,e3m2,e2m3,e2m1  e4m3,e5m2,e3m2,e2m3,e2m1  =
sm120 m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X  f32  e4m3,e5m2,e3m2,e2m3,e2m1  e4m3,e5m2,e3m2,e2m3,e2m1  =  .ue8m0
sm120 m16n8k64.kind::mxf4.block_scale.scale_vec::2X      f32  e2m1  =  =  .ue8m0
sm120 m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::2X  f32  e2m1  =  =  .ue8m0
sm120 m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X  f32  e2m1  =  =  .ue4m3
"""  # noqa: E501

BITS = {"f64": 64, "tf32": 32, "f16": 16, "bf16": 16, "s4": 4, "u4": 4, "b1": 1}
"""The width of an element in a register; the others have 8 bits, also those of 6 and 4 but for ``kind::mxf4``."""

# Volta's: the eight threads of a quad pair. By rows a thread has a row of A (a column of B), otherwise one k.
QUAD_PAIR = Layout((4, 2), (1, 16))
WHOLE_ROW = Layout((8, 4), (1, 8))
ONE_K = Layout(((4, 2), 4), ((8, 4), 1))
ACCUMULATOR_16 = Layout((8, 8), (1, 8))
ACCUMULATOR_32 = Layout(((2, 2, 2), (2, 2, 2)), ((1, 16, 4), (8, 2, 32)))


def atoms() -> Iterator[Atom]:
    """Every ``mma.sync``."""
    for d, c in (("f16", "f16"), ("f32", "f16"), ("f32", "f32")):
        for a_order, b_order in product(("row", "col"), repeat=2):
            yield _volta((a_order, b_order), (d, "f16", "f16", c))
    for row in TABLE.split("\n"):
        if row:
            arch, *words = row.split()
            after = words.pop() if words[-1].startswith(".") else ""
            *shapes, d_types, a_types, b_types, _ = words
            for shape, d, a in product(shapes, d_types.split(","), a_types.split(",")):
                for b in [a] if b_types == "=" else b_types.split(","):
                    yield _atom(arch, shape, (d, a, b, d), after)


def _atom(arch: str, shape: str, types: tuple[str, str, str, str], after: str) -> Atom:
    m, n, k = sizes = shape_of(shape)
    packed = "kind::mxf4" in shape
    bits = 4 if packed else BITS.get(types[1], 8)
    layouts = {"A": fragment(m, k, bits), "B": fragment(n, k, bits), "C": accumulator(m, n)}
    operands, note = product_operands(sizes, layouts, types), ""
    if "block_scale" in shape:
        parts = int(shape[-2])
        operands += (
            Operand("SFA", thread_value(((2, 2, 8), (8, 0, 1)), [(parts, 16)]), (16, parts), after[1:]),
            Operand("SFB", thread_value(((4, 8), (0, 1)), [(parts, 8)]), (8, parts), after[1:]),
        )
        note = "Of a row's scales PTX reads one pair of lanes in four (SFA) and one lane in four (SFB), as it is told."
    elif "kind" in shape:
        note = "Elements of 6 and 4 bits lie in bytes: e3m2 and e2m3 in bits 0 to 5, e2m1 in bits 2 to 5."
    name = f"mma.{shape}.{'.'.join(types)}{after}"
    return Atom(name, sizes, 32, operands, arch, SOURCE, _judges(arch, shape, bits), note=note)


def _judges(arch: str, shape: str, bits: int) -> tuple[str, ...]:
    """PTX's formulas judge all; Triton has tiles of 256 bits along k, and an H200 runs what is older than Blackwell."""
    m, _, k = shape_of(shape)
    triton = bits > 1 and (k == 8 * max(1, 32 // bits) if m == 16 else bits == 64)
    found = ("PTX's formulas", *["Triton's linear layouts"] * triton)
    return (*found, "an H200") if arch != "sm120" else (*found, *["CUTLASS's traits"] * ("block_scale" in shape))


def _volta(orders: tuple[str, str], types: tuple[str, str, str, str]) -> Atom:
    layouts = {
        "A": WHOLE_ROW if orders[0] == "row" else ONE_K,
        "B": WHOLE_ROW if orders[1] == "col" else ONE_K,
        "C": ACCUMULATOR_16 if types[3] == "f16" else ACCUMULATOR_32,
        "D": ACCUMULATOR_16 if types[0] == "f16" else ACCUMULATOR_32,
    }
    order = "" if orders == ("row", "col") else f".{'.'.join(orders)}"
    operands = product_operands((8, 8, 4), layouts, types)
    name = f"mma.m8n8k4{order}.{'.'.join(types)}"
    note = "A warp runs four of them, in lanes 4q to 4q + 3 and 16 + 4q to 19 + 4q."
    return Atom(name, (8, 8, 4), 8, operands, "sm70", SOURCE, ("PTX's formulas", "an H200"), QUAD_PAIR, note=note)


def shape_of(text: str) -> tuple[int, int, int]:
    """The sizes of a shape as PTX writes it, ``m16n8k16``, whatever follows a point."""
    m, rest = text.partition(".")[0].removeprefix("m").split("n")
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
