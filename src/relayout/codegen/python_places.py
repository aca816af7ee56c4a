"""Places of elements as expressions of Python, on numbers or whole arrays."""

from __future__ import annotations

from collections.abc import Sequence

from ..layout.swizzle import Swizzle
from .operands import DigitOperand
from .python_text import factor_text, value_text
from .values import ONE, Monomial

NOTHING = Monomial(0)


def swizzled_text(x: str, swizzle: Swizzle) -> str:
    """The place that a swizzle gives a place."""
    shift, mask = swizzle.shift, swizzle.source_mask
    arrow = f">> {shift}" if shift >= 0 else f"<< {-shift}"
    return f"{x} ^ (({x} & 0x{mask:X}) {arrow})"


def place_terms(operand: DigitOperand, coordinates: Sequence[str]) -> list[str]:
    """The terms whose sum is the place of a coordinate, before any swizzle."""
    terms = []
    for d, digits in enumerate(operand.dims):
        origin = operand.origins[d]
        position = f"({coordinates[d]} + {origin})" if origin else coordinates[d]
        for k, digit in enumerate(digits):
            text = position if digit.place == ONE else f"{position} // {factor_text(digit.place)}"
            if k < len(digits) - 1:
                text += f" % {factor_text(digit.size)}"
            sign = "-" if digit.stride.number < 0 else ""
            stride = digit.stride * -1 if sign else digit.stride
            if stride == ONE:
                terms.append(
                    f"{sign}{text.removeprefix('(').removesuffix(')') if text == position and not sign else text}"
                )
            elif stride != NOTHING:
                terms.append(f"{sign}{text} * {value_text(stride)}")
    constant = sum([value.number for value in operand.offset if value.known])
    named = [value for value in operand.offset if not value.known]
    terms += [f"-{value_text(value * -1)}" if value.number < 0 else value_text(value) for value in named]
    terms += [str(constant)] if constant else []
    # A minus in front of a quotient would be a part of it.
    positive = [term for term in terms if term[0] != "-"] or ["0"] * bool(terms)
    return positive + [term for term in terms if term[0] == "-"]
