"""How each scheme keeps a quantised layer: which tensors belong together, what they hold, and in which order.

A recognised tensor gets a record: the codes of a layer over k (input features) and n (output features), its scales and
zeros over groups g of k and n.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..elements.encoding import Encoding
from ..elements.interface import Plain
from ..errors import shown
from .contents import Source, StoredTensor, bad_file
from .reading import strict_json
from .record import LayoutRecord

if TYPE_CHECKING:
    from ..elements.interface import Interface

WORD = 32
"""The bits of the words that codes are packed in."""

SMALL = 1 << 14
"""No tensor that tells a shape, or a state, has more bytes."""

INCONSISTENT = "one of the two is wrong: write the checkpoint again"
"""The way out where tensors, or a tensor and the configuration, contradict each other."""


class QuantisedLayer(NamedTuple):
    """A quantised matrix of a checkpoint: ``shape`` is (k, n), and one scale stands for ``group`` elements of k.

    ``tensors`` are the names of its tensors by what they are: ``weight``, ``scales``, ``zeros``, ``g_idx``, ``bias``,
    ``biases`` of MLX, ``shape`` of compressed-tensors, ``global_scale`` of NVFP4.
    ``act_order`` says that ``g_idx`` deals rows of k to groups in an order of its own.
    """

    name: str
    scheme: str
    bits: int
    group: int
    shape: tuple[int, int]
    tensors: Mapping[str, str]
    act_order: bool = False

    def __str__(self) -> str:
        k, n = self.shape
        order = ", act-order" if self.act_order else ""
        return f"{self.scheme}, {self.bits} bits, groups of {self.group}{order}, k={k} n={n}"


Found = tuple[QuantisedLayer, dict[str, LayoutRecord]] | None


def _words_along_k_or_n(source: Source, name: str, config: Mapping[str, Any]) -> Found:
    """``.qweight`` of GPTQ, words along k, or of AWQ, words along n; the number of scales tells which."""
    weight, scales, zeros = (source.get(f"{name}.{part}") for part in ("qweight", "scales", "qzeros"))
    if weight is None or scales is None or len(weight.shape) != 2 or len(scales.shape) != 2:
        return None
    if weight.record is not None:
        return _from_records(source, name, weight, scales, config)
    if str(config.get("version", "")).lower().startswith("gemv"):
        return _awq_gemv(source, name, weight, scales, config)
    groups, n = scales.shape
    bits = _number(config, "bits", "w_bit") or (zeros.shape[1] * WORD // n if zeros is not None and n else None)
    if weight.element.bits != WORD or not bits or WORD % bits:
        return _three_bits(source, name, weight, scales, bits)
    per_word = WORD // bits
    rows, columns = weight.shape
    if columns == n:
        scheme, k = "gptq", rows * per_word
    elif columns * per_word == n:
        scheme, k = "awq", rows
    else:
        raise bad_file(
            source.path,
            f"words {shown(weight.shape)} of {per_word} codes fit neither k nor n of scales {shown(scales.shape)}.",
            INCONSISTENT,
            weight.name,
        )
    group = _group(source, scales, k, groups, config)
    order = {"gptq": f"gptq:w{bits}", "awq": "awq:gemm" if bits == 4 else f"awq:gemm_w{bits}"}[scheme]
    records = {weight.name: LayoutRecord.of(order, (k, n), Plain(f"uint{bits}"), axes="kn")}
    records[scales.name] = LayoutRecord.of("row-major", (groups, n), axes="gn")
    tensors = {"weight": weight.name, "scales": scales.name}
    if zeros is not None:
        if zeros.shape != (groups, n // per_word):
            raise bad_file(
                source.path,
                f"its shape {shown(zeros.shape)} is not {(groups, n // per_word)}, words of {per_word} zeros.",
                INCONSISTENT,
                zeros.name,
            )
        stored = zeros_interface(bits, one_less=scheme == "gptq" and config.get("checkpoint_format") != "gptq_v2")
        records[zeros.name] = LayoutRecord.of(f"{order}.zeros", (groups, n), stored, axes="gn")
        tensors["zeros"] = zeros.name
    elif config.get("sym") is False or config.get("zero_point") is True:
        raise bad_file(source.path, "the config says that it has zeros, and there are none.", INCONSISTENT, weight.name)
    tensors |= _beside(source, name)
    act_order = bool(config.get("desc_act")) and "g_idx" in tensors
    return QuantisedLayer(name, scheme, bits, group, (k, n), tensors, act_order), records


def _awq_gemv(
    source: Source, name: str, weight: StoredTensor, scales: StoredTensor, config: Mapping[str, Any]
) -> Found:
    """``.qweight`` of AWQ for its other kernels: words along k of rows n, or, for the fast one, four rows together."""
    fast = weight.element.bits == WORD // 2
    n, k = (4 * weight.shape[0], weight.shape[1]) if fast else (weight.shape[0], weight.shape[1] * 8)
    group = _number(config, "group_size", "q_group_size") or 0
    if weight.element.bits not in (WORD, WORD // 2) or group <= 0 or scales.shape[1 if fast else 0] != n or k % group:
        return None
    records = {weight.name: LayoutRecord.of("awq:v2" if fast else "awq:gemv", (n, k), Plain("uint4"), axes="nk")}
    tensors = {"weight": weight.name, "scales": scales.name, **_beside(source, name)}
    scheme = "awq gemv_fast" if fast else "awq gemv"
    return QuantisedLayer(name, scheme, 4, group, (k, n), tensors), records


def _three_bits(source: Source, name: str, weight: StoredTensor, scales: StoredTensor, bits: int | None) -> Found:
    """A layer whose codes straddle words: known, with no layout over whole elements."""
    groups, n = scales.shape
    if bits != 3 or weight.shape[1] != n or weight.shape[0] % 3:
        return None
    k = weight.shape[0] * WORD // 3
    tensors = {"weight": weight.name, "scales": scales.name, **_beside(source, name)}
    return QuantisedLayer(name, "gptq", 3, k // groups, (k, n), tensors), {}


def _from_records(
    source: Source, name: str, weight: StoredTensor, scales: StoredTensor, config: Mapping[str, Any]
) -> Found:
    """A layer whose tensors already say what they hold."""
    order = "" if weight.record is None else weight.record.name or weight.record.layout
    sizes, of_scales = [dict(zip(x.axes or "", x.layout.extents)) for x in (weight, scales)]
    if sorted(sizes) != ["k", "n"] or sorted(of_scales) != ["g", "n"] or ":" not in order:
        return None
    k, n, groups = sizes["k"], sizes["n"], of_scales["g"]
    tensors = {"weight": weight.name, "scales": scales.name, **_beside(source, name)}
    if f"{name}.qzeros" in source:
        tensors["zeros"] = f"{name}.qzeros"
    scheme = order.partition(":")[0]
    act_order = bool(config.get("desc_act")) and "g_idx" in tensors
    return QuantisedLayer(name, scheme, weight.interface.element.bits, -(-k // groups), (k, n), tensors, act_order), {}


def _compressed_tensors(source: Source, name: str, config: Mapping[str, Any]) -> Found:
    """``.weight_packed`` of compressed-tensors, words along k of rows n; ``.weight_shape`` tells k."""
    weight, scales = source.get(f"{name}.weight_packed"), source.get(f"{name}.weight_scale")
    told = source.get(f"{name}.weight_shape")
    if weight is None or scales is None or told is None or len(weight.shape) != 2:
        return None
    n, k = _integers(told)
    bits = weight.shape[1] * WORD // k if k else 0
    if weight.shape[0] != n or bits not in (2, 4, 8) or k * bits % WORD or weight.element.bits != WORD:
        return None
    groups = scales.shape[-1] if len(scales.shape) == 2 else 1
    if scales.shape != (n, groups) or k % max(groups, 1):
        raise bad_file(
            source.path, f"scales {shown(scales.shape)} are not those of {n} x {k} codes.", INCONSISTENT, scales.name
        )
    order, code = f"compressed:pack{bits}", Plain(f"uint{bits}")
    records = {weight.name: LayoutRecord.of(order, (n, k), code, axes="nk")}
    records[scales.name] = LayoutRecord.of("row-major", (n, groups), axes="ng")
    tensors = {"weight": weight.name, "scales": scales.name, "shape": told.name}
    zeros = source.get(f"{name}.weight_zero_point")
    if zeros is not None:
        if zeros.element.bits != WORD or zeros.shape != (-(-n * bits // WORD), groups):
            raise bad_file(
                source.path, f"its shape {shown(zeros.shape)} is not that of packed zeros.", INCONSISTENT, zeros.name
            )
        records[zeros.name] = LayoutRecord.of(f"{order}.zeros", (n, groups), code, axes="ng")
        tensors["zeros"] = zeros.name
    schemes = _compressed_schemes(config)
    if schemes and not any(
        bits == b and groups == (k // g if g > 0 else 1) and (zeros or sym) for b, g, sym in schemes
    ):
        raise bad_file(
            source.path,
            f"{bits} bits, groups of {k // groups} and {'no' if zeros is None else 'its'} zeros are no scheme of the "
            "config.",
            INCONSISTENT,
            weight.name,
        )
    tensors |= {
        role: f"{name}.{part}"
        for role, part in (("g_idx", "weight_g_idx"), ("bias", "bias"))
        if f"{name}.{part}" in source
    }
    return QuantisedLayer(name, "compressed-tensors", bits, k // groups, (k, n), tensors, "g_idx" in tensors), records


def _compressed_schemes(config: Mapping[str, Any]) -> list[tuple[int, int, bool]]:
    """Bits, size of groups (-1 for a whole row) and whether zeros may lack, of each scheme that a config tells."""
    told = config.get("config_groups")
    schemes = [x.get("weights") for x in told.values() if isinstance(x, dict)] if isinstance(told, dict) else []
    numbers = [
        (_number(x, "num_bits"), _number(x, "group_size"), x.get("symmetric")) for x in schemes if isinstance(x, dict)
    ]
    return [(bits, group or -1, symmetric is not False) for bits, group, symmetric in numbers if bits]


def _mlx(source: Source, name: str, config: Mapping[str, Any]) -> Found:
    """``.weight`` of MLX, words along k of rows n, with ``.scales`` and ``.biases``."""
    weight, scales, biases = (source.get(f"{name}.{part}") for part in ("weight", "scales", "biases"))
    own = config.get(name)
    config = {**config, **own} if isinstance(own, dict) else config
    bits, group = _number(config, "bits"), _number(config, "group_size")
    if weight is None or scales is None or biases is None or not bits or not group or weight.element.name != "uint32":
        return None
    if len(weight.shape) != 2 or len(scales.shape) != 2 or bits not in (2, 3, 4, 5, 6, 8):
        return None
    n, k = weight.shape[0], scales.shape[-1] * group
    if weight.shape[1] * WORD != k * bits or not scales.shape == biases.shape == (n, k // group):
        raise bad_file(
            source.path,
            f"scales {shown(scales.shape)} and biases {shown(biases.shape)} for groups of {group} are not those of "
            f"{shown(weight.shape)} words of {bits}-bit codes.",
            INCONSISTENT,
            scales.name,
        )
    records = {weight.name: LayoutRecord.of(f"mlx:w{bits}", (n, k), Plain(f"uint{bits}"), axes="nk")}
    records |= {x.name: LayoutRecord.of("row-major", x.shape, axes="ng") for x in (scales, biases)}
    tensors = {"weight": weight.name, "scales": scales.name, "biases": biases.name, **_beside(source, name)}
    return QuantisedLayer(name, "mlx", bits, group, (k, n), tensors), records


def _bitsandbytes(source: Source, name: str, config: Mapping[str, Any]) -> Found:
    """``.weight`` of bitsandbytes, pairs of codes in bytes; the state beside it tells the shape and the blocks."""
    weight = source.get(f"{name}.weight")
    kind = next((kind for kind in ("nf4", "fp4") if f"{name}.weight.quant_state.bitsandbytes__{kind}" in source), None)
    if weight is None or kind is None or weight.element.name != "uint8" or weight.record is not None:
        return None
    state = source[f"{name}.weight.quant_state.bitsandbytes__{kind}"]
    told = strict_json(_read_small(state), source.path, f"the state of {shown(weight.name)}")
    state_of = told if isinstance(told, dict) else {}
    shape, block = state_of.get("shape"), _number(state_of, "blocksize") or 0
    if not isinstance(shape, list) or len(shape) != 2 or not all(type(n) is int and n > 0 for n in (*shape, block)):
        raise bad_file(source.path, f"its state tells the shape {shown(shape)}.", INCONSISTENT, weight.name)
    n, k = shape
    if n * k != 2 * weight.size or k % 2:
        raise bad_file(
            source.path,
            f"{weight.size} bytes are not the codes of a {n} x {k} matrix, two a byte.",
            INCONSISTENT,
            weight.name,
        )
    records = {weight.name: LayoutRecord.of(f"bnb:{kind}", (n, k), Plain("uint4"), axes="nk")}
    tensors = {"weight": weight.name, "scales": f"{name}.weight.absmax"}
    return QuantisedLayer(name, f"bitsandbytes {kind}", 4, block, (k, n), tensors), records


def _int8(source: Source, name: str, config: Mapping[str, Any]) -> Found:
    """``.weight`` of LLM.int8() in bitsandbytes, rows n, with the largest magnitude of every row in ``.SCB``."""
    weight, scales = source.get(f"{name}.weight"), source.get(f"{name}.SCB")
    if weight is None or scales is None or weight.element.name != "int8" or weight.record is not None:
        return None
    if len(weight.shape) != 2 or scales.shape != weight.shape[:1]:
        raise bad_file(source.path, f"{shown(scales.shape)} are not the rows of the weight.", INCONSISTENT, scales.name)
    n, k = weight.shape
    tensors = {"weight": weight.name, "scales": scales.name, **_beside(source, name)}
    records = {weight.name: LayoutRecord.of("row-major", (n, k), axes="nk")}
    return QuantisedLayer(name, "bitsandbytes int8", 8, k, (k, n), tensors), records


def _nvfp4(source: Source, name: str, config: Mapping[str, Any]) -> Found:
    """``.weight`` of ModelOpt's NVFP4, pairs of codes in bytes, with a scale for every 16 and one for all."""
    weight, scales, whole = (source.get(f"{name}.{part}") for part in ("weight", "weight_scale", "weight_scale_2"))
    if weight is None or scales is None or whole is None or weight.record is not None or len(weight.shape) != 2:
        return None
    n, k = weight.shape[0], 2 * weight.shape[1]
    kinds = weight.element.name, scales.element.name, whole.element.name
    if kinds != ("uint8", "float8_e4m3fn", "float32") or k % 16:
        return None
    if scales.shape != (n, k // 16) or whole.size != 4:
        raise bad_file(
            source.path, f"scales {shown(scales.shape)} are not those of {n} x {k} codes.", INCONSISTENT, scales.name
        )
    records = {weight.name: LayoutRecord.of("compressed:fp4", (n, k), Plain("float4_e2m1fn"), axes="nk")}
    records[scales.name] = LayoutRecord.of("row-major", scales.shape, axes="ng")
    tensors = {"weight": weight.name, "scales": scales.name, "global_scale": whole.name, **_beside(source, name)}
    return QuantisedLayer(name, "nvfp4", 4, 16, (k, n), tensors), records


def _fp8(source: Source, name: str, config: Mapping[str, Any]) -> Found:
    """``.weight`` in FP8, rows n, with a scale for every row."""
    weight, scales = source.get(f"{name}.weight"), source.get(f"{name}.weight_scale")
    if weight is None or scales is None or weight.element.name != "float8_e4m3fn" or len(weight.shape) != 2:
        return None
    n, k = weight.shape
    if scales.shape not in ((n,), (n, 1)) or weight.record is not None or scales.element.integral:
        return None
    records = {weight.name: LayoutRecord.of("row-major", (n, k), axes="nk")}
    records[scales.name] = LayoutRecord.of("row-major", (n, 1), axes="ng")
    tensors = {"weight": weight.name, "scales": scales.name, **_beside(source, name)}
    return QuantisedLayer(name, "fp8", 8, k, (k, n), tensors), records


def _of_weight(source: Source, name: str, config: Mapping[str, Any]) -> Found:
    known = (_mlx, _bitsandbytes, _int8, _nvfp4, _fp8)
    return next((found for recognise in known if (found := recognise(source, name, config)) is not None), None)


RECOGNISERS = {".qweight": _words_along_k_or_n, ".weight_packed": _compressed_tensors, ".weight": _of_weight}
"""What may recognise a layer by a tensor whose name ends so."""


def zeros_interface(bits: int, one_less: bool) -> Interface:
    """What stored zeros mean: version 1 of GPTQ stores one less than the zero."""
    return Encoding(f"uint{bits}+1") if one_less else Plain(f"uint{bits}")


def _beside(source: Source, name: str) -> dict[str, str]:
    return {part: f"{name}.{part}" for part in ("g_idx", "bias") if f"{name}.{part}" in source}


def _group(source: Source, scales: StoredTensor, k: int, groups: int, config: Mapping[str, Any]) -> int:
    """How many elements of k a scale stands for; what the config says must fit the number of scales."""
    told = _number(config, "group_size", "q_group_size")
    group = -(-k // max(groups, 1)) if told is None else told if told > 0 else k
    if groups != -(-k // max(group, 1)):
        raise bad_file(
            source.path,
            f"{groups} groups of {group} are not the {k} input features of the layer.",
            INCONSISTENT,
            scales.name,
        )
    return group


def _number(config: Mapping[str, Any], *keys: str) -> int | None:
    return next((x for key in keys if type(x := config.get(key)) is int), None)


def _integers(entry: StoredTensor) -> tuple[int, ...]:
    """The two numbers of a tensor of two integers; zeros for any other."""
    if not entry.element.integral or entry.element.bits % 8:
        return (0, 0)
    data, width = _read_small(entry), entry.element.bytes
    found = tuple([int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width)])
    return found if len(found) == 2 else (0, 0)


def _read_small(entry: StoredTensor) -> bytes:
    """All bytes of a small tensor; none of a larger one."""
    if entry.size > SMALL or not entry.segments:
        return b""
    with entry.segments[0].file.open("rb") as file:
        file.seek(entry.segments[0].start)
        return file.read(entry.segments[0].size)
