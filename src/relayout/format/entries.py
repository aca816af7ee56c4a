"""The entries of the catalog: those of our tables, read when first asked, and those of other packages and programs.

Another package adds named formats by an entry point in the group ``relayout.formats`` that names an ``Entry``, or
several; a program adds its own while it runs. They are recognised, found and listed as ours are.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import TypeAlias

from ..errors import ShapeError, shown
from ..immutable import NamedTuple
from ..layout.layout import Layout
from ..layout.swizzle import Swizzle
from . import named_formats, packed_formats
from .format import Format
from .name_changes import clear_caches

ENTRY_POINTS = "relayout.formats"
"""The group of entry points that other packages name their formats in."""

TABLES = (named_formats.TABLE, packed_formats.TABLE)

_NAME = r"[a-z][a-z0-9_]*:\S+"
_TILE = r"(?:Sw<(\d+),(\d+),(\d+)> o 0 o )?([\d(),]+):([\d(),]+)"


class Entry(NamedTuple):
    """A named format: its forms by the width of the elements in bits, or under None the only one."""

    name: str
    axes: str
    forms: Mapping[int | None, Format | Layout]
    provenance: str
    note: str = ""

    @property
    def format(self) -> Format | Layout:
        """The only form; refused where it depends on the width of the elements."""
        return self.at(None)

    def at(self, element_bits: int | None) -> Format | Layout:
        """The form for elements of that width, which only a name with several forms needs."""
        if None in self.forms:
            return self.forms[None]
        if element_bits not in self.forms:
            raise ShapeError(
                f"{self.name} depends on the width of the elements, got {element_bits or 'no'} bits.",
                hint=f"say it by element_bits= or dtype=; there are forms for {', '.join(map(str, self.forms))} bits",
                name=self.name,
                element_bits=element_bits,
            )
        return self.forms[element_bits]

    def _repr_html_(self) -> str:
        from ..drawing.notebook_tables import html_of

        return html_of(self)


@cache
def known_entries() -> tuple[dict[str, Entry], dict[str, Entry]]:
    """The entries by name, and the other names that stand for one or, by the width of the elements, for several."""
    entries: dict[str, Entry] = {}
    others: dict[str, Entry] = {}
    for section in [text for table in TABLES for text in _sections(table).values()]:
        for known, read in zip((entries, others), read_table(section)):
            known.update(read)
    for entry in _from_packages():
        if entry.name in entries or entry.name in others:
            warnings.warn(f"there are two formats named {entry.name}; the second is left out.", stacklevel=2)
        else:
            entries[entry.name] = entry
    return entries, others


def own_entry(name: str) -> Entry | None:
    """The entry of that name in our tables, of which only the system's own part is read.

    None is no answer: a table may have a name of another system, and other packages and programs have entries too.
    """
    system = name.partition(":")[0]
    for table in TABLES:
        for known in read_table(_sections(table).get(system, "")):
            if name in known:
                return known[name]
    return None


@cache
def _sections(table: str) -> dict[str, str]:
    """The lines of a table by their systems, in the order of the table."""
    found: dict[str, str] = {}
    for section in table.strip("\n").split("\n\n"):
        system = section.partition(" ")[0]
        found[system] = f"{found[system]}\n{section}" if system in found else section
    return found


def _from_packages() -> Iterator[Entry]:
    """The entries of other packages; one that cannot be used is left out with a warning."""
    from ..plugins import entry_points_of

    for point in entry_points_of(ENTRY_POINTS):
        try:
            given = point.load()
            several = [given] if isinstance(given, Entry) else list(given)
            for entry in several:
                check_entry(entry)
        except (ImportError, AttributeError, TypeError, ShapeError) as error:
            warnings.warn(f"the formats {point.name!r} of another package cannot be used: {error}", stacklevel=2)
        else:
            yield from several


_added: set[str] = set()


def add_entry(entry: Entry) -> None:
    """Add an entry of a program's own, under a name that there is not."""
    check_entry(entry)
    known_entries()[0][entry.name] = entry
    _added.add(entry.name)
    clear_caches()


def remove_entry(name: str) -> None:
    """Take back an entry that the program added; every other one is refused."""
    if name not in _added:
        raise ShapeError(f"{shown(name)} was not registered.", hint="only what a program registered can go", name=name)
    del known_entries()[0][name]
    _added.remove(name)
    clear_caches()


def was_added(name: str) -> bool:
    """Whether a program added the entry of that name."""
    return name in _added


