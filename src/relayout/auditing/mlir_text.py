"""Texts of MLIR, line by line: operations with their values, attributes and types, whatever the dialect.

An operation is one line; where regions follow it, their lines are operations of their own. Names of attributes
(``#blocked = #ttg.blocked<...>``) are written out before a type is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from .artefact import Artefact

_OPERATION = re.compile(r"\s*(?:(%[^=\n]*?)\s*=\s*)?\"?([a-z_]\w*(?:\.\w+)+)\"?(.*)", re.DOTALL)
_ALIAS = re.compile(r"\s*(#[A-Za-z_][\w$.]*)\s*=\s*(\S.*)")
_ALIAS_USE = re.compile(r"#[A-Za-z_]\w*\b(?![\w.$])")
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_LOCATION = re.compile(r"\s+loc\((?:#loc\d*|unknown|\"[^\"]*\".*)\)\s*$")
_LOCATION_NAME = re.compile(r"(#loc\w*)\s*=\s*(loc\(.*)")
_LOCATION_USE = re.compile(r"#loc\w*")
_SOURCE = re.compile(r'"([^"]+)":(\d+):\d+')
_SHAPED = re.compile(r"\s*(tensor|memref|vector|!ttg\.memdesc)<(.*)>\s*", re.DOTALL)
_SIZE = re.compile(r"\s*(\d+|\?)\s*x\s*")
_MARK = re.compile(r'"(?:[^"\\]|\\.)*"|->|::|[<>(){}\[\],:]')
_OPENING, _CLOSING = frozenset("<([{"), frozenset(">)]}")

MOST_JOINED = 64
"""How many lines may belong to one operation."""

MOST_LOCATIONS = 1 << 18
"""How many names of places in a source are remembered; of a file with more none is."""

MOST_TYPES = 1 << 12
"""How many different types are remembered, split and with their aliases written out."""


class Operation(NamedTuple):
    """One operation: the line, the names of its results, its own name, and all that stands behind that."""

    line: int
    results: tuple[str, ...]
    name: str
    text: str

    @property
    def parts(self) -> tuple[str, str]:
        """What stands before and behind the last ``:`` that is in no bracket: operands with attributes, and types."""
        at = max([at for at, depth, mark in _marks(self.text) if mark == ":" and not depth], default=None)
        return (self.text, "") if at is None else (self.text[:at], self.text[at + 1 :])

    @property
    def operands(self) -> tuple[str, ...]:
        """The values that it names before its types, each once."""
        return tuple(dict.fromkeys(values_in(self.parts[0])))

    @property
    def types(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The types of operands and of results; of what has one list, both are that list."""
        return _split_types(self.parts[1])


class ShapedType(NamedTuple):
    """``tensor<4x?xf32, #a>``: its word, its sizes (None for ``?``), its element type, and what else it says."""

    word: str
    sizes: tuple[int | None, ...]
    element: str
    rest: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The sizes, where all are known."""
        known = tuple([n for n in self.sizes if n is not None])
        return known if len(known) == len(self.sizes) else None


class Aliases:
    """The names of attributes that a module gives, written out in types on demand."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._known: dict[str, str] = {}

    def see(self, line: str) -> bool:
        """Whether a line gives an attribute a name, which is then known; places in a source are no attributes."""
        found = _ALIAS.match(line) if line.lstrip().startswith("#") else None
        if found is None or found[1].startswith("#loc"):
            return found is not None
        self._texts[found[1]] = found[2].partition(" //")[0].strip()
        self._known.clear()
        return True

    def write_out(self, text: str) -> str:
        """A text with what its names stand for in their place; names that nobody gave stay."""
        known = self._known.get(text)
        if known is None:
            known = text
            for _ in range(16):
                more = _ALIAS_USE.sub(lambda name: self._texts.get(name.group(), name.group()), known)
                if more == known or len(more) > 1 << 16:
                    break
                known = more
            if len(self._known) >= MOST_TYPES:
                self._known.clear()
            self._known[text] = known
        return known


def read_operation(line: int, text: str) -> Operation | None:
    """The operation of a line; None of what is none: a comment, a brace, a label."""
    found = _OPERATION.match(text)
    if found is None:
        return None
    results = tuple(_VALUE.findall(found[1])) if found[1] else ()
    rest = found[3]
    if rest.endswith(")") and " loc(" in rest:
        rest = _LOCATION.sub("", rest)
    return Operation(line, results, found[2], rest)


def values_in(text: str) -> list[str]:
    """The values that a text names, in order."""
    return _VALUE.findall(text)


def cut(text: str, mark: str) -> tuple[str, str, str]:
    """A text before and behind the first colon, comma or arrow that is in no bracket, as ``str.partition`` does."""
    for at, depth, found in _marks(text):
        if not depth and found == mark:
            return text[:at], mark, text[at + len(mark) :]
    return text, "", ""


def split_list(text: str) -> list[str]:
    """The parts of a text between commas that are in no bracket, without spaces around."""
    parts, start = [], 0
    for at, depth, mark in _marks(text):
        if mark == "," and not depth:
            parts.append(text[start:at].strip())
            start = at + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


@lru_cache(maxsize=MOST_TYPES)
def read_shaped(text: str) -> ShapedType | None:
    """The shaped type that a text is; None of any other."""
    found = _SHAPED.fullmatch(text)
    if found is None:
        return None
    inner, at, sizes = found[2], 0, []
    while size := _SIZE.match(inner, at):
        sizes.append(None if size[1] == "?" else int(size[1]))
        at = size.end()
    first, *rest = split_list(inner[at:]) or [""]
    return ShapedType(found[1], tuple(sizes), first, tuple(rest))


