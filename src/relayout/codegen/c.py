"""Statements and functions in C99, in the style of clang-format."""

from __future__ import annotations

from typing import ClassVar

from .c_expressions import CExpressions
from .c_lines import WIDTH, CLines, function_text
from .statements import (
    INDEX,
    Assign,
    At,
    Base,
    Binary,
    Cast,
    Comment,
    ConstantTable,
    Copy,
    Do,
    Expression,
    Fill,
    For,
    If,
    Let,
    LocalArray,
    Name,
    Number,
    Parameter,
    Real,
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

    std = ""
    """What stands before the names of the standard library."""

    table = "static const"
    """What stands before a table that never changes."""

    private, public = "static ", ""
    """What stands before functions that only others of the text call, and before those that a user calls."""

    def __init__(self, function: Routine) -> None:
        self.function = function
        outs = frozenset([p.name for p in function.parameters if p.kind == "out"])
        self.expressions = self.printer(outs)
        self.types = {p.name: self.expressions.type(p.type) for p in function.parameters}
        self.memories = {node.name: node.memory for node in nodes_in(function.body) if isinstance(node, Base)}
        self.lines = CLines()

    def printer(self, outs: frozenset[str]) -> CExpressions:
        """What prints expressions."""
        return CExpressions(outs)

    def text(self) -> str:
        function = self.function
        about, head = CLines(), CLines()
        for line in function.about:
            about.add(0, f"// {line}")
        kind = "void" if function.result is None else self.expressions.type(function.result)
        name = f"{function.owner}_{function.helper}" if function.helper else function.owner
        linkage = self.public if function.helper in ("", *PUBLIC) else self.private
        arguments = [text for p in function.parameters for text in self.parameter(p)]
        head.add_list(f"{linkage}{kind} {name}(", arguments or self.no_arguments, ") {")
        self.add_unused()
        self._add_all(1, function.body)
        text = function_text(head.lines, self.lines.lines)
        before = self.before_head()
        joint = " " if before and len(head.lines) == 1 and len(before) + len(head.lines[0]) < WIDTH else "\n"
        return "\n".join([*about.lines, f"{before}{joint * bool(before)}{text}"])

    no_arguments: tuple[str, ...] = ("void",)

    def before_head(self) -> str:
        """What stands before the head, on its line where it fits."""
        return ""

    def add_unused(self) -> None:
        """Say that arguments are not used on purpose."""
        used = names_in(self.function.body)
        self.lines.lines += [f"  (void){p.name};" for p in self.function.parameters if p.name not in used]

    def parameter(self, p: Parameter) -> list[str]:
        if p.kind == "visitor":
            return [f"{self.function.owner}_visitor *{p.name}", "void *context"]
        return [self.forms[p.kind].format(self.types[p.name], p.name)]

    forms: ClassVar = {"value": "{} {}", "src": "const {} *{}", "dst": "{} *{}", "out": "{} *{}"}

    # ---- statements --------------------------------------------------------------------------------------

    def _add_all(self, depth: int, statements: tuple[Statement, ...]) -> None:
        for statement in statements:
            self._add(depth, statement)

    def _add(self, depth: int, x: Statement) -> None:
        add, text, kind = self.lines.add, self.expressions.text, self.expressions.type
        if isinstance(x, Comment):
            add(depth, f"// {x.text}")
        elif isinstance(x, Let):
            if x.rounded and isinstance(x.value, Binary):
                self.add_rounded(depth, x, x.value)
            else:
                add(depth, f"{self.constant(x)} {kind(x.type)} {x.name} = {text(x.value)};")
        elif isinstance(x, Var):
            add(depth, f"{kind(x.type)} {x.name} = {text(x.value)};")
        elif isinstance(x, ConstantTable):
            mask = x.type.startswith("u")
            values = [text(Number(n, x.type, mask) if isinstance(n, int) else Real(n, x.type)) for n in x.values]
            self.lines.add_table(depth, f"{self.table} {kind(x.type)} {x.name}[{len(values)}] = {{", values)
        elif isinstance(x, LocalArray):
            add(depth, f"{kind(x.type)} {x.name}[{x.size}];")
        elif isinstance(x, Reinterpret):
            add(depth, f"{kind(x.type)} {x.name};")
            add(depth, f"{self.std}memcpy(&{x.name}, &{x.of.name}, sizeof({x.name}));")
        elif isinstance(x, Base):
            memory, place = self._memory(x.memory), self._pointer(At(x.memory, x.place))
            add(depth, f"{'const ' * (memory != 'dst')}{self.types[memory]} *{x.name} = {place};")
        elif isinstance(x, Assign):
            self._add_assign(depth, x)
        elif isinstance(x, Do):
            add(depth, f"{text(x.call)};")
        elif isinstance(x, Visit):
            add(depth, f"{x.name}({', '.join([*[text(a) for a in x.arguments], *self.context])});")
        elif isinstance(x, Copy):
            size = self._size(x.length, self._memory(x.target.memory))
            copy = f"{self.function.owner}_stream" if x.streams else f"{self.std}memcpy"
            add(depth, f"{copy}({self._pointer(x.target)}, {self._pointer(x.source)}, {size});")
        elif isinstance(x, Fill):
            self._add_fill(depth, x)
        elif isinstance(x, For):
            if x.title:
                add(depth, f"// {x.title}")
            opening = f"for ({kind(INDEX)} {x.name} = {text(x.start)}; {x.name} < {text(x.end)}; ++{x.name})"
            self._add_block(depth, opening, x.body)
            self._close(depth, x.body)
        elif isinstance(x, If):
            self._add_if(depth, x)
        else:
            self._add_return(depth, x)

    context: tuple[str, ...] = ("context",)
    """What a visitor is called with beside its place and coordinate."""

    def constant(self, x: Let) -> str:
        """What stands before the type of a value that stays."""
        return "const"

    def add_rounded(self, depth: int, x: Let, value: Binary) -> None:
        """A product that no machine fuses with the sum behind it: double has place for all of its bits."""
        self.lines.add(depth, f"// By way of double: the {x.name} is rounded once, on every machine")
        product = self.expressions.text(Cast(x.type, value._replace(left=Cast("f64", value.left))))
        self.lines.add(depth, f"{self.constant(x)} {self.expressions.type(x.type)} {x.name} = {product};")

    def _size(self, length: Expression, memory: str) -> str:
        """So many elements in bytes."""
        return f"{self.expressions.cast(f'{self.std}size_t', length)} * sizeof(*{memory})"

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
        by_itself = isinstance(value, Binary) and value.left == x.target and isinstance(x.target, Name)
        if by_itself and isinstance(value, Binary) and value.sign in ("%", "|", "+", "-"):
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

    def _add_if(self, depth: int, x: If) -> None:
        """A choice; all of its branches in braces, or none."""
        branches: list[tuple[str, tuple[Statement, ...]]] = []
        before, rest = "", x
        while True:
            branches.append((f"{before}if ({self.expressions.text(rest.condition)})", rest.body))
            before = "else "
            if len(rest.otherwise) != 1 or not isinstance(rest.otherwise[0], If):
                break
            rest = rest.otherwise[0]
        if rest.otherwise:
            branches.append(("else", rest.otherwise))
        block = any(_is_block(body) for _, body in branches)
        for k, (opening, body) in enumerate(branches):
            self.lines.add(depth, "} " * (block and k > 0) + opening + " {" * block)
            self._add_all(depth + 1, body)
        if block:
            self.lines.add(depth, "}")

    def _add_fill(self, depth: int, x: Fill) -> None:
        """Bytes that are all alike by one call, others one by one."""
        add, count = self.lines.add, self.expressions.text(x.length)
        if len(set(x.pattern)) == 1:
            size = self._size(x.length, x.memory)
            add(depth, f"{self.std}memset({self.memory_to_set(x)}, {x.pattern[0]}, {size});")
            return
        opening = f"{self.table} {self.expressions.type('u8')} fill[{len(x.pattern)}] = {{"
        self.lines.add_table(depth, opening, [f"0x{byte:02x}" for byte in x.pattern])
        add(depth, f"for ({self.expressions.type(INDEX)} i = 0; i < {count}; ++i)")
        if x.type == "u8":
            add(depth + 1, f"{x.memory}[i] = fill[i % {len(x.pattern)}];")
        else:
            add(depth + 1, f"{self.std}memcpy({x.memory} + i, fill, sizeof(fill));")

    def memory_to_set(self, x: Fill) -> str:
        """The memory as the standard library takes it."""
        return x.memory


PUBLIC = ("offset", "coordinate", "each")
"""The helpers that a user calls."""


def _is_block(body: tuple[Statement, ...]) -> bool:
    """Whether a body is put in braces."""
    if len(body) != 1 or isinstance(body[0], (For, Comment, ConstantTable)):
        return True
    return isinstance(body[0], Fill) and len(set(body[0].pattern)) > 1
