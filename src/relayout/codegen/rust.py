"""Statements and functions in Rust, in the style of rustfmt: safe slices, and values that are refused as errors."""

from __future__ import annotations

import struct
from typing import Any

from .bases import bases_as_numbers, rewrite, steps_backwards
from .rust_expressions import WIDTH, RustExpressions, rust_real, rust_type
from .statements import (
    STATUS,
    Assign,
    At,
    Base,
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
    Number,
    Parameter,
    Real,
    Reference,
    Reinterpret,
    Return,
    Routine,
    Select,
    Statement,
    Truth,
    Unary,
    Var,
    Visit,
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


class RustFunction:
    """The printer of one function. What others write by output parameters it returns: a coordinate as an array, if
    there is one, and a converted value, or the error.
    """

    def __init__(self, function: Routine) -> None:
        self.function = function = bases_as_numbers(function) if steps_backwards(function) else function
        tables = frozenset([node.name for node in nodes_in(function.body) if isinstance(node, ConstantTable)])
        self.expressions = RustExpressions(tables)
        self.outs = [p for p in function.parameters if p.kind == "out"]
        self.memories = {p.name: p for p in function.parameters if p.kind in ("src", "dst")}
        bound = [node.target for node in nodes_in(function.body) if isinstance(node, Reference)]
        self.bound = {target.name for target in bound if isinstance(target, Name)}
        self.assigned = [node.target for node in nodes_in(function.body) if isinstance(node, Assign)]
        self.lines: list[str] = []

    # ---- the whole ---------------------------------------------------------------------------------------

    def text(self) -> str:
        function = self.function
        name = f"{function.owner}_{function.helper}" if function.helper else function.owner
        opening = f"{'pub ' * (function.helper in PUBLIC)}fn {name}("
        result = self._result()
        closing = f") -> {result} {{" if result else ") {"
        self._add_unused()
        self._add_all(1, function.body, last=True)
        parameters = [self._parameter(p) for p in function.parameters if p.kind != "out"]
        head = [opening + ", ".join(parameters) + closing]
        if len(head[0]) > WIDTH:
            head = [opening, *[f"    {p}," for p in parameters], closing]
        if not self.lines:
            return "\n".join([*self._comment(), *head[:-1], head[-1] + "}"])
        return "\n".join([*self._comment(), *head, *self.lines, "}"])

    def _comment(self) -> list[str]:
        found: list[str] = []
        for line in self.function.about:
            for words, own in WORDS.items():
                line = line.replace(words, own)
            found += comment_lines(f"/// {line}", "/// ")
        return found

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

    def _line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

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

    def _add_all(self, depth: int, statements: tuple[Statement, ...], last: bool = False) -> None:
        for k, statement in enumerate(statements):
            behind = statements[k + 1 : k + 2]
            if isinstance(statement, Var) and behind and _always_assigns(behind[0], statement.name):
                mutable = "mut " * (self.assigned.count(Name(statement.name)) > 2)
                self._line(depth, f"let {mutable}{statement.name}: {rust_type(statement.type)};")
            else:
                self._add(depth, statement, last=last and not behind)

    def _add(self, depth: int, x: Statement, last: bool = False) -> None:
        text = self.expressions.text
        if isinstance(x, Comment):
            self.lines += comment_lines("    " * depth + f"// {x.text}", "    " * depth + "// ")
        elif isinstance(x, Let):
            kind = f": {rust_type(x.type)}" * isinstance(x.value, (Number, Real))
            self._value(depth, f"let {x.name}{kind} = ", x.value)
        elif isinstance(x, Var):
            if x.name not in self.bound:
                mutable = "mut " * (Name(x.name) in self.assigned)
                self._value(depth, f"let {mutable}{x.name}: {rust_type(x.type)} = ", x.value)
        elif isinstance(x, ConstantTable):
            self._add_table(depth, x)
        elif isinstance(x, Reinterpret):
            self._line(depth, f"let {x.name} = {_bits_of(x)};")
        elif isinstance(x, Base):
            self._add_base(depth, x)
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
            name = x.name if x.name in names_in(x.body) else "_"
            self._line(depth, f"for {name} in {text(x.start)}..{text(x.end)} {{")
            self._add_all(depth + 1, x.body)
            self._line(depth, "}")
        elif isinstance(x, If):
            self._add_if(depth, "", x)
        elif isinstance(x, Return):
            self._add_return(depth, x, last)

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
        target, value = self.expressions.text(x.target), x.value
        if isinstance(x.target, Name) and x.target.name in [p.name for p in self.outs]:
            self._value(depth, f"let {target} = ", value)
        elif isinstance(value, Binary) and value.left == x.target and value.sign in ("+", "-", "*", "%", "|", "&", "^"):
            self._value(depth, f"{target} {value.sign}= ", value.right)
        else:
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

    def _add_if(self, depth: int, before: str, x: If) -> None:
        call = x.condition.value if isinstance(x.condition, Unary) and x.condition.sign == "!" else x.condition
        outs = [a.target for a in call.arguments if isinstance(a, Reference)] if isinstance(call, Call) else []
        if isinstance(call, Call) and outs:
            given = _without_references(call)
            if call is not x.condition:
                self._add_attempt(depth, outs[0], given)
                return
            names = ", ".join([self.expressions.text(target) for target in outs])
            self._line(depth, f"if let Some([{names}]) = {self.expressions.text(given)} {{")
        else:
            self._add_condition(depth, f"{before}if ", x.condition)
        self._add_all(depth + 1, x.body)
        if len(x.otherwise) == 1 and isinstance(x.otherwise[0], If):
            self._add_if(depth, "} else ", x.otherwise[0])
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

    def _add_return(self, depth: int, x: Return, last: bool) -> None:
        before, after = ("", "") if last else ("return ", ";")
        if x.comment:
            after += f" // {x.comment}"
        if isinstance(x.value, Call) and any(isinstance(argument, Reference) for argument in x.value.arguments):
            self._value(depth, before, _without_references(x.value), after)
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


def _without_references(call: Call) -> Call:
    return Call(call.owner, call.helper, tuple([a for a in call.arguments if not isinstance(a, Reference)]))


def _always_assigns(x: Statement, name: str) -> bool:
    """Whether both ways of a condition give a variable its first value."""
    if not isinstance(x, If) or name in names_in(x.condition):
        return False
    ways = [[node.target for node in way if isinstance(node, Assign)] for way in (x.body, x.otherwise)]
    return all(Name(name) in targets for targets in ways)


def comment_lines(line: str, start: str) -> list[str]:
    """A comment on lines of at most 80 characters."""
    found = []
    while len(line) > 80 and (cut := line.rfind(" ", len(start) + 1, 81)) > 0:
        found.append(line[:cut])
        line = start + line[cut + 1 :]
    return [*found, line]


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
