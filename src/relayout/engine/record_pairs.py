"""Bytes of one record as bytes of another: field by field, the same values, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..dialects.read import as_record
from ..elements.types import element
from ..errors import NotExpressible, ShapeError, shown
from ..format.record import Record, RecordField
from .records import copy_planes, pack, record_memory, unpack

if TYPE_CHECKING:
    from numpy.typing import NDArray


def repack_records(x: Any, source: Record, dst: Any, shape: Any, element: Any, out: Any) -> NDArray[Any]:
    """The bytes of a tensor of records ``source``, as bytes of the records ``dst``: every field has the same values."""
    import numpy as np

    target = as_record(dst)
    if target is None or shape is None or element is not None or out is not None:
        raise ShapeError(
            f"records become records of a shape, in new memory; got {shown(dst)}.",
            hint="pass the name of a record and shape=; record.unpack gives the fields as arrays",
            dst=dst,
        )
    check_same_meaning(source, target)
    data = record_memory(source, x, shape)
    if source.order is not None or target.order is not None or not all(_moves_bits(source, f) for f in target.fields):
        return pack(target, _converted_fields(source, target, unpack(source, data, shape)), shape)
    made = np.zeros(target.size_of(shape), np.uint8)
    flips = np.zeros(target.nbytes, np.uint8)
    for field in target.fields:
        theirs = source[field.name]
        for mine, plane in zip(target.planes(field.name, shape), source.planes(field.name, shape)):
            copy_planes(data, plane, made, mine)
        if (theirs.element, theirs.zero) != (field.element, field.zero):
            flips |= _sign_bits(target, field)
    if flips.any():
        made.reshape(-1, target.nbytes)[:] ^= flips
    return made


def check_same_meaning(source: Record, target: Record) -> None:
    """Refuse records whose elements are not worth the same, and fields that only one of them has."""
    if source.value != target.value or source.axes != target.axes:
        raise NotExpressible(
            f"their elements are worth different things: {source.value} over {source.axes}, and {target.value} over "
            f"{target.axes}.",
            hint="decode one, and quantise the values for the other",
            source=source,
            target=target,
        )
    names = [{f.name for f in record.fields} for record in (source, target)]
    if names[0] != names[1]:
        raise NotExpressible(
            f"only one of the records has {', '.join(sorted(names[0] ^ names[1]))}.",
            hint="unpack one, make the field, and pack the other",
            source=source,
            target=target,
        )
    for field in target.fields:
        theirs = source[field.name]
        if [b * m for b, m in zip(source.block, field.shape)] != [b * n for b, n in zip(target.block, theirs.shape)]:
            raise NotExpressible(
                f"one {field.name} stands for other numbers of elements: {theirs.shape} of {source.block}, and "
                f"{field.shape} of {target.block}.",
                hint="decode one, and quantise the values for the other",
                field=field.name,
            )


def _moves_bits(source: Record, field: RecordField) -> bool:
    """Whether the stored bits of a field are those of the source, or have the sign bit flipped."""
    theirs = source[field.name]
    planes = [[(p.low, p.bits, any(p.start)) for p in f.planes] for f in (theirs, field)]
    same = (theirs.element, theirs.zero) == (field.element, field.zero)
    return planes[0] == planes[1] and not any(start for *_, start in planes[0]) and (same or _flips_sign(theirs, field))


def _flips_sign(a: RecordField, b: RecordField) -> bool:
    """Whether the same integer has the same bits in both but for the highest one."""
    one, other = element(a.element), element(b.element)
    if not one.integral or not other.integral or one.bits != other.bits:
        return False
    half = 1 << (one.bits - 1)
    least = [kind.limits[0] - field.zero for kind, field in ((one, a), (other, b))]
    return {one.limits[0], other.limits[0]} == {0, -half} and least == [-half, -half]


def _sign_bits(record: Record, field: RecordField) -> NDArray[Any]:
    """The bytes of a record in which only the highest bit of every element of a field is set."""
    import numpy as np

    bits = np.zeros(8 * record.nbytes, np.uint8)
    for plane in field.planes:
        if plane.low + plane.bits == field.bits:
            bits[plane.layout.offsets().reshape(-1) + plane.bits - 1] = 1
    return np.packbits(bits, bitorder="little")


def _converted_fields(source: Record, target: Record, stored: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The stored elements of the target's fields: the same values, which ``pack`` refuses where they do not fit."""
    import numpy as np

    made = {}
    for field in target.fields:
        shift = field.zero - source[field.name].zero
        values = stored[field.name]
        made[field.name] = values.astype(np.int32) + shift if element(field.element).integral else values
    return made
