"""``render``: a layout, a format or a sharding in the words of a dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard, cast

from ..errors import NotExpressible, ShapeError
from ..format.format import Format
from ..layout.layout import Layout, as_layout
from .registry import Dialect, dialect_named
from .shardings import is_sharding, render_sharding

if TYPE_CHECKING:
    from ..algebra.linear import LinearLayout
    from ..sharding.sharding import Sharding


def render(
    x: Layout | Format | LinearLayout | Sharding, dialect: str, *, padded: bool = False, dtype: Any = None
) -> str:
    """A layout, a format or a sharding in the words of ``dialect``; ``coreai:strict`` is Core AI's constraints.

    Notations that count bytes or write element types need the ``dtype``. With ``padded`` a layout is written as its
    whole box, and a comment says so. A ``LinearLayout`` is written by ``ttg``: ``#ttg.linear``, or where it is one
    ``#ttg.blocked`` by the style ``ttg:blocked``.
    """
    if is_sharding(x):
        return render_sharding(x, dialect)
    name, _, style = str(dialect).partition(":")
    chosen = dialect_named(name)
    if _is_linear(x):
        return _render_linear(x, chosen, name, style, dtype)
    write = _style(getattr(chosen, "STYLES", {}), name, style) if style else chosen.render
    if isinstance(x, Format):
        return cast(str, write(x, dtype))
    layout = as_layout(x, "render")
    if not padded or not layout.windowed:
        return cast(str, write(layout, dtype))
    return f"{write(layout.box, dtype)} /* the whole box: the data is {layout.extents} from {layout.origin} */"


def _is_linear(x: Any) -> TypeGuard[LinearLayout]:
    if isinstance(x, Layout | Format):
        return False
    from ..algebra.linear import LinearLayout

    return isinstance(x, LinearLayout)


def _style(styles: dict[str, Any], name: str, style: str) -> Any:
    if style not in styles:
        known = f", or {', '.join([f'{name}:{other}' for other in styles])}" if styles else ""
        raise ShapeError(f"{name} has no style {style!r}.", hint=f"leave it out: {name}{known}", dialect=name)
    return styles[style]


def _render_linear(x: LinearLayout, chosen: Dialect, name: str, style: str, dtype: Any) -> str:
    write = getattr(chosen, "render_linear", None)
    if write is None:
        raise NotExpressible(
            f"{name} has no words for a LinearLayout.",
            hint="ttg has; to_layout() makes a layout of one with a single output",
            dialect=name,
            x=x,
        )
    if style:
        write = _style(getattr(chosen, "LINEAR_STYLES", {}), name, style)
    return cast(str, write(x, dtype))
