"""Writes the tables of docs/catalog.md from the catalog: ``python docs/make_catalog.py``."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from relayout import Format, Layout, catalog

PAGE = Path(__file__).parent / "catalog.md"
START, END = "<!-- tables from the catalog -->\n", "<!-- end of tables -->\n"


def written(what: Format | Layout) -> str:
    """The order and the blocks of a format, or a tile in CuTe's notation."""
    if isinstance(what, Layout):
        return f"`{what.to('cute')}`"
    return f"`{Format(what.rank, what.pairs, fill=what.fill, indirect=what.indirect)}`"


def row(name: str) -> str:
    entry = catalog.entry(name)
    forms = [f"{bits} bits: {written(what)}" if bits else written(what) for bits, what in entry.forms.items()]
    return f"| `{name.partition(':')[2]}` | `{entry.axes}` | {'<br>'.join(forms)} | {entry.note} |\n"


def tables() -> str:
    """One table for every source of every system."""
    parts = []
    heading = ""
    listed = sorted(catalog.names(), key=lambda name: list(catalog.ENTRIES).index(_entry_of(name)))
    for (system, provenance), group in groupby(
        listed, lambda name: (name.partition(":")[0], catalog.entry(name).provenance)
    ):
        if system != heading:
            heading = system
            parts.append(f"### {system}\n\n")
        rows = "".join([row(name) for name in group])
        parts.append(f"{provenance}\n\n| name | axes | factors | note |\n|---|---|---|---|\n{rows}\n")
    return "\n" + "".join([*parts, *records()])


def records() -> Iterator[str]:
    """One table for every source of every system's records."""
    named = catalog.known_records().values()
    for (system, provenance), group in groupby(named, lambda x: (x.name.partition(":")[0], x.provenance)):
        rows = [
            f"| `{x.name.partition(':')[2]}` | `{x.record}` | {x.note} |\n".replace(" | @", r" \| @") for x in group
        ]
        yield f"### Records: {system}\n\n{provenance}\n\n| name | record | note |\n|---|---|---|\n{''.join(rows)}\n"


def _entry_of(name: str) -> str:
    """The entry that a name stands next to: its own, or the last one from the same source."""
    if name in catalog.ENTRIES:
        return name
    source = catalog.entry(name).provenance
    return [entry.name for entry in catalog.ENTRIES.values() if entry.provenance == source][-1]


def page(text: str) -> str:
    """The page with its tables replaced by the current ones."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return before + START + tables() + END + after


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
