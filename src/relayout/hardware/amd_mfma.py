"""AMD's MFMA (CDNA): which lane of a wave of 64 holds which element, for every instruction of gfx908 to gfx950.

A name is the mnemonic of the newest architecture that has the instruction: ``v_mfma_f32_32x32x8_f16``, which gfx908 and
gfx90a spell ``v_mfma_f32_32x32x8f16``. An instruction of several blocks multiplies that many pairs of small matrices:
the block is the last and slowest dimension of each operand. Those of ``f8f6f4`` say the formats of A and B after a dot.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ..integers.inttuple import Ints
from ..layout.layout import Layout
from .atom import Atom, Operand, product_operands, thread_value

SOURCE = "AMD CDNA, CDNA2, CDNA3 and CDNA4 ISA: matrix arithmetic instructions"
CALCULATOR = "AMD's matrix instruction calculator"
TRITON = "Triton's linear layouts"
CK = "Composable Kernel's register maps"
ROCJITSU = "AMD's emulator rocJITsu"

# The first and the last architecture, the types of C and of A and B (a pair of each, where several), and the shapes,
# with the number of blocks after a colon.
TABLE = """
gfx908 gfx950  f32 f32      32x32x1:2 16x16x1:4 4x4x1:16 32x32x2 16x16x4
gfx908 gfx950  f32 f16      32x32x4:2 16x16x4:4 4x4x4:16 32x32x8 16x16x16
gfx908 gfx950  i32 i8       32x32x4:2 16x16x4:4 4x4x4:16
gfx908 gfx90a  i32 i8       32x32x8 16x16x16
gfx908 gfx90a  f32 bf16     32x32x2:2 16x16x2:4 4x4x2:16 32x32x4 16x16x8
gfx90a gfx950  f32 bf16     32x32x4:2 16x16x4:4 4x4x4:16 32x32x8 16x16x16
gfx90a gfx950  f64 f64      16x16x4 4x4x4:4
gfx942 gfx942  f32 xf32     32x32x4 16x16x8
gfx942 gfx950  i32 i8       32x32x16 16x16x32
gfx942 gfx950  f32 fp8,bf8  32x32x16 16x16x32
gfx950 gfx950  f32 f16      32x32x16 16x16x32
gfx950 gfx950  f32 bf16     32x32x16 16x16x32
gfx950 gfx950  i32 i8       32x32x32 16x16x64
"""

FORMATS = ("fp8", "bf8", "fp6", "bf6", "fp4")
"""The formats of ``f8f6f4``, as ``cbsz`` (for A) and ``blgp`` (for B) count them."""

SCALED = ((32, 32, 64), (16, 16, 128))
"""The shapes of ``f8f6f4``, with scales and without: a scale is of 32 elements along k."""

FNUZ = "fp8 and bf8 are e4m3fnuz and e5m2fnuz on gfx942, e4m3fn and e5m2 on gfx950"
ONLY_UNTIL = {"gfx90a": "gfx942 has it no more", "gfx942": "gfx950 has it no more"}


def atoms() -> Iterator[Atom]:
    """Every dense MFMA."""
    for row in TABLE.strip().splitlines():
        first, last, c, inputs, *shapes = row.split()
        for shape, a, b in product(shapes, inputs.split(","), inputs.split(",")):
            yield _atom(first, last, c, (a, b), shape)
            if shape.endswith(":16"):
                yield from _broadcast(first, last, c, a, shape)
    for scaled, sizes, a, b in product((False, True), SCALED, FORMATS, FORMATS):
        yield _f8f6f4(sizes, a, b, scaled)


def other_names() -> Iterator[tuple[str, str]]:
    """What gfx908 and gfx90a call instructions that have another name since gfx942, and the name here."""
    for row in TABLE.strip().splitlines():
        first, last, c, element, *shapes = row.split()
        if first < "gfx942" <= last:
            for shape in shapes:
                yield _old_name(first, c, element, shape), _name(c, (element, element), shape)


def _name(c: str, inputs: tuple[str, str], shape: str) -> str:
    sizes, _, blocks = shape.partition(":")
    types = "_".join(inputs) if inputs[0] in FORMATS else inputs[0]
    return f"v_mfma_{c}_{sizes}_{blocks}b_{types}" if blocks else f"v_mfma_{c}_{sizes}_{types}"


def _old_name(first: str, c: str, element: str, shape: str) -> str:
    return f"v_mfma_{c}_{shape.partition(':')[0]}{element}{'_1k' * (element == 'bf16' and first == 'gfx90a')}"


def _atom(first: str, last: str, c: str, inputs: tuple[str, str], shape: str) -> Atom:
    sizes, _, blocks = shape.partition(":")
    m, n, k = whole = sizes_of(sizes)
    several = int(blocks or 1)
    name = _name(c, inputs, shape) if last >= "gfx942" else _old_name(first, c, inputs[0], shape)
    layouts = {
        "A": factor(m, k, several),
        "B": factor(n, k, several),
        "C": accumulator(m, n, several, rows=1 if c == "f64" else 4),
    }
    judges = [CALCULATOR if first < "gfx950" else ROCJITSU]
    judges += [TRITON] if several == 1 else []
    note = ONLY_UNTIL.get(last, FNUZ if inputs[0] in FORMATS else "")
    operands = product_operands(whole, layouts, (c, *inputs, c), several)
    return Atom(name, whole, 64, operands, first, SOURCE, tuple(judges), blocks=several, note=note)


def _broadcast(first: str, last: str, c: str, element: str, shape: str) -> Iterator[Atom]:
    """The 16 blocks of one instruction side by side along n, for one A that each of 16 instructions shares in part.

    With ``cbsz:4`` every block reads the A of block ``abid``: its lanes hold the next part of k. The same with A and B
    in each other's place has the blocks along m.
    """
    near = sizes_of(shape.partition(":")[0])[2]
    k = 16 * near
    few, many = thread_value(lanes((4, 1), (16, 4 * near)), [(near, 4)]), Layout((64, k), (1, 64))
    block = _atom(first, last, c, (element, element), shape)
    for form, sizes, layouts, given in (
        ("4x64", (4, 64, k), {"A": few, "B": many, "C": Layout((64, 4), (4, 1))}, "A"),
        ("64x4", (64, 4, k), {"A": many, "B": few, "C": Layout((64, 4), (1, 64))}, "B, which is given as its A"),
    ):
        note = f"sixteen instructions, cbsz:4 and abid:0 to 15, each with the next {near} of k; they share {given}"
        note += f"; {block.note}" if block.note else ""
        operands = product_operands(sizes, layouts, (c, element, element, c))
        judges = (CALCULATOR, TRITON)
        yield Atom(f"{block.name}.{form}", sizes, 64, operands, first, SOURCE, judges, note=note)


def _f8f6f4(shape: tuple[int, int, int], a: str, b: str, scaled: bool) -> Atom:
    m, n, k = shape
    layouts = {"A": narrow_factor(m, k, a), "B": narrow_factor(n, k, b), "C": accumulator(m, n)}
    operands = product_operands(shape, layouts, ("f32", a, b, "f32"))
    if scaled:
        parts = k // 32
        operands += (
            Operand("SFA", Layout((64, 1), (1, 0)), (m, parts), "e8m0"),
            Operand("SFB", Layout((64, 1), (1, 0)), (n, parts), "e8m0"),
        )
    name = f"v_mfma_{'scale_' if scaled else ''}f32_{m}x{n}x{k}_f8f6f4.{a}.{b}"
    note = f"in assembly cbsz:{FORMATS.index(a)} blgp:{FORMATS.index(b)}"
    if scaled:
        note += "; a scale is the byte of its lane's register that op_sel names"
    judges = (CK, ROCJITSU, TRITON) if {a, b} <= {"fp8", "bf8", "fp4"} else (CK, ROCJITSU)
    return Atom(name, shape, 64, operands, "gfx950", SOURCE, judges, note=note)


def factor(rows: int, k: int, blocks: int = 1) -> Layout:
    """A (rows x k) or B: a lane for each row of each block, then for each part of k; a lane's values are neighbours."""
    groups = 64 // (rows * blocks)
    values = k // groups
    return thread_value(lanes((rows, 1), (blocks, rows * k), (groups, values * rows)), [(values, rows)])


