"""``audit``: what an artefact moves, what that costs, what is undone later, and which changes would save most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, NamedTuple

from ..errors import BadFile, LayoutError
from .artefact import Artefact, open_artefact
from .flow import Cancelling, Flow
from .kinds import REARRANGES, SAME_BYTES, UNDECIDED
from .move import Buffer, Found, Move, Step, Timing, Trouble
from .readers import AuditReader, reader_named, recognise
from .savings import Saving, find_savings

KEPT = 20_000
"""How many moves, and how many buffers, are kept as values; those beyond are in the totals only."""

SHOWN_PADDING = 0.01
"""Padding of less than this share gets no remark."""


class Totals(NamedTuple):
    """Sums over everything in an artefact, also over what is not kept as a value.

    ``bytes`` are those that moves write, ``rearranged`` those of them where some element changes its place. ``time`` is
    that of moves, ``step_time`` that of all other operations, both None where the file has none; ``step_bytes`` are
    read and written by other operations. ``free`` counts the moves that write nothing, ``unsized`` and
    ``unsized_steps`` the moves and the other operations whose bytes nothing tells.
    """

    moves: int = 0
    free: int = 0
    unsized: int = 0
    bytes: int = 0
    rearranged: int = 0
    undecided: int = 0
    time: float | None = None
    steps: int = 0
    step_time: float | None = None
    step_bytes: int = 0
    unsized_steps: int = 0
    buffers: int = 0
    buffer_bytes: int = 0
    padding_bytes: int = 0

    @property
    def time_share(self) -> float | None:
        """The share of all time that moves take; None where the file has no times."""
        whole = (self.time or 0) + (self.step_time or 0)
        return None if self.time is None or not whole else self.time / whole

    @property
    def byte_share(self) -> float | None:
        """The share that moves write of all bytes that are told; None where it could be more as well as less.

        It is the most that the share can be where the bytes of some other operation are not told, and the least where
        those of a move are not.
        """
        if not self.step_bytes or (self.unsized and self.unsized_steps):
            return None
        return self.bytes / (self.bytes + self.step_bytes)


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found in one artefact.

    ``moves`` are values in the order of the file, ``pairs`` those that cancel, ``savings`` the changes that would save
    most, at most three. ``troubles`` tell what could not be read; an audit without any read all of it. ``timings`` has
    the seconds of operations by name, where the artefact is a profile. ``artefact`` is what was read.
    """

    kind: str
    title: str
    file: str
    moves: tuple[Move, ...]
    buffers: tuple[Buffer, ...]
    troubles: tuple[Trouble, ...]
    totals: Totals
    pairs: tuple[Cancelling, ...] = ()
    savings: tuple[Saving, ...] = ()
    timings: Mapping[str, Timing] = field(default_factory=dict)
    artefact: Artefact | None = field(default=None, repr=False, compare=False)

    def facts(self) -> dict[str, Any]:
        """All of it in numbers and words, for JSON."""
        from .facts import audit_facts

        return audit_facts(self)

    def html(self) -> str:
        """One page with everything in it: the moves with pictures of their layouts, linked to lines of the file."""
        from .page import audit_page

        return audit_page([self])

    def __str__(self) -> str:
        from .words import audit_text

        return audit_text(self)

    def __repr__(self) -> str:
        from .words import summary

        return f"<{summary(self)}>"

    def _repr_html_(self) -> str:
        from .words import audit_html

        return audit_html(self)


def audit(x: str | PathLike[str], kind: str | None = None, *, times: str | PathLike[str] | None = None) -> Audit:
    """What the artefact at a path, or in a text of several lines, moves; of that kind, or as its content tells.

    ``times`` is a profile of the same program: operations of the same name get its times.
    """
    artefact = open_artefact(x)
    reader = recognise(artefact) if kind is None else reader_named(kind)
    timings = {} if times is None else audit(times).timings
    return gather(reader, artefact, timings)


