"""The commands that look: ``show``, ``at`` and ``catalog``."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import click

from ..ask.explain import explain
from ..ask.facts import facts_as_text, format_facts, layout_facts, record_facts, sharding_facts, unless_refused
from ..ask.record_words import brief_record
from ..dialects.read import as_record
from ..dialects.shardings import as_sharding
from ..dialects.tilers import parse_integers
from ..elements.types import element
from ..format import catalog as formats
from ..format.entries import Entry
from ..format.format import Format, format_of
from ..format.record import Record
from ..format.records import NamedRecord, known_records, lookup_record, names_of_record
from ..integers.nested import product
from ..layout.layout import Layout
from ..sharding.sharding import Sharding
from .answers import Answer, Block, Command, FieldList, TextTable
from .arguments import axes_option, dtype_option, layout, shape_option, subject, text_argument
from .failures import with_option_names

# ---- show ------------------------------------------------------------------------------------------------


@click.command(cls=Command)
@text_argument()
@shape_option()
@axes_option()
@dtype_option()
def show(text: str, shape: Any, axes: str | None, dtype: str | None) -> Answer:
    """What a layout is: shapes, strides, room, padding, contiguity, names, and the same in plain words.

    TEXT is a layout in any notation or a name of the catalog.
    """
    sharding = as_sharding(text, shape)
    if sharding is not None:
        return _shown_sharding(sharding, explain(sharding, axes=axes, dtype=dtype))
    record = as_record(text)
    if record is not None:
        return _shown_record(record, explain(text, shape, axes=axes, dtype=dtype), shape)
    found = subject(text, shape, axes, dtype)
    bits = None if dtype is None else element(dtype).bits
    facts = layout_facts(found, bits) if isinstance(found, Layout) else format_facts(found)
    words = explain(text, shape, axes=axes, dtype=dtype)
    names = formats.names_of(found, bits) if isinstance(found, Format) else formats.find(found, bits)
    facts["names"] = [] if isinstance(found, Layout) and not found.size else names
    result = {**facts, "kind": type(found).__name__.lower(), "layout": found, "explanation": words.splitlines()}
    return Answer(result, [FieldList(facts_as_text(facts)), "", with_option_names(words)])


def _shown_record(record: Record, words: str, shape: Any) -> Answer:
    facts = {**record_facts(record, shape), "names": names_of_record(record)}
    result = {**facts, "kind": "record", "record": record, "explanation": words.splitlines()}
    return Answer(result, [FieldList(facts_as_text(facts)), "", words])


def _shown_sharding(sharding: Sharding, words: str) -> Answer:
    facts = sharding_facts(sharding)
    result = {**facts, "kind": "sharding", "sharding": sharding, "explanation": words.splitlines()}
    return Answer(result, [FieldList(facts_as_text(facts)), "", words])


# ---- at --------------------------------------------------------------------------------------------------


@click.command(cls=Command)
@text_argument()
@click.argument("coordinates", nargs=-1, metavar="[COORDINATE]...")
@click.option("--offset", "offsets", type=int, multiple=True, help="Which coordinates lie at this offset?")
@shape_option()
@axes_option()
@dtype_option()
def at(
    text: str,
    coordinates: tuple[str, ...],
    offsets: tuple[int, ...],
    shape: Any,
    axes: str | None,
    dtype: str | None,
) -> Answer:
    """The offset of a coordinate, and with --offset the coordinates of an offset.

    A coordinate is 1,2 with one entry for each dimension, nested like the shape as in 1,(0,2), or the number of an
    element in colexicographic order. The exit code is 1 where nothing lies at an offset.
    """
    if not coordinates and not offsets:
        raise click.UsageError("give a coordinate, or an offset with --offset.", click.get_current_context())
    x = layout(text, shape, axes, dtype)
    source = unless_refused(lambda: subject(text, axes=axes, dtype=dtype))
    fmt = source if isinstance(source, Format) else unless_refused(lambda: format_of(x))
    bits = None if dtype is None else element(dtype).bits
    wanted = [parse_integers(c, "a coordinate") for c in coordinates]
    empty = []
    more = 0
    for offset in offsets:
        there = x.preimages(offset)
        wanted += there[:_MOST_PLACES]
        more += len(there[_MOST_PLACES:])
        if not there:
            empty.append(offset)
    halves = None if fmt is None or not fmt.blocks else unless_refused(lambda: fmt.split(x.extents, left_pad=x.origin))
    places = [{**_place(x, c, bits), **_in_blocks(x, c, fmt, halves)} for c in wanted]
    rows = [{name.replace("_", " "): str(v) for name, v in p.items() if v is not None} for p in places]
    blocks: list[Block] = []
    if len(rows) > 1 and len(rows[0]) <= _MOST_COLUMNS:
        blocks.append(TextTable(list(rows[0]), [list(row.values()) for row in rows]))
    else:
        for row in rows:
            blocks += [FieldList(list(row.items())), ""]
        blocks = blocks[:-1]
    blocks += [f"nothing lies at {offset}" for offset in empty]
    if more:
        blocks.append(f"and {more} more")
    return Answer({"layout": x, "places": places, "more": more, "nothing_at": empty}, blocks, no=bool(empty))


_MOST_COLUMNS = 5
"""With more to tell of an element, each has lines of its own."""

_MOST_PLACES = 1000
"""How many coordinates of one offset are listed."""


def _place(x: Layout, coordinate: Any, bits: int | None) -> dict[str, Any]:
    """One element: its names, its offset, and where that is in bytes."""
    names = x.coordinates(coordinate)
    offset = x(coordinate)
    nested = None if names.natural == names.modes or x.rank == 1 else names.natural
    place: dict[str, Any] = {"coordinate": names.modes, "nested": nested, "number": names.integer, "offset": offset}
    if bits is not None and isinstance(offset, int):
        place["bit" if bits % 8 else "byte"] = offset * bits if bits % 8 else offset * bits // 8
    return place


def _in_blocks(x: Layout, coordinate: Any, fmt: Format | None, halves: Any) -> dict[str, Any]:
    """In which block the element is and where in it, by coordinates and by number."""
    if fmt is None or halves is None:
        return {}
    whole = [c + o for c, o in zip(x.coordinates(coordinate).modes, x.origin)]
    outer, inner = halves
    cut = [_cut(fmt, d, c, n) for d, (c, n) in enumerate(zip(whole, x.padded_shape))]
    return {
        "block": tuple([block for block, _ in cut]),
        "block_number": outer(coordinate),
        "inside": tuple([inside for _, inside in cut]),
        "inside_number": inner(coordinate),
    }


def _cut(fmt: Format, dim: int, coordinate: int, size: int) -> tuple[int, int]:
    """The block along a dimension of a padded size, and the coordinate inside: digits above the rest come first."""
    own = [f for f in fmt.blocks if f.dim == dim]
    above, below = [product(tuple([f.size for f in own if bool(f.rests) == high])) for high in (True, False)]
    top, low = divmod(coordinate, size // above)
    return low // below, top * below + low % below


# ---- catalog ---------------------------------------------------------------------------------------------


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="[WORD]...")
def catalog(words: tuple[str, ...]) -> Answer:
    """Search the named formats and records: all of them, those that have every WORD, or all about one NAME.

    A word is part of a name, of a source or of a note, or a pattern for the name as in htp:*. The exit code is 1 where
    nothing is found.
    """
    named = (formats.lookup(words[0]) or lookup_record(words[0])) if len(words) == 1 else None
    if named is not None:
        return Answer(_as_result(named), [FieldList(list(_entry_pairs(named)))])
    every: list[Entry | NamedRecord] = [*[formats.entry(name) for name in formats.names()], *known_records().values()]
    found = [entry for entry in every if all(_matches(entry, word.lower()) for word in words)]
    if not found:
        near = formats.near(" ".join(words))
        meant = f" Did you mean {', '.join(near)}?" if near else ""
        return Answer([], [f"nothing is called so.{meant}"], no=True)
    rows = [_row(entry) for entry in found]
    return Answer([_as_result(entry) for entry in found], [TextTable(("name", "axes", "format"), rows)])


def _matches(entry: Entry | NamedRecord, word: str) -> bool:
    if "*" in word or "?" in word:
        return fnmatchcase(entry.name.lower(), word)
    return any(word in text.lower() for text in (entry.name, entry.provenance, entry.note))


def _form(form: Format | Layout) -> str:
    """The factors of a format, without the axes, which have a place of their own; a tile as CuTe writes it."""
    return form.to("cute") if isinstance(form, Layout) else str(form.renamed(None))


def _row(entry: Entry | NamedRecord) -> tuple[str, str, str]:
    """One line of the list: the factors alone, the widths that there are forms for, or the fields of a record."""
    if isinstance(entry, NamedRecord):
        return entry.name, entry.record.axes, brief_record(entry.record)
    forms = list(entry.forms.values())
    if len(forms) > 1:
        return entry.name, entry.axes, f"for {'|'.join(map(str, entry.forms))} bits"
    (form,) = forms
    return entry.name, entry.axes, _form(form if isinstance(form, Layout) else Format(form.rank, form.pairs))


def _entry_pairs(entry: Entry | NamedRecord) -> Iterator[tuple[str, str]]:
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


def _as_result(entry: Entry | NamedRecord) -> dict[str, Any]:
    about = {"source": entry.provenance, "note": entry.note}
    if isinstance(entry, NamedRecord):
        return {"name": entry.name, "axes": entry.record.axes, "record": entry.record, **about}
    forms = {"any" if bits is None else bits: form for bits, form in entry.forms.items()}
    return {"name": entry.name, "axes": entry.axes, "forms": forms, **about}
