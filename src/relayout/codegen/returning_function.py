"""Functions in languages that return what C writes by output parameters, as Mojo and Rust do: what those share.

A coordinate is returned as an array, if there is one, and a converted value, or an error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from .statements import (
    Assign,
    At,
    Binary,
    Call,
    Comment,
    ConstantTable,
    Copy,
    Do,
    Expression,
    Fill,
    For,
    If,
    Let,
    Name,
    Reference,
    Reinterpret,
    Return,
    Routine,
    Statement,
    Unary,
    Var,
    Visit,
    names_in,
    nodes_in,
)

COMMENT_WIDTH = 80
"""The most characters of a comment's line."""

_COMPOUND = ("+", "-", "*", "%", "|", "&", "^")


class ReturningFunction(ABC):
    """The printer of one function, statement by statement; a language says how each kind is written."""

    MARK: str
    """What begins a comment."""

    def __init__(self, function: Routine) -> None:
        self.function = function
        self.outs = [p for p in function.parameters if p.kind == "out"]
        bound = [node.target for node in nodes_in(function.body) if isinstance(node, Reference)]
        self.bound = {target.name for target in bound if isinstance(target, Name)}
        self.lines: list[str] = []

    @property
    def name(self) -> str:
        """What the function is called."""
        function = self.function
        return f"{function.owner}_{function.helper}" if function.helper else function.owner

    def _line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _add_all(self, depth: int, statements: tuple[Statement, ...]) -> None:
        for statement in statements:
            self._add(depth, statement)

    def _add(self, depth: int, x: Statement) -> None:
        if isinstance(x, Comment):
            start = "    " * depth + self.MARK
            self.lines += comment_lines(start + x.text, start)
        elif isinstance(x, (Let, Var)):
            self._add_value(depth, x)
        elif isinstance(x, ConstantTable):
            self._add_table(depth, x)
        elif isinstance(x, Reinterpret):
            self._add_bits(depth, x)
        elif isinstance(x, Assign):
            self._add_assign(depth, x)
        elif isinstance(x, Do):
            self._value(depth, "", x.call)
        elif isinstance(x, Visit):
            self._value(depth, "", Call(x.name, "", x.arguments))
        elif isinstance(x, Copy):
            self._add_copy(depth, x)
        elif isinstance(x, Fill):
            self._add_fill(depth, x)
        elif isinstance(x, For):
            if x.title:
                self._add(depth, Comment(x.title))
            self._add_loop(depth, x, x.name if x.name in names_in(x.body) else "_")
        elif isinstance(x, If):
            self._add_if(depth, x)
        elif isinstance(x, Return):
            self._add_return(depth, x)

    def _is_out(self, x: Assign) -> bool:
        """Whether an assignment gives a value that is returned."""
        return isinstance(x.target, Name) and x.target.name in [p.name for p in self.outs]

    @abstractmethod
    def _value(self, depth: int, before: str, x: Expression, after: str = "") -> None:
        """A value between two texts, on lines that fit."""

    @abstractmethod
    def _add_value(self, depth: int, x: Let | Var) -> None: ...
    @abstractmethod
    def _add_table(self, depth: int, x: ConstantTable) -> None: ...
    @abstractmethod
    def _add_bits(self, depth: int, x: Reinterpret) -> None: ...
    @abstractmethod
    def _add_assign(self, depth: int, x: Assign) -> None: ...
    @abstractmethod
    def _add_copy(self, depth: int, x: Copy) -> None: ...
    @abstractmethod
    def _add_fill(self, depth: int, x: Fill) -> None: ...
    @abstractmethod
    def _add_loop(self, depth: int, x: For, name: str) -> None: ...
    @abstractmethod
    def _add_if(self, depth: int, x: If) -> None: ...
    @abstractmethod
    def _add_return(self, depth: int, x: Return) -> None: ...


def compound_assignment(x: Assign) -> tuple[str, Expression] | None:
    """The sign and the value of an assignment that changes its target by an operation, as ``+=`` does."""
    if isinstance(x.value, Binary) and x.value.left == x.target and x.value.sign in _COMPOUND:
        return x.value.sign, x.value.right
    return None


def attempted_call(condition: Expression) -> tuple[Call, list[At | Name], bool] | None:
    """The call of a condition that gives values as well, those, and whether it is negated; None for any other."""
    call = condition.value if isinstance(condition, Unary) and condition.sign == "!" else condition
    outs = [a.target for a in call.arguments if isinstance(a, Reference)] if isinstance(call, Call) else []
    return (without_references(call), outs, call is not condition) if isinstance(call, Call) and outs else None


def returns_call(x: Return) -> bool:
    """Whether what a call gives is returned as it is."""
    return isinstance(x.value, Call) and any(isinstance(argument, Reference) for argument in x.value.arguments)


def without_references(call: Call) -> Call:
    """A call whose output parameters are returned instead."""
    return Call(call.owner, call.helper, tuple([a for a in call.arguments if not isinstance(a, Reference)]))


def own_words(about: tuple[str, ...], words: dict[str, str]) -> list[str]:
    """The lines of a comment, where a language says some things in words of its own."""
    lines = []
    for line in about:
        for theirs, own in words.items():
            line = line.replace(theirs, own)
        lines.append(line)
    return lines


def comment_lines(line: str, start: str) -> list[str]:
    """A comment on lines that fit."""
    found = []
    while len(line) > COMMENT_WIDTH and (cut := line.rfind(" ", len(start) + 1, COMMENT_WIDTH + 1)) > 0:
        found.append(line[:cut])
        line = start + line[cut + 1 :]
    return [*found, line]
