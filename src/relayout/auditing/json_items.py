"""The objects of a JSON list, one after another as the file is read, with the line where each begins.

Objects may share a line or have several. What is broken is told, and reading goes on at the next object that begins a
line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from .artefact import Artefact

LONGEST = 1 << 22
"""No object has more characters."""

_MOST_LINES = 1 << 14
"""An object of more lines is looked at on each."""

_BETWEEN = " \t\r\n,"


def read_items(artefact: Artefact, after: str = "[") -> Iterator[tuple[int, Any]]:
    """The line and the value of each item of the list that begins behind the text ``after``, up to its end.

    An item is what JSON makes of it; what is no JSON is a ``ValueError`` in its place.
    """
    decode = json.JSONDecoder().raw_decode
    skip: Any = re.compile(f"[{_BETWEEN}]*").match
    lines: list[str] = []
    start, last, inside = 0, 0, False
    for number, line in artefact.lines():
        if not inside:
            lines.append(line)
            head = "\n".join(lines)
            at = head.find(after)
            if at < 0:
                lines = [head[-len(after) - 256 :]]
                continue
            inside, line, lines = True, head[at + len(after) :], []
        if lines and _begins(line):
            yield start, ValueError("this is no JSON")
            lines = []
        if number == last and lines:  # the rest of a line that was too long for one piece
            lines[-1] += line
        else:
            start = start if lines else number
            lines.append(line)
        last = number
        # An object ends where a brace closes; looking at every line would read its beginning again and again.
        if lines[0].lstrip(_BETWEEN).startswith("{") and "}" not in line and len(lines) < _MOST_LINES:
            continue
        pending = "\n".join(lines)
        at = skip(pending).end()
        while at < len(pending):
            if pending[at] == "]":
                return
            try:
                item, at = decode(pending, at)
            except (ValueError, RecursionError):
                break
            yield start, item
            start, at = number, skip(pending, at).end()
        pending = pending[at:]
        if len(pending) > LONGEST or (pending and pending[0] not in '{["'):
            yield start, ValueError("this is no JSON")
            pending = ""
        lines = [pending] if pending else []
    rest = "\n".join(lines) if inside else ""
    if rest.strip(_BETWEEN + "]}"):
        yield start, ValueError("the file ends inside an object")
    elif not inside:
        yield start, ValueError(f"there is no {after}")


def _begins(line: str) -> bool:
    """Whether an object begins and ends on this line, or one ends and another begins, whatever came before."""
    text = line.strip(_BETWEEN)
    return text.startswith('{"') and text.endswith("}") and text.count("{") == text.count("}")
