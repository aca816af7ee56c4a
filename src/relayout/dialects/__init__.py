"""The notations: one module each with ``parse(text)`` and ``render(x)``, found by name.

A notation with shapes gives a ``Layout``, one without gives a ``Format``.

Other packages add a dialect with an entry point in the group ``relayout.dialects`` that names such a module.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from ..errors import ParseError, ShapeError, shown

if TYPE_CHECKING:
    from ..format import Format
    from ..layout import Layout

BUILT_IN = ("mojo", "cute", "htp", "coreai", "candle", "onednn", "tvm")
_PREFIX = re.compile(r"\s*([a-z]+)\s*:")


class Dialect(Protocol):
    """What a dialect module offers."""

    def parse(self, text: str) -> Layout | Format: ...
    def render(self, x: Layout | Format) -> str: ...


def named(name: str) -> Dialect:
    """The dialect of that name."""
    if name in BUILT_IN:
        return cast(Dialect, import_module(f".{name}", __name__))
    from importlib.metadata import entry_points

    for point in entry_points(group="relayout.dialects", name=name):
        return cast(Dialect, point.load())
    raise ShapeError(f"there is no dialect {name!r}.", hint=f"the built-in ones are {', '.join(BUILT_IN)}", name=name)


def parse(text: str, dialect: str | None = None, shape: Any = None) -> Layout | Format:
    """The layout, or the format, that ``text`` writes down; with a shape always the layout.

    The dialect is the one named, or a prefix of the text (``cute:(3,4):(4,1)``), or recognised when only one fits.
    """
    if not isinstance(text, str):
        raise ShapeError(f"parse takes a text, got {shown(text)}.", hint="pass a str", got=text)
    if dialect is not None:
        found = named(dialect).parse(text)
    else:
        prefix = _PREFIX.match(text)
        found = _prefixed(text, prefix.group(1), prefix.end()) if prefix else _recognised(text)
    return found if shape is None else with_shape(found, shape)


def with_shape(x: Layout | Format, shape: Any) -> Layout:
    """The layout of ``x`` for a tensor of that shape; a layout must have it already."""
    from ..format import Format

    if isinstance(x, Format):
        return x.layout(shape)
    if x.extents != tuple(shape if isinstance(shape, tuple | list) else (shape,)):
        raise ShapeError(
            f"{x} has the extents {x.extents}, not {shown(shape)}.", hint="leave the shape out", layout=x, shape=shape
        )
    return x


def _prefixed(text: str, name: str, end: int) -> Layout | Format:
    """The layout after a dialect's name, with errors that point into the whole text."""
    try:
        return named(name).parse(" " * end + text[end:])
    except ParseError as error:
        words = {**error.operands, "text": text}
        raise ParseError(error.message, hint=error.hint, **words) from None


def _recognised(text: str) -> Layout | Format:
    """The only layout that a built-in dialect reads in ``text``."""
    readings: dict[str, Layout | Format] = {}
    errors: list[ParseError] = []
    for candidate in BUILT_IN:
        try:
            readings[candidate] = named(candidate).parse(text)
        except ParseError as error:
            errors.append(error)
    if not readings:
        nearest = max(errors, key=lambda e: e.position)
        raise ParseError(f"no dialect reads this text; {nearest.message}", hint=nearest.hint, **nearest.operands)
    if len(set(readings.values())) > 1:
        raise ParseError(
            f"the text reads differently in {' and '.join(readings)}.",
            text=text,
            hint="name the dialect",
            candidates=readings,
        )
    return next(iter(readings.values()))


def render(x: Layout | Format, dialect: str) -> str:
    """A layout or a format in the words of ``dialect``."""
    from ..format import Format
    from ..layout import as_layout

    return named(dialect).render(x if isinstance(x, Format) else as_layout(x, "render"))