def audit_files(artefacts: Sequence[Artefact], kind: str | None = None, *, together: bool = True) -> list[Audit]:
    """An audit of each artefact; what profiles tell is given to the others, where they are ``together``.

    An artefact that no reader takes is an audit with that trouble, so that the others are read all the same.
    """
    readers = [_reader_of(artefact, kind) for artefact in artefacts]
    audits = [gather(reader, artefact) for reader, artefact in zip(readers, artefacts)]
    timings = {name: timing for found in audits for name, timing in found.timings.items()} if together else {}
    if not timings:
        return audits
    return [
        found if found.timings else gather(reader, artefact, timings)
        for found, reader, artefact in zip(audits, readers, artefacts)
    ]


def _reader_of(artefact: Artefact, kind: str | None) -> AuditReader:
    if kind is not None:
        return reader_named(kind)
    try:
        return recognise(artefact)
    except (BadFile, OSError) as error:
        return _Unreadable(error)


class _Unreadable:
    """Reads nothing, and says why."""

    kind = title = "unknown"
    EXAMPLES: tuple[str, ...] = ()

    def __init__(self, error: BadFile | OSError) -> None:
        self.why = error.message if isinstance(error, BadFile) else f"{error.strerror or error}."

    def recognises(self, artefact: Artefact) -> bool:
        return False

    def read(self, artefact: Artefact) -> Iterator[Found]:
        yield artefact.trouble(self.why.removeprefix(f"{artefact.name}: "))


def gather(reader: AuditReader, artefact: Artefact, timings: Mapping[str, Timing] | None = None) -> Audit:
    """Everything that a reader finds in an artefact; an error of ours ends it, and is told as what was not read."""
    found = _Gathering(timings or {})
    try:
        for item in _with_troubles(reader, artefact):
            found.take(item)
    except OSError as error:
        found.take(artefact.trouble(f"it cannot be read: {error.strerror or error}"))
    return found.result(reader, artefact)


def _with_troubles(reader: AuditReader, artefact: Artefact) -> Iterator[Found]:
    artefact.counts_braces = getattr(reader, "BRACES", False)
    try:
        yield from reader.read(artefact)
        if artefact.counts_braces and artefact.open_braces > 0:
            yield artefact.trouble("it ends inside braces: the rest is missing")
    except LayoutError as error:
        yield artefact.trouble(error.message)


