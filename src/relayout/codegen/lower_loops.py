"""The loops of a nest as statements, with their bounds and titles; what a step does is for others to say."""

from __future__ import annotations

from abc import ABC, abstractmethod

from .loop_nest import LoopNest, NestLevel
from .lower_helpers import extreme_function
from .lower_places import PlaceNames
from .statements import (
    INDEX,
    Binary,
    Call,
    Expression,
    For,
    Let,
    Name,
    Number,
    Routine,
    Statement,
    Unary,
    product,
    total,
)
from .values import ONE, Definition, Monomial

Bounds = tuple[Expression, Expression]


class LoopLowering(ABC):
    """The statements of one nest, in the function ``owner``."""

    def __init__(self, owner: str, nest: LoopNest, definitions: tuple[Definition, ...]) -> None:
        self.owner = owner
        self.nest = nest
        self.helpers: set[str] = set()
        self.places = PlaceNames(nest, definitions, self.minimum)
        self.constants = self.places.constants

    def minimum(self, a: Expression, b: Expression) -> Expression:
        """The smaller of two values."""
        self.helpers.add("min")
        return Call(self.owner, "min", (a, b))

    def tile(self, reads: Bounds, writes: Bounds) -> list[Statement] | None:
        """The last two loops at once; None where they are loops like others."""
        return None

    @abstractmethod
    def innermost(self, level: NestLevel, title: str, start: Expression, end: Expression) -> list[Statement]:
        """The last loop."""

    def around_innermost(self, k: int) -> list[Statement]:
        """What is declared in loop ``k``, before the bounds of those inside it."""
        return self.places.coordinates(k, before=k == len(self.nest.levels) - 1)

    def loops(self) -> list[Statement]:
        """All loops of a nest that has some."""
        bounds: dict[int, Bounds] = {}
        return [*self._bounds_behind(-1, bounds), *self._loop(0, bounds)]

    def extremes(self) -> list[Routine]:
        """The helpers that bounds are computed by."""
        return [extreme_function(self.owner, name) for name in ("min", "max") if name in self.helpers]

    def _loop(self, k: int, bounds: dict[int, Bounds]) -> list[Statement]:
        """Loop ``k`` with all inside it."""
        level = self.nest.levels[k]
        if k == len(self.nest.levels) - 2 and self.nest.tile is not None:
            found = self.tile(bounds[k], bounds[k + 1])
            if found is not None:
                return found
        declared = self.around_innermost(k)
        if k == len(self.nest.levels) - 1:
            return [*declared, *self.innermost(level, self._title(k), *bounds[k])]
        body = [*declared, *self._bounds_behind(k, bounds), *self._loop(k + 1, bounds)]
        return [For(self._title(k), level.name, *bounds[k], tuple(body))]

    def _title(self, k: int) -> str:
        """What the loop runs through, in words."""
        level = self.nest.levels[k]
        title = self.nest.axes[level.axis].axis.title
        others = [x for x in self.nest.levels if x.axis == level.axis and x is not level]
        above = [x.place for x in others if level.place.divides(x.place) and x.place != level.place]
        within = min(above, key=lambda place: (len(place.names), place.number), default=None)
        steps = "" if level.place == ONE else f", in steps of {_words(level.place)}"
        return f"{title}{steps}" if within is None else f"{title}{steps}, within {_words(within)}"

    def _bounds_behind(self, k: int, bounds: dict[int, Bounds]) -> list[Statement]:
        """The bounds of the loops that are known once loop ``k`` is open, -1 standing for the start."""
        found: list[Statement] = []
        for j, level in enumerate(self.nest.levels):
            around = [i for i in range(j) if self.nest.levels[i].axis == level.axis]
            if max(around, default=-1) == k:
                bounds[j] = self._bounds(j, found)
        return found

    def _bounds(self, k: int, found: list[Statement]) -> Bounds:
        """Where the loop starts and ends; what is no name or number is computed in front of it."""
        level = self.nest.levels[k]
        own = self.nest.axes[level.axis]
        count = self.places.count(level)
        base = [product([Name(x.name), self.places.place(x)]) for x in self.nest.around(k)]
        start: Expression = Number(0)
        end = count
        if level.clamped:
            high = self.constants.name(f"{own.axis.name}_size", own.high)
            rest = self._rest(self._left(f"{level.name}_left", high, base, found), level)
            end = self._bound(f"{level.name}_end", "min", count, rest, found)
        if level.raised:
            inside = sum([(x.steps.number - 1) * x.place.number for x in self.nest.inside(k)])
            low = own.low - inside
            if base:
                start = self._rest(total([Number(low), *[Unary("-", x) for x in base]]), level)
                start = self._bound(f"{level.name}_start", "max", Number(0), start, found)
            else:
                start = Number(-(-low // level.place.number))
        return start, end

    def _bound(self, name: str, helper: str, a: Expression, b: Expression, found: list[Statement]) -> Expression:
        self.helpers.add(helper)
        found.append(Let(name, INDEX, Call(self.owner, helper, (a, b))))
        return Name(name)

    def _left(self, name: str, end: Expression, base: list[Expression], found: list[Statement]) -> Expression:
        """What is left up to ``end`` behind the loops around, by a name where these are several."""
        left = total([end, *[Unary("-", x) for x in base]])
        if len(base) < 2:
            return left
        found.append(Let(name, INDEX, left))
        return Name(name)

    def _rest(self, left: Expression, level: NestLevel) -> Expression:
        """So many steps of the loop, rounded up."""
        if level.place == ONE:
            return left
        place = self.places.place(level)
        return Binary("/", total([left, place, Number(-1)]), place)


def no_elements(sizes: tuple[str, ...]) -> Expression:
    """Whether one of the sizes is below 1."""
    found: Expression | None = None
    for name in sizes:
        test = Binary("<", Name(name), Number(1))
        found = test if found is None else Binary("||", found, test)
    return found or Number(0)


def _words(value: Monomial) -> str:
    return " * ".join([*([str(value.number)] if value.number != 1 or not value.names else []), *value.names])
