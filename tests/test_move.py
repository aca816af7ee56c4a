"""The commands that move data: inspect, repack and verify, in words and in JSON."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import relayout as rl
from file_support import gguf_bytes, store
from relayout.cli import move
from relayout.cli.main import relayout
from relayout.files import registry

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


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("options", [(), ("--to", "row-major")])
def test_repack_alone_makes_another_kind_of_file(options: tuple[str, ...]) -> None:
    done = run("repack", "x.npy", "y.npz", *options)
    assert (done.exit_code, done.stderr) == (0, "")
    assert np.array_equal(np.load("y.npz")["x"], np.load("x.npy"))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("repack x.npy y.npy --to nhwc --fill many", 2, "no number"),
        ("repack x.npy y.npy --to nhwc --jobs 0", 2, "jobs"),
        ("repack x.npy y.npy --to nowhere:x", 3, "nowhere"),
        ("repack nothing.npy y.npy --to nhwc", 3, "cannot be opened"),
        ("repack x.npy y.what --to nchw", 3, "what kind of file"),
        ("repack x.npy x.npy --to nchw --force", 3, "is the source"),
        ("repack x.npy y.npy --to nchw --max-memory 1MiB", 5, "too few"),
        ("repack x.npy y.npy --to nchw --max-memory lots", 3, "no number of bytes"),
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
    assert run("repack", "x.bin", "z.npy", *arguments[:4]).exit_code == 0
    assert np.array_equal(np.load("z.npy"), np.arange(200, dtype=np.uint8).reshape(20, 10))
    assert run("repack", "x.bin", "f.npy", *arguments[:4], "--dtype", "float32").exit_code == 0
    assert np.array_equal(np.load("f.npy"), np.arange(200, dtype=np.float32).reshape(20, 10))
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
def test_a_run_interrupted_early_tells_that_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = sorted(Path().iterdir())
    monkeypatch.setattr("relayout.files.jobs.work_units.Worker.run", interrupt)
    done = run("repack", "x.npy", "y.npy", "--to", "htp:R4Crouton")
    assert done.exit_code == 130
    assert "Nothing of this run is kept: y.npy is as it was before." in done.stderr
    assert sorted(Path().iterdir()) == before


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["y.safetensors", "y.npz", "y.zarr"])
def test_inspect_tells_the_names_that_were_used(name: str) -> None:
    np.savez("x.npz", w=np.ones((64, 32, 3, 3), np.uint8))
    assert run("repack", "x.npz", name, "--to", "htp:weights", "--axes", "oihw", "--yes").exit_code == 0
    (tensor,) = answer("inspect", name)["result"]["tensors"]
    assert (tensor["layout"], tensor["axes"], tensor["shape"]) == ("htp:weights", "oihw", [64, 32, 3, 3])
    stored = rl.open(name)["w"].layout
    assert stored == rl.parse("htp:weights", shape=(3, 3, 32, 64), dtype="uint8").permute(3, 2, 0, 1)
    assert "htp:weights" in run("inspect", name).stdout


@pytest.mark.usefixtures("folder")
def test_a_name_that_is_not_the_layout_is_not_told() -> None:
    np.savez("x.npz", w=np.ones((64, 32, 3, 3), np.uint8))
    run("repack", "x.npz", "y.npz", "--to", "htp:weights", "--axes", "oihw", "--yes")
    record = Path("y.npz.relayout.json")
    for false in ("htp:R4Crouton", "nonsense"):
        told = json.loads(record.read_text())
        told["relayout"]["w"]["name"] = false
        record.write_text(json.dumps(told))
        (tensor,) = answer("inspect", "y.npz")["result"]["tensors"]
        assert tensor["layout"] == told["relayout"]["w"]["layout"] != false


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["y.safetensors", "y.npz", "y.zarr"])
def test_inspect_tells_the_types_of_gguf_after_a_conversion(name: str) -> None:
    Path("x.gguf").write_bytes(gguf_bytes([("w", (64, 2), 2, 0), ("v", (3,), 0, 96)], bytes(96 + 12)))
    assert run("repack", "x.gguf", name).exit_code == 0
    tensors = {tensor["name"]: tensor for tensor in answer("inspect", name)["result"]["tensors"]}
    assert (tensors["w"]["dtype"], tensors["w"]["packing"]) == ("uint8", "Q4_0")
    assert (tensors["v"]["dtype"], tensors["v"]["packing"]) == ("float32", None)


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


def test_a_file_does_not_get_the_number_of_a_closed_stream(folder: Path) -> None:
    words = ["bash", "-c", '"$@" <&- >&- 2>&-', "", sys.executable, "-m", "relayout"]
    subprocess.run([*words, "repack", "x.npy", "y.npy", "--to", "htp:R4Crouton"], cwd=folder, check=True)
    assert np.array_equal(np.load(folder / "y.npy"), rl.repack(np.load(folder / "x.npy"), "htp:R4Crouton"))


UNREAD = "from relayout.cli import move; from relayout.cli.main import main; move.PLAIN_SECONDS = 0; main()"


def test_progress_that_nobody_reads_does_not_stop_a_run(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-c", UNREAD, "repack", "x.npy", "y.npy", "--to", "htp:R4Crouton"]
    done = subprocess.run(words, cwd=folder, stderr=writing, stdout=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stdout) == (0, b"y.npy: 1 tensor, 16.0 KiB\n")


def test_an_answer_that_cannot_be_written_is_told(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        words = [sys.executable, "-m", "relayout", "inspect", "x.npy"]
        done = subprocess.run(words, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 3
    assert "the answer cannot be written to stdout: No space left on device." in done.stderr


SLOW = """
import os, signal, sys, time
from relayout.cli import move; from relayout.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
move.PLAIN_SECONDS = 0
write = os.pwrite
os.pwrite = lambda *args: (time.sleep(0.02), write(*args))[1]
main()
"""


def test_an_interrupt_leaves_what_resume_continues(folder: Path) -> None:
    np.savez("x.npz", **{f"x{k}": np.full((1, 9, 9, 40), k, np.uint8) for k in range(20)})
    run("repack", "x.npz", "want.npz", "--to", "htp:R4Crouton")
    words = [sys.executable, "-c", SLOW, "repack", "x.npz", "y.npz", "--to", "htp:R4Crouton", "--jobs", "1"]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        assert p.stderr is not None
        for line in p.stderr:
            if not line.startswith("repack: 0 bytes"):
                break
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=20)
    assert (p.returncode, out) == (130, "")
    assert "y.npz.part is unfinished: --resume continues it." in err
    assert "Traceback" not in err
    assert not (folder / "y.npz").exists()
    done = subprocess.run([*words, "--resume"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "of it before" in done.stdout
    assert (folder / "y.npz").read_bytes() == (folder / "want.npz").read_bytes()
    assert not list(folder.glob("*.part*"))


# ---- disks and permissions -------------------------------------------------------------------------------


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that everybody may enter, with a tensor in it and all modules loaded."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        monkeypatch.chdir(name)
        np.save("x.npy", np.arange(3240, dtype=np.uint8).reshape(1, 9, 9, 40))
        for _ in range(2):
            run("repack", "x.npy", "warm.npz", "--to", "htp:R4Crouton", "--verify", "--force")
        for arguments in (("inspect", "nothing.npy"), ("infer", "x.npy"), ("verify", "x.npy", "x.npy")):
            run(*arguments)
        Path("warm.npz").unlink()
        yield Path(name)
        for path in Path(name).rglob("*"):
            path.chmod(0o777)


def powerless(*arguments: str) -> tuple[int, str]:
    """The exit code and the error of a process without rights of its own."""
    # A process without rights may not even read the modules of this one's packages.
    registry.suffixes()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with suppress(BaseException):
            if os.geteuid() == 0:
                os.setegid(65534)
                os.seteuid(65534)
            done = run(*arguments)
            os.write(writing, json.dumps([done.exit_code, done.stderr]).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        code, told = json.loads(pipe.read())
    os.waitpid(child, 0)
    return code, told


def in_folder(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_source_that_may_not_be_read(public: Path) -> None:
    before = in_folder(public)
    Path("x.npy").chmod(0)
    for arguments in (("inspect", "x.npy"), ("repack", "x.npy", "y.npy", "--to", "nchw"), ("verify", "x.npy", "x.npy")):
        code, told = powerless(*arguments)
        assert (code, told.splitlines()[0]) == (3, "BadFile [RL011]: x.npy: it cannot be opened: Permission denied.")
    code, told = powerless("infer", "x.npy")
    assert code == 3
    assert "Permission denied" in told
    Path("x.npy").chmod(0o600)
    assert in_folder(public) == before


@pytest.mark.parametrize("mode", [0o555, 0o644])
@pytest.mark.parametrize("out", ["locked/y.npy", "locked/y.zarr", "locked/y.safetensors.index.json"])
def test_a_folder_that_may_not_be_written(public: Path, out: str, mode: int) -> None:
    Path("locked").mkdir()
    Path("locked").chmod(mode)
    before = in_folder(public)
    code, told = powerless("repack", "x.npy", out, "--to", "htp:R4Crouton")
    assert code == 3
    assert "Permission denied" in told
    assert f"{out} was not begun." in told
    assert in_folder(public) == before


def test_a_folder_that_may_not_be_entered(public: Path) -> None:
    Path("locked").mkdir()
    Path("x.npy").rename("locked/x.npy")
    Path("locked").chmod(0)
    for name in ("locked/x.npy", "locked"):
        code, told = powerless("inspect", name)
        assert (code, told.splitlines()[0]) == (3, f"BadFile [RL011]: {name}: it cannot be read: Permission denied.")


def test_an_unfinished_file_of_somebody_else(public: Path) -> None:
    Path("y.npy.part.journal").write_text("")
    Path("y.npy.part.journal").chmod(0o444)
    before = in_folder(public)
    code, told = powerless("repack", "x.npy", "y.npy", "--to", "nchw", "--force")
    assert code == 3
    assert "y.npy.part.journal: Permission denied. y.npy was not begun." in told
    assert in_folder(public) == before


FULL = """
mount -t tmpfs -o size=1m none "$1" 2>/dev/null || exit 99
head -c 900000 /dev/zero > "$1/other"
"$2" -m relayout repack x.npy "$1/$3" --to htp:R4Crouton --axes nhwc --yes --max-memory 128MiB
code=$?
ls -A "$1"
exit $code
"""


@pytest.mark.parametrize("out", ["y.npy", "y.npz", "y.safetensors", "y.safetensors.index.json", "y.zarr", "y.bin"])
def test_a_disk_that_is_really_full(folder: Path, out: str) -> None:
    np.save("x.npy", np.arange(300 * 300, dtype=np.uint8).reshape(1, 300, 300, 1))
    before = Path("x.npy").read_bytes()
    (folder / "disk").mkdir()
    words = ["unshare", "-rm", "bash", "-c", FULL, "", str(folder / "disk"), sys.executable, out]
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("nothing can be mounted here")
    if done.returncode in (1, 99):
        pytest.skip("nothing can be mounted here")
    assert done.returncode == 3
    assert f"No space left on device. Nothing is left of {folder / 'disk' / out}." in done.stderr
    assert done.stdout == "other\n"
    assert Path("x.npy").read_bytes() == before


def test_a_file_larger_than_may_be_written(folder: Path) -> None:
    words = ["bash", "-c", 'ulimit -f 8; "$@"', "", sys.executable, "-m", "relayout"]
    words += ["repack", "x.npy", "y.npy", "--to", "htp:R4Crouton"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "File too large. Nothing is left of y.npy." in done.stderr
    assert [path.name for path in folder.iterdir()] == ["x.npy"]


CUT = """
import os
from relayout.cli.main import main
write = os.pwrite
os.pwrite = lambda *args: (os.truncate("x.npz", 30000), write(*args))[1]
main()
"""


def test_a_source_that_is_cut_off_while_it_is_read(folder: Path) -> None:
    np.savez("x.npz", **{f"x{k}": np.full((1, 9, 9, 40), k, np.uint8) for k in range(20)})
    words = [sys.executable, "-c", CUT, "repack", "x.npz", "y.npz", "--to", "htp:R4Crouton", "--jobs", "1"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert re.search(r"x\.npz ends at byte 30000, and was longer when it was opened\.", done.stderr)
    assert ("y.npz.part is unfinished" in done.stderr) == Path("y.npz.part").exists()
    assert ("Nothing is left of y.npz." in done.stderr) == (not Path("y.npz.part").exists())
    assert not Path("y.npz").exists()
    assert run("repack", "x.npz", "y.npz", "--to", "htp:R4Crouton", "--resume").exit_code == 3
    assert not Path("y.npz").exists()


def test_a_source_in_the_folder_that_is_written(folder: Path) -> None:
    run("repack", "x.npy", "z.zarr", "--to", "htp:R4Crouton")
    Path("x.npy").rename("z.zarr/x.npy")
    before = in_folder(folder)
    done = run("repack", "z.zarr/x.npy", "z.zarr", "--to", "nchw", "--force")
    assert (done.exit_code, "one in the other" in done.stderr) == (3, True)
    done = run("repack", "z.zarr", "z.zarr/again.zarr", "--to", "nchw", "--only", "x")
    assert (done.exit_code, "one in the other" in done.stderr) == (3, True)
    done = run("repack", "z.zarr", "z.zarr", "--to", "nchw", "--only", "x", "--force")
    assert (done.exit_code, "is the source" in done.stderr) == (3, True)
    assert in_folder(folder) == before


@pytest.mark.parametrize("out", ["y.npy", "y.zarr", "y.safetensors"])
def test_a_folder_of_other_things_is_never_replaced(folder: Path, out: str) -> None:
    Path(out).mkdir()
    (Path(out) / "thesis.tex").write_text("years of work")
    before = in_folder(folder)
    for force in ((), ("--force",)):
        done = run("repack", "x.npy", out, "--to", "nchw", *force)
        assert (done.exit_code, "is a folder, and no Zarr" in done.stderr) == (3, True)
    assert in_folder(folder) == before


@pytest.mark.parametrize("moment", [1, 2, 3])
def test_a_folder_is_replaced_whole_whenever_the_run_is_killed(folder: Path, moment: int) -> None:
    """Killed at the first, second or third change of names; what is beside the folder is nobody's business."""
    run("repack", "x.npy", "y.zarr", "--to", "nchw")
    Path("y.zarr.old").mkdir()
    (Path("y.zarr.old") / "kept").write_text("kept")
    before = in_folder(folder / "y.zarr")
    child = os.fork()
    if not child:
        calls = []

        def deadly(call: Callable[..., Any]) -> Callable[..., Any]:
            def counted(*arguments: Any, **words: Any) -> Any:
                calls.append(call)
                if len(calls) == moment:
                    os._exit(9)
                return call(*arguments, **words)

            return counted

        os.rename, os.replace, os.rmdir = deadly(os.rename), deadly(os.replace), deadly(os.rmdir)
        with suppress(BaseException):
            rl.repack_file("x.npy", "y.zarr", to="htp:R4Crouton", force=True)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    if moment == 1:
        assert in_folder(folder / "y.zarr") == before
    assert run("repack", "x.npy", "y.zarr", "--to", "htp:R4Crouton", "--resume", "--force").exit_code == 0
    assert rl.open("y.zarr")["x"].raw.tobytes() == rl.repack(np.load("x.npy"), "htp:R4Crouton").tobytes()
    assert sorted(path.name for path in folder.iterdir()) == ["x.npy", "y.zarr", "y.zarr.old"]


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_links_to_the_source(folder: Path, link: Callable[[str, str], None]) -> None:
    link("x.npy", "y.npy")
    before = in_folder(folder)
    for force in ((), ("--force",)):
        done = run("repack", "x.npy", "y.npy", "--to", "nchw", *force)
        assert (done.exit_code, "is the source" in done.stderr) == (3, True)
    assert in_folder(folder) == before


