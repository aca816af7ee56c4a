"""oneDNN's memory format tags: ``nChw16c``, ``OIhw4i16o4i``, or with letters for dimensions ``aBcd16b``.

The letters before the first number are the dimensions, slowest first, capital where a block follows; then block sizes.
In the letter form ``a`` is dimension 0. The named forms have a logical order of their own: n c d h w (data),
g o i d h w (weights), t n c (sequences), l d n c and l d i g o (states and weights of recurrent cells).
"""

from __future__ import annotations

import re
from typing import Any

from ..errors import NotExpressible
from ..format import Format
from ..layout import Layout
from .blocked import letters_and_blocks, plain_format
from .scan import Scanner

_LETTERS = "abcdefghijkl"
_DATA = ("x", "nc", "ncw", "nchw", "ncdhw", "tn", "tnc", "ldnc")
_WEIGHTS = ("oi", "oiw", "oihw", "oidhw", "goiw", "goihw", "goidhw", "ldio", "ldgo", "ldigo")
_ANY = tuple([_LETTERS[:n] for n in range(1, len(_LETTERS) + 1)])
_LOGICAL = {frozenset(order): order for order in (*_ANY, *_DATA, *_WEIGHTS)}
# As it stands in a program, and in what ONEDNN_VERBOSE prints.
_SPELLED = re.compile(r"^\s*(?:(?:\w+::)*format_tag::|dnnl_|\w*:\w?:blocked:)(\w+)(?::[\w:]*)?\s*$", re.ASCII)
# The names to which oneDNN's header gives another layout than their letters say. The library's layout counts.
_MISNAMED = {
    "OhwI24o": "Ohwi24o",
    "OhwI32o": "Ohwi32o",
    "gOhwI24o": "gOhwi24o",
    "gOhwI32o": "gOhwi32o",
    "gIOhw2i8o16i2o": "gOIhw2i8o16i2o",
    "gIOdhw2i8o16i2o": "gOIdhw2i8o16i2o",
}


def parse(text: str) -> Format:
    found = _SPELLED.search(text)
    if found:
        text = " " * found.start(1) + found[1] + " " * (len(text) - found.end(1))
    tag = text.strip()
    scan = Scanner(text.replace(tag, _MISNAMED.get(tag, tag)), "onednn", "nChw16c or aBcd16b")
    outer, blocks = letters_and_blocks(scan)
    names = "".join([letter.lower() for letter, _ in outer])
    if not names:
        scan.fail("a letter", 0)
    axes = _LOGICAL.get(frozenset(names)) if len(set(names)) == len(names) else None
    if axes is None:
        known = f"a, b, c, ... or those of {', '.join((*_DATA, *_WEIGHTS))}"
        open_ = "; any and undef leave the layout open" if tag in ("any", "undef") else ""
        scan.fail(f"a different letter for each dimension: {known}{open_}", outer[0][1])
    blocked = {letter.lower() for _, letter, _ in blocks}
    for letter, at in outer:
        if letter.isupper() != (letter.lower() in blocked):
            scan.fail("a capital letter where a block follows, and only there", at)
    for size, letter, at in blocks:
        if letter.isupper() or letter not in axes or size < 1:
            scan.fail("a small letter of one of the dimensions", at)
    factors = [(axes.index(name), 0) for name in names] + [(axes.index(letter), size) for size, letter, _ in blocks]
    return Format(len(axes), factors, axes=None if axes == _LETTERS[: len(axes)] else axes)


def render(x: Layout | Format, dtype: Any = None) -> str:
    fmt = plain_format(x, "onednn")
    if not 1 <= fmt.rank <= len(_LETTERS):
        raise NotExpressible(f"oneDNN has 1 to 12 dimensions, not {fmt.rank}.", hint="merge dimensions", format=fmt)
    blocked = {f.dim for f in fmt.blocks}
    outer = [_LETTERS[d].upper() if d in blocked else _LETTERS[d] for d in fmt.order]
    return "".join(outer) + "".join([f"{f.size}{_LETTERS[f.dim]}" for f in fmt.blocks])
