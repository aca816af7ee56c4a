"""Metal's shading language as a target: kernels for any number of threads, and a test that runs them on any host."""

from __future__ import annotations

from ..errors import NotExpressible
from .c import c_function
from .c_lines import CLines
from .c_target import C_WORDS
from .checksums import WEIGHT
from .cpp import KEYWORDS as CPP_WORDS
from .gather_kernel import EACH, THREADS, GatherKernel, KernelWords, add_call, places_are_narrow
from .kernel_index import index_texts
from .lower import sample_routine
from .program import CheckedSize, IndexFunctions, PackFunction
from .statements import nodes_in

SIZES = {8: "char", 16: "short", 32: "int", 64: "long"}

WORDS = KernelWords(
    types={
        "bool": "bool",
        **{f"{sign}{bits}": "u" * (sign == "u") + name for bits, name in SIZES.items() for sign in "ui"},
        "u128": "uint4",
    },
    vector="uint4({})",
    space="device ",
    own="thread ",
    helper="static ",
    public="inline ",
    first="thread_index",
    step="threads",
    bits="as_type<{}>({})",
)

METAL_WORDS = """
kernel vertex fragment device constant thread threadgroup threadgroup_imageblock metal half uchar ushort uint ulong
float2 float4 uint2 uint4 int2 int4 sampler texture1d texture2d texture3d array select min max abs clamp mix step sign
"""
"""Metal's own words beside those of C++, with types and functions that a name could be."""

HEADER = "#include <metal_stdlib>\nusing namespace metal;"

HOST_WORDS = """#include <cstdint>
#include <cstdio>
#include <cstdlib>
#define kernel static
#define device
#define constant const
#define thread
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
struct alignas(16) uint4 {
  uint x, y, z, w;
  uint4() = default;
  uint4(uint a, uint b, uint c, uint d) : x(a), y(b), z(c), w(d) {}
};"""
"""What a C++ compiler is told of Metal's words, to run kernels thread by thread."""


class MetalTarget:
    """Metal 2.2; ``c++ -x c++ -w pack.metal && ./a.out`` prints ``ok`` for a text with its test."""

    name = "metal"
    about = "Metal Shading Language: kernels, and how to launch them"
    suffix = ".metal"
    reserved = frozenset([*C_WORDS.split(), *CPP_WORDS.split(), *METAL_WORDS.split()])

    def write_pack(self, functions: list[PackFunction]) -> str:
        return "\n\n".join([HEADER, *[_kernel_text(function) for function in functions]]) + "\n"

    def write_index(self, functions: IndexFunctions) -> str:
        visits = "Metal calls no function that it is given: go through all places below the size of the memory."
        return "\n\n".join([HEADER, *index_texts(functions, WORDS, visits)]) + "\n"

    def write_test(self, functions: list[PackFunction], runs: list[list[CheckedSize]]) -> str:
        host = "// A C++ compiler makes of this file a test that runs every kernel thread by thread."
        head = f"#ifdef __METAL_VERSION__\n{HEADER}\n#else {host}\n{HOST_WORDS}\n#endif"
        kernels = [_kernel_text(function) for function in functions]
        checks = [text for f in functions for text in (c_function(sample_routine(f)), _check_text(f))]
        tests = ["#ifndef __METAL_VERSION__", *checks, f"{_main_text(functions, runs)}\n#endif"]
        return "\n\n".join([head, *kernels, *tests]) + "\n"


TARGET = MetalTarget()


def _gather_kernel(function: PackFunction) -> GatherKernel:
    kernel = GatherKernel(function, WORDS, "int" if places_are_narrow(function) else "long")
    if any("f32" in node or "f64" in node for node in nodes_in((tuple(kernel.types), *kernel.helpers))):
        raise NotExpressible(
            "Metal's compiler reorders the arithmetic of floats, unless it is told not to, so that bits would differ.",
            hint="move elements as they are, and convert before or after",
        )
    return kernel


def _kernel_text(function: PackFunction) -> str:
    """One kernel under what it does and how it is launched."""
    kernel, narrow = _gather_kernel(function), places_are_narrow(function)
    lines = CLines()
    about = [
        *function.about,
        f"Places are counted by {32 if narrow else 64} bits.",
        f"It is dispatched over one dimension. Any number of threads moves all; groups of {THREADS}, and one thread "
        f"for every {EACH * 8 if kernel.packs else EACH} elements of dst, are good ones.",
        *["refused[0] becomes 1 at a value that has no place there; it is 0 before."] * kernel.refuses,
    ]
    for line in about:
        lines.add(0, f"// {line}")
    arguments = []
    for k, argument in enumerate(kernel.parameters):
        own = argument if "*" in argument else "constant " + " &".join(argument.rsplit(" ", 1))
        arguments.append(f"{own} [[buffer({k})]]")
    arguments += ["uint thread_index [[thread_position_in_grid]]", "uint threads [[threads_per_grid]]"]
    add_call(lines, 0, f"kernel void {function.name}(", arguments, ") {")
    return "\n\n".join([*kernel.helper_texts(), "\n".join([*lines.lines, *kernel.body(), "}"])])


# ---- the test --------------------------------------------------------------------------------------------


def _check_text(function: PackFunction) -> str:
    kernel, name = _gather_kernel(function), function.name
    source, target = [WORDS.types[kind] for kind in kernel.types]
    lines = CLines()
    sizes = [f"long {n}" for n in function.sizes]
    arguments = ["int64_t src_bytes", "int64_t dst_bytes", "uint64_t expected", *sizes]
    lines.add(0, "// Whether a run writes what it should: 0 if it does.")
    lines.add_list(f"static int {name}_check(", arguments, ") {")
    lines.add(1, "uchar *src = (uchar *)malloc((size_t)src_bytes + 1);")
    lines.add(1, "uchar *dst = (uchar *)malloc((size_t)dst_bytes + 1);")
    lines.add(1, "if (!src || !dst)")
    lines.add(2, "abort();")
    lines.add(1, "for (int64_t i = 0; i < src_bytes; ++i)")
    lines.add(2, f"src[i] = {name}_sample(i);")
    if kernel.refuses:
        lines.add(1, "int refused = 0;")
    lines.add(1, "const uint threads = 100;")
    lines.add(1, "for (uint k = 0; k < threads; ++k)")
    call = [f"(const {source} *)src", f"({target} *)dst", *function.sizes, *["&refused"] * kernel.refuses]
    lines.add_list(f"    {name}(", [*call, "k", "threads"], ");")
    lines.add(1, "uint64_t sum = 0;")
    lines.add(1, "for (int64_t i = 0; i < dst_bytes; ++i)")
    lines.add(2, f"sum += dst[i] * ((uint64_t)i * 0x{WEIGHT:x}u >> 32 | 1);")
    lines.add(1, "free(src);")
    lines.add(1, "free(dst);")
    lines.add(1, f"return {'refused || ' * kernel.refuses}sum != expected;")
    return "\n".join([*lines.lines, "}"])


def _main_text(functions: list[PackFunction], runs: list[list[CheckedSize]]) -> str:
    body = CLines()
    body.add(0, "int main() {")
    body.add(1, "int failed = 0;")
    for function, own in zip(functions, runs):
        for run in own:
            numbers = [str(run.source), str(run.target), f"{run.checksum}u", *map(str, run.sizes)]
            body.add(1, f"failed |= {function.name}_check({', '.join(numbers)});")
    body.add(1, 'puts(failed ? "wrong" : "ok");')
    body.add(1, "return failed;")
    body.add(0, "}")
    return "\n".join(body.lines)
