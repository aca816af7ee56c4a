"""HIP as a target: the kernels of the GPU engine in AMD's words, with their launch, and a program that tests them."""

from __future__ import annotations

from .cuda_target import RESERVED
from .cuda_text import Vendor, write_index, write_kernels, write_test
from .program import CheckedSize, IndexFunctions, PackFunction

VENDOR = Vendor("hip", "hip/hip_runtime.h", converts=False)


class HipTarget:
    """HIP; ``hipcc pack.hip && ./a.out`` prints ``ok`` for a text with its test."""

    name = "hip"
    about = "HIP: tiled kernels with their launch"
    suffix = ".hip"
    reserved = RESERVED

    def write_pack(self, functions: list[PackFunction]) -> str:
        return write_kernels(functions, VENDOR)

    def write_index(self, functions: IndexFunctions) -> str:
        return write_index(functions, VENDOR)

    def write_test(self, functions: list[PackFunction], runs: list[list[CheckedSize]]) -> str:
        return write_test(functions, runs, VENDOR)


TARGET = HipTarget()
