"""torch's distributed checkpoints, a folder with ``.metadata`` and files of parts: read without torch, nothing run.

A tensor is cut into boxes by whoever saved it. Here it is one array again: boxes that follow each other along the first
dimension as they are, a regular grid of them as a layout, others run by run.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from itertools import combinations
from itertools import product as cartesian
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from ...elements.types import ELEMENTS, Element
from ...errors import LimitExceeded, shown
from ...layout.layout import Layout
from ..container import Container
from ..contents import Segment, Source, StoredTensor, bad_file, nbytes
from ..pickles import PersistentId, PickledDict, PickledName, PickledObject, read_pickle
from ..reading import TRUNCATED, OpenFile, checked_shape, read_text, sibling
from ..record import LayoutRecord
from ..zip_archives import ZipPart, member_start, zip_members

METADATA = ".metadata"
OBJECTS = "dcp.objects"
"""The key of the metadata that names what is no tensor; it is pickled, and not read."""

MAX_RUNS = 1 << 12
"""A tensor of irregular boxes has no more runs than this."""

_HINT = "save the checkpoint again with torch.distributed.checkpoint"

_DTYPES = {
    **{name: name for name in ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8")},
    **{name: name for name in ("uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128")},
    **{name: name for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")},
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
}
Box = tuple[tuple[int, ...], tuple[int, ...]]
"""The offsets and the sizes of a part."""


class Dcp(Container):
    """The tensors of a folder that ``torch.distributed.checkpoint`` saved; read, not written."""

    name = "dcp"
    suffixes = (METADATA,)

    def recognises(self, path: Path) -> bool:
        return path.is_dir() and (path / METADATA).is_file()

    def read(self, path: Path) -> Source:
        """Every tensor as one array, wherever its parts are."""
        file = path / METADATA if path.is_dir() else path
        entries: dict[str, StoredTensor] = {}
        objects = []
        for name, saved in read_saved(file):
            if saved is None:
                objects.append(name)
            else:
                entries[name] = _tensor(file, saved)
        return Source(file, self.name, entries, {OBJECTS: objects} if objects else {})


CONTAINER = Dcp()


class BlobPlace(NamedTuple):
    """Where a part was saved: a blob in a file."""

    file: Path
    start: int
    size: int


class SavedTensor(NamedTuple):
    """A tensor as the metadata tell it: its parts by their boxes, each with its place if it is in a file."""

    name: str
    element: Element
    shape: tuple[int, ...]
    parts: tuple[tuple[Box, BlobPlace | None], ...]


def read_saved(file: Path) -> Iterator[tuple[str, SavedTensor | None]]:
    """What the metadata of a checkpoint name, whether the parts fit or not; None for what is no tensor."""
    top = read_pickle(read_text(file), file)
    if not isinstance(top, PickledObject) or not str(top.of).endswith("checkpoint.metadata.Metadata"):
        raise bad_file(file, "it is not the metadata of a distributed checkpoint.", _HINT)
    places = _places(top.field("storage_data"), file)
    for name, told in _pairs(top.field("state_dict_metadata"), file, "state_dict_metadata"):
        if not isinstance(name, str):
            raise bad_file(file, f"it has a tensor called {shown(name)}.", _HINT)
        objects = isinstance(told, PickledObject) and str(told.of).endswith(".BytesStorageMetadata")
        yield name, None if objects else _saved_tensor(file, name, told, places)


# ---- the metadata ----------------------------------------------------------------------------------------


def _pairs(x: Any, file: Path, what: str) -> list[tuple[Any, Any]]:
    if not isinstance(x, PickledDict):
        raise bad_file(file, f"its {what} is no dictionary.", _HINT)
    return x.pairs


def _sizes(x: Any, file: Path, name: str) -> tuple[int, ...]:
    """The numbers of a ``torch.Size``, or of a tuple."""
    if isinstance(x, PickledObject) and str(x.of) == "torch.Size" and len(x.arguments) == 1:
        x = x.arguments[0]
    if not isinstance(x, list) or not all(type(n) is int and 0 <= n < 1 << 63 for n in x) or len(x) > 64:
        raise bad_file(file, "a size of it is no list of numbers.", _HINT, name)
    return tuple(x)


def _places(x: Any, file: Path) -> dict[tuple[str, tuple[int, ...]], BlobPlace]:
    """Where the part of a name at an offset is."""
    found: dict[tuple[str, tuple[int, ...]], BlobPlace] = {}
    for key, info in _pairs(x, file, "storage_data"):
        if not isinstance(key, PickledObject) or not isinstance(info, PickledObject):
            raise bad_file(file, "its storage_data is not that of files.", _HINT)
        name, offset = key.field("fqn"), key.field("offset")
        if not isinstance(name, str):
            raise bad_file(file, f"a part has the name {shown(name)}.", _HINT)
        if offset is None:
            continue
        start, size, transforms = info.field("offset"), info.field("length"), info.field("transform_descriptors")
        if type(start) is not int or type(size) is not int or start < 0 or size < 0:
            raise bad_file(file, "the place of a part is no range of bytes.", _HINT, name)
        if transforms:
            raise bad_file(file, "its parts are compressed.", "save it without extensions", name)
        where = name, _sizes(offset, file, name)
        if where in found:
            raise bad_file(file, f"two parts of it begin at {where[1]}.", _HINT, name)
        found[where] = BlobPlace(sibling(file, info.field("relative_path")), start, size)
    return found


def _saved_tensor(
    file: Path, name: str, told: Any, places: dict[tuple[str, tuple[int, ...]], BlobPlace]
) -> SavedTensor:
    if not isinstance(told, PickledObject) or not str(told.of).endswith(".TensorStorageMetadata"):
        raise bad_file(file, "it is neither a tensor nor an object.", _HINT, name)
    element = _element(told.field("properties"), file, name)
    shape = checked_shape(list(_sizes(told.field("size"), file, name)), element, file, name)
    chunks = told.field("chunks")
    if not isinstance(chunks, list) or not all(isinstance(chunk, PickledObject) for chunk in chunks):
        raise bad_file(file, "its chunks are no list.", _HINT, name)
    boxes = sorted([(_sizes(c.field("offsets"), file, name), _sizes(c.field("sizes"), file, name)) for c in chunks])
    return SavedTensor(name, element, shape, tuple([(box, places.get((name, box[0]))) for box in boxes]))


def _tensor(file: Path, saved: SavedTensor) -> StoredTensor:
    name, element, shape, found = saved
    _check_cover(file, name, shape, [box for box, _ in found])
    parts = {}
    for box, place in found:
        if prod(box[1]):
            if place is None:
                raise bad_file(file, f"its part at {box[0]} is in no file.", _HINT, name)
            parts[box] = _saved_part(place, name, element, box[1])
    return _join_parts(file, name, element, shape, parts)


def _element(x: Any, file: Path, name: str) -> Element:
    state = x.state if isinstance(x, PickledObject) else None
    kind = (
        state[0]
        if isinstance(state, list) and state
        else state.get("dtype")
        if isinstance(state, PickledDict)
        else None
    )
    return _of_dtype(kind, file, name)


def _of_dtype(kind: Any, file: Path, name: str) -> Element:
    known = _DTYPES.get(kind.name) if isinstance(kind, PickledName) and kind.module == "torch" else None
    if known is None:
        raise bad_file(file, f"its dtype is {shown(str(kind))}.", f"known: {', '.join(_DTYPES)}", name)
    return ELEMENTS[known]


def _check_cover(file: Path, name: str, shape: tuple[int, ...], boxes: list[Box]) -> None:
    """Refuse parts that leave the tensor, overlap, or do not make all of it."""
    for offsets, sizes in boxes:
        if len(offsets) != len(shape) or len(sizes) != len(shape):
            raise bad_file(file, f"a part of it has another rank than {shape}.", _HINT, name)
        if any(start + n > total for start, n, total in zip(offsets, sizes, shape)):
            raise bad_file(file, f"its part {_text(offsets, sizes)} leaves the shape {shape}.", _HINT, name)
    full = [box for box in boxes if prod(box[1])]
    for one, other in combinations(full, 2):
        if all(a < b + m and b < a + n for a, n, b, m in zip(one[0], one[1], other[0], other[1])):
            raise bad_file(file, f"its parts {_text(*one)} and {_text(*other)} overlap.", _HINT, name)
    there = sum([prod(sizes) for _, sizes in full])
    if there != prod(shape):
        raise bad_file(file, f"its parts have {there} of {prod(shape)} elements: some are missing.", _HINT, name)


def _text(offsets: tuple[int, ...], sizes: tuple[int, ...]) -> str:
    return f"[{', '.join([f'{start}:{start + n}' for start, n in zip(offsets, sizes)])}]"


# ---- what torch.save wrote -------------------------------------------------------------------------------


class SavedPart(NamedTuple):
    """Where the elements of a saved part begin, in bytes of a file, and the strides that it has there."""

    file: Path
    start: int
    strides: tuple[int, ...]


def _saved_part(place: BlobPlace, name: str, element: Element, sizes: tuple[int, ...]) -> SavedPart:
    """The tensor that ``torch.save`` wrote into a range of a file."""
    with OpenFile(place.file) as file:
        if place.start + place.size > file.size:
            what = f"a part ends at byte {place.start + place.size}, and the file at {file.size}."
            raise bad_file(place.file, what, TRUNCATED, name)
        part = ZipPart(file, place.start, place.size)
        members = {member.filename.partition("/")[2]: member for member in zip_members(part)}
        data = read_pickle(_content(part, members, "data.pkl", name), place.file)
        storage, offset, shape, strides, kind = _rebuilt(data, place.file, name)
        if "byteorder" in members and _content(part, members, "byteorder", name) != b"little":
            raise bad_file(place.file, "its bytes are not in little-endian order.", _HINT, name)
        where = _member(part, members, f"data/{storage}", name)
    if shape != sizes or kind != element:
        what = f"its part is {kind.name} {shape}, and the metadata say {element.name} {sizes}."
        raise bad_file(place.file, what, _HINT, name)
    last = offset + sum([(n - 1) * step for n, step in zip(shape, strides)])
    if (last + 1) * element.bits // 8 > where.size:
        raise bad_file(place.file, f"its part needs more than the {where.size} bytes that it has.", TRUNCATED, name)
    return SavedPart(place.file, where.start + offset * element.bits // 8, strides)


def _member(part: ZipPart, members: dict[str, zipfile.ZipInfo], key: str, name: str) -> BlobPlace:
    """Where the bytes of a member of the archive are in the file."""
    if key not in members:
        raise bad_file(part.file.path, f"its part has no {key}.", _HINT, name)
    return BlobPlace(part.file.path, member_start(part, members[key], name, _HINT), members[key].file_size)


def _content(part: ZipPart, members: dict[str, zipfile.ZipInfo], key: str, name: str) -> bytes:
    """The bytes of a small member."""
    where = _member(part, members, key, name)
    return part.file.read(where.start, where.size, f"the {key} of a part")


def _rebuilt(x: Any, file: Path, name: str) -> tuple[str, int, tuple[int, ...], tuple[int, ...], Element]:
    """What a pickled tensor is: the key of its storage, where it begins there, its shape, strides and type."""
    while isinstance(x, PickledObject) and str(x.of) == "torch._utils._rebuild_parameter":
        x = x.arguments[0]
    if not isinstance(x, PickledObject) or str(x.of) not in (
        "torch._utils._rebuild_tensor_v2",
        "torch._utils._rebuild_tensor_v3",
    ):
        raise bad_file(file, "its part is no plain tensor.", _HINT, name)
    arguments = x.arguments
    stored = arguments[0].value if isinstance(arguments[0], PersistentId) else None
    if not isinstance(stored, list) or len(stored) < 3 or stored[0] != "storage" or not isinstance(stored[2], str):
        raise bad_file(file, "its part has no storage.", _HINT, name)
    offset, shape, strides = arguments[1], _sizes(arguments[2], file, name), _sizes(arguments[3], file, name)
    if type(offset) is not int or offset < 0 or len(shape) != len(strides):
        raise bad_file(file, "its part has no place in its storage.", _HINT, name)
    if str(x.of).endswith("v3"):
        return stored[2], offset, shape, strides, _of_dtype(arguments[6], file, name)
    kind = stored[1]
    word = kind.name.removesuffix("Storage") if isinstance(kind, PickledName) and kind.module == "torch" else ""
    known = _STORAGES.get(word)
    if known is None:
        raise bad_file(file, f"its storage is {shown(str(kind))}.", _HINT, name)
    return stored[2], offset, shape, strides, ELEMENTS[known]


_STORAGES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
}


# ---- parts put together ----------------------------------------------------------------------------------


def _join_parts(
    file: Path, name: str, element: Element, shape: tuple[int, ...], parts: dict[Box, SavedPart]
) -> StoredTensor:
    """One array of all parts, which are in order of their offsets."""
    if len(parts) == 1:
        (((_, sizes), saved),) = parts.items()
        layout = Layout(sizes, saved.strides) if shape else None
        if layout is not None and not layout.is_contiguous():
            return _single(file, name, element, shape, saved, layout)
    for (_, sizes), saved in parts.items():
        if not Layout(sizes, saved.strides).is_contiguous():
            raise bad_file(file, "its parts are not in row-major order.", "save contiguous tensors", name)
    segments = tuple([Segment(s.file, s.start, nbytes(element, sizes)) for (_, sizes), s in parts.items()])
    if all(sizes[1:] == shape[1:] for _, sizes in parts):
        return StoredTensor(name, element, shape, segments)
    sizes = next(iter(parts))[1]
    if all(box[1] == sizes for box in parts):
        grid = tuple([total // n for total, n in zip(shape, sizes)])
        rows = Layout.row_major((*grid, *sizes)).stride
        layout = Layout(tuple(zip(sizes, grid)), tuple(zip(rows[len(grid) :], rows[: len(grid)])))
        record = LayoutRecord.of(layout, shape)
        return StoredTensor(name, element, (*grid, *sizes), segments, record, layout_from_container=True)
    return StoredTensor(name, element, shape, _runs(name, element, shape, parts))


def _single(
    file: Path, name: str, element: Element, shape: tuple[int, ...], saved: SavedPart, layout: Layout
) -> StoredTensor:
    """A tensor that was saved with other strides."""
    if layout.storage_size != layout.size or not layout.is_injective():
        raise bad_file(file, "it was saved with holes or broadcast.", "save contiguous tensors", name)
    segments = (Segment(saved.file, saved.start, nbytes(element, shape)),)
    return StoredTensor(name, element, shape, segments, LayoutRecord.of(layout, shape), layout_from_container=True)


def _runs(name: str, element: Element, shape: tuple[int, ...], parts: dict[Box, SavedPart]) -> tuple[Segment, ...]:
    """The bytes of a tensor of irregular parts in row-major order, run by run."""
    inner = next(d for d in reversed(range(len(shape))) if any(sizes[d] != shape[d] for _, sizes in parts))
    count = sum([prod(sizes[:inner]) for _, sizes in parts])
    if count > MAX_RUNS:
        raise LimitExceeded(
            f"tensor {name!r}: its irregular parts are {count} runs, and the limit is {MAX_RUNS}.",
            hint="save it in parts of equal sizes",
            limit=MAX_RUNS,
        )
    width = element.bits // 8
    found = []
    for (offsets, sizes), saved in parts.items():
        length = prod(sizes[inner:]) * width
        for k, c in enumerate(cartesian(*[range(n) for n in sizes[:inner]])):
            where = tuple([start + x for start, x in zip(offsets, c)])
            found.append(((*where, offsets[inner]), Segment(saved.file, saved.start + k * length, length)))
    return tuple([segment for _, segment in sorted(found, key=lambda item: item[0])])
