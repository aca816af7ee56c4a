"""The journal of a repack: what is on the disk for good, so that a run that was killed goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from uuid import uuid4

from ...errors import BadFile
from .. import tuning
from ..file_pool import FilePool
from .memory_budget import MemoryBudget
from .number_set import NumberSet

try:
    import fcntl
except ImportError:  # pragma: no cover - there is no such lock on Windows
    fcntl = None  # type: ignore[assignment]

VERSION = 4

_FIRST_BYTES = b'{"relayout": '

DONE = "done"
"""The last line: everything is written, and only names are left to be changed."""


MOST_BATCHES = 4
"""No more than so many batches are noted together."""


class Journal:
    """A text file: the head, a line of JSON, then a line of numbers for every batch of blocks that is on the disk.

    The head says what the run depends on, by name, the budget by which its tensors are cut, and a word of its own for
    every run that was begun, not continued. A file that does not begin as one is somebody else's, and refused. A line
    without its end was being written when the run was killed, and does not count. The file is locked while it is open.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.finished = NumberSet()
        self.run = ""
        self.complete = False
        self.budget = MemoryBudget(0, 0)
        self._lock()
        while not self._is_named():  # the run that had it is done, and has removed it meanwhile
            self.close()
            self._lock()
        self._check_own()

    def _check_own(self) -> None:
        with os.fdopen(os.dup(self._file), "rb") as file:
            first = file.read(len(_FIRST_BYTES))
        if not _FIRST_BYTES.startswith(first):
            self.close()
            raise BadFile(
                f"{self.path} is no journal of relayout.", hint="move it away, or choose another name", file=self.path
            )

    def _lock(self) -> None:
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise BadFile(
                f"{self.path} is used by another run.", hint="wait for it, or end it", file=self.path
            ) from None

    def _is_named(self) -> bool:
        try:
            return os.path.samestat(os.lstat(self.path), os.fstat(self._file))
        except FileNotFoundError:
            return False

    @property
    def empty(self) -> bool:
        """Whether nothing is noted: it is new, or its run was killed before anything was made."""
        return os.fstat(self._file).st_size == 0

    def begin(self, head: Mapping[str, str], budget: MemoryBudget) -> None:
        """Forget what is noted, and write the head of a run that starts."""
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        self.finished, self.complete, self.run = NumberSet(), False, uuid4().hex
        self._append(json.dumps({"relayout": VERSION, "run": self.run, "budget": budget, **head}))

    def resume(self, head: Mapping[str, str]) -> bool:
        """Read what was done, if there is a head; one that is not the same as ``head`` is refused."""
        os.lseek(self._file, 0, os.SEEK_SET)
        with os.fdopen(os.dup(self._file), "rb") as file:
            data = file.read()
        *lines, unfinished = data.split(b"\n")
        os.ftruncate(self._file, len(data) - len(unfinished))
        os.lseek(self._file, 0, os.SEEK_END)
        if not lines:
            return False
        try:
            old = json.loads(lines[0])
            source, target = map(int, old.pop("budget"))
            self.budget, self.run = MemoryBudget(source, target), str(old.pop("run"))
            differing = [key for key, value in {"relayout": VERSION, **head}.items() if old.pop(key) != value]
            differing += old
            for line in lines[1:]:
                self.complete = self.complete or line == DONE.encode()
                for start, end in NumberSet.parse("" if self.complete else line.decode()):
                    self.finished.add(start, end)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise BadFile(
                f"{self.path} is no journal of this version.", hint="start again with force", file=self.path
            ) from None
        if differing:
            raise BadFile(
                f"the unfinished run of {self.path} differs in its {', its '.join(differing)}.",
                hint="give what it was started with, or start again with force",
                file=self.path,
                differing=differing,
            )
        return True

    def add(self, done: NumberSet) -> None:
        """Note blocks whose bytes are on the disk."""
        self._append(str(done))
        for start, end in done:
            self.finished.add(start, end)

    def end(self) -> None:
        """Note that all of them are."""
        self._append(DONE)
        self.complete = True

    def _append(self, line: str) -> None:
        data = f"{line}\n".encode()
        while data:
            data = data[os.write(self._file, data) :]
        os.fsync(self._file)

    def remove(self) -> None:
        """Delete the file; the lock is held until it is closed."""
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Give up the lock."""
        os.close(self._file)


class JournalWriter:
    """A thread that syncs units that are written in batches and then notes them, while others are made.

    Nothing is noted before it is on the disk.
    """

    def __init__(self, targets: FilePool, journal: Journal) -> None:
        self.targets, self.journal = targets, journal
        self._written: SimpleQueue[tuple[int, int] | None] = SimpleQueue()
        self._error: OSError | None = None
        self._thread = Thread(target=self._write)
        self._thread.start()

    def add(self, number: int, size: int) -> None:
        """Take a unit of so many bytes that is written; an error of the thread is raised here."""
        if self._error is not None:
            raise self._error
        self._written.put((number, size))

    def close(self) -> None:
        """Wait until all units are noted."""
        self._written.put(None)
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _write(self) -> None:
        batch, size = NumberSet(), 0
        enough = tuning.ACTIVE.journal_batch_bytes
        try:
            for number, more in iter(self._written.get, None):
                batch.add(number, number + 1)
                size += more
                # What was written while others were waited for is waited for together.
                if size >= MOST_BATCHES * enough or (size >= enough and self._written.empty()):
                    self._commit(batch)
                    batch, size = NumberSet(), 0
            self._commit(batch)
        except OSError as error:
            self._error = error

    def _commit(self, batch: NumberSet) -> None:
        if batch:
            self.targets.sync()
            self.journal.add(batch)


def current_run(path: Path) -> str | None:
    """The word of the run that a journal is of, for others than the one who writes it; None if there is none."""
    try:
        with path.open("rb") as file:
            found = json.loads(file.readline())
    except (OSError, ValueError):
        return None
    return found.get("run") if isinstance(found, dict) else None
