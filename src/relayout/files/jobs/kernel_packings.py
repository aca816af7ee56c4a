"""The packings of whole layers: what each kind of checkpoint calls its tensors, and in which orders it has them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ..quantised_schemes import WORD

_GN, _NG = "format:0 1 axes gn", "format:0 1 axes ng"
_NAMES = {"weight": "qweight", "scales": "scales", "zeros": "qzeros", "g_idx": "g_idx", "bias": "bias"}
_COMPRESSED = {
    "weight": "weight_packed",
    "scales": "weight_scale",
    "zeros": "weight_zero_point",
    "g_idx": "weight_g_idx",
    "shape": "weight_shape",
    "bias": "bias",
}
_AWQ = {role: name for role, name in _NAMES.items() if role != "g_idx"}
_MLX = {"weight": "weight", "scales": "scales", "biases": "biases", "bias": "bias"}


class Packing(NamedTuple):
    """How one kernel, or one kind of checkpoint, wants a layer.

    ``weight``, ``scales`` (``channel_scales`` where there is one group) and ``zeros`` are the orders, names of formats
    or texts. ``along`` says how words hold codes: along k, along n, in tiles of 16 x 64, or along k of rows n. A layer
    has whole blocks of ``rows`` x ``columns`` codes. Version 1 of GPTQ stores one less than the zero. ``names`` are
    those of the tensors by what they are; what has no name there has no place. Where ``groups`` are told there are none
    of other sizes. Layers of these ``schemes`` mean what it can hold. ``codes`` is the encoding of codes around their
    middle, where it is not that of GPTQ, and scales are stored ``times`` so much.
    """

    bits: int
    weight: str
    scales: str
    channel_scales: str
    zeros: str
    along: str
    rows: int
    columns: int
    zero_less_one: bool = False
    bias: str = "row-major"
    names: Mapping[str, str] = MappingProxyType(_NAMES)
    words: str = "int32"
    groups: tuple[int, ...] = ()
    schemes: tuple[str, ...] = ("gptq", "awq", "marlin", "compressed-tensors", "mlx")
    name: str = ""
    codes: str = ""
    times: int = 1

    @property
    def system(self) -> str:
        """Whose it is."""
        return self.weight.partition(":")[0]

    @property
    def called(self) -> str:
        """What is asked for: a name of its own, or that of the order of its codes."""
        return self.name or self.weight

    def stored_shape(self, role: str, k: int, n: int, groups: int) -> tuple[int, ...]:
        """The shape of the array that holds a tensor of a layer."""
        per_word = WORD // self.bits
        rows_of_n = self.along == "rows"
        if role == "weight":
            return {
                "k": (k // per_word, n),
                "n": (k, n // per_word),
                "tiles": (k // 16, n * 16 // per_word),
                "rows": (n, k // per_word),
            }[self.along]
        if role == "zeros":
            return (n // per_word, groups) if rows_of_n else (groups, n // per_word)
        return (n,) if role == "bias" else (n, groups) if rows_of_n else (groups, n)


def _gptq(bits: int, version: int) -> Packing:
    per_word = WORD // bits
    zeros = f"gptq:w{bits}.zeros"
    called = f"gptq_v2:w{bits}" if version == 2 else ""
    name = f"gptq:w{bits}"
    return Packing(bits, name, _GN, _GN, zeros, "k", per_word, per_word, zero_less_one=version == 1, name=called)


def _marlin(bits: int) -> Packing:
    name = f"marlin:w{bits}a16"
    scales, channels, zeros = [f"{name}.{part}" for part in ("scales", "channel_scales", "zeros")]
    bias = "format:0 / 0,4@2 0,4@8 0,2 axes n"
    return Packing(bits, name, scales, channels, zeros, "tiles", 16, 64, bias=bias)


def _marlin_fp8_activations() -> Packing:
    """Codes around their middle in an encoding that the kernel widens to FP8, and 512 times the scales."""
    name = "marlin:w4a8"
    names = {role: part for role, part in _NAMES.items() if role != "zeros"}
    made = _marlin(4)._replace(weight=name, scales=f"{name}.scales", channel_scales=f"{name}.channel_scales", rows=32)
    return made._replace(zeros="", names=names, name=f"{name}_fp8", codes="marlin_int4_fp8", times=512)


def _marlin_floats(scheme: str) -> Packing:
    """Weights in FP4 or FP8, whose scales the kernel wants in an encoding of its own."""
    bits, scales = (4, "marlin:nvfp4.scales") if scheme == "nvfp4" else (8, "marlin:w8a16.channel_scales")
    names = {"weight": "weight", "scales": "weight_scale", "global_scale": "weight_scale_2", "bias": "bias"}
    return _marlin(bits)._replace(
        scales=scales, channel_scales=scales, zeros="", names=names, schemes=(scheme,), name=f"marlin:{scheme}"
    )


def _compressed_packing(bits: int) -> Packing:
    name, per_word = f"compressed:pack{bits}", WORD // bits
    return Packing(bits, name, _NG, _NG, f"{name}.zeros", "rows", per_word, per_word, names=_COMPRESSED)


def _mlx_packing(bits: int) -> Packing:
    return Packing(bits, f"mlx:w{bits}", _NG, _NG, "", "rows", 32, 1, names=_MLX, words="uint32", groups=(32, 64, 128))


KERNEL_PACKINGS = {
    packing.called: packing
    for packing in (
        *[_gptq(bits, version) for version in (1, 2) for bits in (2, 4, 8)],
        Packing(4, "awq:gemm", _GN, _GN, "awq:gemm.zeros", "n", 1, 8, names=_AWQ),
        *[_marlin(bits) for bits in (4, 8)],
        _marlin_fp8_activations(),
        *[_marlin_floats(scheme) for scheme in ("nvfp4", "fp8")],
        *[make(bits) for make in (_compressed_packing, _mlx_packing) for bits in (2, 4, 8)],
    )
}
"""The packings of whole layers, by what they are called."""
