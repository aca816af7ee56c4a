"""The notations: one module each with ``parse(text)`` and ``render(x, dtype)``, found by name.

A notation with shapes gives a ``Layout``, one without gives a ``Format``, or something else with a method
``layout(shape)``. Other packages add a dialect with an entry point in the group ``relayout.dialects`` that names such a
module.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from ..errors import LayoutError, ParseError, ShapeError, shown
from ..integers.inttuple import as_int

if TYPE_CHECKING:
    from ..format.format import Format
    from ..layout.layout import Layout

BUILT_IN = (
    "mojo",
    "cute",
    "htp",
    "coreai",
    "candle",
    "numpy",
    "torch",
    "onednn",
    "xla",
    "tvm",
    "mlir",
    "format",
)
_PREFIX = re.compile(r"\s*([a-z][a-z0-9_]*)\s*:(?!:)")


class Shapeless(Protocol):
    """Anything that makes a layout of a shape, as ``Format`` does."""

    def layout(self, shape: Any) -> Layout: ...


class Dialect(Protocol):
    """What a dialect module offers. ``dtype`` is the element type, for notations that write it or count bytes."""

    def parse(self, text: str) -> Layout | Shapeless: ...
    def render(self, x: Layout | Format, dtype: Any = None) -> str: ...


def named(name: str) -> Dialect:
    """The dialect of that name."""
    if name in BUILT_IN:
        return cast(Dialect, import_module(f".{name}", __package__))
    from importlib.metadata import entry_points

    for point in entry_points(group="relayout.dialects", name=name):
        return cast(Dialect, point.load())
    raise ShapeError(f"there is no dialect {name!r}.", hint=f"the built-in ones are {', '.join(BUILT_IN)}", name=name)


def names() -> list[str]:
    """Every dialect's name: the built-in ones, then those of other packages."""
    from importlib.metadata import entry_points

    return list(dict.fromkeys([*BUILT_IN, *sorted(entry_points(group="relayout.dialects").names)]))


# ---- reading ---------------------------------------------------------------------------------------------


def parse(text: str, dialect: str | None = None, shape: Any = None, *, dtype: Any = None) -> Layout | Format:
    """The layout, or the format, that ``text`` writes down; with a shape always the layout.

    The dialect is the one named, or a prefix of the text (``cute:(3,4):(4,1)``), or recognised when only one fits. A
    name of the catalog is read as well (``tensorrt:kCHW32``); where it depends on the width of the elements, ``dtype``
    tells it.
    """
    from ..format.format import Format
    from ..layout.layout import Layout

    found = read(text, dialect, dtype)
    if shape is not None:
        return with_shape(found, shape)
    if not isinstance(found, Layout | Format):
        raise ShapeError(f"{shown(text)} says nothing about the shape.", hint="pass shape=(...)", text=text)
    return found


def read(text: str, dialect: str | None = None, dtype: Any = None) -> Layout | Shapeless:
    """What ``text`` writes down, as far as it goes: a layout, or something that makes one of a shape."""
    from ..elements.types import element
    from ..format import catalog

    if not isinstance(text, str):
        raise ShapeError(f"parse takes a text, got {shown(text)}.", hint="pass a str", got=text)
    prefix = _PREFIX.match(text)
    if prefix and dialect in (None, prefix.group(1)) and (found := catalog.named(text.strip())) is not None:
        return found.at(None if dtype is None else element(dtype).bits)
    if prefix and dialect in (None, prefix.group(1)) and _is_known(prefix.group(1)):
        return _prefixed(text, prefix.group(1), prefix.end())
    return _recognised(text) if dialect is None else named(dialect).parse(text)


def with_shape(x: Layout | Shapeless, shape: Any) -> Layout:
    """The layout of ``x`` for a tensor of that shape; a layout must have it already."""
    from ..layout.layout import Layout

    sizes = tuple([as_int(n, "shape") for n in (shape if hasattr(shape, "__iter__") else (shape,))])
    if not isinstance(x, Layout):
        return x.layout(sizes)
    if x.extents != sizes:
        raise ShapeError(
            f"{x} has the extents {x.extents}, not {shown(shape)}.",
            hint="leave the shape out, or give a layout of that shape",
            layout=x,
            shape=shape,
        )
    return x


