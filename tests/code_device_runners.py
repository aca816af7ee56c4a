"""How kernels' texts are run: OpenCL by pocl or any platform that pyopencl finds, Triton by its interpreter or on a
device, CUDA on a device, HIP there in CUDA's words, and Metal thread by thread in those of C++.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from code_pairs import Pair
from relayout.codegen.metal_target import HOST_WORDS

JUNK = 0xA5


def outputs(got: bytes, pairs: list[Pair]) -> list[bytes | None]:
    """What a program wrote for each pair: 0 or 1, refused, and the target."""
    found: list[bytes | None] = []
    start = 0
    for pair in pairs:
        assert got[start] in (0, 1), pair
        found.append(None if got[start] else got[start + 1 : start + 1 + pair.length])
        start += 1 + pair.length
    assert start == len(got), "more bytes than the pairs have"
    return found


def run_parts(
    pairs: list[Pair],
    texts: list[str],
    folder: Path,
    parts: int,
    commands: Callable[[int, list[Pair], list[str]], list[list[str]]],
    **environment: str,
) -> list[bytes | None]:
    """The pairs dealt to so many programs, which are built side by side and then run so; ``commands`` are of one."""
    dealt = [list(range(k, len(pairs), parts)) for k in range(min(parts, len(pairs)))]
    steps = [commands(k, [pairs[i] for i in own], [texts[i] for i in own]) for k, own in enumerate(dealt)]
    found: list[bytes | None] = [None] * len(pairs)
    for k, own in enumerate(dealt):
        (folder / f"given_{k}").write_bytes(b"".join([pairs[i].given for i in own]))
    for turn in range(len(steps[0])):
        started = []
        for k, own in enumerate(steps):
            ends = [
                (folder / f"{name}_{k}").open(mode) for name, mode in (("given", "rb"), ("out", "wb"), ("err", "wb"))
            ]
            started.append(
                subprocess.Popen(
                    own[turn], stdin=ends[0], stdout=ends[1], stderr=ends[2], env={**os.environ, **environment}
                )
            )
            for end in ends:
                end.close()
        for k, process in enumerate(started):
            assert process.wait() == 0, (folder / f"err_{k}").read_text(errors="replace")[-4000:]
    for k, own in enumerate(dealt):
        got = outputs((folder / f"out_{k}").read_bytes(), [pairs[i] for i in own])
        for i, out in zip(own, got, strict=True):
            found[i] = out
    return found


def has_device() -> bool:
    """Whether there is a CUDA device: its driver brings this program, and a question to torch takes seconds."""
    return shutil.which("nvidia-smi") is not None


# ---- OpenCL ----------------------------------------------------------------------------------------------


def opencl_is_missing() -> str:
    if find_spec("pyopencl") is None:
        return "pyopencl is not installed"
    import pyopencl as cl

    try:
        device = cl.get_platforms()[0].get_devices()[0]
    except cl.LogicError:
        return "no OpenCL platform is installed: pip install pocl-binary-distribution"
    try:
        cl.Program(cl.Context([device]), "__kernel void nothing(void) {}").build()
    except cl.RuntimeError:
        return f"{device.platform.name} compiles not even an empty kernel for this processor, {device.name}"
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
        out = np.full(max(pair.length, 1), JUNK, np.uint8)
        src = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=given)
        dst = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=out)
        sizes = [np.int64(n) for n in pair.sizes]
        refused: Any = np.zeros(1, np.int32)
        flag = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=refused)
        refuses = kernel.num_args == 3 + len(sizes)
        items = 64 * (1 + number % 5)
        kernel(queue, (items,), (64 if number % 2 else 1,), src, dst, *sizes, *[flag] * refuses)
        cl.enqueue_copy(queue, out, dst)
        cl.enqueue_copy(queue, refused, flag)
        found.append(None if refused[0] else out.tobytes()[: pair.length])
    return found


# ---- Metal -----------------------------------------------------------------------------------------------

METAL_RUN = """
template <typename Call> static void run(long given, long written, Call call) {
  uchar *src = (uchar *)malloc(given ? given : 1);
  uchar *dst = (uchar *)malloc(written ? written : 1);
  int refused = 0;
  if (given && fread(src, given, 1, stdin) != 1)
    abort();
  for (long k = 0; k < written; ++k)
    dst[k] = 0xa5;
  for (uint k = 0; k < 70; ++k)
    call(src, dst, &refused, k, 70u);
  putchar(refused);
  fwrite(dst, 1, written, stdout);
  free(src);
  free(dst);
}
"""


def run_metal(pairs: list[Pair], texts: list[str], folder: Path) -> list[bytes | None]:
    """All kernels by a C++ compiler, which finds a header in place of Metal's: its words alone."""
    (folder / "metal_stdlib").write_text(f"#pragma once\n{HOST_WORDS}\nnamespace metal {{}}\n")
    calls = []
    for pair, text in zip(pairs, texts, strict=True):
        head = text[text.index(f"kernel void {pair.name}(") :]
        kinds = re.findall(r"device (?:const )?(\w+) \*\w+ \[", head[: head.index(") {")])
        flag = ["refused"] * (len(kinds) == 3)
        given = [f"(const {kinds[0]} *)src", f"({kinds[1]} *)dst", *map(str, pair.sizes), *flag, "k", "threads"]
        calls.append(
            f"  run({len(pair.given)}, {pair.length}, [](uchar *src, uchar *dst, int *refused, uint k, uint threads) "
            f"{{ {pair.name}({', '.join(given)}); }});"
        )
    source, program = folder / "pairs.cpp", folder / "metal_pairs"
    source.write_text("\n".join([*texts, METAL_RUN, "int main() {", *calls, "  return 0;\n}\n"]))
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Wno-attributes", "-Wno-unused", "-Werror"]
    sanitizers = ["-fsanitize=undefined,address", "-fno-sanitize-recover=all"]
    command = [str(shutil.which("g++") or "clang++"), *flags, *sanitizers, f"-I{folder}", str(source), "-o"]
    return run_parts(pairs, texts, folder, 1, lambda *_: [[*command, str(program)], [str(program)]])


