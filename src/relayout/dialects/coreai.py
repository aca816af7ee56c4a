"""Core AI's form: ``shape=[8, 6], strides=[24, 4] interleaveLayout=InterleaveLayout(dimension: 0, factor: 4)``.

Without an interleaved dimension it ends in ``interleaveLayout=nil`` (or leaves that out).
"""

from __future__ import annotations

from .. import coreai
from ..format import Format, shaped
from ..layout import Layout
from .scan import Scanner


def parse(text: str) -> Layout:
    scan = Scanner(
        text, "coreai", "shape=[8, 6], strides=[24, 4] interleaveLayout=InterleaveLayout(dimension: 0, factor: 4)"
    )
    scan.expect("shape")
    scan.expect("=")
    shape = scan.bracketed()
    scan.accept(",")
    scan.expect("strides")
    scan.expect("=")
    strides = scan.bracketed()
    scan.accept(",")
    interleave = None
    if scan.accept("interleaveLayout"):
        scan.expect("=")
        if not scan.accept("nil"):
            for token in ("InterleaveLayout", "(", "dimension", ":"):
                scan.expect(token)
            dimension = scan.integer()
            for token in (",", "factor", ":"):
                scan.expect(token)
            interleave = (dimension, scan.integer())
            scan.expect(")")
    scan.end()
    return coreai.layout(shape, strides, interleave)


def render(x: Layout | Format) -> str:
    shape, strides, interleave = coreai.describe(shaped(x, "coreai"))
    words = "nil" if interleave is None else f"InterleaveLayout(dimension: {interleave[0]}, factor: {interleave[1]})"
    return f"shape={list(shape)}, strides={list(strides)} interleaveLayout={words}"
