"""Values that generated C converts: narrow floats, packed and quantised elements, channel by channel.

What must come out is told value by value by numpy, ml_dtypes and the interfaces; the bits of every NaN included.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

import relayout as rl
from relayout.elements.interface import Interface, Plain
from relayout.elements.subbyte import pack
from relayout.elements.types import ELEMENTS, storage_dtype
from test_code import MAIN, compile_text, needs_cc

NARROW_INTEGERS = ["int2", "int3", "uint4", "int4", "uint6"]
NARROW_FLOATS = [name for name, e in ELEMENTS.items() if name.startswith("float") and e.bits <= 8]
NUMBERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint64", "float16", "bfloat16", "float32"]
NUMBERS += ["float64"]


class Values(NamedTuple):
    """A function of one size, the bytes it reads, those it must write, and whether it must refuse a value."""

    name: str
    text: str
    count: int
    given: bytes
    expected: bytes
    returns: str


def codes_of(kind: str, rng: np.random.Generator) -> Any:
    """Every stored value of at most 8 bits; of wider types the odd ones and random bits."""
    element = ELEMENTS[kind]
    stored = storage_dtype(element)
    if kind == "bool":
        return np.array([False, True] * 8)
    if element.bits <= 8:
        codes = np.arange(1 << element.bits)
        if element.integral and element.limits[0]:
            codes = (codes ^ -element.limits[0]) + element.limits[0]
        return codes.astype(np.int8 if element.integral and element.limits[0] else np.uint8).view(stored)
    size = element.bits // 8
    bits = rng.integers(0, 256, (100, size), np.uint8).view(f"u{size}").reshape(-1).view(stored)
    if element.integral:
        low, high = element.limits
        edges = [low, high, 0, 1, 127, 128, 255, 256, 32767, 65535, 65536]
        return np.array([*[n for n in edges if low <= n <= high], *(bits % 300).tolist(), *bits.tolist()], stored)
    reals = rng.normal(0, 1, 100) * 2.0 ** rng.integers(-30, 20, 100)
    halves = np.arange(-40, 40) / 4
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 65504, 65519.99, 65520, 2.0**-24, 2.0**-25, 3 * 2.0**-25]
    edges += [448, 464, 465, 57344, 61440, 2.0**-14, 2.0**-133, 3.4e38, 2.0**-9, 2.0**-10]
    with np.errstate(all="ignore"):
        return np.concatenate([np.array([*edges, *halves, *reals]).astype(stored), bits])


def as_bytes(values: Any, element: Any) -> bytes:
    kind = element.underlying
    if kind.bits >= 8:
        return bytes(values.tobytes())
    return bytes(pack(values.view(np.uint8) & ((1 << kind.bits) - 1), f"uint{kind.bits}").tobytes())


def converted(source: Interface, target: Interface, values: Any) -> Any:
    """What the values become; None where one is refused."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(target.encode(source.decode(values))).astype(storage_dtype(target.element), copy=False)
    except rl.NotExpressible:
        return None


def runs(name: str, source: Interface, target: Interface, rng: np.random.Generator) -> Iterator[Values]:
    """All values that the target holds at once, and a few of those that it refuses one by one."""
    text = rl.code("0", "0", source, dst_element=target, name=name)
    values = codes_of(source.element.underlying.name, rng)
    held = np.array([converted(source, target, values[k : k + 1]) is not None for k in range(values.size)])
    good, bad = values[held], values[~held]
    expected = converted(source, target, good)
    returns = "int" if f"int {name}(" in text else "void"
    assert returns == "int" or not bad.size
    yield Values(
        name, text, good.size, as_bytes(good, source.element), as_bytes(expected, target.element), f"{returns} 0"
    )
    for k in rng.permutation(bad.size)[:4]:
        given = as_bytes(bad[k : k + 1], source.element)
        yield Values(name, "", 1, given, bytes(8), "int 1")


