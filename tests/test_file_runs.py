"""Runs of a file read and written by the compiled core, and by Python's calls: the same bytes, and the same errors."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from relayout import BadFile, native_available
from relayout.files import file_pool, tuning
from relayout.files.contents import Segment
from relayout.files.file_pool import FilePool

pytestmark = pytest.mark.skipif(not native_available(), reason="there is no compiled core")


@pytest.fixture(params=[1, 1 << 20], ids=["compiled", "python"])
def least(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(tuning, "ACTIVE", tuning.ACTIVE._replace(min_native_runs=request.param, max_write_bytes=5))
    return int(request.param)


@pytest.mark.usefixtures("least")
@pytest.mark.parametrize("length", [1, 7, 64])
def test_runs_are_read_and_written_at_their_places(tmp_path: Path, length: int) -> None:
    random = np.random.default_rng(length)
    data = random.integers(0, 255, 4096, np.uint8)
    path = tmp_path / "x"
    path.write_bytes(data.tobytes())
    starts = (random.permutation(3000 // length)[:20] * length).tolist()
    found = np.empty(len(starts) * length, np.uint8)
    with FilePool() as files:
        files.read([Segment(path, 96, 4000)], starts, found)
    assert found.tolist() == [int(data[96 + start + k]) for start in starts for k in range(length)]
    with FilePool(os.O_RDWR) as files:
        files.write([Segment(path, 5, 4091)], starts, found)
        files.sync()
    for k, start in enumerate(starts):
        data[5 + start : 5 + start + length] = found[k * length : (k + 1) * length]
    assert path.read_bytes() == data.tobytes()


@pytest.mark.usefixtures("least")
def test_a_file_that_ends_too_early_is_told_with_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(bytes(100))
    with FilePool() as files, pytest.raises(BadFile, match="ends at byte 100, and was longer"):
        files.read([Segment(path, 0, 200)], [0, 40, 80, 120], np.empty(160, np.uint8))


@pytest.mark.usefixtures("least")
def test_an_error_of_the_system_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(bytes(100))
    with FilePool(os.O_RDONLY) as files, pytest.raises(OSError, match="Bad file descriptor"):
        files.write([Segment(path, 0, 100)], [0, 50], np.zeros(20, np.uint8))
    with FilePool(os.O_WRONLY) as files, pytest.raises(OSError, match="Bad file descriptor"):
        files.read([Segment(path, 0, 100)], [0, 50], np.zeros(20, np.uint8))


def test_memory_of_another_size_is_refused() -> None:
    from relayout.native import native

    assert native is not None
    for places in ([], [0, 1, 2]):
        with pytest.raises(ValueError, match="one length"):
            native.read_runs(0, bytearray(4), places, 10)


@pytest.mark.usefixtures("least")
def test_a_full_disk_is_an_error_of_the_system() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full")
    with FilePool(os.O_WRONLY) as files, pytest.raises(OSError, match="No space left"):
        files.write([Segment(full, 0, 100)], [0, 50], np.zeros(20, np.uint8))


def test_a_file_that_takes_nothing_is_an_error(tmp_path: Path, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pwrite", lambda number, data, place: 0)
    nothing = SimpleNamespace(read_runs=None, write_runs=lambda file, data, places, most: 0)
    monkeypatch.setattr(file_pool, "native", nothing)
    path = tmp_path / "x"
    with FilePool(os.O_RDWR | os.O_CREAT) as files:
        with pytest.raises(OSError, match="takes no more bytes"):
            files.write([Segment(path, 0, 100)], [0, 50], np.zeros(20, np.uint8))
        with pytest.raises(OSError, match="takes no more bytes"):
            files.write_at(path, 0, b"abc")


@pytest.mark.usefixtures("least")
@pytest.mark.parametrize("action", ["read_runs", "write_runs"])
def test_a_file_stays_open_while_it_is_used(tmp_path: Path, action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other threads may open so many files meanwhile that the pool evicts it."""
    monkeypatch.setattr(tuning, "ACTIVE", tuning.ACTIVE._replace(open_files=1))
    used = list[Path]()
    for name in ("x", "other"):
        (tmp_path / name).write_bytes(bytes(100))

    def evict(function: Any) -> Any:
        def call(number: int, *arguments: Any) -> Any:
            files.descriptor(tmp_path / "other")
            used.append(Path(f"/proc/self/fd/{number}").readlink())
            return function(number, *arguments)

        return call

    if not Path("/proc/self/fd").exists():
        pytest.skip("the system does not tell which file a descriptor is")
    calls = {name: evict(getattr(file_pool.native, name)) for name in ("read_runs", "write_runs")}
    monkeypatch.setattr(file_pool, "native", SimpleNamespace(**calls))
    for name in ("preadv", "pwrite", "fdatasync"):
        monkeypatch.setattr(os, name, evict(getattr(os, name)))
    with FilePool(os.O_RDWR) as files:
        parts = [Segment(tmp_path / "x", 0, 100)], [0, 50], np.zeros(20, np.uint8)
        if action == "read_runs":
            files.read(*parts)
        else:
            files.write(*parts)
            files.write_at(tmp_path / "x", 0, b"abc")
            files.sync()
    assert set(used) == {tmp_path / "x"}


def test_a_signal_is_heard_between_runs(tmp_path: Path) -> None:
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("only the main thread hears signals")
    path, heard = tmp_path / "x", list[int]()
    path.write_bytes(bytes(1 << 20))
    before = signal.signal(signal.SIGALRM, lambda number, frame: heard.append(number) or 1 / 0)
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    try:
        with FilePool() as files, pytest.raises(ZeroDivisionError) as caught:
            files.read([Segment(path, 0, 1 << 20)], [0] * 256, np.empty(1 << 28, np.uint8))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert heard
    assert "partly written" in "".join(caught.value.__notes__)
