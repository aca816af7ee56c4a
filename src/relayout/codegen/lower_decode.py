"""What stored values mean, as numbers to compute with: integers, float32 or float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..elements.encoding import Encoding
from ..elements.interface import Interface, Plain, ScaleOffset
from ..elements.types import storage_dtype
from ..errors import NotExpressible
from .element_types import tree_type
from .lower_floats import widen_routine
from .statements import (
    INDEX,
    At,
    Binary,
    Call,
    Cast,
    ConstantTable,
    Expression,
    Let,
    Name,
    Number,
    Parameter,
    Real,
    Reinterpret,
    Routine,
    Select,
    Statement,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

X = Name("x")


class Decoded(NamedTuple):
    """A value of type ``type``, the statements in front of it, the routines that these call, and the parameters that
    tell the stored value and its channel. ``limits`` bound an integer. With ``refuses`` a NaN is no value at all.
    """

    value: Expression
    type: str
    limits: tuple[int, int] | None
    statements: list[Statement]
    routines: list[Routine]
    parameters: list[Parameter]
    refuses: bool = False


def decode(owner: str, source: Interface, wide: str) -> Decoded:
    """A stored value ``x``; one of float16 as ``wide``."""
    kind = source.element.underlying
    own = "u32" if kind.bits < 8 else tree_type(kind)
    given = [Parameter("x", own)]
    if isinstance(source, Encoding) or (kind.bits <= 8 and not kind.integral):
        return _by_table(source, given)
    if kind.complex or kind.bits > 64:
        raise no_conversion(source)
    if kind.integral:
        value, own = integer_of(kind.bits, kind.limits[0] < 0, own)
        if kind.name == "bool":
            value = Select(Binary("!=", X, Number(0, "u8")), Number(1, "u8"), Number(0, "u8"))
        if isinstance(source, Plain):
            return Decoded(value, own, kind.limits, [], [], given)
        if not isinstance(source, ScaleOffset):
            raise no_conversion(source)
        return _dequantise(source, value, given)
    if kind.name in ("float16", "bfloat16"):
        wide = wide if kind.name == "float16" else "f32"
        routine = widen_routine(owner, kind, wide)
        return Decoded(Call(owner, routine.helper, (X,)), wide, None, [], [routine], given)
    return Decoded(X, own, None, [], [], given)


def integer_of(bits: int, signed: bool, own: str) -> tuple[Expression, str]:
    """The integer of stored bits; fewer than 8 are extended by their sign."""
    if bits >= 8 or not signed:
        return X, own
    half = Number(1 << (bits - 1), "i32")
    return Binary("-", Binary("^", Cast("i32", X), half), half), "i32"


def _dequantise(source: ScaleOffset, value: Expression, given: list[Parameter]) -> Decoded:
    import numpy as np

    body: list[Statement] = []
    scales = source.scale if isinstance(source.scale, tuple) else (source.scale,)
    offsets = source.offset if isinstance(source.offset, tuple) else (source.offset,)
    wide = source.element.bits <= 16 and max(map(abs, offsets)) > 1 << 23
    steps: Expression = Cast("f32", value)
    scale: Expression = Real(scales[0], "f32")
    if source.axis is not None:
        given = [*given, Parameter("from_channel", INDEX)]
        channel = Name("from_channel")
        numbers = offsets if wide else [float(np.float32(o)) for o in offsets]
        body = [
            ConstantTable("from_scale", "f32", tuple(scales)),
            ConstantTable("from_offset", "i64" if wide else "f32", tuple(numbers)),
        ]
        scale = At("from_scale", channel)
        offset: Expression = At("from_offset", channel)
        steps = Cast("f32", Binary("-", Cast("i64", value), offset)) if wide else Binary("-", steps, offset)
    elif wide:
        steps = Cast("f32", Binary("-", Cast("i64", value), Number(offsets[0], "i64")))
    elif offsets[0]:
        number = float(np.float32(offsets[0]))
        steps = Binary("-" if number > 0 else "+", steps, Real(abs(number), "f32"))
    body.append(Let("value", "f32", Binary("*", steps, scale)))
    return Decoded(Name("value"), "f32", None, body, [], given)


def _by_table(source: Interface, given: list[Parameter]) -> Decoded:
    """A stored value of at most 8 bits by the float32 that it means."""
    import numpy as np

    kind = source.element.underlying
    if kind.bits > 8:
        raise no_conversion(source)
    stored = np.arange(1 << kind.bits, dtype=np.uint8)
    if kind.integral and kind.limits[0] < 0:
        stored = ((stored.astype(np.int16) ^ -kind.limits[0]) + kind.limits[0]).astype(np.int8)
    means = np.concatenate([_meaning(source, stored[k : k + 1].view(storage_dtype(kind))) for k in range(stored.size)])
    words = tuple([int(word) for word in means.view(np.uint32)])
    index = Cast(INDEX, Cast("u8", X) if given[0].type == "i8" else X)
    body: list[Statement] = [
        ConstantTable("meaning", "u32", words),
        Let("bits", "u32", At("meaning", index)),
        Reinterpret("value", "f32", Name("bits"), "u32"),
    ]
    refuses = isinstance(source, Encoding) and bool(np.isnan(means).any())
    return Decoded(Name("value"), "f32", None, body, [], given, refuses)


def _meaning(source: Interface, stored: NDArray[Any]) -> NDArray[Any]:
    """What one stored value means as float32; NaN for a code that an encoding does not use."""
    import numpy as np

    try:
        with np.errstate(all="ignore"):
            return np.asarray(source.decode(stored)).astype(np.float32)
    except NotExpressible:
        return np.full(1, np.nan, np.float32)


def no_conversion(side: Interface) -> NotExpressible:
    """The refusal of values that no generated function converts."""
    return NotExpressible(
        f"generated functions convert no values of {side}.",
        hint="they take integers of 1 to 64 bits, floats of 4 to 64 bits and quantised types, and encodings of at most "
        "8 bits as sources: move elements as they are, and convert before or after",
        interface=side,
    )
