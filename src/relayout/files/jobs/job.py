"""A repack between files as a job: its units on many threads, the journal, and what is left when it fails."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ..._version import __version__
from ...engine.ways import Progress
from ...errors import BadFile, Cancelled, LayoutError, LayoutMismatch, NotExpressible
from .. import tuning
from ..checksums import write_checksums
from ..contents import Destination, Source
from ..file_pool import FilePool
from ..registry import is_container_folder
from ..sizes import format_size
from ..zarr_arrays import decoding_bytes
from .changes import TensorChange
from .compare_tensors import TensorDifference, TensorPair, compare_tensors
from .journal import Journal, JournalWriter
from .memory_budget import MemoryBudget, ThreadBuffers
from .number_set import NumberSet
from .record_changes import record_difference
from .staging import StagedFiles
from .thread_pool import run_unordered
from .work_units import TensorUnits, Worker, WorkUnit

if TYPE_CHECKING:
    from pathlib import Path

    from distributed import Client


class RepackJob:
    """A repack of which everything is decided; it runs once, or goes on where a run before it ended."""

    def __init__(
        self,
        source: Source,
        changes: list[TensorChange],
        staging: StagedFiles,
        max_memory: int,
        jobs: int,
        client: Client | None = None,
    ) -> None:
        self.source, self.changes, self.staging = source, changes, staging
        self.max_memory, self.jobs, self.client = max_memory, jobs, client
        self.budget = MemoryBudget.of(max_memory, jobs, decoding_bytes(source.values(), jobs))
        self.files = sorted({*source.files, *([source.path] if source.path.is_file() else [])})
        self.total = sum([s.size for segments in staging.final.entries.values() for s in segments])
        self.unusable = False

    def run(self, resume: bool, force: bool, verify: bool, progress: Progress | None) -> int:
        """Run to the end; returns the bytes that were there already."""
        staging, head = self.staging, self._head()
        try:
            self._check_separate()
            if resume and not force and self._is_finished():
                return self.total
            journal = Journal(staging.journal)
        except OSError as error:
            raise _failure(error, f"{staging.path} was not begun.") from None
        try:
            self._check_free(journal, resume, force)
            known = resume and journal.resume(head)
            if known:
                self._keep_parts(journal)
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
            if not journal.empty or staging.parts_exist:
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

    def _check_separate(self) -> None:
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
        if path.is_dir() and not (self.staging.is_folder and (is_container_folder(path) or self.staging.owns_folder)):
            raise BadFile(f"{path} is a folder, and no Zarr.", hint="choose another name", file=path)

    def _is_finished(self) -> bool:
        """Whether the files are there, as a run that finished leaves them, and hold what is asked for."""
        if self.staging.journal.exists() or self.staging.parts_exist or not self.staging.is_finished:
            return False
        with FilePool() as files:
            return self._difference(files, self.staging.final) is None

    def _keep_parts(self, journal: Journal) -> None:
        """Cut the tensors as the run before did, on as many threads as there is memory for."""
        self.budget = journal.budget
        self.jobs = min(self.jobs, self.budget.threads_within(self.max_memory))

    def _check_unfinished(self, journal: Journal, force: bool) -> None:
        """Refuse files of the run before that somebody else removed, cut or replaced since."""
        if not journal.complete and not force:
            self.staging.refuse_existing()
        whole = self.staging.written_files is not None if journal.complete else self.staging.parts_are_whole
        if (journal.finished or journal.complete) and not whole:
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
                journal.begin(head, self.budget)
            if not journal.complete:
                done = self._write(journal, verify, progress)
                journal.end()
            else:
                self._check_written(verify)
            self.staging.finish()
            journal.remove()
            return done
        except (OSError, LayoutError) as error:
            self.unusable = self.unusable or isinstance(error, NotExpressible | LayoutMismatch)
            needed = sum([size for size, _ in self.staging.final.files.values()])
            left = self._clean_up(journal, head is not None)
            raise _failure(error, left, f" for {format_size(needed)} in all") from None
        except BaseException:
            self._clean_up(journal, head is not None)
            raise

    def _clean_up(self, journal: Journal, new: bool) -> str:
        """Remove what is of no use after a failure; says what is left."""
        if self.unusable or (new and not journal.finished and not journal.complete):
            self.staging.discard()
            journal.remove()
            return f"Nothing is left of {self.staging.path}."
        if journal.complete and not self.staging.parts_exist:
            return f"{self.staging.path} is whole, and {self.staging.backup} what was there before."
        return f"{self.staging.part} is unfinished, and can be continued with resume."

    def _write(self, journal: Journal, verify: bool, progress: Progress | None) -> int:
        """All units that are not finished; returns the bytes of those that are."""
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        identity = self._identity()
        with FilePool() as sources, FilePool(flags) as targets:
            self.staging.create(targets)
            if self.client is not None:
                targets.sync()
                resumed = self._run_on_cluster(self.client, journal, verify, progress)
                write_checksums(self.staging.destination)
            else:
                worker = Worker(sources, targets, ThreadBuffers())
                resumed = self._run_units(worker, journal, progress)
                write_checksums(self.staging.destination)
                targets.sync()
                if verify:
                    self._compare(sources, self.staging.destination)
        if self._identity() != identity:
            self.unusable = True
            raise BadFile(
                f"{self.source.path} was changed while it was read.", hint="start again", file=self.source.path
            )
        return resumed

    def _check_written(self, verify: bool) -> None:
        """Compare what a run before this one wrote, if that is asked for.

        So is what has its final name already: it may be what was there before that run.
        """
        written = self.staging.written_files
        if written is not None and (verify or written.files.keys() != self.staging.destination.files.keys()):
            with FilePool() as files:
                self._compare(files, written)

    def _compare(self, files: FilePool, made: Destination) -> None:
        found = self._difference(files, made)
        if found is not None:
            raise _mismatch(found)

    def _run_units(self, worker: Worker, journal: Journal, progress: Progress | None) -> int:
        writer = JournalWriter(worker.targets, journal)
        written = resumed = 0

        def unfinished_units() -> Iterator[tuple[int, WorkUnit]]:
            nonlocal resumed
            for number, unit in self._units():
                if number in journal.finished:
                    resumed += unit.size
                else:
                    yield number, unit

        try:
            with closing(run_unordered(self.jobs, lambda item: worker.run(item[1]), unfinished_units())) as finished:
                for number, unit in finished:
                    writer.add(number, unit.size)
                    written += unit.size
                    self._report(progress, resumed + written)
        finally:
            writer.close()
        return resumed

    def _run_on_cluster(self, client: Client, journal: Journal, verify: bool, progress: Progress | None) -> int:
        from .cluster import ClusterJob, ClusterRun

        segments = tuple([self.staging.destination.entries[change.planned.name] for change in self.changes])
        sources = tuple([(file, file.stat().st_size) for file in self.files])
        told = ClusterJob(journal.run, journal.path, sources, tuple(self.changes), segments, self.budget, tuning.ACTIVE)
        units = [TensorUnits(change, own, self.budget) for change, own in zip(self.changes, segments)]
        # What was there is known by the number of units, and by their bytes when all others are written.
        resumed = self.total * journal.finished.count // max(1, sum([len(own) for own in units]))
        written = 0
        with ClusterRun(client, told) as run:
            with closing(run.batches(units, journal.finished, self.total)) as finished:
                for batch, size in finished:
                    done = NumberSet()
                    done.add(batch.number, batch.number + batch.end - batch.first)
                    journal.add(done)
                    written += size
                    self._report(progress, min(resumed + written, self.total))
            if verify:
                for found in run.differences():
                    raise _mismatch(found)
        return self.total - written if resumed else 0

    def _report(self, progress: Progress | None, done: int) -> None:
        if progress is not None and progress(done, self.total) is False:
            raise Cancelled(
                f"the run was stopped after {done} of {self.total} bytes.",
                hint="continue it with resume",
                done=done,
                total=self.total,
            )

    def _units(self) -> Iterator[tuple[int, WorkUnit]]:
        first = 0
        for change in self.changes:
            units = TensorUnits(change, self.staging.destination.entries[change.planned.name], self.budget)
            for k in range(len(units)):
                unit = units[k]
                if unit is not None:
                    yield first + k, unit
            first += len(units)

    def _difference(self, files: FilePool, made: Destination) -> TensorDifference | None:
        """The first difference between the source and what was made of it."""
        for change in self.changes:
            found = record_difference(files, change, made.entries[change.planned.name])
            if found is not None:
                return found
        others = [change for change in self.changes if change.records is None]
        pairs = (TensorPair.of_change(change, made.entries[change.planned.name]) for change in others)
        return compare_tensors(files, pairs, self.budget, self.jobs)

    # ---- what the run depends on -------------------------------------------------------------------------

    def _head(self) -> dict[str, str]:
        """What a run that is resumed must have in common with the one before."""
        plans = [(c.plan, c.plan.fill, c.plan.dst_element) if c.plan else c.records for c in self.changes]
        return {
            "version of relayout": __version__,
            "source": digest(self._identity()),
            "options": digest((plans, self.staging.final)),
            "tuning": digest(tuning.ACTIVE),
        }

    def _identity(self) -> Any:
        """What changes when the source does; whoever restores its time of modification changes its ctime."""
        try:
            return source_identity(self.source, self.files)
        except OSError as error:
            raise _failure(error, "") from None


def _mismatch(found: TensorDifference) -> LayoutMismatch:
    return LayoutMismatch(f"what was written is not what was read: {found}.", hint="look at the disk")


def source_identity(source: Source, files: Sequence[Path] | None = None) -> Any:
    """What changes when a source does: what is known of its files, and all that their headers say."""
    found = [(file, file.stat()) for file in (source.files if files is None else files)]
    stats = [(str(file), s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino) for file, s in found]
    return stats, [entry._replace(inline=None) for entry in source.values()], source.metadata


def digest(x: Any) -> str:
    """A word for a value, by its ``repr``."""
    return sha256(repr(x).encode("utf-8", "surrogatepass")).hexdigest()


def _failure(error: OSError | LayoutError, left: str, needed: str = "") -> LayoutError:
    """The error with a word on what is left of the destination, and on the room that it needs."""
    if isinstance(error, LayoutError):
        return type(error)(f"{error.message} {left}".strip(), hint=error.hint, **error.operands)
    name = f"{error.filename}: " if error.filename else ""
    return BadFile(
        f"{name}{error.strerror or error}. {left}".strip(),
        hint=f"make room{needed}, or choose another place"
        if error.errno in _FULL
        else "look at the permissions and the disk",
        file=error.filename,
    )


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
