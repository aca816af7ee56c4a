"""Which offsets does a layout reach: their range, their table, their coordinates, their collisions and holes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product as cartesian
from typing import TYPE_CHECKING, Any

from ..errors import LimitExceeded, NotExpressible, OutOfBounds, Overlap, ShapeError
from ..integers.nested import flatten
from .modes import DigitBox, Mode, boxes, digit_sum, span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .layout import Layout
    from .swizzle import Swizzle

TABLE_LIMIT = 1 << 30
"""The largest table of offsets, in entries."""

PERIOD_LIMIT = 1 << 18
"""The largest swizzle period whose exact range is computed."""

ENUMERATION_LIMIT = 1 << 20
"""How many offsets a question without a faster exact answer may enumerate."""

BOX_LIMIT = 512
"""Into how many full boxes a window may fall apart."""


def check_numeric(layout: Layout) -> None:
    """Refuse a layout whose strides do not span memory: coordinates have no absolute value."""
    for d in (*flatten(layout.stride), layout.offset):
        abs(d)


def numeric_modes(layout: Layout) -> list[Mode]:
    """The modes of a layout whose strides span memory."""
    check_numeric(layout)
    return [layout._mode(k) for k in range(layout.rank)]


def inner_range(layout: Layout) -> tuple[int, int]:
    """The smallest and the largest value before the swizzle; refused for an empty layout."""
    if not layout.windowed:
        return box_bounds(layout)
    modes = numeric_modes(layout)
    if layout.size == 0:
        raise _no_offsets(layout)
    spans = [span(m) for m in modes]
    return layout.offset + sum(s[0] for s in spans), layout.offset + sum(s[1] for s in spans)


def box_bounds(layout: Layout) -> tuple[int, int]:
    """The smallest and the largest value of the box before the swizzle; refused for an empty one."""
    check_numeric(layout)
    low = high = layout.offset
    for n, d in zip(flatten(layout.shape), flatten(layout.stride)):
        if not n:
            raise _no_offsets(layout)
        if d < 0:
            low += (n - 1) * d
        else:
            high += (n - 1) * d
    return low, high


def _no_offsets(layout: Layout) -> OutOfBounds:
    return OutOfBounds("an empty layout has no offsets.", hint="check `size` first", layout=layout)


def effective_swizzle(layout: Layout) -> Swizzle | None:
    """The swizzle, unless it moves nothing because no offset has a bit that it reads."""
    swizzle = layout.swizzle
    return None if swizzle is None or swizzle.keeps(*inner_range(layout)) else swizzle


@lru_cache(maxsize=1024)
def offset_range(layout: Layout) -> tuple[int, int]:
    """The smallest and the largest offset of any logical coordinate, swizzle included."""
    low, high = inner_range(layout)
    swizzle = layout.swizzle
    if swizzle is None:
        return low, high
    period = swizzle.period
    if period > PERIOD_LIMIT:
        if swizzle.keeps(low, high):
            return low, high
        raise LimitExceeded(
            f"the range under the swizzle {swizzle} is undecided: its period {period} is over {PERIOD_LIMIT}.",
            hint="use a swizzle of fewer bits",
            limit=PERIOD_LIMIT,
        )
    # A swizzle permutes each aligned run of `period` addresses, so only the lowest and the highest run matter.
    first_end = (low // period + 1) * period
    last_start = high // period * period
    lowest = min(swizzle(low + k) for k in _set_bits(_reach_bits(layout, 1, first_end - low)))
    highest = max(swizzle(high - k) for k in _set_bits(_reach_bits(layout, -1, high - last_start + 1)))
    return lowest, highest


def _reach_bits(layout: Layout, direction: int, count: int) -> int:
    """A bit set: bit k is set if the value k steps from the low (direction 1) or high (-1) end is taken."""
    reached = 1
    keep = (1 << count) - 1
    for mode in numeric_modes(layout):
        low, high = span(mode)
        union = 0
        for box in boxes(mode):
            reach = [(n - 1) * d for n, d in zip(box.sizes, box.strides, strict=True)]
            distance = box.base + sum(r for r in reach if r < 0) - low
            if direction < 0:
                distance = high - box.base - sum(r for r in reach if r > 0)
            if distance < count:
                part = reached << distance & keep
                for n, d in zip(box.sizes, box.strides, strict=True):
                    part = _repeat_bits(part, n, abs(d), keep)
                union |= part
        reached = union
    return reached


def _repeat_bits(bits: int, n: int, step: int, keep: int) -> int:
    """The union of ``bits`` shifted by 0, step, ..., (n - 1) * step, by doubling."""
    if step == 0 or bits == 0:
        return bits
    n = min(n, keep.bit_length() // step + 1)
    done = 1
    while done < n:
        more = min(done, n - done)
        bits |= bits << more * step & keep
        done += more
    return bits


def _set_bits(bits: int) -> list[int]:
    text = bin(bits)[:1:-1]
    return [k for k, bit in enumerate(text) if bit == "1"]


def storage_size(layout: Layout) -> int:
    """The elements from address 0 to the end of the box, rounded up to the swizzle's period where it reaches past."""
    if layout.padded_size == 0:
        return 0
    low, high = box_bounds(layout)
    end = max(high + 1, 0)
    swizzle = layout.swizzle
    if swizzle is None or end % swizzle.period == 0 or swizzle.keeps(low, high):
        return end
    whole = -(-end // swizzle.period) * swizzle.period
    if swizzle.period > PERIOD_LIMIT:
        return whole
    return whole if offset_range(layout.box)[1] >= end else end


def check_allocatable(layout: Layout) -> None:
    """Refuse a layout that no memory of its own can hold: its box goes below 0, or its values are coordinates."""
    if layout.has_basis or (layout.padded_size and layout.box.min_offset < 0):
        raise no_places(layout)


def no_places(layout: Layout) -> ShapeError:
    """The refusal of a layout whose values are no places in memory."""
    return ShapeError(f"{layout} goes below 0, or has no places in memory.", hint="add to its offset", layout=layout)


def offsets(layout: Layout) -> NDArray[np.int64]:
    """The int64 table of all offsets, of shape ``extents``."""
    import numpy as np

    extents = layout.extents
    if layout.size == 0:
        numeric_modes(layout)
        try:
            return np.empty(extents, np.int64)
        except ValueError:
            raise LimitExceeded(
                f"numpy has no array of shape {extents}.", hint="take a view first (narrow, pick)", limit=1 << 63
            ) from None
    low, high = inner_range(layout)
    if layout.size > TABLE_LIMIT:
        raise LimitExceeded(
            f"a table of {layout.size} offsets is over the limit of {TABLE_LIMIT} entries.",
            hint="take a view first (narrow, pick), or call the layout",
            limit=TABLE_LIMIT,
        )
    if low < -(1 << 63) or high >= 1 << 63 or (layout.swizzle is not None and layout.swizzle.period > 1 << 62):
        raise LimitExceeded(
            f"the offsets {low} .. {high} do not fit into int64.",
            hint="call the layout: Python integers have no limit",
            limit=1 << 63,
        )
    swizzle = layout.swizzle
    if swizzle is not None and swizzle.keeps(low, high):
        swizzle = None
    start = layout.offset
    dims: list[Any] = []
    for mode in numeric_modes(layout):
        if mode.windowed:
            first = digit_sum(mode.sizes, mode.strides, mode.origin)
            start += first
            dims.append(_window_table(mode, first))
        else:
            dims.extend((n, _wrap(d)) for n, d in zip(mode.sizes[::-1], mode.strides[::-1]) if n > 1)
    from .offset_table import offset_table

    table = offset_table(dims, _wrap(start), swizzle.parameters if swizzle is not None else None)
    return _reshape(table, extents)


def _reshape(table: NDArray[np.int64], extents: tuple[int, ...]) -> NDArray[np.int64]:
    try:
        return table.reshape(extents)
    except ValueError:
        raise LimitExceeded(
            f"numpy has no array of {len(extents)} dimensions.", hint="flatten or group modes first", limit=64
        ) from None


def _wrap(x: int) -> int:
    """``x`` modulo 2^64, as an int64: sums that end inside int64 may pass through any numbers."""
    return (x + (1 << 63)) % (1 << 64) - (1 << 63)


def _window_table(mode: Mode, first: int) -> NDArray[np.int64]:
    """The values of one windowed mode, relative to its first."""
    import numpy as np

    parts = []
    for box in boxes(mode):
        part = np.array([_wrap(box.base - first)], np.int64)
        for n, d in zip(box.sizes, box.strides):
            part = (np.arange(n, dtype=np.int64)[:, None] * np.int64(_wrap(d)) + part).reshape(-1)
        parts.append(part)
    return np.concatenate(parts)


def _all_boxes(layout: Layout) -> list[tuple[DigitBox, ...]]:
    """The domain cut into boxes: one entry per combination of the boxes of each mode."""
    per_mode = [boxes(m) for m in numeric_modes(layout)]
    count = 1
    for cut in per_mode:
        count *= len(cut)
    if count > BOX_LIMIT:
        raise LimitExceeded(
            f"the window falls apart into {count} boxes, over the limit of {BOX_LIMIT}.", limit=BOX_LIMIT
        )
    return list(cartesian(*per_mode))


def _join_boxes(combination: tuple[DigitBox, ...]) -> tuple[int, list[int], list[int]]:
    """The base value, sizes and strides of a box of the whole domain."""
    sizes = [n for box in combination for n in box.sizes]
    strides = [d for box in combination for d in box.strides]
    return sum(box.base for box in combination), sizes, strides


def _coordinate(layout: Layout, combination: tuple[DigitBox, ...], digits: Sequence[int]) -> tuple[int, ...]:
    """The logical coordinate, one integer per mode, of some digits of a box of the domain."""
    rest = iter(digits)
    coordinate = []
    for k, box in enumerate(combination):
        x, weight = box.start - layout.origin[k], 1
        for s in layout._mode(k).sizes[: len(box.sizes)]:
            x += next(rest) * weight
            weight *= s
        coordinate.append(x)
    return tuple(coordinate)


def preimages(layout: Layout, i: int, at_most: int | None = None) -> list[tuple[int, ...]]:
    """The coordinates, one integer per mode, whose offset is ``i``; all of them, or the first ``at_most``."""
    from ..integers.lattice import solutions

    target = i if layout.swizzle is None else layout.swizzle(i)
    coordinates = []
    for combination in _all_boxes(layout):
        base, sizes, strides = _join_boxes(combination)
        question = f"which coordinates map to {i}"
        for digits in solutions(sizes, strides, target - layout.offset - base, question=question):
            coordinates.append(_coordinate(layout, combination, digits))
            if at_most is not None and len(coordinates) == at_most:
                return coordinates
            if len(coordinates) > ENUMERATION_LIMIT:
                raise LimitExceeded(
                    f"more than {ENUMERATION_LIMIT} coordinates map to {i}.",
                    hint="leave broadcast (stride 0) modes out",
                    limit=ENUMERATION_LIMIT,
                )
    return coordinates


def preimage(layout: Layout, i: int) -> tuple[int, ...]:
    """The only coordinate, one integer per mode, whose offset is ``i``."""
    coordinates = preimages(layout, i, at_most=2)
    if not coordinates:
        raise OutOfBounds(
            f"no coordinate of {layout} maps to {i}.",
            hint="the offset lies in a hole, in padding, or outside the storage",
            index=i,
            layout=layout,
        )
    if len(coordinates) > 1:
        raise NotExpressible(
            f"several coordinates of {layout} map to {i}, for instance {coordinates[0]} and {coordinates[1]}.",
            hint="Layout.preimages lists them all; a stride 0 repeats elements",
            index=i,
            layout=layout,
            counterexample=tuple(coordinates),
        )
    return coordinates[0]


def strides_pass(layout: Layout) -> bool:
    """Whether each stride passes the reach of all smaller ones, so that no two places of the box are the same."""
    end = 1
    for step, n in sorted([(abs(d), n) for n, d in zip(flatten(layout.shape), flatten(layout.stride))]):
        if n > 1 and step < end:
            return False
        end += (n - 1) * step
    return True


def collision(layout: Layout) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Two coordinates, one integer per mode, that share an offset, or None; a swizzle never matters."""
    check_numeric(layout)
    if strides_pass(layout):
        return None
    from ..integers.lattice import solutions

    question = f"whether {layout} is injective"
    if layout.windowed and collision(layout._make(layout.shape, layout.stride)) is None:
        return None
    combinations = _all_boxes(layout) if layout.size else []
    for k, combination in enumerate(combinations):
        base, sizes, strides = _join_boxes(combination)
        # Two digits of one place differ by -(n - 1) .. n - 1: no difference but 0 everywhere may add up to 0.
        spread = [2 * n - 1 for n in sizes]
        centre = sum((n - 1) * d for n, d in zip(sizes, strides, strict=True))
        for digits in solutions(spread, strides, centre, question=question):
            difference = [x - n + 1 for x, n in zip(digits, sizes, strict=True)]
            if any(difference):
                ends = [max(x, 0) for x in difference], [max(-x, 0) for x in difference]
                return _coordinate(layout, combination, ends[0]), _coordinate(layout, combination, ends[1])
        for other in combinations[:k]:
            other_base, other_sizes, other_strides = _join_boxes(other)
            away = [-d for d in other_strides]
            for digits in solutions(sizes + other_sizes, strides + away, other_base - base, question=question):
                here, there = list(digits[: len(sizes)]), list(digits[len(sizes) :])
                return _coordinate(layout, other, there), _coordinate(layout, combination, here)
    return None


def check_places(layout: Layout) -> None:
    """Refuse a layout that is written to while two of its coordinates share an offset."""
    clash = collision(layout)
    if clash is not None:
        raise Overlap(
            f"{clash[0]} and {clash[1]} are the same place in memory: {layout}.",
            hint="write to a layout whose coordinates have places of their own",
            coordinates=clash,
        )


def is_injective(layout: Layout) -> bool:
    """Whether no two logical coordinates share an offset."""
    if layout.size > 1:
        low, high = inner_range(layout)
        if layout.size > high - low + 1:
            return False
    return collision(layout) is None


def is_packed(layout: Layout) -> bool:
    """Whether every integer from the smallest to the largest offset is an offset."""
    if layout.size <= 1:
        numeric_modes(layout)
        return True
    low, high = offset_range(layout)
    if high - low + 1 > layout.size:
        return False
    if layout.swizzle is None and not layout.windowed:
        # Multiples of ascending strides fill a range exactly when no stride is more than one past what is filled.
        filled = 1
        for d, n in sorted((abs(d), n) for n, d in zip(flatten(layout.shape), flatten(layout.stride), strict=True)):
            if n > 1 and d > filled:
                return False
            filled += (n - 1) * d
        return True
    if is_injective(layout):
        return high - low + 1 == layout.size
    if layout.size > ENUMERATION_LIMIT:
        raise LimitExceeded(
            f"whether {layout} is packed is undecided: its offsets overlap and are more than {ENUMERATION_LIMIT}.",
            hint="ask about one period of it",
            limit=ENUMERATION_LIMIT,
        )
    import numpy as np

    return int(np.unique(layout.offsets()).size) == high - low + 1
