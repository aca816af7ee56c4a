"""Which arrays lie in the memory of a CUDA device."""

from __future__ import annotations

from typing import Any

CUDA = 2
"""DLPack's number of memory that only a CUDA device reads."""


def on_device(x: Any) -> bool:
    """Whether ``x`` is an array in the memory of a CUDA device."""
    known = getattr(x, "is_cuda", None)
    if known is not None:
        return bool(known)
    find = getattr(x, "__dlpack_device__", None)
    try:
        return find is not None and find()[0] == CUDA
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
        # Where it is not known, the host says what is wrong with it.
        return False
