"""``compare``: layouts, formats, records, shardings or texts over the same coordinates, for one shape or every one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..algebra.composed import ComposedLayout
from ..dialects.read import as_record
from ..dialects.registry import Shapeless
from ..dialects.resolve import resolve, resolve_together
from ..dialects.shardings import as_sharding
from ..errors import LimitExceeded, ShapeError, shown
from ..format.format import Format
from ..format.record import Record
from ..layout.comparison import Comparison
from ..layout.comparison import compare as compare_layouts
from ..layout.layout import Layout
from ..layout.ranges import ENUMERATION_LIMIT
from .every_shape import FormatComparison, compare_formats
from .record_comparison import RecordComparison, compare_records

if TYPE_CHECKING:
    from ..sharding.comparison import ShardingComparison
    from ..sharding.sharding import Sharding


def compare(
    a: Layout | Format | Shapeless | Record | Sharding | ComposedLayout | str,
    b: Layout | Format | Shapeless | Record | Sharding | ComposedLayout | str,
    flat: bool = False,
    limit: int = ENUMERATION_LIMIT,
    *,
    shape: Any = None,
    axes: str | None = None,
    dtype: Any = None,
) -> Comparison | FormatComparison | RecordComparison | ShardingComparison:
    """Whether ``a`` and ``b`` place every element alike; if not, where they first differ.

    Formats, and texts in any dialect, are compared for tensors of ``shape``, whose dimensions are in the order of
    ``axes``. Two operands that both have names for their axes meet by name, in the order of the first if ``axes`` is
    not given: shape and coordinates are in that order. Names that do not match are refused. ``dtype`` tells the width
    of the elements, for names of the catalog that depend on it. Without any shape two formats are compared for every
    shape; those that differ are shown at a smallest one. A composition that is no layout is compared with a layout or
    another one value by value, up to ``limit``. Records are compared with records: every bit of every field, and what
    it means. Shardings are compared with shardings: which device holds what.

    >>> print(compare("nChw8c", "NCHW8c", shape=(1, 20, 5, 5)))
    the same function
    >>> print(compare("nChw8c", "aBcd8b"))
    the same function for every shape
    >>> print(compare("nChw8c", "nhwc"))
    for the shape (1, 1, 1, 2): different at (0, 0, 0, 1): 8 and 1
    >>> print(compare("ggml:Q4_0", "ggml:IQ4_NL"))
    every bit has the same place, but qs is uint4-8 and uint4; the value is d*qs and d*iq4nl[qs]
    """
    shardings = [as_sharding(x, shape) for x in (a, b)]
    if any(x is not None for x in shardings):
        return _compare_shardings(shardings, a, b, {"flat": flat, "axes": axes, "dtype": dtype})
    records = [as_record(x) for x in (a, b)]
    if any(x is not None for x in records):
        return _compare_records(records, a, b, shape, {"flat": flat, "axes": axes, "dtype": dtype}, limit)
    a, b = (x.collapse() if isinstance(x, ComposedLayout) else x for x in (a, b))
    if isinstance(a, ComposedLayout) or isinstance(b, ComposedLayout):
        return _compare_tables(a, b, flat, limit)
    operands = [resolve(x, element=dtype) for x in (a, b)]
    one, other = resolve_together(operands, shape=shape, axes=axes)
    if one.layout is not None and other.layout is not None:
        return compare_layouts(one.layout, other.layout, flat, limit)
    if isinstance(one.format, Format) and isinstance(other.format, Format):
        return compare_formats(one.format, other.format)
    raise ShapeError("the operands say nothing about the shape.", hint="pass shape=(...)", a=a, b=b)


def _compare_shardings(shardings: list[Sharding | None], a: Any, b: Any, given: dict[str, Any]) -> ShardingComparison:
    one, other = shardings
    if one is None or other is None:
        hint = "compare two shardings; sharding.local_layout(device) is the layout of one part"
        raise _unlike(a, b, one is not None, "a sharding", hint)
    from ..sharding.comparison import compare_shardings

    _refuse(given, "shardings")
    return compare_shardings(one, other)


def _unlike(a: Any, b: Any, first: bool, what: str, hint: str) -> ShapeError:
    """The error that only one of two operands, perhaps the first, is of a kind."""
    one, other = (a, b) if first else (b, a)
    return ShapeError(f"{shown(one)} is {what}, and {shown(other)} is none.", hint=hint, a=a, b=b)


def _refuse(given: dict[str, Any], what: str) -> None:
    said = [name for name, value in given.items() if value]
    if said:
        raise ShapeError(f"{what} are compared without {', '.join(said)}.", hint="leave it out", given=said)


def _compare_records(
    records: list[Record | None], a: Any, b: Any, shape: Any, given: dict[str, Any], limit: int
) -> RecordComparison:
    one, other = records
    if one is None or other is None:
        hint = "compare two records; record.planes(field, shape) has the layouts of one field"
        raise _unlike(a, b, one is not None, "a record", hint)
    _refuse(given, "records")
    return compare_records(one, other, shape, limit)


def _compare_tables(a: Any, b: Any, flat: bool, limit: int) -> Comparison:
    """Two functions of which one is no layout, value by value."""
    for x in (a, b):
        if not isinstance(x, Layout | ComposedLayout):
            raise ShapeError(
                "a composition is compared with a layout or a composition.",
                hint="format.layout(shape) makes one",
                got=x,
            )
    if a.extents != b.extents if not flat else a.size != b.size:
        return Comparison(a, b, domains=(a.extents, b.extents))
    if a.size > limit:
        raise LimitExceeded(
            f"{a.size} values are over the limit of {limit}.", hint="compare parts: C.view[...]", limit=limit, a=a, b=b
        )
    where = next((i for i in range(a.size) if a(i) != b(i)), None)
    if where is None:
        return Comparison(a, b)
    return Comparison(a, b, where if flat else a.coordinates(where).modes, (a(where), b(where)))
