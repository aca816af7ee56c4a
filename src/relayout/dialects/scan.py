"""A cursor over a text: the few things every dialect reads, and errors that point at the character."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from ..errors import LimitExceeded, NotExpressible, ParseError
from ..integers.nested import MAX_DEPTH, flatten
from ..layout.basis import MAX_MODES, Basis, E

_NUMBER = re.compile(r"_?-?[0-9]+|-_[0-9]+")
_WORD = re.compile(r"[A-Za-z]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DYNAMIC = re.compile(r"\?|UNKNOWN_VALUE\b|UNKNOWN\b|kDynamic\b")
MAX_DIGITS = 200
MAX_TEXT = 1 << 16
MAX_NUMBERS = 1 << 13


class Scanner:
    """Reads ``text`` from left to right; white space and comments separate and are otherwise ignored.

    Comments are those of C, and of Python where ``python`` says so.
    """

    def __init__(self, text: str, dialect: str, example: str, python: bool = False) -> None:
        if len(text) > MAX_TEXT:
            raise LimitExceeded(
                f"a text of {len(text)} characters is over the limit of {MAX_TEXT}.",
                hint="no layout is that long",
                limit=MAX_TEXT,
            )
        self.text = without_comments(text, python)
        self.shown = text
        self.dialect = dialect
        self.example = example
        self.position = 0
        self.numbers = 0

    def fail(self, expected: str, position: int | None = None) -> NoReturn:
        where = self.position if position is None else position
        if not self.text[:where].strip():
            where = len(self.shown) - len(self.shown.lstrip())
        got = repr(self.text[where]) if where < len(self.text) else "the end"
        raise ParseError(
            f"not a layout in {self.dialect}: expected {expected}, got {got}.",
            text=self.shown,
            position=where,
            hint=f"the text is right up to the caret; write it as in {self.example}",
            dialect=self.dialect,
        )

    def peek(self) -> str:
        """The next character that is not white space; empty at the end."""
        text = self.text
        while self.position < len(text) and text[self.position].isspace():
            self.position += 1
        return text[self.position] if self.position < len(text) else ""

    def accept(self, token: str) -> bool:
        """Whether ``token`` comes next; it is then consumed."""
        self.peek()
        if self.text.startswith(token, self.position):
            self.position += len(token)
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            self.fail(repr(token))

    def end(self) -> None:
        if self.peek():
            self.fail("the end")

    def word(self) -> str:
        self.peek()
        match = _WORD.match(self.text, self.position)
        if not match:
            return ""
        self.position = match.end()
        return match.group()

    def name(self) -> str:
        """A word that may hold digits and underscores; empty when none comes next."""
        self.peek()
        match = _NAME.match(self.text, self.position)
        if not match:
            return ""
        self.position = match.end()
        return match.group()

    def integer(self) -> int:
        """An integer; CuTe's static ``_4`` is 4. What stands for a number known only at run time is refused."""
        self.peek()
        dynamic = _DYNAMIC.match(self.text, self.position)
        if dynamic:
            raise self.unknown(dynamic.group())
        match = _NUMBER.match(self.text, self.position)
        if not match:
            self.fail("an integer")
        if len(match.group()) > MAX_DIGITS:
            self.fail(f"an integer of at most {MAX_DIGITS} digits")
        self.numbers += 1
        if self.numbers > MAX_NUMBERS:
            raise LimitExceeded(
                f"a text of more than {MAX_NUMBERS} numbers.", hint="no layout has that many", limit=MAX_NUMBERS
            )
        self.position = match.end()
        return int(match.group().replace("_", ""))

    def unknown(self, what: str) -> NotExpressible:
        """The refusal of a number known only at run time."""
        return NotExpressible(
            f"{self.shown.strip()!r:.200} has {what}, a number that is known only at run time.",
            hint=f"put the number in the place of {what}: every size and stride of a layout is known",
            dialect=self.dialect,
            text=self.shown,
            position=self.position,
        )

    def sizes(self, shape: Any) -> Any:
        """``shape`` itself; refused where a size is -1, which stands for one known only at run time."""
        if -1 in flatten(shape):
            raise self.unknown("-1")
        return shape

    def number(self) -> Any:
        """An integer, or a basis stride such as ``2@0@1``, or a sum of those."""
        value: Any = self._term()
        while isinstance(value, Basis) and self.accept("+"):
            at = self.position
            more = self._term()
            if not isinstance(more, Basis):
                self.fail("another basis stride", at)
            value = value + more
        return value

    def _term(self) -> Any:
        scale = self.integer()
        path = []
        while self.accept("@"):
            at = self.position
            path.append(self.integer())
            if not 0 <= path[-1] < MAX_MODES or len(path) > MAX_DEPTH:
                self.fail(f"a mode number below {MAX_MODES}", at)
        return E(*reversed(path)) * scale if path else scale

    def tuple_(self, level: int = 0) -> Any:
        """A number or a parenthesised, comma-separated, possibly nested tuple; ``(4)`` is a tuple of one."""
        if self.peek() != "(":
            return self.number()
        if level > MAX_DEPTH:
            raise too_deep()
        self.expect("(")
        return self.rest_of_tuple([], level)

    def rest_of_tuple(self, items: list[Any], level: int) -> tuple[Any, ...]:
        """The entries up to the closing parenthesis, after ``items``; one trailing comma is allowed."""
        while not self.accept(")"):
            if items:
                self.expect(",")
                if self.accept(")"):
                    break
            items.append(self.tuple_(level + 1))
        return tuple(items)

    def bracketed_integers(self, opening: str = "[", closing: str = "]") -> tuple[int, ...]:
        """Integers in square or other brackets."""
        self.expect(opening)
        items: list[int] = []
        while not self.accept(closing):
            if items:
                self.expect(",")
                if self.accept(closing):
                    break
            items.append(self.integer())
        return tuple(items)

    def swizzle(self) -> tuple[int, int, int]:
        """``<bits,base,shift>``."""
        self.expect("<")
        bits = self.integer()
        self.expect(",")
        base = self.integer()
        self.expect(",")
        shift = self.integer()
        self.expect(">")
        return bits, base, shift


def without_comments(text: str, python: bool = False) -> str:
    """The text with blanks for comments, those of Python too where it says so; an open one ends with the text."""
    kinds = {"/*": "*/", "//": "\n"} | ({"#": "\n"} if python else {})
    parts, position = [], 0
    for start in re.finditer("|".join(map(re.escape, kinds)), text):
        if start.start() < position:
            continue
        closing = kinds[start.group()]
        end = text.find(closing, start.end())
        stop = len(text) if end < 0 else end + len(closing)
        parts += [text[position : start.start()], " " * (stop - start.start())]
        position = stop
    return "".join([*parts, text[position:]])


def too_deep() -> LimitExceeded:
    return LimitExceeded(
        f"the text is nested deeper than {MAX_DEPTH} levels.", hint="write fewer parentheses", limit=MAX_DEPTH
    )


def write_tuple(t: Any, separator: str, mark: str = "") -> str:
    """A nested tuple as text; a tuple of one keeps its parentheses. ``mark`` stands before every integer."""
    if isinstance(t, tuple):
        return "(" + separator.join([write_tuple(e, separator, mark) for e in t]) + ")"
    return f"{mark}{t}" if type(t) is int else str(t)