@pytest.mark.usefixtures("folder")
def test_links_to_other_files_are_replaced_and_not_followed() -> None:
    Path("other.npy").write_bytes(b"other")
    Path("y.npy").symlink_to("other.npy")
    assert "exists" in run("repack", "x.npy", "y.npy", "--to", "nchw").stderr
    assert run("repack", "x.npy", "y.npy", "--to", "nchw", "--force").exit_code == 0
    assert Path("other.npy").read_bytes() == b"other"
    assert not Path("y.npy").is_symlink()


@pytest.mark.usefixtures("folder")
def test_what_is_no_kind_of_file() -> None:
    Path("plain").mkdir()
    for arguments in (("inspect", "plain"), ("repack", "x.npy", "plain", "--to", "nchw")):
        done = run(*arguments)
        assert (done.exit_code, "plain: it is a folder, and no Zarr." in done.stderr) == (3, True)
    hint = run("repack", "x.npy", "y.what", "--to", "nchw").stderr.splitlines()[-1]
    assert ".zarr" in hint
    assert ".gguf" not in hint
    assert run("inspect", "-").exit_code == 3


# ---- tensors that a layout cannot take -------------------------------------------------------------------

RANKS = {"conv": (1, 9, 9, 40), "bias": (40,), "scale": (), "näme/你好": (2, 3)}


