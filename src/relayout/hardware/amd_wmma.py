"""AMD's WMMA (RDNA3, RDNA4 and gfx1250): which lane holds which element.

A name is the mnemonic with what the compiler's builtin adds, since waves of 32 and of 64, gfx11 and gfx12 place the
elements of one mnemonic differently: ``v_wmma_f32_16x16x16_f16_w32``, and on RDNA4
``v_wmma_f32_16x16x16_f16_w32_gfx12``. gfx1250 has waves of 32 only, and adds nothing; its ``f8f6f4`` say the formats of
A and B after a dot.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ..layout.layout import Layout
from .amd_mfma import CALCULATOR, CK, FORMATS, ROCJITSU, TRITON, lanes
from .atom import Atom, Operand, product_operands, thread_value

RDNA3 = "AMD RDNA3 ISA: wave matrix multiply accumulate"
RDNA4 = "AMD RDNA4 ISA: wave matrix multiply accumulate"
GFX1250 = "AMD CDNA5 ISA: wave matrix multiply accumulate, as Triton, Composable Kernel and rocJITsu write it out"

# The types of C and of A and B (a pair of each, where several), and the sizes of k, of gfx11 and gfx12.
TABLE = """
f32   f16      16
f32   bf16     16
f16   f16      16
bf16  bf16     16
i32   iu8      16
i32   iu4      16
"""
TABLE_GFX12 = """
i32   iu4      32
f32   fp8,bf8  16
"""
TABLE_GFX1250 = """
f32   f32      4
f32   f16      32
f32   bf16     32
f16   f16      32
bf16  bf16     32
i32   iu8      64
f32   fp8,bf8  64
f16   fp8,bf8  64
f32   fp8,bf8  128
f16   fp8,bf8  128
"""

EIGHT_BITS = ("fp8", "bf8")

BITS = {"f32": 32, "f16": 16, "bf16": 16, "iu4": 4}
"""The width of an element of A and B; the others have 8 bits."""

HALVES = "each 16-bit value of C and D is the low half of its register; op_sel:[0,0,1] takes the high half"
NUMBERED = "Triton and IREE number k otherwise, in A and B alike, so that the product is the same"
OTHERWISE = {
    64: "rocJITsu and IREE number k otherwise, in A and B alike, so that the product is the same",
    128: "Triton and IREE number k otherwise, in A and B alike, so that the product is the same",
}
"""By the size of k."""
UNREAD = "of A and B, lanes 32 to 63 are not read"


def atoms() -> Iterator[Atom]:
    """Every dense WMMA but those of gfx1250 that multiply 8 bits by fewer without scales."""
    for wave, (c, a, b, k) in product((32, 64), _rows(TABLE)):
        layouts = {"A": whole_rows(wave), "B": whole_rows(wave), "C": alternate_rows(wave)}
        name = f"v_wmma_{c}_16x16x{k}_{a}_w{wave}"
        judges = (CALCULATOR, TRITON) if wave == 32 else (CALCULATOR,)
        note = HALVES if c in ("f16", "bf16") else ""
        yield _atom(name, (c, a, b), k, wave, layouts, "gfx1100", RDNA3, judges, note)
    for wave, (c, a, b, k) in product((32, 64), [*_rows(TABLE), *_rows(TABLE_GFX12)]):
        bits = BITS.get(a, 8)
        layouts = {"A": factor(k, bits, wave), "B": factor(k, bits, wave), "C": accumulator(wave)}
        name = f"v_wmma_{c}_16x16x{k}_{_types(a, b)}_w{wave}_gfx12"
        judges = (CALCULATOR, TRITON) if wave == 32 else (CALCULATOR,)
        note = NUMBERED if bits == 16 and wave == 32 else UNREAD if 16 * k * bits < 32 * wave else ""
        yield _atom(name, (c, a, b), k, wave, layouts, "gfx1200", RDNA4, judges, note)
    yield from _gfx1250()


def _gfx1250() -> Iterator[Atom]:
    for c, a, b, k in _rows(TABLE_GFX1250):
        operand = turns(16, k, {4: 2, 128: 16}.get(k, 8))
        layouts = {"A": operand, "B": operand, "C": accumulator(32)}
        name = f"v_wmma_{c}_16x16x{k}_{_types(a, b)}"
        both = {64: (CK, TRITON), 128: (CK, ROCJITSU)}.get(k, (ROCJITSU, TRITON))
        yield _atom(name, (c, a, b), k, 32, layouts, "gfx1250", GFX1250, both, OTHERWISE.get(k, ""))
    for scaled, a, b in product((0, 32, 16), FORMATS, FORMATS):
        if not scaled and (a in EIGHT_BITS) != (b in EIGHT_BITS):
            continue  # Judges pair the k of the two operands differently.
        layouts = {"A": _narrow_factor(16, a), "B": _narrow_factor(16, b), "C": accumulator(32)}
        name = f"v_wmma_{_scale(scaled)}f32_16x16x128_f8f6f4.{a}.{b}"
        known = (TRITON,) if {a, b} <= {*EIGHT_BITS, "fp4"} else ()
        judges = (CK, *[ROCJITSU] * bool(scaled), *known)
        yield _narrow_atom(name, (16, 16, 128), ("f32", a, b, "f32"), layouts, scaled, judges)
    for scaled in (0, 32, 16):
        layouts = {"A": _narrow_factor(32, "fp4"), "B": _narrow_factor(16, "fp4"), "C": tall()}
        name = f"v_wmma_{_scale(scaled)}f32_32x16x128_f4"
        judges = (*[ROCJITSU] * bool(scaled), TRITON)
        yield _narrow_atom(name, (32, 16, 128), ("f32", "fp4", "fp4", "f32"), layouts, scaled, judges)


def _atom(
    name: str,
    types: tuple[str, str, str],
    k: int,
    wave: int,
    layouts: dict[str, Layout],
    arch: str,
    source: str,
    judges: tuple[str, ...],
    note: str = "",
) -> Atom:
    c, a, b = types
    operands = product_operands((16, 16, k), layouts, (c, a, b, c))
    return Atom(name, (16, 16, k), wave, operands, arch, source, judges, note=note)


def _narrow_atom(
    name: str,
    shape: tuple[int, int, int],
    types: tuple[str, str, str, str],
    layouts: dict[str, Layout],
    scaled: int,
    judges: tuple[str, ...],
) -> Atom:
    """One of ``f8f6f4``, with scales of so many elements along k, or 0 for none."""
    operands, note = product_operands(shape, layouts, types), "k is counted as with scales"
    if scaled:
        parts, note = shape[2] // scaled, "matrix_a_scale and matrix_b_scale say which half of the lanes is read"
        for name_of, rows in (("SFA", shape[0]), ("SFB", shape[1])):
            held = thread_value(lanes((rows, 1), (32 // rows, 0)), [(parts, rows)])
            operands += (Operand(name_of, held, (rows, parts), "e8m0"),)
    return Atom(name, shape, 32, operands, "gfx1250", GFX1250, judges, note=note)


def _scale(scaled: int) -> str:
    return {0: "", 32: "scale_", 16: "scale16_"}[scaled]


def whole_rows(wave: int) -> Layout:
    """A or B of RDNA3: a lane holds a whole row; every 16 lanes repeat the first."""
    return thread_value(((16, wave // 16), (1, 0)), [(16, 16)])


def alternate_rows(wave: int) -> Layout:
    """C of RDNA3: 16 lanes have a row, the next 16 the row below it, and a register the next rows."""
    return thread_value(((16, wave // 16), (16, 1)), [(256 // wave, wave // 16)])


def accumulator(wave: int) -> Layout:
    """C of RDNA4 and gfx1250: 16 lanes have 8 rows, which in a wave of 64 the upper half of the lanes shares."""
    return thread_value(lanes((16, 16), (2, 8), (wave // 32, 4)), [(256 // wave, 1)])


def tall() -> Layout:
    """C of 32 x 16: that of 16 x 16, and in further registers 16 rows below."""
    return thread_value(((16, 2), (32, 8)), [(8, 1), (2, 16)])


def factor(k: int, bits: int, wave: int) -> Layout:
    """A or B of RDNA4.

    Of 32 lanes the upper 16 hold the second half of k, or with 16 bits every second quarter. A wave of 64 has in its
    upper 32 lanes what a wave of 32 has in the second half of its registers, where it has two.
    """
    turn, high = (k // 4, k // 2) if bits == 16 else (k // 2, k // 4)
    near = min(turn, high)
    if wave == 64 and near * bits < 32:
        return thread_value(((16, 2, 2), (1, 16 * turn, 0)), [(2 * near, 16)])
    if wave == 64:
        return thread_value(((16, 2, 2), (1, 16 * turn, 16 * high)), [(near, 16)])
    values = [(2 * near, 16)] if high == near else [(near, 16), (2, 16 * high)]
    return thread_value(((16, 2), (1, 16 * turn)), values)


def turns(rows: int, k: int, near: int) -> Layout:
    """A or B of gfx1250: the two halves of the lanes take turns along k, ``near`` elements each."""
    return thread_value(
        ((16, 2), (1, near * rows)), [(near, rows), (k // (2 * near), 2 * near * rows), (rows // 16, 16)]
    )


def _narrow_factor(rows: int, element: str) -> Layout:
    return turns(rows, 128, 16 if element in EIGHT_BITS else 32)


def _types(a: str, b: str) -> str:
    return f"{a}_{b}" if a in FORMATS else a


def _rows(table: str) -> Iterator[tuple[str, str, str, int]]:
    for row in table.strip().splitlines():
        c, inputs, k = row.split()
        for a, b in product(inputs.split(","), inputs.split(",")):
            yield c, a, b, int(k)
