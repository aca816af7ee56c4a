"""XLA's shapes: ``f32[8,128]{1,0:T(8,128)(2,1)}``; the element type, the layout and the tiles may be left out.

The dimensions in braces run from the fastest to the slowest. ``T`` tiles the fastest dimensions; every further tile
does so with the array that is stored by then. ``{1,0:T(8,128)}`` alone is a format. ``E(n)`` is the width of an element
in bits. Of an instruction, ``%x = f32[8,128]{1,0} add(...)``, the result counts. The name of an operand behind its
shape is read over, and so is a memory space, ``S(n)``, which says where an array is and not how. JAX's
``Layout(major_to_minor=(0, 1), tiling=((8, 128),))`` is read as the format that it is.
"""

from __future__ import annotations

import re
from typing import Any

from ..elements.types import ELEMENTS, element
from ..errors import ShapeError
from ..format.factors import MAX_FACTORS, Factor
from ..format.format import Format
from ..layout.layout import Layout
from .blocked import Stored, cut, plain_format, stored_format
from .scan import Scanner

_TYPES = {e.xla for e in ELEMENTS.values() if e.xla}
_ASSIGNED = re.compile(r"\s*(?:ROOT\s+)?%?[\w.-]+\s*=(?=\s*[a-z]\w*\[)", re.ASCII)
_OPERAND = re.compile(r"\s*%[\w.-]+\s*", re.ASCII)
_JAX = re.compile(
    r"\s*(?:DeviceLocal)?Layout\(major_to_minor=\((?P<order>[\d, ]*)\)"
    r"(?:, _?tiling=(?:None|\((?P<tiles>(?:\([\d, ]*\)[, ]*)*)\)))?"
    r"(?:, _?sub_byte_element_size_in_bits=(?P<bits>\d+))?\)\s*",
    re.ASCII,
)
_TYPE = re.compile(r"[a-z][a-z0-9]*")


EXAMPLES = (
    "f32[3,4]",
    "s8[3,4]{0,1}",
    "bf16[8,6]{1,0:T(4,3)(2,1)}",
    "{1,0:T(2,2)}",
)
"""Texts that it reads, one for each way to write."""


def parse(text: str) -> Layout | Format:
    if jax := _JAX.fullmatch(text):
        text = _of_jax(jax)
    scan = Scanner(text, "xla", "f32[8,128]{1,0:T(8,128)}")
    assigned = _ASSIGNED.match(scan.text)
    scan.position = assigned.end() if assigned else 0
    scan.peek()
    at = scan.position
    match = _TYPE.match(scan.text, scan.position)
    if match:
        scan.position = match.end()
        if match.group() not in _TYPES:
            scan.fail(f"an element type: {', '.join(sorted(_TYPES))}", at)
    shape = _dimensions(scan) if match or scan.peek() == "[" else None
    if scan.peek() == "{":
        fmt = _layout(scan)
    elif shape is None:
        scan.fail("a shape in [] or a layout in {}")
    else:
        fmt = Format(len(shape), [(d, 0) for d in range(len(shape))])
    if not assigned and not _OPERAND.fullmatch(scan.text, scan.position):
        scan.end()
    if shape is None:
        return fmt
    if len(shape) != fmt.rank:
        scan.fail(f"{len(shape)} dimensions in braces, as in brackets, got {fmt.rank}", len(scan.text.rstrip()) - 1)
    return fmt.layout(shape)


def _of_jax(found: re.Match[str]) -> str:
    """XLA's words for what JAX prints, which names the slowest dimension first."""
    order = ",".join(reversed(re.findall(r"\d+", found["order"])))
    tiles = "".join(re.findall(r"\(.*?\)", found["tiles"] or ""))
    bits = int(found["bits"] or 0)
    words = (f"T{tiles}" if tiles else "") + (f"E({bits})" if bits else "")
    return f"{{{order}:{words}}}" if words else f"{{{order}}}"


