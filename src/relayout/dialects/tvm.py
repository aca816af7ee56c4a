"""TVM's layout strings: ``NCHW16c``, ``OIHW16i16o``, ``NHWC8h8w32c``.

Capital letters are the dimensions in logical order; a number and a small letter is a block of that dimension, one each.
Brackets around the blocks, ``OIHW[4o4i]``, pack them into one dimension of the buffer, at the same places.
Dimensions without a name are written A, B, C and so on. Index maps, ``lambda n, c: (n, c // 16, c % 16)``, are read.
"""

from __future__ import annotations

import re
from typing import Any

from ..format.format import Format
from ..layout.layout import Layout
from .blocked import letters_and_blocks, plain_format
from .refusal import cannot
from .scan import Scanner
from .tvm_maps import IndexMap, is_index_map, read_index_map

_GROUPED = re.compile(r"\s*(?P<axes>[A-Z]+)\[(?P<blocks>(?:\d{1,9}[a-z])+)\]\s*", re.ASCII)
_UNNAMED = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


EXAMPLES = (
    "NC2c",
    "HWC",
    "OIHW[4o4i]",
    "lambda n, c: (n, c // 16, c % 16)",
)
"""Texts that it reads, one for each way to write."""


def parse(text: str) -> Format | IndexMap:
    return read_index_map(text) if is_index_map(text) else parse_letters(text)


def parse_letters(text: str) -> Format:
    """The format that a string of letters and blocks names."""
    scan = Scanner(text, "tvm", "NCHW16c")
    if grouped := _GROUPED.fullmatch(text):
        blank = f"{grouped['axes']}{grouped['blocks']}"
        return parse_letters(blank + " " * (len(text) - len(blank)))
    outer, blocks = letters_and_blocks(scan)
    axes = "".join([letter for letter, _ in outer])
    if not axes:
        scan.fail("a capital letter", 0)
    for k, (letter, at) in enumerate(outer):
        if letter.islower() or letter in axes[:k]:
            scan.fail("a capital letter for each dimension, each once", at)
    for k, (size, letter, at) in enumerate(blocks):
        if letter.upper() not in axes or letter.isupper() or size < 1 or letter in [b[1] for b in blocks[:k]]:
            scan.fail("a small letter of one of the dimensions, each once", at)
    scan.end()
    factors = [(d, 0) for d in range(len(axes))] + [(axes.index(letter.upper()), size) for size, letter, _ in blocks]
    return Format(len(axes), factors, axes=axes.lower())


def render(x: Layout | Format, dtype: Any = None) -> str:
    fmt = plain_format(x, "tvm")
    if isinstance(x, Layout):
        fmt = _in_order(fmt, x)
    if fmt.order != tuple(range(fmt.rank)):
        raise cannot(x, "tvm", "its dimensions are stored in logical order", "permute the tensor, then its layout")
    if len({f.dim for f in fmt.blocks}) < len(fmt.blocks):
        raise cannot(x, "tvm", "it has one block for each dimension at most", "use the onednn or the htp form")
    if not 1 <= fmt.rank <= len(_UNNAMED):
        raise cannot(x, "tvm", "it has 1 to 26 dimensions, one letter each", "merge dimensions")
    axes = fmt.axes or _UNNAMED[: fmt.rank]
    if len(set(axes.lower())) < len(axes):
        raise cannot(x, "tvm", "two of the names differ in case only", "rename the axes")
    return axes.upper() + "".join([f"{f.size}{axes[f.dim].lower()}" for f in fmt.blocks])


def _in_order(fmt: Format, layout: Layout) -> Format:
    """``fmt`` with the dimensions in logical order where that is the same layout: sizes of 1 may stand anywhere."""
    ordered = Format(fmt.rank, [(d, 0) for d in range(fmt.rank)] + [(f.dim, f.size) for f in fmt.blocks])
    same = ordered.layout(layout.extents)
    return ordered if same.equivalent(layout) and same.storage_size == layout.storage_size else fmt
