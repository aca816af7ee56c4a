"""The functions of one layout on numbers or arrays: the place of a coordinate, and the coordinate of a place."""

from __future__ import annotations

import re

from .array_library import ArrayLibrary
from .index import digits_by_stride
from .program import IndexFunctions
from .python_places import place_terms, swizzled_text
from .python_text import (
    Bracketed,
    PythonLines,
    definition_text,
    factor_text,
    product_text,
    sum_of,
    under_imports,
    value_text,
)
from .values import ONE, Monomial, product_of


def write_index(functions: IndexFunctions, library: ArrayLibrary) -> str:
    """The functions of one layout; in place of those that it has not, the reason."""
    writer = IndexTextWriter(functions, library)
    parts = [writer.offset()]
    if functions.no_inverse:
        lines = PythonLines()
        lines.comment(0, f"No place tells its coordinate: {functions.no_inverse}.")
        parts.append("\n".join(lines.lines))
    else:
        parts += [writer.coordinate(), writer.each()]
    return under_imports(library.imports, parts)


class IndexTextWriter:
    """The texts of the functions of one layout."""

    def __init__(self, functions: IndexFunctions, library: ArrayLibrary) -> None:
        self.functions = functions
        self.library = library
        self.name = functions.name
        self.operand = functions.operand
        self.arguments = [f"i{d}" for d in range(len(functions.names))]

    def offset(self) -> str:
        body = PythonLines()
        total = sum_of(place_terms(self.operand, self.arguments))
        if self.operand.swizzle is None:
            body.statement(1, "return ", total)
        else:
            body.statement(1, "at = ", total)
            body.add(1, f"return {swizzled_text('at', self.operand.swizzle)}")
        pairs = [f"{i} is {name}" for i, name in zip(self.arguments, self.functions.names) if i != name]
        about = f"The place of an element of {self.functions.title}, in elements."
        more = [f"{', '.join(pairs)}."] if pairs else []
        return self._function("offset", self.arguments, about, more, body)

    def coordinate(self) -> str:
        body = PythonLines()
        digits = [entry for entry in digits_by_stride(self.operand) if entry[2].size != ONE]
        lowest = 0
        if not self.functions.sizes:
            lowest = sum([value.number for value in self.operand.offset])
            lowest += sum([(x.size.number - 1) * x.stride.number for _, _, x in digits if x.stride.number < 0])
        tests = ["(offset >= 0)"]
        if self.operand.swizzle is not None:
            body.add(1, f"rest = {swizzled_text('offset', self.operand.swizzle)}")
            if lowest:
                body.add(1, f"rest = rest - {lowest}")
        else:
            body.add(1, f"rest = offset - {lowest}" if lowest else "rest = offset")
        if lowest:
            tests.append("(rest >= 0)")
            body.add(1, "held = (offset >= 0) & (rest >= 0)")
        else:
            body.add(1, "held = offset >= 0")
        parts: dict[int, list[str]] = {}
        above: Monomial | None = None
        for d, k, digit in digits:
            stride = digit.stride * -1 if digit.stride.number < 0 else digit.stride
            name = f"i{d}_{k}"
            body.add(1, f"{name} = {'rest' if stride == ONE else f'rest // {factor_text(stride)}'}")
            if above != stride * digit.size:
                body.add(1, f"held = held & ({name} < {value_text(digit.size)})")
            if stride != ONE:
                body.add(1, f"rest = rest % {factor_text(stride)}")
            above = stride
            value = f"({value_text(digit.size)} - 1 - {name})" if digit.stride.number < 0 else name
            parts.setdefault(d, []).append(product_text([value, value_text(digit.place)]))
        if above != ONE:
            body.add(1, "held = held & (rest == 0)")
        for d, extent in enumerate(self.functions.extents):
            origin = self.operand.origins[d]
            terms = [*parts.get(d, ["0 * offset"]), *([str(-origin)] if origin else [])]
            body.statement(1, f"i{d} = ", sum_of(terms))
            whole = product_of([digit.size for digit in self.operand.dims[d]]) == extent
            if origin:
                body.add(1, f"held = held & (i{d} >= 0)")
            if not whole:
                body.add(1, f"held = held & (i{d} < {value_text(extent)})")
        body.statement(1, "return ", ", ".join([*self.arguments, "held"]))
        about = "The coordinate of the element at a place, and whether there is one."
        return self._function("coordinate", ["offset"], about, ["offset is a number or an array."], body)

    def each(self) -> str:
        body = PythonLines()
        storage = value_text(self.operand.storage)
        arange = self.library.arange(storage, "")
        body.add(1, f"offset = {arange}")
        found = [*self.arguments, "held"]
        arguments = ", ".join(["offset", *self.functions.sizes])
        body.statement(
            1, f"{', '.join(found)} = " if self.arguments else "(held,) = ", f"{self.name}_coordinate({arguments})"
        )
        results = [f"{x}[held]" for x in ("offset", *self.arguments)]
        body.statement(1, "return ", ", ".join(results))
        return self._function("each", [], "All places in the order of memory, and their coordinates.", [], body)

    def _function(self, kind: str, arguments: list[str], about: str, more: list[str], body: PythonLines) -> str:
        """A function with the names that its body uses."""
        head = PythonLines()
        head.statement(0, "def ", Bracketed(f"{self.name}_{kind}(", (*arguments, *self.functions.sizes), ")"), ":")
        head.docstring(1, about.replace('"', "'"), [line.replace('"', "'") for line in more])
        used, needed = "\n".join(body.lines), []
        for definition in self.functions.definitions[::-1]:
            if re.search(rf"\b{definition.name}\b", used):
                needed.append(definition)
                used += "\n" + definition_text(definition)
        for definition in needed[::-1]:
            head.add(1, f"{definition.name} = {definition_text(definition)}")
        return "\n".join([*head.lines, *body.lines])
