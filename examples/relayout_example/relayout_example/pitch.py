"""A dialect: ``4x8@16,1`` is a tensor of 4 x 8 elements that lie 16 and 1 apart."""

from __future__ import annotations

import re
from typing import Any

from relayout import Format, Layout, NotExpressible, ParseError

EXAMPLES = ("4x8@16,1", "3@1", "2x3x4@12,4,1")

_TEXT = re.compile(r"\s*(\d{1,18}(?:x\d{1,18})*)@(\d{1,18}(?:,\d{1,18})*)\s*", re.ASCII)


def parse(text: str) -> Layout:
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ParseError("not a layout in pitch.", text=text, position=0, hint="write it as in 4x8@16,1")
    sizes = [int(n) for n in match[1].split("x")]
    strides = [int(n) for n in match[2].split(",")]
    if len(sizes) != len(strides):
        at = text.index("@")
        raise ParseError("expected a stride for every size.", text=text, position=at, hint="as in 4x8@16,1")
    return Layout(tuple(sizes), tuple(strides))


def render(x: Layout | Format, dtype: Any = None) -> str:
    if not isinstance(x, Layout):
        raise NotExpressible(f"pitch writes shapes, and {x} has none yet.", hint="render x.layout(shape)")
    plain = isinstance(x.shape, tuple) and x.depth == 1 and not x.windowed
    if not plain or x.offset or x.swizzle is not None or x.has_basis or min(x.stride, default=0) < 0:
        raise NotExpressible(f"pitch has sizes and strides alone, and {x} is more.", hint="use the mojo form")
    return f"{'x'.join(map(str, x.shape))}@{','.join(map(str, x.stride))}"
