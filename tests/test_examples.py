"""The package under ``examples/``: installed as any other, and used without another word."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "relayout_example"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as pip installs it, to go on the path."""
    copy = shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("source") / "example")
    target = tmp_path_factory.mktemp("site")
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "-q")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "-t", str(target), str(copy)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def run(site: Path, folder: Path, *command: str) -> str:
    """What Python prints in that folder, with the package installed."""
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    env = os.environ | {"PYTHONPATH": path}
    done = subprocess.run([sys.executable, *command], env=env, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_its_container_is_read_and_written_as_any_other(site: Path, tmp_path: Path) -> None:
    arrays = {"conv": np.arange(3240, dtype=np.uint8).reshape(1, 9, 9, 40), "bias": np.ones(40, np.float32)}
    np.savez(tmp_path / "model.npz", **arrays)
    code = """
import relayout as rl
rl.repack_file("model.npz", "packed.tns", to="htp:R4Crouton", only="conv")
rl.repack_file("packed.tns", "plain.npz")
with rl.open("packed.tns") as file:
    print(file.source.kind, sorted(file), file["conv"].layout == rl.parse("htp:R4Crouton", shape=(1, 9, 9, 40)))
print(bool(rl.verify("model.npz", "packed.tns")))
"""
    assert run(site, tmp_path, "-c", code).splitlines() == ["tns ['bias', 'conv'] True", "True"]
    with np.load(tmp_path / "plain.npz") as plain:
        assert all(np.array_equal(plain[name], x) for name, x in arrays.items())
    assert (tmp_path / "packed.tns").read_bytes().startswith(b"tns 1 ")
    (tmp_path / "packed.tns").rename(tmp_path / "bare")
    assert "tns: 2 tensors" in run(site, tmp_path, "-m", "relayout", "inspect", "bare")


def test_the_commands_list_its_suffix(site: Path, tmp_path: Path) -> None:
    assert ".tns" in run(site, tmp_path, "-m", "relayout", "repack", "--help")
    code = """
import relayout as rl
from relayout.files.registry import names
try:
    rl.open("x.unknown")
except rl.BadFile as refusal:
    print(".tns" in refusal.hint, names()[-1])
"""
    assert run(site, tmp_path, "-c", code).strip() == "True tns"


def test_its_dialect_is_recognised_and_listed_as_any_other(site: Path, tmp_path: Path) -> None:
    code = """
import relayout as rl
from relayout.web.handle import handle
print(rl.parse("4x8@16,1"), rl.Layout((3, 5), (5, 1)).to("pitch"), rl.rosetta("(3,5):(5,1)")["pitch"])
print(bool(rl.compare("4x8@16,1", "cute:(4,8):(16,1)")), rl.plan("4x8@16,1", "row-major", "uint8").source)
print(handle({"ask": "view", "state": {"a": "4x8@16,1"}})["notations"]["a"])
print(rl.dialects.registry.dialect_names()[-1])
"""
    assert run(site, tmp_path, "-c", code).splitlines() == [
        "((4, 8):(16, 1)) 3x5@5,1 3x5@5,1",
        "True ((4, 8):(16, 1))",
        "['pitch']",
        "pitch",
    ]
    assert "pitch" in run(site, tmp_path, "-m", "relayout", "translate", "(3,5):(5,1)")
    words = {"_RELAYOUT_COMPLETE": "zsh_complete", "COMP_WORDS": "relayout translate 4:1 --to pi", "COMP_CWORD": "4"}
    code = (
        "import os, sys; os.environ |= "
        + repr(words)
        + "; sys.argv = ['relayout']\nfrom relayout.cli.main import main; main()"
    )
    assert "pitch" in run(site, tmp_path, "-c", code)


def test_its_format_is_named_found_and_listed_as_any_other(site: Path, tmp_path: Path) -> None:
    code = """
import numpy as np
import relayout as rl
brick = rl.parse("acme:Brick", shape=(1, 9, 9, 40))
print(rl.parse("Brick") == rl.catalog.get("acme:Brick"), rl.catalog.find(brick), "acme:Brick" in rl.catalog.names())
x = np.arange(3240, dtype=np.uint16).reshape(1, 9, 9, 40)
packed = rl.repack(x, "Brick")
padded = np.zeros((1, 12, 12, 48), np.uint16)
padded[:, :9, :9, :40] = x
print(packed.shape, (packed == padded.reshape(1, 3, 4, 3, 4, 3, 16).transpose(0, 1, 3, 5, 2, 4, 6)).all())
print("acme:Brick" in rl.explain(brick))
"""
    assert run(site, tmp_path, "-c", code).splitlines() == [
        "True ['acme:Brick'] True",
        "(1, 3, 3, 3, 4, 4, 16) True",
        "True",
    ]
    assert "ACME NPU" in run(site, tmp_path, "-m", "relayout", "catalog", "acme:Brick")


def test_its_machine_is_asked_as_any_other(site: Path, tmp_path: Path) -> None:
    code = """
import relayout as rl
from relayout.web.handle import handle
column = [(lane, 0) for lane in range(8)]
print(rl.banks("(8,8):(8,1)", column, "float32", "ds_read_b32", "npu1"))
pairs = [(lane, 2 * (lane // 2)) for lane in range(8)]
print(rl.banks("(8,9):(9,1)", pairs, "float32", "ds_read_b32", "NPU1").access.known)
print("npu1" in rl.hardware.architecture_names(), "npu1" in handle({"ask": "start"})["archs"])
"""
    told = run(site, tmp_path, "-c", code).splitlines()
    assert told[0] == "ds_read_b32 on npu1: 8 wavefronts, ideal 1 (documented)"
    assert told[1].startswith("worst phase: lanes 0-7: 8 wavefronts; bank 0 has 8 words: 0 of lane 0, 8 of lane 1")
    assert told[2:] == ["documented", "True True"]


def test_its_instruction_is_tiled_and_drawn_as_any_other(site: Path, tmp_path: Path) -> None:
    code = """
import relayout as rl
atom = rl.atoms["npu1.matmul.s32.s8"]
print(atom.operand("C").coordinate(3, 1), atom.name in rl.atoms, rl.tile_mma(atom.name, (2, 1)).threads)
print(rl.draw(atom).svg().count(">T7<"))
"""
    assert run(site, tmp_path, "-c", code).splitlines() == ["(1, 3) True 16", "6"]


def test_its_traces_are_audited_as_any_other_artefact(site: Path, tmp_path: Path) -> None:
    code = """
import relayout as rl
from relayout_example.trace import READER
audit = rl.audit(READER.EXAMPLES[0])
print(audit.kind, [(move.place.line, *move.remarks) for move in audit.moves])
"""
    assert run(site, tmp_path, "-c", code).strip() == "acme [(3, 'undone by 5'), (5, 'undoes 3')]"


def test_it_conforms(site: Path, tmp_path: Path) -> None:
    names = ("tns", "pitch", "acme:Brick", "npu1", "npu1.matmul.s32.s8", "acme")
    code = "from relayout.testing import conformance; from relayout_example.tns import CONTAINER as x;"
    run(site, tmp_path, "-c", f"{code} conformance(x); [conformance(x) for x in {names}]")


def test_our_own_files_need_no_other_package(tmp_path: Path) -> None:
    """A container that cannot be loaded is told by its name, and only where it is looked for."""
    broken = tmp_path / "broken-1.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (broken / "entry_points.txt").write_text("[relayout.containers]\nbroken = no_such_module:CONTAINER\n")
    np.save(tmp_path / "x.npy", np.arange(3))
    code = """
import relayout as rl
print(len(rl.open("x.npy")))
try:
    rl.open("x.unknown")
except rl.BadFile as refusal:
    print(refusal.message, "|", refusal.hint)
"""
    told = run(tmp_path, tmp_path, "-c", code)
    assert told.splitlines()[0] == "1"
    assert "the container 'broken' of broken cannot be loaded: No module named 'no_such_module'." in told
    assert "install broken again" in told
