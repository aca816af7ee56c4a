"""Expressions of the statements' tree as Mojo writes them, and long ones broken as its formatter breaks them."""

from __future__ import annotations

from .c_expressions import COMPARISONS, PRODUCTS, SUMS, needs_brackets
from .statements import (
    BOOL,
    INDEX,
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

WIDTH = 80
TYPES = {
    INDEX: "Int",
    BOOL: "Bool",
    "f32": "Float32",
    "f64": "Float64",
    "c64": "SIMD[DType.float32, 2]",
    "c128": "SIMD[DType.float64, 2]",
}
EXTREMES = ("min", "max")
"""The helpers that Mojo has."""

SIGNS = {"&&": "and", "||": "or", "*%": "*", "+%": "+"}
SHIFTS = ("<<", ">>")


def mojo_type(kind: str) -> str:
    """The name of a type."""
    return TYPES.get(kind) or f"{'UInt' if kind[0] == 'u' else 'Int'}{kind[1:]}"


def mojo_name(name: str) -> str:
    """A name; ``from`` is a word of Mojo's."""
    return "from_" if name == "from" else name


class MojoExpressions:
    """Expressions, where ``types`` are those of all names."""

    def __init__(self, types: dict[str, str]) -> None:
        self.types = types

    def text(self, x: Expression) -> str:
        if isinstance(x, Number):
            return f"0x{x.value:X}" if x.mask else str(x.value)
        if isinstance(x, Real):
            return mojo_real(x.value)
        if isinstance(x, Truth):
            return str(x.value)
        if isinstance(x, Name):
            return mojo_name(x.name)
        if isinstance(x, Binary):
            return f"{self.side(x, x.left, False)} {self.sign(x)} {self.side(x, x.right, True)}"
        if isinstance(x, Unary):
            return f"{'not ' if x.sign == '!' else x.sign}{self.operand(x.value)}"
        if isinstance(x, Cast):
            return f"{mojo_type(x.type)}({self.text(x.value)})"
        if isinstance(x, Select):
            return f"{self.text(x.yes)} if {self.text(x.condition)} else {self.text(x.no)}"
        if isinstance(x, At):
            return f"{mojo_name(x.memory)}[{self.text(x.place)}]"
        if isinstance(x, Call):
            return f"{self.function(x)}({', '.join([self.text(argument) for argument in x.arguments])})"
        return self.text(x.target)

    def type_of(self, x: Expression) -> str:
        """The type of an expression."""
        if isinstance(x, (Number, Real, Cast)):
            return x.type
        if isinstance(x, Name):
            return self.types.get(x.name, INDEX)
        if isinstance(x, Binary):
            return BOOL if x.sign in (*COMPARISONS, "&&", "||") else self.type_of(x.left)
        if isinstance(x, Unary):
            return self.type_of(x.value)
        if isinstance(x, Select):
            return self.type_of(x.yes)
        if isinstance(x, At):
            return self.types.get(x.memory, INDEX)
        return INDEX

    def function(self, x: Call) -> str:
        """The name of what is called."""
        if x.helper in EXTREMES:
            return x.helper
        return f"{x.owner}_{x.helper}" if x.helper else x.owner

    def operand(self, x: Expression) -> str:
        """What can be negated."""
        return f"({self.text(x)})" if isinstance(x, (Binary, Select, Unary)) else self.text(x)

    def sign(self, x: Binary) -> str:
        if x.sign == "/" and self.type_of(x.left)[0] != "f":
            return "//"
        return SIGNS.get(x.sign, x.sign)

    def side(self, outer: Binary, inner: Expression, right: bool) -> str:
        """An operand; numbers on the left say their type, and a shift goes by a number of the type that it shifts."""
        kind = self.type_of(outer.left)
        if right and outer.sign in SHIFTS and kind != INDEX and not isinstance(inner, Number):
            return f"{mojo_type(kind)}({self.text(inner)})"
        if isinstance(inner, Number) and not right and inner.type != INDEX:
            return f"{mojo_type(inner.type)}({self.text(inner)})"
        return f"({self.text(inner)})" if needs_brackets(outer, inner, right) else self.text(inner)

    # ---- long ones ---------------------------------------------------------------------------------------

    def chain(self, x: Expression) -> list[str]:
        """The operands of a sum, a product or a condition, each but the first behind its operator."""
        if not isinstance(x, Binary):
            return [self.text(x)]
        kin = next((signs for signs in (SUMS, PRODUCTS, COMPARISONS) if x.sign in signs), (x.sign,))
        found: list[str] = []
        rest: Expression = x
        while isinstance(rest, Binary) and rest.sign in kin:
            found.insert(0, f"{self.sign(rest)} {self.side(rest, rest.right, True)}")
            x, rest = rest, rest.left
        return [self.side(x, rest, False), *found]

    def break_lines(self, before: str, x: Expression, after: str, indent: str) -> list[str]:
        """``before x after`` on lines that fit: as one, in brackets on the next, else operand by operand."""
        text = self.text(x)
        if len(indent + before + text + after) <= WIDTH:
            return [indent + before + text + after]
        inside = f"{indent}    "
        if isinstance(x, (Call, Cast)):
            name = self.function(x) if isinstance(x, Call) else mojo_type(x.type)
            arguments = x.arguments if isinstance(x, Call) else (x.value,)
            joined = inside + ", ".join(map(self.text, arguments))
            lines = [joined]
            if len(joined) > WIDTH:
                comma = "," if len(arguments) > 1 else ""
                lines = [line for a in arguments for line in self.break_lines("", a, comma, inside)]
            return [f"{indent}{before}{name}(", *lines, f"{indent}){after}"]
        if isinstance(x, At) and len(inside + self.text(x.place)) <= WIDTH:
            return [f"{indent}{before}{mojo_name(x.memory)}[", inside + self.text(x.place), f"{indent}]{after}"]
        if not before and after == ",":
            lines = [indent + part for part in self.chain(x)]
            return [*lines[:-1], lines[-1] + after]
        lines = [inside + text]
        if len(lines[0]) > WIDTH:
            lines = [inside + part for part in self.chain(x)]
        return [f"{indent}{before}(", *lines, f"{indent}){after}"]


def mojo_real(value: float) -> str:
    """A finite float; its digits tell it exactly."""
    return f"{int(value)}.0" if value == int(value) and abs(value) < 1 << 63 else repr(value)
