"""Lines of C as clang-format breaks them, and numbers, products and sums as one writes them."""

from __future__ import annotations

import re
from collections.abc import Sequence

WIDTH = 80


class CLines:
    """Lines of a body, indented by their depth, none longer than ``WIDTH`` where it can be broken."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, depth: int, text: str) -> None:
        """One statement; a long one goes on below the opening of what is broken."""
        indent = "  " * depth
        line = indent + text
        if text.startswith("//"):
            self.lines += _broken_comment(line, indent)
            return
        while len(line) > WIDTH:
            cut, column = _break(line, len(indent))
            if cut is None:
                break
            self.lines.append(line[:cut].rstrip())
            line = " " * column + line[cut:].lstrip()
        self.lines.append(line)

    def add_list(self, opening: str, entries: Sequence[str], closing: str) -> None:
        """Arguments, as many on a line as fit."""
        line, column = opening, len(opening)
        for k, entry in enumerate(entries):
            text = entry + (closing if k == len(entries) - 1 else ",")
            if len(line) > column and len(line) + 1 + len(text) > WIDTH:
                self.lines.append(line)
                line = " " * column + text
            else:
                line += text if len(line) == column else f" {text}"
        self.lines.append(line)

    def add_table(self, depth: int, opening: str, texts: Sequence[str]) -> None:
        """A table's entries, as many on a line as fit."""
        indent = "  " * depth
        joined = f"{indent}{opening}{', '.join(texts)}}};"
        if len(joined) <= WIDTH:
            self.lines.append(joined)
            return
        self.lines.append(indent + opening)
        line = indent + "   "
        for k, entry in enumerate(texts):
            text = entry + ("};" if k == len(texts) - 1 else ",")
            if len(line) + 1 + len(text) > WIDTH:
                self.lines.append(line)
                line = indent + "   "
            line += f" {text}"
        self.lines.append(line)


def _broken_comment(line: str, indent: str) -> list[str]:
    found = []
    while len(line) > WIDTH and (cut := line.rfind(" ", len(indent) + 3, WIDTH + 1)) > 0:
        found.append(line[:cut])
        line = f"{indent}// {line[cut + 1 :]}"
    return [*found, line]


def _break(line: str, indent: int) -> tuple[int | None, int]:
    """Where a long line is broken, and the column that the rest starts at: below the bracket, else behind ``=``."""
    equals = line.find(" = ") + 2
    if equals == 1:
        equals = line.find(" |= ") + 3
    if equals > 2 and re.fullmatch(r" [\w:]+\(.*\);", line[equals:]) and indent + 4 + len(line) - equals - 1 <= WIDTH:
        return equals, indent + 4
    base = equals + 1 if equals > 2 else indent + (7 if line[indent:].startswith("return ") else 4)
    best: tuple[int, int, int] | None = None
    stack: list[int] = []
    for k, character in enumerate(line[: WIDTH + 1]):
        if character in "([{":
            stack.append(k + 1)
        elif character in ")]}" and stack:
            stack.pop()
        elif character == " " and k > base and line[k - 1] in ",;+-|&*/%":
            column = stack[-1] if stack else base
            weight = -4 * len(stack) - 2 * (line[k - 1] in "*/%") - (line[k - 1] not in ",;")
            if best is None or weight >= best[0]:
                best = (weight, k + 1, column)
    return (None, 0) if best is None else best[1:]


def function_text(head: list[str], body: list[str]) -> str:
    """A function; a short one on a line."""
    joined = f"{head[-1]} {body[0].strip()} }}" if len(head) == len(body) == 1 else ""
    if joined and len(joined) <= WIDTH and not body[0].strip().startswith("//"):
        return joined
    return "\n".join([*head, *body, "}"])
