"""The command that draws: ``draw``."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..algebra import tiling
from ..algebra.composition import composition
from ..ask.comparing import compare
from ..dialects.tilers import parse_integers, parse_layout, parse_part, parse_tiler
from ..drawing.cells import CELLS, COLORS, VIEWS
from ..drawing.draw import draw as drawn
from ..drawing.drawing import Drawing
from ..drawing.scene import HTML_CELLS
from ..drawing.text import format_layout
from ..files.sizes import format_size
from .answers import IN_JSON, Answer, Command, print_stderr, width_of
from .arguments import as_sizes, axes_option, dtype_option, layout, shape_option, text_argument

OPERATIONS = {
    "compose": composition,
    "divide": tiling.logical_divide,
    "zipped_divide": tiling.zipped_divide,
    "tiled_divide": tiling.tiled_divide,
    "flat_divide": tiling.flat_divide,
    "product": tiling.logical_product,
    "blocked": tiling.blocked_product,
    "raked": tiling.raked_product,
}
"""The operations that ``--op`` names; TEXT and OTHER are their operands."""


def _dimension(ctx: click.Context, param: click.Parameter, value: str | None) -> int | str | None:
    """A dimension by its number or its name."""
    return int(value) if value is not None and re.fullmatch(r"-?\d{1,9}", value) else value


def _fixed_coordinates(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[Any, int]:
    """Coordinates of dimensions: ``h=0``, or several as in ``n=0,h=1``."""
    found: dict[Any, int] = {}
    for pair in ",".join(values).split(",") if values else ():
        dim, sign, coordinate = pair.strip().partition("=")
        if not sign or not re.fullmatch(r"\d{1,300}", coordinate.strip()):
            raise click.BadParameter(f"{pair!r} fixes no dimension: write it as in h=0 or 1=0.", ctx, param)
        key = _dimension(ctx, param, dim.strip())
        if found.setdefault(key, int(coordinate)) != int(coordinate):
            raise click.BadParameter(f"dimension {key} stands at one coordinate only.", ctx, param)
    return found


def _layout_words(words: tuple[str, ...]) -> click.Choice[str]:
    """The words for a layout: it has no values to show."""
    return click.Choice([word for word in words if word != "value"])


@click.command(cls=Command)
@text_argument()
@click.argument("others", nargs=-1, metavar="[OTHER]...")
@click.option("-o", "--output", metavar="FILE", help="Write the picture to a file: .svg, .html, .tex, .txt or .ans.")
@click.option("--html", "in_html", is_flag=True, help="Print a page with everything in it, which answers to the mouse.")
@click.option("--part", help="What to draw of it, as in 0,:8,:8,0; ... is all.")
@click.option("--rows", callback=_dimension, metavar="DIM", help="The dimension that runs down, by number or name.")
@click.option("--columns", callback=_dimension, metavar="DIM", help="The dimension that runs across.")
@click.option(
    "--at",
    callback=_fixed_coordinates,
    multiple=True,
    metavar="DIM=N",
    help="The coordinates of others, as in n=0,c=3.",
)
@click.option("--cells", type=_layout_words(CELLS), help="What is written into a cell.")
@click.option("--color", type=_layout_words(COLORS), help="What the colour of a cell tells.")
@click.option("--view", type=click.Choice(VIEWS), default="logical", help="Elements by coordinate, address, or both.")
@click.option(
    "--width", type=click.IntRange(1, 4096), help="How many addresses, of a record bytes, are in a line of memory."
)
@click.option("--path", is_flag=True, help="Draw the order of memory as arrows.")
@click.option("--strides", is_flag=True, help="Tell what a step along each mode adds (in files as arrows).")
@click.option("--mark", multiple=True, metavar="COORDINATE", help="Outline an element, as in 1,2.")
@click.option("--tile", callback=as_sizes, metavar="SIZES", help="TEXT is (thread, value): who holds what of a tile?")
@click.option("--op", type=click.Choice(list(OPERATIONS)), metavar="OPERATION", help=f"{', '.join(OPERATIONS)}.")
@click.option("--difference", is_flag=True, help="Colour what TEXT and OTHER place differently, near where it begins.")
@click.option(
    "--style",
    type=click.Choice(["blocks", "mojo", "cute"]),
    default="blocks",
    help="blocks sets blocks apart; mojo and cute print as those libraries do.",
)
@shape_option()
@axes_option()
@dtype_option()
def draw(
    text: str,
    others: tuple[str, ...],
    output: str | None,
    in_html: bool,
    part: str | None,
    mark: tuple[str, ...],
    op: str | None,
    difference: bool,
    style: str,
    shape: Any,
    axes: str | None,
    dtype: str | None,
    **look: Any,
) -> Answer:
    """A picture: the offset of every coordinate, with the blocks set apart and padding hatched; of a record its bytes.

    TEXT is a layout in any notation or a name of the catalog; several stand side by side. Two dimensions are drawn, by
    default those with several blocks, else the last two that are longer than 1; there is one grid for each coordinate
    of the others. --op draws an OPERATION on TEXT and OTHER, with the first tile or copy marked.
    """
    key = None if part is None else parse_part(part)
    words = {"shape": shape, "axes": axes, "dtype": dtype}
    _check_usage(style, len(others), op, difference, in_html and output is not None)
    if style != "blocks":
        x = layout(text, **words)
        lines = format_layout(x if key is None else x.view[key], style)
        return Answer({"layout": x, "lines": lines.splitlines(), "file": None}, [lines])
    look |= {"part": key, "mark": [parse_integers(c, "a coordinate") for c in mark]}
    if op:
        other = parse_layout(others[0]) if op in ("blocked", "raked") else parse_tiler(others[0])
        picture = drawn(OPERATIONS[op], layout(text, **words), other, **look)
    elif difference:
        picture = drawn(compare(text, others[0], **words), **look)
    else:
        picture = drawn(text, *others, **words, **look)
    return _answer(picture, output, in_html)


def _check_usage(style: str, others: int, op: str | None, difference: bool, twice: bool) -> None:
    """Refuse options that do not go together."""
    context = click.get_current_context()
    if style != "blocks":
        taken = ("text", "part", "style", "shape", "axes", "dtype")
        given = [name for name in context.params if context.get_parameter_source(name) == ParameterSource.COMMANDLINE]
        if spare := [name for name in given if name not in taken]:
            raise click.UsageError(f"--style {style} is text, and drawn without {', '.join(spare)}.", context)
    if op and difference:
        raise click.UsageError("one of --op and --difference can be drawn.", context)
    if (op or difference) and others != 1:
        raise click.UsageError("this is drawn for a TEXT and one OTHER.", context)
    if twice:
        raise click.UsageError("--html prints the page that -o FILE.html writes: give one of them.", context)


def _answer(picture: Drawing, output: str | None, in_html: bool) -> Answer:
    """The picture where it belongs: in a file, or on stdout as a page or as text."""
    in_json = click.get_current_context().meta[IN_JSON]
    seen = picture.scene(HTML_CELLS).panes[0].layout if in_json else None
    result: dict[str, Any] = {"layout": seen, "lines": None, "file": output}
    if output is not None:
        picture.save(output)
        print_stderr(f"{output}: {format_size(Path(output).stat().st_size)}")
        return Answer(result, [])
    if in_html:
        page = picture.html()
        return Answer({**result, "html": page}, [page])
    width = width_of(sys.stdout)
    if width is None or in_json:
        written = picture.text()
        return Answer({**result, "lines": written.splitlines()}, [written])
    return Answer(result, [picture.ansi(width, colours())])


def colours() -> int:
    """How many colours the terminal has."""
    from rich.console import Console

    found = {"standard": 16, "windows": 16, "256": 256, "truecolor": 1 << 24}
    return 0 if os.environ.get("NO_COLOR") else found.get(Console(force_terminal=True).color_system or "", 0)
