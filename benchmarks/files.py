"""How fast files are repacked: relayout, `cp`, and a plain numpy script, in turns, on one disk with a warm page cache.

    python benchmarks/files.py [--mib 1024] [--rounds 3] [--folder DIR] [--jobs N] [--max-memory 1GiB] [--only GLOB]

A workload is a safetensors file of one tensor. "cp" copies as many bytes as the repack writes. Every contender is a
process of its own, start included, and its peak memory is the kernel's (VmHWM). relayout forces what it writes to the
disk before it renames; "cp" and numpy do not, so that "cp + sync" is the fair peer, and both ratios are shown. The
numpy script maps the file, pads, reshapes and transposes, and writes the result. Its bytes must be relayout's. Medians.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

import relayout as rl

MIB = 1 << 20
COLUMNS = (
    "workload",
    "MiB",
    "seconds",
    "GB/s",
    "cp",
    "+ sync",
    "of cp",
    "of cp + sync",
    "numpy",
    "peak MiB",
    "numpy's",
)
WIDTHS = (22, 6, 8, 6, 6, 6, 6, 12, 7, 8, 8)

WORKLOADS = {
    "crouton u8": ("uint8", (217, 221, 50), "htp:R4Crouton"),
    "crouton u8, no padding": ("uint8", (224, 224, 64), "htp:R4Crouton"),
    "nhwc -> nchw f32": ("float32", (224, 224, 64), "nchw"),
    "nhwc -> nChw16c f32": ("float32", (224, 224, 64), "onednn:nChw16c"),
}

PEAK = "print([int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"

OURS = f"""
import sys, relayout as rl
source, out, to, jobs, memory = sys.argv[1:]
rl.repack_file(source, out, to=to, axes="nhwc", jobs=int(jobs) or None, max_memory=memory)
{PEAK}
"""

BY_NUMPY = f"""
import sys, numpy as np
source, out, to, dtype, start, *shape = sys.argv[1:]
n, h, w, c = map(int, shape)
x = np.memmap(source, dtype, "r", int(start), (n, h, w, c))
if to == "nchw":
    made = x.transpose(0, 3, 1, 2)
elif to == "onednn:nChw16c":
    made = x.reshape(n, h, w, c // 16, 16).transpose(0, 3, 1, 2, 4)
else:
    H, W, C = -(-h // 8), -(-w // 8), -(-c // 32)
    box = np.full((n, H * 8, W * 8, C * 32), 31, dtype)
    box[:, :h, :w, :c] = x
    made = box.reshape(n, H, 8, W, 8, C, 32).transpose(0, 1, 3, 5, 2, 4, 6)
np.ascontiguousarray(made).tofile(out)
{PEAK}
"""


def seconds(*command: str) -> tuple[float, str]:
    """The time and the output of a command."""
    started = perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return perf_counter() - started, done.stdout


def written(path: Path, dtype: str, shape: tuple[int, ...]) -> int:
    """A safetensors file of noise; the place of its data."""
    count = int(np.prod(shape[1:])) * np.dtype(dtype).itemsize
    word = {"uint8": "U8", "float32": "F32"}[dtype]
    text = f'{{"x":{{"dtype":"{word}","shape":{list(shape)},"data_offsets":[0,{shape[0] * count}]}}}}'.encode()
    random = np.random.default_rng(0)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _ in range(shape[0]):
            file.write(random.bytes(count))
    return 8 + len(text)


def measured(name: str, folder: Path, options: argparse.Namespace) -> list[str]:
    dtype, rest, to = WORKLOADS[name]
    batch = max(options.mib * MIB // (int(np.prod(rest)) * np.dtype(dtype).itemsize), 1)
    shape = (batch, *rest)
    source, out, copy, other = (folder / f"{x}.safetensors" for x in ("in", "out", "copy", "other"))
    start = written(source, dtype, shape)
    os.sync()
    times: dict[str, list[float]] = {key: [] for key in ("ours", "cp", "sync", "numpy")}
    peaks: dict[str, int] = {}
    for _ in range(options.rounds):
        for path in (out, copy, other):
            path.unlink(missing_ok=True)
        source.read_bytes()
        run = (sys.executable, "-c", OURS, str(source), str(out), to, str(options.jobs), options.max_memory)
        took, peak = seconds(*run)
        times["ours"].append(took)
        peaks["ours"] = int(peak) >> 10
        # As many bytes as are written, and already in the page cache.
        took, _ = seconds("cp", "--reflink=never", str(out), str(copy))
        times["cp"].append(took)
        times["sync"].append(took + seconds("sync", str(copy))[0])
        copy.unlink()
        took, peak = seconds(
            sys.executable, "-c", BY_NUMPY, str(source), str(other), to, dtype, str(start), *map(str, shape)
        )
        times["numpy"].append(took)
        peaks["numpy"] = int(peak) >> 10
    (segment,) = rl.files.open_source(out)["x"].segments
    ours, theirs = np.memmap(out, np.uint8, "r", segment.start), np.memmap(other, np.uint8, "r")
    parts = [slice(k, k + MIB) for k in range(0, max(ours.size, theirs.size), MIB)]
    if not all(np.array_equal(ours[part], theirs[part]) for part in parts):
        raise SystemExit(f"{name}: numpy's bytes are others.")
    mine, cp, sync, numpy = [median(times[key]) for key in ("ours", "cp", "sync", "numpy")]
    size = out.stat().st_size
    cells = (size / MIB, mine, size / mine / 1e9, cp, sync - cp, cp / mine, sync / mine, numpy)
    formats = ("{:.0f}", "{:.2f}", "{:.2f}", "{:.2f}", "{:.2f}", "{:.2f}", "{:.2f}", "{:.2f}")
    return [name, *[f.format(x) for f, x in zip(formats, cells)], str(peaks["ours"]), str(peaks["numpy"])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--max-memory", default="1GiB")
    parser.add_argument("--only", default="*")
    options = parser.parse_args()
    print("  ".join([f"{title:<{n}}" for title, n in zip(COLUMNS, WIDTHS)]))
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for name in WORKLOADS:
            if fnmatch(name, options.only):
                row = measured(name, Path(folder), options)
                print("  ".join([f"{cell:<{n}}" for cell, n in zip(row, WIDTHS)]), flush=True)


if __name__ == "__main__":
    main()
