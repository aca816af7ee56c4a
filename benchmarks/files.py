"""How fast files are repacked: relayout, `cp`, and a plain numpy script, in turns, on one disk with a warm page cache.

    python benchmarks/files.py [--mib 1024] [--rounds 5] [--folder DIR] [--jobs N] [--max-memory 1GiB] [--only GLOB]
                               [--no-numpy] [--random N --seed S] [--sweep part_bytes=1048576,4194304,16777216]

A workload is a file of one tensor. `cp` copies as many bytes as the repack writes. Every contender is a process of its
own, start included; "start" is what `relayout repack` takes for a tensor of a few bytes, and "copy" is the rest.
relayout forces what it writes to the disk before it renames; `cp` and numpy do not, so that `cp` and `sync` is the fair
peer; it is shown beside `cp` alone. "processor" is the time that all processors spent, start taken off, as many times
as that of `cp`: what others do on the machine changes it less than seconds. The numpy script maps the file, pads,
reshapes and transposes, and writes the result; its bytes must be relayout's. Peak memory is the kernel's (VmHWM). The
least of each over all rounds. On a file system where files share blocks, `cp` copies nothing: give a folder on another.

With `--random` workloads are drawn by a seed: safetensors, npy and GGUF, elements of 1 to 8 bytes, permutations of 2
to 4 dimensions, blocks and named formats, sizes even, odd and prime. What is written is compared with the source by
`relayout verify`, and at the end there are the geometric means and the worst.

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
from collections.abc import Iterator
from fnmatch import fnmatch
from io import BytesIO
from math import exp, log, prod
from pathlib import Path
from random import Random
from resource import RUSAGE_CHILDREN, getrusage
from shlex import split
from struct import pack
from time import perf_counter
from typing import NamedTuple

import numpy as np

import relayout as rl
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
    "processor": 9,
    "of cp+sync": 10,
    "numpy": 6,
    "peak MiB": 8,
    "numpy's": 7,
}


class Row(NamedTuple):
    """The cells of a line, and the ratios in it."""

    cells: dict[str, str]
    ratios: dict[str, float]


class Workload(NamedTuple):
    """A tensor but for its first dimension, the options of the repack, and the same in numpy."""

    dtype: str
    rest: tuple[int, ...]
    options: str
    by_numpy: str | None = None
    suffixes: tuple[str, str] = ("safetensors", "safetensors")


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

DTYPES = {"uint8": "U8", "float16": "F16", "float32": "F32", "float64": "F64"}
SIZES = (2, 3, 5, 8, 13, 16, 31, 48, 64, 96, 127, 128, 200, 256, 509, 512, 1000, 1021, 1024, 2048, 4093)


def draw_workloads(count: int, seed: int, size: int) -> dict[str, Workload]:
    """So many workloads of about that many bytes, by their names."""
    rng, found = Random(seed), {}
    while len(found) < count:
        dtype = rng.choice(list(DTYPES))
        rank = rng.choice((2, 2, 3, 4))
        rest = tuple([rng.choice(SIZES) for _ in range(rank - 1)])
        order = rng.sample(range(rank), rank)
        text = " ".join(map(str, order))
        if rng.random() < 0.4:
            text += " / " + " ".join([f"{rng.randrange(rank)},{rng.choice((2, 4, 8, 16, 32))}" for _ in range(2)])
        options = f"--to 'format:{text}'"
        if rank == 4 and rng.random() < 0.5:
            dtype, options = rng.choice(
                (("uint8", "--axes nhwc --to htp:R4Crouton"), ("float32", "--axes nhwc --to onednn:nChw16c"))
            )
        row = np.dtype(dtype).itemsize * int(np.prod(rest))
        if text == " ".join(map(str, range(rank))) or size // row < 2:
            continue
        if "axes" in options and (min(rest) < 8 or rest[-1] < 32):
            continue
        shape = (size // row, *rest)
        if rl.Format.parse(text).layout(shape).storage_size > 1.5 * prod(shape):
            continue
        suffixes = rng.choice(("safetensors", "npy", "gguf")), rng.choice(("safetensors", "npy"))
        if suffixes[0] == "gguf" and dtype in ("uint8", "float64"):
            suffixes = "npy", suffixes[1]
        name = f"{suffixes[0]} {'x'.join(map(str, shape))} {dtype} {options.split('--to ')[1]}"
        found[name] = Workload(dtype, rest, options, None, suffixes)
    return found


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
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=env)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[-8:])}: {done.stderr[-500:]}")
    return perf_counter() - started, done.stdout


def header(suffix: str, dtype: str, shape: tuple[int, ...]) -> bytes:
    """What stands before the data of a file of one tensor."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if suffix == ".npy":
        described = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(made := BytesIO(), described)
        return made.getvalue()
    if suffix == ".gguf":
        kind = {"float32": 0, "float16": 1}[dtype]
        head = b"GGUF" + pack("<IQQ", 3, 1, 0) + pack("<Q1sI", 1, b"x", len(shape))
        head += pack(f"<{len(shape)}Q", *shape[::-1]) + pack("<IQ", kind, 0)
        return head + bytes(-len(head) % 32)
    text = f'{{"x":{{"dtype":"{DTYPES[dtype]}","shape":{list(shape)},"data_offsets":[0,{count}]}}}}'.encode()
    return len(text).to_bytes(8, "little") + text


