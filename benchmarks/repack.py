"""How fast a planned repack is: relayout, numpy, torch, einops, OpenCV, oneDNN and flat copies, in one process.

    python benchmarks/repack.py [--only 'crouton*'] [--sizes large,512K] [--threads 1,2] [--json FILE]
    python benchmarks/repack.py --workload 'name;dtypes;shape;SRC;DST'
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
the median is shown; those that take long run in the first repetitions only. Buffers are touched before, and start at 64
bytes. "memcpy" moves as many bytes as the repack reads (elements) and writes (padding too); with several threads it is
the faster of one thread and of all, each with its piece. "flat" is the fastest flat copy, one by non-temporal stores
included.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from functools import partial
from importlib import import_module
from itertools import pairwise, repeat
from math import exp, inf, lcm, log, prod
from pathlib import Path
from queue import SimpleQueue
from statistics import mean, median
from threading import Thread
from time import perf_counter, sleep
from typing import Any, NamedTuple

import numpy as np

import relayout as rl
from relayout.native import native

# Threads of OpenMP that wait by spinning would take the core from the contender whose turn is next.
os.environ.setdefault("GOMP_SPINCOUNT", "5000")

Array = np.ndarray[Any, Any]
Call = Callable[[], Any]
MIB = 1 << 20
LARGE, CACHED = 32 * MIB, 12 * MIB
GOALS = {"large": {"of memcpy": 0.8, "x peer": 1.5}, "in cache": {"of memcpy": 0.5, "x peer": 1.0}}
TURN_SECONDS, WARM_SECONDS, MIN_ROUNDS = 4e-4, 5e-3, 5
COLUMNS = ("workload", "shape", "MiB", "threads", "GB/s", "of memcpy", "of flat", "best peer", "x peer", "x numpy")
WIDTHS = (39, 19, 6, 7, 6, 9, 7, 11, 6, 7)
DTYPES = {f"{kind[0]}{n}": f"{kind}{n}" for kind in ("uint", "float") for n in (8, 16, 32, 64)}

TABLE = """
transpose 4096²;f32;4096x4096;row;1 0
transpose 4099x4093;f32;4099x4093;row;1 0;back
transpose 8192²;u8;8192x8192;row;1 0
transpose 4096x2048;f64;4096x2048;row;1 0;back
skinny 1Mx16;f32;1048576x=16;row;1 0;back
NHWC to NCHW;f32 f16 u8;8x224x224x=64;row;0 3 1 2;back
RGB to planes;u8;8x1080x1920x=3;row;0 3 1 2;back
RGBA to planes;u8;8x1080x1920x=4;row;0 3 1 2;back
crouton;u8;16x224x224x=64;row;htp:R4Crouton;back
crouton padded;u8 f16;16x217x221x=50;row;htp:R4Crouton;back
crouton 4x1;u8;16x224x224x=64;row;htp:R4Crouton4x1;back
crouton 2x2;u8;16x224x224x=64;row;htp:R4Crouton2x2;back
conv weights;u8;=1x=1x4096x8192;row;htp:weights;back
conv weights;f16;=1x=1x4096x8192;row;3 2 0 1 / 2,16 3,32 2,2;back
nChw16c;f32;8x=64x224x224;row;onednn:nChw16c;back
nChw16c padded;f32;16x=60x113x113;row;onednn:nChw16c;back
tiles 128x128;f16;8192x8192;row;0 1 / 0,128 1,128;back
nested tiles, row core;f16;8192x8192;row;0 1 / 0,16 1,16 0,8 1,8;back
nested tiles, column core;f16;8192x8192;row;0 1 / 0,16 1,16 1,8 0,8;back
5-D permutation;f32 f64;24x32x20x16x48;row;perm:4,1,3,0,2;back
5-D (0,2,1,4,3);f16;32x24x40x16x96;row;perm:0,2,1,4,3
6-D permutation;f32 u8;16x12x20x8x14x32;row;perm:5,2,0,4,1,3;back
6-D odd;f32;13x17x11x7x19x29;row;perm:5,2,0,4,1,3;back
heads (0,2,1,3);f32;8x2048x=16x=64;row;perm:0,2,1,3;back
cores, by rows, row core;f16;8192x4096;row;0 1 / 0,8 1,8;back
cores, by rows, column core;f16;8192x4096;row;0 1 / 1,8 0,8;back
cores, by columns, row core;f16;8192x4096;row;1 0 / 0,8 1,8;back
cores, by columns, column core;f16;8192x4096;row;1 0 / 1,8 0,8;back
interleave 4, C=10;f16 f32;16x=10x512x512;row;0 1 2 3 / 1,4;back
odd transpose;u8;8191x8209;row;1 0;back
odd transpose;f16;5003x6007;row;1 0;back
odd NHWC to NCHW;f32 f16 u8;7x223x227x=61;row;0 3 1 2;back
odd RGB to planes;u8;7x1079x1919x=3;row;0 3 1 2;back
odd crouton;u8;13x211x199x=37;row;htp:R4Crouton;back
odd crouton2;f16;13x211x199x=37;row;htp:R4Crouton2;back
odd conv weights;u8;=3x=3x1021x4099;row;htp:weights;back
odd nChw16c;f32;5x=61x173x179;row;onednn:nChw16c;back
odd 5-D permutation;f16;11x23x31x37x67;row;perm:3,0,4,2,1
odd 6-D permutation;f64;7x13x11x17x19x29;row;perm:4,0,3,5,1,2
odd tiles 16x16 of four;u8;7001x7013;row;tenstorrent:TILE;back
odd 3-D permutation;u32;4001x=3x1021;row;perm:1,2,0
"""
SMALL = """
transpose;f32;32x32;row;perm:1,0
planes;f32;1x16x16x=4;row;perm:0,3,1,2
crouton;u8;1x8x16x=32;row;htp:R4Crouton
"""


class Workload(NamedTuple):
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fixed: frozenset[int]
    """The dimensions that keep their size."""
    source: rl.Format | rl.Layout
    target: rl.Format | rl.Layout

    def layouts(self, shape: Sequence[int]) -> tuple[rl.Layout, rl.Layout]:
        source, target = [x.layout(shape) if isinstance(x, rl.Format) else x for x in (self.source, self.target)]
        return source, target

    def size(self, shape: tuple[int, ...]) -> int:
        return self.layouts(shape)[1].storage_size * self.dtype.itemsize

    def resized(self, size: int | None) -> tuple[int, ...]:
        """The shape at about ``size`` bytes, None for "large"; odd stays odd, and parts of blocks stay the same."""
        shape = self.shape
        size = max(LARGE, self.size(shape)) if size is None else size
        low, high = (size, inf) if size >= LARGE else (0, size)
        while self.size(shape) < size and shape != (other := self.changed(shape, True)) and self.size(other) <= high:
            shape = other
        while self.size(shape) > size and shape != (other := self.changed(shape, False)) and self.size(other) >= low:
            shape = other
        return shape

    def changed(self, shape: tuple[int, ...], grow: bool) -> tuple[int, ...]:
        """One dimension doubled or halved: the first of 3 or 4, a batch, or else the smallest or the largest."""
        if not isinstance(self.source, rl.Format) or not isinstance(self.target, rl.Format):
            return shape
        options = []
        for d, n in enumerate(shape):
            step = lcm(self.source.block_shape[d], self.target.block_shape[d], 1 + n % 2 if n > 1 else 1)
            new = n + -(-n // step) * step if grow else n // 2 + (n - n // 2) % step
            if d not in self.fixed and 0 < new != n:
                batch = d == 0 and len(shape) in (3, 4)
                options.append((batch, -n if grow else n, (*shape[:d], new, *shape[d + 1 :])))
        return max(options)[2] if options else shape


def workloads(text: str) -> list[Workload]:
    """The rows that a line of the table, or an argument, stands for."""
    fields = [field.strip() for field in text.split(";")]
    if len(fields) not in (5, 6) or fields[5:] not in ([], ["back"]):
        sys.exit(f"a workload is name;dtypes;shape;SRC;DST[;back], got {text!r}")
    name, dtypes, sizes, *ends = fields
    parts = sizes.split("x")
    shape = tuple([int(n.removeprefix("=")) for n in parts])
    fixed = frozenset([d for d, n in enumerate(parts) if n.startswith("=")])
    rows = []
    for word in dtypes.split():
        dtype = np.dtype(DTYPES.get(word, word))
        source, target = [placed(end, shape, dtype) for end in ends[:2]]
        rows.append(Workload(f"{name} {word}", dtype, shape, fixed, source, target))
        if len(ends) == 3:
            rows.append(Workload(f"{name} {word} back", dtype, shape, fixed, target, source))
    return rows


def placed(text: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> rl.Format | rl.Layout:
    if text == "row" or text.startswith("perm:"):
        order = range(len(shape)) if text == "row" else map(int, text.removeprefix("perm:").split(","))
        return rl.Format(len(shape), [(d, 0) for d in order])
    found = rl.parse(text, dtype=dtype)
    if isinstance(found, rl.Layout) and found.extents != shape:
        sys.exit(f"{text} has the shape {found.extents}, not {shape}")
    return found


class Digit(NamedTuple):
    dim: int
    size: int
    stride: int


class Side:
    """A layout as numpy's reshape and transpose see it: every dimension is one digit or several, slowest first."""

    def __init__(self, layout: rl.Layout) -> None:
        self.layout, self.extents = layout, layout.extents
        shape, stride = [x if isinstance(x, tuple) else (x,) for x in (layout.shape, layout.stride)]
        modes = [(rl.flatten((n,)), rl.flatten((s,))) for n, s in zip(shape, stride)]
        self.digits = [Digit(d, *leaf) for d, (ns, ss) in enumerate(modes) for leaf in reversed([*zip(ns, ss)])]
        self.order = sorted(range(len(self.digits)), key=lambda k: -self.digits[k].stride)
        self.sizes = [self.digits[k].size for k in self.order]
        self.box = tuple([prod(ns) for ns, _ in modes])
        self.window = tuple([slice(n) for n in self.extents])
        self.padded = self.box != self.extents
        self.plain = len(self.digits) == len(self.extents) and not self.padded
        # A layout without gaps is the one that its digits make when they are stored in their order.
        packed = [prod(self.sizes[place + 1 :]) for place in np.argsort(self.order)]
        stored = all(digit.size == 1 or digit.stride == step for digit, step in zip(self.digits, packed))
        moved = layout.swizzle is not None or layout.offset or any(layout.origin)
        self.compact = stored and not moved and layout.storage_size == prod(self.box)

    def view(self, flat: Array) -> Array:
        """The memory with one axis per digit, in the order of the dimensions."""
        return flat.reshape(self.sizes).transpose(np.argsort(self.order))


