"""Parts of a job that are made and noted together: consecutive numbers of one tensor, cut when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .number_set import NumberSet


class Batch(NamedTuple):
    """The parts ``first`` to ``end`` of a tensor; the first of them has the number ``number`` in the job."""

    tensor: int
    first: int
    end: int
    number: int


def cut_batches(parts: Iterable[tuple[int, int]], finished: NumberSet, most: int) -> Iterator[Batch]:
    """The parts that are not finished, in batches of about ``most`` bytes, none of them listed ahead.

    ``parts`` tells of every tensor how many there are, and the bytes of one.
    """
    number = 0
    for tensor, (count, each) in enumerate(parts):
        step = max(1, most // max(each, 1))
        first = finished.next_missing(number) - number
        while first < count:
            end = min(first + step, count)
            yield Batch(tensor, first, end, number + first)
            first = finished.next_missing(number + end) - number
        number += count
