"""Threads by a word: ``rows`` and ``columns`` are the two ways in which a warp walks over a tile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import ShapeError, UnknownName
from ..hardware.counting import OFF
from ..integers.nested import product

WALKS = ("rows", "columns")
"""``rows``: the next lane takes the next vector of the row. ``columns``: it takes the same vector of the next row."""


def check_walk(word: str) -> None:
    """Refuse a word that is no way to walk."""
    if word not in WALKS:
        raise UnknownName(
            f"no threads are called {word!r}.",
            hint=f"words are {', '.join(WALKS)}; other threads are a layout from (thread, value): (32,4):(4,1)",
            name=word,
        )


def walk(word: str, shape: Sequence[int], vector: int, lanes: int) -> NDArray[np.int64]:
    """The column-major index of every (lane, value) where one warp takes a whole tile, ``vector`` elements at a time.

    Vectors lie along the last dimension. ``rows`` deals them to the lanes row by row, ``columns`` column by column of
    vectors; matrices of more dimensions follow each other. Lanes that are left without a vector at the end are off.
    """
    across, rest = divmod(shape[-1], vector)
    if rest:
        raise ShapeError(
            f"rows of {shape[-1]} elements are no whole vectors of {vector}.",
            hint="choose a narrower access, or give the threads as a layout of (thread, value)",
            shape=tuple(shape),
        )
    numbers = np.arange(product(tuple(shape))).reshape(shape, order="F").reshape(*shape[:-1], across, vector)
    if word == "columns" and len(shape) > 1:
        numbers = numbers.swapaxes(-3, -2)
    found = numbers.reshape(-1, vector)
    count = -(-len(found) // lanes)
    table = np.full((count * lanes, vector), OFF, np.int64)
    table[: len(found)] = found
    return table.reshape(count, lanes, vector).transpose(1, 0, 2).reshape(lanes, -1)
