"""A function between two operands as statements: its loops, the places on both sides, and what a step moves."""

from __future__ import annotations

from .element_types import tree_type
from .loop_nest import LoopNest, NestLevel
from .lower_convert import convert_routines
from .lower_fill import fill_statements
from .lower_helpers import packed_function, swizzle_function
from .lower_loops import Bounds, LoopLowering, no_elements
from .lower_places import step_of
from .lower_turn import turn_routines
from .program import PackFunction
from .statements import (
    BOOL,
    INDEX,
    STATUS,
    Assign,
    At,
    Base,
    Binary,
    Call,
    Comment,
    Copy,
    Do,
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
    Unary,
    Var,
    product,
    total,
)
from .tiles import LINE
from .values import ONE, Monomial

SHORT_RUN = 16
"""Neighbours of fewer bytes are copied one by one: a call takes longer."""

SHORT_LOOP = 8
"""Up to so many steps compilers make vectors of several turns of a loop, where the number of steps is known: whole
blocks have a loop of their own.
"""

LONG_RUN = 512
"""Up to so many bytes a copy of a size that the compiler knows is faster: whole blocks have one of their own."""


LARGE = 1 << 23
"""From so many bytes on a target is written past the caches: it would not stay in them until somebody reads it."""


def pack_functions(function: PackFunction, turns: bool, streams: bool) -> list[Routine]:
    """The function, behind the helpers that it calls; with ``turns`` it turns whole tiles by one of them, with
    ``streams`` one of them writes a large target past the caches.
    """
    return PackLowering(function, turns, streams).functions()


