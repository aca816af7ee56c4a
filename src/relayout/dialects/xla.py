"""XLA's shapes: ``f32[8,128]{1,0:T(8,128)(2,1)}``; the element type, the layout and the tiles may be left out.

The dimensions in braces run from the fastest to the slowest. ``T`` tiles the fastest dimensions; every further tile
does so with the array that is stored by then. ``{1,0:T(8,128)}`` alone is a format. A tile of more dimensions than are
stored adds dimensions of size 1, one that does not divide what it cuts pads it, and ``*`` in one combines a dimension
with the next faster one; all these need the shape. A bound ``<=8`` in place of a size counts as 8, which is what memory
is reserved for. The other properties are kept beside the layout: ``spelling``. Of an
instruction, ``%x = f32[8,128]{1,0} add(...)``, the result counts. The name of an operand behind its shape is read over.
What JAX prints, ``Layout(major_to_minor=(0, 1), tiling=((8, 128),))``, is read as the format that it is.
"""

from __future__ import annotations

import re
from typing import Any

from ..elements.types import ELEMENTS, Element
from ..elements.types import element as element_of
from ..errors import NotExpressible, ShapeError
from ..format.factors import MAX_FACTORS, Factor
from ..format.format import Format, format_of
from ..immutable import NamedTuple
from ..layout.layout import Layout
from .blocked import Stored, cut, plain_format, stored_format
from .padded_tiles import COMBINED, elements_in_tiles, tiled_layout
from .scan import Scanner
from .xla_braces import Braces, read_braces

_TYPES = {e.xla: e for e in reversed(ELEMENTS.values()) if e.xla}
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
    "f32[5]{0:T(4)(3)}",
    "bf16[2048]{0:T(1024)(128)(2,1)}",
    "f32[4,6,8]{2,1,0:T(2,*,4)S(1)}",
    "f32[<=5,4]{1,0}",
)
"""Texts that it reads, one for each way to write."""


class XlaText(NamedTuple):
    """All that a text says: the sizes, if it has any, the element type, and what stands in braces.

    ``bounded`` are the dimensions whose size is a bound, as in ``f32[<=8,128]``.
    """

    shape: tuple[int, ...] | None
    element: Element | None
    braces: Braces
    bounded: tuple[int, ...] = ()
    dialect: str = "xla"

    @property
    def properties(self) -> dict[str, str]:
        """What stands behind the dimensions, by its name: ``{"T": "(8,128)(2,1)", "S": "(1)"}``."""
        return dict(self.braces.properties)

    def text(self, shape: tuple[int, ...] | None = None, element: Any = None) -> str:
        """As XLA prints it, for that shape and element type, else for its own."""
        kind = self.element if element is None else element_of(element)
        sizes = self.shape if shape is None else shape
        braces = str(self.braces)
        if sizes is None:
            return braces
        bounds = self.bounded if sizes == self.shape else ()
        inside = ",".join([f"<={n}" if d in bounds else str(n) for d, n in enumerate(sizes)])
        return f"{'' if kind is None else kind.word('xla')}[{inside}]{braces if braces != '{}' else ''}"

    def layout(self, shape: Any) -> Layout:
        """The layout of a tensor of that shape, for tiles that need one."""
        sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
        if len(sizes) != len(self.braces.order):
            raise ShapeError(
                f"shape {sizes} does not fit {self.braces}.", hint="one size for each dimension in braces", shape=sizes
            )
        return tiled_layout(sizes, self.braces.order[::-1], self.braces.tiles, self.braces.tail)

    def __str__(self) -> str:
        return self.text()

    def reserved_elements(self, shape: tuple[int, ...]) -> int:
        """The elements that memory is reserved for: whole tiles, of a scalar too, which as a layout has one element."""
        return elements_in_tiles(shape, self.braces.order[::-1], self.braces.tiles, self.braces.tail)


def parse(text: str) -> Layout | Format | XlaText:
    found = _read(text)
    stored = _cut_by_tiles(found.braces)
    if stored is None:
        return found if found.shape is None else found.layout(found.shape)
    fmt = _format(found.braces, stored)
    return fmt if found.shape is None else fmt.layout(found.shape)


def spelling(text: str) -> XlaText:
    """All that a text says, with what is no part of its layout."""
    return _read(text)


def _read(text: str) -> XlaText:
    scan, assigned = _scanner(text)
    at = scan.position
    match = _TYPE.match(scan.text, scan.position)
    if match:
        scan.position = match.end()
        if match.group() not in _TYPES:
            scan.fail(f"an element type: {', '.join(sorted(_TYPES))}", at)
    shape, bounded = _dimensions(scan) if match or scan.peek() == "[" else (None, ())
    if scan.peek() == "{":
        braces = read_braces(scan)
    elif shape is None:
        scan.fail("a shape in [] or a layout in {}")
    else:
        braces = Braces(tuple(range(len(shape)))[::-1])
    if not assigned and not _OPERAND.fullmatch(scan.text, scan.position):
        scan.end()
    if shape is not None and len(shape) != len(braces.order):
        rank = len(braces.order)
        scan.fail(f"{len(shape)} dimensions in braces, as in brackets, got {rank}", len(scan.text.rstrip()) - 1)
    return XlaText(shape, _TYPES[match.group()] if match else None, braces, bounded)


def element(text: str) -> Element | None:
    """The element type that a text carries."""
    scan, _ = _scanner(text)
    match = _TYPE.match(scan.text, scan.position)
    return _TYPES.get(match.group()) if match else None


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


def _dimensions(scan: Scanner) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The sizes, and which of them are bounds; a size that has no bound is refused."""
    scan.expect("[")
    sizes: list[int] = []
    bounded: list[int] = []
    while not scan.accept("]"):
        if sizes:
            scan.expect(",")
        if scan.accept("<="):
            bounded.append(len(sizes))
        if scan.peek() == "?":
            raise scan.unknown("?")
        sizes.append(scan.integer())
    return tuple(scan.sizes(tuple(sizes))), tuple(bounded)


def _format(braces: Braces, stored: list[Stored]) -> Format:
    """The format of any shape whose array is stored so."""
    fmt = stored_format(len(braces.order), stored)
    if braces.tail > 1:
        fmt = Format(fmt.rank, fmt.pairs, align=(braces.tail, *[1] * len(fmt.factors)))
    return fmt if braces.bits is None else Format(fmt.rank, fmt.pairs, align=fmt.align, element_bits=braces.bits)


def _cut_by_tiles(braces: Braces) -> list[Stored] | None:
    """The stored array cut by one tile after the other, the last size of each at its fastest dimension.

    None where that depends on the shape: a tile combines dimensions, has more than are stored, or pads inside.
    """
    stored = [Stored(d, 0, 1) for d in reversed(braces.order)]
    for sizes in braces.tiles:
        if COMBINED in sizes or not len(sizes) <= len(stored) <= MAX_FACTORS:
            return None
        try:
            outer, inner = cut(stored, range(len(stored) - len(sizes), len(stored)), sizes)
        except ShapeError:
            return None
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
    usual = fmt._unaligned and not any(f.rests for f in blocks)
    if len(blocks) not in (2, 3) or not usual or fmt.element_bits is not None:
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
