"""HLO text, line by line: where modules and computations begin and end, and every instruction between.

An instruction is ``name = shape opcode(operands), attributes``, and goes on until the next one begins. Lines as
compilers print them are cut at the first few spaces; only others, as people write them, cost a regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

LONGEST = 1 << 16
"""How many characters of an instruction over several lines are kept."""

_HEAD = r"(ENTRY\s+)?%?([\w.\-]+)\s*(?:\(.*\)\s*->.*(?=\{$)|\(.*?\)\s*->[^{]*(?:\{[\d,:]*\}[^{]*)*|,[^={]*)?\{(?!\S)"
_UNFINISHED_HEAD = r"(?:ENTRY\s+%?[\w.\-]+\s*(?:\([^{]*)?|%?[\w.\-]+\s*\([^{]*)"
_ARRAY = r"[a-z]\w*\[[^\]]*\](?:\s*\{[^}]*\})?"
_INNER = r"[^()=]|<=|/\*.*?\*/"
_SHAPE = rf"(?:\((?:{_INNER}|\((?:{_INNER}|\((?:{_INNER}|\([^()]*\))*\))*\))*\)|b\({_ARRAY}\)|{_ARRAY})"
_START = rf"(ROOT\s+)?%?([\w.\-]+)\s*=\s*(?:({_SHAPE})\s*)?\b([a-z][\w\-]*)\("
_WHOLE_START = rf"(?:ROOT\s+)?%?[\w.\-]+\s*=\s*{_SHAPE}\s*[a-z][\w\-]*\("
_UNFINISHED = r"(?:ROOT\s+)?%?[\w.\-]+\s*=\s*(?:\(|[a-z]\w*\[|$)"
_OPERAND = r"(?:(.*\S)\s+)?%?([\w.\-]+)"
_QUOTED = r'"(?:[^"\\]|\\.)*"'


class ModuleLine(NamedTuple):
    """The line that begins a module."""

    line: int
    text: str


class Begin(NamedTuple):
    """The line that begins a computation."""

    line: int
    name: str
    entry: bool


class End(NamedTuple):
    """The end of a computation; ``whole`` is false where the text ends before it."""

    line: int
    whole: bool


class HloOperand(NamedTuple):
    """The name of a value, and its shape where the text has it at this place."""

    name: str
    shape: str = ""


class Instruction(NamedTuple):
    """One instruction; ``shape`` is empty where the text leaves it out, ``rest`` follows the opcode's bracket."""

    line: int
    name: str
    shape: str
    opcode: str
    rest: str
    root: bool

    @property
    def operands(self) -> list[HloOperand]:
        """The operands in their order, without comments."""
        inside = self.rest[: self._end]
        if "/*" in inside:
            inside = re.sub(r"/\*.*?\*/", "", inside)
        return [_operand(text) for text in parts(inside)]

    @property
    def attributes(self) -> str:
        """What stands behind the operands."""
        return self.rest[self._end + 1 :]

    def attribute(self, name: str) -> str | None:
        """What one attribute says, without its brackets or quotes: ``dimensions={1,0}`` is ``1,0``."""
        found = re.search(rf"[,\s]{name}=(\{{|\"[^\"]*\"|[^,\s}}]+)", self.attributes)
        if found is None:
            return None
        if found[1] != "{":
            return found[1].strip('"')
        return self.attributes[found.end() : closing(self.attributes, found.end() - 1)]

    @property
    def _end(self) -> int:
        end = self.rest.find(")")
        if end < 0:
            return len(self.rest)
        return end if "(" not in self.rest[:end] else closing(f"({self.rest}", 0) - 1


