"""The tensors of an ONNX model: what a ``TensorProto`` says of its type, its shape and the place of its bytes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..elements.types import ELEMENTS, Element, storage_dtype
from ..errors import shown
from .contents import Segment, StoredTensor, bad_file, nbytes
from .protobuf import BYTES, FIXED32, FIXED64, VARINT, Field, Message
from .reading import HEADER_LIMIT, TRUNCATED, OpenFile, checked_shape, sibling

HINT = "save the model again with onnx.save"

# Numbers of fields.
DIMS, TYPE, NAME, RAW, EXTERNAL, LOCATION = 1, 2, 8, 9, 13, 14
_FLOATS, _INT32, _INT64, _DOUBLES, _UINT64 = 4, 5, 7, 10, 11
TYPED = (_FLOATS, _INT32, _INT64, _DOUBLES, _UINT64)

_NAMES = """
float32 uint8 int8 uint16 int16 int32 int64 string bool float16 float64 uint32 uint64 complex64 complex128 bfloat16
float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz uint4 int4 float4_e2m1fn float8_e8m0fnu uint2 int2
"""
TYPES = dict(enumerate(_NAMES.split(), 1))
"""The types of elements by their number."""

_IN_PLACE = {"float32": _FLOATS, "complex64": _FLOATS, "float64": _DOUBLES, "complex128": _DOUBLES}
_AS_VARINTS = {"int64": _INT64, "uint64": _UINT64, "uint32": _UINT64}


def read_pair(model: Message, part: Field) -> tuple[str, str]:
    """The key and the value of an entry."""
    found = {1: "", 2: ""}
    for field in model.fields(part.start, part.end):
        if field.number in found and field.wire == BYTES:
            found[field.number] = model.text(field)
    return found[1], found[2]


def read_tensor(model: Message, part: Field, known_as: str | None = None) -> StoredTensor | None:
    """A tensor, by its own name or that of a constant; None for texts, which have no layout."""
    path = model.file.path
    dims: list[int] = []
    kind, external, name = 0, 0, ""
    raw: Field | None = None
    typed: dict[int, list[Field]] = {}
    places: dict[str, str] = {}
    for field in model.fields(part.start, part.end):
        if field.number == DIMS:
            values = [field.value] if field.wire == VARINT else model.varints(field.start, field.end)
            for size in values:
                dims.append(size)
                if len(dims) > 64:
                    raise bad_file(path, "it has more than 64 dimensions.", HINT, name)
        elif field.number in (TYPE, LOCATION) and field.wire == VARINT:
            kind, external = (field.value, external) if field.number == TYPE else (kind, field.value)
        elif field.number == NAME and field.wire == BYTES:
            name = model.text(field)
        elif field.number == RAW and field.wire == BYTES:
            raw = field
        elif field.number == EXTERNAL and field.wire == BYTES:
            key, value = read_pair(model, field)
            places[key] = value
        elif field.number in TYPED:
            typed.setdefault(field.number, []).append(field)
    name = name if known_as is None else known_as
    if TYPES.get(kind) == "string":
        return None
    element = ELEMENTS.get(TYPES.get(kind, ""))
    if element is None:
        raise bad_file(path, f"its type is {TYPES.get(kind, kind)}.", "take it out of the initializers", name)
    shape = checked_shape(dims, element, path, name)
    size = nbytes(element, shape)
    if external == 1:
        return StoredTensor(name, element, shape, (_external(path, places, size, name),))
    if raw is not None:
        if raw.end - raw.start != size:
            what = f"{shown(shape)} of {element.name} needs {size} bytes, and it has {raw.end - raw.start}."
            raise bad_file(path, what, TRUNCATED, name)
        return StoredTensor(name, element, shape, (Segment(path, raw.start, size),))
    return _decode_typed_fields(model, StoredTensor(name, element, shape, ()), typed, size)


def _external(path: Path, places: dict[str, str], size: int, name: str) -> Segment:
    """Bytes of a file in the model's folder, and nowhere else."""
    said = (places.get("offset", "0"), places.get("length", str(size)))
    if not all(text.isascii() and text.isdigit() and len(text) < 20 for text in said):
        raise bad_file(path, f"its external data have offset and length {shown(said)}.", HINT, name)
    start, length = map(int, said)
    file = sibling(path, places.get("location"))
    with OpenFile(file) as opened:
        if length != size or start + size > opened.size:
            what = f"it needs {size} bytes, is given {length} from {start} on, and {file.name} has {opened.size}."
            raise bad_file(path, what, TRUNCATED, name)
    return Segment(file, start, size)


def _decode_typed_fields(
    model: Message, entry: StoredTensor, fields: dict[int, list[Field]], size: int
) -> StoredTensor:
    """Data in fields of their own type: fixed-width ones in place, numbers of varying length decoded."""
    kind: Element = entry.element
    number = _IN_PLACE.get(kind.name, _AS_VARINTS.get(kind.name, _INT32))
    found = fields.get(number, [])
    path = model.file.path
    held = sum([f.end - f.start for f in found])
    if kind.name in _IN_PLACE and held == size and all(f.wire in (BYTES, FIXED32, FIXED64) for f in found):
        if len(found) == 1:
            return entry._replace(segments=(Segment(path, found[0].start, size),))
        return entry._replace(inline=b"".join([model.bytes(f) for f in found]))
    count = size if kind.bits < 8 else size // kind.bytes
    if kind.name in _IN_PLACE or held > HEADER_LIMIT or held < count or size > HEADER_LIMIT:
        what = f"its {held} bytes of numbers are no {shown(entry.shape)} of {kind.name}, or too many."
        raise bad_file(path, what, "keep it in raw_data: onnx.numpy_helper.from_array", entry.name)
    values = [x for f in found for x in ([f.value] if f.wire == VARINT else model.varints(f.start, f.end))]
    if len(values) != count:
        raise bad_file(
            path, f"it has {len(values)} numbers, and {shown(entry.shape)} needs {count}.", TRUNCATED, entry.name
        )
    return entry._replace(inline=_packed(values, kind))


def _packed(values: Iterable[int], kind: Element) -> bytes:
    """The low bits of every number, one after another; elements below a byte come in bytes already."""
    import numpy as np

    width = 1 if kind.bits < 8 else storage_dtype(kind).itemsize
    whole: Any = np.fromiter(values, np.uint64)
    return bytes(whole.astype(f"<u{width}").tobytes())
