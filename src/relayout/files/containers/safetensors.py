"""safetensors: a header in JSON, then the tensors without holes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...elements.types import ELEMENTS, Element
from ...errors import shown
from ..container import Container
from ..contents import Destination, PlannedTensor, Segment, Source, StoredTensor, bad_file, nbytes
from ..reading import (
    HEADER_LIMIT,
    TRUNCATED,
    OpenFile,
    checked_shape,
    contiguous_tensor,
    strict_json,
    with_records_json,
)
from .npy import with_bits_dtype

_TYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F4": "float4_e2m1fn",
    "F6_E2M3": "float6_e2m3fn",
    "F6_E3M2": "float6_e3m2fn",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F8_E8M0": "float8_e8m0fnu",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
}
_WORDS = {name: word for word, name in _TYPES.items()}
# Older readers know neither these types nor packed elements; their bits are readable everywhere.
_RARE = {"float8_e4m3fnuz", "float8_e5m2fnuz", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"}
_HINT = "write the file again with safetensors or relayout"


class Safetensors(Container):
    """One file of tensors without holes, their records in its metadata."""

    name = "safetensors"
    suffixes = (".safetensors",)

    def recognises(self, path: Path) -> bool:
        return path.is_dir() and _only_file(path) is not None

    def read(self, path: Path) -> Source:
        """All tensors of a file; a folder with one such file, and no index, stands for it."""
        path = (_only_file(path) or path) if path.is_dir() else path
        with OpenFile(path) as file:
            tensors, metadata = _read_file(file)
        return Source(path, self.name, with_records_json(tensors, metadata.pop("relayout", None), path), metadata)

    def plan(
        self, path: Path, planned: Sequence[PlannedTensor], metadata: Mapping[str, Any] | None = None
    ) -> Destination:
        """One file: the widest elements first, then by name, which keeps every tensor aligned."""
        stored = sorted([_storable(p) for p in planned], key=lambda p: (-p.element.bits, p.name))
        header: dict[str, Any] = {}
        words = texts(metadata)
        records = {p.name: p.record.to_json() for p in stored if p.record is not None}
        if records:
            words["relayout"] = json.dumps(records, ensure_ascii=False, allow_nan=False)
        if words:
            header["__metadata__"] = words
        at = 0
        places = {}
        for p in stored:
            if p.name == "__metadata__" or p.name in header:
                raise bad_file(path, "the name is taken.", "rename the tensor", p.name)
            size = nbytes(p.element, p.shape)
            header[p.name] = {"dtype": _WORDS[p.element.name], "shape": list(p.shape), "data_offsets": [at, at + size]}
            places[p.name] = (at, size)
            at += size
        text = json.dumps(header, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        # The data begin at a cache line, which readers that map the file, and writers, are faster with.
        text += b" " * (-(8 + len(text)) % 64)
        if len(text) > HEADER_LIMIT:
            raise bad_file(
                path,
                f"its header would have {len(text)} bytes; the limit is {HEADER_LIMIT}.",
                "write *.safetensors.index.json",
            )
        first = 8 + len(text)
        entries: dict[str, tuple[Segment, ...]]
        entries = {name: (Segment(path, first + start, size),) for name, (start, size) in places.items()}
        return Destination({path: (first + at, {0: len(text).to_bytes(8, "little") + text})}, entries)


CONTAINER = Safetensors()


def _only_file(folder: Path) -> Path | None:
    """The only safetensors file of a folder that has no index of several."""
    found = sorted(folder.glob("*.safetensors"))
    return found[0] if len(found) == 1 and not any(folder.glob("*.safetensors.index.json")) else None


def _read_file(file: OpenFile) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    """The tensors and the metadata; every byte behind the header is one tensor's."""
    length = int.from_bytes(file.read(0, 8), "little")
    header = strict_json(file.read(8, length), file.path)
    if not isinstance(header, dict):
        raise bad_file(file.path, "its header is no JSON object.", _HINT)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(x, str) for x in metadata.values()):
        raise bad_file(file.path, "its __metadata__ are not texts by name.", _HINT)
    tensors = {name: _tensor(file, 8 + length, name, told) for name, told in header.items()}
    reached = 8 + length
    for tensor in sorted(tensors.values(), key=lambda x: (x.segments[0].start, x.segments[0].size)):
        start, size = tensor.segments[0].start, tensor.segments[0].size
        if start != reached:
            what = "overlaps another tensor" if start < reached else "leaves a hole before it"
            raise bad_file(file.path, f"it {what}.", _HINT, tensor.name)
        reached += size
    if reached != file.size:
        raise bad_file(file.path, f"its tensors end at byte {reached}, and the file at {file.size}.", TRUNCATED)
    return tensors, metadata


def _tensor(file: OpenFile, data: int, name: str, told: Any) -> StoredTensor:
    if not isinstance(told, dict) or set(told) != {"dtype", "shape", "data_offsets"}:
        raise bad_file(file.path, f"the header says {shown(told)} of it.", _HINT, name)
    kind = _TYPES.get(told["dtype"]) if isinstance(told["dtype"], str) else None
    if kind is None:
        raise bad_file(file.path, f"its dtype is {shown(told['dtype'])}.", f"known: {', '.join(_TYPES)}", name)
    element = ELEMENTS[kind]
    shape = checked_shape(told["shape"], element, file.path, name)
    ends = told["data_offsets"]
    if not isinstance(ends, list) or len(ends) != 2 or not all(type(x) is int and 0 <= x < 1 << 63 for x in ends):
        raise bad_file(file.path, f"its data_offsets are {shown(ends)}.", _HINT, name)
    return contiguous_tensor(file, data + ends[0], ends[1] - ends[0], name, element, shape)


def _storable(p: PlannedTensor) -> PlannedTensor:
    """The tensor in a type that every reader knows."""
    kind: Element = p.element
    return p if kind.name in _WORDS and kind.name not in _RARE else with_bits_dtype(p)


def texts(metadata: Mapping[str, Any] | None) -> dict[str, str]:
    """Metadata as texts by name; what is no text already becomes its JSON."""
    return {
        str(key): value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        for key, value in (metadata or {}).items()
    }
