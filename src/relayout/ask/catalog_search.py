"""Named formats and records, found by the words of their names, sources and notes, and what to tell of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from ..format import catalog
from ..format.entries import Entry
from ..format.format import Format
from ..format.records import NamedRecord, known_records, lookup_record
from ..layout.layout import Layout
from .record_words import brief_record


class CatalogSearch(NamedTuple):
    """What was found: ``named`` where the word is the name of one, and else ``near`` names where there is nothing."""

    entries: list[Entry | NamedRecord]
    named: bool = False
    near: Sequence[str] = ()


def search_catalog(words: Sequence[str]) -> CatalogSearch:
    """The one of this name, else all that have every word in their name, source or note, or fit it as a pattern."""
    named = (catalog.lookup(words[0]) or lookup_record(words[0])) if len(words) == 1 else None
    if named is not None:
        return CatalogSearch([named], named=True)
    every: list[Entry | NamedRecord] = [*[catalog.entry(name) for name in catalog.names()], *known_records().values()]
    found = [entry for entry in every if all(_matches(entry, word.lower()) for word in words)]
    return CatalogSearch(found, near=() if found else catalog.near(" ".join(words)))


def _matches(entry: Entry | NamedRecord, word: str) -> bool:
    if "*" in word or "?" in word:
        return fnmatchcase(entry.name.lower(), word)
    return any(word in text.lower() for text in (entry.name, entry.provenance, entry.note))


def _form(form: Format | Layout) -> str:
    """The factors of a format, without the axes, which have a place of their own; a tile as CuTe writes it."""
    return form.to("cute") if isinstance(form, Layout) else str(form.renamed(None))


def entry_row(entry: Entry | NamedRecord) -> tuple[str, str, str]:
    """One line of a list: the factors alone, the widths that there are forms for, or the fields of a record."""
    if isinstance(entry, NamedRecord):
        return entry.name, entry.record.axes, brief_record(entry.record)
    forms = list(entry.forms.values())
    if len(forms) > 1:
        return entry.name, entry.axes, f"for {'|'.join(map(str, entry.forms))} bits"
    (form,) = forms
    return entry.name, entry.axes, _form(form if isinstance(form, Layout) else Format(form.rank, form.pairs))


def entry_pairs(entry: Entry | NamedRecord) -> Iterator[tuple[str, str]]:
    """Label and text of all that there is to tell of one."""
    yield "name", entry.name
    if isinstance(entry, NamedRecord):
        yield "record", str(entry.record)
    else:
        yield "axes", entry.axes
        for bits, form in entry.forms.items():
            yield "format" if bits is None else f"{bits} bits", _form(form)
    yield "source", entry.provenance
    if entry.note:
        yield "note", entry.note


def entry_facts(entry: Entry | NamedRecord) -> dict[str, Any]:
    """All that there is to tell of one, for programs."""
    about = {"source": entry.provenance, "note": entry.note}
    if isinstance(entry, NamedRecord):
        return {"name": entry.name, "axes": entry.record.axes, "record": entry.record, **about}
    forms = {"any" if bits is None else bits: form for bits, form in entry.forms.items()}
    return {"name": entry.name, "axes": entry.axes, "forms": forms, **about}
