"""Copies on a CUDA device: kernels made for each plan, compiled by NVRTC and launched by the driver."""
