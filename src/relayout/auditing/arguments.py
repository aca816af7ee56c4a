"""The arguments of a call in a text: cut at commas that stand in no brackets, with those that have names apart."""

from __future__ import annotations

import re


def split_arguments(text: str) -> list[str]:
    """The arguments of a call, whose text begins behind the opening bracket; up to the bracket that closes it."""
    parts, level, start, quoted = [], 0, 0, ""
    lambdas = "lambda " in text
    for mark in re.finditer(r"[\"'()\[\]{},]", text):
        at, c = mark.start(), mark[0]
        if quoted:
            quoted = "" if c == quoted else quoted
        elif c in "\"'":
            quoted = c
        elif c in "([{":
            level += 1
        elif c in ")]}":
            level -= 1
            if level < 0:
                parts.append(text[start:at])
                break
        elif c == "," and level == 0 and not (lambdas and _names_indices(text[start:at])):
            parts.append(text[start:at])
            start = at + 1
    else:
        parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _names_indices(text: str) -> bool:
    """Whether a text ends among the names behind ``lambda``, whose commas part no arguments."""
    return "lambda " in text and ":" not in text[text.index("lambda ") :]


def split_keywords(text: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """The arguments without a name in their order, and those with one.

    >>> split_keywords("x, perm=[0, 1], name = 'a, b')")
    (('x',), {'perm': '[0, 1]', 'name': "'a, b'"})
    """
    positional: list[str] = []
    keywords: dict[str, str] = {}
    for part in split_arguments(text):
        name, equals, value = part.partition("=")
        if equals and name.strip().isidentifier() and not value.startswith("="):
            keywords[name.strip()] = value.strip()
        else:
            positional.append(part)
    return tuple(positional), keywords