class Case(NamedTuple):
    """A workload at one size, with its memory."""

    name: str
    source: Side
    target: Side
    x: Array
    y: Array
    flat_x: Array
    flat_y: Array
    """As many bytes as a flat copy of the same traffic moves."""

    @classmethod
    def made(cls, work: Workload, shape: Sequence[int]) -> Case:
        source, target = work.layouts(shape)
        sizes = [layout.storage_size * work.dtype.itemsize for layout in (source, target)]
        flat = (source.size * work.dtype.itemsize + sizes[1]) // 2
        one, two = [aligned(max(size, flat)) for size in sizes]
        one[:] = np.frombuffer(np.random.default_rng(5).bytes(one.size), np.uint8)
        x, y = one[: sizes[0]].view(work.dtype), two[: sizes[1]].view(work.dtype)
        if work.dtype.kind == "f":
            # Some reorders of oneDNN change NaNs and subnormal numbers: two bits of the exponent keep both away.
            signs = one[: sizes[0]].reshape(-1, work.dtype.itemsize)[:, -1]
            signs[:] = signs & 0xBF | 0x20
        return cls(work.name, Side(source), Side(target), x, y, one[:flat], two[:flat])

    @property
    def gaps(self) -> bool:
        return self.target.layout.size < self.target.layout.storage_size

    @property
    def by_reshapes(self) -> bool:
        return self.source.compact and self.target.compact

    def result(self, call: Call) -> Array:
        """The bytes that a call writes over junk."""
        memory = self.y.view(np.uint8)
        memory.fill(0xA5)
        call()
        return memory


