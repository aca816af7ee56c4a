"""Plans for the compiled core: what it needs to know of two layouts, proven before it runs."""

from __future__ import annotations

import struct
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from ..elements import Element, storage_dtype
from ..image import check_places
from ..layout import Layout
from ..native import native
from ..nested import flatten
from .dims import dims

if TYPE_CHECKING:
    import numpy as np

MAX_REACH = 1 << 56
"""Layouts that go further are no memory, and are left to Python's integers."""

WIDTHS = (8, 16, 32, 64, 128)
"""The bits of elements that are moved as whole units."""


def compiled(source: Layout, target: Layout, kind: Element, fill: bytes | None, **options: Any) -> Any:
    """A program for two layouts of one shape, or None where the compiled core has none.

    With ``fill`` it writes all of the target's box, which is then :func:`dense`; else nothing beside the elements.
    """
    if native is None or kind.bits not in WIDTHS or source.swizzle is not None or target.swizzle is not None:
        return None
    if not target.size or max(reach(source), reach(target)) > MAX_REACH:
        return None
    found = dims(source, target, fill is not None)
    if found is None:
        return None
    try:
        return native.Program(
            kind.bits // 8, found.source, found.target, found.boxes, fill, buffer_formats(kind), **options
        )
    except ValueError:
        return None


def reach(layout: Layout) -> int:
    """No offset of the box, nor any part of one, is further from 0."""
    total = abs(layout.offset)
    for n, d in zip(flatten(layout.shape), flatten(layout.stride)):
        if n > 1:
            total += (n - 1) * abs(d)
    return total  # type: ignore[no-any-return]


def prove_places(target: Layout) -> bool:
    """Refuse a target where two elements share a place; tells whether its box is all of its storage, each place once.

    Strides that pass the reach of all smaller ones keep elements apart; only others need a closer look.
    """
    steps = sorted(
        [(abs(d), n, d) for n, d in zip(flatten(target.shape), flatten(target.stride)) if n > 1], key=_distance
    )
    lowest, end, dense = target.offset, 1, target.swizzle is None
    for distance, n, d in steps:
        if distance < end:
            check_places(target)
            return False
        dense = dense and distance == end
        lowest += (n - 1) * min(d, 0)
        end += (n - 1) * distance
    return dense and lowest == 0


def _distance(step: tuple[int, int, int]) -> int:
    return step[0]


@cache
def buffer_formats(kind: Element) -> str:
    """How the buffer protocol writes the type, each word between spaces; none for types that it does not know."""
    code = _CODES.get(kind.underlying.name)
    if code is None:
        code = _CODES.get(f"uint{kind.bits}", "")
    order = "<" if sys.byteorder == "little" else ">"
    same = [c for c in _INTEGERS if _alike(c, code)] if code in _INTEGERS else [code]
    return f" {' '.join([*same, f'={code}', f'{order}{code}'])} " if code else ""


def _alike(a: str, b: str) -> bool:
    return a.isupper() == b.isupper() and struct.calcsize(a) == struct.calcsize(b)


_CODES = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "complex64": "Zf",
    "complex128": "Zd",
}
_INTEGERS = "bhilqBHILQ"


def carrier(kind: Element) -> np.dtype[Any]:
    """numpy's type that elements are passed as: the stored one, or integers of its width where no buffer has it."""
    import numpy as np

    if kind.bits % 8 == 0 and kind.underlying.name not in _CODES and kind.bits <= 64:
        return np.dtype(f"uint{kind.bits}")
    return storage_dtype(kind) if kind.bits % 8 == 0 else np.dtype(np.uint8)