def checkpoint(path: str, dtype: str = "uint8") -> dict[str, Any]:
    """A file of tensors of several ranks, written by another library."""
    from safetensors.numpy import save_file

    tensors = {name: np.full(shape, 7, dtype) for name, shape in RANKS.items()}
    save_file(tensors, path, {"format": "np"})
    return tensors


@pytest.mark.usefixtures("folder")
def test_what_does_not_fit_is_copied_and_told() -> None:
    from safetensors.numpy import load_file

    tensors = checkpoint("in.safetensors")
    done = run("repack", "in.safetensors", "out.safetensors", "--to", "htp:R4Crouton", "--verify")
    assert (done.exit_code, done.stdout) == (0, "out.safetensors: 4 tensors (3 copied unchanged), 16.0 KiB\n")
    for name, rank in (("bias", 1), ("scale", 0), ("näme/你好", 2)):
        assert f"Warning: copied unchanged: '{name}' (rank {rank}, and htp:R4Crouton has rank 4)." in done.stderr
    found = load_file("out.safetensors")
    assert found["conv"].tobytes() == rl.repack(tensors["conv"], "htp:R4Crouton").tobytes()
    for name in ("bias", "scale", "näme/你好"):
        assert np.array_equal(found[name], tensors[name])
    assert run("verify", "in.safetensors", "out.safetensors").exit_code == 0


