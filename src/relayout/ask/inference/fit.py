"""From a table of offsets to its layout: a sum of one mode per dimension, perhaps under a swizzle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import LimitExceeded, NotExpressible
from ...layout.layout import Layout
from ...layout.modes import Mode, digit_sum
from ...layout.swizzle import Swizzle
from .blame import nearest_lines
from .lines import mode_of
from .relations import LineSum, OpenLines, solve
from .swizzles import Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORK_LIMIT = 1 << 32
"""How many entries the search for a swizzle may look at, all tries together."""


class Fit(NamedTuple):
    """A layout in parts: its value at coordinate 0 before the swizzle, and one mode per dimension."""

    start: int
    modes: tuple[Mode, ...]
    swizzle: Swizzle | None = None

    def layout(self) -> Layout:
        offset = self.start - sum(digit_sum(m.sizes, m.strides, m.origin) for m in self.modes)
        return layout_of_modes(self.modes, offset, self.swizzle)


def layout_of_modes(modes: tuple[Mode, ...], offset: int, swizzle: Swizzle | None = None) -> Layout:
    """The layout of these modes; one dimension without blocks has an integer for its shape."""
    shapes: list[Any] = []
    strides: list[Any] = []
    for m in modes:
        nested = len(m.sizes) > 1
        shapes.append(m.sizes if nested else m.sizes[0] if m.sizes else m.extent)
        strides.append(m.strides if nested else m.strides[0] if m.strides else 0)
    flat = len(modes) == 1 and not isinstance(shapes[0], tuple)
    return Layout(
        shapes[0] if flat else tuple(shapes),
        strides[0] if flat else tuple(strides),
        offset=offset,
        extents=[m.extent for m in modes],
        origin=[m.origin for m in modes],
        swizzle=swizzle,
    )


def empty_layout(shape: tuple[int, ...]) -> Layout:
    """The layout of a tensor without elements."""
    return Layout(shape[0], 0) if len(shape) == 1 else Layout(shape, (0,) * len(shape))


def fit(table: NDArray[np.int64], known: NDArray[np.bool_]) -> Fit | OpenLines:
    """The layout that has every known entry, or what is missing; refused when there is no such layout."""
    found = solve(table, known)
    if isinstance(found, OpenLines):
        return found
    plain = fit_lines(found, table, known)
    return plain if plain is not None and _agrees(plain, table, known) else _fit_swizzled(table, known)


def _agrees(found: Fit, table: NDArray[np.int64], known: NDArray[np.bool_]) -> bool:
    """Whether the layout itself has every known entry."""
    return bool((found.layout().offsets() == table)[known].all())


def fit_lines(found: LineSum, table: NDArray[np.int64], known: NDArray[np.bool_]) -> Fit | None:
    """One mode per line, if they add up to every known entry."""
    if found.wrong(table, known):
        return None
    modes: list[Mode] = []
    for line in found.lines:
        mode = mode_of(line)
        if mode is None:
            return None
        modes.append(mode)
    return Fit(found.start, tuple(modes))


def _fit_swizzled(table: NDArray[np.int64], known: NDArray[np.bool_]) -> Fit:
    """The fit under the first swizzle without which the table is a sum of modes: a swizzle is its own inverse."""
    sample = Sample(table, known)
    work = 0
    for swizzle in sample.candidates():
        work += table.size
        if work > WORK_LIMIT:
            raise LimitExceeded(
                f"which swizzle the table has is undecided after {work} of its entries.",
                hint="infer from a part of the table",
                limit=WORK_LIMIT,
            )
        inner = swizzle(table)
        found = solve(inner, known)
        plain = fit_lines(found, inner, known) if isinstance(found, LineSum) else None
        if plain is not None:
            swizzled = Fit(plain.start, plain.modes, swizzle)
            if _agrees(swizzled, table, known):
                return swizzled
    raise _no_layout(table, known, sample.nearest)


def _no_layout(table: NDArray[np.int64], known: NDArray[np.bool_], swizzle: Swizzle | None) -> NotExpressible:
    """The error for a table without a layout: the nearest one, and the first coordinate that breaks it."""
    import numpy as np

    tried = [_nearest(table, known, s) for s in dict.fromkeys((None, swizzle))]
    layout, expected = min(tried, key=lambda pair: int(((pair[1] != table) & known).sum()))
    wrong = (expected != table) & known
    where = tuple([int(x) for x in np.unravel_index(int(np.argmax(wrong)), table.shape)])
    return NotExpressible(
        f"no layout has these offsets: the nearest, {layout}, says {expected[where]} at {where}, the data say "
        f"{table[where]}; {int(wrong.sum())} of {int(known.sum())} known entries break it.",
        hint="mend the entry at `counterexample`, or infer from a part that has a layout",
        counterexample=where,
        nearest=layout,
        expected=int(expected[where]),
        got=int(table[where]),
    )


def _nearest(
    table: NDArray[np.int64], known: NDArray[np.bool_], swizzle: Swizzle | None
) -> tuple[Layout, NDArray[np.int64]]:
    """A layout near the table, with its offsets."""
    lines = nearest_lines(table if swizzle is None else swizzle(table), known)
    modes = [mode for line in lines.lines if (mode := mode_of(line)) is not None]
    layout = Fit(lines.start, tuple(modes), swizzle).layout()
    return layout, layout.offsets()
