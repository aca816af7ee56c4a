"""What is written to files goes to the disk while more is written, so that a sync finds few bytes left."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from queue import SimpleQueue
from threading import Thread

from .descriptor import Descriptor

SYNC_FILE_RANGE_WRITE = 2
"""Begins to write, and does not wait."""


class WriteBack:
    """A thread that has the system begin to write files; there is none until a file is told, nor where it cannot be."""

    def __init__(self) -> None:
        self._files: SimpleQueue[Descriptor | None] = SimpleQueue()
        self._thread: Thread | None = None

    def begin(self, file: Descriptor) -> None:
        """Have all that was written to the file go to the disk, without waiting for it."""
        start = _sync_file_range()
        if start is None:
            return
        if self._thread is None:
            self._thread = Thread(target=self._run, args=(start,), daemon=True)
            self._thread.start()
        self._files.put(file)

    def close(self) -> None:
        """End the thread; what it has begun goes on."""
        if self._thread is not None:
            self._files.put(None)
            self._thread.join()
            self._thread = None

    def _run(self, start: Callable[[int, int, int, int], int]) -> None:
        for file in iter(self._files.get, None):
            start(file.number, 0, 0, SYNC_FILE_RANGE_WRITE)


@cache
def _sync_file_range() -> Callable[[int, int, int, int], int] | None:
    """Linux's ``sync_file_range``; of the whole file if the length is 0."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    function = getattr(ctypes.CDLL(None), "sync_file_range", None)
    if function is not None:
        function.argtypes = ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint
    return function
