"""The command that proves what a project claims about its layouts: ``check``."""

from __future__ import annotations

from pathlib import Path

import click

from ..files.claims import ClaimVerdict, check_claims
from .answers import Answer, Command

EXAMPLES = """\b
Examples:
  relayout check
  relayout check kernels/layouts.toml npu/layouts.toml
  relayout check --json"""


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
def check(files: tuple[Path, ...]) -> Answer:
    """Does all hold that a file claims about layouts?

    FILEs are layouts.toml by default: names for layouts in any notation, and claims that they are equal, fit so many
    bytes, have no bank conflicts, or little padding. The exit code is 1 where a claim does not hold, with the
    coordinate, and 3 where one makes no sense.
    """
    verdicts = [verdict for file in files or (Path("layouts.toml"),) for verdict in check_claims(file)]
    lines = [line for verdict in verdicts for line in _lines(verdict)]
    held = sum([verdict.holds for verdict in verdicts])
    lines.append(f"{held} of {len(verdicts)} claims hold")
    broken = any(verdict.error is not None for verdict in verdicts)
    facts = {"claims": [_facts(verdict) for verdict in verdicts], "hold": held}
    return Answer(facts, ["\n".join(lines)], no=held < len(verdicts), unread=broken)


def _lines(verdict: ClaimVerdict) -> list[str]:
    claim = verdict.claim
    head = f"{'ok' if verdict.holds else 'NO'}  {claim.place}: {claim.name}"
    if verdict.holds:
        return [head]
    told = verdict.found.splitlines()
    told += [f"Hint: {verdict.error.hint}"] if verdict.error is not None and verdict.error.hint else []
    return [head, *[f"    {line}" for line in told]]


def _facts(verdict: ClaimVerdict) -> dict[str, object]:
    claim = verdict.claim
    return {
        "file": claim.file,
        "line": claim.line or None,
        "name": claim.name,
        "kind": claim.kind,
        "holds": verdict.holds,
        "found": verdict.found,
        "error": None if verdict.error is None else type(verdict.error).__name__,
    }
