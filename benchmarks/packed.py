"""How fast packed weights and block scales get from one kernel's order to another's, beside memcpy, numpy and torch.

    python benchmarks/packed.py [--random 24] [--seed 1] [--common] [--peers] [--threads 1] [--json FILE] [--device]
    python benchmarks/packed.py --pair '4;0 1 / 0,8;marlin:w4a16' [--pair ...]
    python benchmarks/packed.py --common --peers --vendors CHECKOUTS [--ggml LIBRARY]

Pairs are drawn: two formats of one width among the catalog's two-dimensional ones of 2, 4 and 8 bits and GGML_ORDERS,
and a shape of layers that models have, of 24 to 100 MiB. ``--common`` runs the pairs that people need most in their
place, and ``--pair`` one that is given: the bits of an element, and two formats of axes (k, n).

Every pair is checked twice before the clock: all elements of a small shape by numpy's indexing, and some of the large
one. "memcpy" copies as many bytes as the repack reads and writes; contenders take turns, a ratio compares the turns of
one repetition, and the median is shown. "flat" is the fastest flat copy, by stores around the cache. "numpy" and
"torch", with ``--peers``, do what the Python packers of the vendors do: codes become bytes, bytes are permuted, and
shifts pack them. "vendor" is such a packer itself, run from a folder with the vendors' repositories, each under its own
name; and with ``--ggml``, the path of a library that is ready, llama.cpp's repack of whole blocks in C++.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from math import exp, log
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

import numpy as np
import packed_vendors
from repack import fastest, ratio, timed
from repack_cases import MIB, Array, Call, aligned

import relayout as rl
from relayout.engine.nest import make_nest
from relayout.native import native

GGML_ORDERS = {
    "Q4_0": "0 1 / 1,16@1 1,2@16",
    "NVFP4": "0 1 / 1,8@1 1,2@8",
    "Q4_K": "0 1 / 1,32@1 1,2@32",
    "q4_0_4x4": "0 1 / 1,4@4 0,4 1,4@1 1,2@16",
    "q4_0_4x8": "0 1 / 1,2@8 0,4 1,8@1 1,2@16",
    "q4_0_8x8": "0 1 / 1,2@8 0,8 1,8@1 1,2@16",
    "q4_0_16x1": "0 1 / 1,16@1 0,16 1,2@16",
    "q4_K_8x4": "0 1 / 1,8@4 0,8 1,4@1 1,2@32",
    "q4_K_8x8": "0 1 / 1,4@8 0,8 1,8@1 1,2@32",
    "amx": "0 1 / 0,16 1,4@1 1,2@4",
    "hexagon": "0 1 / 0,32 1,2",
    "tinygemm_k2": "0 1 / 0,8 1,8@1 1,4@8",
    "tinygemm_k4": "0 1 / 0,8 1,4@2 1,2@32 1,2@1 1,4@8",
    "tinygemm_k8": "0 1 / 0,8 1,4@2 1,4@32 1,2@1 1,4@8",
}
"""Nibbles of axes (n, k), without the scales that lie between blocks."""

COMMON = (
    ("GPTQ to Marlin", 4, "gptq:w4", "marlin:w4a16", "kn"),
    ("AWQ to GPTQ", 4, "awq:gemm", "gptq:w4", "kn"),
    ("AWQ to Marlin", 4, "awq:gemm", "marlin:w4a16", "kn"),
    ("Q4_0 to 8x8", 4, GGML_ORDERS["Q4_0"], GGML_ORDERS["q4_0_8x8"], "nk"),
    ("GPTQ to AWQ v2", 4, "gptq:w4", "awq:v2", "kn"),
    ("GPTQ w8 to Marlin", 8, "gptq:w8", "marlin:w8a16", "kn"),
    ("scales to 128x4", 8, "0 1", "mx:gfx1250.scales", "mk"),
    ("GPTQ to compressed", 4, "gptq:w4", "compressed:pack4", "kn"),
)
SIZES = (2048, 3072, 4096, 5120, 8192, 11008, 13824, 14336, 16384, 28672)
SYSTEMS = ("gptq", "awq", "marlin", "compressed", "trtllm", "flashinfer", "mlx", "aiter", "mx")
COLUMNS = ("pair", "bits", "shape", "MiB", "GB/s", "of memcpy", "of flat", "x numpy", "x torch", "x vendor", "vendor")
WIDTHS = (44, 4, 12, 5, 5, 9, 7, 7, 7, 8, 18)
RATIOS = ("of memcpy", "of flat", "x numpy", "x torch", "x vendor")


class Pair(NamedTuple):
    """A repack of elements of so many bits; ``axes`` is the order of the shape."""

    name: str
    bits: int
    source: str | rl.Format
    target: str | rl.Format
    axes: str
    shape: tuple[int, int]

    def plan(self, shape: tuple[int, ...], threads: int) -> rl.Plan:
        return rl.plan(self.source, self.target, f"uint{self.bits}", shape=shape, axes=self.axes, threads=threads)


def formats() -> dict[tuple[int, str], dict[str, rl.Format]]:
    """All that pairs are drawn from, by bits and axes."""
    found: dict[tuple[int, str], dict[str, rl.Format]] = {}
    for name in rl.catalog.names():
        entry = rl.catalog.entry(name)
        if name.split(":")[0] in SYSTEMS and len(entry.axes or "") == 2:
            for fmt in entry.forms.values():
                if fmt.element_bits in (2, 4, 8):
                    found.setdefault((fmt.element_bits, "".join(sorted(entry.axes))), {})[name] = fmt
    for name, text in GGML_ORDERS.items():
        found[4, "kn"][name] = rl.Format.parse(text).renamed("nk")
    return found


def large_shape(bits: int, rnd: random.Random) -> tuple[int, int]:
    while True:
        shape = rnd.choice(SIZES), rnd.choice(SIZES)
        if 24 * MIB <= shape[0] * shape[1] * bits // 8 <= 100 * MIB:
            return shape


def drawn(count: int, seed: int, widths: Sequence[int]) -> Iterator[Pair]:
    """Pairs that the seed decides."""
    rnd, groups = random.Random(seed), formats()
    for _ in range(count):
        bits = rnd.choice(widths)
        axes, group = rnd.choice([(axes, g) for (b, axes), g in sorted(groups.items()) if b == bits and len(g) > 1])
        one, two = rnd.sample(sorted(group), 2)
        yield Pair(f"{one} to {two}", bits, group[one], group[two], axes, large_shape(bits, rnd))


def codes_of(data: Array, bits: int) -> Array:
    """The elements of packed bytes as bytes."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return data if bits == 8 else (data[:, None] >> shifts & np.uint8((1 << bits) - 1)).reshape(-1)


