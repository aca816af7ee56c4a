"""Layouts that a dump of repeated values could have.

These are every named format for the width of the elements, every order of dimensions, a little padded, every pitch of
rows, and XLA's tilings. Data that repeat cannot prove a layout, so these are candidates only; where none fits, the
nearest shows why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, permutations
from itertools import product as cartesian
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from ...dialects import xla
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

XLA_TILES = (
    ((8, 128), (2, 1)),
    ((8, 128), (4, 1)),
    ((8, 128),),
    ((16, 128), (2, 1)),
    ((32, 128), (4, 1)),
    ((64, 128), (8, 1)),
    ((8, 128), (8, 1)),
    ((16, 256), (2, 1)),
    ((16, 128),),
    ((4, 128),),
    ((4, 128), (2, 1)),
    ((2, 128),),
    ((2, 128), (2, 1)),
    ((1, 128),),
    ((128,),),
    ((256,),),
    ((512,),),
    ((1024,),),
    ((1024,), (128,), (2, 1)),
    ((32, 128),),
    ((4, 128), (4, 1)),
    ((2048,),),
    ((4096,),),
)
"""The tilings that are tried, likely ones first.

All but the last four stand in XLA's sources (openxla/xla at e5d008b): in texts of its tests and of compiled programs,
or in its page on tiled layouts, which explains them: 8 x 128 is a register, 2 and 4 rows are for small second
dimensions, and ``(2, 1)``, ``(4, 1)`` and ``(8, 1)`` pack 16, 8 and 4 bits. The last four continue these series.
"""

ALIGNED_UP_TO = 1 << 12
"""The largest alignment of rows, in elements, that is tried where the length of the dump does not tell the pitch."""

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
    for offsets, layout in islice(_candidates(pair, some), GUESSES):
        missed = int((pair.memory[offsets] != values).sum())
        if nearest is not None and missed > nearest[0]:
            continue
        found = layout()
        if not missed:
            missed = int(pair.misplaced_by(found.offsets()).sum())
            if not missed and not any(found.equivalent(other) for other in fitting):
                fitting.append(found)
        if nearest is None or missed < nearest[0]:
            nearest = missed, found
        if len(fitting) == SHOWN:
            break
    if fitting or nearest is None:
        return Guesses(tuple(fitting))
    wrong = pair.misplaced_by(nearest[1].offsets())
    where = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    return Guesses((), nearest[1], tuple([int(x) for x in where]))


def _candidates(
    pair: EncodedPair, some: list[NDArray[np.int64]]
) -> Iterator[tuple[NDArray[np.int64], Callable[[], Layout]]]:
    """Where ``some`` coordinates lie in each guess, and the guess itself."""
    import numpy as np

    shape, length = pair.elements.shape, pair.memory.size
    for strides in _pitched_strides(shape, length):
        flat = sum((x * s for x, s in zip(some, strides)), np.zeros(LOOKED_AT, np.int64))
        yield flat, partial(_pitched_layout, shape, strides, length)
    for fmt, sizes in _candidate_boxes(shape, length, pair.bits):
        box = fmt.layout(sizes)
        lines = [extrapolate(box._mode(d), 0, n) for d, n in enumerate(sizes)]
        for left in cartesian(*[range(min(s - n, PADDING) + 1) for s, n in zip(sizes, shape)]):
            behind = [s - n - a for s, n, a in zip(sizes, shape, left)]
            offsets = sum((line[x + a] for line, x, a in zip(lines, some, left)), np.zeros(LOOKED_AT, np.int64))
            yield offsets, partial(_padded_layout, fmt, shape, left, behind)


def _padded_layout(fmt: Format, shape: tuple[int, ...], left: Sequence[int], right: Sequence[int]) -> Layout:
    return coalesce_digits(fmt.layout(shape, left_pad=left, right_pad=right))


def _candidate_boxes(shape: tuple[int, ...], length: int, bits: int) -> Iterator[tuple[Format, tuple[int, ...]]]:
    """Formats with the size of a box that has ``length`` elements, or with the least box if it has fewer."""
    rank = len(shape)
    flat = [Format(rank, [(d, 0) for d in order]) for order in _orders(rank)]
    named = {fmt._canonical(): fmt for _, _, fmt in named_formats(rank, bits) if fmt.align is None}
    for fmt in [*named.values(), *flat, *_xla_tilings(rank)]:
        rounded = [range(-(-n // b) * b, -(-(n + PADDING) // b) * b + 1, b) for n, b in zip(shape, fmt.block_shape)]
        for sizes in cartesian(*rounded):
            if prod(sizes) == length or (prod(sizes) < length and all(s == r[0] for s, r in zip(sizes, rounded))):
                yield fmt, sizes


def _orders(rank: int) -> list[tuple[int, ...]]:
    """Every order of dimensions; of many dimensions only the usual one."""
    return list(permutations(range(rank))) if rank <= 6 else [tuple(range(rank))]


def _xla_tilings(rank: int) -> Iterator[Format]:
    """Every order of up to four dimensions, its fastest ones cut by XLA's tiles."""
    for order in permutations(range(rank)) if 0 < rank <= 4 else []:
        for tiles in XLA_TILES:
            if len(tiles[0]) <= rank:
                words = "".join([f"({','.join(map(str, tile))})" for tile in tiles])
                tiled = xla.parse(f"{{{','.join(map(str, reversed(order)))}:T{words}}}")
                if isinstance(tiled, Format):
                    yield tiled


def _pitched_strides(shape: tuple[int, ...], length: int) -> Iterator[tuple[int, ...]]:
    """Strides of arrays whose rows, the fastest dimension, lie further apart than they are long.

    The pitch is what fills the dump, with the gap behind the last row or without, or an alignment to a power of two.
    """
    for order in _orders(len(shape)):
        long = [d for d in order if shape[d] > 1]
        rows = prod(shape[d] for d in long[:-1])
        if len(long) < 2 or not rows:
            continue
        row = shape[long[-1]]
        aligned = [-(-row // a) * a for a in _powers_of_two(ALIGNED_UP_TO)]
        filling = [length // rows] * (length % rows == 0) + [(length - row) // (rows - 1)] * (
            (length - row) % (rows - 1) == 0
        )
        for pitch in dict.fromkeys([*filling, *aligned]):
            if row < pitch and (rows - 1) * pitch + row <= length:
                strides, running = [0] * len(shape), pitch
                strides[long[-1]] = 1
                for d in reversed(long[:-1]):
                    strides[d] = running
                    running *= shape[d]
                yield tuple(strides)


def _powers_of_two(limit: int) -> list[int]:
    return [1 << k for k in range(1, limit.bit_length())]


def _pitched_layout(shape: tuple[int, ...], strides: tuple[int, ...], length: int) -> Layout:
    """The layout of these strides, its rows in a box as wide as the pitch where that fills the dump."""
    row = min((s, d) for d, s in enumerate(strides) if s > 0)[1]
    pitch = min(s for s in strides if s > 1)
    box = list(shape)
    box[row] = pitch
    return Layout(tuple(box), strides, extents=shape) if prod(box) == length else Layout(shape, strides)
