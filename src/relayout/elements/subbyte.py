"""Elements narrower than a byte, packed least significant bit first.

Element ``i`` of ``bits`` bits has the bits ``i * bits`` and on of the buffer, read as one little-endian integer. So
widths of 3, 5, 6 and 7 bits cross bytes, and rows begin where the row before ends, inside a byte or not.

A ``dtype`` is an element type (``"int4"``, ``"float4_e2m1fn"``), or a width in bits with ``signed=``. Values are what
:func:`relayout.elements.types.storage_dtype` says: one int8, uint8 or ml_dtypes float for each element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import OutOfBounds, Overlap, ShapeError, shown
from ..integers.inttuple import as_int
from .interface import Plain
from .types import Element, element, storage_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray


def packed_bytes(dtype: Any, count: int) -> int:
    """The bytes that ``count`` elements take."""
    return -(-_count(count, "count") * _narrow_type(dtype, None).bits // 8)


def unpack(buffer: Any, dtype: Any, count: int, start: int = 0, *, signed: bool | None = None) -> NDArray[Any]:
    """``count`` elements from element ``start`` on.

    >>> unpack(bytes([0xF1, 0x27]), "int4", 4).tolist()
    [1, -1, 7, 2]
    """
    import numpy as np

    e = _narrow_type(dtype, signed)
    data = _bytes(buffer)
    count, start = _count(count, "count"), _count(start, "start")
    _within(data, e, start + count)
    # Eight elements take whole bytes, as many as one element has bits: a column of bytes at a time.
    first, last = start // 8, -(-(start + count) // 8)
    groups = np.zeros((last - first, e.bits), np.uint8)
    part = data[first * e.bits : last * e.bits]
    groups.reshape(-1)[: part.size] = part
    codes = np.empty((last - first, 8), np.uint8)
    for k in range(8):
        at, shift = divmod(k * e.bits, 8)
        codes[:, k] = groups[:, at] >> shift
        if shift + e.bits > 8:
            codes[:, k] |= groups[:, at + 1] << (8 - shift)
    return _values(codes.reshape(-1)[start % 8 :][:count], e)


def pack(values: Any, dtype: Any, *, signed: bool | None = None) -> NDArray[Any]:
    """The bytes of the values in row-major order; the bits that are left in the last byte are 0.

    >>> pack([1, -1, 7, 2], "int4").tobytes().hex()
    'f127'
    """
    import numpy as np

    e = _narrow_type(dtype, signed)
    codes = _codes(values, e)
    groups = np.zeros((-(-codes.size // 8), 8), np.uint8)
    groups.reshape(-1)[: codes.size] = codes
    data = np.zeros((len(groups), e.bits), np.uint8)
    for k in range(8):
        at, shift = divmod(k * e.bits, 8)
        data[:, at] |= groups[:, k] << shift
        if shift + e.bits > 8:
            data[:, at + 1] |= groups[:, k] >> (8 - shift)
    return data.reshape(-1)[: packed_bytes(e, codes.size)]


def get(buffer: Any, dtype: Any, index: Any, *, signed: bool | None = None) -> Any:
    """The element at ``index``; an array of elements for indices in an array."""
    import numpy as np

    e = _narrow_type(dtype, signed)
    data = _bytes(buffer)
    where = _indices(index, data, e)
    bit = where.reshape(-1) * e.bits
    pairs = data[bit >> 3] | data[(bit + e.bits - 1) >> 3].astype(np.uint16) << 8
    values = _values((pairs >> (bit & 7).astype(np.uint16)).astype(np.uint8), e).reshape(where.shape)
    return values if values.ndim else values.item()


def put(buffer: Any, dtype: Any, index: Any, value: Any, *, signed: bool | None = None) -> None:
    """Write the element at ``index``, or several at as many indices; all other bits stay as they are."""
    import numpy as np

    e = _narrow_type(dtype, signed)
    data = _bytes(buffer)
    if not data.flags.writeable:
        raise ShapeError("the buffer is read-only.", hint="pass a bytearray, or a copy of the array", buffer=buffer)
    where = _indices(index, data, e)
    codes = _codes(value, e)
    if np.shape(value) not in ((), where.shape):
        raise ShapeError(
            f"values of shape {np.shape(value)} do not fit indices of shape {where.shape}.",
            hint="give one value, or one for each index",
            index=index,
        )
    in_order = np.sort(where, axis=None)
    twice = in_order[1:][in_order[1:] == in_order[:-1]]
    if twice.size:
        raise Overlap(f"index {twice[0]} is given twice.", hint="write every element once", index=int(twice[0]))
    codes, where = np.broadcast_to(codes, where.size), where.reshape(-1)
    mask = (1 << e.bits) - 1
    # Elements a multiple of eight apart share no byte.
    for k in range(8):
        mine = where % 8 == k
        code = codes[mine]
        at, shift = divmod(k * e.bits, 8)
        low = where[mine] // 8 * e.bits + at
        data[low] = data[low] & (~(mask << shift) & 255) | code << shift
        if shift + e.bits > 8:
            data[low + 1] = data[low + 1] & (~(mask >> (8 - shift)) & 255) | code >> (8 - shift)


def _narrow_type(dtype: Any, signed: bool | None) -> Element:
    """The type of the elements, which are stored as unsigned or signed integers or as floats of less than 8 bits."""
    if isinstance(dtype, int) and not isinstance(dtype, bool):
        narrow = element(f"{'' if signed else 'u'}int{dtype}") if 0 < dtype < 8 else None
    else:
        narrow = element(dtype).underlying if signed is None else None
    if narrow is None or narrow.bits >= 8:
        raise ShapeError(
            "packed elements are a type of less than 8 bits, or a width of 1 to 7 bits with signed=; "
            f"got {shown(dtype)}{'' if signed is None else f' with signed={signed}'}.",
            hint="wider elements need no packing",
            dtype=dtype,
        )
    return narrow


def _count(n: Any, what: str) -> int:
    value = as_int(n, what)
    if value < 0:
        raise OutOfBounds(f"{what} is {value}.", hint="use >= 0", got=value)
    return value


def _bytes(buffer: Any) -> NDArray[Any]:
    """The memory of a buffer or of an array, as bytes that can be written where it can."""
    import numpy as np

    try:
        data = buffer if isinstance(buffer, np.ndarray) else np.frombuffer(buffer, np.uint8)
        if data.flags.c_contiguous:
            return data.reshape(-1).view(np.uint8)
    except (TypeError, ValueError, BufferError):
        pass
    raise ShapeError(
        f"packed elements lie in contiguous memory; a {type(buffer).__name__} that is a strided view, or no buffer at "
        "all, has none.",
        hint="pass bytes, a bytearray, or the whole array that the view is of",
        buffer=buffer,
    )


def _within(data: NDArray[Any], e: Element, end: int) -> None:
    room = 8 * data.size // e.bits
    if end > room:
        raise OutOfBounds(
            f"element {end - 1} of {e.bits} bits is outside the {data.size} bytes, which hold {room}.",
            hint=f"{end} elements take {packed_bytes(e, end)} bytes",
            end=end,
        )


def _indices(index: Any, data: NDArray[Any], e: Element) -> NDArray[Any]:
    import numpy as np

    where = np.asarray(index)
    if where.dtype.kind not in "iu" and where.size:
        raise ShapeError(f"indices are integers, got {shown(index)}.", hint="use int or an integer array", index=index)
    if where.size:
        _count(int(where.min()), "the least index")
        _within(data, e, int(where.max()) + 1)
    return where.astype(np.int64)


def _values(codes: NDArray[Any], e: Element) -> NDArray[Any]:
    """The elements in the low bits of bytes, whose other bits may be anything."""
    import numpy as np

    if e.integral and e.limits[0]:
        return (codes << (8 - e.bits)).view(np.int8) >> (8 - e.bits)
    return (codes & ((1 << e.bits) - 1)).view(storage_dtype(e))


def _codes(values: Any, e: Element) -> NDArray[Any]:
    """The bits of the values, flat, one byte for each; values that do not fit are refused."""
    import numpy as np

    stored = np.asarray(Plain(e).decode(values), storage_dtype(e))
    return stored.reshape(-1).view(np.uint8) & ((1 << e.bits) - 1)
