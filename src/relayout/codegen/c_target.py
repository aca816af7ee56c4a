"""C99 as a target: functions that can be pasted into any file, and a program that tests them."""

from __future__ import annotations

from .c import c_function
from .c_expressions import CExpressions, c_type
from .c_lines import CLines
from .lower import byte_weight, sample_byte
from .statements import INDEX, STATUS, Copy, Fill, Module, Name, Reinterpret, Routine, nodes_in
from .tree_target import TreeTarget

C_WORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
main asm typeof linux unix
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t intmax_t uintmax_t
int_least8_t int_least16_t int_least32_t int_least64_t uint_least8_t uint_least16_t uint_least32_t uint_least64_t
int_fast8_t int_fast16_t int_fast32_t int_fast64_t uint_fast8_t uint_fast16_t uint_fast32_t uint_fast64_t
INT8_MIN INT16_MIN INT32_MIN INT64_MIN INT8_MAX INT16_MAX INT32_MAX INT64_MAX UINT8_MAX UINT16_MAX UINT32_MAX UINT64_MAX
INT8_C INT16_C INT32_C INT64_C UINT8_C UINT16_C UINT32_C UINT64_C INTPTR_MAX UINTPTR_MAX INTMAX_MAX UINTMAX_MAX SIZE_MAX
size_t ptrdiff_t offsetof wchar_t div_t ldiv_t lldiv_t fpos_t ssize_t off_t uint ushort ulong FILE NULL EOF BUFSIZ
RAND_MAX EXIT_SUCCESS EXIT_FAILURE SEEK_SET SEEK_CUR SEEK_END stdin stdout stderr
memcpy memmove memset memcmp memchr strcpy strncpy strcat strncat strcmp strncmp strcoll strxfrm strchr strrchr strcspn
strspn strpbrk strstr strtok strerror strlen strdup strndup index rindex
malloc calloc realloc free abort atexit exit abs labs llabs div ldiv lldiv rand srand random srandom qsort bsearch
getenv system atof atoi atol atoll strtod strtof strtold strtol strtoul strtoll strtoull
puts putchar putc fputc fputs printf fprintf sprintf snprintf vprintf vfprintf vsprintf vsnprintf scanf fscanf sscanf
getc getchar fgetc fgets gets ungetc getline fopen freopen fclose fflush fread fwrite fseek ftell rewind feof ferror
clearerr perror remove rename tmpfile tmpnam setbuf setvbuf
"""
"""C's own words, and the names of the headers that the texts include."""

STREAM = """\
// Copies bytes; whole lines of memory past the caches, where the machine can:
// a line that is written as a whole need not be read before.
static void {name}_stream(void *to, const void *from, size_t bytes) {{
#ifdef __SSE2__
  if ((uintptr_t)to % {bytes} == 0 && bytes % {bytes} == 0) {{
    __m128i *line = (__m128i *)to;
    const __m128i *part = (const __m128i *)from;
    for (size_t i = 0; i < bytes / 16; ++i)
      _mm_stream_si128(line + i, _mm_loadu_si128(part + i));
    return;
  }}
#endif
  memcpy(to, from, bytes);
}}

// Waits until what was written past the caches is in its place for all.
static void {name}_stream_end(void) {{
#ifdef __SSE2__
  _mm_sfence();
#endif
}}"""
"""The helper that writes past the caches, and the one that ends a function which calls it."""


class CTarget(TreeTarget):
    """C99; ``cc pack.c && ./a.out`` prints ``ok`` for a text with its test."""

    name = "c"
    about = "C99, with no library but its own"
    suffix = ".c"
    reserved = frozenset(C_WORDS.split())

    turns = True
    streams = True

    def text(self, module: Module) -> str:
        return _text(module)

    def no_inverse(self, reason: str) -> str:
        return no_inverse_text(reason)


TARGET = CTarget()


def no_inverse_text(reason: str) -> str:
    """Why a layout has no function from a place to a coordinate."""
    lines = CLines()
    lines.add(0, "// No place tells its coordinate:")
    lines.add(0, f"// {reason}.")
    return "\n" + "\n".join(lines.lines) + "\n"


