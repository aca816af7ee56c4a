"""GGUF, versions 2 and 3: key/values, then tensors with their dimensions fastest first. Read only."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any

from ...elements.types import ELEMENTS, Element
from ...errors import shown
from ..container import Container, begins_with
from ..contents import Source, StoredTensor, bad_file, nbytes
from ..packings import PACKINGS
from ..reading import TRUNCATED, OpenFile, check_disjoint, checked_shape, contiguous_tensor, with_records_json

LIMIT = 32 << 20
"""No header is longer; vocabularies take some MB."""

MAX_DIMS = 8

_HINT = "write the file again with a current gguf or llama.cpp"
_SCALARS = dict(enumerate(["B", "b", "H", "h", "I", "i", "f", "?", "_", "_", "Q", "q", "d"]))
_STRING, _ARRAY = 8, 9

_PLAIN = {0: "float32", 1: "float16", 24: "int8", 25: "int16", 26: "int32", 27: "int64", 28: "float64", 30: "bfloat16"}
# Types of blocks: their name, and the elements and bytes of one. A row of them is exposed as its bytes.
_BLOCKS = {
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    9: ("Q8_1", 32, 40),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18),
    21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136),
    29: ("IQ1_M", 256, 56),
    34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36),
    41: ("Q1_0", 128, 18),
}


class Gguf(Container):
    """All tensors of a model; read only."""

    name = "gguf"
    suffixes = (".gguf",)

    def recognises(self, path: Path) -> bool:
        return begins_with(path, b"GGUF")

    def read(self, path: Path) -> Source:
        """All tensors; those of quantised blocks as uint8, with a row's bytes in place of its elements."""
        with OpenFile(path) as file:
            cursor = _HeaderReader(file)
            magic, version = cursor.take(4), cursor.number("I")
            if magic != b"GGUF" or version not in (2, 3):
                raise bad_file(path, f"it begins with {magic!r} and version {version}.", _HINT)
            count, pairs = cursor.number("Q"), cursor.number("Q")
            metadata: dict[str, Any] = {}
            for _ in range(pairs):
                key = cursor.text()
                if key in metadata:
                    raise bad_file(path, f"the key {shown(key)} is there twice.", _HINT)
                metadata[key] = cursor.value(cursor.number("I"))
            told = [_tensor(cursor) for _ in range(count)]
            alignment = metadata.get("general.alignment", 32)
            if type(alignment) is not int or not 8 <= alignment <= 1 << 20 or alignment % 8:
                raise bad_file(path, f"its alignment is {shown(alignment)}.", _HINT)
            first = -(-cursor.at // alignment) * alignment
            entries: dict[str, StoredTensor] = {}
            for name, kind, shape, offset in told:
                if name in entries or offset % alignment:
                    raise bad_file(path, "it is there twice, or not aligned.", _HINT, name)
                element, stored = _stored(kind, shape, path, name)
                entry = contiguous_tensor(file, first + offset, nbytes(element, stored), name, element, stored)
                entries[name] = entry._replace(packing=_BLOCKS[kind][0] if kind in _BLOCKS else None)
        check_disjoint(entries.values(), path)
        packed = {name: entry.packing for name, entry in entries.items() if entry.packing is not None}
        if packed:
            metadata.setdefault(PACKINGS, packed)
        entries = with_records_json(entries, metadata.pop("relayout", None), path)
        return Source(path, self.name, entries, metadata)


CONTAINER = Gguf()


class _HeaderReader:
    """The header from its beginning on, read in pieces as it goes."""

    def __init__(self, file: OpenFile) -> None:
        self.file, self.at = file, 0
        self._data, self._start = b"", 0

    def take(self, size: int) -> bytes:
        end = self.at + size
        if end > min(self.file.size, LIMIT):
            what = f"the limit is {LIMIT}" if end > LIMIT else f"the file ends at {self.file.size}"
            raise bad_file(self.file.path, f"its header goes on to byte {end}, and {what}.", TRUNCATED)
        if end > self._start + len(self._data):
            self._start = self.at
            self._data = self.file.read(self.at, min(max(size, 1 << 20), self.file.size - self.at))
        found = self._data[self.at - self._start : end - self._start]
        self.at = end
        return found

    def number(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))[0]

    def text(self, strict: bool = True) -> str:
        data = self.take(self.number("Q"))
        try:
            return data.decode("utf-8", "strict" if strict else "backslashreplace")
        except UnicodeDecodeError:
            raise bad_file(self.file.path, f"the name {shown(data)} is no UTF-8.", _HINT) from None

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind == _STRING:
            return self.text(strict=False)
        if kind == _ARRAY and depth < 4:
            inner, count = self.number("I"), self.number("Q")
            if count > self.file.size:
                raise bad_file(self.file.path, f"an array of its header has {count} entries.", TRUNCATED)
            if inner in _SCALARS and inner not in (_STRING, _ARRAY):
                code = f"<{count}{_SCALARS[inner]}"
                return [_finite(x) for x in struct.unpack(code, self.take(struct.calcsize(code)))]
            return [self.value(inner, depth + 1) for _ in range(count)]
        if kind in _SCALARS and kind != _ARRAY:
            return _finite(self.number(_SCALARS[kind]))
        raise bad_file(self.file.path, f"its header has a value of type {kind}.", _HINT)


def _tensor(cursor: _HeaderReader) -> tuple[str, int, tuple[int, ...], int]:
    name, rank = cursor.text(), cursor.number("I")
    if rank > MAX_DIMS:
        raise bad_file(cursor.file.path, f"it has {rank} dimensions.", _HINT, name)
    dims = tuple([cursor.number("Q") for _ in range(rank)])
    return name, cursor.number("I"), dims[::-1], cursor.number("Q")


def _stored(kind: int, shape: tuple[int, ...], path: Path, name: str) -> tuple[Element, tuple[int, ...]]:
    if kind in _PLAIN:
        element = ELEMENTS[_PLAIN[kind]]
        return element, checked_shape(shape, element, path, name)
    if kind not in _BLOCKS:
        raise bad_file(path, f"its type has the number {kind}, which is not known.", _HINT, name)
    _, elements, size = _BLOCKS[kind]
    if not shape or shape[-1] % elements:
        raise bad_file(path, f"its rows of {shown(shape[-1:])} are no whole blocks of {elements}.", _HINT, name)
    element = ELEMENTS["uint8"]
    return element, checked_shape((*shape[:-1], shape[-1] // elements * size), element, path, name)


def _finite(x: Any) -> Any:
    """A number that JSON can say; others as text."""
    return str(x) if isinstance(x, float) and not math.isfinite(x) else x
