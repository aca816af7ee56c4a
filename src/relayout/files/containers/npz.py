"""``.npz`` files: zip archives of ``.npy`` files, which are used in place and so must not be compressed."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import LayoutError, shown
from ..container import Container, begins_with
from ..contents import Checksum, Destination, PlannedTensor, Segment, Source, StoredTensor, bad_file, nbytes
from ..reading import TRUNCATED, OpenFile, check_disjoint, with_records
from ..sidecar import read_sidecar, with_sidecar
from .npy import ALIGNMENT, npy_header, read_array, with_numpy_dtype

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")
_UTF8 = 0x800
_ENCRYPTED = 0x1
_FIRST_DAY = 0x21  # 1980-01-01: the same tensors make the same file
_FILLER = 0xD935  # the extra field that aligns data
MAX_NAME = 60_000
"""No name has more bytes: a zip archive has two for their number."""

_WIDE, _MANY = 0xFFFFFFFF, 0xFFFF


class Npz(Container):
    """A zip archive of ``.npy`` files, their records in a sidecar."""

    name = "npz"
    suffixes = (".npz",)

    def recognises(self, path: Path) -> bool:
        """A zip archive whose first member is an array; what PyTorch saves is a zip archive of others."""
        if not begins_with(path, b"PK\3\4"):
            return False
        with path.open("rb") as file:
            local = file.read(_LOCAL.size)
            return len(local) == _LOCAL.size and file.read(_LOCAL.unpack(local)[9]).endswith(b".npy")

    def read(self, path: Path) -> Source:
        """All arrays by name, without their ``.npy``."""
        entries: dict[str, StoredTensor] = {}
        with OpenFile(path) as file:
            for member in _members(file):
                name = member.filename.removesuffix(".npy")
                if name in entries:
                    raise bad_file(path, "the archive has it twice.", "write the archive again", name)
                if _is_outside(name):
                    raise bad_file(path, "its name leads out of the archive.", "rename the tensor", name)
                entries[name] = _entry(file, member, name)
        check_disjoint(entries.values(), path)
        records, metadata = read_sidecar(path, entries)
        return Source(path, self.name, with_records(entries, records), metadata)

    def plan(
        self, path: Path, planned: Sequence[PlannedTensor], metadata: Mapping[str, Any] | None = None
    ) -> Destination:
        """An archive without compression, its data on multiples of 64 bytes; with zip64 only where it is needed."""
        stored = [with_numpy_dtype(p) for p in planned]
        total = sum([nbytes(p.element, p.shape) + len(p.name.encode()) * 2 + 1024 for p in stored])
        large = total >= _WIDE or len(stored) >= _MANY
        parts: dict[int, bytes] = {}
        entries: dict[str, tuple[Segment, ...]] = {}
        members = []
        at = 0
        for p in stored:
            if p.name in entries or "\0" in p.name or len(p.name.encode()) > MAX_NAME:
                raise bad_file(path, "the name is taken, or none for a zip archive.", "rename the tensor", p.name)
            if _is_outside(p.name):
                what = "its name would lead out of the archive."
                raise bad_file(path, what, "write .safetensors, or rename the tensor", p.name)
            header, name = npy_header(p.element, p.shape), f"{p.name}.npy".encode()
            size = nbytes(p.element, p.shape)
            front = _local_header(name, len(header) + size, at, large)
            start = at + len(front)
            parts[at] = front + header
            entries[p.name] = (Segment(path, start + len(header), size),)
            members.append(_Member(name, header, at, start, len(header) + size))
            at = start + len(header) + size
        directory, checksums = b"", []
        for m in members:
            checksums.append(Checksum(path, m.start, m.size, (m.at + 14, at + len(directory) + 16)))
            directory += _directory_entry(m, large)
        parts[at] = parts.get(at, b"") + directory + _end_of_directory(at, len(directory), len(members), large)
        destination = Destination({path: (at + len(parts[at]), parts)}, entries, tuple(checksums))
        return with_sidecar(destination, path, stored, metadata)


CONTAINER = Npz()


def _is_outside(name: str) -> bool:
    """Whether a tool that unpacks the archive could write that member elsewhere than in its folder."""
    parts = name.replace("\\", "/").split("/")
    return (parts[0] == "" and len(parts) > 1) or ".." in parts or (parts[0][1:2] == ":" and parts[0][:1].isalpha())


def _members(file: OpenFile) -> list[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(_Stream(file)) as archive:
            return list(archive.infolist())
    except LayoutError:
        raise
    # What zipfile lets through from broken archives, and from features of zip that it lacks.
    except (zipfile.BadZipFile, _BeforeFileError, NotImplementedError, struct.error, ValueError, IndexError) as error:
        raise bad_file(file.path, f"it is no zip archive: {shown(str(error))}.", TRUNCATED) from None


def _entry(file: OpenFile, member: zipfile.ZipInfo, name: str) -> StoredTensor:
    plain = "write it with numpy.savez, which does not compress"
    if not member.filename.endswith(".npy"):
        raise bad_file(
            file.path, f"the member {shown(member.filename)} is no .npy.", "take it out of the archive", name
        )
    if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
        raise bad_file(file.path, "it is compressed, and cannot be used in place.", plain, name)
    if member.flag_bits & _ENCRYPTED:
        raise bad_file(file.path, "it is encrypted.", plain, name)
    local = _LOCAL.unpack(file.read(member.header_offset, _LOCAL.size, "a member's header"))
    start = member.header_offset + _LOCAL.size + local[9] + local[10]
    if local[0] != b"PK\3\4" or start + member.file_size > file.size:
        raise bad_file(file.path, "it is not where the archive says.", TRUNCATED, name)
    return read_array(file, start, member.file_size, name)


class _BeforeFileError(OSError):
    """What zipfile expects where it looks for a record in a file that is too short for one."""


class _Stream:
    """What ``zipfile`` needs to read a directory; the directory is held against the limit for headers."""

    def __init__(self, file: OpenFile) -> None:
        self._file, self._at = file, 0

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._file.size)[whence]
        if self._at < 0:
            raise _BeforeFileError("it would begin before the file")
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        left = max(self._file.size - self._at, 0)
        data = self._file.read(self._at, left if size < 0 else min(size, left), "the archive's directory")
        self._at += len(data)
        return data


# ---- writing ---------------------------------------------------------------------------------------------


class _Member(NamedTuple):
    name: bytes
    header: bytes
    at: int
    start: int
    size: int


def _local_header(name: bytes, size: int, at: int, large: bool) -> bytes:
    """The header of a member, which makes what follows begin at a multiple of 64 bytes."""
    extra = struct.pack("<2H2Q", 1, 16, size, size) if large else b""
    filler = -(at + _LOCAL.size + len(name) + len(extra) + 4) % ALIGNMENT
    extra += struct.pack("<2H", _FILLER, filler) + bytes(filler)
    told = _WIDE if large else size
    fields = (45 if large else 20, _UTF8, 0, 0, _FIRST_DAY, 0, told, told, len(name), len(extra))
    return _LOCAL.pack(b"PK\3\4", *fields) + name + extra


def _directory_entry(m: _Member, large: bool) -> bytes:
    """What the directory says of a member."""
    extra = struct.pack("<2H3Q", 1, 24, m.size, m.size, m.at) if large else b""
    told, at = (_WIDE, _WIDE) if large else (m.size, m.at)
    version = 45 if large else 20
    sizes = (0, told, told, len(m.name), len(extra), 0, 0, 0, 0o600 << 16, at)
    return _CENTRAL.pack(b"PK\1\2", version, version, _UTF8, 0, 0, _FIRST_DAY, *sizes) + m.name + extra


def _end_of_directory(at: int, size: int, count: int, large: bool) -> bytes:
    if not large:
        return _END.pack(b"PK\5\6", 0, 0, count, count, size, at, 0)
    wide = _END64.pack(b"PK\6\6", _END64.size - 12, 45, 45, 0, 0, count, count, size, at)
    where = _LOCATOR.pack(b"PK\6\7", 0, at + size, 1)
    return wide + where + _END.pack(b"PK\5\6", 0, 0, _MANY, _MANY, _WIDE, _WIDE, 0)
