"""How fast generated C is: against our engine on one thread, numpy, and the nest of loops that one writes first.

    python benchmarks/code.py [--only 'crouton*'] [--cc gcc] [--seconds 2] [--any-size]
    python benchmarks/code.py --random 60 --seed 7 [--json FILE]

Workloads are those of repack.py, at 32 MiB and more, or drawn by a seed. Every text is compiled once, by
``gcc -O3 -march=native``, with a plain nest of loops beside it: one loop for each digit of the target, the slowest
first, each element moved by sums of products. Both are called in this process, on the same memory, in turns with the
engine and numpy; a ratio compares the turns of one repetition, by the processor's time, so that the work of others
counts less, and the median is shown. Before the clock every result is compared with numpy's, bit for bit. With
``--any-size`` the sizes are arguments where both sides are formats.

The goal: a geometric mean of at least 0.6 of the engine's speed, and no row slower than the plain nest.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import tempfile
from collections.abc import Sequence
from fnmatch import fnmatch
from math import exp, log
from pathlib import Path
from statistics import mean, median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from random_workloads import draw_workloads
from repack_cases import MIB, TABLE, Call, Case, Side, Workload, workloads
from repack_peers import by_numpy

import relayout as rl

TYPES = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t", 16: "double _Complex"}
GOALS = {"engine": 0.6, "plain": 1.0}
MIN_ROUNDS = 7
NOISE = 0.05
"""What two medians of the same code differ by on a machine that others use."""


def plain_nest(name: str, source: Side, target: Side, size: int) -> str:
    """The loops over the target's digits, the slowest first."""
    kind = TYPES[size]
    lines = [f"void {name}(const {kind} *restrict src, {kind} *restrict dst) {{"]
    if target.layout.size < target.layout.storage_size:
        lines.append(f"  memset(dst, 0, {target.layout.storage_size * size}ull);")
    depth, names, steps = 1, {}, {}
    for d in range(len(target.extents)):
        own = [k for k, digit in enumerate(target.digits) if digit.dim == d]
        step = 1
        for k in reversed(own):
            steps[k] = step
            step *= target.digits[k].size
    for k in target.order:
        digit = target.digits[k]
        names[k] = f"i{k}"
        lines.append(f"{'  ' * depth}for (int64_t i{k} = 0; i{k} < {digit.size}; ++i{k}) {{")
        depth += 1
    for d, n in enumerate(target.extents):
        own = [k for k, digit in enumerate(target.digits) if digit.dim == d]
        lines.append(f"{'  ' * depth}const int64_t c{d} = {' + '.join([f'i{k} * {steps[k]}' for k in own]) or '0'};")
        if n < target.box[d]:
            lines.append(f"{'  ' * depth}if (c{d} >= {n}) continue;")
    to = " + ".join([f"i{k} * {target.digits[k].stride}" for k in target.order])
    terms = []
    for d in range(len(source.extents)):
        rest, own = 1, [digit for digit in source.digits if digit.dim == d]
        for j, digit in enumerate(reversed(own)):
            term = f"c{d} / {rest}" if rest > 1 else f"c{d}"
            terms.append(f"({term}{f' % {digit.size}' if j < len(own) - 1 else ''}) * {digit.stride}")
            rest *= digit.size
    lines.append(f"{'  ' * depth}dst[{to}] = src[{' + '.join(terms)}];")
    lines += ["  " * k + "}" for k in range(depth - 1, -1, -1)]
    return "\n".join(lines)


