"""Sizes, strides and what is computed from them as expressions, and the names that a function gives them first."""

from __future__ import annotations

from collections.abc import Sequence

from .statements import (
    INDEX,
    Binary,
    Comment,
    Expression,
    Let,
    Name,
    Number,
    Statement,
    Unary,
    names_in,
    product,
    total,
)
from .values import Definition, Monomial


def value_of(value: Monomial) -> Expression:
    """A product as one writes it."""
    names: list[Expression] = [Name(name) for name in value.names]
    if not names:
        return Number(value.number)
    if value.number < 0:
        return Unary("-", value_of(value * -1))
    return product([Number(value.number), *names])


def definition_of(definition: Definition) -> Expression:
    """A quotient that is rounded up."""
    divisor = value_of(definition.divisor)
    more = [Number(divisor.value - 1)] if isinstance(divisor, Number) else [divisor, Number(-1)]
    count = Binary("/", total([value_of(definition.value), *more]), divisor)
    return Binary("*", count, divisor) if definition.whole else count


class NamedValues:
    """The constants of one function: block sizes, counts, strides, each with a name of its own."""

    def __init__(self, definitions: Sequence[Definition]) -> None:
        self.definitions = definitions
        self.found: dict[str, Monomial] = {}

    def name(self, name: str, value: Monomial) -> Expression:
        """A name for a value; what is 1, or has a name of its own, keeps that."""
        if value.number == 1 and len(value.names) < 2:
            return Name(value.names[0]) if value.names else Number(1)
        taken = {d.name for d in self.definitions} | {n for n, v in self.found.items() if v != value}
        while name in taken:
            name += "_"
        self.found[name] = value
        return Name(name)

    def statements(self, body: Sequence[Statement]) -> list[Statement]:
        """The definitions of the names that a body uses: blocks and sizes, then strides."""
        plain = {name: value for name, value in self.found.items() if name == "dst_size" or name[:4] not in SIDES}
        known = {name: value for name, value in plain.items() if value.known and name != "dst_size"}
        strides = {name: value for name, value in self.found.items() if name not in plain}
        named: list[tuple[str, Expression]] = [(name, value_of(value)) for name, value in known.items()]
        named += [(d.name, definition_of(d)) for d in self.definitions]
        named += [(name, value_of(value)) for name, value in plain.items() if name not in known]
        named += [(name, value_of(value)) for name, value in strides.items()]
        used, kept = names_in(tuple(body)), []
        for name, value in named[::-1]:
            if name in used:
                kept.append(Let(name, INDEX, value))
                used |= names_in(value)
        found: list[Statement] = []
        for let in kept[::-1]:
            if let.name in strides and not any(isinstance(x, Comment) for x in found):
                found.append(Comment("Strides, in elements"))
            found.append(let)
        return found


SIDES = ("src_", "dst_")
