"""``demo``: the tour as a command."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO

import click

from .answers import IN_JSON, Answer, Command, ignore_broken_pipe
from .demo import run


@click.command(cls=Command)
@click.pass_context
def demo(ctx: click.Context) -> Answer:
    """Show what relayout does, on built-in data: lines of Python and commands, run for real."""
    if not ctx.meta[IN_JSON]:
        with ignore_broken_pipe():
            run()
        return Answer(None, [])
    written = StringIO()
    with redirect_stdout(written):
        run()
    return Answer({"lines": written.getvalue().splitlines()}, [])
