"""The command that proves what a project claims about its layouts: ``check``."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import BadFile
from ..files.claims import Claim, ClaimVerdict, check_claims
from .answers import Answer, Command


@click.command(cls=Command)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
def check(files: tuple[Path, ...]) -> Answer:
    """Does all hold that a file claims about layouts?

    FILEs are layouts.toml by default: names for layouts in any notation, and claims that they are equal, fit so many
    bytes, have no bank conflicts, or little padding. The exit code is 1 where a claim does not hold, with the
    coordinate, and 3 where one makes no sense.
    """
    verdicts: list[ClaimVerdict] = []
    for file in files or (Path("layouts.toml"),):
        try:
            verdicts += check_claims(file)
        except BadFile as error:
            if len(files) < 2:
                raise
            # The others are checked all the same.
            verdicts.append(ClaimVerdict(Claim("file", {}, error.message, str(file), 0), False, "", error))
    lines = [line for verdict in verdicts for line in _lines(verdict)]
    claims = [verdict for verdict in verdicts if verdict.claim.kind not in ("file", "layout")]
    held = sum([verdict.holds for verdict in claims])
    lines.append(f"{held} of {len(claims)} claims hold")
    broken = any(verdict.error is not None for verdict in verdicts)
    facts = {"claims": [_facts(verdict) for verdict in verdicts], "hold": held}
    return Answer(facts, ["\n".join(lines)], no=held < len(claims), unread=broken)


def _lines(verdict: ClaimVerdict) -> list[str]:
    claim = verdict.claim
    head = f"{'ok' if verdict.holds else 'NO'}  {claim.place}: {claim.name}"
    if verdict.holds:
        return [head]
    return [head, *[f"    {line}" for line in verdict.words.splitlines()]]


def _facts(verdict: ClaimVerdict) -> dict[str, object]:
    claim = verdict.claim
    return {
        "file": claim.file,
        "line": claim.line or None,
        "name": claim.name,
        "kind": claim.kind,
        "holds": verdict.holds,
        "found": verdict.found,
        "error": verdict.error,
    }
