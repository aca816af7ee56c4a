"""Mojo's printed form, ``((3, 4):(4, 1))``, with words for what Mojo cannot say.

``((8, (4, 2)):(1, (8, 64))) offset 5 extents (8, 7) origin (0, 1) swizzle <3,4,3>``. Another pair of parentheses round
the whole is one more level of nesting: ``(((4, 2):(1, 4)))`` is a single mode of two. Constructor calls are read
as well: ``Layout(IntTuple(3, 4), IntTuple(4, 1))``, ``Layout.row_major(3, 4)``, and what ``repr`` gives; and so are
calls that make layouts, such as ``blocked_product(Layout.col_major(3, 2), Layout.col_major(2, 5))``.
"""

from __future__ import annotations

import re
from typing import Any

from ..format.format import Format
from ..integers.nested import MAX_DEPTH
from ..layout.layout import Layout
from . import calls
from .refusal import require_layout
from .scan import Scanner, too_deep, write_tuple

EXAMPLES = (
    "((3, 4):(4, 1))",
    "Layout(IntTuple(3, IntTuple(2, 2)), IntTuple(1, IntTuple(3, 6)))",
    "var l = Layout.col_major(6, 6)  # a comment",
    "Layout.row_major(2, 4)",
    "var tts = tile_to_shape(Layout.col_major(3, 2), IntTuple(6, 10))",
)
"""Texts that it reads, one for each way to write."""


def render(x: Layout | Format, dtype: Any = None) -> str:
    layout = require_layout(x, "mojo")
    words = [f"({write_tuple(layout.shape, ', ')}:{write_tuple(layout.stride, ', ')})"]
    if layout.offset != 0:
        words.append(f"offset {layout.offset}")
    if layout.windowed:
        words.append(f"extents {write_tuple(layout.extents, ', ')}")
        if any(layout.origin):
            words.append(f"origin {write_tuple(layout.origin, ', ')}")
    if layout.swizzle is not None:
        words.append(f"swizzle {layout.swizzle}")
    return " ".join(words)


_CALL = re.compile(r"\s*(?:(?:(?:var|alias|comptime)\s+)?\w+\s*=\s*)?(?:\w+\.)?Layout(\.row_major|\.col_major)?\s*\(")
_INT_TUPLE = re.compile(r"\bIntTuple(?=\s*\()")
_WORDS = ("offset", "extents", "origin", "swizzle")


def parse(text: str) -> Layout:
    if calls.is_call(text, calls.MOJO):
        return calls.evaluate(text, "mojo", calls.MOJO)
    scan = Scanner(text, "mojo", "((3, 4):(4, 1)) offset 5", python=True)
    call = _CALL.match(scan.text)
    if call:
        return _read_call(scan, call)
    pair = _item(scan, 0)
    if not isinstance(pair, _Pair):
        scan.expect(":")
        pair = _Pair(pair, scan.tuple_())
    words: dict[str, Any] = {}
    while scan.peek():
        at = scan.position
        word = scan.word()
        if word not in _WORDS or word in words:
            scan.fail(f"the end, or {', '.join(_WORDS)}, each once", at)
        words[word] = scan.swizzle() if word == "swizzle" else scan.number() if word == "offset" else scan.tuple_()
    return Layout(scan.sizes(pair.shape), pair.stride, **words)


def _read_call(scan: Scanner, call: re.Match[str]) -> Layout:
    """The layout that a constructor call makes."""
    scan.text = _INT_TUPLE.sub(lambda name: " " * len(name.group()), scan.text)
    scan.position = call.end()
    values: list[Any] = []
    words: dict[str, Any] = {}
    while not scan.accept(")"):
        if values or words:
            scan.expect(",")
            if scan.accept(")"):
                break
        scan.peek()
        at = scan.position
        word = next((w for w in _WORDS if scan.accept(w)), "")
        if not word:
            if not call.group(1) and len(values) < 2 and scan.accept(("shape", "stride")[len(values)]):
                scan.expect("=")
            values.append(scan.tuple_())
        elif call.group(1) or word in words or not scan.accept("="):
            scan.fail(f"a size, a tuple, or one of {', '.join(_WORDS)} with =", at)
        else:
            scan.accept("Swizzle")
            words[word] = scan.tuple_()
    scan.accept(";")
    scan.end()
    if not values or (not call.group(1) and len(values) > 2):
        scan.fail("a shape and a stride", call.end())
    scan.sizes(values[0] if not call.group(1) else tuple(values))
    if call.group(1):
        return getattr(Layout, call.group(1)[1:])(*values)  # type: ignore[no-any-return]
    return Layout(*values, **words)


class _Pair:
    """A shape and a stride, read together from one pair of parentheses."""

    def __init__(self, shape: Any, stride: Any) -> None:
        self.shape = shape
        self.stride = stride


def _item(scan: Scanner, level: int) -> Any:
    """A number, a tuple, or a parenthesised ``shape:stride``; parentheses round the latter nest it once more."""
    if scan.peek() != "(":
        return scan.number()
    if level > MAX_DEPTH:
        raise too_deep()
    scan.expect("(")
    if scan.accept(")"):
        return ()
    first = _item(scan, level + 1)
    if isinstance(first, _Pair):
        scan.expect(")")
        return _Pair((first.shape,), (first.stride,))
    if scan.accept(":"):
        stride = scan.tuple_()
        scan.expect(")")
        return _Pair(first, stride)
    return scan.rest_of_tuple([first], level)