class _Gathering:
    """What was found so far: at most ``KEPT`` values of each sort, and the totals of all.

    Runs of one move are counted apart from it: an artefact of millions of lines makes no new values for them.
    """

    def __init__(self, timings: Mapping[str, Timing]) -> None:
        self.moves: list[Move] = []
        self.runs: list[int] = []
        self.times: list[float | None] = []
        self.buffers: list[Buffer] = []
        self.troubles: list[Trouble] = []
        self.timings: dict[str, Timing] = {}
        self.given = timings
        self.sums: dict[str, Any] = dict.fromkeys(Totals._fields, 0) | {"time": None, "step_time": None}
        self.numbers: dict[Any, int] = {}
        self.flow = Flow()

    def take(self, item: Found) -> None:
        if isinstance(item, Step):
            self.take_step(item)
        elif isinstance(item, Move):
            self.take_move(item)
        elif isinstance(item, Buffer):
            self.take_buffer(item)
        elif isinstance(item, Timing):
            before = self.timings.get(item.place.name)
            time, runs = (0.0, 0) if before is None else (before.time, before.runs)
            self.timings[item.place.name] = item._replace(time=time + item.time, runs=runs + item.runs)
        elif len(self.troubles) < KEPT:
            self.troubles.append(item)

    def take_step(self, step: Step) -> None:
        sums, time = self.sums, step.time
        if self.given and step.place.name in self.given:
            time = self.given[step.place.name].of_one_run
        sums["steps"] += step.count
        if step.bytes is not None:
            sums["step_bytes"] += step.bytes
        elif step.outputs:
            sums["unsized_steps"] += step.count
        if time is not None:
            sums["step_time"] = (sums["step_time"] or 0) + time
        self.flow.see_step(step)

    def take_move(self, move: Move) -> None:
        if self.given and move.time is None and move.place.name in self.given:
            move = replace(move, time=self.given[move.place.name].of_one_run)
        self.add_move(move)
        number = self.number_of(move)
        if number is not None:
            self.flow.see_move(number, move)

    def add_move(self, move: Move) -> None:
        sums, written = self.sums, move.total_bytes
        sums["moves"] += move.count
        sums["bytes"] += written
        if move.kind == REARRANGES:
            sums["rearranged"] += written
        elif move.kind == UNDECIDED:
            sums["undecided"] += move.count
        if not move.bytes:
            sums["unsized" if move.bytes is None else "free"] += move.count
        if move.time is not None:
            sums["time"] = (sums["time"] or 0) + move.time

    def number_of(self, move: Move) -> int | None:
        """The number of the move that this is a run of, or its own; None where no more are kept."""
        # Sides are mostly the very same values, which are found quicker by their identity than by their layouts.
        quick = (move.place.name, move.op, id(move.source), id(move.target), move.bytes, move.remarks)
        number = self.numbers.get(quick)
        if number is None:
            key = (move.place.name, move.op, move.source, move.target, move.shape, move.bytes, move.remarks)
            number = self.numbers.get(key) if move.place.name else None
            if number is None:
                if len(self.moves) >= KEPT:
                    return None
                number = len(self.moves)
                if move.place.name:
                    self.numbers[key] = self.numbers[quick] = number
                self.moves.append(move)
                self.runs.append(move.count)
                self.times.append(move.time)
                return number
        self.runs[number] += move.count
        if move.time is not None:
            self.times[number] = (self.times[number] or 0) + move.time
        return number

    def take_buffer(self, buffer: Buffer) -> None:
        stored = buffer.side.stored_bytes or 0
        self.flow.see_buffer(buffer)
        self.sums["buffers"] += 1
        self.sums["buffer_bytes"] += stored
        self.sums["padding_bytes"] += round(stored * buffer.side.padding)
        if len(self.buffers) < KEPT:
            self.buffers.append(buffer)

    def result(self, reader: AuditReader, artefact: Artefact) -> Audit:
        pairs = tuple(self.flow.cancelling())
        runs = zip(self.moves, self.runs, self.times)
        self.moves = [m if m.count == n else replace(m, count=n, time=time) for m, n, time in runs]
        said = self.remarks(pairs)
        moves = tuple([replace(m, remarks=(*m.remarks, *said[k])) if said[k] else m for k, m in enumerate(self.moves)])
        savings = find_savings(moves, pairs, self.flow, self.buffers)
        return Audit(
            reader.kind,
            reader.title,
            artefact.name,
            moves,
            tuple(self.buffers),
            tuple(self.troubles),
            Totals(**self.sums),
            pairs,
            savings,
            self.timings,
            artefact,
        )

    def remarks(self, pairs: tuple[Cancelling, ...]) -> list[list[str]]:
        """What the core has to say about each move."""
        said: list[list[str]] = [[] for _ in self.moves]
        for pair in pairs:
            for word, one, other in (("undone by", pair.first, pair.second), ("undoes", pair.second, pair.first)):
                count = self.moves[one].count
                part = f" in {pair.runs} of {count} runs" if pair.runs < count else ""
                said[one].append(f"{word} {_where(self.moves[other])}{part}")
        for number, role in self.flow.constants.items():
            if role == "constant":
                said[number].append("weights: pack once")
            elif not said[number]:
                said[number].append("a parameter: pack once if it is a weight")
        for number, first in self.flow.repeats.items():
            said[number].append(f"repeats {_where(self.moves[first])}")
        for first, second in self.flow.in_a_row():
            if self.moves[first].bytes and self.moves[second].bytes:
                said[second].append(f"with {_where(self.moves[first])} one move would do")
        for number, move in enumerate(self.moves):
            if move.kind != SAME_BYTES and move.target.padding >= SHOWN_PADDING:
                said[number].append(f"padding {move.target.padding:.0%}".replace("%", " %"))
        return said


def _where(move: Move) -> str:
    return str(move.place.line) if move.place.line else move.place.name
