"""What the notations of letters and block sizes share."""

from __future__ import annotations

import re

from ..format import Format, format_of
from ..layout import Layout
from .refusal import cannot
from .scan import Scanner

_LETTER = re.compile(r"[A-Za-z]")


def letters_and_blocks(scan: Scanner) -> tuple[list[tuple[str, int]], list[tuple[int, str, int]]]:
    """The leading letters, then pairs of a number and a letter; each letter with its position in the text."""
    outer: list[tuple[str, int]] = []
    blocks: list[tuple[int, str, int]] = []
    scan.peek()
    while (match := _LETTER.match(scan.text, scan.position)) is not None:
        outer.append((match.group(), scan.position))
        scan.position += 1
    while scan.text[scan.position : scan.position + 1].isdigit():
        size = scan.integer()
        match = _LETTER.match(scan.text, scan.position)
        if match is None:
            scan.fail("a letter")
        blocks.append((size, match.group(), scan.position))
        scan.position += 1
    scan.end()
    return outer, blocks


def plain_format(x: Layout | Format, dialect: str) -> Format:
    """The format of ``x``, refused where it has place values, alignments or padding in front."""
    fmt = format_of(x) if isinstance(x, Layout) else x
    why = ""
    if any(len(p) == 3 for p in fmt.pairs):
        why = "it has no place values"
    elif fmt.align is not None and set(fmt.align) != {1}:
        why = "it has no alignments"
    elif isinstance(x, Layout) and any(x.origin):
        why = f"it has no padding in front, and this starts at {x.origin}"
    if why:
        hint = "padding in front belongs to the tensor: pass left_pad with the shape; or keep the Format's own text"
        raise cannot(x, dialect, why, hint)
    return fmt