def aligned(size: int) -> Array:
    """Touched memory that starts at 64 bytes."""
    memory = np.empty(size + 64, np.uint8)
    memory.fill(0)
    start = -memory.ctypes.data % 64
    return memory[start : start + size]


def moves(case: Case) -> list[tuple[Array, Array]]:
    """The copies between strided views, each (to, from), of numpy and torch; padding goes through another array."""
    a, b = case.source, case.target
    x, y = a.view(case.x), b.view(case.y)
    if a.plain and not b.padded:
        return [(y, x.reshape(y.shape))]
    if b.plain and not a.padded:
        return [(y.reshape(x.shape), x)]
    steps = []
    box = x.reshape(a.box) if a.plain else np.zeros(a.box, x.dtype)
    if not a.plain:
        steps.append((box.reshape(x.shape), x))
    inside = box[a.window]
    if b.plain:
        return [*steps, (y.reshape(b.extents), inside)]
    padded = np.zeros(b.box, x.dtype)
    return [*steps, (padded[b.window], inside), (y, padded.reshape(y.shape))]


def in_turn(calls: list[Call]) -> Call:
    def run() -> None:
        for call in calls:
            call()

    return calls[0] if len(calls) == 1 else run


def by_numpy(case: Case, threads: int) -> Call:
    if case.by_reshapes:
        return in_turn([partial(np.copyto, *move) for move in moves(case)])

    def by_offsets() -> None:
        if case.gaps:
            case.y.fill(0)
        case.y[case.target.layout.offsets()] = case.x[case.source.layout.offsets()]

    return by_offsets


