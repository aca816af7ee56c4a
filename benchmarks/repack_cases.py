"""The workloads of the repack benchmark: their table, their sizes, and their memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import inf, lcm, prod
from typing import Any, NamedTuple

import numpy as np

import relayout as rl

Array = np.ndarray[Any, Any]
Call = Callable[[], Any]
MIB = 1 << 20
LARGE = 32 * MIB
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
crouton2;f16;16x224x224x=64;row;htp:R4Crouton2;back
crouton 4x1;u8;16x224x224x=64;row;htp:R4Crouton4x1;back
crouton 2x2;u8;16x224x224x=64;row;htp:R4Crouton2x2;back
conv weights;u8;=1x=1x4096x8192;row;htp:weights;back
conv weights;f16;=1x=1x4096x8192;row;3 2 0 1 / 2,16 3,32 2,2;back
nChw8c;u8;16x=64x224x224;row;onednn:nChw8c;back
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
