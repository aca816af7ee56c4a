"""The text of a format: ``0 1 2 3 / 1,8 2,8 3,32 axes nhwc fill 31``, read and written.

A block is a dimension and a size; ``@`` gives its place value, ``@-1`` backwards, ``@rest`` above the rest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ParseError
from .factors import Written

_INT = r"\d{1,4000}"
_FILL = rf"-?{_INT}(?:\.{_INT})?(?:e[+-]?\d{{1,9}})?|-?inf|[a-z]+"
_WORD = rf"(?:axes [A-Za-z]+|fill (?:{_FILL})|indirect {_INT}|align {_INT}(?:,{_INT})*|element_bits {_INT})"
_BLOCK = rf"{_INT} *, *{_INT}(?:@-?(?:(?:{_INT})?rest|{_INT}))?"
_TEXT = rf"(scalar|{_INT}(?: +{_INT})*)(?: */ *({_BLOCK}(?: +{_BLOCK})*))?((?: +{_WORD})*)"


def _as_fill(text: str) -> int | float | str:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _as_entry(text: str) -> int | str:
    return text if text.endswith("rest") else int(text)


def read_format(text: str) -> tuple[int, list[Written], dict[str, Any]]:
    """The rank, the factors and the options that ``text`` writes down; refused where it is no format."""
    start = len(text) - len(text.lstrip())
    # re keeps what it compiled, and an import that compiles nothing stays light.
    match = re.compile(_TEXT).match(text, start)
    if not match or text[match.end() :].strip():
        raise ParseError(
            "not a format.",
            text=text,
            position=match.end() if match else start,
            hint="write it as in 0 1 / 0,8 1,4 fill 31",
        )
    order, blocks, words = match.groups()
    rests = [] if order == "scalar" else [int(d) for d in order.split()]
    factors: list[Written] = [(d, 0) for d in rests]
    factors += [tuple(map(_as_entry, re.split("[,@]", b))) for b in re.findall(_BLOCK, blocks or "")]
    values = dict(zip(words.split()[::2], words.split()[1::2]))
    if len(values) < len(words.split()) // 2:
        raise ParseError("a word is there twice.", text=text, position=start, hint="say each once")
    options: dict[str, Any] = {name: int(values[name]) for name in ("indirect", "element_bits") if name in values}
    if "axes" in values:
        options["axes"] = values["axes"]
    if "align" in values:
        options["align"] = [int(a) for a in values["align"].split(",")]
    if "fill" in values:
        options["fill"] = _as_fill(values["fill"])
    return len(rests), factors, options


def write_format(rank: int, factors: Sequence[Written], options: Mapping[str, Any]) -> str:
    """The text of these parts: the order of the rests, a slash, the blocks, then words."""
    parts = [" ".join([str(f[0]) for f in factors[:rank]]) or "scalar"]
    blocks = [",".join(map(str, f[:2])) + "".join(f"@{step}" for step in f[2:]) for f in factors[rank:]]
    if blocks:
        parts.append(f"/ {' '.join(blocks)}")
    for name, value in options.items():
        parts.append(f"{name} {','.join(map(str, value)) if name == 'align' else value}")
    return " ".join(parts)
