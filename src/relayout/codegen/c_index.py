"""The functions of one layout in C: the place of a coordinate, the coordinate of a place, all in memory's order."""

from __future__ import annotations

import re

from .c_helpers import definition_text, factor_text, swizzle_text
from .c_lines import CLines, function_text, product_text, sum_text, value_text
from .index import digits_by_stride
from .program import IndexFunctions
from .values import ONE, Monomial, product_of


class IndexWriter:
    """The text of the functions of one layout."""

    def __init__(self, functions: IndexFunctions) -> None:
        self.functions = functions
        self.name = functions.name
        self.operand = functions.operand
        self.arguments = [f"i{d}" for d in range(len(functions.names))]
        self.sizes = [f"int64_t {n}" for n in functions.sizes]

    def text(self) -> str:
        """All functions; in place of those that the layout has not, the reason."""
        parts = ["#include <stdint.h>", *self._swizzle(), self._offset()]
        if self.functions.no_inverse:
            parts.append(f"// No place tells its coordinate:\n// {self.functions.no_inverse}.")
        else:
            parts += [self._coordinate(), self._each()]
        return "\n\n".join(parts) + "\n"

    def _swizzle(self) -> list[str]:
        swizzle = self.operand.swizzle
        return [] if swizzle is None else [swizzle_text(f"{self.name}_swizzle", swizzle)]

    def _with_constants(self, opening: str, arguments: list[str], body: CLines, comment: list[str]) -> str:
        """A function with the names that its body uses."""
        head = CLines()
        head.add_list(opening, arguments or ["void"], ") {")
        used, kept = "\n".join(body.lines), CLines()
        needed = []
        for definition in self.functions.definitions[::-1]:
            if re.search(rf"\b{definition.name}\b", used):
                needed.append(definition)
                used += "\n" + definition_text(definition)
        for definition in needed[::-1]:
            kept.add(1, f"const int64_t {definition.name} = {definition_text(definition)};")
        given = re.findall(r"int64_t \*?(\w+)$", "\n".join(arguments), re.MULTILINE)
        unused = [f"  (void){n};" for n in given if not re.search(rf"\b{n}\b", used)]
        notes = CLines()
        for line in comment:
            notes.add(0, f"// {line}")
        return "\n".join([*notes.lines, function_text(head.lines, [*unused, *kept.lines, *body.lines])])

    def _offset(self) -> str:
        body = CLines()
        terms = []
        for d, digits in enumerate(self.operand.dims):
            origin = self.operand.origins[d]
            position = f"(i{d} + {origin})" if origin else f"i{d}"
            for k, digit in enumerate(digits):
                text = position if digit.place == ONE else f"{position} / {factor_text(digit.place)}"
                if k < len(digits) - 1:
                    text += f" % {factor_text(digit.size)}"
                sign = "-" if digit.stride.number < 0 else ""
                stride = digit.stride * -1 if sign else digit.stride
                if stride != Monomial(0):
                    terms.append(sign + product_text([text, value_text(stride)]))
        constant = sum([value.number for value in self.operand.offset if value.known])
        terms += [value_text(value) for value in self.operand.offset if not value.known]
        terms += [str(constant)] if constant else []
        total = sum_text(terms)
        if self.operand.swizzle is not None:
            total = f"{self.name}_swizzle({total})"
        body.add(1, f"return {total};")
        arguments = [f"int64_t {i}" for i in self.arguments] + self.sizes
        comment = [f"The place of an element of {self.functions.title}, in elements."]
        return self._with_constants(f"int64_t {self.name}_offset(", arguments, body, [*comment, *self._axes()])

    def _axes(self) -> list[str]:
        """Which axis an argument is, where axes have names."""
        pairs = [f"{i} is {name}" for i, name in zip(self.arguments, self.functions.names) if i != name]
        return [f"{', '.join(pairs)}."] if pairs else []

    def _coordinate(self) -> str:
        body = CLines()
        self._return_without_sizes(body, "return 0;")
        body.add(1, "if (offset < 0)")
        body.add(2, "return 0;")
        digits = [entry for entry in digits_by_stride(self.operand) if entry[2].size != ONE]
        lowest = 0
        if not self.functions.sizes:
            lowest = sum([value.number for value in self.operand.offset])
            lowest += sum([(x.size.number - 1) * x.stride.number for _, _, x in digits if x.stride.number < 0])
        place = f"{self.name}_swizzle(offset)" if self.operand.swizzle is not None else "offset"
        body.add(1, f"int64_t rest = {sum_text([place, *([str(-lowest)] if lowest else [])])};")
        if lowest > 0:
            body.add(1, "if (rest < 0)")
            body.add(2, "return 0;")
        parts: dict[int, list[str]] = {}
        above: Monomial | None = None
        for d, k, digit in digits:
            stride = digit.stride * -1 if digit.stride.number < 0 else digit.stride
            single = len(self.operand.dims[d]) == 1 and digit.stride.number > 0 and not self.operand.origins[d]
            name = f"*i{d}" if single else f"{self.functions.names[d]}_{k}"
            found = "rest" if stride == ONE else f"rest / {factor_text(stride)}"
            body.add(1, f"{'' if single else 'const int64_t '}{name} = {found};")
            if above != stride * digit.size:
                body.add(1, f"if ({name} >= {value_text(digit.size)})")
                body.add(2, "return 0;")
            if stride != ONE:
                body.add(1, f"rest %= {value_text(stride)};")
            above = stride
            value = f"({value_text(digit.size)} - 1 - {name})" if digit.stride.number < 0 else name
            if not single:
                parts.setdefault(d, []).append(product_text([value, value_text(digit.place)]))
        if above != ONE:
            body.add(1, "if (rest)")
            body.add(2, "return 0;")
        ends = []
        for d, extent in enumerate(self.functions.extents):
            origin, own = self.operand.origins[d], self.operand.dims[d]
            if d in parts or not any(digit.size != ONE for digit in own):
                terms = [*parts.get(d, ["0"]), *([str(-origin)] if origin else [])]
                body.add(1, f"*i{d} = {sum_text(terms)};")
            whole = product_of([digit.size for digit in own]) == extent
            ends += [f"*i{d} >= 0"] * bool(origin) + [f"*i{d} < {value_text(extent)}"] * (not whole)
        body.add(1, f"return {' && '.join(ends) or '1'};")
        arguments = ["int64_t offset", *[f"int64_t *{i}" for i in self.arguments], *self.sizes]
        comment = ["Tells the coordinate of the element at a place; returns 0 where there is none."]
        return self._with_constants(f"int {self.name}_coordinate(", arguments, body, comment)

    def _return_without_sizes(self, body: CLines, text: str) -> None:
        if self.functions.sizes:
            body.add(1, f"if ({' || '.join([f'{n} < 1' for n in self.functions.sizes])})")
            body.add(2, text)

    def _each(self) -> str:
        """The walk through memory."""
        kind = CLines()
        coordinate = [f"int64_t {i}" for i in self.arguments]
        kind.add_list(f"typedef void {self.name}_visitor(", ["int64_t offset", *coordinate, "void *context"], ");")
        found = ", ".join(["offset", *[f"&{i}" for i in self.arguments], *self.functions.sizes])
        body = CLines()
        self._return_without_sizes(body, "return;")
        if self.arguments:
            body.add(1, f"int64_t {', '.join(self.arguments)};")
        end = value_text(self.operand.storage)
        if " " in end or end.isdigit():
            body.add(1, f"const int64_t storage_size = {end};")
            end = "storage_size"
        body.add(1, f"for (int64_t offset = 0; offset < {end}; ++offset) {{")
        body.add(2, f"if ({self.name}_coordinate({found}))")
        body.add(3, f"visit({', '.join(['offset', *self.arguments, 'context'])});")
        body.add(1, "}")
        arguments = [f"{self.name}_visitor *visit", "void *context", *self.sizes]
        comment = ["Visits every element in the order of memory."]
        text = self._with_constants(f"void {self.name}_each(", arguments, body, comment)
        return "\n".join(kind.lines) + "\n\n" + text


def write_index(functions: IndexFunctions) -> str:
    """The functions of one layout under the header that they need."""
    return IndexWriter(functions).text()
