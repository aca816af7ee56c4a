"""A pack as a function on arrays in Python: steps on whole arrays where these are proven, else places of elements."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..layout.layout import Layout
from ..layout.swizzle import Swizzle
from .array_conversion import ArrayConversion, array_conversion
from .array_library import ArrayLibrary, StoredType, fill_text
from .array_proof import proves_source, proves_target
from .array_steps import ArrayMove, ArrayStep, build_move, joined_steps, packed_side
from .operands import DigitOperand, box_operand
from .program import PackFunction
from .python_places import place_terms, swizzled_text
from .python_text import (
    Bracketed,
    Expression,
    PythonLines,
    call,
    definition_text,
    difference_text,
    sum_of,
    value_text,
)
from .values import Monomial

NOTHING = Monomial(0)


class ArrayLine(NamedTuple):
    """One operation on ``x``: words in front of it, and the text, given what the array is called."""

    comment: str
    text: Callable[[str], Expression]


def proven_move(function: PackFunction, whole_dims: frozenset[int] = frozenset()) -> ArrayMove:
    """The steps of a function, without those that are not proven."""
    layouts = function.layouts or (None, None)
    operands = [
        _nested_operand(given, layout, function) for given, layout in zip((function.source, function.target), layouts)
    ]
    move = build_move(function.names, function.extents, operands[0], operands[1], whole_dims)
    reads = move.before is not None and proves_source(move, operands[0], function.extents, layouts[0])
    writes = move.after is not None and proves_target(move, operands[1], function.extents, layouts[1])
    if reads and writes:
        return move
    split = build_move(
        function.names, function.extents, operands[0], operands[1], frozenset(range(len(function.names)))
    )
    return ArrayMove(split.waist, (), split.before if reads else None, split.after if writes else None)


def without_swizzles(function: PackFunction) -> tuple[PackFunction, dict[str, tuple[Swizzle, int]]]:
    """A function between memories that are not swizzled, and the swizzles that exchange places within all of either."""
    if function.layouts is None:
        return function, {}
    found, operands, layouts = {}, [function.source, function.target], list(function.layouts)
    for k, (side, layout) in enumerate(zip(("src", "dst"), function.layouts)):
        if layout.swizzle is None or layout.storage_size % layout.swizzle.period:
            continue
        found[side] = layout.swizzle, layout.storage_size
        layouts[k] = layout.with_swizzle(None)
        operands[k] = operands[k]._replace(swizzle=None)
    return function._replace(source=operands[0], target=operands[1], layouts=(layouts[0], layouts[1])), found


def _nested_operand(given: DigitOperand, layout: Layout | None, function: PackFunction) -> DigitOperand:
    """The operand with all of its box, so that padding is padding; without where the box lies in itself."""
    if layout is None:
        return given
    box = box_operand(layout)._replace(storage=given.storage)
    return given if packed_side(box, range(len(function.names))).axes is None else box


class ArrayWriter:
    """The text of one function."""

    def __init__(self, function: PackFunction, library: ArrayLibrary) -> None:
        self.function = function
        self.library = library
        self.name = function.name
        self.conversion: ArrayConversion | None = None
        if function.conversion is not None:
            self.conversion = array_conversion(library, f"{self.name}_convert", *function.conversion)
        whole = frozenset() if self.conversion is None else self.conversion.dims
        self.function, self.swizzles = without_swizzles(function)
        self.move = proven_move(self.function, whole)
        self.source = library.stored_type(function.element, b"" if self.conversion else function.fill)
        self.target = library.stored_type(function.target_element, function.fill)
        self.fill = fill_text(function.target_element.underlying, self.target.moved, function.fill)

    # ---- the whole ---------------------------------------------------------------------------------------

    def text(self) -> str:
        """The helpers that the function needs, and the function."""
        lines = PythonLines()
        body = self._empty() if self.function.nest.empty else self._body()
        lines.statement(0, "def ", Bracketed(f"{self.name}(", ("src", *self.function.sizes), ")"), ":")
        first, *rest = [line.replace('"', "'") for line in (*self.function.about, *self._types())]
        lines.docstring(1, first, rest)
        used = "\n".join(body)
        needed = []
        for definition in self.function.definitions[::-1]:
            if re.search(rf"\b{definition.name}\b", used):
                needed.append(definition)
                used += "\n" + definition_text(definition)
        for definition in needed[::-1]:
            lines.add(1, f"{definition.name} = {definition_text(definition)}")
        return "\n\n\n".join([*self._helpers(used), "\n".join([*lines.lines, *body])])

    def _types(self) -> list[str]:
        """What goes in and out, where its type is not that of the elements."""
        found = ["src is the memory of the source; that of the target comes out, flat."]
        sides = {"src": (self.function.element, self.source), "the result": (self.function.target_element, self.target)}
        for side, (element, stored) in sides.items():
            kind = element.underlying
            if kind.bits < 8:
                found.append(f"{side} is uint8, with {kind.bits} bits for each element, the least significant first.")
            elif stored.given != kind.name and kind.name != "bool":
                found.append(f"{side} is {stored.given}, the bits of {kind.name}.")
        if len(found) == 3 and found[1].partition(" ")[2] == found[2].partition("result ")[2]:
            found[1:] = [found[1].replace("src is", "Both are")]
        return found

    def _helpers(self, used: str) -> list[str]:
        found = []
        if f"{self.name}_unpack(" in used:
            bits = self.function.element.bits
            found.append(
                self._helper(
                    "unpack(x, count)", f"Elements of {bits} bits, one in each byte.", self.library.unpack_lines(bits)
                )
            )
        for side, (swizzle, _) in self.swizzles.items():
            if f"{self.name}_swizzle_{side}(" in used:
                text = swizzled_text("at", swizzle)
                found.append(
                    self._helper(
                        f"swizzle_{side}(at)", f"Places of {side} for those in order, and back.", [f"return {text}"]
                    )
                )
        if self.conversion is not None and not self.function.nest.empty:
            found.append(self.conversion.text)
        if f"{self.name}_pack(" in used:
            bits = self.function.target_element.bits
            words = f"Bytes that elements of {bits} bits share."
            found.append(self._helper("pack(x)", words, self.library.pack_lines(bits)))
        return found

    def _helper(self, head: str, words: str, body: Sequence[str]) -> str:
        return "\n".join([f"def {self.name}_{head}:", f'    """{words}"""', *[f"    {line}" for line in body]])

    def _empty(self) -> list[str]:
        """A function that has no elements to move."""
        lines = PythonLines()
        storage = value_text(self.function.target.storage)
        x: Expression = self.library.full(storage, self.fill, "src")
        bits = self.function.target_element.bits
        if self.function.element != self.function.target_element or self.source.moved != self.source.given:
            lines.add(1, f"src = {self.library.view('src.reshape(-1)[:0]', self.target.moved)}")
        if bits < 8:
            lines.statement(1, "x = ", x)
            x = f"{self.name}_pack(x)"
        elif self.target.moved != self.target.given:
            lines.statement(1, "x = ", x)
            x = self.library.view("x", self.target.given)
        lines.statement(1, "return ", x)
        return lines.lines

    # ---- the body ----------------------------------------------------------------------------------------

    def _body(self) -> list[str]:
        lines = PythonLines()
        found = [*self._into(self.function.element.bits, self.source), *self._swizzle("src")]
        if self.conversion is None and self.move.before is not None and self.move.after is not None:
            steps = joined_steps(self.move.before, self.move.after)
            found += self._steps(steps)
            self._write(lines, [*found, *self._out()], "return ")
            return lines.lines
        if self.move.before is None:
            if not found or (found[-1].comment == "" and self.function.element.bits >= 8):
                found.append(ArrayLine("", lambda x: f"{x}.reshape(-1)"))
            self._write(lines, found, "x = ")
            self._gather(lines)
            found = []
        else:
            found += self._steps(self.move.before, fill="0")
        found += self._convert()
        if self.move.after is None:
            self._write(lines, found, "x = ", first=not lines.lines)
            self._add_places(lines, self.function.target, "dst")
            self._drop_units(lines)
            self.library.put(lines, value_text(self.function.target.storage), self.fill)
            closing = self._out()
            if not closing:
                lines.add(1, "return dst")
            else:
                self._write(lines, closing, "return ", name="dst")
            return lines.lines
        found += [*self._steps(self.move.after, flat=True), *self._out()]
        if not found:
            lines.add(1, "return x")
        self._write(lines, found, "return ", first=not lines.lines)
        return lines.lines

    def _write(
        self, lines: PythonLines, found: Sequence[ArrayLine], last: str, first: bool = True, name: str = "x"
    ) -> None:
        """The operations one after the other; the last one behind other words."""
        x = "src" if first and name == "x" else name
        for k, line in enumerate(found):
            if line.comment:
                lines.comment(1, line.comment)
            lines.statement(1, last if k == len(found) - 1 else "x = ", line.text(x))
            x = "x"

    def _into(self, bits: int, stored: StoredType) -> list[ArrayLine]:
        """From what is given to elements as they are moved."""
        if bits < 8:
            count = value_text(self.function.source.storage)
            return [ArrayLine("", lambda x: Bracketed(f"{self.name}_unpack(", (x, count), ")"))]
        if stored.moved != stored.given:
            return [ArrayLine("", lambda x: self.library.view(x, stored.moved))]
        return []

    def _out(self) -> list[ArrayLine]:
        """From elements as they are moved to what is given back."""
        found = self._swizzle("dst")
        if self.function.target_element.bits < 8:
            found.append(ArrayLine("", lambda x: f"{self.name}_pack({x})"))
        elif self.target.moved != self.target.given:
            found.append(ArrayLine("", lambda x: self.library.view(x, self.target.given)))
        return found

    def _swizzle(self, side: str) -> list[ArrayLine]:
        """Flat memory with the places of a swizzle exchanged, which is its own inverse."""
        if side not in self.swizzles:
            return []
        swizzle, count = self.swizzles[side]
        found = []
        if side == "src" and self.function.element.bits >= 8:
            found.append(ArrayLine("", lambda x: f"{x}.reshape(-1)"))
        places = call(f"{self.name}_swizzle_{side}", self.library.arange(str(count), "src"))
        words = f"Exchange places within runs of {swizzle.period} elements"
        return [*found, ArrayLine(words, lambda x: Bracketed(f"{x}[", (places,), "]"))]

    def _convert(self) -> list[ArrayLine]:
        if self.conversion is None:
            return []
        found = []
        if self.source.moved != self.source.given:
            found.append(ArrayLine("", lambda x: self.library.view(x, self.source.given)))
        shapes = ["-1" if axis.dim in self.conversion.dims else "1" for axis in self.move.waist]
        where = f", ({', '.join(shapes)}{',' * (len(shapes) == 1)})" if self.conversion.dims else ""
        found.append(ArrayLine("", lambda x: f"{self.name}_convert({x}{where})"))
        if self.target.moved != self.target.given:
            found.append(ArrayLine("", lambda x: self.library.view(x, self.target.moved)))
        return found

    def _steps(self, steps: Sequence[ArrayStep], flat: bool = False, fill: str | None = None) -> list[ArrayLine]:
        """The lines of steps; those of flat memory begin by making it flat."""
        found = []
        flat |= self.function.element.bits < 8 or "src" in self.swizzles
        if not flat and (not steps or steps[0].kind != "reshape"):
            found.append(ArrayLine("", lambda x: f"{x}.reshape(-1)"))
        filled = self.fill if fill is None else fill
        found += [ArrayLine(", ".join(step.titles), self._step_text(step, filled)) for step in steps]
        if fill is None and _leaves_gaps(steps) and self.library.contiguous("x"):
            # In front of the last reshape, which would be a copy as well.
            at = len(found) - (steps[-1].kind == "reshape")
            found.insert(at, ArrayLine("", lambda x: self.library.contiguous(x)))
        return found

    def _step_text(self, step: ArrayStep, fill: str) -> Callable[[str], Expression]:
        if step.kind == "reshape":
            shape = ["-1"] if len(step.new) == 1 else [value_text(n) for n in step.new] or ["()"]
            return lambda x: self.library.reshape(x, shape)
        if step.kind == "transpose":
            return lambda x: self.library.transpose(x, step.detail)
        if step.kind == "flip":
            return lambda x: self.library.flip(x, step.detail)
        if step.kind == "slice":
            return lambda x: self._slice(x, step)
        return lambda x: self.library.pad(x, self._pad_pairs(step), fill)

    def _slice(self, x: str, step: ArrayStep) -> Expression:
        items = []
        for old, new, low in zip(step.old, step.new, step.detail):
            if old == new:
                items.append(":")
            elif low:
                items.append(f"{low}:" if old.number == low + new.number and old.known else f"{low}:{low + new.number}")
            else:
                stop = value_text(new)
                items.append(f": {stop}" if " " in stop else f":{stop}")
        if len(items) > 2 and all(item == ":" for item in items[:-1]):
            items[:-1] = ["..."]
        while items[-1] == ":":
            items.pop()
        return Bracketed(f"{x}[", tuple(items), "]")

    def _pad_pairs(self, step: ArrayStep) -> list[tuple[str, str]]:
        pairs = []
        for old, new, low in zip(step.old, step.new, step.detail):
            high = difference_text(new, old, self.function.definitions)
            pairs.append((str(low), str(int(high) - low) if low else high))
        return pairs

    # ---- places ------------------------------------------------------------------------------------------

    def _gather(self, lines: PythonLines) -> None:
        """The elements by their places in the source."""
        self._add_places(lines, self.function.source, "src")
        shape = [value_text(self.function.extents[axis.dim]) for axis in self.move.waist]
        used = _moved_dims(self.function.source)
        if all(axis.dim in used for axis in self.move.waist):
            lines.add(1, "x = x[at]")
        else:
            target = Bracketed("(", tuple(shape), ")")
            lines.statement(1, "x = ", call(f"{self.library.alias}.broadcast_to", "x[at]", target))

    def _drop_units(self, lines: PythonLines) -> None:
        """``x`` with no more axes than its places have: the first dimensions may have one element only."""
        used = _moved_dims(self.function.target)
        first = next((k for k, axis in enumerate(self.move.waist) if axis.dim in used), len(self.move.waist))
        if first:
            shape = [value_text(self.function.extents[axis.dim]) for axis in self.move.waist[first:]]
            lines.statement(1, "x = ", self.library.reshape("x", shape or ["()"]))

    def _add_places(self, lines: PythonLines, operand: DigitOperand, side: str) -> None:
        """``at``: the place of every element, an array over the coordinates."""
        used = _moved_dims(operand)
        for k, axis in enumerate(self.move.waist):
            name = f"i{axis.dim}"
            if axis.dim not in used or any(line.startswith(f"    {name} = ") for line in lines.lines):
                continue
            arange = self.library.arange(value_text(self.function.extents[axis.dim]), "src")
            ones = len(self.move.waist) - 1 - k
            shape = f".reshape({', '.join(['-1'] + ['1'] * ones)})" if ones else ""
            if self.function.names[axis.dim] != name:
                lines.comment(1, self.function.names[axis.dim])
            lines.add(1, f"{name} = {arange}{shape}")
        lines.comment(1, f"Places in {side}")
        lines.statement(1, "at = ", sum_of(place_terms(operand, [f"i{d}" for d in range(len(operand.dims))])))
        if operand.swizzle is not None:
            lines.add(1, f"at = {swizzled_text('at', operand.swizzle)}")


def _leaves_gaps(steps: Sequence[ArrayStep]) -> bool:
    """Whether the last array may be a view with steps of its own: behind a slice or a flip, without a copy since."""
    found = False
    for step in steps:
        found = (found and step.kind != "pad") or (
            step.kind in ("slice", "flip") and (len(step.old) > 1 or step.kind == "flip")
        )
    return found


def _moved_dims(operand: DigitOperand) -> set[int]:
    """The dimensions that move the place."""
    return {d for d, digits in enumerate(operand.dims) if any(digit.stride != NOTHING for digit in digits)}
