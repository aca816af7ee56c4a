"""What an inference found, fact by fact, for programs."""

from __future__ import annotations

from typing import Any

from .result import Candidate, Inference

_ALWAYS = ("layout", "format", "names", "elements", "seen", "padding", "fill")


def inference_facts(found: Inference) -> dict[str, Any]:
    """The fields that say something, with the other candidates in a line each, and the notations that hold it."""
    kept = {name: value for name, value in found._asdict().items() if value not in ((), None) or name in _ALWAYS}
    if found.others:
        kept["others"] = [candidate_facts(x) for x in found.others]
    texts = {name: text for name, text in found.texts.items() if isinstance(text, str)}
    return {**kept, "settled": found.settled, "texts": texts}


def candidate_facts(x: Candidate) -> dict[str, Any]:
    """A layout that data may have, with what contradicts it first."""
    facts: dict[str, Any] = {"layout": str(x.layout), "names": x.names, "mismatches": x.mismatches}
    facts |= {} if x.text is None else {"text": x.text}
    return facts if x.mismatch is None else {**facts, "first": x.mismatch._asdict()}