def _dimensions(scan: Scanner) -> tuple[int, ...]:
    if "<=" in scan.text[scan.position :].partition("]")[0]:
        raise scan.unknown("<=")
    return tuple(scan.sizes(scan.bracketed_integers()))


def _layout(scan: Scanner) -> Format:
    scan.expect("{")
    at = scan.position
    order: list[int] = []
    while scan.peek() not in (":", "}", ""):
        if order:
            scan.expect(",")
        order.append(scan.integer())
    if len(order) > MAX_FACTORS or sorted(order) != list(range(len(order))):
        scan.fail("every dimension once, the fastest first", at)
    stored = [Stored(d, 0, 1) for d in reversed(order)]
    bits = None
    if scan.accept(":"):
        if scan.accept("T"):
            while scan.peek() == "(":
                stored = _cut_by_tile(scan, stored)
        bits = _bits(scan)
    scan.expect("}")
    fmt = stored_format(len(order), stored)
    return fmt if bits is None else Format(fmt.rank, fmt.pairs, element_bits=bits)


def _cut_by_tile(scan: Scanner, stored: list[Stored]) -> list[Stored]:
    """The stored array cut by the next tile, whose last size belongs to its fastest dimension."""
    at = scan.position
    if "*" in scan.text[at:].partition(")")[0]:
        scan.fail("a size for every dimension of the tile; * merges dimensions, which no format does", at)
    sizes = scan.bracketed_integers("(", ")")
    if not stored:
        scan.fail("no tile: a scalar has no dimension to be tiled", at)
    if not 0 < len(sizes) <= len(stored) <= MAX_FACTORS or min(sizes) < 1:
        scan.fail(f"1 to {len(stored)} sizes >= 1, for the fastest dimensions of what is stored", at)
    try:
        outer, inner = cut(stored, range(len(stored) - len(sizes), len(stored)), sizes)
    except ShapeError as error:
        scan.fail(f"a tile that divides the one before it ({error.message.rstrip('.')})", at)
    return outer + inner


def _bits(scan: Scanner) -> int | None:
    """The width of the elements, ``E(n)``; a memory space, ``S(n)``, is read over."""
    found: dict[str, int] = {}
    while True:
        scan.peek()
        at = scan.position
        word = scan.word()
        if not word:
            return found.get("E")
        numbers = scan.bracketed_integers("(", ")") if word in ("E", "S") else ()
        if len(numbers) != 1 or word in found:
            scan.fail("tiles T(...), E(bits) or S(space), each once", at)
        found[word] = numbers[0]


def render(x: Layout | Format, dtype: Any = None) -> str:
    fmt = plain_format(x, "xla")
    tiles = "".join([f"({','.join(map(str, tile))})" for tile in _tiles(fmt)])
    order = ",".join([str(d) for d in reversed(fmt.order)])
    layout = f"{{{order}:T{tiles}}}" if tiles else f"{{{order}}}"
    if isinstance(x, Format):
        bits = "" if x.element_bits is None else f"E({x.element_bits})"
        return layout if not bits else f"{layout[:-1]}{'' if tiles else ':'}{bits}}}"
    kind = "" if dtype is None else element(dtype).word("xla")
    return f"{kind}[{','.join(map(str, x.extents))}]{layout if x.rank else ''}"


def _tiles(fmt: Format) -> list[list[int]]:
    """The sizes of the nested tiles: each run of blocks in the order of the dimensions cuts the tile before it."""
    blocks: list[Factor] = [f for f in fmt.blocks if f.size > 1]
    if not blocks:
        return []
    places = {d: k for k, d in enumerate(fmt.order)}
    first = min(places[f.dim] for f in blocks)
    cuts: list[dict[int, int]] = []
    last = fmt.rank
    for f in blocks:
        if places[f.dim] <= last:
            cuts.append({})
        last = places[f.dim]
        cuts[-1][last] = f.size
    tiles = []
    running = [1] * (fmt.rank - first)
    for sizes in reversed(cuts):
        running = [n * sizes.get(first + k, 1) for k, n in enumerate(running)]
        tiles.append(running)
    return tiles[::-1]
