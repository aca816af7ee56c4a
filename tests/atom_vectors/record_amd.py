"""Asks AMD's matrix instruction calculator where every element of every instruction lies, and records it.

``python tests/atom_vectors/record_amd.py CHECKOUT``: CHECKOUT is a folder with ROCm/amd_matrix_instruction_calculator.

A map is recorded by what each bit of the lane and of the value adds (exclusive or) to the index of the element; that it
says where *every* element lies is checked here, before it is written. Values are numbered in the order of the registers
and of the bits in them. The index of an element is column-major, with the block slowest: m + M * (k + K * block) in A,
n + N * (k + K * block) in B, m + M * (n + N * block) in C. Of a sparse A the calculator says where the two that remain
of every four along k lie together: they are counted as neighbours, the lower one in the lower bits, and K is how many.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

FILE = Path(__file__).parent / "amd.json"
ARCHITECTURES = {"cdna1": "gfx908", "cdna2": "gfx90a", "cdna3": "gfx942", "rdna3": "gfx11", "rdna4": "gfx12"}
KEYS = {"d": "C", "k": "E"}
"""The accumulator of a sparse instruction is its D; E are the indices of what is kept."""
REGISTER = re.compile(r"[vV]\[?(\d+)(?::(\d+))?\]?(?:\.\[(\d+):(\d+)\])?")


def elements(calculator: Any, matrix: str, sizes: tuple[int, int, int, int]) -> Iterator[tuple[int, Any, list[int]]]:
    """The index of every element of a matrix, the register and bits, and the lanes that hold it."""
    m, n, k, blocks = sizes
    rows, columns = {"a": (m, k), "b": (n, k), "c": (m, n), "d": (m, n), "k": (m, k)}[matrix]
    kept = matrix in "ak" and calculator.inst_info["sparse"]
    for block in range(blocks):
        for column in range(0, columns, 4 if kept else 1):
            for row in range(rows):
                i, j, depth = (0, row, column) if matrix == "b" else (row, column * (matrix in "cd"), column)
                _, register, lanes = calculator._get_reg_lanes(matrix, i, j, depth, block, 0, 0, 0, 0)
                found = REGISTER.fullmatch(register)
                if found is None:
                    raise ValueError(f"no register: {register}")
                place = (int(found[1]), int(found[4] or 0))
                if not kept:
                    yield row + rows * (column + columns * block), place, lanes
                for slot in range(2 * kept):
                    yield row + rows * (column // 2 + slot), (*place, slot), lanes


def bases(calculator: Any, matrix: str, sizes: tuple[int, int, int, int]) -> dict[str, list[int]]:
    """What each bit of the lane and of the value adds to the index, for the lanes that hold anything."""
    held: dict[tuple[int, Any], int] = {}
    for index, place, where in elements(calculator, matrix, sizes):
        for lane in where:
            if (lane, place) in held:
                raise ValueError(f"two elements of {matrix} in lane {lane}, {place}")
            held[lane, place] = index
    places = sorted({place for _, place in held})
    number = {place: v for v, place in enumerate(places)}
    table = {(lane, number[place]): index for (lane, place), index in held.items()}
    lanes = 1 + max(lane for lane, _ in table)
    if len(table) != lanes * len(places):
        raise ValueError(f"{matrix} leaves lanes or registers empty")
    made = {
        "lane": [table[1 << b, 0] for b in range((lanes - 1).bit_length())],
        "value": [table[0, 1 << b] for b in range((len(places) - 1).bit_length())],
    }
    for (lane, value), index in table.items():
        total = 0
        for bit, basis in enumerate(made["lane"]):
            total ^= basis if lane >> bit & 1 else 0
        for bit, basis in enumerate(made["value"]):
            total ^= basis if value >> bit & 1 else 0
        if total != index:
            raise ValueError(f"{matrix} is no sum of bits at lane {lane}, value {value}")
    return made


def instructions(calculators: ModuleType) -> Iterator[dict[str, Any]]:
    for arch, listed in calculators.dict_insts.items():
        family = {"cdna": "InstCalcGfx9", "rdna3": "InstCalcGfx11", "rdna4": "InstCalcGfx12"}
        make = getattr(calculators, family.get(arch) or family[arch[:4]])
        for name, about in listed.items():
            for lanes in (64,) if arch.startswith("cdna") else (32, 64):
                sizes = about["m"], about["n"], about["k"], about["blocks"]
                matrices = "abdk" if about["sparse"] else "abc"
                yield {
                    "name": name,
                    "arch": ARCHITECTURES[arch],
                    "lanes": lanes,
                    "shape": sizes,
                    "types": [about["in_type"], about["in_type_src1"], about["out_type"]],
                    **{KEYS.get(x, x.upper()): bases(make(name, about, lanes), x, sizes) for x in matrices},
                }


def main(checkout: Path) -> None:
    sys.path.insert(0, str(checkout))
    lines = [json.dumps(found) for found in instructions(import_module("matrix_calculator"))]
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
