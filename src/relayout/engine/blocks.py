"""The target of a plan cut into parts that can be made one by one: by other threads, machines or later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..elements.interface import Interface, Plain
from ..errors import NotExpressible
from ..immutable import NamedTuple
from ..integers.nested import product
from ..layout.layout import Layout
from ..layout.modes import Mode
from .digits import LayoutDigit, alignment_unit, as_mode, digits_of
from .places import box_range, element_range

if TYPE_CHECKING:
    from .plan import Plan


class Block(NamedTuple):
    """A part of a plan: the elements from ``index`` on, as many as ``shape`` says along each dimension.

    ``source`` and ``target`` are their layouts in the memory of the whole. The ranges, from the first element to behind
    the last, are all that the part reads and writes; with a fill its padding is in the range, and ``shape`` may hold
    a 0 where a part is nothing but padding.
    """

    index: tuple[int, ...]  # type: ignore[assignment]
    shape: tuple[int, ...]
    source: Layout
    target: Layout
    source_range: tuple[int, int]
    target_range: tuple[int, int]
    whole: Plan

    def plan(self, local: bool = False) -> Plan:
        """The plan of this part; with ``local`` for memory that starts where the ranges do."""
        source, target = self.source, self.target
        if local:
            source = source.with_offset(source.offset - self.source_range[0])
            target = target.with_offset(target.offset - self.target_range[0])
        return self.whole._part(source, target, self.index)


def blocks_of(plan: Plan, most: int) -> Iterator[Block]:
    """The parts of a plan whose ranges of the target have at most so many elements, in the order of its digits.

    A part that cannot be cut may be larger.
    """
    cuts, reaches = cutting_digits(plan)
    return cut_plan(plan, cuts, consecutive_counts(cuts, reaches, most))


def consecutive_counts(cuts: Sequence[LayoutDigit], reaches: Sequence[int], most: int) -> list[int]:
    """How many values of each digit, down to the last that is cut, a part of at most so many elements in a row has."""
    level = next((k for k, reach in enumerate(reaches) if reach <= most), len(cuts) - 1)
    counts = [1] * (level + 1)
    if cuts:
        counts[level] = max((most - reaches[level]) // abs(cuts[level].stride) + 1, 1)
    return counts


def cut_plan(plan: Plan, cuts: Sequence[LayoutDigit], counts: Sequence[int]) -> Iterator[Block]:
    """The parts that have so many values of each of the leading digits, and all of the others.

    Of a digit above one that is cut, in the same dimension, they have one value.
    """
    for number in range(part_count(cuts, counts)):
        found = part_at(plan, cuts, counts, number)
        if found is not None:
            yield found


def part_count(cuts: Sequence[LayoutDigit], counts: Sequence[int]) -> int:
    """How many parts so many values of each of the leading digits make, those that hold nothing included."""
    return product(tuple([-(-digit.size // count) for digit, count in zip(cuts, counts)]))


def part_at(plan: Plan, cuts: Sequence[LayoutDigit], counts: Sequence[int], number: int) -> Block | None:
    """One of these parts by its number, the last digit that is cut counting fastest; None if it holds nothing."""
    ranges = []
    for digit, count in reversed([(digit, count) for digit, count in zip(cuts, counts) if count < digit.size]):
        number, at = divmod(number, -(-digit.size // count))
        ranges.append((digit, at * count, min(count, digit.size - at * count)))
    found = make_part(plan, ranges[::-1])
    return found if product(found.shape) or (plan.fill is not None and found.target.padded_size) else None


def cutting_digits(plan: Plan) -> tuple[list[LayoutDigit], list[int]]:
    """The digits, slowest first, that cut coordinates and memory alike, and how far one step of each reaches.

    Each is the highest that is left of its dimension, and a step of it passes all that faster ones reach; with a fill
    by nothing, since gaps would belong to no part.
    """
    target, filled = plan.target, plan.fill is not None
    unit = alignment_unit(target, plan.dst_element.element.bits)
    digits = sorted(digits_of(target), key=lambda digit: (-abs(digit.stride), -digit.place))
    left = list(target.padded_shape)
    cuts: list[LayoutDigit] = []
    reaches: list[int] = []
    for k, digit in enumerate(digits if target.offset % unit == 0 else []):
        reach = 1 + sum([(faster.size - 1) * abs(faster.stride) for faster in digits[k + 1 :]])
        step = abs(digit.stride)
        if digit.place * digit.size != left[digit.dim] or step % unit or step < reach or (filled and step > reach):
            break
        left[digit.dim] = digit.place
        cuts.append(digit)
        reaches.append(reach)
    return cuts, reaches


def make_part(plan: Plan, ranges: list[tuple[LayoutDigit, int, int]]) -> Block:
    """The part where each digit runs over a range of its values; lower digits of one dimension come last."""
    source, target = plan.source, plan.target
    modes = [target._mode(d) for d in range(target.rank)]
    offset = target.offset
    index = [0] * len(modes)
    for digit, first, count in ranges:
        sizes, strides, origin, extent = modes[digit.dim]
        start, end = first * digit.place, (first + count) * digit.place
        low, high = max(origin, start), min(origin + extent, end)
        window = (low - start, high - low) if low < high else (0, 0)
        modes[digit.dim] = Mode((*sizes[: digit.index], count), (*strides[: digit.index], digit.stride), *window)
        offset += first * digit.stride
        skipped = low - origin if low < high else 0
        index[digit.dim] += skipped
        source = source.narrow(digit.dim, skipped, window[1])
    target = Layout(
        tuple([as_mode(mode.sizes) for mode in modes]),
        tuple([as_mode(mode.strides) for mode in modes]),
        offset=offset,
        extents=tuple([mode.extent for mode in modes]),
        origin=tuple([mode.origin for mode in modes]),
        swizzle=target.swizzle,
    )
    written = element_range(target) if plan.fill is None else box_range(target)
    return Block(
        tuple(index),
        target.extents,
        source,
        target,
        _down_to_unit(element_range(source), alignment_unit(source, plan.element.element.bits)),
        _down_to_unit(written, alignment_unit(target, plan.dst_element.element.bits)),
        plan,
    )


def _down_to_unit(places: tuple[int, int], unit: int) -> tuple[int, int]:
    return places[0] - places[0] % unit, places[1]


def interface_of_part(means: Interface, index: tuple[int, ...], shape: tuple[int, ...]) -> Interface:
    """The interface of a part: of several channels those that it has."""
    if isinstance(means, Plain) or means.axis is None:
        return means
    first = index[means.axis]
    return means.take(range(first, first + shape[means.axis]))


def error_in_whole(error: NotExpressible, first: Sequence[int]) -> NotExpressible:
    """The refusal of a value of a part that begins at ``first``, with its coordinates in the whole."""
    place = error.operands.get("counterexample")
    if not isinstance(place, tuple):
        return error
    at = tuple([n + k for n, k in zip(first, place)])
    message = error.message.replace(f" at {place} ", f" at {at} ", 1)
    return NotExpressible(message, hint=error.hint, **{**error.operands, "counterexample": at})
