"""The layout of a table: one offset for each coordinate, some of them unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import LimitExceeded, ShapeError, Undetermined, shown
from ..probes import PROBE_LIMIT
from .boxes import inference_of
from .fit import empty_layout, fit, fit_lines
from .live import is_array, on_host
from .relations import OpenLines
from .result import Inference

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OFFSET_LIMIT = 1 << 55
"""Offsets of a table stay below this, so that sums of one difference per dimension are exact in int64."""


def from_table(offsets: Any) -> Inference:
    """The layout that has every offset that the table gives; where it leaves some open, the simplest such layout."""
    table, known = _checked_table(offsets)
    if table.size == 0:
        return inference_of(empty_layout(table.shape))
    found = fit(table, known)
    seen = int(known.sum())
    if not isinstance(found, OpenLines):
        return inference_of(found.layout(), seen=seen)
    lines = found.continuation()
    simple = None if lines is None else fit_lines(lines, table, known)
    if simple is not None:
        return inference_of(simple.layout(), seen=seen, missing=found.missing, next_probe=found.missing)
    raise Undetermined(
        f"{found.question()}: {seen} of {table.size} offsets are known.",
        hint="give the offsets at `missing`, or those of any coordinates that connect them to the known ones",
        missing=found.missing,
    )


def _checked_table(offsets: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The table as int64, and which of its entries are known."""
    import numpy as np

    table = np.ma.asarray(offsets) if isinstance(offsets, np.ma.MaskedArray) else _as_table(offsets)
    known = ~np.ma.getmaskarray(table)
    values = np.ma.getdata(table)
    if values.size > PROBE_LIMIT:
        raise LimitExceeded(
            f"a table of {values.size} offsets is over the limit of {PROBE_LIMIT}.",
            hint="infer from a part that still has several blocks along each dimension",
            limit=PROBE_LIMIT,
        )
    if values.dtype == object:
        known &= np.array([v is not None for v in values.reshape(-1)], bool).reshape(values.shape)
        values = np.where(known, values, 0)
        bad = next((v for v in values.reshape(-1) if isinstance(v, bool) or not isinstance(v, int | np.integer)), None)
        if bad is not None:
            raise ShapeError(f"an offset is an integer, got {shown(bad)}.", hint="None is an unknown offset", got=bad)
    elif values.size and values.dtype.kind not in "iu":
        raise ShapeError(
            f"offsets are integers, got a table of {values.dtype}.", hint="count in elements", got=values.dtype
        )
    seen = values[known]
    if seen.size and (int(seen.max()) >= OFFSET_LIMIT or int(seen.min()) <= -OFFSET_LIMIT):
        raise LimitExceeded(
            f"offsets of {OFFSET_LIMIT} and more are not inferred from.", hint="subtract a base", limit=OFFSET_LIMIT
        )
    exact = np.where(known, values, 0).astype(np.int64)
    if seen.size and int(seen.min()) == -1:
        known &= exact != -1
    return exact, known


def _as_table(offsets: Any) -> NDArray[Any]:
    """Nested lists or any array as a numpy array."""
    import numpy as np

    if is_array(offsets) and not (isinstance(offsets, np.ndarray) and offsets.dtype.kind == "O"):
        return on_host(offsets, "the table")
    try:
        return np.array(offsets)
    except (ValueError, OverflowError):
        raise ShapeError(
            f"{shown(offsets)} is no table.", hint="nest lists of equal lengths, one per dimension", got=type(offsets)
        ) from None
