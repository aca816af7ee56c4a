"""What the notations of Python's array libraries share: named values, as in a call, a dictionary or plain words."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable
from typing import Any

from ..immutable import NamedTuple
from .scan import Scanner

_STRING = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"")
_DOTTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_CLOSING = {"(": ")", "{": "}", "[": "]"}


class Fields(NamedTuple):
    """The called name, the values without a name, and those with one."""

    callee: str
    positional: list[Any]
    named: dict[str, Any]


def fields(scan: Scanner, is_call: Callable[[str], bool], expected: str) -> Fields:
    """``f(1, a=(2, 3))``, ``{'a': (2, 3)}`` or ``a=(2, 3), b=4``, to the end of the text; what is ``expected`` of it.

    Values are integers, tuples or lists of integers, strings, ``None``, and dotted words such as ``torch.float32``.
    """
    callee = closing = ""
    scan.peek()
    start = scan.position
    if scan.text.startswith("{", start):
        return Fields("", [], _dictionary(scan))
    word = _match(scan, _DOTTED)
    if word and scan.accept("("):
        if not is_call(word):
            scan.fail(expected, start)
        callee, closing = word, ")"
    else:
        scan.position = start
    positional: list[Any] = []
    by_name: dict[str, Any] = {}
    while scan.peek() != closing:
        if positional or by_name:
            scan.expect(",")
            if scan.peek() == closing:
                break
        at = scan.position
        key = _match(scan, _STRING) or _match(scan, _DOTTED)
        if key and (scan.accept("=") or scan.accept(":")):
            if key in by_name:
                scan.fail(f"{key} only once", at)
            by_name[key] = _value(scan)
        else:
            scan.position = at
            positional.append(_value(scan))
            if key and not callee and scan.peek() not in (",", ""):
                scan.fail(expected, at)
    if closing:
        scan.expect(closing)
    scan.end()
    return Fields(callee, positional, by_name)


def _dictionary(scan: Scanner) -> dict[str, Any]:
    """A dictionary as Python writes it, lists as tuples."""
    if "\\" in scan.text:
        scan.fail("a dictionary without escapes")
    try:
        found = literal_eval(scan.text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        scan.fail("a dictionary as Python writes it")
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        scan.fail("a dictionary with names as keys")
    scan.position = len(scan.text)
    return {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}


def _value(scan: Scanner) -> Any:
    first = scan.peek()
    if first in ("(", "["):
        return scan.bracketed_integers(first, _CLOSING[first])
    if first in ("'", '"'):
        return _match(scan, _STRING) or scan.fail("a string on one line")
    word = "" if first == "U" else _match(scan, _DOTTED)
    if not word:
        return scan.integer()
    if word == "None":
        return None
    if scan.accept("("):
        sizes = scan.bracketed_integers()
        scan.expect(")")
        return sizes
    return word


def _match(scan: Scanner, pattern: re.Pattern[str]) -> str:
    """What ``pattern`` matches next, without quotes; empty when it does not."""
    scan.peek()
    match = pattern.match(scan.text, scan.position)
    if not match:
        return ""
    scan.position = match.end()
    return next((group for group in match.groups() if group is not None), match.group())
