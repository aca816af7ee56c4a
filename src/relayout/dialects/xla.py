"""XLA's shapes: ``f32[8,128]{1,0:T(8,128)(2,1)}``; the element type, the layout and the tiles may be left out.

The dimensions in braces run from the fastest to the slowest. ``T`` tiles the fastest dimensions; every further tile
does so with the array that is stored by then. ``{1,0:T(8,128)}`` alone is a format. A tile of more dimensions than are
stored adds dimensions of size 1, and one that does not divide what it cuts pads it; both need the shape. ``E(n)`` is
the width of an element in bits, ``L(n)`` rounds the number of elements up. Of an instruction,
``%x = f32[8,128]{1,0} add(...)``, the result counts. The name of an operand behind its shape is read over, and so are
the properties that say nothing about places: the memory space ``S``, ``D``, ``M``, ``P``, ``SC``, ``#`` and ``*``. What
JAX prints, ``Layout(major_to_minor=(0, 1), tiling=((8, 128),))``, is read as the format that it is.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..elements.types import ELEMENTS, Element
from ..elements.types import element as element_of
from ..errors import NotExpressible, ShapeError
from ..format.factors import MAX_FACTORS, Factor
from ..format.format import Format, format_of
from ..layout.layout import Layout
from .blocked import Stored, cut, plain_format, stored_format
from .padded_tiles import tiled_layout
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
_PROPERTY = re.compile(r"\s*(?P<name>SC|[DELMPS#*])\((?:(?P<number>\d{1,18})|(?:[^()]|\([^()]*\))*)\)", re.ASCII)


EXAMPLES = (
    "f32[3,4]",
    "s8[3,4]{0,1}",
    "bf16[8,6]{1,0:T(4,3)(2,1)}",
    "{1,0:T(2,2)}",
    "f32[5]{0:T(4)(3)}",
    "bf16[2048]{0:T(1024)(128)(2,1)}",
)
"""Texts that it reads, one for each way to write."""


def parse(text: str) -> Layout | Format:
    scan, assigned = _scanner(text)
    at = scan.position
    match = _TYPE.match(scan.text, scan.position)
    if match:
        scan.position = match.end()
        if match.group() not in _TYPES:
            scan.fail(f"an element type: {', '.join(sorted(_TYPES))}", at)
    shape = _dimensions(scan) if match or scan.peek() == "[" else None
    if scan.peek() == "{":
        given = _layout(scan)
    elif shape is None:
        scan.fail("a shape in [] or a layout in {}")
    else:
        given = _Braces(tuple(range(len(shape)))[::-1])
    if not assigned and not _OPERAND.fullmatch(scan.text, scan.position):
        scan.end()
    if shape is None:
        return _format(scan, given)
    if len(shape) != len(given.order):
        rank = len(given.order)
        scan.fail(f"{len(shape)} dimensions in braces, as in brackets, got {rank}", len(scan.text.rstrip()) - 1)
    if not given.regular:
        return tiled_layout(shape, given.order[::-1], given.tiles, given.tail)
    return _format(scan, given).layout(shape)


def element(text: str) -> Element | None:
    """The element type that a text carries."""
    scan, _ = _scanner(text)
    match = _TYPE.match(scan.text, scan.position)
    return next((e for e in ELEMENTS.values() if match and e.xla == match.group()), None)


def _scanner(text: str) -> tuple[Scanner, bool]:
    """A scanner where the shape or the layout begins, and whether a name stands before it."""
    if jax := _JAX.fullmatch(text):
        text = _of_jax(jax)
    scan = Scanner(text, "xla", "f32[8,128]{1,0:T(8,128)}")
    assigned = _ASSIGNED.match(scan.text)
    scan.position = assigned.end() if assigned else 0
    scan.peek()
    return scan, assigned is not None


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


class _Braces(NamedTuple):
    """What stands in braces: the dimensions from the fastest on, tiles with their place in the text, and properties."""

    order: tuple[int, ...]
    tiles: tuple[tuple[int, ...], ...] = ()
    places: tuple[int, ...] = ()
    bits: int | None = None
    tail: int = 1

    @property
    def regular(self) -> bool:
        """Whether every tile divides what it cuts, so that shapes of any size have these tiles."""
        try:
            _cut_by_tiles(self)
        except ShapeError:
            return False
        return True


def _layout(scan: Scanner) -> _Braces:
    scan.expect("{")
    at = scan.position
    order: list[int] = []
    while scan.peek() not in (":", "}", ""):
        if order:
            scan.expect(",")
        order.append(scan.integer())
    if len(order) > MAX_FACTORS or sorted(order) != list(range(len(order))):
        scan.fail("every dimension once, the fastest first", at)
    tiles: list[tuple[int, ...]] = []
    places: list[int] = []
    found: dict[str, int] = {}
    if scan.accept(":"):
        if scan.accept("T"):
            while scan.peek() == "(":
                places.append(scan.position)
                tiles.append(_tile(scan))
        found = _properties(scan)
    scan.expect("}")
    return _Braces(tuple(order), tuple(tiles), tuple(places), found.get("E"), found.get("L", 1))


def _tile(scan: Scanner) -> tuple[int, ...]:
    at = scan.position
    if "*" in scan.text[at:].partition(")")[0]:
        scan.fail("a size for every dimension of the tile; * merges dimensions, which no format does", at)
    sizes = scan.bracketed_integers("(", ")")
    if not 0 < len(sizes) <= MAX_FACTORS or min(sizes) < 1:
        scan.fail("sizes >= 1, for the fastest dimensions of what is stored", at)
    return tuple(sizes)


def _properties(scan: Scanner) -> dict[str, int]:
    """The numbers of ``E`` and ``L``; the other properties, each once, are read over."""
    found: dict[str, int] = {}
    while match := _PROPERTY.match(scan.text, scan.position):
        name = match["name"]
        if name in found or (name in ("E", "L", "S", "M") and not match["number"]):
            scan.fail("properties, each once, with a number in E, L, M and S", scan.position)
        found[name] = int(match["number"] or 0)
        scan.position = match.end()
    if scan.peek() != "}":
        scan.fail("tiles T(...), then D, #, *, E, S, SC, L, M or P in parentheses, each once")
    if not found.get("L", 1):
        scan.fail("L(n) with n >= 1")
    return found


def _format(scan: Scanner, given: _Braces) -> Format:
    """The format of any shape that the braces are; refused where a tile pads inside or adds dimensions."""
    try:
        stored = _cut_by_tiles(given)
    except ShapeError as error:
        scan.fail(
            f"tiles that divide one another where there is no shape ({error.message.rstrip('.')})", given.places[0]
        )
    fmt = stored_format(len(given.order), stored)
    if given.tail > 1:
        fmt = Format(fmt.rank, fmt.pairs, align=(given.tail, *[1] * len(fmt.factors)))
    return fmt if given.bits is None else Format(fmt.rank, fmt.pairs, align=fmt.align, element_bits=given.bits)


def _cut_by_tiles(given: _Braces) -> list[Stored]:
    """The stored array cut by one tile after the other, the last size of each at its fastest dimension."""
    stored = [Stored(d, 0, 1) for d in reversed(given.order)]
    for sizes in given.tiles:
        if not len(sizes) <= len(stored) <= MAX_FACTORS:
            raise ShapeError(f"{sizes} has more sizes than the {len(stored)} stored dimensions.", hint="cut fewer")
        outer, inner = cut(stored, range(len(stored) - len(sizes), len(stored)), sizes)
        stored = outer + inner
    return stored


def render(x: Layout | Format, dtype: Any = None) -> str:
    if (special := _tiles_of_one_dimension(x)) is not None:
        kind = "" if dtype is None or isinstance(x, Format) else element_of(dtype).word("xla")
        return f"{'' if isinstance(x, Format) else f'{kind}[{x.extents[0]}]'}{{0:T{special}}}"
    fmt = plain_format(x, "xla")
    tiles = "".join([f"({','.join(map(str, tile))})" for tile in _tiles(fmt)])
    order = ",".join([str(d) for d in reversed(fmt.order)])
    layout = f"{{{order}:T{tiles}}}" if tiles else f"{{{order}}}"
    if isinstance(x, Format):
        bits = "" if x.element_bits is None else f"E({x.element_bits})"
        return layout if not bits else f"{layout[:-1]}{'' if tiles else ':'}{bits}}}"
    kind = "" if dtype is None else element_of(dtype).word("xla")
    return f"{kind}[{','.join(map(str, x.extents))}]{layout if x.rank else ''}"


def _tiles_of_one_dimension(x: Layout | Format) -> str | None:
    """The tiles ``(n)(m)(k,1)`` of a vector, as XLA has them for narrow types: rows of m, k of them together."""
    if x.rank != 1:
        return None
    try:
        fmt = format_of(x) if isinstance(x, Layout) else x
    except NotExpressible:
        return None
    blocks = [f for f in fmt.blocks if f.size > 1]
    if len(blocks) not in (2, 3) or not fmt._unaligned or fmt.element_bits is not None:
        return None
    row, together = blocks[-2:]
    if row.step != 1 or together.step != row.size:
        return None
    if len(blocks) == 3 and blocks[0].step != row.size * together.size:
        return None
    block = fmt.block_shape[0]
    return f"({block})({row.size})({together.size},1)"


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
