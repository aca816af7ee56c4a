"""``demo``: the tour as a command."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO

import click

from .answers import Answer, Command
from .demo import run


@click.command(cls=Command)
@click.pass_context
def demo(ctx: click.Context) -> Answer:
    """Show what relayout does, on built-in data: lines of Python, run for real."""
    if not ctx.meta["relayout.json"]:
        run()
        return Answer(None, [])
    written = StringIO()
    with redirect_stdout(written):
        run()
    return Answer({"lines": written.getvalue().splitlines()}, [])
