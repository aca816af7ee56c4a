"""An array library as a target: functions on flat arrays, the functions of one layout, and a test of both."""

from __future__ import annotations

import keyword

from .array_index import write_index
from .array_library import ArrayLibrary
from .array_writer import ArrayWriter
from .checksums import MIXER, WEIGHT
from .program import CheckedSize, IndexFunctions, PackFunction
from .python_text import PythonLines, call, under_imports

SAMPLE = f'''def sample(count):
    """The bytes of a test: each depends on its place."""
    return bytes([i * {MIXER} % 2**32 >> 25 for i in range(count)])


def checksum(data):
    """The sum of all bytes, each times a number that its place gives."""
    weights = [i * 0x{WEIGHT:X} % 2**64 >> 32 | 1 for i in range(len(data))]
    return sum([x * w for x, w in zip(data, weights)]) % 2**64'''


BUILTINS = ("bytes", "len", "list", "print", "range", "sum", "zip")
"""Python's own functions that the texts call."""


class ArrayTarget:
    """A language of Python functions on arrays; ``python pack.py`` prints ``ok`` for a text with its test."""

    suffix = ".py"

    def __init__(self, library: ArrayLibrary, about: str) -> None:
        self.library = library
        self.name = library.name
        self.about = about
        own = {line.split()[-1] for line in (*library.imports, *library.test_imports)}
        self.reserved = frozenset([*keyword.kwlist, *own, "sample", "checksum", *BUILTINS])

    def write_pack(self, functions: list[PackFunction]) -> str:
        texts = [ArrayWriter(function, self.library).text() for function in functions]
        return under_imports(self.library.imports, texts)

    def write_index(self, functions: IndexFunctions) -> str:
        return write_index(functions, self.library)

    def write_test(self, functions: list[PackFunction], runs: list[list[CheckedSize]]) -> str:
        texts = [ArrayWriter(function, self.library).text() for function in functions]
        checks = [check_text(function, self.library) for function in functions]
        main = main_text(functions, runs, self.library.test_setup)
        return under_imports(self.library.test_imports, [*texts, SAMPLE, *checks, main])


def check_text(function: PackFunction, library: ArrayLibrary) -> str:
    """The run of one function on bytes that depend on their place, and the checksum of what comes out."""
    lines = PythonLines()
    lines.add(0, f"def {function.name}_check(source, target, expected, *sizes):")
    lines.docstring(1, "Whether a run gives what it should.", ())
    given = library.stored_type(function.element).given
    lines.add(1, f"src = {library.from_bytes('sample(source)', given)}")
    lines.add(1, f"data = {library.to_bytes(f'{function.name}(src, *sizes)')}")
    lines.add(1, "return len(data) == target and checksum(data) == expected")
    return "\n".join(lines.lines)


def main_text(functions: list[PackFunction], runs: list[list[CheckedSize]], setup: tuple[str, ...]) -> str:
    """The program that makes all runs, and prints ``ok``."""
    lines = PythonLines()
    lines.add(0, 'if __name__ == "__main__":')
    for line in setup:
        lines.add(1, line)
    lines.add(1, "right = True")
    for function, own in zip(functions, runs):
        for run in own:
            numbers = [str(run.source), str(run.target), str(run.checksum), *map(str, run.sizes)]
            lines.statement(1, "right &= ", call(f"{function.name}_check", *numbers))
    lines.add(1, 'print("ok" if right else "wrong")')
    lines.add(1, "raise SystemExit(int(not right))")
    return "\n".join(lines.lines)