def by_torch(case: Case, threads: int) -> Call:
    torch = import_module("torch")
    torch.set_num_threads(threads)
    return in_turn([partial(torch.from_numpy(to).copy_, torch.from_numpy(x)) for to, x in moves(case)])


def by_einops(case: Case, threads: int) -> Call | None:
    a, b = case.source, case.target
    if not (a.plain or b.plain) or a.padded or b.padded:
        return None
    fine = b if a.plain else a
    digits_of = [[k for k, digit in enumerate(fine.digits) if digit.dim == d] for d in range(len(a.extents))]
    left, right = [[[k] for k in s.order] if s is fine else [digits_of[d] for d in s.order] for s in (a, b)]
    groups = " ".join([f"({' '.join([f'd{k}' for k in group])})" for group in left])
    order = [k for group in right for k in group]
    pattern = f"{groups} -> {' '.join([f'd{k}' for k in order])}"
    lengths = {f"d{k}": digit.size for k, digit in enumerate(fine.digits)}
    stored, out = case.x.reshape(a.sizes), case.y.reshape([fine.digits[k].size for k in order])
    rearrange = import_module("einops").rearrange
    return lambda: np.copyto(out, rearrange(stored, pattern, **lengths))


def by_opencv(case: Case, threads: int) -> Call | None:
    """What is a batch of transposes when neighbouring dimensions are merged."""
    cv2 = import_module("cv2")
    cv2.setNumThreads(threads)
    if not (case.source.plain and case.target.plain):
        return None
    before, after = [[d for d in side.order if side.extents[d] > 1] for side in (case.source, case.target)]
    count = next((k for k, (a, b) in enumerate(zip(before, after)) if a != b), len(after))
    cut = after.index(before[count]) if count < len(after) else count
    if before != after[:count] + after[cut:] + after[count:cut]:
        return None
    parts = after[:count], after[count:cut], after[cut:]
    batch, columns, rows = [prod([case.source.extents[d] for d in part]) for part in parts]
    bits = {1: np.uint8, 2: np.uint16, 4: np.int32, 8: np.float64}[case.x.itemsize]
    pairs = [*zip(case.x.view(bits).reshape(batch, rows, columns), case.y.view(bits).reshape(batch, columns, rows))]
    if columns <= 4:
        return in_turn([partial(cv2.split, x.reshape(rows, 1, columns), [*y[:, :, None]]) for x, y in pairs])
    if rows <= 4:
        return in_turn([partial(cv2.merge, [*x[:, :, None]], y.reshape(columns, 1, rows)) for x, y in pairs])
    return in_turn([partial(cv2.transpose, x, y) for x, y in pairs])


