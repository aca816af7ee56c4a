"""The layouts that ``advise`` tries: the bare tile in every order of its dimensions, swizzles of it, and paddings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import NamedTuple

from ...algebra.composed import ComposedLayout
from ...layout.layout import Layout
from ...layout.swizzle import Swizzle
from .demand import Integers

KINDS = ("none", "swizzle", "padding", "xor")
"""The families, the simplest to say first."""


class TileCandidate(NamedTuple):
    """A layout that may serve, and what it is called."""

    kind: str
    words: str
    layout: Layout | ComposedLayout
    elements: int
    """The room that it takes: whole rows, as an array of these sizes has them."""
    offsets: Integers
    """The offset of every element, in C order of its coordinates, before swizzles."""
    parts: int = 0
    """What there is to say beside the order: a padding, and each swizzle."""

    def bytes(self, bits: int) -> int:
        return -(-self.elements * bits // 8)


class TilePadding(NamedTuple):
    """Unused elements after each step of the dimensions, slowest first, and the room of the tile with them."""

    room: int
    pads: tuple[int, ...]


PADDING_LIMIT = 256
"""How many combinations of paddings of several dimensions are tried."""


def orders(shape: Sequence[int]) -> list[tuple[int, ...]]:
    """Orders of the dimensions, slowest first: row-major, then column-major, then the others.

    Dimensions of one element stay where row-major has them: they move nothing.
    """
    several = [d for d, n in enumerate(shape) if n > 1]
    found = []
    for chosen in permutations(several):
        rest = iter(chosen)
        found.append(tuple([next(rest) if n > 1 else d for d, n in enumerate(shape)]))
    rows = tuple(range(len(shape)))
    return sorted(found, key=lambda order: (order != rows, order != rows[::-1], order))


def order_words(order: Sequence[int]) -> str:
    """What an order is called."""
    rows = tuple(range(len(order)))
    if tuple(order) == rows:
        return "row-major"
    return "column-major" if tuple(order) == rows[::-1] else f"axes {tuple(order)}"


def strided_tile(shape: Sequence[int], order: Sequence[int], pads: Sequence[int]) -> tuple[Layout, int]:
    """The layout whose dimension ``order[k]`` has ``pads[k]`` unused elements after each of its steps; and its room."""
    strides, room = [0] * len(shape), 1
    for dim, pad in zip(reversed(order), reversed(pads)):
        room += pad
        strides[dim] = room
        room *= shape[dim]
    return Layout(tuple(shape), tuple(strides)), room


def bare(shape: Sequence[int], order: Sequence[int]) -> TileCandidate:
    """The tile as it is, in that order."""
    layout, room = strided_tile(shape, order, [0] * len(shape))
    return TileCandidate("none", order_words(order), layout, room, layout.offsets().ravel())


def swizzle_tile(base: TileCandidate, swizzles: Sequence[Swizzle]) -> TileCandidate:
    """The candidate with its offsets swizzled by each in turn."""
    layout: Layout | ComposedLayout = base.layout
    for swizzle in swizzles:
        alone = isinstance(layout, Layout) and layout.swizzle is None
        layout = swizzle(layout) if alone else ComposedLayout(swizzle, layout)
    words = " o ".join([f"Swizzle<{s.bits},{s.base},{s.shift}>" for s in reversed(swizzles)])
    room = base.elements
    if any(room % swizzle.period for swizzle in swizzles):
        offsets = base.offsets
        for swizzle in swizzles:
            offsets = swizzle(offsets)
        room = max(room, int(offsets.max()) + 1)
    kind = "swizzle" if len(swizzles) == 1 else "xor"
    return TileCandidate(kind, f"{words} over {base.words}", layout, room, base.offsets, base.parts + len(swizzles))


def swizzles(base: TileCandidate, low: int, high: int) -> Iterator[Swizzle]:
    """Every swizzle that changes bits of ``[low, high)`` only, by bits that the tile's offsets have; simplest first.

    Bits below ``low`` are inside a vector, bits from ``high`` on choose no bank.
    """
    top = (base.elements - 1).bit_length()
    found = []
    for bits, first in product(range(1, high - low + 1), range(low, high)):
        if first + bits <= min(high, top):
            found += [Swizzle(bits, first, shift) for shift in range(bits, top - first - bits + 1)]
            found += [Swizzle(bits, first - back, -back) for back in range(bits, first - low + 1)]
    return iter(sorted(found, key=lambda s: (s.bits, s.shift < 0, abs(s.shift), -s.base)))


def aligned(shape: Sequence[int], order: Sequence[int], step: int) -> tuple[int, ...]:
    """The fewest unused elements after the steps of the dimensions that make every slower stride a multiple."""
    pads, room = [0] * len(order), 1
    slower = _slower(shape, order)
    for k in reversed(range(len(order))):
        pads[k] = -room % step if k in slower else 0
        room = (room + pads[k]) * shape[order[k]]
    return tuple(pads)


def to_powers(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """The unused elements that make every slower stride a power of two."""
    pads, room = [0] * len(order), 1
    slower = _slower(shape, order)
    for k in reversed(range(len(order))):
        pads[k] = (1 << (room - 1).bit_length()) - room if k in slower else 0
        room = (room + pads[k]) * shape[order[k]]
    return tuple(pads)


def _slower(shape: Sequence[int], order: Sequence[int]) -> list[int]:
    """The places in ``order`` of dimensions that move, all but the fastest."""
    return [k for k, dim in enumerate(order) if shape[dim] > 1][:-1]


def paddings(shape: Sequence[int], order: Sequence[int], step: int, period: int) -> list[TilePadding]:
    """Unused elements after the steps of the slower dimensions, least room first; every stride a multiple of ``step``.

    ``period`` elements are one turn through all banks. A dimension gets less than that, for with a whole turn more its
    steps begin at the same banks again; and never nothing at all, which is the bare tile. Where these are more than
    ``PADDING_LIMIT``, one dimension at a time gets more than its alignment asks for.
    """
    slower = _slower(shape, order)
    turns, together = max(1, period // step), are_combined(shape, step, period)
    found = set()
    for chosen in product(range(turns), repeat=len(slower)) if together else _one_by_one(turns, len(slower)):
        pads, room = [0] * len(order), 1
        counts = dict(zip(slower, chosen))
        for k in reversed(range(len(order))):
            if k in counts:
                pads[k] = -room % step + counts[k] * step
            room = (room + pads[k]) * shape[order[k]]
        if any(pads):
            found.add(TilePadding(room, tuple(pads)))
    return sorted(found)


def are_combined(shape: Sequence[int], step: int, period: int) -> bool:
    """Whether the paddings of several dimensions are few enough to be tried together."""
    slower = max(0, sum(n > 1 for n in shape) - 1)
    return bool(max(1, period // step) ** slower <= PADDING_LIMIT)


def _one_by_one(turns: int, dims: int) -> Iterator[tuple[int, ...]]:
    for k in range(dims):
        for turn in range(turns):
            yield tuple([turn if d == k else 0 for d in range(dims)])


def pad_tile(shape: Sequence[int], order: Sequence[int], pads: Sequence[int]) -> TileCandidate:
    """The tile in that order with those paddings; without any it is the bare one."""
    if not any(pads):
        return bare(shape, order)
    layout, room = strided_tile(shape, order, pads)
    told = " and ".join([str(pad) for pad in pads if pad])
    row = {"row-major": "rows", "column-major": "columns"}.get(order_words(order), f"steps of {order_words(order)}")
    return TileCandidate("padding", f"{row} padded by {told}", layout, room, layout.offsets().ravel(), 1)
