"""One thread for each place of the target, as statements: which element lies there, and where the source has it.

Kernels go this way: threads that follow each other write neighbours, and padding is written with the elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..elements.types import element
from ..errors import NotExpressible
from ..layout.swizzle import Swizzle
from .index import why_no_inverse
from .loop_nest import LoopNest, NestAxis
from .loops import merge_nest_axes
from .lower_values import NamedValues, value_of
from .operands import OperandDigit
from .program import IndexFunctions, PackFunction
from .statements import (
    INDEX,
    Assign,
    Binary,
    Comment,
    Expression,
    Let,
    Name,
    Number,
    Statement,
    Unary,
    Var,
    product,
    total,
)
from .values import ONE, Monomial, product_of

PLACE, REST = Name("place"), Name("rest")


class Gather(NamedTuple):
    """The names that come first, the steps from ``place`` on, and the conditions under which it has an element.

    ``source`` is where the source has that; None where there are no elements at all. ``size`` counts the places, and
    ``channels`` are the coordinates along the dimensions that have scales of their own.
    """

    constants: tuple[Statement, ...]
    steps: tuple[Statement, ...]
    conditions: tuple[Expression, ...]
    source: Expression | None
    size: Expression
    channels: tuple[Expression, ...]


def gather(function: PackFunction) -> Gather:
    """What one thread computes; refused where no place tells its element."""
    reason = why_no_inverse(function.target, bool(function.sizes))
    if reason:
        raise NotExpressible(
            f"no place of the target tells its element: {reason}.",
            hint="take c or cuda, which go through the elements; or a target whose strides nest",
        )
    channels = [side.axis for side in function.conversion or () if side.axis is not None]
    return _GatherLowering(function, channels).gather()


def coordinate_steps(functions: IndexFunctions) -> Gather:
    """The way from a place to all coordinates of one layout, as ``channels``."""
    kind, nest = element("uint8"), LoopNest((), (), (), (), Monomial(0) in functions.extents)
    alike = functions.operand, functions.operand
    about = functions.name, (), kind, kind, None, functions.extents, functions.sizes, *alike, b"\0", nest
    function = PackFunction(*about, functions.definitions, functions.names, None)
    return _GatherLowering(function, range(len(functions.extents))).gather(reads=False)


class _FoundDigit(NamedTuple):
    """A digit of the target that a thread has found: how many coordinates a step is, how many steps, and its value."""

    place: Monomial
    size: Monomial
    value: Expression


class _GatherLowering:
    def __init__(self, function: PackFunction, channels: Sequence[int]) -> None:
        self.function, self.channels = function, channels
        self.axes, self.first, self.second = merge_nest_axes(
            function.names, function.extents, function.source, function.target, self.channels
        )
        # Axes that run as one have the inner one's digit, with a size of its own.
        for side in (self.first, self.second):
            for k, (own, low) in enumerate(side):
                if len(own) == 1:
                    side[k] = (own[0]._replace(size=self.axes[k].extent),), low
        self.constants = NamedValues(function.definitions)
        self.steps: list[Statement] = []
        self.conditions: list[Expression] = []

    def gather(self, reads: bool = True) -> Gather:
        """All of it; without ``reads`` the source's place is left out."""
        size = value_of(self.function.target.storage)
        if self.function.nest.empty:
            return Gather((), (), (), None, size, ())
        held, terms = self._read_digits(), list[Expression]()
        for k, axis in enumerate(self.axes):
            terms += self._source_terms(k, axis, held[k])
        channels = tuple([self._channel(self.function.names[d], held) for d in self.channels])
        constant = sum([value.number for value in self.function.source.offset if value.known])
        terms += [value_of(value) for value in self.function.source.offset if not value.known]
        source = total([*terms, *[Number(constant)] * bool(constant)])
        if self.function.source.swizzle is not None:
            self.steps.append(Let("plain", INDEX, source))
            source = swizzle_place(Name("plain"), self.function.source.swizzle)
        used = [*self.steps, *[Let("", INDEX, x) for x in (*self.conditions, *[source] * reads, size, *channels)]]
        constants = self.constants.statements(used)
        return Gather(tuple(constants), tuple(self.steps), tuple(self.conditions), source, size, channels)

    # ---- from the place to the digits of the target --------------------------------------------------------

    def _read_digits(self) -> list[list[_FoundDigit]]:
        """The digits of every axis, read off the place, the slowest first."""
        target, held = self.function.target, [list[_FoundDigit]() for _ in self.axes]
        found = [(k, j, digit) for k, (own, _) in enumerate(self.second) for j, digit in enumerate(own)]
        digits = sorted([entry for entry in found if entry[2].size != ONE], key=lambda entry: entry[2].slowness)
        lowest = self._lowest([digit for _, _, digit in digits])
        rest = PLACE
        if target.swizzle is not None:
            rest = Name("unswizzled")
            self.steps.append(Let(rest.name, INDEX, swizzle_place(PLACE, target.swizzle)))
        if lowest:
            self.conditions.append(Binary(">=", rest, Number(lowest)))
            self.steps.append(Var("rest", INDEX, Binary("-", rest, Number(lowest))))
            rest = REST
        # A place below the number of all places bounds the slowest digit.
        above = None if lowest or target.swizzle is not None else target.storage
        for k, j, digit in digits:
            backwards, several = digit.stride.number < 0, len(self.second[k][0]) > 1
            own = digit.stride * -1 if backwards else digit.stride
            name = self.axes[k].name
            variable = Name(f"{name}_{j}" if several or backwards or self.second[k][1] else name)
            stride = self.constants.name(f"dst_{variable.name}", own)
            self.steps.append(Comment(self._title(k, j)))
            self.steps.append(Let(variable.name, INDEX, rest if own == ONE else Binary("/", rest, stride)))
            bounded = j == len(self.second[k][0]) - 1 and not backwards and self._bounds_coordinate(k)
            if above != own * digit.size and not bounded:
                self.conditions.append(Binary("<", variable, value_of(digit.size)))
            if own != ONE:
                left = Binary("-", rest, Binary("*", variable, stride))
                self.steps.append(Assign(REST, left) if rest == REST else Var("rest", INDEX, left))
                rest = REST
            above = own
            end = [Number(digit.size.number - 1)] if digit.size.known else [value_of(digit.size), Number(-1)]
            value = total([*end, Unary("-", variable)]) if backwards else variable
            held[k].append(_FoundDigit(digit.place, digit.size, value))
        if above != ONE:
            self.conditions.append(Binary("==", rest, Number(0)))
        return held

    def _bounds_coordinate(self, k: int) -> bool:
        """Whether an axis's coordinate is compared with its extent: some positions of its digits are no element's."""
        digits, start = self.second[k]
        return bool(start) or product_of([digit.size for digit in digits]) != self.axes[k].extent

    def _lowest(self, digits: list[OperandDigit]) -> int:
        """The lowest place of an element, where that is known before a run."""
        if self.function.sizes:
            return 0
        lowest = sum([value.number for value in self.function.target.offset])
        return lowest + sum([(x.size.number - 1) * x.stride.number for x in digits if x.stride.number < 0])

    def _title(self, k: int, j: int) -> str:
        """The axis that a digit is of, in words."""
        title, digits = self.axes[k].title, self.second[k][0]
        places = [" * ".join([str(x.place.number)] * (x.place.number != 1) + [*x.place.names]) or "1" for x in digits]
        steps = "" if digits[j].place == ONE else f", in steps of {places[j]}"
        return f"{title}{steps}" if j == len(digits) - 1 else f"{title}{steps}, within {places[j + 1]}"

    # ---- from the digits to the place in the source --------------------------------------------------------

    def _source_terms(self, k: int, axis: NestAxis, held: list[_FoundDigit]) -> list[Expression]:
        """What an axis adds to the place in the source; the coordinate is computed where something needs it."""
        (own, low), (_, start) = self.first[k], self.second[k]
        coordinate = _coordinate(held, start)
        if start:
            self.conditions.append(Binary(">=", self._axis_name(axis, coordinate), Number(0)))
        if self._bounds_coordinate(k):
            self.conditions.append(Binary("<", self._axis_name(axis, coordinate), value_of(axis.extent)))
        terms = list[Expression]()
        for j, digit in enumerate(own):
            if digit.stride.number == 0:
                continue
            last = j == len(own) - 1
            value = _same_digits(digit, last, held) if low == start else None
            if value is None:
                value = total([self._axis_name(axis, coordinate), *[Number(low)] * bool(low)])
                value = value if digit.place == ONE else Binary("/", value, value_of(digit.place))
                value = value if last else Binary("%", value, value_of(digit.size))
            backwards = digit.stride.number < 0
            name = f"src_{axis.name}_{j}" if len(own) > 1 else f"src_{axis.name}"
            factor = self.constants.name(name, digit.stride * -1 if backwards else digit.stride)
            term = product([value, factor])
            terms.append(Unary("-", term) if backwards else term)
        return terms

    def _channel(self, name: str, held: list[list[_FoundDigit]]) -> Expression:
        """The coordinate along a dimension; one of a single step has no axis."""
        for k, axis in enumerate(self.axes):
            if axis.name == name:
                return self._axis_name(axis, _coordinate(held[k], self.second[k][1]))
        return Number(0)

    def _axis_name(self, axis: NestAxis, coordinate: Expression) -> Expression:
        """The coordinate by the axis's name, which is given to it where it is a sum."""
        if coordinate == Name(axis.name) or isinstance(coordinate, Number):
            return coordinate
        if not any(isinstance(step, Let) and step.name == axis.name for step in self.steps):
            self.steps.append(Let(axis.name, INDEX, coordinate))
        return Name(axis.name)


