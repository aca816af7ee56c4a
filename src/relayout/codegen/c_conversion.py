"""Values of one interface as those of another, in C: bit for bit as the interfaces decode and encode."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from ..elements.interface import Interface, Plain, ScaleOffset
from ..elements.types import Element
from ..errors import NotExpressible
from .c_lines import CLines
from .c_types import c_type

ROUNDING = "12582912.0f"
"""1.5 * 2**23: added and taken away again it rounds a small float to an integer, ties to even."""

FLOATS = ("float32", "float64")


class CConversion(NamedTuple):
    """The function that converts one value; where it may refuse one it returns 0, and the value by a pointer."""

    text: str
    refuses: bool


def convert_text(name: str, source: Interface, target: Interface) -> CConversion:
    """The text of a conversion; refused where C would need more than its own types."""
    for side in (source, target):
        _check_side(side)
    a, b = source.element.underlying, target.element.underlying
    body = CLines()
    value = "x"
    if isinstance(source, ScaleOffset):
        body.add(1, f"const float value = {_decode(source)};")
        value, real = "value", True
    else:
        real = a.name in FLOATS
    if isinstance(target, ScaleOffset):
        refuses = target.nan == "refuse" and real and isinstance(source, Plain)
        _add_encode(body, target, f"(float){value}" if value == "x" and a.name != "float32" else value, refuses)
        return _function(name, a, b, body, refuses)
    if b.name in FLOATS:
        body.add(1, f"return ({c_type(b)}){value};" if c_type(b) != _type_of(a, value) else f"return {value};")
        return _function(name, a, b, body, False)
    low, high = b.limits
    if real:
        body.add(1, f"if (!({value} >= {_double(low)} && {value} < {_double(high + 1)}))")
        body.add(2, "return 0;")
        body.add(1, f"*y = ({c_type(b)}){value};")
        body.add(1, f"return (double)*y == (double){value};")
        return _function(name, a, b, body, True)
    tests = [f"x < {low}"] * (a.limits[0] < low) + [f"x > {high}{'u' * (a.limits[0] == 0)}"] * (a.limits[1] > high)
    if not tests:
        body.add(1, f"return ({c_type(b)})x;")
        return _function(name, a, b, body, False)
    body.add(1, f"if ({' || '.join(tests)})")
    body.add(2, "return 0;")
    body.add(1, f"*y = ({c_type(b)})x;")
    body.add(1, "return 1;")
    return _function(name, a, b, body, True)


def _check_side(side: Interface) -> None:
    kind = side.element.underlying
    plain = kind.name in FLOATS or (kind.integral and kind.name != "bool" and 8 <= kind.bits <= 64)
    if isinstance(side, Plain) and plain:
        return
    if isinstance(side, ScaleOffset) and side.axis is None and 8 <= kind.bits <= 16:
        return
    raise NotExpressible(
        f"C's functions convert no values of {side}.",
        hint="they take integers of 8 to 64 bits, float32, float64, quantised types of 8 and 16 bits with one scale: "
        "move elements as they are, and convert before or after",
        interface=side,
    )


def _type_of(kind: Element, value: str) -> str:
    return c_type(kind) if value == "x" else "float"


def _double(n: int) -> str:
    """A power of two, or 0, as C writes a double."""
    return f"{float(n).hex()}" if abs(n) > 1 << 53 else f"{n}.0"


def _one_scale(x: ScaleOffset) -> tuple[float, int]:
    """The scale and the offset of an interface that has one of each."""
    scale = x.scale[0] if isinstance(x.scale, tuple) else x.scale
    return scale, x.offset[0] if isinstance(x.offset, tuple) else x.offset


def _float(x: float) -> str:
    """A float32 as C writes it: by few decimals where these are exact, else by all of its bits."""
    if x == int(x) and abs(x) < 1 << 24:
        return f"{int(x)}.0f"
    if len(repr(x)) <= 10 and Fraction(repr(x)) == Fraction(x):
        return f"{x!r}f"
    return re.sub(r"\.?0*p", "p", x.hex()) + "f"


def _decode(source: ScaleOffset) -> str:
    scale, offset = _one_scale(source)
    if abs(offset) > 1 << 23:
        steps = f"(float)((int64_t)x - ({offset}))"
    elif offset:
        steps = f"((float)x {'-' if offset > 0 else '+'} {abs(offset)}.0f)"
    else:
        steps = "(float)x"
    return f"{steps} * {_float(scale)}"


def _add_encode(body: CLines, target: ScaleOffset, value: str, refuses: bool) -> None:
    import numpy as np

    scale, offset = _one_scale(target)
    with np.errstate(all="ignore"):
        inverse = float(np.float32(1) / np.float32(scale))
    if np.isinf(inverse):
        raise NotExpressible(f"the inverse of the scale of {target} is infinite.", hint="take a larger scale")
    low, high = target.limits
    if refuses:
        body.add(1, f"if ({value} != {value})")
        body.add(2, "return 0; // NaN")
    body.add(1, "// volatile: the product is rounded before the sum, on every machine")
    body.add(1, f"const volatile float product = {value} * {_float(inverse)};")
    body.add(1, f"float q = product + {_float(float(np.float32(offset)))};")
    body.add(1, f"if (!(q < {high}.0f))")
    body.add(2, f"q = {high}.0f;")
    body.add(1, f"else if (q < {low}.0f)")
    body.add(2, f"q = {low}.0f;")
    body.add(1, "// To the nearest integer, ties to even")
    body.add(1, f"q = (q + {ROUNDING}) - {ROUNDING};")
    kind = c_type(target.element)
    if refuses:
        body.add(1, f"*y = ({kind})q;")
        body.add(1, "return 1;")
    else:
        body.add(1, f"return ({kind})q;")


def _function(name: str, a: Element, b: Element, body: CLines, refuses: bool) -> CConversion:
    head = CLines()
    if refuses:
        head.add(0, f"// {b.name} of a value; 0 where it has no place there.")
        head.add_list(f"static int {name}(", [f"{c_type(a)} x", f"{c_type(b)} *y"], ") {")
    else:
        head.add_list(f"static {c_type(b)} {name}(", [f"{c_type(a)} x"], ") {")
    return CConversion("\n".join([*head.lines, *body.lines, "}"]), refuses)
