"""A driver, a compiler and libraries of arrays that are not there: launches run on the host, and are told of."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from gpu_host import compiled
from relayout.engine.cache import Cache
from relayout.engine.gpu import arrays, driver, foreign, trials
from relayout.engine.gpu import launch as device_run
from relayout.engine.gpu.device import CUDA

CONTEXT, OTHER = 77, 78


class Library:
    """The functions of a driver by their names; every call is in ``calls``, and gives the code in ``codes``, or 0."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.codes: dict[str, int] = {}
        self.current, self.version = CONTEXT, 13000
        self.kept: list[Any] = []
        self.before = 0
        self.capturing = False
        self.mode, self.modes = 0, set[tuple[str, int]]()
        self.milliseconds: Iterator[float] = repeat(1.0)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith(("cu", "nvrtc")):
            raise AttributeError(name)
        return lambda *arguments: self._call(name, arguments)

    def _call(self, name: str, arguments: tuple[Any, ...]) -> int:
        self.calls.append(name)
        self.modes.add((name, self.mode))
        first = arguments[0]._obj if arguments and hasattr(arguments[0], "_obj") else None
        if name == "cuDevicePrimaryCtxRetain":
            first.value = CONTEXT
        elif name == "cuDriverGetVersion":
            first.value = self.version
        elif name == "cuCtxGetCurrent":
            first.value = self.current
        elif name == "cuDeviceGetAttribute":
            first.value = {driver.MAJOR: 9, driver.MINOR: 0, driver.MOST_SHARED: 227 << 10}[arguments[1]]
        elif name == "cuMemAlloc_v2":
            self.kept.append(np.empty(arguments[1].value + 64, np.uint8))
            first.value = self.kept[-1].ctypes.data + -self.kept[-1].ctypes.data % 64
        elif name == "cuStreamIsCapturing":
            first = arguments[1]._obj
            first.value = self.capturing
        elif name == "cuThreadExchangeStreamCaptureMode":
            self.mode, first.value = first.value, self.mode
        elif name == "cuEventElapsedTime":
            first.value = next(self.milliseconds)
        elif name == "cuGetErrorString":
            arguments[1]._obj.value = b"it is broken"
        elif name.endswith("Size"):
            arguments[1]._obj.value = 8
        return self.codes.get(name, 0)


class HostFunction:
    """A kernel that runs when it is launched."""

    folder: Path
    number = 0
    streams: ClassVar[list[int]] = []
    launched: ClassVar[list[HostFunction]] = []

    def __init__(self, where: Any, kernel: Any, binary: bytes | None = None) -> None:
        HostFunction.number += 1
        self.unloaded = False
        folder = HostFunction.folder / str(HostFunction.number)
        folder.mkdir()
        self.run = compiled([kernel], folder).run0

    def __call__(self, source: int, target: int, stream: int) -> None:
        assert not self.unloaded
        # The memories' own sizes are not known here; accesses are checked elsewhere.
        everything = ctypes.c_longlong(1 << 46)
        HostFunction.streams.append(stream)
        HostFunction.launched.append(self)
        self.run(ctypes.c_void_p(source), everything, ctypes.c_void_p(target), everything)

    def unload(self) -> None:
        self.unloaded = True


class Device(contextlib.nullcontext):  # type: ignore[type-arg]
    def __init__(self, number: int) -> None:
        super().__init__()
        self.id = number


def fake_cupy() -> ModuleType:
    """A module that looks like cupy, over numpy."""
    module: Any = ModuleType("cupy")

    class ndarray(np.ndarray):  # type: ignore[type-arg]
        device_number = 0

        def __dlpack_device__(self) -> Any:
            return CUDA, self.device_number

        @property
        def device(self) -> Device:
            return Device(self.device_number)

        @property
        def data(self) -> Any:
            return SimpleNamespace(ptr=self.ctypes.data)

    ndarray.__module__ = "cupy"
    module.ndarray = ndarray
    module.asarray = lambda x: np.asarray(x).view(ndarray)
    module.empty = lambda shape, kind: np.empty(shape, kind).view(ndarray)
    stream = SimpleNamespace(ptr=5)
    module.cuda = SimpleNamespace(get_current_stream=lambda number: stream)
    module.lib = SimpleNamespace(
        stride_tricks=SimpleNamespace(
            as_strided=lambda x, shape, strides: np.lib.stride_tricks.as_strided(x, shape, strides).view(ndarray)
        )
    )
    return module


class Immutable:
    """An array of a library that only knows DLPack."""

    __module__ = "elsewhere"

    def __init__(self, data: Any) -> None:
        self.numpy, self.dtype = np.ascontiguousarray(data), np.asarray(data).dtype
        self.waited: list[Any] = []

    def __dlpack_device__(self) -> Any:
        return CUDA, 0

    def __dlpack__(self, *, stream: Any = None) -> Any:
        self.waited.append(stream)
        return self.numpy.__dlpack__()

    def __array_namespace__(self) -> Any:
        return SimpleNamespace(from_dlpack=self.taken)

    @staticmethod
    def taken(made: Any) -> Immutable:
        """The array of a capsule, whose memory is freed with it."""
        from relayout.elements.dlpack import description, shape_and_strides

        assert made.__dlpack_device__() == (CUDA, 0)
        capsule = made.__dlpack__(stream=9)
        tensor, _ = description(capsule)
        shape, _ = shape_and_strides(tensor)
        kinds = {0: "int", 1: "uint", 2: "float"}
        kind = np.dtype(f"{kinds[tensor.dtype[0]]}{tensor.dtype[1]}")
        flat = (ctypes.c_uint8 * (kind.itemsize * int(np.prod(shape)))).from_address(tensor.data)
        return Immutable(np.frombuffer(bytes(flat), kind).reshape(shape))


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A device on the host: its driver, whose calls can be looked at; launches run."""
    library = Library()
    library.before = HostFunction.number
    monkeypatch.setattr(driver, "driver", lambda: library)
    for module in (foreign, trials):
        monkeypatch.setattr(module, "driver", lambda: library)
    monkeypatch.setattr(trials, "Function", HostFunction)
    monkeypatch.setattr(trials, "compile_cubin", lambda text, architecture: b"")
    monkeypatch.setattr(device_run, "Function", HostFunction)
    monkeypatch.setattr(HostFunction, "folder", tmp_path, raising=False)
    monkeypatch.setattr(HostFunction, "streams", [])
    monkeypatch.setattr(HostFunction, "launched", [])
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(arrays, "_libraries", {})
    for name in ("_repacks", "_plans"):
        monkeypatch.setattr(device_run, name, Cache(1024))
    driver.device.cache_clear()
    yield library
    driver.device.cache_clear()
