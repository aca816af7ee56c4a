"""Intel's AMX: how the tiles of a product of matrices lie in tile registers, and so in memory when they are loaded.

One core runs it: there is one thread, and its values are those of a tile of 16 rows of 64 bytes, row by row. Tiles may
be configured with fewer rows and columns; the atoms are the full ones. B is packed: a row of its tile holds as many
rows of k as elements fit into 32 bits, interleaved.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..layout.layout import Layout
from .atom import Atom, Operand, thread_value

SOURCE = "Intel 64 and IA-32 Architectures Software Developer's Manual, and Intel ISA Extensions reference: AMX"

# The instruction and the types of C, A and B.
TABLE = """
tdpbf16ps    f32  bf16  bf16
tdpfp16ps    f32  f16   f16
tdpbssd      s32  s8    s8
tdpbsud      s32  s8    u8
tdpbusd      s32  u8    s8
tdpbuud      s32  u8    u8
tdpbf8ps     f32  bf8   bf8
tdpbhf8ps    f32  bf8   hf8
tdphbf8ps    f32  hf8   bf8
tdphf8ps     f32  hf8   hf8
tmmultf32ps  f32  tf32  tf32
"""

BITS = {"bf16": 16, "f16": 16, "tf32": 32}
"""The width of an element of A and B; the others have 8 bits."""

ARCHS = {"tdpfp16ps": "granite-rapids", "tmmultf32ps": "diamond-rapids"}
"""The first machine that has it; those of 8-bit floats are Diamond Rapids', the others Sapphire Rapids'."""


def atoms() -> Iterator[Atom]:
    """Every product of real matrices."""
    for row in TABLE.strip().splitlines():
        name, c, a, b = row.split()
        near = 32 // BITS.get(a, 8)
        k = 16 * near
        packed = thread_value((1, 0), [(near, 16), (16, 1), (16, 16 * near)])
        held = (
            Operand("D", row_major(16), (16, 16), c),
            Operand("A", row_major(k), (16, k), a),
            Operand("B", packed, (16, k), b),
            Operand("C", row_major(16), (16, 16), c),
        )
        operands = tuple([one._replace(where="tile registers") for one in held])
        arch = ARCHS.get(name, "diamond-rapids" if "f8" in a else "sapphire-rapids")
        yield Atom(name, (16, 16, k), 1, operands, arch, SOURCE, ("the manual's operation",))


def row_major(columns: int) -> Layout:
    """A tile of 16 rows, one after another."""
    return thread_value((1, 0), [(columns, 16), (16, 1)])


def other_names() -> Iterator[tuple[str, str]]:
    """The manual's capitals, and the intrinsics of compilers."""
    for row in TABLE.strip().splitlines():
        name = row.split()[0]
        yield name.upper(), name
        yield f"_tile_{name.removeprefix('t')}", name
