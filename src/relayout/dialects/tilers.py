"""Operands of the algebra as somebody types them: nested integers, tilers, and layouts that have their shape."""

from __future__ import annotations

import ast
import re
from typing import Any

from ..errors import ParseError
from ..layout.layout import Layout
from .resolve import resolve

_STRANGE = re.compile(r"[^\d\s(),_-]|\d{4000}|(?<=\w)_|_(?=\w)")


def parse_integers(text: str, what: str) -> Any:
    """Nested integers: ``3``, ``1,2``, ``(1,(0,2))``; ``_`` is None. ``what`` is their name in the error.

    >>> parse_integers("1,(0,2)", "a coordinate")
    (1, (0, 2))
    """
    position = 0
    if (strange := _STRANGE.search(text)) is None:
        try:
            return ast.literal_eval(text.strip().replace("_", "None"))
        except SyntaxError as error:
            position = min(max((error.offset or 1) - 1, 0), len(text))
        except (ValueError, MemoryError, RecursionError):
            pass
    raise ParseError(
        f"this is not {what}.",
        text=text,
        position=strange.start() if strange else position,
        hint="write integers as in 1,2 or (1,(0,2))",
    )


def parse_tiler(text: str) -> Any:
    """What cuts a layout: a layout, or mode by mode ``4,8`` or ``<4:1, 8:2>``, where ``_`` leaves a mode alone.

    >>> parse_tiler("<4:1, 8>")
    (Layout(4, 1), 8)
    """
    inside = text.strip()
    if inside.startswith("<") and inside.endswith(">"):
        return tuple([parse_tiler(part) for part in _split_at_commas(inside[1:-1])])
    if re.fullmatch(r"[\s\d(),_]+", inside):
        return parse_integers(inside, "a tiler")
    return parse_layout(text)


def parse_layout(text: str) -> Layout:
    """The layout that a text writes down; a format, whose layout depends on the shape, is refused."""
    return resolve(text).placed


def parse_part(text: str) -> tuple[Any, ...]:
    """The index that a text writes as numpy does, with ``start:stop:step`` and ``...``.

    >>> parse_part("0,:8")
    (0, slice(None, 8, None))
    """
    found: list[Any] = []
    position = 0
    for word in text.split(","):
        entry = word.strip()
        if entry == "...":
            found.append(...)
        elif re.fullmatch(r"-?\d{1,300}", entry):
            found.append(int(entry))
        elif re.fullmatch(r"(-?\d{1,300})?:(-?\d{1,300})?(:(-?\d{1,300})?)?", entry):
            found.append(slice(*[int(n) if n else None for n in entry.split(":")]))
        else:
            raise ParseError(
                "this is not a part.", text=text, position=position, hint="write it as in 0,:8,2:10:2 or ...,0"
            )
        position += len(word) + 1
    return tuple(found)


def _split_at_commas(text: str) -> list[str]:
    """The parts between commas that are in no bracket."""
    parts, level, start = [], 0, 0
    for k, c in enumerate(text):
        level += (c in "(<[") - (c in ")>]")
        if c == "," and level == 0:
            parts.append(text[start:k])
            start = k + 1
    return [*parts, text[start:]]
