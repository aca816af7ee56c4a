"""How a layout places data, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import catalog
from .dialects import parse, with_shape
from .elements import element
from .errors import ShapeError, shown
from .format import Format
from .layout import Layout
from .modes import coalesced
from .nested import product


def explain(x: Layout | Format | str, shape: Any = None, *, axes: str | None = None, dtype: Any = None) -> str:
    """What is contiguous, how large the blocks are, what is padded and wasted, and which names of the catalog fit.

    ``axes`` names the dimensions of your tensor, in order; a format with names is aligned to them, and the text says
    which axis went where. With a ``dtype`` sizes are given in bytes, too.

    >>> print(explain(Layout((3, 4), (4, 1))))
    3 x 4: 12 elements.
    From the fastest: 4 of dimension 1 (stride 1), 3 of dimension 0 (stride 4).
    Contiguous: row-major without holes, one run of 12 elements.
    """
    subject: Any = parse(x) if isinstance(x, str) else x
    if not isinstance(subject, Layout | Format):
        raise ShapeError(f"explain takes a layout, a format or a text, got {shown(x)}.", hint="rl.parse makes one")
    lines: list[str] = []
    names = catalog.find(subject)
    if isinstance(subject, Format):
        lines += _axes_lines(subject, axes, shape)
        subject = subject if axes is None else subject.aligned(axes)
        axes = subject.axes
        if shape is None or subject.blocks:
            lines += _format_lines(subject)
    if shape is not None:
        subject = with_shape(subject, shape)
    if isinstance(subject, Layout):
        lines += _layout_lines(subject, axes, dtype)
        names = names if subject.size else []
    if names:
        lines.append(f"Known as {', '.join(names[:_MOST_NAMES])}{', ...' if len(names) > _MOST_NAMES else ''}.")
    if len(names) <= _MOST_NAMES:
        lines += [f"{name}: {note}" for name in names if (note := catalog.ENTRIES[name].note)]
    return "\n".join(lines)


_MOST_NAMES = 6


def _elements(n: int) -> str:
    return "1 element" if n == 1 else f"{n} elements"


def _named(d: int, axes: str | None) -> str:
    return f"dimension {d}" if axes is None else f"dimension {d} ({axes[d]})"


def _sizes(sizes: Any) -> str:
    return " x ".join(map(str, sizes)) or "1"


def _axes_lines(fmt: Format, axes: str | None, shape: Any) -> Iterator[str]:
    """Which axis of the tensor is which of the format."""
    if fmt.axes is None:
        return
    if axes is None:
        if shape is not None:
            pairs = [f"{d} is {name}" for d, name in enumerate(fmt.axes)]
            yield f"Axes by position: {', '.join(pairs)}. Say axes= if your tensor has another order."
        return
    fmt.aligned(axes)
    pairs = [f"your dimension {d} ({name}) is the format's {fmt.axes.index(name)}" for d, name in enumerate(axes)]
    yield f"Axes by name: {', '.join(pairs)}."


def _format_lines(fmt: Format) -> Iterator[str]:
    order = ", ".join([_named(d, fmt.axes) for d in fmt.order])
    if not fmt.blocks:
        yield f"No blocks: the dimensions from the slowest to the fastest are {order}."
        return
    inner = ", ".join([f"{f.size} of {_named(f.dim, fmt.axes)}" for f in reversed(fmt.blocks)])
    size = product(fmt.block_shape)
    width = "" if fmt.element_bits is None else f" ({size * fmt.element_bits // 8} bytes)"
    yield f"Blocks of {_sizes(fmt.block_shape)} = {_elements(size)}{width}; every size is padded to whole blocks."
    yield f"Inside a block, from the fastest: {inner}."
    yield f"The blocks, from the slowest: {order}."
    if fmt.fill is not None:
        yield f"Padding is filled with {fmt.fill}."
    if fmt.indirect is not None:
        picked = ", ".join([_named(f.dim, fmt.axes) for f in fmt.factors[: fmt.indirect]])
        yield f"Blocks lie anywhere: a table, indexed by {picked}, says where each one is."


def _layout_lines(layout: Layout, axes: str | None, dtype: Any) -> Iterator[str]:
    yield f"{_sizes(layout.extents)}: {_elements(layout.size)}."
    if layout.size == 0 or layout.has_basis:
        if layout.size:
            yield "Its values are coordinates, not places in memory."
        return
    yield _order_line(layout, axes)
    if layout.swizzle is not None:
        bits, base, shift = layout.swizzle.parameters
        high = base + abs(shift)
        source, target = (high, base) if shift > 0 else (base, high)
        yield (
            f"Swizzled: bits {target} to {target + bits - 1} of an offset are XORed with its bits "
            f"{source} to {source + bits - 1}."
        )
    yield from _run_lines(layout)
    if layout.offset:
        yield f"It starts {layout.offset} into the buffer."
    if any(layout.origin):
        yield f"The data starts at {layout.origin} inside its box: that much padding is in front."
    yield from _room_lines(layout, dtype)


def _order_line(layout: Layout, axes: str | None) -> str:
    digits = []
    still = []
    for d in range(layout.rank):
        mode = layout._mode(d)
        if mode.extent > 1 and not any(mode.strides):
            still.append(_named(d, axes))
        for n, stride in zip(*coalesced(mode.sizes, mode.strides)):
            if stride and n > 1:
                digits.append((abs(stride), f"{n} of {_named(d, axes)} (stride {stride})"))
    fastest = ", ".join([text for _, text in sorted(digits, key=lambda digit: digit[0])])
    line = f"From the fastest: {fastest}." if digits else "All elements are at one place."
    return line + (f" Broadcast: {', '.join(still)} repeats the same elements." if still else "")


def _run_lines(layout: Layout) -> Iterator[str]:
    if layout.is_contiguous():
        yield f"Contiguous: row-major without holes, one run of {_elements(layout.size)}."
        return
    if layout.is_fortran_contiguous():
        yield "Contiguous: column-major without holes."
    run = _run(layout)
    if run > 1:
        yield f"In row-major order, runs of up to {_elements(run)} lie together."
    else:
        yield "In row-major order, no two neighbours lie together."


def _run(layout: Layout) -> int:
    """How many elements from the start of a block on follow each other in memory, in row-major order."""
    run = 1
    for d in reversed(range(layout.rank)):
        mode = layout._mode(d)
        if mode.extent == 1:
            continue
        sizes, strides = coalesced(mode.sizes, mode.strides)
        if strides[0] != run:
            break
        run *= min(sizes[0], mode.extent)
        if sizes[0] < mode.extent:
            break
    return run if layout.swizzle is None else min(run, 1 << layout.swizzle.base)


def _room_lines(layout: Layout, dtype: Any) -> Iterator[str]:
    room, used = layout.storage_size, layout.size
    width = None if dtype is None else element(dtype).bits
    in_bytes = "" if width is None else f" ({-(-room * width // 8)} bytes)"
    box = f"The box is {_sizes(layout.padded_shape)}. " if layout.windowed else ""
    if room > used:
        wasted = room - used
        yield f"{box}It needs {_elements(room)}{in_bytes}: {used} are data, {wasted} ({wasted / room:.1%}) are not."
    elif room < used:
        yield f"Elements share places: {used} of them need {room}{in_bytes}."
    elif width is not None:
        yield f"It needs {_elements(room)}{in_bytes}, and wastes none."
