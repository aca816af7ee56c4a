"""Values of one interface as those of another, on whole arrays: bit for bit as the interfaces decode and encode."""

from __future__ import annotations

from typing import NamedTuple

from ..elements.encoding import Encoding
from ..elements.interface import Interface, Plain, ScaleOffset
from ..elements.types import ELEMENTS, Element, storage_dtype
from ..errors import NotExpressible
from .array_library import ArrayLibrary
from .python_text import Expression, Joined, PythonLines, float_text

FLOATS = ("float16", "bfloat16", "float32", "float64")


class ArrayConversion(NamedTuple):
    """The function that converts an array; ``dims`` are the dimensions along which scales differ."""

    text: str
    dims: frozenset[int]


def array_conversion(library: ArrayLibrary, name: str, source: Interface, target: Interface) -> ArrayConversion:
    """The text of a conversion; refused where the library would need more than its own types."""
    return ConversionWriter(library, name, source, target).conversion()


class ConversionWriter:
    """The text of one conversion: ``x`` becomes a number of a known type, then the stored values of the target."""

    def __init__(self, library: ArrayLibrary, name: str, source: Interface, target: Interface) -> None:
        self.library = library
        self.name = name
        self.source = source
        self.target = target
        self.body = PythonLines()

    def conversion(self) -> ArrayConversion:
        if self._looked_up():
            self._add_table()
        else:
            for side in (self.source, self.target):
                self._check_side(side)
            self._add_encode(self._add_decode())
        lines = PythonLines()
        for line in self.library.conversion_head:
            lines.add(0, line)
        dims = frozenset([side.axis for side in (self.source, self.target) if side.axis is not None])
        if len(dims) > 1:
            raise NotExpressible(
                "scales along two dimensions are not converted at once.",
                hint="convert to float32 first",
                interface=self.target,
            )
        shape = ", shape" * bool(dims)
        lines.add(0, f"def {self.name}(x{shape}):")
        lines.docstring(1, f"Values of {self._words(self.source)} as {self._words(self.target)}.", ())
        return ArrayConversion("\n".join([*lines.lines, *self.body.lines]), dims)

    def _words(self, side: Interface) -> str:
        return side.element.name if isinstance(side, Plain) else str(side).replace('"', "'")

    def _looked_up(self) -> bool:
        """Whether a table tells what every code becomes: where codes are few, and no formula is known for them."""
        kind = self.source.element.underlying
        if kind.bits > 8 or self.source.axis is not None or self.target.axis is not None:
            return False
        return isinstance(self.source, Encoding) or (isinstance(self.source, Plain) and not kind.integral)

    def _check_side(self, side: Interface) -> None:
        kind = side.element.underlying
        plain = isinstance(side, Plain) and (kind.name in FLOATS or (kind.integral and kind.bits <= 64))
        if (plain or isinstance(side, ScaleOffset)) and kind.name not in self.library.unconverted:
            return
        raise NotExpressible(
            f"functions in {self.library.name} convert no values of {side}.",
            hint="they take integers, float16, bfloat16, float32, float64 and quantised types, but for "
            f"{', '.join(self.library.unconverted) or 'none'}; and tables of what 8 bits become: move elements as they "
            "are, and convert before or after",
            interface=side,
        )

    # ---- reading -----------------------------------------------------------------------------------------

    def _add_decode(self) -> Element:
        """``x`` becomes numbers of the type that is returned."""
        kind = self.source.element.underlying
        if kind.integral and kind.bits < 8 and kind.limits[0]:
            half = 1 << (kind.bits - 1)
            self.body.add(1, f"x = {self.library.cast(f'(x ^ {half})', 'int8')} - {half}")
        elif kind.name in self.library.widened:
            self.body.add(1, f"x = {self.library.cast('x', self.library.widened[kind.name])}")
        if isinstance(self.source, ScaleOffset):
            self._add_dequantise(self.source)
            return ELEMENTS["float32"]
        if kind.name == "bfloat16":
            self.body.statement(1, "x = ", self.library.from_bfloat16("x"))
            return ELEMENTS["float32"]
        return kind

    def _add_dequantise(self, source: ScaleOffset) -> None:
        scale, offset = self._parameters(source, "scale", "offset")
        offsets = source.offset if isinstance(source.offset, tuple) else (source.offset,)
        if source.element.bits <= 16 and any(abs(o) > 1 << 23 for o in offsets):
            steps = self.library.cast(f"({self.library.cast('x', 'int64')} - {offset})", "float32")
        else:
            steps = self.library.cast("x", "float32")
            if any(offsets):
                steps = f"({steps} - {self._as_float(offset, source)})"
        self.body.add(1, f"x = {steps} * {scale}")

    def _as_float(self, offset: str, side: ScaleOffset) -> str:
        return offset if side.axis is None else self.library.cast(offset, "float32")

    def _parameters(self, side: ScaleOffset, first: str, second: str, inverse: bool = False) -> tuple[str, str]:
        """The texts of scale and offset: numbers, or the names of arrays along the dimension that has them."""
        import numpy as np

        with np.errstate(all="ignore"):
            scales = np.array(side.scale, np.float32)
            scales = np.float32(1) / scales if inverse else scales
        if not np.isfinite(scales).all():
            raise NotExpressible(f"the inverse of the scale of {side} is infinite.", hint="take a larger scale")
        if not isinstance(side.offset, tuple):
            return float_text(scales), str(side.offset)
        for word, values, kind in (
            (first, [float_text(s) for s in scales], "float32"),
            (second, [str(o) for o in side.offset], "int32"),
        ):
            array = self.library.array(values, kind)
            self.body.statement(1, f"{word} = ", array, ".reshape(shape)")
        return first, second

    # ---- writing -----------------------------------------------------------------------------------------

    def _add_encode(self, kind: Element) -> None:
        to = self.target.element.underlying
        real = not kind.integral
        if isinstance(self.target, ScaleOffset):
            self._add_quantise(self.target, kind)
        elif to.name == "bfloat16":
            if kind.name != "float32":
                self.body.add(1, f"x = {self.library.cast('x', 'float32')}")
            self.library.add_bfloat16(self.body)
        elif not to.integral:
            self.library.check_rounding(kind, to)
            self.body.add(1, f"return {self.library.cast('x', to.name) if kind != to else 'x'}")
        elif real:
            self._add_checked_float(kind, to)
        else:
            self._add_checked_integer(kind, to)

    def _refuse(self, condition: Expression, words: str) -> None:
        self.body.statement(1, "if ", condition, ":")
        self.body.add(2, f'raise ValueError("{words}")')

    def _add_checked_integer(self, kind: Element, to: Element) -> None:
        low, high = to.limits
        tests = [f"(x < {low})"] * (kind.limits[0] < low) + [f"(x > {high})"] * (kind.limits[1] > high)
        if tests:
            text = f"({' | '.join(tests)}).any()" if len(tests) > 1 else f"{tests[0]}.any()"
            self._refuse(text, f"a value has no place in {to.name}")
        self._return_integers(to)

    def _add_checked_float(self, kind: Element, to: Element) -> None:
        if kind.name == "float16":
            self.body.add(1, f"x = {self.library.cast('x', 'float32')}")
        low, high = to.limits
        trunc = f"{self.library.alias}.trunc(x)"
        terms = f"(x >= {float_text(low)})", f"& (x < {float_text(high + 1)})", f"& (x == {trunc})"
        self.body.statement(1, "held = ", Joined(terms))
        self._refuse("not held.all()", f"a value has no place in {to.name}")
        if to.bits < 8:
            self.body.add(1, f"x = {self.library.cast('x', 'int8')}")
        self._return_integers(to)

    def _return_integers(self, to: Element) -> None:
        """The integers as they are stored; of a few bits, as codes."""
        if to.bits < 8:
            code = self.library.cast(f"(x & {(1 << to.bits) - 1})", "uint8")
            self.body.add(1, f"return {code}")
        else:
            self.body.add(1, f"return {self.library.cast('x', 'uint8' if to.name == 'bool' else to.name)}")

    def _add_quantise(self, target: ScaleOffset, kind: Element) -> None:
        alias, to = self.library.alias, target.element.underlying
        if not isinstance(self.source, Plain):
            pass
        elif not kind.integral and target.nan == "refuse":
            self._refuse(f"{alias}.isnan(x).any()", f"NaN has no place in {to.name}")
        elif not kind.integral:
            self.body.add(1, f"x = {alias}.nan_to_num(x, nan=float('inf'), posinf=float('inf'))")
        inverse, offset = self._parameters(target, "inverse", "zero", inverse=True)
        if kind.name != "float32":
            self.body.add(1, f"x = {self.library.cast('x', 'float32')}")
        offsets = target.offset if isinstance(target.offset, tuple) else (target.offset,)
        product = self.library.rounded_product(f"x * {inverse}")
        if any(offsets):
            zero = self._as_float(offset, target)
            self.body.add(1, f"x = {product} + {zero}".replace("+ -", "- "))
        else:
            self.body.add(1, f"x = {product}")
        low, high = target.limits
        self.body.comment(1, "To the nearest integer, ties to even")
        self.body.add(1, f"x = {self.library.rint}(x).clip({low}, {high})")
        if to.bits < 8:
            self.body.add(1, f"x = {self.library.cast('x', 'int8')}")
        self._return_integers(to)

    # ---- tables ------------------------------------------------------------------------------------------

    def _add_table(self) -> None:
        """What every code becomes, computed here."""
        import numpy as np

        kind, to = self.source.element.underlying, self.target.element.underlying
        self._check_stored(to)
        codes = np.arange(1 << kind.bits, dtype=np.uint8)
        stored, refused = [], []
        width = max(to.bits // 8, 1)
        for code in codes:
            try:
                one = np.array([code], np.uint8).view(storage_dtype(kind))
                made = np.asarray(self.target.encode(self.source.decode(one)))
                stored.append(int.from_bytes(made.tobytes(), "little") & ((1 << to.bits) - 1))
            except NotExpressible:
                stored.append(0)
                refused.append(int(code))
        moved = self.library.table_type(to)
        signed = moved.startswith("int")
        words = [str(n - (1 << 8 * width) if signed and n >> (8 * width - 1) else n) for n in stored]
        table = self.library.array(words, moved)
        given = self.library.stored_type(to).given
        self.body.comment(1, f"What every code of {kind.bits} bits becomes")
        self.body.statement(1, "table = ", table)
        codes_text = self.library.view("x", "uint8") if self.library.stored_type(kind).given != "uint8" else "x"
        self.body.add(1, f"x = {self.library.cast(codes_text, self.library.index_type)}")
        if refused:
            self.body.statement(
                1, "refused = ", self.library.array([str(n in refused) for n in range(len(codes))], "bool")
            )
            self._refuse("refused[x].any()", f"a value has no place in {to.name}")
        text = "table[x]"
        self.body.add(1, f"return {text if given == moved else self.library.view(text, given)}")

    def _check_stored(self, to: Element) -> None:
        if to.complex or to.bits > 64:
            raise NotExpressible(
                f"functions in {self.library.name} convert no values to {to.name}.",
                hint="move elements as they are, and convert before or after",
                element=to,
            )
