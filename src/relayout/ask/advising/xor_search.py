"""The best XOR matrix: any bit of an address above the banks may be added, over GF(2), to any that choose the bank.

``address ^ X(address >> k)`` is a permutation of every aligned run of ``2**k`` words, as a swizzle is; a swizzle whose
bits lie in there is one such matrix. All of them are searched, column by column, by branch and bound: words that agree
in every bit that has no column yet, and lie in one bank, conflict whatever the other columns are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...layout.swizzle import Swizzle
from .demand import Integers

WORK_LIMIT = 6_000
"""How many patterns are looked at, for all values of a column at once, before the search gives up."""


@dataclass(slots=True)
class MatrixSearch:
    """The search for a matrix that costs less than ``best``: its ``columns``, one for each source bit, or None.

    A pattern is a set of words with the word 0, and what one wavefront of it weighs. Bits ``[low, high)`` of a word may
    change, bits from ``high`` on are read. ``exhausted`` says that every matrix was looked at or is ruled out.
    """

    patterns: Sequence[tuple[Integers, int]]
    low: int
    high: int
    best: int
    columns: tuple[int, ...] | None = None
    nodes: int = 0
    exhausted: bool = True
    _least: list[int] = field(default_factory=list)

    def run(self) -> MatrixSearch:
        top = max((int(words.max()).bit_length() for words, _ in self.patterns), default=0)
        banks = 1 << self.high
        kept = (1 << self.low) - 1
        self._least = [-(-int(np.bincount(words & kept).max()) << self.low >> self.high) for words, _ in self.patterns]
        places = [words & banks - 1 for words, _ in self.patterns]
        start = int(self._costs(places, self.high - 1, np.zeros(1, np.int64))[0])
        if start < self.best:
            self._descend(places, self.high, top, (), start)
        return self

    @property
    def floor(self) -> int:
        """What no matrix is below."""
        return sum(weight * least for (_, weight), least in zip(self.patterns, self._least))

    def _descend(self, places: list[Integers], bit: int, top: int, columns: tuple[int, ...], cost: int) -> None:
        """Choose the columns of ``bit`` and of all bits above it; by those so far ``places`` are the banks."""
        if bit >= top:
            self.best, self.columns = cost, columns
            return
        used = any((words >> bit & 1).any() for words, _ in self.patterns)
        values = np.arange(1 << self.high - self.low if used else 1) << self.low
        self.nodes += 1
        costs = self._costs(places, bit, values).tolist()
        for cost, _, value in sorted((cost, v.bit_count(), v) for cost, v in zip(costs, values.tolist())):
            if cost >= self.best or self.best == self.floor:
                return
            if self.nodes * len(self.patterns) >= WORK_LIMIT:
                self.exhausted = False
                return
            moved = [place ^ (words >> bit & 1) * value for place, (words, _) in zip(places, self.patterns)]
            self._descend(moved, bit + 1, top, (*columns, value), cost)

    def _costs(self, places: list[Integers], bit: int, values: Integers) -> Integers:
        """What the patterns cost at least for each column of ``bit``, whatever the columns of the bits above it."""
        total = np.zeros(len(values), np.int64)
        for place, (words, weight), least in zip(places, self.patterns, self._least):
            banks = place ^ (words >> bit & 1) * values[:, None]
            keys = np.sort((words >> bit + 1 << self.high) + banks, axis=1)
            most = np.full(len(values), least)
            for count in range(least + 1, len(words) + 1):
                alike = (keys[:, count - 1 :] == keys[:, : len(words) - count + 1]).any(axis=1)
                if not alike.any():
                    break
                most[alike] = count
            total += weight * most
        return total


def swizzle_chain(columns: Sequence[int], high: int, scale: int) -> list[Swizzle]:
    """Swizzles that are the matrix one after another, in any order: they read bits that none of them changes.

    ``columns[j]`` is what bit ``high + j`` is added to; ``scale`` is how many bits an address has below those.
    """
    ones = {
        (j + high - i, i) for j, column in enumerate(columns) for i in range(column.bit_length()) if column >> i & 1
    }
    chain = []
    while ones:
        shift, first = min(ones)
        bits = 0
        while bits < shift and (shift, first + bits) in ones:
            ones.remove((shift, first + bits))
            bits += 1
        chain.append(Swizzle(bits, first + scale, shift))
    return chain