def read_hlo(lines: Iterable[tuple[int, str]]) -> Iterator[ModuleLine | Begin | Instruction | End]:
    """Everything that the numbered lines hold, in their order."""
    inside = False
    depth = 0
    pending: Instruction | None = None
    unfinished, unfinished_line = "", 0
    written_inside = False
    number = 0
    for number, line in lines:
        at = line.find(" = ") if inside and not depth and not unfinished else -1
        found = _plain(number, line, at) if at > 0 else None
        if found is not None:
            if pending is not None:
                yield pending
            pending = found
            if line.endswith(("{", "(", ",", "[", " }")):
                if _balance(line) < 0:
                    yield pending._replace(rest=pending.rest.rstrip(" }"))
                    yield End(number, True)
                    inside, pending = False, None
                    continue
                depth = max(0, _balance(line))
                written_inside = bool(re.search(r"(?:to_apply|calls|body|condition)=\{$", line))
            continue
        text = line.strip()
        if not text or text.startswith(("//", "#")):
            continue
        start = unfinished_line if unfinished else number
        if unfinished:
            text, unfinished = f"{unfinished} {text}"[:LONGEST], ""
        if not inside:
            if text.startswith("HloModule"):
                yield ModuleLine(number, text)
                head = re.search(r"(?<=[\s}])ENTRY\s.*\{.*", text)
                text = "" if head is None else head[0]
            head = re.match(_HEAD, text) if "{" in text else None
            if head is None or head[2] == "HloModule":
                unfinished, unfinished_line = text if re.fullmatch(_UNFINISHED_HEAD, text) else "", start
                continue
            inside, depth = True, 0
            yield Begin(start, head[2], head[1] is not None)
            text = text[head.end() :].strip()
            if not text:
                continue
        whole = bool(depth and re.match(_WHOLE_START, text))
        if whole and not written_inside:  # what was open before was not: a quote over several lines
            depth = 0
        ends = not depth and (text == "}" or text.startswith(("},", "} ")))
        started = [] if (depth and not whole) or ends else _several(start, text)
        if not started and not ends and not depth and re.match(_UNFINISHED, text):
            unfinished, unfinished_line = text, start
            continue
        if started:
            if pending is not None:
                yield pending
            yield from started[:-1]
            pending = started[-1]
            left = depth + _balance(text)
            ends, depth = left < 0, max(0, left)
        elif not ends:
            if pending is not None and len(pending.rest) < LONGEST:
                pending = pending._replace(rest=f"{pending.rest} {text}")
            left = depth + _balance(text)
            ends, depth = left < 0 and text.endswith("}"), max(0, left)
        if ends:
            if pending is not None:
                yield pending
            yield End(number, True)
            inside, pending, depth = False, None, 0
    if pending is not None:
        yield pending
    if inside:
        yield End(number, False)


def _plain(number: int, line: str, at: int) -> Instruction | None:
    """The instruction of a line as compilers print it: one space between its parts, and none in them."""
    name = line[:at].lstrip()
    root = name.startswith("ROOT ")
    if root:
        name = name[5:]
    start = at + 3
    end = line.find(") ", start) + 1 if line.startswith("(", start) else line.find(" ", start)
    bracket = line.find("(", end + 1)
    if end <= 0 or bracket < 0 or " " in name:
        return None
    shape, opcode = line[start:end], line[end + 1 : bracket]
    if "[" not in shape or " " in opcode or "[" in opcode:
        return None
    return Instruction(number, name.lstrip("%"), shape, opcode, line[bracket + 1 :], root)


def _several(number: int, text: str) -> list[Instruction]:
    """The instructions that begin in a line as people write it; none where it only goes on."""
    if not re.match(_START, text):
        return []
    starts = list(re.finditer(rf"(?<![\w.\-%,=]){_START}", re.sub(_QUOTED, _blank, text)))
    ends = [*[found.start() for found in starts[1:]], len(text)]
    return [
        Instruction(number, found[2], found[3] or "", found[4], text[found.end() : end].strip(), found[1] is not None)
        for found, end in zip(starts, ends)
    ]


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _balance(text: str) -> int:
    """Brackets opened less those closed, of every kind, outside of quotes."""
    if '"' in text:
        text = re.sub(_QUOTED, "", text)
    opened = text.count("{") + text.count("(") + text.count("[")
    return opened - text.count("}") - text.count(")") - text.count("]")


def closing(text: str, at: int) -> int:
    """Where the bracket at ``at`` closes; the end of a text that is cut."""
    level = 0
    for found in re.compile(rf"[(){{}}\[\]]|{_QUOTED}").finditer(text, at):
        level += 1 if found[0] in "({[" else -1 if found[0] in ")}]" else 0
        if not level:
            return found.start()
    return len(text)


def parts(text: str) -> list[str]:
    """The texts between the commas that stand in no brackets."""
    if not any(mark in text for mark in "({["):
        return [part for part in text.split(",") if part.strip()]
    found, start, level = [], 0, 0
    for mark in re.finditer(r"[(){}\[\],]", text):
        if mark[0] != ",":
            level += 1 if mark[0] in "({[" else -1
        elif not level:
            found.append(text[start : mark.start()])
            start = mark.end()
    return [part for part in [*found, text[start:]] if part.strip()]


def _operand(text: str) -> HloOperand:
    text = text.strip()
    if "(" not in text and " " not in text:
        return HloOperand(text.lstrip("%"))
    nested = re.match(rf"({_SHAPE})\s+[a-z][\w\-]*\(", text)
    if nested:
        return HloOperand("", nested[1])
    found = re.fullmatch(_OPERAND, text)
    return HloOperand("") if found is None else HloOperand(found[2], found[1] or "")
