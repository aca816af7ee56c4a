"""Tensors and memory from files: of any kind that ``relayout.open`` reads, and raw memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BadFile
from ..files.registry import container_of
from ..files.registry import open as open_file
from ..tensors.tensor import Tensor

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def tensor(path: Path, shape: Any, dtype: Any) -> Tensor:
    """The only tensor of a file; raw memory needs its shape and its type."""
    raw = not _is_known(path)
    if raw and (shape is None or dtype is None):
        raise BadFile(
            f"{path}: nothing tells what this raw memory holds.", hint="pass --shape and --dtype of it", file=path
        )
    with open_file(path, shape=shape if raw else None, dtype=dtype if raw else None) as file:
        if len(file) != 1:
            raise BadFile(f"{path} holds {len(file)} tensors.", hint="give a file of one", file=path)
        found = next(iter(file.values()))
    if shape is not None and found.shape != shape:
        raise BadFile(f"{path} has the shape {found.shape}, not {shape}.", hint="leave --shape out", file=path)
    return found


def memory(path: Path, kind: np.dtype[Any]) -> NDArray[Any]:
    """What a file stores, flat and in the order of its bytes; raw memory in that type."""
    import numpy as np

    if _is_known(path):
        return tensor(path, None, None).raw.reshape(-1)
    size = path.stat().st_size
    if size % kind.itemsize:
        raise BadFile(f"{path} has {size} bytes, no whole number of {kind}.", hint="look at the type", file=path)
    return np.memmap(path, kind, "r") if size else np.empty(0, kind)


def _is_known(path: Path) -> bool:
    """Whether the name or a sidecar tells what the file holds."""
    try:
        return container_of(path).name != "raw" or path.with_name(f"{path.name}.relayout.json").exists()
    except BadFile:
        return False
