"""Audits on the page: a text that a compiler or a runtime wrote, its moves as rows, each with what draws it."""

from __future__ import annotations

from typing import Any

from ..auditing.artefact import Artefact
from ..auditing.audit import Audit, audit_files
from ..auditing.move import Move
from ..auditing.words import costliest, move_rows, saving_lines, summary, totals_text, trouble_lines
from ..errors import ShapeError, shown
from ..layout.layout import Layout


def audit_in(request: dict[str, Any]) -> dict[str, Any]:
    """The audit of the text of a request: what the table shows, and the state that draws each move."""
    text, name = request.get("text"), request.get("name") or "text"
    if not isinstance(text, str) or not isinstance(name, str):
        raise ShapeError(f"an audit is of a text, got {shown(text)}.", hint="paste it, or open a file")
    (found,) = audit_files([Artefact(None, text, name)])
    return audit_answer(found)


def audit_answer(audit: Audit) -> dict[str, Any]:
    """An audit for the page."""
    table = move_rows(audit)
    moves = [audit.moves[k] for k in costliest(audit)]
    return {
        "summary": summary(audit),
        "titles": table.titles,
        "rows": table.rows,
        "states": [move_state(move) for move in moves],
        "paired": [any(word.startswith(("undone by", "undoes")) for word in move.remarks) for move in moves],
        "left_out": table.left_out,
        "totals": totals_text(audit) if audit.totals.moves else "",
        "savings": saving_lines(audit)[1:],
        "errors": trouble_lines(audit)[1:],
    }


def move_state(move: Move) -> dict[str, str] | None:
    """The fields of the page that draw a move: its two layouts compared; None where they are not layouts of memory."""
    source, target = move.source.layout, move.target.layout
    if not isinstance(source, Layout) or not isinstance(target, Layout):
        return None
    element = move.source.element
    return {
        "a": str(source),
        "b": str(target),
        "do": "compare" if source.extents == target.extents else "beside",
        "dtype": "" if element is None else element.name,
    }