class PackLowering(LoopLowering):
    """The statements of one function."""

    def __init__(self, function: PackFunction, turns: bool, streams: bool) -> None:
        storage = function.target.storage
        large = storage.known and storage.number * function.target_element.bits >= 8 * LARGE
        self.function = function
        self.turns = turns
        self.streamed = _streamed_bytes(function, turns) if streams and large else 0
        super().__init__(function.name, self._order_loops(), function.definitions)
        self.converts: list[Routine] = []
        if function.conversion is not None:
            self.converts = convert_routines(self.owner, *function.conversion)
        self.refuses = bool(self.converts) and self.converts[-1].result == BOOL
        self.bits = function.element.bits
        self.target_bits = function.target_element.bits
        self.at_index = self._needs_indices()

    def _order_loops(self) -> LoopNest:
        """The nest, its loops in the order of the source where whole lines of the target are streamed: these need no
        neighbours in the caches.
        """
        nest = self.function.nest
        last = 1 if nest.tile is None else 2
        sources = [x.source.number for x in nest.levels[:-last] if x.source is not None and x.source.known]
        apart = any(x.clamped or x.raised for x in nest.levels) or len(sources) < len(nest.levels) - last
        if self.streamed != LINE or apart:
            return nest
        slowest = sorted(range(len(sources)), key=lambda k: -sources[k])
        return nest._replace(levels=(*[nest.levels[k] for k in slowest], *nest.levels[-last:]))

    # ---- the whole ---------------------------------------------------------------------------------------

    def functions(self) -> list[Routine]:
        body = fill_statements(self.function)
        self.constants.found["dst_size"] = self.function.target.storage
        if self.nest.levels and not self.nest.empty:
            body += self.loops()
        elif not self.nest.empty:
            body += self._move(*[total(self.places.terms(side, ())) for side in ("src", "dst")])
        if "stream" in self.helpers:
            body.append(Do(Call(self.owner, "stream_end", ())))
        done = Number(0, STATUS) if self.refuses else None
        if self.refuses:
            body.append(Return(done))
        head: list[Statement] = []
        if self.function.sizes:
            head.append(If(no_elements(self.function.sizes), (Return(done),)))
        words = [*self.function.about, *["Returns 1 at a value that has no place there, else 0."] * self.refuses]
        parameters = [
            Parameter("src", tree_type(self.function.element), "src"),
            Parameter("dst", tree_type(self.function.target_element), "dst"),
            *[Parameter(name, INDEX) for name in self.function.sizes],
        ]
        statements = (*head, *self.constants.statements(body), *body)
        result = STATUS if self.refuses else None
        own = Routine(self.owner, "", tuple(words), tuple(parameters), result, statements)
        return [*self._helpers(), own]

    def _helpers(self) -> list[Routine]:
        """The small functions that this one calls."""
        found = self.extremes()
        for side, operand in (("src", self.function.source), ("dst", self.function.target)):
            if f"swizzle_{side}" in self.helpers and operand.swizzle is not None:
                found.append(swizzle_function(self.owner, f"swizzle_{side}", operand.swizzle))
        if "tile" in self.helpers and self.nest.tile is not None:
            kind, streams = tree_type(self.function.element), self.streamed
            found += turn_routines(self.owner, kind, self.nest.tile, streams)
        if not self.nest.empty:
            found += self.converts
        for helper, side, bits in (("get", "src", self.bits), ("put", "dst", self.target_bits)):
            if helper in self.helpers:
                found.append(packed_function(self.owner, bits, side))
        return found

    # ---- what a step moves -------------------------------------------------------------------------------

    def _needs_indices(self) -> bool:
        """Whether places are numbers until the last moment: where a pointer could leave the memory, or is none."""
        if min(self.bits, self.target_bits) < 8 or self.function.source.swizzle or self.function.target.swizzle:
            return True
        for k, level in enumerate(self.nest.levels):
            if self.nest.axes[level.axis].low or any(not level.place.divides(x.place) for x in self.nest.around(k)):
                return True
        return False

    def _place(self, side: str, index: Expression) -> Expression:
        operand = self.function.source if side == "src" else self.function.target
        if operand.swizzle is None:
            return index
        self.helpers.add(f"swizzle_{side}")
        return Call(self.owner, f"swizzle_{side}", (index,))

    def _move(self, source: Expression, target: Expression) -> list[Statement]:
        """One element from an index to another."""
        first, second = self._place("src", source), self._place("dst", target)
        value: Expression = At("src", first)
        found: list[Statement] = []
        if self.bits < 8:
            self.helpers.add("get")
            if isinstance(first, Call):
                found.append(Let("place", INDEX, first))
                first = Name("place")
            value = Call(self.owner, "get", (Name("src"), first))
        if self.target_bits >= 8:
            return [*found, *self._store(At("dst", second), value)]
        self.helpers.add("put")
        if self.refuses:
            found += [Var("code", "u32", Number(0, "u32")), *self._store(Name("code"), value)]
            value = Name("code")
        elif self.converts:
            value = Call(self.owner, "convert", (value, *self._channels()))
        return [*found, Do(Call(self.owner, "put", (Name("dst"), second, value)))]

    def _store(self, target: At | Name, source: Expression) -> list[Statement]:
        """One value, converted where it must be; a refused one ends the function."""
        if not self.converts:
            return [Assign(target, source)]
        if self.refuses:
            done = Call(self.owner, "convert", (source, *self._channels(), Reference(target)))
            return [If(Unary("!", done), (Return(Number(1, STATUS)),))]
        return [Assign(target, Call(self.owner, "convert", (source, *self._channels())))]

    def _channels(self) -> list[Expression]:
        """The coordinates along the dimensions that have scales of their own."""
        axes = [x.axis for x in self.function.conversion or () if x.axis is not None]
        return [self.places.coordinate_of(self.function.names[axis]) for axis in axes]

    def _is_copied(self) -> bool:
        """Whether the innermost loop is a run of whole bytes, long enough for a copy of its own."""
        function, level = self.function, self.nest.levels[-1]
        if self.converts or not self.nest.run or self.nest.axes[level.axis].split is not None:
            return False
        if function.source.swizzle or function.target.swizzle:
            return False
        if level.steps.known and level.steps.number * self.bits < 8 * SHORT_RUN:
            return False
        if self.bits >= 8:
            return True
        steps = [step for x in self.nest.levels[:-1] for step in (x.source, x.target)]
        steps += [*self.nest.source, *self.nest.target, level.steps]
        whole = all(step is not None and step.number * self.bits % 8 == 0 for step in steps)
        return whole and level.steps.known and not level.clamped and not level.raised

    def innermost(self, level: NestLevel, title: str, start: Expression, end: Expression) -> list[Statement]:
        """The last loop: a copy of neighbours, or one element after another."""
        if self._is_copied():
            return self._copy(level, title, start, end)
        source, target = total(self.places.terms("src", [level])), total(self.places.terms("dst", [level]))
        split = self.nest.axes[level.axis].split is not None
        found: list[Statement] = []
        places = []
        for label, side, place in (("from", "src", source), ("to", "dst", target)):
            if place != Number(0):
                found.append(Let(label, INDEX, place) if self.at_index else Base(label, side, place))
            step = self.places.term(level.name, self.places.stride_name(level, side), step_of(level, side))
            if side == "src" and split:
                step = [Name(f"src_{self.nest.axes[level.axis].axis.name}")]
            based = self.at_index and place != Number(0)
            places.append(total([*[Name(label)] * based, *step]))
        first, second = "src" if source == Number(0) else "from", "dst" if target == Number(0) else "to"
        move = self._move(*places) if self.at_index else self._store(At(second, places[1]), At(first, places[0]))
        body = [*self.places.coordinate(level.axis, ()), *self.places.split(level.axis)] if split else []
        loop = For(title, level.name, start, end, (*body, *move))
        short = level.steps.known and level.steps.number <= SHORT_LOOP and not self.converts
        if not short or not level.clamped or level.raised:
            return [*found, loop]
        whole = self.places.count(level)
        return [*found, If(Binary("==", end, whole), (loop._replace(end=whole),), (loop._replace(title=""),))]

    def tile(self, columns: Bounds, rows: Bounds) -> list[Statement] | None:
        """A tile turned by a helper; a part of one element by element."""
        if not self.turns or self.nest.tile is None:
            return None
        self.helpers.add("tile")
        if self.streamed:
            self.helpers.add("stream")
        reads, writes = self.nest.levels[-2:]
        found: list[Statement] = []
        for level in (reads, writes):
            found += self.places.coordinate(level.axis, (reads, writes))
        bases = {}
        for label, side in (("from", "src"), ("to", "dst")):
            place = total(self.places.terms(side, (reads, writes)))
            bases[side] = label if place != Number(0) else side
            if place != Number(0):
                found.append(Let(label, INDEX, place) if self.at_index else Base(label, side, place))
        steps = {}
        for side, level in (("src", writes), ("dst", reads)):
            steps[side] = self.constants.name(self.places.stride_name(level, side), step_of(level, side))
        turned = self._turn_tile(bases, steps)
        found.append(Comment(f"A tile of {self._axis_title(reads)} and {self._axis_title(writes)}"))
        tests = [
            Binary("==", end, self.places.count(level))
            for level, (_, end) in ((reads, columns), (writes, rows))
            if level.clamped
        ]
        if not tests:
            return [*found, *turned]
        source = total([product([Name(writes.name), steps["src"]]), Name(reads.name)])
        target = total([product([Name(reads.name), steps["dst"]]), Name(writes.name)])
        if self.at_index:
            base = [[Name(bases[side])] * (bases[side] != side) for side in ("src", "dst")]
            move = self._move(total([*base[0], source]), total([*base[1], target]))
        else:
            move = self._store(At(bases["dst"], target), At(bases["src"], source))
        slow = For("", reads.name, columns[0], columns[1], (For("", writes.name, rows[0], rows[1], tuple(move)),))
        whole = tests[0] if len(tests) == 1 else Binary("&&", *tests)
        return [*found, If(whole, tuple(turned), (slow,))]

    def _turn_tile(self, bases: dict[str, str], steps: dict[str, Expression]) -> list[Statement]:
        """The call that turns a whole tile, which lies in both memories."""
        found: list[Statement] = []
        if self.at_index:
            for label, side in (("first", "src"), ("second", "dst")):
                if bases[side] != side:
                    found.append(Base(label, side, Name(bases[side])))
                    bases = bases | {side: label}
        whole = self.nest.tile.whole if self.nest.tile is not None else (False, False)
        arguments: list[Expression] = []
        for side, run in zip(("src", "dst"), whole):
            arguments += [Name(bases[side]), *([] if run else [steps[side]])]
        return [*found, Do(Call(self.owner, "tile", tuple(arguments)))]

    def _axis_title(self, level: NestLevel) -> str:
        return self.nest.axes[level.axis].axis.title

    def _copy(self, level: NestLevel, title: str, start: Expression, end: Expression) -> list[Statement]:
        """The innermost loop as a copy of neighbours."""
        more = [] if start == Number(0) else [start]
        count = end if start == Number(0) else Binary("-", end, start)
        found: list[Statement] = []
        note = Comment(f"{title}: neighbours on both sides")
        sides = (("from", "src"), ("to", "dst"))
        bases = {}
        for label, side in sides:
            place = total([*self.places.terms(side, [level]), *more])
            bases[side] = side if place == Number(0) and not self.at_index else label
            if bases[side] == label:
                found.append(Let(label, INDEX, place) if self.at_index else Base(label, side, place))
        if self.at_index:
            target, source = At("dst", self._bytes(Name("to"))), At("src", self._bytes(Name("from")))
            return [*found, note, Copy(target, source, self._bytes(count))]
        target, source = At(bases["dst"], Number(0)), At(bases["src"], Number(0))
        copy: Copy | If = Copy(target, source, count)
        if self.streamed:
            self.helpers.add("stream")
            return [*found, note, Copy(target, source, count, streams=self.streamed)]
        if (
            isinstance(copy, Copy)
            and level.clamped
            and level.steps.known
            and level.steps.number * self.bits <= 8 * LONG_RUN
        ):
            whole = self.places.count(level)
            copy = If(Binary("==", count, whole), (Copy(target, source, whole),), (self._rest_copy(level, copy),))
        return [*found, note, copy]

    def _rest_copy(self, level: NestLevel, copy: Copy) -> Statement:
        """The copy of a last part, of a size that is known where all sizes are."""
        own, around = self.nest.axes[level.axis], self.nest.around(len(self.nest.levels) - 1)
        if not own.high.known or own.low or level.place != ONE or [x.place for x in around] != [level.steps]:
            return copy
        rest = Monomial(own.high.number % level.steps.number)
        return copy._replace(length=self.constants.name(f"{own.axis.name}_rest", rest))

    def _bytes(self, count: Expression) -> Expression:
        """Elements as entries of the memory: bytes where they share these."""
        return count if self.bits >= 8 else Binary("/", Binary("*", count, Number(self.bits)), Number(8))


