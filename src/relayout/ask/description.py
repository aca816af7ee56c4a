"""All that there is to tell of a text that writes down a layout, a format, a record or a sharding."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..dialects.read import as_record
from ..dialects.resolve import resolve
from ..dialects.shardings import as_sharding
from ..format import catalog
from ..format.format import Format
from ..format.records import names_of_record
from ..layout.layout import Layout
from .explain import explain
from .facts import format_facts, layout_facts, record_facts, sharding_facts


class TextDescription(NamedTuple):
    """What a text writes down: which ``kind`` of thing, the thing, its facts, and the same in plain words."""

    kind: str
    subject: Any
    facts: dict[str, Any]
    words: str

    @property
    def result(self) -> dict[str, Any]:
        """All of it under its names; a format is under ``layout``, as a layout is."""
        key = "layout" if self.kind == "format" else self.kind
        return {**self.facts, "kind": self.kind, key: self.subject, "explanation": self.words.splitlines()}


def describe(text: str, shape: Any = None, *, axes: str | None = None, dtype: Any = None) -> TextDescription:
    """What ``text``, in any notation, writes down; with a shape a format is its layout, in the order of ``axes``.

    Bytes are told where ``dtype`` or the text itself, as in ``f32[8,128]``, says the elements.
    """
    sharding = as_sharding(text, shape)
    if sharding is not None:
        words = explain(sharding, axes=axes, dtype=dtype)
        return TextDescription("sharding", sharding, sharding_facts(sharding), words)
    record = as_record(text)
    if record is not None:
        facts = {**record_facts(record, shape), "names": names_of_record(record)}
        return TextDescription("record", record, facts, explain(text, shape, axes=axes, dtype=dtype))
    meant = resolve(text, shape=shape, axes=axes, element=dtype)
    found = meant.description
    bits = None if meant.element is None else meant.element.bits
    facts = layout_facts(found, bits) if isinstance(found, Layout) else format_facts(found)
    names = catalog.names_of(found, bits) if isinstance(found, Format) else catalog.find(found, bits)
    facts["names"] = [] if isinstance(found, Layout) and not found.size else names
    words = explain(text, shape, axes=axes, dtype=meant.element)
    return TextDescription(type(found).__name__.lower(), found, facts, words)