@pytest.mark.usefixtures("folder")
def test_a_dry_run_tells_what_does_not_fit() -> None:
    checkpoint("in.safetensors")
    arguments = ("repack", "in.safetensors", "out.safetensors", "--to", "htp:R4Crouton", "--except", "scale")
    lines = run(*arguments, "--dry-run").stdout.splitlines()
    cells = {line.split("  ")[0]: line for line in lines}
    assert " unchanged: rank 1, and htp:R4Crouton has rank 4 " in cells["bias"]
    assert " unchanged  " in cells["scale"]
    whys = {row["name"]: (row["kept"], row["why"]) for row in answer(*arguments, "--dry-run")["result"]["rows"]}
    assert whys["conv"] == (False, None)
    assert whys["scale"] == (True, None)
    assert whys["bias"] == (True, "rank 1, and htp:R4Crouton has rank 4")


@pytest.mark.usefixtures("folder")
def test_what_was_named_and_does_not_fit_is_an_error() -> None:
    checkpoint("in.safetensors")
    Path("rules.toml").write_text('[[rule]]\nname = "bi*"\nto = "htp:R4Crouton"\n')
    for named in (("--to", "htp:R4Crouton", "--only", "bias"), ("--map", "rules.toml")):
        done = run("repack", "in.safetensors", "out.safetensors", *named)
        assert done.exit_code == 3
        assert "tensor 'bias': shape (40,) does not fit a format of rank 4" in done.stderr
    done = run("repack", "in.safetensors", "out.safetensors", "--to", "htp:R4Crouton", "--except", "conv")
    assert done.exit_code == 4
    assert "no tensor of in.safetensors fits: 'bias' (rank 1, and htp:R4Crouton has rank 4); " in done.stderr
    assert not list(Path().glob("out*"))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--to", "nhwc", "--from", "nchw", "--axes", "nchw"), "rank 1, and nchw has rank 4"),
        (("--to", "(1, 9, 9, 40):(3240, 360, 40, 1)"), "shape (40,), and (1, 9, 9, 40):(3240, 360, 40, 1) has"),
        (("--to", "a b c d -> a d b c"), "rank 1, and a b c d -> a d b c has rank 4"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_all_kinds_of_layouts_may_not_fit(arguments: tuple[str, ...], why: str) -> None:
    checkpoint("in.safetensors")
    rows = answer("repack", "in.safetensors", "out.safetensors", *arguments)["result"]["rows"]
    whys = {row["name"]: row["why"] for row in rows}
    assert whys["conv"] is None
    assert whys["bias"].startswith(why)


@pytest.mark.usefixtures("folder")
def test_a_name_without_a_form_of_that_width_does_not_fit() -> None:
    np.savez("in.npz", x=np.ones((1, 9, 9, 40), np.uint8), counter=np.ones((1, 1, 1, 1), np.int64))
    done = run("repack", "in.npz", "out.npz", "--to", "htp:Crouton")
    assert done.exit_code == 0
    assert "'counter' (htp:Crouton depends on the width of the elements, got 64 bits)" in done.stderr


@pytest.mark.usefixtures("folder")
def test_elements_of_another_width_are_doubted() -> None:
    checkpoint("in.safetensors", "float16")
    done = run("repack", "in.safetensors", "out.safetensors", "--to", "htp:R4Crouton", "--only", "conv")
    assert done.exit_code == 0
    assert done.stderr == "Warning: htp:R4Crouton is made for elements of 8 bits, not for float16: 'conv'.\n"
    with pytest.warns(UserWarning, match="8 bits, not for float16"):
        rl.repack_file("in.safetensors", "again.safetensors", to="htp:R4Crouton", only="conv")


@pytest.mark.usefixtures("folder")
def test_of_many_tensors_some_are_named() -> None:
    np.savez("in.npz", x=np.ones((2, 2)), **{f"bias{k}": np.ones(2) for k in range(20)})
    done = run("repack", "in.npz", "out.npz", "--to", "format:1 0")
    assert "'bias6', 'bias7' and 12 more (rank 1, and format:1 0 has rank 2)" in done.stderr


@pytest.mark.usefixtures("folder")
def test_tensors_that_are_alike_keep_their_own_data() -> None:
    tensors = {f"x{k}": np.random.default_rng(k).integers(256, size=(5, 6), dtype=np.uint8) for k in range(6)}
    np.savez("in.npz", **tensors)
    rules = '[[rule]]\nname = "x[0-2]"\nto = "format:1 0"\n[[rule]]\nname = "x3"\nto = "format:0 1 / 0,4"\n'
    Path("rules.toml").write_text(rules)
    assert run("repack", "in.npz", "out.npz", "--map", "rules.toml").exit_code == 0
    with np.load("out.npz") as found:
        for name, x in tensors.items():
            to = {"x0": "format:1 0", "x1": "format:1 0", "x2": "format:1 0", "x3": "format:0 1 / 0,4"}.get(name)
            assert np.array_equal(found[name], x if to is None else rl.repack(x, to))


@pytest.mark.filterwarnings("ignore:copied unchanged")
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("out", ["out.safetensors", "out.safetensors.index.json"])
def test_what_torch_wrote_torch_reads(out: str) -> None:
    torch, judge = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch")
    kinds = (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.float16, torch.int64, torch.bool)
    made = torch.Generator().manual_seed(0)
    tensors = {f"blocks.{k}.ü": torch.randn((3, 5, 4, 7), generator=made).to(kind) for k, kind in enumerate(kinds)}
    tensors |= {"scalar": torch.tensor(2.5), "none": torch.empty((2, 0, 3, 4)), "bias": torch.ones(7)}
    judge.save_file(tensors, "in.safetensors", {"format": "pt"})
    assert run("repack", "in.safetensors", out, "--to", "nhwc", "--axes", "nchw", "--verify").exit_code == 0
    assert run("verify", "in.safetensors", out).exit_code == 0
    found = judge.load_file("out-00001-of-00001.safetensors" if out.endswith(".json") else out)
    for name, x in tensors.items():
        expected = x.permute(0, 2, 3, 1) if x.dim() == 4 else x
        assert (found[name].shape, found[name].dtype) == (expected.shape, x.dtype)
        bits = [tensor.contiguous().reshape(-1).view(torch.uint8) for tensor in (found[name], expected)]
        assert torch.equal(*bits)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["w[0]", "a b", "it's", "force", "*", "--x"])
