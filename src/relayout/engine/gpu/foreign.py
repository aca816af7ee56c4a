"""Memory for libraries that only know DLPack: allocated here, handed out, and freed when they are done."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_int, c_uint64, c_void_p, py_object, pythonapi
from typing import Any
from weakref import finalize

from ...elements.dlpack import _CODES, DLTensor
from ...elements.types import Element
from ...integers.nested import product
from .device import CUDA
from .driver import NOT_READY, check, device, driver

_NUMBERS = {"bool": 6, "int": 0, "uint": 1, "float": 2, "complex": 5}


class _Managed(ctypes.Structure):
    """DLPack's capsule: the array, and what frees it."""

    _fields_ = (("tensor", DLTensor), ("context", c_void_p), ("deleter", c_void_p))


LEGACY = 1
"""The stream that a device has from the start, as DLPack and the driver call it."""

_callback = ctypes.CFUNCTYPE(None, c_void_p)
# Prototypes of their own: what is set on the functions of ``pythonapi`` holds for everyone.
_new_capsule = ctypes.PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", pythonapi))
_is_valid = ctypes.PYFUNCTYPE(c_int, c_void_p, c_char_p)(("PyCapsule_IsValid", pythonapi))
_pointer_of = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", pythonapi))

_given: dict[int, tuple[Any, ...]] = {}
"""What capsules describe, by the address that their deleters are called with."""

_held: list[tuple[int, Any, c_void_p]] = []
"""Devices, what was lent to kernels there, and events after those."""


class Exported:
    """An array on a device, in row-major order, that is given away by DLPack; freed behind itself and all capsules."""

    def __init__(self, shape: tuple[int, ...], kind: Element, number: int) -> None:
        self.kind, self.number, self.shape = kind, number, shape
        memory = c_void_p()
        size = max(1, product(shape) * kind.bytes)
        code = device(number).call(driver().cuMemAlloc_v2, byref(memory), ctypes.c_size_t(size))
        check(code, f"the allocation of {size} bytes")
        self.pointer = memory.value or 0
        # At the end of the process others may still use it, and all is freed anyway.
        finalize(self, _free, number, self.pointer).atexit = False

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.number

    def __dlpack__(self, *, stream: Any = None, **words: Any) -> Any:
        """A capsule; the stream that is named waits for the kernels that were launched."""
        if stream not in (None, -1, 0, LEGACY):
            device(self.number).call(_wait, int(stream))
        shape = (ctypes.c_int64 * max(1, len(self.shape)))(*self.shape)
        managed = _Managed()
        managed.tensor.data, managed.tensor.ndim = self.pointer, len(self.shape)
        managed.tensor.device[0], managed.tensor.device[1] = CUDA, self.number
        for k, value in enumerate((_code(self.kind), self.kind.bits, 1, 0)):
            managed.tensor.dtype[k] = value
        managed.tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
        managed.deleter = ctypes.cast(_let_go, c_void_p)
        address = ctypes.addressof(managed)
        _given[address] = self, managed, shape
        return _new_capsule(address, b"dltensor", ctypes.cast(_drop, c_void_p))


def _code(kind: Element) -> int:
    name = kind.underlying.name
    return _CODES.get(name) or _NUMBERS[name.rstrip("0123456789")]


def _free(number: int, pointer: int) -> None:
    device(number).call(driver().cuMemFree_v2, c_uint64(pointer))


@_callback  # type: ignore[untyped-decorator]
def _let_go(address: int) -> None:
    _given.pop(address, None)


@_callback  # type: ignore[untyped-decorator]
def _drop(capsule: int) -> None:
    """What nobody took of a capsule goes with it."""
    if _is_valid(capsule, b"dltensor"):
        _given.pop(_pointer_of(capsule, b"dltensor"), None)


def _wait(stream: int) -> None:
    """Let a stream wait for what was launched so far."""
    event = _event(LEGACY)
    check(driver().cuStreamWaitEvent(c_void_p(stream), event, 0), "the wait for a kernel")
    driver().cuEventDestroy_v2(event)


def _event(stream: int) -> c_void_p:
    """An event of all that was asked for on a stream so far."""
    event = c_void_p()
    check(driver().cuEventCreate(byref(event), 2), "an event")
    check(driver().cuEventRecord(event, c_void_p(stream)), "an event")
    return event


def hold(lent: Any, number: int) -> None:
    """Keep what was lent to the kernels that are launched by now; what other kernels are done with is let go of."""
    for _ in range(len(_held)):
        try:
            entry = _held.pop(0)
        except IndexError:
            # Another thread looks through them.
            break
        if not device(entry[0]).call(_is_done, entry[2]):
            _held.append(entry)
    _held.append((number, lent, device(number).call(_event, LEGACY)))


def _is_done(event: c_void_p) -> bool:
    """Whether an event has come, which is then gone; it is not waited for."""
    if driver().cuEventQuery(event) == NOT_READY:
        return False
    driver().cuEventDestroy_v2(event)
    return True
