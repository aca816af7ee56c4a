"""The command that writes functions for a layout, or between two: ``code``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..codegen.code import code as code_of
from ..codegen.targets import target_named, target_names
from ..errors import BadFile
from .answers import Answer, Command
from .arguments import axes_option, dtype_option, fill_option, shape_option, text_argument


@click.command(cls=Command)
@text_argument("src", required=False)
@text_argument("dst", required=False)
@click.option("--target", default="c", show_default=True, metavar="LANGUAGE", help="The language; see --list-targets.")
@click.option("--list-targets", is_flag=True, help="The languages.")
@shape_option()
@axes_option()
@dtype_option(what="The type of the elements, as in float16; needed with DST, unless a layout tells it.")
@dtype_option("--dst-dtype", "dst_element", "The type of DST's elements, if values are converted.")
@fill_option()
@click.option("--name", metavar="NAME", help="The name of the function; by default that of the layout.")
@click.option("--inverse", is_flag=True, help="Add the way back, NAME_inverse.")
@click.option("--test", is_flag=True, help="Add a program that compares checksums, and prints ok.")
@click.option("-o", "--output", metavar="FILE", help="Write the text to a file.")
def code(src: str | None, dst: str | None, list_targets: bool, output: str | None, **options: Any) -> Answer:
    """A function that moves elements from SRC to DST, to be pasted into any program.

    Formats without a shape give a function whose sizes are arguments. With SRC alone: the functions that tell the place
    of a coordinate and the coordinate of a place, and that visit all elements in the order of memory.
    """
    if list_targets:
        abouts = {name: target_named(name).about for name in target_names()}
        lines = [f"{name:<{max(map(len, abouts))}}  {about}" for name, about in abouts.items()]
        return Answer({"targets": [*abouts], "about": abouts}, ["\n".join(lines)])
    if src is None:
        raise click.UsageError("Missing argument 'SRC'.")
    element = options.pop("dtype")
    text = code_of(src, dst, element if dst is not None else None, **options)
    result = {"target": options["target"], "code": text, "output": output}
    if output is None:
        return Answer(result, [text.rstrip("\n")])
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadFile(
            f"{output} cannot be written: {error.strerror}.", hint="give another path to -o", file=output
        ) from None
    return Answer(result, [f"{output}: {len(text.splitlines())} lines of {options['target']}"])
