"""How large a layout or a nested tuple is."""

from __future__ import annotations

from typing import Any

from ..integers.inttuple import as_ints
from ..integers.nested import depth as nested_depth
from ..integers.nested import product
from .layout import Layout, as_layout


def rank(x: Any) -> int:
    """The number of top-level modes of a layout or a tuple; an integer has one."""
    shape = x.shape if isinstance(x, Layout) else as_ints(x)
    return len(shape) if isinstance(shape, tuple) else 1


def depth(x: Any) -> int:
    """The nesting depth of a layout's shape or of a tuple; an integer has depth 0."""
    return nested_depth(x.shape if isinstance(x, Layout) else as_ints(x))


def size(x: Any) -> int:
    """The number of coordinates of a layout, or the product of a tuple."""
    return x.size if isinstance(x, Layout) else product(as_ints(x))


def cosize(layout: Layout) -> int:
    """One more than the largest index of a layout, offset and swizzle left aside."""
    return as_layout(layout, "cosize").cosize
