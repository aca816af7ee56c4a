"""What lies beside the tensors of a checkpoint: its config with the new quantisation, and its other texts."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..contents import Source
from ..quantised import quantisation_config
from ..reading import read_text, strict_json
from .packed_weights import PackedChanges

_CONFIG, _GPTQ_CONFIG = "config.json", "quantize_config.json"
_KEYS = ("quantization_config", "quantization")
_TEXTS = (".json", ".jinja", ".txt", ".model", ".tiktoken", ".md")
MAX_BYTES = 64 << 20
"""No text beside a checkpoint that is copied has more."""


def companion_files(source: Source, packed: PackedChanges, folder: Path) -> dict[Path, tuple[int, dict[int, bytes]]]:
    """The files of a new checkpoint besides its tensors, each with its size and its bytes.

    Without one description that holds for all layers there is no config, with a warning.
    """
    found = dict(_texts(source.path.parent))
    if (why := _obstacle(packed)) is not None:
        warnings.warn(f"no {_CONFIG} is written: {why}.", stacklevel=3)
    else:
        described = _description(source, packed)
        file = source.path.parent / _CONFIG
        told = strict_json(read_text(file), file, "it") if file.is_file() else {}
        rest = {key: x for key, x in told.items() if key not in _KEYS} if isinstance(told, dict) else {}
        found[_CONFIG] = _json(rest | described)
        if packed.packing.system == "gptq" and (source.path.parent / _GPTQ_CONFIG).is_file():
            found[_GPTQ_CONFIG] = _json(described[_KEYS[0]])
    return {folder / name: (len(data), {0: data}) for name, data in sorted(found.items())}


def _texts(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The texts beside a checkpoint that do not speak of its tensors."""
    for file in sorted(folder.iterdir()):
        tells_tensors = file.name in (_CONFIG, _GPTQ_CONFIG) or file.name.endswith((".index.json", ".relayout.json"))
        if file.suffix in _TEXTS and not tells_tensors and file.is_file() and file.stat().st_size <= MAX_BYTES:
            yield file.name, file.read_bytes()


def _description(source: Source, packed: PackedChanges) -> dict[str, Any]:
    """The quantisation of all layers as loaders read it."""
    packing, bits = packed.packing, packed.packing.bits
    old = quantisation_config(source.path)
    group = _group(packed)
    act_order = any(layer.act_order for layer in packed.layers)
    if packing.system == "gptq":
        kept = old if old.get("quant_method") == "gptq" else {}
        own = {"bits": bits, "group_size": group, "desc_act": act_order, "sym": packed.symmetric}
        version = "gptq" if packing.zero_less_one else "gptq_v2"
        return {_KEYS[0]: {**kept, "quant_method": "gptq", **own, "checkpoint_format": version}}
    if packing.system == "awq":
        zero = {"zero_point": True, "version": "gemm"}
        return {_KEYS[0]: {"quant_method": "awq", "bits": bits, "group_size": group, **zero}}
    if packing.system == "mlx":
        return {key: {"group_size": group, "bits": bits} for key in _KEYS}
    if packing.system == "compressed":
        return {_KEYS[0]: _compressed_config(source, packed, group)}
    own = {"bits": bits, "group_size": group, "desc_act": act_order, "sym": packed.symmetric}
    return {_KEYS[0]: {"quant_method": "relayout", "packing": packing.called, **own}}


def _compressed_config(source: Source, packed: PackedChanges, group: int) -> dict[str, Any]:
    """The quantisation as compressed-tensors writes it; what has no codes is ignored."""
    weights = {
        "num_bits": packed.packing.bits,
        "type": "int",
        "symmetric": packed.symmetric,
        "strategy": "channel" if group < 0 else "group",
        "group_size": None if group < 0 else group,
        "dynamic": False,
        "actorder": "group" if any("g_idx" in layer.tensors for layer in packed.layers) else None,
    }
    plain = [
        name.removesuffix(".weight") for name, x in source.items() if name.endswith(".weight") and len(x.shape) == 2
    ]
    return {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "quantization_status": "compressed",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}},
        "ignore": plain,
    }


def _obstacle(packed: PackedChanges) -> str | None:
    """Why no one description holds for all layers, if that is so."""
    group = _group(packed)
    if packed.rest:
        return f"{packed.rest[0].name} and {len(packed.rest) - 1} other layers stay as they are"
    if group > 0 and any(layer.group != min(group, layer.shape[0]) for layer in packed.layers):
        return "its layers have groups of several sizes"
    return None


def _group(packed: PackedChanges) -> int:
    """The size of a group in all layers; -1 where each has one of its own."""
    return max([layer.group for layer in packed.layers if layer.group < layer.shape[0]], default=-1)


def _json(x: Any) -> bytes:
    return (json.dumps(x, indent=2, ensure_ascii=False) + "\n").encode()