def check_entry(entry: Entry) -> None:
    """Refuse an entry whose name, axes and forms do not fit together."""
    if not isinstance(entry, Entry) or not re.fullmatch(_NAME, entry.name):
        raise ShapeError(
            f"{shown(entry)} is no entry.", hint='as in Entry("acme:Brick", "nhwc", {None: format}, "source")'
        )
    if not entry.forms or not all(isinstance(form, Format | Layout) for form in entry.forms.values()):
        raise ShapeError(f"{entry.name} has no form, or one that is no format.", hint="give forms={None: format}")
    for form in entry.forms.values():
        if form.rank != len(entry.axes) or (isinstance(form, Format) and form.axes != entry.axes):
            raise ShapeError(
                f"the axes {entry.axes!r} of {entry.name} are not those of {form}.", hint="give the format these axes"
            )


# ---- the table -------------------------------------------------------------------------------------------

Makers: TypeAlias = dict[int | None, Callable[[], Format | Layout]]


class TableForms(Mapping[int | None, Format | Layout]):
    """The forms of an entry of our tables, each made when it is first asked for."""

    __slots__ = ("_made", "_makers")

    def __init__(self, makers: Makers) -> None:
        self._makers = makers
        self._made: dict[int | None, Format | Layout] = {}

    def __getitem__(self, bits: int | None) -> Format | Layout:
        found = self._made.get(bits)
        if found is None:
            found = self._made[bits] = self._makers[bits]()
        return found

    def __contains__(self, bits: object) -> bool:
        return bits in self._makers

    def __iter__(self) -> Iterator[int | None]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __repr__(self) -> str:
        return repr(dict(self))


@cache
def read_table(table: str) -> tuple[dict[str, Entry], dict[str, Entry]]:
    """The entries of a table by name, and the other names that stand for one or, by the width, for several."""
    entries: dict[str, Entry] = {}
    others: dict[str, Entry] = {}
    makers: Makers
    system = provenance = name = ""
    for line in filter(None, table.splitlines()):
        words = line.split()
        if not line.startswith(" "):
            system, _, provenance = line.partition(" ")
        elif words[0] == ">":
            entries[name] = entries[name]._replace(note=" ".join(words[1:]))
        elif words[1] == "=":
            makers = {}
            for target in words[2:]:
                width, _, short = target.rpartition(":")
                meant = entries[f"{system}:{short}"]
                keys = {int(width): None} if width else {key: key for key in meant.forms}
                makers.update({key: partial(meant.forms.__getitem__, own) for key, own in keys.items()})
            name = words[0] if ":" in words[0] else f"{system}:{words[0]}"
            others[name] = meant._replace(
                name=name, forms=TableForms(makers), note=f"Another name of {', '.join(words[2:])}."
            )
        else:
            name, axes, widths = f"{system}:{words[0]}", words[1], words[2]
            bits = [] if widths == "-" else [int(width) for width in widths.split("|")]
            makers = _makers(axes, bits, " ".join(words[3:]))
            entries[name] = Entry(name, axes, TableForms(makers), provenance)
    return entries, others


def _makers(axes: str, bits: list[int], text: str) -> Makers:
    """The forms of one line of the table by width, not yet made; under None if there is one form only."""
    if len(bits) > 1:
        return {width: partial(_form, text, axes, width, width) for width in bits}
    return {None: partial(_form, text, axes, bits[0] if bits else None)}


def _form(text: str, axes: str, width: int | None, counted: int = 1) -> Format | Layout:
    """The form of a line; a tile is counted in elements of ``counted`` bits."""
    if ":" not in text:
        return _format(text, axes, width)
    from ast import literal_eval

    from ..algebra.recast import upcast

    tile = re.fullmatch(_TILE, text)
    if tile is None:
        return _format(text, axes, width)
    *swizzle, shape, stride = tile.groups()
    twist = Swizzle(*map(int, swizzle)) if swizzle[0] else None
    return upcast(Layout(literal_eval(shape), literal_eval(stride), swizzle=twist), counted)


def _format(text: str, axes: str, width: int | None = None) -> Format:
    """The format of a line, bytes counted in elements of that width."""
    if width is None:
        return Format.parse(f"{text} axes {axes}")
    counted = text
    if "B" in text:
        counted = re.sub(r"(\d+)B", lambda count: str(int(count[1]) * 8 // width), text)
    return Format.parse(f"{counted} axes {axes} element_bits {width}")
