"""The compiled core without Python: its sources agree with each other, and its kernels with plain loops, on ARM too."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).parents[1]
NATIVE = ROOT / "native"
PER_ISA = [NATIVE / "kernels" / name for name in ("kernels.cpp", "convert_kernels.cpp", "network_kernels.cpp")]
ODR = ["-O0", "-flto", "-fPIC"]
MISSING = 77
"""What ``native/tests/run.sh`` ends with where it has no compiler or no emulator."""


def missing(what: str) -> NoReturn:
    warnings.warn(what, stacklevel=2)
    pytest.skip(what)


def run(*command: str | Path, seconds: int = 300) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)


def sources(*endings: str) -> list[Path]:
    return sorted(path for path in NATIVE.rglob("*") if path.suffix in endings)


def test_the_sources_are_formatted() -> None:
    beside = Path(sys.executable).parent / "clang-format"
    tool = beside if beside.exists() else shutil.which("clang-format")
    if tool is None:
        missing("the C++ sources are NOT checked for their format: there is no clang-format")
    done = run(tool, "--dry-run", "-Werror", *sources(".h", ".cpp"))
    assert done.returncode == 0, done.stderr


def test_a_class_name_exists_once() -> None:
    # These have a version of each vector for every kind of machine.
    texts = [path.read_text() for path in sources(".h", ".cpp") if not path.name.endswith("vectors.h")]
    names = re.compile(
        r"^ *(?:template <[^\n]*?> *)?(?:(?:struct|class|enum class|enum) (\w+)(?= [{:]| final)|using (\w+) =)", re.M
    )
    found = Counter(a or b for text in texts for a, b in names.findall(text))
    assert "Loop" in found
    assert [name for name, count in found.items() if count > 1] == []


def link_with_odr_check(folder: Path, files: Iterable[tuple[Path, list[str]]]) -> subprocess.CompletedProcess[str]:
    """Link files, with options each, so that the compiler sees the types of all of them at once."""
    compiler = shutil.which("g++")
    if compiler is None:
        missing("types are NOT compared between the C++ sources: there is no g++")

    def compile_one(job: tuple[int, tuple[Path, list[str]]]) -> Path:
        number, (source, options) = job
        made = folder / f"{number}.o"
        done = run(compiler, "-std=c++17", "-w", *ODR, *options, "-I", NATIVE, "-c", source, "-o", made)
        assert done.returncode == 0, done.stderr
        return made

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compile_one, enumerate(files)))
    linked = ["-r", "-nostdlib", "-flinker-output=nolto-rel", "-Wodr", "-Werror=odr"]
    return run(compiler, *ODR, *linked, *objects, "-o", folder / "all.o")


def test_two_types_of_one_name_are_seen(tmp_path: Path) -> None:
    parts = []
    for number, values in enumerate(["runs, fill", "int8, int16"]):
        part = tmp_path / f"part{number}.cpp"
        part.write_text(
            f"namespace relayout {{ enum class Kind {{ {values} }}; int f{number}(Kind k) {{ return int(k); }} }}"
        )
        parts.append((part, list[str]()))
    done = link_with_odr_check(tmp_path, parts)
    assert done.returncode
    assert "violates the C++ One Definition Rule" in done.stderr


def test_every_type_is_one_type_in_all_sources(tmp_path: Path) -> None:
    spec = find_spec("nanobind")
    if spec is None or spec.origin is None:
        missing("types are NOT compared between the C++ sources: there is no nanobind")
    headers = ["-I", str(Path(spec.origin).parent / "include"), "-I", sysconfig.get_path("include")]
    parts = [(path, headers) for path in sources(".cpp") if path not in PER_ISA and path.parent.name != "tests"]
    parts += [(path, ["-DRELAYOUT_ISA_NAMESPACE=baseline"]) for path in PER_ISA]
    done = link_with_odr_check(tmp_path, parts)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("machine", ["host", "aarch64"])
def test_kernels_and_engines_against_plain_loops(machine: str) -> None:
    done = run(NATIVE / "tests" / "run.sh", machine)
    if done.returncode == MISSING:
        missing(f"the compiled core is NOT tested for {machine}: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    if machine == "aarch64":
        assert done.stdout == "baseline: no non-temporal stores\n"
