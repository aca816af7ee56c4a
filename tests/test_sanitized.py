"""The native tests again, on a compiled core that checks every access to memory and all arithmetic.

Reads and writes beside the memory, and all that C++ leaves undefined, end the process with a report.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).parents[1]
NATIVE_TESTS = ["convert", "general", "plan", "repack", "offset_table", "nested"]
FIRST_LINES = ("ERROR: AddressSanitizer", "runtime error:", "Assertion")
LOADED = """
from relayout.native import native
print(native.__file__, *native.isas())
"""
# One memory is a byte shorter than it says, so that the compiled core itself steps beside it.
BESIDE = """
import ctypes, sys
from native_stress import exact, native
short, memory = exact(1000), [exact(1001), exact(1001)]
memory[int(sys.argv[1])] = (ctypes.c_ubyte * 1001).from_address(short.ctypes.data)
native.TiledProgram(1, 0, 0, (((True, 0, 0, ((1001, 1, 1),)),),), None, " B <B ")(*memory, 1)
"""


def missing(what: str) -> NoReturn:
    reason = f"the compiled core is NOT tested with sanitizers: {what}"
    warnings.warn(reason, stacklevel=2)
    pytest.skip(reason)


def run(*command: str | Path, seconds: int, **env: str) -> subprocess.CompletedProcess[str]:
    """A command in the project's folder; it fails if it takes longer."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("RELAYOUT_")}
    return subprocess.run(
        command, env=environment | env, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False
    )


def runtime(folder: Path) -> str:
    """The libraries that come before all others in a process that loads sanitized code."""
    compiler = shutil.which("g++") or missing("there is no g++")
    probe = folder / "probe.so"
    libraries = ["-Wl,--no-as-needed", "-fsanitize=address,undefined"]
    made = run(compiler, "-shared", "-fPIC", "-x", "c++", os.devnull, *libraries, "-o", probe, seconds=60)
    if made.returncode:
        missing(made.stderr)
    lines = [line.split() for line in run("ldd", probe, seconds=60).stdout.splitlines()]
    return " ".join(words[2] for words in lines if words[0].startswith(("libasan.", "libstdc++.")))


class Sanitized:
    """An installation with sanitizers, and Python processes that use it."""

    def __init__(self, folder: Path) -> None:
        self.preloaded = runtime(folder)
        self.target = folder / "target"
        options = ["--config-settings=cmake.define.RELAYOUT_SANITIZE=ON", "--config-settings=cmake.build-type=Debug"]
        pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", self.target, *options, ROOT]
        built = run(*pip, seconds=300, CXX="g++")
        assert built.returncode == 0, built.stdout + built.stderr
        self.storage = str(folder / "hypothesis")
        place, *self.isas = self.python("-c", LOADED, seconds=60).stdout.split()
        assert Path(place).is_relative_to(self.target)

    def python(self, *arguments: str | Path, seconds: int, isa: str = "") -> subprocess.CompletedProcess[str]:
        # Run with -S, so that no .pth file of an editable install comes before the target.
        return run(
            sys.executable,
            "-S",
            *arguments,
            seconds=seconds,
            LD_PRELOAD=self.preloaded,
            ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1",
            UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1",
            PYTHONMALLOC="malloc",
            PYTHONPATH=os.pathsep.join([str(self.target), str(ROOT / "tests"), sysconfig.get_path("platlib")]),
            HYPOTHESIS_STORAGE_DIRECTORY=self.storage,
            CI="1",
            RELAYOUT_ISA=isa,
        )

    def check(self, *arguments: str | Path, seconds: int, isa: str = "") -> None:
        done = self.python(*arguments, seconds=seconds, isa=isa)
        if done.returncode:
            pytest.fail(f"{arguments}, {isa}: {done.stdout[-1000:]}\n{report(done.stderr)}", pytrace=False)


def report(text: str) -> str:
    """What a sanitizer says, with those frames of the stack that are ours; else the end of the text."""
    lines = text.splitlines()
    first = next((k for k, line in enumerate(lines) if any(word in line for word in FIRST_LINES)), len(lines) - 40)
    ours = [line for line in lines[max(first, 0) :] if not line.startswith("    #") or "/native/" in line]
    return "\n".join(ours[:60])


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Sanitized:
    return Sanitized(tmp_path_factory.mktemp("sanitized"))


def test_a_single_byte_beside_the_memory_is_seen(sanitized: Sanitized) -> None:
    for isa in sanitized.isas:
        for side, access in enumerate(["READ", "WRITE"]):
            seen = report(sanitized.python("-c", BESIDE, str(side), seconds=60, isa=isa).stderr)
            assert f"{access} of size" in seen, seen


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
def test_any_layouts_in_memory_of_just_their_size(sanitized: Sanitized, isa: str) -> None:
    if isa not in sanitized.isas:
        pytest.skip(f"this CPU has no {isa}")
    cases = 2000 if isa == sanitized.isas[-1] else 800
    sanitized.check("tests/native_stress.py", "0", str(cases), seconds=120, isa=isa)


def test_the_native_tests(sanitized: Sanitized) -> None:
    def check(name: str) -> None:
        # Only what Python itself prints is captured: a sanitizer ends the process before pytest could tell.
        options = ["-o", "addopts=", "-q", "-x", "-p", "no:cacheprovider", "--capture=sys"]
        sanitized.check("-m", "pytest", *options, f"tests/test_{name}.py", seconds=300)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(check, NATIVE_TESTS))
