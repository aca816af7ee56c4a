"""``relayout demo``: lines of Python and commands, run for real. Each prints itself, then what it gives."""

from __future__ import annotations

import os
import shlex
import time
import timeit
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from typing import Any

import click

import relayout as rl

WIDTH = 80

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
        "The same in a terminal: pictures, translations, and answers for scripts",
        [
            "$ relayout draw htp:R4Crouton2 --shape 1,16,16,64 --part 0,0,:6,:8",
            "$ relayout translate 'bf16[16,256]{1,0:T(8,128)(2,1)}' --to onednn",
            "$ relayout compare nChw8c cudnn:NHWC --shape 1,16,4,4",
        ],
    ),
    (
        "A checkpoint: what is in it, and what would a repack write?",
        [
            "conv = random.integers(256, size=(1, 64, 60, 50), dtype=np.uint8)",
            'np.savez("model.npz", conv=conv, bias=np.ones(50, np.float32))',
            "$ relayout inspect model.npz",
            "$ relayout repack model.npz packed.safetensors --to htp:R4Crouton --dry-run",
        ],
    ),
    (
        "Now for real, in bounded memory; the layout travels with the data",
        [
            "$ relayout repack model.npz packed.safetensors --to htp:R4Crouton --verify",
            "$ relayout inspect packed.safetensors",
            "$ relayout verify model.npz packed.safetensors",
            'rl.open("packed.safetensors")["conv"]',
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
    """Run all steps, in a folder of their own."""
    import numpy as np

    names: dict[str, Any] = {"rl": rl, "np": np, "time": time, "timeit": timeit}
    started = time.perf_counter()
    with in_scratch_folder():
        for title, lines in STEPS:
            click.secho(f"\n# {title}", fg="cyan")
            for line in lines:
                command = line.startswith("$ ")
                click.secho(line if command else f">>> {line}", bold=True)
                if command:
                    _command(line)
                else:
                    _evaluate(line, names)
    engine = "native" if rl.native_available() else "pure Python"
    click.secho(f"\n# {len(STEPS)} steps in {time.perf_counter() - started:.2f} s, {engine} core.", fg="cyan")
    click.secho("# Next: relayout explore, all of it in a browser; relayout --help, all commands.", fg="cyan")


@contextmanager
def in_scratch_folder() -> Iterator[None]:
    """A folder that is left and removed at the end; commands in it see a terminal of the demo's width."""
    before, columns = Path.cwd(), os.environ.get("COLUMNS")
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["COLUMNS"] = str(WIDTH)
        try:
            yield
        finally:
            os.chdir(before)
            del os.environ["COLUMNS"]
            if columns is not None:
                os.environ["COLUMNS"] = columns


def _evaluate(line: str, names: dict[str, Any]) -> None:
    """Run one line as the interactive interpreter would; a refusal is part of the show."""
    printed = StringIO()
    try:
        with redirect_stdout(printed):
            exec(compile(line, "<demo>", "single"), names)
        for text in printed.getvalue().splitlines():
            click.echo(fill(text, WIDTH, subsequent_indent="        ") if len(text) > WIDTH else text)
    except rl.LayoutError as error:
        for part in (f"{type(error).__name__} [{error.code}]: {error.message}", f"Hint: {error.hint}"):
            click.secho(click.wrap_text(part, subsequent_indent="  "), fg="yellow")


class Screen(StringIO):
    """Collects what a terminal would show."""

    def isatty(self) -> bool:
        return True


def _command(line: str) -> None:
    """Run a command as a terminal would; what it tells on stderr comes first."""
    from .main import relayout

    shown, told = Screen(), StringIO()
    with redirect_stdout(shown), redirect_stderr(told), suppress(SystemExit):
        relayout.main(shlex.split(line)[2:])
    for text in told.getvalue().splitlines():
        click.secho(click.wrap_text(text, WIDTH, subsequent_indent="  "), fg="yellow")
    for text in shown.getvalue().splitlines():
        click.echo(text)
