"""Texts: which layout one writes down, in the dialect that is named, or in the only one that fits."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from ..elements.types import Element
from ..errors import LayoutError, ParseError, ShapeError
from ..format import catalog
from ..format.entries import Entry
from ..format.format import Format
from ..format.name_changes import clear_on_change
from ..immutable import NamedTuple
from ..layout.layout import Layout
from .registry import BUILT_IN, Shapeless, Spelling, dialect_named, dialect_names, loadable_names
from .shardings import sharding_notation, split_prefix

if TYPE_CHECKING:
    from ..format.record import Record

_OF_ONE_WORD = ("onednn", "tvm")
_TAGS = """
nchw nhwc chwn ncw nwc ncdhw ndhwc oihw ohwi hwio NCHW NHWC NCDHW NDHWC OIHW OHWI HWIO nChw4c nChw8c nChw16c nChw32c
nCw16c nCdhw8c nCdhw16c OIhw4i4o OIhw8i8o OIhw8o8i OIhw16i16o OIhw16o16i Ohwi8o Ohwi16o gOIhw16i16o NCHW4c NCHW8c
NCHW16c NCHW32c NCDHW16c OIHW8i8o OIHW16i16o OIHW16o16i
"""


class Order(NamedTuple):
    """The words ``row-major``, the last dimension the fastest, and ``column-major``, for shapes of any rank."""

    name: str

    def layout(self, shape: Any) -> Layout:
        make = Layout.row_major if self.name == "row-major" else Layout.col_major
        return make(tuple(shape))

    def __str__(self) -> str:
        return self.name


ORDERS = {name: Order(name) for name in ("row-major", "column-major")}


@lru_cache(maxsize=1024)
def read(text: str, dialect: str | None, bits: int | None) -> Layout | Format | Shapeless | Record:
    """What a text writes down, as far as it goes; the name of a dialect or of a system may stand before it."""
    prefix, end = split_prefix(text)
    entry = catalog.lookup(text.strip()) if prefix and dialect in (None, prefix) else None
    if entry is not None:
        return entry.at(bits)
    if dialect is None and (record := read_record(text.strip())) is not None:
        return record
    if prefix and dialect in (None, prefix) and _is_known(prefix):
        return _form(_read_prefixed(text, prefix, end), bits)
    if dialect is None:
        if text.strip() in ORDERS:
            return ORDERS[text.strip()]
        from .phrases import phrase

        said = phrase(text)
        return _recognise(text, bits) if said is None else said.meaning
    entry = catalog.lookup(f"{dialect}:{text.strip()}")
    if entry is None and dialect in catalog.systems() and dialect not in dialect_names():
        entry = catalog.entry(f"{dialect}:{text.strip()}")
    return _form(dialect_named(dialect).parse(text) if entry is None else entry, bits)


@lru_cache(maxsize=1024)
def element_in(text: str, dialect: str | None) -> Element | None:
    """The element type that a text carries (``bf16`` of ``bf16[50,300]``), told by a dialect that reads the text."""
    from .phrases import phrase

    if dialect is None and (said := phrase(text)) is not None:
        return said.element
    return cast("Element | None", _tell(text, dialect, "element"))


@lru_cache(maxsize=1024)
def bits_in(text: str) -> int | None:
    """The width of an element that a text tells: that of its type, or the width alone, as ``itemsize=4`` does."""
    kind = element_in(text, None)
    return cast("int | None", _tell(text, None, "bits")) if kind is None else kind.bits


@lru_cache(maxsize=1024)
def spelling_in(text: str, dialect: str | None) -> Spelling | None:
    """All that a text says, kept by a dialect that reads the text and has notes beside layouts."""
    return cast("Spelling | None", _tell(text, dialect, "spelling"))


def _tell(text: str, dialect: str | None, what: str) -> Any:
    """What the first dialect that reads a text tells of it by its function ``what``; None where none does."""
    prefix, end = split_prefix(text)
    if dialect is None and (text.strip() in ORDERS or (prefix and catalog.lookup(text.strip()) is not None)):
        return None
    if dialect is None and prefix in BUILT_IN:
        dialect, text = prefix, text[end:]
    for name in BUILT_IN if dialect is None else [dialect]:
        function = getattr(dialect_named(name), what, None) if name in BUILT_IN else None
        try:
            found = None if function is None else function(text)
            if found is not None:
                dialect_named(name).parse(text)
                return found
        except LayoutError:
            continue
    return None


def read_record(text: str) -> Record | None:
    """The record that a text names or writes out; None for any other text."""
    if ":" not in text and not text.startswith("record "):
        return None
    from ..format.record import Record
    from ..format.records import lookup_record

    named = lookup_record(text) if ":" in text else None
    return named.record if named is not None else Record.parse(text) if text.startswith("record ") else None


def as_record(x: Any) -> Record | None:
    """The record that ``x`` is, names or writes out; None for anything else."""
    if isinstance(x, str):
        return read_record(x.strip())
    if isinstance(x, Layout | Format):
        return None
    from ..format.record import Record

    return x if isinstance(x, Record) else None


def _form(reading: Any, bits: int | None) -> Layout | Format | Shapeless:
    """A reading, which may be the name of a format for elements of every width."""
    form: Layout | Format | Shapeless = reading.at(bits) if isinstance(reading, Entry) else reading
    return form


def _read_prefixed(text: str, name: str, end: int) -> Any:
    """The layout after a dialect's name, or a name of the catalog, with errors that point into the whole text."""
    if name not in dialect_names():
        return catalog.get(text.strip())
    try:
        return dialect_named(name).parse(" " * end + text[end:])
    except ParseError as error:
        words = {**error.operands, "text": text}
        near = [n for n in catalog.near(text.strip()) if n.startswith(f"{name}:") and text[end:].strip().isidentifier()]
        hint = f"did you mean {', '.join(near)}?" if near else error.hint
        raise ParseError(error.message, hint=hint, **words) from None


