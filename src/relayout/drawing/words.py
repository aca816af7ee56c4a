"""Titles and notes: on one line, cut where they are long, and folded where there is no room."""

from __future__ import annotations

import re

LONGEST = 400
"""Titles of more characters are cut."""

_PIECES = re.compile(r"[^\s,]*,?\s*")


def title_line(text: str) -> str:
    """A text on one line, without what is neither printed nor allowed in XML, and cut where it is long."""
    line = " ".join("".join([c if c.isprintable() else " " for c in text]).split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 4]} ..."


def fold(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of at most ``width`` characters, all but the first indented; they end after commas and words that fit."""
    lines: list[str] = []
    line = ""
    for piece in _PIECES.findall(text):
        if line.strip() and len(line) + len(piece.rstrip()) > width:
            lines.append(line.rstrip())
            line = indent
        line += piece
        while len(line.rstrip()) > width > len(indent):
            lines.append(line[:width])
            line = indent + line[width:]
    return [*lines, line.rstrip()] if line.strip() else lines