class Argument(ctypes.Structure):
    _fields_ = (("number", ctypes.c_int), ("memory", ctypes.c_void_p))


class OneDNN:
    """Reorders by the C interface of oneDNN 3."""

    def __init__(self) -> None:
        wheel = Path(sys.prefix, "lib", "libdnnl.so.3")
        self.library = ctypes.CDLL(str(wheel) if wheel.exists() else wheel.name)
        self.engine = self.made("engine_create", 1, ctypes.c_size_t(0))
        self.stream = self.made("stream_create", self.engine, 1)

    def made(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        if status := getattr(self.library, f"dnnl_{name}")(ctypes.byref(handle), *arguments):
            raise RuntimeError(f"{name} gave the status {status}")
        return handle

    def __call__(self, case: Case, threads: int) -> Call | None:
        self.library.omp_set_num_threads(threads)
        shape, rank = (ctypes.c_int64 * 12)(*case.source.extents), len(case.source.extents)
        try:
            # Two bytes are moved as bfloat16: fast, while float16 is converted, element by element.
            kind = {"float16": 2, "float32": 3, "uint32": 4, "uint8": 6}[case.x.dtype.name]
            tags = [rl.render(side.layout, "onednn").encode() for side in (case.source, case.target)]
            one, two = [self.made("memory_desc_create_with_string_tag", rank, shape, kind, tag) for tag in tags]
            plan = self.made("reorder_primitive_desc_create", one, self.engine, two, self.engine, None)
        except (KeyError, rl.NotExpressible, RuntimeError):
            return None
        reorder = self.made("primitive_create", plan)
        source = self.made("memory_create", one, self.engine, ctypes.c_void_p(case.x.ctypes.data))
        target = self.made("memory_create", two, self.engine, ctypes.c_void_p(case.y.ctypes.data))
        arguments = (Argument * 2)(Argument(1, source), Argument(17, target))

        def run() -> None:
            self.library.dnnl_primitive_execute(reorder, self.stream, 2, arguments)
            self.library.dnnl_stream_wait(self.stream)

        return run


PEERS: dict[str, tuple[str, Callable[[], Callable[[Case, int], Call | None]]]] = {
    "numpy": ("numpy", lambda: by_numpy),
    "torch": ("torch", lambda: by_torch),
    "einops": ("einops", lambda: by_einops),
    "opencv": ("cv2", lambda: by_opencv),
    "onednn": ("ctypes", OneDNN),
}
"""The module of each, and what gives the function that makes its calls."""

todo: SimpleQueue[tuple[int, int, int]] = SimpleQueue()
done: SimpleQueue[int] = SimpleQueue()


def copy_pieces() -> None:
    while True:
        done.put(ctypes.memmove(*todo.get()))


def memcpy_in_pieces(y: int, x: int, size: int, threads: int) -> None:
    cuts = [size * k // threads // 64 * 64 for k in range(threads)] + [size]
    first, *others = [(y + a, x + a, b - a) for a, b in pairwise(cuts)]
    for piece in others:
        todo.put(piece)
    ctypes.memmove(*first)
    for _ in others:
        done.get()


def flat_copies(case: Case, threads: int) -> dict[str, Call]:
    memory = case.flat_y.ctypes.data, case.flat_x.ctypes.data, case.flat_x.size
    calls: dict[str, Call] = {"memcpy": partial(ctypes.memmove, *memory)}
    if threads > 1:
        calls["memcpy in pieces"] = partial(memcpy_in_pieces, *memory, threads)
    if (stream := getattr(native, "stream_copy", None)) is not None:
        calls["stream"] = partial(stream, case.flat_y, case.flat_x, threads)
    return calls


def timed(calls: dict[str, Call], seconds: float, threads: int) -> dict[str, list[float]]:
    """The seconds of one call in every repetition."""
    once = {name: seconds_of(call, 1) for name, call in calls.items()}
    once |= {name: seconds_of(call, 1) for name, call in calls.items() if once[name] < WARM_SECONDS}
    times: dict[str, list[float]] = {name: [] for name in calls}
    order, end, rounds = list(calls), perf_counter() + seconds, 0
    while rounds < MIN_ROUNDS or perf_counter() < end:
        for name in order[rounds % len(order) :] + order[: rounds % len(order)]:
            if rounds >= 2 and once[name] * rounds > seconds / 3 and once[name] > 4 * min(once.values()):
                continue
            if threads > 1:
                sleep(0.001)
            if once[name] < WARM_SECONDS:
                calls[name]()
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


def measured(case: Case, threads: int, peers: Any, expected: Array, seconds: float) -> dict[str, Any]:
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
    times = timed({**calls, **flat_copies(case, threads)}, seconds, threads)
    ours = times["relayout"]
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
    lines = []
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
    return lines


def contest(works: list[Workload], options: argparse.Namespace, threads: list[int]) -> list[dict[str, Any]]:
    """The table, printed row by row."""
    peers = {}
    for name in options.peers.split(","):
        module, made = PEERS[name]
        try:
            import_module(module)
            peers[name] = made()
        except (ImportError, OSError, RuntimeError) as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    for _ in range(1, max(threads)):
        Thread(target=copy_pieces, daemon=True).start()
    print(line(COLUMNS), line(["-" * width for width in WIDTHS]), sep="\n")
    rows = []
    for work in works:
        for shape in dict.fromkeys([work.resized(bytes_of(size)) for size in options.sizes.split(",")]):
            case = Case.made(work, shape)
            expected = case.result(by_numpy(case, 1)).copy()
            for n in threads:
                row = measured(case, n, peers, expected, options.seconds)
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
            times = timed(calls, seconds, 1)
            row = {name: median(values) * 1e9 for name, values in times.items()}
            gain = ratio(times["numpy"], times["plan"])
            shown = ", ".join([f"{name} {value:,.0f} ns" for name, value in row.items()])
            print(f"{work.name:14} {case.y.nbytes:5} bytes: {shown}; {gain:.2f} x numpy", flush=True)
            rows.append({"workload": work.name, "bytes": case.y.nbytes, **row, "x numpy": gain})
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
    times = timed(calls, seconds, threads)
    row = {name: median(values) * 1e3 for name, values in times.items()}
    gain = ratio(times["numpy"], times["relayout"])
    shown = ", ".join([f"{name} {value:.1f} ms" for name, value in row.items()])
    print(f"float32 to a quint8 crouton, 8x224x224x64, {threads} thread(s): {shown}; {gain:.1f} x numpy", flush=True)
    return {"threads": threads, **row, "x numpy": gain}


def bytes_of(text: str) -> int | None:
    """A number with K, M or G behind; None for "large"."""
    unit = {"K": 1 << 10, "M": MIB, "G": 1 << 30}.get(text[-1], 1)
    return None if text == "large" else int(text.rstrip("KMG")) * unit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="large,512K", help="large, or bytes: 64K,1M,12M,32M,128M,512M")
    parser.add_argument("--threads", default="1", help="numbers of threads: 1,2")
    parser.add_argument("--only", default="*", help="a pattern for the names of workloads, as in 'crouton*'")
    parser.add_argument("--workload", action="append", help="name;dtypes;shape;SRC;DST[;back] in place of the table")
    parser.add_argument("--peers", default=",".join(PEERS), help="the peers to run")
    parser.add_argument("--seconds", type=float, default=0.4, help="about the time of one row")
    parser.add_argument("--small", action="store_true", help="calls on 64 bytes to 4 KiB instead")
    parser.add_argument("--fused", action="store_true", help="float32 to a quantised crouton instead")
    parser.add_argument("--list", action="store_true", help="print the workloads and stop")
    parser.add_argument("--json", type=Path, help="write all numbers to this file")
    options = parser.parse_args()
    texts = options.workload or TABLE.strip().split("\n")
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
        about = {"python": platform.python_version(), "machine": platform.machine(), "native": rl.native_available()}
        options.json.write_text(json.dumps({**about, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
