"""The command that serves agents: ``mcp``."""

from __future__ import annotations

import sys

import click

from ..agents.limits import SECONDS
from .answers import Answer, Command, print_stderr


@click.command(cls=Command)
@click.option(
    "--seconds", type=click.FloatRange(0.01, 3600), default=SECONDS, show_default=True, help="What an answer may take."
)
def mcp(seconds: float) -> Answer:
    """Answer agents by the Model Context Protocol, on standard input and output, until the input ends.

    The tools are parse, translate, compare, explain, infer, draw and catalog. None opens a file or an address, and each
    has limits of size and time, which docs/agents.md tells. A program starts this command, and speaks with it.
    """
    from ..agents.server import serve

    if sys.stdin.isatty():
        print_stderr("Waiting for messages of the Model Context Protocol, one a line, until Ctrl-D.")
    serve(seconds)
    return Answer(None, [])
