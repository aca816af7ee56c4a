"""Answers in the types of JSON, with layouts, formats, records and shardings by their parts."""

from __future__ import annotations

import math
from typing import Any

from ..dialects.shardings import is_sharding
from ..errors import LayoutError
from ..format.format import Format
from ..format.record import Record
from ..layout.layout import Layout
from ..layout.swizzle import Swizzle
from .facts import sharding_facts


def as_json(x: Any) -> Any:
    """``x`` in the types of JSON; layouts, formats, records, shardings with their parts, all else as text."""
    if isinstance(x, Layout):
        return _layout(x)
    if isinstance(x, Format):
        parts = {name: getattr(x, name) for name in ("rank", "order", "axes", "fill", "indirect", "align")}
        return as_json({"text": str(x), "blocks": x.pairs[x.rank :], **parts, "element_bits": x.element_bits})
    if isinstance(x, Record):
        return _record(x)
    if is_sharding(x):
        return {"text": str(x), **sharding_facts(x)}
    if isinstance(x, Swizzle):
        return list(x.parameters)
    if isinstance(x, LayoutError):
        return {"code": x.code, "name": type(x).__name__, "message": x.message, "hint": x.hint}
    if isinstance(x, dict):
        return {str(key): as_json(value) for key, value in x.items()}
    if isinstance(x, tuple | list):
        return [as_json(entry) for entry in x]
    if x is None or isinstance(x, str | bool | int) or (isinstance(x, float) and math.isfinite(x)):
        return x
    return as_json(x.item()) if hasattr(x, "item") and getattr(x, "ndim", 0) == 0 else str(x)


def _layout(x: Layout) -> dict[str, Any]:
    parts = {name: getattr(x, name) for name in ("shape", "stride", "offset", "extents", "origin", "swizzle")}
    return {"text": str(x), **as_json(parts), "size": x.size}


def _record(x: Record) -> dict[str, Any]:
    fields = []
    for field in x.fields:
        planes = [as_json(plane._asdict()) for plane in field.planes]
        fields.append({"name": field.name, "element": field.element, "zero": field.zero, "planes": planes})
    parts = {name: getattr(x, name) for name in ("axes", "block", "nbytes", "order", "value")}
    return {"text": str(x), **as_json(parts), "fields": fields}
