"""CuTe's form, ``((3,2),(2,5)):((1,6),(3,12))``; static integers ``_3`` are read as integers.

An offset or a swizzle makes it a composed layout, as CuTe prints it: ``Sw<3,4,3> o 5 o (8,64):(64,1)``. Before a
pointer, ``Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)``, the swizzle counts bytes, and is turned into
elements; behind one it counts elements. Addresses, and the values of a printed tensor, are read over. C++ types and
calls are read as well: ``Layout<Shape<_8,_64>, Stride<_64,_1>>`` and ``make_layout(make_shape(8, 64), LayoutRight{})``;
and calls that make layouts of layouts, such as ``composition((6,2):(8,2), (4,3):(3,1))``.
"""

from __future__ import annotations

import re
from typing import Any

from ..errors import NotExpressible
from ..format.format import Format
from ..layout.basis import E
from ..layout.layout import Layout
from ..layout.swizzle import Swizzle
from . import calls
from .refusal import cannot, require_layout
from .scan import Scanner, write_tuple
from .strided import sizes_and_strides

_WIDTH = re.compile(r"(?:ptr|tmem_)\[(\d{1,4})b\]|smem_ptr_flag_bits<\s*(\d{1,4})\s*>", re.ASCII)
_POINTER = re.compile(r"\s*(?:o\s*)?_?(?:(?:[sgrt]mem_)?(?:sub)?ptr|tmem_)\[(\d{1,4})b\]\([^()]*\)")
_TYPED = re.compile(
    r"(?:(?:using|auto)\s+\w+\s*=\s*)?(?P<around>(?:decltype\s*\(\s*)?"
    r"(?:(?:cute::)?composition\s*\(\s*(?:cute::)?Swizzle\s*(?P<swizzle><)[\d\s,-]*>\s*\{\s*\}\s*,\s*)?)"
    r"(?:cute(?:::|\.))?(?:Layout\s*<|make_layout\s*\()"
)
_COMPOSED = re.compile(
    r"\s*(?:(?:using|auto)\s+\w+\s*=\s*)?(?:cute::)?ComposedLayout\s*<\s*(?:cute::)?Swizzle\s*<(?P<swizzle>[\d\s,-]+)>\s*,\s*"
    r"(?:cute::)?(?:(?:C|Int)<\s*(?=\d+\s*>)|_(?=\d)|smem_ptr_flag_bits<\s*(?P<bits>\d{1,4}))(?P<offset>\d*)\s*>?\s*,\s*"
    r"(?P<layout>(?:cute::)?Layout\s*<.*>)\s*>\s*;?\s*",
    re.ASCII | re.DOTALL,
)
_READ_OVER = re.compile(r"\b(?:cute|std)::|\{\s*\}|\bstride\s*=")
_NAMES = re.compile(r"\b(?:Shape|Stride|tuple)\s*<|\bmake_(?:shape|stride|tuple|coord)\s*\(")
_STATIC = re.compile(r"\b(?:Int|C|(?:integral_)?constant)\s*<\s*(?:\w+\s*,\s*)?(-?\d+)\s*>\s*(?:\(\))?")
_DYNAMIC = re.compile(r"\b(?:unsigned\s+)?(?:int|long|u?int(?:32|64)_t|unsigned|size_t)\b")
_COMPACT = {
    "LayoutLeft": Layout.col_major,
    "GenColMajor": Layout.col_major,
    "LayoutRight": Layout.row_major,
    "GenRowMajor": Layout.row_major,
}


EXAMPLES = (
    "((3,2),4):((1,6),12)",
    "Sw<1,0,2> o _1 o (_4,_2):(_2,_1) // comment",
    "ComposedLayout<Swizzle<1,0,2>, _0, Layout<Shape<_4,_2>, Stride<_2,_1>>>",
    "composition((6,2):(8,2), (4,3):(3,1))",
)
"""Texts that it reads, one for each way to write."""


def render(x: Layout | Format, dtype: Any = None) -> str:
    return _text(require_layout(x, "cute"), "")


def static(layout: Layout) -> str:
    """The form CuTe prints for a layout whose integers are all static: ``(_3,_4):(_4,_1)``."""
    return _text(layout, "_")


