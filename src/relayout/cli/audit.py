"""The command that audits what compilers and runtimes write: ``audit``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import copyfileobj
from tempfile import NamedTemporaryFile
from typing import Any

import click

from ..auditing.artefact import Artefact
from ..auditing.audit import Audit, audit_files
from ..auditing.difference import TITLES, AuditDifference, compare_audits
from ..auditing.facts import audit_facts
from ..auditing.measure import Measured, measure_moves
from ..auditing.readers import reader_names
from ..auditing.words import (
    Rows,
    buffer_rows,
    costliest,
    format_time,
    move_rows,
    saving_lines,
    summary,
    totals_text,
    trouble_lines,
)
from ..errors import BadFile
from ..files.sizes import format_size, parse_size
from .answers import Answer, Block, Command, TextTable, print_stderr


def _kinds(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in reader_names() if name.startswith(incomplete)]


def _limit(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, float] | None:
    """What ``--fail-over`` says: bytes, or a share."""
    if value is None:
        return None
    if value.strip().endswith("%"):
        try:
            share = float(value.strip()[:-1]) / 100
        except ValueError:
            raise click.BadParameter(f"{value!r} is no percentage: write it as in 10%.", ctx, param) from None
        if not 0 <= share <= 1:
            raise click.BadParameter(f"{value!r} is not between 0% and 100%.", ctx, param)
        return "share", share
    return "bytes", parse_size(value)


@click.command(cls=Command)
@click.argument("files", nargs=-1, metavar="FILE...", type=click.Path(allow_dash=True))
@click.option("--kind", metavar="KIND", shell_complete=_kinds, help="What the files are; by default as content tells.")
@click.option("--html", "page", metavar="OUT", help="Write one page with pictures of the layouts, linked to lines.")
@click.option("--fail-over", callback=_limit, metavar="LIMIT", help="Exit with 1 if moves take more: 64MB, or 10%.")
@click.option("--diff", nargs=2, metavar="OLD NEW", help="What changed: moves that appeared, vanished, or grew.")
@click.option(
    "--measure",
    metavar="[cpu|cuda]",
    is_flag=False,
    flag_value="cpu",
    help="Run our own repack of each move, here or on the GPU, and tell its time.",
)
def audit(
    files: tuple[str, ...],
    kind: str | None,
    page: str | None,
    fail_over: tuple[str, float] | None,
    diff: tuple[str, str] | None,
    measure: str | None,
) -> Answer:
    """What moves in the files that compilers and runtimes write, what it costs, and what is undone later.

    FILEs are HLO, Triton IR, oneDNN logs, graphs, profiles, checkpoints, ..., of one kind or of several; - is standard
    input. A profile gives its times to the graphs beside it. Bytes come from the layouts, times from the files.

    Exit codes: 0 done; 1 over --fail-over, or for --diff a difference; 3 where something could not be read, after all
    that could.
    """
    if measure not in (None, "cpu", "cuda"):
        # The word after the option is a file, and not the device.
        files, measure = (str(measure), *files), "cpu"
    if diff is not None:
        if files or page or measure:
            raise click.UsageError("--diff takes its two files, and neither others nor --html nor --measure.")
        return _difference([_artefact(file) for file in diff], kind, fail_over)
    if not files:
        raise click.UsageError("Missing argument 'FILE...'.")
    audits = audit_files([_artefact(file) for file in files], kind)
    measured = [list(measure_moves(found, measure)) if measure else None for found in audits]
    if page is not None:
        _write_page(page, audits)
    over = any(_is_over(found, fail_over) for found in audits)
    result = {"audits": [_facts(found, times) for found, times in zip(audits, measured)], "over": over, "page": page}
    graphs = any(not found.timings for found in audits)
    shown = [
        [summary(found), "its times are those above"] if found.timings and graphs else [*_blocks(found, times)]
        for found, times in zip(audits, measured)
    ]
    blocks = [block for one in shown for block in [*one, ""]][:-1]
    blocks += [f"{'' if over else 'not '}over the limit of --fail-over"] if fail_over is not None else []
    return Answer(result, blocks, no=over, unread=any(found.troubles for found in audits))


def _artefact(file: str) -> Artefact:
    if file != "-":
        return Artefact(Path(file))
    # On disk, for what comes through a pipe may be longer than memory, and is read more than once.
    with NamedTemporaryFile(prefix="relayout-", delete=False) as copy:
        click.get_current_context().call_on_close(lambda: Path(copy.name).unlink(missing_ok=True))
        copyfileobj(sys.stdin.buffer, copy)
    return Artefact(Path(copy.name), name="standard input")


def _is_over(found: Audit, limit: tuple[str, float] | None) -> bool:
    """Whether moving takes more than the limit: of bytes, or of the share of time, else of bytes."""
    if limit is None:
        return False
    unit, most = limit
    if unit == "bytes":
        return found.totals.bytes > most
    shares = [found.totals.time_share, found.totals.byte_share]
    share = next((x for x in shares if x is not None), None)
    if share is None:
        if not found.totals.moves:
            return False
        hint = "give --fail-over a number of bytes"
        raise BadFile(f"{found.file}: it tells no times and no bytes of other operations, so no share.", hint=hint)
    return share > most


def _write_page(page: str, audits: Sequence[Audit]) -> None:
    from ..auditing.page import audit_page

    try:
        Path(page).write_text(audit_page(audits), encoding="utf-8")
    except OSError as error:
        raise BadFile(f"{page} cannot be written: {error.strerror}.", hint="give another path to --html") from None
    print_stderr(f"{page}: {format_size(Path(page).stat().st_size)}")


def _facts(found: Audit, times: list[Measured] | None) -> dict[str, Any]:
    facts = audit_facts(found)
    return facts if times is None else {**facts, "measured": [m._asdict() for m in times]}


def _blocks(found: Audit, times: list[Measured] | None) -> Iterator[Block]:
    """An audit for people."""
    yield summary(found)
    moves = move_rows(found)
    if times is not None and moves.rows:
        moves = _with_measures(found, moves, times)
    for table in (moves, buffer_rows(found)):
        if table.rows:
            yield ""
            yield TextTable(table.titles, table.rows)
            if table.left_out:
                yield f"and {table.left_out} more, which --json has"
    if found.totals.moves:
        yield ""
        yield totals_text(found)
    for lines in (saving_lines(found), trouble_lines(found)):
        if lines:
            yield ""
            yield "\n".join(lines)


def _with_measures(found: Audit, table: Rows, times: list[Measured]) -> Rows:
    """The table with what our repack takes, before the remarks."""
    known = {m.number: "" if m.time is None else format_time(m.time) for m in times}
    cells = [known.get(number, "") for number in costliest(found)]
    rows = [[*row[:-1], cell, row[-1]] for row, cell in zip(table.rows, cells)]
    return Rows([*table.titles[:-1], "ours", table.titles[-1]], rows, table.left_out)


def _difference(artefacts: list[Artefact], kind: str | None, limit: tuple[str, float] | None) -> Answer:
    old, new = audit_files(artefacts, kind, together=False)
    found: AuditDifference = compare_audits(old, new)
    over = bool(found) if limit is None else _is_grown(found, limit)
    blocks: list[Block] = [found.summary()]
    if found:
        blocks += ["", TextTable(TITLES, found.rows())]
    for audit in (old, new):
        blocks += ["", "\n".join(trouble_lines(audit))] if audit.troubles else []
    return Answer({**found.facts(), "over": over}, blocks, no=over, unread=bool(old.troubles or new.troubles))


def _is_grown(found: AuditDifference, limit: tuple[str, float]) -> bool:
    """Whether the moves write more than so many bytes, or than that share, on top of what they wrote before."""
    unit, most = limit
    return found.added_bytes > (most if unit == "bytes" else most * found.old.totals.bytes)