def test_the_way_out_can_be_typed(name: str) -> None:
    np.savez("in.npz", **{name: np.ones(3, np.uint8), "x": np.ones((1, 2, 3, 4), np.uint8)})
    rules = [{"name": "*", "to": "htp:R4Crouton"}]
    with pytest.raises(rl.ShapeError) as refusal:
        rl.repack_file("in.npz", "out.npz", rules=rules)
    typed = shlex.split(refusal.value.hint.partition("it is: ")[2])
    assert typed[0] == "--except"
    assert rl.repack_file("in.npz", "out.npz", rules=rules, except_=typed[1]).rows[0].kept
    Path("rules.toml").write_text('[[rule]]\nname = "*"\nto = "htp:R4Crouton"\n')
    done = run("repack", "in.npz", "again.npz", "--map", "rules.toml")
    assert done.stderr.rstrip().endswith(refusal.value.hint.rpartition("; ")[2])


@pytest.mark.usefixtures("folder")
def test_files_whose_names_are_no_text() -> None:
    name = os.fsdecode(b"x\xff.npy")
    Path("x.npy").rename(name)
    assert "stored" in run("inspect", name).stdout
    for out in ("y.npy", "y.npz", "y.safetensors", "y.zarr", "y.bin"):
        done = run("repack", name, out, "--to", "nchw")
        assert (done.exit_code, "its name is no text" in done.stderr) == (3, True)
    assert [path.name for path in Path().iterdir()] == [name]


