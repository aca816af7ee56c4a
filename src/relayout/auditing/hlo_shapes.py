"""What HLO's shapes mean: the side of a move that a shape is, its bytes, and the arrays of a tuple."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ..dialects.resolve import resolve
from ..errors import LayoutError, NotExpressible
from ..layout.layout import Layout
from .hlo_text import parts
from .move import Side

SHAPES_KEPT = 1 << 14
"""How many different shapes are remembered; real programs have a few hundred."""


class Shaped(NamedTuple):
    """A shape that was read: its side, and its sizes where it is an array."""

    side: Side
    shape: tuple[int, ...]
    tiled: bool = False

    @property
    def bytes(self) -> int:
        """The bytes of memory that it takes, padding included; 0 where nothing tells."""
        return self.side.stored_bytes or 0


@lru_cache(maxsize=SHAPES_KEPT)
def read_shape(text: str) -> Shaped:
    """The array that a shape's text describes; of a tuple, and of what is not understood, a side that says why.

    Elements of less than a byte are stored one a byte, unless ``E`` tells their width.
    """
    if not text:
        return Shaped(Side("?", why="no line says the operand's shape"), ())
    if text.startswith("("):
        return Shaped(Side(text, why="a tuple has no layout of its own"), ())
    own = text[2:-1] if text.startswith("b(") else text
    try:
        found = resolve(own, dialect="xla")
        layout, said = found.placed, found.spelling
    except LayoutError as error:
        return Shaped(Side(text, why=error.message), ())
    if found.element is None or said is None:
        return Shaped(Side(text, layout), layout.extents)
    bits = int(said.properties.get("E", "(0)")[1:-1]) or -(-found.element.bits // 8) * 8
    memory = "".join([name + said.properties[name] for name in ("S", "SC") if name in said.properties])
    reserved = -(-said.reserved_elements(layout.extents) * bits // 8) + int(said.properties.get("M", "(0)")[1:-1])
    side = Side(own, layout, found.element._replace(bits=bits), memory, reserved=reserved)
    return Shaped(side, layout.extents, "T" in said.properties)


@lru_cache(maxsize=SHAPES_KEPT)
def bytes_of(text: str) -> int:
    """The bytes of memory that a shape's text describes, of a tuple those of all its arrays; 0 where nothing tells."""
    return sum([read_shape(leaf).bytes for leaf in leaves(text)])


def leaves(text: str) -> list[str]:
    """The arrays of a tuple's shape in their order, those of nested tuples too; an array is its own only one."""
    if not text.startswith("("):
        return [text] if text else []
    inside = re.sub(r"/\*.*?\*/", "", text)[1:-1]
    return [leaf for part in parts(inside) for leaf in leaves(part.strip())]


def in_smaller_elements(side: Side, ratio: int) -> Side:
    """A side whose memory is seen as elements of ``1/ratio`` the width, which are one more dimension, the last."""
    layout = side.layout
    if not isinstance(layout, Layout) or layout.swizzle is not None:
        raise NotExpressible(f"{side.text} is no layout of wider elements.", hint="give both sides as layouts")
    wider = Layout(
        (*_modes(layout.shape), ratio),
        (*[_times(stride, ratio) for stride in _modes(layout.stride)], 1),
        offset=layout.offset * ratio,
        extents=(*layout.extents, ratio),
        origin=(*layout.origin, 0) if layout.windowed else None,
    )
    return side._replace(layout=wider)


def _modes(x: object) -> tuple[object, ...]:
    return x if isinstance(x, tuple) else (x,)


def _times(stride: object, ratio: int) -> object:
    return tuple([_times(s, ratio) for s in stride]) if isinstance(stride, tuple) else stride * ratio  # type: ignore[operator]
