"""Run the vendors' own packers, and record what they make of known codes: ``vectors.json``.

``python tests/record_vectors/record.py --ggml PROGRAM --gptqmodel PATH --triton PATH`` needs checkouts of GPTQModel and
Triton, torch, and a program that calls ggml's own ``repack``: ``PROGRAM q4_0_8x8 ROWS COLUMNS`` reads blocks and writes
them repacked. Nothing of theirs is kept but digests of results.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
from hashlib import sha256, shake_128
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
REPACKS = {
    "Q4_0": ("q4_0_4x4", "q4_0_4x8", "q4_0_8x8"),
    "Q8_0": ("q8_0_4x4", "q8_0_4x8"),
    "IQ4_NL": ("iq4_nl_4x4", "iq4_nl_8x8"),
    "MXFP4": ("mxfp4_4x4", "mxfp4_8x8"),
    "Q2_K": ("q2_K_8x8",),
    "Q4_K": ("q4_K_8x4", "q4_K_8x8"),
    "Q5_K": ("q5_K_8x4", "q5_K_8x8"),
    "Q6_K": ("q6_K_8x4", "q6_K_8x8"),
}
SIZES = {"Q4_0": 18, "Q8_0": 34, "IQ4_NL": 18, "MXFP4": 17, "Q2_K": 84, "Q4_K": 144, "Q5_K": 176, "Q6_K": 210}


def random_bytes(name: str, count: int) -> bytes:
    """Bytes that a name alone decides, on every machine."""
    return shake_128(name.encode()).digest(count)


def ggml(program: Path) -> dict[str, Any]:
    """What ggml's repacks make of random blocks."""
    found = {}
    for source, names in REPACKS.items():
        for name in names:
            rows, blocks = 16, 3
            columns = blocks * (256 if source.endswith("_K") else 32)
            data = random_bytes(name, rows * blocks * SIZES[source])
            result = subprocess.run([program, name, str(rows), str(columns)], input=data, stdout=-1, check=True).stdout
            digest = sha256(result).hexdigest()
            found[f"ggml:{name}"] = {"source": f"ggml:{source}", "shape": [rows, columns], "sha256": digest}
    return found


def planar(root: Path) -> dict[str, Any]:
    """What GPTQModel's planar packer makes of random codes."""
    import numpy as np
    import torch

    path = root / "gptqmodel/utils/planar_packing.py"
    spec = importlib.util.spec_from_file_location("planar_packing", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = {}
    for bits in (3, 5, 6, 7):
        name, shape = f"gptq:planar{bits}", (96, 5)
        codes = np.frombuffer(random_bytes(name, 96 * 5), np.uint8).reshape(shape) & ((1 << bits) - 1)
        words = module.planar_pack_rows(torch.from_numpy(codes.astype(np.int64)), bits)
        found[name] = {"source": None, "shape": list(shape), "sha256": sha256(words.numpy().tobytes()).hexdigest()}
    return found


class _StandIn(ModuleType):
    """A module of which nothing is called: decorators that leave functions as they are."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **words: args[0] if args and callable(args[0]) else lambda function: function


def hopper(root: Path) -> dict[str, Any]:
    """What Triton's kernels make of FP4 codes for Hopper; its packer is plain torch, and runs without a device."""
    import numpy as np
    import torch

    above = ["triton", "triton.language", "triton_kernels", "triton_kernels.target_info"]
    details = "triton_kernels.numerics_details"
    for name in [*above, details, f"{details}.mxfp_details", f"{details}.mxfp_details._downcast_to_mxfp"]:
        sys.modules[name] = _StandIn(name)
    vars(sys.modules["triton"])["language"] = sys.modules["triton.language"]
    package = ModuleType("layout_details")
    package.__path__ = [str(root / "python/triton_kernels/triton_kernels/tensor_details/layout_details")]
    sys.modules["layout_details"] = package
    layouts = importlib.import_module("layout_details.hopper_value")
    found = {}
    for name, version in (("mx:hopper", 3), ("mx:hopper_mma2", 2)):
        shape = (512, 256)
        codes = np.frombuffer(random_bytes(name, shape[0] * shape[1]), np.uint8).reshape(shape) & 15
        packed = torch.from_numpy(codes[:, ::2] | codes[:, 1::2] << 4)
        layout = layouts.HopperMXValueLayout(-1, version)
        made = layout.make_transformation(list(shape), True).swizzle_data(packed).contiguous()
        found[name] = {"source": None, "shape": list(shape), "sha256": sha256(made.numpy().tobytes()).hexdigest()}
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ggml", type=Path, required=True)
    parser.add_argument("--gptqmodel", type=Path, required=True)
    parser.add_argument("--triton", type=Path, required=True)
    given = parser.parse_args()
    vectors = {**ggml(given.ggml), **planar(given.gptqmodel), **hopper(given.triton)}
    (HERE / "vectors.json").write_text(json.dumps(vectors, indent=1) + "\n")
