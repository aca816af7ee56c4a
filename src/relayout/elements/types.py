"""Element types: their names, their widths, how numpy stores one, and what XLA and MLIR call them."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import NotExpressible, ShapeError, shown
from ..immutable import NamedTuple

if TYPE_CHECKING:
    import numpy as np


class Element(NamedTuple):
    """A type of elements. ``bits`` is the width of one element in memory.

    ``xla`` and ``mlir`` are empty where the notation has no name for it.
    """

    name: str
    bits: int
    xla: str
    mlir: str

    @property
    def bytes(self) -> int:
        """The width in bytes; refused for elements that share a byte."""
        if self.bits % 8:
            raise ShapeError(
                f"{self.name} has {self.bits} bits, which is no whole number of bytes.",
                hint="count in elements, or use a type of 8 bits and more",
                element=self,
            )
        return self.bits // 8

    @property
    def underlying(self) -> Element:
        """The integers that a quantised type (``quint8``) is stored as; every other type is its own."""
        return ELEMENTS[self.name.removeprefix("q")]

    @property
    def integral(self) -> bool:
        """Whether it is stored as integers, as ``bool`` and quantised types are too."""
        return self.name.startswith(("bool", "int", "uint", "qint", "quint"))

    @property
    def complex(self) -> bool:
        """Whether it has an imaginary part."""
        return "complex" in self.name

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the largest integer it holds; refused for types that are not stored as integers."""
        if not self.integral:
            raise ShapeError(
                f"{self.name} is no type of integers.", hint="look at integral before limits", element=self
            )
        if self.name == "bool":
            return 0, 1
        half = 1 << (self.bits - 1)
        return (0, 2 * half - 1) if "uint" in self.name else (-half, half - 1)

    def word(self, notation: str) -> str:
        """What ``"xla"`` or ``"mlir"`` calls it; refused where there is no name."""
        name = {"xla": self.xla, "mlir": self.mlir}[notation]
        if not name:
            raise NotExpressible(
                f"{notation} has no name for {self.name}.",
                hint=f"pass dtype={self.underlying.name!r}, the type it is stored as"
                if self.underlying != self
                else "leave out dtype",
                dialect=notation,
                element=self,
            )
        return name


# name, bits, XLA, MLIR; - where there is no name
_TABLE = """
bool                 8  pred           i1
int1                 1  s1             i1
int2                 2  s2             i2
int3                 3  -              i3
int4                 4  s4             i4
int5                 5  -              i5
int6                 6  -              i6
int7                 7  -              i7
int8                 8  s8             i8
int16               16  s16            i16
int32               32  s32            i32
int64               64  s64            i64
int128             128  -              i128
uint1                1  u1             ui1
uint2                2  u2             ui2
uint3                3  -              ui3
uint4                4  u4             ui4
uint5                5  -              ui5
uint6                6  -              ui6
uint7                7  -              ui7
uint8                8  u8             ui8
uint16              16  u16            ui16
uint32              32  u32            ui32
uint64              64  u64            ui64
uint128            128  -              ui128
qint4                4  -              -
qint8                8  -              -
qint16              16  -              -
qint32              32  -              -
quint2               2  -              -
quint4               4  -              -
quint8               8  -              -
quint16             16  -              -
float4_e2m1fn        4  f4e2m1fn       f4E2M1FN
float6_e2m3fn        6  -              f6E2M3FN
float6_e3m2fn        6  -              f6E3M2FN
float8_e3m4          8  f8e3m4         f8E3M4
float8_e4m3          8  f8e4m3         f8E4M3
float8_e4m3b11fnuz   8  f8e4m3b11fnuz  f8E4M3B11FNUZ
float8_e4m3fn        8  f8e4m3fn       f8E4M3FN
float8_e4m3fnuz      8  f8e4m3fnuz     f8E4M3FNUZ
float8_e5m2          8  f8e5m2         f8E5M2
float8_e5m2fnuz      8  f8e5m2fnuz     f8E5M2FNUZ
float8_e8m0fnu       8  f8e8m0fnu      f8E8M0FNU
float16             16  f16            f16
bfloat16            16  bf16           bf16
float32             32  f32            f32
float64             64  f64            f64
bcomplex32          32  -              complex<bf16>
complex32           32  -              complex<f16>
complex64           64  c64            complex<f32>
complex128         128  c128           complex<f64>
"""


def _elements() -> dict[str, Element]:
    rows = [line.split() for line in _TABLE.strip().splitlines()]
    return {name: Element(name, int(bits), xla.strip("-"), mlir.strip("-")) for name, bits, xla, mlir in rows}


ELEMENTS: dict[str, Element] = _elements()
"""Every element type by its name, which is numpy's, ml_dtypes', torch's or, for quantised ones, HTP's."""


def element(dtype: Any) -> Element:
    """The element type of a name (``"float32"``) or of a numpy, ml_dtypes or torch type."""
    try:
        return _find_element(dtype)
    except TypeError:  # without a hash
        return _find_element.__wrapped__(dtype)


@lru_cache(maxsize=256)
def _find_element(dtype: Any) -> Element:
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    known = ELEMENTS.get(str(name or dtype).removeprefix("torch."))
    if known is None:
        from difflib import get_close_matches

        wanted = str(name or dtype)
        meant = _written_out(wanted)
        near = [meant] if meant is not None else get_close_matches(wanted, ELEMENTS, 3, 0.7)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(ELEMENTS)}"
        raise ShapeError(f"there is no element type {shown(dtype)}.", hint=hint, dtype=dtype)
    return known


_SHORT = {"bf": "bfloat", "f": "float", "i": "int", "s": "int", "u": "uint"}


def _written_out(word: str) -> str | None:
    """The name that ``f16`` or ``s8`` is short for where bits are counted; numpy's ``f2`` and ``i1`` count bytes."""
    found = f"{_SHORT.get(word.rstrip('0123456789'))}{word.lstrip('abcdefghijklmnopqrstuvwxyz')}"
    return found if found in ELEMENTS else None


def storage_dtype(dtype: Any) -> np.dtype[Any]:
    """numpy's type of one stored element.

    A quantised type is stored as its integers. An element narrower than a byte has a byte of its own here, integers as
    int8 or uint8; packed elements are ``elements.subbyte``'s. Types that numpy lacks come from ``ml_dtypes``.
    """
    return _stored_type((dtype if isinstance(dtype, Element) else element(dtype)).name)


@cache
def _stored_type(name: str) -> np.dtype[Any]:
    import numpy as np

    underlying = ELEMENTS[name].underlying
    name = underlying.name
    if underlying.integral and underlying.bits < 8:
        name = "int8" if underlying.limits[0] else "uint8"
    if underlying.integral and underlying.bits > 64:
        raise NotExpressible(
            f"numpy has no type for the {underlying.bits} bits of {underlying.name}.",
            hint="use two 64-bit integers",
            element=underlying,
        )
    stored: np.dtype[Any] = np.dtype(getattr(np, name, None) or _from_ml_dtypes(name))
    return stored


def _from_ml_dtypes(name: str) -> Any:
    try:
        numpy_type = getattr(import_module("ml_dtypes"), name, None)
    except ImportError:
        numpy_type = None
    if numpy_type is None:
        raise NotExpressible(
            f"numpy has no {name}; the package ml_dtypes has it, but it is missing or too old.",
            hint="pip install -U ml_dtypes",
            name=name,
        )
    return numpy_type