def _coordinate(held: list[_FoundDigit], start: int) -> Expression:
    parts = sorted(held, key=lambda x: (len(x.place.names), x.place.number), reverse=True)
    terms = [product([x.value, value_of(x.place)]) for x in parts]
    return total([*terms, *[Number(-start)] * bool(start)])


def _same_digits(digit: OperandDigit, last: bool, held: list[_FoundDigit]) -> Expression | None:
    """A digit of the source as a sum of digits of the target, where both are cut at its ends; None where not."""
    end = digit.place * digit.size
    inside = [x for x in held if digit.place.divides(x.place) and (last or not end.divides(x.place))]
    below = [x for x in held if x not in inside and not end.divides(x.place)]
    if any(not (x.place * x.size).divides(digit.place) for x in below):
        return None
    if not last and any(not (x.place * x.size).divides(end) for x in inside):
        return None
    if len(inside) > 1 and last and digit.place == ONE:
        return None
    terms = [product([x.value, value_of(x.place.over(digit.place))]) for x in inside]
    return total(terms[::-1])


def swizzle_place(place: Name, swizzle: Swizzle) -> Expression:
    """A place under a swizzle, which is its own inverse."""
    read = Binary("&", place, Number(swizzle.source_mask, mask=True))
    return Binary("^", place, Binary(">>" if swizzle.shift >= 0 else "<<", read, Number(abs(swizzle.shift))))
