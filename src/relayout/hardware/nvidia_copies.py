"""NVIDIA's copies of small matrices between shared memory and the registers of a warp.

Values are **bits**: ``src`` and ``dst`` give the bit of the matrices, rows of 128 bits one after another, that a thread
reads or has. ``ldmatrix`` takes the address of a row from each of the first lanes.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..layout.layout import Layout
from .atom import Atom, Operand, thread_value

SOURCE = "PTX ISA 9.0, 9.7.14: ldmatrix, stmatrix, movmatrix; CUTLASS 7107b055, cute/atom/copy_traits_sm*.hpp"

PTX, HERE, TRITON, CUTLASS = "PTX's formulas", "an H200", "Triton's lowering", "CUTLASS's traits"

Values = list[tuple[int, int]]


def atoms() -> Iterator[Atom]:
    """Every ``ldmatrix``, ``stmatrix`` and ``movmatrix`` that moves bits without changing them."""
    for count in (1, 2, 4):
        lanes = in_order(count)
        yield _load(f"ldmatrix.x{count}", 8, count, lanes, "sm75", (PTX, HERE))
        yield _load(f"ldmatrix.x{count}.trans", 8, count, columns(count), "sm75", (PTX, HERE))
        yield _store(f"stmatrix.x{count}", count, lanes, "sm90", (PTX, HERE))
        yield _store(f"stmatrix.x{count}.trans", count, columns(count), "sm90", (PTX, HERE))
    for count in (1, 2):
        name = f"ldmatrix.m16n16.x{count}.trans.b8"
        yield _load(name, 16, count, bytes_of_sixteen(count), "sm100", (TRITON, CUTLASS))
    for count in (1, 2, 4):
        yield _store(f"stmatrix.m16n8.x{count}.trans.b8", count, bytes_of_eight(count), "sm100", (TRITON, CUTLASS))
    moved = (Operand("src", in_order(1), (128, 8), "b1"), Operand("dst", columns(1), (128, 8), "b1"))
    yield Atom("movmatrix.trans", (8, 8), 32, moved, "sm75", SOURCE, (PTX, HERE))


def _load(name: str, height: int, count: int, lanes: Layout, arch: str, judges: tuple[str, ...]) -> Atom:
    tile = (128, height * count)
    operands = (Operand("src", rows(tile[1]), tile, "b1", "shared memory"), Operand("dst", lanes, tile, "b1"))
    return Atom(name, (tile[1], 8 if height == 8 else 16), 32, operands, arch, SOURCE, judges, note=_note(tile[1]))


def _store(name: str, count: int, lanes: Layout, arch: str, judges: tuple[str, ...]) -> Atom:
    tile = (128, 8 * count)
    operands = (Operand("src", lanes, tile, "b1"), Operand("dst", rows(tile[1]), tile, "b1", "shared memory"))
    return Atom(
        name, (tile[1], 16 if name.endswith("b8") else 8), 32, operands, arch, SOURCE, judges, note=_note(tile[1])
    )


def _note(count: int) -> str:
    return f"The addresses of lanes {count} to 31 are not used." if count < 32 else ""


def rows(count: int) -> Layout:
    """Shared memory as lanes name it: a row of 128 bits each, the first lanes again where there are fewer rows."""
    return Layout((32, 128), (128, 1)) if count == 32 else Layout(((count, 32 // count), 128), ((128, 0), 1))


def in_order(count: int) -> Layout:
    """Registers that hold the rows as they are: 32 bits for each lane, a matrix of 1024 for each register."""
    return thread_value((32, 32), [(32, 1), (count, 1024)])


def columns(count: int) -> Layout:
    """Registers of a transposed matrix of 16-bit elements: each half of a register is from another row."""
    return thread_value(((4, 8), (256, 16)), [(16, 1), (2, 128), (count, 1024)])


def bytes_of_sixteen(count: int) -> Layout:
    """Registers of a transposed matrix of 16 rows of 16 bytes: four rows in one, the columns from 8 on in the next."""
    return thread_value(((4, 8), (512, 8)), [(8, 1), (4, 128), (2, 64), (count, 2048)])


def bytes_of_eight(count: int) -> Layout:
    """Registers of a transposed matrix of 8 rows of 16 bytes: two rows, and both again in the columns from 8 on."""
    return thread_value(((4, 8), (256, 8)), [(8, 1), (2, 128), (2, 64), (count, 1024)])
