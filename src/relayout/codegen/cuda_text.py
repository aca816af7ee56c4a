"""Kernels with their launch, for CUDA and HIP, which differ in a few words: tiled ones, and one thread a place."""

from __future__ import annotations

from typing import NamedTuple

from ..elements.types import Element
from .c import c_function
from .c_expressions import c_type
from .c_lines import CLines
from .checksums import WEIGHT
from .element_types import tree_type
from .gather_kernel import EACH, NARROW_LIMIT, THREADS, GatherKernel, KernelFunction, KernelWords, add_call
from .kernel_index import index_texts
from .lower import sample_routine
from .lower_index import used_definitions
from .lower_loops import no_elements
from .lower_values import value_of
from .program import CheckedSize, IndexFunctions, PackFunction
from .statements import INDEX, If, Let, Name, Return, Routine, Statement
from .tiled_kernel import ALIGNED, TiledKernels, converter_text, namespace_text, tiled_kernels

KINDS = ("u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "bool")

WORDS = KernelWords(
    types={**{kind: c_type(kind) for kind in KINDS}, "u128": "uint4"},
    vector="make_uint4({})",
    space="",
    own="",
    helper="static __device__ ",
    public="__host__ __device__ inline ",
    first="blockIdx.x * (Index)blockDim.x + threadIdx.x",
    step="gridDim.x * (Index)blockDim.x",
    bits="",
)

PAIRS = {"c64": "float2", "c128": "double2"}
"""Complex numbers as both vendors' headers have them."""

MAX_BLOCKS = 1 << 20

TILES = (
    "A block of threads moves one tile, which is runs of both memories: b0, b1, ... number the tile, r0, r1, ... a run "
    "of it and v a vector there, l0, l1, ... what a thread moves. from and to are where the tile begins, in bytes; q0, "
    "q1, ... and p0, p1, ... are positions along axes that have padding."
)


class Vendor(NamedTuple):
    """What one of the two calls its own: ``cuda`` and ``hip`` begin the names of functions and types."""

    word: str
    header: str
    converts: bool

    @property
    def error(self) -> str:
        return f"{self.word}Error_t"

    @property
    def stream(self) -> str:
        return f"{self.word}Stream_t"

    @property
    def success(self) -> str:
        return f"{self.word}Success"


def element_type(element: Element) -> str:
    """The type of an element in a host function's signature."""
    kind = tree_type(element)
    return PAIRS.get(kind) or c_type(kind)


def write_kernels(functions: list[PackFunction], vendor: Vendor) -> str:
    """The header, and for each function its kernels and its launch."""
    texts = [_function_text(function, vendor) for function in functions]
    return "\n\n".join([_headers(vendor, "stdint"), *texts]) + "\n"


def _headers(vendor: Vendor, *standard: str) -> str:
    own = "\n".join([f"#include <{name}.h>" for name in standard])
    return f"{own}\n\n#include <{vendor.header}>"


def _function_text(function: PackFunction, vendor: Vendor) -> str:
    tiled = tiled_kernels(function, vendor.converts)
    return _tiled_text(function, tiled, vendor) if tiled is not None else _gather_text(function, vendor)


def _comment(*lines: str) -> list[str]:
    text = CLines()
    for line in lines:
        text.add(0, f"// {line}")
    return text.lines


def _opening(function: PackFunction, vendor: Vendor, refuses: bool = False) -> list[str]:
    source, target = element_type(function.element), element_type(function.target_element)
    sizes = [f"int64_t {n}" for n in function.sizes]
    arguments = [
        f"const {source} *src",
        f"{target} *dst",
        *sizes,
        *["int *refused"] * refuses,
        f"{vendor.stream} stream",
    ]
    lines = CLines()
    add_call(lines, 0, f'extern "C" {vendor.error} {function.name}(', arguments, ") {")
    return lines.lines


# ---- tiled -----------------------------------------------------------------------------------------------


def _tiled_text(function: PackFunction, tiled: TiledKernels, vendor: Vendor) -> str:
    name = function.name
    about = [
        *function.about,
        "Places are counted by 64 bits.",
        f"Both memories begin at multiples of {ALIGNED} bytes, as allocations do; others are refused. It is not "
        "waited for.",
    ]
    body = CLines()
    if not tiled.found:
        body.add(1, "(void)src;")
        body.add(1, "(void)dst;")
        body.add(1, "(void)stream;")
        body.add(1, f"return {vendor.success};")
        return "\n".join([*_comment(*function.about), *_opening(function, vendor), *body.lines, "}"])
    body.add(1, f"if (((uintptr_t)src | (uintptr_t)dst) % {ALIGNED})")
    body.add(2, "return cudaErrorMisalignedAddress;" if vendor.word == "cuda" else "return hipErrorInvalidValue;")
    for k, kernel in enumerate(tiled.found):
        grid = f"{kernel.blocks}, {kernel.threads}, {kernel.shared}, stream"
        own = tiled.kernel_name(k, name)
        add_call(body, 1, f"{own}<<<{grid}>>>(", ["(const uint8_t *)src", "(uint8_t *)dst"], ");")
    body.add(1, f"return {vendor.word}GetLastError();")
    launch = "\n".join([*_comment(*about), *_opening(function, vendor), *body.lines, "}"])
    return "\n\n".join(["\n".join(_comment(TILES)) + "\n" + tiled.text(name, vendor.word), launch])


# ---- one thread a place ----------------------------------------------------------------------------------


def _gather_text(function: PackFunction, vendor: Vendor) -> str:
    """One kernel for both widths of indices; the launch chooses the one that counts all places."""
    kernel, name = _gather_kernel(function, vendor), function.name
    head = CLines()
    head.lines.append("template <typename Index>")
    arguments = kernel.parameters
    for k in range(2):
        arguments[k] = arguments[k].replace("*", "*__restrict__ ")
    add_call(head, 0, f"static __global__ void {name}_kernel(", arguments, ") {")
    if head.lines[1].endswith("("):
        head.lines[1:] = ["static __global__ void"]
        head.add_list(f"{name}_kernel(", arguments, ") {")
    text = "\n".join(["// One thread for each place of dst", *head.lines, *kernel.body(), "}"])
    helpers = [_template_text(text) for text in kernel.helper_texts()]
    if kernel.converter:
        helpers.append(namespace_text(name, [converter_text(function)], vendor.word))
    launch = [*_comment(*function.about, *_remarks(kernel)), *_opening(function, vendor, kernel.refuses)]
    return "\n\n".join([*helpers, text, "\n".join([*launch, *_launch(function, kernel, vendor), "}"])])


def _gather_kernel(function: PackFunction, vendor: Vendor) -> GatherKernel:
    """One thread a place; conversions by the engine's functions where it has them."""
    engine = vendor.converts and converter_text(function)
    return GatherKernel(function, WORDS, "Index", f"{function.name}_parts::convert" if engine else "")


def _template_text(text: str) -> str:
    """A function that counts places as its caller does."""
    if "Index" not in text:
        return text
    lines = text.split("\n")
    at = next(k for k, line in enumerate(lines) if not line.startswith("//"))
    return "\n".join([*lines[:at], "template <typename Index>", *lines[at:]])


def _remarks(kernel: GatherKernel) -> list[str]:
    refused = "*refused, on the device, becomes 0, and 1 at a value that has no place there."
    return [*[refused] * kernel.refuses, "It is not waited for."]


def _launch(function: PackFunction, kernel: GatherKernel, vendor: Vendor) -> list[str]:
    sizes: list[Statement] = [
        Let("src_size", INDEX, value_of(function.source.storage)),
        Let("dst_size", INDEX, value_of(function.target.storage)),
    ]
    guard = [If(no_elements(function.sizes), (Return(Name(vendor.success)),))] if function.sizes else []
    routine = Routine(function.name, "", (), (), None, (*guard, *used_definitions(function.definitions, sizes), *sizes))
    printer = KernelFunction(routine, WORDS, "int64_t")
    printer._add_all(1, routine.body)
    body = printer.lines
    group = THREADS * EACH * (8 if kernel.packs else 1)
    body.add(1, f"const int64_t wanted = (dst_size + {group - 1}) / {group};")
    body.add(1, f"const unsigned blocks = wanted < {MAX_BLOCKS} ? (unsigned)wanted : {MAX_BLOCKS};")
    if kernel.refuses:
        body.add(1, f"{vendor.word}MemsetAsync(refused, 0, sizeof(*refused), stream);")
    body.add(1, "if (!blocks)")
    body.add(2, f"return {vendor.success};")
    limit = NARROW_LIMIT // (8 if min(kernel.bits) < 8 else 1)
    body.add(1, "// Indices of 32 bits are faster, and enough for so many places")
    body.add(1, f"if (src_size < {limit} && dst_size < {limit})")
    source, target = [WORDS.types[kind] for kind in kernel.types]
    for index in ("int32_t", "int64_t"):
        if index == "int64_t":
            body.add(1, "else")
        arguments = [f"(const {source} *)src", f"({target} *)dst", *[f"({index}){n}" for n in function.sizes]]
        arguments += ["refused"] * kernel.refuses
        opening = f"{function.name}_kernel<{index}><<<blocks, {THREADS}, 0, stream>>>("
        add_call(body, 2, opening, arguments, ");")
    body.add(1, f"return {vendor.word}GetLastError();")
    return body.lines


# ---- one layout ------------------------------------------------------------------------------------------


def write_index(functions: IndexFunctions, vendor: Vendor) -> str:
    """The functions of one layout, for kernels and for the host."""
    words = WORDS._replace(helper=WORDS.public)
    return "\n\n".join([_headers(vendor, "stdint"), *index_texts(functions, words, "")]) + "\n"


# ---- the test --------------------------------------------------------------------------------------------


def write_test(functions: list[PackFunction], runs: list[list[CheckedSize]], vendor: Vendor) -> str:
    """The functions, and a program that runs them on the device."""
    checks = [text for f in functions for text in (c_function(sample_routine(f)), _check(f, vendor))]
    body = CLines()
    body.add(0, "int main(void) {")
    body.add(1, "int failed = 0;")
    for function, own in zip(functions, runs):
        for run in own:
            numbers = [str(run.source), str(run.target), f"{run.checksum}ull", *map(str, run.sizes)]
            body.add(1, f"failed |= {function.name}_check({', '.join(numbers)});")
    body.add(1, 'puts(failed ? "wrong" : "ok");')
    body.add(1, "return failed;")
    body.add(0, "}")
    texts = [_function_text(function, vendor) for function in functions]
    headers = _headers(vendor, "stdint", "stdio", "stdlib")
    return "\n\n".join([headers, *texts, *checks, "\n".join(body.lines)]) + "\n"


def _check(function: PackFunction, vendor: Vendor) -> str:
    """The run of one function on bytes that depend on their place, and the checksum of what it writes."""
    word, name = vendor.word, function.name
    refuses = tiled_kernels(function, vendor.converts) is None and _gather_kernel(function, vendor).refuses
    kinds = {"src": element_type(function.element), "dst": element_type(function.target_element)}
    lines = CLines()
    lines.lines.append("// Whether a run writes what it should: 0 if it does.")
    sizes = [f"int64_t {n}" for n in function.sizes]
    arguments = ["int64_t src_bytes", "int64_t dst_bytes", "uint64_t expected", *sizes]
    lines.add_list(f"static int {name}_check(", arguments, ") {")
    for side, kind in kinds.items():
        lines.add(1, f"{kind} *{side};")
    lines.add(1, "const int64_t most = src_bytes > dst_bytes ? src_bytes : dst_bytes;")
    lines.add(1, "uint8_t *bytes = (uint8_t *)malloc((size_t)most + 1);")
    lines.add(1, f"if (!bytes || {word}Malloc(&src, (size_t)src_bytes + 1) ||")
    lines.lines.append(f"      {word}Malloc(&dst, (size_t)dst_bytes + 1))")
    lines.add(2, "abort();")
    lines.add(1, "for (int64_t i = 0; i < src_bytes; ++i)")
    lines.add(2, f"bytes[i] = {name}_sample(i);")
    lines.add(1, f"{word}Memcpy(src, bytes, (size_t)src_bytes, {word}MemcpyHostToDevice);")
    lines.add(1, f"{word}Memset(dst, 0xa5, (size_t)dst_bytes + 1);")
    if refuses:
        lines.add(1, "int *refused, flag = 0;")
        lines.add(1, f"if ({word}Malloc(&refused, sizeof(*refused)))")
        lines.add(2, "abort();")
    call = ", ".join(["src", "dst", *function.sizes, *["refused"] * refuses, "0"])
    lines.add(1, f"{vendor.error} error = {name}({call});")
    lines.add(1, "if (!error)")
    lines.add(2, f"error = {word}Memcpy(bytes, dst, (size_t)dst_bytes, {word}MemcpyDeviceToHost);")
    lines.add(1, "uint64_t sum = 0;")
    lines.add(1, "for (int64_t i = 0; i < dst_bytes; ++i)")
    lines.add(2, f"sum += bytes[i] * ((uint64_t)i * 0x{WEIGHT:x}ull >> 32 | 1);")
    if refuses:
        lines.add(1, f"{word}Memcpy(&flag, refused, sizeof(flag), {word}MemcpyDeviceToHost);")
        lines.add(1, f"{word}Free(refused);")
    lines.add(1, f"{word}Free(src);")
    lines.add(1, f"{word}Free(dst);")
    lines.add(1, "free(bytes);")
    lines.add(1, f"return error {'|| flag ' * refuses}|| sum != expected;")
    return "\n".join([*lines.lines, "}"])
