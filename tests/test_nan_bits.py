"""Which NaN a NaN becomes: the same bits on every machine, with the compiled core and without it, whatever numpy does.

The tables are written by hand from the encodings of IEEE 754: sign, exponent of ones, mantissa whose first bit says
quiet. It needs numpy and pytest only, so that it runs under an emulator too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import relayout as rl
from relayout.elements.stored import floats
from relayout.elements.types import element
from relayout.native import native

# float16, its float32, its float64: the ten bits of the mantissa come first in the wider ones.
WIDER = [
    (0x7E00, 0x7FC00000, 0x7FF8000000000000),  # quiet
    (0xFE00, 0xFFC00000, 0xFFF8000000000000),  # quiet, negative
    (0x7C01, 0x7F802000, 0x7FF0040000000000),  # signalling, the last bit
    (0xFC01, 0xFF802000, 0xFFF0040000000000),
    (0x7D00, 0x7FA00000, 0x7FF4000000000000),  # signalling, the first bit behind the quiet one
    (0x7DFF, 0x7FBFE000, 0x7FF7FC0000000000),  # signalling, all of them
    (0x7FFF, 0x7FFFE000, 0x7FFFFC0000000000),  # quiet, all of them
    (0xFEAA, 0xFFD54000, 0xFFFAA80000000000),
]
# Wider ones, and the float16 that they become: what does not fit is cut, and what has nothing left stays a NaN.
NARROWER_SINGLE = [
    (0x7F800001, 0x7C01),  # signalling, nothing left
    (0xFF801FFF, 0xFC01),
    (0x7F802000, 0x7C01),
    (0x7F803FFF, 0x7C01),
    (0x7F804000, 0x7C02),
    (0x7FC00001, 0x7E00),  # quiet, its payload is lost
    (0x7FFFFFFF, 0x7FFF),
    (0xFFBFFFFF, 0xFDFF),
]
NARROWER_DOUBLE = [
    (0x7FF0000000000001, 0x7C01),
    (0xFFF0000000000001, 0xFC01),
    (0x7FF003FFFFFFFFFF, 0x7C01),
    (0x7FF0040000000000, 0x7C01),
    (0x7FF0080000000000, 0x7C02),
    (0x7FF8000000000001, 0x7E00),
    (0x7FFFFFFFFFFFFFFF, 0x7FFF),
    (0xFFF7FFFFFFFFFFFF, 0xFDFF),
]
# float32, the float64 that it becomes, and the float32 that a float64 becomes: always quiet.
SINGLE_TO_DOUBLE = [
    (0x7FC00000, 0x7FF8000000000000),
    (0x7F800001, 0x7FF8000020000000),
    (0xFFA00000, 0xFFFC000000000000),
    (0x7FFFFFFF, 0x7FFFFFFFE0000000),
]
DOUBLE_TO_SINGLE = [
    (0x7FF8000000000000, 0x7FC00000),
    (0x7FF0000000000001, 0x7FC00000),
    (0x7FF0000020000000, 0x7FC00001),
    (0xFFF4000000000000, 0xFFE00000),
    (0x7FFFFFFFFFFFFFFF, 0x7FFFFFFF),
]
TABLES = [
    ("float16", "float32", [(a, b) for a, b, _ in WIDER]),
    ("float16", "float64", [(a, c) for a, _, c in WIDER]),
    ("float32", "float16", [(b, a) for a, b, _ in WIDER] + NARROWER_SINGLE),
    ("float64", "float16", [(c, a) for a, _, c in WIDER] + NARROWER_DOUBLE),
    ("float32", "float64", SINGLE_TO_DOUBLE),
    ("float64", "float32", DOUBLE_TO_SINGLE),
]
IDS = [f"{a}-{b}" for a, b, _ in TABLES]


def bits_of(x: Any) -> list[int]:
    return [int(word) for word in np.ascontiguousarray(x).reshape(-1).view(f"u{x.itemsize}")]


def column(kind: str, words: list[int]) -> Any:
    size = np.dtype(kind).itemsize
    return np.array(words, f"u{size}").view(kind)


@pytest.mark.parametrize(("source", "target", "pairs"), TABLES, ids=IDS)
def test_the_tables_by_every_way(source: str, target: str, pairs: list[tuple[int, int]]) -> None:
    given, meant = [a for a, _ in pairs], [b for _, b in pairs]
    x = column(source, given)
    assert bits_of(floats(x, element(target))) == meant
    assert bits_of(rl.Plain(target).encode(x)) == meant
    # Many together, and each beside a number: what is converted in groups is told apart in them.
    many = np.concatenate([np.repeat(x, 9), np.ones(5, source)]).reshape(1, -1)
    many[0, 3::9] = 0.5
    got = bits_of(rl.repack(many, "1 0", element=target))
    ones = bits_of(np.array([0.5, 1.0], target))
    wanted = [word for word in meant for _ in range(9)] + [ones[1]] * 5
    wanted[3::9] = [ones[0]] * len(wanted[3::9])
    assert got == wanted


@pytest.mark.parametrize(("source", "target", "pairs"), TABLES, ids=IDS)
def test_every_instruction_set(source: str, target: str, pairs: list[tuple[int, int]]) -> None:
    if native is None:
        pytest.skip("needs the compiled core")
    from relayout.engine.conversion import conversion

    x = column(source, [a for a, _ in pairs])
    described = conversion(rl.Plain(source), rl.Plain(target))
    for isa in native.isas():
        out = np.zeros(x.size * np.dtype(target).itemsize, np.uint8)
        native.convert(described, x.view(np.uint8), out, isa=isa)
        assert bits_of(out.view(target)) == [b for _, b in pairs], isa


@pytest.mark.parametrize("wide", ["float32", "float64"])
def test_all_halves_come_back_as_they_were(wide: str) -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    there = rl.repack(halves, "0", element=wide)
    assert bits_of(rl.repack(there, "0", element="float16")) == list(range(1 << 16))
    assert bits_of(floats(floats(halves, element(wide)), element("float16"))) == list(range(1 << 16))


def test_the_other_order_of_bytes() -> None:
    x = column("float16", [a for a, _, _ in WIDER])
    swapped = x.astype(">f2")
    assert bits_of(floats(swapped, element("float32"))) == [b for _, b, _ in WIDER]
    assert bits_of(floats(swapped, element("float16"))) == bits_of(x)


def test_without_the_compiled_core_it_is_the_same() -> None:
    if native is None:
        pytest.skip("this is without the compiled core")
    asked = {**os.environ, "RELAYOUT_NATIVE": "0"}
    options = ["-o", "addopts=", "-q", "-p", "no:cacheprovider", "-k", "tables or halves"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, __file__], env=asked, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]
