"""How fast a planned repack is: relayout, numpy, torch, einops, OpenCV, oneDNN and flat copies, in one process.

    python benchmarks/repack.py [--only 'crouton*'] [--sizes large,512K] [--threads 1,2] [--json FILE]
    python benchmarks/repack.py --workload 'name;dtypes;shape;SRC;DST'
    python benchmarks/repack.py --random 300 --seed 7 [--skip 100] [--cached]
    python benchmarks/repack.py --small | --fused | --list

A workload is a text of five fields, or six:

    name;dtypes;shape;SRC;DST[;back]     as in     crouton;u8 f16;16x217x221x=50;row;htp:R4Crouton;back

dtypes    one or more of u8, u16, u32, u64, f16, f32, f64, or numpy's names; each makes a row
shape     the logical shape; other sizes halve or double the dimensions that have no "=" in front
SRC, DST  row (row-major), perm:0,3,1,2 (the dimensions as memory holds them, slowest first), or anything that
          rl.parse reads: 0 1 2 3 / 1,8 2,8 3,32 or htp:R4Crouton or onednn:nChw16c or cute:(4096,64):(1,4096);
          both count the dimensions of the shape in its order
back      run the opposite direction as well

A size is that of the destination with its padding. "large" is the shape as written, or 32 MiB if that is more; below
32 MiB a size is an upper bound, from there a lower one. Before the clock every result is compared, bit for bit, with
numpy's: pad, reshape, transpose, or by the offsets of both layouts where they are more than that. A peer that differs
is left out. Contenders take turns: a repetition is one turn of each, a ratio compares the turns of one repetition, and
the median is shown; those that take long run in the first repetitions only. Our plans are called 150 times before and
more, in which they settle on a schedule. Buffers are touched before, and start at 64 bytes. "memcpy" moves as many
bytes as the repack reads (elements) and writes (padding too); with several threads it is the faster of one thread and
of all, each with its piece. "flat" is the fastest flat copy, one by non-temporal stores included.

``--random`` draws workloads by a seed (random_workloads.py), with targets of 32 to 96 MiB, or with ``--cached`` of 256
KiB to 4 MiB. Each is written to memory that starts at 64 bytes, and to memory that starts 16 bytes behind, as numpy's
own large arrays do: "numpy's out" is the speed of the second over that of the first. ``--skip`` leaves the first ones
to another run, and rows are added to those that FILE has.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from functools import partial
from itertools import repeat
from math import exp, log
from pathlib import Path
from statistics import mean, median
from time import perf_counter, sleep
from typing import Any

import numpy as np
from random_workloads import draw_workloads, tell_spread
from repack_cases import LARGE, MIB, SMALL, TABLE, Array, Call, Case, Workload, aligned, workloads
from repack_peers import PEERS, by_numpy, flat_copies, load_peers, start_copiers

import relayout as rl

CACHED = 12 * MIB
GOALS = {"large": {"of memcpy": 0.8, "x peer": 1.5}, "in cache": {"of memcpy": 0.5, "x peer": 1.0}}
TURN_SECONDS, WARM_SECONDS, WARM_CALLS, MIN_ROUNDS = 4e-4, 5e-3, 4, 5
SETTLING_CALLS, SETTLING_BYTES = 150, 80 * MIB
COLUMNS = ("workload", "shape", "MiB", "threads", "GB/s", "of memcpy", "of flat", "best peer", "x peer", "x numpy")
WIDTHS = (39, 19, 6, 7, 6, 9, 7, 11, 6, 7)


def timed(calls: dict[str, Call], seconds: float, threads: int) -> dict[str, list[float]]:
    """The seconds of one call in every repetition.

    Short ones are called :data:`WARM_CALLS` times before the clock starts: the call before may have moved the memory
    out of the cache, as nontemporal stores do, and it comes back in two or three calls.
    """
    once = {name: seconds_of(call, 1) for name, call in calls.items()}
    warm = [name for name in calls if once[name] < WARM_SECONDS]
    once |= {name: min([seconds_of(calls[name], 1) for _ in range(WARM_CALLS)]) for name in warm}
    times: dict[str, list[float]] = {name: [] for name in calls}
    order, end, rounds = list(calls), perf_counter() + seconds, 0
    while rounds < MIN_ROUNDS or perf_counter() < end:
        for name in order[rounds % len(order) :] + order[: rounds % len(order)]:
            if rounds >= 2 and once[name] * rounds > seconds / 3 and once[name] > 4 * min(once.values()):
                continue
            if threads > 1:
                sleep(0.001)
            if name in warm:
                seconds_of(calls[name], WARM_CALLS)
            times[name].append(seconds_of(calls[name], max(1, round(TURN_SECONDS / once[name]))))
        rounds += 1
    return times


def seconds_of(call: Call, count: int) -> float:
    start = perf_counter()
    for _ in repeat(None, count):
        call()
    return (perf_counter() - start) / count


def ratio(times: list[float], over: list[float]) -> float:
    """The median ratio over the repetitions that both have, the first ones."""
    return median([a / b for a, b in zip(times, over)])


def fastest(columns: Sequence[list[float]]) -> list[float]:
    return [min(row) for row in zip(*columns)]


def measured(
    case: Case, threads: int, peers: Any, expected: Array, seconds: float, behind_line: bool = False
) -> dict[str, Any]:
    """One row: the shown columns, all fractions of memcpy's speed, and all times."""
    source, target = case.source.layout, case.target.layout
    plan = rl.plan(source, target, case.x.dtype.name, fill=0 if case.gaps else None, threads=threads)
    calls: dict[str, Call] = {"relayout": partial(plan, case.x, out=case.y)}
    check(case, calls["relayout"], expected)
    for name, make in peers.items():
        call = make(case, threads) if case.by_reshapes or name == "numpy" else None
        if call is not None and np.array_equal(case.result(call), expected):
            calls[name] = call
        elif call is not None:
            print(f"{case.name}: {name} moves other bytes; it is left out", file=sys.stderr)
    timed_calls = {**calls, **flat_copies(case, threads)}
    if behind_line:
        out = aligned(case.y.nbytes + 64)[16 : 16 + case.y.nbytes].view(case.y.dtype)
        timed_calls["numpy's out"] = partial(plan, case.x, out=out)
    for name in ("relayout", "numpy's out") if behind_line else ("relayout",):
        for _ in repeat(None, SETTLING_CALLS + SETTLING_BYTES // case.y.nbytes):
            timed_calls[name]()
    times = timed(timed_calls, seconds, threads)
    ours = times["relayout"]
    behind = times.pop("numpy's out", None)
    memcpy = fastest([times[name] for name in times if name.startswith("memcpy")])
    fractions = {name: ratio(memcpy, values) for name, values in times.items()}
    best = max(calls.keys() - {"relayout"}, key=lambda name: fractions[name], default=None)
    size = case.y.nbytes
    return {
        "workload": case.name,
        "shape": "x".join(map(str, source.extents)),
        "MiB": size / MIB,
        "threads": threads,
        "GB/s": 2 * case.flat_x.size / median(ours) / 1e9,
        "of memcpy": fractions["relayout"],
        "of flat": ratio(fastest([memcpy, times["stream"]]), ours) if "stream" in times else None,
        "best peer": best and f"{best} {fractions[best]:.2f}",
        "x peer": ratio(times[best], ours) if best else None,
        "x numpy": ratio(times["numpy"], ours) if "numpy" in times else None,
        "numpy's out": ratio(ours, behind) if behind else None,
        "fits": "large" if size >= LARGE else "in cache" if size <= CACHED else "between",
        "fractions": fractions,
        "microseconds": {name: median(values) * 1e6 for name, values in times.items()},
    }


def check(case: Case, call: Call, expected: Array) -> None:
    if not np.array_equal(got := case.result(call), expected):
        sys.exit(f"{case.name}: wrong at byte {int(np.argmax(got != expected))} of {got.size}")


def line(values: Sequence[Any]) -> str:
    texts = ["" if v is None else f"{v:.2f}" if isinstance(v, float) else str(v) for v in values]
    cells = [text.ljust(w) if k < 2 else text.rjust(w) for k, (text, w) in enumerate(zip(texts, WIDTHS))]
    return f"| {' | '.join(cells)} |"


def summary(rows: list[dict[str, Any]]) -> list[str]:
    lines: list[str] = []
    for fits, threads in sorted({(row["fits"], row["threads"]) for row in rows}):
        group = [row for row in rows if (row["fits"], row["threads"]) == (fits, threads)]
        lines.append(f"\n{fits}, {threads} thread(s), {len(group)} workloads; the geometric mean, and the worst:")
        for name in ("of memcpy", "of flat", "x peer", "x numpy"):
            values = sorted([(row[name], row["workload"]) for row in group if row[name] is not None])
            if not values:
                continue
            goal = GOALS.get(fits, {}).get(name)
            missed = f", {sum([value < goal for value, _ in values])} below {goal}" if goal else ""
            worst = ", ".join([f"{workload} {value:.2f}" for value, workload in values[:4]])
            lines.append(f"  {name}: {exp(mean([log(value) for value, _ in values])):.2f}{missed}; {worst}")
        behind = [(row["numpy's out"], place_of(row)) for row in group if row.get("numpy's out")]
        if behind:
            lines += tell_spread([(row["of memcpy"], place_of(row)) for row in group], "of memcpy")
            lines += tell_spread(behind, "numpy's out, of an aligned one")
            ahead = [row for row in group if row["x peer"] is not None and row["x peer"] < 1]
            lines += [f"  slower than {row['best peer']}, by {row['x peer']:.2f}: {place_of(row)}" for row in ahead]
    return lines


def place_of(row: dict[str, Any]) -> str:
    return f"{row['workload']} {row['shape']} {row['ends']}"


def contest(works: list[Workload], options: argparse.Namespace, threads: list[int]) -> list[dict[str, Any]]:
    """The table, printed row by row."""
    peers = load_peers(options.peers)
    start_copiers(max(threads) - 1)
    print(line(COLUMNS), line(["-" * width for width in WIDTHS]), sep="\n")
    rows: list[dict[str, Any]] = []
    if options.json and options.random and options.json.exists():
        rows = json.loads(options.json.read_text())["rows"]
    for work in works:
        sizes = [work.resized(bytes_of(size)) for size in options.sizes.split(",")]
        for shape in dict.fromkeys([work.shape] if options.random else sizes):
            case = Case.made(work, shape)
            expected = case.result(by_numpy(case, 1)).copy()
            for n in threads:
                row = measured(case, n, peers, expected, options.seconds, bool(options.random))
                row["ends"] = f"{work.source} -> {work.target}"
                print(line([row[name] for name in COLUMNS]), flush=True)
                rows.append(row)
    print("\n".join(summary(rows)))
    return rows


def small(seconds: float) -> list[dict[str, Any]]:
    """Nanoseconds of one call on 64 bytes to 4 KiB: planned, by ``repack``, and numpy's transposed copy."""
    rows = []
    for work in [work for text in SMALL.split("\n") if text for work in workloads(text)]:
        for shape in sorted({work.resized(size) for size in (64, 256, 1024, 4096)}):
            case = Case.made(work, shape)
            plan = rl.plan(case.source.layout, case.target.layout, work.dtype.name)
            calls: dict[str, Call] = {
                "plan": partial(plan, case.x, out=case.y),
                "repack": partial(rl.repack, case.x.reshape(shape), case.target.layout, out=case.y),
                "numpy": by_numpy(case, 1),
            }
            expected = case.result(calls["numpy"]).copy()
            for call in calls.values():
                check(case, call, expected)
            row = beside_numpy(f"{work.name:14} {case.y.nbytes:5} bytes", calls, seconds, 1, 1e9, "ns")
            rows.append({"workload": work.name, "bytes": case.y.nbytes, **row})
    return rows


def fused(threads: int, seconds: float) -> dict[str, Any]:
    """Milliseconds from float32 to a quantised crouton in one pass, and by numpy's expression."""
    (work,) = workloads("fused;u8;8x224x224x64;row;htp:R4Crouton")
    case = Case.made(work, work.shape)
    x = np.random.default_rng(5).normal(0, 1.5, case.x.size).astype(np.float32)
    factor, offset = np.float32(1) / np.float32(0.02), np.float32(128)
    to_crouton = by_numpy(case, 1)

    def expression() -> None:
        np.copyto(case.x, np.clip(np.rint(x * factor + offset), 0, 255), casting="unsafe")
        to_crouton()

    means = rl.ScaleOffset(0.02, 128, "quint8")
    plan = rl.plan(case.source.layout, case.target.layout, "float32", means, threads=threads)
    calls: dict[str, Call] = {"relayout": partial(plan, x, out=case.y), "numpy": expression}
    check(case, calls["relayout"], case.result(expression).copy())
    title = f"float32 to a quint8 crouton, 8x224x224x64, {threads} thread(s)"
    return {"threads": threads, **beside_numpy(title, calls, seconds, threads, 1e3, "ms")}


def beside_numpy(
    title: str, calls: dict[str, Call], seconds: float, threads: int, scale: float, unit: str
) -> dict[str, float]:
    """The median time of every call, and how many times as fast as numpy the first one is; printed as a line."""
    times = timed(calls, seconds, threads)
    row = {name: median(values) * scale for name, values in times.items()}
    gain = ratio(times["numpy"], times[next(iter(calls))])
    shown = ", ".join([f"{name} {value:,.1f} {unit}" for name, value in row.items()])
    print(f"{title}: {shown}; {gain:.2f} x numpy", flush=True)
    return {**row, "x numpy": gain}


def bytes_of(text: str) -> int | None:
    """A number with K, M or G behind; None for "large"."""
    unit = {"K": 1 << 10, "M": MIB, "G": 1 << 30}.get(text[-1], 1)
    return None if text == "large" else int(text.rstrip("KMG")) * unit


def processor() -> str:
    """What the system calls the processor."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    return next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), platform.processor())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="large,512K", help="large, or bytes: 64K,1M,12M,32M,128M,512M")
    parser.add_argument("--threads", default="1", help="numbers of threads: 1,2")
    parser.add_argument("--only", default="*", help="a pattern for the names of workloads, as in 'crouton*'")
    parser.add_argument("--workload", action="append", help="name;dtypes;shape;SRC;DST[;back] in place of the table")
    parser.add_argument("--peers", default=",".join(PEERS), help="the peers to run")
    parser.add_argument("--seconds", type=float, default=0.4, help="about the time of one row")
    parser.add_argument("--random", type=int, default=0, help="draw so many workloads in place of the table")
    parser.add_argument("--seed", type=int, default=0, help="what they are drawn by")
    parser.add_argument("--skip", type=int, default=0, help="so many of them are left out")
    parser.add_argument("--cached", action="store_true", help="draw small ones, which stay in a cache")
    parser.add_argument("--small", action="store_true", help="calls on 64 bytes to 4 KiB instead")
    parser.add_argument("--fused", action="store_true", help="float32 to a quantised crouton instead")
    parser.add_argument("--list", action="store_true", help="print the workloads and stop")
    parser.add_argument("--json", type=Path, help="write all numbers to this file")
    options = parser.parse_args()
    texts = options.workload or TABLE.strip().split("\n")
    if options.random:
        low, high = (MIB // 4, 4 * MIB) if options.cached else (LARGE, 3 * LARGE)
        texts = draw_workloads(options.random, options.seed, low, high)[options.skip :]
    works = [work for text in texts for work in workloads(text) if fnmatch(work.name, options.only)]
    threads = [int(n) for n in options.threads.split(",")]
    rows: list[dict[str, Any]] = []
    if options.list:
        for work in works:
            print(f"{work.name:39} {'x'.join(map(str, work.shape)):19} {work.source} -> {work.target}")
    elif options.small:
        rows = small(options.seconds)
    elif options.fused:
        rows = [fused(n, options.seconds) for n in threads]
    else:
        rows = contest(works, options, threads)
    if options.json:
        about = {"processor": processor(), "python": platform.python_version(), "machine": platform.machine()}
        about["native"] = str(rl.native_available())
        options.json.write_text(json.dumps({**about, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
