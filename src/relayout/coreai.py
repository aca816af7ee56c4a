"""Apple Core AI's words: interleaved arrays, their default strides, and the forms that are the same array."""

from .format.interleave import Description, InterleaveLayout, describe, equivalents, layout, packed

__all__ = ["Description", "InterleaveLayout", "describe", "equivalents", "layout", "packed"]
