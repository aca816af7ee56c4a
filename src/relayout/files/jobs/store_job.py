"""A repack into a Zarr whose chunks are encoded, or whose store is no folder: every slab is made and stored whole.

The metadata of the arrays is written last: until then nobody takes the chunks for an array. What is done stands in a
journal in the store, which goes away in the end.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from ..._version import __version__
from ...elements.types import storage_dtype
from ...errors import BadFile, Cancelled, LayoutMismatch, shown
from .. import tuning
from ..contents import Source
from ..store_url import StoreUrl, patiently
from ..zarr_arrays import decoding_bytes, import_zarr
from .batches import Batch, cut_batches
from .memory_budget import MemoryBudget
from .number_set import NumberSet
from .slabs import SlabLoader
from .store_arrays import StoredArray, group_metadata
from .thread_pool import run_unordered

if TYPE_CHECKING:
    from distributed import Client

    from ...engine.ways import Progress

JOURNAL = "relayout.journal"
"""The key of the journal in the store."""


class StoreTask(NamedTuple):
    """What whoever makes slabs needs to know: it is sent once to each worker of a cluster."""

    run: str
    store: str
    arrays: tuple[StoredArray, ...]
    budget: MemoryBudget
    verify: bool
    version: str = __version__


class SlabMaker:
    """Makes slabs, and stores them; any thread may."""

    def __init__(self, task: StoreTask) -> None:
        self.task = task
        self._loader = SlabLoader(task.budget)
        self._store = open_store(task.store)
        self._arrays: dict[int, Any] = {}

    def run(self, array: int, number: int) -> int:
        """Make a slab, and store it; returns its bytes."""
        stored = self.task.arrays[array]
        data = self._loader.load(stored.change, stored.slabs, number)
        target, box = self._array(array), _box(stored, number)
        values = data.view(storage_dtype(stored.change.planned.element)).reshape(stored.slabs.shape)

        def put() -> None:
            target[box] = values

        patiently(put, self.task.store)
        _sync_slab(self.task.store, stored, target, number)
        if self.task.verify:
            found: Any = patiently(lambda: target[box], self.task.store)
            if found.tobytes() != values.tobytes():
                raise LayoutMismatch(
                    f"what was written of tensor {stored.name!r} is not what was read.",
                    hint="look at the store",
                )
        return int(data.size)

    def _array(self, array: int) -> Any:
        if array not in self._arrays:
            zarr = import_zarr()
            stored = self.task.arrays[array]
            place = zarr.storage.StorePath(self._store, stored.name)
            self._arrays[array] = zarr.Array(zarr.AsyncArray(stored.metadata, place))
        return self._arrays[array]


def _box(stored: StoredArray, number: int) -> tuple[slice, ...]:
    """Where in the array a slab is."""
    at = []
    for n, c in zip(reversed(stored.change.planned.shape), reversed(stored.slabs.shape)):
        number, k = divmod(number, max(n // c, 1))
        at.append(slice(k * c, (k + 1) * c))
    return tuple(at[::-1])


def _sync_slab(store: str, stored: StoredArray, array: Any, number: int) -> None:
    """Have a slab on the disk for good, where the store is a folder."""
    if "://" in store:
        return
    at = tuple([s.start // c for s, c in zip(_box(stored, number), stored.slabs.shape)])
    file = Path(store) / stored.name / array.metadata.encode_chunk_key(at)
    if file.is_file():  # a slab that holds nothing but the fill value is not stored
        with file.open("rb") as opened:
            os.fsync(opened.fileno())


# ---- the store -------------------------------------------------------------------------------------------


def open_store(store: str) -> Any:
    """The store of a path or URL, as zarr-python opens it."""
    zarr = import_zarr()
    if "://" not in store:
        return zarr.storage.LocalStore(store)
    try:
        return patiently(lambda: zarr.storage.FsspecStore.from_url(store), store)
    except (ImportError, ValueError) as error:
        raise BadFile(
            f"{store}: no package opens it: {shown(str(error))}.",
            hint="install s3fs, gcsfs, adlfs or the like",
            file=store,
        ) from None


def _put(store: Any, key: str, data: bytes) -> None:
    from zarr.core.buffer import default_buffer_prototype
    from zarr.core.sync import sync

    patiently(lambda: sync(store.set(key, default_buffer_prototype().buffer.from_bytes(data))), store)


def _get(store: Any, key: str) -> bytes | None:
    from zarr.core.buffer import default_buffer_prototype
    from zarr.core.sync import sync

    found: Any = patiently(lambda: sync(store.get(key, default_buffer_prototype())), store)
    return None if found is None else bytes(found.to_bytes())


class StoreJournal:
    """An object in a store: the head of a run, and which slabs are done; written anew for every batch."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.head: dict[str, str] = {}
        self.run = ""
        self.finished = NumberSet()
        data = _get(store, JOURNAL)
        self.exists = data is not None
        if data is not None:
            try:
                head, _, numbers = data.decode().partition("\n")
                self.head = json.loads(head)
                self.run = self.head.pop("run")
                self.finished = NumberSet.parse(numbers)
            except (ValueError, KeyError, TypeError, AttributeError):
                what = f"{store}: {JOURNAL} is no journal of this version."
                raise BadFile(what, hint="start again with force", file=str(store)) from None

    def begin(self, head: dict[str, str]) -> None:
        """Forget what is noted, and begin a run."""
        self.head, self.run, self.finished = head, uuid4().hex, NumberSet()
        self.write()

    def write(self) -> None:
        """Note what is done."""
        _put(self._store, JOURNAL, f"{json.dumps({'run': self.run, **self.head})}\n{self.finished}\n".encode())


