"""MLIR's layouts: ``strided<[4, 1], offset: 2>``, affine maps, ``memref`` types with either, and ``linalg.pack``.

A map with one result is the offset; one with several is the index into the stored array, a format where the rests come
before the blocks, as the attributes of ``linalg.pack`` are; without ``outer_dims_perm`` these have the smallest rank
that has all tiled dimensions. Several packs, one after the other, compose. Only a ``memref`` has a shape; its element
type is written ``!T`` where it is not known. A ``tensor`` without an encoding is read in row-major order. A memory
space is read over. Of an operation, ``%x = memref.alloc() : memref<...>``, the last type counts.
"""

from __future__ import annotations

import re
from typing import Any

from ..elements.types import ELEMENTS, Element
from ..elements.types import element as element_of
from ..errors import LayoutError, NotExpressible, ShapeError
from ..format.factors import MAX_FACTORS, Factor
from ..format.format import Format, format_of
from ..immutable import NamedTuple
from ..layout.layout import Layout
from .affine import Affine, expression, layout_of, stored_layout
from .blocked import Stored, cut, stored_format
from .refusal import cannot
from .scan import Scanner
from .strided import Strides, sizes_and_strides

_ELEMENT = re.compile(r"complex<\w+>|vector<[\dx]+x\w+>|![\w.]+(?:<[^<>]*>)?|[a-z]\w*", re.ASCII)
_TYPE_IN = re.compile(r"\b(?:memref|tensor)<(?:\s*\d+\s*x)*\s*(complex<\w+>|[a-z]\w*)\s*[,>]", re.ASCII)
_SIZE = re.compile(r"(\d+|\?)\s*x\s*(?=\S)")
_PACK_OPERANDS = re.compile(r"\s*(?:%[\w#]+\s*=\s*)?(?:linalg|tensor)\.pack\s+%[\w#]+\s*(?:padding_value\([^()]*\))?")
_PACK_RESULT = re.compile(r"\s*into\s+%[\w#]+\s*:\s*tensor<([^<>]*)>\s*->\s*tensor<[^<>]*>")
_NAMED = re.compile(r"\s*(?:#\w+\s*=|%[\w#]+\s*:)(?=\s*(?:affine_map|strided|memref)\b)", re.ASCII)
_OPERATION = re.compile(r"\s*(?:%[\w#]+\s*=\s*)?memref\.\w+")
_SPACE = re.compile(
    r"""\d+(?:\s*:\s*[a-z]\w*)?|"[^"\n]*"|#[a-z]\w*\.\w*(?:space|storage_class|descriptor_type)\w*(?:<[^<>]*>)?"""
)


EXAMPLES = (
    "strided<[1, 3], offset: 2>",
    "memref<3x4xf32, strided<[4, 1]>, #gpu.address_space<workgroup>>",
    "tensor<16x256xbf16>",
    "affine_map<(d0, d1) -> (d1, d0)>",
    "affine_map<(d0, d1) -> (d0 floordiv 2, d1 floordiv 3, d0 mod 2, d1 mod 3)>",
    "affine_map<(d0, d1) -> (d0 mod 4 + (d0 + 4) floordiv 4 + ((d1 - 2) mod 3) * 4 + (d1 - 2) floordiv 3)>",
    "affine_map<(d0, d1) -> (((d0 + 1) floordiv 2) * 8 + (d0 + 1) mod 2 - (-d1) * 2 + 5)>",
    "affine_map<(d0, d1) -> (d1 mod 2, d0 + 1, d1 floordiv 2)>",
    "inner_dims_pos = [1, 0] inner_tiles = [2, 3]",
    "%1 = linalg.pack %0 outer_dims_perm = [1, 0] inner_dims_pos = [0] inner_tiles = [4] into %d : tensor<8x2xf32>"
    " -> tensor<2x2x4xf32>",
)
"""Texts that it reads, one for each way to write."""


def element(text: str) -> Element | None:
    """The element type that a ``memref`` or a ``tensor`` carries; ``i1`` is left open, since it may be a bool."""
    found = _TYPE_IN.findall(text)
    return next((e for e in ELEMENTS.values() if found and e.mlir == found[-1] and e.mlir != "i1"), None)


class AffineMap(NamedTuple):
    """An affine map for a shape that is still to come: the offset, or the index into the stored array.

    Each result is a constant, and digits with their coefficients.
    """

    rank: int
    results: tuple[tuple[int, tuple[tuple[Any, int], ...]], ...]

    def layout(self, shape: Any) -> Layout:
        sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
        if len(sizes) != self.rank:
            raise ShapeError(f"shape {sizes} does not fit a map of {self.rank} dimensions.", hint="one size for each")
        results = [Affine(constant, dict(terms)) for constant, terms in self.results]
        return layout_of(results[0], sizes) if len(results) == 1 else stored_layout(results, sizes)


