"""The functions of one layout: from a coordinate to its place, and back where every place has one element at most."""

from __future__ import annotations

from ..dialects.resolve import Resolved
from ..engine.places import check_in_memory
from ..errors import LimitExceeded, ShapeError
from ..format.format import Format
from ..layout.layout import Layout
from .loops import build_nest
from .operands import DigitOperand, OperandDigit, axis_names, format_operand, layout_operand, size_names
from .program import IndexFunctions
from .values import Definitions, Monomial

INDEX_BITS = 63
"""Places are counted by signed integers of 64 bits."""


def check_index_width(layout: Layout, bits: int = 1) -> None:
    """Refuse a layout whose places, counted in bits of memory, are too many for an index."""
    if max(layout.storage_size, layout.size) * bits >> INDEX_BITS:
        raise LimitExceeded(
            f"{layout.storage_size} elements are more than an index of 64 bits counts.",
            hint="take a part of it (narrow)",
            limit=1 << INDEX_BITS,
        )


def index_functions(operand: Resolved, name: str, title: str) -> IndexFunctions:
    """The functions of a layout, or of a format whose sizes are arguments."""
    definitions = Definitions()
    sizes: tuple[str, ...]
    if operand.layout is not None:
        layout = operand.layout
        check_in_memory(layout)
        check_index_width(layout)
        sizes = ()
        found, extents = layout_operand(layout), tuple(map(Monomial, layout.extents))
        letters = axis_names(operand.axes, layout.rank)
    elif isinstance(operand.format, Format):
        sizes = size_names(operand.format.rank)
        letters = axis_names(operand.axes, operand.format.rank)
        found, extents = format_operand(operand.format, letters, definitions), tuple([Monomial(1, (n,)) for n in sizes])
    else:
        raise ShapeError("this says nothing about the shape.", hint="pass shape=(...)", got=operand.format)
    reason = why_no_inverse(found, bool(sizes))
    forwards = found.swizzle is None and all(digit.stride.number > 0 for digits in found.dims for digit in digits)
    nest = None
    if forwards and not reason:
        nest = build_nest(letters, extents, found, found, definitions, apart=range(len(letters)))
    return IndexFunctions(name, title, letters, extents, sizes, found, tuple(definitions.found), reason, nest)


def digits_by_stride(operand: DigitOperand) -> list[tuple[int, int, OperandDigit]]:
    """All digits, the slowest in memory first, each with its dimension and its number there."""
    digits = [(d, k, digit) for d, own in enumerate(operand.dims) for k, digit in enumerate(own)]
    return sorted(digits, key=lambda entry: entry[2].slowness)


def why_no_inverse(operand: DigitOperand, any_size: bool) -> str:
    """Why digits cannot be read off a place, the slowest first; a format's always can."""
    if any_size:
        return ""
    reach = 0
    for _, _, digit in reversed(digits_by_stride(operand)):
        step = abs(digit.stride.number)
        if digit.size.number > 1 and step <= reach:
            return f"a stride of {step} is within the reach of smaller ones, {reach}"
        reach += max(digit.size.number - 1, 0) * step
    return ""
