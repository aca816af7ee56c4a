"""A pool of open files: ranges of tensors read and written in place, without mapping a file into memory."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from ..errors import BadFile
from ..native import native
from . import tuning
from .contents import Segment, StoredTensor
from .descriptor import Descriptor
from .store_url import StoreUrl
from .write_back import WriteBack

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


UNSUPPORTED = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)
"""What file systems answer that cannot allocate blocks ahead."""

MAX_READ_BYTES = 1 << 30
"""Longer reads are split: macOS refuses those of 2 GiB."""


class FilePool:
    """Files by their path, for many threads; those used last stay open, others are evicted and opened again."""

    def __init__(self, flags: int = os.O_RDONLY) -> None:
        self._flags = flags
        self._open: dict[Path, Descriptor] = {}
        self._written: set[Path] = set()
        self._lock, self._writing = Lock(), Lock()
        self._write_back, self._waiting, self._begun = WriteBack(), 0, 0
        self._syncing = False

    def __enter__(self) -> FilePool:
        return self

    def __exit__(self, *_: object) -> None:
        self._write_back.close()
        self._open.clear()

    def descriptor(self, path: Path, written: bool = False) -> Descriptor:
        """A file, open for as long as the result is kept."""
        with self._lock:
            file = self._open.pop(path, None) or Descriptor(path, self._flags)
            self._open[path] = file
            if written:
                self._written.add(path)
            if len(self._open) > tuning.ACTIVE.open_files:
                del self._open[next(iter(self._open))]
            return file

    def read(self, segments: Sequence[Segment], starts: Sequence[int], out: NDArray[np.uint8]) -> None:
        """Fill ``out`` with runs of a tensor, one after another and all of one length, from these bytes of it on."""
        if segments and isinstance(segments[0].file, StoreUrl):
            _read_objects(segments, starts, out.data)
            return
        if native is not None and _are_many(segments, starts):
            path, first, _ = segments[0]
            places = [first + start for start in starts]
            file = self.descriptor(path)
            done = native.read_runs(file.number, out, places, MAX_READ_BYTES)
            if done < out.size:
                length = out.size // len(starts)
                raise _early_end(path, places[done // length] + done % length)
            return
        for path, file, place, view in self._parts(segments, starts, out.data):
            count = os.preadv(file.number, [view], place)
            while count < len(view):
                more = os.preadv(file.number, [view[count:]], place + count)
                if not more:
                    raise _early_end(path, place + count)
                count += more

    def read_tensor(self, tensor: StoredTensor, starts: Sequence[int], out: NDArray[np.uint8]) -> None:
        """Fill ``out`` with runs of a stored tensor, wherever and however its bytes are kept."""
        if tensor.inline is not None:
            length = out.size // len(starts)
            for k, start in enumerate(starts):
                out.data[k * length : (k + 1) * length] = tensor.inline[start : start + length]
        elif tensor.chunks is not None:
            tensor.chunks.read(starts, out)
        else:
            self.read(tensor.segments, starts, out)

    def write(self, segments: Sequence[Segment], starts: Sequence[int], data: NDArray[np.uint8]) -> None:
        """Put runs of one length, one after another in ``data``, at these bytes of a tensor.

        One thread at a time: the system lets no more write to a file, and has those who wait spin.
        """
        with self._writing:
            if native is not None and _are_many(segments, starts):
                path, first, _ = segments[0]
                places = [first + start for start in starts]
                file = self.descriptor(path, written=True)
                length = data.size // len(starts)
                step = max(1, tuning.ACTIVE.writeback_bytes // max(length, 1))
                for k in range(0, len(places), step):
                    part = data[k * length : (k + step) * length]
                    done = native.write_runs(file.number, part, places[k : k + step], tuning.ACTIVE.max_write_bytes)
                    if done < part.size:
                        raise _full_file(path)
                    self._count(file, done)
                return
            for path, file, place, view in self._parts(segments, starts, data.data, written=True):
                self._write_fully(path, file, place, view)

    def write_at(self, path: Path, start: int, data: bytes) -> None:
        """Write bytes at a place of a file."""
        with self._writing:
            self._write_fully(path, self.descriptor(path, written=True), start, memoryview(data))

    def _write_fully(self, path: Path, file: Descriptor, start: int, view: memoryview) -> None:
        most = tuning.ACTIVE.max_write_bytes
        while view:
            count = os.pwrite(file.number, view[: most - start % most], start)
            if not count:
                raise _full_file(path)
            start, view = start + count, view[count:]
            self._count(file, count)

    def _count(self, file: Descriptor, size: int) -> None:
        """Let bytes go to the disk when there are enough, but not too many during a sync, which waits for all."""
        self._waiting += size
        if self._waiting >= tuning.ACTIVE.writeback_bytes and self._begun < tuning.ACTIVE.journal_batch_bytes:
            self._begun += self._waiting if self._syncing else 0
            self._waiting = 0
            self._write_back.begin(file)

    def _parts(
        self, segments: Sequence[Segment], starts: Sequence[int], data: memoryview, written: bool = False
    ) -> Iterator[tuple[Path, Descriptor, int, memoryview]]:
        """Where in which files runs of a tensor are, and where in memory."""
        length = len(data) // len(starts)
        runs = ((start, data[k * length : (k + 1) * length]) for k, start in enumerate(starts))
        if len(segments) == 1:
            path, place, _ = segments[0]
            file = self.descriptor(path, written)
            for start, run in runs:
                yield path, file, place + start, run
            return
        for start, run in runs:
            for path, place, first, last in file_ranges(segments, start, start + length):
                yield path, self.descriptor(path, written), place, run[first:last]

    def allocate(self, path: Path, size: int) -> None:
        """Create a file of that size, with its blocks on the disk where the system can allocate them ahead."""
        file = self.descriptor(path, written=True)
        os.ftruncate(file.number, size)
        if size and hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(file.number, 0, size)
            except OSError as error:
                if error.errno not in UNSUPPORTED:
                    raise

    def sync(self) -> None:
        """Wait until all that was written is on the disk."""
        with self._lock:
            written, self._written = self._written, set()
        self._syncing = True
        try:
            for path in written:
                file = self.descriptor(path)
                getattr(os, "fdatasync", os.fsync)(file.number)
        finally:
            self._syncing, self._begun = False, 0


def _are_many(segments: Sequence[Segment], starts: Sequence[int]) -> bool:
    """Whether the compiled core reads or writes the runs: for each, a call of Python takes as long as to move 8 KiB."""
    return len(segments) == 1 and len(starts) >= tuning.ACTIVE.min_native_runs and hasattr(native, "read_runs")


def _early_end(path: Path, end: int) -> BadFile:
    return BadFile(
        f"{path} ends at byte {end}, and was longer when it was opened.",
        hint="do not change a file while it is read",
        file=path,
    )


def _read_objects(segments: Sequence[Segment], starts: Sequence[int], data: memoryview) -> None:
    """Fill memory with runs of a tensor whose segments are in a store."""
    length = len(data) // len(starts)
    for k, start in enumerate(starts):
        for path, place, first, last in file_ranges(segments, start, start + length):
            found = path.read_range(place, last - first) if isinstance(path, StoreUrl) else b""
            if len(found) != last - first:
                what = f"{path} ends at byte {place + len(found)}, and was longer when it was opened."
                raise BadFile(what, hint="do not change an object while it is read", file=path)
            data[k * length + first : k * length + last] = found


def _full_file(path: Path) -> OSError:
    return OSError(errno.ENOSPC, "the file takes no more bytes", str(path))


def file_ranges(segments: Sequence[Segment], low: int, high: int) -> Iterator[tuple[Path, int, int, int]]:
    """Where the bytes ``low`` to ``high`` of a tensor are: file, place, and which of them."""
    start = 0
    for path, place, size in segments:
        first, last = max(low, start), min(high, start + size)
        if first < last:
            yield path, place + first - start, first - low, last - low
        start += size
