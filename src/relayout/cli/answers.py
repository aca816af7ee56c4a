"""What commands answer: one result, printed as JSON, or as text that is folded and coloured for a terminal only."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TextIO

import click

from ..ask.json_values import as_json
from ..errors import BadFile

BAD_INPUT = 3
"""The exit code of input that cannot be read."""

SCHEMA = 1
"""The version of the JSON: it grows when a key changes its meaning or goes."""

IN_JSON = "relayout.json"
"""The key of a context's meta that tells whether the answer is JSON."""


class FieldList(NamedTuple):
    """Labels with their values, one line each."""

    pairs: Sequence[tuple[str, str]]


class TextTable(NamedTuple):
    """Rows under titles; the last column may be long."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]


Block = str | FieldList | TextTable
"""A part of an answer for people: lines of text, fields or a table."""


class Answer(NamedTuple):
    """What a command found out: for programs, and for people (nothing where it has spoken already).

    ``no`` makes the exit code 1, and ``unread``, for input of which a part could not be read, 3.
    """

    result: Any
    blocks: Sequence[Block]
    no: bool = False
    unread: bool = False


class Command(click.Command):
    """A command whose function returns an ``Answer``; it has ``--json``."""

    def __init__(self, *args: Any, **words: Any) -> None:
        super().__init__(*args, **words)
        self.params.append(click.Option(["--json", "in_json"], is_flag=True, help="Answer in JSON, errors included."))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples of the command, each on its line, whatever the width."""
        from .examples import EXAMPLES

        lines = EXAMPLES.get(self.name or "", "").strip().splitlines()
        if lines:
            formatter.write_paragraph()
            formatter.write("\n".join(["  Examples:", *[f"    {line}" for line in lines]]) + "\n")

    def invoke(self, ctx: click.Context) -> None:
        in_json = ctx.meta[IN_JSON] = ctx.params.pop("in_json") or ctx.meta.get(IN_JSON, False)
        with warnings_on_stderr():
            answer: Answer = super().invoke(ctx)
        with no_garbage_collection():
            if in_json:
                print_stdout(json_answer(self.name, answer.result))
            elif answer.blocks:
                plain = width_of(sys.stdout) is None
                print_stdout("\n".join(_plain_lines(answer.blocks)) if plain else _on_terminal(answer.blocks))
        ctx.exit(BAD_INPUT if answer.unread else int(answer.no))


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """No search for cycles among many small objects that have none: it takes longer than to make them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def warnings_on_stderr() -> Iterator[None]:
    """What the library warns of is a line each."""
    import warnings

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print_stderr(fold(f"Warning: {message}", width_of(sys.stderr)), "yellow")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def print_stderr(text: str, colour: str | None = None, end: bool = True) -> None:
    """Write to stderr; that nobody reads it is no reason to stop."""
    with suppress(OSError):
        plain = os.environ.get("NO_COLOR") or is_dumb()
        click.secho(text, fg=colour, err=True, nl=end, color=False if plain else None)


def is_dumb() -> bool:
    """Whether the terminal shows text and nothing else."""
    return os.environ.get("TERM") in ("dumb", "unknown")


def escape_controls(text: str) -> str:
    """The text with escapes for what would move a cursor, change colours or break a line."""
    return text if text.isprintable() else "".join([c if c.isprintable() else ascii(c)[1:-1] for c in text])


def width_of(stream: TextIO) -> int | None:
    """The columns of a terminal; None for everything else, which is never folded."""
    if not stream.isatty():
        return None
    from shutil import get_terminal_size

    return get_terminal_size().columns


def print_stdout(text: str) -> None:
    """Write to stdout."""
    with ignore_broken_pipe():
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


@contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """A reader of stdout that has seen enough (``| head``) is no error; what could not be written is dropped."""
    try:
        yield
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            sys.stdout = sys.stderr  # where an error in JSON is told then
            what = f"the answer cannot be written to stdout: {error.strerror}."
            raise BadFile(what, hint="nothing else is wrong: write it to another place") from None


# ---- for people ------------------------------------------------------------------------------------------


def _plain_lines(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, str):
            yield block
            continue
        cells = block.pairs if isinstance(block, FieldList) else [block.titles, *block.rows]
        rows = [[escape_controls(cell) for cell in row] for row in cells]
        sizes = [[columns(cell) for cell in row] for row in rows]
        widths = [max(column) for column in zip(*sizes)]
        for row, taken in zip(rows, sizes):
            yield "  ".join([cell + " " * (n - k) for cell, k, n in zip(row, taken, widths)]).rstrip()


def columns(text: str) -> int:
    """The columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum([0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text])


def _on_terminal(blocks: Sequence[Block]) -> str:
    """The blocks folded to the width of the terminal within columns, with colours unless NO_COLOR is set."""
    from io import StringIO

    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    written = StringIO()
    # Without a height the width does not count on a dumb terminal.
    width, height = width_of(sys.stdout), 25
    console = Console(file=written, force_terminal=True, highlight=False, width=width, height=height)
    for block in _without_wide_tables(blocks, console.width):
        if isinstance(block, str):
            for line in block.split("\n"):
                console.print(Text.from_ansi(line if "\x1b" in line else fold(line, console.width)))
            continue
        titles, rows = block if isinstance(block, TextTable) else (("", ""), block.pairs)
        headed = isinstance(block, TextTable)
        fixed = sum(max(map(columns, column)) + 2 for column in list(zip(titles, *rows))[:-1])
        grid = Grid(box=None, show_header=headed, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
        for k, title in enumerate(titles):
            whole = k < len(titles) - 1 and fixed < console.width - _LEAST_WIDTH
            grid.add_column(title, no_wrap=whole, overflow="fold", style="" if k else "cyan")
        for row in rows:
            grid.add_row(*[Text(escape_controls(cell)) for cell in row])
        console.print(grid)
    return "\n".join([line.rstrip() for line in written.getvalue().rstrip("\n").split("\n")])


_LEAST_WIDTH = 16
"""What a last column needs; where less is left for it, all columns are folded."""

_READABLE = 10
"""What columns need on average to be a table."""


def _without_wide_tables(blocks: Sequence[Block], width: int) -> Iterator[Block]:
    """The blocks, where a table of too many columns for the width is one list a row."""
    for block in blocks:
        if not isinstance(block, TextTable) or len(block.titles) * _READABLE <= width or _natural(block) <= width:
            yield block
            continue
        for row in block.rows:
            yield FieldList(list(zip(block.titles, row)))
            yield ""


def _natural(table: TextTable) -> int:
    """The columns of a terminal that a table takes unfolded."""
    return sum([max(map(columns, column)) + 2 for column in zip(table.titles, *table.rows)])


def fold(text: str, width: int | None) -> str:
    """A text for a terminal of that width: lines too long for it are cut between words, what follows is indented."""
    from textwrap import fill

    lines = [escape_controls(line) for line in text.split("\n")]
    return "\n".join([x if width is None or len(x) <= width else fill(x, width, subsequent_indent="  ") for x in lines])


# ---- for programs ----------------------------------------------------------------------------------------


def json_answer(command: str | None, result: Any) -> str:
    """What a command found out."""
    return json_text({"relayout": SCHEMA, "command": command, "result": as_json(result)})


def json_text(value: Any, level: int = 0) -> str:
    """The text of a JSON value: one line for each key of the outer objects, and what is in them on that line."""
    import json

    if level == 2 or not isinstance(value, dict) or not value:
        return json.dumps(value, allow_nan=False)
    space = "  " * level
    lines = [f"{space}  {json.dumps(key)}: {json_text(entry, level + 1)}" for key, entry in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{space}}}"
