"""Statements and functions in C99, in the style of clang-format."""

from __future__ import annotations

from .c_expressions import CExpressions, c_type
from .c_lines import CLines, function_text
from .statements import (
    Assign,
    At,
    Base,
    Binary,
    Comment,
    ConstantTable,
    Copy,
    Do,
    Fill,
    For,
    If,
    Let,
    Name,
    Parameter,
    Reinterpret,
    Return,
    Routine,
    Statement,
    Var,
    Visit,
    names_in,
    nodes_in,
)


def c_function(function: Routine) -> str:
    """The text of a function under its comment."""
    return CFunction(function).text()


class CFunction:
    """The printer of one function."""

    def __init__(self, function: Routine) -> None:
        self.function = function
        outs = frozenset([p.name for p in function.parameters if p.kind == "out"])
        self.expressions = CExpressions(outs)
        self.types = {p.name: c_type(p.type) for p in function.parameters}
        self.memories = {node.name: node.memory for node in nodes_in(function.body) if isinstance(node, Base)}
        self.lines = CLines()

    def text(self) -> str:
        function = self.function
        about, head = CLines(), CLines()
        for line in function.about:
            about.add(0, f"// {line}")
        kind = "void" if function.result is None else c_type(function.result)
        name = f"{function.owner}_{function.helper}" if function.helper else function.owner
        private = "static " if function.helper not in ("", *PUBLIC) else ""
        arguments = [text for p in function.parameters for text in self._parameter(p)]
        head.add_list(f"{private}{kind} {name}(", arguments or ["void"], ") {")
        used = names_in(function.body)
        self.lines.lines += [f"  (void){p.name};" for p in function.parameters if p.name not in used]
        self._add_all(1, function.body)
        return "\n".join([*about.lines, function_text(head.lines, self.lines.lines)])

    def _parameter(self, p: Parameter) -> list[str]:
        if p.kind == "visitor":
            return [f"{self.function.owner}_visitor *{p.name}", "void *context"]
        kind = c_type(p.type)
        form = {"value": "{} {}", "src": "const {} *{}", "dst": "{} *{}", "out": "{} *{}"}[p.kind]
        return [form.format(kind, p.name)]

    # ---- statements --------------------------------------------------------------------------------------

    def _add_all(self, depth: int, statements: tuple[Statement, ...]) -> None:
        for statement in statements:
            self._add(depth, statement)

    def _add(self, depth: int, x: Statement) -> None:
        add, text = self.lines.add, self.expressions.text
        if isinstance(x, Comment):
            add(depth, f"// {x.text}")
        elif isinstance(x, Let):
            if x.rounded:
                add(depth, f"// volatile: the {x.name} is rounded before it is used, on every machine")
            add(depth, f"const {'volatile ' * x.rounded}{c_type(x.type)} {x.name} = {text(x.value)};")
        elif isinstance(x, Var):
            add(depth, f"{c_type(x.type)} {x.name} = {text(x.value)};")
        elif isinstance(x, ConstantTable):
            self.lines.add_table(depth, f"static const {c_type(x.type)} {x.name}[{len(x.values)}] = {{", x)
        elif isinstance(x, Reinterpret):
            add(depth, f"{c_type(x.type)} {x.name};")
            add(depth, f"memcpy(&{x.name}, &{x.of.name}, sizeof({x.name}));")
        elif isinstance(x, Base):
            const = "const " * (self._memory(x.memory) != "dst")
            add(
                depth,
                f"{const}{self.types[self._memory(x.memory)]} *{x.name} = {self._pointer(At(x.memory, x.place))};",
            )
        elif isinstance(x, Assign):
            self._add_assign(depth, x)
        elif isinstance(x, Do):
            add(depth, f"{text(x.call)};")
        elif isinstance(x, Visit):
            add(depth, f"{x.name}({', '.join([*[text(a) for a in x.arguments], 'context'])});")
        elif isinstance(x, Copy):
            size = f"(size_t){self.expressions.in_brackets(x.length)} * sizeof(*{self._memory(x.target.memory)})"
            add(depth, f"memcpy({self._pointer(x.target)}, {self._pointer(x.source)}, {size});")
        elif isinstance(x, Fill):
            self._add_fill(depth, x)
        elif isinstance(x, For):
            if x.title:
                add(depth, f"// {x.title}")
            opening = f"for (int64_t {x.name} = {text(x.start)}; {x.name} < {text(x.end)}; ++{x.name})"
            self._add_block(depth, opening, x.body)
            self._close(depth, x.body)
        elif isinstance(x, If):
            self._add_if(depth, "", x)
        else:
            self._add_return(depth, x)

    def _memory(self, name: str) -> str:
        """The parameter that a base, or itself, is of."""
        return self.memories.get(name, name)

    def _pointer(self, at: At) -> str:
        place = self.expressions.text(at.place)
        if place == "0":
            return at.memory
        return f"{at.memory} - {place[1:]}" if place.startswith("-") else f"{at.memory} + {place}"

    def _add_assign(self, depth: int, x: Assign) -> None:
        """A changed value; ``rest %= 4`` where it changes by itself."""
        target, value = self.expressions.text(x.target), x.value
        if isinstance(value, Binary) and value.left == x.target and isinstance(x.target, Name) and value.sign in "%|":
            self.lines.add(depth, f"{target} {value.sign}= {self.expressions.text(value.right)};")
        else:
            self.lines.add(depth, f"{target} = {self.expressions.text(value)};")

    def _add_return(self, depth: int, x: Return) -> None:
        value = "return;" if x.value is None else f"return {self.expressions.text(x.value)};"
        self.lines.add(depth, f"{value} // {x.comment}" if x.comment else value)

    def _add_block(self, depth: int, opening: str, body: tuple[Statement, ...]) -> None:
        self.lines.add(depth, opening + " {" * _is_block(body))
        self._add_all(depth + 1, body)

    def _close(self, depth: int, body: tuple[Statement, ...]) -> None:
        if _is_block(body):
            self.lines.add(depth, "}")

    def _add_if(self, depth: int, before: str, x: If) -> None:
        chained = len(x.otherwise) == 1 and isinstance(x.otherwise[0], If)
        block = _is_block(x.body) or bool(x.otherwise and not chained and _is_block(x.otherwise))
        self.lines.add(depth, f"{before}if ({self.expressions.text(x.condition)}){' {' * block}")
        self._add_all(depth + 1, x.body)
        closing = "} " * block
        if chained and isinstance(x.otherwise[0], If):
            self._add_if(depth, f"{closing}else ", x.otherwise[0])
            return
        if x.otherwise:
            self.lines.add(depth, f"{closing}else{' {' * block}")
            self._add_all(depth + 1, x.otherwise)
        if block:
            self.lines.add(depth, "}")

    def _add_fill(self, depth: int, x: Fill) -> None:
        """Bytes that are all alike by one call, others one by one."""
        add, count = self.lines.add, self.expressions.text(x.length)
        if len(set(x.pattern)) == 1:
            size = f"(size_t){self.expressions.in_brackets(x.length)} * sizeof(*{x.memory})"
            add(depth, f"memset({x.memory}, {x.pattern[0]}, {size});")
            return
        digits = ", ".join([f"0x{byte:02x}" for byte in x.pattern])
        add(depth, f"static const uint8_t fill[{len(x.pattern)}] = {{{digits}}};")
        add(depth, f"for (int64_t i = 0; i < {count}; ++i)")
        if x.type == "u8":
            add(depth + 1, f"{x.memory}[i] = fill[i % {len(x.pattern)}];")
        else:
            add(depth + 1, f"memcpy({x.memory} + i, fill, sizeof(fill));")


PUBLIC = ("offset", "coordinate", "each")
"""The helpers that a user calls."""


def _is_block(body: tuple[Statement, ...]) -> bool:
    """Whether a body is put in braces."""
    if len(body) != 1 or isinstance(body[0], (For, Comment, ConstantTable)):
        return True
    return isinstance(body[0], Fill) and len(set(body[0].pattern)) > 1
