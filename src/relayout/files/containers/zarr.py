"""Zarr v3: regular grids of chunks; plain little-endian bytes are read in place, others by zarr-python."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from itertools import product as cartesian
from math import isqrt
from pathlib import Path
from typing import Any

from ...elements.types import ELEMENTS, Element
from ...errors import LayoutError, shown
from ...integers.nested import product
from ...layout.layout import Layout
from ..container import Container
from ..contents import Destination, PlannedTensor, Segment, Source, StoredTensor, bad_file, nbytes
from ..reading import HEADER_LIMIT, TRUNCATED, OpenFile, checked_shape, parse_record, pop_object, read_text, strict_json
from ..record import LayoutRecord
from ..store_url import StoreUrl, patiently
from ..zarr_arrays import encoded_chunks, import_zarr
from .npy import with_numpy_dtype

MAX_CHUNKS = 1 << 20
MAX_ARRAYS = 1 << 16
MAX_DEPTH = 16
CHUNK_BYTES = 64 << 20
"""About the size of the chunks that are written."""

ARRAYS = "relayout.arrays"
"""The key of the metadata that keeps what the arrays and groups in a group say of themselves, by name."""

DIMENSIONS = "relayout.dimensions"
"""The key of the metadata that keeps the names of the arrays' dimensions, by name."""

_HINT = "write it again as Zarr v3, without compression: codecs=[BytesCodec()] or compressors=None"


