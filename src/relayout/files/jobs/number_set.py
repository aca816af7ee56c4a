"""A set of whole numbers that is kept as ranges: those of parts that are done, which come about in order."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator


class NumberSet:
    """Numbers in ranges that do not touch: as much memory as there are gaps, however many numbers."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        """Take the numbers from ``start`` up to ``end``, which is not one of them."""
        if start >= end:
            return
        low = bisect_right(self._starts, start)
        if low and self._ends[low - 1] >= start:
            low -= 1
            start = self._starts[low]
        high = bisect_right(self._starts, end)
        end = max(end, self._ends[high - 1]) if high > low else end
        self._starts[low:high], self._ends[low:high] = [start], [end]

    def __contains__(self, number: int) -> bool:
        k = bisect_right(self._starts, number)
        return k > 0 and number < self._ends[k - 1]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """The ranges in order."""
        return zip(self._starts, self._ends)

    def __bool__(self) -> bool:
        return bool(self._starts)

    @property
    def count(self) -> int:
        """How many numbers there are."""
        return sum(self._ends) - sum(self._starts)

    def next_missing(self, number: int) -> int:
        """The first number from this one on that is not in the set."""
        k = bisect_right(self._starts, number)
        return max(number, self._ends[k - 1]) if k else number

    @classmethod
    def parse(cls, text: str) -> NumberSet:
        """The numbers that a text such as ``0-4 6`` names, the last of a range included."""
        found = cls()
        for word in text.split():
            first, _, last = word.partition("-")
            found.add(int(first), int(last or first) + 1)
        return found

    def __str__(self) -> str:
        return " ".join([f"{start}-{end - 1}" if end - start > 1 else str(start) for start, end in self])
