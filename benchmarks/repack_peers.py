"""Who else repacks: numpy, torch, einops, OpenCV, oneDNN; and copies of flat memory, which are the limit."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import pairwise
from math import prod
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

import numpy as np
from repack_cases import Array, Call, Case

import relayout as rl
from relayout.native import native

# Threads of OpenMP that wait by spinning would take the core from the contender whose turn is next.
os.environ.setdefault("GOMP_SPINCOUNT", "5000")

# More calls of Python for one copy measure Python.
MOST_CALLS = 1 << 14


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
    if batch > MOST_CALLS:
        return None
    bits = {1: np.uint8, 2: np.uint16, 4: np.int32}.get(case.x.itemsize, np.float64)
    halves = [2] if case.x.itemsize == 16 else []
    stored, out = case.x.view(bits), case.y.view(bits)
    pairs = [*zip(stored.reshape(batch, rows, columns, *halves), out.reshape(batch, columns, rows, *halves))]
    if halves:
        return in_turn([partial(cv2.transpose, x, y) for x, y in pairs])
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


def load_peers(names: str) -> dict[str, Callable[[Case, int], Call | None]]:
    """Those that are installed of the names between commas."""
    peers = {}
    for name in names.split(","):
        module, made = PEERS[name]
        try:
            import_module(module)
            peers[name] = made()
        except (ImportError, OSError, RuntimeError) as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    return peers


todo: SimpleQueue[tuple[int, int, int]] = SimpleQueue()
done: SimpleQueue[int] = SimpleQueue()


def start_copiers(count: int) -> None:
    """Threads that wait for pieces to copy."""

    def copy_pieces() -> None:
        while True:
            done.put(ctypes.memmove(*todo.get()))

    for _ in range(count):
        Thread(target=copy_pieces, daemon=True).start()


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
    if native is not None:
        calls["stream"] = partial(native.copy_nontemporal, case.flat_y, case.flat_x, threads)
    return calls
