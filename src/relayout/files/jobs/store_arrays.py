"""The arrays of a Zarr that is to be written: how each is cut and encoded, and its metadata, before a byte is made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import BadFile, NotExpressible, ParseError, shown
from ..containers.npy import with_numpy_dtype
from ..containers.zarr import ARRAYS, DIMENSIONS
from ..contents import Source, nbytes
from ..reading import pop_object
from ..sizes import parse_size
from ..zarr_arrays import import_zarr
from .changes import TensorChange
from .slabs import Slabs, choose_slabs

if TYPE_CHECKING:
    from pathlib import Path

CHUNK_BYTES = 16 << 20
"""About the size of the chunks, decoded, unless one is given."""

COMPRESSORS = {"zstd": "ZstdCodec", "gzip": "GzipCodec", "blosc": "BloscCodec"}
"""The words for codecs, and the classes of zarr-python; ``zstd:9`` has a level."""


class Storage(NamedTuple):
    """How a Zarr is stored: its compressor in words, the bytes of a chunk, and of a shard if it has any."""

    compress: str | None = None
    chunk: int = CHUNK_BYTES
    shard: int | None = None

    @classmethod
    def of(cls, compress: str | None, chunk: int | str | None, shard: int | str | None) -> Storage:
        """The storage in the words of a caller."""
        if compress is not None:
            name, _, level = compress.partition(":")
            if name not in COMPRESSORS or (level and not level.isdecimal()):
                known = ", ".join(COMPRESSORS)
                raise ParseError(
                    f"{shown(compress)} is no compressor.", text=compress, hint=f"use {known}, with a level as zstd:9"
                )
        size = CHUNK_BYTES if chunk is None else parse_size(chunk)
        return cls(compress, size, None if shard is None else max(size, parse_size(shard)))

    def codecs(self) -> Any:
        """The compressors for zarr-python."""
        if self.compress is None:
            return None
        name, _, level = self.compress.partition(":")
        codec = getattr(import_zarr().codecs, COMPRESSORS[name])
        key = "clevel" if name == "blosc" else "level"
        return [codec(**({key: int(level)} if level else {}))]


class StoredArray(NamedTuple):
    """An array that is made: its change, how it is cut, and its metadata as zarr-python's JSON."""

    change: TensorChange
    slabs: Slabs
    metadata: dict[str, Any]

    @property
    def name(self) -> str:
        """How it is called."""
        return self.change.planned.name

    @property
    def number(self) -> int:
        """How many slabs it has."""
        return self.slabs.number(self.change.planned.shape)

    @property
    def slab_bytes(self) -> int:
        """The bytes of a slab."""
        return nbytes(self.change.planned.element, self.slabs.shape)


def store_arrays(source: Source, changes: Sequence[TensorChange], target: Path, storage: Storage) -> list[StoredArray]:
    """The arrays of a Zarr that hold what becomes of the tensors, cut into slabs that are made and stored whole."""
    if target.suffix != ".zarr":
        what = "chunks that are encoded, and stores at a URL, are Zarr's."
        raise BadFile(f"{target}: {what}", hint="name it .zarr", file=target)
    most = storage.chunk if storage.shard is None else storage.shard
    inner = None if storage.shard is None else storage.chunk
    _, said = group_metadata(source, [change.planned.name for change in changes])
    found = []
    for change in [c._replace(planned=with_numpy_dtype(c.planned)) for c in changes]:
        if change.records is not None:
            what = f"tensor {change.entry.name!r}: records are not written to a Zarr."
            raise NotExpressible(what, hint="write .gguf", tensor=change.entry.name)
        slabs = choose_slabs(change, most, inner)
        found.append(StoredArray(change, slabs, _metadata(change, slabs, storage, said[change.planned.name])))
    return found


def group_metadata(source: Source, names: Sequence[str]) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """The metadata of the groups by name, that of the whole as '', and what the arrays say of themselves."""
    told = dict(source.metadata)
    said, dimensions = pop_object(told, ARRAYS, dict), pop_object(told, DIMENSIONS, list)
    above = {"/".join(parts[:k]) for parts in [name.split("/") for name in names] for k in range(1, len(parts))}
    taken = above & set(names)
    if taken:
        raise BadFile(f"{shown(min(taken))} is the name of a group and of an array.", hint="rename the tensor")
    groups = {name: said.pop(name, {}) for name in above}
    arrays = {name: {"attributes": said.pop(name, {}), "dimension_names": dimensions.pop(name, None)} for name in names}
    left = {key: words for key, words in ((ARRAYS, said), (DIMENSIONS, dimensions)) if words}
    groups[""] = told | left
    node = {"zarr_format": 3, "node_type": "group"}
    return {name: node | {"attributes": attributes} for name, attributes in groups.items()}, arrays


def _metadata(change: TensorChange, slabs: Slabs, storage: Storage, own: dict[str, Any]) -> dict[str, Any]:
    """The metadata of an array, as zarr-python writes it."""
    zarr = import_zarr()
    planned = change.planned
    record = {} if planned.record is None else {"relayout": planned.record.to_json()}
    names = own["dimension_names"] if planned.record is None else None
    try:
        made = zarr.create_array(
            zarr.storage.MemoryStore(),
            shape=planned.shape,
            chunks=slabs.inner,
            shards=None if slabs.inner == slabs.shape else slabs.shape,
            dtype=planned.element.name,
            compressors=storage.codecs(),
            fill_value=0,
            attributes=own["attributes"] | record,
            dimension_names=names if names is not None and len(names) == len(planned.shape) else None,
            zarr_format=3,
        )
    except (ValueError, TypeError) as error:
        raise BadFile(
            f"tensor {change.entry.name!r}: zarr-python does not write it: {shown(str(error))}.",
            hint="choose another type (dtype) or container",
            tensor=change.entry.name,
        ) from None
    from zarr.core.buffer import default_buffer_prototype

    text = made.metadata.to_buffer_dict(default_buffer_prototype())["zarr.json"].to_bytes()
    found: dict[str, Any] = json.loads(text)
    return found
