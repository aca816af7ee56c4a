"""Calls that make layouts, as Mojo's and CuTe's pages write them: ``tile_to_shape(Layout.col_major(3, 2), (6, 10))``.

A text is read by a small parser, never run as a program: a function is one of a table, an operand a number, a tuple, a
layout in Mojo's or CuTe's form, a swizzle, or another such call. A variable has no meaning here; its layout does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..algebra import building, coalescing, inverses, mojo_forms, recast, tiling
from ..algebra.composition import composition
from ..errors import NotExpressible, ParseError
from ..integers.nested import MAX_DEPTH
from ..layout.layout import Layout
from ..layout.swizzle import Swizzle
from .registry import dialect_named
from .scan import Scanner, too_deep

Functions = Mapping[str, Callable[..., Any]]

CUTE: Functions = {
    function.__name__: function
    for function in (
        building.append,
        building.group,
        building.make_identity_layout,
        building.make_layout,
        building.make_layout_like,
        building.make_ordered_layout,
        building.prepend,
        building.replace,
        building.select,
        building.with_shape,
        building.zip_modes,
        coalescing.coalesce,
        coalescing.filter,
        coalescing.filter_zeros,
        composition,
        inverses.complement,
        inverses.left_inverse,
        inverses.max_common_layout,
        inverses.right_inverse,
        recast.downcast,
        recast.recast_layout,
        recast.upcast,
        tiling.blocked_product,
        tiling.flat_divide,
        tiling.flat_product,
        tiling.logical_divide,
        tiling.logical_product,
        tiling.raked_product,
        tiling.tile_to_shape,
        tiling.tiled_divide,
        tiling.tiled_product,
        tiling.zipped_divide,
        tiling.zipped_product,
    )
}
"""What a call in CuTe's words may name."""

MOJO: Functions = {
    **CUTE,
    "blocked_product": mojo_forms.blocked_product,
    "coalesce": mojo_forms.coalesce,
    "hierarchical_unzip": mojo_forms.hierarchical_unzip,
    "sublayout": mojo_forms.sublayout,
    "zipped_divide": mojo_forms.zipped_divide,
}
"""What a call in Mojo's words may name."""

_ASSIGNED = r"(?:(?:(?:var|let|alias|comptime|auto|const|constexpr)\s+)*[A-Za-z_]\w*\s*=\s*)?"
_FUNCTION = r"(?:[A-Za-z_]\w*\s*(?:\.|::)\s*)*(?P<name>[a-z_][a-z_0-9]*)\s*\("
_HEAD = re.compile(rf"\s*{_ASSIGNED}{_FUNCTION}", re.ASCII)
_CALL = re.compile(_FUNCTION, re.ASCII)
_KEYWORD = re.compile(r"([a-z_][a-z_0-9]*)\s*=(?!=)", re.ASCII)
_OF_LAYOUTS = re.compile(r"\s*[^(]*\(.*?(?:\bLayout\b|(?<!:):(?!:)|_layout\b)", re.DOTALL)
_WORDS = {
    "None": None,
    "True": True,
    "False": False,
    "LayoutLeft": Layout.col_major,
    "LayoutRight": Layout.row_major,
}
_TUPLE_NAME = re.compile(
    r"\b(?:IntTuple|Index|MakeLayoutList|LayoutList|make_(?:shape|stride|tuple|coord|tile|step))\s*(?=\()"
    r"|\b(?:Shape|Stride|Step|Tile|Coord)\s*(?=<)"
)
_STATIC = re.compile(r"\b(?:Int<\s*(\d+)\s*>|_(\d+))")
_NUMBERS = re.compile(r"[\s\d,()-]+", re.ASCII)
_COPIED = re.compile(r"\s*(?:\.copy\(\)|\^)\s*")
_BRACKETS = str.maketrans("<>{}", "()  ")
_SWIZZLE = re.compile(
    r"(?:\w+(?:\.|::))*Swizzle\s*[<(]\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(-?\d{1,3})\s*[>)]\s*(?:\{\s*\})?"
)
_OPENING, _CLOSING = "(<[{", ")>]}"


def is_call(text: str, functions: Functions) -> bool:
    """Whether a text is, from its beginning on, a call of one of these functions, on layouts or tuples.

    CuTe's ``make_layout`` of a shape and a stride is a way to write one layout, which its dialect reads.
    """
    head = _HEAD.match(text)
    if head is None or head["name"] not in functions:
        return False
    return head["name"] != "make_layout" or _OF_LAYOUTS.match(text, head.start("name")) is not None


def evaluate(text: str, dialect: str, functions: Functions) -> Layout:
    """The layout that a call makes, its operands those of ``dialect`` first."""
    scan = Scanner(text, dialect, "tile_to_shape(Layout.col_major(3, 2), IntTuple(6, 10))", python=dialect == "mojo")
    head = _HEAD.match(scan.text)
    if head is None:
        scan.fail("a call")
    scan.position = head.end()
    made = _Reader(scan, dialect, functions).call(head["name"], head.start("name"), 0)
    scan.accept(";")
    scan.end()
    return made


