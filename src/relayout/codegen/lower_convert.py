"""Values of one interface as those of another: bit for bit as the interfaces decode and encode."""

from __future__ import annotations

from ..elements.encoding import Encoding
from ..elements.interface import Interface, Plain, ScaleOffset
from ..elements.types import Element
from ..errors import NotExpressible
from .element_types import tree_type
from .lower_decode import Decoded, decode, no_conversion
from .lower_floats import float_form, narrow_routine
from .statements import (
    BOOL,
    INDEX,
    Assign,
    At,
    Binary,
    Call,
    Cast,
    Comment,
    ConstantTable,
    Expression,
    If,
    Let,
    Name,
    Number,
    Parameter,
    Real,
    Reference,
    Return,
    Routine,
    Statement,
    Truth,
    Unary,
    Var,
)

X, Y, Q = Name("x"), Name("y"), Name("q")
NO, YES = Return(Truth(False)), Return(Truth(True))


def convert_routines(owner: str, source: Interface, target: Interface) -> list[Routine]:
    """``convert`` of one stored value, behind what it calls; where it may refuse a value it returns no, and the value
    by an output parameter. Channels, where either side has some, are arguments ``from_channel`` and ``to_channel``.
    """
    kind = target.element.underlying
    if isinstance(target, Encoding) or kind.complex or kind.bits > 64:
        raise no_conversion(target)
    # float64 to float16 is rounded once, and float16 to float64 keeps the bits of NaN
    to_wide = isinstance(target, Plain) and kind.name == "float64"
    found = decode(owner, source, "f64" if to_wide else "f32")
    own = "u32" if kind.bits < 8 else tree_type(kind)
    routines, parameters = list(found.routines), list(found.parameters)
    body: list[Statement]
    if isinstance(target, ScaleOffset):
        refuses = target.nan == "refuse" and not source.element.integral
        body = _quantise(target, _as(found, "f32"), refuses)
        if target.axis is not None:
            parameters.append(Parameter("to_channel", INDEX))
    elif kind.integral:
        refuses, body = _to_integer(kind, found, own)
    elif own in ("f32", "f64"):
        refuses, body = False, [Return(_as(found, own))]
    else:
        refuses, body = _to_narrow(owner, source, kind, found, routines)
    if found.refuses:
        refuses, body = True, _refuse_nan(found.value, body, refuses)
    statements = (*found.statements, *body)
    if not refuses:
        return [*routines, Routine(owner, "convert", (), tuple(parameters), own, statements)]
    about = (f"{kind.name} of a value; 0 where it has no place there.",)
    parameters.append(Parameter("y", own, "out"))
    return [*routines, Routine(owner, "convert", about, tuple(parameters), BOOL, statements)]


def _refuse_nan(value: Expression, body: list[Statement], refuses: bool) -> list[Statement]:
    """The statements for a code that an encoding uses; any other is refused."""
    checked: list[Statement] = [If(Binary("!=", value, value), (Return(Truth(False), "no value"),))]
    if refuses:
        return [*checked, *body]
    last = body[-1]
    if not isinstance(last, Return) or last.value is None:
        raise no_conversion(Plain("float32"))
    return [*checked, *body[:-1], Assign(Y, last.value), YES]


def _as(found: Decoded, kind: str) -> Expression:
    return found.value if found.type == kind else Cast(kind, found.value)


def _to_integer(kind: Element, found: Decoded, own: str) -> tuple[bool, list[Statement]]:
    """An integer that the type holds, with all other values refused."""
    low, high = kind.limits
    tests: list[Expression] = []
    if found.limits is None:
        inside = Binary(
            "&&",
            Binary(">=", found.value, Real(float(low), found.type)),
            Binary("<", found.value, Real(float(high + 1), found.type)),
        )
        whole = "i64" if low < 0 else "u64"
        body: list[Statement] = [
            If(Unary("!", inside), (NO,)),
            Let("whole", whole, Cast(whole, found.value)),
            If(Binary("!=", Cast(found.type, Name("whole")), found.value), (NO,)),
            Assign(Y, _stored(kind, Name("whole"), whole, own)),
            YES,
        ]
        return True, body
    value, held = found.value, found.limits
    if held[0] < low:
        tests.append(Binary("<", value, Number(low, found.type)))
    if held[1] > high:
        tests.append(Binary(">", value, Number(high, found.type)))
    code = _stored(kind, value, found.type, own)
    if not tests:
        return False, [Return(code)]
    outside = tests[0] if len(tests) == 1 else Binary("||", *tests)
    return True, [If(outside, (NO,)), Assign(Y, code), YES]


