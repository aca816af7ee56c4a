"""Narrow floats by the arithmetic of their bits: float16, bfloat16 and those of 4 to 8 bits, to float32 and back.

Both ways are what numpy and ml_dtypes do, bit for bit: to the nearest, ties to even, NaN and infinities included.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..elements.types import Element, storage_dtype
from .statements import (
    BOOL,
    Assign,
    Binary,
    Cast,
    Expression,
    If,
    Let,
    Name,
    Number,
    Parameter,
    Real,
    Reinterpret,
    Return,
    Routine,
    Select,
    Statement,
    Truth,
    Var,
)

X, Y, BITS, SIGN, MAGNITUDE, CODE = [Name(word) for word in ("x", "y", "bits", "sign", "magnitude", "code")]


class FloatForm(NamedTuple):
    """The bits of a type of floats: those of the exponent and of the mantissa below the sign, and what 1 is stored as.

    ``largest`` is the code of the largest finite number, and ``overflow`` what larger ones become, None where they are
    refused. ``nan`` are the codes of NaN without and with the sign, None where the type has none.
    """

    bits: int
    mantissa: int
    bias: int
    largest: int
    overflow: int | None
    nan: tuple[int, int] | None
    negative_zero: bool


WIDE = {"f32": (32, 23, 127), "f64": (64, 52, 1023)}
"""The types computed with: their bits, those of the mantissa, and the bias of the exponent."""


def float_form(element: Element) -> FloatForm | None:
    """The form of a type of at most 16 bits; None for one without a sign."""
    import numpy as np

    kind: Any = storage_dtype(element)
    if element.name == "float8_e8m0fnu" or element.integral or element.complex or element.bits > 16:
        return None
    word = np.uint16 if element.bits == 16 else np.uint8
    with np.errstate(all="ignore"):
        codes = np.arange(1 << (element.bits - 1), dtype=word).view(kind).astype(np.float64)
    one = int(np.flatnonzero(codes == 1.0)[0])
    two = int(np.flatnonzero(codes == 2.0)[0])
    mantissa = (two - one).bit_length() - 1
    largest = int(np.flatnonzero(np.isfinite(codes))[-1])
    with np.errstate(all="ignore"):
        beyond = np.array([np.finfo(np.float32).max], np.float32).astype(kind)
        nans = np.array([np.nan, -np.nan], np.float32).astype(kind)
        zero = np.array([-0.0], np.float32).astype(kind)
    overflow = None if np.isnan(beyond.astype(np.float32))[0] else int(beyond.view(word)[0])
    has_nan = bool(np.isnan(nans.astype(np.float32)).all())
    nan = (int(nans.view(word)[0]), int(nans.view(word)[1])) if has_nan else None
    return FloatForm(
        element.bits, mantissa, one >> mantissa, largest, overflow, nan, bool(np.signbit(zero.astype(np.float32))[0])
    )


def widen_routine(owner: str, element: Element, wide: str) -> Routine:
    """``from_half``, ``from_bfloat``: the value of the 16 bits of a float, as ``f32`` or ``f64``."""
    width, mantissa, bias = WIDE[wide]
    word = f"u{width}"
    half = element.name == "float16"
    own = FloatForm(16, 10, 15, 0, None, None, True) if half else FloatForm(16, 7, 127, 0, None, None, True)
    sign = Binary("<<", Binary("&", Cast(word, X), Number(0x8000, word, mask=True)), Number(width - 16))
    rest = Binary("&", Cast(word, X), Number(0x7FFF, word, mask=True))
    body: list[Statement] = [
        Let("sign", word, sign),
        Var("bits", word, Binary("<<", rest, Number(mantissa - own.mantissa))),
    ]
    rebias = (bias - own.bias) << mantissa
    special = ((1 << (15 - own.mantissa)) - 1) << mantissa
    least = Number(rebias + (1 << mantissa), word, mask=True)
    if rebias:
        moved = Number(rebias, word, mask=True)
        small: tuple[Statement, ...] = (
            Let("raised", word, Binary("+", BITS, least)),
            Reinterpret("value", wide, Name("raised"), word),
            Let("small", wide, Binary("-", Name("value"), Real(2.0 ** (1 - own.bias), wide))),
            Reinterpret("found", word, Name("small"), wide),
            Assign(BITS, Name("found")),
        )
        body.append(
            If(
                Binary(">=", BITS, Number(special, word, mask=True)),
                (Assign(BITS, Binary("+", BITS, Number(2 * rebias, word, mask=True))),),
                (
                    If(
                        Binary(">=", BITS, Number(1 << mantissa, word, mask=True)),
                        (Assign(BITS, Binary("+", BITS, moved)),),
                        small,
                    ),
                ),
            )
        )
    body += [
        Assign(BITS, Binary("|", BITS, SIGN)),
        Reinterpret("result", wide, BITS, word),
        Return(Name("result")),
    ]
    name = "from_half" if half else "from_bfloat"
    about = (f"The value of the bits of a {element.name}.",)
    return Routine(owner, name, about, (Parameter("x", "u16"),), wide, tuple(body))


def narrow_routine(owner: str, element: Element, form: FloatForm, wide: str, payload: bool) -> Routine:
    """``to_half``, ``to_bfloat``, ``to_code``: the bits of the nearest value; by an output parameter where one is
    refused. With ``payload`` a NaN keeps the upper bits that tell it from others.
    """
    width, mantissa, bias = WIDE[wide]
    word = f"u{width}"
    refuses = form.overflow is None or form.nan is None
    kind = "u16" if form.bits == 16 else "u32"
    top = form.bits - 1
    infinite = ((1 << (width - 1 - mantissa)) - 1) << mantissa

    def stored(code: Expression, signed: bool = True) -> tuple[Statement, ...]:
        """A code of type ``word``, with its sign, as the result."""
        value = Cast(kind, Binary("|", code, SIGN) if signed else code)
        return (Assign(Y, value), Return(Truth(True))) if refuses else (Return(value),)

    shift = mantissa - form.mantissa
    sign = Binary("<<", Binary(">>", BITS, Number(width - 1)), Number(top))
    body: list[Statement] = [
        Reinterpret("bits", word, X, wide),
        Let("sign", word, sign),
        Let("magnitude", word, Binary("&", BITS, Number((1 << (width - 1)) - 1, word, mask=True))),
    ]
    is_nan = Binary(">", MAGNITUDE, Number(infinite, word, mask=True))
    if form.nan is None:
        body.append(If(is_nan, (Return(Truth(False), "NaN"),)))
    elif payload:
        kept = Binary("&", Binary(">>", MAGNITUDE, Number(shift)), Number((1 << form.mantissa) - 1, word, mask=True))
        exponent = Number(form.largest + 1, word, mask=True)
        code = Binary("|", exponent, Select(Binary("!=", Name("rest"), Number(0, word)), Name("rest"), Number(1, word)))
        body.append(If(is_nan, (Let("rest", word, kept), *stored(code))))
    elif form.nan[0] == form.nan[1]:
        body.append(If(is_nan, stored(Number(form.nan[0], word, mask=True), signed=False)))
    else:
        body.append(If(is_nan, stored(Number(form.nan[0] & ~(1 << top), word, mask=True))))
    odd = Binary("&", Binary(">>", MAGNITUDE, Number(shift)), Number(1, word))
    more = Number((1 << (shift - 1)) - 1, word, mask=True)
    rebias = (bias - form.bias) << mantissa
    least = rebias + (1 << mantissa)
    raised = Binary("+", Binary("+", MAGNITUDE, more), odd)
    if rebias:
        raised = Binary("-", raised, Number(rebias, word, mask=True))
        unit = Real(2.0 ** (mantissa + 1 - form.bias - form.mantissa), wide)
        steps: tuple[Statement, ...] = (
            Reinterpret("plain", wide, MAGNITUDE, word),
            Let("sum", wide, Binary("+", Name("plain"), unit)),
            Reinterpret("steps", word, Name("sum"), wide),
            Assign(CODE, Binary("-", Name("steps"), Number(_bits_of(unit), word, mask=True))),
        )
        body += [
            Var("code", word, Number(0, word)),
            If(
                Binary("<", MAGNITUDE, Number(least, word, mask=True)),
                steps,
                (Assign(CODE, Binary(">>", raised, Number(shift))),),
            ),
        ]
    else:
        body.append(Var("code", word, Binary(">>", raised, Number(shift))))
    above = Binary(">", CODE, Number(form.largest, word, mask=True))
    if form.overflow is None:
        body.append(If(above, (Return(Truth(False), "too large"),)))
    elif form.overflow != form.largest + 1 or rebias:
        body.append(If(above, (Assign(CODE, Number(form.overflow, word, mask=True)),)))
    if not form.negative_zero:
        body.append(If(Binary("==", CODE, Number(0, word)), stored(Number(0, word), signed=False)))
    body += stored(CODE)
    name = {"float16": "to_half", "bfloat16": "to_bfloat"}.get(element.name, "to_code")
    about = (f"The bits of a value as {element.name}{'; 0 where it has none' if refuses else ''}.",)
    parameters = [Parameter("x", wide), *[Parameter("y", kind, "out")] * refuses]
    return Routine(owner, name, about, tuple(parameters), BOOL if refuses else kind, tuple(body))


def _bits_of(x: Real) -> int:
    import struct

    form = "<f" if x.type == "f32" else "<d"
    return int.from_bytes(struct.pack(form, x.value), "little")
