"""How fast files are repacked: relayout, `cp`, and a plain numpy script, in turns, on one disk with a warm page cache.

    python benchmarks/files.py [--mib 1024] [--rounds 5] [--folder DIR] [--jobs N] [--max-memory 1GiB] [--only GLOB]
                               [--no-numpy] [--sweep part_bytes=1048576,4194304,16777216]

A workload is a safetensors file of one tensor. `cp` copies as many bytes as the repack writes. Every contender is a
process of its own, start included; "start" is what `relayout repack` takes for a tensor of a few bytes, and "copy" is
the rest. relayout forces what it writes to the disk before it renames; `cp` and numpy do not, so that `cp` and `sync`
is the fair peer; it is shown beside `cp` alone. The numpy script maps the file, pads, reshapes and transposes, and
writes the result; its bytes must be relayout's. Peak memory is the kernel's (VmHWM). Medians. On a file system where
files share blocks, `cp` copies nothing: give a folder on another.

With `--sweep` relayout alone runs, with one value of its tuning (`relayout.files.tuning`) after another, in turns: the
least seconds of each, and the least of its processors' time, which a busy machine changes less; start included.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from fnmatch import fnmatch
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from shlex import split
from statistics import median
from time import perf_counter
from typing import NamedTuple

import numpy as np

from relayout.files.registry import open_source

MIB = 1 << 20
COLUMNS = {
    "workload": 27,
    "MiB": 5,
    "seconds": 7,
    "start": 5,
    "cp": 5,
    "cp+sync": 7,
    "of cp": 5,
    "copy of cp": 10,
    "of cp+sync": 10,
    "numpy": 6,
    "peak MiB": 8,
    "numpy's": 7,
}


class Workload(NamedTuple):
    """A tensor but for its first dimension, the options of the repack, and the same in numpy."""

    dtype: str
    rest: tuple[int, ...]
    options: str
    by_numpy: str


WORKLOADS = {
    "as it is u8": Workload("uint8", (MIB,), "--dtype uint8", "x"),
    "NHWC -> R4Crouton u8": Workload("uint8", (224, 224, 64), "--to htp:R4Crouton", "crouton(x)"),
    "NHWC -> R4Crouton u8 padded": Workload("uint8", (217, 221, 50), "--to htp:R4Crouton", "crouton(x)"),
    "NHWC -> NCHW f32": Workload("float32", (224, 224, 64), "--axes nhwc --to nchw", "x.transpose(0, 3, 1, 2)"),
    "NCHW -> NHWC f16": Workload("float16", (64, 224, 224), "--axes nchw --to nhwc", "x.transpose(0, 2, 3, 1)"),
    "NHWC -> nChw16c f32": Workload(
        "float32",
        (224, 224, 64),
        "--axes nhwc --to onednn:nChw16c",
        "x.reshape(-1, 224, 224, 4, 16).transpose(0, 3, 1, 2, 4)",
    ),
    "OIHW -> HWIO f16": Workload("float16", (2048, 3, 3), "--to 'format:2 3 1 0'", "x.transpose(2, 3, 1, 0)"),
    "transpose f32": Workload("float32", (8192,), "--to 'format:1 0'", "x.transpose()"),
    "reverse of 3 dimensions f32": Workload("float32", (512, 512), "--to 'format:2 1 0'", "x.transpose()"),
}

PEAK = "print([int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"

OURS = f"""
import os
from relayout.cli.main import main
from relayout.files import tuning
name, _, value = os.environ.get("TUNING", "").partition("=")
if name:
    tuning.ACTIVE = tuning.ACTIVE._replace(**{{name: type(getattr(tuning.ACTIVE, name))(value)}})
try:
    main()
finally:
    {PEAK}
"""

BY_NUMPY = f"""
import sys, numpy as np
source, out, formula, dtype, start, *shape = sys.argv[1:]
x = np.memmap(source, dtype, "r", int(start), tuple(map(int, shape)))

