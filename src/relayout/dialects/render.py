"""``render``: a layout, a format or a sharding in the words of a dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ..errors import ShapeError
from ..format.format import Format
from ..layout.layout import Layout, as_layout
from .registry import dialect_named
from .shardings import is_sharding, render_sharding

if TYPE_CHECKING:
    from ..sharding.sharding import Sharding


def render(x: Layout | Format | Sharding, dialect: str, *, padded: bool = False, dtype: Any = None) -> str:
    """A layout, a format or a sharding in the words of ``dialect``; ``coreai:strict`` is Core AI's constraints.

    Notations that count bytes or write element types need the ``dtype``. With ``padded`` a layout is written as its
    whole box, and a comment says so.
    """
    if is_sharding(x):
        return render_sharding(x, dialect)
    name, _, style = str(dialect).partition(":")
    chosen = dialect_named(name)
    if style:
        try:
            write = getattr(chosen, "STYLES", {})[style]
        except KeyError:
            raise ShapeError(f"{name} has no style {style!r}.", hint=f"leave it out: {name}", dialect=dialect) from None
    else:
        write = chosen.render
    if isinstance(x, Format):
        return cast(str, write(x, dtype))
    layout = as_layout(x, "render")
    if not padded or not layout.windowed:
        return cast(str, write(layout, dtype))
    return f"{write(layout.box, dtype)} /* the whole box: the data is {layout.extents} from {layout.origin} */"
