"""The places that the loops of a function go through: coordinates, strides, and sums of both, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .loop_nest import LoopNest, NestLevel
from .lower_values import NamedValues, value_of
from .statements import INDEX, Binary, Expression, Let, Name, Number, Statement, product, total
from .values import ONE, Definition, Monomial

Minimum = Callable[[Expression, Expression], Expression]
"""What makes the smaller of two values."""


def step_of(level: NestLevel, side: str) -> Monomial:
    """What a step of a loop moves one side."""
    return (level.source or Monomial(0)) if side == "src" else level.target


class PlaceNames:
    """The names of one function's blocks, counts, strides and coordinates."""

    def __init__(self, nest: LoopNest, definitions: tuple[Definition, ...], minimum: Minimum) -> None:
        self.nest = nest
        self.constants = NamedValues(definitions)
        self.minimum = minimum

    def count(self, level: NestLevel) -> Expression:
        """How many steps a loop has."""
        own = self.nest.axes[level.axis]
        name = own.axis.name
        if level.steps == own.high and level.place == ONE:
            return self.constants.name(f"{name}_size", level.steps)
        others = [x for x in self._levels(level.axis) if x.place == level.steps]
        if level.place == ONE and others:
            return self.place(others[0])
        top = all(x.place.divides(level.place) for x in self._levels(level.axis)) and level.place != ONE
        return self.constants.name(f"{name}_blocks" if top else f"{level.name}_count", level.steps)

    def place(self, level: NestLevel) -> Expression:
        """How many coordinates a step moves."""
        if level.place == ONE:
            return Number(1)
        name = self.nest.axes[level.axis].axis.name
        several = len([x for x in self._levels(level.axis) if x.place != ONE]) > 1
        return self.constants.name(f"{level.name}_step" if several else f"{name}_block", level.place)

    def _levels(self, axis: int) -> list[NestLevel]:
        return [level for level in self.nest.levels if level.axis == axis]

    def _by_coordinate(self, axis: int, side: str) -> bool:
        """Whether a side moves by one stride along an axis of several loops, so that its coordinate tells the place."""
        levels = self._levels(axis)
        if side == "src" and self.nest.axes[axis].split is not None:
            return False
        if len(levels) < 2 or levels[-1].place != ONE:
            return False
        lowest = step_of(levels[-1], side)
        return all(step_of(level, side) == lowest * level.place for level in levels)

    def _needs_coordinate(self, axis: int) -> bool:
        levels = self._levels(axis)
        if self.nest.axes[axis].split is not None:
            return not (len(levels) == 1 and levels[0].place == ONE)
        return self._by_coordinate(axis, "src") or self._by_coordinate(axis, "dst")

    def coordinates(self, k: int, before: bool) -> list[Statement]:
        """The coordinate of the axis whose last loop this is, where places need it.

        Before the innermost loop it leaves that one out.
        """
        axis = self.nest.levels[k].axis
        if self.nest.inside(k) or (before and self.nest.axes[axis].split is not None):
            return []
        found = self.coordinate(axis, self.nest.levels[-1:] if before else ())
        return found if before else [*found, *self.split(axis)]

    def coordinate(self, axis: int, left_out: Sequence[NestLevel]) -> list[Statement]:
        """The coordinate along an axis, where places need it, without what some loops add."""
        if not self._needs_coordinate(axis):
            return []
        terms = self._coordinate_terms(axis, left_out)
        return [Let(self.nest.axes[axis].axis.name, INDEX, total(terms))]

    def _coordinate_terms(self, axis: int, left_out: Sequence[NestLevel]) -> list[Expression]:
        levels = self._levels(axis)
        terms = [product([Name(level.name), self.place(level)]) for level in levels if level not in left_out]
        tile = self.nest.tile
        if tile is not None and axis in tile.overlapping:
            own = self.nest.axes[axis]
            size, block = self.constants.name(f"{own.axis.name}_size", own.high), self.place(levels[0])
            terms[0] = self.minimum(terms[0], Binary("-", size, block))
        return terms

    def coordinate_of(self, name: str) -> Expression:
        """The coordinate along a dimension that has an axis of its own, or one step only."""
        for k, own in enumerate(self.nest.axes):
            if own.axis.name == name:
                terms = self._coordinate_terms(k, ())
                return total([*terms, *[Number(-own.low)] * bool(own.low)])
        return Number(0)

    def split(self, axis: int) -> list[Statement]:
        """The source's place along an axis that it cuts elsewhere."""
        own = self.nest.axes[axis]
        if own.split is None:
            return []
        position: Expression = Name(own.axis.name if self._needs_coordinate(axis) else self._levels(axis)[0].name)
        if own.shift:
            position = total([position, Number(own.shift)])
        terms = []
        for j, digit in enumerate(own.split):
            term = position if digit.place == ONE else Binary("/", position, value_of(digit.place))
            if j < len(own.split) - 1:
                term = Binary("%", term, value_of(digit.size))
            stride = self.constants.name(f"src_{own.axis.name}_{j}", digit.stride)
            terms.append(product([term, stride]))
        return [Let(f"src_{own.axis.name}", INDEX, total(terms))]

    def terms(self, side: str, innermost: Sequence[NestLevel]) -> list[Expression]:
        """The sum that tells a place, without what the innermost loops add."""
        start = self.nest.source if side == "src" else self.nest.target
        terms: list[Expression] = []
        for axis in dict.fromkeys(level.axis for level in self.nest.levels):
            own = self.nest.axes[axis].axis.name
            if side == "src" and self.nest.axes[axis].split is not None:
                if all(level.axis != axis for level in innermost):
                    terms.append(Name(f"src_{own}"))
            elif self._by_coordinate(axis, side):
                last = self._levels(axis)[-1]
                terms += self.term(own, self.stride_name(last, side), step_of(last, side))
            else:
                levels = [level for level in self._levels(axis) if level not in innermost]
                for level in levels:
                    terms += self.term(level.name, f"{side}_{level.name}", step_of(level, side))
        constant = sum([value.number for value in start if value.known])
        terms += [value_of(value) for value in start if not value.known]
        return [*terms, *[Number(constant)] * bool(constant)]

    def stride_name(self, level: NestLevel, side: str) -> str:
        """What the stride of a loop is called: like its axis where this has one stride."""
        by_axis = self._by_coordinate(level.axis, side)
        return f"{side}_{self.nest.axes[level.axis].axis.name if by_axis else level.name}"

    def term(self, index: str, name: str, stride: Monomial) -> list[Expression]:
        """What an index adds to a place; nothing where its stride is 0."""
        return [] if stride == Monomial(0) else [product([Name(index), self.constants.name(name, stride)])]
