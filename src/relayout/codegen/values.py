"""Sizes and strides that may be known only when the generated code runs: products of a number and of names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Monomial(NamedTuple):
    """``number`` times all ``names``; one without names is known."""

    number: int
    names: tuple[str, ...] = ()

    def __mul__(self, other: object) -> Monomial:
        other = as_monomial(other)
        return Monomial(self.number * other.number, tuple(sorted(self.names + other.names)) if self.number else ())

    @property
    def known(self) -> bool:
        return not self.names

    def divides(self, other: Monomial) -> bool:
        """Whether it divides the other whatever the names stand for, as far as the factors tell."""
        rest = list(other.names)
        for name in self.names:
            if name not in rest:
                return False
            rest.remove(name)
        return self.number != 0 and other.number % self.number == 0

    def over(self, other: Monomial) -> Monomial:
        """The quotient by a value that divides it."""
        rest = list(self.names)
        for name in other.names:
            rest.remove(name)
        return Monomial(self.number // other.number, tuple(rest))


ONE = Monomial(1)


def as_monomial(x: object) -> Monomial:
    """A number as a value."""
    return x if isinstance(x, Monomial) else Monomial(x)  # type: ignore[arg-type]


def product_of(values: Iterable[Monomial]) -> Monomial:
    total = ONE
    for value in values:
        total *= value
    return total


class Definition(NamedTuple):
    """A name for ``value`` over ``divisor``, rounded up; with ``whole`` times the divisor again."""

    name: str
    value: Monomial
    divisor: Monomial
    whole: bool = False


class Definitions:
    """The names that the code defines before its loops, each for one value."""

    def __init__(self) -> None:
        self.found: list[Definition] = []

    def quotient(self, value: Monomial, divisor: Monomial, name: str, whole: bool = False) -> Monomial:
        """``value`` over ``divisor``, rounded up; a new name for it where it is neither known nor exact."""
        if divisor.divides(value):
            return value if whole else value.over(divisor)
        if value.known and divisor.known:
            count = -(-value.number // divisor.number)
            return Monomial(count * divisor.number if whole else count)
        for old in self.found:
            if old[1:] == (value, divisor, whole):
                return Monomial(1, (old.name,))
        taken = {old.name for old in self.found}
        unique = next(n for n in (name, *[f"{name}_{k}" for k in range(2, len(taken) + 3)]) if n not in taken)
        self.found.append(Definition(unique, value, divisor, whole))
        return Monomial(1, (unique,))
