"""Zarr with codecs and shards, in folders and in an S3 on loopback that answers 503 now and then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relayout as rl
from relayout.files.jobs import store_job
from relayout.files.jobs.slabs import slab_shape
from relayout.files.zarr_arrays import EncodedChunks, forget_decoded_chunks

zarr = pytest.importorskip("zarr", reason="NO ZARR TESTS: zarr is not installed")

RNG = np.random.default_rng(11)
ACT = RNG.integers(0, 256, (2, 40, 40, 96), np.uint8)
WEIGHT = RNG.standard_normal((96, 130)).astype(np.float16)


def crouton(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    n, h, w, c = x.shape
    return x.reshape(n, h // 8, 8, w // 8, 8, c // 32, 32).transpose(0, 1, 3, 5, 2, 4, 6)


@pytest.fixture(autouse=True)
def _nothing_decoded() -> Iterator[None]:
    yield
    forget_decoded_chunks()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    np.savez(tmp_path / "x.npz", act=ACT, weight=WEIGHT)
    return tmp_path / "x.npz"


# ---- reading ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"chunks": (20, 130)},
        {"chunks": (17, 33)},
        {"chunks": (8, 26), "shards": (32, 130)},
        {"chunks": (17, 33), "compressors": [zarr.codecs.GzipCodec()]},
        {"chunks": (17, 33), "filters": [zarr.codecs.TransposeCodec(order=(1, 0))], "compressors": "auto"},
        {"chunks": (17, 33), "shards": (34, 66), "compressors": None},
        {"chunks": (17, 33), "serializer": zarr.codecs.BytesCodec(endian="big"), "compressors": "auto"},
        {"chunks": (96, 130), "compressors": [zarr.codecs.BloscCodec()], "fill_value": 7},
        {"chunks": (17, 33), "compressors": [zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()]},
    ],
)
def test_what_zarr_writes_is_read(tmp_path: Path, options: dict[str, Any]) -> None:
    group = zarr.open_group(tmp_path / "x.zarr", mode="w")
    array = group.create_array("w", shape=WEIGHT.shape, dtype=WEIGHT.dtype, **options)
    array[:40] = WEIGHT[:40]
    judge = array[:]
    assert np.array_equal(rl.open(tmp_path / "x.zarr")["w"].numpy(), judge)
    rl.repack_file(tmp_path / "x.zarr", tmp_path / "y.safetensors", to="format:1 0", verify=True)
    assert np.array_equal(rl.open(tmp_path / "y.safetensors")["w"].numpy(), judge)
    assert rl.verify(tmp_path / "x.zarr", tmp_path / "y.safetensors")


def test_a_damaged_chunk_is_told(tmp_path: Path) -> None:
    array = zarr.create_array(tmp_path / "x.zarr", data=WEIGHT, chunks=(96, 130))
    file = next(file for file in (tmp_path / "x.zarr" / "c").rglob("*") if file.is_file())
    data = bytearray(file.read_bytes())
    data[: len(data) // 2] = bytes(len(data) // 2)
    file.write_bytes(data)
    with pytest.raises(rl.BadFile, match="cannot be decoded"):
        rl.open(tmp_path / "x.zarr")["x"].numpy()
    assert array.shape == WEIGHT.shape


def test_an_unknown_codec_is_told(tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "x.zarr", data=WEIGHT)
    text = (tmp_path / "x.zarr" / "zarr.json").read_text()
    (tmp_path / "x.zarr" / "zarr.json").write_text(text.replace('"zstd"', '"nonesuch"'))
    with pytest.raises(rl.BadFile, match="zarr-python does not read it"):
        rl.open(tmp_path / "x.zarr")


def test_chunks_are_decoded_once_where_memory_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zarr.create_array(tmp_path / "x.zarr", data=np.zeros((512, 512), np.float32) + 1, chunks=(64, 64))
    numbers: list[int] = []
    original = EncodedChunks.decode

    def decode(self: EncodedChunks, number: int) -> Any:
        numbers.append(number)
        return original(self, number)

    monkeypatch.setattr(EncodedChunks, "decode", decode)
    rl.repack_file(tmp_path / "x.zarr", tmp_path / "y.npy", to="format:1 0", jobs=1)
    assert sorted(numbers) == list(range(64))


# ---- writing ---------------------------------------------------------------------------------------------


STORAGES: list[dict[str, Any]] = [
    {"compress": "zstd:3"},
    {"compress": "gzip", "chunk": "64KiB"},
    {"chunk": "16KiB", "shard": "128KiB"},
    {"compress": "blosc", "chunk": "8KiB", "shard": "1MiB"},
]


@pytest.mark.parametrize("storage", STORAGES)
def test_zarr_reads_what_is_written(source: Path, storage: dict[str, Any]) -> None:
    out = source.with_name("out.zarr")
    report = rl.repack_file(source, out, to="htp:R4Crouton", only="act", verify=True, **storage)
    group = zarr.open_group(out, mode="r")
    assert np.array_equal(group["act"][:], crouton(ACT))
    assert np.array_equal(group["weight"][:], WEIGHT)
    assert group["act"].attrs["relayout"]["layout"] == "htp:R4Crouton"
    assert (group["act"].shards is not None) == ("shard" in storage)
    assert report.total == ACT.nbytes + WEIGHT.nbytes
    assert np.array_equal(rl.open(out)["act"].numpy(), ACT)
    assert rl.verify(source, out)
    assert not (out / store_job.JOURNAL).exists()
    back = source.with_name("back.npz")
    rl.repack_file(out, back)
    assert np.array_equal(np.load(back)["act"], ACT)


def test_padding_and_types_that_zarr_lacks(tmp_path: Path) -> None:
    x = RNG.integers(0, 1 << 16, (9, 9), np.uint16)
    x.tofile(tmp_path / "x.bin")
    rl.repack_file(
        tmp_path / "x.bin",
        tmp_path / "y.zarr",
        src="format:0 1",
        shape=(9, 9),
        src_dtype="bfloat16",
        to="format:0 1 / 0,4 1,8",
        compress="zstd",
    )
    judge = np.zeros((12, 16), np.uint16)
    judge[:9, :9] = x
    stored = zarr.open_group(tmp_path / "y.zarr", mode="r")["x"][:]
    assert np.array_equal(stored, judge.reshape(3, 4, 2, 8).transpose(0, 2, 1, 3))


def test_metadata_comes_last_and_a_stopped_run_goes_on(source: Path) -> None:
    out = source.with_name("out.zarr")
    options: dict[str, Any] = {"to": "htp:R4Crouton", "only": "act", "compress": "zstd", "chunk": "16KiB"}
    with pytest.raises(rl.Cancelled):
        rl.repack_file(source, out, **options, progress=lambda done, total: done < total // 3)
    with pytest.raises(FileNotFoundError):
        zarr.open_group(out, mode="r")
    assert list(out.rglob("zarr.json")) == []
    with pytest.raises(rl.BadFile, match="did not finish"):
        rl.repack_file(source, out, **options)
    with pytest.raises(rl.BadFile, match="differs in its options"):
        rl.repack_file(source, out, **(options | {"chunk": "32KiB"}), resume=True)
    report = rl.repack_file(source, out, **options, resume=True)
    assert 0 < report.resumed < report.total
    assert np.array_equal(zarr.open_group(out, mode="r")["act"][:], crouton(ACT))
    with pytest.raises(rl.BadFile, match="exists"):
        rl.repack_file(source, out, **options)
    rl.repack_file(source, out, only="act", compress="gzip", force=True)
    assert np.array_equal(zarr.open_group(out, mode="r")["act"][:], ACT)


def test_bad_words(source: Path) -> None:
    with pytest.raises(rl.ParseError, match="no compressor"):
        rl.repack_file(source, source.with_name("y.zarr"), compress="zip")
    with pytest.raises(rl.BadFile, match=r"Zarr's"):
        rl.repack_file(source, source.with_name("y.npz"), compress="zstd")
    with pytest.raises(rl.LimitExceeded, match="no chunk of at most"):
        rl.repack_file(source, source.with_name("y.zarr"), only="act", to="htp:R4Crouton", chunk=0)
    assert not source.with_name("y.zarr").exists()


@pytest.mark.parametrize(
    ("shape", "size", "judge"),
    [((6, 4), 24, (6, 4)), ((6, 4), 8, (2, 4)), ((6, 4), 2, (1, 2)), ((6, 4), 6, None), ((5,), 1, (1,)), ((), 1, ())],
)
def test_slabs_are_runs(shape: tuple[int, ...], size: int, judge: tuple[int, ...] | None) -> None:
    assert slab_shape(shape, size) == judge


# ---- a store at a URL ------------------------------------------------------------------------------------


class Unsteady:
    """An application that answers 503 to every ``period``-th request, if that is not 0."""

    def __init__(self, application: Callable[..., Any]) -> None:
        self._application, self._lock = application, threading.Lock()
        self.requests, self.period = 0, 0

    def __call__(self, environ: Any, start_response: Any) -> Any:
        with self._lock:
            self.requests += 1
            fails = self.period and self.requests % self.period == 0
        if not fails:
            return self._application(environ, start_response)
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start_response("503 Slow Down", [("Content-Type", "application/xml")])
        return [b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>later</Message></Error>"]


@pytest.fixture(scope="module")
def s3() -> Iterator[Unsteady]:
    """An S3 with the bucket ``models``, on loopback."""
    pytest.importorskip("s3fs", reason="NO OBJECT STORE TESTS: s3fs is not installed")
    moto = pytest.importorskip("moto.server", reason="NO OBJECT STORE TESTS: moto's server is not installed")
    from werkzeug.serving import make_server

    application = Unsteady(moto.DomainDispatcherApplication(moto.create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    words = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": "1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in words.items():
            patch.setenv(name, value)
        import s3fs

        s3fs.S3FileSystem().mkdir("models")
        yield application
    server.shutdown()
    thread.join()


def test_a_bucket_there_and_back(s3: Unsteady, source: Path) -> None:
    url = "s3://models/there.zarr"
    rl.repack_file(source, url, to="htp:R4Crouton", only="act", compress="zstd", chunk="64KiB", verify=True)
    assert np.array_equal(zarr.open_group(url, mode="r")["act"][:], crouton(ACT))
    back = source.with_name("back.zarr")
    rl.repack_file(url, back, chunk="64KiB")
    found = rl.open(back)
    assert np.array_equal(found["act"].numpy(), ACT)
    assert np.array_equal(found["weight"].numpy(), WEIGHT)
    again = "s3://models/again.zarr"
    rl.repack_file(url, again, chunk="32KiB", shard="64KiB")
    assert np.array_equal(zarr.open_group(again, mode="r")["act"][:], ACT)
    shown = subprocess.run(
        [sys.executable, "-m", "relayout", "inspect", url], capture_output=True, text=True, check=False
    )
    assert "htp:R4Crouton" in shown.stdout, shown.stderr


def test_503_now_and_then(s3: Unsteady, source: Path) -> None:
    url = "s3://models/unsteady.zarr"
    s3.period, before = 5, s3.requests
    try:
        rl.repack_file(source, url, to="htp:R4Crouton", only="act", compress="zstd", chunk="16KiB")
    finally:
        s3.period = 0
    assert s3.requests - before > 50
    assert np.array_equal(zarr.open_group(url, mode="r")["act"][:], crouton(ACT))


def test_a_store_that_stays_silent_is_an_error(s3: Unsteady, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relayout.files.store_url.FIRST_WAIT", 0.001)
    monkeypatch.setattr("relayout.files.store_url.TRIES", 2)
    monkeypatch.setattr("s3fs.core.S3FileSystem.retries", 1)
    url = "s3://models/silent.zarr"
    options: dict[str, Any] = {"to": "htp:R4Crouton", "only": "act", "chunk": "16KiB"}

    def progress(done: int, total: int) -> bool:
        s3.period = 1
        return True

    try:
        with pytest.raises(rl.BadFile, match="does not answer"):
            rl.repack_file(source, url, **options, progress=progress)
    finally:
        s3.period = 0
    with pytest.raises(FileNotFoundError):
        zarr.open_group(url, mode="r")
    rl.repack_file(source, url, **options, resume=True)
    assert np.array_equal(zarr.open_group(url, mode="r")["act"][:], crouton(ACT))


def test_there_is_no_such_store(s3: Unsteady, source: Path) -> None:
    with pytest.raises(rl.BadFile, match="no Zarr"):
        rl.repack_file("s3://models/nothing.zarr", source.with_name("y.zarr"))
    with pytest.raises(rl.BadFile, match="name it"):
        rl.repack_file(source, "s3://models/x.safetensors", compress="zstd")
    with pytest.raises(rl.NotExpressible, match="archives"):
        rl.repack_file(source, "s3://models/x.npz")
    with pytest.raises(rl.BadFile, match="no package opens it"):
        rl.repack_file(source, "nonesuch://models/x.zarr")


def test_workers_on_a_bucket(s3: Unsteady, source: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="NO CLUSTER TESTS: distributed is not installed")
    url = "s3://models/cluster.zarr"
    options: dict[str, Any] = {"to": "htp:R4Crouton", "only": "act", "compress": "zstd", "chunk": "8KiB"}
    killed: list[int] = []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def progress(done: int, total: int) -> bool:
            if not killed:
                killed.append(client.run(os.getpid, workers=[next(iter(client.nthreads()))]).popitem()[1])
                os.kill(killed[0], signal.SIGKILL)
            return True

        rl.repack_file(source, url, **options, cluster=client, progress=progress)
        rl.repack_file(source, "s3://models/cluster.safetensors", cluster=client)
    assert killed
    assert np.array_equal(rl.open("s3://models/cluster.safetensors")["act"].numpy(), ACT)
    assert np.array_equal(zarr.open_group(url, mode="r")["act"][:], crouton(ACT))


def test_files_in_a_bucket_are_read(s3: Unsteady, tmp_path: Path) -> None:
    import s3fs

    system = s3fs.S3FileSystem()
    tensors = {"act": ACT, "weight": WEIGHT}
    np.save(tmp_path / "act.npy", ACT)
    np.savez(tmp_path / "x.npz", **tensors)
    rl.repack_file(tmp_path / "x.npz", tmp_path / "x.safetensors")
    rl.repack_file(tmp_path / "x.npz", tmp_path / "y.safetensors.index.json", to="htp:R4Crouton", only="act")
    for file in tmp_path.iterdir():
        system.put(str(file), f"models/files/{file.name}")
    s3.period = 7
    try:
        for name in ("act.npy", "x.npz", "x.safetensors", "y.safetensors.index.json"):
            url = f"s3://models/files/{name}"
            out = tmp_path / f"{name}.out.npz"
            rl.repack_file(url, out, verify=True)
            for key, found in np.load(out).items():
                assert np.array_equal(found, tensors[key])
            assert np.array_equal(rl.open(url)["act"].numpy(), ACT)
            assert rl.verify(url, out)
    finally:
        s3.period = 0
    with pytest.raises(rl.BadFile, match="no such object"):
        rl.open("s3://models/files/nothing.npy")


def test_files_in_a_bucket_are_written(s3: Unsteady, source: Path, tmp_path: Path) -> None:
    import s3fs
    from safetensors.numpy import load_file

    s3.period = 9
    try:
        options: dict[str, Any] = {"to": "htp:R4Crouton", "only": "act", "verify": True}
        rl.repack_file(source, "s3://models/made/x.safetensors", **options)
        rl.repack_file(source, "s3://models/made/y.safetensors.index.json", **options)
        np.save(tmp_path / "act.npy", ACT)
        rl.repack_file(tmp_path / "act.npy", "s3://models/made/z.npy", to="htp:R4Crouton")
    finally:
        s3.period = 0
    folder = tmp_path / "got"
    s3fs.S3FileSystem(use_listings_cache=False).get("models/made/", str(folder), recursive=True)
    assert not [file.name for file in folder.iterdir() if "journal" in file.name]
    found = load_file(folder / "x.safetensors")
    assert np.array_equal(found["act"], crouton(ACT))
    assert np.array_equal(found["weight"], WEIGHT)
    assert np.array_equal(np.load(folder / "z.npy"), crouton(ACT))
    assert np.array_equal(rl.open(folder / "y.safetensors.index.json")["act"].numpy(), ACT)
    assert np.array_equal(rl.open("s3://models/made/z.npy")["z"].numpy(), ACT)
    with pytest.raises(rl.BadFile, match="exists"):
        rl.repack_file(source, "s3://models/made/x.safetensors")
    rl.repack_file(source, "s3://models/made/x.safetensors", force=True)
    assert np.array_equal(rl.open("s3://models/made/x.safetensors")["act"].numpy(), ACT)


def test_an_object_is_there_when_it_is_whole(s3: Unsteady, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    from relayout.files.containers import shards

    monkeypatch.setattr(shards, "SHARD_BYTES", 100_000)
    url = "s3://models/part/y.safetensors.index.json"
    with pytest.raises(rl.Cancelled):
        rl.repack_file(source, url, to="htp:R4Crouton", only="act", progress=lambda done, total: False)
    left = [name.rpartition("/")[2] for name in s3fs.S3FileSystem(use_listings_cache=False).ls("models/part")]
    assert "y.safetensors.index.json" not in left
    assert "y.safetensors.index.json.part.journal" in left
    with pytest.raises(rl.BadFile, match="did not finish"):
        rl.repack_file(source, url, to="htp:R4Crouton", only="act")
    with pytest.raises(rl.BadFile, match="another source, or other options"):
        rl.repack_file(source, url, only="act", resume=True)
    report = rl.repack_file(source, url, to="htp:R4Crouton", only="act", resume=True)
    assert report.resumed > 0
    assert np.array_equal(rl.open(url)["act"].numpy(), ACT)
    assert np.array_equal(rl.open(url)["weight"].numpy(), WEIGHT)
