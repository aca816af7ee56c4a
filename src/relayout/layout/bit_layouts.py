"""Layouts as matrices over GF(2), and back: one column per bit of the coordinate, one row per bit of the offset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import NotExpressible
from ..integers.nested import flatten
from .bit_form import bit_form
from .layout import Layout
from .modes import coalesced
from .swizzle import Swizzle


def linear_columns(layout: Layout) -> tuple[int, ...]:
    """The offsets at the integer coordinates 1, 2, 4, ..., refused unless every other offset is an XOR of them."""

    def refusal(reason: str, hint: str, counterexample: Any = None) -> NotExpressible:
        return NotExpressible(
            f"{layout} is not linear over bits: {reason}.", hint=hint, counterexample=counterexample, layout=layout
        )

    for k, n in enumerate(layout.extents):
        if n < 1 or n & (n - 1):
            raise refusal(f"mode {k} has {n} coordinates, not a power of two", "narrow it to a power of two")
    form = bit_form(layout)
    if form is None:
        raise refusal("its window cuts a digit that is no power of two, or starts inside one", "use a whole box")
    if form.start:
        start = layout.coordinates(0).modes
        raise refusal(f"the offset at {start} is {form.start}, not 0", "move it to 0, and add the rest after", start)
    for k, column in enumerate(form.columns):
        if column < 0:
            where = layout.coordinates(1 << k).modes
            raise refusal(f"the offset at {where} is {column}, below 0", "flip the mode first", where)
    if form.carry is not None:
        a, b, both = (layout.coordinates(x).modes for x in (*form.carry, sum(form.carry)))
        raise refusal(
            f"the offsets {layout(a)} at {a} and {layout(b)} at {b} carry, so that at {both} it is {layout(both)} "
            f"and not their XOR {layout(a) ^ layout(b)}",
            "use strides that share no bits, or keep the layout as it is",
            (a, b),
        )
    return form.columns


def linear_layout(groups: Sequence[Sequence[int]]) -> Layout:
    """The simplest layout without a window whose mode ``d`` has the offsets ``groups[d]`` at 1, 2, 4, ...

    It has a swizzle only if it needs one; of several that serve, the one that leaves the fewest leaves, then the one
    with the shortest shift. Refused when none serves: then no layout without a window is this function.
    """
    rows = _rows([c for group in groups for c in group])
    candidates = [_assemble(groups, swizzle) for swizzle in _swizzles(rows)]
    if candidates:
        return min(candidates, key=_complexity)
    bit = next(j for j, row in enumerate(rows) if row & (row - 1))
    users = [k for k in range(rows[bit].bit_length()) if rows[bit] >> k & 1]
    a, b = (_unit(groups, k) for k in users[:2])
    raise NotExpressible(
        f"bit {bit} of the offset is the XOR of {len(users)} bits of the coordinate, such as those at {a} and {b}, "
        "and no swizzle undoes that, so it is no layout.",
        hint="keep the LinearLayout: it applies, composes and inverts as it is",
        counterexample=(a, b),
        bit=bit,
    )


def _rows(columns: Sequence[int]) -> list[int]:
    """For every bit of the offset the set of columns that have it."""
    bits = max((c.bit_length() for c in columns), default=0)
    return [sum(1 << k for k, c in enumerate(columns) if c >> j & 1) for j in range(bits)]


def _swizzles(rows: Sequence[int]) -> Iterator[Swizzle | None]:
    """Swizzles under which no two columns share a bit; None alone when they share none as they are.

    A swizzle adds the rows it reads to the rows it changes. So all shared rows lie in the range that it changes, and
    the shortest range around them serves if any does; a longer one is worth a look where it clears more rows.
    """
    crowded = [j for j, row in enumerate(rows) if row & (row - 1)]
    if not crowded:
        yield None
        return
    for shift in range(-crowded[0], len(rows) - crowded[0]):
        read = [rows[j + shift] if 0 <= j + shift < len(rows) else 0 for j in range(len(rows))]
        left = [row ^ other for row, other in zip(rows, read)]
        cleared = [j for j, row in enumerate(left) if rows[j] and not row]
        for low in (crowded[0], *[j for j in cleared if j < crowded[0]]):
            for high in (crowded[-1], *[j for j in cleared if j > crowded[-1]]):
                bits, base = high - low + 1, low + min(shift, 0)
                if bits <= abs(shift) and base >= 0 and not any(row & (row - 1) for row in left[low : high + 1]):
                    yield Swizzle(bits, base, shift)


def _assemble(groups: Sequence[Sequence[int]], swizzle: Swizzle | None) -> Layout:
    """The layout of these columns, which share no bits under the swizzle, with as few leaves as possible."""
    shapes: list[Any] = []
    strides: list[Any] = []
    for group in groups:
        sizes, steps = coalesced([2] * len(group), [c if swizzle is None else swizzle(c) for c in group])
        plain = len(sizes) < 2
        shapes.append((*sizes, 1)[0] if plain else tuple(sizes))
        strides.append((*steps, 0)[0] if plain else tuple(steps))
    if len(shapes) == 1 and not isinstance(shapes[0], tuple):
        return Layout(shapes[0], strides[0], swizzle=swizzle)
    return Layout(tuple(shapes), tuple(strides), swizzle=swizzle)


def _complexity(layout: Layout) -> tuple[int, ...]:
    bits, _, shift = (0, 0, 0) if layout.swizzle is None else layout.swizzle.parameters
    return len(flatten(layout.shape)), abs(shift), shift < 0, bits


def _unit(groups: Sequence[Sequence[int]], k: int) -> tuple[int, ...]:
    """The coordinate whose only set bit is bit ``k`` of all."""
    coordinate = []
    for group in groups:
        coordinate.append(1 << k if 0 <= k < len(group) else 0)
        k -= len(group)
    return tuple(coordinate)
