"""How kernels' texts are run: OpenCL by pocl, or by any other platform that pyopencl finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from code_pairs import Pair

JUNK = 0xA5


def opencl_is_missing() -> str:
    try:
        import pyopencl
    except ImportError:
        return "pyopencl is not installed"
    try:
        pyopencl.get_platforms()
    except pyopencl.LogicError:
        return "no OpenCL platform is installed: pip install pocl-binary-distribution"
    return ""


def run_opencl(pairs: list[Pair], texts: list[str], folder: Path) -> list[bytes | None]:
    """All kernels in one program; each memory ends where its buffer does."""
    import pyopencl as cl

    device = cl.get_platforms()[0].get_devices()[0]
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    program = cl.Program(context, "\n".join(texts)).build("-cl-std=CL1.2 -Werror")
    found: list[bytes | None] = []
    flags = cl.mem_flags
    for number, pair in enumerate(pairs):
        kernel = cl.Kernel(program, pair.name)
        given = np.frombuffer(pair.given or b"\0", np.uint8)
        src = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=given)
        dst = cl.Buffer(context, flags.READ_WRITE, max(pair.length, 1))
        cl.enqueue_fill_buffer(queue, dst, np.uint8(JUNK), 0, max(pair.length, 1))
        sizes = [np.int64(n) for n in pair.sizes]
        refused: Any = np.zeros(1, np.int32)
        flag = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=refused)
        refuses = kernel.num_args == 3 + len(sizes)
        items = 64 * (1 + number % 5)
        kernel(queue, (items,), (64 if number % 2 else 1,), src, dst, *sizes, *[flag] * refuses)
        out = np.empty(max(pair.length, 1), np.uint8)
        cl.enqueue_copy(queue, out, dst)
        cl.enqueue_copy(queue, refused, flag)
        found.append(None if refused[0] else out.tobytes()[: pair.length])
    return found