@pytest.mark.usefixtures("folder")
def test_names_that_a_folder_cannot_have() -> None:
    for names in (("a", "a/b"), ("a/b", "a"), ("../a",), ("a//b",), ("zarr.json",), ("/a",), ("a" * 300,), ("",)):
        source = str(store(Path("in.safetensors"), {name: np.ones((2, 2)) for name in names}))
        done = run("repack", source, "out.zarr", "--to", "format:1 0")
        assert (done.exit_code, "rename the tensor" in done.stderr) == (3, True)
        assert not list(Path().glob("out*"))
        assert run("repack", source, "out.safetensors", "--to", "format:1 0", "--force").exit_code == 0
        assert run("verify", source, "out.safetensors").exit_code == 0
        Path("out.safetensors").unlink()


FEW = 'ulimit -n 180; "$@"'


def test_a_zarr_of_more_files_than_may_be_open(folder: Path) -> None:
    tensors = {f"x{k}": np.full((5, 3), k, np.uint16) for k in range(150)}
    np.savez("in.npz", **tensors)
    words = ["bash", "-c", FEW, "", sys.executable, "-m", "relayout"]
    for arguments in (
        ("repack", "in.npz", "out.zarr", "--to", "format:1 0", "--verify"),
        ("verify", "in.npz", "out.zarr"),
        ("repack", "out.zarr", "back.npz", "--to", "format:0 1", "--verify"),
    ):
        done = subprocess.run([*words, *arguments], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0
        assert all(re.match(r"(repack|verify): .*%", line) for line in done.stderr.splitlines()), "progress alone"
    with np.load("back.npz") as found:
        for name, x in tensors.items():
            assert np.array_equal(found[name], x)


@pytest.mark.usefixtures("folder")
def test_names_do_not_reach_the_terminal() -> None:
    np.savez("in.npz", **{"a\x1b[31m\x07": np.ones(2), "new\nline": np.ones((1, 2, 3, 4)), "你好": np.ones(2)})
    lines = run("inspect", "in.npz").stdout.splitlines()
    assert [line.split()[0] for line in lines[2:]] == [r"a\x1b[31m\x07", r"new\nline", "你好"]
    assert lines[4].startswith("你好" + " " * (len(r"a\x1b[31m\x07") - 4) + "  float64")
    done = run("repack", "in.npz", "out.npz", "--to", "nhwc")
    assert "\x1b" not in done.output
    done = run("inspect", "a\x1b[31m.npy")
    assert r"a\x1b[31m.npy" in done.stderr
    assert {x["name"] for x in answer("inspect", "in.npz")["result"]["tensors"]} == {
        "a\x1b[31m\x07",
        "new\nline",
        "你好",
    }


def test_the_page_is_what_the_commands_print() -> None:
    spec = importlib.util.spec_from_file_location("make_cli", ROOT / "docs" / "make_cli.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (ROOT / "docs" / "repack_files.md").read_text()
    assert module.page(text) == text


CALLS = (
    "repack([[1, 2]], '1 0')",
    "open('x.npy')['x']",
    "verify('x.npy', 'x.npy')",
    "repack_file('x.npy', 'y.npy')",
    "ScaleOffset(0.5, 3, 'quint8')",
    "Layout((2, 3)).offsets()",
    "Plain('float32').encode(3.0)",
    "tensor([1.0])",
    "infer([1], [1])",
)


def test_the_library_says_what_is_not_installed(folder: Path) -> None:
    """Without site-packages numpy is not there; other packages that ask for it get Python's own error."""
    code = "import relayout as rl\nprint(rl.parse('nChw8c', shape=(1, 20, 3, 3)).size)\n"
    for call in CALLS:
        code += (
            f"try:\n    rl.{call}\nexcept ImportError as error:\n    print(type(error).__name__, error.name, error)\n"
        )
    code += "try:\n    import numpy\nexcept ImportError as error:\n    print(type(error).__name__, error)\n"
    code += "try:\n    import relayout.cli.main\nexcept rl.MissingPackage as error:\n    print(error.name)\n"
    words = [sys.executable, "-S", "-c", code]
    # Where relayout is installed, numpy is beside it.
    alone = folder / "alone"
    alone.mkdir()
    (alone / "relayout").symlink_to(Path(rl.__file__).parent)
    env = {"PYTHONPATH": str(alone)}
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    told = "MissingPackage numpy relayout needs numpy, which is not installed. Hint: python -m pip install numpy"
    foreign = "ModuleNotFoundError No module named 'numpy'"
    assert done.stdout.splitlines() == ["180", *[told] * len(CALLS), foreign, "click"], done.stderr


@pytest.mark.parametrize(("package", "command"), [("click", "inspect x.npy"), ("numpy", "verify x.npy x.npy")])
def test_a_package_that_is_missing_is_told_in_a_sentence(folder: Path, package: str, command: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; from relayout.__main__ import main; main()"
    words = [sys.executable, "-c", code, *command.split()]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    told = f"relayout needs {package}, which is not installed.\nHint: python -m pip install {package}\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", told)
