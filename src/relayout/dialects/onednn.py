"""oneDNN's memory format tags: ``nChw16c``, ``OIhw4i16o4i``, or with letters for dimensions ``aBcd16b``.

The letters before the first number are the dimensions, slowest first, capital where a block follows; then block sizes.
In the letter form ``a`` is dimension 0. The named forms have a logical order of their own: n c d h w (data),
g o i d h w (weights), t n c (sequences), l d n c and l d i g o (states and weights of recurrent cells). What oneDNN
logs is read as well: ``src:f32:p:blocked:aBcd16b::f0``, with the strides that it tells where memory has gaps, and whole
lines of ``ONEDNN_VERBOSE``: of a reorder the destination, with its sizes.
"""

from __future__ import annotations

import re
from typing import Any

from ..elements.types import ELEMENTS, Element
from ..errors import NotExpressible, ShapeError
from ..format.format import Format
from ..layout.layout import Layout
from .blocked import letters_and_blocks, plain_format
from .refusal import cannot
from .scan import Scanner
from .strided import Strides

_LETTERS = "abcdefghijkl"
_DATA = ("x", "nc", "ncw", "nchw", "ncdhw", "tn", "tnc", "ldnc")
_WEIGHTS = ("oi", "oiw", "oihw", "oidhw", "goiw", "goihw", "goidhw", "ldio", "ldgo", "ldigo")
_ANY = tuple([_LETTERS[:n] for n in range(1, len(_LETTERS) + 1)])
_LOGICAL = {frozenset(order): order for order in (*_ANY, *_DATA, *_WEIGHTS)}
_SPELLED = re.compile(r"^\s*(?:(?:\w+::)*format_tag::|dnnl_)(?P<tag>\w+)\s*$", re.ASCII)
# What ONEDNN_VERBOSE prints: name:type:properties:blocked:tag:strides:flags.
_LOGGED = re.compile(
    r"^\s*(?:\w+:)?\w*:(?P<properties>[apo0]*):blocked:(?P<tag>\w+)(?::(?P<strides>[\dx]*))?(?::f\d[\w:.-]*)?\s*$",
    re.ASCII,
)
# A whole line: its kind, the descriptions of its memories, and of a reorder the sizes.
_LINE = re.compile(
    r"\s*(?:onednn|dnnl)_verbose,(?:[^,\n]*,)*?(?:exec|create[^,]*),[^,]*,(?P<kind>\w+),[^,]*,[^,]*,"
    r"(?P<memories>[^,\n]+),[^,\n]*,[^,\n]*,(?P<problem>[^,\n]*)(?:,[^\n]*)?\s*",
    re.ASCII,
)
# The same before version 1.0, with the names of tags.
_OLD_LINE = re.compile(
    r"\s*mkldnn_verbose,exec,(?P<kind>reorder),[^,]*,[^,]*,in:\w+ out:(?P<type>[a-z]+\d+)_(?P<tag>\w+),[^,]*,"
    r"(?P<problem>[\dx]+),[\d.e-]+\s*",
    re.ASCII,
)
_TYPE = re.compile(r"(?:\w+[:_])?(?P<type>[a-z]+\d+(?:_e\dm\d)?):\w*:blocked:", re.ASCII)
# The names to which oneDNN's header gives another layout than their letters say. The library's layout counts.
_MISNAMED = {
    "OhwI24o": "Ohwi24o",
    "OhwI32o": "Ohwi32o",
    "gOhwI24o": "gOhwi24o",
    "gOhwI32o": "gOhwi32o",
    "gIOhw2i8o16i2o": "gOIhw2i8o16i2o",
    "gIOdhw2i8o16i2o": "gOIdhw2i8o16i2o",
}


EXAMPLES = (
    "ba",
    "nChw4c",
    "BA2a3b2a",
)
"""Texts that it reads, one for each way to write."""


def parse(text: str) -> Layout | Format | Strides:
    if "," in text and (line := _LINE.fullmatch(text)):
        return _logged_line(text, line)
    if old := _OLD_LINE.fullmatch(text):
        return _format(old["tag"]).layout(tuple([int(n) for n in old["problem"].split("x")]))
    found = _SPELLED.search(text) or _LOGGED.search(text)
    if not found:
        return _format(text)
    fmt = _format(" " * found.start("tag") + found["tag"] + " " * (len(text) - found.end("tag")))
    words = found.groupdict("")
    strides = [int(n) for n in words.get("strides", "").split("x") if n]
    if {"o", "0"} & set(words.get("properties", "")):
        raise cannot(fmt, "onednn", "it is logged with an offset, and a log does not tell which", "write the tag alone")
    if strides and (fmt.blocks or len(strides) != fmt.rank):
        why = f"the strides {strides} leave gaps, and only a tag without blocks has one stride for each dimension"
        raise cannot(fmt, "onednn", why, "write the tag alone, or the layout in the mojo form")
    return Strides(tuple(strides), 0) if strides else fmt


def element(text: str) -> Element | None:
    """The element type that a logged memory carries; of a reorder that of the destination."""
    memory = text
    if "," in text and (line := _LINE.fullmatch(text)):
        memory = line["memories"].split()[-1]
    found = _OLD_LINE.fullmatch(text) or _TYPE.match(memory.strip())
    return next((e for e in ELEMENTS.values() if found and e.xla == found["type"]), None)


def _logged_line(text: str, line: re.Match[str]) -> Layout | Format | Strides:
    """The layout of the only memory, or of the destination of a reorder, in a whole line of the log."""
    memories = line["memories"].split()
    wanted = [memory for memory in memories if memory.startswith("dst")] if line["kind"] == "reorder" else memories
    if len(wanted) != 1:
        raise ShapeError(
            f"the line of a {line['kind']} has {len(memories)} memories.",
            hint=f"give one of them: {', '.join(memories)}",
            text=text,
        )
    meant = parse(wanted[0])
    sizes = line["problem"].split("x")
    known = line["kind"] == "reorder" and all(n.isdigit() for n in sizes)
    return meant.layout(tuple([int(n) for n in sizes])) if known and not isinstance(meant, Layout) else meant


def _format(text: str) -> Format:
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
    scan.end()
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
