"""C99 as a target: functions that can be pasted into any file, and a program that tests them."""

from __future__ import annotations

from .c import PackWriter
from .c_index import write_index
from .c_lines import CLines
from .c_types import c_type
from .checksums import MIXER, WEIGHT
from .program import CheckedSize, IndexFunctions, PackFunction

KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
main memcpy memset malloc free abort puts
"""
"""C's own words, and the functions that the texts call."""


class CTarget:
    """C99; ``cc pack.c && ./a.out`` prints ``ok`` for a text with its test."""

    name = "c"
    suffix = ".c"
    reserved = frozenset(KEYWORDS.split())

    def write_pack(self, functions: list[PackFunction]) -> str:
        texts = [PackWriter(function).text() for function in functions]
        copies = any(word in text for text in texts for word in ("memcpy(", "memset("))
        return _text(["#include <stdint.h>" + "\n#include <string.h>" * copies, *texts])

    def write_index(self, functions: IndexFunctions) -> str:
        return write_index(functions)

    def write_test(self, functions: list[PackFunction], runs: list[list[CheckedSize]]) -> str:
        headers = "".join([f"#include <{header}.h>\n" for header in ("stdint", "stdio", "stdlib", "string")])
        texts = [PackWriter(function).text() for function in functions]
        checks = [_check(function) for function in functions]
        return _text([headers.rstrip(), *texts, *checks, _main(functions, runs)])


TARGET = CTarget()


def _text(parts: list[str]) -> str:
    return "\n\n".join(parts) + "\n"


def _check(function: PackFunction) -> str:
    """The run of one function on bytes that depend on their place, and the checksum of what it writes."""
    name, refuses = function.name, PackWriter(function).refuses
    kinds = {"src": c_type(function.element), "dst": c_type(function.target_element)}
    body = CLines()
    sizes = [f"int64_t {n}" for n in function.sizes]
    arguments = ["int64_t src_bytes", "int64_t dst_bytes", "uint64_t expected", *sizes]
    body.lines.append("// Whether a run writes what it should: 0 if it does.")
    body.add_list(f"static int {name}_check(", arguments, ") {")
    for side, kind in kinds.items():
        body.add(1, f"{kind} *{side} = malloc((size_t){side}_bytes + 1);")
    body.add(1, "uint64_t sum = 0;")
    body.add(1, "if (!src || !dst)")
    body.add(2, "abort();")
    body.add(1, "uint8_t *bytes = (uint8_t *)src;")
    body.add(1, "for (int64_t i = 0; i < src_bytes; ++i)")
    body.add(2, f"bytes[i] = (uint8_t)((uint32_t)i * {MIXER}u >> 25);")
    body.add(1, "memset(dst, 0xa5, (size_t)dst_bytes + 1);")
    call = f"{name}({', '.join(['src', 'dst', *function.sizes])});"
    body.add(1, f"const int refused = {call}" if refuses else call)
    body.add(1, "bytes = (uint8_t *)dst;")
    body.add(1, "for (int64_t i = 0; i < dst_bytes; ++i)")
    body.add(2, f"sum += bytes[i] * ((uint64_t)i * 0x{WEIGHT:x}u >> 32 | 1);")
    body.add(1, "free(src);")
    body.add(1, "free(dst);")
    body.add(1, "return refused || sum != expected;" if refuses else "return sum != expected;")
    return "\n".join([*body.lines, "}"])


def _main(functions: list[PackFunction], runs: list[list[CheckedSize]]) -> str:
    body = CLines()
    body.add(0, "int main(void) {")
    body.add(1, "int failed = 0;")
    for function, own in zip(functions, runs):
        for run in own:
            numbers = [str(run.source), str(run.target), f"{run.checksum}u", *map(str, run.sizes)]
            body.add(1, f"failed |= {function.name}_check({', '.join(numbers)});")
    body.add(1, 'puts(failed ? "wrong" : "ok");')
    body.add(1, "return failed;")
    body.add(0, "}")
    return "\n".join(body.lines)
