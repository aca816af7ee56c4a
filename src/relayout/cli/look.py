"""The commands that look: ``show``, ``at`` and ``catalog``."""

from __future__ import annotations

from typing import Any

import click

from ..ask.catalog_search import entry_facts, entry_pairs, entry_row, search_catalog
from ..ask.description import describe
from ..ask.facts import facts_as_text, unless_refused
from ..dialects.tilers import parse_integers
from ..elements.types import element
from ..format.format import Format, format_of
from ..integers.nested import product
from ..layout.layout import Layout
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
    told = describe(text, shape, axes=axes, dtype=dtype)
    return Answer(told.result, [FieldList(facts_as_text(told.facts)), "", with_option_names(told.words)])


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
    found = search_catalog(words)
    if found.named:
        return Answer(entry_facts(found.entries[0]), [FieldList(list(entry_pairs(found.entries[0])))])
    if not found.entries:
        meant = f" Did you mean {', '.join(found.near)}?" if found.near else ""
        return Answer([], [f"nothing is called so.{meant}"], no=True)
    table = TextTable(("name", "axes", "format"), [entry_row(entry) for entry in found.entries])
    return Answer([entry_facts(entry) for entry in found.entries], [table])