def _prefixed(text: str, name: str, end: int) -> Layout | Shapeless:
    """The layout after a dialect's name, or a name of the catalog, with errors that point into the whole text."""
    from ..format import catalog

    if name not in BUILT_IN and name not in names():
        return catalog.get(text.strip())
    try:
        return named(name).parse(" " * end + text[end:])
    except ParseError as error:
        words = {**error.operands, "text": text}
        near = [n for n in catalog.near(text.strip()) if n.startswith(f"{name}:") and text[end:].strip().isidentifier()]
        hint = f"did you mean {', '.join(near)}?" if near else error.hint
        raise ParseError(error.message, hint=hint, **words) from None


def _is_known(prefix: str) -> bool:
    """Whether a dialect has that name, or a system of the catalog."""
    from ..format import catalog

    return prefix in BUILT_IN or prefix in catalog.systems() or prefix in names()


def _recognised(text: str) -> Layout | Shapeless:
    """The only layout that a dialect reads in ``text``, or that the catalog knows by this name."""
    from ..format import catalog

    readings: dict[str, Layout | Shapeless] = {}
    errors: list[LayoutError] = []
    for candidate in BUILT_IN:
        try:
            readings[candidate] = named(candidate).parse(text)
        except LayoutError as error:
            errors.append(error)
    for name, entry in catalog.ENTRIES.items():
        system, _, short = name.partition(":")
        if short == text.strip() and system not in BUILT_IN:
            try:
                readings[name] = entry.format
            except ShapeError as error:
                errors.append(error)
    if len(set(readings.values())) > 1 and not _alike(list(readings.values())):
        groups: dict[Layout | Shapeless, list[str]] = {}
        for name, reading in readings.items():
            groups.setdefault(reading, []).append(name)
        listed = "; ".join([f"as {' or '.join(group)} it is {reading}" for reading, group in groups.items()])
        raise ParseError(
            f"the text is ambiguous: {listed}.",
            text=text,
            hint=f"name the dialect, as in {next(iter(readings))}:{text.strip()}",
            candidates=readings,
        )
    if readings:
        return next(iter(readings.values()))
    understood = [error for error in errors if not isinstance(error, ParseError)]
    if understood:
        raise understood[0]
    nearest = max([error for error in errors if isinstance(error, ParseError)], key=lambda e: e.position)
    near = catalog.near(text.strip()) if text.strip().isidentifier() else []
    if near or nearest.position <= len(text) - len(text.lstrip()):
        raise ParseError(
            f"no dialect reads this text: none of {', '.join(BUILT_IN)} gets past its beginning.",
            text=text,
            position=nearest.position,
            hint="name the dialect to see what it expects" + (f"; or did you mean {', '.join(near)}?" if near else ""),
        )
    raise ParseError(f"no dialect reads this text; {nearest.message}", hint=nearest.hint, **nearest.operands)


def _alike(readings: list[Any]) -> bool:
    """Whether all are the same format but for names of axes, which some of them have."""
    from ..format.format import Format

    if not all(isinstance(x, Format) for x in readings):
        return False
    named = {x.axes for x in readings if x.axes is not None}
    return len(named) <= 1 and all(x.equivalent(readings[0]) for x in readings)


# ---- writing ---------------------------------------------------------------------------------------------


def render(x: Layout | Format, dialect: str, *, padded: bool = False, dtype: Any = None) -> str:
    """A layout or a format in the words of ``dialect``; ``coreai:strict`` is Core AI's hardware constraints.

    Notations that count bytes or write element types need the ``dtype``. With ``padded`` a layout is written as its
    whole box, and a comment says so.
    """
    from ..format.format import Format
    from ..layout.layout import as_layout

    name, _, style = str(dialect).partition(":")
    module = named(name)
    if style:
        try:
            write = getattr(module, "STYLES", {})[style]
        except KeyError:
            raise ShapeError(f"{name} has no style {style!r}.", hint=f"leave it out: {name}", dialect=dialect) from None
    else:
        write = module.render
    if isinstance(x, Format):
        return cast(str, write(x, dtype))
    layout = as_layout(x, "render")
    if not padded or not layout.windowed:
        return cast(str, write(layout, dtype))
    return f"{write(layout.box, dtype)} /* the whole box: the data is {layout.extents} from {layout.origin} */"