def _is_like_a_name(word: str) -> bool:
    """Whether a word may be the name of a format, with or without its system."""
    system, colon, short = word.partition(":")
    return system.isidentifier() and (not colon or (short != "" and all(c.isalnum() or c in "_./" for c in short)))


def _near_tags(word: str) -> list[str]:
    """The usual tags of oneDNN and TVM that a word is like."""
    from difflib import get_close_matches

    return get_close_matches(word[:80], _TAGS.split(), 2, 0.75)


def _is_known(prefix: str) -> bool:
    """Whether a dialect has that name, or a system of the catalog."""
    return prefix in BUILT_IN or prefix in catalog.systems() or prefix in dialect_names()


def _recognise(text: str, bits: int | None) -> Layout | Format | Shapeless:
    """The only layout that a dialect reads in ``text``, or that the catalog knows by this name."""
    from . import calls
    from .phrases import near_notation

    readings: dict[str, Layout | Format | Shapeless] = {}
    errors: list[LayoutError] = []
    one_word = not any(c.isspace() or c in "<>{}(),=" for c in text.strip())
    dialects = loadable_names()
    for candidate in dialects:
        try:
            readings[candidate] = _form(dialect_named(candidate).parse(text), bits)
        except LayoutError as error:
            if one_word or candidate not in _OF_ONE_WORD or not isinstance(error, ParseError):
                errors.append(error)
    for entry in catalog.entries_called(text.strip()):
        if entry.name.partition(":")[0] not in dialects:
            try:
                readings[entry.name] = entry.at(bits)
            except ShapeError as error:
                errors.append(error)
    if len(set(readings.values())) > 1 and not _alike(list(readings.values())):
        groups: dict[Any, list[str]] = {}
        for name, reading in readings.items():
            groups.setdefault(reading, []).append(name)
        listed = "; ".join([f"as {' or '.join(group)} it is {reading}" for reading, group in groups.items()])
        raise ParseError(
            f"the text is ambiguous: {listed}.",
            text=text,
            hint=f"name the dialect, as in {next(iter(readings))}:{text.strip()}",
            candidates=readings,
        )
    understood = [error for error in errors if not isinstance(error, ParseError)]
    if readings and understood and calls.is_call(text, calls.CUTE):
        name, reading = next(iter(readings.items()))
        raise ParseError(
            f"the text is ambiguous: as {name} it is {reading}; otherwise it is refused: {understood[0].message}",
            text=text,
            hint=f"name the dialect, as in {name}:{text.strip()}",
            candidates=readings,
        )
    if readings:
        return next(iter(readings.values()))
    if understood:
        raise understood[0]
    nearest = max([error for error in errors if isinstance(error, ParseError)], key=lambda e: e.position)
    word = text.strip() if _is_like_a_name(text.strip()) else ""
    tags, names = _near_tags(word), catalog.near(word) if word else []
    instead = near_notation(text)
    if instead:
        raise ParseError("no dialect reads this text.", text=text, position=nearest.position, hint=instead)
    near = f"did you mean {', '.join([*tags, *names])}?" if tags or names else ""
    start = len(text) - len(text.lstrip())
    if names and not tags:
        what = "no dialect reads this text, and no format is called so."
        raise ParseError(what, text=text, position=start, hint=near)
    if nearest.position > start:
        what = f"no dialect reads this text; {nearest.message}"
        raise ParseError(what, hint=near or nearest.hint, **nearest.operands)
    raise ParseError(
        f"no dialect reads this text: none of {', '.join(dialects)} gets past its beginning.",
        text=text,
        position=nearest.position,
        hint=near or "name the dialect to see what it expects",
    )


def _alike(readings: list[Any]) -> bool:
    """Whether all are the same format but for names of axes, which some of them have."""
    if not all(isinstance(x, Format) for x in readings):
        return False
    named = {x.axes for x in readings if x.axes is not None}
    return len(named) <= 1 and all(x.equivalent(readings[0]) for x in readings)


def dialects_reading(text: str) -> list[str]:
    """Where a text is understood: the names of dialects, or ``catalog``; nowhere, if it is no layout's."""
    from ..format.records import known_records

    written = text.strip()
    if catalog.lookup(written) is not None or written in known_records():
        return ["catalog"]
    if written.startswith("record "):
        return ["record"]
    if (notation := sharding_notation(written)) is not None:
        return [notation]
    fitting = []
    for name in loadable_names():
        try:
            dialect_named(name).parse(written.removeprefix(f"{name}:"))
        except LayoutError:
            continue
        fitting.append(name)
    if fitting:
        return fitting
    return ["catalog"] if catalog.is_name(written) or written in ORDERS else []


clear_on_change(read.cache_clear)
clear_on_change(element_in.cache_clear)
clear_on_change(bits_in.cache_clear)
