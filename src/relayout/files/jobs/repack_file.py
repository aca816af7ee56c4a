"""``repack_file``: the tensors of a file in other layouts, block by block, in little memory, resumable."""

from __future__ import annotations

import warnings
from contextlib import contextmanager, nullcontext
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from ...engine.growth import MAX_FACTOR, growth_warning
from ...errors import BadFile, LimitExceeded, ShapeError
from ...integers.inttuple import as_int
from ..registry import container_of, open_source, plan_destination, suffixes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ...engine.ways import Progress
    from ..contents import Source
    from .changes import TensorChange
    from .job import RepackJob
    from .object_job import ObjectJob
    from .rules import Globs, Rule
    from .store_job import StoreJob

MAX_THREADS = 256


class Row(NamedTuple):
    """One tensor: its layouts in words, its bytes before and after, and which part of the new ones is padding.

    ``why`` tells of a tensor that is kept because the new layout cannot take it.
    """

    name: str
    before: str
    after: str
    bytes_before: int
    bytes_after: int
    padding: float
    kept: bool
    why: str | None = None


class Report(NamedTuple):
    """What a run did, or would do. ``resumed`` bytes were there from the run before."""

    source: Path
    destination: Path
    rows: tuple[Row, ...]
    total: int
    resumed: int = 0

    def _repr_html_(self) -> str:
        from ...drawing.notebook_tables import report_html

        return report_html(self)


def repack_file(
    source: str | PathLike[str],
    destination: str | PathLike[str],
    *,
    to: Any = None,
    src: Any = None,
    shape: Any = None,
    axes: str | None = None,
    src_dtype: Any = None,
    only: Globs = None,
    except_: Globs = None,
    rules: Any = None,
    fill: Any = None,
    dtype: Any = None,
    jobs: int | None = None,
    max_memory: int | str = "1GiB",
    resume: bool = False,
    verify: bool = False,
    force: bool = False,
    dry_run: bool = False,
    max_growth: float | None = None,
    progress: Progress | None = None,
    cluster: Any = None,
    compress: str | None = None,
    chunk: int | str | None = None,
    shard: int | str | None = None,
) -> Report:
    """Write the tensors of ``source`` to ``destination``, those that are selected in the layout ``to``, or row-major.

    A folder that holds a checkpoint in safetensors becomes such a folder.

    ``only`` and ``except_`` select by patterns of names; ``rules``, a TOML file or a list of dictionaries, say it for
    each. What is not selected is copied as it is, and so is, with a warning, a tensor that nobody named and that the
    layout cannot take. A tensor with a record starts from its recorded layout; ``src`` (with
    ``shape``) tells that of others, and with ``src_dtype`` what a raw file holds. ``axes`` names the dimensions, for
    formats with names.
    ``fill`` is the stored value of padding, ``dtype`` the type or interface of the result.

    Where ``to`` is the packing of a kernel (``marlin:w4a16``, ``gptq:w4``, ``mlx:w4``) and the file has quantised
    layers, their codes, scales, zeros and biases are repacked together; what cannot be held exactly is refused. A
    folder then gets a ``config.json`` that describes what was written, and the source's other texts, as its tokenizer.
    Where ``to`` is a record (``ggml:q4_0_8x8``), blocks of the same fields and worth become it.

    The process needs at most ``max_memory`` besides what it already holds; 48 MiB of that are not for data. Everything
    is written to ``.part``, and renamed when it is whole. A run that was ended, by whatever, is continued with
    ``resume``: the result has the same bits, and a changed source or option is refused, but for ``jobs`` and
    ``max_memory``; a file that is finished, and holds what is asked for, stays. With ``verify`` every element is read
    again and compared before the rename. Nothing is overwritten without ``force``. ``progress(done, total)`` may return
    False to stop.

    ``cluster``, a ``distributed.Client``, the address of a Dask scheduler, or ``local:4`` for four processes started
    for this, has the parts made by its workers, which see one file system with the caller; ``max_memory`` is then that
    of each worker. A worker that dies is replaced by others; a client that dies is continued with ``resume``, on
    a cluster or without.

    A Zarr may be at the URL of a store that zarr-python opens (``s3://bucket/model.zarr``), as source or destination.
    It is written with ``compress`` (``zstd``, ``gzip``, ``blosc``, each with a level as in ``zstd:9``), in chunks of at
    most ``chunk`` bytes, in shards of at most ``shard``: each is made and stored whole, and the metadata comes last.

    A result of more than 4 times the bytes, and 1 MiB more, comes with a warning; with ``max_growth`` one of more than
    so many times the bytes is refused instead.
    """
    from ..sizes import parse_size
    from ..store_url import StoreUrl, as_path
    from .changes import changes_of
    from .checkpoint_config import companion_files
    from .job import RepackJob
    from .object_job import ObjectJob
    from .packed_weights import packed_changes
    from .record_changes import record_changes
    from .rules import Rule, read_rules
    from .staging import StagedFiles
    from .store_arrays import Storage, store_arrays
    from .store_job import StoreJob

    path, out = as_path(source), as_path(destination)
    if cluster is not None:
        path, out = [p if isinstance(p, StoreUrl) else p.absolute() for p in (path, out)]
    default = Rule(to=to, src=src, shape=shape, axes=axes, fill=fill, dtype=dtype)
    opened, default = _read_source(path, default, src_dtype)
    by_name = read_rules(default, rules, only, except_)
    records, packed = record_changes(opened, by_name), None
    if records is not None:
        opened, changes = records
    else:
        packed = packed_changes(opened, by_name)
        changes = changes_of(opened, by_name) if packed is None else packed.changes
    memory, in_folder = parse_size(max_memory), False
    make: Callable[..., RepackJob | StoreJob | ObjectJob]
    if (out.suffix == ".zarr" and isinstance(out, StoreUrl)) or (compress, chunk, shard) != (None, None, None):
        stored = store_arrays(opened, changes, out, Storage.of(compress, chunk, shard))
        sizes = {array.name: array.slab_bytes * array.number for array in stored}
        make = partial(StoreJob, opened, stored, out, memory)
    else:
        in_folder = _is_folder_of_files(path, out)
        out = out / opened.path.name if in_folder else out
        final = plan_destination(out, None, [change.planned for change in changes], source=opened)
        if in_folder and packed is not None:
            final.files.update(companion_files(opened, packed, out.parent))
        sizes = {name: sum([s.size for s in segments]) for name, segments in final.entries.items()}
        make = (
            partial(ObjectJob, opened, changes, out, final, memory)
            if isinstance(out, StoreUrl)
            else partial(RepackJob, opened, changes, StagedFiles(out, final), memory)
        )
    rows = tuple([_row(change, sizes[change.planned.name]) for change in changes])
    report = Report(path, out, rows, sum([row.bytes_after for row in rows]))
    _check_growth(report, max_growth, dry_run)
    with (
        _folder_of(out) if in_folder and not dry_run else nullcontext(),
        made_job(make, jobs, None if dry_run else cluster) as job,
    ):
        return report if dry_run else report._replace(resumed=job.run(resume, force, verify, progress))


