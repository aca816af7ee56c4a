"""Kernels: their self-tests run where a tool does, the others are compiled; index functions; what is refused."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import relayout as rl
from code_device_runners import opencl_is_missing, triton_is_missing
from code_pairs import places

TILES, CROUTON = "0 1 / 0,2 1,4", "htp:R4Crouton"
HIPCC = shutil.which("hipcc")
QUANTISED = rl.ScaleOffset(0.125, 31, "quint8")

needs_nvcc = pytest.mark.skipif(not shutil.which("nvcc"), reason="NO CUDA COMPILED: nvcc is not installed")
needs_cxx = pytest.mark.skipif(not shutil.which("g++"), reason="NO METAL PARSED: g++ is not installed")
needs_triton = pytest.mark.skipif(bool(triton_is_missing()), reason="NO TRITON RUN: triton is not installed")
needs_opencl = pytest.mark.skipif(bool(opencl_is_missing()), reason=f"NO OPENCL RUN: {opencl_is_missing()}")


def run(command: list[Any], **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr[:4000]
    return done.stdout


def self_tests(target: str, *, converts: bool) -> str:
    """One text whose test runs a tiled transposition, a format of any size, packed elements and a conversion."""
    found = [
        rl.code("0 1", "1 0", "float32", target, name="turn", shape=(96, 80), test=True),
        rl.code("nhwc", CROUTON, "uint8", target, axes="nhwc", inverse=True, test=True),
        rl.code("0 1", "1 0 / 1,8", "uint3", target, name="packed", shape=(5, 13), fill=1, test=True),
    ]
    if converts:
        found.append(rl.code("0 1", "1 0 / 1,8", "float32", target, dst_element=QUANTISED, name="quantise", test=True))
    return "\n\f".join(found)


# ---- self-tests ------------------------------------------------------------------------------------------


@needs_cxx
def test_metal_runs_thread_by_thread(tmp_path: Path) -> None:
    for k, text in enumerate(self_tests("metal", converts=False).split("\f")):
        source, program = tmp_path / f"{k}.metal", tmp_path / f"metal_{k}"
        source.write_text(text)
        run(["g++", "-x", "c++", "-Wall", "-Wextra", "-Werror", "-Wno-attributes", source, "-o", program])
        assert run([program]) == "ok\n"


def test_a_text_in_opencl_is_its_own_test(tmp_path: Path) -> None:
    """Compiled by a C compiler where the headers of OpenCL are installed, and run where a platform is."""
    compiler = shutil.which("cc")
    probe = tmp_path / "probe.c"
    probe.write_text(
        "#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\n"
        "int main(void) { cl_uint n = 0; return clGetPlatformIDs(0, 0, &n) || !n; }\n"
    )
    command = [str(compiler), str(probe), "-o", str(tmp_path / "probe"), "-lOpenCL"]
    if compiler is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("NO OPENCL HOST PROGRAM: the headers of OpenCL are not installed")
    if subprocess.run([str(tmp_path / "probe")], capture_output=True).returncode:
        pytest.skip("NO OPENCL HOST PROGRAM RUN: there is no platform")
    for k, text in enumerate(self_tests("opencl", converts=True).split("\f")[1::2]):
        source, program = tmp_path / f"{k}.cl", tmp_path / f"opencl_{k}"
        source.write_text(text)
        run([compiler, "-Wall", "-Wextra", "-Werror", "-x", "c", source, "-o", program, "-lOpenCL"])
        assert run([program]) == "ok\n"


@needs_nvcc
def test_cuda_compiles_without_a_warning(tmp_path: Path) -> None:
    """All kinds in one file; it is run by gpu_checks.py."""
    texts = self_tests("cuda", converts=True).split("\f")
    source = tmp_path / "pack.cu"
    source.write_text("\n".join([re.sub(r"\bmain\(", f"main_{k}(", text) for k, text in enumerate(texts)]))
    run(["nvcc", "-arch=sm_90", "-Werror", "all-warnings", "-Xcompiler", "-Wall", "-c", source, "-o", tmp_path / "o"])


@pytest.mark.skipif(HIPCC is None, reason="NO HIP COMPILED: hipcc is not installed")
def test_hip_compiles_for_a_device_of_amd(tmp_path: Path) -> None:
    texts = self_tests("hip", converts=True).split("\f")
    source = tmp_path / "pack.hip"
    source.write_text("\n".join([re.sub(r"\bmain\(", f"main_{k}(", text) for k, text in enumerate(texts)]))
    command = ["hipcc", "--offload-arch=gfx90a", "-Wall", "-Werror", "-c", source, "-o", tmp_path / "o"]
    run(command, HIP_PLATFORM="amd")


def test_the_kernels_of_a_shape_are_the_engine_s() -> None:
    """Tiles in shared memory, at the engine's own numbers of blocks and threads."""
    from relayout.engine.gpu.build import kernels

    plan = rl.plan("0 1", "1 0", "float32", shape=(4096, 4096))
    (kernel,) = kernels(plan, (16, 16))
    text = rl.code("0 1", "1 0", "float32", "cuda", name="turn", shape=(4096, 4096))
    assert f"turn_kernel<<<{kernel.blocks}, {kernel.threads}, {kernel.shared}, stream>>>(" in text
    assert "__shared__" in text
    assert 'extern "C" cudaError_t turn(const float *src, float *dst,' in text


# ---- one layout ------------------------------------------------------------------------------------------


