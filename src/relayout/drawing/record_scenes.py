"""Records as pictures: the bytes of one in order, cut where fields begin, a colour for each field.

A cell is so many bits of one element as lie together, a power of two, the same for every cell of a pane.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ..ask.record_comparison import RecordComparison, field_type
from ..ask.record_words import bit_range, order_line, plane_bytes
from ..format.record import Record, RecordField
from ..format.records import names_of_record
from ..integers.nested import product
from .scene import CATEGORIES, PADDING, PLAIN, SVG_CELLS, Grid, LegendEntry, Pane, PaneAxis, Scene
from .words import title_line

ACROSS = 16
"""The cells of a line, unless a width in bytes is asked for."""

LEGIBLE = 32
"""The most lines of a pane, of so many cells each, in a form that does not scroll."""

_UNITS = (64, 32, 16, 8, 4, 2, 1)
NO_FIELD = "bits of no field"
LOWEST_FIRST = "Bit 0 of a byte, its lowest, is at the left."
PART = "A cell with [3:2] holds the bits 2 and 3 of its element."


class Owners(NamedTuple):
    """For every bit of a record its field, -1 for none; the number of its element; and which bit of that it is."""

    field: list[int]
    element: list[int]
    bit: list[int]


class Region(NamedTuple):
    """Consecutive bytes that are drawn together, in cells of ``unit`` bits."""

    start: int
    stop: int
    unit: int

    @property
    def cells(self) -> int:
        return (self.stop - self.start) * 8 // self.unit


class RecordCell(NamedTuple):
    """The text of a cell, its field or what it is instead, its element, and in words what and, on a new line, where."""

    text: str
    field: int
    element: tuple[Any, ...] | None
    words: str


class RecordLook(NamedTuple):
    """How all records of a picture are drawn: the tint of a field, the key of an element, and the bytes of a line."""

    tints: dict[str, int]
    keys: dict[tuple[Any, ...], int]
    width: int | None


def records_scene(records: Sequence[tuple[str, Record]], width: int | None, limit: int, marks: Sequence[int]) -> Scene:
    """Every record under its title, one after the other; ``marks`` are bits, one for each record, or none at all.

    Fields of one name have one colour.
    """
    panes: list[Pane] = []
    notes: list[str] = []
    names = list(dict.fromkeys([field.name for _, record in records for field in record.fields]))
    look = RecordLook({name: k % CATEGORIES for k, name in enumerate(names)}, {}, width)
    for k, (title, record) in enumerate(records):
        owners = owners_of(record)
        regions = list(regions_of(record, owners))
        room = limit // (len(regions) * len(records))
        room = min(room, LEGIBLE * ACROSS) if limit <= SVG_CELLS else room
        for region in regions:
            pane, left_out = _pane(record, owners, region, look, room, marks[k] if marks else None)
            first = "" if region.start else f"{title}; "
            panes.append(Pane(f"{first}{_region_title(record, owners, region)}", "record", *pane))
            notes += left_out
    legend: list[LegendEntry] = []
    for name in names:
        said = _whose([(title, _field_words(f)) for title, x in records for f in x.fields if f.name == name])
        legend += [LegendEntry((look.tints[name],), words) for words in said]
    notes += _whose([(title, order_line(x)) for title, x in records if x.order is not None])
    notes += _whose([(title, f"An element is worth {x.value}.") for title, x in records if x.value is not None])
    if any(PADDING in grid.tints for pane in panes for grid in pane.grids):
        legend.append(LegendEntry((PADDING,), NO_FIELD))
    parted = any("[" in text for pane in panes for grid in pane.grids for text in grid.texts)
    below = any("." in label for pane in panes for label in pane.columns.labels)
    notes += [LOWEST_FIRST] * below + [PART] * parted
    return Scene(panes, legend, list(dict.fromkeys(notes)))


def _whose(said: Sequence[tuple[str, str]]) -> Iterator[str]:
    """What is said of records, once for all that it is said of; with their titles where not the same is said of all."""
    by_words: dict[str, list[str]] = {}
    for title, words in said:
        by_words.setdefault(words, []).append(title)
    for words, titles in by_words.items():
        yield words if len(by_words) == 1 else f"{', '.join(titles)}: {words}"


def record_title(x: Any, record: Record) -> str:
    """What a record is called where it is drawn: as it was asked for, its name, or its block."""
    if isinstance(x, str) and not x.strip().startswith("record "):
        return title_line(x)
    names = names_of_record(record)
    return names[0] if names else f"record of {' x '.join(map(str, record.block))}"


def comparison_scene(verdict: RecordComparison, width: int | None, limit: int) -> Scene:
    """Both records, with the first bit outlined that lies elsewhere, where every record lies in one piece."""
    both = [(record_title(None, record), record) for record in (verdict.a, verdict.b)]
    in_pieces = any(record.order is not None for _, record in both)
    places = () if verdict.places is None or in_pieces else verdict.places
    scene = records_scene(both, width, limit, [at % (8 * x.nbytes) for at, (_, x) in zip(places, both)])
    return Scene(scene.panes, scene.legend, [str(verdict), *scene.notes])


# ---- which bytes are drawn together --------------------------------------------------------------------------


def owners_of(record: Record) -> Owners:
    """Whose every bit of a record is."""
    room = 8 * record.nbytes
    found = Owners([-1] * room, [-1] * room, [-1] * room)
    for k, field in enumerate(record.fields):
        for number, at in enumerate(field.bit_places()):
            found.field[at] = k
            found.element[at], found.bit[at] = divmod(number, field.bits)
    return found


def regions_of(record: Record, owners: Owners) -> Iterator[Region]:
    """The record cut where no plane goes on; short neighbours with cells of one size stay together."""
    spans = sorted([plane_bytes(plane) for field in record.fields for plane in field.planes])
    cuts, reach = {0, record.nbytes}, 0
    for first, last in spans:
        cuts |= {reach, first} if first >= reach else set()
        reach = max(reach, last + 1)
    ends = sorted({*cuts, reach})
    before: Region | None = None
    for start, stop in pairwise(ends):
        region = Region(start, stop, _unit(owners, 8 * start, 8 * stop))
        if before is not None and before.unit == region.unit and before.cells + region.cells <= ACROSS:
            before = before._replace(stop=stop)
            continue
        if before is not None:
            yield before
        before = region
    if before is not None:
        yield before


def _unit(owners: Owners, start: int, stop: int) -> int:
    """The widest cells of which each holds consecutive bits of one element, or of nobody."""
    bits = list(zip(*[part[start:stop] for part in owners]))
    ends = [k + 1 for k, (mine, other) in enumerate(pairwise(bits)) if not _goes_on(mine, other)]
    owned = any(field >= 0 for field, _, _ in bits)
    for unit in _UNITS:
        if (stop - start) % unit == 0 and not any(end % unit for end in ends) and (unit <= 8 or owned):
            return unit
    return 1


def _goes_on(mine: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether a bit is the next one of the same element, or neither is anybody's."""
    return mine[:2] == other[:2] and (other[2] == mine[2] + 1 or other[0] < 0)


