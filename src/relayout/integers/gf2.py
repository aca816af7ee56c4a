"""Linear algebra over GF(2), where adding is XOR: a vector is an integer, a matrix the sequence of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def multiply(columns: Iterable[int], x: int) -> int:
    """The matrix times the vector ``x``: the XOR of the columns at its set bits."""
    total = 0
    for column in columns:
        if x & 1:
            total ^= column
        x >>= 1
    return total


def multiply_array(columns: Sequence[int], x: NDArray[Any]) -> NDArray[np.int64]:
    """The matrix times every entry of an array of integers >= 0, eight bits at a time; its columns fit into int64."""
    import numpy as np

    vectors = x.astype(np.uint64)
    out = np.zeros(vectors.shape, np.int64)
    for low in range(0, min(len(columns), 64), 8):
        table = np.zeros(1, np.int64)
        for column in columns[low : low + 8]:
            table = np.concatenate([table, table ^ column])
        out ^= table[vectors >> low & 255]
    return out


class ColumnSpan:
    """All that columns add up to. A column that is a sum of earlier ones is never used to make a vector."""

    __slots__ = ("_by_leading_bit", "relation")
    relation: int | None
    """The first choice of columns, not empty, that adds up to 0; None for independent columns."""

    def __init__(self, columns: Iterable[int]) -> None:
        self._by_leading_bit: dict[int, tuple[int, int]] = {}
        self.relation = None
        for k, column in enumerate(columns):
            rest, used = self._reduce(column)
            used ^= 1 << k
            if rest:
                self._by_leading_bit[rest.bit_length()] = rest, used
            elif self.relation is None:
                self.relation = used

    @property
    def rank(self) -> int:
        return len(self._by_leading_bit)

    def choice(self, vector: int) -> int | None:
        """The smallest number whose set bits choose columns that add up to ``vector``; None when none do."""
        rest, used = self._reduce(vector)
        return None if rest else used

    def nearest(self, vector: int) -> int:
        """The columns that add up to ``vector`` in every leading bit that some sum of columns has; linear in it."""
        used = 0
        for bit in range(vector.bit_length(), 0, -1):
            entry = self._by_leading_bit.get(bit)
            if entry is not None and vector >> bit - 1 & 1:
                vector ^= entry[0]
                used ^= entry[1]
        return used

    def _reduce(self, vector: int) -> tuple[int, int]:
        """What no column explains, and the columns that explain the rest."""
        used = 0
        while vector:
            entry = self._by_leading_bit.get(vector.bit_length())
            if entry is None:
                break
            vector ^= entry[0]
            used ^= entry[1]
        return vector, used
