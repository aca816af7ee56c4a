"""The refusal of a notation that cannot hold a layout."""

from __future__ import annotations

from ..errors import NotExpressible
from ..format.format import Format
from ..layout.layout import Layout


def cannot(x: Layout | Format, dialect: str, why: str, hint: str) -> NotExpressible:
    """``dialect`` has no words for ``x``."""
    return NotExpressible(f"{dialect} cannot hold {x}: {why}.", hint=hint, dialect=dialect, x=x)


def require_layout(x: Layout | Format, dialect: str) -> Layout:
    """``x`` itself if it is a layout; a format is refused where ``dialect`` writes shapes."""
    if isinstance(x, Layout):
        return x
    raise cannot(x, dialect, "it writes shapes, and a format has none yet", "render x.layout(shape)")
