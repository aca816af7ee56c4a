"""The benchmark of repacks runs, and checks what it measures; its numbers do not matter here."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relayout as rl

ROOT = Path(__file__).parent.parent


def run(*arguments: str, name: str = "repack.py") -> subprocess.CompletedProcess[str]:
    script = str(ROOT / "benchmarks" / name)
    return subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, check=False)


def rows(path: Path, *arguments: str) -> list[dict[str, Any]]:
    done = run("--seconds", "0.001", "--json", str(path), *arguments)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(path.read_text())["rows"]
    return found


def test_every_workload_is_read() -> None:
    done = run("--list")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(set(lines)) > 80
    assert all(" -> " in line for line in lines)


def test_workloads_of_all_kinds(tmp_path: Path) -> None:
    texts = (
        "padded;u8;16x217x221x=50;row;htp:R4Crouton;back",
        "transpose;f32;512x512;row;perm:1,0",
        "swizzled;u8;64x64;row;cute:Sw<2,4,3> o _0 o (64,64):(64,1)",
    )
    options = [f"--workload={text}" for text in texts]
    found = rows(tmp_path / "rows.json", "--sizes", "64K", "--threads", "1,2", *options)
    names = ["padded u8", "padded u8 back", "transpose f32", "swizzled u8"]
    assert [(row["workload"], row["threads"]) for row in found] == [(name, n) for name in names for n in (1, 2)]
    for row in found:
        assert row["MiB"] <= 1 / 16
        assert row["GB/s"] > 0
        assert {"relayout", "numpy", "memcpy"} <= row["microseconds"].keys()


def test_workloads_that_a_seed_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    drawn = importlib.import_module("random_workloads")
    texts = drawn.draw_workloads(60, 11, 1 << 18, 1 << 22)
    assert texts == drawn.draw_workloads(60, 11, 1 << 18, 1 << 22) != drawn.draw_workloads(60, 12, 1 << 18, 1 << 22)
    cases = importlib.import_module("repack_cases")
    works = [work for text in texts for work in cases.workloads(text)]
    assert all(1 << 18 <= work.size(work.shape) <= 1 << 22 for work in works)
    assert {len(work.shape) for work in works} == {2, 3, 4, 5, 6}
    assert {work.dtype.itemsize for work in works} == {1, 2, 4, 8, 16}
    path = tmp_path / "rows.json"
    options = ("--random", "4", "--seed", "11", "--cached", "--peers", "numpy")
    rows(path, *options)
    found = rows(path, *options, "--skip", "2")
    assert len(found) == 6
    assert all(row["numpy's out"] > 0 for row in found)


def test_a_workload_that_makes_no_sense_is_refused() -> None:
    done = run("--workload", "what;u8;8x8;row")
    assert done.returncode == 1
    assert "a workload is name;dtypes;shape;SRC;DST[;back]" in done.stderr


def test_small_and_fused(tmp_path: Path) -> None:
    small = rows(tmp_path / "small.json", "--small")
    assert {row["workload"] for row in small} == {"transpose f32", "planes f32", "crouton u8"}
    assert all(row["bytes"] <= 4096 and min(row["plan"], row["repack"], row["numpy"]) > 0 for row in small)
    (fused,) = rows(tmp_path / "fused.json", "--fused")
    assert min(fused["relayout"], fused["numpy"]) > 0


def test_packed_pairs_are_drawn_by_a_seed(tmp_path: Path) -> None:
    found = []
    for number, options in enumerate((["--random", "4"], ["--random", "4"], ["--common", "--peers"])):
        file = tmp_path / f"{number}.json"
        more = ("--seed", "3", "--shape", "256x512", "--seconds", "0.001", "--json", str(file))
        done = run(*options, *more, name="packed.py")
        assert done.returncode == 0, done.stderr
        found.append(json.loads(file.read_text())["rows"])
    drawn, again, common = found
    assert [row["pair"] for row in drawn] == [row["pair"] for row in again]
    assert len({row["pair"] for row in drawn}) > 1
    assert all(row["of memcpy"] > 0 for row in (*drawn, *common))
    assert all(row["x numpy"] > 0 for row in common)


STUB = """
import torch

def unpack_reorder_pack(words, zeros, bits):
    codes = (words[:, :, None] >> torch.arange(0, 32, 4)) & 15
    codes = codes[:, :, [0, 4, 1, 5, 2, 6, 3, 7]].reshape(len(words) // 8, 8, -1).to(torch.int64)
    packed = (codes << torch.arange(0, 32, 4)[None, :, None]).sum(1)
    return packed.to(torch.int32), zeros
"""


def test_vendors_are_those_of_the_checkouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    vendors = importlib.import_module("packed_vendors")
    assert vendors.in_python(tmp_path, 1) == {}
    (tmp_path / "AutoAWQ" / "awq" / "utils").mkdir(parents=True)
    (tmp_path / "AutoAWQ" / "awq" / "utils" / "packing_utils.py").write_text(STUB)
    (pair, vendor), *others = vendors.in_python(tmp_path, 1).items()
    assert (pair, vendor.name, others) == ("AWQ to GPTQ", "AutoAWQ", [])
    x = np.random.default_rng(1).integers(0, 256, 64 * 32 // 2, np.uint8)
    ours = rl.plan("awq:gemm", "gptq:w4", "uint4", shape=(64, 32))(x)
    assert np.array_equal(vendor.prepare((64, 32), x)(), ours)
