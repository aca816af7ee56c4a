"""What stands in XLA's braces, ``{1,0:T(8,128)(2,1)S(1)}``: kept whole, and written back as XLA prints it.

The dimensions come first, the fastest before all, then properties: ``T`` tiles, ``L`` rounds the number of elements up,
``E`` is the width of an element in bits. The others say nothing about places: levels of dimensions ``D`` (which XLA
reads over), types of indices ``#`` and of pointers ``*``, the memory space ``S``, splits ``SC`` between memories, the
physical shape ``P``, and ``M``, the bytes of metadata before the first element.
"""

from __future__ import annotations

import re

from ..format.factors import MAX_FACTORS
from ..immutable import NamedTuple
from ..integers.nested import MAX_DEPTH
from .padded_tiles import COMBINED
from .scan import Scanner

_NUMBER = re.compile(r"\d{1,18}", re.ASCII)
_TYPE = re.compile(r"[a-z]\w*", re.ASCII)
_CONTENTS = {
    "D": re.compile(r"[DCSH]\+?~?(?:,[DCSH]\+?~?)*"),
    "T": re.compile(r"(?:\d{1,18}|\*)(?:,(?:\d{1,18}|\*))*", re.ASCII),
    "L": _NUMBER,
    "#": _TYPE,
    "*": _TYPE,
    "E": _NUMBER,
    "S": _NUMBER,
    "SC": re.compile(r"\d{1,18}:\d{1,18}(?:,\d{1,18})*", re.ASCII),
    "P": re.compile(r"[a-z]\w*\[.*", re.ASCII),
    "M": _NUMBER,
}
"""The properties in the order in which XLA prints them, each with what may stand in its parentheses."""
_USUAL = {"L": "(1)", "E": "(0)", "S": "(0)", "M": "(0)"}
_NAME = re.compile(r"\s*(SC|[DTLESPM#*])(?=\s*\()")


class Braces(NamedTuple):
    """The dimensions from the fastest on, and the properties by name, each with its parentheses, in XLA's order."""

    order: tuple[int, ...]
    properties: tuple[tuple[str, str], ...] = ()
    position: int = 0

    def __str__(self) -> str:
        words = "".join([name + text for name, text in self.properties])
        return f"{{{','.join(map(str, self.order))}{':' if words else ''}{words}}}"

    @property
    def tiles(self) -> tuple[tuple[int, ...], ...]:
        """The sizes of one tile after the other; ``COMBINED`` for ``*``."""
        groups = re.findall(r"\(([^()]*)\)", dict(self.properties).get("T", ""))
        return tuple([tuple([COMBINED if n == "*" else int(n) for n in group.split(",")]) for group in groups])

    @property
    def bits(self) -> int | None:
        """The width of an element, if ``E`` tells it."""
        return self._number("E") or None

    @property
    def tail(self) -> int:
        """What ``L`` rounds the number of elements up to a multiple of."""
        return self._number("L") or 1

    def _number(self, name: str) -> int:
        return int(dict(self.properties).get(name, "(0)")[1:-1])


def read_braces(scan: Scanner) -> Braces:
    """The braces that come next; properties may stand in any order, each once."""
    scan.expect("{")
    at = scan.position
    order: list[int] = []
    while scan.peek() not in (":", "}", ""):
        if order:
            scan.expect(",")
        order.append(scan.integer())
    if len(order) > MAX_FACTORS or sorted(order) != list(range(len(order))):
        scan.fail("every dimension once, the fastest first", at)
    at = scan.position + 1
    found = _properties(scan) if scan.accept(":") else {}
    scan.expect("}")
    kept = [(name, found[name]) for name in _CONTENTS if name in found and found[name] != _USUAL.get(name)]
    return Braces(tuple(order), tuple(kept), at)


def _properties(scan: Scanner) -> dict[str, str]:
    """Every property that follows with the text in its parentheses, without white space."""
    found: dict[str, str] = {}
    while match := _NAME.match(scan.text, scan.position):
        name = match[1]
        if name in found:
            scan.fail("properties, each once")
        scan.position = match.end()
        groups = [_group(scan, name)]
        while name in ("T", "SC") and scan.peek() == "(":
            groups.append(_group(scan, name))
            if len(groups) > MAX_DEPTH:
                scan.fail(f"at most {MAX_DEPTH} tiles or splits")
        found[name] = "".join(groups)
        if name == "T" and found[name].count("*") > MAX_DEPTH:
            scan.fail(f"at most {MAX_DEPTH} combined dimensions")
    if scan.peek() != "}":
        scan.fail("tiles T(...), then L, #, *, E, S, SC, P or M in parentheses, each once")
    return found


def _group(scan: Scanner, name: str) -> str:
    """The parentheses that come next, with what may stand in those of that property."""
    scan.peek()
    at = end = scan.position
    level = 0
    for end in range(at, len(scan.text)):
        level += {"(": 1, ")": -1}.get(scan.text[end], 0)
        if not level:
            break
    inside = re.sub(r"\s", "", scan.text[at + 1 : end])
    if level or not _CONTENTS[name].fullmatch(inside):
        scan.fail(f"what {name} has in parentheses, as in {_EXAMPLES[name]}", at)
    if name == "L" and not int(inside):
        scan.fail("L(n) with n >= 1", at)
    if name == "T":
        _check_tile(scan, inside.split(","), at)
    scan.position = end + 1
    return f"({inside})"


def _check_tile(scan: Scanner, sizes: list[str], at: int) -> None:
    if len(sizes) > MAX_FACTORS or any(n != "*" and int(n) < 1 for n in sizes):
        scan.fail("sizes >= 1, for the fastest dimensions of what is stored", at)
    if sizes[-1] == "*":
        scan.fail("a size for the fastest dimension: * combines a dimension with the next faster one", at)


_EXAMPLES = {
    "D": "D(D,D)",
    "T": "T(8,128)(2,1)",
    "L": "L(1024)",
    "#": "#(u32)",
    "*": "*(u16)",
    "E": "E(4)",
    "S": "S(1)",
    "SC": "SC(0:512,1024)",
    "P": "P(f32[8,128])",
    "M": "M(1024)",
}
