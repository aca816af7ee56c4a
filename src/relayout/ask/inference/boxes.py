"""What lies around the elements: the box that explains how long a dump is, and the names of such layouts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from itertools import product as cartesian
from typing import Any

from ...errors import LayoutError
from ...format import catalog
from ...format.format import Format, format_of
from ...integers.nested import product
from ...layout.layout import Layout
from ...layout.modes import Mode, coalesced
from .fit import Fit, layout_of_modes
from .lines import readings
from .result import Inference

READINGS = 1 << 12
"""How many ways to read the blocks of a window are tried, per dimension and in all."""


def box_for_length(fit: Fit, length: int) -> Layout:
    """The layout of ``fit`` in a box that fills ``length`` elements exactly, if there is one.

    Preferred are, in this order: no padding beyond the window; a named format; the elements at an offset; any box whose
    strides leave no holes; such a box after a header. Otherwise it is the smallest box.
    """
    least = fit.layout()
    if fit.swizzle is not None or (least.offset == 0 and least.storage_size == length):
        return least
    for _, _, layout in _formats_alike(least):
        if layout.storage_size == length:
            return coalesce_digits(layout)
    if least.storage_size == length:
        return least
    return next((box for box in _hole_free_boxes(fit, length) if box.equivalent(least)), least)


def inference_of(layout: Layout, exact: bool = False, seen: int | None = None, **words: Any) -> Inference:
    """What is known of data that have this layout: its names, and what ``words`` say of the dump.

    ``exact`` demands that a name has the same storage; ``seen`` counts the elements whose place the data give.
    """
    names, fmt = catalog_names(layout, exact)
    return Inference(layout, fmt, names, layout.size, layout.size if seen is None else seen, **words)


def catalog_names(layout: Layout, exact: bool) -> tuple[tuple[str, ...], Format | None]:
    """The catalog's names for a layout, and the plainest format that gives it; ``exact`` demands the same storage.

    Where there are no names, those it has apart from its offset; then those it has with more padding behind. The format
    is without what data do not tell (axes, fill); without names it is that of the layout itself, if it is one.
    """
    bare = layout if layout.swizzle is not None else layout.with_offset(0)
    for same in dict.fromkeys((layout, bare)):
        found = catalog.find(same)
        if found:
            given = [fmt for name, fmt, _ in _formats_alike(same) if name in found]
            return tuple(found), _plainest(given or [fmt for _, fmt in _formats_with_padding_behind(same)])
        if not exact:
            same_function = [(name, fmt) for name, fmt, _ in _formats_alike(same)]
            if same_function:
                return _names_and_plainest(same_function)
    padded = list(_formats_with_padding_behind(bare)) if exact else []
    if padded:
        return _names_and_plainest(padded)
    try:
        return (), format_of(layout)
    except LayoutError:
        return (), None


def _names_and_plainest(found: list[tuple[str, Format]]) -> tuple[tuple[str, ...], Format | None]:
    return tuple(dict.fromkeys([name for name, _ in found])), _plainest([fmt for _, fmt in found])


def _plainest(found: list[Format]) -> Format | None:
    plainest = min(found, key=lambda fmt: len(fmt.factors), default=None)
    return None if plainest is None else Format(plainest.rank, plainest.pairs, align=plainest.align)


def _formats_with_padding_behind(layout: Layout) -> Iterator[tuple[str, Format]]:
    """Named formats that give the layout with its window where it is in its box."""
    behind = [b - o - n for b, o, n in zip(layout.padded_shape, layout.origin, layout.extents)]
    for name, fmt in named_formats(layout.rank):
        same = fmt.layout(layout.extents, left_pad=layout.origin, right_pad=behind)
        if same.storage_size == layout.storage_size and same.equivalent(layout):
            yield name, fmt


def named_formats(rank: int) -> Iterator[tuple[str, Format]]:
    """The named formats of that rank, for each width of the elements where it matters."""
    for entry in catalog.ENTRIES.values():
        for form in entry.forms.values():
            if isinstance(form, Format) and form.rank == rank:
                yield entry.name, form


def _formats_alike(layout: Layout) -> Iterator[tuple[str, Format, Layout]]:
    """Named formats with the same function; the first element may lie anywhere inside the first block."""
    if not layout.size or layout.min_offset < 0:
        return
    start = layout(0)
    for name, fmt in named_formats(layout.rank):
        inner = [0] * fmt.rank
        running = 1
        for f in reversed(fmt.blocks):
            inner[f.dim] += start // running % f.size * f.step
            running *= f.size
        same = fmt.layout(layout.extents, left_pad=inner)
        if same.equivalent(layout):
            yield name, fmt, same


def coalesce_digits(layout: Layout) -> Layout:
    """The layout in the same box, without digits of size 1, and with digits merged that step as one."""
    modes = []
    for d in range(layout.rank):
        mode = layout._mode(d)
        sizes, strides = coalesced(mode.sizes, mode.strides)
        modes.append(Mode(tuple(sizes), tuple(strides), mode.origin, mode.extent))
    return layout_of_modes(tuple(modes), layout.offset)


def _hole_free_boxes(fit: Fit, length: int) -> Iterator[Layout]:
    """Layouts of ``fit`` whose box has no holes and ends at ``length``; then those that start after a header."""
    ways = list(islice(cartesian(*[list(readings(m, READINGS)) for m in fit.modes]), READINGS))
    for header in (False, True):
        for modes in ways:
            before = Fit(fit.start, modes).layout().offset if header else 0
            sizes = _hole_free_sizes(modes, length - before)
            if sizes is None or before < 0:
                continue
            placed = _place_window(modes, sizes, fit.start - before)
            if placed is not None:
                yield layout_of_modes(placed, before)


def _hole_free_sizes(modes: tuple[Mode, ...], length: int) -> list[list[int]] | None:
    """The sizes of all digits such that each stride is where the digit below ends, the last ends at ``length``.

    Only the top digit of a mode may grow.
    """
    sizes = [list(m.sizes) for m in modes]
    digits = sorted((m.strides[k], d, k) for d, m in enumerate(modes) for k in range(len(m.sizes)) if m.strides[k])
    reach = 1
    for above, (stride, d, k) in zip([*[s for s, _, _ in digits[1:]], length], digits):
        if stride != reach or above % stride:
            return None
        size = above // stride
        if size < sizes[d][k] or (size > sizes[d][k] and k < len(sizes[d]) - 1):
            return None
        sizes[d][k] = size
        reach = above
    return sizes if digits and reach == length else None


def _place_window(modes: tuple[Mode, ...], sizes: list[list[int]], start: int) -> tuple[Mode, ...] | None:
    """The modes in a box of these sizes, the window where the address ``start`` lies; None if they differ there."""
    placed = []
    for m, box in zip(modes, sizes):
        place, weight = 0, 1
        for s, d in zip(box, m.strides):
            place += (start // d % s if d else 0) * weight
            weight *= s
        below = product(tuple(box[:-1]))
        if (place - m.origin) % below or place + m.extent > max(weight, 1):
            return None
        placed.append(Mode(tuple(box), m.strides, place, m.extent))
    return tuple(placed)
