"""einops patterns with sizes as a description of a destination: ``n (h p) (w q) c -> n h w p q c, p=8, q=8``.

On the left every dimension of the data, split in parentheses, the slowest first; on the right the stored order. Names
with a size are blocks, the others are the rest of their dimension, which is padded to whole blocks.
"""

from __future__ import annotations

import re

from ..errors import NotExpressible, ParseError, ShapeError
from ..format.format import Format

_NAME = r"[A-Za-z_]\w*+"
_SIDE = rf"\s*(?:(?:{_NAME}|\((?:\s*{_NAME})*\s*\))\s*)*"
_GROUP = rf"{_NAME}|\([^()]*\)"
_SIZE = rf"\s*({_NAME})\s*=\s*([1-9]\d{{0,18}})\s*"


def is_pattern(text: str) -> bool:
    """Whether a text looks like a pattern: an arrow, and no notation that has arrows too."""
    return "->" in text and "<" not in text and "=" not in text.partition("->")[0]


def pattern_format(text: str) -> Format:
    """The format that a pattern describes."""
    left, _, rest = text.partition("->")
    right, *sizes = rest.split(",")
    for side, start in ((left, 0), (right, len(left) + 2)):
        if not re.fullmatch(_SIDE, side, re.ASCII):
            raise _wrong("expected names and parentheses.", text, start)
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
            raise _wrong("expected a size for every name of a group but the first.", text, 0)
        if group[0] in known:
            raise _wrong(f"expected no size for {group[0]}, the first of its dimension: it is the rest.", text, 0)
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


def _wrong(what: str, text: str, position: int) -> ParseError:
    return ParseError(f"no einops pattern: {what}", text=text, position=position, hint="as in h (w q) -> w h q, q=8")
