"""Generated code, compiled with every warning and sanitizer and run: numpy tells what must come out, bit for bit."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

import relayout as rl
from code_pairs import by_places, places, random_layout
from relayout.elements import subbyte

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-pedantic"]

needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler")


class Case(NamedTuple):
    """One function: its text, the arguments behind its pointers, the bytes it reads and those it must write."""

    name: str
    text: str
    sizes: tuple[int, ...]
    given: bytes
    expected: bytes
    about: str


# ---- the judge -------------------------------------------------------------------------------------------


def stored(array: Any, fmt: rl.Format, fill: int) -> Any:
    """An array in a format, by numpy's pad, reshape and transpose."""
    block = [int(np.prod([f.size for f in fmt.blocks if f.dim == d])) for d in range(fmt.rank)]
    padded = np.pad(array, [(0, -n % b) for n, b in zip(array.shape, block)], constant_values=fill)
    shape: list[int] = []
    where: dict[int, int] = {}
    for d in range(fmt.rank):
        for k in [k for k, f in enumerate(fmt.factors) if f.dim == d]:
            where[k] = len(shape)
            shape.append(fmt.factors[k].size or padded.shape[d] // block[d])
    return padded.reshape(shape).transpose([where[k] for k in range(len(fmt.factors))])


# ---- cases -----------------------------------------------------------------------------------------------


KINDS = {"uint8": "u1", "int16": "i2", "float16": "u2", "bfloat16": "u2", "float32": "u4", "float64": "u8"}


def random_pairs() -> Iterator[Case]:
    rng = Random(21)
    generator = np.random.default_rng(21)
    for k in range(60):
        extents = tuple([rng.choice([1, 2, 3, 5, 7, 8, 12, 17]) for _ in range(rng.choice([1, 2, 2, 3, 4]))])
        source, target = random_layout(rng, extents), random_layout(rng, extents)
        kind, word = rng.choice(list(KINDS.items()))
        memory = generator.integers(0, 256, source.storage_size * np.dtype(word).itemsize, np.uint8)
        if kind.startswith("float"):
            memory &= 0x3F
        text = rl.code(source, target, kind, name=f"pair_{k}")
        expected = by_places(source, target, memory.view(word))
        yield Case(f"pair_{k}", text, (), memory.tobytes(), expected.tobytes(), f"{source} -> {target}")


FORMATS = [
    "0 1 2 3 axes nhwc",
    "0 3 1 2 axes nhwc",
    "htp:R4Crouton",
    "0 1 2 3 / 3,4 axes nhwc",
    "0 3 1 2 / 3,16 2,3 axes nhwc",
    "3 2 1 0 / 1,2 3,8 1,2 3,2 axes nhwc fill 7",
    "0 1 2 3 / 3,6 axes nhwc",
]


def format_pairs() -> Iterator[Case]:
    """Formats without a shape: one function, several shapes."""
    rng = Random(4)
    generator = np.random.default_rng(4)
    shapes = [(1, 1, 1, 1), (1, 8, 8, 32), (2, 9, 3, 40), (1, 3, 17, 5), (3, 4, 6, 12), (0, 4, 4, 4)]
    for a, first in enumerate(FORMATS):
        for b, second in enumerate(FORMATS):
            if a == b:
                continue
            texts = [rl.code(first, second, "uint8", name=f"format_{a}_{b}")]
            source, target = [rl.resolve(x, element="uint8").format for x in (first, second)]
            assert isinstance(source, rl.Format)
            assert isinstance(target, rl.Format)
            for shape in rng.sample(shapes, 3):
                data = generator.integers(0, 256, shape, np.uint8)
                given = stored(data, source, 99)
                expected = stored(data, target, target.fill or 0)
                text = texts.pop() if texts else ""
                about = f"{first} -> {second} at {shape}"
                yield Case(f"format_{a}_{b}", text, shape, given.tobytes(), expected.tobytes(), about)


def rests_and_alignments() -> Iterator[Case]:
    """Digits above a rest, backwards and aligned: their places are those of the layout at each shape."""
    plain = rl.Format(2, [(0, 0), (1, 0)])
    others = [
        rl.Format(2, [(0, 0), (1, 0), (1, 2, "rest")]),
        rl.Format(2, [(1, 0), (0, 0), (0, 4, -1)]),
        rl.Format(2, [(0, 0), (1, 0), (1, 4)], align=[64, 16, 8, 1]),
        rl.Format(2, [(0, 0), (1, 0), (1, 2, "rest"), (0, 3)]),
        rl.Format(2, [(0, 0), (1, 0), (1, 4), (1, 2, "rest")]),
    ]
    generator = np.random.default_rng(8)
    pairs = (
        [(plain, x) for x in others] + [(x, plain) for x in others] + [(others[4], others[2]), (others[0], others[4])]
    )
    for k, (first, second) in enumerate(pairs):
        text = rl.code(first, second, "int16", name=f"rest_{k}")
        for shape in ((1, 1), (5, 7), (4, 16), (9, 10), (3, 0)):
            source, target = first.layout(shape), second.layout(shape)
            memory = generator.integers(0, 1 << 15, source.storage_size).astype(np.int16)
            expected = by_places(source, target, memory)
            about = f"{first} -> {second} at {shape}"
            yield Case(f"rest_{k}", text, shape, memory.tobytes(), expected.tobytes(), about)
            text = ""


def packed_pairs() -> Iterator[Case]:
    """Elements that share bytes, with and without fill, of known and of any size."""
    rng = Random(3)
    generator = np.random.default_rng(3)
    for k, bits in enumerate([1, 2, 3, 4, 4, 4, 5, 6, 7, 4, 3]):
        shape = (rng.choice([2, 3, 6]), rng.choice([16, 19, 32]))
        fmt = rl.Format(2, [(1, 0), (0, 0), (1, 8), (0, 2)], fill=1)
        if k > 8:  # ends inside a byte
            shape, fmt = (3, 2), rl.Format(2, [(0, 0), (1, 0), (1, 3)], fill=1)
        plain = rl.Format(2, [(0, 0), (1, 0)])
        source, target = (plain, fmt) if k % 3 or k > 8 else (fmt, plain)
        codes = generator.integers(0, 1 << bits, shape, np.uint8)
        given, expected = stored(codes, source, 0), stored(codes, target, target.fill or 0)
        for sizes in ((), shape):
            name = f"packed_{k}_{len(sizes)}"
            text = rl.code(source, target, f"uint{bits}", name=name, shape=None if sizes else shape)
            read, written = [subbyte.pack(x.reshape(-1), f"uint{bits}").tobytes() for x in (given, expected)]
            yield Case(name, text, sizes, read, written, f"{bits} bits, {source} -> {target} at {shape}")


def wide_fills() -> Iterator[Case]:
    """A fill whose bytes differ."""
    data = np.arange(15, dtype=np.float32).reshape(3, 5)
    fmt = rl.Format(2, [(0, 0), (1, 0), (0, 2), (1, 4)], fill=1.5)
    expected = stored(data, fmt, 1.5)  # type: ignore[arg-type]
    for name, shape in (("fill_any", None), ("fill_known", (3, 5))):
        text = rl.code("0 1", fmt, "float32", name=name, shape=shape)
        yield Case(name, text, () if shape else (3, 5), data.tobytes(), expected.tobytes(), "fill 1.5")


def inverses() -> Iterator[Case]:
    """The way back of a pack."""
    data = np.random.default_rng(5).integers(0, 256, (1, 9, 3, 40), np.uint8)
    fmt = rl.resolve("htp:R4Crouton", element="uint8").format
    assert isinstance(fmt, rl.Format)
    packed = stored(data, fmt, 31)
    text = rl.code("0 1 2 3 axes nhwc", "htp:R4Crouton", "uint8", name="both", inverse=True)
    yield Case("both", text, data.shape, data.tobytes(), packed.tobytes(), "there")
    yield Case("both_inverse", "", data.shape, packed.tobytes(), data.tobytes(), "and back")


def catalog_formats() -> Iterator[Case]:
    """Named formats, one in nine, there and back, of any size: their places are those of the layout."""
    generator = np.random.default_rng(7)
    for k, name in enumerate(rl.catalog.names()[::9]):
        found = rl.resolve(name, element="uint8").format
        if not isinstance(found, rl.Format) or isinstance(found.fill, str):
            continue
        plain = rl.Format(found.rank, [(d, 0) for d in range(found.rank)], axes=found.axes)
        shape = tuple([min(block + 1, 41) if block > 1 else 3 for block in found.block_shape])
        for way, (first, second) in enumerate(((plain, found), (found, plain))):
            source, target = first.layout(shape), second.layout(shape)
            memory = generator.integers(0, 256, source.storage_size, np.uint8)
            text = rl.code(first, second, "uint8", name=f"named_{k}_{way}")
            expected = by_places(source, target, memory, second.fill or 0)
            yield Case(f"named_{k}_{way}", text, shape, memory.tobytes(), expected.tobytes(), f"{name} at {shape}")


def transposes() -> Iterator[Case]:
    """Long loops on both sides, which are cut into tiles, of known and of any size."""
    generator = np.random.default_rng(6)
    pairs = [
        ("0 1", "1 0", (70, 65)),
        ("0 1", "1 0", (64, 128)),
        ("0 1 2", "0 2 1", (2, 97, 66)),
        ("0 1 2", "2 1 0", (65, 2, 64)),
    ]
    for k, (first, second, shape) in enumerate(pairs):
        data = generator.integers(0, 1 << 15, shape).astype(np.int16)
        source, target = [stored(data, rl.Format.parse(x), 0) for x in (first, second)]
        for sizes in ((), shape):
            name = f"transpose_{k}_{len(sizes)}"
            text = rl.code(first, second, "int16", name=name, shape=None if sizes else shape)
            yield Case(name, text, sizes, source.tobytes(), target.tobytes(), f"{first} -> {second} at {shape}")


GROUPS: dict[str, Callable[[], Iterator[Case]]] = {
    "random layouts": random_pairs,
    "formats of any size": format_pairs,
    "rests and alignments": rests_and_alignments,
    "packed elements": packed_pairs,
    "wide fills": wide_fills,
    "inverses": inverses,
    "transposes": transposes,
    "catalog": catalog_formats,
}

MAIN = """
static void *exactly(long n) {
  void *p = malloc(n ? (size_t)n : 1);
  if (!p)
    abort();
  return p;
}

#define RUN(call, given, written)                                              \\
  do {                                                                         \\
    void *src = exactly(given), *dst = exactly(written);                       \\
    if ((given) && fread(src, (given), 1, stdin) != 1)                         \\
      abort();                                                                 \\
    memset(dst, 0xa5, (written) ? (written) : 1);                              \\
    call;                                                                      \\
    fwrite(dst, 1, (written), stdout);                                         \\
    free(src);                                                                 \\
    free(dst);                                                                 \\
  } while (0)
"""


def compile_text(folder: Path, name: str, text: str, *flags: str) -> Path:
    """The program; with sanitizers where the compiler has them."""
    source, program = folder / f"{name}.c", folder / name
    source.write_text(text)
    for more in (["-fsanitize=undefined,address", "-fno-sanitize-recover=all"], []):
        done = subprocess.run(
            [CC, *FLAGS, *flags, *more, str(source), "-o", str(program)], capture_output=True, text=True
        )
        if done.returncode == 0 or "sanitize" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr[:4000]
    return program


@needs_cc
@pytest.mark.parametrize("group", GROUPS)
def test_c_moves_every_element_to_its_place(group: str, tmp_path: Path) -> None:
    cases = list(GROUPS[group]())
    texts = ["#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n", *[case.text for case in cases], MAIN]
    calls = []
    for case in cases:
        arguments = ", ".join(["src", "dst", *map(str, case.sizes)])
        calls.append(f"  RUN({case.name}({arguments}), {len(case.given)}, {len(case.expected)});")
    program = compile_text(tmp_path, "cases", "\n".join([*texts, "int main(void) {", *calls, "  return 0;\n}\n"]))
    done = subprocess.run([program], input=b"".join([case.given for case in cases]), capture_output=True)
    assert done.returncode == 0, done.stderr[:4000]
    start = 0
    for case in cases:
        got = done.stdout[start : start + len(case.expected)]
        start += len(case.expected)
        assert got == case.expected, f"{case.about}\n{case.text}"
    assert start == len(done.stdout)


# ---- the functions of one layout -------------------------------------------------------------------------


VISIT = """
static void seen(int64_t offset, {coordinate}, void *context) {{
  (void)context;
  printf("%lld{formats}\\n", (long long)offset{values});
  if ({name}_offset({names}{sizes}) != offset)
    abort();
}}
"""


@needs_cc
def test_c_tells_places_and_visits_them_in_the_order_of_memory(tmp_path: Path) -> None:
    rng = Random(12)
    layouts: list[tuple[rl.Layout, Any]] = []
    while len(layouts) < 12:
        extents = tuple([rng.choice([1, 2, 3, 5, 8]) for _ in range(rng.choice([1, 2, 3]))])
        layout = random_layout(rng, extents)
        layouts.append((layout, layout))
    for fmt, shape in (
        (rl.Format(2, [(1, 0), (0, 0), (1, 4), (0, 2, -1)]), (5, 7)),
        (rl.Format.parse("0 1 / 1,4"), (3, 9)),
    ):
        layouts.append((fmt.layout(shape), fmt))
    layouts.append((rl.Format(1, [(0, 0), (0, 2, "rest")]).layout(9), rl.Format(1, [(0, 0), (0, 2, "rest")])))
    texts, calls = ["#include <stdio.h>\n#include <stdlib.h>\n"], []
    for k, (layout, subject) in enumerate(layouts):
        names = [f"i{d}" for d in range(layout.rank)]
        sizes = list(layout.extents) if isinstance(subject, rl.Format) else []
        texts.append(rl.code(subject, name=f"at_{k}"))
        words = VISIT.format(
            name=f"at_{k}",
            coordinate=", ".join([f"int64_t {n}" for n in names]),
            formats=" %lld" * len(names),
            values="".join([f", (long long){n}" for n in names]),
            names=", ".join(names),
            sizes="".join([f", {n}" for n in sizes]),
        )
        texts.append(words.replace("void seen(", f"void seen_{k}("))
        arguments = ", ".join([f"seen_{k}", "0", *map(str, sizes)])
        calls.append(f'  at_{k}_each({arguments});\n  puts("");')
    program = compile_text(tmp_path, "places", "\n".join([*texts, "int main(void) {", *calls, "  return 0;\n}\n"]))
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
    for (layout, subject), lines in zip(layouts, done.stdout.split("\n\n")):
        got = [tuple(map(int, line.split())) for line in lines.splitlines()]
        where = places(layout)
        assert got == sorted([(int(where[index]), *index) for index in np.ndindex(*layout.extents)]), subject


def test_without_an_inverse_the_text_says_why() -> None:
    text = rl.code("(3,4):(1,2)")
    assert "int64_t layout_offset(int64_t i0, int64_t i1) { return i0 + i1 * 2; }" in text
    assert "_coordinate(" not in text
    assert "a stride of 2 is within the reach of smaller ones, 2" in text


# ---- conversions -----------------------------------------------------------------------------------------


def conversions() -> Iterator[tuple[str, str, Any, Any, Any]]:
    """A name, the text, values, and what numpy makes of them; None where one of them must be refused."""
    generator = np.random.default_rng(9)
    reals = generator.normal(0, 20, 60).astype(np.float32)
    reals[:8] = [0.5, 1.5, -0.5, 2.5, 1e30, -1e30, np.inf, -np.inf]
    for k, (scale, offset, kind) in enumerate(
        [(1.0, 3, "uint8"), (0.1, -5, "int8"), (1e-3, 100, "uint16"), (0.3, 0, "int16")]
    ):
        means = rl.ScaleOffset(scale, offset, kind)
        text = rl.code("0 1", "1 0", "float32", dst_element=means, name=f"quantise_{k}", shape=(5, 12))
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        q = reals * (np.float32(1) / np.float32(scale)) + np.float32(offset)
        expected = np.clip(np.rint(q), low, high).astype(kind)
        yield f"quantise_{k}", text, reals, expected, "checked"
        yield f"quantise_{k}", "", np.where(np.arange(60) == 44, np.float32("nan"), reals), expected[:0], "refused"
        codes = generator.integers(low, high + 1, 60).astype(kind)
        back = rl.code("0 1", "1 0", means, dst_element="float32", name=f"dequantise_{k}", shape=(5, 12))
        plain = (codes.astype(np.float32) - np.float32(offset)) * np.float32(scale)
        yield f"dequantise_{k}", back, codes, plain, "sure"
    kinds = ["int8", "uint8", "int16", "uint32", "int64", "uint64", "float32", "float64"]
    for first in kinds:
        for second in kinds:
            if first == second:
                continue
            name = f"cast_{first}_{second}"
            text = rl.code("0 1", "1 0", first, dst_element=second, name=name, shape=(5, 12))
            sure = "float" in second or ("float" not in first and np.can_cast(first, second))
            yield name, text, np.arange(60).astype(first), np.arange(60).astype(second), "sure" if sure else "checked"
            if sure:
                continue
            held = np.iinfo(second)
            wrong: list[Any] = [0.5, np.inf, np.nan, -1e30, float(held.max + 1)] if "float" in first else []
            if "float" not in first:
                wrong += [n for n in (held.min - 1, held.max + 1) if np.iinfo(first).min <= n <= np.iinfo(first).max]
            for value in wrong:
                values = np.arange(60).astype(first)
                values[17] = value
                yield name, "", values, values[:0], "refused"


@needs_cc
@pytest.mark.parametrize("flags", [[], ["-O2", "-march=native", "-std=gnu99"]], ids=["plain", "optimised"])
def test_c_converts_values_as_numpy_does(flags: list[str], tmp_path: Path) -> None:
    cases = [case for case in conversions() if not flags or "quantise" in case[0]]
    texts = ["#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n", *[text for _, text, *_ in cases], MAIN]
    calls = []
    for name, _, values, expected, how in cases:
        call = {"sure": "{}", "checked": "if ({}) abort()", "refused": "if (!{}) abort()"}[how].format(
            f"{name}(src, dst)"
        )
        calls.append(f"  RUN({call}, {values.nbytes}, {expected.nbytes or 480});")
    text = "\n".join([*texts, "int main(void) {", *calls, "  return 0;\n}\n"])
    program = compile_text(tmp_path, "convert", text, *flags)
    given = b"".join([values.tobytes() for _, _, values, *_ in cases])
    done = subprocess.run([program], input=given, capture_output=True)
    assert done.returncode == 0, done.stderr[:4000]
    start = 0
    for name, _, values, expected, how in cases:
        got = done.stdout[start : start + (expected.nbytes or 480)]
        start += expected.nbytes or 480
        if how != "refused":
            turned = expected.reshape(5, 12).T
            assert got == turned.tobytes(), (name, values, np.frombuffer(got, expected.dtype).reshape(12, 5).T)


@needs_cc
def test_a_conversion_carries_its_test(tmp_path: Path) -> None:
    means = rl.ScaleOffset(0.125, 31, "quint8")
    text = rl.code("0 1 2 3 axes nhwc", "htp:R4Crouton", "float32", dst_element=means, inverse=True, test=True)
    done = subprocess.run([compile_text(tmp_path, "one", text)], capture_output=True, text=True)
    assert done.stdout == "ok\n"


@pytest.mark.skipif(shutil.which("clang-format") is None, reason="no clang-format")
def test_the_text_is_as_clang_format_writes_it() -> None:
    texts = [rl.code("0 1 2 3 axes nhwc", "htp:R4Crouton", "float32", test=True, inverse=True)]
    texts += [case.text for group in ("random layouts", "transposes", "inverses") for case in GROUPS[group]()]
    texts += [
        rl.code("0 1", "1 0", "float32", shape=(2048, 4096)),
        rl.code("0 1 2", "1 0 2", "uint8", shape=(512, 512, 64)),
    ]
    texts += [rl.code("0 1 / 0,2 1,4", shape=(3, 8)), rl.code("htp:R4Crouton2", element=None)]
    for text in texts:
        done = subprocess.run(
            ["clang-format", "--style=LLVM", "--assume-filename=pack.c"], input=text, capture_output=True, text=True
        )
        assert done.stdout == text


@needs_cc
def test_a_large_target_is_written_past_the_caches(tmp_path: Path) -> None:
    x = np.arange(2048 * 4096, dtype=np.uint8).reshape(2048, 4096)
    for k, (target, expected) in enumerate(
        [("1 0", x.T), ("0 1 / 0,8 1,64", x.reshape(256, 8, 64, 64).swapaxes(1, 2))]
    ):
        text = rl.code("0 1", target, "uint8", shape=x.shape, name="pack")
        assert "pack_stream(to" in text
        source, library = tmp_path / f"{k}.c", tmp_path / f"{k}.so"
        source.write_text(text)
        subprocess.run(
            [CC, "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O1", source, "-o", library], check=True
        )
        for shift in (0, 16, 1):
            memory = np.zeros(x.size + 128, np.uint8)
            start = -memory.ctypes.data % 64 + shift
            call = ctypes.CDLL(str(library)).pack
            call(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(memory.ctypes.data + start))
            assert np.array_equal(memory[start : start + x.size], expected.reshape(-1))
            assert not memory[:start].any()
            assert not memory[start + x.size :].any()
    assert "stream" not in rl.code("0 1", "1 0", "uint8", shape=(64, 64), name="pack")


# ---- the text --------------------------------------------------------------------------------------------


@needs_cc
def test_a_text_carries_its_test(tmp_path: Path) -> None:
    right = rl.code("0 1 2 3 axes nhwc", "htp:R4Crouton", "uint8", test=True, inverse=True)
    program = compile_text(tmp_path, "right", right)
    assert subprocess.run([program], capture_output=True, text=True).stdout == "ok\n"
    for k, (old, new) in enumerate([("c_1 * c_block;", "0;"), ("memset(dst, 31", "memset(dst, 30")]):
        assert old in right
        done = subprocess.run([compile_text(tmp_path, f"wrong{k}", right.replace(old, new, 1))], capture_output=True)
        assert (done.returncode, done.stdout) == (1, b"wrong\n")


@needs_cc
@pytest.mark.parametrize("kind", ["uint16", "uint4"])
def test_the_test_of_any_size_passes_the_end_of_tiles(kind: str, tmp_path: Path) -> None:
    right = rl.code("0 1", "1 0", kind, name="turn", test=True)
    tile = re.findall(r"const int64_t i1_blocks = \(n1 \+ (\d+)\) / (\d+);", right)[0]
    assert int(tile[0]) + 1 == int(tile[1]) > 8
    wrong = right.replace(f"(n1 + {tile[0]}) / {tile[1]};", f"n1 / {tile[1]};", 1)
    found = [subprocess.run([compile_text(tmp_path, f"x{k}", x)]).returncode for k, x in enumerate((right, wrong))]
    assert found == [0, 1]


@needs_cc
@pytest.mark.parametrize("kind", ["int3", "complex64", "float8_e4m3fn", "bool", "float64", "float8_e8m0fnu"])
def test_the_test_of_any_element(kind: str, tmp_path: Path) -> None:
    text = rl.code("0 1", "1 0 / 1,4 fill 1", kind, test=True, shape=(5, 7))
    done = subprocess.run([compile_text(tmp_path, "one", text)], capture_output=True, text=True)
    assert done.stdout == "ok\n"


def test_the_crouton_reads_as_one_writes_it() -> None:
    text = rl.code("0 1 2 3 axes nhwc", "htp:R4Crouton", "uint8")
    assert "void pack_htp_r4_crouton_u8(const uint8_t *src, uint8_t *dst, int64_t n0," in text
    assert "    // h, in steps of 8\n    for (int64_t h_1 = 0; h_1 < h_blocks; ++h_1) {" in text
    assert "memcpy(to, from, (size_t)c_block * sizeof(*dst));" in text
    assert max(map(len, text.splitlines())) <= 80


def test_what_is_one_run_is_one_copy() -> None:
    text = rl.code("0 1 2", "0 1 2", "float32", shape=(2, 3, 64))
    assert "for (" not in text
    assert "memset" not in text
    assert text.count("memcpy(") == 1


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: rl.code("0 1", "1 0", "float32", "cobol"), rl.NotExpressible, "there is no target language 'cobol'"),
        (lambda: rl.code("0 1", "1 0", "float32", name="a b"), rl.ShapeError, "no name of a function"),
        (lambda: rl.code("0 1", "1 0", "float32", name="while"), rl.ShapeError, "has a meaning in c"),
        (lambda: rl.code("0 1", "1 0", "float32", name="uint8_t"), rl.ShapeError, "has a meaning in c"),
        (lambda: rl.code("0 1", "1 0", "float32", name="NULL"), rl.ShapeError, "has a meaning in c"),
        (lambda: rl.code("0 1", "1 0", "float32", "cpp", name="size_t"), rl.ShapeError, "has a meaning in cpp"),
        (lambda: rl.code("0 1", "1 0"), rl.ShapeError, "has a type"),
        (lambda: rl.code("0 1", "1 0", "int128"), rl.NotExpressible, "no type for the 128 bits"),
        (lambda: rl.code("0 1", "0 1 2", "int8"), rl.ShapeError, "2 and 3 dimensions"),
        (lambda: rl.code("(3,4):(4,1)", "(3,4):(1,1)", "int8"), rl.Overlap, "address|place|offset"),
        (lambda: rl.code("(3,4):(0,1)", "(3,4):(4,1)", "int8", inverse=True), rl.Overlap, "address|place|offset"),
        (lambda: rl.code("0 1", "1 0", "int8", shape=(1 << 40, 1 << 40)), rl.LimitExceeded, "index of 64 bits"),
        (lambda: rl.code("0 1", "1 0", "int8", shape=(1 << 14, 1 << 14), test=True), rl.LimitExceeded, "test"),
        (lambda: rl.code(rl.Layout(3, 1, offset=1 << 70)), rl.LimitExceeded, "index of 64 bits"),
        (lambda: rl.code("0 1", "1 0", "int8", ["c"]), rl.NotExpressible, "no target language"),
        (lambda: rl.code("0 1", "1 0", "uint8", fill=300), rl.NotExpressible, "300"),
        (lambda: rl.code("0 1", test=True), rl.ShapeError, "move no elements"),
    ],
)
def test_what_cannot_be_written_is_refused(call: Callable[[], str], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_the_command_writes_a_file(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from relayout.cli.main import relayout

    file = tmp_path / "pack.c"
    words = ["code", "0 1", "1 0", "--dtype", "int8", "--shape", "3,4", "--name", "turn", "-o", str(file)]
    assert CliRunner().invoke(relayout, words).exit_code == 0
    assert file.read_text() == rl.code("0 1", "1 0", "int8", name="turn", shape=(3, 4))
    assert CliRunner().invoke(relayout, ["code", "--list-targets"]).output.split()[0] == "c"
    assert CliRunner().invoke(relayout, [*words[:-1], str(tmp_path / "no" / "pack.c")]).exit_code == 3
    assert CliRunner().invoke(relayout, ["code", "0 1", "1 0"]).exit_code == 3
    told = CliRunner().invoke(relayout, ["code", "nhwc", "htp:R4Crouton", "--shape", "1,16,16,64"]).output
    assert "void pack_htp_r4_crouton_u8(const uint8_t *src, uint8_t *dst) {" in told
    told = CliRunner().invoke(relayout, ["code", "nhwc", "htp:R4Crouton", "--shape", "1,3,3,3", "--fill", "0x7"]).output
    assert "memset(dst, 7, " in told
    told = CliRunner().invoke(relayout, ["code", "0 1", "1 0 / 1,4", "--dtype", "uint4", "--shape", "3,5"]).output
    assert "// Element i: 2 share a byte, the first has its least significant bits." in told
    assert CliRunner().invoke(relayout, ["code", "0 1", "1 0", "--dtype", "int8", "--fill", "x"]).exit_code == 2
    told = CliRunner().invoke(relayout, ["code", "memref<3x4xf32>", "(3,4):(1,3)"]).output
    assert "void pack_f32(const float *src, float *dst) {" in told
