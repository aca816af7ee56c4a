"""The functions of one layout: the place of a coordinate, the coordinate of a place, all in memory's order."""

from __future__ import annotations

from .index import digits_by_stride
from .lower_helpers import swizzle_function
from .lower_loops import no_elements
from .lower_values import definition_of, value_of
from .lower_visit import VisitLowering
from .operands import OperandDigit
from .program import IndexFunctions
from .statements import (
    BOOL,
    INDEX,
    Assign,
    Binary,
    Call,
    Expression,
    For,
    If,
    Let,
    Name,
    Number,
    Parameter,
    Reference,
    Return,
    Routine,
    Statement,
    Truth,
    Unary,
    Var,
    Visit,
    names_in,
    product,
    total,
)
from .values import ONE, Definition, Monomial, product_of

REST, OFFSET = Name("rest"), Name("offset")
NONE = Return(Truth(False))


def index_module(functions: IndexFunctions) -> list[Routine]:
    """All functions that the layout has."""
    found = []
    if functions.operand.swizzle is not None:
        found.append(swizzle_function(functions.name, "swizzle", functions.operand.swizzle))
    found.append(_offset(functions))
    if not functions.no_inverse:
        found += [_coordinate(functions), *_each(functions)]
    return found


def used_definitions(definitions: tuple[Definition, ...], body: list[Statement]) -> list[Statement]:
    """The names that a body uses."""
    used, needed = names_in(tuple(body)), []
    for definition in definitions[::-1]:
        if definition.name in used:
            value = definition_of(definition)
            needed.append(Let(definition.name, INDEX, value))
            used |= names_in(value)
    return list(needed[::-1])


def _finish(
    functions: IndexFunctions,
    helper: str,
    about: list[str],
    parameters: list[Parameter],
    result: str | None,
    body: list[Statement],
) -> Routine:
    """A function with its sizes and the names that its body uses; without elements it finds none."""
    given = [*parameters, *[Parameter(name, INDEX) for name in functions.sizes]]
    statements = [*used_definitions(functions.definitions, body), *body]
    if functions.sizes and result != INDEX:
        statements.insert(0, If(no_elements(functions.sizes), (Return(Truth(False) if result else None),)))
    return Routine(functions.name, helper, tuple(about), tuple(given), result, tuple(statements))


def _arguments(functions: IndexFunctions) -> list[str]:
    return [f"i{d}" for d in range(len(functions.names))]


def _axes(functions: IndexFunctions) -> list[str]:
    """Which axis an argument is, where axes have names."""
    pairs = [f"{i} is {name}" for i, name in zip(_arguments(functions), functions.names) if i != name]
    return [f"{', '.join(pairs)}."] if pairs else []


def _offset(functions: IndexFunctions) -> Routine:
    operand = functions.operand
    terms: list[Expression] = []
    for d, digits in enumerate(operand.dims):
        position = total([Name(f"i{d}"), *[Number(operand.origins[d])] * bool(operand.origins[d])])
        for k, digit in enumerate(digits):
            term = position if digit.place == ONE else Binary("/", position, value_of(digit.place))
            if k < len(digits) - 1:
                term = Binary("%", term, value_of(digit.size))
            if digit.stride.number < 0:
                terms.append(Unary("-", product([term, value_of(digit.stride * -1)])))
            elif digit.stride != Monomial(0):
                terms.append(product([term, value_of(digit.stride)]))
    constant = sum([value.number for value in operand.offset if value.known])
    terms += [value_of(value) for value in operand.offset if not value.known]
    place = total([*terms, *[Number(constant)] * bool(constant)])
    if operand.swizzle is not None:
        place = Call(functions.name, "swizzle", (place,))
    about = [f"The place of an element of {functions.title}, in elements.", *_axes(functions)]
    parameters = [Parameter(name, INDEX) for name in _arguments(functions)]
    return _finish(functions, "offset", about, parameters, INDEX, [Return(place)])


