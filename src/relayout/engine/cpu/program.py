"""Programs of the compiled core: what it needs to know of two layouts, proven before it runs."""

from __future__ import annotations

import struct
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from ...elements.interface import Interface
from ...elements.types import Element, storage_dtype
from ...layout.layout import Layout
from ...native import native
from ..nest import loop_nest
from ..places import reach

if TYPE_CHECKING:
    import numpy as np

MAX_REACH = 1 << 56
"""Layouts that go further are no memory, and are left to Python's integers."""

WIDTHS = (8, 16, 32, 64, 128)
"""The bits of elements that are moved as whole units."""


def compile_program(
    source: Layout, target: Layout, element: Interface, dst_element: Interface, fill: bytes | None, **options: Any
) -> Any:
    """A program for two layouts of one shape, or None where the compiled core has none.

    With ``fill``, between equal interfaces, it writes all of the target's box, which has each place once; else nothing
    beside the elements.
    """
    if native is None or source.swizzle is not None or target.swizzle is not None or not target.size:
        return None
    kind, other = element.element, dst_element.element
    if kind.bits not in WIDTHS or other.bits not in WIDTHS or max(reach(source), reach(target)) > MAX_REACH:
        return None
    if element != dst_element:
        from ..conversion import conversion

        options["convert"] = conversion(element, dst_element)
        options["target_formats"] = buffer_formats(other)
        if options["convert"] is None or fill is not None:
            return None
    nest = core_nest(source, target, fill is not None)
    if nest is None:
        return None
    try:
        return native.TiledProgram(kind.bits // 8, *nest, fill, buffer_formats(kind), **options)
    except ValueError:
        return None


def core_nest(source: Layout, target: Layout, padded: bool) -> tuple[int, int, list[list[Any]]] | None:
    """The loops of two layouts as a program takes them: where both start, and the boxes of every dimension.

    A box says whether it holds data, the offsets that it adds to source and target, and its loops.
    """
    nest = loop_nest(source, target, padded)
    if nest is None:
        return None
    return nest.source, nest.target, [[(box.data, *box[:3]) for box in dim] for dim in nest.dims]


def speed_of_tiles(program: Any) -> float:
    """About how many bytes the program's largest part moves in a nanosecond, where that is little; else very many."""
    step = max(program.passes(True), key=lambda step: step["iterations"] * step["tile_bytes"])
    return float(step["speed"])


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


@cache
def buffer_dtype(kind: Element) -> np.dtype[Any]:
    """numpy's dtype that elements are passed as: the stored one, or integers of its width where no buffer has it."""
    import numpy as np

    if kind.bits % 8 == 0 and kind.underlying.name not in _CODES and kind.bits <= 64:
        return np.dtype(f"uint{kind.bits}")
    return storage_dtype(kind) if kind.bits % 8 == 0 else np.dtype(np.uint8)
