"""The fields of a message in Protocol Buffers' wire format, found in place."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import NamedTuple

from .contents import bad_file
from .reading import HEADER_LIMIT, TRUNCATED, OpenFile

MAX_FIELDS = 1 << 22
"""No more fields are looked at in one file."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """A field: its number, how it is written, its value if it is a varint, and the bytes that hold it."""

    number: int
    wire: int
    value: int
    start: int
    end: int


class Message:
    """A file that is one message; nothing is read but what is asked for.

    With ``partial`` a field that ends after what holds it is given as far as it goes, and ``problem`` tells of it.
    """

    def __init__(self, file: OpenFile, *, partial: bool = False) -> None:
        self.file, self.partial = file, partial
        self.problem: str | None = None
        self._data = mmap.mmap(file.descriptor, file.size, access=mmap.ACCESS_READ) if file.size else b""
        self._left = MAX_FIELDS

    def fields(self, start: int, end: int) -> Iterator[Field]:
        """The fields of the message in those bytes, which they never leave."""
        while start < end:
            self._left -= 1
            if self._left < 0:
                raise bad_file(self.file.path, f"it has more than {MAX_FIELDS} fields.", "split the model")
            tag, at = self._varint(start, end)
            number, wire = tag >> 3, tag & 7
            value = 0
            if wire == VARINT:
                value, start = self._varint(at, end)
            elif wire == BYTES:
                size, at = self._varint(at, end)
                start = at + size
            elif wire in (FIXED64, FIXED32):
                start = at + (8 if wire == FIXED64 else 4)
            else:
                raise self._broken(at)
            if start > end or number == 0:
                if not self.partial or wire != BYTES or number == 0:
                    raise self._broken(at)
                self.problem = (
                    f"{self.file.path}: it is cut off: a field ends at byte {start}, and what holds it at {end}."
                )
                start = end
            yield Field(number, wire, value, at, start)

    def varints(self, start: int, end: int) -> Iterator[int]:
        """Numbers packed one after another."""
        while start < end:
            value, start = self._varint(start, end)
            yield value

    def bytes(self, field: Field) -> bytes:
        """The bytes of a field that is no tensor's data; refused where they are many."""
        if field.end - field.start > HEADER_LIMIT:
            what = f"a field of it has {field.end - field.start} bytes, and the limit is {HEADER_LIMIT}."
            raise bad_file(self.file.path, what, "keep large tensors in raw_data")
        return self._data[field.start : field.end]

    def text(self, field: Field) -> str:
        try:
            return self.bytes(field).decode()
        except UnicodeDecodeError:
            raise self._broken(field.start) from None

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        value = 0
        for k in range(min(10, end - at)):
            byte = self._data[at + k]
            value |= (byte & 0x7F) << 7 * k
            if byte < 0x80:
                return value & (1 << 64) - 1, at + k + 1
        raise self._broken(at)

    def _broken(self, at: int) -> Exception:
        return bad_file(self.file.path, f"it is no Protocol Buffers message: byte {at} does not fit.", TRUNCATED)


# ---- writing ---------------------------------------------------------------------------------------------


def encode_varint(n: int) -> bytes:
    """A number of at most 64 bits, seven in each byte, the lowest first."""
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def encode_field(number: int, value: int | str | bytes) -> bytes:
    """A field that is a varint, a text or a message."""
    if isinstance(value, int):
        return encode_varint(number << 3 | VARINT) + encode_varint(value)
    data = value.encode() if isinstance(value, str) else value
    return field_head(number, len(data)) + data


def field_head(number: int, size: int) -> bytes:
    """What stands before so many bytes of a text, a message or data."""
    return encode_varint(number << 3 | BYTES) + encode_varint(size)