def expected_walk() -> list[tuple[int, int, int]]:
    """Place and coordinate of every element of 3 by 8 in tiles of 2 by 4, in the order of memory."""
    found = places(rl.parse(TILES).layout((3, 8)))
    return sorted([(int(found[i, j]), i, j) for i in range(3) for j in range(8)])


@needs_nvcc
def test_index_functions_of_cuda_run_on_the_host_too(tmp_path: Path) -> None:
    text = (
        rl.code(TILES, name="tiles", target="cuda")
        + """
#include <stdio.h>
struct Print {
  __host__ __device__ void operator()(int64_t at, int64_t i, int64_t j) const {
    int64_t a, b;
    if (tiles_offset(i, j, 3, 8) == at && tiles_coordinate(at, &a, &b, 3, 8) && a == i && b == j)
      printf("%d %d %d\\n", (int)at, (int)i, (int)j);
  }
};
int main() { tiles_each(Print(), 3, 8); return 0; }
"""
    )
    (tmp_path / "tiles.cu").write_text(text)
    run(["nvcc", tmp_path / "tiles.cu", "-o", tmp_path / "tiles"])
    assert run([tmp_path / "tiles"]) == "".join([f"{at} {i} {j}\n" for at, i, j in expected_walk()])


@needs_opencl
def test_index_functions_of_opencl() -> None:
    import numpy as np
    import pyopencl as cl

    text = (
        rl.code(TILES, name="tiles", target="opencl")
        + """
__kernel void walk(__global long *out) {
  long i, j;
  const long at = get_global_id(0);
  const int found = tiles_coordinate(at, &i, &j, 3, 8);
  out[3 * at] = found ? tiles_offset(i, j, 3, 8) : -1;
  out[3 * at + 1] = found ? i : -1;
  out[3 * at + 2] = found ? j : -1;
}
"""
    )
    context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
    queue = cl.CommandQueue(context)
    out = np.zeros((32, 3), np.int64)
    memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, out.nbytes)
    cl.Kernel(cl.Program(context, text).build("-Werror"), "walk")(queue, (32,), None, memory)
    cl.enqueue_copy(queue, out, memory)
    assert [tuple(row) for row in out.tolist() if row[0] >= 0] == expected_walk()


@needs_triton
def test_triton_runs_in_its_interpreter(tmp_path: Path) -> None:
    """The self-test with a fill that sets all bits, and the index functions of one layout."""
    text = (
        rl.code("0 1", "1 0 / 1,8", "uint4", "triton", fill=15, inverse=True, test=True)
        + rl.code(TILES, name="tiles", target="triton")
        + """
import torch
import triton.language as tl


@triton.jit
def walk(out):
    place = tl.arange(0, 32)
    i, j, held = tiles_coordinate(place, 3, 8)
    tl.store(out + place * 3, tl.where(held, tiles_offset(i, j, 3, 8), -1))
    tl.store(out + place * 3 + 1, i)
    tl.store(out + place * 3 + 2, j)


out = torch.zeros(96, dtype=torch.int64)
walk[(1,)](out)
for row in out.reshape(32, 3).tolist():
    if row[0] >= 0:
        print(*row)
"""
    )
    (tmp_path / "walk.py").write_text(text)
    got = run([sys.executable, tmp_path / "walk.py"], TRITON_INTERPRET="1", CUDA_VISIBLE_DEVICES="")
    assert got == "".join(["ok\n", *[f"{at} {i} {j}\n" for at, i, j in expected_walk()]])


# ---- what is said, and refused ---------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["opencl", "metal", "triton"])
def test_the_width_of_indices_is_said(target: str) -> None:
    assert "counted by 32 bits" in rl.code("0 1", "1 0", "uint8", target, shape=(40, 50))
    assert "counted by 64 bits" in rl.code("0 1", "1 0", "uint8", target, shape=(1 << 16, 1 << 15))
    assert "counted by 64 bits" in rl.code("0 1", "1 0", "uint8", target)


@pytest.mark.parametrize(
    ("target", "name"),
    [("cuda", "blockIdx"), ("hip", "template"), ("opencl", "kernel"), ("metal", "device"), ("triton", "lambda")],
)
def test_names_that_a_language_has_are_refused(target: str, name: str) -> None:
    with pytest.raises(rl.ShapeError, match=f"{name} has a meaning in {target}"):
        rl.code("0 1", "1 0", "uint8", target, name=name)


def test_conversions_that_would_not_be_exact_are_refused() -> None:
    with pytest.raises(rl.NotExpressible, match="reorders the arithmetic of floats"):
        rl.code("0 1", "1 0", "float32", "metal", dst_element=QUANTISED)
    with pytest.raises(rl.NotExpressible, match="kernels of Triton move bits"):
        rl.code("0 1", "1 0", "float32", "triton", dst_element="float64")
    assert "kernel void" in rl.code("0 1", "1 0", "int16", "metal", dst_element="int8")


def test_places_that_do_not_tell_their_element() -> None:
    """Strides that do not nest: the engine goes through elements, one thread a place cannot."""
    target = rl.Layout((3, 2), (2, 3))
    with pytest.raises(rl.NotExpressible, match="no place of the target tells its element"):
        rl.code(rl.Layout.row_major((3, 2)), target, "uint8", "opencl")
    assert "kernel_1<<<" in rl.code(rl.Layout.row_major((3, 2)), target, "uint8", "cuda")