def _text(module: Module) -> str:
    parts = [_headers(module)]
    streams: set[str] = set()
    for function in module.functions:
        parts_of_lines = [x.streams for x in nodes_in(function.body) if isinstance(x, Copy) and x.streams]
        if parts_of_lines and function.owner not in streams:
            parts.append(STREAM.format(name=function.owner, bytes=parts_of_lines[0]))
            streams.add(function.owner)
        parts += _visitor_type(function)
        parts.append(c_function(function))
    if module.runs:
        parts += [_check(function) for function in module.tested_routines()]
        parts.append(_main(module))
    return "\n\n".join(parts) + "\n"


def _headers(module: Module) -> str:
    names = ["stdint"]
    if module.runs:
        names += ["stdio", "stdlib"]
    if module.runs or any(isinstance(node, (Copy, Fill, Reinterpret)) for node in nodes_in(module.functions)):
        names.append("string")
    lines = [f"#include <{name}.h>" for name in names]
    if any(isinstance(node, Copy) and node.streams for node in nodes_in(module.functions)):
        lines += ["#ifdef __SSE2__", "#include <emmintrin.h>", "#endif"]
    return "\n".join(lines)


def _visitor_type(function: Routine) -> list[str]:
    """The type of the function that a walk calls."""
    lines = CLines()
    for p in function.parameters:
        if p.kind == "visitor":
            arguments = [f"int64_t {name}" for name in p.arity]
            lines.add_list(f"typedef void {function.owner}_visitor(", [*arguments, "void *context"], ");")
    return ["\n".join(lines.lines)] if lines.lines else []


def _check(function: Routine) -> str:
    """The run of one function on bytes that depend on their place, and the checksum of what it writes."""
    name, refuses, text = function.owner, function.result == STATUS, CExpressions().text
    sizes = [p.name for p in function.parameters if p.type == INDEX]
    arguments = ["int64_t src_bytes", "int64_t dst_bytes", "uint64_t expected", *[f"int64_t {n}" for n in sizes]]
    body = CLines()
    body.add(0, "// Whether a run writes what it should: 0 if it does.")
    body.add_list(f"static int {name}_check(", arguments, ") {")
    for p in function.parameters[:2]:
        body.add(1, f"{c_type(p.type)} *{p.name} = malloc((size_t){p.name}_bytes + 1);")
    body.add(1, "uint64_t sum = 0;")
    body.add(1, "if (!src || !dst)")
    body.add(2, "abort();")
    body.add(1, "uint8_t *bytes = (uint8_t *)src;")
    body.add(1, "for (int64_t i = 0; i < src_bytes; ++i)")
    body.add(2, f"bytes[i] = {text(sample_byte(name, Name('i')))};")
    body.add(1, "memset(dst, 0xa5, (size_t)dst_bytes + 1);")
    call = f"{name}({', '.join(['src', 'dst', *sizes])});"
    body.add(1, f"const int refused = {call}" if refuses else call)
    body.add(1, "bytes = (uint8_t *)dst;")
    body.add(1, "for (int64_t i = 0; i < dst_bytes; ++i)")
    body.add(2, f"sum += bytes[i] * ({text(byte_weight(Name('i')))});")
    body.add(1, "free(src);")
    body.add(1, "free(dst);")
    body.add(1, "return refused || sum != expected;" if refuses else "return sum != expected;")
    return "\n".join([*body.lines, "}"])


def _main(module: Module) -> str:
    body = CLines()
    body.add(0, "int main(void) {")
    body.add(1, "int failed = 0;")
    for run in module.runs:
        numbers = [str(run.source), str(run.target), f"{run.checksum}u", *map(str, run.sizes)]
        body.add(1, f"failed |= {run.owner}_check({', '.join(numbers)});")
    body.add(1, 'puts(failed ? "wrong" : "ok");')
    body.add(1, "return failed;")
    body.add(0, "}")
    return "\n".join(body.lines)
