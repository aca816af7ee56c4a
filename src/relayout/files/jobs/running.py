"""A run of a repack between files: its units on many threads, the journal, and what is left when it fails."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from queue import SimpleQueue
from threading import Thread
from typing import Any

from ..._version import __version__
from ...engine.plan import Progress
from ...errors import BadFile, Cancelled, LayoutError, LayoutMismatch, NotExpressible
from .. import tuning
from ..entry import Destination, Source
from ..regions import Files
from ..sizes import as_words
from .changes import Change
from .crew import done_by
from .journal import Journal
from .room import Buffers, Room
from .sealing import seal
from .staging import Staging
from .verify import Verification
from .verifying import verify_change
from .work import Unit, Worker, units


class Run:
    """One run of a repack that is decided."""

    def __init__(self, source: Source, changes: list[Change], staging: Staging, room: Room, jobs: int) -> None:
        self.source, self.changes, self.staging, self.room, self.jobs = source, changes, staging, room, jobs
        self.files = sorted({*source.files, *([source.path] if source.path.is_file() else [])})
        self.total = sum([s.size for segments in staging.final.entries.values() for s in segments])
        self.spoiled = False

    def go(self, resume: bool, force: bool, verify: bool, progress: Progress | None) -> int:
        """Run to the end; returns the bytes that were there already."""
        staging, head = self.staging, self._head()
        try:
            self._check_apart()
            if resume and not force and self._is_done():
                return self.total
            journal = Journal(staging.journal)
        except OSError as error:
            raise _told(error, f"{staging.path} was not begun.") from None
        try:
            self._check_free(journal, resume, force)
            known = resume and journal.resume(head)
            if known and not journal.complete:
                self._check_unfinished(journal, force)
            return self._run(journal, None if known else head, verify, progress)
        finally:
            journal.close()

    def _check_free(self, journal: Journal, resume: bool, force: bool) -> None:
        """Refuse to write over files that are there, and over those of a run that did not finish."""
        staging = self.staging
        if force or (resume and not journal.empty):
            return
        try:
            staging.refuse_existing()
            if not journal.empty or staging.begun:
                raise BadFile(
                    f"{staging.part} is there: a run to {staging.path} did not finish.",
                    hint="it has no journal: start again with force"
                    if journal.empty
                    else "continue it with resume, or start again with force",
                    file=staging.part,
                )
        except BadFile:
            if journal.empty:
                journal.remove()
            raise

    def _check_apart(self) -> None:
        """Refuse a destination that is the source, has it in its folder, is in its folder, or is a foreign folder.

        So are those that are in no folder at all, and those whose unfinished files would be the source.
        """
        paths = [self.source.path, *self.files]
        own = {(x.st_dev, x.st_ino) for x in [path.stat() for path in paths]}
        staging = self.staging
        if not staging.path.parent.is_dir():
            what = f"{staging.path}: there is no folder {staging.path.parent}."
            raise BadFile(what, hint="make the folder, or choose another", file=staging.path)
        for file in (staging.path, *staging.final.files, staging.part, *staging.destination.files, staging.journal):
            if file.exists() and (file.stat().st_dev, file.stat().st_ino) in own:
                raise BadFile(f"{file} is the source.", hint="write to another file, then rename it", file=file)
        path, source = self.staging.path, self.source.path
        folders = [folder.resolve() for folder in {path.parent for path in paths}]
        around = any(path.resolve() in (folder, *folder.parents) for folder in folders)
        if around or (source.is_dir() and source.resolve() in path.resolve().parents):
            raise BadFile(f"{path} and the source are one in the other.", hint="write to another folder", file=path)
        if path.is_dir() and not (self.staging.is_folder and (path / "zarr.json").is_file()):
            raise BadFile(f"{path} is a folder, and no Zarr.", hint="choose another name", file=path)

    def _is_done(self) -> bool:
        """Whether the files are there, as a run that finished leaves them, and hold what is asked for."""
        if self.staging.journal.exists() or self.staging.begun or not self.staging.stands:
            return False
        with Files() as files:
            return self._difference(files, self.staging.final) is None

    def _check_unfinished(self, journal: Journal, force: bool) -> None:
        if not force:
            self.staging.refuse_existing()
        if journal.finished and not self.staging.whole:
            raise BadFile(
                f"{self.staging.part} is not as the run that did not finish left it.",
                hint="start again with force",
                file=self.staging.part,
            )

    def _run(self, journal: Journal, head: dict[str, str] | None, verify: bool, progress: Progress | None) -> int:
        """Everything that writes; a new run has a head."""
        done = self.total
        try:
            if head is not None:
                self.staging.discard()
                journal.begin(head)
            if not journal.complete:
                done = self._write(journal, verify, progress)
                journal.end()
            self.staging.finish()
            journal.remove()
            return done
        except (OSError, LayoutError) as error:
            self.spoiled = self.spoiled or isinstance(error, NotExpressible | LayoutMismatch)
            room = sum([size for size, _ in self.staging.final.files.values()])
            raise _told(error, self._left(journal, head is not None), f" for {as_words(room)} in all") from None
        except BaseException:
            self._left(journal, head is not None)
            raise

    def _left(self, journal: Journal, new: bool) -> str:
        """Remove what is of no use after a failure; says what is left."""
        if self.spoiled or (new and not journal.finished and not journal.complete):
            self.staging.discard()
            journal.remove()
            return f"Nothing is left of {self.staging.path}."
        if journal.complete and not self.staging.begun:
            return f"{self.staging.path} is whole, and {self.staging.replaced} what was there before."
        return f"{self.staging.part} is unfinished, and can be continued with resume."

    def _write(self, journal: Journal, verify: bool, progress: Progress | None) -> int:
        """All units that are not finished; returns the bytes of those that are."""
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        identity = self._identity()
        with Files() as sources, Files(flags) as targets:
            self.staging.make(targets)
            worker = Worker(sources, targets, Buffers())
            resumed = self._units_done(worker, journal, progress)
            seal(self.staging.destination)
            targets.sync()
            found = self._difference(sources, self.staging.destination) if verify else None
            if found is not None:
                raise LayoutMismatch(f"what was written is not what was read: {found}.", hint="look at the disk")
        if self._identity() != identity:
            self.spoiled = True
            raise BadFile(
                f"{self.source.path} was changed while it was read.", hint="start again", file=self.source.path
            )
        return resumed

    def _units_done(self, worker: Worker, journal: Journal, progress: Progress | None) -> int:
        noted = Noted(worker.targets, journal)
        written = resumed = 0

        def todo() -> Iterator[tuple[int, Unit]]:
            nonlocal resumed
            for number, unit in enumerate(self._units()):
                if number in journal.finished:
                    resumed += unit.size
                else:
                    yield number, unit

        try:
            with closing(done_by(self.jobs, lambda item: worker.do(item[1]), todo())) as finished:
                for number, unit in finished:
                    noted.add(number, unit.size)
                    written += unit.size
                    self._tell(progress, resumed + written)
        finally:
            noted.end()
        return resumed

    def _tell(self, progress: Progress | None, done: int) -> None:
        if progress is not None and progress(done, self.total) is False:
            raise Cancelled(
                f"the run was stopped after {done} of {self.total} bytes.",
                hint="continue it with resume",
                done=done,
                total=self.total,
            )

    def _units(self) -> Iterator[Unit]:
        for change in self.changes:
            yield from units(change, self.staging.destination.entries[change.entry.name], self.room)

    def _difference(self, files: Files, made: Destination) -> Verification | None:
        """The first between the source and what was made of it."""
        found = (verify_change(files, change, made.entries[change.entry.name], self.room) for change in self.changes)
        return next((difference for difference in found if difference is not None), None)

    # ---- what the run depends on -------------------------------------------------------------------------

    def _head(self) -> dict[str, str]:
        """What a run that is resumed must have in common with the one before."""
        plans = [(c.plan, c.plan.fill, c.plan.dst_element) if c.plan else None for c in self.changes]
        return {
            "version of relayout": __version__,
            "source": _hash(self._identity()),
            "options": _hash((plans, self.staging.final)),
            "memory or number of jobs": _hash((self.room, self.jobs, tuning.ACTIVE)),
        }

    def _identity(self) -> Any:
        """What changes when the source does."""
        try:
            found = [(file, file.stat()) for file in self.files]
        except OSError as error:
            raise _told(error, "") from None
        stats = [(str(file), s.st_size, s.st_mtime_ns, s.st_ino) for file, s in found]
        return stats, [entry._replace(inline=None) for entry in self.source.values()], self.source.metadata


class Noted:
    """Units that are written, forced to the disk in batches before the journal notes them, while others are made."""

    def __init__(self, targets: Files, journal: Journal) -> None:
        self.targets, self.journal = targets, journal
        self._written: SimpleQueue[tuple[int, int] | None] = SimpleQueue()
        self._error: OSError | None = None
        self._thread = Thread(target=self._note)
        self._thread.start()

    def add(self, number: int, size: int) -> None:
        """A unit of so many bytes is written."""
        if self._error is not None:
            raise self._error
        self._written.put((number, size))

    def end(self) -> None:
        """Wait until all are noted."""
        self._written.put(None)
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _note(self) -> None:
        numbers: list[int] = []
        size = begun = 0
        try:
            for number, more in iter(self._written.get, None):
                numbers.append(number)
                size += more
                if size - begun >= tuning.ACTIVE.writeback_bytes:
                    self.targets.begin_sync()
                    begun = size
                if size >= tuning.ACTIVE.journal_batch_bytes:
                    self._force(numbers)
                    numbers, size, begun = [], 0, 0
            self._force(numbers)
        except OSError as error:
            self._error = error

    def _force(self, numbers: list[int]) -> None:
        if numbers:
            self.targets.sync()
            self.journal.add(numbers)


def _hash(x: Any) -> str:
    return sha256(repr(x).encode("utf-8", "surrogatepass")).hexdigest()


def _told(error: OSError | LayoutError, left: str, room: str = "") -> LayoutError:
    """The error with a word on what is left of the destination, and on the room that it needs."""
    if isinstance(error, LayoutError):
        return type(error)(f"{error.message} {left}".strip(), hint=error.hint, **error.operands)
    name = f"{error.filename}: " if error.filename else ""
    return BadFile(
        f"{name}{error.strerror or error}. {left}".strip(),
        hint=f"make room{room}, or choose another place"
        if error.errno in _FULL
        else "look at the permissions and the disk",
        file=error.filename,
    )


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
