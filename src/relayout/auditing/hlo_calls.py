"""Who calls whom in HLO: which computations are the bodies of fusions, and how often the others run.

Computations come before those that call them, so only the whole text tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_CALLED = r"\b(calls|body|to_apply|branch_computations|true_computation|false_computation)=(\{[^}]*\}|%?[\w.\-]+)"
_TRIPS = r"known_trip_count\W+n\W+(\d+)"
_HEAD = r"\s*(?:ENTRY\s+)?%?([\w.\-]+)"


class Caller(NamedTuple):
    """An instruction that runs a computation: so many times for each time that it is run itself, None if unknown."""

    computation: str
    name: str
    opcode: str
    times: int | None


class Calls:
    """The callers of every computation of one module."""

    def __init__(self) -> None:
        self._callers: dict[str, list[Caller]] = {}
        self._runs: dict[str, int] = {}

    def add(self, callee: str, caller: Caller) -> None:
        """Note that ``caller`` runs ``callee``."""
        self._callers.setdefault(callee, []).append(caller)

    def is_fused(self, computation: str) -> bool:
        """Whether a computation is the body of fusions, and of nothing else."""
        callers = self._callers.get(computation, [])
        return bool(callers) and all(caller.opcode == "fusion" for caller in callers)

    def runs(self, computation: str) -> int:
        """How often a computation runs, where what the text does not tell counts once."""
        if computation not in self._runs:
            self._runs[computation] = 1  # for a text in which computations call one another in a circle
            callers = self._callers.get(computation, [])
            self._runs[computation] = sum([(c.times or 1) * self.runs(c.computation) for c in callers]) or 1
        return self._runs[computation]

    def when(self, computation: str, entry: bool) -> str:
        """In words, what a computation's runs depend on; empty for what runs once."""
        callers = self._callers.get(computation, [])
        if not callers and not entry:
            return "no line calls this computation"
        for caller in callers:
            if caller.opcode == "conditional":
                return f"only in a branch of {caller.name}"
            if caller.times is None:
                return f"in each turn of {caller.name}, and the text does not tell how many"
            if caller.times > 1:
                return f"in each of {caller.times} turns of {caller.name}"
        return ""


def read_calls(lines: Iterable[tuple[int, str]]) -> Iterator[Calls]:
    """The calls of each module in a text, one after another; the first is for what stands before any module's line."""
    calls = Calls()
    computation = name = opcode = ""
    for _, line in lines:
        if line.endswith("{") and ("->" in line or "=" not in line):
            head = re.match(_HEAD, line)
            computation = computation if head is None else head[1]
        elif line.startswith("HloModule"):
            yield calls
            calls = Calls()
        elif "calls=" in line or "body=" in line or "to_apply=" in line or "_computation" in line:
            if " = " in line:
                name = _name(line)
                found = re.search(r"(?<=[\s)}])(fusion|while|conditional|call|async-start|custom-call)\(", line)
                opcode = "" if found is None else found[1]
            _note(calls, computation, name, opcode, line)
        elif " fusion(" in line or " while(" in line:
            name = _name(line)
            opcode = "fusion" if " fusion(" in line else "while"
    yield calls


def _name(line: str) -> str:
    return line.partition(" = ")[0].strip().removeprefix("ROOT ").lstrip("%")


def _note(calls: Calls, computation: str, name: str, opcode: str, line: str) -> None:
    trips = re.search(_TRIPS, line)
    times = 1 if opcode != "while" else None if trips is None else int(trips[1])
    for word, called in re.findall(_CALLED, line):
        if opcode and (word != "to_apply" or opcode == "call"):
            for callee in re.findall(r"[\w.\-]+", called):
                calls.add(callee, Caller(computation, name, opcode, times))
