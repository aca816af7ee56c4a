"""Repacks on a Dask cluster of real processes: the same bytes, whoever dies meanwhile."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relayout as rl
from relayout.elements.types import ELEMENTS
from relayout.files.contents import Segment, StoredTensor
from relayout.files.jobs.changes import Operands, plan_change
from relayout.files.jobs.cluster import BATCH_BYTES, batches_of
from relayout.files.jobs.memory_budget import MemoryBudget
from relayout.files.jobs.number_set import NumberSet
from relayout.files.jobs.rules import Rule
from relayout.files.jobs.work_units import TensorUnits

distributed = pytest.importorskip("distributed", reason="NO CLUSTER TESTS: distributed is not installed")

NHWC = (2, 160, 160, 96)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers, each a process of its own that a nanny starts again."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0, silence_logs=50
    ) as found:
        yield found


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster) as found:
        found.wait_for_workers(2, timeout=120)
        yield found


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A tensor of so many bytes that it has many batches."""
    path = tmp_path / "x.npy"
    np.save(path, np.random.default_rng(1).integers(0, 256, NHWC, np.uint8))
    return path


@pytest.fixture
def expected(source: Path) -> bytes:
    """The bytes that one machine makes of it, and numpy agrees."""
    made = source.with_name("expected.npy")
    rl.repack_file(source, made, to="htp:R4Crouton")
    n, h, w, c = NHWC
    blocks = np.load(source).reshape(n, h // 8, 8, w // 8, 8, c // 32, 32).transpose(0, 1, 3, 5, 2, 4, 6)
    assert np.array_equal(np.load(made), blocks)
    return made.read_bytes()


def unfinished(path: Path) -> list[str]:
    return sorted([found.name for found in path.parent.iterdir() if ".part" in found.name])


def test_workers_write_what_one_machine_does(client: Any, source: Path, expected: bytes) -> None:
    out = source.with_name("out.npy")
    told: list[tuple[int, int]] = []
    report = rl.repack_file(
        source, out, to="htp:R4Crouton", cluster=client, verify=True, progress=lambda *x: told.append(x)
    )
    assert out.read_bytes() == expected
    assert report.resumed == 0
    assert told[-1] == (report.total, report.total)
    assert len(told) >= 2
    assert unfinished(out) == []


def test_an_address_from_the_command_line(cluster: Any, source: Path, expected: bytes) -> None:
    out = source.with_name("out.npy")
    words = ["repack", str(source), str(out), "--to", "htp:R4Crouton", "--cluster", cluster.scheduler_address]
    done = subprocess.run([sys.executable, "-m", "relayout", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert out.read_bytes() == expected


def test_a_checkpoint_of_many_tensors(client: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    tensors = {f"w{k}": rng.standard_normal((3 * k + 1, 64)).astype(np.float32) for k in range(20)}
    np.savez(tmp_path / "x.npz", **tensors)
    for name, cluster in (("a", None), ("b", client)):
        rl.repack_file(tmp_path / "x.npz", tmp_path / f"{name}.safetensors", to="format:1 0", cluster=cluster)
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    found = rl.open(tmp_path / "b.safetensors")
    for name, x in tensors.items():
        assert np.array_equal(found[name].numpy(), x)


def test_ranks_are_dealt_by_workers(client: Any, tmp_path: Path) -> None:
    x = np.random.default_rng(3).standard_normal((64, 48)).astype(np.float32)
    np.savez(tmp_path / "x.npz", up=x, down=x.T.copy())
    rl.repack_file(tmp_path / "x.npz", tmp_path / "x.safetensors")
    rules = [{"name": "up", "deal": "colwise"}, {"name": "down", "deal": "rowwise"}]
    rl.reshard(tmp_path / "x.safetensors", tmp_path / "out", to="tp=4", rules=rules, cluster=client, verify=True)
    files = sorted((tmp_path / "out").glob("*.safetensors"))
    assert len(files) == 4
    for rank, file in enumerate(files):
        found = rl.open(file)
        assert np.array_equal(found["up"].numpy(), np.split(x, 4, 0)[rank])
        assert np.array_equal(found["down"].numpy(), np.split(x.T, 4, 1)[rank])


def test_a_killed_worker_costs_nothing_but_time(client: Any, source: Path, expected: bytes) -> None:
    out = source.with_name("out.npy")
    killed: list[int] = []

    def progress(done: int, total: int) -> bool:
        if not killed:
            killed.append(client.run(os.getpid, workers=[next(iter(client.nthreads()))]).popitem()[1])
            os.kill(killed[0], signal.SIGKILL)
        return True

    rl.repack_file(source, out, to="htp:R4Crouton", cluster=client, verify=True, progress=progress)
    assert killed
    assert out.read_bytes() == expected
    assert unfinished(out) == []
    client.wait_for_workers(2, timeout=120)


CLIENT = """
import sys, relayout as rl
source, out, address = sys.argv[1:]
def progress(done, total):
    print(done, flush=True)
    sys.stdin.readline()
rl.repack_file(source, out, to="htp:R4Crouton", cluster=address, progress=progress)
"""


@pytest.mark.parametrize("continued_on_a_cluster", [True, False])
def test_a_killed_client_is_continued(
    cluster: Any, client: Any, source: Path, expected: bytes, continued_on_a_cluster: bool
) -> None:
    out = source.with_name("out.npy")
    arguments = [sys.executable, "-c", CLIENT, str(source), str(out), cluster.scheduler_address]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdin is not None
        assert first.stdout is not None
        assert int(first.stdout.readline()) > 0
        first.send_signal(signal.SIGKILL)
    assert not out.exists()
    assert unfinished(out) == ["out.npy.part", "out.npy.part.journal", "out.npy.relayout.json.part"]
    with pytest.raises(rl.BadFile, match="did not finish"):
        rl.repack_file(source, out, to="htp:R4Crouton", cluster=client)
    report = rl.repack_file(
        source, out, to="htp:R4Crouton", resume=True, verify=True, cluster=client if continued_on_a_cluster else None
    )
    assert report.resumed > 0
    assert out.read_bytes() == expected
    assert unfinished(out) == []


def _limit_files(size: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def test_workers_that_cannot_write_leave_what_is_unfinished(client: Any, source: Path, expected: bytes) -> None:
    out = source.with_name("out.npy")
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    client.run(_limit_files, 1 << 20)
    try:
        with pytest.raises(rl.BadFile, match=r"out\.npy"):
            rl.repack_file(source, out, to="htp:R4Crouton", cluster=client)
    finally:
        client.run(_limit_files, unlimited)
    assert not out.exists()
    rl.repack_file(source, out, to="htp:R4Crouton", cluster=client, resume=bool(unfinished(out)))
    assert out.read_bytes() == expected


def test_a_stopped_run_is_continued(client: Any, source: Path, expected: bytes) -> None:
    out = source.with_name("out.npy")
    with pytest.raises(rl.Cancelled):
        rl.repack_file(source, out, to="htp:R4Crouton", cluster=client, progress=lambda done, total: False)
    report = rl.repack_file(source, out, to="htp:R4Crouton", cluster=client, resume=True)
    assert report.resumed > 0
    assert out.read_bytes() == expected


def test_a_batch_of_a_run_that_was_ended_writes_nothing(client: Any, source: Path) -> None:
    from relayout.files.jobs import cluster as jobs

    seen: dict[str, Any] = {}
    original = jobs.ClusterRun.__init__

    def keep(self: Any, client: Any, job: Any) -> None:
        seen["job"] = job
        original(self, client, job)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs.ClusterRun, "__init__", keep)
        rl.repack_file(source, source.with_name("out.npy"), to="htp:R4Crouton", cluster=client)
    with pytest.raises(rl.Cancelled, match="not of this run"):
        client.submit(jobs.run_batch, seen["job"], jobs.Batch(0, 0, 1, 0)).result()


def test_a_worker_without_the_files_says_so(client: Any, source: Path) -> None:
    from relayout.files.jobs import cluster as jobs

    original = jobs.ClusterRun.__init__

    def elsewhere(self: Any, client: Any, job: Any) -> None:
        original(self, client, job._replace(sources=((source.with_name("elsewhere.npy"), 1),)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs.ClusterRun, "__init__", elsewhere)
        with pytest.raises(rl.ClusterError, match="finds no file") as caught:
            rl.repack_file(source, source.with_name("out.npy"), to="htp:R4Crouton", cluster=client)
    assert "one shared file system" in str(caught.value)
    assert unfinished(source) == []


def _peak(reset: bool) -> int:
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    text = Path("/proc/self/status").read_text()
    name = "VmRSS:" if reset else "VmHWM:"
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith(name))) << 10


def test_a_worker_stays_in_its_memory(client: Any, tmp_path: Path) -> None:
    shape = 8192, 16384
    np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.uint8, shape).flush()
    before = client.run(_peak, True)
    rl.repack_file(tmp_path / "x.npy", tmp_path / "y.npy", to="format:1 0", cluster=client, max_memory="64MiB")
    after = client.run(_peak, False)
    used = [after[worker] - before[worker] for worker in before if worker in after]
    assert used
    assert max(used) < 64 << 20
    assert np.load(tmp_path / "y.npy", mmap_mode="r").size == 8192 * 16384


def test_what_is_no_cluster(source: Path) -> None:
    out = source.with_name("out.npy")
    with pytest.raises(rl.ClusterError, match="no cluster"):
        rl.repack_file(source, out, cluster=5)
    with pytest.raises(rl.ShapeError, match="number of processes"):
        rl.repack_file(source, out, cluster="local:many")
    with pytest.raises(rl.ShapeError, match="jobs"):
        rl.repack_file(source, out, cluster="local:2", jobs=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("relayout.files.jobs.cluster.SECONDS_FOR_WORKERS", 1)
        with pytest.raises(rl.ClusterError, match="no scheduler"):
            rl.repack_file(source, out, cluster="tcp://127.0.0.1:9")
    assert unfinished(source) == []


def test_a_petabyte_is_planned_in_little_memory() -> None:
    """A petabyte in a file that nobody has: its batches come one by one, and all of them are known by arithmetic."""
    shape = 1 << 25, 1 << 25
    entry = StoredTensor("x", ELEMENTS["uint8"], shape, (Segment(Path("x.npy"), 128, 1 << 50),))
    tracemalloc.start()
    try:
        change = plan_change(entry, Rule(to="format:0 1 / 0,8 1,128"), Operands())
        units = TensorUnits(change, (Segment(Path("y.npy"), 128, 1 << 50),), MemoryBudget(32 << 20, 32 << 20))
        finished = NumberSet()
        finished.add(0, len(units) // 2)
        found = batches_of([units], finished, BATCH_BYTES)
        first = next(found)
        assert first.number == len(units) // 2
        taken = 0
        for k, batch in enumerate(found):
            taken += batch.end - batch.first
            if k == 20_000:
                break
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    sizes = [unit.size for k in (0, len(units) // 3, len(units) - 1) if (unit := units[k]) is not None]
    assert sum(sizes) / len(sizes) * len(units) == pytest.approx(1 << 50, rel=0.01)
    assert taken > 0
    assert len(units) > 10**7
    assert peak < 16 << 20


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60))))
def test_a_number_set_is_a_set(ranges: list[tuple[int, int]]) -> None:
    found, judge = NumberSet(), set()
    for start, end in ranges:
        found.add(start, end)
        judge |= set(range(start, end))
    assert [n for n in range(70) if n in found] == sorted(judge)
    assert found.count == len(judge)
    assert [n for start, end in found for n in range(start, end)] == sorted(judge)
    assert all(later > end for (_, end), (later, _) in zip(list(found), list(found)[1:]))
    assert list(NumberSet.parse(str(found))) == list(found)
    for n in range(70):
        assert found.next_missing(n) == next(k for k in range(n, 200) if k not in judge)
