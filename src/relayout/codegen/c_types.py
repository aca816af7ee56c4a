"""The types that elements have in C."""

from __future__ import annotations

from ..elements.types import Element
from ..errors import NotExpressible

TYPES = {"float32": "float", "float64": "double", "complex64": "float _Complex", "complex128": "double _Complex"}
"""The elements that C computes with, beside integers; all others are moved as unsigned integers of their width."""


def c_type(element: Element) -> str:
    """The type that an element has in C; what shares bytes is bytes."""
    kind = element.underlying
    if kind.bits < 8 or kind.name == "bool":
        return "uint8_t"
    if kind.name in TYPES:
        return TYPES[kind.name]
    if kind.bits > 64:
        raise NotExpressible(
            f"C has no type for the {kind.bits} bits of {kind.name}.",
            hint="take it as uint64, with one more dimension of 2",
            element=element,
        )
    return f"{'int' if kind.integral and kind.limits[0] else 'uint'}{kind.bits}_t"
