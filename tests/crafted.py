"""Producers of DLPack capsules that say what they are told to, true or not."""

from __future__ import annotations

import ctypes
from typing import Any


class Managed(ctypes.Structure):
    """DLPack's managed tensor, without a deleter."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


MEMORY = (ctypes.c_uint8 * 64)(*range(64))
_KEPT: list[Any] = []


class Producer:
    """By default four bytes, 0 to 3."""

    def __init__(
        self,
        shape: tuple[int, ...] = (4,),
        strides: tuple[int, ...] | None = None,
        data: int | None = None,
        dtype: tuple[int, int, int, int] = (1, 8, 1, 0),
        device: tuple[int, int] = (1, 0),
        ndim: int | None = None,
        offset: int = 0,
        name: bytes = b"dltensor",
        noshape: bool = False,
        value: Any = None,
    ) -> None:
        self.value, self.device, self.name = value, device, name
        sizes = (ctypes.c_int64 * len(shape))(*shape)
        steps = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        self.tensor = Managed(
            ctypes.addressof(MEMORY) if data is None else data,
            device,
            len(shape) if ndim is None else ndim,
            dtype,
            None if noshape else ctypes.addressof(sizes),
            None if steps is None else ctypes.addressof(steps),
            offset,
        )
        _KEPT.extend([sizes, steps, self])

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **words: Any) -> Any:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return self.value or new(ctypes.addressof(self.tensor), self.name, None)


CAPSULES: dict[str, dict[str, Any]] = {
    "null": {"data": 0},
    "negative": {"shape": (-4,)},
    "two negatives": {"shape": (-2, -2)},
    "huge": {"shape": (2**62, 4)},
    "wraps": {"shape": (2,), "strides": (2**61,), "dtype": (0, 64, 1, 0)},
    "below zero": {"strides": (-(2**50),)},
    "no dimensions": {"ndim": -1},
    "many dimensions": {"ndim": 2**31 - 1},
    "no shape": {"noshape": True},
    "lanes": {"dtype": (1, 8, 4, 0)},
    "nibbles": {"dtype": (1, 4, 1, 0)},
    "odd width": {"dtype": (1, 24, 1, 0)},
    "no type": {"dtype": (99, 8, 1, 0)},
    "bfloat8": {"dtype": (4, 8, 1, 0)},
    "device": {"device": (2, 0)},
    "far": {"offset": 2**64 - 1},
    "misaligned": {"offset": 1, "dtype": (2, 32, 1, 0)},
    "used": {"name": b"used_dltensor"},
    "other capsule": {"name": b"x"},
    "no capsule": {"value": 5},
}
"""What a crafted capsule may say."""
