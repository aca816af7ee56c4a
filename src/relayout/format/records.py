"""The named records: one table, read when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from ..errors import NotExpressible, ShapeError, shown
from ..immutable import NamedTuple
from .format import Format
from .named_records import CODECS, RECORDS
from .record import Record


class NamedRecord(NamedTuple):
    """A record with its name, where that comes from, and what is to be known about it."""

    name: str
    text: str
    provenance: str
    note: str = ""

    @property
    def record(self) -> Record:
        return _parse_once(self.text)

    def _repr_html_(self) -> str:
        from ..drawing.notebook_tables import html_of

        return html_of(self)


def record(name: str) -> Record:
    """The record of that name.

    >>> record("ggml:Q8_0").nbytes
    34
    """
    found = lookup_record(name) if isinstance(name, str) else None
    if found is None:
        listed = ", ".join(list(known_records())[:8])
        raise ShapeError(f"there is no record named {shown(name)}.", hint=f"there are {listed}, ...", name=name)
    return found.record


def lookup_record(name: str) -> NamedRecord | None:
    """All that is known of the record of that name; None for a name of no record.

    Blocks that are a codec, in which an element has no bits of its own, are refused with that reason.
    """
    system, _, short = name.partition(":")
    if system == "ggml" and short in CODECS:
        raise NotExpressible(
            f"{name} is a codec and no layout: {CODECS[short]}.",
            hint="gguf.quants.dequantize gives its values",
            name=name,
        )
    return known_records().get(name)


def names_of_record(record: Record) -> list[str]:
    """The names of records that are this one, however its fields are written."""
    return [named.name for named in known_records().values() if _alike(named.record, record)]


def _alike(a: Record, b: Record) -> bool:
    """Whether every bit has the same place and meaning, in records that follow each other in the same way.

    Axes meet by name.
    """
    if a.nbytes != b.nbytes or set(a.axes) != set(b.axes):
        return False
    b = b.aligned(a.axes)
    around = [(x.block, (x.value or "").replace(" ", "")) for x in (a, b)]
    mine, theirs = [{f.name: (f.element, f.zero, f.shape) for f in x.fields} for x in (a, b)]
    plain = Format(a.rank + 1, [(d, 0) for d in range(a.rank + 1)])
    if around[0] != around[1] or mine != theirs or not (a.order or plain).equivalent(b.order or plain):
        return False
    return a == b or all(f.bit_places() == b[f.name].bit_places() for f in a.fields)


@cache
def known_records() -> dict[str, NamedRecord]:
    """Every named record by its name, in the order of the table."""
    return {named.name: named for named in _table()}


def _table() -> Iterator[NamedRecord]:
    system = provenance = ""
    found: NamedRecord | None = None
    for line in filter(None, RECORDS.splitlines()):
        margin = len(line) - len(line.lstrip())
        first, _, rest = line.strip().partition(" ")
        if margin == 0:
            system, provenance = first, rest
        elif margin == 2:
            if found is not None:
                yield found
            found = NamedRecord(f"{system}:{first}", rest.strip(), provenance)
        elif found is not None:
            note = first == ">"
            found = found._replace(note=f"{found.note} {rest}".strip()) if note else _with_line(found, line.strip())
    if found is not None:
        yield found


def _with_line(named: NamedRecord, line: str) -> NamedRecord:
    return named._replace(text=f"{named.text} {line}")


@cache
def _parse_once(text: str) -> Record:
    return Record.parse(text)
