"""Bytes of tensors in files: ranges read and written in place, without mapping the file into memory."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from ..errors import BadFile
from .entry import Segment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


UNSUPPORTED = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)
"""What file systems answer that cannot set room aside."""

AT_ONCE = 1 << 20
"""Longer writes wait longer for what the disk is busy with."""


SYNC_FILE_RANGE_WRITE = 2
"""Begins to write, and does not wait."""


class Files:
    """Open files by their path, for many threads; closed together."""

    def __init__(self, flags: int = os.O_RDONLY) -> None:
        self._flags = flags | os.O_CLOEXEC
        self._open: dict[Path, int] = {}
        self._lock, self._writing = Lock(), Lock()

    def __enter__(self) -> Files:
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._open.values():
            os.close(number)
        self._open.clear()

    def number(self, path: Path) -> int:
        """The descriptor of a file."""
        with self._lock:
            if path not in self._open:
                self._open[path] = os.open(path, self._flags, 0o666)
            return self._open[path]

    def read(self, segments: Sequence[Segment], starts: Sequence[int], out: NDArray[np.uint8]) -> None:
        """Fill ``out`` with runs of a tensor, one after another and all of one length, from these bytes of it on."""
        for path, number, place, view in self._parts(segments, starts, out.data):
            count = os.preadv(number, [view], place)
            while count < len(view):
                more = os.preadv(number, [view[count:]], place + count)
                if not more:
                    raise BadFile(
                        f"{path} ends at byte {place + count}, and was longer when it was opened.",
                        hint="do not change a file while it is read",
                        file=path,
                    )
                count += more

    def write(self, segments: Sequence[Segment], starts: Sequence[int], data: NDArray[np.uint8]) -> None:
        """Put runs of one length, one after another in ``data``, at these bytes of a tensor.

        One thread at a time: the system lets no more write to a file, and has those who wait spin.
        """
        with self._writing:
            for _, number, place, view in self._parts(segments, starts, data.data):
                _put(number, place, view)

    def put(self, path: Path, start: int, data: bytes) -> None:
        """Write bytes at a place of a file."""
        _put(self.number(path), start, memoryview(data))

    def _parts(
        self, segments: Sequence[Segment], starts: Sequence[int], data: memoryview
    ) -> Iterator[tuple[Path, int, int, memoryview]]:
        """Where in which files runs of a tensor are, and where in memory."""
        length = len(data) // len(starts)
        runs = ((start, data[k * length : (k + 1) * length]) for k, start in enumerate(starts))
        if len(segments) == 1:
            path, place, _ = segments[0]
            number = self.number(path)
            for start, run in runs:
                yield path, number, place + start, run
            return
        for start, run in runs:
            for path, place, first, last in spans(segments, start, start + length):
                yield path, self.number(path), place, run[first:last]

    def make(self, path: Path, size: int) -> None:
        """A file of that size, for which there is room on the disk."""
        number = self.number(path)
        os.ftruncate(number, size)
        if size and hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(number, 0, size)
            except OSError as error:
                if error.errno not in UNSUPPORTED:
                    raise

    def begin_sync(self) -> None:
        """Let what was written go to the disk meanwhile, where the system can be told to."""
        start = _start_writing()
        if start is not None:
            for number in self._numbers():
                start(number, 0, 0, SYNC_FILE_RANGE_WRITE)

    def sync(self) -> None:
        """Wait until all that was written is on the disk."""
        for number in self._numbers():
            getattr(os, "fdatasync", os.fsync)(number)

    def _numbers(self) -> list[int]:
        with self._lock:
            return list(self._open.values())


def _put(number: int, start: int, view: memoryview) -> None:
    while view:
        count = os.pwrite(number, view[:AT_ONCE], start)
        start, view = start + count, view[count:]


@cache
def _start_writing() -> Callable[[int, int, int, int], int] | None:
    """Linux's ``sync_file_range``; of the whole file if the length is 0."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    found = getattr(ctypes.CDLL(None), "sync_file_range", None)
    if found is not None:
        found.argtypes = ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint
    return found


def spans(segments: Sequence[Segment], low: int, high: int) -> Iterator[tuple[Path, int, int, int]]:
    """Where the bytes ``low`` to ``high`` of a tensor are: file, place, and which of them."""
    start = 0
    for path, place, size in segments:
        first, last = max(low, start), min(high, start + size)
        if first < last:
            yield path, place + first - start, first - low, last - low
        start += size
