"""How a layout, a format, a record, a sharding or an atom places data, in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..dialects.read import as_record
from ..dialects.registry import Shapeless
from ..dialects.resolve import resolve
from ..dialects.shardings import as_sharding
from ..elements.types import element
from ..errors import LimitExceeded, ShapeError
from ..format import catalog
from ..format.factors import Factor, checked_axes
from ..format.format import Format
from ..format.record import Record
from ..integers.nested import product
from ..layout.layout import Layout
from ..layout.modes import coalesced, simplify_mode
from .notebook_text import NotebookText
from .record_words import record_lines

if TYPE_CHECKING:
    from ..hardware.atom import Atom
    from ..sharding.sharding import Sharding


def explain(
    x: Layout | Format | Shapeless | Record | Sharding | Atom | str,
    shape: Any = None,
    *,
    axes: str | None = None,
    dtype: Any = None,
) -> str:
    """What is contiguous, how large the blocks are, what is padded and wasted, and which names of the catalog fit.

    ``axes`` names the dimensions of your tensor, in order; a format with names is aligned to them, and the text says
    which axis went where. With a ``dtype``, which a text may carry, sizes are given in bytes, too. Of a record it says
    where each field lies, of a sharding which device holds what, and of an atom or its name which element is the v-th
    value of thread t.

    >>> print(explain(Layout((3, 4), (4, 1))))
    3 x 4: 12 elements.
    From the fastest: 4 of dimension 1 (stride 1), 3 of dimension 0 (stride 4).
    Contiguous: row-major without holes, one run of 12 elements.
    """
    return NotebookText("\n".join(_lines_of(x, shape, axes, dtype)))


def _lines_of(x: Any, shape: Any, axes: str | None, dtype: Any) -> Iterable[str]:
    from ..hardware.atoms import as_atom

    atom = as_atom(x)
    if atom is not None:
        from .atom_words import atom_lines

        if (shape, axes, dtype) != (None, None, None):
            raise ShapeError(
                "an atom has its own sizes and types.", hint="leave shape=, axes= and dtype= out", atom=atom
            )
        return atom_lines(atom)
    sharding = as_sharding(x, shape)
    if sharding is not None:
        from .sharding_words import sharding_lines

        if axes is not None:
            raise ShapeError("a sharding has no names for dimensions.", hint="leave axes= out", sharding=sharding)
        return sharding_lines(sharding, None if dtype is None else element(dtype).bits)
    record = as_record(x)
    if record is not None:
        if axes is not None or dtype is not None:
            raise ShapeError("a record names its own axes and types.", hint="leave axes= and dtype= out", record=record)
        return record_lines(record, shape)
    operand = resolve(x, element=dtype)
    if operand.threads:
        if axes is not None:
            raise ShapeError("threads are told by dimension.", hint="leave axes= out", axes=axes)
        from .thread_words import thread_lines

        return thread_lines(operand if shape is None else operand.at(shape))
    found = operand.description if shape is None or isinstance(operand.format, Format) else operand.at(shape).placed
    lines: list[str] = []
    bits = None if operand.element is None else operand.element.bits
    names = catalog.find(found, bits)
    beside = ""
    if isinstance(found, Format):
        same = catalog.names_of(found, bits)
        beside = _more_than_places(found, names[0]) if names and not same else ""
        names = same
        lines += _axes_lines(found, axes, shape)
        found = found if axes is None else found.aligned(axes)
        axes = found.axes
        lines += _format_lines(found, shape is None, bits)
    elif axes is not None:
        axes = checked_axes(axes, found.rank)
    if shape is not None:
        found = resolve(found, shape=shape).placed
    if isinstance(found, Layout):
        lines += _layout_lines(found, axes, bits)
        names = names if found.size else []
    if beside:
        lines.append(beside)
    if names:
        lines.append(f"Known as {', '.join(names[:_MOST_NAMES])}{', ...' if len(names) > _MOST_NAMES else ''}.")
        others = catalog.other_names(names[0])
        lines += [f"Other names of {names[0]}: {', '.join(others)}."] if others else []
    if len(names) <= _MOST_NAMES:
        lines += [f"{name}: {note}" for name in names if (note := catalog.ENTRIES[name].note)]
    return lines


_MOST_NAMES = 6


def _more_than_places(fmt: Format, name: str) -> str:
    """What a name that places elements as ``fmt`` does has beside."""
    form = next(form for form in catalog.ENTRIES[name].forms.values() if isinstance(form, Format))
    words = [f"fill {form.fill or 0}"] if (form.fill or 0) != (fmt.fill or 0) else []
    words += [f"{'a' if form.indirect else 'no'} table"] if form.indirect != fmt.indirect else []
    return f"Elements lie as in {name}, which it is not: that has {' and '.join(words)}."


def _elements(n: int) -> str:
    return "1 element" if n == 1 else f"{n} elements"


def _dimension_name(d: int, axes: str | None) -> str:
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


def _block_name(factor: Factor, fmt: Format) -> str:
    backwards = " backwards" if factor.backwards else ""
    above = product(tuple([f.size for f in fmt.blocks if f.dim == factor.dim and f.rests]))
    steps = f" in steps of 1/{above // abs(factor.rests)} of it" if factor.rests else ""
    return f"{factor.size} of {_dimension_name(factor.dim, fmt.axes)}{backwards}{steps}"


def _format_lines(fmt: Format, alone: bool, bits: int | None) -> Iterator[str]:
    order = ", ".join([_dimension_name(d, fmt.axes) for d in fmt.order])
    if fmt.blocks:
        inner = ", ".join([_block_name(f, fmt) for f in reversed(fmt.blocks)])
        size = product(fmt.block_shape)
        wide = bits or fmt.element_bits
        width = "" if wide is None else f" ({_bytes(size * wide)})"
        yield f"Blocks of {_sizes(fmt.block_shape)} = {_elements(size)}{width}; every size is padded to whole blocks."
        yield f"Inside a block, from the fastest: {inner}."
        yield f"The blocks, from the slowest: {order}."
    elif alone:
        yield f"No blocks: the dimensions from the slowest to the fastest are {order or 'none'}."
    if bits is not None and fmt.element_bits not in (None, bits):
        yield f"It is made for elements of {fmt.element_bits} bits, not of {bits}."
    if not fmt._unaligned and fmt.align is not None:
        yield f"Aligned: the whole to {_elements(fmt.align[0])}, the strides to {', '.join(map(str, fmt.align[1:]))}."
    if fmt.fill is not None:
        yield f"Padding is filled with {fmt.fill}."
    if fmt.indirect:
        picked = ", ".join([_dimension_name(f.dim, fmt.axes) for f in fmt.factors[: fmt.indirect]])
        yield f"Blocks lie anywhere: a table, indexed by {picked}, says where each one is."


def _bytes(bits: int) -> str:
    return f"{bits} bits" if bits % 8 else f"{bits // 8} bytes" if bits > 8 else "1 byte"


def _layout_lines(layout: Layout, axes: str | None, bits: int | None) -> Iterator[str]:
    yield f"{_sizes(layout.extents)}: {_elements(layout.size)}."
    if layout.size == 0 or layout.has_basis:
        if layout.size:
            yield "Its values are coordinates, not places in memory."
        return
    yield _order_line(layout, axes)
    if layout.swizzle is not None:
        count, base, shift = layout.swizzle.parameters
        high = base + abs(shift)
        source, target = (high, base) if shift > 0 else (base, high)
        yield (
            f"Swizzled: bits {target} to {target + count - 1} of an offset are XORed with its bits "
            f"{source} to {source + count - 1}."
        )
    yield from _run_lines(layout, axes)
    if layout.offset and layout.min_offset == layout.offset:
        yield f"It starts {layout.offset} into the buffer."
    elif layout.offset:
        yield f"Its first element lies at {layout.offset}, the lowest of all at {layout.min_offset}."
    if any(layout.origin):
        yield f"The data starts at {layout.origin} inside its box: that much padding is in front."
    yield from _room_lines(layout, bits)


def _order_line(layout: Layout, axes: str | None) -> str:
    digits = []
    still = []
    for d in range(layout.rank):
        mode = layout._mode(d)
        if mode.extent > 1 and not any(mode.strides):
            still.append(_dimension_name(d, axes))
        for n, stride in zip(*coalesced(mode.sizes, mode.strides)):
            if stride and n > 1:
                way = " backwards" if stride < 0 else ""
                digits.append((abs(stride), f"{n} of {_dimension_name(d, axes)}{way} (stride {stride})"))
    fastest = ", ".join([text for _, text in sorted(digits, key=lambda digit: digit[0])])
    line = f"From the fastest: {fastest}." if digits else "All elements are at one place."
    return line + (f" Broadcast: {', '.join(still)} repeats the same elements." if still else "")


def _run_lines(layout: Layout, axes: str | None) -> Iterator[str]:
    try:
        if layout.is_contiguous():
            yield f"Contiguous: row-major without holes, one run of {_elements(layout.size)}."
            return
        if layout.is_fortran_contiguous():
            yield "Contiguous: column-major without holes."
    except LimitExceeded:
        return
    last = next((d for d in reversed(range(layout.rank)) if layout.extents[d] > 1), None)
    if last is None or layout.swizzle is not None:
        return
    _, mode = simplify_mode(layout._mode(last))
    step, whole = abs(mode.strides[0]), len(mode.sizes) == 1
    if step != 1:
        inside = "Neighbours" if whole else "Inside a block, neighbours"
        yield f"{inside} along {_dimension_name(last, axes)} are {step} apart."
    elif whole:
        yield f"All {mode.extent} along {_dimension_name(last, axes)} lie together."
    else:
        yield f"Along {_dimension_name(last, axes)}, blocks of {_elements(mode.sizes[0])} lie together."


def _room_lines(layout: Layout, bits: int | None) -> Iterator[str]:
    if layout.min_offset < 0:
        yield f"It reaches {-layout.min_offset} below the start of the buffer."
        return
    room, used = layout.storage_size, layout.size
    in_bytes = "" if bits is None else f" ({_bytes(room * bits)})"
    box = f"The box is {_sizes(layout.padded_shape)}. " if layout.windowed else ""
    try:
        own = layout.is_injective()
    except LimitExceeded:
        own = None
    if own and room > used:
        wasted = room - used
        yield f"{box}It needs {_elements(room)}{in_bytes}: {used} are data, {wasted} ({wasted / room:.1%}) are not."
    elif own and bits is not None:
        yield f"It needs {_elements(room)}{in_bytes}, and wastes none."
    elif not own:
        shared = "; some of its elements share a place" if own is False else ""
        yield f"{box}It needs {_elements(room)}{in_bytes}{shared}."
