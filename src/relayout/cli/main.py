"""The command line. A command's module, and what it needs, is imported only when the command runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from .._version import __version__
from .answers import IN_JSON, json_answer, print_stdout
from .failures import report_bug, run_and_exit
from .streams import prepare_streams

COMMANDS = {
    "Look": {
        "show": ("look", "What a layout is: shapes, strides, room, padding, names."),
        "at": ("look", "The offset of a coordinate, the coordinates of an offset."),
        "draw": ("draw", "A picture of offsets, with the blocks set apart."),
        "catalog": ("look", "Search the named formats."),
        "explore": ("explore", "All of this in a browser, as you type."),
    },
    "Reason": {
        "translate": ("reason", "A layout in another notation, or in all of them."),
        "compare": ("reason", "Are two layouts the same function? If not, where?"),
        "check": ("check", "Does all hold that layouts.toml claims?"),
        "infer": ("reason", "Which layout has this file?"),
        "explain": ("reason", "A layout, or an error's code, in plain words."),
        "audit": ("audit", "What a compiler's or runtime's file moves, and what is undone."),
    },
    "Combine": {
        "compose": ("combine", "One layout after another."),
        "divide": ("combine", "A layout cut into tiles."),
        "product": ("combine", "A layout repeated by another."),
        "invert": ("combine", "From offsets back to coordinates."),
        "complement": ("combine", "What a layout leaves out."),
        "coalesce": ("combine", "The shortest layout of the same values."),
    },
    "Hardware": {
        "banks": ("hardware", "Bank conflicts of an access to shared memory."),
        "sectors": ("hardware", "Sectors and lines of an access to global memory."),
        "advise": ("hardware", "The best layout of a tile for all its accesses."),
        "atoms": ("hardware", "Who holds what of an instruction's operands."),
    },
    "Move data": {
        "inspect": ("move", "The tensors of a file, and their layouts."),
        "repack": ("move", "The tensors of a file into another layout."),
        "reshard": ("reshard", "A checkpoint for another number of ranks."),
        "verify": ("move", "Do two files hold the same elements?"),
        "code": ("code", "The function that moves elements, as text."),
    },
    "Start": {
        "demo": ("tour", "Show what relayout does, on built-in data."),
        "mcp": ("mcp", "Answer agents by the Model Context Protocol."),
    },
}
"""Every command by section: the module of this package that has it under its name, and what it does."""


class LazyGroup(click.Group):
    """The commands of the table above, imported one by one when used, and never for the list of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for section in COMMANDS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for section in COMMANDS.values():
            if cmd_name in section:
                module, short_help = section[cmd_name]
                command: click.Command = getattr(import_module(f".{module}", __package__), cmd_name)
                command.short_help = short_help
                return command
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command meant by the first argument; a misspelt one is answered with those most like it."""
        if args[0] not in self.list_commands(ctx) and not args[0].startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.list_commands(ctx))
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"There is no command {args[0]!r}.{meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.list_commands(ctx)))
        for title, section in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", short_help) for name, (_, short_help) in section.items()])

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        """Run the command named by the arguments, and leave with its exit code; no error gets past here."""
        if "_RELAYOUT_COMPLETE" in os.environ:
            import_module(".completion", __package__)
        run_and_exit(super().main, args, *rest, **options)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Layouts are texts in any notation, or names of the catalog; - reads one from standard input. Every command "
    "has --help and --json. Exit codes: 0 done, 1 the answer is no, 2 usage, 3 bad input, 4 not expressible, 5 limit, "
    "130 interrupted.",
)
@click.version_option(__version__, prog_name="relayout")
@click.option("--json", "in_json", is_flag=True, help="Answer in JSON, errors included, whatever the command.")
@click.pass_context
def relayout(ctx: click.Context, in_json: bool) -> None:
    """Exact tensor layouts: looked at, translated, compared, combined; and data moved between them."""
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    ctx.meta[IN_JSON] = in_json
    if ctx.invoked_subcommand is None:
        told = {name: short_help for section in COMMANDS.values() for name, (_, short_help) in section.items()}
        found = {"version": __version__, "commands": told}
        print_stdout(json_answer(None, found) if in_json else ctx.get_help())


def main() -> None:
    """The entry point of the ``relayout`` command."""
    sys.excepthook = report_bug
    prepare_streams()
    # Texts have a limit of their own, so that no number takes long to print.
    sys.set_int_max_str_digits(0)
    relayout.main(prog_name="relayout")