def _text(layout: Layout, mark: str) -> str:
    if layout.windowed:
        try:
            plain = sizes_and_strides(layout, "cute", negative=True)
        except NotExpressible:
            plain = None
        if plain is not None and plain.offset == 0 and layout.rank:
            return _text(Layout(plain.shape, plain.strides), mark)
        hint = "padded=True writes the whole box; the mojo form keeps the window"
        raise cannot(layout, "cute", "it has no window, and this uses a part of its box only", hint)
    text = f"{write_tuple(layout.shape, ',', mark)}:{write_tuple(layout.stride, ',', mark)}"
    if layout.swizzle is None and layout.offset == 0:
        return text
    swizzle = "<0,0,0>" if layout.swizzle is None else str(layout.swizzle)
    return f"Sw{swizzle} o {write_tuple(layout.offset, ',', mark)} o {text}"


def bits(text: str) -> int | None:
    """The width of an element that the pointer of a text tells."""
    found = _WIDTH.search(text)
    return None if found is None else int(found[1] or found[2])


def parse(text: str) -> Layout:
    if calls.is_call(text, calls.CUTE) and not _TYPED.match(text.lstrip()):
        return calls.evaluate(text, "cute", calls.CUTE)
    if composed := _COMPOSED.fullmatch(text):
        inner = parse(" " * composed.start("layout") + composed["layout"])
        start = composed["offset"] or f"smem_ptr[{composed['bits']}b](unset)"
        return parse(f"Sw<{composed['swizzle']}> o {start} o {_text(inner, '')}")
    scan = Scanner(text, "cute", "((3,2),4):((1,6),12)")
    scan.peek()
    if typed := _TYPED.match(scan.text, scan.position):
        return _read_type(scan, typed)
    swizzle, offset = None, 0
    pointer = _POINTER.match(scan.text)
    if pointer:
        scan.position = pointer.end()
        scan.expect("o")
    elif scan.accept("ArithTuple"):
        offset = _vector(scan.tuple_())
        scan.expect("o")
    if scan.accept("Sw") or scan.accept("S<"):
        scan.position -= scan.text[scan.position - 1] == "<"
        swizzle, offset = _read_pointer(scan, scan.swizzle())
        scan.expect("o")
    shape = scan.sizes(scan.tuple_())
    scan.expect(":")
    stride = scan.tuple_()
    if pointer is None or not scan.accept(":"):
        scan.end()
    return Layout(shape, stride, offset=offset, swizzle=swizzle)


def _read_type(scan: Scanner, typed: re.Match[str]) -> Layout:
    """The layout of a C++ type or call, whose arguments follow on what was matched; a swizzle may be around it."""
    swizzle = None
    if typed["swizzle"]:
        scan.position = typed.start("swizzle")
        swizzle = scan.swizzle()
    scan.text = _as_tuples(scan.text, typed.end())
    scan.position = typed.end()
    if dynamic := _DYNAMIC.search(scan.text, scan.position):
        raise scan.unknown(dynamic.group())
    shape = scan.sizes(scan.tuple_())
    layout = Layout(shape)
    if scan.accept(","):
        order = next((name for name in _COMPACT if scan.accept(name)), "")
        layout = _COMPACT[order](shape) if order else Layout(shape, scan.tuple_())
    for _ in range(1 + typed["around"].count("(")):
        scan.expect(")")
    scan.name()
    scan.accept(";")
    scan.end()
    return layout if swizzle is None else layout.with_swizzle(Swizzle(*swizzle))


def _vector(coordinate: Any, path: tuple[int, ...] = ()) -> Any:
    """The sum of the basis strides that ``coordinate`` counts."""
    if not isinstance(coordinate, tuple):
        return E(*path) * coordinate
    return sum([_vector(x, (*path, k)) for k, x in enumerate(coordinate)])


def _read_pointer(scan: Scanner, swizzle: tuple[int, int, int]) -> tuple[tuple[int, int, int], Any]:
    """The swizzle in elements, and the offset. Before a pointer to elements of some bits it counts bytes."""
    pointer = _POINTER.match(scan.text, scan.position)
    if pointer:
        scan.position = pointer.end()
        bits, base, shift = swizzle
        width = int(pointer[1])
        moved = base + 3 - (width.bit_length() - 1)
        if width & (width - 1) or moved < 0:
            scan.fail(
                "elements whose width is a power of two, and no wider than what the swizzle moves", pointer.start()
            )
        return (bits, moved, shift), 0
    scan.expect("o")
    return swizzle, scan.number()


def _as_tuples(text: str, start: int) -> str:
    """C++ types and calls as nested tuples, with every character at its place."""
    rest = _READ_OVER.sub(lambda word: " " * len(word.group()), text[start:])
    rest = _NAMES.sub(lambda name: " " * (len(name.group()) - 1) + "(", rest)
    rest = _STATIC.sub(lambda number: f"{number[1]:>{len(number[0])}}", rest)
    return text[:start] + rest.replace(">", ")")
