"""The commands of kernel engineers: ``banks``, ``sectors``, ``advise`` and ``atoms``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ..ask.advice import advise as advised
from ..ask.atom_words import operand_formulas
from ..ask.banks import banks as count_banks
from ..ask.sectors import sectors as count_sectors
from ..ask.walks import WALKS
from ..dialects.resolve import resolve
from ..drawing.draw import draw
from ..files.sizes import format_size
from ..hardware.atoms import atoms as known_atoms
from ..hardware.registry import architecture_named, architecture_names
from .answers import Answer, Command, FieldList, TextTable, print_stderr, width_of
from .arguments import Decorator, as_sizes, axes_option, dtype_option, shape_option, text_argument
from .draw import colours


def arch_option() -> Decorator:
    """The name of an architecture; the library answers unknown ones with those near them."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        return [name for name in architecture_names() if name.startswith(incomplete)]

    what = "The machine, as in sm90, h100 or gfx942."
    return click.option("--arch", default="sm90", show_default=True, shell_complete=complete, metavar="NAME", help=what)


def _accesses(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The instructions of every machine, for the shell."""
    known = dict.fromkeys(name for arch in architecture_names() for name in architecture_named(arch).accesses)
    return [name for name in known if name.startswith(incomplete)]


def _threads(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [word for word in WALKS if word.startswith(incomplete)]


def _atom_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in known_atoms if name.startswith(incomplete)]


# ---- banks and sectors -----------------------------------------------------------------------------------


@click.command(cls=Command)
@text_argument()
@click.argument("access", shell_complete=_accesses)
@click.argument("threads", shell_complete=_threads)
@arch_option()
@click.option("--draw", "drawn", is_flag=True, help="Draw the worst access: who wants which word of which bank.")
@click.option("-o", "--output", metavar="FILE", help="Write that picture to a file: .svg, .html, .tex, .txt or .ans.")
@shape_option()
@axes_option()
@dtype_option()
def banks(
    text: str,
    access: str,
    threads: str,
    arch: str,
    drawn: bool,
    output: str | None,
    shape: Any,
    axes: str | None,
    dtype: str | None,
) -> Answer:
    """Does a layout of shared memory have bank conflicts, under this instruction of these threads?

    TEXT is the tile's layout in any notation. ACCESS is an instruction: ld.shared.b128, ldmatrix.x4, ds_read_b64.
    THREADS is a layout from (thread, value) to the column-major index of the tile; or rows, where the lanes of a warp
    take the tile row by row, or columns, where each takes the row below the last one's. The exit code is 1 where there
    are conflicts.
    """
    tile = resolve(text, shape=shape, axes=axes, element=dtype)
    report = count_banks(tile.placed, threads, tile.element, access, arch)
    told = str(report)
    if drawn:
        width = width_of(sys.stdout)
        told = draw(report).text() if width is None else draw(report).ansi(width, colours())
    if output is not None:
        draw(report).save(output)
        print_stderr(f"{output}: {format_size(Path(output).stat().st_size)}")
    return Answer({**report.facts(), "file": output}, [told], no=report.conflicts > 0)


@click.command(cls=Command)
@text_argument()
@click.argument("threads", shell_complete=_threads)
@click.option("--base", type=click.IntRange(0), default=0, help="The byte address of the first element.")
@click.option("--access", metavar="INSTRUCTION", help="As in ld.global.v4.f32; by default as wide as lanes allow.")
@shape_option()
@axes_option()
@dtype_option()
def sectors(
    text: str, threads: str, base: int, access: str | None, shape: Any, axes: str | None, dtype: str | None
) -> Answer:
    """How many 32-byte sectors of global memory does each access of a warp touch?

    TEXT is the layout of the data. THREADS is a layout from (thread, value) to their column-major index.
    """
    data = resolve(text, shape=shape, axes=axes, element=dtype)
    report = count_sectors(data.placed, threads, data.element, base, access=access)
    return Answer(report.facts(), [str(report)])


# ---- advise ----------------------------------------------------------------------------------------------


@click.command(cls=Command)
@click.argument("shape", callback=as_sizes)
@click.option(
    "--access",
    "accesses",
    type=(str, str),
    multiple=True,
    metavar="ACCESS THREADS",
    help="What reads or writes the tile, once for each; 4*ACCESS counts four times.",
)
@arch_option()
@click.option("--budget", type=click.IntRange(1), metavar="BYTES", help="The shared memory that it may take.")
@dtype_option()
def advise(
    shape: Any, accesses: tuple[tuple[str, str], ...], arch: str, budget: int | None, dtype: str | None
) -> Answer:
    """The best layout of a tile in shared memory for everything that reads and writes it.

    SHAPE is as in 128x64. Every --access is an instruction with its threads, as in the command banks. Tried are
    swizzles, paddings and XOR matrices; the answer says why none of them is better. The exit code is 1 where conflicts
    are left.
    """
    if dtype is None:
        raise click.UsageError("the tile needs a type of elements: --dtype float16.", click.get_current_context())
    if not accesses:
        raise click.UsageError("say what reads and writes it: --access ACCESS THREADS.", click.get_current_context())
    advice = advised(shape, dtype, [_access_weight(*access) for access in accesses], arch=arch, budget=budget)
    return Answer(advice.facts(), [str(advice)], no=advice.wavefronts > advice.ideal)


def _access_weight(access: str, threads: str) -> tuple[str, str, int]:
    count, star, name = access.partition("*")
    return (name, threads, int(count)) if star and count.strip().isdecimal() else (access, threads, 1)


# ---- atoms -----------------------------------------------------------------------------------------------


@click.command(cls=Command)
@click.argument("name", required=False, shell_complete=_atom_names)
def atoms(name: str | None) -> Answer:
    """Which thread holds which element of an instruction's operands?

    NAME is an instruction as its vendor spells it, in full or short; a part of a name, or a pattern as in mma.*.f64,
    lists those that it fits. Layouts go from (thread, value) to the column-major index of the operand; its rows and
    columns are told as well, and relayout draw has the picture.
    """
    found = known_atoms.search(name or "*")
    if name is not None and (name in known_atoms or not found):
        return _atom(name)
    rows = [(one, "x".join(map(str, known_atoms[one].shape)), known_atoms[one].arch) for one in found]
    return Answer({"names": found}, [TextTable(("name", "shape", "since"), rows)])


def _atom(name: str) -> Answer:
    """All of one atom; a name that there is not is answered with those near it."""
    atom = known_atoms[name]
    told_operands = [(one, operand_formulas(atom, one)) for one in atom.operands]
    parts = {
        key: getattr(atom, key) for key in ("name", "shape", "threads", "arch", "blocks", "lanes", "source", "note")
    }
    operands = [
        {
            "name": one.name,
            "layout": one.layout,
            "tile": one.tile,
            "element": one.element,
            "where": one.where,
            "formulas": formulas,
        }
        for one, formulas in told_operands
    ]
    rows = [
        (one.name, one.element, "x".join(map(str, one.tile)), one.where, ", ".join(formulas), one.layout.to("cute"))
        for one, formulas in told_operands
    ]
    told = [("name", atom.name), ("shape", "x".join(map(str, atom.shape))), ("threads", str(atom.threads))]
    told += [("since", atom.arch), ("source", atom.source), ("judged by", ", ".join(atom.judges))]
    told += [("lanes", str(atom.lanes))] if atom.lanes is not None else []
    told += [("blocks", str(atom.blocks))] if atom.blocks > 1 else []
    told += [("note", atom.note)] if atom.note else []
    table = TextTable(("operand", "element", "tile", "where", "of thread t, value v", "layout"), rows)
    return Answer({**parts, "judges": atom.judges, "operands": operands}, [FieldList(told), "", table])
