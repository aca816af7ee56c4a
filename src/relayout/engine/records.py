"""The data of records: every field taken out in logical order, or put back, by repacks of its bits."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import TYPE_CHECKING, Any

from ..algebra.recast import upcast
from ..elements.memory import bytes_of
from ..elements.subbyte import pack as pack_codes
from ..elements.subbyte import unpack as unpack_codes
from ..elements.types import element, storage_dtype
from ..errors import OutOfBounds, ShapeError, shown
from ..format.record import BitPlane, Record, RecordField
from ..integers.nested import product
from ..layout.layout import Layout
from .record_values import evaluate
from .repack import repack

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UNITS = (64, 32, 16, 8, 7, 6, 5, 4, 3, 2, 1)


def unpack(record: Record, data: Any, shape: Any) -> dict[str, NDArray[Any]]:
    """The stored elements of every field, over the whole tensor in logical order."""
    memory = _contiguous(record, record_memory(record, data, shape), shape)
    plain = _in_one_piece(record)
    return {field.name: _read(field, plain, memory, shape) for field in record.fields}


def pack(record: Record, fields: Mapping[str, Any], shape: Any) -> NDArray[Any]:
    """The bytes of the records; bits that belong to no field are 0."""
    import numpy as np

    missing = [f.name for f in record.fields if f.name not in fields]
    unknown = [name for name in fields if name not in [f.name for f in record.fields]]
    if missing or unknown:
        raise ShapeError(
            f"the fields {', '.join(missing)} are missing." if missing else f"there is no field {shown(unknown[0])}.",
            hint=f"give {', '.join([f.name for f in record.fields])}",
            fields=list(fields),
        )
    memory = np.zeros(record.size_of(shape), np.uint8)
    plain = _in_one_piece(record)
    for field in record.fields:
        _write(field, plain, memory, fields[field.name], shape)
    return _in_stored_order(record, memory, shape)


def decode(record: Record, data: Any, shape: Any) -> NDArray[Any]:
    """The value of every element of the tensor, by the formula of the record."""
    if record.value is None:
        raise ShapeError(
            "the record does not say what its fields are worth.", hint="unpack gives the stored elements", record=record
        )
    return evaluate(record, unpack(record, data, shape), record.grid(shape))


def record_memory(record: Record, data: Any, shape: Any) -> NDArray[Any]:
    """The bytes of a tensor of that shape; refused if they are more or less."""
    import numpy as np

    memory = data.reshape(-1).view(np.uint8) if isinstance(data, np.ndarray) else np.asarray(bytes_of(data))
    if memory.size != record.size_of(shape):
        raise OutOfBounds(
            f"{memory.size} bytes are not the {record.size_of(shape)} of a tensor of shape {shown(shape)}: "
            f"{product(record.grid(shape))} records of {record.nbytes} bytes.",
            hint="give all the bytes of the tensor and its logical shape",
            got=memory.size,
            shape=shape,
        )
    return memory


# ---- the order of the records --------------------------------------------------------------------------------


def _in_one_piece(record: Record) -> Record:
    """The record with the bits of each one together, one record after the other."""
    return Record(record.axes, record.block, record.nbytes, record.fields)


def _stored_order(record: Record, shape: Any) -> tuple[Layout, str]:
    """Where the units of every record are stored, and the type of a unit: what the order keeps together."""
    grid = record.grid(shape)
    order = record.order.batched(len(grid) - record.rank)  # type: ignore[union-attr]
    last_factor = order.factors[-1]
    together = last_factor.size if last_factor.dim == order.rank - 1 and last_factor.step == 1 else 1
    unit = _unit(together or 8 * record.nbytes, 8 * record.nbytes)
    bits = order.layout((*grid, 8 * record.nbytes))
    if bits.windowed:
        raise ShapeError(
            f"the order {record.order} takes whole groups of records, and a tensor of shape {shown(shape)} has "
            f"{grid} of them.",
            hint="pad the tensor before it is packed",
            shape=shape,
            order=record.order,
        )
    return upcast(bits, unit), f"uint{unit}"


def _contiguous(record: Record, memory: NDArray[Any], shape: Any) -> NDArray[Any]:
    if record.order is None:
        return memory
    stored, unit = _stored_order(record, shape)
    return _bytes(repack(memory.data, Layout.row_major(stored.extents), src=stored, element=unit))


def _in_stored_order(record: Record, memory: NDArray[Any], shape: Any) -> NDArray[Any]:
    if record.order is None:
        return memory
    stored, unit = _stored_order(record, shape)
    out = _in_units(memory.copy(), unit)
    repack(memory.data, stored, src=Layout.row_major(stored.extents), element=unit, out=out)
    return _bytes(out)


# ---- fields --------------------------------------------------------------------------------------------------


def _read(field: RecordField, record: Record, memory: NDArray[Any], shape: Any) -> NDArray[Any]:
    import numpy as np

    kind = element(field.element)
    batch, split = _split_shape(record, field, shape)
    planes = record.planes(field.name, shape)
    codes = np.zeros(split, np.dtype(f"u{max(1, 1 << (kind.bits - 1).bit_length() >> 3)}"))
    for plane in planes:
        units, unit = _units(plane)
        stream = _bytes(repack(memory.data, Layout.row_major(units.extents), src=units, element=unit))
        found = _numbers(stream, plane.bits, plane.layout.size).astype(codes.dtype, copy=False)
        at = _box(plane, batch)
        codes[at] |= found.reshape(codes[at].shape) << codes.dtype.type(plane.low)
    codes = codes.reshape(_logical_shape(record, field, shape))
    if kind.integral and kind.limits[0] and kind.bits % 8:
        half = 1 << (kind.bits - 1)
        return (codes ^ half).astype(np.int8) - np.int8(half)
    return codes.view(storage_dtype(kind))


def _write(field: RecordField, record: Record, memory: NDArray[Any], values: Any, shape: Any) -> None:
    import numpy as np

    kind = element(field.element)
    stored = np.asarray(values, storage_dtype(kind))
    wanted = _logical_shape(record, field, shape)
    if stored.shape != wanted:
        raise ShapeError(
            f"the field {field.name} has the shape {wanted}, got {stored.shape}.",
            hint=f"one element for each {tuple([b // n for b, n in zip(record.block, field.shape)])} of the tensor",
            field=field.name,
            shape=stored.shape,
        )
    if kind.integral and kind.bits < 8 and stored.size:
        low, high = kind.limits
        if stored.min() < low or stored.max() > high:
            wrong = int(stored.min() if stored.min() < low else stored.max())
            raise OutOfBounds(
                f"{wrong} is no {kind.name}.", hint=f"{field.name} holds {low} to {high}", field=field.name, got=wrong
            )
    batch, split = _split_shape(record, field, shape)
    codes = np.ascontiguousarray(stored).view(f"u{stored.dtype.itemsize}").reshape(split)
    for plane in record.planes(field.name, shape):
        units, unit = _units(plane)
        part = codes[_box(plane, batch)].reshape(-1) >> codes.dtype.type(plane.low)
        stream = _stream(part & codes.dtype.type((1 << plane.bits) - 1), plane.bits)
        out = _in_units(memory, unit)
        repack(stream.data, units, src=Layout.row_major(units.extents), element=unit, out=out)


def _split_shape(record: Record, field: RecordField, shape: Any) -> tuple[int, tuple[int, ...]]:
    """How many dimensions come before the axes, and the shape with the blocks of each axis before its elements."""
    grid = record.grid(shape)
    batch = len(grid) - record.rank
    pairs = [n for pair in zip(grid[batch:], field.shape) for n in pair]
    return batch, (*grid[:batch], *pairs)


def _box(plane: BitPlane, batch: int) -> tuple[slice, ...]:
    """What a plane speaks of, in an array with the blocks of each axis before its elements."""
    whole = slice(None)
    found = [whole] * batch
    for start, shape in zip(plane.start[batch:], plane.layout.shape[batch:]):
        found += [whole, slice(start, start + product(shape[:-1]))]
    return tuple(found)


def _logical_shape(record: Record, field: RecordField, shape: Any) -> tuple[int, ...]:
    grid = record.grid(shape)
    batch = len(grid) - record.rank
    return (*grid[:batch], *[g * n for g, n in zip(grid[batch:], field.shape)])


def copy_planes(source: NDArray[Any], theirs: BitPlane, target: NDArray[Any], mine: BitPlane) -> None:
    """The bits of a plane of one tensor to those of another, which has the same elements."""
    width = _unit(_width(theirs), _width(mine))
    units = f"uint{width}"
    repack(
        source.data,
        upcast(mine.whole, width),
        src=upcast(theirs.whole, width),
        element=units,
        out=_in_units(target, units),
    )


def _units(plane: BitPlane) -> tuple[Layout, str]:
    """The plane counted in the widest type that its bits and steps are whole numbers of, and that type."""
    unit = _unit(_width(plane))
    return upcast(plane.whole, unit), f"uint{unit}"


def _width(plane: BitPlane) -> int:
    """The largest number of bits that the elements and the steps of a plane are multiples of."""
    layout = plane.layout
    return gcd(plane.bits, layout.offset, *[d for mode in range(layout.rank) for d in layout._mode(mode).strides])


def _unit(*bits: int) -> int:
    """The widest type of elements in which all these numbers of bits are whole."""
    common = gcd(*bits)
    return next(unit for unit in _UNITS if common % unit == 0)


def _numbers(stream: NDArray[Any], bits: int, count: int) -> NDArray[Any]:
    """The unsigned integers of that width in a stream of bits."""
    if bits % 8 == 0 and bits & (bits - 1) == 0:
        return stream.view(f"<u{bits // 8}")[:count]
    return unpack_codes(stream, f"uint{bits}", count)


def _stream(codes: NDArray[Any], bits: int) -> NDArray[Any]:
    """Unsigned integers of that width as a stream of bits."""
    import numpy as np

    if bits % 8 == 0 and bits & (bits - 1) == 0:
        return np.ascontiguousarray(codes.astype(f"<u{bits // 8}", copy=False)).view(np.uint8)
    return pack_codes(codes.astype(np.uint8, copy=False), f"uint{bits}")


def _in_units(memory: NDArray[Any], unit: str) -> NDArray[Any]:
    """The memory as elements of that type; elements narrower than a byte stay packed in bytes."""
    return memory if element(unit).bits < 8 else memory.view(unit)


def _bytes(array: Any) -> NDArray[Any]:
    import numpy as np

    return array.reshape(-1).view(np.uint8)  # type: ignore[no-any-return]
