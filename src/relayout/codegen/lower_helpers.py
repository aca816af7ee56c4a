"""The small functions that the others call: the smaller of two, a swizzle, one element of a few bits."""

from __future__ import annotations

from ..layout.swizzle import Swizzle
from .statements import (
    INDEX,
    Assign,
    At,
    Binary,
    Cast,
    Expression,
    If,
    Let,
    Name,
    Number,
    Parameter,
    Return,
    Routine,
    Select,
    Statement,
    Unary,
    Var,
    product,
)

PLACE = Name("i")
X = Name("x")


def extreme_function(owner: str, helper: str) -> Routine:
    """``min`` or ``max``."""
    a, b = Name("a"), Name("b")
    body = (Return(Select(Binary("<" if helper == "min" else ">", a, b), a, b)),)
    return Routine(owner, helper, (), (Parameter("a", INDEX), Parameter("b", INDEX)), INDEX, body)


def swizzle_function(owner: str, helper: str, swizzle: Swizzle) -> Routine:
    """The function that a swizzle is; its own inverse."""
    about = f"Exchanges places within runs of {swizzle.period} elements; its own inverse."
    read = Binary("&", PLACE, Number(swizzle.source_mask, mask=True))
    moved = Binary(">>" if swizzle.shift >= 0 else "<<", read, Number(abs(swizzle.shift)))
    return Routine(owner, helper, (about,), (Parameter("i", INDEX),), INDEX, (Return(Binary("^", PLACE, moved)),))


def packed_function(owner: str, bits: int, side: str) -> Routine:
    """Reading, or writing, one element of a few bits, the least significant bit first."""
    mask = Number((1 << bits) - 1, "u32", mask=True)
    about = (f"Element i: {8 // bits} share a byte, the first has its least significant bits.",)
    if 8 % bits:
        about = (f"Element i has the bits from {bits} * i on; some lie in two bytes.",)
    first: Expression = Binary("/", product([PLACE, Number(bits)]), Number(8))
    if 8 % bits == 0:
        first = Binary(">>", PLACE, Number({1: 3, 2: 2, 4: 1}[bits]))
    within = Binary("%", product([PLACE, Number(bits)]), Number(8))
    if 8 % bits == 0:
        within = product([Binary("%", PLACE, Number(8 // bits)), Number(bits)])  # type: ignore[assignment]
    at, rest = Name("at"), Binary("-", Number(8), Name("at"))
    start: list[Statement] = [Let("byte", INDEX, first), Let("at", INDEX, within)]
    behind = Binary("+", Name("byte"), Number(1))
    crosses = Binary(">", at, Number(8 - bits))
    if side == "src":
        low = Binary(">>", Cast("u32", At("p", Name("byte"))), at)
        if 8 % bits == 0:
            body = [*start, Return(Binary("&", low, mask))]
        else:
            high = Binary("<<", Cast("u32", At("p", behind)), rest)
            more = If(crosses, (Assign(X, Binary("|", X, high)),))
            body = [*start, Var("x", "u32", low), more, Return(Binary("&", X, mask))]
        parameters = (Parameter("p", "u8", "src"), Parameter("i", INDEX))
        return Routine(owner, "get", about, parameters, "u32", tuple(body))
    parts = [_put(Name("byte"), "<<", at, mask)]
    if 8 % bits:
        parts.append(If(crosses, (_put(behind, ">>", rest, mask),)))
    given = (Parameter("p", "u8", "dst"), Parameter("i", INDEX), Parameter("x", "u32"))
    return Routine(owner, "put", about, given, None, (*start, *parts))


def _put(byte: Expression, sign: str, at: Expression, mask: Number) -> Statement:
    """The bits of a byte that an element has, replaced."""
    kept = Binary("&", Cast("u32", At("p", byte)), Unary("~", Binary(sign, mask, at)))
    return Assign(At("p", byte), Cast("u8", Binary("|", kept, Binary(sign, X, at))))