def parse(text: str) -> Layout | Format | Strides | AffineMap:
    scan = Scanner(text, "mlir", "memref<3x4xf32, strided<[4, 1], offset: 2>>")
    found: Layout | Format | Strides | AffineMap
    if _OPERATION.match(scan.text) and "memref<" in scan.text:
        scan.position = scan.text.rindex("memref<")
    elif name := _NAMED.match(scan.text):
        scan.position = name.end()
    if scan.accept("memref"):
        found = _memref(scan)
    elif scan.accept("tensor<"):
        scan.position -= 1
        found = _memref(scan, spaces=False)
    elif scan.accept("strided"):
        found = _read_strided(scan)
    elif scan.accept("affine_map"):
        found = _map(scan)
    else:
        found = _packs(scan)
    scan.end()
    return found


def _read_strided(scan: Scanner) -> Strides:
    scan.expect("<")
    strides = scan.bracketed_integers()
    offset = 0
    if scan.accept(","):
        scan.expect("offset")
        scan.expect(":")
        offset = scan.integer()
    scan.expect(">")
    return Strides(strides, offset)


def _count_names(scan: Scanner, letter: str, closing: str) -> int:
    """How many names ``d0, d1, ...`` come before the closing bracket; they must be in order."""
    count = 0
    while not scan.accept(closing):
        if count:
            scan.expect(",")
        scan.expect(f"{letter}{count}")
        count += 1
    return count


def _map(scan: Scanner) -> Format | AffineMap:
    scan.expect("<")
    scan.expect("(")
    rank = _count_names(scan, "d", ")")
    if scan.accept("["):
        _count_names(scan, "s", "]")
    scan.expect("->")
    scan.expect("(")
    results: list[Affine] = []
    while not scan.accept(")"):
        if results:
            scan.expect(",")
        results.append(expression(scan, rank))
    scan.expect(">")
    digits = [result.digit() for result in results]
    if len(results) != 1 and all(digit is not None and not digit.shift for digit in digits):
        try:
            return stored_format(rank, [Stored(d.dim, d.mod, d.div) for d in digits if d is not None])
        except NotExpressible:
            pass
    return AffineMap(rank, tuple([(r.constant, tuple(r.terms.items())) for r in results]))


def _memref(scan: Scanner, spaces: bool = True) -> Layout:
    """The layout of a type behind its name; an encoding that is neither strides nor a map may be a memory space."""
    scan.expect("<")
    shape = []
    scan.peek()
    while match := _SIZE.match(scan.text, scan.position):
        if match.group(1) == "?":
            raise scan.unknown("?")
        shape.append(scan.integer())
        scan.position = match.end()
    if scan.peek() == "*":
        raise scan.unknown("*")
    if not (match := _ELEMENT.match(scan.text, scan.position)):
        scan.fail("sizes and an element type, as in 3x4xf32")
    scan.position = match.end()
    found: Format | Strides | AffineMap | None = None
    while scan.accept(","):
        scan.peek()
        at = scan.position
        named = scan.accept("strided") or scan.accept("affine_map")
        if named and found is None:
            found = _read_strided(scan) if scan.text[at] == "s" else _map(scan)
        elif named or not spaces or not (space := _SPACE.match(scan.text, at)):
            or_space = ", or a memory space" if spaces else ""
            scan.fail(f"one strided<...> or affine_map<...>{or_space}; paste what an alias stands for", at)
        else:
            scan.position = space.end()
    scan.expect(">")
    plain = Format(len(shape), [(d, 0) for d in range(len(shape))])
    return (plain if found is None else found).layout(tuple(shape))


def _packs(scan: Scanner) -> Format:
    """One ``linalg.pack`` or more; only its attributes, and the rank of its source, count."""
    stored: list[Stored] = []
    rank = 0
    while scan.peek() or not rank:
        _skip(scan, _PACK_OPERANDS)
        at = scan.position
        words: dict[str, tuple[int, ...]] = {}
        for name in ("outer_dims_perm", "inner_dims_pos", "inner_tiles"):
            if scan.accept(name):
                scan.expect("=")
                words[name] = scan.bracketed_integers()
        if len(words.get("inner_dims_pos", ())) != len(words.get("inner_tiles", ())) or "inner_tiles" not in words:
            scan.fail("memref, strided, affine_map, or inner_dims_pos = [...] inner_tiles = [...] of one length", at)
        result = _skip(scan, _PACK_RESULT)
        if not rank:
            typed = len(_SIZE.findall(result.group(1))) if result else 0
            rank = max([1, typed, len(words.get("outer_dims_perm", ())), *[d + 1 for d in words["inner_dims_pos"]]])
            if rank > MAX_FACTORS:
                scan.fail(f"at most {MAX_FACTORS} dimensions", at)
            stored = [Stored(d, 0, 1) for d in range(rank)]
        stored = _packed(scan, stored, words, at)
    return stored_format(rank, stored)


