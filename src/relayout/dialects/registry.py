"""The notations by name: the built-in ones, one module each, and those of other packages.

Another package adds a dialect by an entry point in the group ``relayout.dialects`` that names a module, or an object,
with ``parse`` and ``render``. It is read unprefixed, listed and proven (``relayout.testing``) as the built-in ones are.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from ..errors import ShapeError
from ..plugins import entry_points_of, load_entry

if TYPE_CHECKING:
    from ..format.entries import Entry
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
    "ttg",
    "einops",
    "format",
)

ENTRY_POINTS = "relayout.dialects"
"""The group of entry points that other packages name their dialects in."""


class Shapeless(Protocol):
    """Anything that makes a layout of a shape, as ``Format`` does; with an ``own_shape`` it has that one unasked."""

    def layout(self, shape: Any) -> Layout: ...


class Spelling(Protocol):
    """All that a text says, as its dialect keeps it: also what is no part of a layout or of a format.

    ``properties`` has that by its names. ``text`` writes it all, for a shape and an element type or for its own, and
    ``reserved_elements`` counts the elements that memory is reserved for.
    """

    @property
    def dialect(self) -> str: ...
    @property
    def properties(self) -> dict[str, str]: ...
    def text(self, shape: tuple[int, ...] | None = None, element: Any = None) -> str: ...
    def reserved_elements(self, shape: tuple[int, ...]) -> int: ...


class Dialect(Protocol):
    """What a dialect offers. ``dtype`` is the element type, for notations that write it or count bytes.

    ``parse`` refuses what is not its notation with a ``ParseError`` that points at the place. A text without a shape
    gives a ``Format``, a catalog ``Entry`` or anything else that makes a layout of a shape. ``render`` writes only what
    ``parse`` reads back as the same function, and refuses the rest with ``NotExpressible``.

    A dialect may also have ``EXAMPLES``, texts that it reads, ``STYLES``, other ways to write by their names,
    ``element(text)``, the element type that a text carries, or None, ``bits(text)``, the width that one tells without a
    type, or None, ``spelling(text)``, a ``Spelling``, and ``render_linear(x, dtype)``, which writes a ``LinearLayout``,
    with its ``LINEAR_STYLES``.
    """

    def parse(self, text: str) -> Layout | Shapeless | Entry: ...
    def render(self, x: Layout | Format, dtype: Any = None) -> str: ...


def dialect_named(name: str) -> Dialect:
    """The dialect of that name."""
    if name in BUILT_IN:
        return cast(Dialect, import_module(f".{name}", __package__))
    if name not in _entry_points():
        known = ", ".join(dialect_names())
        raise ShapeError(f"there is no dialect {name!r}.", hint=f"there are {known}", name=name)
    return _load(name)


def dialect_names() -> list[str]:
    """Every dialect's name: the built-in ones, then those of other packages."""
    return [*BUILT_IN, *_entry_points()]


def loadable_names() -> list[str]:
    """The names of the dialects that can be imported; a broken one of another package is left out with a warning."""
    names = list(BUILT_IN)
    for name in _entry_points():
        try:
            _load(name)
        except ShapeError as error:
            warnings.warn(error.message, stacklevel=2)
        else:
            names.append(name)
    return names


@cache
def _entry_points() -> dict[str, Any]:
    return {point.name: point for point in entry_points_of(ENTRY_POINTS) if point.name not in BUILT_IN}


@cache
def _load(name: str) -> Dialect:
    return cast(Dialect, load_entry(_entry_points()[name], "dialect", name=name))
