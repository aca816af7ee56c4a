"""Statements and functions in Mojo, in the style of its formatter: spans, and values that are refused as errors."""

from __future__ import annotations

import struct

from .bases import bases_as_numbers
from .mojo_expressions import WIDTH, MojoExpressions, mojo_name, mojo_real, mojo_type
from .returning_function import (
    ReturningFunction,
    attempted_call,
    comment_lines,
    compound_assignment,
    own_words,
    returns_call,
    without_references,
)
from .statements import (
    INDEX,
    STATUS,
    Assign,
    At,
    Binary,
    Call,
    ConstantTable,
    Copy,
    Expression,
    Fill,
    For,
    If,
    Let,
    Name,
    Number,
    Parameter,
    Reinterpret,
    Return,
    Routine,
    Select,
    Truth,
    Unary,
    Var,
    names_in,
    nodes_in,
)

WORDS = {
    "Returns 1 at a value that has no place there, else 0.": "Raises an error at a value that has no place there.",
    "returns 0 where there is none": "none where there is none",
    "; 0 where it has no": "; an error where it has no",
}
"""What comments say of results, in Mojo's own."""

ERROR = 'raise Error("a value has no place in the target")'


def mojo_function(function: Routine) -> str:
    """The text of a function with its comment."""
    return MojoFunction(bases_as_numbers(function)).text()


