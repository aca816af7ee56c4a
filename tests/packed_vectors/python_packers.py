"""The packers that vendors wrote in Python: each takes the codes in logical order and gives the bytes of its result.

Values stay out of it: a packer that adds 8 gets codes from which 8 was taken, so that the bytes hold the codes given.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from recipe import Array
from stand_ins import load

Pack = Callable[[Array], bytes]


class Case(NamedTuple):
    """An entry, the width of its elements, shapes to try, who packs, and that code, for codes under ``below``."""

    entry: str
    bits: int
    shapes: tuple[tuple[int, ...], ...]
    judge: str
    pack: Pack
    below: int = 0


def tensor(codes: Array, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    return torch.from_numpy(codes.astype(np.int64)).to(dtype)


def memory(x: Any) -> bytes:
    """The bytes of a tensor in the order of memory, which for a strided view is not that of its indices."""
    order = sorted(range(x.ndim), key=lambda d: -x.stride(d))
    dense = x.detach().permute(order)
    if not dense.is_contiguous():
        raise ValueError("the result does not fill its memory")
    return bytes(dense.view(torch.uint8).numpy().tobytes())


def signed(codes: Array, bits: int) -> torch.Tensor:
    """The integers that are stored as these codes once half the range is added."""
    return tensor(codes.astype(np.int64) - (1 << (bits - 1)), torch.int8)


def pairs(codes: Array) -> Array:
    """Two codes a byte along the last dimension, the first in the low half."""
    return np.asarray(codes[..., ::2] | codes[..., 1::2] << 4, np.uint8)


# ---- vLLM -------------------------------------------------------------------------------------------------

UTILS = "vllm.model_executor.layers.quantization.utils"


@cache
def vllm(root: Path, module: str) -> Any:
    also = [f"{UTILS}.{name}" for name in ("marlin_utils", "marlin_utils_fp4", "quant_utils")]
    return load(root / "vllm", f"{UTILS}.{module}", *also, "vllm.scalar_type")


def marlin(root: Path) -> list[Case]:
    """Weights of 16 or 32 by 64, and what lies beside them."""
    test, utils, fp4 = [vllm(root, name) for name in ("marlin_utils_test", "marlin_utils", "marlin_utils_fp4")]
    file = "vLLM a014e35f, marlin_utils"

    def weights(bits: int, narrow: bool) -> Pack:
        perm = test.get_weight_perm(bits, narrow)
        return lambda c: memory(test.marlin_weights(tensor(c), *c.shape, bits, perm, narrow))

    def scales(group: int, narrow: bool = False) -> Pack:
        def pack(c: Array) -> bytes:
            x = torch.from_numpy(c.view(np.float16))
            return memory(utils.marlin_permute_scales(x, 64 * len(c) + 64, c.shape[1], group, narrow))

        return pack

    def zeros(bits: int, narrow: bool) -> Pack:
        return lambda c: memory(utils.marlin_zero_points(tensor(c), *c.shape, bits, narrow))

    def mx_scales(c: Array) -> bytes:
        x = torch.from_numpy(c).view(torch.float8_e8m0fnu).to(torch.bfloat16)
        permuted = utils.marlin_permute_scales(x, 32 * len(c) + 32, c.shape[1], 32)
        return memory(fp4.mxfp4_marlin_process_scales(permuted))

    def nv_scales(c: Array) -> bytes:
        # E4M3 becomes S0E5M3, one byte for one from 8 on: undone here by the vendor's own answer for every byte alone.
        def stored(codes: Array) -> Array:
            x = torch.from_numpy(codes + np.uint8(8)).view(torch.float8_e4m3fn).to(torch.half)
            permuted = utils.marlin_permute_scales(x, 16 * len(codes) + 16, codes.shape[1], 16)
            made, _ = fp4.nvfp4_marlin_process_scales(permuted, 1.0)
            return np.asarray(made.view(torch.uint8).numpy())

        back = np.zeros(256, np.uint8)
        for code in range(119):
            back[stored(np.full((1, 64), code, np.uint8))[0, 0]] = code
        return back[stored(c)].tobytes()

    cases = []
    for name, bits, narrow in [("w4a16", 4, False), ("w8a16", 8, False), ("w4a8", 4, True), ("w8a8", 8, True)]:
        shapes = ((32, 64), (64, 192), (160, 128))
        cases += [
            Case(f"marlin:{name}", bits, shapes, f"{file}_test.marlin_weights", weights(bits, narrow)),
            Case(f"marlin:{name}.zeros", bits, ((1, 64), (5, 192)), f"{file}.marlin_zero_points", zeros(bits, narrow)),
            Case(
                f"marlin:{name}.scales",
                16,
                ((2, 64), (5, 192)),
                f"{file}.marlin_permute_scales",
                scales(64, narrow),
            ),
            Case(f"marlin:{name}.channel_scales", 16, ((1, 64), (1, 192)), f"{file}.marlin_permute_scales", scales(-1)),
        ]
    made = f"{file}_fp4.mxfp4_marlin_process_scales", f"{file}_fp4.nvfp4_marlin_process_scales"
    return [
        *cases,
        Case("marlin:mxfp4.scales", 8, ((2, 64), (5, 192)), made[0], mx_scales, 255),
        Case("marlin:nvfp4.scales", 8, ((2, 64), (5, 192)), made[1], nv_scales, 119),
    ]


def gptq_and_awq(root: Path) -> list[Case]:
    """Words of 32 bits along k or along n."""
    quant = vllm(root, "quant_utils")
    file = "vLLM a014e35f, quant_utils"

    def along_k(bits: int) -> Pack:
        return lambda c: memory(quant.gptq_pack(tensor(c), bits, *c.shape))

    def along_n(bits: int) -> Pack:
        return lambda c: memory(quant.awq_pack(tensor(c), bits, *c.shape))

    gptq = [Case(f"gptq:w{b}", b, ((32, 8), (64, 48)), f"{file}.gptq_pack", along_k(b)) for b in (2, 4, 8)]
    awq = [
        Case(f"awq:{name}{part}", bits, ((3, 48), (32, 24)), f"{file}.awq_pack", along_n(bits))
        for name, bits in [("gemm", 4), ("gemm_w8", 8)]
        for part in ("", ".zeros")
    ]
    return gptq + awq


# ---- GPTQModel, AutoAWQ, compressed-tensors, MLX ----------------------------------------------------------


def gptqmodel(root: Path) -> list[Case]:
    """The layer's own packing, of weights and of zeros, with scales of one."""
    without = ["transformers", "threadpoolctl", "device_smi", "logbar", "defuser", "pcre"]
    package = load(root / "GPTQModel", "gptqmodel.nn_modules.qlinear", without=without)
    file = "GPTQModel f4c327a1, qlinear pack_original"

    class ThreadLimits:
        def __enter__(self) -> None: ...
        def __exit__(self, *raised: object) -> None: ...

    package.THREADPOOLCTL = SimpleNamespace(threadpool_limits=lambda n: ThreadLimits())
    package._ConvNd = package.transformers.pytorch_utils.Conv1D = ()
    package.transformers = SimpleNamespace(pytorch_utils=SimpleNamespace(Conv1D=()))

    def layer(weights: Array, zeros: Array, bits: int) -> dict[str, torch.Tensor]:
        k, group = len(weights), len(weights) // len(zeros)
        made: dict[str, torch.Tensor] = {}
        me = SimpleNamespace(
            bits=bits,
            maxq=(1 << bits) - 1,
            planar=False,
            pack_factor=32 // bits,
            pack_dtype=torch.int32,
            pack_dtype_bits=32,
            pack_np_math_dtype=np.uint32,
            pack_np_dtype=np.int32,
            g_idx=torch.arange(k) // group,
            bias=None,
            register_buffer=made.__setitem__,
        )
        spread = np.repeat(zeros.astype(np.float32), group, axis=0)
        linear = SimpleNamespace(weight=torch.from_numpy((weights.astype(np.float32) - spread).T.copy()), bias=None)
        ones = torch.ones(zeros.shape[::-1])
        for name in ("PackableQuantLinear", "BaseQuantLinear"):
            if hasattr(getattr(package, name, None), "pack_original"):
                getattr(package, name).pack_original(me, linear, ones, torch.from_numpy(zeros.T.astype(np.float32)))
                return made
        raise LookupError("pack_original")

    cases = []
    for bits in (2, 3, 4, 8):

        def weights(c: Array, bits: int = bits) -> bytes:
            return memory(layer(c, np.full((2, c.shape[1]), 1 << (bits - 1)), bits)["qweight"])

        def zeros(c: Array, bits: int = bits) -> bytes:
            return memory(layer(np.zeros((32 * len(c), c.shape[1])), c, bits)["qzeros"])

        cases += [
            Case(f"gptq:w{bits}", bits, ((64, 32), (96, 64)) if bits == 3 else ((96, 32),), file, weights),
            Case(f"gptq:w{bits}.zeros", bits, ((3, 32), (5, 96)), file, zeros),
        ]
    fast = load(root / "GPTQModel", "gptqmodel.nn_modules.qlinear.gemv_fast_awq", without=without)
    return [
        *cases,
        Case(
            "awq:v2",
            4,
            ((8, 128),),
            "GPTQModel f4c327a1, gemv_fast_awq.pack_intweight",
            lambda c: memory(fast.pack_intweight(tensor(c), 4, 64)),
        ),
    ]