# ---- Triton ----------------------------------------------------------------------------------------------

TRITON_RUN = """
import sys

device = "cuda" if torch.cuda.is_available() else "cpu"
data = sys.stdin.buffer.read()
at = 0
for call, given, written, sizes in PAIRS:
    src = torch.frombuffer(bytearray(data[at : at + given]) or bytearray(16), dtype=torch.uint8).to(device)
    dst = torch.full((written + 64,), 0xA5, dtype=torch.uint8, device=device)
    call(src, dst[:written], *sizes)
    assert bool((dst[written:] == 0xA5).all()), call
    sys.stdout.buffer.write(b"\\0" + bytes(dst[:written].tolist()))
    at += given
"""


def triton_is_missing() -> str:
    return "" if find_spec("triton") and find_spec("torch") else "triton is not installed"


def run_triton(pairs: list[Pair], texts: list[str], folder: Path) -> list[bytes | None]:
    """The kernels of one file, by the interpreter where there is no device."""

    def commands(k: int, own: list[Pair], its: list[str]) -> list[list[str]]:
        listed = "".join([f"    ({p.name}, {len(p.given)}, {p.length}, {p.sizes}),\n" for p in own])
        source = folder / f"pairs_{k}.py"
        source.write_text("\n".join([*its, f"PAIRS = [\n{listed}]", TRITON_RUN]))
        return [[sys.executable, str(source)]]

    if has_device():
        return run_parts(pairs, texts, folder, os.cpu_count() or 1, commands)
    return run_parts(pairs, texts, folder, 1, commands, TRITON_INTERPRET="1")


# ---- CUDA and HIP ----------------------------------------------------------------------------------------

CUDA_RUN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

template <typename Call> static void run(long given, long written, Call call) {
  const long beside = 64, most = (given > written ? given : written) + beside;
  uint8_t *bytes = (uint8_t *)malloc(most), *src, *dst;
  int *flag, refused = 0;
  if (given && fread(bytes, given, 1, stdin) != 1)
    abort();
  if (cudaMalloc(&src, given + 1) || cudaMalloc(&dst, written + beside) || cudaMalloc(&flag, sizeof(int)))
    abort();
  cudaMemcpy(src, bytes, given, cudaMemcpyHostToDevice);
  cudaMemset(dst, 0xa5, written + beside);
  cudaMemset(flag, 0, sizeof(int));
  if (call(src, dst, flag) || cudaMemcpy(bytes, dst, written + beside, cudaMemcpyDeviceToHost) ||
      cudaMemcpy(&refused, flag, sizeof(int), cudaMemcpyDeviceToHost))
    abort();
  for (long k = 0; k < beside; ++k)
    if (bytes[written + k] != 0xa5)
      abort();
  putchar(refused);
  fwrite(bytes, 1, written, stdout);
  cudaFree(src);
  cudaFree(dst);
  cudaFree(flag);
  free(bytes);
}
"""

HIP_WORDS = """#pragma once
#include <cuda_runtime.h>
#define hipError_t cudaError_t
#define hipStream_t cudaStream_t
#define hipSuccess cudaSuccess
#define hipErrorInvalidValue cudaErrorInvalidValue
#define hipGetLastError cudaGetLastError
#define hipMemsetAsync cudaMemsetAsync
"""
"""HIP's names as CUDA's, for a device of NVIDIA's."""


def cuda_is_missing() -> str:
    if not shutil.which("nvcc"):
        return "nvcc is not installed"
    return "" if has_device() else "there is no CUDA device: kernels are compiled only"


def cuda_source(pairs: list[Pair], texts: list[str]) -> str:
    """One program for many pairs, in CUDA or HIP."""
    calls = []
    for pair, text in zip(pairs, texts, strict=True):
        found = re.search(rf'extern "C" \w+ {pair.name}\(\s*([^)]*)\)', text)
        assert found, pair
        kinds = re.findall(r"(\w+) \*(?:src|dst)", found[1])
        flag = ["flag"] * ("int *refused" in found[1])
        given = [f"(const {kinds[0]} *)src", f"({kinds[1]} *)dst", *map(str, pair.sizes), *flag, "0"]
        calls.append(
            f"  run({len(pair.given)}, {pair.length}, [](uint8_t *src, uint8_t *dst, int *flag) "
            f"{{ return {pair.name}({', '.join(given)}); }});"
        )
    return "\n".join([*texts, CUDA_RUN, "int main() {", *calls, "  return 0;\n}\n"])


def run_cuda(pairs: list[Pair], texts: list[str], folder: Path) -> list[bytes | None]:
    (folder / "hip").mkdir(exist_ok=True)
    (folder / "hip" / "hip_runtime.h").write_text(HIP_WORDS)

    def commands(k: int, own: list[Pair], its: list[str]) -> list[list[str]]:
        source, program = folder / f"pairs_{k}.cu", str(folder / f"cuda_pairs_{k}")
        source.write_text(cuda_source(own, its))
        flags = ["-std=c++17", "-O1", "-arch=native", "-w", f"-I{folder}"]
        return [["nvcc", *flags, str(source), "-o", program], [program]]

    return run_parts(pairs, texts, folder, os.cpu_count() or 1, commands)
