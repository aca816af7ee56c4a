"""safetensors: a header in JSON, then the tensors without holes. One file, or several with an index."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...elements.types import ELEMENTS, Element
from ...errors import shown
from ..contents import Destination, PlannedTensor, Segment, Source, StoredTensor, bad_file, nbytes
from ..reading import (
    HEADER_LIMIT,
    TRUNCATED,
    OpenFile,
    checked_shape,
    contiguous_tensor,
    pop_object,
    read_text,
    sibling,
    strict_json,
    with_records_json,
)
from .npy import with_bits_dtype

INDEX = ".safetensors.index.json"
OF_INDEX = "relayout.index"
"""The key of the metadata that keeps what an index says of itself."""

SHARD_BYTES = 5 * 10**9
"""Shards are not larger, but for a single tensor that is."""

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


def read(path: Path) -> Source:
    """All tensors of a file."""
    entries, metadata = _file(path)
    return Source(path, "safetensors", entries, metadata)


def read_shards(path: Path) -> Source:
    """All tensors of the files that an index names; metadata are the files', and by their own key the index's."""
    told = strict_json(read_text(path), path, "the index")
    places = told.get("weight_map") if isinstance(told, dict) else None
    if not isinstance(places, dict) or not all(isinstance(file, str) for file in places.values()):
        raise bad_file(path, "it has no weight_map of names to files.", "write the index again")
    found: dict[str, StoredTensor] = {}
    metadata: dict[str, Any] = {}
    for file in dict.fromkeys(places.values()):
        entries, own = _file(sibling(path, file))
        strays = [name for name in entries if places.get(name) != file]
        if strays:
            raise bad_file(
                path, f"the index does not say that it is in {shown(file)}.", "write the index again", strays[0]
            )
        found |= entries
        metadata = own | metadata
    missing = [name for name in places if name not in found]
    if missing:
        raise bad_file(path, f"it is not in {shown(places[missing[0]])}.", "write the index again", missing[0])
    own = told.get("metadata")
    others = {key: x for key, x in own.items() if key != "total_size"} if isinstance(own, dict) else {}
    return Source(
        path, "shards", {name: found[name] for name in places}, metadata | ({OF_INDEX: others} if others else {})
    )


def _file(path: Path) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    with OpenFile(path) as file:
        length = int.from_bytes(file.read(0, 8), "little")
        header = strict_json(file.read(8, length), path)
        if not isinstance(header, dict):
            raise bad_file(path, "its header is no JSON object.", _HINT)
        metadata = header.pop("__metadata__", {})
        if not isinstance(metadata, dict) or not all(isinstance(x, str) for x in metadata.values()):
            raise bad_file(path, "its __metadata__ are not texts by name.", _HINT)
        entries = {name: _entry(file, 8 + length, name, told) for name, told in header.items()}
        reached = 8 + length
        for entry in sorted(entries.values(), key=lambda e: (e.segments[0].start, e.segments[0].size)):
            if entry.segments[0].start != reached:
                what = "overlaps another tensor" if entry.segments[0].start < reached else "leaves a hole before it"
                raise bad_file(path, f"it {what}.", _HINT, entry.name)
            reached += entry.segments[0].size
        if reached != file.size:
            raise bad_file(path, f"its tensors end at byte {reached}, and the file at {file.size}.", TRUNCATED)
    return with_records_json(entries, metadata.pop("relayout", None), path), metadata


def _entry(file: OpenFile, data: int, name: str, told: Any) -> StoredTensor:
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


# ---- writing ---------------------------------------------------------------------------------------------


def plan(path: Path, planned: Sequence[PlannedTensor], metadata: Mapping[str, Any] | None = None) -> Destination:
    """One file: the widest elements first, then by name, which keeps every tensor aligned."""
    stored = sorted([_as_stored(p) for p in planned], key=lambda p: (-p.element.bits, p.name))
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
            path, f"its header would have {len(text)} bytes; the limit is {HEADER_LIMIT}.", f"write *{INDEX}"
        )
    first = 8 + len(text)
    entries: dict[str, tuple[Segment, ...]]
    entries = {name: (Segment(path, first + start, size),) for name, (start, size) in places.items()}
    return Destination({path: (first + at, {0: len(text).to_bytes(8, "little") + text})}, entries)


def plan_shards(path: Path, planned: Sequence[PlannedTensor], metadata: Mapping[str, Any] | None = None) -> Destination:
    """Files of at most 5 GB with the tensors in the order given, and the index that names them."""
    groups: list[list[PlannedTensor]] = []
    room = 0
    for p in planned:
        size = nbytes(p.element, p.shape)
        if not groups or size > room:
            groups.append([])
            room = SHARD_BYTES
        groups[-1].append(p)
        room -= size
    told = dict(metadata or {})
    others = pop_object(told, OF_INDEX)
    stem = path.name.removesuffix(INDEX)
    files: dict[Path, tuple[int, dict[int, bytes]]] = {}
    entries: dict[str, tuple[Segment, ...]] = {}
    places: dict[str, str] = {}
    for k, group in enumerate(groups):
        shard = path.with_name(f"{stem}-{k + 1:05}-of-{len(groups):05}.safetensors")
        part = plan(shard, group, told)
        twice = [name for name in part.entries if name in entries]
        if twice:
            raise bad_file(path, "the name is taken.", "rename the tensor", twice[0])
        files |= part.files
        entries |= part.entries
        places |= dict.fromkeys(part.entries, shard.name)
    total = sum([s.size for segments in entries.values() for s in segments])
    index = {"metadata": {"total_size": total, **others}, "weight_map": dict(sorted(places.items()))}
    text = json.dumps(index, indent=2, ensure_ascii=False).encode() + b"\n"
    return Destination({**files, path: (len(text), {0: text})}, entries)


def _as_stored(p: PlannedTensor) -> PlannedTensor:
    kind: Element = p.element
    return p if kind.name in _WORDS and kind.name not in _RARE else with_bits_dtype(p)


def texts(metadata: Mapping[str, Any] | None) -> dict[str, str]:
    """Metadata as texts by name; what is no text already becomes its JSON."""
    return {
        str(key): value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        for key, value in (metadata or {}).items()
    }
