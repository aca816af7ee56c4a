"""Record Triton's layouts of the operands and the scales of AMD's scaled instructions.

``python tests/ttg_vectors/scales.py``. A line says what is asked for, the shape, and the bases. A width of 16 along k
is 16 bytes: 32 elements of 4 bits, of which Triton packs two into one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from judge import bases_text, context
from triton._C.libtriton import gluon_ir
from triton.experimental.gluon.language import DotOperandLayout
from triton.experimental.gluon.language.amd import AMDMFMALayout, AMDWMMALayout, cdna4, gfx1250


def layouts(builder: Any) -> Iterator[tuple[str, list[int], Any]]:
    for m, n, k in ((32, 32, 64), (16, 16, 128)):
        parent = AMDMFMALayout(version=4, instr_shape=[m, n, k], transposed=False, warps_per_cta=[1, 1])
        for index, rows in enumerate((m, n)):
            operand = DotOperandLayout(index, parent, 16)
            name, shape = f"mfma_scale {m}x{n}x{k} {'AB'[index]}", [rows, k] if index == 0 else [k, rows]
            yield name, shape, builder.to_linear_layout(operand._to_ir(builder), shape)
            yield f"{name} scale", [rows, k // 32], cdna4.get_mfma_scale_layout(operand, [rows, k // 32])
    for m, n, k in ((16, 16, 128), (32, 16, 128)):
        parent = AMDWMMALayout(version=3, transposed=False, warp_bases=[], instr_shape=[m, n, k])
        for index, rows in enumerate((m, n)):
            operand = DotOperandLayout(index, parent, 16)
            for size in (32, 16):
                name = f"wmma_scale {m}x{n}x{k} {'AB'[index]} scale {size}"
                shape = [rows, k // size]
                yield name, shape, gfx1250.get_wmma_scale_layout(operand, shape, scale_factor=size)


if __name__ == "__main__":
    loaded = context()
    lines = [
        "\t".join([name, "x".join(map(str, shape)), bases_text(linear)])
        for name, shape, linear in layouts(gluon_ir.GluonOpBuilder(loaded))
    ]
    (Path(__file__).parent / "scales.txt").write_text("\n".join(lines) + "\n")
