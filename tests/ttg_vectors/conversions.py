"""Record how Triton lowers ``ttg.convert_layout``, without a GPU: ``python tests/ttg_vectors/conversions.py``.

A line has both encodings, the shape, the element type, the target, the bytes of shared memory and the number of
shuffles; those of AMD, which are not all instructions of their own, are not counted: -1.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget, Language
from triton.compiler.compiler import make_backend

CUDA, HIP = GPUTarget("cuda", 90, 32), GPUTarget("hip", "gfx942", 64)
KERNEL = """
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {warps} : i32, ttg.target = "{target}",
                    "ttg.threads-per-warp" = {lanes} : i32}} {{
  tt.func public @f(%p: tensor<{sizes}x!tt.ptr<{element}>, {a}>, %q: tensor<{sizes}x!tt.ptr<{element}>, {b}>) {{
    %x = tt.load %p : tensor<{sizes}x!tt.ptr<{element}>, {a}>
    %y = ttg.convert_layout %x : tensor<{sizes}x{element}, {a}> -> tensor<{sizes}x{element}, {b}>
    tt.store %q, %y : tensor<{sizes}x!tt.ptr<{element}>, {b}>
    tt.return
  }}
}}
"""


class Case(NamedTuple):
    a: str
    b: str
    shape: tuple[int, ...]
    element: str
    target: GPUTarget
    warps: int


def draws(rng: Random, count: int) -> Iterator[Case]:
    """Pairs of encodings of the same threads: many of them near each other, so that all ways occur."""
    for _ in range(count):
        target = rng.choice([CUDA, CUDA, HIP])
        rank = rng.choice([1, 2, 2, 2, 3])
        warps = rng.choice([1, 2, 4])
        shape = tuple([1 << rng.randrange(1, 8 - rank) for _ in range(rank)])
        a, b = (_encoding(rng, rank, warps, target) for _ in range(2))
        if rng.random() < 0.5:
            b = _near(rng, a)
        yield Case(a, b, shape, rng.choice(["f32", "f16", "i8", "f64"]), target, warps)


def _powers(rng: Random, total: int, rank: int) -> list[int]:
    sizes = [1] * rank
    for _ in range(total.bit_length() - 1):
        sizes[rng.randrange(rank)] *= 2
    return sizes


def _encoding(rng: Random, rank: int, warps: int, target: GPUTarget) -> str:
    dealt = _powers(rng, warps, rank)
    if rank == 2 and rng.random() < 0.4:
        if target is HIP:
            shape = rng.choice([[32, 32, 8], [16, 16, 16]])
            mma = (
                f"#ttg.amd_mfma<{{version = 3, warpsPerCTA = {dealt}, instrShape = {shape}, "
                f"isTransposed = {rng.choice(['true', 'false'])}}}>"
            )
        else:
            mma = (
                f"#ttg.nvidia_mma<{{versionMajor = 2, versionMinor = 0, warpsPerCTA = {dealt}, instrShape = [16, 8]}}>"
            )
        if rng.random() < 0.5:
            return mma
        return f"#ttg.dot_op<{{opIdx = {rng.randrange(2)}, parent = {mma}, kWidth = {rng.choice([2, 4])}}}>"
    return (
        f"#ttg.blocked<{{sizePerThread = {_powers(rng, 1 << rng.randrange(4), rank)}, "
        f"threadsPerWarp = {_powers(rng, target.warp_size, rank)}, warpsPerCTA = {dealt}, "
        f"order = {rng.sample(range(rank), rank)}}}>"
    )


def _near(rng: Random, text: str) -> str:
    """The same encoding with one parameter changed."""
    if "order = [1, 0]" in text and rng.random() < 0.5:
        return text.replace("order = [1, 0]", "order = [0, 1]")
    if "sizePerThread" in text:
        own = re.findall(r"sizePerThread = \[([^\]]*)\]", text)[0].split(", ")
        sizes = [str(max(1, int(n) * 2 if rng.random() < 0.5 else int(n) // 2)) for n in own]
        return text.replace(f"sizePerThread = [{', '.join(own)}]", f"sizePerThread = [{', '.join(sizes)}]")
    return text.replace("isTransposed = true", "isTransposed = false").replace("kWidth = 2", "kWidth = 4")


def line(case: Case) -> str | None:
    """What Triton does, in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        try:
            os.write(write, _ask(case).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer or None


def _ask(case: Case) -> str:
    backend = make_backend(case.target)
    arch = {"arch": case.target.arch} if case.target.backend == "hip" else {}
    options = backend.parse_options({"num_warps": case.warps, **arch})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    named = f"cuda:{case.target.arch}" if case.target.backend == "cuda" else f"hip:{case.target.arch}"
    sizes = "x".join(map(str, case.shape))
    text = KERNEL.format(
        **case._asdict() | {"target": named, "lanes": case.target.warp_size, "sizes": sizes, "warps": case.warps}
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.mlir"
        path.write_text(text)
        module = ir.parse_mlir_module(str(path), context)
    module.context = context
    stages: dict[str, object] = {}
    backend.add_stages(stages, options, Language.TRITON)
    metadata = {"target": case.target, **options.__dict__}
    lowered = str(stages["llir"](module, metadata))  # type: ignore[operator]
    shuffles = len(re.findall(r"call .*shfl", lowered)) if case.target.backend == "cuda" else -1
    return "\t".join([case.a, case.b, sizes, case.element, named, str(metadata["shared"]), str(shuffles)])


if __name__ == "__main__":
    lines = dict.fromkeys([found for case in draws(Random(21), 300) if (found := line(case)) is not None])
    (Path(__file__).parent / "conversions.txt").write_text("".join([f"{one}\n" for one in lines]))
    raise SystemExit(None if lines else "Triton accepted no case")
