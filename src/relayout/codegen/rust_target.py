"""Rust as a target: functions of safe slices without dependencies, and a program that tests them."""

from __future__ import annotations

from .lower import byte_weight
from .returning_function import comment_lines
from .rust import rust_function
from .rust_expressions import EXTREMES, WIDTH, RustExpressions, rust_type
from .statements import INDEX, STATUS, Module, Name, Routine, TestRun
from .tree_target import TreeTarget

KEYWORDS = """
as break const continue crate else enum extern false fn for if impl in let loop match mod move mut pub ref return self
Self static struct super trait true type unsafe use where while async await dyn abstract become box do final macro
override priv typeof unsized virtual yield try union main
"""
"""Rust's own words, those that it keeps for later, and the function of the test."""


class RustTarget(TreeTarget):
    """Rust of any edition from 1.56 on; ``rustc pack.rs && ./pack`` prints ``ok`` for a text with its test."""

    name = "rust"
    about = "Rust, with no crate but core"
    suffix = ".rs"
    reserved = frozenset(KEYWORDS.split())

    def text(self, module: Module) -> str:
        return _text(module)

    def no_inverse(self, reason: str) -> str:
        lines = ["// No place tells its coordinate:", *comment_lines(f"// {reason}.", "// ")]
        return "\n" + "\n".join(lines) + "\n"


TARGET = RustTarget()


def _text(module: Module) -> str:
    parts = [rust_function(function) for function in module.functions if function.helper not in EXTREMES]
    if module.runs:
        parts += [_check(function) for function in module.tested_routines()]
        parts.append(_main(module))
    return "\n\n".join(parts) + "\n"


def _check(function: Routine) -> str:
    """The run of one function on bytes that depend on their place, and the checksum of what it writes."""
    name, text = function.owner, RustExpressions().text
    source, target = [p.type for p in function.parameters[:2]]
    sizes = [p.name for p in function.parameters if p.type == INDEX]
    parameters = ["src_bytes: usize", "dst_bytes: usize", "expected: u64", *[f"{n}: i64" for n in sizes]]
    head = [f"fn {name}_check({', '.join(parameters)}) -> bool {{"]
    if len(head[0]) > WIDTH:
        head = [f"fn {name}_check(", *[f"    {p}," for p in parameters], ") -> bool {"]
    call = f"{name}({', '.join(['&src', '&mut dst', *sizes])})"
    run = [f"    if {call}.is_err() {{", "        return false;", "    }"]
    lines = [
        "/// Whether a run writes what it should.",
        *head,
        "    let mut bytes = Vec::new();",
        "    for i in 0..src_bytes as i64 {",
        f"        bytes.push({name}_sample(i));",
        "    }",
        f"    let mut src = Vec::<{rust_type(source)}>::new();",
        f"    for chunk in bytes.chunks_exact({_width(source)}) {{",
        *_read(source),
        "    }",
        f"    let mut dst = vec![{_zero(target)}; dst_bytes{f' / {_width(target)}' * (_width(target) > 1)}];",
        *(run if function.result == STATUS else [f"    {call};"]),
        f"    let weight = |i: usize| {text(byte_weight(Name('i')))};",
        "    let mut sum: u64 = 0;",
        "    let mut i = 0;",
        f"    for value in {'dst.iter().flatten()' if target[0] == 'c' else '&dst'} {{",
        "        for byte in &value.to_ne_bytes() {",
        "            sum = sum.wrapping_add(u64::from(*byte).wrapping_mul(weight(i)));",
        "            i += 1;",
        "        }",
        "    }",
        "    sum == expected",
        "}",
    ]
    return "\n".join(lines)


def _width(kind: str) -> int:
    return int(kind[1:]) // 8


def _zero(kind: str) -> str:
    return {"c64": "[0f32; 2]", "c128": "[0f64; 2]"}.get(kind, f"0{kind}")


def _read(kind: str) -> list[str]:
    """The element that a chunk of bytes is."""
    part = {"c64": "f32", "c128": "f64"}.get(kind, kind)
    width = _width(part)
    if part == kind:
        return [
            f"        let mut word = [0; {width}];",
            "        word.copy_from_slice(chunk);",
            f"        src.push({part}::from_ne_bytes(word));",
        ]
    return [
        f"        let mut parts = [[0; {width}]; 2];",
        f"        parts[0].copy_from_slice(&chunk[..{width}]);",
        f"        parts[1].copy_from_slice(&chunk[{width}..]);",
        f"        src.push([{part}::from_ne_bytes(parts[0]), {part}::from_ne_bytes(parts[1])]);",
    ]


def _main(module: Module) -> str:
    lines = ["fn main() {", "    let mut right = true;"]
    lines += [line for run in module.runs for line in _call(run)]
    lines.append('    println!("{}", if right { "ok" } else { "wrong" });')
    return "\n".join([*lines, "    std::process::exit(i32::from(!right));", "}"])


def _call(run: TestRun) -> list[str]:
    numbers = list(map(str, [run.source, run.target, run.checksum, *run.sizes]))
    line = f"    right &= {run.owner}_check({', '.join(numbers)});"
    if len(line) <= WIDTH:
        return [line]
    return [f"    right &= {run.owner}_check(", *[f"        {n}," for n in numbers], "    );"]
