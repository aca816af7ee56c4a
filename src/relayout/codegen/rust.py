"""Statements and functions in Rust, in the style of rustfmt: safe slices, and values that are refused as errors."""

from __future__ import annotations

import struct
from typing import Any

from .bases import bases_as_numbers, rewrite, steps_backwards
from .returning_function import (
    ReturningFunction,
    attempted_call,
    comment_lines,
    compound_assignment,
    own_words,
    returns_call,
    without_references,
)
from .rust_expressions import WIDTH, RustExpressions, rust_real, rust_type
from .statements import (
    STATUS,
    Assign,
    At,
    Base,
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
    Real,
    Reinterpret,
    Return,
    Routine,
    Select,
    Statement,
    Truth,
    Var,
    names_in,
    nodes_in,
)

PUBLIC = ("", "offset", "coordinate", "each")
"""The helpers that a user calls, and the function itself."""

WORDS = {
    "Returns 1 at a value that has no place there, else 0.": "A value that has no place there is an error.",
    "returns 0 where there is none": "None where there is none",
    "; 0 where it has no": "; an error where it has no",
}
"""What comments say of results, in Rust's own."""

ERROR = 'Err("a value has no place in the target")'
ERROR_TYPE = "&'static str"


def rust_function(function: Routine) -> str:
    """The text of a function under its comment."""
    return RustFunction(function).text()


