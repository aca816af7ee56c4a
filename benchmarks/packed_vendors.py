"""The vendors' own packers, run from their checkouts, on the pairs of ``packed.py``: in Python, and of ready libraries.

Each gets the same bytes as ours and gives the same bytes, unpacking and packing as its own functions do.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from repack_cases import Array

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "packed_vectors"))

Pack = Callable[[], Array]
"""A call that gives the packed bytes."""


class Vendor(NamedTuple):
    """Whose packer it is, and how it is made ready for a matrix of that shape and its bytes."""

    name: str
    prepare: Callable[[tuple[int, int], Array], Pack]


def bytes_of(x: Any) -> Array:
    return np.asarray(x.contiguous().numpy()).reshape(-1).view(np.uint8)


def in_python(root: Path, threads: int) -> dict[str, Vendor]:
    """The packers of checkouts in that folder, by the name of the pair; of those that are there."""
    import torch
    from python_packers import vllm
    from stand_ins import load

    torch.set_num_threads(threads)

    def words(x: Array, rows: int) -> Any:
        return torch.from_numpy(x.view(np.int32)).reshape(rows, -1)

    def unpacked(x: Array, k: int, bits: int) -> Any:
        """The codes of GPTQ's words, k by n."""
        quant = vllm(root, "quant_utils")
        packed = words(x, k * bits // 32)
        return quant.unpack_quantized_values_into_int32(packed, SimpleNamespace(size_bits=bits), 0)

    def marlin(bits: int) -> Callable[[tuple[int, int], Array], Pack]:
        def prepare(shape: tuple[int, int], x: Array) -> Pack:
            test = vllm(root, "marlin_utils_test")
            perm = test.get_weight_perm(bits)
            return lambda: bytes_of(test.marlin_weights(unpacked(x, shape[0], bits), *shape, bits, perm))

        return prepare

    def gptq_of_awq(shape: tuple[int, int], x: Array) -> Pack:
        module = load(root / "AutoAWQ", "awq.utils.packing_utils")
        zeros = torch.zeros(1, shape[1] // 8, dtype=torch.int32)
        return lambda: bytes_of(module.unpack_reorder_pack(words(x, shape[0]), zeros, 4)[0])

    def awq_v2(shape: tuple[int, int], x: Array) -> Pack:
        module = load(root / "llm-awq", "awq.quantize.qmodule", without=["awq_inference_engine"])
        return lambda: bytes_of(module.pack_intweight(unpacked(x, shape[0], 4).T.contiguous(), 4, 64))

    def compressed(shape: tuple[int, int], x: Array) -> Pack:
        name = "compressed_tensors.compressors.quantized_compressors.pack_quantized"
        module = load(root / "compressed-tensors/src", name, without=["loguru"])
        return lambda: bytes_of(module.pack_to_int32((unpacked(x, shape[0], 4).T - 8).to(torch.int8), 4))

    def swizzled(shape: tuple[int, int], x: Array) -> Pack:
        module = vllm(root, "nvfp4_utils")
        module.round_up = lambda n, step: -(-n // step) * step
        torch.Tensor.cuda = lambda self: self
        scales = torch.from_numpy(x).view(torch.float8_e4m3fn).reshape(shape)
        return lambda: bytes_of(module.swizzle_blockscale(scales).view(torch.uint8))

    found = {
        "GPTQ to Marlin": ("vllm", Vendor("vLLM", marlin(4))),
        "GPTQ w8 to Marlin": ("vllm", Vendor("vLLM", marlin(8))),
        "AWQ to GPTQ": ("AutoAWQ", Vendor("AutoAWQ", gptq_of_awq)),
        "GPTQ to AWQ v2": ("llm-awq", Vendor("llm-awq", awq_v2)),
        "GPTQ to compressed": ("compressed-tensors", Vendor("compressed-tensors", compressed)),
        "scales to 128x4": ("vllm", Vendor("vLLM", swizzled)),
    }
    return {pair: vendor for pair, (folder, vendor) in found.items() if (root / folder).is_dir()}


def of_ggml(library: Path) -> Vendor:
    """ggml's repack of whole blocks of Q4_0 to 8x8, from a library with ``q4_0_8`` as tests/packed_vectors has it."""
    call = ctypes.CDLL(str(library)).q4_0_8

    def prepare(shape: tuple[int, int], x: Array) -> Pack:
        out = np.zeros_like(x)
        sizes = ctypes.c_int64(shape[1]), ctypes.c_int64(shape[0])
        places = [ctypes.c_void_p(side.ctypes.data) for side in (x, out)]
        run = partial(call, 8, *sizes, places[0], ctypes.c_size_t(x.nbytes), places[1])

        def packed() -> Array:
            if run():
                raise SystemExit("ggml refuses the shape")
            return out

        return packed

    return Vendor("ggml", prepare)
