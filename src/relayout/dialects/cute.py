"""CuTe's form, ``((3,2),(2,5)):((1,6),(3,12))``; static integers ``_3`` are read as integers.

An offset or a swizzle makes it a composed layout, as CuTe prints it: ``Sw<3,4,3> o 5 o (8,64):(64,1)``.
"""

from __future__ import annotations

from typing import Any

from ..format import Format
from ..layout import Layout
from .refusal import cannot, shaped
from .scan import Scanner, written


def render(x: Layout | Format, dtype: Any = None) -> str:
    return _text(shaped(x, "cute"), "")


def static(layout: Layout) -> str:
    """The form CuTe prints for a layout whose integers are all static: ``(_3,_4):(_4,_1)``."""
    return _text(layout, "_")


def _text(layout: Layout, mark: str) -> str:
    if layout.windowed:
        hint = "padded=True writes the whole box; the mojo form keeps the window"
        raise cannot(layout, "cute", "it has no window, and this uses a part of its box only", hint)
    text = f"{written(layout.shape, ',', mark)}:{written(layout.stride, ',', mark)}"
    if layout.swizzle is None and layout.offset == 0:
        return text
    swizzle = "<0,0,0>" if layout.swizzle is None else str(layout.swizzle)
    return f"Sw{swizzle} o {written(layout.offset, ',', mark)} o {text}"


def parse(text: str) -> Layout:
    scan = Scanner(text, "cute", "((3,2),4):((1,6),12)")
    swizzle, offset = None, 0
    if scan.accept("Sw"):
        swizzle = scan.swizzle()
        scan.expect("o")
        offset = scan.number()
        scan.expect("o")
    shape = scan.sizes(scan.tuple_())
    scan.expect(":")
    stride = scan.tuple_()
    scan.end()
    return Layout(shape, stride, offset=offset, swizzle=swizzle)
