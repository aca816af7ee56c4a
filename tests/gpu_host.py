"""Runs the text of kernels on the host: compiled by a C++ compiler, thread by thread, with every access checked."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from relayout.engine.gpu.kernel import Kernel
from relayout.engine.gpu.prelude import HOST

COMPILER = shutil.which("g++") or shutil.which("c++")


def host_text(kernels: Sequence[Kernel]) -> str:
    """All kernels as functions that run their blocks and threads in turn, phase by phase."""
    texts = [HOST]
    for k, kernel in enumerate(kernels):
        calls = [f"for (int t = 0; t < {kernel.threads}; ++t) {p}(source, target, room, b, t);" for p in kernel.phases]
        texts.append(
            f"namespace k{k} {{\n{kernel.text}\n}}\n"
            f'extern "C" const char *run{k}(const u8 *source, i64 source_size, u8 *target, i64 target_size) {{\n'
            f"    using namespace k{k};\n"
            f"    alignas(16) static u8 room[{max(kernel.shared, 16)}];\n"
            "    const u8 *ends[6] = {source, source + source_size, target, target + target_size, room,\n"
            "                         room + sizeof room};\n"
            "    std::memcpy(bound, ends, sizeof ends);\n"
            f"    try {{\n    for (u32 b = 0; b < {kernel.blocks}u; ++b) {{\n"
            "        std::memset(room, 0xee, sizeof room);\n        " + "\n        ".join(calls) + "\n    }\n"
            "    } catch (const char *error) { return error; }\n"
            "    return nullptr;\n}\n"
        )
    return "\n".join(texts)


def compiled(kernels: Sequence[Kernel], folder: Path) -> Any:
    """A library with run0, run1, ... for the kernels."""
    text, library = folder / "kernels.cpp", folder / "kernels.so"
    text.write_text(host_text(kernels))
    command = [
        str(COMPILER),
        "-std=c++17",
        "-O1",
        "-w",
        "-ffp-contract=off",
        "-fno-strict-aliasing",
        "-shared",
        "-fPIC",
    ]
    done = subprocess.run([*command, "-o", str(library), str(text)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[:4000])
    return ctypes.CDLL(str(library))


def run(library: Any, k: int, source: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> None:
    """Kernel ``k`` on flat memories; nothing beside them is touched."""
    pointers = [(ctypes.c_void_p(x.ctypes.data), ctypes.c_longlong(x.nbytes)) for x in (source, target)]
    launch = getattr(library, f"run{k}")
    launch.restype = ctypes.c_char_p
    fault = launch(*pointers[0], *pointers[1])
    assert fault is None, fault.decode()
