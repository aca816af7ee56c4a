"""How fast generated CUDA is on a device, beside the engine's own run of the same pair.

    python benchmarks/code_device.py [--random 40] [--seed 7] [--rounds 11] [--json FILE]

Workloads are drawn by a seed (random_workloads.py), with targets of 64 to 512 MiB. Every function is built by nvcc,
all of them before the first is timed, and writes over junk; its bytes are compared with the engine's. Both take turns
as in gpu.py. "of a shape" is the function for one shape, "of any size" the one whose sizes are arguments, where both
ends are formats. A ratio above 1 means that generated code is faster.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from gpu import Case, microseconds
from random_workloads import draw_workloads, tell_spread
from repack_cases import MIB, Workload, workloads

import relayout as rl

Call = Callable[[], Any]
SHAPE, ANY_SIZE = "of a shape", "of any size"


def texts_of(work: Workload, number: int, fill: Any) -> dict[str, str]:
    """The functions of a workload: of its shape, and of any size where there is one."""
    layouts, kind = work.layouts(work.shape), work.dtype.name
    found = {SHAPE: rl.code(*layouts, kind, "cuda", name=f"move_{number}", fill=fill)}
    if isinstance(work.source, rl.Format) and isinstance(work.target, rl.Format):
        found[ANY_SIZE] = rl.code(work.source, work.target, kind, "cuda", name=f"any_{number}", fill=fill)
    return found


def build(texts: list[list[str]], folder: Path) -> list[Any]:
    """A library of each workload's functions, as many built side by side as there are processors."""
    waiting, running = list(range(len(texts))), dict[int, Any]()
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            k = waiting.pop()
            source = folder / f"{k}.cu"
            source.write_text("\n".join(texts[k]))
            flags = ["-std=c++17", "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-w"]
            running[k] = subprocess.Popen(["nvcc", *flags, str(source), "-o", str(folder / f"{k}.so")])
        k = next(iter(running))
        if running.pop(k).wait():
            sys.exit(f"nvcc does not build workload {k}")
    return [ctypes.CDLL(str(folder / f"{k}.so")) for k in range(len(texts))]


def generated_call(library: Any, name: str, case: Case, sizes: tuple[int, ...]) -> Call:
    """A call of a generated function on a case's memories, on torch's stream."""
    function = getattr(library, name)
    memories = [ctypes.c_void_p(x.data_ptr()) for x in (case.x, case.y)]
    given = [*memories, *[ctypes.c_int64(n) for n in sizes]]

    def run() -> None:
        error = function(*given, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        if error:
            sys.exit(f"{name}: CUDA error {error}")

    return run


def calls_of(case: Case, library: Any, texts: dict[str, str], number: int) -> dict[str, Call]:
    """What takes turns, each compared with the engine's bytes."""
    plan = rl.plan(case.source.layout, case.target.layout, case.kind, fill=case.fill if case.gaps else None)
    names = {SHAPE: f"move_{number}", ANY_SIZE: f"any_{number}"}
    found: dict[str, Call] = {"engine": lambda: plan(case.x, out=case.y)}
    for what in texts:
        found[what] = generated_call(library, names[what], case, case.shape if what == ANY_SIZE else ())
    expected = None
    for what, call in found.items():
        case.y.view(torch.uint8).fill_(0xA5)
        call()
        torch.cuda.synchronize()
        got = case.y.view(torch.uint8)
        expected = got.clone() if expected is None else expected
        if not torch.equal(got, expected):
            sys.exit(f"{case.name}: {what} moves other bytes")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--random", type=int, default=40)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("torch finds no CUDA device; this benchmark needs one")
    drawn = draw_workloads(options.random, options.seed, 64 * MIB, 512 * MIB)
    works = [work for text in drawn for work in workloads(text)]
    fills = [getattr(work.target, "fill", None) or 0 for work in works]
    texts = [texts_of(work, k, fill) for k, (work, fill) in enumerate(zip(works, fills, strict=True))]
    rows = list[dict[str, Any]]()
    with tempfile.TemporaryDirectory() as folder:
        libraries = build([list(own.values()) for own in texts], Path(folder))
        for k, work in enumerate(works):
            case = Case(work, work.shape)
            times = microseconds(calls_of(case, libraries[k], texts[k], k), options.rounds, 1)
            shape = "x".join(map(str, case.shape))
            ratios = {name: times["engine"] / time for name, time in times.items() if name != "engine"}
            rows.append({"workload": case.name, "shape": shape, "microseconds": times, "of the engine": ratios})
            cells = ", ".join([f"{name} {ratio:.2f}" for name, ratio in ratios.items()])
            print(f"{case.name} {shape}, {case.bytes / MIB:.0f} MiB: {cells}", flush=True)
            del case
    for what in (SHAPE, ANY_SIZE):
        told = [(row, row["of the engine"]) for row in rows]
        found = [(ratios[what], f"{row['workload']} {row['shape']}") for row, ratios in told if what in ratios]
        if found:
            print("\n".join(tell_spread(found, f"the engine's time over that of code {what}")))
    if options.json:
        options.json.write_text(json.dumps({"card": torch.cuda.get_device_name(), "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
