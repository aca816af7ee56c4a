"""OpenCL C as a target: kernels for any number of threads, and a host program that tests them."""

from __future__ import annotations

from .c_lines import CLines
from .c_target import C_WORDS
from .gather_kernel import EACH, THREADS, GatherKernel, KernelWords, add_call, places_are_narrow
from .kernel_index import index_texts
from .opencl_test import write_program
from .program import CheckedSize, IndexFunctions, PackFunction

SIZES = {8: "char", 16: "short", 32: "int", 64: "long"}

WORDS = KernelWords(
    types={
        "bool": "int",
        **{f"{sign}{bits}": "u" * (sign == "u") + name for bits, name in SIZES.items() for sign in "ui"},
        "u128": "uint4",
        "f32": "float",
        "f64": "double",
    },
    vector="(uint4)({})",
    space="__global ",
    own="",
    helper="static ",
    public="",
    first="get_global_id(0)",
    step="get_global_size(0)",
    bits="as_{}({})",
)

KEYWORDS = """
bool half kernel global local constant private generic read_only write_only read_write uniform pipe uchar ushort uint
ulong size_t ptrdiff_t intptr_t uintptr_t complex imaginary event_t image1d_t image2d_t image3d_t sampler_t queue_t
main abs min max clamp mix step sign dot cross length distance normalize select get_global_id get_global_size barrier
"""
"""OpenCL C's own words beside those of C, with types and functions that a name could be."""


class OpenClTarget:
    """OpenCL C 1.2; ``cc -x c pack.cl -lOpenCL && ./a.out`` prints ``ok`` for a text with its test."""

    name = "opencl"
    about = "OpenCL C: kernels, and how to launch them"
    suffix = ".cl"
    reserved = frozenset([*C_WORDS.split(), *KEYWORDS.split()])

    def write_pack(self, functions: list[PackFunction]) -> str:
        return "\n\n".join([_kernel_text(function) for function in functions]) + "\n"

    def write_index(self, functions: IndexFunctions) -> str:
        visits = "OpenCL C calls no function that it is given: go through all places below the size of the memory."
        return "\n\n".join(index_texts(functions, WORDS, visits)) + "\n"

    def write_test(self, functions: list[PackFunction], runs: list[list[CheckedSize]]) -> str:
        refuses = [GatherKernel(function, WORDS, "long").refuses for function in functions]
        return write_program(self.write_pack(functions), functions, runs, refuses)


TARGET = OpenClTarget()


def _kernel_text(function: PackFunction) -> str:
    """One kernel under what it does and how it is launched."""
    narrow = places_are_narrow(function)
    kernel = GatherKernel(function, WORDS, "int" if narrow else "long")
    lines = CLines()
    about = [
        *function.about,
        f"Places are counted by {32 if narrow else 64} bits.",
        f"It is launched over one dimension. Any global size{' up to 2^30' * narrow} moves all; groups of {THREADS}, "
        f"and one work item for every {EACH * 8 if kernel.packs else EACH} elements of dst, are good ones.",
        *["refused[0] becomes 1 at a value that has no place there; it is 0 before."] * kernel.refuses,
    ]
    for line in about:
        lines.add(0, f"// {line}")
    arguments = kernel.parameters
    for k in range(2):
        arguments[k] = arguments[k].replace("*", "*restrict ")
    add_call(lines, 0, f"__kernel void {function.name}(", arguments, ") {")
    text = "\n".join([*lines.lines, *kernel.body(), "}"])
    doubles = ["#pragma OPENCL EXTENSION cl_khr_fp64 : enable"] * ("f64" in kernel.types)
    return "\n\n".join([*doubles, *kernel.helper_texts(), text])
