"""How the threads of a block share a loop over several indices."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ...immutable import NamedTuple


class Turns(NamedTuple):
    """The first ``whole`` indices and ``each`` values of the next are counted by threads, the rest by turns.

    Of that next index there are ``turns``, the last of which may have fewer values; in all a thread has ``rounds``.
    """

    whole: int
    each: int
    turns: int
    rounds: int
    active: int

    @classmethod
    def of(cls, sizes: Mapping[str, int], threads: int) -> Turns:
        """The turns of so many threads over indices of these sizes, the first fastest."""
        counts, inner, whole = list(sizes.values()), 1, 0
        while whole < len(counts) and inner * counts[whole] <= threads:
            inner *= counts[whole]
            whole += 1
        if whole == len(counts):
            return cls(whole, 1, 1, 1, inner)
        turns = -(-counts[whole] // (threads // inner))
        each = -(-counts[whole] // turns)
        return cls(whole, each, turns, turns * prod(counts[whole + 1 :]), inner * each)

    @property
    def warps(self) -> int:
        """The turns of all warps."""
        return -(-self.active // 32) * self.rounds

    def is_even(self, sizes: Mapping[str, int], threads: int) -> bool:
        """Whether all threads have as many rounds."""
        return self.active == threads and self.rounds * threads == prod(sizes.values())
