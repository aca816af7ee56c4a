"""Expressions and statements as Triton's Python writes them, on tensors of places."""

from __future__ import annotations

from collections.abc import Iterable

from .c_expressions import CExpressions
from .python_text import Bracketed, PythonLines, sum_of
from .statements import Assign, Binary, Comment, Expression, Let, Number, Statement, Var


class TritonExpressions(CExpressions):
    """Expressions of Python, whose operators bind as those of C do."""

    def text(self, x: Expression) -> str:
        if isinstance(x, Number):
            return f"0x{x.value:x}" if x.mask else str(x.value)
        return super().text(x)

    def _binary(self, x: Binary) -> str:
        left, right = super()._binary(x._replace(right=Number(0))), super()._binary(x._replace(left=Number(0)))
        sign = "//" if x.sign == "/" else x.sign
        return f"{left.removesuffix(f' {x.sign} 0')} {sign} {right.removeprefix(f'0 {x.sign} ')}"


class TritonLines(PythonLines):
    """Lines of a body with statements of the tree."""

    def __init__(self) -> None:
        super().__init__()
        self.text = TritonExpressions().text

    def assign(self, depth: int, name: str, value: str) -> None:
        """A name for a value; a long sum takes several lines."""
        plain = " + " in value and "(" not in value and " - " not in value
        self.statement(depth, f"{name} = ", sum_of(value.split(" + ")) if plain else value)

    def call(self, depth: int, opening: str, arguments: Iterable[str], closing: str) -> None:
        """A call or a head; one argument on a line where it is long."""
        self.statement(depth, "", Bracketed(opening, tuple(arguments), closing))

    def add_statements(self, depth: int, statements: Iterable[Statement]) -> None:
        """Names and their values."""
        for x in statements:
            if isinstance(x, Comment):
                self.comment(depth, x.text)
            elif isinstance(x, (Let, Var)):
                self.assign(depth, x.name, self.text(x.value))
            elif isinstance(x, Assign):
                self.assign(depth, self.text(x.target), self.text(x.value))