def _stored(kind: Element, value: Expression, have: str, own: str) -> Expression:
    """An integer as its stored bits."""
    if kind.bits >= 8 or kind.limits[0] == 0:
        return value if have == own else Cast(own, value)
    return Binary("&", Cast("u32", value), Number((1 << kind.bits) - 1, "u32", mask=True))


def _to_narrow(
    owner: str, source: Interface, kind: Element, found: Decoded, routines: list[Routine]
) -> tuple[bool, list[Statement]]:
    """A float of at most 16 bits, by way of float32 but for float64 as float16."""
    form = float_form(kind)
    if form is None:
        raise no_conversion(Plain(kind.name))
    wide = "f64" if found.type == "f64" and kind.name == "float16" else "f32"
    payload = kind.name == "float16" and source.element.name in ("float32", "float64")
    routine = narrow_routine(owner, kind, form, wide, payload)
    routines.append(routine)
    refuses = routine.result == BOOL
    value = _as(found, wide)
    if not refuses:
        code: Expression = Call(owner, routine.helper, (value,))
        return False, [Return(Cast("u8", code) if kind.bits == 8 else code)]
    if kind.bits < 8:
        return True, [Return(Call(owner, routine.helper, (value, Reference(Y))))]
    call = Call(owner, routine.helper, (value, Reference(Name("code"))))
    body: list[Statement] = [Var("code", "u32", Number(0, "u32")), If(Unary("!", call), (NO,))]
    return True, [*body, Assign(Y, Cast("u8", Name("code"))), YES]


def _quantise(target: ScaleOffset, value: Expression, refuses: bool) -> list[Statement]:
    """The nearest stored integer of a quantised real, within the limits."""
    import numpy as np

    scales = target.scale if isinstance(target.scale, tuple) else (target.scale,)
    offsets = target.offset if isinstance(target.offset, tuple) else (target.offset,)
    with np.errstate(all="ignore"):
        factors = [float(np.float32(1) / np.float32(scale)) for scale in scales]
    if not np.isfinite(factors).all():
        raise NotExpressible(f"the inverse of the scale of {target} is infinite.", hint="take a larger scale")
    numbers = [float(np.float32(offset)) for offset in offsets]
    found: list[Statement] = []
    factor, offset = Real(factors[0], "f32"), Real(numbers[0], "f32")
    by: Expression = factor
    more: Expression = offset
    if target.axis is not None:
        found += [ConstantTable("to_factor", "f32", tuple(factors)), ConstantTable("to_offset", "f32", tuple(numbers))]
        by, more = At("to_factor", Name("to_channel")), At("to_offset", Name("to_channel"))
    if refuses:
        found.append(If(Binary("!=", value, value), (Return(Truth(False), "NaN"),)))
    low, high = [Real(float(n), "f32") for n in target.limits]
    found += [
        Let("product", "f32", Binary("*", value, by), rounded=True),
        Var("q", "f32", Binary("+", Name("product"), more)),
        If(
            Unary("!", Binary("<", Q, high)),
            (Assign(Q, high),),
            (If(Binary("<", Q, low), (Assign(Q, low),)),),
        ),
        Comment("To the nearest integer, ties to even"),
        *_round(target.element.bits),
    ]
    kind = target.element.underlying
    own = "u32" if kind.bits < 8 else tree_type(kind)
    code = _stored(kind, Cast("i32", Q), "i32", own) if kind.bits < 8 else Cast(own, Q)
    return [*found, Assign(Y, code), YES] if refuses else [*found, Return(code)]


def _round(bits: int) -> list[Statement]:
    """``q`` rounded: by a sum that has no place for a fraction."""
    if bits <= 16:
        unit = Real(12582912.0, "f32")
        return [Assign(Q, Binary("-", Binary("+", Q, unit), unit))]
    unit = Real(8388608.0, "f32")
    zero, least = Real(0.0, "f32"), Real(-8388608.0, "f32")
    up = Assign(Q, Binary("-", Binary("+", Q, unit), unit))
    down = Assign(Q, Binary("+", Binary("-", Q, unit), unit))
    positive = Binary("&&", Binary(">=", Q, zero), Binary("<", Q, unit))
    negative = Binary("&&", Binary("<", Q, zero), Binary(">", Q, least))
    return [If(positive, (up,), (If(negative, (down,)),))]
