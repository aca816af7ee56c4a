"""Copies of the compiled core between random layouts, in memory of just the bytes that they need.

``python tests/native_stress.py FIRST COUNT`` compares the whole target; a sanitizer sees what is done beside it.
"""

from __future__ import annotations

import ctypes
import random
import sys
import weakref
from math import prod
from typing import Any

import numpy as np

from relayout import Format, Layout, Plain, ScaleOffset
from relayout.elements.types import element, storage_dtype
from relayout.engine.conversion import conversion
from relayout.engine.cpu.general import GeneralProgram
from relayout.engine.cpu.program import core_nest
from relayout.native import native

KINDS = ["uint8", "uint16", "uint32", "uint64", "complex128"]
CONVERSIONS = [
    (Plain("float32"), ScaleOffset(0.05, 3, "quint8", nan="saturate")),
    (ScaleOffset(0.05, 3, "qint16"), Plain("float32")),
    (Plain("uint8"), Plain("float64")),
    (Plain("float64"), Plain("float16")),
]
EXTENTS = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33, 50, 63, 64, 65, 100, 128, 200, 257, 1000, 2100, 5000]
SIZES = [2, 3, 4, 7, 8, 16, 32, 64, 100]
POWERS = [2, 4, 8, 16, 32, 64, 128]
MOST_BYTES = [1 << 9, 1 << 12, 1 << 15, 1 << 15, 1 << 18, 1 << 18, 3 << 20]
HOSTILE = [*range(-4, 9), 1 << 20, -(1 << 31), 1 << 33, 1 << 60, -(1 << 61), (1 << 63) - 1]
BYTES = " B "
libc = ctypes.CDLL(None)


def exact(size: int, shift: int = 0) -> Any:
    """Bytes that end with an allocation, and begin so many bytes behind its start, which is a multiple of 64."""
    start = ctypes.c_void_p()
    if libc.posix_memalign(ctypes.byref(start), ctypes.c_size_t(64), ctypes.c_size_t(shift + size)):
        raise MemoryError
    held = (ctypes.c_ubyte * (shift + size)).from_address(start.value or 0)
    weakref.finalize(held, libc.free, start)
    return np.frombuffer(held, np.uint8)[shift:]


def memory(rng: random.Random, size: int, width: int) -> Any:
    """Random bytes that are aligned well, or not at all."""
    made = exact(size, rng.choice([0, 0, width, 16, 48, rng.randrange(64)]))
    made[:] = np.frombuffer(rng.randbytes(size), np.uint8)
    return made


def strided(rng: random.Random, shape: tuple[int, ...], writes: bool) -> Layout:
    """Dimensions in any order, some with gaps or backwards; as a source, some that do not move."""
    strides, offset, pitch = [0] * len(shape), rng.choice([0, 0, 3]), 1
    for d in rng.sample(range(len(shape)), len(shape)):
        strides[d] = pitch if writes or rng.random() < 0.95 else 0
        pitch *= shape[d] + rng.choice([0, 0, 0, 0, 0, 0, 1, 5])
        if rng.random() < 0.05:
            offset += (shape[d] - 1) * strides[d]
            strides[d] = -strides[d]
    return Layout(shape, tuple(strides), offset=offset)


def blocked(rng: random.Random, shape: tuple[int, ...], writes: bool) -> Layout:
    """Blocks of some dimensions, with padding around the data."""
    rests = [(d, 0) for d in rng.sample(range(len(shape)), len(shape))]
    # Blocks of two layouts often divide each other, so that all their loops are common.
    powers = rng.random() < 0.7
    blocks = [(rng.randrange(len(shape)), rng.choice(POWERS if powers else SIZES)) for _ in range(rng.randint(1, 3))]
    left = tuple([rng.choice([0, 0, 0, 1, 5]) for _ in shape]) if rng.random() < 0.2 else None
    return Format(len(shape), [*rests, *blocks]).layout(shape, left_pad=left)


def transposed(rng: random.Random) -> tuple[Layout, Layout]:
    """A matrix of groups of elements by row and by column; rows start anywhere, or end with padding."""
    group, rows, columns = rng.choice([1, 1, 2, 3, 4, 8]), rng.choice(EXTENTS), rng.choice(EXTENTS)
    shape, padded = (group, rows, columns), columns + rng.choice([0, 0, 1, 13, 100])
    pitches = [group * n + rng.choice([0, 0, 1, 3, 16]) for n in (rows, padded)]
    source = Layout(shape, (1, group, pitches[0]))
    return source, Layout((group, rows, padded), (1, pitches[1], group), extents=shape)


