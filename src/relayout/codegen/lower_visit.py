"""The walk through one layout's elements, as loops in the order of memory."""

from __future__ import annotations

from .loop_nest import LoopNest, NestLevel
from .lower_loops import LoopLowering
from .lower_values import value_of
from .statements import INDEX, Expression, For, Let, Name, Number, Statement, Visit, total
from .values import Definition


class VisitLowering(LoopLowering):
    """Loops whose steps each call a visitor with the place and the coordinate."""

    def __init__(self, owner: str, nest: LoopNest, definitions: tuple[Definition, ...], names: tuple[str, ...]) -> None:
        super().__init__(owner, nest, definitions)
        self.names = names
        self.visitor = ""

    def statements(self, visitor: str) -> list[Statement]:
        self.visitor = visitor
        if self.nest.empty:
            return []
        return self.loops() if self.nest.levels else self._visit()

    def around_innermost(self, k: int) -> list[Statement]:
        return []

    def innermost(self, level: NestLevel, title: str, start: Expression, end: Expression) -> list[Statement]:
        return [For(title, level.name, start, end, tuple(self._visit()))]

    def _visit(self) -> list[Statement]:
        """The call, behind the coordinates that several loops make."""
        found: list[Statement] = []
        coordinate: list[Expression] = []
        for name in self.names:
            value = self.places.coordinate_of(name)
            if isinstance(value, (Name, Number)):
                coordinate.append(value)
            else:
                found.append(Let(name, INDEX, value))
                coordinate.append(Name(name))
        place = self._place()
        if not isinstance(place, (Name, Number)):
            found.append(Let("offset", INDEX, place))
            place = Name("offset")
        return [*found, Visit(self.visitor, (place, *coordinate))]

    def _place(self) -> Expression:
        terms: list[Expression] = []
        for level in self.nest.levels:
            terms += self.places.term(level.name, f"dst_{level.name}", level.target)
        constant = sum([value.number for value in self.nest.target if value.known])
        terms += [value_of(value) for value in self.nest.target if not value.known]
        return total([*terms, *[Number(constant)] * bool(constant)])
