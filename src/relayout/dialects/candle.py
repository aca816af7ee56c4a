"""Candle's debug form: ``Layout { shape: [2, 3, 4], stride: [12, 4, 1], start_offset: 0 }``."""

from __future__ import annotations

from typing import Any

from ..format.format import Format
from ..layout.layout import Layout
from .refusal import require_layout
from .scan import Scanner
from .strided import sizes_and_strides

EXAMPLES = ("Layout { shape: [2, 3], stride: [1, 2], start_offset: 5 }",)
"""Texts that it reads, one for each way to write."""


def parse(text: str) -> Layout:
    scan = Scanner(text, "candle", "Layout { shape: [2, 3], stride: [3, 1], start_offset: 0 }")
    for token in ("Layout", "{", "shape", ":"):
        scan.expect(token)
    shape = scan.sizes(scan.bracketed_integers())
    for token in (",", "stride", ":"):
        scan.expect(token)
    stride = scan.bracketed_integers()
    for token in (",", "start_offset", ":"):
        scan.expect(token)
    offset = scan.integer()
    scan.accept(",")
    scan.expect("}")
    scan.end()
    return Layout(shape, stride, offset=offset)


def render(x: Layout | Format, dtype: Any = None) -> str:
    shape, stride, offset = sizes_and_strides(require_layout(x, "candle"), "candle")
    return f"Layout {{ shape: {list(shape)}, stride: {list(stride)}, start_offset: {offset} }}"
