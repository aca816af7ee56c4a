"""Numbers of bytes, as people write and read them."""

from __future__ import annotations

import re
from typing import Any

from ..errors import ShapeError, shown
from ..integers.inttuple import as_int

_UNITS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", 1):
    _UNITS |= {f"{_letter}b": 1000**_power, f"{_letter}ib": 1024**_power, _letter: 1024**_power}
_SIZE = re.compile(r"\s*(\d{1,18}(?:\.\d{1,9})?)\s*([a-zA-Z]*)\s*", re.ASCII)


def parse_size(x: Any) -> int:
    """A number of bytes: an integer, or a text such as ``"1GiB"``, ``"500 MB"`` or ``"64M"``."""
    if not isinstance(x, str):
        return as_int(x, "bytes")
    found = _SIZE.fullmatch(x)
    unit = None if found is None else _UNITS.get(found[2].lower())
    if found is None or unit is None:
        raise ShapeError(f"{shown(x)} is no number of bytes.", hint="such as 1GiB, 500MB or 64M", got=x)
    return int(float(found[1]) * unit) if "." in found[1] else int(found[1]) * unit


def format_size(size: int) -> str:
    """A number of bytes for people: ``"1.5 GiB"``."""
    value, units = float(size), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while abs(value) >= 1024 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{size} bytes" if units[0] == "bytes" else f"{value:.1f} {units[0]}"
