"""HIP as a target: the kernels of the GPU engine in AMD's words, with their launch, and a program that tests them."""

from __future__ import annotations

from .cuda_target import VendorTarget
from .cuda_text import Vendor

TARGET = VendorTarget(Vendor("hip", "hip/hip_runtime.h", converts=False), "HIP", ".hip")
