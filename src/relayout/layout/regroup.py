"""One run of elements under other dimensions: how modes merge, split and step, windows included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, islice, pairwise
from itertools import product as cartesian
from operator import mul
from typing import TYPE_CHECKING, Any

from ..errors import LimitExceeded, NotExpressible, shown
from ..integers.nested import product
from .carry import NoDigits, compose_digits
from .modes import Mode, digit_sum, fit_mode, open_sum, simplify_mode

if TYPE_CHECKING:
    from .layout import Layout

Part = tuple[Any, Any, int, int]
"""A mode being built: shape, stride, origin and extent."""


LOOK_LIMIT = 1 << 12
"""How many elements of a view without a simpler reason may be looked at one by one."""


def matching_runs(modes: list[Mode], sizes: list[int]) -> list[tuple[list[Mode], list[int]]]:
    """The shortest runs of modes and of sizes that hold the same elements; none of them is 1."""
    runs: list[tuple[list[Mode], list[int]]] = []
    have = want = 1
    old: list[Mode] = []
    new: list[int] = []
    modes, sizes = modes[::-1], sizes[::-1]
    while modes or sizes:
        if have <= want:
            old.append(modes.pop())
            have *= old[-1].extent
        else:
            new.append(sizes.pop())
            want *= new[-1]
        if have == want:
            runs.append((old, new))
            old, new = [], []
    return runs


def regroup_modes(modes: Sequence[Mode], sizes: Sequence[int], layout: Layout) -> tuple[Any, list[Part]]:
    """Neighbouring modes, slowest first, as modes of the given sizes: a constant and the new modes."""
    if len(modes) == 1 and len(sizes) == 1:
        mode = modes[0]
        return 0, [_part(list(zip(mode.sizes, mode.strides, strict=True)), mode.origin, mode.extent)]
    factors = []
    weight = 1
    for n in reversed(sizes):
        factors.append((n, weight))
        weight *= n
    constant, whole = merge_modes(modes)
    if whole is None:
        return _from_values(lambda x: _row_major_value(modes, x), factors[::-1], layout)
    moved, parts = step_mode(whole, factors[::-1], layout)
    return constant + moved, parts


def _row_major_value(modes: Sequence[Mode], x: int) -> Any:
    total: Any = 0
    for mode in reversed(modes):
        x, digit = divmod(x, mode.extent)
        total += digit_sum(mode.sizes, mode.strides, mode.origin + digit)
    return total


def with_units(parts: list[Part], target: Sequence[int], unit: int) -> list[Part]:
    """The modes with those of size 1 in between, whose stride is the one that a contiguous layout has there.

    ``unit`` is the stride of one at the very end.
    """
    rest = parts[::-1]
    result: list[Part] = []
    for n in reversed(target):
        if n != 1:
            result.append(rest.pop(0))
        else:
            shape, stride, _, _ = result[-1] if result else (1, unit, 0, 1)
            result.append((1, 0 if isinstance(shape, tuple) else shape * stride, 0, 1))
    return result[::-1]


def merge_modes(modes: Sequence[Mode]) -> tuple[Any, Mode | None]:
    """Neighbouring modes, slowest first, as a constant and one mode over their row-major count.

    None instead of the mode when another than the slowest has a window that cannot be trimmed away.
    """
    constant: Any = 0
    sizes: tuple[int, ...] = ()
    strides: tuple[Any, ...] = ()
    weight = 1
    origin = 0
    for mode in reversed(modes):
        if origin or weight != product(sizes):
            return 0, None
        moved, mode = simplify_mode(mode)
        constant += moved
        sizes, strides = sizes + mode.sizes, strides + mode.strides
        origin = mode.origin * weight
        weight *= mode.extent
    return constant, Mode(sizes, strides, origin, weight)


def step_mode(mode: Mode, factors: Sequence[tuple[int, int]], layout: Layout) -> tuple[Any, list[Part]]:
    """The mode at ``origin + sum(c_j * b_j)`` for factors ``(n_j, b_j)``: a constant and one part per factor.

    In turn as whole modes, with a window on one factor, and as its values show, if they are few.
    """
    constant, mode = simplify_mode(mode)
    sizes, strides = [*mode.sizes] or [1], [*mode.strides] or [0]
    stepped = _without_window(sizes, strides, mode.origin, factors)
    if stepped is None:
        stepped = _window_on_widest(sizes, strides, mode.origin, factors)
    if stepped is None:
        lower = sizes[:-1]
        stepped = _from_values(lambda x: open_sum(lower, strides, mode.origin + x), factors, layout)
    return constant + stepped[0], stepped[1]


def _without_window(
    sizes: list[int], strides: list[Any], start: int, factors: Sequence[tuple[int, int]]
) -> tuple[Any, list[Part]] | None:
    """The digits at ``start + sum(c_j * b_j)`` as whole modes, by composition; None where that gives none."""
    try:
        parts = compose_digits(sizes[:-1], strides, list(factors), start)
    except NoDigits:
        return None
    return open_sum(sizes[:-1], strides, start), [_part(part) for part in parts]


def _window_on_widest(
    sizes: list[int], strides: list[Any], start: int, factors: Sequence[tuple[int, int]]
) -> tuple[Any, list[Part]] | None:
    """The digits at ``start + sum(c_j * b_j)``, the factor of the widest step with a window; None where that fails.

    It serves where that step falls on a digit boundary and the other factors together stay below it.
    """
    widest = max(range(len(factors)), key=lambda j: (factors[j][0] > 1, factors[j][1]))
    others = [f for j, f in enumerate(factors) if j != widest]
    n, step = factors[widest]
    place, remainder = divmod(start, step)
    upper = _from_digit(sizes, strides, step)
    if upper is None or remainder + sum((m - 1) * b for m, b in others if m > 1) >= step:
        return None
    below = _without_window(sizes, strides, remainder, others)
    if below is None:
        return None
    constant, parts = below
    moved, high = simplify_mode(Mode(*upper, place, n))
    parts.insert(widest, _part(list(zip(high.sizes, high.strides)), high.origin, n))
    return constant + moved, parts


def _from_values(
    at: Callable[[int], Any], factors: Sequence[tuple[int, int]], layout: Layout
) -> tuple[Any, list[Part]]:
    """One part per factor for ``at(sum(c_j * b_j))``, found from the values themselves.

    Of more than LOOK_LIMIT elements only some are looked at: they may rule the view out, but cannot prove it.
    """
    count = product(tuple([n for n, _ in factors]))
    whole = count <= LOOK_LIMIT
    start = at(0)
    parts = []
    begin = start
    for k, (n, b) in enumerate(factors):
        table = [at(x * b) - start for x in range(n if whole else min(n, LOOK_LIMIT))]
        mode = fit_mode(table)
        if mode is None:
            raise _no_view(layout, f"its dimension {k} would have to step unevenly, through {shown(table)}", table)
        begin -= digit_sum(mode.sizes, mode.strides, mode.origin)
        parts.append(_part(list(zip(mode.sizes, mode.strides)), mode.origin, mode.extent))
    places = [range(n) if whole else sorted({0, min(1, n - 1), n // 2, n - 1}) for n, _ in factors]
    for c in islice(cartesian(*places), LOOK_LIMIT):
        value = at(sum(x * b for x, (_, b) in zip(c, factors)))
        expected = start + sum((at(x * b) - start for x, (_, b) in zip(c, factors)), 0)
        if value != expected:
            raise _no_view(
                layout,
                f"element {c} of it lies {value} from the offset, where its dimensions add up to {expected}",
                (c, value, expected),
            )
    if not whole:
        raise LimitExceeded(
            f"whether {layout} has that view is undecided: {count} elements are over the limit of {LOOK_LIMIT}.",
            hint="copy the data into a contiguous layout first",
            layout=layout,
            limit=LOOK_LIMIT,
        )
    return begin, parts


def diagonal_mode(a: Mode, b: Mode, layout: Layout) -> tuple[Any, Part]:
    """Two modes of one extent walked together: a constant and the mode ``k -> a(k) + b(k)``.

    By common digits where those of both divide each other, else as the values show, if they are few.
    """
    first, a = simplify_mode(a)
    second, b = simplify_mode(b)
    places = sorted({x for m in (a, b) for x in accumulate(m.sizes[:-1], mul, initial=1)})
    if not (a.windowed or b.windowed) and all(y % x == 0 for x, y in pairwise(places)):
        ends = [*places[1:], a.extent]
        digits = [
            (end // place, sum(digit_sum(m.sizes, m.strides, place) for m in (a, b)) if end > place else 0)
            for place, end in zip(places, ends)
        ]
        if all(end % place == 0 for place, end in zip(places, ends)):
            return first + second, _part(digits)
    values = [(m.sizes[:-1], m.strides or (0,), m.origin) for m in (a, b)]
    moved, (part,) = _from_values(
        lambda x: sum(open_sum(lower, strides, origin + x) for lower, strides, origin in values),
        [(a.extent, 1)],
        layout,
    )
    return first + second + moved, part


def _part(digits: Sequence[tuple[int, Any]], origin: int = 0, extent: int | None = None) -> Part:
    if len(digits) <= 1:
        n, d = digits[0] if digits else (1, 0)
        return n, d, origin, n if extent is None else extent
    shape = tuple([n for n, _ in digits])
    return shape, tuple([d for _, d in digits]), origin, product(shape) if extent is None else extent


def _from_digit(sizes: list[int], strides: list[Any], step: int) -> tuple[tuple[int, ...], tuple[Any, ...]] | None:
    """The digits that count in units of ``step``; None when ``step`` cuts through a digit unevenly."""
    for k, s in enumerate(sizes):
        if step < s or k == len(sizes) - 1:
            if s % step:
                return None
            return (s // step, *sizes[k + 1 :]), (strides[k] * step, *strides[k + 1 :])
        if step % s:
            return None
        step //= s
    return None


def _no_view(layout: Layout, why: str, counterexample: Any) -> NotExpressible:
    return NotExpressible(
        f"no view of {layout} has that shape: {why}.",
        hint="copy the data into a contiguous layout first",
        counterexample=counterexample,
        layout=layout,
    )
