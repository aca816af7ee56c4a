"""Bytes of tensors in files: ranges read and written in place, without mapping the file into memory."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from ..errors import BadFile
from .entry import Segment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


UNSUPPORTED = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)
"""What file systems answer that cannot set room aside."""

AT_ONCE = 1 << 20
"""Longer writes wait longer for what the disk is busy with."""


class Files:
    """Open files by their path, for many threads; closed together."""

    def __init__(self, flags: int = os.O_RDONLY) -> None:
        self._flags = flags | os.O_CLOEXEC
        self._open: dict[Path, int] = {}
        self._lock = Lock()

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

    def read(self, segments: Sequence[Segment], low: int, out: NDArray[np.uint8]) -> None:
        """Fill ``out`` with the bytes of a tensor from ``low`` on."""
        for path, start, first, last in spans(segments, low, low + out.size):
            view, number = out[first:last].data, self.number(path)
            while view:
                count = os.preadv(number, [view], start)
                if not count:
                    raise BadFile(
                        f"{path} ends at byte {start}, and was longer when it was opened.",
                        hint="do not change a file while it is read",
                        file=path,
                    )
                start, view = start + count, view[count:]

    def write(self, segments: Sequence[Segment], low: int, data: NDArray[np.uint8]) -> None:
        """Put ``data`` at the bytes of a tensor from ``low`` on."""
        for path, start, first, last in spans(segments, low, low + data.size):
            self.put(path, start, data[first:last].data)

    def put(self, path: Path, start: int, data: Any) -> None:
        """Write bytes at a place of a file."""
        view, number = memoryview(data), self.number(path)
        while view:
            count = os.pwrite(number, view[:AT_ONCE], start)
            start, view = start + count, view[count:]

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

    def sync(self) -> None:
        """Wait until all that was written is on the disk."""
        with self._lock:
            numbers = list(self._open.values())
        for number in numbers:
            getattr(os, "fdatasync", os.fsync)(number)


def spans(segments: Sequence[Segment], low: int, high: int) -> Iterator[tuple[Path, int, int, int]]:
    """Where the bytes ``low`` to ``high`` of a tensor are: file, place, and which of them."""
    start = 0
    for path, place, size in segments:
        first, last = max(low, start), min(high, start + size)
        if first < last:
            yield path, place + first - start, first - low, last - low
        start += size
