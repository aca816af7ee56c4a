"""Zip archives whose members are not compressed: read in place, in a file or in a part of one, and written."""

from __future__ import annotations

import struct
import zipfile
from typing import BinaryIO, NamedTuple

from ..errors import LayoutError, shown
from .contents import bad_file
from .reading import TRUNCATED, OpenFile

ALIGNMENT = 64
"""Data begin at multiples of so many bytes."""

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")
_UTF8 = 0x800
_ENCRYPTED = 0x1
_FIRST_DAY = 0x21  # 1980-01-01: the same tensors make the same file
_FILLER = 0xD935  # the extra field that aligns data

WIDE, MANY = 0xFFFFFFFF, 0xFFFF
"""From so many bytes, and so many members on, an archive needs zip64."""

LOCAL_CRC, DIRECTORY_CRC = 14, 16
"""Where in the header of a member, and in its entry of the directory, the checksum is."""


class ZipPart(NamedTuple):
    """A range of a file that is an archive."""

    file: OpenFile
    start: int
    size: int


def zip_members(part: ZipPart) -> list[zipfile.ZipInfo]:
    """What the directory of an archive says; anything that is none is refused."""
    try:
        with zipfile.ZipFile(_Stream(part)) as archive:
            return list(archive.infolist())
    except LayoutError:
        raise
    # What zipfile lets through from broken archives, and from features of zip that it lacks.
    except (zipfile.BadZipFile, _BeforeFileError, NotImplementedError, struct.error, ValueError, IndexError) as error:
        raise bad_file(part.file.path, f"it is no zip archive: {shown(str(error))}.", TRUNCATED) from None


def member_start(part: ZipPart, member: zipfile.ZipInfo, name: str, plain: str) -> int:
    """Where in the file the bytes of a member begin; one that is compressed is refused, with ``plain`` as the hint."""
    file = part.file
    if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
        raise bad_file(file.path, "it is compressed, and cannot be used in place.", plain, name)
    if member.flag_bits & _ENCRYPTED:
        raise bad_file(file.path, "it is encrypted.", plain, name)
    local = _LOCAL.unpack(file.read(part.start + member.header_offset, _LOCAL.size, "a member's header"))
    start: int = part.start + member.header_offset + _LOCAL.size + local[9] + local[10]
    if local[0] != b"PK\3\4" or start + member.file_size > part.start + part.size:
        raise bad_file(file.path, "it is not where the archive says.", TRUNCATED, name)
    return start


def first_name(file: BinaryIO) -> bytes:
    """The name of the first member of what may be an archive."""
    local = file.read(_LOCAL.size)
    return file.read(_LOCAL.unpack(local)[9]) if len(local) == _LOCAL.size else b""


class _BeforeFileError(OSError):
    """What zipfile expects where it looks for a record in a file that is too short for one."""


class _Stream:
    """What ``zipfile`` needs to read a directory; the directory is held against the limit for headers."""

    def __init__(self, part: ZipPart) -> None:
        self._part, self._at = part, 0

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._part.size)[whence]
        if self._at < 0:
            raise _BeforeFileError("it would begin before the file")
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        file, start, whole = self._part
        left = max(whole - self._at, 0)
        data = file.read(start + self._at, left if size < 0 else min(size, left), "the archive's directory")
        self._at += len(data)
        return data


# ---- writing ---------------------------------------------------------------------------------------------


class ZipMember(NamedTuple):
    """A member to be written: its name, where its header and its data begin, and how many bytes it has."""

    name: bytes
    at: int
    start: int
    size: int


def local_header(name: bytes, size: int, at: int, large: bool) -> bytes:
    """The header of a member, which makes what follows begin at a multiple of 64 bytes."""
    extra = struct.pack("<2H2Q", 1, 16, size, size) if large else b""
    filler = -(at + _LOCAL.size + len(name) + len(extra) + 4) % ALIGNMENT
    extra += struct.pack("<2H", _FILLER, filler) + bytes(filler)
    told = WIDE if large else size
    fields = (45 if large else 20, _UTF8, 0, 0, _FIRST_DAY, 0, told, told, len(name), len(extra))
    return _LOCAL.pack(b"PK\3\4", *fields) + name + extra


def directory_entry(m: ZipMember, large: bool) -> bytes:
    """What the directory says of a member."""
    extra = struct.pack("<2H3Q", 1, 24, m.size, m.size, m.at) if large else b""
    told, at = (WIDE, WIDE) if large else (m.size, m.at)
    version = 45 if large else 20
    sizes = (0, told, told, len(m.name), len(extra), 0, 0, 0, 0o600 << 16, at)
    return _CENTRAL.pack(b"PK\1\2", version, version, _UTF8, 0, 0, _FIRST_DAY, *sizes) + m.name + extra


def end_of_directory(at: int, size: int, count: int, large: bool) -> bytes:
    """What follows a directory of so many bytes and members that begins at ``at``."""
    if not large:
        return _END.pack(b"PK\5\6", 0, 0, count, count, size, at, 0)
    wide = _END64.pack(b"PK\6\6", _END64.size - 12, 45, 45, 0, 0, count, count, size, at)
    where = _LOCATOR.pack(b"PK\6\7", 0, at + size, 1)
    return wide + where + _END.pack(b"PK\5\6", 0, 0, MANY, MANY, WIDE, WIDE, 0)
