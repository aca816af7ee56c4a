"""Runs of a file read and written by the compiled core, and by Python's calls: the same bytes, and the same errors."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from relayout import BadFile, native_available
from relayout.files import tuning
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
