"""Plans that kernels are tested with: the layouts of the world, small, in all widths; odd ones; and random ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

import relayout as rl
from relayout.engine.plan import Plan

TYPES = ("uint8", "uint16", "float32", "float64", "complex128")
CROUTON, WEIGHTS, CHANNELS = "0 1 2 3 / 1,8 2,8 3,32", "3 2 0 1 / 2,8 3,32 2,4", "0 1 2 3 / 1,16"


class Case(NamedTuple):
    """A plan, and by how many elements the memories of source and target are past an aligned address."""

    name: str
    plan: Plan
    shift: tuple[int, int] = (0, 0)


def row(*shape: int) -> rl.Layout:
    return rl.Layout.row_major(shape)


def permuted(order: tuple[int, ...], *shape: int) -> rl.Layout:
    """The dimensions as memory has them, slowest first."""
    return rl.Format(len(shape), [(d, 0) for d in order]).layout(shape)


def placed(text: str, *shape: int) -> rl.Layout:
    found: rl.Layout = rl.parse(text).layout(shape)
    return found


def pairs() -> Iterator[tuple[str, rl.Layout, rl.Layout]]:
    """Layouts to go from and to, and back."""
    yield "transpose", row(256, 128), permuted((1, 0), 256, 128)
    yield "odd transpose", row(97, 131), permuted((1, 0), 97, 131)
    yield "planes", row(2, 14, 14, 64), permuted((0, 3, 1, 2), 2, 14, 14, 64)
    yield "odd planes", row(2, 7, 11, 13), permuted((0, 3, 1, 2), 2, 7, 11, 13)
    yield "colours", row(2, 16, 32, 3), permuted((0, 3, 1, 2), 2, 16, 32, 3)
    yield "odd colours", row(2, 5, 31, 3), permuted((0, 3, 1, 2), 2, 5, 31, 3)
    yield "crouton", row(2, 16, 16, 64), placed(CROUTON, 2, 16, 16, 64)
    yield "padded crouton", row(2, 13, 21, 50), placed(CROUTON, 2, 13, 21, 50)
    yield "weights", row(3, 3, 64, 128), placed(WEIGHTS, 3, 3, 64, 128)
    yield "odd weights", row(3, 3, 61, 79), placed(WEIGHTS, 3, 3, 61, 79)
    yield "channels", row(2, 32, 16, 16), placed(CHANNELS, 2, 32, 16, 16)
    yield "padded channels", row(2, 60, 13, 13), placed(CHANNELS, 2, 60, 13, 13)
    yield "five dimensions", row(4, 6, 10, 8, 16), permuted((4, 2, 0, 3, 1), 4, 6, 10, 8, 16)
    yield "tiles", row(256, 256), placed("0 1 / 0,128 1,128", 256, 256)
    yield "cores", row(128, 256), placed("1 0 / 0,8 1,8", 128, 256)
    yield "copy", row(8191), row(8191)
    yield "swizzled", row(64, 64), rl.Layout((64, 64), (64, 1), swizzle=rl.Swizzle(3, 4, 3))
    yield "finely swizzled", permuted((1, 0), 64, 64), rl.Layout((64, 64), (64, 1), swizzle=rl.Swizzle(2, 1, 3))
    yield "swizzled upwards", row(64, 64), rl.Layout((64, 64), (64, 1), swizzle=rl.Swizzle(2, 4, -3))
    yield "window", row(20, 30), rl.Layout(((8, 4), (8, 5)), ((8, 320), (1, 64)), extents=(20, 30), origin=(3, 5))
    yield "blocks that do not divide", rl.Layout(((4, 6), 8), ((1, 32), 4)), rl.Layout(((6, 4), 8), ((1, 48), 6))
    yield "nested twice", rl.Layout(((4, 6), 8), ((1, 32), 4)), rl.Layout(((8, 3), 8), ((1, 64), 8))
    yield "a scalar", row(), row()
    yield "one element", row(1, 1), row(1, 1)


def one_way() -> Iterator[tuple[str, rl.Layout, rl.Layout]]:
    """Sources that no target may look like."""
    yield "rows backwards", rl.Layout((40, 30), (-30, 1), offset=39 * 30), permuted((1, 0), 40, 30)
    yield "backwards", rl.Layout((40, 32), (32, -1), offset=31), row(40, 32)
    yield "every other one", rl.Layout((40, 32), (100, 2), offset=3), row(40, 32)
    yield "every ninth one", rl.Layout((40, 32), (400, 9), offset=3), row(40, 32)
    yield "columns again", rl.Layout((40, 32), (1, 0)), row(40, 32)
    yield "rows again", rl.Layout((40, 32), (0, 1)), row(40, 32)
    yield "a block again", rl.Layout((40, (4, 2)), (1, (64, 0)), extents=(40, 5), origin=(0, 1)), row(40, 5)
    yield "windows that overlap", rl.Layout((40, 32), (1, 1)), permuted((1, 0), 40, 32)
    yield "apart", row(40, 32), rl.Layout((40, 32), (2, 100))
    yield "downwards", row(40, 32), rl.Layout((40, 32), (-32, 1), offset=39 * 32)


def special() -> Iterator[Case]:
    """What depends on sizes: tiles that are as wide as a gap, or leave channels out, and memory that ends in a gap."""
    planes = permuted((1, 0), 7715, 3)
    yield Case("planes to odd colours", rl.plan(planes, row(7715, 3), "uint16"))
    strips = rl.Layout((4, 130, 12), (4680, 36, 1), offset=5)
    rests = rl.Layout((4, 130, 32), (132, 1, 528), extents=(4, 130, 12))
    yield Case("a gap as wide as a rest", rl.plan(strips, rests, "uint16"), (4, 3))
    apart = rl.Layout((127, (2, 2)), (2, (254, 0)), offset=2, swizzle=rl.Swizzle(2, 1, 3))
    window = rl.Layout((127, (4, 3)), (3, (381, 1)), extents=(127, 4), origin=(0, 8))
    yield Case("a gap that is swizzled", rl.plan(apart, window, "complex128", fill=3 + 1j))


def named() -> Iterator[Case]:
    yield from special()
    for kind in TYPES:
        fill = 5 if kind != "complex128" else 5 + 0j
        for name, source, target in pairs():
            yield Case(f"{name} {kind}", rl.plan(source, target, kind))
            yield Case(f"{name} back {kind}", rl.plan(target, source, kind))
            if target.size < target.storage_size:
                yield Case(f"{name} filled {kind}", rl.plan(source, target, kind, fill=fill))
        for name, source, target in one_way():
            yield Case(f"{name} {kind}", rl.plan(source, target, kind))
        for shift in ((1, 1), (1, 0), (0, 1), (3, 2)):
            yield Case(f"shifted copy {shift} {kind}", rl.plan(row(96, 130), row(96, 130), kind), shift)
            yield Case(f"shifted {shift} {kind}", rl.plan(row(96, 130), permuted((1, 0), 96, 130), kind), shift)


def random_plans(seed: int, count: int) -> Iterator[Case]:
    """Digits of random sizes in random orders, some of them padded."""
    dice = random.Random(seed)
    for k in range(count):
        kind = dice.choice(TYPES)
        rank = dice.randint(1, 4)
        shape = [dice.choice((1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 32, 33, 48, 64, 100)) for _ in range(rank)]
        while prod(shape) > 60_000:
            shape[dice.randrange(rank)] = dice.choice((1, 2, 3, 4, 5))
        ends = [_format(dice, rank) for _ in range(2)]
        source, target = [x.layout(shape) for x in ends]
        fill = dice.choice((None, 0, 3)) if kind != "complex128" else None
        shift = dice.choice(((0, 0), (0, 0), (1, 0), (0, 1)))
        yield Case(f"random {seed} {k}", rl.plan(source, target, kind, fill=fill), shift)


def _format(dice: random.Random, rank: int) -> rl.Format:
    order = dice.sample(range(rank), rank)
    blocks = [(dice.randrange(rank), dice.choice((2, 3, 4, 8, 16))) for _ in range(dice.choice((0, 0, 1, 2, 3)))]
    return rl.Format(rank, [*[(d, 0) for d in order], *blocks])


def conversions() -> Iterator[Case]:
    """Between types and interfaces, in a layout that moves elements and one that keeps them together."""
    scaled = rl.ScaleOffset(0.05, 3, "quint8", nan="saturate")
    many = rl.ScaleOffset([0.01 * (k + 1) for k in range(24)], list(range(24)), "qint8", axis=1, nan="saturate")
    wide = rl.ScaleOffset(0.001, -70000, "qint32", nan="saturate")
    whole = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    ends: list[tuple[Any, Any]] = [(a, b) for a in whole for b in ("float32", "float64", "float16", "bfloat16")]
    ends += [
        (a, b)
        for a in ("float16", "bfloat16", "float32", "float64")
        for b in ("float16", "bfloat16", "float32", "float64")
        if a != b
    ]
    ends += [("int8", "int32"), ("uint8", "uint64"), ("uint8", "int16"), ("bool", "int64"), ("uint32", "int64")]
    ends += [
        ("float32", scaled),
        (scaled, "float32"),
        ("float32", many),
        (many, "float16"),
        (scaled, many),
        (wide, scaled),
    ]
    ends += [
        ("float16", rl.ScaleOffset(2.0, 7, "qint16", nan="saturate")),
        ("float64", wide),
        ("float8_e4m3fn", "float32"),
        ("float8_e5m2", scaled),
    ]
    for a, b in ends:
        for name, source, target in (
            ("transposed", row(40, 24), permuted((1, 0), 40, 24)),
            ("copied", row(40, 24), row(40, 24)),
            ("padded", row(40, 24), placed("0 1 / 0,16 1,16", 40, 24)),
        ):
            fill = 1 if name == "padded" else None
            yield Case(f"{a} to {b} {name}", rl.plan(source, target, a, b, fill=fill))
    blocks = rl.Layout(((4, 6), 24), ((1, 96), 4)), rl.Layout(((6, 4), 24), ((1, 144), 6))
    for a, b in (("float32", many), ("int64", "float64"), ("float64", wide)):
        yield Case(f"{a} to {b} between blocks that do not divide", rl.plan(*blocks, a, b))


def sample(plan: Plan, seed: int) -> bytes:
    """Memory for the source of a plan: random bits, and of floats and integers those that are special."""
    import numpy as np

    from relayout.elements.types import storage_dtype

    count = plan.source.max_offset + 1 if plan.source.size else 0
    kind = plan.element.element.underlying
    data = np.frombuffer(np.random.default_rng(seed).bytes(count * kind.bytes), np.uint8).copy()
    if kind.name == "bool":
        data &= 1
    if "float" in kind.name and kind.bits >= 16:
        values = data.view(storage_dtype(kind))
        special = [0.0, -0.0, 1.5, float("inf"), -float("inf"), float("nan"), 65504.0, 65520.0, 1e-8, 6e-8, 1e30, -2.5]
        half, quarter = values.size // 2, values.size // 4
        with np.errstate(over="ignore"):
            values[:quarter] = np.resize(np.array(special).astype(values.dtype), quarter)
        values[quarter:half] = np.random.default_rng(seed).normal(0, 9, half - quarter).astype(values.dtype)
    return data.tobytes()
