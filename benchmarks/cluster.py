"""One file repacked by one process, and by 1, 2 and 4 workers; the same job by dask.array and numpy beside it.

    python benchmarks/cluster.py [--mib 512] [--rounds 3]

Prints ratios to the time of one process with as many threads as there are processors: above 1 is faster. Read and
written are bytes of the processes that do the work, over those of the file; wire is what passes the loopback.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import relayout as rl

JOBS = {"transpose": ("format:1 0", (1, 0)), "blocks of 8 x 128": ("format:0 1 / 0,8 1,128", None)}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--mib", type=int, default=512, help="the size of the file")
    arguments.add_argument("--rounds", type=int, default=3, help="each is timed so often, all in turn")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), options.mib << 20, options.rounds)


def measure(folder: Path, size: int, rounds: int) -> None:
    from distributed import Client, LocalCluster

    side = 1 << (size.bit_length() // 2)
    shape = size // side, side
    source = folder / "x.npy"
    np.save(source, np.random.default_rng(0).integers(0, 256, shape, np.uint8))
    rows: dict[str, Callable[[str], Any]] = {"one process": lambda to: rl.repack_file(source, folder / "y.npy", to=to)}
    clusters = []
    for workers in (1, 2, 4):
        cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
        client = Client(cluster)
        clusters.append((client, cluster))
        rows[f"{workers} worker{'s' * (workers > 1)}"] = lambda to, client=client: rl.repack_file(
            source, folder / "y.npy", to=to, cluster=client
        )
    rows["dask.array, 2 workers"] = lambda to: by_dask(clusters[1][0], source, folder / "y.zarr", to)
    for name, (to, _) in JOBS.items():
        print(f"{name}, {size >> 20} MiB")
        times: dict[str, list[float]] = {row: [] for row in rows}
        moved: dict[str, tuple[float, float, float]] = {}
        for _ in range(rounds):
            for row, run in rows.items():
                before = counters(clusters)
                start = time.perf_counter()
                run(to)
                times[row].append(time.perf_counter() - start)
                moved[row] = tuple([(b - a) / size for a, b in zip(before, counters(clusters))])  # type: ignore[assignment]
                for made in folder.glob("y.*"):
                    remove(made)
        base = statistics.median(times["one process"])
        for row, found in times.items():
            read, written, wire = moved[row]
            ratio = base / statistics.median(found)
            print(f"  {row:24} {ratio:5.2f}   read {read:5.2f}   written {written:5.2f}   wire {wire:6.3f}")
    for client, cluster in clusters:
        client.close()
        cluster.close()


def by_dask(client: Any, source: Path, out: Path, to: str) -> None:
    """What one writes without relayout: chunks that fit, numpy's rearrangement of each, and a Zarr."""
    import dask.array as da
    import zarr

    shape = np.load(source, mmap_mode="r").shape
    chunks = da.core.normalize_chunks((2048, 2048), shape)
    x = da.map_blocks(read_chunk, str(source), chunks=chunks, dtype=np.uint8, meta=np.empty((0, 0), np.uint8))
    if to == "format:1 0":
        made = x.T.rechunk((2048, 2048))
    else:
        made = x.map_blocks(
            lambda b: b.reshape(b.shape[0] // 8, 8, b.shape[1] // 128, 128).transpose(0, 2, 1, 3),
            chunks=(tuple([n // 8 for n in x.chunks[0]]), tuple([n // 128 for n in x.chunks[1]]), (8,), (128,)),
            new_axis=[2, 3],
            dtype=x.dtype,
            meta=np.empty((0,) * 4, x.dtype),
        )
    stored = zarr.create_array(str(out), shape=made.shape, chunks=made.chunksize, dtype=made.dtype, compressors=None)
    client.compute(made.to_zarr(stored, compute=False), sync=True)


def read_chunk(source: str, block_info: Any = None) -> Any:
    """A chunk, read by the worker that needs it."""
    import numpy as np

    place = block_info[None]["array-location"]
    return np.array(np.load(source, mmap_mode="r")[tuple(slice(*ends) for ends in place)])


def counters(clusters: list[tuple[Any, Any]]) -> tuple[int, int, int]:
    """Bytes that this process and all workers have read and written, and those that passed the loopback."""
    found = [own_counters(), *[c for client, _ in clusters for c in client.run(own_counters).values()]]
    line = next(line for line in Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("lo:"))
    return sum([c[0] for c in found]), sum([c[1] for c in found]), int(line.split()[1])


def own_counters() -> tuple[int, int]:
    from pathlib import Path

    words = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(words["rchar"]), int(words["wchar"])


def remove(path: Path) -> None:
    from shutil import rmtree

    if path.is_dir():
        rmtree(path)
    else:
        path.unlink()


if __name__ == "__main__":
    main()
