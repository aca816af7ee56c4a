"""Records the OpenVINO samples of ``tests/data/audit``: runtime models as the CPU plugin runs them, and a model as IR.

``pip install openvino``, then ``python tests/record_audit_openvino.py`` after the ONNX samples. What OpenVINO says of a
node's output, its shape and bytes, goes into ``openvino_judge.json``. The environment decides which instructions are
used, so that each runtime model is made by a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import openvino as ov

OUT = Path(__file__).parent / "data" / "audit"
KINDS = {"cnn.avx512": ("cnn", "AVX512_CORE"), "cnn.sse": ("cnn", "SSE41"), "plain.avx512": ("plain", "AVX512_CORE")}


def runtime_model(name: str) -> None:
    core = ov.Core()
    model = core.read_model(OUT / f"{KINDS[name][0]}.onnx")
    compiled = core.compile_model(model, "CPU", {"PERF_COUNT": "YES", "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    shape = list(compiled.input(0).shape)
    request.infer({0: (np.arange(np.prod(shape)) % 5).reshape(shape).astype("float32")})
    runtime = compiled.get_runtime_model()
    ov.save_model(runtime, OUT / f"{name}.openvino.xml", compress_to_fp16=False)
    (OUT / f"{name}.openvino.bin").unlink()
    judge = {}
    for op in runtime.get_ordered_ops():
        if op.get_output_size() and op.output(0).element_type.is_static():
            port = op.output(0)
            judge[op.get_friendly_name()] = [list(port.shape), ov.Tensor(port.element_type, port.shape).byte_size]
    sys.stdout.write(json.dumps(judge))


def main() -> None:
    judge = {}
    for name, (_, instructions) in KINDS.items():
        environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": instructions, "OV_CPU_MAX_ISA": instructions}
        command = [sys.executable, __file__, name]
        judge[name] = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
    (OUT / "openvino_judge.json").write_text(json.dumps(judge) + "\n")
    model = ov.Core().read_model(OUT / "plain.onnx")
    ov.save_model(model, OUT / "plain.ir.xml", compress_to_fp16=False)


if __name__ == "__main__":
    runtime_model(sys.argv[1]) if len(sys.argv) > 1 else main()
