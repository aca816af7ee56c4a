"""Encodings: stored numbers that are others than they mean, by a rule that has a name and loses nothing."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import NotExpressible, ShapeError, shown
from ..immutable import Immutable, NamedTuple
from .stored import integers, like, misfit, numbers
from .types import ELEMENTS, Element, element, storage_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

# re keeps what it compiled, and an import that compiles nothing stays light.
_TEXT = r"([a-z]\w*)(?:([-+])(\d{1,3})|\*(-?)(?:2\^(-?\d{1,4})|(\d{1,5})))?"
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_EXACT = 1 << 53
"""Integers up to this one are float64."""

_PLAIN_FACTOR = 16
"""Factors up to this power of two are written as numbers."""


class _EncodingRule(NamedTuple):
    """A name taken apart: the base, what its integers are shifted by, and the power of two that is stored in them.

    With ``negative`` it is stored with the other sign.
    """

    base: str
    shift: int = 0
    power: int = 0
    negative: bool = False


class Encoding(Immutable):
    """Stored numbers that are others than they mean: ``Encoding("float16*512")``.

    * ``uint4-8`` are integers of which 8 means 0; ``uint4+1`` holds 1 to 16, as the zeros of GPTQ's first version.
    * ``float16*512`` holds 512 times what it means, as Marlin's scales beside activations of 8 bits; any power of two
      is a factor, ``bfloat16*2^120``, ``float16*-8``, and floats of 8 bits have one too, ``float8_e8m0fnu*64``.
    * ``marlin_s0e5m3`` are Marlin's scales of NVFP4: no sign, five bits of exponent and three of mantissa, of 128 times
      what they mean, which is 0 or from 1/64 on. ``marlin_s0e5m3*4`` holds four times that.
    * ``marlin_int4_fp8`` are Marlin's integers of 4 bits beside activations in FP8: 8 means -1, and 15 means -8.

    ``encode`` and ``decode`` are exact: a number that the encoding does not hold is refused.
    """

    __slots__ = ("element", "name")
    name: str
    element: Element
    axis: ClassVar[None] = None

    def __new__(cls, name: str) -> Encoding:
        if not isinstance(name, str):
            raise _unknown(name, "it is no text")
        rule = _read(name)
        self = super().__new__(cls)
        object.__setattr__(self, "name", _write(rule))
        object.__setattr__(self, "element", _stored_as(rule.base))
        if self.element.bits <= 8:
            _values(rule)
        return self

    @property
    def zero(self) -> Any:
        """The stored value that means 0; refused where there is none."""
        return self.encode(0)

    def encode(self, values: Any) -> Any:
        """The stored numbers that mean these values."""
        import numpy as np

        x = numbers(values)
        if x.size and element(x.dtype).complex:
            raise misfit(x, 0, self.element, "complex")
        with np.errstate(all="ignore"):
            wanted = x.astype(np.float64)
        self._check(x, (x >= -_EXACT) & (x <= _EXACT) if x.dtype.kind in "iu" else ~np.isnan(wanted))
        rule = _read(self.name)
        if self.element.bits > 8:
            return like(values, self._times_power(x, rule.power, rule.negative))
        meanings, codes = _codes_by_value(rule)
        if rule.base not in _SCALABLE and self.element.integral:
            wanted = wanted + 0.0  # integers have one zero
        bits = wanted.view(np.int64)
        at = np.minimum(np.searchsorted(meanings, bits), meanings.size - 1)
        self._check(x, meanings[at] == bits)
        return like(values, np.asarray(codes[at]).view(storage_dtype(self.element)))

    def decode(self, stored: Any) -> Any:
        """What stored numbers mean: float32, or the stored type where that is wider than a byte."""
        import numpy as np

        rule = _read(self.name)
        x = numbers(stored)
        if self.element.integral:
            x = integers(x, self.element)
        elif x.dtype != storage_dtype(self.element):
            exact = x.astype(storage_dtype(self.element))
            if x.ndim or isinstance(stored, np.ndarray) or exact.astype(x.dtype) != x:
                raise ShapeError(
                    f"stored values of {self} are {self.element.name}, got {x.dtype}.", hint="encode first", got=stored
                )
            x = exact
        if self.element.bits > 8:
            return like(stored, self._times_power(x, -rule.power, rule.negative))
        codes = x.view(np.uint8) & ((1 << self.element.bits) - 1)
        meant = np.asarray(_values(rule)[codes])
        self._check(x, ~np.isnan(meant))
        return like(stored, meant.astype(np.float32))

    def _times_power(self, x: NDArray[Any], power: int, negative: bool) -> NDArray[Any]:
        """The values times a power of two in the stored type; refused where that is rounded, infinite or NaN."""
        import numpy as np

        with np.errstate(all="ignore"):
            wanted = -x.astype(np.float64) if negative else x.astype(np.float64)
            moved = np.ldexp(wanted, power)
            made = moved.astype(storage_dtype(self.element))
            same = (made.astype(np.float64) == moved) & (np.ldexp(moved, -power) == wanted) & np.isfinite(moved)
        self._check(x, same)
        return made

    def _check(self, x: NDArray[Any], held: NDArray[Any]) -> None:
        import numpy as np

        broken = np.flatnonzero(~held)
        if broken.size:
            raise misfit(x, int(broken[0]), self.element, f"{self.name} does not hold it exactly")

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoding, (self.name,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoding) and self.name == other.name

    def __hash__(self) -> int:
        return hash(("Encoding", self.name))

    def __repr__(self) -> str:
        return f"Encoding({self.name!r})"


def named_encoding(x: Any) -> Encoding | None:
    """The encoding that a text names, if it is none of an element type."""
    known = isinstance(x, str) and x not in ELEMENTS and (set("+-*") & set(x) or x in _BASES)
    return Encoding(x) if known else None


# ---- names ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _read(name: str) -> _EncodingRule:
    found = re.fullmatch(_TEXT, name, re.ASCII)
    if found is None:
        raise _unknown(name, "it is no name of a type with a shift or a factor")
    base, sign, shift, minus, power, factor = found.groups()
    kind = _BASES.get(base) or ELEMENTS.get(base)
    if kind is None:
        raise _unknown(name, f"there is no type {shown(base)}")
    by = int(f"{sign}{shift}") if shift else 0
    if factor and int(factor).bit_count() != 1:
        raise _unknown(name, "a factor is a power of two, or the stored numbers would be rounded")
    to = int(power or 0) or (int(factor).bit_length() - 1 if factor else 0)
    rule = _EncodingRule(base, by, to, bool(minus))
    scaled = bool(to or minus)
    if base not in _BASES:
        narrow_float = kind.bits == 8 and base.startswith("float")
        if by and not (kind.integral and kind.bits <= 8 and kind.underlying == kind and base != "bool"):
            raise _unknown(name, "a shift is for integers of at most 8 bits")
        if scaled and not (base in _FLOATS or narrow_float):
            raise _unknown(name, "a factor is for floating types")
        if not by and not scaled:
            raise _unknown(name, "its numbers mean themselves", hint=f"Plain({base!r})")
    elif by or (scaled and base not in _SCALABLE):
        raise _unknown(name, f"{base} has no shift" if by else f"{base} has no factor")
    return rule


def _write(rule: _EncodingRule) -> str:
    if rule.shift:
        return f"{rule.base}{rule.shift:+d}"
    if not rule.power and not rule.negative:
        return rule.base
    factor = str(1 << rule.power) if 0 <= rule.power <= _PLAIN_FACTOR else f"2^{rule.power}"
    return f"{rule.base}*{'-' * rule.negative}{factor}"


def _stored_as(base: str) -> Element:
    return _BASES.get(base) or ELEMENTS[base]


def _unknown(name: Any, why: str, hint: str = "") -> ShapeError:
    known = "uint4-8, uint4+1, float16*512, bfloat16*2^120, marlin_s0e5m3, marlin_int4_fp8"
    return ShapeError(f"{shown(name)} is no encoding: {why}.", hint=hint or f"such as {known}", got=name)


# ---- tables of elements of up to 8 bits -------------------------------------------------------------------


@lru_cache(maxsize=64)
def _values(rule: _EncodingRule) -> NDArray[Any]:
    """What every code means, as float64; NaN for those that mean no number."""
    import numpy as np

    kind = _stored_as(rule.base)
    if rule.base == "marlin_int4_fp8":
        return np.array([*range(8), *range(-1, -9, -1)], np.float64)
    codes = np.arange(1 << kind.bits, dtype=np.uint8)
    if rule.base == "marlin_s0e5m3":
        # The kernel reads the eight bits as those of a half behind its sign, and its exponent's top bit as set.
        halves = np.where(codes < 0xF8, codes, 0).astype(np.uint16) << 7
        held = (codes >= 0x80) & (codes < 0xF8) | (codes == 0)
        meant = np.where(held, halves.view(np.float16).astype(np.float64) / 128, np.nan)
    elif kind.integral:
        return _numbers(kind).astype(np.float64) + rule.shift
    else:
        meant = codes.view(storage_dtype(kind)).astype(np.float64)
    with np.errstate(all="ignore"):
        meant = np.ldexp(np.where(np.isfinite(meant), -meant if rule.negative else meant, np.nan), -rule.power)
        lost = (meant.astype(np.float32) != meant) & ~np.isnan(meant)
    if lost.any():
        raise NotExpressible(
            f"{_write(rule)} means numbers that no float32 is.", hint="a smaller factor", counterexample=meant[lost][0]
        )
    return meant


@lru_cache(maxsize=64)
def _codes_by_value(rule: _EncodingRule) -> tuple[NDArray[Any], NDArray[Any]]:
    """The bits of all meanings in order, and the codes that mean them."""
    import numpy as np

    values = _values(rule)
    codes = np.flatnonzero(~np.isnan(values))
    bits = values[codes].view(np.int64)
    order = np.argsort(bits)
    return bits[order], _numbers(_stored_as(rule.base))[codes][order].astype(np.uint8)


def _numbers(kind: Element) -> NDArray[Any]:
    """The integer that every code of at most 8 bits is; of other types the code."""
    import numpy as np

    codes = np.arange(1 << kind.bits)
    below = kind.limits[0] if kind.integral else 0
    return (codes ^ -below) + below if below else codes


_BASES = {"marlin_s0e5m3": ELEMENTS["uint8"], "marlin_int4_fp8": ELEMENTS["uint4"]}
"""The bases that are no element types, and what they are stored as."""

_SCALABLE = ("marlin_s0e5m3",)
