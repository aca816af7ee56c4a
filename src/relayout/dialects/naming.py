"""Names of a program's own: ``register`` adds a named format to the catalog, ``unregister`` takes it back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from ..errors import ShapeError, shown
from ..format.entries import Entry, add_entry, remove_entry
from ..format.format import Format
from ..layout.layout import Layout
from .read import dialects_reading

_NAME = re.compile(r"[a-z][a-z0-9_]*:[A-Za-z][A-Za-z0-9_]*")


def register(
    name: str,
    form: Format | Layout | Mapping[int, Format | Layout],
    axes: str | None = None,
    *,
    provenance: str = "registered by the program",
    note: str = "",
) -> Entry:
    """Call a format, or the layout of a tile, by a name of your own, ``system:Name``: it is read wherever a name is.

    ``axes`` names its dimensions where the format does not. What depends on the width of the elements is a mapping
    from bits to formats. A name that is read already, with or without its system, is refused: no other text changes
    its meaning. The name holds until the program ends, or ``unregister`` takes it back.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ShapeError(f"{shown(name)} is no name.", hint="as in acme:Brick", name=name)
    short = name.partition(":")[2]
    for text in (name, short):
        readers = dialects_reading(text)
        if readers:
            raise ShapeError(
                f"{text!r} is read already, by {', '.join(readers)}.",
                hint="choose another name; rl.catalog.unregister takes back one that was registered",
                name=name,
            )
    forms: dict[int | None, Format | Layout] = {}
    for width, what in form.items() if isinstance(form, Mapping) else [(None, form)]:
        forms[width] = _with_axes(what, axes)
    given = axes or next((what.axes for what in forms.values() if isinstance(what, Format) and what.axes), None)
    if given is None:
        raise ShapeError(
            f"{name} does not name its dimensions.", hint="pass axes=, one letter for each, as in 'nhwc'", name=name
        )
    entry = Entry(name, given, MappingProxyType(forms), provenance, note)
    add_entry(entry)
    return entry


def unregister(name: str) -> None:
    """Take back a name that ``register`` added; names of the catalog itself stay."""
    remove_entry(name)


def _with_axes(what: Format | Layout, axes: str | None) -> Format | Layout:
    """A format with these names for its dimensions, if it has none."""
    return what.renamed(axes) if isinstance(what, Format) and what.axes is None and axes is not None else what