_makers: dict[str, SlabMaker] = {}
"""The maker of the last task of a worker, by the word of its run."""


def run_slabs(task: StoreTask, slabs: Batch) -> int:
    """Make slabs on a worker; returns their bytes."""
    if task.version != __version__:
        raise BadFile(
            f"a worker has relayout {__version__}, and the client {task.version}.", hint="install one version"
        )
    if task.run not in _makers:
        _makers.clear()
        _makers[task.run] = SlabMaker(task)
    data = _get(_makers[task.run]._store, JOURNAL)
    if data is None or json.loads(data.split(b"\n")[0]).get("run") != task.run:
        raise Cancelled(f"{task.store} is not of this run any more.", hint="start the job again")
    return sum([_makers[task.run].run(slabs.tensor, k) for k in range(slabs.first, slabs.end)])


# ---- the job ---------------------------------------------------------------------------------------------


class StoreJob:
    """A repack into a store of which everything is decided; it runs once, or goes on where a run before it ended."""

    def __init__(
        self,
        source: Source,
        arrays: Sequence[StoredArray],
        target: Path,
        max_memory: int,
        jobs: int,
        client: Client | None = None,
    ) -> None:
        self.source, self.arrays, self.jobs, self.client = source, arrays, jobs, client
        self.target = _store_text(target)
        largest = max([array.slab_bytes for array in arrays], default=0)
        # What is encoded is in memory beside the slab that it is made of.
        reserved = decoding_bytes(source.values(), jobs) + jobs * largest
        self.budget = MemoryBudget.of(max_memory, jobs, reserved)
        self.total = sum([array.slab_bytes * array.number for array in arrays])

    def run(self, resume: bool, force: bool, verify: bool, progress: Progress | None) -> int:
        """Run to the end; returns the bytes that were there already."""
        store = open_store(self.target)
        journal = StoreJournal(store)
        head = self._head()
        self._check_free(store, journal, resume, force)
        if resume and journal.exists and not force:
            differing = [key for key, value in head.items() if journal.head.get(key) != value]
            if differing:
                raise BadFile(
                    f"the unfinished run of {self.target} differs in its {', its '.join(differing)}.",
                    hint="give what it was started with, or start again with force",
                    file=self.target,
                )
        else:
            journal.begin(head)
        task = StoreTask(journal.run, self.target, tuple(self.arrays), self.budget, verify)
        resumed = self._make(task, journal, progress)
        self._finish(store)
        return resumed

    def _check_free(self, store: Any, journal: StoreJournal, resume: bool, force: bool) -> None:
        """Refuse what is there, or take it away if that is asked for."""
        from zarr.core.sync import sync

        if force:
            patiently(lambda: sync(store.clear()) if "://" not in self.target else sync(store.delete_dir("")), store)
            return
        if journal.exists and not resume:
            what = f"{self.target} is there: a run to it did not finish."
            raise BadFile(what, hint="continue it with resume, or start again with force", file=self.target)
        if not journal.exists and (
            _get(store, "zarr.json") is not None or not patiently(lambda: sync(store.is_empty("")), store)
        ):
            raise BadFile(
                f"{self.target} exists.", hint="choose another name, or overwrite it with force", file=self.target
            )

    def _make(self, task: StoreTask, journal: StoreJournal, progress: Progress | None) -> int:
        done = sum([a.slab_bytes * k for a, k in zip(self.arrays, self._finished_slabs(journal.finished))])
        resumed, noted = done, done
        try:
            with closing(self._slabs(task, journal.finished)) as finished:
                for slabs, size in finished:
                    journal.finished.add(slabs.number, slabs.number + slabs.end - slabs.first)
                    done += size
                    if done - noted >= tuning.ACTIVE.journal_batch_bytes or self.client is not None:
                        journal.write()
                        noted = done
                    if progress is not None and progress(done, self.total) is False:
                        raise Cancelled(
                            f"the run was stopped after {done} of {self.total} bytes.",
                            hint="continue it with resume",
                            done=done,
                            total=self.total,
                        )
        finally:
            if done != noted:
                journal.write()
        return resumed

    def _finished_slabs(self, finished: NumberSet) -> list[int]:
        """How many slabs of each array are done."""
        found, first = [], 0
        for array in self.arrays:
            end = first + array.number
            found.append(sum([max(0, min(end, b) - max(first, a)) for a, b in finished]))
            first = end
        return found

    def _batches(self, finished: NumberSet, most: int) -> Iterator[Batch]:
        return cut_batches([(array.number, array.slab_bytes) for array in self.arrays], finished, most)

    def _slabs(self, task: StoreTask, finished: NumberSet) -> Generator[tuple[Batch, int]]:
        """Every slab that is not finished, when it is stored, with its bytes."""
        if self.client is not None:
            from .cluster import BATCH_BYTES, ClusterRun

            with ClusterRun(self.client, task) as run:
                most = min(BATCH_BYTES, self.total // (8 * run.threads))
                yield from run.results(run_slabs, self._batches(finished, most), "relayout_repack")
            return
        maker = SlabMaker(task)
        sizes: dict[Batch, int] = {}

        def make(slabs: Batch) -> None:
            sizes[slabs] = maker.run(slabs.tensor, slabs.first)

        with closing(run_unordered(self.jobs, make, self._batches(finished, 1))) as ranges:
            for slabs in ranges:
                yield slabs, sizes.pop(slabs)

    def _finish(self, store: Any) -> None:
        """Write the metadata, that of the whole last, and take the journal away."""
        from zarr.core.sync import sync

        for array in self.arrays:
            _put(store, f"{array.name}/zarr.json", json.dumps(array.metadata, indent=2).encode())
        groups = group_metadata(self.source, [array.name for array in self.arrays])[0]
        for name, told in sorted(groups.items(), reverse=True):
            _put(store, f"{name}/zarr.json".lstrip("/"), json.dumps(told, indent=2, default=str).encode())
        patiently(lambda: sync(store.delete(JOURNAL)), store)

    def _head(self) -> dict[str, str]:
        from .job import digest, source_identity

        plans = [(p, p.fill, p.dst_element) if p else None for p in [array.change.plan for array in self.arrays]]
        return {
            "version of relayout": __version__,
            "source": digest(source_identity(self.source)),
            "options": digest((plans, [a.slabs for a in self.arrays], [a.metadata for a in self.arrays])),
        }


def _store_text(target: Path) -> str:
    return str(target if isinstance(target, StoreUrl) else target.absolute())
