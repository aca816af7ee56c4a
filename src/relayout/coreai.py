"""Apple Core AI's words: interleaved arrays, their default strides, and the forms that are the same array."""

from .format.interleave import InterleaveLayout, NDArrayDescriptor, describe, equivalents, layout, packed

__all__ = ["InterleaveLayout", "NDArrayDescriptor", "describe", "equivalents", "layout", "packed"]
