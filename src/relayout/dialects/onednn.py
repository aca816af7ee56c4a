"""oneDNN's memory format tags: ``nChw16c``, ``OIhw4i16o4i``, or with letters for dimensions ``aBcd16b``.

The letters before the first number are the dimensions, slowest first, capital where a block follows; then block sizes.
In the letter form ``a`` is dimension 0. The named forms have n c d h w (data) or g o i d h w (weights), in that order.
"""

from __future__ import annotations

from ..errors import NotExpressible
from ..format import Format
from ..layout import Layout
from .blocked import letters_and_blocks, plain_format
from .scan import Scanner

_LETTERS = "abcdefghijkl"
_NAMED = ("ncdhw", "goidhw")


def parse(text: str) -> Format:
    scan = Scanner(text, "onednn", "nChw16c or aBcd16b")
    outer, blocks = letters_and_blocks(scan)
    names = "".join([letter.lower() for letter, _ in outer])
    if not names:
        scan.fail("a letter", 0)
    axes = _axes(names)
    if axes is None:
        scan.fail("a different letter for each dimension: a, b, c, ... or n c d h w or g o i d h w", outer[0][1])
    blocked = {letter.lower() for _, letter, _ in blocks}
    for letter, at in outer:
        if letter.isupper() != (letter.lower() in blocked):
            scan.fail("a capital letter where a block follows, and only there", at)
    for size, letter, at in blocks:
        if letter.isupper() or letter not in axes or size < 1:
            scan.fail("a small letter of one of the dimensions", at)
    factors = [(axes.index(name), 0) for name in names] + [(axes.index(letter), size) for size, letter, _ in blocks]
    return Format(len(axes), factors, axes=None if axes == _LETTERS[: len(axes)] else axes)


def _axes(names: str) -> str | None:
    """The logical order of the dimensions that the letters name."""
    if len(set(names)) != len(names):
        return None
    for order in (_LETTERS[: len(names)], *_NAMED):
        if set(names) <= set(order) and (order in _NAMED or len(order) == len(names)):
            return "".join([letter for letter in order if letter in names])
    return None


def render(x: Layout | Format) -> str:
    fmt = plain_format(x, "onednn")
    if not 1 <= fmt.rank <= len(_LETTERS):
        raise NotExpressible(f"oneDNN has 1 to 12 dimensions, not {fmt.rank}.", hint="merge dimensions", format=fmt)
    blocked = {f.dim for f in fmt.blocks}
    outer = [_LETTERS[d].upper() if d in blocked else _LETTERS[d] for d in fmt.order]
    return "".join(outer) + "".join([f"{f.size}{_LETTERS[f.dim]}" for f in fmt.blocks])