class RustFunction(ReturningFunction):
    """The printer of one function; where a value has no place the result is an error."""

    MARK = "// "

    def __init__(self, function: Routine) -> None:
        super().__init__(bases_as_numbers(function) if steps_backwards(function) else function)
        function = self.function
        tables = frozenset([node.name for node in nodes_in(function.body) if isinstance(node, ConstantTable)])
        self.expressions = RustExpressions(tables)
        self.memories = {p.name: p for p in function.parameters if p.kind in ("src", "dst")}
        self.assigned = [node.target for node in nodes_in(function.body) if isinstance(node, Assign)]

    # ---- the whole ---------------------------------------------------------------------------------------

    def text(self) -> str:
        function = self.function
        opening = f"{'pub ' * (function.helper in PUBLIC)}fn {self.name}("
        result = self._result()
        closing = f") -> {result} {{" if result else ") {"
        self._add_unused()
        self._add_all(1, function.body)
        parameters = [self._parameter(p) for p in function.parameters if p.kind != "out"]
        head = [opening + ", ".join(parameters) + closing]
        if len(head[0]) > WIDTH:
            head = [opening, *[f"    {p}," for p in parameters], closing]
        if not self.lines:
            return "\n".join([*self._comment(), *head[:-1], head[-1] + "}"])
        return "\n".join([*self._comment(), *head, *self.lines, "}"])

    def _comment(self) -> list[str]:
        lines = own_words(self.function.about, WORDS)
        return [text for line in lines for text in comment_lines(f"/// {line}", "/// ")]

    def _result(self) -> str:
        kind = self.function.result
        if self.outs and self.function.helper == "coordinate":
            return f"Option<[i64; {len(self.outs)}]>"
        if self.outs:
            return f"Result<{rust_type(self.outs[0].type)}, {ERROR_TYPE}>"
        if kind == STATUS:
            return f"Result<(), {ERROR_TYPE}>"
        return "" if kind is None else rust_type(kind)

    def _parameter(self, p: Parameter) -> str:
        kind = rust_type(p.type)
        if p.kind == "visitor":
            return f"mut {p.name}: impl FnMut({', '.join(['i64'] * len(p.arity))})"
        return f"{p.name}: " + {"value": kind, "src": f"&[{kind}]", "dst": f"&mut [{kind}]"}[p.kind]

    def _add_unused(self) -> None:
        used = names_in(self.function.body)
        self.lines += [f"    let _ = {p.name};" for p in self.function.parameters if p.name not in used]

    # ---- statements --------------------------------------------------------------------------------------

    def _value(self, depth: int, before: str, x: Expression, after: str = ";") -> None:
        if isinstance(x, Select):
            self._select(depth, before, x, after)
        else:
            self.lines += self.expressions.break_lines(before, x, after, "    " * depth)

    def _select(self, depth: int, before: str, x: Select, after: str) -> None:
        text = self.expressions.text
        if len(text(x)) <= 50:
            self._line(depth, before + text(x) + after)
            return
        self._line(depth, f"{before}if {text(x.condition)} {{")
        self._line(depth + 1, text(x.yes))
        self._line(depth, "} else {")
        self._line(depth + 1, text(x.no))
        self._line(depth, f"}}{after}")

    def _add_all(self, depth: int, statements: tuple[Statement, ...]) -> None:
        for k, statement in enumerate(statements):
            behind = statements[k + 1 : k + 2]
            if isinstance(statement, Var) and behind and _always_assigns(behind[0], statement.name):
                mutable = "mut " * (self.assigned.count(Name(statement.name)) > 2)
                self._line(depth, f"let {mutable}{statement.name}: {rust_type(statement.type)};")
            elif isinstance(statement, Base):
                self._add_base(depth, statement)
            else:
                self._add(depth, statement)

    def _add_value(self, depth: int, x: Let | Var) -> None:
        if isinstance(x, Let):
            kind = f": {rust_type(x.type)}" * isinstance(x.value, (Number, Real))
            self._value(depth, f"let {x.name}{kind} = ", x.value)
        elif x.name not in self.bound:
            mutable = "mut " * (Name(x.name) in self.assigned)
            self._value(depth, f"let {mutable}{x.name}: {rust_type(x.type)} = ", x.value)

    def _add_bits(self, depth: int, x: Reinterpret) -> None:
        self._line(depth, f"let {x.name} = {_bits_of(x)};")

    def _add_loop(self, depth: int, x: For, name: str) -> None:
        text = self.expressions.text
        self._line(depth, f"for {name} in {text(x.start)}..{text(x.end)} {{")
        self._add_all(depth + 1, x.body)
        self._line(depth, "}")

    def _add_base(self, depth: int, x: Base) -> None:
        """The rest of a memory from a place on."""
        mutable = "mut " * (self.memories[x.memory].kind == "dst")
        if x.place == Number(0):
            self._line(depth, f"let {x.name} = &{mutable}{x.memory}[..];")
            return
        place = self.expressions.place(x.place)
        short = f"let {x.name} = &{mutable}{x.memory}[{place}..];"
        if isinstance(x.place, (Name, Number)):
            self._line(depth, short)
            return
        self._value(depth, f"let {x.name} = ", x.place)
        self._line(depth, f"let {x.name} = &{mutable}{x.memory}[{x.name} as usize..];")

    def _add_assign(self, depth: int, x: Assign) -> None:
        target, changed = self.expressions.text(x.target), compound_assignment(x)
        if self._is_out(x):
            self._value(depth, f"let {target} = ", x.value)
        elif changed is not None:
            self._value(depth, f"{target} {changed[0]}= ", changed[1])
        else:
            value = x.value
            if len("    " * depth + f"{target} = {self.expressions.text(value)};") > WIDTH:
                x, value = self._hoist(depth, x)
                target = self.expressions.text(x.target)
            self._value(depth, f"{target} = ", value)

    def _hoist(self, depth: int, x: Assign) -> tuple[Assign, Expression]:
        """An assignment whose places have names of their own."""
        found: dict[str, Expression] = {}
        for node in nodes_in(x):
            if isinstance(node, At) and not isinstance(node.place, (Name, Number)) and node.memory not in found:
                found[node.memory] = node.place
        for memory, place in found.items():
            self._value(depth, f"let {memory}_at = ", place)

        def use_names(node: Any) -> Any:
            hoisted = isinstance(node, At) and found.get(node.memory) == node.place
            return At(node.memory, Name(f"{node.memory}_at")) if hoisted else node

        moved: Assign = rewrite(x, use_names)
        return moved, moved.value

    def _add_copy(self, depth: int, x: Copy) -> None:
        count = self.expressions.place(x.length)
        target, source = [self._rest(at) for at in (x.target, x.source)]
        line = f"{target}[..{count}].copy_from_slice(&{source}[..{count}]);"
        if len("    " * depth + line) <= WIDTH:
            self._line(depth, line)
            return
        self._line(depth, f"{target}[..{count}]")
        self._line(depth + 1, f".copy_from_slice(&{source}[..{count}]);")

    def _rest(self, at: At) -> str:
        """A memory from a place on."""
        return at.memory if at.place == Number(0) else f"{at.memory}[{self.expressions.place(at.place)}..]"

    def _add_fill(self, depth: int, x: Fill) -> None:
        memory = f"{x.memory}[..{self.expressions.place(x.length)}]"
        if x.type == "u8" and len(x.pattern) > 1:
            digits = ", ".join([f"0x{byte:02x}" for byte in x.pattern])
            self._line(depth, f"let fill = [{digits}];")
            if not isinstance(x.length, (Name, Number)):
                self._value(depth, "let count = ", x.length)
                memory = f"{x.memory}[..count as usize]"
            self._line(depth, f"for (i, byte) in {memory}.iter_mut().enumerate() {{")
            self._line(depth + 1, f"*byte = fill[i % {len(x.pattern)}];")
            self._line(depth, "}")
        else:
            self._line(depth, f"{memory}.fill({_stored_value(x.type, x.pattern)});")

    def _add_table(self, depth: int, x: ConstantTable) -> None:
        opening = f"const {x.name.upper()}: [{rust_type(x.type)}; {len(x.values)}] = ["
        real = x.type in ("f32", "f64")
        texts = [rust_real(float(value)) if real else str(value) for value in x.values]
        if len("    " * depth + opening + ", ".join(texts) + "];") <= WIDTH:
            self._line(depth, opening + ", ".join(texts) + "];")
            return
        self._line(depth, opening)
        line = ""
        for entry in texts:
            if line and (len("    " * (depth + 1) + line) + len(entry) + 2 > WIDTH or max(map(len, texts)) > 10):
                self._line(depth + 1, line)
                line = ""
            line += f"{' ' if line else ''}{entry},"
        self._line(depth + 1, line)
        self._line(depth, "];")

    # ---- conditions and results --------------------------------------------------------------------------

    def _add_if(self, depth: int, x: If, before: str = "") -> None:
        attempted = attempted_call(x.condition)
        if attempted is not None:
            given, outs, negated = attempted
            if negated:
                self._add_attempt(depth, outs[0], given)
                return
            names = ", ".join([self.expressions.text(target) for target in outs])
            self._line(depth, f"if let Some([{names}]) = {self.expressions.text(given)} {{")
        else:
            self._add_condition(depth, f"{before}if ", x.condition)
        self._add_all(depth + 1, x.body)
        if len(x.otherwise) == 1 and isinstance(x.otherwise[0], If):
            self._add_if(depth, x.otherwise[0], "} else ")
            return
        if x.otherwise:
            self._line(depth, "} else {")
            self._add_all(depth + 1, x.otherwise)
        self._line(depth, "}")

    def _add_condition(self, depth: int, before: str, x: Expression) -> None:
        lines = self.expressions.break_lines(before, x, " {", "    " * depth)
        if len(lines) > 1:
            lines[-1] = lines[-1].removesuffix(" {")
            lines.append("    " * depth + "{")
        self.lines += lines

    def _add_attempt(self, depth: int, target: At | Name, given: Call) -> None:
        """What a call that may refuse returns; its error ends this function too."""
        if isinstance(target, Name):
            self._line(depth, f"let {target.name} = {self.expressions.text(given)}?;")
            return
        line = f"{self.expressions.text(target)} = {self.expressions.text(given)}?;"
        if len("    " * depth + line) > WIDTH:
            moved, value = self._hoist(depth, Assign(target, given))
            line = f"{self.expressions.text(moved.target)} = {self.expressions.text(value)}?;"
        self._line(depth, line)

    def _add_return(self, depth: int, x: Return) -> None:
        last = depth == 1 and x is self.function.body[-1]
        before, after = ("", "") if last else ("return ", ";")
        if x.comment:
            after += f" // {x.comment}"
        if isinstance(x.value, Call) and returns_call(x):
            self._value(depth, before, without_references(x.value), after)
        elif self.outs:
            self._add_outs(depth, x, before, after)
        elif self.function.result == STATUS:
            self._line(depth, f"{before}{'Ok(())' if x.value == Number(0, STATUS) else ERROR}{after}")
        elif x.value is None:
            self._line(depth, "return;")
        else:
            self._value(depth, before, x.value, after)

    def _add_outs(self, depth: int, x: Return, before: str, after: str) -> None:
        """The values of the output parameters, or that there are none."""
        names = ", ".join([p.name for p in self.outs])
        some, none = f"Ok({names})", ERROR
        if self.function.helper == "coordinate":
            some, none = f"Some([{names}])", "None"
        if isinstance(x.value, Truth):
            self._line(depth, f"{before}{some if x.value.value else none}{after}")
            return
        if x.value is None:
            return
        self._add_condition(depth, f"{before}if ", x.value)
        self._line(depth + 1, some)
        self._line(depth, "} else {")
        self._line(depth + 1, none)
        self._line(depth, f"}}{after}")


