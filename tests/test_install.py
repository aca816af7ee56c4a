"""The two wheels: one stable-ABI wheel, and a pure one where nothing can be compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import distribution
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
# Run with -S, so that no .pth file of an editable install comes before the wheel under test.
USE = """
from relayout.native import native_available
from relayout.layout.offset_table import offset_table
print(native_available(), offset_table([(2, 1), (3, 2)], 5, (1, 0, 1)).tolist())
"""


def run(*command: str, **env: str) -> str:
    done = subprocess.run([sys.executable, *command], env=os.environ | env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_without_a_compiler_the_wheel_is_pure_and_works(tmp_path):
    missing = str(tmp_path / "no-such-compiler")
    run("-m", "pip", "wheel", "--no-deps", "-w", str(tmp_path), str(ROOT), CC=missing, CXX=missing)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")

    target = str(tmp_path / "target")
    run("-m", "pip", "install", "--no-deps", "--target", target, str(wheel))
    path = os.pathsep.join([target, sysconfig.get_path("platlib")])
    assert run("-S", "-c", USE, PYTHONPATH=path).strip() == "False [5, 6, 9, 7, 8, 11]"
    assert not list(Path(target).rglob("*.so"))


@pytest.mark.skipif(shutil.which(os.environ.get("CXX", "c++")) is None, reason="needs a C++ compiler")
def test_with_a_compiler_one_native_wheel_serves_every_python_from_311():
    tags = distribution("relayout").read_text("WHEEL")
    assert tags is not None
    assert "Tag: cp311-abi3-" in tags
    assert find_spec("relayout._native") is not None


# ---- what a release uploads ------------------------------------------------------------------------------


def wheel_named(folder: Path, name: str, tags: str, *members: str) -> Path:
    with ZipFile(folder / name, "w") as wheel:
        wheel.writestr("relayout-0.1.0.dist-info/WHEEL", f"Wheel-Version: 1.0\n{tags}")
        for member in members:
            wheel.writestr(member, "")
    return folder / name


def test_a_release_refuses_wheels_for_one_machine(tmp_path):
    spec = spec_from_file_location("check_wheel", ROOT / "release" / "check_wheel.py")
    check = module_from_spec(spec)
    spec.loader.exec_module(check)
    wide, own = "cp311-abi3-manylinux_2_28_x86_64", "cp311-abi3-linux_x86_64"
    core = "relayout/_native.abi3.so"
    sound = wheel_named(tmp_path, f"relayout-0.1.0-{wide}.whl", f"Tag: {wide}\n", core, "relayout_pytest/__init__.py")
    assert check.faults(sound) == []
    both = "cp311-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64"
    tags = "Tag: cp311-abi3-manylinux_2_17_x86_64\nTag: cp311-abi3-manylinux2014_x86_64\n"
    assert check.faults(wheel_named(tmp_path, f"relayout-0.1.0-{both}.whl", tags, core)) == []
    for name, tags, members in (
        (own, f"Tag: {own}\n", [core]),
        (wide, f"Tag: {own}\n", [core]),
        (wide, f"Tag: {wide}\n", []),
        (wide, f"Tag: {wide}\n", [core, "relayout.libs/libstdc++.so.6"]),
        (wide, f"Tag: {wide}\n", [core, "tests/test_files.py"]),
    ):
        assert check.faults(wheel_named(tmp_path, f"relayout-0.1.0-{name}.whl", tags, *members))


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_script_of_a_release_is_sound():
    script = ROOT / "release" / "build.sh"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", str(script)], check=True)
    assert "auditwheel repair" in script.read_text()