def narrow_factor(rows: int, k: int, element: str) -> Layout:
    """A or B of ``f8f6f4``: a lane holds 32 neighbours along k, or where these have 8 bits two times 16 of them."""
    near, groups = 16 if element in ("fp8", "bf8") else 32, 64 // rows
    return thread_value(lanes((rows, 1), (groups, near * rows)), [(near, rows), (32 // near, groups * near * rows)])


def accumulator(m: int, n: int, blocks: int = 1, rows: int = 4) -> Layout:
    """C: a lane for each column, ``rows`` rows in its registers; then as many blocks as fit, then further rows."""
    beside = min(blocks, max(1, 64 * rows // (m * n)))
    strips = 64 // (n * beside)
    threads = lanes((n, m), (beside, m * n), (strips, rows))
    return thread_value(threads, [(rows, 1), (m // (rows * strips), rows * strips), (blocks // beside, beside * m * n)])


def lanes(*digits: tuple[int, int]) -> tuple[Ints, Ints]:
    """The sizes and the strides of the digits of a lane; sizes of 1 are left out."""
    kept = [digit for digit in digits if digit[0] > 1]
    if len(kept) == 1:
        return kept[0]
    return tuple(size for size, _ in kept), tuple(stride for _, stride in kept)


def sizes_of(shape: str) -> tuple[int, int, int]:
    """The sizes of a shape as AMD writes it: ``32x32x8``."""
    m, n, k = (int(size) for size in shape.split("x"))
    return m, n, k
