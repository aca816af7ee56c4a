"""Where the result of a move goes: which later move undoes it, which repeats it, and what comes from a constant.

Data are followed by the names that readers give to values, through elementwise steps and moves that keep all bytes.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import permutations
from math import prod
from typing import Any, NamedTuple

from ..algebra.composition import composition
from ..algebra.inverses import right_inverse
from ..errors import LayoutError
from ..layout.comparison import compare
from ..layout.layout import Layout
from .kinds import CONVERTS, REARRANGES, SAME_BYTES, row_major
from .move import Buffer, Move, Step

WINDOW = 1 << 17
"""How many values are remembered; what is used later than so many values after it was made is not followed."""

MOST_ORDERS = 720
"""How many orders of dimensions are tried to see that two padded moves undo each other."""


class Cancelling(NamedTuple):
    """Two moves, by their numbers, of which the second undoes the first: in so many of their runs.

    ``alone`` says that nobody else reads what is between them, so that both can be left out, and not only the second.
    """

    first: int
    second: int
    runs: int
    alone: bool


class Flow:
    """Follows values from move to move while an artefact is read; moves are known by their numbers.

    ``constants`` has the moves that rearrange or convert a constant or a parameter, with its role. ``repeats`` has the
    moves that do what an earlier one did with the same value.
    """

    def __init__(self) -> None:
        self._moved: dict[str, tuple[int, ...]] = {}
        self._roles: dict[str, str] = {}
        self._readers: dict[tuple[str, Any, Any], int] = {}
        self._undone: Counter[tuple[int, int]] = Counter()
        self._used_otherwise: set[int] = set()
        self._unread: dict[str, tuple[int, ...]] = {}
        self._followers: dict[int, set[int]] = {}
        self._moves: dict[int, Move] = {}
        self.constants: dict[int, str] = {}
        self.repeats: dict[int, int] = {}

    def see_buffer(self, buffer: Buffer) -> None:
        """A tensor that is there from the start."""
        self._forget(buffer.value)
        if buffer.value and buffer.role in ("constant", "parameter"):
            _remember(self._roles, buffer.value, buffer.role)

    def see_step(self, step: Step) -> None:
        """What a step reads is used up, unless the step treats every element alone."""
        moved, inputs = self._moved, step.inputs
        origins = [moved[value] for value in inputs if value in moved]
        numbers: tuple[int, ...] = ()
        if origins:
            numbers = tuple(dict.fromkeys([k for origin in origins for k in origin]))
            if not step.elementwise or len(origins) != len(inputs) or not self._alike(numbers):
                self._used_otherwise.update(numbers)
                numbers = ()
        for value in step.broadcast:
            self._used_otherwise.update(moved.get(value, ()))
        if self._unread:
            for value in inputs:
                self._unread.pop(value, None)
        # A parameter that something was done to is rarely a weight.
        roles = self._roles
        constant = step.elementwise and inputs and all(roles.get(value) == "constant" for value in inputs)
        for value in step.outputs:
            self._forget(value)
            if numbers:
                _remember(moved, value, numbers)
                self._await(value, numbers)
            if constant:
                _remember(roles, value, "constant")

    def see_move(self, number: int, move: Move) -> None:
        """A move: perhaps the undoing of an earlier one."""
        role = self._roles.get(move.reads, "") if move.reads else ""
        origin = self._moved.get(move.reads, ()) if move.reads else ()
        self._unread.pop(move.reads, None)
        if move.writes:
            self._forget(move.writes)
        if move.kind == SAME_BYTES:
            if move.writes and origin:
                _remember(self._moved, move.writes, origin)
                self._await(move.writes, origin)
            if move.writes and role:
                _remember(self._roles, move.writes, role)
            return
        if role and move.kind in (REARRANGES, CONVERTS):
            self.constants[number] = role
        if role and move.writes:
            _remember(self._roles, move.writes, role)
        for k in origin:
            if undoes(self._moves[k], move):
                self._undone[k, number] += move.count
            else:
                self._followers.setdefault(k, set()).add(number)
        if move.reads and move.kind == REARRANGES and number not in self.repeats:
            first = self._readers.setdefault((move.reads, move.source, move.target), number)
            if first != number:
                self.repeats[number] = first
        self._moves.setdefault(number, move)
        if move.writes:
            _remember(self._moved, move.writes, (number,))
        while len(self._readers) > WINDOW:
            del self._readers[next(iter(self._readers))]

    def cancelling(self) -> list[Cancelling]:
        """The pairs that were found, in the order of the file."""
        used = self._used_elsewhere().union(self._followers)
        return [
            Cancelling(first, second, runs, first not in used) for (first, second), runs in sorted(self._undone.items())
        ]

    def in_a_row(self) -> list[tuple[int, int]]:
        """Two moves that rearrange, the second of which alone reads what the first wrote: one move would do."""
        used, cancelling = self._used_elsewhere(), {number for pair in self._undone for number in pair}
        return [
            (first, second)
            for first, followers in sorted(self._followers.items())
            if first not in used and len(followers) == 1
            for second in followers
            if not cancelling & {first, second}
            if self._moves[first].kind == self._moves[second].kind == REARRANGES
        ]

    def _used_elsewhere(self) -> set[int]:
        """The moves whose result is read by what is no move, or leaves the program."""
        return self._used_otherwise.union(*self._unread.values())

    def _await(self, value: str, numbers: tuple[int, ...]) -> None:
        """What comes of these moves has this name: it leaves the program where nothing ever reads it."""
        self._unread[value] = numbers
        if len(self._unread) > WINDOW:
            self._used_otherwise.update(self._unread.pop(next(iter(self._unread))))

    def _forget(self, value: str) -> None:
        """A value of this name is written: what an earlier one of the same name held is gone."""
        if value in self._moved:
            del self._moved[value]
        if value in self._roles:
            del self._roles[value]
        if value in self._unread:
            self._used_otherwise.update(self._unread.pop(value))

    def _alike(self, numbers: tuple[int, ...]) -> bool:
        """Whether these moves all go from the same layout to the same layout."""
        first = self._moves[numbers[0]]
        pairs = [(self._moves[k].source.layout, self._moves[k].target.layout) for k in numbers[1:]]
        return all(_same(first.source.layout, a) and _same(first.target.layout, b) for a, b in pairs)


def _remember(table: dict[str, Any], key: str, value: Any) -> None:
    table[key] = value
    if len(table) > WINDOW:
        del table[next(iter(table))]


def undoes(first: Move, second: Move) -> bool:
    """Whether the second move brings every element back to where it was before the first; proven, never guessed.

    Moves to another memory are there for its speed, and values that went through another type are not what they were:
    both are undone by nothing.

    >>> from relayout.auditing.making import make_move, make_side
    >>> from relayout.auditing.move import Place
    >>> a, b = make_side("nchw", shape=(1, 8, 4, 4)), make_side("nChw8c", shape=(1, 8, 4, 4))
    >>> there, back = (make_move(Place("log"), "reorder", *sides) for sides in ((a, b), (b, a)))
    >>> undoes(there, back), undoes(there, there)
    (True, False)
    """
    sides = (first.source, first.target, second.source, second.target)
    if len({(side.memory, side.element) for side in sides}) > 1:
        return False
    layouts = [side.layout for side in sides]
    return not any(layout is None for layout in layouts) and _return_home(*layouts)


@lru_cache(maxsize=4096)
def _return_home(start: Any, there: Any, here: Any, end: Any) -> bool:
    if _same(there, here) and _same(start, end):
        return True
    if not all(isinstance(layout, Layout) for layout in (start, there, here, end)):
        return False
    return _same_memory_map(start, there, here, end) or _same_in_some_order(start, there, here, end)


def _same(a: Any, b: Any) -> bool:
    if a == b:
        return True
    if not isinstance(a, Layout) or not isinstance(b, Layout) or a.extents != b.extents:
        return False
    try:
        return bool(compare(a, b))
    except LayoutError:  # undecided is no proof
        return False


def _same_memory_map(start: Layout, there: Layout, here: Layout, end: Layout) -> bool:
    """Whether memory is brought back, whatever the coordinates are called: for layouts that fill their memory."""
    full = [x.is_injective() and x.storage_size == x.size and x.swizzle is None for x in (start, there, here, end)]
    if not all(full) or start.size != here.size:
        return False
    try:
        undone = _memory_map(there, start)
        done = _memory_map(here, end)
        return bool(compare(undone, done, flat=True))
    except LayoutError:  # no such layout, or undecided
        return False


def _memory_map(target: Layout, source: Layout) -> Layout:
    """Where what is at each place of the target comes from; elements of other shapes are matched in row-major order."""
    if target.extents != source.extents:
        target, source = row_major(target), row_major(source)
    return composition(source, right_inverse(target))


def _same_in_some_order(start: Layout, there: Layout, here: Layout, end: Layout) -> bool:
    """Whether the second move has the dimensions of the first in another order."""
    rank = start.rank
    if not rank == there.rank == here.rank == end.rank or sorted(here.extents) != sorted(there.extents):
        return False
    if prod(range(1, rank + 1)) > MOST_ORDERS:
        return False
    for order in permutations(range(rank)):
        if tuple([here.extents[d] for d in order]) == there.extents:
            turned = here.permute(*order), end.permute(*order)
            if _same(there, turned[0]) and _same(start, turned[1]):
                return True
    return False
