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


def box_for_length(fit: Fit, length: int, bits: int | None = None) -> Layout:
    """The layout of ``fit`` in a box that fills ``length`` elements exactly, if there is one.

    Preferred are, in this order: no padding beyond the window; a named format, if possible without padding in front;
    the elements at an offset; any box whose strides leave no holes; such a box after a header. Otherwise it is the
    smallest box.
    """
    least = fit.layout()
    if fit.swizzle is not None or (least.offset == 0 and least.storage_size == length):
        return least
    named = [layout for layout in _formats_alike(least, bits) if layout.storage_size == length]
    if named:
        return coalesce_digits(next((layout for layout in named if not any(layout.origin)), named[0]))
    if least.storage_size == length:
        return least
    return next((box for box in _hole_free_boxes(fit, length) if box.equivalent(least)), least)


def inference_of(layout: Layout, bits: int | None = None, seen: int | None = None, **words: Any) -> Inference:
    """What is known of data that have this layout: its names, and what ``words`` say of the dump.

    ``bits`` is the width of the elements, where it is known; ``seen`` counts the elements whose place the data give.
    """
    names, fmt = names_and_format(layout, bits)
    words.setdefault("related", () if names else related_names(layout, bits))
    return Inference(layout, fmt, names, layout.size, layout.size if seen is None else seen, **words)


def names_and_format(layout: Layout, bits: int | None = None) -> tuple[tuple[str, ...], Format | None]:
    """The catalog's names, and the plainest format, that give this function and this storage for its extents.

    The format is without what data do not tell (axes, fill).
    """
    names: list[str] = []
    formats: list[Format] = []
    for name in dict.fromkeys([*catalog.find(layout), *([] if bits is None else catalog.find(layout, bits))]):
        for width, form in catalog.ENTRIES[name].forms.items():
            if _may_place(width, form, bits) and gives(form, layout):
                names += [name] * _is_for(width, form, bits)
                formats += [form] if isinstance(form, Format) else []
    if not formats:
        try:
            formats = [fmt for fmt in [format_of(layout)] if gives(fmt, layout)]
        except LayoutError:
            formats = []
    plainest = min(formats, key=lambda fmt: len(fmt.factors), default=None)
    bare = None if plainest is None else Format(plainest.rank, plainest.pairs, align=plainest.align)
    return tuple(dict.fromkeys(names)), bare


def _is_for(width: int | None, form: Format | Layout, bits: int | None) -> bool:
    """Whether the name of a form is true of elements of ``bits``, as far as their width is known."""
    own = form.element_bits if isinstance(form, Format) else None
    return bits is None or (width in (None, bits) and own in (None, bits))


def _may_place(width: int | None, form: Format | Layout, bits: int | None) -> bool:
    """Whether elements of ``bits`` may lie as a form says: whole bytes as any other, those that share one as their own.

    So orders are guessed that have a name at another width.
    """
    own = form.element_bits if isinstance(form, Format) else None
    return _is_for(width, form, bits) or (width is None and min(own or 8, bits or 8) >= 8)


def gives(form: Format | Layout, layout: Layout) -> bool:
    """Whether a format, for the extents of the layout, is proven to be the same function in the same storage."""
    try:
        same = form.layout(layout.extents) if isinstance(form, Format) else form
        alike = same.extents == layout.extents and same.equivalent(layout)
        return alike and (same.storage_size == layout.storage_size or not layout.size)
    except LayoutError:
        return False


def related_names(layout: Layout, bits: int | None = None) -> tuple[str, ...]:
    """Blocked formats of the catalog that give the layout in some other way, in words.

    After a header, with padding before it, or made for elements of another width.
    """
    found = []
    header = layout.offset if layout.swizzle is None else 0
    bare = layout.with_offset(layout.offset - header)
    moved = bool(header or any(layout.origin))
    by_places = None if moved else set(catalog.find(layout))
    for name, width, fmt in named_formats(layout.rank, bits):
        if not fmt.blocks or (by_places is not None and name not in by_places):
            continue
        same = fmt.layout(layout.extents, left_pad=layout.origin)
        if same.storage_size == bare.storage_size and same.equivalent(bare):
            words = [f"after {header} elements"] * bool(header)
            words += [f"with left_pad={layout.origin}"] * any(layout.origin)
            words += [f"for elements of {fmt.element_bits or width} bits"] * (not _is_for(width, fmt, bits))
            found += [f"{name} {' and '.join(words)}"] * bool(words)
    return tuple(dict.fromkeys(found))


def named_formats(rank: int, bits: int | None = None) -> Iterator[tuple[str, int | None, Format]]:
    """The named formats of that rank that may place elements of ``bits``, and the width that each form is under."""
    for entry in catalog.ENTRIES.values():
        for width, form in entry.forms.items():
            if isinstance(form, Format) and form.rank == rank and _may_place(width, form, bits):
                yield entry.name, width, form


def _formats_alike(layout: Layout, bits: int | None) -> Iterator[Layout]:
    """The layouts of named formats with the same function; the first element may be anywhere inside the first block."""
    if not layout.size or layout.min_offset < 0:
        return
    start = layout(0)
    for _, _, fmt in named_formats(layout.rank, bits):
        inner = [0] * fmt.rank
        running = 1
        for f in reversed(fmt.blocks):
            digit = start // running % f.size
            inner[f.dim] += (digit if f.step > 0 else digit - f.size + 1) * f.step
            running *= f.size
        same = fmt.layout(layout.extents, left_pad=inner)
        if same.equivalent(layout):
            yield same


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