# ---- panes -----------------------------------------------------------------------------------------------------


def _pane(
    record: Record, owners: Owners, region: Region, look: RecordLook, limit: int, mark: int | None
) -> tuple[tuple[PaneAxis, PaneAxis, list[Grid]], list[str]]:
    """The axes and the grid of a region, and a note where not all of it is drawn."""
    start, stop, unit = region
    columns = min(max(1, 8 * look.width // unit) if look.width else ACROSS, region.cells, max(1, limit))
    lines = -(-region.cells // columns)
    drawn = min(lines, max(1, limit // columns))
    names = _short_names(record, owners, region)
    places = [8 * start + k * unit for k in range(min(drawn * columns, region.cells))]
    cells = [_cell(record, owners, at, unit, names) for at in places]
    cells += [RecordCell("", PLAIN, None, "")] * (drawn * columns - len(cells))
    tints = [look.tints[record.fields[x.field].name] if x.field >= 0 else x.field for x in cells]
    keys = [-1 if x.element is None else look.keys.setdefault(x.element, len(look.keys)) for x in cells]
    marked = frozenset([k for k, at in enumerate(places) if mark is not None and at <= mark < at + unit])
    grid = Grid((), [x.text for x in cells], tints, keys, "", marked, (), [x.words for x in cells])
    ends = [8 * start + k * columns * unit for k in range(drawn)]
    rows = PaneAxis(None, "byte", tuple(map(_byte, ends)), (0,) * (drawn + 1))
    labels = tuple([f"+{_byte(k * unit)}" for k in range(columns)])
    rules = [int(unit < 8 and 0 < k < columns and k * unit % 8 == 0) for k in range(columns + 1)]
    shown = drawn * columns * unit // 8
    notes = [f"Of the bytes {start} to {stop - 1} the first {shown} are drawn."] if drawn < lines else []
    return (rows, PaneAxis(None, "", labels, tuple(rules)), [grid]), notes


def _cell(record: Record, owners: Owners, at: int, unit: int, names: dict[int, str]) -> RecordCell:
    k, number, low = [part[at] for part in owners]
    if k < 0:
        return RecordCell("", PADDING, None, f"no field\nbyte {_byte(at)}")
    field = record.fields[k]
    coordinate = _coordinate(number, field.shape)
    element = ",".join([str(c) for c, n in zip(coordinate, field.shape) if n > 1])
    text = f"{names[k]}{element}" if element else field.name
    whole = unit == field.bits
    bits = "" if whole else f"\n[{low}]" if unit == 1 else f"\n[{low + unit - 1}:{low}]"
    what = f"{field.name} ({', '.join(map(str, coordinate))})"
    words = f"{what}{'' if whole else ', ' + bit_range(low, unit)}\nbyte {_byte(at)}"
    return RecordCell(text + bits, k, (record.axes, field.name, coordinate), words)


def _coordinate(number: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The coordinate of an element by its number in row-major order."""
    found = []
    for n in reversed(shape):
        number, place = divmod(number, n)
        found.append(place)
    return tuple(found[::-1])


def _byte(bit: int) -> str:
    """A place in bits as a record's text writes it: the byte, and the bit of it unless that is 0."""
    return f"{bit // 8}.{bit % 8}" if bit % 8 else str(bit // 8)


def _fields_in(owners: Owners, region: Region) -> list[int]:
    """The fields of a region, in the order of their first bits."""
    part = owners.field[8 * region.start : 8 * region.stop]
    return [k for k in dict.fromkeys(part) if k >= 0]


def _short_names(record: Record, owners: Owners, region: Region) -> dict[int, str]:
    """What stands before the coordinates of each field: nothing for one alone, else as much as tells them apart."""
    found = _fields_in(owners, region)
    names = {k: record.fields[k].name for k in found}
    if len(found) == 1:
        return {found[0]: ""}
    return {k: _prefix(name, [other for other in names.values() if other != name]) for k, name in names.items()}


def _prefix(name: str, others: Sequence[str]) -> str:
    ends = [n for n in range(1, len(name)) if not any(other.startswith(name[:n]) for other in others)]
    short = name[: ends[0]] if ends else name
    return f"{short}:" if short[-1].isdigit() else short


def _region_title(record: Record, owners: Owners, region: Region) -> str:
    """Which bytes, and what of which fields is in them."""
    names = _short_names(record, owners, region)
    parts = []
    for k in _fields_in(owners, region):
        field = record.fields[k]
        bits = [owners.bit[at] for at in range(8 * region.start, 8 * region.stop) if owners.field[at] == k]
        low, high = min(bits), max(bits)
        some = "" if high - low + 1 == field.bits else f"{bit_range(low, high - low + 1)} of "
        short = f" ({names[k]})" if names[k] not in ("", field.name) and product(field.shape) > 1 else ""
        parts.append(f"{some}{field.name}{short} {field_type(field)}")
    where = f"byte {region.start}" if region.stop == region.start + 1 else f"bytes {region.start} to {region.stop - 1}"
    return f"{where}: {', '.join(parts) or 'no field'}"


def _field_words(field: RecordField) -> str:
    zero = f", {field.zero} means 0" if field.zero else ""
    return f"{field.name}: {product(field.shape)} {field.element}{zero}"