class MojoFunction(ReturningFunction):
    """The printer of one function; where a value has no place it raises an error."""

    MARK = "# "

    def __init__(self, function: Routine) -> None:
        super().__init__(function)
        types = {p.name: p.type for p in function.parameters}
        for node in nodes_in(function.body):
            if isinstance(node, (Let, Var, ConstantTable, Reinterpret)):
                types[node.name] = node.type
        self.expressions = MojoExpressions(types)
        self.finds = function.helper == "coordinate"

    # ---- the whole ---------------------------------------------------------------------------------------

    def text(self) -> str:
        function = self.function
        name = self.name
        visitors = [p for p in function.parameters if p.kind == "visitor"]
        for p in visitors:
            name += f"[Visitor: def({', '.join(['Int'] * len(p.arity))}) -> None]"
        parameters = [self._parameter(p) for p in function.parameters if p.kind != "out"]
        closing = f"){self._result()}:"
        head = [f"def {name}({', '.join(parameters)}{closing}"]
        if len(head[0]) > WIDTH:
            joined = "    " + ", ".join(parameters)
            split = [joined] if len(joined) <= WIDTH else [f"    {p}," for p in parameters]
            head = [f"def {name}(", *split, closing]
        used = names_in(function.body)
        self.lines += [f"    _ = {mojo_name(p.name)}" for p in function.parameters if p.name not in used]
        self._add_all(1, function.body)
        if not self.lines:
            self.lines.append("    pass")
        return "\n".join([*head, *self._comment(), *self.lines])

    def _comment(self) -> list[str]:
        """The words above the body."""
        words = own_words(self.function.about, WORDS)
        if not words:
            return []
        summary = words[0] if words[0][0].isupper() else f"The {words[0]}"
        first, *rest = comment_lines(f'    """{summary}', "    ")
        more = [text for line in words[1:] for text in comment_lines(f"    {line}", "    ")]
        if not rest and not more and len(first) + 3 <= WIDTH:
            return [f'{first}"""']
        return [first, *rest, *[""] * bool(more), *more, '    """']

    def _result(self) -> str:
        if self.outs and self.finds:
            return f" -> Optional[Array[Int, {len(self.outs)}]]"
        if self.outs:
            return f" raises -> {mojo_type(self.outs[0].type)}"
        if self.function.result == STATUS:
            return " raises"
        return "" if self.function.result is None else f" -> {mojo_type(self.function.result)}"

    def _parameter(self, p: Parameter) -> str:
        kind = mojo_type(p.type)
        forms = {"value": kind, "src": f"Span[{kind}, _]", "dst": f"Span[mut=True, {kind}, _]", "visitor": "Visitor"}
        return f"{mojo_name(p.name)}: {forms[p.kind]}"

    # ---- statements --------------------------------------------------------------------------------------

    def _value(self, depth: int, before: str, x: Expression, after: str = "") -> None:
        self.lines += self.expressions.break_lines(before, x, after, "    " * depth)

    def _add_bits(self, depth: int, x: Reinterpret) -> None:
        self._line(depth, f"var {x.name} = {_bits_of(x)}")

    def _add_loop(self, depth: int, x: For, name: str) -> None:
        text = self.expressions.text
        start = "" if x.start == Number(0) else f"{text(x.start)}, "
        self._line(depth, f"for {mojo_name(name)} in range({start}{text(x.end)}):")
        self._add_all(depth + 1, x.body)

    def _add_value(self, depth: int, x: Let | Var) -> None:
        name = mojo_name(x.name)
        if isinstance(x, Var) and x.name in self.bound:
            return
        if isinstance(x, Let) and isinstance(x.value, Number) and x.type == INDEX:
            self._line(depth, f"comptime {name} = {self.expressions.text(x.value)}")
            return
        kind = "" if x.type == INDEX and isinstance(x, Let) else f": {mojo_type(x.type)}"
        self._value(depth, f"var {name}{kind} = ", x.value)

    def _add_assign(self, depth: int, x: Assign) -> None:
        target, changed = self.expressions.text(x.target), compound_assignment(x)
        if self._is_out(x):
            self._value(depth, f"var {target} = ", x.value)
        elif changed is not None:
            self._value(depth, f"{target} {changed[0]}= ", changed[1])
        else:
            self._value(depth, f"{target} = ", x.value)

    def _add_copy(self, depth: int, x: Copy) -> None:
        target, source = [self._part(at, x.length) for at in (x.target, x.source)]
        line = f"{target}.copy_from({source})"
        if len("    " * depth + line) <= WIDTH:
            self._line(depth, line)
            return
        self._line(depth, f"{target}.copy_from(")
        self._line(depth + 1, source)
        self._line(depth, ")")

    def _part(self, at: At, length: Expression) -> str:
        """So many elements of a memory."""
        text = self.expressions.text
        if at.place == Number(0):
            return f"{at.memory}[:{text(length)}]"
        return f"{at.memory}[{text(at.place)} : {text(Binary('+', at.place, length))}]"

    def _add_fill(self, depth: int, x: Fill) -> None:
        count = self.expressions.text(x.length)
        if x.type == "u8" and len(x.pattern) > 1:
            digits = ", ".join([f"0x{byte:02X}" for byte in x.pattern])
            self._line(depth, f"var fill: Array[UInt8, {len(x.pattern)}] = [{digits}]")
            self._line(depth, f"for i in range({count}):")
            self._line(depth + 1, f"{x.memory}[i] = fill[i % {len(x.pattern)}]")
        else:
            part = count if isinstance(x.length, (Name, Number)) else f" {count}"
            self._line(depth, f"{x.memory}[:{part}].fill({_stored_value(x.type, x.pattern)})")

    def _add_table(self, depth: int, x: ConstantTable) -> None:
        real = x.type in ("f32", "f64")
        texts = [mojo_real(float(value)) if real else str(value) for value in x.values]
        before = f"var {x.name}: Array[{mojo_type(x.type)}, {len(x.values)}] = ["
        if len("    " * depth + before + ", ".join(texts) + "]") <= WIDTH:
            self._line(depth, before + ", ".join(texts) + "]")
            return
        self._line(depth, before)
        joined = ", ".join(texts)
        if len("    " * (depth + 1) + joined) <= WIDTH:
            self._line(depth + 1, joined)
        else:
            for entry in texts:
                self._line(depth + 1, f"{entry},")
        self._line(depth, "]")

    # ---- conditions and results --------------------------------------------------------------------------

    def _add_if(self, depth: int, x: If, word: str = "if") -> None:
        attempted = attempted_call(x.condition)
        if attempted is not None:
            given, outs, negated = attempted
            if negated:
                self._add_attempt(depth, outs[0], given)
                return
            self._value(depth, "var found = ", given)
            self._line(depth, "if found:")
            for k, target in enumerate(outs):
                self._line(depth + 1, f"var {self.expressions.text(target)} = found.value()[{k}]")
        else:
            self._value(depth, f"{word} ", x.condition, ":")
        self._add_all(depth + 1, x.body)
        if len(x.otherwise) == 1 and isinstance(x.otherwise[0], If):
            self._add_if(depth, x.otherwise[0], "elif")
        elif x.otherwise:
            self._line(depth, "else:")
            self._add_all(depth + 1, x.otherwise)

    def _add_attempt(self, depth: int, target: At | Name, given: Call) -> None:
        """What a call that may refuse returns; its error ends this function too."""
        new = "var " * isinstance(target, Name)
        self._value(depth, f"{new}{self.expressions.text(target)} = ", given)

    def _add_return(self, depth: int, x: Return) -> None:
        note = f"  # {x.comment}" if x.comment else ""
        if isinstance(x.value, Call) and returns_call(x):
            self._value(depth, "return ", without_references(x.value))
        elif self.outs:
            self._add_outs(depth, x, note)
        elif self.function.result == STATUS:
            if x.value != Number(0, STATUS):
                self._line(depth, ERROR + note)
            elif depth > 1:
                self._line(depth, "return")
        elif x.value is None:
            self._line(depth, "return")
        elif isinstance(x.value, Select):
            self._line(depth, f"return {self.expressions.text(x.value)}")
        else:
            self._value(depth, "return ", x.value)

    def _add_outs(self, depth: int, x: Return, note: str) -> None:
        """The values of the output parameters, or that there are none."""
        none = "return None" if self.finds else ERROR + note
        if isinstance(x.value, Truth) and not x.value.value:
            self._line(depth, none)
            return
        if x.value is not None and not isinstance(x.value, Truth):
            self._value(depth, "if not ", Unary("", x.value), ":")
            self._line(depth + 1, none)
        if not self.finds:
            self._line(depth, f"return {self.outs[0].name}")
            return
        names = ", ".join([p.name for p in self.outs])
        self._line(depth, f"var found: Array[Int, {len(self.outs)}] = [{names}]")
        self._line(depth, "return found^")


