"""``.npz`` files: zip archives of ``.npy`` files, which are used in place and so must not be compressed."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import shown
from ..container import Container, begins_with
from ..contents import Checksum, Destination, PlannedTensor, Segment, Source, StoredTensor, bad_file, nbytes
from ..reading import OpenFile, check_disjoint, with_records
from ..sidecar import read_sidecar, with_sidecar
from ..zip_archives import (
    DIRECTORY_CRC,
    LOCAL_CRC,
    MANY,
    WIDE,
    ZipMember,
    ZipPart,
    directory_entry,
    end_of_directory,
    first_name,
    local_header,
    member_start,
    zip_members,
)
from .npy import npy_header, read_array, with_numpy_dtype

MAX_NAME = 60_000
"""No name has more bytes: a zip archive has two for their number."""


class Npz(Container):
    """A zip archive of ``.npy`` files, their records in a sidecar."""

    name = "npz"
    suffixes = (".npz",)

    def recognises(self, path: Path) -> bool:
        """A zip archive whose first member is an array; what PyTorch saves is a zip archive of others."""
        if not begins_with(path, b"PK\3\4"):
            return False
        with path.open("rb") as file:
            return first_name(file).endswith(b".npy")

    def read(self, path: Path) -> Source:
        """All arrays by name, without their ``.npy``."""
        entries: dict[str, StoredTensor] = {}
        with OpenFile(path) as file:
            part = ZipPart(file, 0, file.size)
            for member in zip_members(part):
                name = member.filename.removesuffix(".npy")
                if name in entries:
                    raise bad_file(path, "the archive has it twice.", "write the archive again", name)
                if _is_outside(name):
                    raise bad_file(path, "its name leads out of the archive.", "rename the tensor", name)
                entries[name] = _entry(part, member, name)
        check_disjoint(entries.values(), path)
        records, metadata = read_sidecar(path, entries)
        return Source(path, self.name, with_records(entries, records), metadata)

    def plan(
        self, path: Path, planned: Sequence[PlannedTensor], metadata: Mapping[str, Any] | None = None
    ) -> Destination:
        """An archive without compression, its data on multiples of 64 bytes; with zip64 only where it is needed."""
        stored = [with_numpy_dtype(p) for p in planned]
        total = sum([nbytes(p.element, p.shape) + len(p.name.encode()) * 2 + 1024 for p in stored])
        large = total >= WIDE or len(stored) >= MANY
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
            front = local_header(name, len(header) + size, at, large)
            start = at + len(front)
            parts[at] = front + header
            entries[p.name] = (Segment(path, start + len(header), size),)
            members.append(ZipMember(name, at, start, len(header) + size))
            at = start + len(header) + size
        directory, checksums = b"", []
        for m in members:
            checksums.append(Checksum(path, m.start, m.size, (m.at + LOCAL_CRC, at + len(directory) + DIRECTORY_CRC)))
            directory += directory_entry(m, large)
        parts[at] = parts.get(at, b"") + directory + end_of_directory(at, len(directory), len(members), large)
        destination = Destination({path: (at + len(parts[at]), parts)}, entries, tuple(checksums))
        return with_sidecar(destination, path, stored, metadata)


CONTAINER = Npz()


def _is_outside(name: str) -> bool:
    """Whether a tool that unpacks the archive could write that member elsewhere than in its folder."""
    parts = name.replace("\\", "/").split("/")
    return (parts[0] == "" and len(parts) > 1) or ".." in parts or (parts[0][1:2] == ":" and parts[0][:1].isalpha())


def _entry(part: ZipPart, member: zipfile.ZipInfo, name: str) -> StoredTensor:
    plain = "write it with numpy.savez, which does not compress"
    if not member.filename.endswith(".npy"):
        raise bad_file(
            part.file.path, f"the member {shown(member.filename)} is no .npy.", "take it out of the archive", name
        )
    start = member_start(part, member, name, plain)
    return read_array(part.file, start, member.file_size, name)
