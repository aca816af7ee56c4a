"""Values of one interface as those of another: bit for bit as the interfaces decode and encode."""

from __future__ import annotations

from ..elements.interface import Interface, Plain, ScaleOffset
from ..errors import NotExpressible
from .element_types import tree_type
from .statements import (
    BOOL,
    Assign,
    Binary,
    Cast,
    Comment,
    Expression,
    If,
    Let,
    Name,
    Number,
    Parameter,
    Real,
    Return,
    Routine,
    Statement,
    Truth,
    Unary,
    Var,
)

ROUNDING = Real(12582912.0, "f32")
"""1.5 * 2**23: added and taken away again it rounds a small float to an integer, ties to even."""

FLOATS = ("float32", "float64")
X, Y, Q = Name("x"), Name("y"), Name("q")


def convert_function(owner: str, source: Interface, target: Interface) -> Routine:
    """``convert`` of one value; where it may refuse one it returns no, and the value by an output parameter."""
    for side in (source, target):
        _check_side(side)
    a, b = source.element.underlying, target.element.underlying
    kind, to = tree_type(a), tree_type(b)
    body: list[Statement] = []
    value: Expression = X
    if isinstance(source, ScaleOffset):
        body.append(Let("value", "f32", _decode(source, kind)))
        value, kind_of_value, real = Name("value"), "f32", True
    else:
        kind_of_value, real = kind, a.name in FLOATS
    if isinstance(target, ScaleOffset):
        refuses = target.nan == "refuse" and real and isinstance(source, Plain)
        body += _encode(target, value if kind_of_value == "f32" else Cast("f32", value), refuses)
    elif b.name in FLOATS:
        refuses = False
        body.append(Return(value if kind_of_value == to else Cast(to, value)))
    elif real:
        refuses, (low, high) = True, b.limits
        inside = Binary(
            "&&",
            Binary(">=", value, Real(float(low), kind_of_value)),
            Binary("<", value, Real(float(high + 1), kind_of_value)),
        )
        body += [
            If(Unary("!", inside), (Return(Truth(False)),)),
            Assign(Y, Cast(to, value)),
            Return(Binary("==", Cast(kind_of_value, Y), value)),
        ]
    else:
        low, high = b.limits
        tests = [Binary("<", X, Number(low, kind))] * (a.limits[0] < low)
        tests += [Binary(">", X, Number(high, kind))] * (a.limits[1] > high)
        refuses = bool(tests)
        if refuses:
            outside = tests[0] if len(tests) == 1 else Binary("||", *tests)
            body += [If(outside, (Return(Truth(False)),)), Assign(Y, Cast(to, X)), Return(Truth(True))]
        else:
            body.append(Return(Cast(to, X)))
    if not refuses:
        return Routine(owner, "convert", (), (Parameter("x", kind),), to, tuple(body))
    about = (f"{b.name} of a value; 0 where it has no place there.",)
    parameters = (Parameter("x", kind), Parameter("y", to, "out"))
    return Routine(owner, "convert", about, parameters, BOOL, tuple(body))


def _check_side(side: Interface) -> None:
    kind = side.element.underlying
    plain = kind.name in FLOATS or (kind.integral and kind.name != "bool" and 8 <= kind.bits <= 64)
    if isinstance(side, Plain) and plain:
        return
    if isinstance(side, ScaleOffset) and side.axis is None and 8 <= kind.bits <= 16:
        return
    raise NotExpressible(
        f"generated functions convert no values of {side}.",
        hint="they take integers of 8 to 64 bits, float32, float64, quantised types of 8 and 16 bits with one scale: "
        "move elements as they are, and convert before or after",
        interface=side,
    )


def _one_scale(x: ScaleOffset) -> tuple[float, int]:
    """The scale and the offset of an interface that has one of each."""
    scale = x.scale[0] if isinstance(x.scale, tuple) else x.scale
    return scale, x.offset[0] if isinstance(x.offset, tuple) else x.offset


def _decode(source: ScaleOffset, kind: str) -> Expression:
    scale, offset = _one_scale(source)
    steps: Expression = Cast("f32", X)
    if abs(offset) > 1 << 23:
        steps = Cast("f32", Binary("-", Cast("i64", X), Number(offset, "i64")))
    elif offset:
        steps = Binary("-" if offset > 0 else "+", steps, Real(float(abs(offset)), "f32"))
    return Binary("*", steps, Real(scale, "f32"))


def _encode(target: ScaleOffset, value: Expression, refuses: bool) -> list[Statement]:
    import numpy as np

    scale, offset = _one_scale(target)
    with np.errstate(all="ignore"):
        inverse = float(np.float32(1) / np.float32(scale))
    if np.isinf(inverse):
        raise NotExpressible(f"the inverse of the scale of {target} is infinite.", hint="take a larger scale")
    low, high = [Real(float(n), "f32") for n in target.limits]
    found: list[Statement] = []
    if refuses:
        found.append(If(Binary("!=", value, value), (Return(Truth(False), "NaN"),)))
    found += [
        Let("product", "f32", Binary("*", value, Real(inverse, "f32")), rounded=True),
        Var("q", "f32", Binary("+", Name("product"), Real(float(np.float32(offset)), "f32"))),
        If(
            Unary("!", Binary("<", Q, high)),
            (Assign(Q, high),),
            (If(Binary("<", Q, low), (Assign(Q, low),)),),
        ),
        Comment("To the nearest integer, ties to even"),
        Assign(Q, Binary("-", Binary("+", Q, ROUNDING), ROUNDING)),
    ]
    code = Cast(tree_type(target.element), Q)
    return [*found, Assign(Y, code), Return(Truth(True))] if refuses else [*found, Return(code)]
