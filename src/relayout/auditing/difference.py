"""Two audits of the same program, before and after a change: moves that appeared, vanished, or have other bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..files.sizes import format_size
from .audit import Audit
from .facts import move_facts
from .move import Move
from .words import cut, shape_text, side_text, where


class ChangedMove(NamedTuple):
    """A move that both audits have under one name, with other bytes or of another kind."""

    old: Move
    new: Move


class AuditDifference(NamedTuple):
    """What a change did to the moves; truthy where it did anything.

    Moves are matched by name, operation and layouts first; those that are left without the name, since compilers number
    anew; and then by name and operation alone.
    """

    old: Audit
    new: Audit
    appeared: tuple[Move, ...]
    vanished: tuple[Move, ...]
    changed: tuple[ChangedMove, ...]

    def __bool__(self) -> bool:
        return bool(self.appeared or self.vanished or self.changed)

    @property
    def added_bytes(self) -> int:
        """How many more bytes the moves write; negative for fewer."""
        return self.new.totals.bytes - self.old.totals.bytes

    def facts(self) -> dict[str, Any]:
        """All of it for JSON."""
        return {
            "old": self.old.file,
            "new": self.new.file,
            "added_bytes": self.added_bytes,
            "appeared": [move_facts(move) for move in self.appeared],
            "vanished": [move_facts(move) for move in self.vanished],
            "changed": [{"old": move_facts(pair.old), "new": move_facts(pair.new)} for pair in self.changed],
        }

    def summary(self) -> str:
        """One line of counts."""
        counts = f"{len(self.appeared)} appeared, {len(self.vanished)} vanished, {len(self.changed)} changed"
        sign = "+" if self.added_bytes >= 0 else "-"
        return f"{self.old.file} to {self.new.file}: {counts}; {sign}{format_size(abs(self.added_bytes))}"

    def rows(self) -> list[list[str]]:
        """One row for each move: a sign, line, operation, from, to, shape and bytes."""
        found = [["+", *_cells(move)] for move in self.appeared] + [["-", *_cells(move)] for move in self.vanished]
        for old, new in self.changed:
            cells = [a if a == b else f"{a} -> {b}" for a, b in zip(_cells(old), _cells(new))]
            found.append(["~", *cells])
        return found


TITLES = ["", "line", "op", "from", "to", "shape", "bytes"]
"""The titles of the rows."""


def _cells(move: Move) -> list[str]:
    sides = [side_text(move, "source"), side_text(move, "target")]
    size = "?" if move.bytes is None else format_size(move.total_bytes)
    return [where(move), cut(move.op), *sides, shape_text(move.shape), size]


def compare_audits(old: Audit, new: Audit) -> AuditDifference:
    """What changed from one audit to another."""
    before, after = list(old.moves), list(new.moves)
    changed = []
    for key in (_key_of_all, _key_of_content, _key_of_name):
        kept, left = _match(before, after, key)
        before, after = left
        changed += [ChangedMove(a, b) for a, b in kept if (a.total_bytes, a.kind) != (b.total_bytes, b.kind)]
    return AuditDifference(old, new, tuple(after), tuple(before), tuple(changed))


def _key_of_all(move: Move) -> Any:
    return (move.place.name, move.op, move.source, move.target, move.shape)


def _key_of_name(move: Move) -> Any:
    return (move.place.name, move.op) if move.place.name else None


def _key_of_content(move: Move) -> Any:
    return (move.op, move.source.text, move.target.text, move.shape, move.bytes)


def _match(old: list[Move], new: list[Move], key: Any) -> tuple[list[tuple[Move, Move]], tuple[list[Move], list[Move]]]:
    """The moves with the same key, paired in the order of the files, and those that are left on both sides."""
    waiting: dict[Any, list[Move]] = {}
    for move in old:
        waiting.setdefault(key(move), []).append(move)
    pairs, alone = [], []
    for move in new:
        same = waiting.get(key(move)) if key(move) is not None else None
        if same:
            pairs.append((same.pop(0), move))
        else:
            alone.append(move)
    taken = Counter([id(move) for move, _ in pairs])
    return pairs, (list(_others(old, taken)), alone)


def _others(moves: list[Move], taken: Counter[int]) -> Iterator[Move]:
    for move in moves:
        if not taken[id(move)]:
            yield move
