"""Two layouts, formats or texts over the same coordinates: axes that have names meet by name, others by position."""

from __future__ import annotations

from typing import Any

from ..dialects.registry import read, with_shape
from ..errors import ShapeError, shown
from ..format.format import Format
from ..layout.comparison import Comparison
from ..layout.comparison import compare as compare_layouts
from ..layout.layout import Layout, as_layout
from ..layout.ranges import ENUMERATION_LIMIT


def compare(
    a: Layout | Format | str,
    b: Layout | Format | str,
    flat: bool = False,
    limit: int = ENUMERATION_LIMIT,
    *,
    shape: Any = None,
    axes: str | None = None,
    dtype: Any = None,
) -> Comparison:
    """Whether ``a`` and ``b`` place every element alike; if not, where they first differ.

    Formats, and texts in any dialect, are compared for tensors of ``shape``, whose dimensions are in the order of
    ``axes``. Two formats that both have names for their axes meet by name, in the order of the first if ``axes`` is
    not given: shape and coordinates are in that order. Names that do not match are refused. ``dtype`` tells the width
    of the elements, for names of the catalog that depend on it.

    >>> print(compare("nChw8c", "NCHW8c", shape=(1, 20, 5, 5)))
    the same function
    """
    one, other = aligned(subject(a, "compare", dtype), subject(b, "compare", dtype), axes)
    if shape is None and not (isinstance(one, Layout) and isinstance(other, Layout)):
        shape = next((x.extents for x in (one, other) if isinstance(x, Layout)), None)
        if shape is None:
            raise ShapeError(
                "formats are compared for one shape.",
                hint="pass shape=(...), or ask a.equivalent(b) for every shape",
                a=a,
                b=b,
            )
    if shape is not None:
        one, other = with_shape(one, shape), with_shape(other, shape)
    return compare_layouts(as_layout(one, "compare"), as_layout(other, "compare"), flat, limit)


def aligned(a: Any, b: Any, axes: str | None = None) -> tuple[Any, Any]:
    """Both with their dimensions in one order: that of ``axes``, or where both have names that of the first."""
    if axes is None and isinstance(a, Format) and isinstance(b, Format) and a.axes and b.axes:
        axes = a.axes
    if axes is None:
        return a, b
    return tuple([x.aligned(axes) if isinstance(x, Format) else x for x in (a, b)])  # type: ignore[return-value]


def subject(x: Any, what: str, dtype: Any = None) -> Any:
    """The layout or format that ``x`` is, has (a tensor, an inference) or writes down."""
    found = x if isinstance(x, Layout | Format | str) else getattr(x, "layout", None)
    if isinstance(found, str):
        return read(found, dtype=dtype)
    if isinstance(found, Layout | Format):
        return found
    hint = "rl.infer(array).layout is that of an array" if hasattr(x, "shape") else "rl.parse(text) makes a layout"
    raise ShapeError(f"{what} takes layouts, formats, tensors and texts, got {shown(x)}.", hint=hint, got=x)
