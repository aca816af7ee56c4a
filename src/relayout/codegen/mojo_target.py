"""Mojo as a target: functions of spans without dependencies, and a program that tests them."""

from __future__ import annotations

from .lower import byte_weight
from .mojo import dtype_of, mojo_function
from .mojo_expressions import EXTREMES, WIDTH, MojoExpressions, mojo_type
from .returning_function import comment_lines
from .statements import INDEX, STATUS, Module, Name, Routine, TestRun
from .tree_target import TreeTarget

KEYWORDS = """
False None True alias and as assert async await borrowed break class comptime continue deinit def del elif else except
finally fn for from global if imm import in inout is lambda mut nonlocal not or out owned pass raise raises read ref
return self Self struct trait try var while with yield min max range bitcast print exit Error main
"""
"""Mojo's own words, and the functions that the texts call."""


class MojoTarget(TreeTarget):
    """Mojo 1; ``mojo run pack.mojo`` prints ``ok`` for a text with its test."""

    name = "mojo"
    about = "Mojo, on pointers"
    suffix = ".mojo"
    reserved = frozenset(KEYWORDS.split())

    def text(self, module: Module) -> str:
        return _text(module)

    def no_inverse(self, reason: str) -> str:
        lines = ["# No place tells its coordinate:", *comment_lines(f"# {reason}.", "# ")]
        return "\n\n" + "\n".join(lines) + "\n"


TARGET = MojoTarget()


def _text(module: Module) -> str:
    parts = [mojo_function(function) for function in module.functions if function.helper not in EXTREMES]
    if module.runs:
        parts += [_check(function) for function in module.tested_routines()]
        parts.append(_main(module))
    imports = ["from std.memory import bitcast"] * any("bitcast[" in part for part in parts)
    imports += ["from std.sys import exit"] * bool(module.runs)
    return "\n\n\n".join(["\n".join(imports)] * bool(imports) + parts) + "\n"


def _check(function: Routine) -> str:
    """The run of one function on bytes that depend on their place, and the checksum of what it writes."""
    name, expressions = function.owner, MojoExpressions({})
    source, target = [p.type for p in function.parameters[:2]]
    sizes = [p.name for p in function.parameters if p.type == INDEX]
    parameters = ["src_bytes: Int", "dst_bytes: Int", "expected: UInt64", *[f"{n}: Int" for n in sizes]]
    raises = " raises" * (function.result == STATUS)
    head = [f"def {name}_check({', '.join(parameters)}){raises} -> Bool:"]
    if len(head[0]) > WIDTH:
        joined = "    " + ", ".join(parameters)
        split = [joined] if len(joined) <= WIDTH else [f"    {p}," for p in parameters]
        head = [f"def {name}_check(", *split, f"){raises} -> Bool:"]
    lines = [*head, '    """Whether a run writes what it should."""']
    lines += [*_list("src", source), *_list("dst", target), *_write_source(name, source)]
    lines += [f"    {name}({', '.join(['src', 'dst', *sizes])})", "    var sum: UInt64 = 0"]
    weight = expressions.break_lines("var weight = ", byte_weight(Name("i")), "", "        ")
    lines += ["    for i in range(dst_bytes):", *_read_byte(target), *weight, "        sum += UInt64(byte) * weight"]
    return "\n".join([*lines, "    return sum == expected"])


def _word(kind: str) -> tuple[str, int]:
    """The unsigned integer of an element's width, or of its half's, and its bytes."""
    bits = int(kind[1:]) // (2 if kind[0] == "c" else 1)
    return f"UInt{bits}", bits // 8


def _list(name: str, kind: str) -> list[str]:
    width = int(kind[1:]) // 8
    count = f"{name}_bytes" if width == 1 else f"{name}_bytes // {width}"
    return [f"    var {name} = List[{mojo_type(kind)}](length={count}, fill=0)"]


def _write_source(name: str, kind: str) -> list[str]:
    """The loop that makes elements of the bytes of the test."""
    word, width = _word(kind)
    if kind == "u8":
        return ["    for i in range(src_bytes):", f"        src[i] = {name}_sample(i)"]
    place = "[i // 2][i % 2]" if kind[0] == "c" else "[i]"
    lines = [f"    for i in range(src_bytes{f' // {width}' * (width > 1)}):", f"        var word: {word} = 0"]
    lines += [f"        for k in range({width}):", f"            var byte = {name}_sample({width} * i + k)"]
    lines.append(f"            word |= {word}(byte) << {word}(8 * k)")
    return [*lines, f"        src{place} = bitcast[{dtype_of(kind)}](word)"]


def _read_byte(kind: str) -> list[str]:
    """Byte ``i`` of what was written."""
    word, width = _word(kind)
    if kind == "u8":
        return ["        var byte = dst[i]"]
    place = f"[i // {2 * width}][i // {width} % 2]" if kind[0] == "c" else f"[i{f' // {width}' * (width > 1)}]"
    lines = [f"        var word = bitcast[DType.uint{8 * width}](dst{place})"]
    return [*lines, f"        var byte = (word >> {word}(i % {width} * 8)) & 0xFF"]


def _main(module: Module) -> str:
    refuses = any(function.result == STATUS for function in module.functions)
    lines = [f"def main(){' raises' * refuses}:", "    var right = True"]
    lines += [line for run in module.runs for line in _call(run)]
    lines += ['    print("ok" if right else "wrong")', "    if not right:", "        exit(1)"]
    return "\n".join(lines)


def _call(run: TestRun) -> list[str]:
    numbers = list(map(str, [run.source, run.target, run.checksum, *run.sizes]))
    line = f"    right &= {run.owner}_check({', '.join(numbers)})"
    if len(line) <= WIDTH:
        return [line]
    joined = f"        {', '.join(numbers)}"
    split = [joined] if len(joined) <= WIDTH else [f"        {n}," for n in numbers]
    return [f"    right &= {run.owner}_check(", *split, "    )"]