def _coordinate(functions: IndexFunctions) -> Routine:
    operand = functions.operand
    body: list[Statement] = [If(Binary("<", OFFSET, Number(0)), (NONE,))]
    digits = [entry for entry in digits_by_stride(operand) if entry[2].size != ONE]
    lowest = 0
    if not functions.sizes:
        lowest = sum([value.number for value in operand.offset])
        lowest += sum([(x.size.number - 1) * x.stride.number for _, _, x in digits if x.stride.number < 0])
    place: Expression = OFFSET
    if operand.swizzle is not None:
        place = Call(functions.name, "swizzle", (OFFSET,))
    body.append(Var("rest", INDEX, total([place, *[Number(-lowest)] * bool(lowest)])))
    if lowest > 0:
        body.append(If(Binary("<", REST, Number(0)), (NONE,)))
    parts: dict[int, list[Expression]] = {}
    above: Monomial | None = None
    for d, k, digit in digits:
        stride = digit.stride * -1 if digit.stride.number < 0 else digit.stride
        single = len(operand.dims[d]) == 1 and digit.stride.number > 0 and not operand.origins[d]
        name = f"i{d}" if single else f"{functions.names[d]}_{k}"
        found = REST if stride == ONE else Binary("/", REST, value_of(stride))
        body.append(Assign(Name(name), found) if single else Let(name, INDEX, found))
        if above != stride * digit.size:
            body.append(If(Binary(">=", Name(name), value_of(digit.size)), (NONE,)))
        if stride != ONE:
            body.append(Assign(REST, Binary("%", REST, value_of(stride))))
        above = stride
        if not single:
            parts.setdefault(d, []).append(product([_forwards(name, digit), value_of(digit.place)]))
    if above != ONE:
        body.append(If(Binary("!=", REST, Number(0)), (NONE,)))
    inside: Expression | None = None
    for d, extent in enumerate(functions.extents):
        origin, own = operand.origins[d], operand.dims[d]
        if d in parts or not any(digit.size != ONE for digit in own):
            body.append(Assign(Name(f"i{d}"), total([*parts.get(d, []), *[Number(-origin)] * bool(origin)])))
        whole = product_of([digit.size for digit in own]) == extent
        tests = [Binary(">=", Name(f"i{d}"), Number(0))] * bool(origin)
        tests += [Binary("<", Name(f"i{d}"), value_of(extent))] * (not whole)
        for test in tests:
            inside = test if inside is None else Binary("&&", inside, test)
    body.append(Return(Truth(True) if inside is None else inside))
    about = ["Tells the coordinate of the element at a place; returns 0 where there is none."]
    parameters = [Parameter("offset", INDEX), *[Parameter(i, INDEX, "out") for i in _arguments(functions)]]
    return _finish(functions, "coordinate", about, parameters, BOOL, body)


def _forwards(name: str, digit: OperandDigit) -> Expression:
    """A digit that may count backwards in memory."""
    if digit.stride.number > 0:
        return Name(name)
    return total([value_of(digit.size), Number(-1), Unary("-", Name(name))])


def _each(functions: IndexFunctions) -> list[Routine]:
    """The walk through memory: by loops where they run through it forwards, else place by place."""
    names = _arguments(functions)
    visitor = Parameter("visit", INDEX, "visitor", ("offset", *names))
    about = ["Visits every element in the order of memory."]
    if functions.nest is not None:
        lowering = VisitLowering(functions.name, functions.nest, functions.definitions, functions.names)
        loops = lowering.statements(visitor.name)
        bare = functions._replace(definitions=())
        walk = _finish(bare, "each", about, [visitor], None, [*lowering.constants.statements(loops), *loops])
        return [*lowering.extremes(), walk]
    body: list[Statement] = [Var(name, INDEX, Number(0)) for name in names]
    body.append(Let("storage_size", INDEX, value_of(functions.operand.storage)))
    found = Call(
        functions.name,
        "coordinate",
        (OFFSET, *[Reference(Name(name)) for name in names], *[Name(name) for name in functions.sizes]),
    )
    seen = If(found, (Visit(visitor.name, (OFFSET, *[Name(name) for name in names])),))
    body.append(For("Every place of the memory", "offset", Number(0), Name("storage_size"), (seen,)))
    return [_finish(functions, "each", about, [visitor], None, body)]