def dtype_of(kind: str) -> str:
    """Mojo's word for an element's type."""
    words = {"u": "uint", "i": "int", "f": "float", "c": "float"}
    bits = int(kind[1:]) // 2 if kind[0] == "c" else int(kind[1:])
    return f"DType.{words[kind[0]]}{bits}"


def _bits_of(x: Reinterpret) -> str:
    return f"bitcast[{dtype_of(x.type)}]({mojo_name(x.of.name)})"


def _stored_value(kind: str, pattern: bytes) -> str:
    """The element that has these bytes, the least significant first; Mojo takes digits of subnormal numbers for 0."""
    if kind in ("c64", "c128"):
        half, part = len(pattern) // 2, "f32" if kind == "c64" else "f64"
        return f"{mojo_type(kind)}({_stored_value(part, pattern[:half])}, {_stored_value(part, pattern[half:])})"
    if kind[0] == "f":
        value = struct.unpack("<f" if kind == "f32" else "<d", pattern)[0]
        smallest = 2.0 ** (-126 if kind == "f32" else -1022)
        if value - value == 0 and (abs(value) >= smallest or not any(pattern)):
            return mojo_real(value)
        return f"bitcast[{dtype_of(kind)}](UInt{kind[1:]}(0x{int.from_bytes(pattern, 'little'):X}))"
    return str(int.from_bytes(pattern, "little", signed=kind[0] == "i"))
