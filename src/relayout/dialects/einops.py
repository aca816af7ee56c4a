"""einops patterns with sizes as a description of a destination: ``n (h p) (w q) c -> n h w c p q, p=8, q=8``.

On the left every dimension of the data, split in parentheses, the slowest first; on the right the stored order. Names
with a size are blocks, the others are the rest of their dimension, which is padded to whole blocks. It has no shape:
parsing gives a ``Format``.
"""

from __future__ import annotations

import re
from typing import Any

from ..errors import NotExpressible, ParseError, ShapeError
from ..format.format import Format, format_of
from ..layout.layout import Layout
from .refusal import cannot
from .scan import Scanner

_NAME = r"[A-Za-z_]\w*+"
_SIDE = rf"\s*(?:(?:{_NAME}|\((?:\s*{_NAME})*\s*\))\s*)*"
_GROUP = rf"{_NAME}|\([^()]*\)"
_SIZE = rf"\s*({_NAME})\s*=\s*([1-9]\d{{0,18}})\s*"


EXAMPLES = (
    "h (w q) -> w h q, q=2",
    "a (b p q) -> b a q p, p=2, q=3",
)
"""Texts that it reads, one for each way to write."""


def parse(text: str) -> Format:
    """The format that a pattern describes."""
    text = Scanner(text, "einops", "h (w q) -> w h q, q=8").text
    if "->" not in text or "<" in text or "=" in text.partition("->")[0]:
        raise _wrong("expected dimensions, an arrow and the stored order.", text, len(text) - len(text.lstrip()))
    left, _, rest = text.partition("->")
    right, *sizes = rest.split(",")
    for side, start in ((left, 0), (right, len(left) + 2)):
        match = re.match(_SIDE, side, re.ASCII)
        end = match.end() if match else 0
        if end < len(side):
            raise _wrong("expected names and parentheses.", text, start + end)
    known: dict[str, int] = {}
    for part in sizes:
        match = re.fullmatch(_SIZE, part, re.ASCII)
        if not match or match[1] in known:
            raise _wrong("expected sizes such as p=8, each once.", text, text.rindex(part))
        known[match[1]] = int(match[2])
    groups = [re.findall(_NAME, group, re.ASCII) for group in re.findall(_GROUP, left, re.ASCII)]
    names = [name for group in groups for name in group]
    order = re.findall(_NAME, right, re.ASCII)
    if sorted(names) != sorted(order) or len(set(names)) < len(names) or not set(known) <= set(names):
        raise _wrong("expected the same names on both sides, each once, and sizes of those names.", text, len(left) + 2)
    places: dict[str, tuple[int, ...]] = {}
    for d, group in enumerate(groups):
        if not group or any(name not in known for name in group[1:]):
            raise _wrong("expected a size for every name of a group but the first.", text, len(text))
        if group[0] in known:
            end = len(left) + 2 + len(right)
            raise _wrong(f"expected no size for {group[0]}, the first of its dimension: it is the rest.", text, end)
        place = 1
        for name in reversed(group[1:]):
            places[name] = (d, known[name], place)
            place *= known[name]
        places[group[0]] = (d, 0)
    try:
        return Format(len(groups), [places[name] for name in order])
    except ShapeError as error:
        raise NotExpressible(
            f"{text.strip()!r} stores a block before the rest of some dimension.",
            hint="put the names without a size first; transpose the data for other orders",
            pattern=text,
        ) from error


def render(x: Layout | Format, dtype: Any = None) -> str:
    """A pattern whose blocks are called by their dimension and size: ``n (c c16) -> n c c16, c16=16``."""
    if isinstance(x, Layout) and any(x.origin):
        raise cannot(x, "einops", f"it has no padding in front, and this starts at {x.origin}", "pass left_pad")
    fmt = format_of(x) if isinstance(x, Layout) else x
    if not fmt._unaligned:
        raise cannot(x, "einops", "it has no alignments", "keep the Format's own text")
    if not 1 <= fmt.rank <= len(_LETTERS):
        raise cannot(x, "einops", f"it has 1 to {len(_LETTERS)} dimensions", "merge dimensions")
    rests = fmt.axes or _LETTERS[: fmt.rank]
    names: list[str] = []
    for f in fmt.factors:
        name = f"{rests[f.dim]}{f.size or ''}"
        while name in names:
            name += "_"
        names.append(name)
    digits = sorted(zip(fmt.factors, names), key=lambda digit: -digit[0].step)
    groups = [[name for f, name in digits if f.dim == d] for d in range(fmt.rank)]
    left = " ".join([f"({' '.join(group)})" if len(group) > 1 else group[0] for group in groups])
    sizes = "".join([f", {name}={f.size}" for f, name in zip(fmt.factors, names) if f.size])
    return f"{left} -> {' '.join(names)}{sizes}"


_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _wrong(what: str, text: str, position: int) -> ParseError:
    return ParseError(f"no einops pattern: {what}", text=text, position=position, hint="as in h (w q) -> w h q, q=8")
