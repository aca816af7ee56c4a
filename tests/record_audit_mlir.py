"""Record MLIR of IREE and of linalg, with what their own tools say of it: ``python tests/record_audit_mlir.py FOLDER``.

The folder has ``iree-compile`` and ``iree-opt`` (of the wheel ``iree-base-compiler``), and a Python with
``iree.runtime`` (of ``iree-base-runtime``). ``mlir_judge.json`` has how often each operation is in each text, as
``--print-op-stats`` counts, and ``mlir_packed.json`` the numbers that lie in memory after packs that IREE compiled and
ran.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

DATA = Path(__file__).parent / "data" / "audit"
COMPILE = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=cascadelake",
    "--iree-opt-data-tiling=true",
)
NET = """
func.func @net(%a: tensor<60x100xf32>, %c: tensor<60x72xf32>) -> tensor<72x60xf32> {
  %w = arith.constant dense_resource<weights> : tensor<100x72xf32>
  %0 = linalg.matmul ins(%a, %w : tensor<60x100xf32>, tensor<100x72xf32>) outs(%c : tensor<60x72xf32>)
    -> tensor<60x72xf32>
  %1 = tensor.empty() : tensor<72x60xf32>
  %2 = linalg.transpose ins(%0 : tensor<60x72xf32>) outs(%1 : tensor<72x60xf32>) permutation = [1, 0]
  return %2 : tensor<72x60xf32>
}
""".replace("dense_resource<weights>", "dense<0.5>")
LINALG = """
#turned = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#kept = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
func.func @turn(%a: tensor<?x100xf16>, %b: tensor<8x4x16xf32>, %d: index) -> (tensor<100x?xf16>, tensor<4x8x16xf32>) {
  %0 = tensor.empty(%d) : tensor<100x?xf16>
  %1 = linalg.transpose ins(%a : tensor<?x100xf16>) outs(%0 : tensor<100x?xf16>) permutation = [1, 0]
  %2 = tensor.empty() : tensor<4x8x16xf32>
  %3 = linalg.generic {indexing_maps = [#turned, #kept], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%b : tensor<8x4x16xf32>) outs(%2 : tensor<4x8x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x8x16xf32>
  %4 = linalg.generic {indexing_maps = [#kept, #kept], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%3 : tensor<4x8x16xf32>) outs(%2 : tensor<4x8x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %9 = arith.addf %in, %in : f32
    linalg.yield %9 : f32
  } -> tensor<4x8x16xf32>
  return %1, %4 : tensor<100x?xf16>, tensor<4x8x16xf32>
}
func.func @packs(%x: tensor<30x50xf32>, %y: tensor<?x?xf32>, %m: index, %n: index, %z: f32) -> tensor<30x50xf32> {
  %0 = tensor.empty() : tensor<7x4x8x8xf32>
  %p = linalg.pack %x padding_value(%z : f32) outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 8]
    into %0 : tensor<30x50xf32> -> tensor<7x4x8x8xf32>
  %1 = tensor.empty() : tensor<30x50xf32>
  %u = linalg.unpack %p outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %1
    : tensor<7x4x8x8xf32> -> tensor<30x50xf32>
  %2 = tensor.empty(%m, %n) : tensor<?x?x16x1xf32>
  %q = linalg.pack %y padding_value(%z : f32) inner_dims_pos = [0, 1] inner_tiles = [16, 1] into %2
    : tensor<?x?xf32> -> tensor<?x?x16x1xf32>
  %e = tensor.expand_shape %x [[0, 1], [2]] output_shape [3, 10, 50] : tensor<30x50xf32> into tensor<3x10x50xf32>
  return %u : tensor<30x50xf32>
}
func.func @copies(%a: memref<6x8xf32>, %b: memref<6x8xf32, strided<[1, 6]>>,
                  %c: memref<6x8xf32, strided<[?, 1], offset: ?>>,
                  %d: memref<6x8xf32, strided<[8, 1], offset: ?>>, %e: memref<6x8xf32, 1>) {
  memref.copy %a, %b : memref<6x8xf32> to memref<6x8xf32, strided<[1, 6]>>
  memref.copy %a, %c : memref<6x8xf32> to memref<6x8xf32, strided<[?, 1], offset: ?>>
  memref.copy %a, %d : memref<6x8xf32> to memref<6x8xf32, strided<[8, 1], offset: ?>>
  memref.copy %a, %e : memref<6x8xf32> to memref<6x8xf32, 1>
  return
}
"""
PACKS = (
    ((30, 50), "outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 8]", (7, 4, 8, 8)),
    ((30, 50), "inner_dims_pos = [1, 0] inner_tiles = [16, 4]", (8, 4, 16, 4)),
    ((6, 5, 7), "outer_dims_perm = [2, 0, 1] inner_dims_pos = [2] inner_tiles = [3]", (3, 6, 5, 3)),
)
RUN = """
import sys, json, numpy as np
from iree import runtime
module = runtime.load_vm_flatbuffer_file(sys.argv[1], driver="local-task")
found = []
for k, shape in enumerate(json.loads(sys.argv[2])):
    x = np.arange(1, int(np.prod(shape)) + 1, dtype=np.float32).reshape(shape)
    found.append(np.asarray(module[f"pack{k}"](x).to_host()).reshape(-1).astype(int).tolist())
print(json.dumps(found))
"""


def ran(*command: str, text: str = "") -> subprocess.CompletedProcess[str]:
    found = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if found.returncode:
        raise SystemExit(f"{command[0]}: {found.stderr[-2000:]}")
    return found


def packing_functions() -> str:
    """A function for each pack."""
    lines = []
    for k, (shape, attributes, packed) in enumerate(PACKS):
        a, b = (f"tensor<{'x'.join(map(str, sizes))}xf32>" for sizes in (shape, packed))
        lines.append(
            f"func.func @pack{k}(%x: {a}) -> {b} {{\n  %z = arith.constant 0.0 : f32\n  %0 = tensor.empty() : {b}\n"
            f"  %1 = linalg.pack %x padding_value(%z : f32) {attributes} into %0 : {a} -> {b}\n  return %1 : {b}\n}}\n"
        )
    return "".join(lines)


def main(folder: Path) -> None:
    compiler, tool = str(folder / "iree-compile"), str(folder / "iree-opt")
    texts = {
        "mlir_linalg.mlir": ran(tool, "-", text=LINALG).stdout,
        "mlir_blocked.mlir": ran(tool, "-", "--linalg-block-pack-matmul=block-factors=32,16,64", text=NET).stdout,
        "mlir_iree_flow.mlir": ran(compiler, "-", *COMPILE, "--compile-to=flow", text=NET).stdout,
        "mlir_iree_packed.mlir": ran(
            compiler, "-", *COMPILE, "--compile-to=executable-configurations", text=NET
        ).stdout,
    }
    dumped = ran(
        compiler,
        "-",
        *COMPILE,
        "--compile-to=stream",
        "--mlir-print-ir-after=iree-stream-specialize-encodings",
        text=NET,
    )
    texts["mlir_iree_encodings.mlir"] = dumped.stderr
    counts = {}
    for name, text in texts.items():
        short = re.sub(r'cpu_features = "[^"]*"', 'cpu_features = ""', text)
        (DATA / name).write_text(short)
        if not name.endswith("encodings.mlir"):
            told = ran(
                tool, "-", "--print-op-stats", "--allow-unregistered-dialect", "-o", "/dev/null", text=short
            ).stderr
            counts[name] = {op: int(n) for op, n in re.findall(r"^\s+([a-z_.]+)\s*,\s*(\d+)", told, re.MULTILINE)}
    (DATA / "mlir_judge.json").write_text(json.dumps(counts, indent=1) + "\n")
    program = DATA / "packs.vmfb"
    ran(compiler, "-", *COMPILE[:2], "-o", str(program), text=packing_functions())
    values = ran(str(folder / "python"), "-c", RUN, str(program), json.dumps([shape for shape, _, _ in PACKS])).stdout
    program.unlink()
    packed = [
        {"shape": shape, "attributes": attributes, "values": found}
        for (shape, attributes, _), found in zip(PACKS, json.loads(values))
    ]
    (DATA / "mlir_packed.json").write_text(json.dumps(packed) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
