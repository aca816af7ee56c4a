"""The containers by name, by suffix and by content: those of this package, and those that other packages add.

Ours are the modules of the folder ``containers``. Others are found by entry points (``relayout.containers``).
A container is imported when its turn comes, and those of other packages only for what none of our own takes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..plugins import entry_points_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from importlib.metadata import EntryPoint
    from os import PathLike
    from pathlib import Path

    from .container import Container
    from .contents import Destination, PlannedTensor, Source
    from .mapped import TensorFile

BUILT_IN = ("dcp", "gguf", "npy", "npz", "onnx", "raw", "safetensors", "shards", "zarr")
"""The containers of this package: each is the module of that name in the folder ``containers``."""

GROUP = "relayout.containers"
"""The group of entry points."""

_TORCH_SUFFIXES = (".pt", ".pth", ".ckpt")


def names() -> list[str]:
    """The name of every container: the built-in ones, then those of other packages."""
    return [*BUILT_IN, *[point.name for point in _entry_points() if point.name not in BUILT_IN]]


def container_named(name: str) -> Container:
    """The container of that name."""
    from ..errors import ShapeError

    if name in BUILT_IN:
        return _import(name)
    for point in _entry_points():
        if point.name == name:
            return _load(point)
    raise ShapeError(f"there is no container {name!r}.", hint=f"known: {', '.join(names())}", name=name)


def container_of(path: str | PathLike[str], written: bool = False) -> Container:
    """The container of a path: a folder by what is in it, a file by its suffix, else by its first bytes.

    What is to be ``written`` is told by its suffix, else by the folder that is there.
    """
    from .contents import FROM_TORCH, bad_file
    from .store_url import as_path

    where = as_path(path)
    by_suffix = next(
        (container for container in _containers(where) if where.name.endswith(tuple(container.suffixes))), None
    )
    if written and by_suffix is not None:
        return by_suffix
    folder = where.is_dir()
    if folder and (recognised := _recognise(where)):
        return recognised
    if by_suffix is not None:
        return by_suffix
    if folder:
        raise bad_file(where, "it is a folder, and no Zarr.", f"name a file in it, as in {where / 'model.safetensors'}")
    if where.suffix in _TORCH_SUFFIXES:
        raise bad_file(where, "files of PyTorch are neither read nor written.", FROM_TORCH)
    if not written and (recognised := _recognise(where)):
        return recognised
    raise bad_file(where, "its name does not tell what kind of file it is.", _way_out(written))


def suffixes(written: bool = False) -> list[str]:
    """Every suffix that is read, or only those that can be written."""
    found = [container for container in _containers() if container.writable or not written]
    return [suffix for container in found for suffix in container.suffixes]


def is_container_folder(path: Path) -> bool:
    """Whether a folder is one of tensors, as a Zarr is."""
    return path.is_dir() and _recognise(path) is not None


def _way_out(written: bool) -> str:
    return f"end it with one of {', '.join(suffixes(written))}"


# ---- finding containers ----------------------------------------------------------------------------------


def _import(name: str) -> Container:
    found: Container = import_module(f".containers.{name}", __package__).CONTAINER
    return found


def _entry_points() -> list[EntryPoint]:
    return entry_points_of(GROUP)


def _load(point: EntryPoint) -> Container:
    from ..errors import BadFile

    try:
        found: Container = point.load()
    except (ImportError, AttributeError) as error:
        package = "a package" if point.dist is None else point.dist.name
        raise BadFile(
            f"the container {point.name!r} of {package} cannot be loaded: {error}.",
            hint=f"install {package} again, or take it away",
        ) from None
    return found


def _containers(path: Path | None = None) -> Iterator[Container]:
    """All containers one after another, for a path those first whose names are in its name."""
    own = BUILT_IN
    for name in sorted(own, key=lambda name: path is not None and f".{name}" not in path.name):
        yield _import(name)
    for point in _entry_points():
        if point.name not in own:
            yield _load(point)


def _recognise(path: Path) -> Container | None:
    return next((container for container in _containers(path) if container.recognises(path)), None)


# ---- reading and writing ---------------------------------------------------------------------------------


def open_source(path: str | PathLike[str], **raw: Any) -> Source:
    """What a file holds and where its bytes are; nothing but headers is read.

    ``dtype``, ``shape`` and ``layout`` are for raw files. A folder is a Zarr, or holds the index of shards.
    """
    from .contents import bad_file
    from .store_url import StoreUrl, as_path

    where = as_path(path)
    given = {key: value for key, value in raw.items() if value is not None}
    try:
        if given:
            from .containers.raw import CONTAINER as RAW

            return RAW.read(where, **given)
        if isinstance(where, StoreUrl) and where.suffix == ".zarr":
            from .containers.zarr import read_store

            return read_store(where)
        return container_of(where).read(where)
    except OSError as error:
        what = f"it cannot be read: {error.strerror or error}."
        raise bad_file(where, what, "look at the permissions and the disk") from None


def plan_destination(
    path: str | PathLike[str],
    name: str | None = None,
    planned: Sequence[PlannedTensor] = (),
    metadata: Mapping[str, Any] | None = None,
    source: Source | None = None,
) -> Destination:
    """The files that hold these tensors, sizes and headers known, before anything is written.

    They are of the container of that name, else of that which the path tells. ``source`` is what the tensors are
    from, of which the files keep what they can: its metadata, and the graph of a model.
    """
    from .contents import bad_file
    from .store_url import as_path

    where = as_path(path)
    container = container_of(where, written=True) if name is None else container_named(name)
    if not container.writable:
        raise bad_file(where, f"{container.name} files are read, not written.", _way_out(written=True))
    for p in planned:
        if any("\ud800" <= c <= "\udfff" for c in p.name):
            hint = "rename the tensor, or the file that it is named after"
            raise bad_file(where, "its name is no text.", hint, p.name)
    return (
        container.plan(where, list(planned), metadata)
        if source is None
        else container.plan_into(where, list(planned), source)
    )


def open(path: str | PathLike[str], *, dtype: Any = None, shape: Any = None, layout: Any = None) -> TensorFile:
    """The tensors of a file by name: mapped into memory, read-only, with the layouts that its records tell.

    ``dtype``, ``shape`` and ``layout`` tell what a raw file holds. A file that is cut short while it is mapped ends the
    process (SIGBUS) when a page that is gone is touched: replace files by renaming them.
    """
    from .mapped import TensorFile

    return TensorFile(open_source(path, dtype=dtype, shape=shape, layout=layout))
