"""CUDA C++ as a target: the kernels of the GPU engine with their launch, and a program that tests them."""

from __future__ import annotations

from .c_target import C_WORDS
from .cpp import KEYWORDS as CPP_WORDS
from .cuda_text import Vendor, write_index, write_kernels, write_test
from .program import CheckedSize, IndexFunctions, PackFunction

DEVICE_WORDS = """
threadIdx blockIdx blockDim gridDim warpSize dim3 int2 int4 uint2 uint4 float2 float4 double2 min max abs Index
"""
"""What the headers of both vendors and the texts call something."""

RESERVED = frozenset([*C_WORDS.split(), *CPP_WORDS.split(), *DEVICE_WORDS.split()])


class VendorTarget:
    """The kernels in one vendor's words; what its compiler makes of a text with its test prints ``ok``."""

    reserved = RESERVED

    def __init__(self, vendor: Vendor, language: str, suffix: str) -> None:
        self.vendor, self.name, self.suffix = vendor, vendor.word, suffix
        self.about = f"{language}: tiled kernels with their launch"

    def write_pack(self, functions: list[PackFunction]) -> str:
        return write_kernels(functions, self.vendor)

    def write_index(self, functions: IndexFunctions) -> str:
        return write_index(functions, self.vendor)

    def write_test(self, functions: list[PackFunction], runs: list[list[CheckedSize]]) -> str:
        return write_test(functions, runs, self.vendor)


TARGET = VendorTarget(Vendor("cuda", "cuda_runtime.h", converts=True), "CUDA C++", ".cu")