def permutation(plan: rl.Plan) -> tuple[list[int], list[int]] | None:
    """The digits of the source's memory, and their order in the target's; None where either has gaps."""
    (piece, *more) = make_nest(plan.source, plan.target).pieces()
    if more or piece.tables or {plan.source.storage_size, plan.target.storage_size} != {piece.size}:
        return None
    loops = sorted(piece.loops, key=lambda loop: -loop.source)
    return [loop.steps for loop in loops], sorted(range(len(loops)), key=lambda k: -loops[k].target)


def by_numpy(plan: rl.Plan, x: Array, y: Array, bits: int) -> Call | None:
    order = permutation(plan)
    if order is None:
        return None

    def run() -> None:
        moved = codes_of(x, bits).reshape(order[0]).transpose(order[1]).reshape(-1, 8 // bits)
        packed = moved[:, 0].copy()
        for k in range(1, 8 // bits):
            packed |= moved[:, k] << np.uint8(k * bits)
        y[:] = packed

    return run


def by_torch(plan: rl.Plan, x: Array, y: Array, bits: int, threads: int) -> Call | None:
    order = permutation(plan)
    if order is None or find_spec("torch") is None:
        return None
    import torch

    torch.set_num_threads(threads)
    source, target = torch.from_numpy(x), torch.from_numpy(y)
    shifts = torch.arange(0, 8, bits, dtype=torch.uint8)

    def run() -> None:
        codes = source if bits == 8 else (source[:, None] >> shifts) & ((1 << bits) - 1)
        moved = codes.reshape(order[0]).permute(order[1]).reshape(-1, 8 // bits)
        target.copy_(moved[:, 0] if bits == 8 else (moved << shifts).sum(1, dtype=torch.uint8))

    return run


def check(pair: Pair, plan: rl.Plan, x: Array, y: Array) -> None:
    """Refuse to go on where an element is not where it should be."""
    small = pair.plan((512, 768), 1)
    data = np.random.default_rng(1).integers(0, 256, -(-small.source.storage_size * pair.bits // 8), np.uint8)
    moved = codes_of(small(data), pair.bits)[small.target.offsets()]
    if not np.array_equal(moved, codes_of(data, pair.bits)[small.source.offsets()]):
        raise SystemExit(f"{pair.name}: wrong at (512, 768)")
    plan(x, y)
    rnd = random.Random(1)
    for _ in range(200):
        at = [rnd.randrange(n) for n in plan.source.extents]
        places = [layout(*at) * pair.bits for layout in (plan.source, plan.target)]
        one, two = [int(side[place // 8]) >> place % 8 & (1 << pair.bits) - 1 for side, place in zip((x, y), places)]
        if one != two:
            raise SystemExit(f"{pair.name}: wrong at {at}")


def measured(
    pair: Pair, threads: int, seconds: float, peers: bool, vendor: packed_vendors.Vendor | None = None
) -> dict[str, Any]:
    """One row of the table."""
    plan = pair.plan(pair.shape, threads)
    x, y = [aligned(-(-side.storage_size * pair.bits // 8)) for side in (plan.source, plan.target)]
    x[:] = np.random.default_rng(0).integers(0, 256, x.size, np.uint8)
    y[:] = 0
    check(pair, plan, x, y)
    calls: dict[str, Call] = {"relayout": partial(plan, x, y)}
    given = x[: min(x.size, y.size)]
    spare = aligned(given.size)
    calls["memcpy"] = partial(np.copyto, spare, given)
    if native is not None:
        calls["stream"] = partial(native.copy_nontemporal, spare, given, threads)
    makers: dict[str, Callable[[], Call | None]] = {
        "numpy": lambda: by_numpy(plan, x, spare, pair.bits),
        "torch": lambda: by_torch(plan, x, spare, pair.bits, threads),
    }
    for name, make in makers.items() if peers else ():
        call = make()
        if call is not None:
            call()
            if not np.array_equal(spare, y):
                raise SystemExit(f"{pair.name}: {name} gives other bytes")
            calls[name] = call
    if vendor is not None:
        pack = vendor.prepare(pair.shape, x)
        if not np.array_equal(pack(), y):
            raise SystemExit(f"{pair.name}: {vendor.name} gives other bytes")
        calls["vendor"] = pack
    times = timed(calls, seconds, threads)
    ours, flat = times["relayout"], fastest([times[name] for name in ("memcpy", "stream") if name in times])
    return {
        "pair": pair.name,
        "bits": pair.bits,
        "shape": "x".join(map(str, pair.shape)),
        "MiB": y.size / MIB,
        "GB/s": 2 * given.size / median(ours) / 1e9,
        "of memcpy": ratio(times["memcpy"], ours),
        "of flat": ratio(flat, ours),
        "x numpy": ratio(times["numpy"], ours) if "numpy" in times else None,
        "x torch": ratio(times["torch"], ours) if "torch" in times else None,
        "x vendor": ratio(times["vendor"], ours) if "vendor" in times else None,
        "vendor": vendor.name if vendor is not None else None,
        "way": plan.way.name,
    }


def measured_blocks(vendor: packed_vendors.Vendor, shape: tuple[int, int], seconds: float) -> dict[str, Any]:
    """One row of whole blocks, their scales included, beside llama.cpp's own repack."""
    names = "ggml:Q4_0", "ggml:q4_0_8x8"
    x = aligned(rl.catalog.record(names[0]).size_of(shape))
    x[:] = np.random.default_rng(0).integers(0, 256, x.size, np.uint8)
    spare, pack = aligned(x.size), vendor.prepare(shape, x)

    def ours() -> Array:
        return rl.repack(x, names[1], src=names[0], shape=shape)

    if not np.array_equal(ours(), pack()):
        raise SystemExit(f"{vendor.name} gives other blocks")
    times = timed({"relayout": ours, "memcpy": partial(np.copyto, spare, x), "vendor": pack}, seconds, 1)
    return {
        **dict.fromkeys(COLUMNS),
        "pair": "Q4_0 to 8x8, whole blocks",
        "bits": 4,
        "shape": "x".join(map(str, shape)),
        "MiB": x.size / MIB,
        "GB/s": 2 * x.size / median(times["relayout"]) / 1e9,
        "of memcpy": ratio(times["memcpy"], times["relayout"]),
        "x vendor": ratio(times["vendor"], times["relayout"]),
        "vendor": vendor.name,
    }


def measured_on_device(pair: Pair, rounds: int) -> dict[str, Any]:
    """One row on a CUDA device, beside ``Tensor.copy_`` of as many bytes."""
    import torch
    from gpu import microseconds, random_bytes

    small = pair.plan((512, 768), 1)
    data = np.random.default_rng(1).integers(0, 256, -(-small.source.storage_size * pair.bits // 8), np.uint8)
    moved = codes_of(small(torch.from_numpy(data).cuda()).cpu().numpy(), pair.bits)[small.target.offsets()]
    if not np.array_equal(moved, codes_of(data, pair.bits)[small.source.offsets()]):
        raise SystemExit(f"{pair.name}: wrong at (512, 768)")
    plan = pair.plan(pair.shape, 1)
    x, y = [random_bytes(-(-side.storage_size * pair.bits // 8)) for side in (plan.source, plan.target)]
    flat = random_bytes(min(x.numel(), y.numel()))
    spare = torch.empty_like(flat)
    times = microseconds({"ours": lambda: plan(x, out=y), "copy": lambda: spare.copy_(flat)}, rounds, 1)
    return {
        "pair": pair.name,
        "bits": pair.bits,
        "shape": "x".join(map(str, pair.shape)),
        "MiB": y.numel() / MIB,
        "GB/s": 2 * flat.numel() / times["ours"] / 1e3,
        "of copy": times["copy"] / times["ours"],
    }


def line(values: list[Any]) -> str:
    texts = ["" if v is None else f"{v:.2f}" if isinstance(v, float) else str(v) for v in values]
    cells = [text.ljust(w) if k == 0 else text.rjust(w) for k, (text, w) in enumerate(zip(texts, WIDTHS))]
    return f"| {' | '.join(cells)} |"


def summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    for name in RATIOS:
        values = sorted([(row[name], row["pair"]) for row in rows if row[name] is not None])
        if values:
            worst = ", ".join([f"{pair} {value:.2f}" for value, pair in values[:3]])
            below = f", {sum([value < 0.5 for value, _ in values])} below 0.5" if name == "of memcpy" else ""
            yield f"  {name}: {exp(mean([log(value) for value, _ in values])):.2f}{below}; {worst}"


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def on_device(pairs: list[Pair], file: Path | None) -> None:
    import torch

    print(f"{torch.cuda.get_device_name()}, of the rate of Tensor.copy_")
    found = []
    for pair in pairs:
        row = measured_on_device(pair._replace(shape=(2 * pair.shape[0], 4 * pair.shape[1])), 15)
        print(
            f"| {row['pair']:44} | {row['bits']} | {row['shape']:>13} | {row['MiB']:4.0f} | {row['of copy']:.2f} |",
            flush=True,
        )
        found.append(row)
    values = sorted([(row["of copy"], row["pair"]) for row in found])
    average = exp(mean([log(value) for value, _ in values]))
    worst = ", ".join([f"{pair} {value:.2f}" for value, pair in values[:4]])
    print(f"{len(found)} pairs: geometric mean {average:.3f}, {sum([v < 0.85 for v, _ in values])} below 0.85; {worst}")
    if file:
        file.write_text(json.dumps({"device": torch.cuda.get_device_name(), "rows": found}, indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=int, default=24, help="how many pairs are drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bits", default="2,4,4,8", help="the widths of elements that are drawn, as often as written")
    parser.add_argument("--common", action="store_true", help="the pairs that people need most instead")
    parser.add_argument("--pair", action="append", help="bits;SRC;DST of axes (k, n) instead")
    parser.add_argument("--shape", help="rows and columns, as in 4096x4096, in place of those drawn")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0, help="about the time of one row")
    parser.add_argument("--device", action="store_true", help="on a CUDA device, at eight times the size")
    parser.add_argument("--peers", action="store_true", help="numpy and torch too, some seconds for each call")
    parser.add_argument("--vendors", type=Path, help="a folder with the vendors' repositories, whose packers run too")
    parser.add_argument("--ggml", type=Path, help="a library with llama.cpp's repack, for whole blocks")
    parser.add_argument("--json", type=Path, help="write all numbers to this file")
    options = parser.parse_args()
    rnd = random.Random(options.seed)
    if options.common:
        pairs = [Pair(*about, large_shape(about[1], rnd)) for about in COMMON]
    elif options.pair:
        parts = [text.split(";") for text in options.pair]
        pairs = [Pair(f"{a} to {b}", int(n), a, b, "kn", large_shape(int(n), rnd)) for n, a, b in parts]
    else:
        pairs = list(drawn(options.random, options.seed, [int(bits) for bits in options.bits.split(",")]))
    if options.shape:
        rows, columns = map(int, options.shape.split("x"))
        pairs = [pair._replace(shape=(rows, columns)) for pair in pairs]
    if options.device:
        on_device(pairs, options.json)
        return
    isas = native.isas() if native is not None else ["none"]
    print(f"{processor()}, {isas[-1]}, {options.threads} thread(s), seed {options.seed}")
    print(line([*COLUMNS]), line(["-" * width for width in WIDTHS]), sep="\n")
    vendors = packed_vendors.in_python(options.vendors, options.threads) if options.vendors else {}
    found = []
    for pair in pairs:
        row = measured(pair, options.threads, options.seconds, options.peers, vendors.get(pair.name))
        print(line([row[name] for name in COLUMNS]), flush=True)
        found.append(row)
    if options.ggml:
        found.append(measured_blocks(packed_vendors.of_ggml(options.ggml), (8192, 8192), options.seconds))
        print(line([found[-1][name] for name in COLUMNS]), flush=True)
    print(f"{len(found)} pairs; the geometric mean, and the worst:", *summary(found), sep="\n")
    if options.json:
        options.json.write_text(json.dumps({"processor": processor(), "isa": isas[-1], "rows": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
