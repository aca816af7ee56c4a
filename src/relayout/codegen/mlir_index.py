"""The functions of one layout in MLIR: the place of a coordinate, and the coordinate of a place."""

from __future__ import annotations

from collections.abc import Sequence

from ..layout.swizzle import Swizzle
from .index import digits_by_stride
from .mlir_lines import MlirBody
from .operands import DigitOperand
from .program import IndexFunctions
from .values import ONE, Monomial, product_of


def write_index(functions: IndexFunctions) -> str:
    """The functions of one layout; in place of the one that it has not, the reason."""
    parts = [_offset(functions)]
    if functions.no_inverse:
        parts.append(f"// No place tells its coordinate:\n// {functions.no_inverse}.")
    else:
        parts.append(_coordinate(functions))
    return "\n\n".join(parts) + "\n"


def _function(name: str, arguments: list[str], results: list[str], body: MlirBody, about: list[str]) -> str:
    told = f"({', '.join(results)})" if len(results) != 1 else results[0]
    head = [f"// {line}" for line in about]
    return "\n".join([*head, f"func.func @{name}({', '.join(arguments)}) -> {told} {{", *body.lines, "}"])


def _offset(functions: IndexFunctions) -> str:
    body = MlirBody(functions.definitions)
    operand = functions.operand
    total = (
        _sum(body, functions)
        if functions.sizes
        else affine_place(body, operand, [f"%i{d}" for d in range(len(operand.dims))])
    )
    if operand.swizzle is not None:
        total = _swizzle(body, total, operand.swizzle)
    body.line(f"return {total} : index")
    arguments = [f"%i{d}: index" for d in range(len(operand.dims))] + [f"%{n}: index" for n in functions.sizes]
    pairs = [f"i{d} is {name}" for d, name in enumerate(functions.names) if f"i{d}" != name]
    about = [
        f"The place of an element of {functions.title}, in elements.",
        *([f"{', '.join(pairs)}."] if pairs else []),
    ]
    return _function(f"{functions.name}_offset", arguments, ["index"], body, about)


def affine_place(body: MlirBody, operand: DigitOperand, coordinates: Sequence[str]) -> str:
    """The place by one map, where all sizes are known."""
    terms = []
    for d, digits in enumerate(operand.dims):
        origin = operand.origins[d]
        position = f"(d{d} + {origin})" if origin else f"d{d}"
        for k, digit in enumerate(digits):
            text = position if digit.place == ONE else f"{position} floordiv {digit.place.number}"
            text += f" mod {digit.size.number}" if k < len(digits) - 1 else ""
            step = digit.stride.number
            if step:
                terms.append(text if step == 1 else f"({text}) * {step}" if " " in text else f"{text} * {step}")
    terms += [str(value.number) for value in operand.offset]
    dims = ", ".join([f"d{d}" for d in range(len(operand.dims))])
    return body.add(f"affine.apply affine_map<({dims}) -> ({' + '.join(terms) or '0'})>({', '.join(coordinates)})")


def _sum(body: MlirBody, functions: IndexFunctions) -> str:
    """The place by arithmetic: products of sizes are not affine."""
    operand = functions.operand
    terms = []
    for d, digits in enumerate(operand.dims):
        position = f"%i{d}"
        if operand.origins[d]:
            position = _binary(body, "addi", position, Monomial(operand.origins[d]))
        for k, digit in enumerate(digits):
            value = position if digit.place == ONE else _binary(body, "divui", position, digit.place)
            if k < len(digits) - 1:
                value = _binary(body, "remui", value, digit.size)
            terms.append(value if digit.stride == ONE else _binary(body, "muli", value, digit.stride))
    terms += [body.index(value) for value in operand.offset]
    total = terms[0] if terms else body.constant("0")
    for term in terms[1:]:
        total = body.add(f"arith.addi {total}, {term} : index")
    return total


def _binary(body: MlirBody, name: str, a: str, b: Monomial) -> str:
    return body.add(f"arith.{name} {a}, {body.index(b)} : index")


def _swizzle(body: MlirBody, place: str, swizzle: Swizzle) -> str:
    mask, shift = body.constant(str(swizzle.source_mask)), body.constant(str(abs(swizzle.shift)))
    read = body.add(f"arith.andi {place}, {mask} : index")
    moved = body.add(f"arith.{'shrui' if swizzle.shift >= 0 else 'shli'} {read}, {shift} : index")
    return body.add(f"arith.xori {place}, {moved} : index")


def _coordinate(functions: IndexFunctions) -> str:
    """The digits are read off the place, the slowest first; each must be below its size."""
    body = MlirBody(functions.definitions)
    operand = functions.operand
    digits = [entry for entry in digits_by_stride(operand) if entry[2].size != ONE]
    lowest = 0
    if not functions.sizes:
        lowest = sum([value.number for value in operand.offset])
        lowest += sum([(x.size.number - 1) * x.stride.number for _, _, x in digits if x.stride.number < 0])
    rest = "%offset" if operand.swizzle is None else _swizzle(body, "%offset", operand.swizzle)
    zero = body.constant("0")
    tests = [body.add(f"arith.cmpi sge, %offset, {zero} : index")]
    if lowest:
        rest = _binary(body, "subi", rest, Monomial(lowest))
        tests.append(body.add(f"arith.cmpi sge, {rest}, {zero} : index"))
    parts: dict[int, list[str]] = {}
    above: Monomial | None = None
    for d, _, digit in digits:
        backwards = digit.stride.number < 0
        stride = digit.stride * -1 if backwards else digit.stride
        value = rest if stride == ONE else _binary(body, "divui", rest, stride)
        if above != stride * digit.size:
            tests.append(body.add(f"arith.cmpi slt, {value}, {body.index(digit.size)} : index"))
        if stride != ONE:
            rest = _binary(body, "remui", rest, stride)
        above = stride
        if backwards:
            last = _binary(body, "subi", body.index(digit.size), ONE)
            value = body.add(f"arith.subi {last}, {value} : index")
        parts.setdefault(d, []).append(value if digit.place == ONE else _binary(body, "muli", value, digit.place))
    if above != ONE:
        tests.append(body.add(f"arith.cmpi eq, {rest}, {zero} : index"))
    found = []
    for d, extent in enumerate(functions.extents):
        terms = parts.get(d, [zero])
        total = terms[0]
        for term in terms[1:]:
            total = body.add(f"arith.addi {total}, {term} : index")
        if operand.origins[d]:
            total = _binary(body, "subi", total, Monomial(operand.origins[d]))
            tests.append(body.add(f"arith.cmpi sge, {total}, {zero} : index"))
        if product_of([digit.size for digit in operand.dims[d]]) != extent:
            tests.append(body.add(f"arith.cmpi slt, {total}, {body.index(extent)} : index"))
        found.append(total)
    held = tests[0]
    for test in tests[1:]:
        held = body.add(f"arith.andi {held}, {test} : i1")
    kinds = ["index"] * len(found) + ["i1"]
    body.line(f"return {', '.join([*found, held])} : {', '.join(kinds)}")
    arguments = ["%offset: index", *[f"%{n}: index" for n in functions.sizes]]
    about = ["The coordinate of the element at a place, and whether there is one."]
    return _function(f"{functions.name}_coordinate", arguments, kinds, body, about)
