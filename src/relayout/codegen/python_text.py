"""Python as text, in the style of its formatters: lines of 88 characters, broken at brackets from the outside in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple, SupportsFloat, TypeAlias

from .values import Definition, Monomial

WIDTH = 88
INDENT = "    "


class Bracketed(NamedTuple):
    """``opening``, items between commas, ``closing``: a call, an index, a tuple."""

    opening: str
    items: tuple[Expression, ...]
    closing: str

    def __str__(self) -> str:
        lone = self.opening == "(" and self.closing == ")" and len(self.items) == 1
        return f"{self.opening}{', '.join(map(str, self.items))}{',' * lone}{self.closing}"


class Joined(NamedTuple):
    """Terms, each but the first with its operator in front; in parentheses where they take several lines."""

    terms: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.terms)


Expression: TypeAlias = "str | Bracketed | Joined"


class PythonLines:
    """Lines of Python, indented by depth."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, depth: int, text: str) -> None:
        self.lines.append(f"{INDENT * depth}{text}" if text else "")

    def comment(self, depth: int, text: str) -> None:
        """A comment, broken at spaces."""
        room = WIDTH - len(INDENT * depth) - 2
        line = ""
        for word in text.split(" "):
            if line and len(line) + 1 + len(word) > room:
                self.add(depth, f"# {line}")
                line = word
            else:
                line = f"{line} {word}" if line else word
        self.add(depth, f"# {line}")

    def docstring(self, depth: int, first: str, rest: Sequence[str]) -> None:
        """A docstring: one line, and lines behind it."""
        lines = _wrap(first, WIDTH - len(INDENT * depth) - 3)
        more = [line for text in rest for line in _wrap(text, WIDTH - len(INDENT * depth))]
        if not more and len(lines) == 1 and len(lines[0]) + len(INDENT * depth) + 6 <= WIDTH:
            self.add(depth, f'"""{lines[0]}"""')
            return
        self.add(depth, f'"""{lines[0]}')
        for line in [*lines[1:], *([""] if more else []), *more]:
            self.add(depth, line)
        self.add(depth, '"""')

    def statement(self, depth: int, prefix: str, value: Expression, suffix: str = "") -> None:
        """``prefix`` and an expression: on one line, or as few as fit."""
        self._put(depth, prefix, value, suffix)

    def _put(self, depth: int, prefix: str, value: Expression, suffix: str) -> None:
        flat = f"{INDENT * depth}{prefix}{value}{suffix}"
        if len(flat) <= WIDTH or isinstance(value, str):
            self.lines.append(flat)
        elif isinstance(value, Joined):
            self.add(depth, f"{prefix}(")
            for term in value.terms:
                self.add(depth + 1, term)
            self.add(depth, f"){suffix}")
        else:
            self.add(depth, f"{prefix}{value.opening}")
            together = f"{INDENT * (depth + 1)}{', '.join(map(str, value.items))}"
            if len(together) <= WIDTH and value.opening not in ("(", "["):
                self.lines.append(together)
            else:
                for item in value.items:
                    self._put(depth + 1, "", item, ",")
            self.add(depth, f"{value.closing}{suffix}")


def _wrap(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines


def call(name: str, *items: Expression) -> Bracketed:
    return Bracketed(f"{name}(", items, ")")


def float_text(x: SupportsFloat) -> str:
    """A float as formatters write it; Python has no word for an infinite one, or for NaN."""
    text = repr(float(x)).replace("e+", "e")
    return text if isfinite(float(x)) else f'float("{text}")'


def value_text(value: Monomial) -> str:
    """A product, the number first."""
    words = [str(value.number)] if value.number != 1 or not value.names else []
    return " * ".join([*words, *value.names])


def factor_text(value: Monomial) -> str:
    """A product that can be divided by."""
    text = value_text(value)
    return f"({text})" if " " in text else text


def product_text(terms: Sequence[str]) -> str:
    """A product without ones."""
    return " * ".join([term for term in terms if term != "1"]) or "1"


def definition_text(definition: Definition) -> str:
    """A quotient that is rounded up."""
    value, divisor = value_text(definition.value), factor_text(definition.divisor)
    more = str(definition.divisor.number - 1) if definition.divisor.known else f"{divisor} - 1"
    text = f"({value} + {more}) // {divisor}"
    return f"{text} * {divisor}" if definition.whole else text


def difference_text(whole: Monomial, part: Monomial, definitions: Sequence[Definition]) -> str:
    """How much ``whole`` is more than ``part``; what fills up a last block is a remainder."""
    if whole.known and part.known:
        return str(whole.number - part.number)
    if whole == part:
        return "0"
    for definition in definitions:
        if definition.value != part or definition.value.number != 1:
            continue
        blocks = Monomial(1, (definition.name,))
        if whole == (blocks if definition.whole else blocks * definition.divisor):
            return f"-{factor_text(part)} % {factor_text(definition.divisor)}"
    return f"{value_text(whole)} - {value_text(part)}"


def sum_of(terms: Sequence[str]) -> Expression:
    """A sum of terms, some of which begin with a minus."""
    if not terms:
        return "0"
    more = [f"- {term[1:]}" if term.startswith("-") else f"+ {term}" for term in terms[1:]]
    return Joined((terms[0], *more)) if more else terms[0]


def under_imports(imports: Sequence[str], parts: Sequence[str]) -> str:
    """Functions as a file, under the imports that they use."""
    body = "\n\n\n".join(parts)
    used = [line for line in imports if re.search(rf"\b{line.split()[-1]}\.", body)]
    return "\n\n\n".join([*(["\n".join(used)] if used else []), body]) + "\n"
