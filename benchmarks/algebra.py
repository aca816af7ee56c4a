"""How fast the algebra is: relayout, NVIDIA's pycute and tensor-layouts side by side in one process.

    python benchmarks/algebra.py [--quick] [--rounds N] [--only WORD] [--json FILE]

Every operation runs on several layouts that all three libraries answer alike (checked before anything is timed). The
libraries take turns: a round is one batch of each, so a noisy moment hits all of them, and a ratio compares batches of
one round. Times are medians over the rounds; a ratio is the median of the rounds' ratios with the 10th and the 90th
percentile in brackets. Above 1 means that relayout is faster.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from math import exp, log
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from timeit import Timer
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import relayout as rl

Pair = tuple[Any, Any]
"""A shape and a stride, which each library turns into its own layout."""

PEERS = {"pycute": "pycute", "tensor-layouts": "tensor_layouts"}
BATCH_SECONDS = 0.002


class Op(NamedTuple):
    """One row: the statement of each library, run once for every tuple of inputs.

    In a statement ``L`` is the library; ``a``, ``b``, ``x`` are the inputs of one example (see :func:`prepared`).
    """

    name: str
    inputs: list[tuple[Any, ...]]
    ours: str
    pycute: str
    tensor_layouts: str
    headline: bool = True
    """Whether the row counts for the geometric mean."""


class Spread(NamedTuple):
    low: float
    middle: float
    high: float

    def __str__(self) -> str:
        return f"{_short(self.middle)} [{_short(self.low)}-{_short(self.high)}]"


@dataclass
class Row:
    name: str
    headline: bool
    microseconds: dict[str, float]
    ratios: dict[str, Spread]


SIMPLE: list[Pair] = [
    ((3, 4), (4, 1)),
    ((8, 64), (64, 1)),
    (((4, 2), (8, 4)), ((1, 32), (4, 64))),
    (((2, 2, 2), (2, 4), 5), ((1, 16, 4), (8, 32), 128)),
]
MERGING: list[Pair] = [
    ((2, (1, 6)), (1, (6, 2))),
    (((4, 8), (2, 3)), ((1, 4), (32, 64))),
    ((3, 4, 5, 6), (120, 30, 6, 1)),
    (((2, 2), (2, 2), (2, 2)), ((1, 2), (16, 32), (4, 8))),
]
WITH_ZEROS: list[Pair] = [
    ((2, 3, 4), (1, 0, 2)),
    (((4, 8), (2, 3)), ((1, 4), (0, 32))),
    ((3, (2, 2), 5), (0, (1, 0), 2)),
    ((4, 8), (1, 4)),
]
ORDERED: list[Pair] = [
    ((4, 8), (8, 1)),
    ((3, 5, 7), (35, 1, 5)),
    (((2, 4), (4, 2)), ((1, 16), (2, 8))),
    ((2, 2, 2, 2, 2, 2), (32, 1, 4, 2, 16, 8)),
]
WITH_GAPS: list[tuple[Pair, int]] = [
    ((4, 2), 24),
    (((2, 4), (1, 6)), 48),
    (((2, 2), (1, 8)), 64),
    (((2, (2, 2)), (32, (1, 8))), 256),
]
SMALL_PAIRS: list[tuple[Pair, Pair]] = [
    (((6, 2), (8, 2)), ((4, 3), (3, 1))),
    ((20, 2), ((5, 4), (4, 1))),
    (((10, 2), (16, 4)), ((5, 4), (1, 5))),
    (((4, 8), (8, 1)), ((8, 4), (4, 1))),
]
LARGE_PAIRS: list[tuple[Pair, Pair]] = [
    (((4, 2, 8, 2, 4), (1, 64, 8, 4, 128)), ((8, 4, 4, 2, 2), (1, 8, 32, 128, 256))),
    (((2, 4, 2, 8, 4, 2), (8, 1, 4, 64, 16, 512)), ((4, 4, 8, 2, 2, 2), (2, 8, 32, 1, 256, 512))),
    ((((4, 8), (2, 4), 4), ((8, 32), (4, 1), 256)), (((2, 4), (4, 4), 8), ((1, 2), (8, 32), 128))),
    (((3, 4, 5, 2), (40, 10, 2, 1)), ((3, 4, 5, 2), (1, 3, 12, 60))),
]
DIVIDED: list[tuple[Pair, Pair]] = [
    ((24, 1), (4, 1)),
    (((4, 2, 3), (2, 1, 8)), (4, 2)),
    (((8, 8), (8, 1)), ((2, 4), (1, 8))),
    (((16, 32), (1, 16)), ((4, 8), (1, 16))),
]
BY_MODE: list[tuple[Pair, tuple[int, ...]]] = [
    (((8, 6), (6, 1)), (2, 3)),
    (((16, 32), (1, 16)), (4, 8)),
    (((8, 6, 5), (1, 8, 48)), (4, 2)),
    ((((4, 2), (8, 4)), ((1, 32), (4, 64))), (4, 8)),
]
MULTIPLIED: list[tuple[Pair, Pair]] = [
    ((4, 1), (3, 1)),
    (((2, 2), (4, 1)), (6, 1)),
    (((2, 5), (5, 1)), ((3, 4), (1, 3))),
    (((8, 4), (4, 1)), ((2, 2), (2, 1))),
]
COORDINATES: list[tuple[Pair, Any]] = [
    (((3, 4), (4, 1)), (2, 1)),
    (((8, 64), (64, 1)), (7, 33)),
    ((((4, 2), (8, 4)), ((1, 32), (4, 64))), ((3, 1), (5, 2))),
    (((4, 5, 6), (30, 6, 1)), (3, 4, 5)),
]
INTEGERS: list[tuple[Pair, int]] = [
    (((3, 4), (4, 1)), 7),
    (((8, 64), (64, 1)), 300),
    ((((4, 2), (8, 4)), ((1, 32), (4, 64))), 200),
    (((4, 5, 6), (30, 6, 1)), 119),
]
TABLES: list[Pair] = [
    ((64, 64), (64, 1)),
    (((8, 8), (16, 4)), ((1, 64), (8, 1024))),
    ((32, 128), (1, 32)),
]


def operations() -> list[Op]:
    """The rows of the table."""

    def same(name: str, inputs: list[Any], statement: str, tensor_layouts: str | None = None) -> Op:
        return Op(name, inputs, statement, statement, tensor_layouts or statement)

    def ones(pairs: list[Pair]) -> list[tuple[Pair]]:
        return [(p,) for p in pairs]

    return [
        same("Layout(shape)", ones(SIMPLE), "L.Layout(a.shape)"),
        same("Layout(shape, stride)", ones(SIMPLE), "L.Layout(a.shape, a.stride)"),
        same("call, one entry per mode", COORDINATES, "a(x)"),
        same("call, integer", INTEGERS, "a(x)"),
        same("crd2idx", COORDINATES, "L.crd2idx(x, a.shape, a.stride)"),
        same("idx2crd", INTEGERS, "L.idx2crd(x, a.shape)"),
        same("coalesce", ones(MERGING), "L.coalesce(a)"),
        same("filter", ones(WITH_ZEROS), "L.filter(a)", "L.coalesce(a.filter())"),
        same("composition, 1-2 modes", SMALL_PAIRS, "L.composition(a, b)", "L.compose(a, b)"),
        same("composition, 4-6 modes", LARGE_PAIRS, "L.composition(a, b)", "L.compose(a, b)"),
        same("complement", WITH_GAPS, "L.complement(a, x)"),
        same("logical_divide", DIVIDED, "L.logical_divide(a, b)"),
        same("zipped_divide by mode", BY_MODE, "L.zipped_divide(a, x)"),
        same("logical_product", MULTIPLIED, "L.logical_product(a, b)"),
        same("right_inverse", ones(ORDERED), "L.right_inverse(a)"),
        same("left_inverse", ones(ORDERED), "L.left_inverse(a)"),
        Op(
            "table of 4,096 offsets",
            ones(TABLES),
            "a.offsets()",
            "[a(i, j) for i in range(m) for j in range(n)]",
            "[a(i, j) for i in range(m) for j in range(n)]",
            headline=False,
        ),
    ]


def prepared(library: ModuleType, statement: str, inputs: list[tuple[Any, ...]]) -> tuple[str, dict[str, Any]]:
    """One line of code that runs ``statement`` on every example, and the names that it uses.

    The first pair of an example becomes the layout ``a``, a second pair the layout ``b``, anything else ``x``.
    """
    names: dict[str, Any] = {"L": library}
    lines = []
    for k, example in enumerate(inputs):
        words = {"a": f"a{k}", "b": f"b{k}", "x": f"x{k}", "m": f"m{k}", "n": f"n{k}"}
        names[f"a{k}"] = library.Layout(*example[0])
        if len(example) > 1:
            names[f"x{k}"] = example[1]
            names[f"b{k}"] = library.Layout(*example[1]) if _is_pair(example[1]) else None
        shape = example[0][0]
        names[f"m{k}"], names[f"n{k}"] = rl.product(shape[0]) if isinstance(shape, tuple) else shape, 1
        if isinstance(shape, tuple):
            names[f"n{k}"] = rl.product(shape[1:])
        lines.append("".join(_renamed(statement, words)))
    return "; ".join(lines), names


def _is_pair(x: Any) -> bool:
    return isinstance(x, tuple) and len(x) == 2 and rl.congruent(*x)


def _renamed(statement: str, words: dict[str, str]) -> Iterator[str]:
    """``statement`` with its one-letter names replaced."""
    for k, c in enumerate(statement):
        before, after = statement[k - 1 : k], statement[k + 1 : k + 2]
        alone = not (before.isalnum() or before in ("_", ".")) and not (after.isalnum() or after == "_")
        yield words.get(c, c) if alone else c


def checked(op: Op, libraries: dict[str, ModuleType]) -> None:
    """Stop unless all libraries give the same function on every example: only equal work is compared."""
    for example in op.inputs:
        answers = {}
        for name, library in libraries.items():
            code, names = prepared(library, _statement(op, name), [example])
            answers[name] = _values(eval(code, names))
        if any(answer != answers["relayout"] for answer in answers.values()):
            sys.exit(f"{op.name}: the libraries differ on {example}: {answers}")


def _values(answer: Any) -> Any:
    """An answer as plain numbers: a layout by its values at all integers."""
    if hasattr(answer, "tolist"):
        return [x for row in answer.tolist() for x in row]
    if not hasattr(answer, "stride"):
        return answer
    return [answer(i) for i in range(rl.product(answer.shape))]


def _statement(op: Op, library: str) -> str:
    return {"relayout": op.ours, "pycute": op.pycute, "tensor-layouts": op.tensor_layouts}[library]


def measured(op: Op, libraries: dict[str, ModuleType], rounds: int) -> Row:
    """Times and ratios of one operation, per example."""
    timers, counts = {}, {}
    for name, library in libraries.items():
        code, names = prepared(library, _statement(op, name), op.inputs)
        timers[name] = Timer(code, globals=names)
        timers[name].timeit(3)
        once = min(timers[name].repeat(5, 1))
        counts[name] = max(1, round(BATCH_SECONDS / once))
    times: dict[str, list[float]] = {name: [] for name in libraries}
    order = list(libraries)
    for k in range(rounds):
        for name in order[k % len(order) :] + order[: k % len(order)]:
            seconds = timers[name].timeit(counts[name]) / counts[name] / len(op.inputs)
            times[name].append(seconds * 1e6)
    ratios = {
        name: _spread([peer / own for peer, own in zip(times[name], times["relayout"], strict=True)])
        for name in libraries
        if name != "relayout"
    }
    return Row(op.name, op.headline, {name: median(values) for name, values in times.items()}, ratios)


def _spread(values: list[float]) -> Spread:
    cuts = quantiles(values, n=10, method="inclusive")
    return Spread(cuts[0], median(values), cuts[-1])


def mean_ratio(rows: list[Row], library: str) -> float:
    """The geometric mean of the headline ratios against ``library``."""
    logs = [log(row.ratios[library].middle) for row in rows if row.headline]
    return exp(sum(logs) / len(logs))


def table_throughput(elements: int, rounds: int) -> dict[str, float]:
    """GB of offset table written per second, for tables of ``elements`` entries, beside numpy filling as much memory.

    The first tables of a process may wait for the machine to hand out memory, so one round is run before the clock.
    """
    side = round(elements**0.5) // 8 * 8
    tiled = (8, side // 8), ((8, 8 * side), (1, 64))
    layouts = {
        "row-major": rl.Layout((side, side), (side, 1)),
        "column-major": rl.Layout((side, side), (1, side)),
        "tiled": rl.Layout((tiled[0], tiled[0]), tiled[1]),
        "windowed": rl.Layout((tiled[0], tiled[0]), tiled[1], origin=(3, 5), extents=(side - 7, side - 9)),
        "swizzled": rl.Layout((side, side), (side, 1), swizzle=(3, 4, 3)),
    }
    calls: dict[str, Callable[[], Any]] = {name: layout.offsets for name, layout in layouts.items()}
    calls["np.full"] = partial(np.full, (side, side), 3, np.int64)
    speeds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds + 1):
        for name, call in calls.items():
            start = perf_counter()
            entries = call()
            seconds = perf_counter() - start
            speeds[name].append(entries.nbytes / seconds / 1e9)
            del entries
    return {name: median(values[1:]) for name, values in speeds.items()}


def comparison_time(rounds: int) -> dict[str, float]:
    """Microseconds to compare two windowed layouts of about 10**18 elements, equal and not."""
    million = 10**6
    window: dict[str, Any] = {"origin": (5, 7), "extents": (million * 1000 - 11, million * 1000 - 13)}
    a = rl.Layout(((1000, million), (million, 1000)), ((1, 1000), (10**9, 10**15)), **window)
    same = rl.Layout(((10, 100, million), (1000, million)), ((1, 10, 1000), (10**9, 10**12)), **window)
    other = rl.Layout(((10, 100, million), (1000, million)), ((1, 10, 1001), (10**9, 10**12)), **window)
    if not a.equivalent(same) or a.equivalent(other):
        sys.exit("compare: wrong verdict on the windowed layouts")
    pairs = {"equal": same, "different": other}
    result = {}
    for name, b in pairs.items():
        timer = Timer("compare(a, b)", globals={"compare": rl.compare, "a": a, "b": b})
        result[name] = median(timer.repeat(max(5, rounds), 20)) / 20 * 1e6
    return result


def _short(x: float) -> str:
    return f"{x:,.0f}" if x >= 100 else f"{x:.1f}" if x >= 10 else f"{x:.2f}"


def markdown(rows: list[Row], peers: list[str]) -> str:
    head = ["operation", "relayout µs", *[f"{p} / relayout [p10-p90]" for p in peers]]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for row in rows:
        cells = [row.name, _short(row.microseconds["relayout"]), *[str(row.ratios[p]) for p in peers]]
        lines.append("| " + " | ".join(cells) + " |")
    if any(row.headline for row in rows):
        means = [f"**{_short(mean_ratio(rows, p))}**" for p in peers]
        lines.append("| " + " | ".join(["**geometric mean** (without the table)", "", *means]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="relayout, pycute and tensor-layouts, interleaved in one process")
    parser.add_argument("--quick", action="store_true", help="few rounds and a small table: seconds, not minutes")
    parser.add_argument("--rounds", type=int, help="batches of each library per operation")
    parser.add_argument("--only", help="operations whose name contains this word")
    parser.add_argument("--json", type=Path, help="write all numbers to this file")
    options = parser.parse_args()
    rounds = options.rounds or (15 if options.quick else 101)
    libraries: dict[str, ModuleType] = {"relayout": rl}
    for name, module in PEERS.items():
        try:
            libraries[name] = import_module(module)
        except ImportError:
            print(f"{name} is not installed; its column is left out", file=sys.stderr)
    peers = [name for name in libraries if name != "relayout"]
    rows = []
    for op in operations():
        if options.only and options.only not in op.name:
            continue
        checked(op, libraries)
        rows.append(measured(op, libraries, rounds))
    print(markdown(rows, peers))
    result: dict[str, Any] = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "native": rl.native_available(),
        "rounds": rounds,
        "rows": [{**vars(row), "ratios": {p: s._asdict() for p, s in row.ratios.items()}} for row in rows],
        "geometric_mean": {p: mean_ratio(rows, p) for p in peers} if any(row.headline for row in rows) else {},
    }
    if not options.only:
        elements = 10**7 if options.quick else 10**8
        result["table_GB_per_second"] = table_throughput(elements, 5)
        result["compare_microseconds"] = comparison_time(rounds)
        shown = ", ".join(f"{k} {v:.2f}" for k, v in result["table_GB_per_second"].items())
        print(f"\n`offsets()` of {elements:,} elements, GB/s of table written: {shown}")
        shown = ", ".join(f"{k} {v:.0f}" for k, v in result["compare_microseconds"].items())
        print(f"\n`compare` of two windowed layouts of 10^18 elements, µs: {shown}")
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
