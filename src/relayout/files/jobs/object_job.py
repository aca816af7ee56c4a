"""A repack into files at a URL: each object is written from its first byte to its last, and there when it is whole."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from ..._version import __version__
from ...errors import BadFile, Cancelled, LayoutMismatch, NotExpressible
from ..contents import Destination, Source
from ..file_pool import FilePool
from ..store_url import StoreUrl
from ..zarr_arrays import decoding_bytes
from .changes import TensorChange
from .compare_tensors import TensorPair, compare_tensors
from .job import digest, source_identity
from .memory_budget import MemoryBudget
from .slabs import SlabLoader, Slabs, choose_slabs
from .staging import with_suffix_added
from .thread_pool import run_unordered

if TYPE_CHECKING:
    from pathlib import Path

    from distributed import Client

    from ...engine.ways import Progress

SLAB_BYTES = 8 << 20
"""A tensor is made and sent in runs of at most so many bytes."""

BLOCK_BYTES = 16 << 20
"""An object is uploaded in blocks of so many bytes, which are in memory until they are sent."""


class WrittenObject(NamedTuple):
    """An object: its size, its bytes that are no tensor's, and where tensors begin, with how each is cut."""

    url: StoreUrl
    size: int
    pieces: dict[int, bytes]
    tensors: dict[int, tuple[TensorChange, Slabs]]


class ObjectTask(NamedTuple):
    """What whoever writes objects needs to know: it is sent once to each worker of a cluster."""

    run: str
    journal: StoreUrl
    objects: tuple[WrittenObject, ...]
    budget: MemoryBudget
    version: str = __version__


def write_object(task: ObjectTask, number: int) -> int:
    """Write an object; returns its bytes. Nothing is there before all of it is."""
    if task.version != __version__:
        raise BadFile(
            f"a worker has relayout {__version__}, and the client {task.version}.", hint="install one version"
        )
    told = _read_journal(task.journal)
    if told is None or told.get("run") != task.run:
        raise Cancelled(f"{task.journal} is not of this run any more.", hint="start the job again")
    made, loader = task.objects[number], SlabLoader(task.budget)
    made.url.write_parts(lambda: _parts(made, loader), BLOCK_BYTES)
    return made.size


def _parts(made: WrittenObject, loader: SlabLoader) -> Iterator[Any]:
    """The bytes of an object in their order; between what is told there are zeros."""
    at = 0
    for start in sorted({*made.pieces, *made.tensors}):
        yield bytes(start - at)
        at = start
        if start in made.pieces:
            yield made.pieces[start]
            at += len(made.pieces[start])
        if start in made.tensors:
            change, slabs = made.tensors[start]
            for number in range(slabs.number(change.planned.shape)):
                data = loader.load(change, slabs, number)
                yield data.data
                at += data.size
    yield bytes(made.size - at)


def _read_journal(journal: StoreUrl) -> dict[str, Any] | None:
    if not journal.is_file():
        return None
    try:
        found = json.loads(journal.read_range(0, journal.stat().st_size))
    except ValueError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("done"), list):
        raise BadFile(
            f"{journal} is no journal of relayout.", hint="move it away, or choose another name", file=journal
        )
    return found


