"""Folders of torch's distributed checkpoints, written without torch: the metadata's pickle, and archives of parts.

Every tensor is whole, in parts of some rows where it is large; who loads the folder cuts it as it likes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..elements.types import Element
from ..integers.nested import product
from .contents import Checksum, Destination, PlannedTensor, Segment, bad_file, nbytes
from .zip_archives import (
    ALIGNMENT,
    DIRECTORY_CRC,
    LOCAL_CRC,
    ZipMember,
    directory_entry,
    end_of_directory,
    local_header,
)

PART_BYTES = 1 << 30
"""The parts of a tensor are not larger, but for a single row that is; so no archive needs zip64."""

_FILE = "__0_0.distcp"
_MODULE = "torch.distributed.checkpoint.metadata"
_STORAGES = {
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "int64": "LongStorage",
    "int32": "IntStorage",
    "int16": "ShortStorage",
    "int8": "CharStorage",
    "uint8": "ByteStorage",
    "bool": "BoolStorage",
    "complex64": "ComplexFloatStorage",
}


def plan_dcp(folder: Path, planned: Sequence[PlannedTensor]) -> Destination:
    """The files of a checkpoint that holds these tensors."""
    data = folder / _FILE
    at = 0
    pieces: dict[int, bytes] = {}
    entries: dict[str, tuple[Segment, ...]] = {}
    checksums: list[Checksum] = []
    tensors, places = [], []
    for p in planned:
        if p.element.name not in _STORAGES:
            raise bad_file(folder, f"torch's storages hold no {p.element.name}.", "write safetensors", p.name)
        segments, chunks = [], []
        for offset, shape in _parts(folder, p):
            blob = _Archive(data, at, p.element, shape)
            pieces |= blob.pieces
            checksums += blob.checksums
            segments.append(blob.segment)
            chunks.append(_object(_MODULE, "ChunkStorageMetadata", {"offsets": _size(offset), "sizes": _size(shape)}))
            key = _object(_MODULE, "MetadataIndex", {"fqn": _text(p.name), "offset": _size(offset), "index": b"K\0"})
            info = {"relative_path": _text(_FILE), "offset": _integer(at), "length": _integer(blob.size)}
            places.append((key, _object("torch.distributed.checkpoint.filesystem", "_StorageInfo", info)))
            at += -(-blob.size // ALIGNMENT) * ALIGNMENT
        entries[p.name] = tuple(segments)
        told = {"properties": _properties(p.element), "size": _size(p.shape), "chunks": _list(chunks)}
        tensors.append((_text(p.name), _object(_MODULE, "TensorStorageMetadata", told)))
    metadata = _pickle(
        {
            "state_dict_metadata": _dict(tensors),
            "planner_data": _dict([(_text(p.name), _text(p.name) + b"\x85") for p in planned]),
            "storage_data": _dict(places),
            "storage_meta": b"N",
            "version": _text("1.0.0"),
        }
    )
    files = {data: (at, pieces), folder / ".metadata": (len(metadata), {0: metadata})}
    return Destination(files, entries, tuple(checksums))


def _parts(folder: Path, p: PlannedTensor) -> Iterable[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The offsets and shapes of a tensor's parts: some of its rows each."""
    size = nbytes(p.element, p.shape)
    if size <= PART_BYTES:
        yield (0,) * len(p.shape), p.shape
        return
    row = size // p.shape[0]
    if row > PART_BYTES:
        raise bad_file(folder, f"a row of it has {row} bytes.", "write safetensors", p.name)
    step = PART_BYTES // row
    for start in range(0, p.shape[0], step):
        count = min(step, p.shape[0] - start)
        yield (start, *(0,) * (len(p.shape) - 1)), (count, *p.shape[1:])


class _Archive:
    """What ``torch.save`` writes of a tensor, at a place of a file: all but the elements, and where those belong."""

    def __init__(self, file: Path, base: int, element: Element, shape: tuple[int, ...]) -> None:
        size = nbytes(element, shape)
        contents = {
            "data.pkl": _tensor_pickle(element, shape),
            "byteorder": b"little",
            "data/0": None,
            "version": b"3\n",
        }
        self.pieces: dict[int, bytes] = {}
        self.checksums: list[Checksum] = []
        members, at = [], 0
        for key, content in contents.items():
            name = f"archive/{key}".encode()
            length = size if content is None else len(content)
            head = local_header(name, length, at, large=False)
            start = at + len(head)
            members.append(ZipMember(name, at, start, length))
            self.pieces[base + at] = head + (content or b"")
            if content is None:
                self.segment = Segment(file, base + start, length)
            at = start + length
        directory = b""
        for m in members:
            places = (base + m.at + LOCAL_CRC, base + at + len(directory) + DIRECTORY_CRC)
            self.checksums.append(Checksum(file, base + m.start, m.size, places))
            directory += directory_entry(m, large=False)
        end = directory + end_of_directory(at, len(directory), len(members), large=False)
        self.pieces[base + at] = self.pieces.get(base + at, b"") + end
        self.size = at + len(end)


# ---- pickles ---------------------------------------------------------------------------------------------


def _tensor_pickle(element: Element, shape: tuple[int, ...]) -> bytes:
    strides = tuple([product(shape[d + 1 :]) for d in range(len(shape))])
    storage = [_text("storage"), _name("torch", _STORAGES[element.name]), _text("0"), _text("cpu")]
    stored = _tuple([*storage, _integer(product(shape))]) + b"Q"
    hooks = _name("collections", "OrderedDict") + b")R"
    arguments = [stored, b"K\0", _integers(shape), _integers(strides), b"\x89", hooks]
    return b"\x80\x02" + _name("torch._utils", "_rebuild_tensor_v2") + _tuple(arguments) + b"R."


def _properties(element: Element) -> bytes:
    layout = _name("torch.serialization", "_get_layout") + _text("torch.strided") + b"\x85R"
    order = _name(_MODULE, "_MEM_FORMAT_ENCODING") + b"K\0\x85R"
    state = _tuple([_name("torch", element.name), layout, b"\x89", order, b"\x89"])
    return _name(_MODULE, "TensorProperties") + b")\x81" + state + b"b"


def _pickle(state: dict[str, bytes]) -> bytes:
    return b"\x80\x02" + _object(_MODULE, "Metadata", state) + b"."


def _object(module: str, name: str, state: dict[str, bytes]) -> bytes:
    """An object of a class, with that state."""
    return _name(module, name) + b")\x81" + _dict([(_text(key), value) for key, value in state.items()]) + b"b"


def _name(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def _text(x: str) -> bytes:
    data = x.encode("utf-8", "surrogatepass")
    return b"X" + len(data).to_bytes(4, "little") + data


def _integer(x: int) -> bytes:
    data = x.to_bytes(9, "little", signed=True)
    return b"\x8a\x09" + data


def _tuple(entries: Iterable[bytes]) -> bytes:
    return b"(" + b"".join(entries) + b"t"


def _integers(x: Iterable[int]) -> bytes:
    return _tuple([_integer(n) for n in x])


def _size(x: Iterable[int]) -> bytes:
    return _name("torch", "Size") + _integers(x) + b"\x85R"


def _list(entries: Iterable[bytes]) -> bytes:
    return b"](" + b"".join(entries) + b"e"


def _dict(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"}(" + b"".join([key + value for key, value in pairs]) + b"u"
