"""How a record places its fields, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..format.record import BitPlane, Record, RecordField
from ..format.records import known_records, names_of_record
from ..integers.nested import product
from ..layout.modes import coalesced


def record_lines(record: Record, shape: Any = None) -> Iterator[str]:
    """The block, each field, what an element is worth, the order of the records, and the names."""
    size = product(record.block)
    sizes, axes = _sizes(record.block), " x ".join(record.axes)
    bits = f"{8 * record.nbytes / size:.6g} bits"
    yield f"Records of {record.nbytes} bytes, each a block of {sizes} elements ({axes}): {bits} for each element."
    for field in record.fields:
        yield from _field_lines(record, field)
    unused = 8 * record.nbytes - sum([product(f.shape) * f.bits for f in record.fields])
    if unused:
        yield f"{unused} bits of a record belong to no field."
    if record.value is not None:
        yield f"An element is worth {record.value}, in float32, each step rounded as it is written."
    yield order_line(record)
    if shape is not None:
        grid = record.grid(shape)
        count = f"{_sizes(grid)} = {product(grid)} records" if len(grid) > 1 else f"{product(grid)} records"
        whole = _sizes(shape if isinstance(shape, tuple | list) else (shape,))
        yield f"A tensor of {whole} elements has {count}, {record.size_of(shape)} bytes."
    names = names_of_record(record)
    if names:
        yield f"Known as {', '.join(names)}."
    yield from [f"{name}: {note}" for name in names if (note := known_records()[name].note)]


def brief_record(record: Record) -> str:
    """The block, the bytes and the fields with their element types, for a line of a list."""
    fields = ", ".join([f"{field.name} {field.element}" for field in record.fields])
    return f"record of {_sizes(record.block)} in {record.nbytes} bytes: {fields}"


def _sizes(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))


def order_line(record: Record) -> str:
    """How the records of a tensor lie."""
    if record.order is None:
        return f"The records of a tensor follow each other, {record.axes[-1]} the fastest."
    names = [*record.axes, "the bits of a record"]
    words = [names[d] for d in record.order.order]
    inside = [1] * (record.rank + 1)
    for factor in reversed(record.order.blocks):
        apart = "" if factor.step == inside[factor.dim] else f" in steps of {factor.place}"
        inside[factor.dim] *= 1 if factor.rests else factor.size
        words.insert(record.rank + 1, f"{factor.size} of {names[factor.dim]}{apart}")
    return f"The records of a tensor are stored in pieces, from the slowest: {', '.join(words)}."


# ---- fields ------------------------------------------------------------------------------------------------


def _field_lines(record: Record, field: RecordField) -> Iterator[str]:
    """What a field holds and where; planes have a line each."""
    count = product(field.shape)
    each = tuple([n // m for n, m in zip(record.block, field.shape)])
    stands = (
        "" if count == 1 else ", one for each element" if product(each) == 1 else f", one for {_sizes(each)} elements"
    )
    zero = f", where {field.zero} means 0" if field.zero else ""
    head = f"{field.name}: {count} {field.element}{stands}{zero}"
    if len(field.planes) == 1:
        yield f"{head}; {_plane_words(field.planes[0], record.axes)}."
        return
    yield f"{head}; the bits of one are apart:"
    for plane in field.planes:
        yield f"  {_which_bits(plane, field)} {_plane_words(plane, record.axes)}."


def _which_bits(plane: BitPlane, field: RecordField) -> str:
    """Which bits of which elements a plane holds."""
    words = bit_range(plane.low, plane.bits)
    if plane.layout.extents == field.shape:
        return words
    return f"{words} of the {_sizes(plane.layout.extents)} from {plane.start} on"


def _plane_words(plane: BitPlane, axes: str) -> str:
    """Where a plane lies, and its digits from the fastest, each with what a step along it moves."""
    first, last = plane_bytes(plane)
    where = f"in byte {first}" if first == last else f"in bytes {first} to {last}"
    digits = []
    for d, axis in enumerate(axes):
        mode = plane.layout._mode(d)
        weight = 1
        for n, stride in zip(*coalesced(mode.sizes, mode.strides)):
            if n > 1:
                steps = "" if weight == 1 else f" in steps of {weight}"
                back = " backwards" if stride < 0 else ""
                digits.append((abs(stride), f"{n} of {axis}{steps}{back} (every {bit_count(abs(stride))})"))
            weight *= n
    listed = ", ".join([words for _, words in sorted(digits, key=lambda digit: digit[0])])
    return f"{where}, from the fastest: {listed}" if listed else where


def plane_bytes(plane: BitPlane) -> tuple[int, int]:
    """The first and the last byte that has a bit of a plane."""
    whole = plane.whole
    return whole.min_offset // 8, whole.max_offset // 8


def bit_range(low: int, count: int) -> str:
    """So many bits from ``low`` on."""
    return f"bit {low}" if count == 1 else f"bits {low} to {low + count - 1}"


def bit_count(bits: int) -> str:
    """So many bits, as bytes where they are whole."""
    if bits % 8:
        return "bit" if bits == 1 else f"{bits} bits"
    return "byte" if bits == 8 else f"{bits // 8} bytes"
