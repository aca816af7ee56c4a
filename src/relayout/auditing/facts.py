"""An audit for programs: the JSON of ``relayout audit --json``, whose keys stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .move import Buffer, Move, Place, Side
from .words import summary

if TYPE_CHECKING:
    from .audit import Audit


def audit_facts(audit: Audit) -> dict[str, Any]:
    """All of it in numbers and words: bytes are integers, times seconds, shares from 0 to 1, None what is not known."""
    return {
        "file": audit.file,
        "kind": audit.kind,
        "title": audit.title,
        "summary": summary(audit),
        "totals": {
            **audit.totals._asdict(),
            "time_share": audit.totals.time_share,
            "byte_share": audit.totals.byte_share,
        },
        "moves": [{"number": k, **move_facts(move)} for k, move in enumerate(audit.moves)],
        "pairs": [pair._asdict() for pair in audit.pairs],
        "savings": [saving._asdict() for saving in audit.savings],
        "buffers": [buffer_facts(buffer) for buffer in audit.buffers],
        "errors": [{**place_facts(trouble.place), "message": trouble.message} for trouble in audit.troubles],
    }


def place_facts(place: Place) -> dict[str, Any]:
    """The file, the line (None where there are none) and the name."""
    return {"file": place.file, "line": place.line or None, "name": place.name}


def side_facts(side: Side) -> dict[str, Any]:
    """One side of a move: the artefact's text, and the layout in our notation."""
    return {
        "text": side.text,
        "layout": None if side.layout is None else str(side.layout),
        "element": None if side.element is None else side.element.name,
        "memory": side.memory,
        "bytes": side.stored_bytes,
        "padding": side.padding,
        "why": side.why,
    }


def move_facts(move: Move) -> dict[str, Any]:
    """One move."""
    return {
        **place_facts(move.place),
        "op": move.op,
        "kind": move.kind,
        "from": side_facts(move.source),
        "to": side_facts(move.target),
        "shape": list(move.shape),
        "bytes": move.bytes,
        "time": move.time,
        "count": move.count,
        "reads": move.reads,
        "writes": move.writes,
        "remarks": list(move.remarks),
        "details": dict(move.details),
    }


def buffer_facts(buffer: Buffer) -> dict[str, Any]:
    """One buffer."""
    return {
        **place_facts(buffer.place),
        "role": buffer.role,
        "layout": side_facts(buffer.side),
        "shape": list(buffer.shape),
        "remarks": list(buffer.remarks),
        "details": dict(buffer.details),
    }