class ObjectJob:
    """A repack into objects of which everything is decided; what a run before it finished stays with ``resume``."""

    def __init__(
        self,
        source: Source,
        changes: Sequence[TensorChange],
        target: StoreUrl,
        final: Destination,
        max_memory: int,
        jobs: int,
        client: Client | None = None,
    ) -> None:
        if final.checksums or any(change.records is not None for change in changes):
            raise NotExpressible(
                f"{target}: archives, and records, are not written to a URL.", hint="write .npy, .safetensors or .zarr"
            )
        self.source, self.changes, self.final, self.client = source, changes, final, client
        self.target, self.jobs = target, jobs
        self.journal = StoreUrl(str(with_suffix_added(target, ".part.journal")))
        reserved = decoding_bytes(source.values(), jobs) + 2 * jobs * BLOCK_BYTES
        self.budget = MemoryBudget.of(max_memory, jobs, reserved)
        self.objects = _objects(changes, target, final)
        self.total = sum([made.size for made in self.objects])

    def run(self, resume: bool, force: bool, verify: bool, progress: Progress | None) -> int:
        """Run to the end; returns the bytes that were there already."""
        head, told = self._head(), _read_journal(self.journal)
        if told is not None and not force:
            if not resume:
                what = f"{self.journal} is there: a run to {self.target} did not finish."
                raise BadFile(what, hint="continue it with resume, or start again with force", file=self.journal)
            if told.get("head") != head:
                what = f"the unfinished run of {self.target} has another source, or other options."
                hint = "give what it was started with, or start again with force"
                raise BadFile(what, hint=hint, file=self.journal)
        else:
            self._check_free(force)
            told = {"run": uuid4().hex, "head": head, "done": []}
            self._note(told)
        resumed = self._write(told, progress)
        if verify:
            self._compare()
        self.journal.remove()
        return resumed

    def _check_free(self, force: bool) -> None:
        for made in self.objects:
            if not force and made.url.exists():
                hint = "choose another name, or overwrite it with force"
                raise BadFile(f"{made.url} exists.", hint=hint, file=made.url)

    def _write(self, told: dict[str, Any], progress: Progress | None) -> int:
        """All objects that are not there; the one that was asked for is the last, and so tells that all are."""
        left = [k for k, made in enumerate(self.objects) if str(made.url) not in told["done"]]
        resumed = done = self.total - sum([self.objects[k].size for k in left])
        task = ObjectTask(told["run"], self.journal, tuple(self.objects), self.budget)
        for numbers in (left[:-1], left[-1:]):
            with closing(self._written_objects(task, numbers)) as finished:
                for number in finished:
                    told["done"].append(str(self.objects[number].url))
                    self._note(told)
                    done += self.objects[number].size
                    if progress is not None and progress(done, self.total) is False:
                        what = f"the run was stopped after {done} of {self.total} bytes."
                        raise Cancelled(what, hint="continue it with resume", done=done, total=self.total)
        return resumed

    def _written_objects(self, task: ObjectTask, numbers: list[int]) -> Generator[int]:
        if self.client is None:
            with closing(run_unordered(self.jobs, lambda k: write_object(task, k), numbers)) as finished:
                yield from finished
            return
        from .cluster import ClusterRun

        with ClusterRun(self.client, task) as run:
            for number, _ in run.results(write_object, iter(numbers), "relayout_repack"):
                yield number

    def _note(self, told: dict[str, Any]) -> None:
        text = json.dumps(told).encode()
        self.journal.write_parts(lambda: iter([text]), BLOCK_BYTES)

    def _compare(self) -> None:
        with FilePool() as files:
            pairs = (TensorPair.of_change(change, self.final.entries[change.planned.name]) for change in self.changes)
            found = compare_tensors(files, pairs, self.budget, self.jobs)
        if found is not None:
            raise LayoutMismatch(f"what was written is not what was read: {found}.", hint="look at the store")

    def _head(self) -> str:
        plans = [(p, p.fill, p.dst_element) if p else None for p in [change.plan for change in self.changes]]
        return digest((__version__, source_identity(self.source), plans, self.final))


def _objects(changes: Sequence[TensorChange], target: Path, final: Destination) -> list[WrittenObject]:
    """The objects, that which was asked for last."""
    by_name = {change.planned.name: change for change in changes}
    tensors: dict[Path, dict[int, tuple[TensorChange, Slabs]]] = {file: {} for file in final.files}
    for name, segments in final.entries.items():
        change = by_name[name]
        if not sum([segment.size for segment in segments]):
            continue
        slabs = choose_slabs(change, SLAB_BYTES, None)
        tensors[segments[0].file][segments[0].start] = change, slabs
    made = [
        WrittenObject(StoreUrl(str(file)), size, pieces, tensors[file]) for file, (size, pieces) in final.files.items()
    ]
    return sorted(made, key=lambda x: str(x.url) == str(target))
