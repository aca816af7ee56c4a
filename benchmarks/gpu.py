"""How fast a repack is on a CUDA device: relayout, torch, torch.compile, a plain Triton kernel and a copy, in one run.

    python benchmarks/gpu.py [--only 'transpose*'] [--sizes large,16M,1M] [--contenders ours,torch] [--json FILE]
    python benchmarks/gpu.py --random 200 --seed 7 [--skip 100] [--json FILE]

Workloads are written as for benchmarks/repack.py, and run in both directions. A size is that of the target with its
padding; "large" is the shape as written. Every result is written over junk and compared, byte by byte, with torch's
reshape, pad, permute and contiguous. Contenders take turns, between events on the device, each after the cache was
flushed, and the median is shown: as a fraction of the rate of ``Tensor.copy_``, over as many bytes as the repack reads
(elements) and writes (padding too). At sizes that the cache holds a turn is many calls one after the other, so that the
time of a launch counts, and the table shows microseconds of one call. "first" is the first call: planning, compiling
and loading; after it a plan is called until it has settled on a kernel. ``--random`` draws workloads by a seed
(random_workloads.py), with targets of 64 to 512 MiB; ``--skip`` leaves the first ones to another run. Rows are added
to those that FILE has.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch
from gpu_triton import transposed
from random_workloads import draw_workloads, tell_spread
from repack_cases import MIB, Side, Workload, workloads

import relayout as rl
from relayout.engine.gpu.trials import wait_for_kernels

TABLE = """
transpose 16384²;f32 f16;16384x16384;row;1 0;back
transpose 32768²;u8;32768x32768;row;1 0;back
NHWC to NCHW;f16;64x224x224x=64;row;0 3 1 2;back
RGB to planes;u8;64x1080x1920x=3;row;0 3 1 2;back
crouton;u8;128x224x224x=64;row;htp:R4Crouton;back
crouton padded;u8;128x217x221x=50;row;htp:R4Crouton;back
crouton in f16;f16;64x224x224x=64;row;htp:R4Crouton;back
conv weights;u8;=3x=3x4096x8192;row;htp:weights;back
nChw16c;f32;32x=256x128x128;row;onednn:nChw16c;back
tiles 128x128;f16;16384x16384;row;0 1 / 0,128 1,128;back
core matrices;f16;16384x16384;row;0 1 / 0,8 1,8;back
core matrices, by columns;f16;16384x16384;row;1 0 / 0,8 1,8;back
5-D (4,2,0,3,1);f32;32x48x40x56x64;row;perm:4,2,0,3,1;back
"""
CACHED = 48 * MIB
"""Smaller targets stay in the cache between calls."""

FLUSHED = 256 * MIB
"""More than a cache holds: so much is read before a turn, and nobody finds what the one before has left there."""

CALLS = 64
"""As many make a turn there."""

TRIALS = 24
"""So many calls, and a plan has tried all of its kernels."""

WAIT = 1_000_000
"""Cycles of the device that are longer than any launch takes on the host."""

CONTENDERS = ("copy", "torch", "compile", "triton", "ours")


class Case:
    """A workload at one size, with its memory on the device."""

    def __init__(self, work: Workload, shape: tuple[int, ...]) -> None:
        self.name, self.shape = work.name, shape
        self.source, self.target = [Side(layout) for layout in work.layouts(shape)]
        self.fill = getattr(work.target, "fill", None) or 0
        self.kind = work.dtype.name
        size = work.dtype.itemsize
        sizes = [side.layout.storage_size * size for side in (self.source, self.target)]
        self.traffic = self.source.layout.size * size + sizes[1]
        self.bytes = sizes[1]
        self.x = random_bytes(sizes[0]).view(getattr(torch, self.kind))
        self.y = torch.empty(sizes[1], dtype=torch.uint8, device="cuda").view(getattr(torch, self.kind))

    def by_reshapes(self) -> Callable[[Any], Any]:
        """torch's own way: one axis per digit, permuted, and padded where the target has more."""
        source, target, fill = self.source, self.target, self.fill
        stored, axes, box, window = source.sizes, [int(k) for k in np.argsort(source.order)], source.box, source.window
        pads = [n for size, whole in zip(target.extents[::-1], target.box[::-1]) for n in (0, whole - size)]
        digits, order = [digit.size for digit in target.digits], [int(k) for k in target.order]

        def move(x: Any) -> Any:
            logical = x.reshape(stored).permute(axes).reshape(box)[window]
            if any(pads):
                logical = torch.nn.functional.pad(logical, pads, value=fill)
            return logical.reshape(digits).permute(order).contiguous().reshape(-1)

        return (lambda x: move(x).clone()) if move(self.x).data_ptr() == self.x.data_ptr() else move

    def calls(self, names: list[str], first: dict[str, float]) -> dict[str, Callable[[], Any]]:
        """What takes turns; each result is checked."""
        idiom = self.by_reshapes()
        expected = idiom(self.x)
        plan = rl.plan(self.source.layout, self.target.layout, self.kind, fill=self.fill if self.gaps else None)
        torch._dynamo.reset()
        compiled = torch.compile(idiom, dynamic=False, fullgraph=True)
        makers: dict[str, Callable[[], Any]] = {
            "torch": lambda: idiom(self.x),
            "compile": lambda: compiled(self.x),
            "ours": lambda: plan(self.x, out=self.y),
        }
        triton = transposed(self.source, self.target, self.x, self.y)
        if triton is not None:
            makers["triton"] = triton
        found = {}
        for name in [name for name in names if name in makers]:
            first[name] = self.check(name, makers[name], expected)
            if name == "ours":
                settle(makers[name])
                self.check(name, makers[name], expected)
            found[name] = makers[name]
        flat = [random_bytes(self.traffic // 2), torch.empty(self.traffic // 2, dtype=torch.uint8, device="cuda")]
        return {"copy": lambda: flat[1].copy_(flat[0]), **found}

    def check(self, name: str, call: Callable[[], Any], expected: Any) -> float:
        """The seconds of a call that writes over junk, and must give the expected bytes."""
        self.y.view(torch.uint8).fill_(0xA5)
        torch.cuda.synchronize()
        start = perf_counter()
        result = call()
        torch.cuda.synchronize()
        seconds = perf_counter() - start
        if not torch.equal(result.view(torch.uint8).reshape(-1), expected.view(torch.uint8)):
            sys.exit(f"{self.name}: {name} moves other bytes")
        return seconds

    @property
    def gaps(self) -> bool:
        return self.target.layout.size < self.target.layout.storage_size


def settle(call: Callable[[], Any]) -> None:
    """Call until the fastest of several kernels is kept."""
    call()
    wait_for_kernels()
    for _ in range(TRIALS):
        call()
        torch.cuda.synchronize()


def random_bytes(count: int) -> Any:
    return torch.randint(0, 256, (count,), dtype=torch.uint8, device="cuda")


def microseconds(calls: dict[str, Callable[[], Any]], rounds: int, each: int) -> dict[str, float]:
    """The median time of one call, of contenders that take turns."""
    times: dict[str, list[Any]] = {name: [] for name in calls}
    order = list(calls)
    other = random_bytes(FLUSHED).view(torch.int64)
    for turn in range(rounds + 2):
        for name in order[turn % len(order) :] + order[: turn % len(order)]:
            start, end = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            if each == 1:
                # The device waits, so that what is asked for next is there before it begins.
                other.max()
                torch.cuda._sleep(WAIT)
            else:
                # The device is idle, so that the time of a launch counts.
                torch.cuda.synchronize()
            start.record()
            for _ in range(each):
                calls[name]()
            end.record()
            times[name].append((start, end))
        torch.cuda.synchronize()
    return {name: median([a.elapsed_time(b) for a, b in pairs[2:]]) * 1e3 / each for name, pairs in times.items()}


def measured(work: Workload, size: str, names: list[str], rounds: int) -> dict[str, Any]:
    """One row."""
    case = Case(work, work.shape if size == "large" else work.resized(int(size.rstrip("M")) * MIB))
    first: dict[str, float] = {}
    calls = case.calls(names, first)
    cached = case.bytes < CACHED
    times = microseconds(calls, rounds, CALLS if cached else 1)
    return {
        "workload": case.name,
        "shape": "x".join(map(str, case.shape)),
        "ends": f"{work.source} -> {work.target}",
        "MiB": case.bytes / MIB,
        "cached": cached,
        "TB/s of copy": case.traffic / times["copy"] / 1e6,
        "microseconds": times,
        "of copy": {name: times["copy"] / time for name, time in times.items() if name != "copy"},
        "first seconds": first,
    }


def line(row: dict[str, Any], names: list[str]) -> str:
    shown = row["microseconds"] if row["cached"] else row["of copy"]
    cells = [f"{shown[name]:.1f}" if row["cached"] else f"{shown[name]:.2f}" if name in shown else "" for name in names]
    cells = [cell if name in shown else "" for name, cell in zip(names, cells)]
    first = f"{row['first seconds'].get('ours', 0):.2f}"
    return f"| {row['workload']:34} | {row['shape']:17} | {row['MiB']:6.0f} | {' | '.join(cells)} | {first} |"


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """The mean over the large rows, the worst of them, and where torch.compile is faster."""
    lines = []
    large = [row for row in rows if not row["cached"] and "ours" in row["of copy"]]
    if large:
        values = [(row["of copy"]["ours"], f"{row['workload']} {row['shape']} {row['ends']}") for row in large]
        lines += tell_spread(values, "of copy")
    for row in rows:
        times = row["microseconds"]
        slower = [name for name in ("torch", "compile", "triton") if times.get(name, 1e9) < times.get("ours", 0)]
        ratios = [f"{name} ({times[name] / times['ours']:.2f})" for name in slower]
        lines += [f"slower than {', '.join(ratios)}: {row['workload']} {row['shape']}"] if slower else []
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="large", help="large, or MiB of the target: 16M,1M")
    parser.add_argument("--only", default="*", help="a pattern for the names of workloads")
    parser.add_argument("--workload", action="append", help="name;dtypes;shape;SRC;DST[;back] in place of the table")
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    parser.add_argument("--random", type=int, default=0, help="draw so many workloads in place of the table")
    parser.add_argument("--seed", type=int, default=0, help="what they are drawn by")
    parser.add_argument("--skip", type=int, default=0, help="so many of them are left out")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, help="write all numbers to this file")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("torch finds no CUDA device; this benchmark needs one")
    texts = options.workload or TABLE.strip().split("\n")
    if options.random:
        texts = draw_workloads(options.random, options.seed, 64 * MIB, 512 * MIB)[options.skip :]
    works = [work for text in texts for work in workloads(text) if fnmatch(work.name, options.only)]
    names = [name for name in options.contenders.split(",") if name != "copy"]
    card = torch.cuda.get_device_name()
    print(f"{card}, torch {torch.__version__}")
    print(f"| workload | shape | MiB | {' | '.join(names)} | first |\n|{'---|' * (len(names) + 4)}")
    rows: list[dict[str, Any]] = []
    if options.json and options.json.exists():
        rows = json.loads(options.json.read_text())["rows"]
    for size in options.sizes.split(","):
        for work in works:
            rows.append(measured(work, size, names, options.rounds))
            print(line(rows[-1], names), flush=True)
    print("\n".join(summary(rows)))
    if options.json:
        options.json.write_text(json.dumps({"card": card, "torch": torch.__version__, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
