"""Element types: their names, their widths, and what XLA and MLIR call them."""

from __future__ import annotations

from typing import Any, NamedTuple

from .errors import ShapeError, shown


class Element(NamedTuple):
    """A type of elements. ``bits`` is the width of one element in memory."""

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


# name, bits, XLA, MLIR
_TABLE = """
bool             8   pred        i1
int2             2   s2          i2
int4             4   s4          i4
int8             8   s8          i8
int16           16   s16         i16
int32           32   s32         i32
int64           64   s64         i64
uint2            2   u2          ui2
uint4            4   u4          ui4
uint8            8   u8          ui8
uint16          16   u16         ui16
uint32          32   u32         ui32
uint64          64   u64         ui64
float4_e2m1fn    4   f4e2m1fn    f4E2M1FN
float8_e4m3      8   f8e4m3      f8E4M3
float8_e4m3fn    8   f8e4m3fn    f8E4M3FN
float8_e4m3fnuz  8   f8e4m3fnuz  f8E4M3FNUZ
float8_e5m2      8   f8e5m2      f8E5M2
float8_e5m2fnuz  8   f8e5m2fnuz  f8E5M2FNUZ
float8_e8m0fnu   8   f8e8m0fnu   f8E8M0FNU
float16         16   f16         f16
bfloat16        16   bf16        bf16
float32         32   f32         f32
float64         64   f64         f64
complex64       64   c64         complex<f32>
complex128     128   c128        complex<f64>
"""


def _elements() -> dict[str, Element]:
    rows = [line.split() for line in _TABLE.strip().splitlines()]
    return {name: Element(name, int(bits), xla, mlir) for name, bits, xla, mlir in rows}


ELEMENTS: dict[str, Element] = _elements()
"""Every element type by its name, which is numpy's, ml_dtypes' or torch's."""


def element(dtype: Any) -> Element:
    """The element type of a name (``"float32"``) or of a numpy, ml_dtypes or torch type."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    found = ELEMENTS.get(str(name or dtype).removeprefix("torch."))
    if found is None:
        raise ShapeError(f"there is no element type {shown(dtype)}.", hint=f"known: {', '.join(ELEMENTS)}", dtype=dtype)
    return found
