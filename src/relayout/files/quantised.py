"""The quantised layers of a checkpoint.

The names and shapes of the tensors tell them, and ``config.json`` beside the file the rest; where both speak they must
agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import shown
from .contents import Source, bad_file
from .quantised_schemes import INCONSISTENT, RECOGNISERS, WORD, QuantisedLayer
from .reading import read_text, strict_json
from .record import LayoutRecord

if TYPE_CHECKING:
    from pathlib import Path

_CONFIGS = ("config.json", "quantize_config.json")


def quantised_layers(source: Source) -> tuple[Source, list[QuantisedLayer]]:
    """The layers of a checkpoint, and the checkpoint with a record for every tensor of theirs."""
    config = quantisation_config(source.path)
    layers: list[QuantisedLayer] = []
    records: dict[str, LayoutRecord] = {}
    for name in source:
        for suffix, recognise in RECOGNISERS.items():
            if name.endswith(suffix):
                found = recognise(source, name.removesuffix(suffix), config)
                if found is not None:
                    layer, told = found
                    _check_beside(source, layer)
                    layers.append(layer)
                    records |= told
    entries = {
        name: entry if name not in records else entry._replace(record=records[name]) for name, entry in source.items()
    }
    return Source(source.path, source.kind, entries, source.metadata), layers


def _check_beside(source: Source, layer: QuantisedLayer) -> None:
    """Refuse a bias or an order of rows of another length than the layer has, and scales that are no floats."""
    k, n = layer.shape
    for role, sizes in (("bias", (n,)), ("g_idx", (k,))):
        entry = source.get(layer.tensors.get(role, ""))
        if entry is not None and entry.shape != sizes:
            raise bad_file(
                source.path,
                f"its shape {shown(entry.shape)} is not the {sizes} of the layer.",
                INCONSISTENT,
                entry.name,
            )
    scales = source.get(layer.tensors["scales"])
    if scales is not None and scales.element.integral and not layer.scheme.startswith("bitsandbytes"):
        raise bad_file(source.path, f"scales are no {scales.element.name}.", INCONSISTENT, scales.name)


def unknown_layers(source: Source, layers: list[QuantisedLayer]) -> list[str]:
    """The tensors that have the name and the words of packed codes, no record, and are in no layer."""
    known = {layer.tensors["weight"] for layer in layers}
    named = [x for name, x in source.items() if name.endswith((".qweight", ".weight_packed")) and name not in known]
    return [x.name for x in named if x.record is None and x.element.integral and x.element.bits == WORD]


def activation_type(path: Path) -> str | None:
    """The type that ``config.json`` beside a checkpoint says that the model computes in."""
    file = (path if path.is_dir() else path.parent) / _CONFIGS[0]
    told = strict_json(read_text(file), file, "it") if file.is_file() else {}
    found = (told.get("torch_dtype") or told.get("dtype")) if isinstance(told, dict) else None
    return found if isinstance(found, str) else None


def quantisation_config(path: Path) -> dict[str, Any]:
    """What ``config.json`` beside a checkpoint says of its quantisation; empty where there is none."""
    folder = path if path.is_dir() else path.parent
    for name in _CONFIGS:
        file = folder / name
        if file.is_file():
            told = strict_json(read_text(file), file, "it")
            told = told if isinstance(told, dict) else {}
            found = told.get("quantization_config") or told.get("quantization") or (told if "bits" in told else None)
            if isinstance(found, dict):
                return found
    return {}
