"""Lines of C as clang-format breaks them, and numbers, products and sums as one writes them."""

from __future__ import annotations

from collections.abc import Sequence

from .c_breaks import break_statement

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
        self.lines += [line] if len(line) <= WIDTH else break_statement(text, len(indent), WIDTH)

    def add_list(self, opening: str, entries: Sequence[str], closing: str) -> None:
        """The head of a function, or another list, as far from the margin as it opens."""
        text = f"{opening}{', '.join(entries)}{closing}"
        indent = len(text) - len(text.lstrip())
        self.lines += [text] if len(text) <= WIDTH else break_statement(text.lstrip(), indent, WIDTH)

    def add_table(self, depth: int, opening: str, texts: Sequence[str]) -> None:
        """A table's entries, as many on a line as fit."""
        indent = "  " * depth
        joined = f"{indent}{opening}{', '.join(texts)}}};"
        if len(joined) <= WIDTH:
            self.lines.append(joined)
            return
        aligned = _columns(texts, len(indent + opening))
        below = _columns(texts, len(indent) + 4)
        if aligned and len(aligned) <= len(below) + 1:
            self.lines += [indent + opening + aligned[0].lstrip(), *aligned[1:]]
        else:
            self.lines += [indent + opening, *below]


def _columns(texts: Sequence[str], start: int) -> list[str]:
    """Entries of a table in columns from a place on, as many as fit and no more than the number of lines needs."""
    ends = [f"{text}," for text in texts[:-1]] + [f"{texts[-1]}}};"]

    def widths(count: int) -> list[int]:
        return [max(len(text) + 1 for text in texts[k::count]) for k in range(count)]

    fitting = [k for k in range(1, len(ends) + 1) if start + sum(widths(k)) + k - 1 <= WIDTH]
    if not fitting:
        return []
    rows = -(-len(ends) // fitting[-1])
    count = next(k for k in fitting if -(-len(ends) // k) == rows)
    found = []
    for k in range(0, len(ends), count):
        row = [text.ljust(width) for text, width in zip(ends[k : k + count], widths(count))]
        found.append((" " * start + " ".join(row)).rstrip())
    return found


def _broken_comment(line: str, indent: str) -> list[str]:
    found = []
    while len(line) > WIDTH and (cut := line.rfind(" ", len(indent) + 3, WIDTH + 1)) > 0:
        found.append(line[:cut])
        line = f"{indent}// {line[cut + 1 :]}"
    return [*found, line]


def function_text(head: list[str], body: list[str]) -> str:
    """A function; a short one on a line."""
    joined = f"{head[-1]} {body[0].strip()} }}" if len(head) == len(body) == 1 else ""
    if joined and len(joined) <= WIDTH and not body[0].strip().startswith("//"):
        return joined
    return "\n".join([*head, *body, "}"])