def autoawq(root: Path) -> list[Case]:
    """The three linear layers of AutoAWQ, with scales of one."""
    modules = "awq.modules.linear"
    gemm, gemv, fast = [
        load(root / "AutoAWQ", f"{modules}.{name}", "awq.utils.module", without=["transformers", "triton"])
        for name in ("gemm", "gemv", "gemv_fast")
    ]

    gemm.get_best_device = lambda: "cpu"

    def layer(kind: Any, weights: Array, zeros: Array, group: int) -> Any:
        spread = np.repeat(zeros.astype(np.float32), group, axis=1)
        n, k = weights.shape
        linear = torch.nn.Linear(k, n, bias=False)
        linear.weight.data = torch.from_numpy(weights.astype(np.float32) - spread)
        ones, z = torch.ones(zeros.shape), torch.from_numpy(zeros.astype(np.float32))
        if kind.__name__ == "WQLinear_GEMM":
            return kind.from_linear(linear, 4, group, scales=ones.T.contiguous(), zeros=z.T.contiguous())
        return kind.from_linear(linear, 4, group, scales=ones, zeros=z)

    def of_weights(kind: Any) -> Pack:
        def pack(c: Array) -> bytes:
            by_row = c.T if kind is gemm.WQLinear_GEMM else c
            return memory(layer(kind, by_row, np.full((len(by_row), by_row.shape[1] // 128), 8), 128).qweight)

        return pack

    def of_zeros(kind: Any) -> Pack:
        def pack(c: Array) -> bytes:
            by_row = c.T if kind is gemm.WQLinear_GEMM else c
            return memory(layer(kind, np.zeros((len(by_row), by_row.shape[1] * 128)), by_row, 128).qzeros)

        return pack

    file = "AutoAWQ 88e4c76, awq/modules/linear"
    return [
        Case("awq:gemm", 4, ((128, 32), (256, 96)), f"{file}/gemm.py", of_weights(gemm.WQLinear_GEMM)),
        Case("awq:gemm.zeros", 4, ((3, 32),), f"{file}/gemm.py", of_zeros(gemm.WQLinear_GEMM)),
        Case("awq:gemv", 4, ((8, 128), (24, 256)), f"{file}/gemv.py", of_weights(gemv.WQLinear_GEMV)),
        Case("awq:gemv.zeros", 4, ((8, 3), (24, 16)), f"{file}/gemv.py", of_zeros(gemv.WQLinear_GEMV)),
        Case("awq:v2", 4, ((8, 128), (24, 256)), f"{file}/gemv_fast.py", of_weights(fast.WQLinear_GEMVFast)),
    ]


def llm_awq(root: Path) -> list[Case]:
    """The packing that tinychat loads."""
    module = load(root / "llm-awq", "awq.quantize.qmodule", without=["awq_inference_engine"])
    file = "llm-awq d6e797a, awq/quantize/qmodule.pack_intweight"
    return [Case("awq:v2", 4, ((4, 64), (12, 192)), file, lambda c: memory(module.pack_intweight(tensor(c), 4, 64)))]


def compressed_tensors(root: Path) -> list[Case]:
    """The unpacked wheel of 0.20, and the repository as it was a year before."""
    new = load(root / "compressed_tensors-0.20", "compressed_tensors.compressors.pack_quantized.helpers")
    old = load(
        root / "compressed-tensors/src",
        "compressed_tensors.compressors.quantized_compressors.pack_quantized",
        without=["loguru"],
    )

    def along(packer: Any, dim: int, bits: int) -> Pack:
        # A file holds it contiguous, which the older one's result along dimension 0 is not.
        return lambda c: memory(packer.pack_to_int32(signed(c, bits), bits, dim).contiguous())

    cases = []
    for packer, judge, shapes in [
        (new, "compressed-tensors 0.20, pack_to_int32", ((3, 32), (24, 64))),
        (old, "compressed-tensors 52792be0, pack_to_int32", ((5, 96),)),
    ]:
        for bits in (2, 4, 8):
            flipped = tuple([shape[::-1] for shape in shapes])
            cases.append(Case(f"compressed:pack{bits}", bits, shapes, judge, along(packer, 1, bits)))
            cases.append(Case(f"compressed:pack{bits}.zeros", bits, flipped, judge, along(packer, 0, bits)))
        for bits in (3, 5, 6, 7):
            # Codes go on in the next word since 0.18, or leave the rest of a word empty.
            per, by_word = (32, "") if packer is new else (32 // bits, "_by_word")
            whole = ((3, 2 * per), (7, 3 * per), (2, 5 * per))
            flipped = tuple([shape[::-1] for shape in whole])
            cases.append(Case(f"compressed:pack{bits}{by_word}", bits, whole, judge, along(packer, 1, bits)))
            cases.append(Case(f"compressed:pack{bits}{by_word}.zeros", bits, flipped, judge, along(packer, 0, bits)))
    return cases


def mlx(root: Path) -> list[Case]:
    """What MLX reads: the bytes whose dequantisation, of scale 1 and bias 0, is the codes."""
    import mlx.core as mx

    def read(bits: int) -> Pack:
        def made(c: Array) -> bytes:
            from recipe import in_memory

            packed = np.frombuffer(in_memory(c, bits), np.uint32).reshape(len(c), -1)
            ones = mx.ones((c.shape[0], c.shape[1] // 32))
            values = np.array(mx.dequantize(mx.array(packed), ones, 0 * ones, group_size=32, bits=bits))
            if not np.array_equal(values, c):
                raise ValueError("MLX reads other codes")
            return packed.tobytes()

        return made

    file = f"MLX {mx.__version__}, mx.dequantize"
    return [Case(f"mlx:w{bits}", bits, ((3, 64), (40, 96)), file, read(bits)) for bits in (2, 3, 4, 5, 6, 8)]


def fp4(root: Path) -> list[Case]:
    """Two FP4 a byte, as compressed-tensors packs them and as transformers reads those of gpt-oss: unpacked wheels."""
    helpers = load(root / "compressed_tensors-0.20", "compressed_tensors.compressors.nvfp4.helpers", without=["triton"])
    reader = load(root / "transformers", "transformers.integrations.mxfp4", torch=torch, nn=torch.nn)
    reader.on_device = lambda device: contextlib.nullcontext()
    e2m1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)

    def packed(c: Array) -> bytes:
        return memory(helpers.pack_fp4_to_uint8(torch.from_numpy(e2m1[c])))

    def read(c: Array) -> bytes:
        given = torch.from_numpy(pairs(c).reshape(len(c), -1, 16))
        scales = torch.full(given.shape[:2], 127, dtype=torch.uint8)
        values = reader._convert_moe_packed_tensors(given[None], scales[None], dtype=torch.float32)
        if not np.array_equal(values.numpy().reshape(c.shape[::-1]).T, e2m1[c]):
            raise ValueError("transformers reads other codes")
        return memory(given)

    shapes = ((3, 32), (24, 160))
    return [
        Case("compressed:fp4", 4, shapes, "compressed-tensors 0.20, pack_fp4_to_uint8", packed),
        Case("mx:ocp", 4, shapes, "transformers 5.22, convert_moe_packed_tensors", read),
    ]


def marlin_of_ist(root: Path) -> list[Case]:
    """The layer of Marlin's own repository, with scales of one."""
    package = load(root / "marlin", "marlin", without=["marlin_cuda"])

    def pack(c: Array) -> bytes:
        k, n = c.shape
        layer = package.Layer(k, n, 128)
        linear = SimpleNamespace(
            weight=SimpleNamespace(data=torch.from_numpy(c.T.astype(np.float16) - 8), dtype=torch.half)
        )
        layer.pack(linear, torch.ones(n, k // 128, dtype=torch.half))
        return memory(layer.B)

    return [Case("marlin:w4a16", 4, ((256, 512),), "IST-DASLab Marlin, Layer.pack", pack)]


def bitsandbytes(root: Path) -> list[Case]:
    """Bytes that its dequantisation, with the codes themselves for a codebook, reads as these codes."""
    module = load(root / "bitsandbytes", "bitsandbytes.backends.default.ops")

    def made(c: Array) -> bytes:
        packed = np.asarray(c[:, ::2] << 4 | c[:, 1::2], np.uint8)
        codebook, ones = torch.arange(16.0), torch.ones(c.size // 64)
        read = module._dequantize_4bit_compute(
            torch.from_numpy(packed.reshape(-1).copy()), ones, codebook, 64, list(c.shape), torch.float32
        )
        if not np.array_equal(read.numpy(), c):
            raise ValueError("bitsandbytes reads other codes")
        return packed.tobytes()

    file = "bitsandbytes 95f9af30, backends/default/ops.py dequantize_4bit"
    return [Case(f"bnb:{name}", 4, ((2, 64), (24, 192)), file, made) for name in ("nf4", "fp4")]


def qqq(root: Path) -> list[Case]:
    """QQQ's weights of 4 bits for activations of 8, with one scale a column or one a group."""
    without = ["transformers", "threadpoolctl", "device_smi", "logbar", "defuser", "pcre"]
    module = load(root / "GPTQModel", "gptqmodel.nn_modules.qlinear.qqq", without=without)
    module.CPU = "cpu"
    [kind] = [x for x in vars(module).values() if isinstance(x, type) and "_get_perms" in vars(x)]

    def pack(grouped: bool) -> Pack:
        def made(c: Array) -> bytes:
            buffers: dict[str, torch.Tensor] = {}
            k, n = c.shape
            me = SimpleNamespace(
                bits=4,
                tile=16,
                in_features=k,
                out_features=n,
                group_size=128 if grouped else k,
                maxq=15 if grouped else 8,
            )
            me.register_buffer = buffers.__setitem__
            perm, _, scale, _, single, _ = kind._get_perms(me)
            me._perm, me._scale_perm, me._scale_perm_single = perm, scale, single
            values = c.astype(np.float32) - np.where(c > 7, 16, 0) if not grouped else c.astype(np.float32) - 8
            linear = SimpleNamespace(weight=torch.from_numpy(values.T.copy()).half(), bias=None)
            scales = torch.ones(n, k // 128 if grouped else 1)
            kind.pack(me, linear, scales, torch.ones(1, n) if grouped else None)
            return memory(buffers["B"])

        return made

    file = "GPTQModel f4c327a1, qlinear/qqq.py"
    return [
        Case("qqq:w4", 4, ((128, 64), (256, 192)), file, pack(False)),
        Case("qqq:w4_grouped", 4, ((256, 64), (384, 192)), file, pack(True)),
    ]


# ---- TensorRT-LLM, FlashInfer -----------------------------------------------------------------------------


def tensorrt_llm(root: Path) -> list[Case]:
    module = load(root / "trtllm", "tensorrt_llm.quantization.functional", without=["tensorrt"])
    file = "TensorRT-LLM 5731f655, preprocess_weights_for_mixed_gemm"
    kinds = {
        "w4a16": (torch.quint4x2, torch.float16, 4),
        "w8a16": (torch.int8, torch.float16, 8),
        "w4afp8": (torch.quint4x2, torch.float8_e4m3fn, 4),
    }

    def pack(name: str, sm: int) -> Pack:
        mode, activations, bits = kinds[name]

        def made(c: Array) -> bytes:
            # The packer turns two's complement into codes, except where it changes no order at all.
            twos = c if sm == 100 else (c ^ (1 << (bits - 1)))
            given = torch.from_numpy(pairs(twos) if bits == 4 else twos.copy()).view(torch.int8)
            return memory(module.preprocess_weights_for_mixed_gemm(given, mode, activations, sm))

        return made

    return [
        Case(f"trtllm:{name}_sm{sm}", kinds[name][2], ((128, 16), (256, 48)), file, pack(name, sm))
        for name in kinds
        for sm in (80, 90, 100)
    ]


def flashinfer(root: Path) -> list[Case]:
    without = ["pynvml", "tvm_ffi", "flashinfer_cubin", "cuda"]
    utils = load(root / "flashinfer", "flashinfer.utils", "flashinfer.fused_moe.core", without=without)
    core = load(root / "flashinfer", "flashinfer.fused_moe.core", "flashinfer.utils", without=without)
    file = "FlashInfer fb28d724, shuffle_matrix_a and convert_to_block_layout"

    def pack(tile: int) -> Pack:
        def made(c: Array) -> bytes:
            x = torch.from_numpy(c)
            rows = utils.get_shuffle_matrix_a_row_indices(x, tile)
            return memory(core.convert_to_block_layout(x[rows], 128))

        return made

    def rows(tile: int) -> Pack:
        return lambda c: memory(torch.from_numpy(c)[utils.get_shuffle_matrix_a_row_indices(torch.from_numpy(c), tile)])

    shapes = ((32, 256), (96, 384))
    return [
        Case("flashinfer:shuffled16", 8, ((16, 5), (96, 24)), "FlashInfer fb28d724, shuffle_matrix_a", rows(64)),
        Case("flashinfer:shuffled32", 8, ((32, 5), (96, 24)), "FlashInfer fb28d724, shuffle_matrix_a", rows(128)),
        Case("flashinfer:BlockMajorK_shuffled16", 8, shapes, file, pack(64)),
        Case("flashinfer:BlockMajorK_shuffled32", 8, shapes, file, pack(128)),
    ]


# ---- AMD and Triton ---------------------------------------------------------------------------------------


def aiter(root: Path) -> list[Case]:
    shuffle = load(root / "aiter", "aiter.ops.shuffle")
    tiles = load(root / "aiter", "aiter.ops.triton.utils.shuffle", "aiter.ops.shuffle")
    file = "AITER e4048607, ops/shuffle"

    def bytewise(function: Callable[[torch.Tensor], torch.Tensor]) -> Pack:
        return lambda c: memory(function(torch.from_numpy(c)))

    def int4(c: Array) -> bytes:
        shuffled = shuffle.shuffle_weight(signed(c, 4), use_int4=True)
        return bytes(x ^ 0x88 for x in memory(shuffle.pack_int8_to_packed_int4(shuffled)))

    def moe_scales(c: Array) -> bytes:
        return memory(shuffle.shuffle_scale(torch.from_numpy(c), 1, True, False))

    rows = ((32, 8), (96, 24))
    weights = ((16, 64), (48, 128))
    return [
        Case("aiter:16x16", 16, ((16, 32), (48, 96)), f"{file}.shuffle_weight", lambda c: memory16(shuffle, c)),
        Case("aiter:16x16", 8, weights, f"{file}.shuffle_weight", bytewise(shuffle.shuffle_weight)),
        Case(
            "aiter:16x16",
            4,
            weights,
            f"{file}.shuffle_weight",
            lambda c: memory(shuffle.shuffle_weight(torch.from_numpy(pairs(c)))),
        ),
        Case("aiter:16x16_int4", 4, weights, f"{file}.pack_int8_to_packed_int4", int4),
        Case("aiter:16x16.scales", 8, ((256, 8), (512, 24)), f"{file}.shuffle_scale", bytewise(shuffle.shuffle_scale)),
        Case("aiter:16x16.scales", 8, rows, f"{file}.shuffle_scale", moe_scales),
        Case("aiter:n32k4.scales", 8, rows, f"{file}.shuffle_mxfp8fp4_scale", bytewise(shuffle.shuffle_mxfp8fp4_scale)),
        Case(
            "aiter:mxfp8fp4_a",
            8,
            ((4, 128), (10, 384)),
            f"{file}.shuffle_mxfp8fp4_a",
            bytewise(shuffle.shuffle_mxfp8fp4_a),
        ),
        Case(
            "aiter:f4_nvfp4.scales",
            8,
            rows,
            f"{file}.shuffle_scale_f4",
            bytewise(lambda x: shuffle.shuffle_scale_f4(x, 8)),
        ),
        Case(
            "aiter:f4_mxfp4.scales",
            8,
            rows,
            f"{file}.shuffle_scale_f4",
            bytewise(lambda x: shuffle.shuffle_scale_f4(x, 7)),
        ),
        Case(
            "aiter:gemm_gfx1250.scales",
            8,
            rows,
            "AITER e4048607, ops/triton/utils/shuffle.shuffle_scale_gemm",
            bytewise(lambda x: tiles.shuffle_scale_gemm(x, "gfx1250")),
        ),
    ]


def memory16(shuffle: Any, c: Array) -> bytes:
    return memory(shuffle.shuffle_weight(torch.from_numpy(c.view(np.int16)).view(torch.bfloat16)))


def triton_kernels(root: Path) -> list[Case]:
    """Scales are given with k first, and weights with two codes a byte along n; both come back as views of memory."""
    folder = "triton_kernels.tensor_details.layout_details"
    near = [f"{folder}.{name}" for name in ("base", "torch_utils")]

    def scales(module: str, kind: str) -> Pack:
        made = load(root / "triton/python/triton_kernels", f"{folder}.{module}", *near)
        layout = getattr(made, kind)()

        def pack(c: Array) -> bytes:
            by_k = torch.from_numpy(c.T.copy())
            return memory(layout.make_transformation(list(by_k.shape), False).swizzle_data(by_k))

        return pack

    def hopper(warps: int) -> Pack:
        made = load(root / "triton/python/triton_kernels", f"{folder}.hopper_scale", *near)
        layout = made.HopperMXScaleLayout(mx_axis=-1, num_warps=warps)
        return lambda c: memory(
            layout.make_transformation(list(c.shape), False).swizzle_data(torch.from_numpy(c)).contiguous()
        )

    def values(module: str, kind: str) -> Pack:
        made = load(root / "triton/python/triton_kernels", f"{folder}.{module}", *near)
        layout = getattr(made, kind)()
        return lambda c: memory(
            layout.make_transformation(list(c.shape), True).swizzle_data(torch.from_numpy(pairs(c)))
        )

    file = "Triton f4fca2c0, triton_kernels layout_details"
    wide = ((128, 8), (384, 24))
    return [
        Case(
            "mx:cdna4.scales",
            8,
            ((32, 8), (96, 24), (70, 11)),
            f"{file}/cdna4_scale.py",
            scales("cdna4_scale", "CDNA4MXScaleLayout"),
        ),
        Case(
            "mx:gfx1250.scales",
            8,
            (*wide, (130, 6)),
            f"{file}/gfx1250_scale.py",
            scales("gfx1250_scale", "GFX1250MXScaleLayout"),
        ),
        Case(
            "mx:blackwell.scales",
            8,
            (*wide, (130, 14)),
            f"{file}/blackwell_scale.py",
            scales("blackwell_scale", "BlackwellMXScaleLayout"),
        ),
        *[
            Case(f"mx:hopper_warps{w}.scales", 8, ((32 * w, 4), (96 * w, 6)), f"{file}/hopper_scale.py", hopper(w))
            for w in (4, 8)
        ],
        Case(
            "mx:blackwell",
            4,
            ((256, 64), (512, 48)),
            f"{file}/blackwell_value.py",
            values("blackwell_value", "BlackwellMXValueLayout"),
        ),
        Case(
            "mx:blackwell_shuffled",
            4,
            ((256, 512), (512, 768)),
            f"{file}/blackwell_value_shuffled.py",
            values("blackwell_value_shuffled", "BlackwellMX4ValueShuffledLayout"),
        ),
    ]


# ---- PyTorch ----------------------------------------------------------------------------------------------


def torch_cpu(root: Path) -> list[Case]:
    """The order of the instruction set that PyTorch uses: ATEN_CPU_CAPABILITY chooses a lower one."""
    name = torch.backends.cpu.get_cpu_capability().lower()
    convert = torch.ops.aten._convert_weight_to_int4pack_for_cpu
    judge = f"PyTorch {torch.__version__}, _convert_weight_to_int4pack_for_cpu"
    shapes = ((64, 16), (192, 48))
    return [Case(f"torch:int4pack_{name}", 4, shapes, judge, lambda c: memory(convert(tensor(c), 2)))]


def tinygemm(root: Path) -> list[Case]:
    """What PyTorch makes of weights on a CUDA device; its input has the first code of a byte in the high half."""
    if not torch.cuda.is_available():
        return []

    def pack(tiles: int) -> Pack:
        def made(c: Array) -> bytes:
            high_first = np.asarray(c[:, ::2] << 4 | c[:, 1::2], np.uint8)
            return memory(torch.ops.aten._convert_weight_to_int4pack(torch.from_numpy(high_first).cuda(), tiles).cpu())

        return made

    judge = f"PyTorch {torch.__version__}, _convert_weight_to_int4pack on {torch.cuda.get_device_name()}"
    return [Case(f"tinygemm:k{t}", 4, ((8, 16 * t), (24, 48 * t)), judge, pack(t)) for t in (2, 4, 8)]


FAMILIES = (
    torch_cpu,
    tinygemm,
    marlin,
    gptq_and_awq,
    gptqmodel,
    autoawq,
    llm_awq,
    compressed_tensors,
    mlx,
    fp4,
    marlin_of_ist,
    bitsandbytes,
    qqq,
    tensorrt_llm,
    flashinfer,
    aiter,
    triton_kernels,
)
