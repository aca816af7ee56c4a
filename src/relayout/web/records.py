"""Records on the page: what is drawn where a field holds one, and what there is to tell of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..ask.comparing import compare
from ..ask.explain import explain
from ..ask.facts import facts_as_text, record_facts
from ..ask.record_comparison import RecordComparison
from ..ask.record_words import brief_record
from ..dialects.read import as_record
from ..drawing.draw import draw
from ..drawing.drawing import Drawing
from ..errors import ShapeError
from ..format.record import Record
from ..format.records import NamedRecord
from .state import State, blame_field

FIELDS = {"": "a", "look": "a", "beside": "ab", "compare": "ab"}
"""The fields that are drawn where a record may stand, by what is done with them."""


class PageRecord(NamedTuple):
    """The record that a field holds."""

    label: str
    text: str
    record: Record


class RecordPicture(NamedTuple):
    """The picture of records, and the verdict on two where they are compared."""

    drawing: Drawing
    records: list[PageRecord]
    verdict: RecordComparison | None = None


def record_picture(state: State) -> RecordPicture | None:
    """The picture of the records that the fields hold; None where the first field that is drawn holds none."""
    found: list[PageRecord] = []
    for name in FIELDS.get(state.do, ""):
        text = getattr(state, name)
        with blame_field(name):
            record = as_record(text)
            if record is None and not found:
                return None
            if record is None:
                raise ShapeError("this is no record, and stands beside one.", hint="name a record here as well")
        found.append(PageRecord(name.upper(), text.strip(), record))
    if not found:
        return None
    texts = [x.text for x in found]
    if state.do == "compare":
        with blame_field("shape" if state.shape else "b"):
            verdict = compare(texts[0], texts[1], shape=state.sizes)
        if isinstance(verdict, RecordComparison):
            return RecordPicture(draw(verdict, width=state.line), found, verdict)
    return RecordPicture(draw(*texts, width=state.line), found)


def record_lines(state: State, picture: RecordPicture) -> list[str]:
    """The lines of Python that draw the picture."""
    texts = ", ".join([repr(x.text) for x in picture.records])
    width = "" if state.line is None else f", width={state.line}"
    if picture.verdict is None:
        return [f'rl.draw({texts}{width}).save("picture.svg")']
    shape = "" if state.sizes is None else f", shape={state.sizes}"
    return [f"verdict = rl.compare({texts}{shape})", "print(verdict)", f'rl.draw(verdict{width}).save("picture.svg")']


def record_json(x: PageRecord) -> dict[str, Any]:
    """What the page shows beside the field."""
    return {"label": x.label, "layout": str(x.record), "shape": [], "names": [], "example": False}


def record_sheet(x: PageRecord, state: State) -> dict[str, Any]:
    """The ledger of a record, its explanation, and its text."""
    with blame_field("shape"):
        ledger, words = record_facts(x.record, state.sizes), explain(x.record, state.sizes)
    return {
        "label": x.label,
        "title": x.text,
        "ledger": facts_as_text(ledger),
        "words": words.splitlines(),
        "rosetta": [{"notation": "record", "text": str(x.record), "reason": ""}],
    }


def record_offer(named: NamedRecord) -> dict[str, str]:
    """A line of the list of names."""
    about = {"name": named.name, "axes": named.record.axes, "format": brief_record(named.record)}
    return {**about, "source": named.provenance, "note": named.note, "shape": "", "dtype": ""}