def crouton(x):
    n, h, w, c = x.shape
    H, W, C = -(-h // 8), -(-w // 8), -(-c // 32)
    box = x
    if (H * 8, W * 8, C * 32) != (h, w, c):
        box = np.full((n, H * 8, W * 8, C * 32), 31, x.dtype)
        box[:, :h, :w, :c] = x
    return box.reshape(n, H, 8, W, 8, C, 32).transpose(0, 1, 3, 5, 2, 4, 6)

np.ascontiguousarray(eval(formula)).tofile(out)
{PEAK}
"""


def seconds(*command: str, env: dict[str, str] | None = None) -> tuple[float, str]:
    """The time and the output of a command."""
    started = perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    return perf_counter() - started, done.stdout


def written(path: Path, dtype: str, shape: tuple[int, ...]) -> int:
    """A safetensors file of noise; the place of its data."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    word = {"uint8": "U8", "float16": "F16", "float32": "F32"}[dtype]
    text = f'{{"x":{{"dtype":"{word}","shape":{list(shape)},"data_offsets":[0,{count}]}}}}'.encode()
    random = np.random.default_rng(0)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for start in range(0, count, MIB):
            file.write(random.bytes(min(MIB, count - start)))
    seconds("sync", str(path))
    return 8 + len(text)


def read(path: Path) -> None:
    """Into the page cache."""
    with path.open("rb") as file:
        while file.read(MIB):
            pass


def measured(name: str, folder: Path, options: argparse.Namespace) -> dict[str, str]:
    dtype, rest, words, formula = WORKLOADS[name]
    batch = max(options.mib * MIB // (int(np.prod(rest)) * np.dtype(dtype).itemsize), 1)
    shape = (batch, *rest)
    source, tiny, out, copy, other = (folder / f"{x}.safetensors" for x in ("in", "tiny", "out", "copy", "other"))
    start = written(source, dtype, shape)
    written(tiny, dtype, (1,) * len(shape))
    to = ["--max-memory", options.max_memory, *(["--jobs", str(options.jobs)] if options.jobs else []), *split(words)]
    times: dict[str, list[float]] = defaultdict(list)
    peaks: dict[str, int] = {}
    for _ in range(options.rounds):
        read(source)
        times["start"].append(seconds(sys.executable, "-c", OURS, "repack", str(tiny), str(out), *to)[0])
        out.unlink()
        took, told = seconds(sys.executable, "-c", OURS, "repack", str(source), str(out), *to)
        times["seconds"].append(took)
        peaks["seconds"] = int(told.split()[-1]) >> 10
        took = seconds("cp", str(out), str(copy))[0]
        times["cp"].append(took)
        times["cp+sync"].append(took + seconds("sync", str(copy))[0])
        copy.unlink()
        if not options.no_numpy:
            script = (sys.executable, "-c", BY_NUMPY, str(source), str(other), formula, dtype, str(start))
            took, told = seconds(*script, *map(str, shape))
            times["numpy"].append(took)
            peaks["numpy"] = int(told.split()[-1]) >> 10
            check_same(name, out, other)
            other.unlink()
        size = out.stat().st_size
        out.unlink()
    return shown(name, size, {key: median(found) for key, found in times.items()}, peaks)


def swept(name: str, folder: Path, options: argparse.Namespace) -> list[str]:
    """The least seconds of a workload, and of its processors' time, with each value of one name of the tuning."""
    dtype, rest, words, _ = WORKLOADS[name]
    batch = max(options.mib * MIB // (int(np.prod(rest)) * np.dtype(dtype).itemsize), 1)
    source, out = folder / "in.safetensors", folder / "out.safetensors"
    written(source, dtype, (batch, *rest))
    tuned, _, values = options.sweep.partition("=")
    to = ["--max-memory", options.max_memory, *(["--jobs", str(options.jobs)] if options.jobs else []), *split(words)]
    times: dict[str, list[float]] = defaultdict(list)
    used: dict[str, list[float]] = defaultdict(list)
    for _ in range(options.rounds):
        for value in values.split(","):
            read(source)
            env = os.environ | {"TUNING": f"{tuned}={value}"}
            before = processor_seconds()
            times[value].append(seconds(sys.executable, "-c", OURS, "repack", str(source), str(out), *to, env=env)[0])
            used[value].append(processor_seconds() - before)
            out.unlink()
    return [f"{min(times[value]):.2f} ({min(used[value]):.2f})" for value in times]


def processor_seconds() -> float:
    """The time of all processors that commands took so far."""
    found = getrusage(RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def check_same(name: str, out: Path, other: Path) -> None:
    (segment,) = open_source(out)["x"].segments
    ours, theirs = np.memmap(out, np.uint8, "r", segment.start), np.memmap(other, np.uint8, "r")
    parts = [slice(k, k + MIB) for k in range(0, max(ours.size, theirs.size), MIB)]
    if not all(np.array_equal(ours[part], theirs[part]) for part in parts):
        raise SystemExit(f"{name}: numpy's bytes are others.")


def shown(name: str, size: int, times: dict[str, float], peaks: dict[str, int]) -> dict[str, str]:
    """The cells of a row."""
    mine, cp = times["seconds"], times["cp"]
    ratios = {
        "of cp": cp / mine,
        "copy of cp": cp / max(mine - times["start"], 1e-3),
        "of cp+sync": times["cp+sync"] / mine,
    }
    found = {"workload": name, "MiB": f"{size / MIB:.0f}", "peak MiB": str(peaks["seconds"])}
    found |= {key: f"{x:.2f}" for key, x in (times | ratios).items()}
    return found | {"numpy's": str(peaks.get("numpy", ""))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--max-memory", default="1GiB")
    parser.add_argument("--only", default="*")
    parser.add_argument("--no-numpy", action="store_true")
    parser.add_argument("--sweep", metavar="NAME=VALUE,VALUE")
    options = parser.parse_args()
    titles = COLUMNS if options.sweep is None else {"workload": 27} | dict.fromkeys(options.sweep.split(","), 9)
    print("  ".join([f"{title:<{n}}" for title, n in titles.items()]))
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for name in WORKLOADS:
            if not fnmatch(name, options.only):
                continue
            if options.sweep is None:
                row = measured(name, Path(folder), options)
                print("  ".join([f"{row.get(title, ''):<{n}}" for title, n in COLUMNS.items()]), flush=True)
            else:
                found = swept(name, Path(folder), options)
                print("  ".join([f"{name:<27}", *[f"{cell:<12}" for cell in found]]), flush=True)


if __name__ == "__main__":
    main()