def kinds_of(seed: int, count: int) -> Iterator[tuple[Interface, Interface]]:
    """Pairs of common types, every third of all, and random ones."""
    common = [(Plain(a), Plain(b)) for a in NUMBERS for b in NUMBERS if a != b]
    yield from common[seed % 3 :: 3]
    rng = Random(seed)
    everything: list[Interface] = [Plain(kind) for kind in [*NUMBERS, *NARROW_INTEGERS, *NARROW_FLOATS]]
    for kind in ("qint8", "quint8", "qint16", "quint16", "qint32", "qint4", "quint4", "quint2"):
        everything.append(rl.ScaleOffset(rng.choice([0.1, 1.0, 0.37, 1e-3]), rng.choice([0, 3, -7, 1 << 24]), kind))
        everything.append(rl.ScaleOffset(rng.choice([0.1, 2.0]), rng.choice([0, 2]), kind, nan="saturate"))
    encodings: list[Interface] = [rl.Encoding(name) for name in ("uint4-8", "float8_e4m3fn*64", "marlin_s0e5m3")]
    for _ in range(count):
        first, second = rng.choice([*everything, *encodings]), rng.choice(everything)
        if first != second and second.element.name != "float8_e8m0fnu":
            yield first, second


def check_values(folder: Path, cases: list[Values], *flags: str) -> None:
    """Compile all functions, run them, and compare every byte."""
    texts = ["#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n", *[case.text for case in cases], MAIN]
    calls = []
    for case in cases:
        call, code = f"{case.name}(src, dst, {case.count})", case.returns.split()[1]
        checked = f"if ({call} != {code}) abort()" if case.returns.startswith("int") else call
        calls.append(f"  RUN({checked}, {len(case.given)}, {len(case.expected)});")
    text = "\n".join([*texts, "int main(void) {", *calls, "  return 0;\n}\n"])
    program = compile_text(folder, "values", text, *flags)
    done = subprocess.run([program], input=b"".join([case.given for case in cases]), capture_output=True)
    assert done.returncode == 0, done.stderr[:4000]
    start = 0
    for case in cases:
        got = done.stdout[start : start + len(case.expected)]
        start += len(case.expected)
        if case.returns != "int 1":
            assert got == case.expected, f"{case.name}\n{case.text}"


