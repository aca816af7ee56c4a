"""Mojo's printed form, ``((3, 4):(4, 1))``, with words for what Mojo cannot say.

``((8, (4, 2)):(1, (8, 64))) offset 5 extents (8, 7) origin (0, 1) swizzle <3,4,3>``. Another pair of parentheses round
the whole is one more level of nesting: ``(((4, 2):(1, 4)))`` is a single mode of two.
"""

from __future__ import annotations

from typing import Any

from ..format import Format, shaped
from ..layout import Layout
from ..nested import MAX_DEPTH
from .scan import Scanner, too_deep, written


def render(x: Layout | Format) -> str:
    layout = shaped(x, "mojo")
    words = [f"({written(layout.shape, ', ')}:{written(layout.stride, ', ')})"]
    if layout.offset != 0:
        words.append(f"offset {layout.offset}")
    if layout.windowed:
        words.append(f"extents {written(layout.extents, ', ')}")
        if any(layout.origin):
            words.append(f"origin {written(layout.origin, ', ')}")
    if layout.swizzle is not None:
        words.append(f"swizzle {layout.swizzle}")
    return " ".join(words)


def parse(text: str) -> Layout:
    scan = Scanner(text, "mojo", "((3, 4):(4, 1)) offset 5")
    pair = _item(scan, 0)
    if not isinstance(pair, _Pair):
        scan.expect(":")
        pair = _Pair(pair, scan.tuple_())
    words: dict[str, Any] = {}
    while scan.peek():
        at = scan.position
        word = scan.word()
        if word not in ("offset", "extents", "origin", "swizzle") or word in words:
            scan.fail("the end, or 'offset', 'extents', 'origin', 'swizzle', each once", at)
        words[word] = scan.swizzle() if word == "swizzle" else scan.number() if word == "offset" else scan.tuple_()
    return Layout(pair.shape, pair.stride, **words)


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