def _skip(scan: Scanner, pattern: re.Pattern[str]) -> re.Match[str] | None:
    match = pattern.match(scan.text, scan.position)
    if match:
        scan.position = match.end()
    return match


def _packed(scan: Scanner, stored: list[Stored], words: dict[str, tuple[int, ...]], at: int) -> list[Stored]:
    """The stored array after one more pack: tiles are cut off, and the others permuted."""
    order = words.get("outer_dims_perm", tuple(range(len(stored))))
    positions, tiles = words["inner_dims_pos"], words["inner_tiles"]
    if sorted(order) != list(range(len(stored))) or len(set(positions)) != len(positions):
        scan.fail(f"a permutation of {len(stored)} dimensions, and each dimension tiled once", at)
    if min(positions, default=0) < 0 or max(positions, default=0) >= len(stored) or min(tiles, default=1) < 1:
        scan.fail(f"dimensions below {len(stored)} and tiles >= 1", at)
    try:
        outer, inner = cut(stored, positions, tiles)
    except ShapeError as error:
        scan.fail(f"tiles that divide what is there ({error.message.rstrip('.')})", at)
    return [outer[k] for k in order] + inner


def render(x: Layout | Format, dtype: Any = None) -> str:
    if isinstance(x, Format):
        if not x._unaligned:
            raise cannot(x, "mlir", "it has no alignments", "render x.layout(shape)")
        tiled = [f.dim for f in x.blocks]
        usual = all(len(p) == 2 for p in x.pairs)
        return _pack_text(x) if tiled and usual and len(set(tiled)) == len(tiled) else _map_text(x)
    kind = "!T" if dtype is None else element_of(dtype).word("mlir")
    if x.swizzle is not None or x.has_basis:
        raise cannot(x, "mlir", "an affine map has no XOR and no coordinates as strides", "keep the mojo or cute form")
    text = f"memref<{''.join([f'{n}x' for n in x.extents])}{kind}, {_attribute(x)}>"
    try:
        back = parse(text)
    except LayoutError:
        back = None
    # A pitch leaves less than one largest step behind the last element, as ``sizes_and_strides`` says.
    pitched = "strided<" in text
    if isinstance(back, Layout) and back.equivalent(x) and (pitched or back.storage_size == x.storage_size):
        return text
    raise cannot(x, "mlir", "its box has more room than whole blocks of the shape need", "pad the shape itself")


def _attribute(layout: Layout) -> str:
    try:
        _, strides, offset = sizes_and_strides(layout, "mlir", negative=True)
    except NotExpressible:
        strides, offset = (0,), 0
    if 0 not in strides:
        return f"strided<{list(strides)}{f', offset: {offset}' if offset else ''}>"
    if not any(layout.origin):
        try:
            return _map_text(format_of(layout))
        except NotExpressible:
            pass
    return _offset_text(layout)


def _pack_text(fmt: Format) -> str:
    tiled = [f.dim for f in fmt.blocks]
    told = fmt.order == tuple(range(fmt.rank)) and max(tiled) == fmt.rank - 1
    perm = "" if told else f"outer_dims_perm = {list(fmt.order)} "
    return f"{perm}inner_dims_pos = {tiled} inner_tiles = {[f.size for f in fmt.blocks]}"


def _map_text(fmt: Format) -> str:
    if any(f.backwards for f in fmt.factors):
        raise cannot(fmt, "mlir", "a stored dimension of it does not count backwards", "render x.layout(shape)")
    if any(f.rests for f in fmt.factors):
        raise cannot(fmt, "mlir", "it divides by numbers that are known", "render x.layout(shape)")
    digits = [_digit_text(f"d{f.dim}", f) for f in fmt.factors if f.size != 1]
    return f"affine_map<({_names(fmt.rank)}) -> ({', '.join(digits)})>"


def _offset_text(layout: Layout) -> str:
    terms = []
    for d in range(layout.rank):
        mode = layout._mode(d)
        name = f"(d{d} + {mode.origin})" if mode.origin else f"d{d}"
        place = 1
        for k, (size, stride) in enumerate(zip(mode.sizes, mode.strides)):
            last = k == len(mode.sizes) - 1
            if stride and (size > 1 or last):
                digit = _digit_text(name, Factor(d, 0 if last else size, place))
                whole = digit if digit == name or " " not in digit else f"({digit})"
                terms.append(digit if stride == 1 else f"{whole} * {stride}")
            place *= size
    if layout.offset or not terms:
        terms.append(str(layout.offset))
    return f"affine_map<({_names(layout.rank)}) -> ({' + '.join(terms)})>"


def _digit_text(name: str, factor: Factor) -> str:
    high = name if factor.step == 1 else f"{name} floordiv {factor.step}"
    if not factor.size:
        return high
    return f"{name} mod {factor.size}" if factor.step == 1 else f"({high}) mod {factor.size}"


def _names(rank: int) -> str:
    return ", ".join([f"d{d}" for d in range(rank)])