@needs_cc
@pytest.mark.parametrize(("flags", "seed"), [([], 31), (["-O3", "-march=native", "-std=gnu99"], 32)])
def test_c_converts_every_value_as_numpy_and_ml_dtypes_do(flags: list[str], seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    pairs = list(kinds_of(seed, 30))[:: 4 if flags else 1]
    check_values(tmp_path, [case for k, pair in enumerate(pairs) for case in runs(f"values_{k}", *pair, rng)], *flags)


def channel_cases(seed: int, count: int) -> Iterator[tuple[str, str, Any, Any]]:
    """A name, the text, stored values and what they become, where a dimension has scales of its own."""
    rng, generator = Random(seed), np.random.default_rng(seed)
    for k in range(count):
        shape = tuple([rng.choice([1, 2, 3, 5, 8, 17, 40]) for _ in range(rng.choice([1, 2, 3]))])
        axis = rng.randrange(len(shape))
        size = shape[axis]
        kind = rng.choice(["qint8", "quint8", "qint16", "quint4"])
        scales = generator.uniform(0.01, 2, size).astype(np.float32).tolist()
        offsets = generator.integers(-3, 9, size).tolist()
        means = rl.ScaleOffset(scales, offsets, kind, axis=axis)
        other: Interface = Plain(rng.choice(["float32", "float16", "bfloat16"]))
        if rng.random() < 0.3:
            channel = rng.randrange(len(shape))
            tables = generator.uniform(0.01, 2, shape[channel]).astype(np.float32).tolist()
            other = rl.ScaleOffset(tables, 1, "quint8", axis=channel)
        first, second = (other, means) if rng.random() < 0.5 else (means, other)
        stored = storage_dtype(first.element)
        values = generator.integers(0, 15, shape).astype(stored)
        if not first.element.integral:
            values = generator.normal(0, 3, shape).astype(np.float32).astype(stored)
        source, target = [rl.Format(len(shape), [(d, 0) for d in order(rng, len(shape))]) for _ in range(2)]
        text = rl.code(source, target, first, dst_element=second, name=f"channel_{k}", shape=shape)
        made = np.asarray(second.encode(first.decode(values)))
        yield (
            f"channel_{k}",
            text,
            as_bytes(values.transpose(source.order).copy().reshape(-1), first.element),
            as_bytes(made.transpose(target.order).copy().reshape(-1), second.element),
        )


def order(rng: Random, rank: int) -> list[int]:
    return rng.sample(range(rank), rank)


@needs_cc
def test_c_converts_channel_by_channel(tmp_path: Path) -> None:
    cases = list(channel_cases(8, 40))
    found = []
    for name, text, given, expected in cases:
        bare = text.replace(f" {name}(", f" {name}_(")
        back = "int" if f"int {name}_(" in bare else "void"
        head = f"{back} {name}(const void *src, void *dst, int64_t n) {{ (void)n; "
        call = f"{'return ' * (back == 'int')}{name}_(src, dst); }}"
        found.append(Values(name, f"{bare}\n{head}{call}\n", 0, given, expected, f"{back} 0"))
    check_values(tmp_path, found)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: _convert("float32", "complex64"), rl.NotExpressible, "convert no values of Plain"),
        (lambda: _convert("float32", rl.Encoding("uint4-8")), rl.NotExpressible, "convert no values of Encoding"),
        (lambda: _convert(rl.Encoding("float16*512"), "float32"), rl.NotExpressible, "convert no values of Encoding"),
        (lambda: _convert("float32", "float8_e8m0fnu"), rl.NotExpressible, "convert no values"),
        (lambda: _convert("float32", rl.ScaleOffset([1, 2, 3], 0, "int8", axis=0)), rl.ShapeError, "3 channels"),
        (
            lambda: rl.code("0", "0", "float32", dst_element=rl.ScaleOffset([1, 2], 0, "int8", axis=0)),
            rl.ShapeError,
            "no number of channels",
        ),
    ],
)
def test_conversions_that_are_refused(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def _convert(first: Any, second: Any) -> str:
    return rl.code("0 1", "1 0", first, dst_element=second, shape=(2, 3))


@needs_cc
def test_conversions_carry_their_tests(tmp_path: Path) -> None:
    """One program for all: each text's ``main`` under a name of its own."""
    pairs: list[tuple[Any, Any]] = [
        ("float32", "int8"),
        ("float16", "uint4"),
        ("int16", "int4"),
        ("float8_e4m3fn", "int8"),
        ("float32", "float8_e4m3fn"),
        ("float16", rl.ScaleOffset(0.5, 3, "int8")),
        (rl.Encoding("uint4-8"), "float16"),
        ("float32", rl.ScaleOffset([0.5, 1, 2, 3, 4], 3, "quint4", axis=0)),
    ]
    texts = []
    for k, (first, second) in enumerate(pairs):
        shape = (5, 12) if k % 2 else None
        text = rl.code("0 1", "1 0 / 1,4 fill 1", first, dst_element=second, test=True, shape=shape, name=f"own_{k}")
        texts.append(text.replace("int main(void)", f"int main_{k}(void)"))
    calls = "\n".join([f"  failed |= main_{k}();" for k in range(len(pairs))])
    program = compile_text(
        tmp_path, "own", "\n".join([*texts, f"int main(void) {{\n  int failed = 0;\n{calls}\n  return failed;\n}}\n"])
    )
    done = subprocess.run([program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "ok\n" * len(pairs))
