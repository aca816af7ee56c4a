"""Tensors in files: what a container holds and where, how one is to be written, and tensors over mapped memory."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from os import PathLike

    from .contents import Destination, PlannedTensor, Source
    from .mapped import TensorFile

# Which module and functions serve a kind of file.
_READERS = {
    "npy": ("npy", "read"),
    "npz": ("npz", "read"),
    "safetensors": ("safetensors", "read"),
    "shards": ("safetensors", "read_shards"),
    "zarr": ("zarr", "read"),
    "raw": ("raw", "read"),
    "gguf": ("gguf", "read"),
    "onnx": ("onnx", "read"),
}
_PLANNERS = {
    "npy": ("npy", "plan"),
    "npz": ("npz", "plan"),
    "safetensors": ("safetensors", "plan"),
    "shards": ("safetensors", "plan_shards"),
    "zarr": ("zarr", "plan"),
    "raw": ("raw", "plan"),
}
_SUFFIXES = {
    ".npy": "npy",
    ".npz": "npz",
    ".safetensors.index.json": "shards",
    ".safetensors": "safetensors",
    ".zarr": "zarr",
    ".gguf": "gguf",
    ".onnx": "onnx",
    ".bin": "raw",
    ".raw": "raw",
    ".dat": "raw",
}


_OF_TORCH = (".pt", ".pth", ".ckpt")


def kind_of(path: str | PathLike[str], among: Container[str] = _READERS) -> str:
    """The kind of file that a name means: ``"safetensors"``, ``"npy"`` and so on."""
    from pathlib import Path

    from .contents import FROM_TORCH, bad_file

    where = Path(path)
    for suffix, kind in _SUFFIXES.items():
        if where.name.endswith(suffix):
            return kind
    if (where / "zarr.json").is_file():
        return "zarr"
    if where.is_dir():
        raise bad_file(where, "it is a folder, and no Zarr.", f"name a file in it, as in {where / 'model.safetensors'}")
    if where.suffix in _OF_TORCH:
        raise bad_file(where, "files of PyTorch are neither read nor written.", FROM_TORCH)
    raise bad_file(where, "its name does not tell what kind of file it is.", _endings(among))


def _endings(among: Container[str]) -> str:
    """The way out of a name."""
    return f"end it with one of {', '.join([suffix for suffix, kind in _SUFFIXES.items() if kind in among])}"


def open_source(path: str | PathLike[str], **raw: Any) -> Source:
    """What a file holds and where its bytes are; nothing but headers is read.

    ``dtype``, ``shape`` and ``layout`` are for raw files. A folder is a Zarr, or holds the index of shards.
    """
    from pathlib import Path

    from .contents import bad_file

    where = Path(path)
    given = {key: value for key, value in raw.items() if value is not None}
    try:
        indexes = sorted(where.glob("*.safetensors.index.json")) if where.is_dir() else []
        if len(indexes) > 1:
            hint = f"name one of {', '.join([str(index) for index in indexes])}"
            raise bad_file(where, f"it is a folder with {len(indexes)} indexes of shards.", hint)
        where = indexes[0] if indexes else where
        module, function = _READERS["raw" if given else kind_of(where)]
        read = getattr(import_module(f".containers.{module}", __package__), function)
        found: Source = read(where, **given)
    except OSError as error:
        what = f"it cannot be read: {error.strerror or error}."
        raise bad_file(where, what, "look at the permissions and the disk") from None
    return found


def plan_destination(
    path: str | PathLike[str],
    kind: str | None = None,
    planned: Sequence[PlannedTensor] = (),
    metadata: Mapping[str, Any] | None = None,
) -> Destination:
    """The files that hold these tensors, sizes and headers known, before anything is written."""
    from pathlib import Path

    from .contents import bad_file

    where = Path(path)
    kind = kind or kind_of(where, _PLANNERS)
    if kind not in _PLANNERS:
        raise bad_file(where, f"{kind} files are read, not written.", _endings(_PLANNERS))
    for p in planned:
        if any("\ud800" <= c <= "\udfff" for c in p.name):
            raise bad_file(
                where, "its name is no text.", "rename the tensor, or the file that it is named after", p.name
            )
    module, function = _PLANNERS[kind]
    plan = getattr(import_module(f".containers.{module}", __package__), function)
    made: Destination = plan(where, list(planned), metadata)
    return made


def open(path: str | PathLike[str], *, dtype: Any = None, shape: Any = None, layout: Any = None) -> TensorFile:
    """The tensors of a file by name: mapped into memory, read-only, with the layouts that its records tell.

    ``dtype``, ``shape`` and ``layout`` tell what a raw file holds.
    """
    from .mapped import TensorFile

    return TensorFile(open_source(path, dtype=dtype, shape=shape, layout=layout))
