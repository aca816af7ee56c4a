"""AMD's transposing loads from LDS: of gfx950 ``ds_read_b64_tr_b16``, of gfx1250 ``ds_load_tr16_b128``, and their kin.

Every lane names a place in LDS and reads a run of elements there; the wave then hands the elements on. Values are
**bits**, as in ``ldmatrix``: ``src`` and ``dst`` count the runs of the lanes one after another. On gfx950 each 16 lanes
read a matrix of 16 columns, row by row, and lane i gets its column i.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..layout.layout import Layout
from .amd_mfma import lanes
from .atom import Atom, Operand, thread_value

SOURCE = "AMD CDNA4 and CDNA5 ISA: transpose loads from LDS; Triton f4fca2c0, TargetFeatures.cpp"
TRITON, MOJO = "Triton's lowering", "Mojo's description"

# The instruction, the first architecture, the lanes, the bits that a lane reads, those of an element; and how many bits
# of the number of the lane that is read come from the register, then from the lane, before the rest of the two.
TABLE = """
ds_read_b64_tr_b16  gfx950   64   64  16  0 2
ds_read_b64_tr_b8   gfx950   64   64   8  0 1
ds_read_b64_tr_b4   gfx950   64   64   4  0 0
ds_load_tr16_b128   gfx1250  32  128  16  0 0
ds_load_tr8_b64     gfx1250  32   64   8  2 1
ds_load_tr4_b64     gfx1250  32   64   4  3 1
"""


def atoms() -> Iterator[Atom]:
    """Every transposing load whose elements fill their registers."""
    for row in TABLE.strip().splitlines():
        name, arch, *numbers = row.split()
        wave, width, bits, registers_first, lanes_first = map(int, numbers)
        held = transposed_runs(wave, width, bits, registers_first, lanes_first)
        tile = (width, wave)
        operands = (
            Operand("src", Layout((wave, width), (width, 1)), tile, "b1", "shared memory"),
            Operand("dst", held, tile, "b1"),
        )
        judges = (TRITON, MOJO) if name == "ds_read_b64_tr_b16" else (TRITON,)
        yield Atom(name, (wave, width // bits), wave, operands, arch, SOURCE, judges)


def other_names() -> Iterator[tuple[str, str]]:
    """LLVM's intrinsics, and ROCDL's operations, of gfx950."""
    for bits in (16, 8, 4):
        for prefix in ("llvm.amdgcn.", "rocdl."):
            yield f"{prefix}ds.read.tr{bits}.b64", f"ds_read_b64_tr_b{bits}"


def transposed_runs(wave: int, width: int, bits: int, registers_first: int, lanes_first: int) -> Layout:
    """Who gets which bit: the low bits of a lane choose the element of a run, the others and the register the run."""
    near = width // bits
    first, second = 1 << registers_first, 1 << lanes_first
    third = near // first
    fourth = wave // (near * second)
    return thread_value(
        lanes((near, bits), (second, width * first), (fourth, width * first * second * third)),
        [(bits, 1), (first, width), (third, width * first * second)],
    )
