"""Runs the vendors' own conversions of values on every bit pattern, and records what they made.

``python tests/packed_vectors/record_values.py CHECKOUTS``: CHECKOUTS is a folder with the vendors' repositories, each
under its own name. For types of 8 bits the answer to every byte is kept; for those of 16 bits which of all patterns are
converted without loss, and their answers, as hashes.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from python_packers import vllm
from recipe import codes

FILE = Path(__file__).parent / "values.json"
JUDGE = "vLLM a014e35f"


def bytes_of(x: torch.Tensor) -> bytes:
    return bytes(x.contiguous().view(torch.uint8).numpy().tobytes())


def narrow(encoding: str, element: str, judge: str, convert: Callable[[torch.Tensor], torch.Tensor]) -> dict[str, Any]:
    """The answer to every byte, one at a time where that matters to nobody."""
    every = torch.arange(256, dtype=torch.uint8)
    return {"encoding": encoding, "element": element, "judge": judge, "stored": bytes_of(convert(every)).hex()}


def wide(encoding: str, dtype: torch.dtype, power: int, judge: str, convert: Any) -> dict[str, Any]:
    """Which of all patterns of 16 bits become their multiple exactly, and what those become."""
    every = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(dtype)
    made = convert(every)
    exact = torch.isfinite(made) & (made.double() == torch.ldexp(every.double(), torch.tensor(power)))
    return {
        "encoding": encoding,
        "element": str(dtype).removeprefix("torch."),
        "judge": judge,
        "count": int(exact.sum()),
        "exact": hashlib.sha256(exact.numpy().tobytes()).hexdigest(),
        "stored": hashlib.sha256(bytes_of(made[exact])).hexdigest(),
    }


def layers(checkouts: Path) -> Iterator[dict[str, Any]]:
    """The scales of whole layers, as they are prepared for the kernel: encoded and in its order."""
    fp4, fp8, utils = [vllm(checkouts, name) for name in ("marlin_utils_fp4", "marlin_utils_fp8", "marlin_utils")]
    n, k = 128, 256
    for dtype in (torch.float16, torch.bfloat16):
        name = str(dtype).removeprefix("torch.")
        # E4M3 from 1/64 to 15: for bfloat16 there is room for a factor.
        stored = torch.from_numpy(codes((n, k // 16), 8, 3, 71) + np.uint8(8))
        scales = utils.marlin_permute_scales(stored.view(torch.float8_e4m3fn).T.contiguous().to(dtype), k, n, 16)
        made, factor = fp4.nvfp4_marlin_process_scales(scales, a_dtype=dtype)
        whole = fp4.nvfp4_marlin_process_global_scale(torch.tensor([0.0123], dtype=torch.float32), dtype) / factor
        judge = f"{JUDGE}, prepare_fp4_layer_for_marlin"
        told = {"scales": hashlib.sha256(bytes_of(made)).hexdigest(), "global_scale": bytes_of(whole).hex()}
        yield {"layer": "nvfp4", "dtype": name, "shape": [n, k], "factor": factor, "judge": judge, **told}
        rows = torch.from_numpy(codes((n, 1), 16, 4, 1 << 12)).view(dtype) + 1
        moved = utils.marlin_permute_scales(rows.reshape(1, n), k, n, -1)
        fused = fp8.fp8_fused_exponent_bias_into_scales(moved)
        told = {"scales": hashlib.sha256(bytes_of(fused)).hexdigest()}
        yield {
            "layer": "fp8",
            "dtype": name,
            "shape": [n, k],
            "judge": f"{JUDGE}, prepare_fp8_layer_for_marlin",
            **told,
        }


def main(checkouts: Path) -> None:
    fp4, fp8 = vllm(checkouts, "marlin_utils_fp4"), vllm(checkouts, "marlin_utils_fp8")
    test = vllm(checkouts, "marlin_utils_test")

    def e4m3(factor: float) -> Callable[[torch.Tensor], torch.Tensor]:
        def convert(x: torch.Tensor) -> torch.Tensor:
            # Of four scales the middle two are exchanged: four equal ones show what becomes of one.
            scales = x.view(torch.float8_e4m3fn).to(torch.half).repeat_interleave(4).reshape(1, -1)
            return fp4.nvfp4_marlin_process_scales(scales, factor)[0].reshape(-1)[::4]

        return convert

    def e8m0(x: torch.Tensor) -> torch.Tensor:
        made = x.clone().view(torch.float8_e8m0fnu)
        below = made.view(torch.uint8) < 250
        answered = fp4.mxfp4_marlin_process_scales(made[below], torch.float8_e4m3fn).view(torch.uint8)
        return torch.cat([answered, torch.zeros(256 - len(answered), dtype=torch.uint8)])

    def of_fp8_activations(codes: torch.Tensor, scales: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """What its quantiser makes of codes around 8 and of scales, before either is moved."""
        eights = torch.full_like(codes, 8)
        test.quantize_weights = lambda *a, **k: (codes, codes, scales, eights)
        test.marlin_weights = test.marlin_permute_scales = test.marlin_zero_points = lambda x, *a, **k: x
        kind = test.scalar_types.uint4
        _, made, scaled, _ = test.awq_marlin_quantize(codes, kind, 1, torch.float8_e4m3fn)
        return made, scaled

    def codes_of(x: torch.Tensor) -> torch.Tensor:
        codes = (x % 16).to(torch.int32).reshape(256, 1)
        return of_fp8_activations(codes, torch.ones(256, 1))[0].to(torch.uint8)

    def times_512(x: torch.Tensor) -> torch.Tensor:
        column = x.reshape(-1, 1)
        return of_fp8_activations(torch.zeros(column.shape, dtype=torch.int32), column)[1].reshape(-1)

    factors = {"": 1.0, "*2": 2.0, "*64": 64.0}
    found = [
        narrow(f"marlin_s0e5m3{text}", "float8_e4m3fn", f"{JUDGE}, nvfp4_marlin_process_scales", e4m3(factor))
        for text, factor in factors.items()
    ]
    found += [
        narrow("float8_e8m0fnu*64", "float8_e8m0fnu", f"{JUDGE}, mxfp4_marlin_process_scales", e8m0),
        narrow("marlin_int4_fp8", "uint4-8", f"{JUDGE}, awq_marlin_quantize", codes_of),
    ]
    fused = fp8.fp8_fused_exponent_bias_into_scales
    for dtype, power in ((torch.float16, 8), (torch.bfloat16, 120)):
        name = str(dtype).removeprefix("torch.")
        found += [
            wide(f"{name}*512", dtype, 9, f"{JUDGE}, awq_marlin_quantize", times_512),
            wide(f"{name}*2^{power}", dtype, power, f"{JUDGE}, fp8_fused_exponent_bias_into_scales", fused),
        ]
    found += layers(checkouts)
    FILE.write_text("[\n" + ",\n".join([json.dumps(x) for x in found]) + "\n]\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