def attribute(text: str, name: str) -> str | None:
    """What an attribute of that name is in a text, up to the comma or the bracket that ends it."""
    found = re.search(rf"(?<![\w.]){re.escape(name)}\s*=\s*", text)
    if found is None:
        return None
    depth = 0
    for at in range(found.end(), len(text)):
        if text[at] in _OPENING:
            depth += 1
        elif text[at] in _CLOSING and text[at - 1] != "-":
            depth -= 1
        if depth < 0 or (not depth and text[at] in ", "):
            return text[found.end() : at] or None
        if not depth and text[at] in "]}>)":
            return text[found.end() : at + 1]
    return text[found.end() :] or None


def integers(text: str | None) -> tuple[int, ...] | None:
    """The integers of ``[1, 0]`` or ``array<i32: 1, 0>``; None where something else stands there."""
    if text is None:
        return None
    inner = re.fullmatch(
        r"(?:array<i\d+(?::\s*)?|dense<\[|\[)\s*(-?\d+(?:\s*,\s*-?\d+)*|)\s*(?:\]>|\]|>)", text.strip()
    )
    return tuple([int(n) for n in inner[1].split(",") if n.strip()]) if inner else None


def _marks(text: str) -> Iterator[tuple[int, int, str]]:
    """The marks of a text that are in no string, each with its place and the number of brackets around it: brackets,
    commas, colons and arrows.
    """
    depth = 0
    for found in _MARK.finditer(text):
        mark = found.group()
        if mark in _CLOSING:
            depth -= 1
        if mark[0] != '"':
            yield found.start(), depth, mark
        if mark in _OPENING:
            depth += 1


@lru_cache(maxsize=MOST_TYPES)
def _split_types(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    before, arrow, behind = cut(text, "->")
    first = _type_list(before)
    return first, _type_list(behind) if arrow else first


def _type_list(text: str) -> tuple[str, ...]:
    inner = text.strip()
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1]
    return tuple(split_list(inner))


def last_dump(artefact: Artefact) -> int:
    """The line of the last ``IR Dump`` of a file that has several; 0 where it has none."""
    if "IR Dump" not in artefact.opening:
        return 0
    return max([line for line, text in artefact.lines() if text.startswith("// -----// IR Dump")], default=0)


class Locations:
    """Where in the source the operations of a module come from, as ``loc(#loc7)`` behind each and the table at the end
    tell. Of a file with several modules nothing is told: their names are the same.
    """

    def __init__(self, artefact: Artefact) -> None:
        self._texts: dict[str, str] = {}
        modules = 0
        for _, text in artefact.lines() if "loc(" in artefact.opening else ():
            modules += text.startswith("module")
            if text.startswith("#loc") and (found := _LOCATION_NAME.match(text)):
                self._texts[found[1]] = found[2]
            if modules > 1 or len(self._texts) > MOST_LOCATIONS:
                self._texts = {}
                break

    def source_of(self, text: str) -> str:
        """The file and the line behind an operation; empty where nothing tells."""
        at = text.rfind(" loc(") if self._texts else -1
        place = text[at:] if at >= 0 else ""
        for _ in range(8):
            if found := _SOURCE.search(place):
                return f"{found[1].replace(chr(92), '/').rpartition('/')[2]}:{found[2]}"
            name = _LOCATION_USE.search(place)
            place = self._texts.get(name.group(), "") if name else ""
        return ""


def _is_open(text: str) -> bool:
    """Whether a line goes on in the next one: a bracket is not closed, that of a region aside."""
    bare = text.rstrip()
    if bare.endswith("{") and not text.startswith("#"):
        return False
    if bare.endswith((" :", "->")):
        return True
    count = text.count
    depth = count("<") - count(">") + count("->") + count("(") - count(")") + count("[") - count("]")
    return depth + (count("{") - count("}") if text.startswith("#") else 0) > 0


def joined_lines(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The lines, those that belong together as one: with an open bracket, or before one that begins with a type."""
    held: tuple[int, str] | None = None
    parts = 0
    for line, text in lines:
        bare = text.lstrip()
        if bare.startswith("//") and not bare.startswith("// -----"):
            continue
        if held is not None:
            goes_on = bare[:1] == ":" or bare[:2] == "->" or _is_open(held[1])
            if goes_on and parts < MOST_JOINED and not bare.startswith("//"):
                held, parts = (held[0], f"{held[1]} {text.strip()}"), parts + 1
                continue
            yield held
        held, parts = (line, text), 1
    if held is not None:
        yield held


def nested_lines(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """The lines that say something, each with the lines that opened the regions around it, from the outermost."""
    stack: tuple[str, ...] = ()
    for line, text in joined_lines(lines):
        bare = text.strip()
        if not bare or bare.startswith("//"):
            stack = () if bare else stack
            continue
        if bare.startswith("}") and stack:
            closing = len(bare) - len(bare.lstrip("} "))
            closed, stack = stack[-1], stack[: -bare.count("}", 0, closing)]
            yield line, text, stack
            if bare.endswith("{"):
                stack = (*stack, closed)
            continue
        yield line, text, stack
        if bare.endswith("{"):
            stack = (*stack, bare)