class Zarr(Container):
    """A folder of groups and arrays, each with its record as an attribute."""

    name = "zarr"
    suffixes = (".zarr",)

    def recognises(self, path: Path) -> bool:
        return (path / "zarr.json").is_file()

    def read(self, path: Path) -> Source:
        """All arrays of a group, or the array that the folder is, named as the folder is."""
        told = _read_node(path)
        alone = told["node_type"] == "array"
        entries: dict[str, StoredTensor] = {}
        said: dict[str, Any] = {}
        dimensions: dict[str, Any] = {}
        inline_limit = HEADER_LIMIT
        for folder, name, node in [(path, path.stem, told)] if alone else _walk(path, "", 0):
            own = node.get("attributes", {})
            if node["node_type"] == "array":
                if len(entries) >= MAX_ARRAYS:
                    raise bad_file(path, f"it has more than {MAX_ARRAYS} arrays.", "open a group of it")
                entries[name], own = _read_array(folder, name, node, inline_limit)
                inline_limit -= len(entries[name].inline or b"")
                if isinstance(node.get("dimension_names"), list):
                    dimensions[name] = node["dimension_names"]
            if own:
                said[name] = own
        metadata = said.pop(path.stem, {}) if alone else dict(told.get("attributes", {}))
        return Source(path, self.name, entries, _with_told(metadata, said, dimensions))

    def plan(
        self, path: Path, planned: Sequence[PlannedTensor], metadata: Mapping[str, Any] | None = None
    ) -> Destination:
        """A group with an array for each tensor, cut along its slowest dimension into slabs of about 64 MiB."""
        told = dict(metadata or {})
        said, dimensions = pop_object(told, ARRAYS, dict), pop_object(told, DIMENSIONS, list)
        files: dict[Path, tuple[int, dict[int, bytes]]] = {}
        entries: dict[str, tuple[Segment, ...]] = {}
        group = {"zarr_format": 3, "node_type": "group"}
        for p in [with_numpy_dtype(p) for p in planned]:
            parts = p.name.split("/")
            if p.name in entries or any(not _is_name(part) for part in parts):
                what = "its name is taken, or names no folder."
                raise bad_file(path, what, "write .safetensors, or rename the tensor", p.name)
            above = ["/".join(parts[:k]) for k in range(1, len(parts))]
            folder = path.joinpath(*parts)
            if folder / "zarr.json" in files or any(name in entries for name in above):
                what = "the name of a group is that of an array."
                raise bad_file(path, what, "write .safetensors, or rename the tensor", p.name)
            for name in above:
                if path / name / "zarr.json" not in files:
                    _add_json(files, path / name, group | {"attributes": said.pop(name, {})})
            chunk = _chunk_shape(p.shape, p.element)
            node = _array_node(p, chunk, said.pop(p.name, {}))
            names = dimensions.get(p.name, [])
            if p.record is None and len(names) == len(p.shape) > 0 and all(isinstance(n, str | None) for n in names):
                node["dimension_names"] = dimensions.pop(p.name)
            _add_json(files, folder, node)
            counts = [-(-n // c) for n, c in zip(p.shape, chunk)]
            size = nbytes(p.element, chunk)
            places = [folder.joinpath("c", *map(str, at)) for at in cartesian(*[range(n) for n in counts])]
            files |= dict.fromkeys(places, (size, {}))
            entries[p.name] = tuple([Segment(place, 0, size) for place in places])
        _add_json(files, path, group | {"attributes": told | _nonempty(said, dimensions)})
        return Destination(files, entries)


CONTAINER = Zarr()


def read_store(url: StoreUrl) -> Source:
    """All arrays of a group, or the array, at a URL that zarr-python opens."""
    zarr = import_zarr()
    store = str(url)
    try:
        node = patiently(lambda: zarr.open(store, mode="r", zarr_format=3), store)
        found = (
            [(url.stem, "", node)]
            if isinstance(node, zarr.Array)
            else [(path, path, x) for path, x in sorted(patiently(lambda: node.members(max_depth=None), store))]
        )
    except (ImportError, ValueError, TypeError, KeyError, FileNotFoundError) as error:
        hint = "name a group or array of Zarr v3; s3:// needs s3fs, gs:// gcsfs"
        raise bad_file(url, f"there is no Zarr that can be read: {shown(str(error))}.", hint) from None
    entries: dict[str, StoredTensor] = {}
    said: dict[str, Any] = {}
    dimensions: dict[str, Any] = {}
    for name, path, x in found:
        own = dict(x.attrs)
        if isinstance(x, zarr.Array):
            entries[name], own = decoded_array(x, store, path, name, own, url)
            if x.metadata.dimension_names is not None:
                dimensions[name] = list(x.metadata.dimension_names)
        if own:
            said[name] = own
    metadata = said.pop(url.stem, {}) if isinstance(node, zarr.Array) else dict(node.attrs)
    return Source(url, "zarr", entries, _with_told(metadata, said, dimensions))


def _with_told(metadata: dict[str, Any], said: dict[str, Any], dimensions: dict[str, Any]) -> dict[str, Any]:
    """The metadata with what arrays and groups say of themselves, beside what another container left there."""
    said = pop_object(metadata, ARRAYS, dict) | said
    dimensions = pop_object(metadata, DIMENSIONS, list) | dimensions
    return metadata | _nonempty(said, dimensions)


def _nonempty(said: dict[str, Any], dimensions: dict[str, Any]) -> dict[str, Any]:
    return {key: words for key, words in ((ARRAYS, said), (DIMENSIONS, dimensions)) if words}


def _read_node(folder: Path) -> dict[str, Any]:
    file = folder / "zarr.json"
    if file.is_symlink():
        raise bad_file(file, "it is a link.", "copy the files themselves")
    if any((folder / name).exists() for name in (".zgroup", ".zarray")) and not file.exists():
        raise bad_file(folder, "it is Zarr v2.", _HINT)
    told = strict_json(read_text(file), file, "it")
    if not isinstance(told, dict) or told.get("zarr_format") != 3 or told.get("node_type") not in ("array", "group"):
        raise bad_file(file, "it describes no array or group of Zarr v3.", _HINT)
    if not isinstance(told.get("attributes", {}), dict):
        raise bad_file(file, f"its attributes are {shown(told['attributes'])}.", _HINT)
    return told


def _walk(folder: Path, prefix: str, depth: int) -> Iterator[tuple[Path, str, dict[str, Any]]]:
    """The groups and arrays in a group, at any depth, by name; links are not followed."""
    if depth > MAX_DEPTH:
        raise bad_file(folder, f"its groups are nested more than {MAX_DEPTH} deep.", "open a group of it")
    with os.scandir(folder) as found:
        names = sorted([e.name for e in found if e.is_dir(follow_symlinks=False)])
    for name in names:
        inner = folder / name
        if (inner / "zarr.json").exists():
            node = _read_node(inner)
            yield inner, prefix + name, node
            if node["node_type"] == "group":
                yield from _walk(inner, f"{prefix}{name}/", depth + 1)


def _read_array(
    folder: Path, name: str, told: dict[str, Any], inline_limit: int
) -> tuple[StoredTensor, dict[str, Any]]:
    """An array and its foreign attributes. Chunks that are no slabs, or are transposed, are a layout of blocks.

    Where chunks were left out, all are put together in ``inline_limit`` bytes of memory.
    """
    file = folder / "zarr.json"
    kind = _element_of(told, file, name)
    shape = checked_shape(told.get("shape"), kind, file, name)
    chunk = checked_shape(_option(told, "chunk_grid", "regular", "chunk_shape"), kind, file, name)
    if len(chunk) != len(shape) or 0 in chunk:
        raise bad_file(file, f"its chunks of {shown(chunk)} do not cut the shape {shown(shape)}.", _HINT, name)
    if not _is_plain(told):
        return _encoded_array(folder, name, told)
    order = _transposition(told, kind, len(shape), file, name)
    counts = tuple([-(-n // c) for n, c in zip(shape, chunk)])
    if product(counts) > MAX_CHUNKS:
        raise bad_file(
            file, f"it has {product(counts)} chunks, and the limit is {MAX_CHUNKS}.", "use larger chunks", name
        )
    key = _chunk_key(told, file, name)
    size = nbytes(kind, chunk)
    chunks = [_chunk_segment(folder, key(at), size, name) for at in cartesian(*[range(n) for n in counts])]
    segments = tuple([chunk for chunk in chunks if chunk is not None])
    inline = None
    if len(segments) < len(chunks):
        if len(chunks) * size > inline_limit:
            missing = len(chunks) - len(segments)
            needed = f"with them it has {len(chunks) * size} bytes, over {inline_limit}"
            what = f"{missing} of its chunks were left out, and {needed}."
            raise bad_file(file, what, "write all chunks: config={'write_empty_chunks': True}", name)
        fill = _fill_bytes(told.get("fill_value"), kind, file, name) * (size // kind.bytes)
        inline = b"".join([fill if chunk is None else read_text(chunk.file) for chunk in chunks])
        segments = ()
    attributes = dict(told.get("attributes", {}))
    found = StoredTensor(name, kind, shape, segments, _own_record(attributes, file, name), inline)
    return in_chunks(found, chunk, order, file), attributes


def _own_record(attributes: dict[str, Any], file: Path, name: str) -> LayoutRecord | None:
    """The record among the attributes, which is taken out."""
    recorded = attributes.pop("relayout", None)
    return None if recorded is None else parse_record(recorded, file, name)


def in_chunks(tensor: StoredTensor, chunk: tuple[int, ...], order: list[int], file: Path) -> StoredTensor:
    """An array whose bytes are its chunks one after another: row-major where they are slabs, else in blocks."""
    shape = tensor.shape
    if order == sorted(order) and _slabs(shape, chunk):
        return tensor
    if tensor.record is not None:
        what = "its chunks were cut anew, and its relayout record is of the array as it was."
        raise bad_file(file, what, _HINT, tensor.name)
    counts = tuple([-(-n // c) for n, c in zip(shape, chunk)])
    stored = tuple([chunk[d] for d in order])
    stride: Any = Layout.row_major((*counts, *stored)).stride
    inner = [stride[len(counts) + order.index(d)] for d in range(len(shape))]
    blocks = Layout(tuple(zip(chunk, counts)), tuple(zip(inner, stride)), extents=shape)
    record = LayoutRecord.of(blocks, shape)
    return tensor._replace(shape=(*counts, *stored), record=record, layout_from_container=True)


def _is_plain(told: dict[str, Any]) -> bool:
    """Whether its chunks are read in place: plain bytes, transposed or not."""
    codecs = told.get("codecs")
    named = [c.get("name") if isinstance(c, dict) else None for c in codecs] if isinstance(codecs, list) else None
    return named in (None, ["bytes"], ["transpose", "bytes"]) or bool(told.get("storage_transformers"))


def _encoded_array(folder: Path, name: str, told: dict[str, Any]) -> tuple[StoredTensor, dict[str, Any]]:
    """An array whose chunks zarr-python decodes."""
    zarr = import_zarr()
    file = folder / "zarr.json"
    try:
        array = zarr.open_array(str(folder), mode="r", zarr_format=3)
    except (ValueError, TypeError, KeyError, AttributeError, OSError) as error:
        what = f"zarr-python does not read it: {shown(str(error))}."
        raise bad_file(file, what, "install its codec, or write it again with another", name) from None
    return decoded_array(array, str(folder), "", name, dict(told.get("attributes", {})), file)


def decoded_array(
    array: Any, store: str, path: str, name: str, attributes: dict[str, Any], file: Path
) -> tuple[StoredTensor, dict[str, Any]]:
    """An array of zarr-python as a stored tensor, and its foreign attributes."""
    chunks = encoded_chunks(array, store, path)
    record = _own_record(attributes, file, name)
    found = StoredTensor(name, chunks.element, chunks.shape, (), record, chunks=chunks)
    return in_chunks(found, chunks.chunk, list(range(len(chunks.shape))), file), attributes


def _slabs(shape: tuple[int, ...], chunk: tuple[int, ...]) -> bool:
    """Whether the chunks one after another are the array in row-major order."""
    cut = next((d for d, c in enumerate(chunk) if c > 1), len(chunk))
    return 0 in shape or (all(n % c == 0 for n, c in zip(shape, chunk)) and chunk[cut + 1 :] == shape[cut + 1 :])


def _option(told: dict[str, Any], key: str, name: str, option: str) -> Any:
    """An option of the extension point ``key``, if it has that name."""
    found = told.get(key)
    if not isinstance(found, dict) or found.get("name") != name or not isinstance(found.get("configuration"), dict):
        return None
    return found["configuration"].get(option)


def _element_of(told: dict[str, Any], file: Path, name: str) -> Element:
    kind = ELEMENTS.get(told["data_type"]) if isinstance(told.get("data_type"), str) else None
    if kind is None or kind.bits % 8 or kind.underlying != kind:
        raise bad_file(file, f"its data type is {shown(told.get('data_type'))}.", "use numbers of whole bytes", name)
    return kind


def _transposition(told: dict[str, Any], kind: Element, rank: int, file: Path, name: str) -> list[int]:
    """The order of the dimensions in a chunk; every codec but a transposition and plain bytes is refused."""
    codecs = told.get("codecs")
    named = [c.get("name") if isinstance(c, dict) else None for c in codecs] if isinstance(codecs, list) else None
    if named not in (["bytes"], ["transpose", "bytes"]) or told.get("storage_transformers"):
        raise bad_file(file, f"its codecs are {shown(named)}, not plain bytes.", _HINT, name)
    options = [c.get("configuration", {}) for c in codecs]  # type: ignore[union-attr]
    endian = options[-1].get("endian") if isinstance(options[-1], dict) else options[-1]
    if endian != "little" and not (endian is None and kind.bits == 8):
        raise bad_file(
            file, f"its bytes are {shown(endian)}-endian.", "write it with BytesCodec(endian='little')", name
        )
    usual = list(range(rank))
    order = usual if len(options) == 1 else options[0].get("order") if isinstance(options[0], dict) else None
    if not isinstance(order, list) or any(type(d) is not int for d in order) or sorted(order) != usual:
        raise bad_file(file, f"it is transposed by {shown(order)}.", "order is a permutation of the dimensions", name)
    return order


def _chunk_key(told: dict[str, Any], file: Path, name: str) -> Any:
    """Where the chunk of a place in the grid is."""
    encoding = told.get("chunk_key_encoding")
    kind = encoding.get("name") if isinstance(encoding, dict) else None
    separator = _option(told, "chunk_key_encoding", str(kind), "separator") or ("/" if kind == "default" else ".")
    if kind not in ("default", "v2") or separator not in ("/", "."):
        raise bad_file(file, f"its chunk keys are {shown(encoding)}.", "use the default encoding", name)
    if kind == "v2":
        return lambda at: separator.join(map(str, at)) or "0"
    return lambda at: separator.join(["c", *map(str, at)])


def _chunk_segment(folder: Path, key: str, size: int, name: str) -> Segment | None:
    """The file of a chunk, or None if it was left out because it holds only the fill value."""
    path = folder / key
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(found.st_mode) or not path.parent.resolve().is_relative_to(folder.resolve()):
        raise bad_file(folder, f"the chunk {key} is a link, or no file.", "copy the files themselves", name)
    with OpenFile(path) as file:
        if file.size != size:
            raise bad_file(folder, f"the chunk {key} has {file.size} bytes, not {size}.", TRUNCATED, name)
    return Segment(path, 0, size)


def _fill_bytes(value: Any, kind: Element, file: Path, name: str) -> bytes:
    """The bytes of one element that has the fill value: a number, a word for one, two of them, or its bits in hex."""
    from ...elements.interface import Plain
    from ...engine.fill import fill_bytes

    parts = value if isinstance(value, list) and kind.complex and len(value) == 2 else [value]
    words = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    numbers = [words.get(x, x) if isinstance(x, str) and not kind.integral else x for x in parts]
    try:
        if isinstance(value, str) and value.startswith("0x"):
            return int(value, 16).to_bytes(kind.bytes, "little")
        if all(isinstance(x, int | float) for x in numbers):
            return fill_bytes(Plain(kind), complex(*numbers) if kind.complex else numbers[0])
    except (LayoutError, ValueError, OverflowError):
        pass
    raise bad_file(file, f"its fill value {shown(value)} is none of {kind.name}.", _HINT, name)


# ---- writing ---------------------------------------------------------------------------------------------


def _array_node(p: PlannedTensor, chunk: tuple[int, ...], attributes: dict[str, Any]) -> dict[str, Any]:
    zero: Any = False if p.element.name == "bool" else [0, 0] if p.element.complex else 0
    endian = {} if p.element.bits == 8 else {"configuration": {"endian": "little"}}
    record = {} if p.record is None else {"relayout": p.record.to_json()}
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(p.shape),
        "data_type": p.element.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": zero,
        "codecs": [{"name": "bytes", **endian}],
        "attributes": attributes | record,
    }


def _add_json(files: dict[Path, tuple[int, dict[int, bytes]]], folder: Path, node: Mapping[str, Any]) -> None:
    text = json.dumps(node, indent=2, allow_nan=False, default=str).encode() + b"\n"
    files[folder / "zarr.json"] = (len(text), {0: text})


def _is_name(part: str) -> bool:
    strange = not part.strip(".") or part.startswith("__") or part == "zarr.json"
    return not strange and not any(c in part for c in "\\:\0") and len(part.encode()) <= 255


def _chunk_shape(shape: tuple[int, ...], kind: Element) -> tuple[int, ...]:
    """Whole slabs of at most about 64 MiB, all equal."""
    whole = tuple([max(n, 1) for n in shape])
    for d, n in enumerate(whole):
        row = nbytes(kind, whole[d + 1 :])
        if row > CHUNK_BYTES:
            continue
        divisors = [c for k in range(1, isqrt(n) + 1) if n % k == 0 for c in (k, n // k)]
        fitting = max([c for c in divisors if c * row <= CHUNK_BYTES])
        if fitting * row * 16 < min(CHUNK_BYTES, n * row):
            fitting = min([c for c in divisors if c * row > CHUNK_BYTES])
        return (*[1] * d, fitting, *whole[d + 1 :])
    return whole
