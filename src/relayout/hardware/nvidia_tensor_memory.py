"""NVIDIA's tensor memory (Blackwell): where ``tcgen05.mma`` keeps D, and what ``tcgen05.ld`` and ``st`` move.

Tensor memory has 128 lanes of 512 columns of 32 bits. For ``tcgen05.mma`` a thread is one of its lanes and a value one
of its columns; of two CTAs the second one's lanes follow the first one's. For ``ld`` and ``st`` values are **bits**,
those of a lane one after another.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from ..layout.layout import Layout
from .atom import Atom, Operand, thread_value
from .nvidia_wgmma import ALONG_K, ALONG_ROWS

SOURCE = "PTX ISA 9.0, 9.7.16: tcgen05; CUTLASS 7107b055, mma_traits_sm100_frag.hpp and copy_traits_sm100.hpp"

CUTLASS, TRITON = "CUTLASS's traits", "Triton's linear layouts"

# The kinds with their k, and the type of D.
KINDS = {"f16": (16, "f32"), "tf32": (8, "f32"), "f8f6f4": (32, "f32"), "i8": (32, "s32")}

# PTX's letters for how D lies: what the instruction's name begins with, m, and the sizes of n.
PATHS = {
    "A": ("cta_group::2", 256, range(32, 257, 32)),
    "B": ("cta_group::2", 128, range(32, 257, 32)),
    "D": ("cta_group::1", 128, range(16, 257, 16)),
    "E": ("ws.cta_group::1", 64, (64, 128, 256)),
    "F": ("cta_group::1", 64, range(16, 257, 16)),
    "G": ("ws.cta_group::1", 32, (64, 128, 256)),
}
"""Layout D is also that of ``.ws`` with m = 128; C is that of sparse operands."""

BY_TRITON = {"D": (64, 128), "F": (64, 128, 256)}
"""The n for which Triton's layouts were recorded."""

HALF_LANES = Layout((16, 4), (1, 32))
"""Layout F uses the first 16 lanes of each warp's 32."""

Digit = tuple[int, int, int]
"""A size, and how many lanes and columns a step of it goes."""


class LaneAccess(NamedTuple):
    """What one ``ld`` or ``st`` moves per repetition, and how many repetitions there are at most."""

    lanes: int
    columns: int
    threads: tuple[Digit, ...]
    values: tuple[Digit, ...]
    most: int


MOVES = {
    "32x32b": LaneAccess(32, 1, ((32, 1, 0),), (), 128),
    "16x64b": LaneAccess(16, 2, ((2, 8, 0), (2, 0, 1), (8, 1, 0)), (), 128),
    "16x128b": LaneAccess(16, 4, ((4, 0, 1), (8, 1, 0)), ((2, 8, 0),), 64),
    "16x256b": LaneAccess(16, 8, ((4, 0, 2), (8, 1, 0)), ((2, 0, 1), (2, 8, 0)), 32),
}
HALVES = "16x32bx2"
"""The first half of the threads takes columns of 16 lanes, and the second half as many further ones."""


def atoms() -> Iterator[Atom]:
    """Every data path of ``tcgen05.mma``, and every shape of ``tcgen05.ld`` and ``tcgen05.st``."""
    for path, (group, m, widths) in PATHS.items():
        for kind in KINDS:
            for n in widths:
                yield _product(path, group, kind, (m, n, KINDS[kind][0]))
    for shape in (*MOVES, HALVES):
        most = MOVES[shape].most if shape in MOVES else 128
        for repeats in [1 << power for power in range(most.bit_length())]:
            yield _copy("ld", shape, repeats)
            yield _copy("st", shape, repeats)


def _product(path: str, group: str, kind: str, shape: tuple[int, int, int]) -> Atom:
    m, n, k = shape
    layout = data_path(path, n)
    threads, element = layout.extents[0], KINDS[kind][1]
    tiles = ALONG_K + (() if kind == "tf32" else ALONG_ROWS)
    operands = (
        Operand("D", layout, (m, n), element, "tensor memory"),
        Operand("A", _whole_operand(threads, m, k), (m, k), kind, "shared memory", tiles),
        Operand("B", _whole_operand(threads, n, k), (n, k), kind, "shared memory", tiles),
        Operand("C", layout, (m, n), element, "tensor memory"),
    )
    judges = (CUTLASS, TRITON) if n in BY_TRITON.get(path, ()) else (CUTLASS,)
    lanes = HALF_LANES if path == "F" else None
    name = f"tcgen05.mma.{group}.kind::{kind}.m{m}n{n}k{k}"
    return Atom(name, shape, threads, operands, "sm100", SOURCE, judges, lanes, note=f"PTX's layout {path}.")


@cache
def data_path(path: str, n: int) -> Layout:
    """D of n columns in tensor memory: (lane, column) to ``m + M*n``."""
    if path == "A":
        return Layout((256, n), (1, 256))
    if path == "B":
        return Layout(((64, 2, 2), n // 2), ((1, 64 * n, 64), 128))
    if path == "D":
        return Layout((128, n), (1, 128))
    if path == "E":
        return Layout(((64, 2), n // 2), ((1, 32 * n), 64))
    if path == "F":
        return Layout((64, n), (1, 64))
    return Layout(((32, 4), n // 4), ((1, 8 * n), 32))


@cache
def _whole_operand(threads: int, rows: int, k: int) -> Layout:
    return Layout((threads, (rows, k)), (0, (1, rows)))


def _copy(way: str, shape: str, repeats: int) -> Atom:
    registers = registers_of(shape, repeats)
    lanes = 16 if shape == HALVES else MOVES[shape].lanes
    bits = registers.size // lanes
    tile = (bits, lanes)
    memory = Operand("src", Layout((32, bits * lanes), (0, 1)), tile, "b1", "tensor memory")
    threads = Operand("dst", registers, tile, "b1")
    pair = (memory, threads) if way == "ld" else (threads._replace(name="src"), memory._replace(name="dst"))
    name = f"tcgen05.{way}.{shape}.x{repeats}"
    return Atom(name, (lanes, bits // 32), 32, pair, "sm100", SOURCE, (CUTLASS, "Triton's lowering"))


@cache
def registers_of(shape: str, repeats: int) -> Layout:
    """The registers of a warp: (thread, bit) to the bit of the lanes that they came from."""
    if shape == HALVES:
        return Layout(((16, 2), 32 * repeats), ((64 * repeats, 32 * repeats), 1))
    move = MOVES[shape]
    lane = 32 * move.columns * repeats
    threads, values = [
        [(n, down * lane + 32 * along) for n, down, along in part] for part in (move.threads, move.values)
    ]
    digits = [(32, 1), *values, (repeats, 32 * move.columns)]
    if digits[1] == (2, 32):  # two columns side by side are 64 bits
        digits[:2] = [(64, 1)]
    sizes, strides = zip(*threads)
    return thread_value((sizes, strides) if len(sizes) > 1 else threads[0], digits)