def _always_assigns(x: Statement, name: str) -> bool:
    """Whether both ways of a condition give a variable its first value."""
    if not isinstance(x, If) or name in names_in(x.condition):
        return False
    ways = [[node.target for node in way if isinstance(node, Assign)] for way in (x.body, x.otherwise)]
    return all(Name(name) in targets for targets in ways)


def _bits_of(x: Reinterpret) -> str:
    if x.type[0] == "f":
        return f"{x.type}::from_bits({x.of.name})"
    return f"{x.of.name}.to_bits()" if x.of_type[0] == "f" else f"{x.of.name} as {x.type}"


def _stored_value(kind: str, pattern: bytes) -> str:
    """The element that has these bytes, the least significant first."""
    if kind in ("c64", "c128"):
        half = len(pattern) // 2
        part = "f32" if kind == "c64" else "f64"
        return f"[{_stored_value(part, pattern[:half])}, {_stored_value(part, pattern[half:])}]"
    if kind[0] == "f":
        value = struct.unpack("<f" if kind == "f32" else "<d", pattern)[0]
        if value - value == 0:
            return rust_real(value) if value or not pattern[-1] else f"-{rust_real(0.0)}"
        return f"{kind}::from_bits(0x{int.from_bytes(pattern, 'little'):x})"
    return str(int.from_bytes(pattern, "little", signed=kind[0] == "i"))
