"""The CUDA driver and NVRTC, its compiler, through ctypes: what a kernel needs to be compiled, loaded and launched.

Both come with a driver and with any library that has CUDA arrays; nothing else of CUDA is needed.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...errors import DeviceError
from .build import device_text
from .kernel import Kernel
from .tiles import MAX_SHARED_BYTES, PORTABLE_SHARED_BYTES

MAJOR, MINOR, MOST_SHARED, FUNCTION_SHARED = 75, 76, 97, 8
"""The attributes of a device that say what it can do, and the one by which a kernel asks for shared memory."""

NOT_READY = 600
"""The driver's answer for an event that is yet to come."""

VERSIONS = {"13": "130", "12": "120", "11.2": "112"}
"""Of NVRTC, as libraries are named by, and as they are on Windows."""


@cache
def driver() -> Any:
    """The driver's library, ready for use."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        found = ctypes.CDLL(name)
    except OSError as error:
        raise DeviceError(
            f"there is no CUDA driver on this machine: {error}.",
            hint="install NVIDIA's driver; or copy the array to the host, where a repack needs none",
        ) from None
    if found.cuInit(0):
        raise DeviceError("the CUDA driver finds no device.", hint="look at nvidia-smi; or copy the array to the host")
    return found


@cache
def nvrtc() -> Any:
    """The compiler's library, of a Python package or of the machine: one that the driver is not too old for, if any."""
    names = [Path(f"libnvrtc.so.{n}") for n in VERSIONS]
    if sys.platform == "win32":
        names = [Path(f"nvrtc64_{n}_0.dll") for n in VERSIONS.values()]
    version = c_int()
    driver().cuDriverGetVersion(byref(version))
    found = [*_packaged_libraries(), *names, *[Path("/usr/local/cuda/lib64") / name for name in names]]
    for path in sorted(found, key=lambda path: (_major(path) > version.value // 1000, -_major(path))):
        try:
            return ctypes.CDLL(str(path))
        except OSError:
            continue
    raise DeviceError(
        "NVRTC, which compiles the kernels, is not found.",
        hint="pip install 'relayout[gpu]', or nvidia-cuda-nvrtc of your driver's version; torch, cupy and jax have it",
    )


def _packaged_libraries() -> list[Path]:
    """The libraries in NVIDIA's packages, which other packages bring along."""
    spec = find_spec("nvidia")
    folders = [Path(p) for p in (spec.submodule_search_locations or [])] if spec is not None else []
    pattern = "**/nvrtc64_*.dll" if sys.platform == "win32" else "**/libnvrtc.so*"
    return [path for folder in folders for path in folder.glob(pattern) if "builtins" not in path.name]


def _major(path: Path) -> int:
    """The version of CUDA in the name of a library: libnvrtc.so.13, nvrtc64_130_0.dll."""
    number = re.search(r"so\.(\d+)|64_(\d+)\d_", path.name)
    return int(number[1] or number[2]) if number else 0


def check(code: int, what: str, hint: str = "an earlier kernel may have failed") -> None:
    """Refuse to go on when the driver did not do what it was asked for."""
    if code:
        text = c_char_p()
        driver().cuGetErrorString(code, byref(text))
        why = (text.value or b"unknown error").decode()
        raise DeviceError(f"{what} failed: {why} (CUDA error {code}).", hint=hint)


class Device:
    """A device with its primary context, the one that torch, cupy and jax use."""

    def __init__(self, number: int) -> None:
        self.number = number
        handle, context, major, minor = c_int(), c_void_p(), c_int(), c_int()
        check(driver().cuDeviceGet(byref(handle), number), f"the search for device {number}")
        check(driver().cuDevicePrimaryCtxRetain(byref(context), handle), f"the context of device {number}")
        driver().cuDeviceGetAttribute(byref(major), MAJOR, handle)
        driver().cuDeviceGetAttribute(byref(minor), MINOR, handle)
        shared = c_int()
        driver().cuDeviceGetAttribute(byref(shared), MOST_SHARED, handle)
        self.shared = min(max(shared.value, PORTABLE_SHARED_BYTES), MAX_SHARED_BYTES)
        self.context = context
        self.architecture = f"sm_{major.value}{minor.value}"
        self._current = driver().cuCtxGetCurrent

    def __enter__(self) -> bool:
        """Make the context current; where it is not, the one that was comes back at the end."""
        now = c_void_p()
        self._current(byref(now))
        other = now.value != self.context.value
        if other:
            check(driver().cuCtxPushCurrent_v2(self.context), "the change of context")
        return other

    def __exit__(self, *error: Any) -> None:
        now = c_void_p()
        driver().cuCtxPopCurrent_v2(byref(now))

    def call(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Do some work in the context."""
        if not self.__enter__():
            return work(*arguments)
        try:
            return work(*arguments)
        finally:
            self.__exit__()


@cache
def device(number: int) -> Device:
    return Device(number)


class Function:
    """A kernel on a device; it may be launched many times, by many threads. It stays loaded: graphs may hold it."""

    def __init__(self, where: Device, kernel: Kernel, binary: bytes | None = None) -> None:
        if binary is None:
            binary = compile_cubin(device_text(kernel, "relayout_kernel"), where.architecture)
        self._module, self._function = where.call(_load_library, binary)
        if kernel.shared > PORTABLE_SHARED_BYTES:
            asked = where.call(driver().cuFuncSetAttribute, self._function, FUNCTION_SHARED, kernel.shared)
            check(asked, "the request for shared memory")
        self._launch = driver().cuLaunchKernel
        sizes = kernel.blocks, 1, 1, kernel.threads, 1, 1, kernel.shared
        self._sizes = tuple([c_uint(size) for size in sizes])
        self._room: list[tuple[Any, Any]] = []

    def __call__(self, source: int, target: int, stream: int) -> None:
        """Ask for a run on a stream, in the context of its device; it is not waited for."""
        try:
            room = self._room.pop()
        except IndexError:
            room = _arguments()
        values, pointers = room
        values[0], values[1] = source, target
        code = self._launch(self._function, *self._sizes, c_void_p(stream), pointers, None)
        self._room.append(room)
        if code:
            check(code, "the launch of a kernel")

    def unload(self) -> None:
        """Free what a kernel takes on its device; no graph holds it, and it is not launched again."""
        check(driver().cuModuleUnload(self._module), "the unload of a kernel")


def _arguments() -> tuple[Any, Any]:
    """Room for two pointers, and pointers to them."""
    values = (c_void_p * 2)()
    first = ctypes.addressof(values)
    return values, (c_void_p * 2)(first, first + ctypes.sizeof(c_void_p))


def _load_library(binary: bytes) -> tuple[c_void_p, c_void_p]:
    module, function = c_void_p(), c_void_p()
    hint = "run it once before a graph is captured; or install nvidia-cuda-nvrtc of the driver's version"
    check(driver().cuModuleLoadData(byref(module), binary), "the load of a kernel", hint)
    check(driver().cuModuleGetFunction(byref(function), module, b"relayout_kernel"), "the load of a kernel", hint)
    return module, function


def compile_cubin(text: str, architecture: str) -> bytes:
    """The machine code of a kernel."""
    library = nvrtc()
    program, size = c_void_p(), c_size_t()
    library.nvrtcCreateProgram(byref(program), text.encode(), b"relayout.cu", 0, None, None)
    try:
        options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17"]
        if library.nvrtcCompileProgram(program, len(options), (c_char_p * len(options))(*options)):
            library.nvrtcGetProgramLogSize(program, byref(size))
            log = ctypes.create_string_buffer(size.value)
            library.nvrtcGetProgramLog(program, log)
            raise DeviceError(
                f"NVRTC does not compile a kernel for {architecture}: {log.value.decode(errors='replace')[:2000]}",
                hint="a newer NVRTC knows newer devices; if it is new, this is a bug: please report it with this text",
            )
        library.nvrtcGetCUBINSize(program, byref(size))
        binary = ctypes.create_string_buffer(size.value)
        library.nvrtcGetCUBIN(program, binary)
        return binary.raw
    finally:
        library.nvrtcDestroyProgram(byref(program))
