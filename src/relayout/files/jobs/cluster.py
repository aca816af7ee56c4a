"""A repack job on a Dask cluster: batches of its units are tasks, and the client alone writes the journal.

Every worker reads the source and writes the unfinished files in place, so all of them see one file system. A batch
writes the same bytes whoever makes it, and however often: a worker that dies costs time and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from logging import ERROR
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from uuid import uuid4

from ..._version import __version__
from ...errors import Cancelled, ClusterError, ShapeError, shown
from ...missing import missing_package
from .. import tuning
from ..contents import Segment
from ..file_pool import FilePool
from .batches import Batch, cut_batches
from .changes import TensorChange
from .compare_tensors import TensorDifference, TensorPair, compare_tensors
from .journal import current_run
from .memory_budget import MemoryBudget, ThreadBuffers
from .number_set import NumberSet
from .record_changes import record_difference
from .work_units import TensorUnits, Worker

if TYPE_CHECKING:
    from distributed import Client, Future

T = TypeVar("T")

BATCH_BYTES = 64 << 20
"""About so many bytes are a task: it is sent, synced and noted once."""

BATCHES_PER_THREAD = 2
"""So many tasks for every thread of the cluster are known to its scheduler at a time."""

SECONDS_FOR_WORKERS = 60
"""How long a cluster without a worker is waited for."""


class ClusterJob(NamedTuple):
    """What a worker needs to know of a job; it is sent once to each."""

    run: str
    journal: Path
    sources: tuple[tuple[Path, int], ...]
    changes: tuple[TensorChange, ...]
    segments: tuple[tuple[Segment, ...], ...]
    budget: MemoryBudget
    tuning: tuning.FileTuning
    version: str = __version__


def batches_of(units: Sequence[TensorUnits], finished: NumberSet, most: int) -> Iterator[Batch]:
    """The units that are not finished, in batches of about so many bytes."""
    return cut_batches(((len(own), _unit_bytes(own)) for own in units), finished, most)


def _unit_bytes(units: TensorUnits) -> int:
    """The bytes of the first unit that has something to do."""
    return next((unit.size for unit in (units[k] for k in range(min(len(units), 8))) if unit is not None), 1)


# ---- on a worker -----------------------------------------------------------------------------------------


class _WorkerState:
    """The open files and buffers of one job in the process of a worker."""

    def __init__(self, job: ClusterJob) -> None:
        if (job.version, job.tuning) != (__version__, tuning.ACTIVE):
            raise ClusterError(
                f"a worker has relayout {__version__}, and the client {job.version}, or other sizes of parts.",
                hint="install one version everywhere",
            )
        for path, size in job.sources:
            found = path.stat().st_size if path.is_file() else None
            if found != size:
                raise ClusterError(
                    f"a worker finds {'no file' if found is None else f'{found} bytes'} at {path}.",
                    hint="the client and all workers need one shared file system",
                )
        flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
        self.worker = Worker(FilePool(), FilePool(flags), ThreadBuffers())
        self._units: dict[int, TensorUnits] = {}
        self._job = job

    def units(self, tensor: int) -> TensorUnits:
        """The units of a tensor."""
        if tensor not in self._units:
            job = self._job
            self._units = {tensor: TensorUnits(job.changes[tensor], job.segments[tensor], job.budget)}
        return self._units[tensor]


_states: dict[str, _WorkerState] = {}
"""The state of the last job of this process, by the word of its run."""


def _state(job: ClusterJob) -> _WorkerState:
    if current_run(job.journal) != job.run:
        raise Cancelled(
            f"{job.journal} is not of this run: it was ended, or the worker sees another file system.",
            hint="start the job again; the client and all workers need one shared file system",
        )
    found = _states.get(job.run)
    if found is None:
        _states.clear()
        found = _states[job.run] = _WorkerState(job)
    return found


def run_batch(job: ClusterJob, batch: Batch) -> int:
    """Make the units of a batch, and have them on the disk; returns their bytes."""
    state = _state(job)
    units = state.units(batch.tensor)
    done = 0
    for k in range(batch.first, batch.end):
        unit = units[k]
        if unit is not None:
            state.worker.run(unit)
            done += unit.size
    state.worker.targets.sync()
    return done


def compare_written(job: ClusterJob, tensor: int) -> TensorDifference | None:
    """Where a tensor that was written is not what was read."""
    files = _state(job).worker.sources
    change, segments = job.changes[tensor], job.segments[tensor]
    if change.records is not None:
        return record_difference(files, change, segments)
    return compare_tensors(files, [TensorPair.of_change(change, segments)], job.budget, 1)


def _forget(run: str) -> None:
    _states.pop(run, None)


# ---- on the client ---------------------------------------------------------------------------------------


class ClusterRun:
    """A job that was begun on a cluster; ``job`` is what its tasks are told, and has the word of its run."""

    def __init__(self, client: Client, job: Any) -> None:
        self.client, self.job = client, job
        self._attempt = uuid4().hex[:12]
        # Not scattered: what is scattered is lost with the workers that hold it.
        self._told = client.submit(_same, job, key=f"relayout_job-{self._attempt}")

    def __enter__(self) -> ClusterRun:
        return self

    def __exit__(self, *_: object) -> None:
        self._told.release()
        self.client.run(_forget, self.job.run, on_error="ignore")

    @property
    def threads(self) -> int:
        """The threads of all workers."""
        threads: list[int] = list(self.client.nthreads().values())
        return max(1, sum(threads))

    def batches(self, units: Sequence[TensorUnits], finished: NumberSet, total: int) -> Generator[tuple[Batch, int]]:
        """Every batch that is not finished, when it is on the disk, with its bytes."""
        each = min(BATCH_BYTES, max(total // (8 * self.threads), tuning.ACTIVE.part_bytes))
        return self.results(run_batch, batches_of(units, finished, each), "relayout_repack")

    def differences(self) -> Iterator[TensorDifference]:
        """The differences between what was read and written, if there are any."""
        for _, found in self.results(compare_written, iter(range(len(self.job.changes))), "relayout_verify"):
            if found is not None:
                yield found

    def results(self, task: Callable[[Any, Any], Any], items: Iterator[Any], name: str) -> Generator[tuple[Any, Any]]:
        """Each item with the result of its task, in whatever order; the scheduler knows a few at a time."""
        from distributed import as_completed
        from distributed.scheduler import KilledWorker

        known: dict[Future, Any] = {}

        def submit(item: Any, number: int) -> Future:
            future = self.client.submit(task, self._told, item, key=f"{name}-{self._attempt}-{number}", pure=False)
            known[future] = item
            return future

        numbered = enumerate(items)
        window = BATCHES_PER_THREAD * self.threads
        running = as_completed([submit(item, k) for k, item in islice(numbered, window)])
        try:
            for future in running:
                yield known.pop(future), future.result()
                more = max(0, BATCHES_PER_THREAD * self.threads - len(known))
                for k, item in islice(numbered, more):
                    running.add(submit(item, k))
        except KilledWorker as error:
            raise ClusterError(
                f"several workers died one after another: {error}.",
                hint="give each more memory than max_memory and 200 MiB, look at their logs, and go on with resume",
            ) from None
        finally:
            self.client.cancel(list(known))


def _same(job: T) -> T:
    return job


@contextmanager
def client_of(cluster: Any) -> Iterator[Client]:
    """A client of a Dask cluster: the one given, that of an address, or of ``local:N`` processes started for this."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise missing_package("distributed") from None
    if isinstance(cluster, Client):
        if cluster.asynchronous:
            raise ClusterError("the client is asynchronous.", hint="make it with Client(..., asynchronous=False)")
        yield _with_workers(cluster)
        return
    if not isinstance(cluster, str):
        raise ClusterError(
            f"{shown(cluster)} is no cluster.", hint="give a distributed.Client, an address, or 'local:4'"
        )
    kind, _, number = cluster.partition(":")
    if kind == "local":
        if number and not (number.isdecimal() and 0 < int(number) <= 256):
            raise ShapeError(f"local:{number} names no number of processes.", hint="local:4 starts four", got=cluster)
        workers = int(number or os.cpu_count() or 1)
        with (
            LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=":0", memory_limit=0, silence_logs=ERROR
            ) as started,
            Client(started) as client,
        ):
            yield _with_workers(client)
        return
    try:
        client = Client(cluster, timeout=SECONDS_FOR_WORKERS)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"there is no scheduler at {cluster}: {error}.", hint="give its address, such as tcp://host:8786"
        ) from None
    with client:
        yield _with_workers(client)


def _with_workers(client: Client) -> Client:
    from distributed import TimeoutError

    try:
        client.wait_for_workers(1, timeout=SECONDS_FOR_WORKERS)
    except TimeoutError:
        raise ClusterError("the cluster has no worker.", hint="start workers: dask worker ADDRESS") from None
    return client


def threads_per_worker(client: Client) -> int:
    """The threads of the worker that has most of them."""
    threads: list[int] = list(client.nthreads().values())
    return max([1, *threads])
