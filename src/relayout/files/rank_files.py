"""Checkpoints of tensor-parallel ranks: a folder with the files of each rank, which hold parts of tensors.

The names are those of vLLM's sharded states, ``model-rank-0-part-0.safetensors``; read are all names with ``rank`` and
a number in them, of files or of folders. What we write says in its metadata how every tensor is dealt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import shown
from .containers.safetensors import CONTAINER as SAFETENSORS
from .containers.shards import CONTAINER as SHARDS
from .containers.shards import SHARD_BYTES, SUFFIX
from .contents import Destination, PlannedTensor, Segment, Source, StoredTensor, bad_file, nbytes
from .dcp_writing import plan_dcp
from .reading import strict_json
from .registry import open_source

DEALT = "relayout.sharding"
"""The key of the metadata that says of which rank a file is, and how its tensors are dealt."""

_RANK = re.compile(r"(?:^|[^a-z])rank[-_.]?(\d{1,6})(?!\d)", re.IGNORECASE)


class RankFiles(NamedTuple):
    """The tensors of each rank, and how they are dealt where the files say it."""

    path: Path
    ranks: tuple[Mapping[str, StoredTensor], ...]
    dealt: Mapping[str, Mapping[str, Any]] | None
    metadata: Mapping[str, Any]


def read_rank_files(path: Path, ranks: int | None) -> RankFiles:
    """The checkpoint of so many ranks, or of as many as there are; that of one is any file or folder of tensors."""
    found = _files_by_rank(path) if path.is_dir() else {}
    if ranks == 1 or (ranks is None and len(found) < 2):
        source = open_source(path)
        return RankFiles(path, (source,), None, source.metadata)
    if not found:
        raise bad_file(
            path, "it has no files of ranks.", "name them as in model-rank-0-part-0.safetensors, or leave from_ out"
        )
    count = max(found) + 1 if ranks is None else ranks
    if strange := sorted([rank for rank in found if rank >= count]):
        raise bad_file(path, f"it has files of rank {strange[0]}, and tp={count}.", f"say from_={max(found) + 1}")
    if missing := [rank for rank in range(count) if rank not in found]:
        raise bad_file(
            path, f"the files of rank {missing[0]} of {count} are missing.", "copy them, all ranks are needed"
        )
    read = [_read_rank(path, found[rank]) for rank in range(count)]
    told = [_told_deals(source, rank, count) for rank, source in enumerate(read)]
    metadata = {key: value for key, value in read[0].metadata.items() if key != DEALT}
    dealt = told[0] if all(x is not None and x == told[0] for x in told) else None
    _check_names(path, read)
    return RankFiles(path, tuple(read), dealt, metadata)


def _files_by_rank(path: Path) -> dict[int, list[Path]]:
    """The safetensors files of a folder, and of folders in it, by the rank that their name tells."""
    found: dict[int, list[Path]] = {}
    for file in sorted([*path.glob("*.safetensors"), *path.glob("*/*.safetensors")]):
        match = _RANK.search(file.name) or (_RANK.search(file.parent.name) if file.parent != path else None)
        if match:
            found.setdefault(int(match.group(1)), []).append(file)
    return found


def _read_rank(path: Path, files: Sequence[Path]) -> Source:
    entries: dict[str, StoredTensor] = {}
    metadata: dict[str, Any] = {}
    for file in files:
        source = SAFETENSORS.read(file)
        twice = next((name for name in source if name in entries), None)
        if twice is not None:
            other = entries[twice].segments[0].file.name
            raise bad_file(file, f"{other} of the same rank has it as well.", "take one of the files away", twice)
        entries |= source
        metadata = source.metadata | metadata
    return Source(path, "ranks", entries, metadata)


def _told_deals(source: Source, rank: int, count: int) -> Mapping[str, Mapping[str, Any]] | None:
    """How the tensors of a rank are dealt, if its files say it; a file that says another rank is refused."""
    text = source.metadata.get(DEALT)
    if not isinstance(text, str):
        return None
    file = next(iter(source.values())).segments[0].file if source else source.path
    told = strict_json(text.encode(), file, f"its {DEALT}")
    if not isinstance(told, dict) or not isinstance(told.get("tensors"), dict):
        raise bad_file(file, f"its {DEALT} is {shown(told)}.", "write the checkpoint again")
    if (told.get("rank"), told.get("ranks")) != (rank, count):
        said = f"rank {shown(told.get('rank'))} of {shown(told.get('ranks'))}"
        raise bad_file(file, f"it says that it is {said}, not {rank} of {count}.", "give the file its name back")
    return dict(told["tensors"])


def _check_names(path: Path, ranks: Sequence[Source]) -> None:
    """Refuse ranks that have not the same tensors, of the same types and shapes."""
    for rank, source in enumerate(ranks[1:], 1):
        for name in {**ranks[0], **source}:
            one, other = ranks[0].get(name), source.get(name)
            if one is None or other is None:
                lacking = 0 if one is None else rank
                raise bad_file(path, f"rank {lacking} has no part of it.", "copy all files of all ranks", name)
            if (one.element, one.shape) != (other.element, other.shape):
                what = f"rank 0 has {one.element.name} {one.shape}, rank {rank} {other.element.name} {other.shape}."
                raise bad_file(path, what, "the parts of a tensor are of one size", name)


class RankDestination(NamedTuple):
    """The files of all ranks, and where each has its part of every tensor."""

    destination: Destination
    parts: tuple[Mapping[str, tuple[Segment, ...]], ...]


def plan_rank_files(
    path: Path,
    ranks: Sequence[Sequence[PlannedTensor]],
    dealt: Mapping[str, Mapping[str, Any]],
    metadata: Mapping[str, Any],
    dcp: bool = False,
) -> RankDestination:
    """The files of so many ranks in the folder ``path``; of one, a checkpoint as everybody reads it, or torch's."""
    if dcp:
        written = plan_dcp(path, ranks[0])
        return RankDestination(written._replace(entries={}), (written.entries,))
    if len(ranks) == 1:
        return _plan_one(path, ranks[0], metadata)
    files: dict[Path, tuple[int, dict[int, bytes]]] = {}
    parts = []
    for rank, planned in enumerate(ranks):
        told = json.dumps({"rank": rank, "ranks": len(ranks), "tensors": dealt})
        file = path / f"model-rank-{rank}-part-0.safetensors"
        made = SAFETENSORS.plan(file, planned, {**metadata, DEALT: told})
        files |= made.files
        parts.append(made.entries)
    return RankDestination(Destination(files, {}), tuple(parts))


def _plan_one(path: Path, planned: Sequence[PlannedTensor], metadata: Mapping[str, Any]) -> RankDestination:
    large = sum([nbytes(p.element, p.shape) for p in planned]) > SHARD_BYTES
    if path.suffix == ".safetensors":
        made = SAFETENSORS.plan(path, planned, metadata)
    elif large:
        made = SHARDS.plan(path / f"model{SUFFIX}", planned, metadata)
    else:
        made = SAFETENSORS.plan(path / "model.safetensors", planned, metadata)
    return RankDestination(made._replace(entries={}), (made.entries,))