def pair(rng: random.Random, width: int) -> tuple[Layout, Layout]:
    """Two layouts of one shape that take little memory."""
    most = rng.choice(MOST_BYTES) // width
    while True:
        if rng.random() < 0.3:
            source, target = transposed(rng)
        else:
            shape = tuple([rng.choice(EXTENTS) for _ in range(rng.randint(1, 5))])
            if prod(shape) > most:
                continue
            source, target = (rng.choice([strided, blocked])(rng, shape, writes) for writes in (False, True))
        if source.size >= most / 32 and max(source.storage_size, target.storage_size) <= 2 * most + 64:
            return source, target


def places(layout: Layout) -> Any:
    return layout.offsets().reshape(-1)


def run(what: Any, out: Any, expected: Any, copy: Any, *arguments: Any) -> None:
    """Copy into ``out``, which must then be as expected, and give it back as it was."""
    before = out.copy()
    result = copy(*arguments)
    if result or out.tobytes() != expected.tobytes():
        raise SystemExit(f"wrong: {what}, {result}")
    out[:] = before


def copied(rng: random.Random) -> None:
    """Move elements from one layout to another, in every way there is."""
    kind = element(rng.choice(KINDS))
    width, dtype, threads = kind.bytes, storage_dtype(kind), rng.choice([1, 3])
    source, target = pair(rng, width)
    fill = rng.choice([None, rng.randbytes(width)])
    found = core_nest(source, target, fill is not None)
    written = target if fill is None else target.box
    x = memory(rng, (source.max_offset + 1) * width, width)
    out = memory(rng, (written.max_offset + 1) * width, width)
    expected = out.copy().view(dtype)
    what = source, target, kind.name, fill, threads, x.ctypes.data % 64, out.ctypes.data % 64
    if fill is not None:
        expected[places(written)] = np.frombuffer(fill, dtype)
    expected[places(target)] = x.copy().view(dtype)[places(source)]
    for options in ({}, {"nontemporal_from": 0}) if found is not None else ():
        program = native.TiledProgram(width, *found, fill, BYTES, **options)
        run((*what, options), out, expected, program, x, out, threads)
    if fill is None:
        general = GeneralProgram(source, target, kind.bits)
        run((*what, "general"), out, expected, general, [x], [out], None, None, threads)


def converted(rng: random.Random) -> None:
    """Convert elements on their way from one layout to another."""
    means, to = rng.choice(CONVERSIONS)
    width, made = means.element.bytes, to.element.bytes
    source, target = pair(rng, max(width, made))
    found, described = core_nest(source, target, False), conversion(means, to)
    if found is None:
        return
    x = memory(rng, (source.max_offset + 1) * width, width)
    out = memory(rng, (target.max_offset + 1) * made, made)
    moved, results = exact(source.size * width), exact(source.size * made)
    moved.reshape(-1, width)[...] = x.reshape(-1, width)[places(source)]
    native.convert(described, moved, results)
    expected = out.copy().reshape(-1, made)
    expected[places(target)] = results.reshape(-1, made)
    for nontemporal_from in (0, 1 << 40):
        try:
            program = native.TiledProgram(width, *found, None, BYTES, nontemporal_from, described, BYTES)
        except ValueError:
            continue
        what = source, target, means, to, nontemporal_from
        run(what, out, expected, program, x, out, 3)


def hostile(rng: random.Random) -> None:
    """Numbers that no layout has are refused, or keep to the memory."""

    def number() -> int:
        return rng.choice(HOSTILE[: rng.choice([13, 13, len(HOSTILE)])])

    def box() -> Any:
        loops = [(rng.randint(1, 5), number(), number()) for _ in range(rng.randint(0, 2))]
        return rng.random() < 0.8, number(), number(), tuple(loops)

    width = rng.choice([1, 2, 4, 8, 16])
    boxes = tuple([tuple([box() for _ in range(rng.randint(0, 2))]) for _ in range(rng.randint(0, 3))])
    x, out = (exact(rng.randint(1, 40) * width) for _ in range(2))
    convert = conversion(*CONVERSIONS[2]) if width == 1 and rng.random() < 0.3 else None
    fill = bytes(width) if convert is None else None
    try:
        program = native.TiledProgram(width, number(), number(), boxes, fill, BYTES, 0, convert, BYTES)
        program(x, out, 1)
    except ValueError:
        return


def main(first: int, count: int) -> None:
    """Run so many cases, and tell the number of each, so that one that ends the process can be run again."""
    for number in range(first, first + count):
        sys.stdout.write(f"{number} ")
        sys.stdout.flush()
        rng = random.Random(number)
        rng.choice([copied, copied, converted, hostile])(rng)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