class _Reader:
    def __init__(self, scan: Scanner, dialect: str, functions: Functions) -> None:
        self.scan = scan
        self.functions = functions
        self.dialects = (dialect, "cute" if dialect == "mojo" else "mojo")

    def call(self, name: str, start: int, level: int) -> Layout:
        """The value of a call, whose opening parenthesis was read."""
        scan, operands, words = self.scan, list[Any](), dict[str, Any]()
        if level > MAX_DEPTH:
            raise too_deep()
        while not scan.accept(")"):
            if operands or words:
                scan.expect(",")
                if scan.accept(")"):
                    break
            scan.peek()
            if keyword := _KEYWORD.match(scan.text, scan.position):
                scan.position = keyword.end()
                words[keyword[1]] = self.operand(level)
            else:
                operands.append(self.operand(level))
        if name == "make_layout" and operands and not isinstance(operands[0], Layout):
            return self._shape_and_stride(operands, start)
        from inspect import signature  # takes longer to import than most programs need

        try:
            signature(self.functions[name]).bind(*operands, **words)
        except TypeError as why:
            scan.fail(f"the operands of {name} ({why})", scan.position - 1)
        made = self.functions[name](*operands, **words)
        if not isinstance(made, Layout):
            raise NotExpressible(
                f"{scan.text[start : scan.position]!r:.200} is {made}, which is no layout.",
                hint=f"call it: rl.{name}(...)",
                text=scan.shown,
            )
        return made

    def _shape_and_stride(self, operands: list[Any], start: int) -> Layout:
        """CuTe's ``make_layout`` of a shape, and of a stride or the order of a compact one."""
        shape, stride = operands[0], operands[1] if len(operands) > 1 else None
        if len(operands) > 2 or isinstance(stride, Layout):
            self.scan.fail("layouts, or a shape and a stride, as the operands of make_layout", start)
        return stride(shape) if callable(stride) else Layout(self.scan.sizes(shape), stride)

    def operand(self, level: int) -> Any:
        """A call, a word, a tuple of operands, or a layout."""
        scan = self.scan
        scan.peek()
        start, end = scan.position, self._end()
        called = _CALL.match(scan.text, start, end)
        if called and called["name"] in self.functions:
            scan.position = called.end()
            value = self.call(called["name"], start, level + 1)
            if copied := _COPIED.match(scan.text, scan.position, end):
                scan.position = copied.end()
            return value
        text = _COPIED.sub("", scan.text[start:end]).rstrip()
        numbers = _STATIC.sub(lambda n: (n[1] or n[2]).rjust(len(n[0])), text)
        numbers = _TUPLE_NAME.sub(lambda n: " " * len(n[0]), numbers)
        word = text.removesuffix("{}").rpartition(":")[2].strip()
        if word in _WORDS:
            scan.position = end
            return _WORDS[word]
        if swizzle := _SWIZZLE.fullmatch(text):
            scan.position = end
            return Swizzle(*[int(n) for n in swizzle.groups()])
        if _NUMBERS.fullmatch(numbers.translate(_BRACKETS)):
            scan.position = end
            return _integers(numbers.translate(_BRACKETS), start, scan)
        found = self._layout(text)
        if found is not None:
            scan.position = end
            return found
        opening = start + len(numbers) - len(numbers.lstrip())
        if scan.text[opening] not in "(<[":
            variable = text.isidentifier()
            scan.fail("the layout of the variable, written out" if variable else "a number, a tuple or a layout", start)
        return self._list(opening, level)

    def _list(self, opening: int, level: int) -> tuple[Any, ...]:
        """Operands in brackets: a tiler for each mode."""
        scan = self.scan
        closing = _CLOSING[_OPENING.index(scan.text[opening])]
        scan.position = opening + 1
        if level > MAX_DEPTH:
            raise too_deep()
        items: list[Any] = []
        while not scan.accept(closing):
            if items:
                scan.expect(",")
                if scan.accept(closing):
                    break
            items.append(self.operand(level + 1))
        return tuple(items)

    def _layout(self, text: str) -> Layout | None:
        """The layout that an operand writes down, or None."""
        for name in self.dialects:
            try:
                found = dialect_named(name).parse(text)
            except ParseError:
                continue
            if isinstance(found, Layout):
                return found
        return None

    def _end(self) -> int:
        """Where the operand ends that begins here: before a comma or a bracket that was opened outside of it."""
        scan, depth = self.scan, 0
        at = scan.position
        while depth or scan.text[at : at + 1] not in (",", *_CLOSING):
            c = scan.text[at : at + 1]
            if not c:
                scan.fail("a closing parenthesis", at)
            depth += (c in _OPENING) - (c in _CLOSING)
            at += 1
        return at


def _integers(numbers: str, start: int, scan: Scanner) -> Any:
    """A tuple of integers, or one; errors point into the whole text."""
    inner = Scanner(" " * start + numbers, scan.dialect, scan.example)
    value = inner.tuple_()
    inner.end()
    return value
