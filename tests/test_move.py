"""The commands that move data: inspect, repack and verify, in words and in JSON."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import relayout as rl
from relayout.cli import move, relayout

ROOT = Path(__file__).parent.parent


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(3240, dtype=np.uint8).reshape(1, 9, 9, 40))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(relayout, arguments)


def answer(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json").stdout)


@pytest.mark.usefixtures("folder")
def test_there_and_back() -> None:
    done = run("repack", "x.npy", "y.npy", "--to", "htp:R4Crouton", "--jobs", "1", "--verify")
    assert (done.exit_code, done.stdout) == (0, "y.npy: 1 tensor, 16.0 KiB\n")
    assert run("verify", "x.npy", "y.npy").stdout == "the same: 1 tensor, 3240 bytes\n"
    assert run("repack", "y.npy", "z.npy", "--to", "nhwc", "--max-memory", "64MiB").exit_code == 0
    assert np.array_equal(np.load("z.npy"), np.load("x.npy"))
    lines = run("inspect", "y.npy").stdout.splitlines()
    assert lines[-1].split() == ["y", "uint8", "1x9x9x40", "1x2x2x2x8x8x32", "16.0", "KiB", "htp:R4Crouton"]


@pytest.mark.usefixtures("folder")
def test_json() -> None:
    (tensor,) = answer("inspect", "x.npy")["result"]["tensors"]
    assert (tensor["name"], tensor["dtype"], tensor["shape"], tensor["layout"]) == ("x", "uint8", [1, 9, 9, 40], None)
    dry = answer("repack", "x.npy", "y.npy", "--to", "htp:R4Crouton", "--dry-run")["result"]
    assert dry["dry_run"]
    assert dry["rows"][0]["bytes_after"] == dry["total"] == 16384
    assert not Path("y.npy").exists()
    assert answer("repack", "x.npy", "y.npy", "--to", "htp:R4Crouton")["result"]["destination"] == "y.npy"
    assert answer("verify", "x.npy", "y.npy")["result"]["same"]
    error = answer("repack", "x.npy", "y.npy", "--to", "htp:R4Crouton")["error"]
    assert (error["code"], error["exit_code"]) == ("RL011", 3)
    assert "--force" in error["hint"]


@pytest.mark.usefixtures("folder")
def test_no_is_exit_code_1() -> None:
    x = np.load("x.npy")
    x[0, 8, 3, 34] ^= 1
    np.save("y.npy", x)
    done = run("verify", "x.npy", "y.npy")
    assert done.exit_code == 1
    assert done.stdout == f"tensor 'x' differs at (0, 8, 3, 34): {x[0, 8, 3, 34] ^ 1} and {x[0, 8, 3, 34]}\n"
    found = answer("verify", "x.npy", "y.npy")["result"]
    assert not found["same"]
    assert found["coordinate"] == [0, 8, 3, 34]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("repack x.npy y.npy", 2, "Say what to do"),
        ("repack x.npy y.npy --to nhwc --fill many", 2, "no number"),
        ("repack x.npy y.npy --to nhwc --jobs 0", 2, "jobs"),
        ("repack x.npy y.npy --to nowhere:x", 3, "nowhere"),
        ("repack nothing.npy y.npy --to nhwc", 3, "cannot be opened"),
        ("repack x.npy y.what --to nhwc", 3, "what kind of file"),
        ("repack x.npy x.npy --to nhwc --force", 3, "is the source"),
        ("repack x.npy y.npy --to nhwc --max-memory 1MiB", 5, "too few"),
        ("repack x.npy y.npy --to nhwc --max-memory lots", 3, "no number of bytes"),
        ("verify x.npy nothing.npy", 3, "cannot be opened"),
        ("inspect nothing.npy", 3, "cannot be opened"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_errors(arguments: str, code: int, words: str) -> None:
    done = run(*arguments.split())
    assert done.exit_code == code
    assert words in done.stderr
    assert not done.stdout
    assert not list(Path().glob("y.*"))


@pytest.mark.usefixtures("folder")
def test_raw_files_and_fills() -> None:
    Path("x.bin").write_bytes(bytes(range(200)))
    arguments = ("--shape", "20,10", "--from-dtype", "uint8", "--to", "format:0 1 / 0,8", "--fill", "0x1f")
    assert run("repack", "x.bin", "y.npy", *arguments).exit_code == 0
    want = rl.repack(np.arange(200, dtype=np.uint8).reshape(20, 10), "format:0 1 / 0,8", fill=31)
    assert np.array_equal(np.load("y.npy"), want)
    shown = run("inspect", "x.bin", "--dtype", "uint8", "--shape", "20,10").stdout
    assert "20x10" in shown


@pytest.mark.usefixtures("folder")
def test_resume(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(rl.Cancelled):
        rl.repack_file("x.npy", "y.npy", to="htp:R4Crouton", progress=lambda done, total: done < total)
    done = run("repack", "x.npy", "y.npy", "--to", "htp:R4Crouton")
    assert "did not finish" in done.stderr
    assert "--resume" in done.stderr
    done = run("repack", "x.npy", "y.npy", "--to", "htp:R4Crouton", "--resume")
    assert done.stdout == "y.npy: 1 tensor, 16.0 KiB, 16.0 KiB of it before\n"


@pytest.mark.usefixtures("folder")
def test_an_interrupted_run_tells_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    monkeypatch.setattr(move, "progress_on_stderr", lambda *_, **__: nullcontext(interrupted))
    done = run("repack", "x.npy", "y.npy", "--to", "htp:R4Crouton")
    assert done.exit_code == 130
    assert "y.npy.part is unfinished: --resume continues it." in done.stderr


@pytest.mark.usefixtures("folder")
def test_progress_in_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(move, "PLAIN_SECONDS", 0.0)
    done = run("repack", "x.npy", "y.npy", "--to", "htp:R4Crouton")
    assert "repack: 16.0 KiB of 16.0 KiB (100%)" in done.stderr
    assert done.stdout == "y.npy: 1 tensor, 16.0 KiB\n"


def test_a_bar_on_a_terminal(folder: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "relayout", "repack", "x.npy", "y.npy", "--to", "htp:R4Crouton"]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=theirs, check=True, timeout=60)
    os.close(theirs)
    assert done.stdout == b"y.npy: 1 tensor, 16.0 KiB\n"
    assert b"repack" in os.read(ours, 1 << 16)
    os.close(ours)


def test_the_page_is_what_the_commands_print() -> None:
    spec = importlib.util.spec_from_file_location("make_cli", ROOT / "docs" / "make_cli.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (ROOT / "docs" / "repack_files.md").read_text()
    assert module.page(text) == text
