"""The changes that would save most: pairs left out, constants packed once, repeats shared, padding avoided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .flow import Cancelling, Flow
from .kinds import SAME_BYTES
from .move import Buffer, Move

MOST_TOLD = 3
"""How many changes are told."""

LEAST_PADDING = 0.1
"""Padding of a smaller share is no change worth telling."""


class Saving(NamedTuple):
    """One change, and what it would save: bytes that are not written (or reserved), and seconds where they are known.

    No bytes and no seconds mean that nothing tells them.

    ``moves`` are the numbers of those that it would leave out, ``needs`` of those that have to stay for it.
    """

    change: str
    bytes: int
    time: float | None
    moves: tuple[int, ...]
    needs: tuple[int, ...] = ()


def find_savings(
    moves: Sequence[Move], pairs: Sequence[Cancelling], flow: Flow, buffers: Sequence[Buffer]
) -> tuple[Saving, ...]:
    """The three largest changes, by time where the file has times, then by bytes; no move is saved twice."""
    candidates = [
        *_pairs(moves, pairs),
        *_constants(moves, flow, pairs),
        *_repeats(moves, flow),
        *_copies(moves),
        *_rows(moves, flow),
    ]
    candidates += _padding(buffers)
    found: list[Saving] = []
    taken: set[int] = set()
    needed: set[int] = set()
    for saving in sorted(candidates, key=lambda s: (s.time or 0, s.bytes), reverse=True):
        clashes = not taken.isdisjoint((*saving.moves, *saving.needs)) or not needed.isdisjoint(saving.moves)
        if not clashes and (saving.bytes or saving.time or any(moves[k].bytes is None for k in saving.moves)):
            taken.update(saving.moves)
            needed.update(saving.needs)
            found.append(saving)
    return tuple(found[:MOST_TOLD])


def _saving(
    change: str,
    moves: Sequence[Move],
    numbers: Sequence[int],
    runs: Mapping[int, int] | None = None,
    needs: Sequence[int] = (),
) -> Saving:
    """What it saves to leave these moves out, in so many of their runs: all, or those told, for the usual time each."""
    parts = {k: min(1.0, runs[k] / moves[k].count) if runs else 1.0 for k in numbers}
    times = [moves[k].time for k in numbers]
    time = None if None in times else sum([t * parts[k] for k, t in zip(numbers, times) if t is not None])
    total = sum([round(moves[k].total_bytes * parts[k]) for k in numbers])
    return Saving(change, total, time, tuple(numbers), tuple(needs))


def _pairs(moves: Sequence[Move], pairs: Sequence[Cancelling]) -> Iterator[Saving]:
    """Pairs between the same two layouts are one change, whatever the layer."""
    alike: dict[tuple[str, str, bool], list[Cancelling]] = {}
    for pair in pairs:
        key = moves[pair.first].source.text, moves[pair.second].target.text, pair.alone
        alike.setdefault(key, []).append(pair)
    for (start, end, alone), found in alike.items():
        lines = ", ".join([f"{_line(moves[p.first])} and {_line(moves[p.second])}" for p in found[:3]])
        more = f", and {len(found) - 3} more pairs" if len(found) > 3 else ""
        runs: Counter[int] = Counter()
        for p in found:
            runs.update(dict.fromkeys((p.first, p.second) if alone else (p.second,), p.runs))
        needs = [] if alone else [p.first for p in found]
        where = f": stay in {start}" if start == end else ""
        change = (
            f"leave out {lines}{more}, which cancel{where}"
            if alone
            else f"{lines}{more} cancel: keep what the first reads"
        )
        yield _saving(change, moves, list(runs), runs, needs)


def _constants(moves: Sequence[Move], flow: Flow, pairs: Sequence[Cancelling]) -> Iterator[Saving]:
    """Weights that are packed in every run; a parameter only may be one, which is no reason against a pair."""
    cancelling = {k for pair in pairs for k in (pair.first, pair.second)}
    alike: dict[tuple[str, str], list[int]] = {}
    for number, role in flow.constants.items():
        if moves[number].bytes and (role == "constant" or number not in cancelling):
            alike.setdefault((role, moves[number].target.text), []).append(number)
    for (role, target), numbers in alike.items():
        what = "weight" if role == "constant" else "parameter"
        which = f"the {what} of {_line(moves[numbers[0]])}" if len(numbers) == 1 else f"{len(numbers)} {what}s"
        those = "it is a weight" if len(numbers) == 1 else "they are weights"
        sure = "" if role == "constant" else f", if {those},"
        yield _saving(f"pack {which} once{sure} as {target}", moves, numbers)


def _repeats(moves: Sequence[Move], flow: Flow) -> Iterator[Saving]:
    for number, first in flow.repeats.items():
        change = f"share the result of {_line(moves[first])} with {_line(moves[number])}: both do the same"
        yield _saving(change, moves, [number])


def _rows(moves: Sequence[Move], flow: Flow) -> Iterator[Saving]:
    """Two moves one after the other, where both write memory: the first one is saved."""
    for first, second in flow.in_a_row():
        if moves[first].bytes and moves[second].bytes:
            yield _saving(f"do {_line(moves[first])} and {_line(moves[second])} in one move", moves, [first])


def _copies(moves: Sequence[Move]) -> Iterator[Saving]:
    """Copies that leave every byte where it was, those between the same layouts as one change."""
    alike: dict[tuple[str, str], list[int]] = {}
    for number, move in enumerate(moves):
        if move.kind == SAME_BYTES and move.bytes:
            alike.setdefault((move.op, move.target.text), []).append(number)
    for (op, _), numbers in alike.items():
        which = f"the {op} of {_line(moves[numbers[0]])}" if len(numbers) == 1 else f"{len(numbers)} of {op}"
        yield _saving(f"leave out {which}: the same bytes in the same memory", moves, numbers)


def _padding(buffers: Sequence[Buffer]) -> Iterator[Saving]:
    for buffer in buffers:
        if buffer.side.padding >= LEAST_PADDING and buffer.side.stored_bytes:
            share = f"{buffer.side.padding:.0%}".replace("%", " %")
            wasted = round(buffer.side.stored_bytes * buffer.side.padding)
            where = f"line {buffer.place.line}" if buffer.place.line else buffer.place.file
            change = f"choose sizes that {buffer.side.text} does not pad: {share} of {buffer.place.name} ({where})"
            yield Saving(change, wasted, None, ())


def _line(move: Move) -> str:
    return f"line {move.place.line}" if move.place.line else move.place.name
