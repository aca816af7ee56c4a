"""Memory for libraries that only know DLPack: allocated here, handed out, and freed when they are done."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_uint64, c_void_p
from typing import Any

from ...dlpack import _CODES, DLTensor
from ...elements import Element
from ...nested import product
from . import CUDA
from .driver import check, device, driver

_NUMBERS = {"bool": 6, "int": 0, "uint": 1, "float": 2, "complex": 5}


class _Managed(ctypes.Structure):
    """DLPack's capsule: the array, and what frees it."""

    _fields_ = (("tensor", DLTensor), ("context", c_void_p), ("deleter", c_void_p))


_DELETER = ctypes.CFUNCTYPE(None, c_void_p)
_DESTRUCTOR = ctypes.CFUNCTYPE(None, c_void_p)
_alive: dict[int, Exported] = {}
_lent: list[tuple[Any, int]] = []
_held: list[tuple[Any, c_void_p]] = []


class Exported:
    """An array on a device, in row-major order, that is given away as a DLPack capsule."""

    def __init__(self, shape: tuple[int, ...], kind: Element, number: int) -> None:
        self.kind, self.number, self.shape = kind, number, shape
        memory = c_void_p()
        size = max(1, product(shape) * kind.bytes)
        code = device(number).call(driver().cuMemAlloc_v2, byref(memory), ctypes.c_size_t(size))
        check(code, f"the allocation of {size} bytes")
        self.pointer = memory.value or 0

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.number

    def __dlpack__(self, *, stream: Any = None, **words: Any) -> Any:
        """A capsule; the stream that is named waits for the kernels that were launched."""
        if stream not in (None, -1, 0, 1):
            device(self.number).call(_wait, int(stream))
        self._shape = (ctypes.c_int64 * max(1, len(self.shape)))(*self.shape)
        managed = _Managed()
        managed.tensor.data, managed.tensor.ndim = self.pointer, len(self.shape)
        managed.tensor.device[0], managed.tensor.device[1] = CUDA, self.number
        for k, value in enumerate((_code(self.kind), self.kind.bits, 1, 0)):
            managed.tensor.dtype[k] = value
        managed.tensor.shape = ctypes.cast(self._shape, ctypes.POINTER(ctypes.c_int64))
        managed.deleter = ctypes.cast(_free, c_void_p)
        self._managed = managed
        address = ctypes.addressof(managed)
        _alive[address] = self
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [c_void_p, ctypes.c_char_p, c_void_p]
        return new(address, b"dltensor", ctypes.cast(_drop, c_void_p))


def _code(kind: Element) -> int:
    name = kind.underlying.name
    return _CODES.get(name) or _NUMBERS[name.rstrip("0123456789")]


@_DELETER  # type: ignore[untyped-decorator]
def _free(address: int) -> None:
    found = _alive.pop(address, None)
    if found is not None:
        device(found.number).call(driver().cuMemFree_v2, c_uint64(found.pointer))


@_DESTRUCTOR  # type: ignore[untyped-decorator]
def _drop(capsule: int) -> None:
    """A capsule that nobody took is freed with it."""
    valid = ctypes.pythonapi.PyCapsule_IsValid
    valid.argtypes = [c_void_p, ctypes.c_char_p]
    if valid(capsule, b"dltensor"):
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = c_void_p, [c_void_p, ctypes.c_char_p]
        _free(pointer(capsule, b"dltensor"))


def _wait(stream: int) -> None:
    """Let a stream wait for what was launched so far."""
    event = _event(1)
    check(driver().cuStreamWaitEvent(c_void_p(stream), event, 0), "the wait for a kernel")
    driver().cuEventDestroy_v2(event)


def _event(stream: int) -> c_void_p:
    """An event of all that was asked for on a stream so far."""
    event = c_void_p()
    check(driver().cuEventCreate(byref(event), 2), "an event")
    check(driver().cuEventRecord(event, c_void_p(stream)), "an event")
    return event


def hold(capsule: Any, number: int) -> None:
    """Keep what a capsule lends until all that is launched by now, and the next kernel, is done."""
    _lent.append((capsule, number))


def launched() -> None:
    """Let go of what was lent to kernels that are done; none is waited for."""
    for entry in list(_held):
        if driver().cuEventQuery(entry[1]) == 0:
            driver().cuEventDestroy_v2(entry[1])
            _held.remove(entry)
    while _lent:
        capsule, number = _lent.pop()
        _held.append((capsule, device(number).call(_event, 1)))