def compile_functions(folder: Path, cc: str, text: str) -> ctypes.CDLL:
    source, library = folder / "code.c", folder / "code.so"
    source.write_text(text)
    flags = ["-O3", "-march=native", "-shared", "-fPIC"]
    subprocess.run([cc, *flags, str(source), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def contenders(case: Case, work: Workload, shape: tuple[int, ...], cc: str, any_size: bool) -> dict[str, Call]:
    """The calls, each on the case's memory."""
    size = work.dtype.itemsize
    kind = work.dtype.name
    source, target = case.source.layout, case.target.layout
    sizes: tuple[int, ...] = ()
    if any_size and isinstance(work.source, rl.Format) and isinstance(work.target, rl.Format):
        text, sizes = rl.code(work.source, work.target, kind, name="generated", fill=0), shape
    else:
        text = rl.code(source, target, kind, name="generated")
    plain = plain_nest("plain", case.source, case.target, size)
    with tempfile.TemporaryDirectory() as folder:
        library = compile_functions(Path(folder), cc, f"#include <string.h>\n{text}\n{plain}\n")
    plan = rl.plan(source, target, kind, fill=0 if case.gaps else None, threads=1)
    memory = [ctypes.c_void_p(x.ctypes.data) for x in (case.x, case.y)]
    arguments = [*memory, *[ctypes.c_int64(n) for n in sizes]]
    return {
        "code": lambda: library.generated(*arguments),
        "engine": lambda: plan(case.x, case.y),
        "plain": lambda: library.plain(*memory),
        "numpy": by_numpy(case, 1),
    }


def timed(calls: dict[str, Call], seconds: float) -> dict[str, list[float]]:
    """The processor's seconds of one call in every repetition; a contender that takes long has fewer."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    end, turn = perf_counter() + seconds, 0
    while turn < MIN_ROUNDS or perf_counter() < end:
        for name in [*calls][turn % len(calls) :] + [*calls][: turn % len(calls)]:
            slow = turn > 2 and median(times[name]) > 5 * median(times["code"])
            if not slow:
                start = process_time()
                calls[name]()
                times[name].append(process_time() - start)
        turn += 1
    return times


def ratio(times: dict[str, list[float]], peer: str) -> float:
    """How many times as fast as a peer the generated code is."""
    return median([b / a for a, b in zip(times["code"], times[peer])])


def measure(work: Workload, shape: tuple[int, ...], words: argparse.Namespace) -> dict[str, Any]:
    case = Case.made(work, shape)
    calls = contenders(case, work, shape, words.cc, words.any_size)
    expected = case.result(calls["numpy"]).copy()
    for name in ("code", "engine", "plain"):
        if not np.array_equal(case.result(calls[name]), expected):
            raise SystemExit(f"{work.name}: {name} writes other bytes than numpy")
    times = timed(calls, words.seconds)
    moved = (case.source.layout.size + case.target.layout.storage_size) * work.dtype.itemsize
    row: dict[str, Any] = {"workload": f"{work.name} {work.dtype.name}", "shape": "x".join(map(str, shape))}
    row["GB/s"] = moved / median(times["code"]) / 1e9
    return row | {peer: ratio(times, peer) for peer in ("engine", "plain", "numpy")}


def geometric_mean(values: Sequence[float]) -> float:
    return exp(mean([log(value) for value in values]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*")
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--any-size", action="store_true")
    parser.add_argument("--json", type=Path)
    words = parser.parse_args()
    table = draw_workloads(words.random, words.seed, 32 * MIB, 96 * MIB) if words.random else TABLE.strip().splitlines()
    rows = []
    print(f"{'workload':44} {'shape':22} {'GB/s':>6} {'x engine':>9} {'x plain':>8} {'x numpy':>8}")
    for work in [work for line in table for work in workloads(line)]:
        if not fnmatch(work.name, words.only):
            continue
        row = measure(work, work.resized(None), words)
        rows.append(row)
        speeds = f"{row['GB/s']:6.2f} {row['engine']:9.2f} {row['plain']:8.2f} {row['numpy']:8.2f}"
        print(f"{row['workload']:44.44} {row['shape']:22} {speeds}", flush=True)
        if words.json:
            words.json.write_text(json.dumps(rows, indent=1))
    if not rows:
        raise SystemExit(f"no workload is called {words.only}")
    for peer in ("engine", "plain", "numpy"):
        goal = f", goal {GOALS[peer]}" if peer == "engine" else ""
        print(f"geometric mean of {len(rows)}: {geometric_mean([row[peer] for row in rows]):.2f} x {peer}{goal}")
    slower = [row["workload"] for row in rows if row["plain"] < GOALS["plain"] - NOISE]
    print(f"slower than the plain nest: {', '.join(slower) or 'none'}")


if __name__ == "__main__":
    main()
