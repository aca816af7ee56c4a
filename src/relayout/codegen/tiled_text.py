"""The text of the engine's kernels as one writes it: indented, broken at 80 columns, without what nobody needs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .c_lines import WIDTH, CLines

WORDS = {
    r"\bDEVICE\b": "__device__ __forceinline__",
    r"\bDATA\b": "static __device__ const",
    r"\bUNROLL\b": "#pragma unroll",
    r"\bROLLED\b": "#pragma unroll 1",
    r"\btake(\d+)\(": r"read\1(",
    r"\bput(\d+)\(": r"write\1(",
    # Sums and products without what changes nothing; no position is negative.
    r"(?<=[\w)\]]) \+ 0(?:ll)?(?![\w.])": "",
    r"(?<=[=(] )0(?:ll)? \+ ": "",
    r"(?<=[\w)\]]) \* 1(?:ll)?(?![\w.])": "",
    r"\bp\d+(?: \+ \d+)? >= 0 && ": "",
    r"\bp\d+(?: \+ \d+)? < 0 \|\| ": "",
    r"\(\w+ & 0x00000000u\) \| ": "",
}
"""The engine's macros, spelt out, and what its sums need not have."""


def format_text(text: str) -> str:
    """A definition in the style of clang-format."""
    for word, meaning in WORDS.items():
        text = re.sub(word, meaning, text)
    one = re.fullmatch(r"(.*\)) \{ (.*) \}", text)
    if one and len(text) <= WIDTH:
        return text
    if one:
        text = f"{one[1]} {{\n{one[2]}\n}}"
    lines, depth = CLines(), 0
    given = [part for line in text.splitlines() if line.strip() for part in _open_blocks(line.strip())]
    for line in _used_lines(given):
        start = depth - line.startswith("}")
        if line.startswith("#") or "asm" in line:
            lines.lines.append(line if line.startswith("#") else "  " * start + line)
            continue
        head = re.fullmatch(r"(__device__ __forceinline__ [\w ]+\()([^()]*)(\) \{)", line)
        if head:
            lines.add_list(head[1], head[2].split(", "), head[3])
        else:
            for deeper, part in enumerate(_statements(line)):
                lines.add(start + deeper, part)
        depth += line.count("{") - line.count("}")
    return "\n".join(lines.lines)


def _statements(line: str) -> Iterator[str]:
    """A condition or a loop, and below it what it does."""
    control = re.match(r"(?:\} )?else (?=if|for)(?!if .*\{$)|(?:\} else )?(?:if|for) (?=\()", line)
    if control is None:
        yield line
        return
    end = control.end()
    if line[end] == "(":
        depth = 0
        while True:
            depth += (line[end] == "(") - (line[end] == ")")
            end += 1
            if not depth:
                break
    rest = line[end:].strip()
    if not rest or rest == "{":
        yield line
        return
    yield line[:end].strip()
    yield from _statements(rest)


def _open_blocks(line: str) -> list[str]:
    """A block of statements on one line as lines of its own."""
    block = re.fullmatch(r"(.*\)) \{ ([^{}]*;) \}", line)
    if block is None or '"' in line:
        return [line]
    return [f"{block[1]} {{", *[f"{statement.strip()};" for statement in block[2].split(";")[:-1]], "}"]


def _used_lines(lines: list[str]) -> list[str]:
    """The lines without casts to void, and without names and steps that nothing behind them reads."""
    lines = [left for line in lines if (left := re.sub(r"\(void\)\w+;\s*", "", line).strip())]
    while True:
        kept = [line for k, line in enumerate(lines) if not _is_dead(line, "\n".join(lines[k + 1 :]))]
        if kept == lines:
            return kept
        lines = kept


def _is_dead(line: str, behind: str) -> bool:
    """Whether a line gives a name, or changes one, that is not read any more."""
    made = re.fullmatch(r"(?:const )?(?:u32|i64|u64|int|u8 \*const|const u8 \*const) (\w+) = [^;]*;", line)
    changed = re.fullmatch(r"([ub]) /= \w+;", line)
    name = made or changed
    return name is not None and not re.search(rf"\b{name[1]}\b", behind)
