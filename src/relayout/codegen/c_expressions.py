"""Expressions of the statements' tree as C writes them: numbers, operators with the brackets that a reader needs."""

from __future__ import annotations

import re
from fractions import Fraction

from .statements import (
    BOOL,
    INDEX,
    STATUS,
    At,
    Binary,
    Call,
    Cast,
    Expression,
    Name,
    Number,
    Real,
    Select,
    Truth,
    Unary,
)

TYPES = {
    INDEX: "int64_t",
    BOOL: "int",
    STATUS: "int",
    "f32": "float",
    "f64": "double",
    "c64": "float _Complex",
    "c128": "double _Complex",
}

SUMS, PRODUCTS = ("+", "-", "+%"), ("*", "/", "%", "*%")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


def c_type(kind: str) -> str:
    """The name of a type."""
    return TYPES.get(kind) or f"{'u' * (kind[0] == 'u')}int{kind[1:]}_t"


class CExpressions:
    """Expressions, where ``outs`` are the output parameters, which are pointers."""

    def __init__(self, outs: frozenset[str] = frozenset()) -> None:
        self.outs = outs

    def text(self, x: Expression) -> str:
        if isinstance(x, Number):
            return _number(x)
        if isinstance(x, Real):
            return _real(x)
        if isinstance(x, Truth):
            return str(int(x.value))
        if isinstance(x, Name):
            return f"*{x.name}" if x.name in self.outs else x.name
        if isinstance(x, Binary):
            return self._binary(x)
        if isinstance(x, Unary):
            return f"{x.sign}{self._operand(x.value)}"
        if isinstance(x, Cast):
            return self.cast(self.type(x.type), x.value)
        if isinstance(x, Select):
            return f"{self.text(x.condition)} ? {self.text(x.yes)} : {self.text(x.no)}"
        if isinstance(x, At):
            return f"{x.memory}[{self.text(x.place)}]"
        if isinstance(x, Call):
            name = f"{x.owner}_{x.helper}" if x.helper else x.owner
            return f"{name}({', '.join([self.text(argument) for argument in x.arguments])})"
        return f"&{self.text(x.target)}"

    def type(self, kind: str) -> str:
        return c_type(kind)

    def cast(self, kind: str, x: Expression) -> str:
        """A value as a type of that name."""
        return f"({kind}){self._operand(x)}"

    def _operand(self, x: Expression) -> str:
        text = self.text(x)
        bare = not isinstance(x, (Binary, Select)) and not text.startswith("-")
        return text if bare else f"({text})"

    def _binary(self, x: Binary) -> str:
        left, right = self.text(x.left), self.text(x.right)
        if needs_brackets(x, x.left, False):
            left = f"({left})"
        if needs_brackets(x, x.right, True):
            right = f"({right})"
        return f"{left} {x.sign.rstrip('%') or '%'} {right}"


def needs_brackets(outer: Binary, inner: Expression, right: bool) -> bool:
    """Whether an operand is put in brackets: where C needs them, and where its order of operators is little known."""
    if isinstance(inner, Select):
        return True
    if isinstance(inner, (Number, Real)):
        return right and inner.value < 0
    if not isinstance(inner, Binary):
        return False
    sign, own = outer.sign, inner.sign
    if sign in SUMS:
        return own not in PRODUCTS and (right or own not in SUMS)
    if sign in PRODUCTS:
        return right or own not in PRODUCTS
    if sign in COMPARISONS:
        return own not in SUMS + PRODUCTS
    if sign in ("&&", "||"):
        return own not in COMPARISONS and own != sign
    return sign != own or right


def _number(x: Number) -> str:
    suffix = "u" if x.type in ("u32", "u64") else ""
    if x.type in ("u64", "i64", INDEX) and x.value == -(1 << 63):
        return "INT64_MIN"
    return (f"0x{x.value:x}" if x.mask else str(x.value)) + suffix


def _real(x: Real) -> str:
    """A float: by few decimals where these are exact, else by all of its bits."""
    value, suffix = x.value, "f" if x.type == "f32" else ""
    if value == int(value) and abs(value) < 1 << 24:
        return f"{int(value)}.0{suffix}"
    if len(repr(value)) <= 10 and "e" not in repr(value) and Fraction(repr(value)) == Fraction(value):
        return f"{value!r}{suffix}"
    return re.sub(r"\.?0*p", "p", value.hex()) + suffix
