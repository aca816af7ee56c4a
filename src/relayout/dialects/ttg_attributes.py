"""The attributes of Triton's IR as values: ``#ttg.blocked<{sizePerThread = [1, 4], ...}>``, with their aliases."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

from ..errors import UnknownName
from ..immutable import NamedTuple
from ..integers.nested import MAX_DEPTH
from .scan import Scanner, too_deep

_ATTRIBUTE = re.compile(r"#([A-Za-z_][\w$]*(?:\.[A-Za-z_]\w*)*)")
_KEY = re.compile(r"[A-Za-z_]\w*")
_TYPED = re.compile(r"\s*:\s*[a-z]\w*")


class Attribute(NamedTuple):
    """A name and its fields; ``pairs`` are ``interval:+padding``."""

    name: str
    fields: dict[str, Any]
    pairs: tuple[tuple[int, int], ...]


def read_attribute(scan: Scanner, aliases: dict[str, Any], level: int = 0) -> Any:
    """An attribute, or what an alias stands for."""
    scan.peek()
    match = _ATTRIBUTE.match(scan.text, scan.position)
    if not match:
        scan.fail("an encoding, as in #ttg.blocked<{...}>")
    scan.position = match.end()
    name = match[1]
    if "." not in name:
        if name in aliases:
            return aliases[name]
        near = get_close_matches(name, aliases, n=3, cutoff=0.5)
        known = f"; near it is #{', #'.join(near)}" if near else ""
        raise UnknownName(
            f"#{name} stands for an encoding that the text does not have.",
            hint=f"put its line before it, as in #{name} = #ttg.blocked<{{...}}>{known}",
            name=name,
        )
    if level > MAX_DEPTH:
        raise too_deep()
    fields: dict[str, Any] = {}
    pairs: list[tuple[int, int]] = []
    if scan.accept("<"):
        if scan.accept("["):
            pairs = _pairs(scan)
            scan.accept(",")
        while not scan.accept(">"):
            if scan.accept("{"):
                _fields(scan, "}", fields, aliases, level)
            else:
                _field(scan, fields, aliases, level)
            if not scan.accept(","):
                scan.expect(">")
                break
    return Attribute(name, fields, tuple(pairs))


def _pairs(scan: Scanner) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    while not scan.accept("]"):
        if pairs:
            scan.expect(",")
        interval = scan.integer()
        scan.expect(":")
        scan.expect("+")
        pairs.append((interval, scan.integer()))
    return pairs


def _fields(scan: Scanner, end: str, fields: dict[str, Any], aliases: dict[str, Any], level: int) -> None:
    while not scan.accept(end):
        _field(scan, fields, aliases, level)
        if not scan.accept(","):
            scan.expect(end)
            return


def _field(scan: Scanner, fields: dict[str, Any], aliases: dict[str, Any], level: int) -> None:
    scan.peek()
    match = _KEY.match(scan.text, scan.position)
    if not match:
        scan.fail("a name, as in order = [1, 0]")
    if match.group() in fields:
        scan.fail(f"{match.group()} only once")
    scan.position = match.end()
    scan.expect("=")
    fields[match.group()] = _value(scan, aliases, level + 1)


def _value(scan: Scanner, aliases: dict[str, Any], level: int) -> Any:
    """A number, a truth value, a word, a list, fields in braces, or an attribute."""
    if level > MAX_DEPTH:
        raise too_deep()
    c = scan.peek()
    if c == "#":
        return read_attribute(scan, aliases, level)
    if c == "[":
        scan.expect("[")
        items: list[Any] = []
        while not scan.accept("]"):
            if items:
                scan.expect(",")
            items.append(_value(scan, aliases, level + 1))
        return items
    if c == "{":
        scan.expect("{")
        fields: dict[str, Any] = {}
        _fields(scan, "}", fields, aliases, level)
        return fields
    if match := _KEY.match(scan.text, scan.position):
        scan.position = match.end()
        return {"true": True, "false": False}.get(match.group(), match.group())
    number = scan.integer()
    if typed := _TYPED.match(scan.text, scan.position):
        scan.position = typed.end()
    return number