def written(path: Path, dtype: str, shape: tuple[int, ...]) -> int:
    """A file of noise; the place of its data."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    random, head = np.random.default_rng(0), header(path.suffix, dtype, shape)
    with path.open("wb") as file:
        file.write(head)
        for start in range(0, count, MIB):
            file.write(random.bytes(min(MIB, count - start)))
    seconds("sync", str(path))
    return len(head)


def read(path: Path) -> None:
    """Into the page cache."""
    with path.open("rb") as file:
        while file.read(MIB):
            pass


def measured(name: str, workload: Workload, folder: Path, options: argparse.Namespace) -> Row:
    dtype, rest, words, formula, (before, after) = workload
    batch = max(options.mib * MIB // (int(np.prod(rest)) * np.dtype(dtype).itemsize), 1)
    shape = (batch, *rest)
    source, tiny = (folder / f"{x}.{before}" for x in ("in", "tiny"))
    out, copy, other = (folder / f"{x}.{after}" for x in ("out", "copy", "other"))
    start = written(source, dtype, shape)
    written(tiny, dtype, (1,) * len(shape))
    to = [
        "--force",
        "--max-memory",
        options.max_memory,
        *(["--jobs", str(options.jobs)] if options.jobs else []),
        *split(words),
    ]
    times: dict[str, list[float]] = defaultdict(list)
    used: dict[str, list[float]] = defaultdict(list)
    peaks: dict[str, int] = {}

    def run(what: str, *command: str) -> tuple[float, str]:
        before = processor_seconds()
        took, told = seconds(*command)
        times[what].append(took)
        used[what].append(processor_seconds() - before)
        return took, told

    for _ in range(options.rounds):
        read(source)
        run("start", sys.executable, "-c", OURS, "repack", str(tiny), str(out), *to)
        out.unlink()
        _, told = run("seconds", sys.executable, "-c", OURS, "repack", str(source), str(out), *to)
        peaks["seconds"] = int(told.split()[-1]) >> 10
        took, _ = run("cp", "cp", str(out), str(copy))
        times["cp+sync"].append(took + seconds("sync", str(copy))[0])
        copy.unlink()
        if formula is None:
            seconds(sys.executable, "-m", "relayout", "verify", str(source), str(out))
        elif not options.no_numpy:
            script = (sys.executable, "-c", BY_NUMPY, str(source), str(other), formula, dtype, str(start))
            took, told = seconds(*script, *map(str, shape))
            times["numpy"].append(took)
            peaks["numpy"] = int(told.split()[-1]) >> 10
            check_same(name, out, other)
            other.unlink()
        size = out.stat().st_size
        out.unlink()
    least = {key: min(found) for key, found in times.items()}
    return shown(name, size, least, {key: min(found) for key, found in used.items()}, peaks)


def swept(name: str, folder: Path, options: argparse.Namespace) -> list[str]:
    """The least seconds of a workload, and of its processors' time, with each value of one name of the tuning."""
    dtype, rest, words, *_ = WORKLOADS[name]
    batch = max(options.mib * MIB // (int(np.prod(rest)) * np.dtype(dtype).itemsize), 1)
    source, out = folder / "in.safetensors", folder / "out.safetensors"
    written(source, dtype, (batch, *rest))
    tuned, _, values = options.sweep.partition("=")
    to = [
        "--force",
        "--max-memory",
        options.max_memory,
        *(["--jobs", str(options.jobs)] if options.jobs else []),
        *split(words),
    ]
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


def shown(name: str, size: int, times: dict[str, float], used: dict[str, float], peaks: dict[str, int]) -> Row:
    """The cells of a row, and its ratios."""
    mine, cp = times["seconds"], times["cp"]
    ratios = {
        "of cp": cp / mine,
        "copy of cp": cp / max(mine - times["start"], 1e-3),
        "of cp+sync": times["cp+sync"] / mine,
        "processor": max(used["seconds"] - used["start"], 1e-3) / max(used["cp"], 1e-3),
    }
    found = {"workload": name, "MiB": f"{size / MIB:.0f}", "peak MiB": str(peaks["seconds"])}
    found |= {key: f"{x:.2f}" for key, x in (times | ratios).items()}
    return Row(found | {"numpy's": str(peaks.get("numpy", ""))}, ratios)


def summarise(rows: list[Row]) -> Iterator[str]:
    """The geometric means of all rows, and the worst."""
    for key in ("of cp", "copy of cp", "of cp+sync", "processor"):
        found = [row.ratios[key] for row in rows]
        mean = exp(sum(map(log, found)) / len(found))
        yield f"{key}: geometric mean {mean:.2f}, least {min(found):.2f}, most {max(found):.2f}"
    for row in sorted(rows, key=lambda row: row.ratios["copy of cp"])[:5]:
        yield f"  {row.ratios['copy of cp']:.2f}  {row.cells['workload']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--max-memory", default="1GiB")
    parser.add_argument("--only", default="*")
    parser.add_argument("--no-numpy", action="store_true")
    parser.add_argument("--random", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sweep", metavar="NAME=VALUE,VALUE")
    options = parser.parse_args()
    titles = COLUMNS if options.sweep is None else {"workload": 27} | dict.fromkeys(options.sweep.split(","), 9)
    print("  ".join([f"{title:<{n}}" for title, n in titles.items()]))
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        drawn = draw_workloads(options.random, options.seed, options.mib * MIB) if options.random else WORKLOADS
        rows = []
        for name, workload in drawn.items():
            if not fnmatch(name, options.only):
                continue
            if options.sweep is None:
                rows.append(row := measured(name, workload, Path(folder), options))
                print("  ".join([f"{row.cells.get(title, ''):<{n}}" for title, n in COLUMNS.items()]), flush=True)
            else:
                found = swept(name, Path(folder), options)
                print("  ".join([f"{name:<27}", *[f"{cell:<12}" for cell in found]]), flush=True)
        if options.random and rows:
            print(*summarise(rows), sep="\n")


if __name__ == "__main__":
    main()
