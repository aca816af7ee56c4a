"""What the notations of letters and block sizes share."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import NotExpressible, ShapeError
from ..format.format import Format, format_of
from ..immutable import NamedTuple
from ..layout.layout import Layout
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
    return outer, blocks


class Stored(NamedTuple):
    """One dimension of a stored array: ``size`` steps of ``place`` along ``dim``; size 0 is the rest of it."""

    dim: int
    size: int
    place: int


def cut(stored: list[Stored], positions: Sequence[int], tiles: Sequence[int]) -> tuple[list[Stored], list[Stored]]:
    """The stored dimensions with tiles cut off at these positions, and the tiles. The rest of a dimension is padded.

    A tile that does not divide a fixed dimension would be padded inside: ShapeError.
    """
    outer, inner = list(stored), []
    for position, tile in zip(positions, tiles):
        dim, size, place = outer[position]
        if size % tile:
            raise ShapeError(
                f"a tile of {tile} does not divide the {size} steps that are there.", hint="use a divisor", tile=tile
            )
        inner.append(Stored(dim, tile, place))
        outer[position] = Stored(dim, size // tile, place * tile)
    return outer, inner


def stored_format(rank: int, stored: Sequence[Stored]) -> Format:
    """The format of a stored array; refused unless the rests come first and the others make up whole digits."""
    kept = [f for f in stored if f.size != 1]
    try:
        fmt = Format(rank, [(f.dim, f.size, f.place) if f.size else (f.dim, 0) for f in kept])
        right = all(f.step == k.place for f, k in zip(fmt.factors, kept))
    except ShapeError:
        right = False
    if not right:
        raise NotExpressible(
            "the stored dimensions are not the rest of every dimension and then digits that make up blocks.",
            hint="put the rests first",
            stored=tuple(stored),
        )
    return fmt


def plain_format(x: Layout | Format, dialect: str) -> Format:
    """The format of ``x``, refused where it has place values, alignments or padding in front."""
    fmt = format_of(x) if isinstance(x, Layout) else x
    if any(len(p) == 3 for p in fmt.pairs):
        raise cannot(x, dialect, "it has no place values", "keep the Format's own text")
    if not fmt._unaligned:
        raise cannot(x, dialect, "it has no alignments", "keep the Format's own text")
    if isinstance(x, Layout) and any(x.origin):
        why = f"it has no padding in front, and this starts at {x.origin}"
        raise cannot(x, dialect, why, "padding in front belongs to the tensor: pass left_pad with the shape")
    return fmt
