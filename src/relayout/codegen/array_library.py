"""What array libraries of Python call the operations that generated functions are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from ..elements.types import Element
from ..errors import NotExpressible
from .python_text import Bracketed, Expression, PythonLines, call, float_text


class StoredType(NamedTuple):
    """How elements are held by arrays: the type of those given, and the one that they are moved as."""

    given: str
    moved: str


class ArrayLibrary:
    """A library whose arrays have ``reshape``, slices and ``dtype``; numpy's words, where a subclass says no others."""

    name: ClassVar[str] = "numpy"
    alias: ClassVar[str] = "np"
    imports: ClassVar[tuple[str, ...]] = ("import numpy as np",)
    test_imports: ClassVar[tuple[str, ...]] = ("import numpy as np",)
    test_setup: ClassVar[tuple[str, ...]] = ()
    """Lines in front of a test."""
    floats: ClassVar[tuple[str, ...]] = ("float16", "float32", "float64", "complex64", "complex128")
    """The types beside integers that it has, and moves bit by bit."""
    carried: ClassVar[tuple[str, ...]] = ()
    """The types that it has, and that are moved as integers of their width."""
    integers: ClassVar[str] = "uint"
    """Integers that stand for what it lacks."""

    def stored_type(self, element: Element, fill: bytes = b"") -> StoredType:
        """The type of arrays of these elements; with a fill that only integers hold, they are moved as those."""
        kind = element.underlying
        if kind.bits < 8:
            return StoredType("uint8", "uint8")
        if kind.bits > 64 and not kind.complex:
            raise NotExpressible(
                f"{self.name} has no type for the {kind.bits} bits of {kind.name}.",
                hint="take it as uint64, with one more dimension of 2",
                element=element,
            )
        carrier = f"{self.integers}{kind.bits}" if kind.bits > 8 else "uint8"
        if kind.name == "bool":
            return StoredType("uint8", "uint8")
        if kind.name in self.carried:
            return StoredType(kind.name, carrier)
        if kind.integral:
            return StoredType(kind.name, kind.name)
        if kind.name not in self.floats:
            return StoredType(carrier, carrier)
        odd = any(fill) and not self.holds_fill(kind, fill)
        if odd and kind.bits > 64:
            raise NotExpressible(
                f"{self.name} has no integers of {kind.bits} bits that a fill of NaN could be moved as.",
                hint="take another fill",
                element=element,
            )
        return StoredType(kind.name, carrier if odd else kind.name)

    def holds_fill(self, kind: Element, fill: bytes) -> bool:
        """Whether the bytes of a float are told by its value: neither NaN nor a zero with a sign."""
        value = fill_value(kind, fill)
        parts = (value.real, value.imag) if isinstance(value, complex) else (value,)
        return all(part == part and (part != 0 or str(part)[0] != "-") for part in parts)

    def dtype(self, name: str) -> str:
        return f"{self.alias}.{name}"

    def reshape(self, x: str, shape: Sequence[str]) -> Expression:
        return call(f"{x}.reshape", *shape)

    def transpose(self, x: str, order: Sequence[int]) -> Expression:
        return call(f"{x}.transpose", *map(str, order))

    def flip(self, x: str, axes: Sequence[int]) -> Expression:
        return call(f"{self.alias}.flip", x, Bracketed("(", tuple(map(str, axes)), ")"))

    def pad(self, x: str, pairs: Sequence[tuple[str, str]], fill: str) -> Expression:
        widths = Bracketed("(", tuple([Bracketed("(", pair, ")") for pair in pairs]), ")")
        more = () if fill == "0" else (f"constant_values={fill}",)
        return call(f"{self.alias}.pad", x, widths, *more)

    def contiguous(self, x: str) -> str:
        """The array with its elements side by side; empty where every array is so."""
        return f"{self.alias}.ascontiguousarray({x})"

    def cast(self, x: str, name: str) -> str:
        return f"{x}.astype({self.dtype(name)})"

    def view(self, x: str, name: str) -> str:
        return f"{x}.view({self.dtype(name)})"

    def arange(self, count: str, like: str) -> str:
        """The numbers from 0 on, where the array ``like`` is."""
        return f"{self.alias}.arange({count})"

    def full(self, count: str, fill: str, like: str) -> Expression:
        return call(f"{self.alias}.full", count, fill, f"{like}.dtype")

    def put(self, lines: PythonLines, storage: str, fill: str) -> None:
        """``dst``, new memory that holds the fill, gets ``x`` at the places ``at``."""
        lines.statement(1, "dst = ", self.full(storage, fill, "x"))
        lines.add(1, "dst[at] = x")

    def from_bytes(self, data: str, name: str) -> str:
        """An array of a type from bytes."""
        return f"np.frombuffer({data}, {self.dtype(name)})"

    def to_bytes(self, x: str) -> str:
        return f"{x}.tobytes()"

    def unpack_lines(self, bits: int) -> list[str]:
        """The body of a function from bytes, ``x``, to ``count`` elements, one in each byte of the result."""
        return [
            f'rows = np.unpackbits(x.reshape(-1), count={bits} * count, bitorder="little")',
            f'return np.packbits(rows.reshape(-1, {bits}), axis=1, bitorder="little")[:, 0]',
        ]

    def pack_lines(self, bits: int) -> list[str]:
        """The body of a function from elements, one in each byte of ``x``, to bytes that they share."""
        return [
            f'rows = np.unpackbits(x.reshape(-1, 1), axis=1, count={bits}, bitorder="little")',
            'return np.packbits(rows, bitorder="little")',
        ]

    # ---- conversions -------------------------------------------------------------------------------------

    conversion_head: ClassVar[tuple[str, ...]] = ('@np.errstate(all="ignore")',)
    """Lines in front of a function that converts."""
    unconverted: ClassVar[tuple[str, ...]] = ()
    """The types that it has, and lacks arithmetic for."""
    widened: ClassVar[dict[str, str]] = {}
    """Integers that it computes with as wider ones."""
    index_type: ClassVar[str] = "int64"
    rint: ClassVar[str] = "np.rint"

    def array(self, values: Sequence[str], kind: str) -> Expression:
        return call(f"{self.alias}.array", Bracketed("[", tuple(values), "]"), self.dtype(kind))

    def rounded_product(self, product: str) -> str:
        """A product that no sum behind it is joined with."""
        return product

    def from_bfloat16(self, x: str) -> str:
        return f"({x}.astype(np.uint32) << 16).view(np.float32)"

    def add_bfloat16(self, body: PythonLines) -> None:
        """The lines that give ``x``, float32, back as bfloat16."""
        self.add_rounded_bits(body, "uint32")
        body.add(1, "return np.where(np.isnan(x), quiet, rounded).astype(np.uint16)")

    def add_rounded_bits(self, body: PythonLines, integers: str) -> None:
        """The upper halves of ``x``, float32, to the nearest; and those of NaN."""
        body.add(1, f"bits = {self.view('x', integers)}")
        body.comment(1, "To the nearest, ties to even")
        body.add(1, "rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16")
        body.add(1, "quiet = bits >> 16 & 0x8000 | 0x7FC0")

    def check_rounding(self, kind: Element, to: Element) -> None:
        """Refuse a cast that rounds as the interfaces do not."""

    def table_type(self, to: Element) -> str:
        """Integers that hold the bits of a type."""
        return f"{self.integers if to.bits > 8 else 'uint'}{max(to.bits, 8)}"


def fill_value(kind: Element, fill: bytes) -> float | complex:
    """The number that the bytes of one stored float are."""
    import numpy as np

    from ..elements.types import storage_dtype

    value = np.frombuffer(fill, storage_dtype(kind))[0]
    return complex(value) if kind.complex else float(value)


def fill_text(kind: Element, moved: str, fill: bytes) -> str:
    """One stored value in the type that elements are moved as."""
    if not any(fill):
        return "0"
    if kind.bits < 8:
        return str(fill[0] & ((1 << kind.bits) - 1))
    if moved.startswith(("int", "uint")):
        return str(int.from_bytes(fill, "little", signed=moved.startswith("int")))
    value = fill_value(kind, fill)
    if isinstance(value, complex) and value.imag:
        return f"complex({float_text(value.real)}, {float_text(value.imag)})"
    return float_text(value.real)
