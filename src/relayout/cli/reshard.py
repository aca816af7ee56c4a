"""The command that deals checkpoints to another number of ranks: ``reshard``."""

from __future__ import annotations

from typing import Any

import click

from ..files.jobs.reshard import reshard as reshard_checkpoint
from ..files.sizes import format_size
from .answers import Answer, Command, TextTable
from .move import file_argument, name_options_in_hints, progress_on_stderr, summary


@click.command(cls=Command)
@click.argument("source", metavar="CKPT", type=file_argument)
@click.argument("destination", metavar="OUT", type=file_argument)
@click.option(
    "--from", "from_", metavar="tp=N", help="How many ranks CKPT has; by default as many as there are files of."
)
@click.option(
    "--to", default="tp=1", show_default=True, metavar="tp=N", help="How many OUT has; one is a plain folder."
)
@click.option(
    "--map", "rules", type=file_argument, metavar="RULES", help="A TOML file that says how tensors are dealt."
)
@click.option("--dry-run", is_flag=True, help="Only tell what would be written.")
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Threads; by default the processors, at most 8.")
@click.option("--cluster", metavar="ADDRESS", help="A Dask scheduler, or local:N for N processes started for this.")
@click.option("--max-memory", default="1GiB", show_default=True, metavar="SIZE", help="What the process may need.")
@click.option("--resume", is_flag=True, help="Continue a run that did not finish.")
@click.option("--verify", is_flag=True, help="Read everything again and compare, before the folder gets its name.")
@click.option("--force", is_flag=True, help="Overwrite; start again where a run did not finish.")
def reshard(source: str, destination: str, **options: Any) -> Answer:
    """Write checkpoint CKPT of so many tensor-parallel ranks to OUT as one of another number, in bounded memory.

    One rank is a file or a folder of safetensors, or a folder of torch's distributed checkpoints; several are a folder
    with files such as model-rank-0-part-0.safetensors. How tensors are dealt is told by --map, by files that this
    command wrote, or by the family that config.json names. What does not fit is refused before anything is written.
    """
    with name_options_in_hints(), progress_on_stderr("reshard", quiet=options["dry_run"]) as progress:
        report = reshard_checkpoint(source, destination, progress=progress, **options)
    result = {**report._asdict(), "rows": [row._asdict() for row in report.rows], "dry_run": options["dry_run"]}
    if options["dry_run"]:
        rows = [
            [row.name, row.before, row.after, format_size(row.bytes_before), format_size(row.bytes_after)]
            for row in report.rows
        ]
        return Answer(result, [TextTable(("tensor", "a rank has", "then", "in all", "then"), rows), summary(report)])
    resumed = f", {format_size(report.resumed)} of it before" if report.resumed else ""
    return Answer(result, [f"{destination}: {summary(report)}{resumed}"])