def _streamed_bytes(function: PackFunction, turns: bool) -> int:
    """How many bytes at a time are written past the caches: whole lines, or parts of a line one after the other.

    With 0 none are: the target's lines are not written as a whole.
    """
    nest, bits = function.nest, function.element.bits
    if not nest.levels or nest.empty or function.conversion is not None:
        return 0
    if function.source.swizzle or function.target.swizzle:
        return 0
    level, tile = nest.levels[-1], nest.tile
    if level.clamped or level.raised or not level.steps.known or nest.axes[level.axis].split is not None:
        return 0
    run, around = level.steps, nest.levels[:-1]
    if tile is not None and tile.whole[1]:
        run, around = run * tile.columns, around[:-1]
    if (not nest.run) if tile is None else (not turns or bool(tile.overlapping)):
        return 0
    unit = LINE
    if tile is None and run.number * bits in (8 * 16, 8 * 32) and around and around[-1].target == run:
        unit, rest = run.number * bits // 8, around[-1]
        if rest.clamped or rest.raised or not rest.steps.known:
            return 0
        run, around = run * rest.steps.number, around[:-1]
    lines = [run, *[x.target for x in around], *nest.target]
    return unit if all(x.known and x.number * bits % (8 * LINE) == 0 for x in lines) else 0
