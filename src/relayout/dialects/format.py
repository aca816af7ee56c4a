"""A format's own text: the order of the rests, a slash, the blocks, then words: ``0 1 2 3 / 1,8 2,8 3,32 fill 31``."""

from __future__ import annotations

from typing import Any

from ..format.format import Format, format_of
from ..layout.layout import Layout
from .refusal import cannot
from .scan import Scanner

EXAMPLES = ("1 0 / 0,2",)
"""Texts that it reads, one for each way to write."""


def parse(text: str) -> Format:
    return Format.parse(Scanner(text, "format", "0 1 / 0,8 1,4").text)


def render(x: Layout | Format, dtype: Any = None) -> str:
    if isinstance(x, Layout):
        if any(x.origin):
            why = f"it has no padding in front, and this starts at {x.origin}"
            raise cannot(x, "format", why, "pass left_pad with the shape")
        x = format_of(x)
    return str(x)
