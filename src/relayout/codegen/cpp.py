"""C++17 as a target: C's statements with the types, casts and functions of the C++ standard library."""

from __future__ import annotations

from typing import ClassVar

from .c import CFunction
from .c_expressions import CExpressions, c_type
from .c_lines import CLines
from .c_target import C_WORDS, no_inverse_text
from .lower import byte_weight, sample_byte
from .statements import (
    BOOL,
    INDEX,
    STATUS,
    Call,
    Copy,
    Expression,
    Fill,
    Let,
    Module,
    Name,
    Number,
    Parameter,
    Reference,
    Reinterpret,
    Routine,
    Truth,
    names_in,
    nodes_in,
)
from .tree_target import TreeTarget

KEYWORDS = """
alignas alignof and and_eq asm bitand bitor bool catch char16_t char32_t class compl concept consteval constexpr
constinit const_cast co_await co_return co_yield decltype delete dynamic_cast explicit export false friend mutable
namespace new noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast requires
static_assert static_cast std template this thread_local throw true try typeid typename using virtual wchar_t xor xor_eq
"""
"""C++'s own words beside those of C."""

TYPES = {BOOL: "bool", STATUS: "int", "c64": "std::complex<float>", "c128": "std::complex<double>"}
EXTREMES = ("min", "max")
"""The helpers that C++ has."""


class CppExpressions(CExpressions):
    """Expressions of C++; an output parameter is a reference."""

    def type(self, kind: str) -> str:
        if kind in TYPES:
            return TYPES[kind]
        plain = c_type(kind)
        return plain if kind in ("f32", "f64") else f"std::{plain}"

    def cast(self, kind: str, x: Expression) -> str:
        return f"static_cast<{kind}>({self.text(x)})"

    def text(self, x: Expression) -> str:
        if isinstance(x, Truth):
            return "true" if x.value else "false"
        if isinstance(x, Name):
            return x.name
        if isinstance(x, Reference):
            return self.text(x.target)
        if isinstance(x, Call) and x.helper in EXTREMES:
            kind = f"<{self.type(INDEX)}>" * any(isinstance(argument, Number) for argument in x.arguments)
            return f"std::{x.helper}{kind}({', '.join(map(self.text, x.arguments))})"
        return super().text(x)


class CppFunction(CFunction):
    """The printer of one function; a visitor is anything that can be called."""

    std = "std::"
    table = "static constexpr"
    no_arguments = ()
    context = ()
    forms: ClassVar = {"value": "{} {}", "src": "const {} *{}", "dst": "{} *{}", "out": "{} &{}"}

    def printer(self, outs: frozenset[str]) -> CExpressions:
        return CppExpressions(outs)

    def parameter(self, p: Parameter) -> list[str]:
        if p.kind == "visitor":
            return [f"Visitor &&{p.name}"]
        used = p.name in names_in(self.function.body)
        return [f"{'' if used else '[[maybe_unused]] '}{found}" for found in super().parameter(p)]

    def before_head(self) -> str:
        return "template <class Visitor>" * any(p.kind == "visitor" for p in self.function.parameters)

    def add_unused(self) -> None:
        """Arguments that are not used say so themselves."""

    def constant(self, x: Let) -> str:
        return "constexpr" if isinstance(x.value, Number) and not x.rounded else super().constant(x)

    def memory_to_set(self, x: Fill) -> str:
        return f"static_cast<void *>({x.memory})" if x.type in ("c64", "c128") else x.memory


class CppTarget(TreeTarget):
    """C++17; ``c++ pack.cpp && ./a.out`` prints ``ok`` for a text with its test."""

    name = "cpp"
    about = "C++17, with no library but its own"
    suffix = ".cpp"
    reserved = frozenset([*C_WORDS.split(), *KEYWORDS.split()])

    turns = True

    def text(self, module: Module) -> str:
        return _text(module)

    def no_inverse(self, reason: str) -> str:
        return no_inverse_text(reason)


TARGET = CppTarget()


def _text(module: Module) -> str:
    parts = [_headers(module)]
    parts += [CppFunction(function).text() for function in module.functions if function.helper not in EXTREMES]
    if module.runs:
        parts += [_check(function) for function in module.tested_routines()]
        parts.append(_main(module))
    return "\n\n".join(parts) + "\n"


def _headers(module: Module) -> str:
    nodes = list(nodes_in(module.functions))
    names = ["cstdint"]
    if any(isinstance(node, Call) and node.helper in EXTREMES for node in nodes):
        names.append("algorithm")
    if any(p.type in ("c64", "c128") for function in module.functions for p in function.parameters):
        names.append("complex")
    if any(isinstance(node, (Copy, Fill, Reinterpret)) for node in nodes):
        names.append("cstring")
    names += ["cstddef"] * ("cstring" in names)
    if module.runs:
        names += ["cstdio", "vector"]
    return "\n".join([f"#include <{name}>" for name in sorted(names)])


def _check(function: Routine) -> str:
    """The run of one function on bytes that depend on their place, and the checksum of what it writes."""
    name, expressions = function.owner, CppExpressions()
    kinds = [expressions.type(p.type) for p in function.parameters[:2]]
    index, text = expressions.type(INDEX), expressions.text
    sizes = [p.name for p in function.parameters if p.type == INDEX]
    arguments = [f"{index} src_bytes", f"{index} dst_bytes", "std::uint64_t expected", *[f"{index} {n}" for n in sizes]]
    body = CLines()
    body.add(0, "// Whether a run writes what it should.")
    body.add_list(f"static bool {name}_check(", arguments, ") {")
    for side, kind in zip(("src", "dst"), kinds):
        count = f"static_cast<std::size_t>({side}_bytes) / sizeof({kind})"
        body.add(1, f"std::vector<{kind}> {side}({count});")
    body.add(1, "auto *bytes = reinterpret_cast<unsigned char *>(src.data());")
    body.add(1, f"for ({index} i = 0; i < src_bytes; ++i)")
    body.add(2, f"bytes[i] = {text(sample_byte(name, Name('i')))};")
    call = f"{name}({', '.join(['src.data()', 'dst.data()', *sizes])});"
    body.add(1, f"const int refused = {call}" if function.result == STATUS else call)
    body.add(1, "bytes = reinterpret_cast<unsigned char *>(dst.data());")
    body.add(1, "std::uint64_t sum = 0;")
    body.add(1, f"for ({index} i = 0; i < dst_bytes; ++i)")
    body.add(2, f"sum += bytes[i] * ({text(byte_weight(Name('i')))});")
    body.add(1, f"return {'refused == 0 && ' * (function.result == STATUS)}sum == expected;")
    return "\n".join([*body.lines, "}"])


def _main(module: Module) -> str:
    body = CLines()
    body.add(0, "int main() {")
    body.add(1, "bool right = true;")
    for run in module.runs:
        numbers = [str(run.source), str(run.target), f"{run.checksum}u", *map(str, run.sizes)]
        body.add(1, f"right &= {run.owner}_check({', '.join(numbers)});")
    body.add(1, 'std::puts(right ? "ok" : "wrong");')
    body.add(1, "return right ? 0 : 1;")
    body.add(0, "}")
    return "\n".join(body.lines)
