"""The wheels: compiled where that works, pure where nothing can be compiled, never the one where the other is due."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution, requires
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Run with -S, so that no .pth file of an editable install comes before the wheel under test.
USE = """
from relayout.native import native_available
from relayout.layout.offset_table import offset_table
print(native_available(), offset_table([(2, 1), (3, 2)], 5, (1, 0, 1)).tolist())
"""


def python(*command: str, **env: str) -> subprocess.CompletedProcess[str]:
    asked = {name: text for name, text in os.environ.items() if not name.startswith("RELAYOUT_")} | env
    return subprocess.run([sys.executable, *command], env=asked, capture_output=True, text=True, check=False)


def run(*command: str, **env: str) -> str:
    done = python(*command, **env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def use(folder: Path) -> str:
    """What a Python says that has the package in a folder, and beside it only what numpy lies with."""
    numpy = find_spec("numpy")
    assert numpy is not None
    assert numpy.origin is not None
    path = os.pathsep.join([str(folder), str(Path(numpy.origin).parents[1])])
    return run("-S", "-c", USE, PYTHONPATH=path).strip()


def test_without_a_compiler_the_wheel_is_pure_and_works(tmp_path: Path) -> None:
    missing = str(tmp_path / "no-such-compiler")
    run("-m", "pip", "wheel", "--no-deps", "-w", str(tmp_path), str(ROOT), CC=missing, CXX=missing)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")

    target = tmp_path / "target"
    run("-m", "pip", "install", "--no-deps", "--target", str(target), str(wheel))
    assert use(target) == "False [5, 6, 9, 7, 8, 11]"
    assert not list(target.rglob("*.so"))


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake: it is not installed for this build")
def test_a_build_that_requires_the_compiled_core_never_falls_back(tmp_path: Path) -> None:
    missing = str(tmp_path / "no-such-compiler")
    asked = {"CC": missing, "CXX": missing, "RELAYOUT_NATIVE": "1"}
    # Not isolated, so that nothing is downloaded again.
    options = ["--no-deps", "--no-build-isolation", "-w", str(tmp_path)]
    done = python("-m", "pip", "wheel", *options, str(ROOT), **asked)
    assert done.returncode
    assert "no-such-compiler" in done.stdout + done.stderr
    assert not list(tmp_path.glob("*.whl"))


@pytest.mark.skipif(shutil.which(os.environ.get("CXX", "c++")) is None, reason="needs a C++ compiler")
def test_with_a_compiler_the_wheel_is_native() -> None:
    tags = distribution("relayout").read_text("WHEEL")
    assert tags is not None
    # One wheel serves all from 3.12 on: nanobind's stable ABI starts there.
    assert f"Tag: {'cp311-cp311' if sys.version_info < (3, 12) else 'cp312-abi3'}-" in tags
    assert find_spec("relayout._native") is not None


def test_what_is_required_has_wheels_or_sources_for_every_system() -> None:
    # numpy, click and rich are pure, have a source, or are in Pyodide; a package of nanobind's has neither.
    names = [text.split(">")[0] for text in requires("relayout") or [] if "extra ==" not in text]
    assert names == ["numpy", "click", "rich"]
