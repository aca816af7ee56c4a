"""Expressions of the statements' tree as Rust writes them, and long ones broken as rustfmt breaks them."""

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

WIDTH = 100
CALL_WIDTH = 60
"""Arguments that are longer have a line each."""

TYPES = {INDEX: "i64", BOOL: "bool", "c64": "[f32; 2]", "c128": "[f64; 2]"}
EXTREMES = ("min", "max")
"""The helpers that Rust has."""

WRAPPING = {"*%": "wrapping_mul", "+%": "wrapping_add"}


def rust_type(kind: str) -> str:
    """The name of a type."""
    return TYPES.get(kind, kind)


class RustExpressions:
    """Expressions, where ``tables`` are constants, which have capital letters."""

    def __init__(self, tables: frozenset[str] = frozenset()) -> None:
        self.tables = tables

    def text(self, x: Expression) -> str:
        if isinstance(x, Number):
            return f"0x{x.value:x}" if x.mask else str(x.value)
        if isinstance(x, Real):
            return rust_real(x.value)
        if isinstance(x, Truth):
            return "true" if x.value else "false"
        if isinstance(x, Name):
            return x.name
        if isinstance(x, Binary):
            return self._binary(x)
        if isinstance(x, Unary):
            return f"{'!' if x.sign == '~' else x.sign}{self.operand(x.value)}"
        if isinstance(x, Cast):
            return f"{self.operand(x.value)} as {rust_type(x.type)}"
        if isinstance(x, Select):
            return f"if {self.text(x.condition)} {{ {self.text(x.yes)} }} else {{ {self.text(x.no)} }}"
        if isinstance(x, At):
            return f"{x.memory.upper() if x.memory in self.tables else x.memory}[{self.place(x.place)}]"
        if isinstance(x, Call):
            return f"{self.function(x)}({', '.join([self.text(argument) for argument in x.arguments])})"
        return f"&mut {self.text(x.target)}"

    def function(self, x: Call) -> str:
        """The name of what is called."""
        if x.helper in EXTREMES:
            return f"i64::{x.helper}"
        return f"{x.owner}_{x.helper}" if x.helper else x.owner

    def place(self, x: Expression) -> str:
        """An index, as slices take it."""
        if isinstance(x, Number):
            return str(x.value)
        return f"{self.operand(x)} as usize"

    def operand(self, x: Expression) -> str:
        """What can be negated, cast or asked for a method."""
        text = self.text(x)
        bare = not isinstance(x, (Binary, Select, Unary, Cast)) and not text.startswith("-")
        bare |= isinstance(x, Binary) and x.sign in WRAPPING
        return text if bare else f"({text})"

    def _binary(self, x: Binary) -> str:
        if x.sign in WRAPPING:
            return f"{self.operand(x.left)}.{WRAPPING[x.sign]}({self.text(x.right)})"
        return f"{self.side(x, x.left, False)} {x.sign} {self.side(x, x.right, True)}"

    def side(self, outer: Binary, inner: Expression, right: bool) -> str:
        """An operand; a cast before ``<`` would be read as a type with arguments."""
        text = self.text(inner)
        if isinstance(inner, Binary) and inner.sign in WRAPPING:
            return text
        if not right and outer.sign in ("<", "<<") and (isinstance(inner, Cast) or text.endswith("usize")):
            return f"({text})"
        return f"({text})" if needs_brackets(outer, inner, right) else text

    # ---- long ones ---------------------------------------------------------------------------------------

    def chain(self, x: Expression) -> list[str]:
        """The operands of a sum, a product or a condition, each but the first behind its operator."""
        if not isinstance(x, Binary) or x.sign in WRAPPING:
            return [self.text(x)]
        kin = next((signs for signs in (SUMS, PRODUCTS, COMPARISONS) if x.sign in signs), (x.sign,))
        found: list[str] = []
        rest: Expression = x
        while isinstance(rest, Binary) and rest.sign in kin and rest.sign not in WRAPPING:
            found.insert(0, f"{rest.sign} {self.side(rest, rest.right, True)}")
            x, rest = rest, rest.left
        return [self.side(x, rest, False), *found]

    def break_lines(self, before: str, x: Expression, after: str, indent: str) -> list[str]:
        """``before x after`` on lines that fit: as one, with the value below, else operand by operand."""
        text = self.text(x)
        arguments = [self.text(a) for a in x.arguments] if isinstance(x, Call) else []
        if len(", ".join(arguments)) <= CALL_WIDTH:
            if len(indent + before + text + after) <= WIDTH:
                return [indent + before + text + after]
            if len(indent) + 4 + len(text + after) <= WIDTH and before.endswith("= "):
                return [(indent + before).rstrip(), f"{indent}    {text}{after}"]
        if isinstance(x, Call):
            head = f"{indent}{before}{self.function(x)}("
            inside = [line for a in x.arguments for line in self.break_lines("", a, ",", f"{indent}    ")]
            return [head, *inside, f"{indent}){after}"]
        parts = self.chain(x)
        if len(parts) < 2:
            return [indent + before + text + after]
        return [
            indent + before + parts[0],
            *[f"{indent}    {part}" for part in parts[1:-1]],
            f"{indent}    {parts[-1]}{after}",
        ]


def rust_real(value: float) -> str:
    """A finite float; its digits tell it exactly."""
    if value == int(value) and abs(value) < 1 << 63:
        return f"{int(value)}.0"
    return repr(value)