def _is_folder_of_files(source: Path, destination: Path) -> bool:
    """Whether a folder with a checkpoint is to become one: the destination is no file and no other kind of folder."""
    if not source.is_dir() or container_of(source).name not in ("safetensors", "shards"):
        return False
    return not destination.name.endswith(tuple(suffixes(written=True)))


@contextmanager
def _folder_of(file: Path) -> Iterator[None]:
    """Make the folder of a file, one that was not there before; it goes away if nothing was written to it."""
    folder = file.parent
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise BadFile(
            f"the folder {folder} cannot be made: {error.strerror}.", hint="choose another place", file=folder
        ) from None
    try:
        yield
    finally:
        if not any(folder.iterdir()):
            folder.rmdir()


def _check_growth(report: Report, max_growth: float | None, dry_run: bool) -> None:
    """Warn of a result that is out of proportion, or refuse it if a limit was given."""
    before = sum([row.bytes_before for row in report.rows])
    told = growth_warning(before, report.total, MAX_FACTOR if max_growth is None else max_growth)
    if told is None:
        return
    if max_growth is not None and not dry_run:
        raise LimitExceeded(told, hint="name the axes of the data, or allow it with max_growth=None", limit=max_growth)
    warnings.warn(told, stacklevel=3)


def _read_source(path: Path, default: Rule, src_dtype: Any) -> tuple[Source, Rule]:
    """The source; what the rule says of a raw one is not said again."""
    if src_dtype is None and ((default.src is None and default.shape is None) or not _is_raw(path)):
        return open_source(path), default
    from ...format.format import Format

    layout = f"format:{default.src}" if isinstance(default.src, Format) else default.src
    opened = open_source(
        path, dtype=default.dtype if src_dtype is None else src_dtype, shape=default.shape, layout=layout
    )
    return opened, default._replace(src=None, shape=None)


def _is_raw(path: Path) -> bool:
    try:
        return container_of(path).name == "raw"
    except BadFile:
        return True


def _row(change: TensorChange, size: int) -> Row:
    name, before = change.planned.name, change.entry.size
    return Row(name, change.before, change.after, before, size, change.padding, change.copied, change.why)


@contextmanager
def made_job(
    make: Callable[..., RepackJob | StoreJob | ObjectJob], jobs: int | None, cluster: Any = None
) -> Iterator[RepackJob | StoreJob | ObjectJob]:
    """What ``make(threads, client=None)`` gives for threads of this machine, or for the workers of a cluster."""
    if cluster is None:
        yield make(job_count(jobs))
        return
    if jobs is not None:
        raise ShapeError("jobs are threads of this machine, and a cluster has its own.", hint="leave jobs out")
    from .cluster import client_of, threads_per_worker

    with client_of(cluster) as client:
        yield make(threads_per_worker(client), client)


def job_count(jobs: int | None) -> int:
    """How many threads there are: those asked for, or by default as many as keep a disk busy."""
    from .thread_pool import default_jobs

    if jobs is None:
        return default_jobs()
    if not 1 <= as_int(jobs, "jobs") <= MAX_THREADS:
        raise ShapeError(f"there are 1 to {MAX_THREADS} jobs, not {jobs}.", hint="leave jobs out", got=jobs)
    return jobs
