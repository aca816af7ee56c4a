"""Values of one interface as those of another in MLIR, where no value may be refused: there is no way to say so."""

from __future__ import annotations

from ..elements.interface import Interface, Plain, ScaleOffset
from ..elements.types import Element
from ..errors import NotExpressible
from .mlir_lines import FLOATS, MlirBody, mlir_type

HALVES = {"float16": "f16", "bfloat16": "bf16"}
"""Floats that tensors hold as integers."""

REALS = {**FLOATS, **HALVES}

EXACT_BITS = {"float16": 8, "bfloat16": 8, "float32": 64, "float64": 64}
"""Integers of so many bits at most become such a float by one rounding, as ``repack`` rounds."""

ROUNDED = {("float64", "float32"), ("float32", "float16"), ("float32", "bfloat16")}
"""Floats that are rounded once."""

MAX_OFFSET = 1 << 23
"""Up to this offset a quantised value of 16 bits less it is the same in float32."""


def check_conversion(source: Interface, target: Interface) -> None:
    """Refuse what MLIR's functions do not convert."""
    a, b = source.element.underlying, target.element.underlying
    known = isinstance(source, Plain) or (
        isinstance(source, ScaleOffset)
        and source.axis is None
        and a.bits in (8, 16)
        and isinstance(source.offset, int)
        and abs(source.offset) <= MAX_OFFSET
        and b.name == "float32"
    )
    if known and isinstance(target, Plain) and min(a.bits, b.bits) >= 8:
        if isinstance(source, ScaleOffset):
            return
        if a.integral and b.integral and b.limits[0] <= a.limits[0] and a.limits[1] <= b.limits[1]:
            return
        if a.integral and a.bits <= EXACT_BITS.get(b.name, 0):
            return
        if a.name in REALS and b.name in REALS and (_widens(a, b) or (a.name, b.name) in ROUNDED):
            return
    raise NotExpressible(
        f"functions in MLIR do not convert {source} to {target}: they cannot refuse a value, and round once.",
        hint="they take wider types, and dequantise to float32: convert before or after, or take another target",
        target="mlir",
    )


def _widens(a: Element, b: Element) -> bool:
    return a.bits < b.bits


def constants(body: MlirBody, source: Interface) -> tuple[str, str]:
    """The offset and the scale of quantised values, as float32 by its bits."""
    import numpy as np

    if not isinstance(source, ScaleOffset):
        return "", ""
    words = [f"0x{np.array(x, np.float32).view(np.uint32).item():08X}" for x in (source.offset, source.scale)]
    return body.constant(words[0], "f32"), body.constant(words[1], "f32")


def converted_value(body: MlirBody, x: str, source: Interface, target: Interface, numbers: tuple[str, str]) -> str:
    """One value, within a loop over all of them."""
    a, b = source.element.underlying, target.element.underlying
    first, second = [REALS.get(kind.name) or mlir_type(kind) for kind in (a, b)]
    if a.name in HALVES:
        x = body.add(f"arith.bitcast {x} : i16 to {first}")
    value = _value(body, x, source, b, first, second, numbers)
    return body.add(f"arith.bitcast {value} : {second} to i16") if b.name in HALVES else value


def _value(
    body: MlirBody, x: str, source: Interface, b: Element, first: str, second: str, numbers: tuple[str, str]
) -> str:
    """One number of a type as that of another."""
    a = source.element.underlying
    signed = a.integral and bool(a.limits[0])
    if isinstance(source, ScaleOffset):
        value = body.add(f"arith.{'sitofp' if signed else 'uitofp'} {x} : {first} to f32")
        steps = body.add(f"arith.subf {value}, {numbers[0]} : f32")
        return body.add(f"arith.mulf {steps}, {numbers[1]} : f32")
    if first == second:
        return x
    if a.integral and b.integral:
        return body.add(f"arith.{'extsi' if signed else 'extui'} {x} : {first} to {second}")
    if a.integral:
        return body.add(f"arith.{'sitofp' if signed else 'uitofp'} {x} : {first} to {second}")
    return body.add(f"arith.{'extf' if _widens(a, b) else 'truncf'} {x} : {first} to {second}")
