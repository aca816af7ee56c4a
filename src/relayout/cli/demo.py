"""``relayout demo``: a session, run for real. Each step prints the code, then what it gives."""

from __future__ import annotations

import time
from typing import Any

import click

import relayout as rl

STEPS = [
    (
        "A layout is a function from coordinates to offsets: here 3x2 tiles, column by column",
        ["tiled = rl.tile_to_shape(rl.Layout.col_major(3, 2), (6, 10))", "rl.print_layout(tiled)"],
    ),
    (
        "It knows where every element is, and which element is where",
        ["tiled(4, 2)", "tiled.idx2crd(19)", "tiled.coordinates((4, 2))"],
    ),
    (
        "Composition is exact",
        ["rl.composition(rl.Layout((2, 2, 2), (1, 5, 7)), rl.Layout((2, 2), (3, 1)))"],
    ),
    (
        "... or refused: other libraries return (3,2):(2,3) here, which is wrong at (2, 1)",
        ["rl.composition(rl.Layout((6, 2), (1, 7)), rl.Layout((3, 2), (2, 3)))"],
    ),
    (
        "Two layouts of 10^18 elements, proven equal; then one that differs, with the place",
        [
            "a = rl.Layout(((1000, 10**6), 10**9), ((1, 1000), 10**9))",
            "b = rl.Layout((10**9, (10**3, 10**6)), (1, (10**9, 10**12)))",
            "print(rl.compare(a, b))",
            "print(rl.compare(a, b.narrow(1, 0, 10**9 - 1)))",
            "print(rl.compare(a, rl.Layout((10**9, (10**3, 10**6)), (1, (10**9, 10**12 + 1)))))",
        ],
    ),
    (
        "Views never copy: rows 1 to 4 in reverse, every second column, of the tiled matrix",
        ["view = tiled.view[4:0:-1, ::2]", "rl.print_layout(view)", "tiled.transpose(0, 1).strided_blocks().length"],
    ),
    (
        "Whole tables of offsets, as numpy arrays",
        ["rl.Layout((10_000, (50, 40)), (2_000, (40, 1))).offsets().shape"],
    ),
]


def run() -> None:
    """Run all steps."""
    names: dict[str, Any] = {"rl": rl}
    started = time.perf_counter()
    for title, lines in STEPS:
        click.secho(f"\n# {title}", fg="cyan")
        for line in lines:
            click.secho(f">>> {line}", bold=True)
            _evaluate(line, names)
    engine = "native" if rl.native_available() else "numpy"
    click.secho(f"\n# {len(STEPS)} steps in {time.perf_counter() - started:.2f} s, {engine} offset tables", fg="cyan")


def _evaluate(line: str, names: dict[str, Any]) -> None:
    """Run one line as the interactive interpreter would; a refusal is part of the show."""
    try:
        exec(compile(line, "<demo>", "single"), names)
    except rl.LayoutError as error:
        for part in (f"{type(error).__name__} [{error.code}]: {error.message}", f"Hint: {error.hint}"):
            click.secho(click.wrap_text(part, subsequent_indent="  "), fg="yellow")
