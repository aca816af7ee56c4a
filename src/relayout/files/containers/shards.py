"""Several safetensors files and ``*.safetensors.index.json``, the index that says which tensor is in which."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import shown
from ..container import Container
from ..contents import Destination, PlannedTensor, Segment, Source, StoredTensor, bad_file, nbytes
from ..reading import pop_object, read_text, sibling, strict_json
from .safetensors import CONTAINER as SAFETENSORS

SUFFIX = ".safetensors.index.json"

OF_INDEX = "relayout.index"
"""The key of the metadata that keeps what an index says of itself."""

SHARD_BYTES = 5 * 10**9
"""Shards are not larger, but for a single tensor that is; Hugging Face's libraries cut at the same size."""


class Shards(Container):
    """The tensors of all files that an index names; a folder with one index stands for it."""

    name = "shards"
    suffixes = (SUFFIX,)

    def recognises(self, path: Path) -> bool:
        return path.is_dir() and any(path.glob(f"*{SUFFIX}"))

    def read(self, path: Path) -> Source:
        """All tensors of the files; metadata are the files', and by their own key the index's."""
        index = _only_index(path) if path.is_dir() else path
        told = strict_json(read_text(index), index, "the index")
        places = told.get("weight_map") if isinstance(told, dict) else None
        if not isinstance(places, dict) or not all(isinstance(file, str) for file in places.values()):
            raise bad_file(index, "it has no weight_map of names to files.", "write the index again")
        tensors: dict[str, StoredTensor] = {}
        metadata: dict[str, Any] = {}
        for file in dict.fromkeys(places.values()):
            shard = SAFETENSORS.read(sibling(index, file))
            strays = [name for name in shard if places.get(name) != file]
            if strays:
                what = f"the index does not say that it is in {shown(file)}."
                raise bad_file(index, what, "write the index again", strays[0])
            tensors |= shard
            metadata = shard.metadata | metadata
        missing = [name for name in places if name not in tensors]
        if missing:
            raise bad_file(index, f"it is not in {shown(places[missing[0]])}.", "write the index again", missing[0])
        own = told.get("metadata")
        others = {key: x for key, x in own.items() if key != "total_size"} if isinstance(own, dict) else {}
        metadata |= {OF_INDEX: others} if others else {}
        return Source(index, self.name, {name: tensors[name] for name in places}, metadata)

    def plan(
        self, path: Path, planned: Sequence[PlannedTensor], metadata: Mapping[str, Any] | None = None
    ) -> Destination:
        """Files of at most 5 GB with the tensors in the order given, and the index that names them."""
        groups = _groups(planned)
        told = dict(metadata or {})
        others = pop_object(told, OF_INDEX)
        if told and not groups:
            raise bad_file(path, "it has metadata, and no shard that would hold them.", "write one .safetensors")
        stem = path.name.removesuffix(SUFFIX)
        files: dict[Path, tuple[int, dict[int, bytes]]] = {}
        entries: dict[str, tuple[Segment, ...]] = {}
        places: dict[str, str] = {}
        for k, group in enumerate(groups):
            shard = path.with_name(f"{stem}-{k + 1:05}-of-{len(groups):05}.safetensors")
            part = SAFETENSORS.plan(shard, group, told)
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


CONTAINER = Shards()


def _only_index(folder: Path) -> Path:
    indexes = sorted(folder.glob(f"*{SUFFIX}"))
    if len(indexes) != 1:
        hint = f"name one of {', '.join([str(index) for index in indexes])}"
        raise bad_file(folder, f"it is a folder with {len(indexes)} indexes of shards.", hint)
    return indexes[0]


def _groups(planned: Sequence[PlannedTensor]) -> list[list[PlannedTensor]]:
    """The tensors of each shard."""
    groups: list[list[PlannedTensor]] = []
    left = 0
    for p in planned:
        size = nbytes(p.element, p.shape)
        if not groups or size > left:
            groups.append([])
            left = SHARD_BYTES
        groups[-1].append(p)
        left -= size
    return groups
