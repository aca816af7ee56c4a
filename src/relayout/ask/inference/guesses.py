"""Layouts that a dump of repeated values could have: every named format and every order of dimensions, a little padded.

Data that repeat cannot prove a layout, so these are candidates only; where none fits, the nearest shows why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, permutations
from itertools import product as cartesian
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from ...format.format import Format
from ...layout.layout import Layout
from .boxes import coalesce_digits, named_formats
from .lines import extrapolate
from .pairs import EncodedPair

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PADDING = 3
"""The most padding, per dimension, before the tensor (and behind it, without blocks) that is tried."""

GUESSES = 1 << 14
"""How many layouts are tried at most."""

LOOKED_AT = 256
"""How many elements, spread over the tensor, a guess must place right before all of them are looked at."""

SHOWN = 8
"""How many layouts that fit are told at most."""


class Guesses(NamedTuple):
    """The layouts that fit all data (the first few), or else the nearest one with the first element it misplaces."""

    fitting: tuple[Layout, ...]
    nearest: Layout | None = None
    where: tuple[int, ...] | None = None


def guesses(pair: EncodedPair) -> Guesses:
    """What fits the data among the guesses."""
    import numpy as np

    random = np.random.default_rng(0)
    some = [random.integers(0, n, LOOKED_AT) for n in pair.elements.shape]
    values = pair.elements[tuple(some)]
    fitting: list[Layout] = []
    nearest: tuple[int, Layout] | None = None
    for offsets, layout in islice(_candidates(pair.elements.shape, pair.memory.size, some), GUESSES):
        missed = int((pair.memory[offsets] != values).sum())
        if nearest is not None and missed > nearest[0]:
            continue
        found = layout()
        if not missed:
            missed = int(_mismatches(pair, found).sum())
            if not missed and not any(found.equivalent(other) for other in fitting):
                fitting.append(found)
        if nearest is None or missed < nearest[0]:
            nearest = missed, found
        if len(fitting) == SHOWN:
            break
    if fitting or nearest is None:
        return Guesses(tuple(fitting))
    wrong = _mismatches(pair, nearest[1])
    where = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    return Guesses((), nearest[1], tuple([int(x) for x in where]))


def _mismatches(pair: EncodedPair, layout: Layout) -> NDArray[np.bool_]:
    wrong: NDArray[np.bool_] = pair.memory[layout.offsets()] != pair.elements
    return wrong


def _candidates(
    shape: tuple[int, ...], length: int, some: list[NDArray[np.int64]]
) -> Iterator[tuple[NDArray[np.int64], Callable[[], Layout]]]:
    """Where ``some`` coordinates lie in each guess, and the guess itself."""
    import numpy as np

    for fmt, sizes in _candidate_boxes(shape, length):
        box = fmt.layout(sizes)
        lines = [extrapolate(box._mode(d), 0, n) for d, n in enumerate(sizes)]
        for left in cartesian(*[range(min(s - n, PADDING) + 1) for s, n in zip(sizes, shape)]):
            behind = [s - n - a for s, n, a in zip(sizes, shape, left)]
            offsets = sum((line[x + a] for line, x, a in zip(lines, some, left)), np.zeros(LOOKED_AT, np.int64))
            yield offsets, partial(_padded_layout, fmt, shape, left, behind)


def _padded_layout(fmt: Format, shape: tuple[int, ...], left: Sequence[int], right: Sequence[int]) -> Layout:
    return coalesce_digits(fmt.layout(shape, left_pad=left, right_pad=right))


def _candidate_boxes(shape: tuple[int, ...], length: int) -> Iterator[tuple[Format, tuple[int, ...]]]:
    """Formats with the size of a box that has ``length`` elements, or with the least box if it has fewer."""
    rank = len(shape)
    orders = permutations(range(rank)) if rank <= 6 else [tuple(range(rank))]
    flat = [Format(rank, [(d, 0) for d in order]) for order in orders]
    for fmt in [*[fmt for _, fmt in named_formats(rank) if fmt.align is None], *flat]:
        rounded = [range(-(-n // b) * b, -(-(n + PADDING) // b) * b + 1, b) for n, b in zip(shape, fmt.block_shape)]
        for sizes in cartesian(*rounded):
            if prod(sizes) == length or (prod(sizes) < length and all(s == r[0] for s, r in zip(sizes, rounded))):
                yield fmt, sizes
