"""Types of MLIR as sides of moves: tensors, memrefs with strides, packs, and the encodings that IREE resolved.

What a type leaves open says so: sizes and strides that are ``?``, and encodings that a later pass chooses. An offset
that is ``?`` moves all elements alike, and is read as 0.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ..elements.types import ELEMENTS, Element
from ..format.format import Format
from ..layout.layout import Layout
from .making import make_side
from .mlir_text import ShapedType, attribute, integers, read_shaped
from .move import Side

MOST_TYPES = 1 << 12
"""How many different types are remembered."""

_OFFSET = re.compile(r",\s*offset:\s*\?")
_INFO = re.compile(r"encoding_info\s*=\s*(\{[^{}]*\})")


def element_named(text: str) -> Element | None:
    """The element type of that word of MLIR; ``i1`` and what is no number are left open."""
    return next((e for e in ELEMENTS.values() if e.mlir == text and text != "i1"), None)


@lru_cache(maxsize=MOST_TYPES)
def type_side(text: str) -> tuple[ShapedType, Side] | None:
    """A shaped type, and the side that it is; None of any other type."""
    found = read_shaped(text)
    if found is None or found.word not in ("tensor", "memref"):
        return None
    element = element_named(found.element)
    if found.word == "memref":
        return found, _memref_side(found, element)
    if not found.rest:
        return found, plain_side(found, element)
    return found, encoding_side(found, element)


def plain_side(found: ShapedType, element: Element | None, memory: str = "") -> Side:
    """Row-major memory; with open sizes the format."""
    rank = len(found.sizes)
    if found.shape is not None:
        return Side("row-major", Layout.row_major(found.shape), element, memory)
    return Side("row-major", Format(rank, [(d, 0) for d in range(rank)]), element, memory)


def pack_side(words: str, found: ShapedType, element: Element | None) -> Side:
    """What ``linalg.pack`` with these attributes makes of a tensor of that type."""
    usual = f"outer_dims_perm = {list(range(len(found.sizes)))} "
    return make_side(words, dialect="mlir", shape=found.shape, element=element, shown=words.removeprefix(usual))


def pack_words(text: str, rank: int) -> tuple[str, str]:
    """The attributes of a pack or an unpack, all written out, or else why they do not tell the layout."""
    positions = integers(attribute(text, "inner_dims_pos"))
    tiles = integers(attribute(text, "inner_tiles") or attribute(text, "static_inner_tiles"))
    order = integers(attribute(text, "outer_dims_perm")) or tuple(range(rank))
    if positions is None or tiles is None or any(n < 1 for n in tiles):
        return "", "a tile is no number in the text"
    if len(positions) != len(tiles) or sorted(order) != list(range(rank)) or any(p >= rank for p in positions):
        return "", f"outer_dims_perm, inner_dims_pos and inner_tiles do not fit {rank} dimensions"
    return (
        f"outer_dims_perm = {list(order)} inner_dims_pos = {list(positions)} inner_tiles = {list(tiles)}",
        "",
    )


def encoding_side(found: ShapedType, element: Element | None) -> Side:
    """The side of a tensor with an encoding: IREE's resolved ones tell tiles, others are chosen later."""
    text = found.rest[0]
    name = text.partition("<")[0]
    if name == "#iree_encoding.identity":
        return plain_side(found, element)
    info = _INFO.search(text) if name in ("#iree_encoding.layout", "#iree_encoding.layouts") else None
    if info is None:
        return Side(name, None, element, "", f"{name} does not tell the layout: a later pass chooses it")
    words, why = pack_words(
        info[1]
        .replace("innerDimsPos", "inner_dims_pos")
        .replace("innerTileSizes", "inner_tiles")
        .replace("outerDimsPerm", "outer_dims_perm"),
        len(found.sizes),
    )
    if "swizzle" in info[1]:
        why = "its swizzle is not read"
    return Side(name, None, element, "", why) if why else pack_side(words, found, element)


def _memref_side(found: ShapedType, element: Element | None) -> Side:
    layouts = [part for part in found.rest if part.startswith(("strided", "affine_map"))]
    memory = ", ".join([part for part in found.rest if part not in layouts])
    if not layouts:
        return plain_side(found, element, memory)
    text = _OFFSET.sub("", layouts[0])
    if found.shape is None or "?" in text:
        return Side(layouts[0], None, element, memory, f"{layouts[0]} leaves strides or sizes open")
    sizes = "".join([f"{n}x" for n in found.shape])
    kind = "f32" if element is None else found.element
    side = make_side(f"memref<{sizes}{kind}, {text}>", dialect="mlir", shown=layouts[0], memory=memory)
    return side._replace(element=element)
