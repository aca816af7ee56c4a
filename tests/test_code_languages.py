"""C++, Rust and Mojo by their compilers: self-tests, functions of one layout, style; what every target refuses."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

import relayout as rl
from code_pairs import places, random_layout
from relayout.codegen.targets import target_named, target_names


class Language(NamedTuple):
    """How a program of a language is compiled, and run."""

    compilers: tuple[str, ...]
    command: tuple[str, ...]
    suffix: str


LANGUAGES = {
    "cpp": Language(
        ("g++", "clang++"),
        ("-std=c++17", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-pedantic", "-fsanitize=undefined,address"),
        ".cpp",
    ),
    "rust": Language(("rustc",), ("-D", "warnings", "-A", "dead-code"), ".rs"),
    "mojo": Language(("mojo",), ("build",), ".mojo"),
}


def run_text(language: str, text: str, folder: Path) -> tuple[int, str]:
    """What a program prints, by every compiler that is installed."""
    known = LANGUAGES[language]
    compilers = [name for name in known.compilers if shutil.which(name)]
    if not compilers:
        pytest.skip(f"NO {language} CODE TESTS: {' or '.join(known.compilers)} is not installed")
    source = folder / f"text{known.suffix}"
    source.write_text(text)
    found = set()
    for compiler in compilers:
        program = folder / f"run_{compiler}"
        command = [compiler, *known.command, str(source), "-o", str(program)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:3000]
        assert "warning" not in done.stderr, done.stderr[:3000]
        ran = subprocess.run([program], capture_output=True, text=True)
        found.add((ran.returncode, ran.stdout))
    assert len(found) == 1
    return found.pop()


# ---- self-tests ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_text_carries_its_test(language: str, tmp_path: Path) -> None:
    right = rl.code("0 1 2 3 axes nhwc", "htp:R4Crouton", "uint8", language, test=True, inverse=True)
    assert run_text(language, right, tmp_path) == (0, "ok\n")
    old = "c_1 * c_block" + ";" * (language != "mojo") + "\n"
    assert old in right
    wrong = right.replace(old, old.replace("c_1", "0"), 1)
    if language != "mojo":  # its compiler takes seconds
        assert run_text(language, wrong, tmp_path) == (1, "wrong\n")


@pytest.mark.parametrize("language", ["cpp", "rust"])
@pytest.mark.parametrize("kind", ["int3", "complex64", "bool", "float64"])
def test_the_test_of_any_element(language: str, kind: str, tmp_path: Path) -> None:
    text = rl.code("0 1", "1 0 / 1,4 fill 1", kind, language, test=True, shape=(5, 7))
    assert run_text(language, text, tmp_path) == (0, "ok\n")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_conversion_carries_its_test(language: str, tmp_path: Path) -> None:
    means = rl.ScaleOffset(0.125, 31, "quint8")
    text = rl.code("0 1 / 1,8", "1 0", "float32", language, dst_element=means, inverse=True, test=True)
    assert run_text(language, text, tmp_path) == (0, "ok\n")


# ---- the functions of one layout -------------------------------------------------------------------------


def visiting_program(language: str, subjects: list[tuple[rl.Layout, Any]]) -> str:
    """A program that prints every element that a walk visits; it stops where the other functions disagree."""
    texts, calls = [], []
    for k, (layout, subject) in enumerate(subjects):
        name = f"at_{k}"
        indices = [f"i{d}" for d in range(layout.rank)]
        sizes = list(map(str, layout.extents)) if isinstance(subject, rl.Format) else []
        texts.append(rl.code(subject, target=language, name=name))
        there = f"{name}_offset({', '.join([*indices, *sizes])})"
        if language == "cpp":
            kinds = ", ".join([f"std::int64_t {i}" for i in ["offset", *indices]])
            back = ", ".join(["offset", *[f"j{d}" for d in range(layout.rank)], *sizes])
            same = " && ".join([f"j{d} == i{d}" for d in range(layout.rank)])
            declared = "".join([f"std::int64_t j{d}; " for d in range(layout.rank)])
            printed = " << ' ' << ".join(["offset", *indices])
            body = f"{declared}if ({there} != offset || !{name}_coordinate({back}) || !({same})) std::abort(); "
            visitor = f"[]({kinds}) {{ {body}std::cout << {printed} << '\\n'; }}"
            calls.append(f"  {name}_each({', '.join([visitor, *sizes])});\n  std::cout << '\\n';")
        elif language == "rust":
            back = f"{name}_coordinate({', '.join(['offset', *sizes])})"
            body = f"assert_eq!({there}, offset); assert_eq!({back}, Some([{', '.join(indices)}])); "
            given = ", ".join(["offset", *indices])
            printed = f'println!("{" ".join(["{}"] * (layout.rank + 1))}", {given});'
            visitor = f"|{given}| {{ {body}{printed} }}"
            calls.append(f"    {name}_each({', '.join([visitor, *sizes])});\n    println!();")
        else:
            back = f"{name}_coordinate({', '.join(['offset', *sizes])}).value()"
            same = " and ".join([f"{back}[{d}] == i{d}" for d in range(layout.rank)])
            calls += [
                f"    def seen_{k}({', '.join([f'{i}: Int' for i in ['offset', *indices]])}) {{}}:",
                f"        if {there} == offset and {same}:",
                f"            print({', '.join(['offset', *indices])})",
                f"    {name}_each({', '.join([f'seen_{k}', *sizes])})\n    print()",
            ]
    heads = {
        "cpp": ("#include <cstdlib>\n#include <iostream>\n", "int main() {", "}\n"),
        "rust": ("", "fn main() {", "}\n"),
        "mojo": ("", "def main():", ""),
    }
    before, opening, closing = heads[language]
    return "\n".join([before, *texts, opening, *calls, closing])


@pytest.mark.parametrize("language", LANGUAGES)
def test_places_are_told_and_visited_in_the_order_of_memory(language: str, tmp_path: Path) -> None:
    rng = Random(12)
    subjects: list[tuple[rl.Layout, Any]] = []
    while len(subjects) < (4 if language == "mojo" else 10):
        extents = tuple([rng.choice([1, 2, 3, 5, 8]) for _ in range(rng.choice([1, 2, 3]))])
        layout = random_layout(rng, extents)
        subjects.append((layout, layout))
    backwards = rl.Format(2, [(1, 0), (0, 0), (1, 4), (0, 2, -1)])
    subjects += [(backwards.layout((5, 7)), backwards)]
    subjects += [(rl.Format.parse("0 1 / 1,4").layout((3, 9)), rl.Format.parse("0 1 / 1,4"))]
    status, printed = run_text(language, visiting_program(language, subjects), tmp_path)
    assert status == 0
    for (layout, subject), lines in zip(subjects, printed.split("\n\n")):
        got = [tuple(map(int, line.split())) for line in lines.splitlines()]
        where = places(layout)
        assert got == sorted([(int(where[index]), *index) for index in np.ndindex(*layout.extents)]), subject


# ---- style -----------------------------------------------------------------------------------------------

CLANG = ("clang-format", "--style=LLVM", "--dry-run", "-Werror")
FORMATTERS = {"c": CLANG, "cpp": CLANG, "rust": ("rustfmt", "--check")}


@pytest.mark.parametrize("language", FORMATTERS)
def test_a_text_is_as_its_formatter_leaves_it(language: str, tmp_path: Path) -> None:
    tool, *options = FORMATTERS[language]
    if not shutil.which(tool):
        pytest.skip(f"NO {language} STYLE TESTS: {tool} is not installed")
    texts = [
        rl.code("nhwc", "htp:R4Crouton", "uint8", language, axes="nhwc", inverse=True, test=True),
        rl.code("0 1 / 0,2 1,4", target=language, name="tiles", shape=(3, 8)),
        rl.code("nhwc", "nChw8c", "float32", language, dst_element="float16", axes="nhwc"),
    ]
    for k, text in enumerate(texts):
        file = tmp_path / f"text{k}{target_named(language).suffix}"
        file.write_text(text)
        done = subprocess.run([tool, *options, str(file)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[:2000] + done.stderr[:2000]


# ---- what is refused -------------------------------------------------------------------------------------

WORDS = {"cpp": "namespace", "rust": "impl", "mojo": "comptime"}


@pytest.mark.parametrize("language", target_names())
def test_every_language_refuses_what_no_function_can_be(language: str) -> None:
    own = WORDS.get(language, "for")
    for name in ["src", "dst", *[own] * (language != "mlir")]:  # names of MLIR have a sign of their own
        with pytest.raises(rl.ShapeError, match=f"{name} has a meaning in"):
            rl.code("0 1", "1 0", "int8", language, name=name, shape=(2, 3))
    for wrong in ("a b", "", "1st", "läufer", "a-b", "_x", 7):
        with pytest.raises(rl.ShapeError, match="is no name of a function"):
            rl.code("0 1", "1 0", "int8", language, name=wrong, shape=(2, 3))  # type: ignore[arg-type]


Refusal = tuple[Callable[[str], str], type[Exception], str]
REFUSALS: list[Refusal] = [
    (lambda t: rl.code("(3,4):(4,1)", "(3,4):(1,1)", "int8", t), rl.Overlap, "the same place"),
    (lambda t: rl.code("0 1", "1 0", "int8", t, shape=(1 << 40, 1 << 40)), rl.LimitExceeded, "index of 64 bits"),
    (lambda t: rl.code("0 1", "1 0", "int8", t, shape=(1 << 14, 1 << 14), test=True), rl.LimitExceeded, "test"),
    (lambda t: rl.code("0 1", "0 1 2", "int8", t), rl.ShapeError, "2 and 3 dimensions"),
    (lambda t: rl.code("0 1", "1 0", "no_such_type", t), rl.LayoutError, "no_such_type"),
    (lambda t: rl.code("0 1", "1 0", "uint8", t, fill=300), rl.NotExpressible, "300"),
]


@pytest.mark.parametrize("language", target_names())
def test_every_language_refuses_what_cannot_be_moved(language: str) -> None:
    for call, error, words in REFUSALS:
        with pytest.raises(error, match=words):
            call(language)


@pytest.mark.parametrize("language", ["c", "cpp", "rust", "mojo", "cuda", "hip", "numpy", "torch", "jax"])
def test_elements_that_a_language_lacks_are_refused(language: str) -> None:
    with pytest.raises(rl.NotExpressible, match="no type for the 128 bits of int128"):
        rl.code("0 1", "1 0", "int128", language, shape=(2, 3))


@pytest.mark.parametrize(("given", "near"), [("cp", "cpp"), ("rustt", "rust"), ("CUDA", "cuda"), ("numpi", "numpy")])
def test_an_unknown_language_lists_the_near_ones(given: str, near: str) -> None:
    with pytest.raises(rl.NotExpressible, match=f"no target language '{given}'") as caught:
        rl.code("0 1", "1 0", "int8", given)
    assert near in caught.value.hint.partition("?")[0]
    assert all(name in caught.value.hint for name in target_names())


def test_mojo_fills_with_the_bits_of_what_digits_lose() -> None:
    for fill, bits in ((1e-45, 0x1), (-0.0, 0x80000000), (float("inf"), 0x7F800000)):
        text = rl.code("0 1", "1 0 / 1,4", "float32", "mojo", fill=fill, shape=(3, 5))
        assert f".fill(bitcast[DType.float32](UInt32(0x{bits:X})))" in text
