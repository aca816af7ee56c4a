"""What there is to tell of a layout, a record, a sharding or an atom: the ledger, the plain words, every notation."""

from __future__ import annotations

from typing import Any

from ..ask.explain import explain
from ..ask.facts import facts_as_text, layout_facts
from ..ask.rosetta import refusal_reason, rosetta
from ..errors import LayoutError
from ..layout.layout import Layout
from .atoms import atom_sheet
from .records import record_sheet
from .shardings import sharding_sheet
from .state import State, bits_of
from .view import PageSubject, picture_of


def facts(state: State) -> dict[str, Any]:
    """For every subject of the picture its ledger, its explanation and its notations."""
    picture = picture_of(state)
    if picture.atom is not None:
        return {"facts": [atom_sheet(picture.atom)]}
    sheets = [_facts(subject, state) for subject in picture.subjects]
    sheets += map(sharding_sheet, picture.shardings)
    return {"facts": [*sheets, *[record_sheet(x, state) for x in picture.records]]}


def _facts(subject: PageSubject, state: State) -> dict[str, Any]:
    dtype = state.dtype or None
    return {
        "label": subject.label,
        "title": subject.text.strip(),
        "ledger": facts_as_text(layout_facts(subject.layout, bits_of(state))),
        "words": _words(subject, dtype),
        "rosetta": _rosetta(subject, dtype),
    }


def _words(subject: PageSubject, dtype: str | None) -> list[str]:
    try:
        return explain(subject.layout, axes=subject.names or None, dtype=dtype).splitlines()
    except LayoutError as error:
        return [error.message]


def _rosetta(subject: PageSubject, dtype: str | None) -> list[dict[str, Any]]:
    found = rosetta(subject.layout, dtype=dtype)
    return [_row(name, entry, subject.layout) for name, entry in found.items()]


def _row(name: str, entry: str | LayoutError, layout: Layout) -> dict[str, Any]:
    if isinstance(entry, str):
        return {"notation": name, "text": entry, "reason": ""}
    return {"notation": name, "text": None, "reason": refusal_reason(entry, layout)}
