"""The types of elements as the statements' tree calls them."""

from __future__ import annotations

from ..elements.types import Element
from ..errors import NotExpressible

NUMBERS = {"float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128"}
"""The elements that languages compute with, beside integers; all others are unsigned integers of their width."""


def tree_type(element: Element) -> str:
    """The type of an element in memory; what shares bytes is bytes."""
    kind = element.underlying
    if kind.bits < 8 or kind.name == "bool":
        return "u8"
    if kind.name in NUMBERS:
        return NUMBERS[kind.name]
    if kind.bits > 64:
        raise NotExpressible(
            f"there is no type for the {kind.bits} bits of {kind.name}.",
            hint="take it as uint64, with one more dimension of 2",
            element=element,
        )
    return f"{'i' if kind.integral and kind.limits[0] else 'u'}{kind.bits}"
