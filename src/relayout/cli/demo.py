"""``relayout demo``: lines of Python, run for real. Each step prints the code, then what it gives."""

from __future__ import annotations

import time
import timeit
from contextlib import redirect_stdout
from io import StringIO
from textwrap import fill
from typing import Any

import click

import relayout as rl

STEPS = [
    (
        "A layout maps coordinates to offsets: here 3x2 tiles, column by column",
        ["tiled = rl.tile_to_shape(rl.Layout.col_major(3, 2), (6, 10))", "rl.print_layout(tiled)"],
    ),
    (
        "Where is element (4, 2)? And which element is at 19, in all its names?",
        ["tiled(4, 2)", "tiled.coordinates(tiled.idx2crd(19))"],
    ),
    (
        "Composition is exact: this one exists, though other libraries refuse it",
        ["rl.composition(rl.Layout((2, 2, 2), (1, 5, 7)), rl.Layout((2, 2), (3, 1)))"],
    ),
    (
        "... and this one does not: others return (3,2):(2,3), wrong at (2, 1)",
        ["rl.composition(rl.Layout((6, 2), (1, 7)), rl.Layout((3, 2), (2, 3)))"],
    ),
    (
        "Two layouts of 10^18 elements, proven equal; then one that is not",
        [
            "a = rl.Layout(((1000, 10**6), 10**9), ((1, 1000), 10**9))",
            "b = rl.Layout((10**9, (10**3, 10**6)), (1, (10**9, 10**12)))",
            "print(rl.compare(a, b))",
            "c = rl.Layout((10**9, (10**3, 10**6)), (1, (10**9, 10**12 + 1)))",
            "print(rl.compare(a, c))",
        ],
    ),
    (
        "Qualcomm's crouton in every other vendor's words, or why not",
        ['print(rl.rosetta("htp:R4Crouton", (1, 16, 16, 64)))'],
    ),
    (
        "What does it cost a 1x3x5x30 tensor? In plain words",
        ['print(rl.explain("htp:R4Crouton", (1, 3, 5, 30)))'],
    ),
    (
        "Real data into such croutons and back: bits stay, padding becomes 31",
        [
            "random = np.random.default_rng(0)",
            "x = random.integers(256, size=(8, 217, 221, 50), dtype=np.uint8)",
            'packed = rl.repack(x, "htp:R4Crouton")',
            "packed.shape",
            'back = rl.repack(packed, "nhwc", src="htp:R4Crouton", shape=x.shape)',
            "np.array_equal(back, x)",
        ],
    ),
    (
        "How fast is that? The same by numpy, one thread each, best of six",
        [
            "rows = rl.Layout.row_major(x.shape)",
            'plan = rl.plan(rows, "htp:R4Crouton", "uint8", fill=31, threads=1)',
            "box = np.full((8, 224, 224, 64), 31, np.uint8)",
            "cut = box.reshape(8, 28, 8, 28, 8, 2, 32)",
            "data, tiles = box[:, :217, :221, :50], cut.transpose(0, 1, 3, 5, 2, 4, 6)",
            "out = np.empty_like(packed)",
            "by_numpy = lambda: (np.copyto(data, x), np.copyto(out, tiles))",
            "best = lambda f: min(timeit.repeat(f, number=1, repeat=6))",
            "ours, theirs = best(lambda: plan(x, out=packed)), best(by_numpy)",
            "np.array_equal(packed, out)",
            "moved = (x.nbytes + out.nbytes) / 1e9",
            "print(f'relayout {moved / ours:.1f} GB/s, numpy {moved / theirs:.1f} GB/s')",
            "print(f'{theirs / ours:.1f} times as fast')",
        ],
    ),
    (
        "Which layout is this? Send an arange through somebody's converter",
        [
            "x = np.arange(6 * 10, dtype=np.int16).reshape(6, 10)",
            "padded = np.pad(x, [(0, 2), (0, 6)]).reshape(2, 4, 2, 8)",
            "dump = padded.transpose(0, 2, 1, 3).tobytes()",
            "print(rl.infer(x, dump))",
        ],
    ),
    (
        "Views never copy: rows 4 to 1, upwards, and every second column",
        ["view = tiled.view[4:0:-1, ::2]", "rl.print_layout(view)"],
    ),
    (
        "What a copy can move at once: the tiled matrix, column by column",
        ["tiled.transpose(0, 1).strided_blocks()"],
    ),
    (
        "All offsets of 20 million elements, as a numpy array",
        [
            "start = time.perf_counter()",
            "table = rl.Layout((10_000, (50, 40)), (2_000, (40, 1))).offsets()",
            "print(table.shape, f'{time.perf_counter() - start:.2f} s')",
        ],
    ),
]


def run() -> None:
    """Run all steps."""
    import numpy as np

    names: dict[str, Any] = {"rl": rl, "np": np, "time": time, "timeit": timeit}
    started = time.perf_counter()
    for title, lines in STEPS:
        click.secho(f"\n# {title}", fg="cyan")
        for line in lines:
            click.secho(f">>> {line}", bold=True)
            _evaluate(line, names)
    engine = "native" if rl.native_available() else "pure Python"
    click.secho(f"\n# {len(STEPS)} steps in {time.perf_counter() - started:.2f} s, {engine} core.", fg="cyan")
    click.secho("# Next: docs/concepts.md, five minutes.", fg="cyan")


def _evaluate(line: str, names: dict[str, Any]) -> None:
    """Run one line as the interactive interpreter would; a refusal is part of the show."""
    printed = StringIO()
    try:
        with redirect_stdout(printed):
            exec(compile(line, "<demo>", "single"), names)
        for text in printed.getvalue().splitlines():
            click.echo(fill(text, 80, subsequent_indent="        ") if len(text) > 80 else text)
    except rl.LayoutError as error:
        for part in (f"{type(error).__name__} [{error.code}]: {error.message}", f"Hint: {error.hint}"):
            click.secho(click.wrap_text(part, subsequent_indent="  "), fg="yellow")
