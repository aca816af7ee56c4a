"""Flat memory that holds elements of one type: what a tensor's offsets point into."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import LayoutError, LimitExceeded, ShapeError, shown
from ..integers.nested import product
from ..native import native
from .types import Element, element, storage_dtype

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALIGNMENT = 64
"""The address of allocate memory is a multiple of this many bytes."""

LARGE = 4 << 20
"""Memory of so many bytes is mapped from the system, on huge pages, and goes back when it is freed.

It trades reuse for huge pages: malloc hands out again what was freed, warm but in small pages.
"""


class Memory:
    """Bytes, and the type of the elements in them.

    Element ``i`` has the bits ``i * element.bits`` and on, the least significant bit of a byte first. ``typed`` is the
    same memory as an array of the stored type, or None where elements share bytes.
    """

    __slots__ = ("bytes", "count", "element", "typed")
    bytes: NDArray[np.uint8]
    element: Element
    count: int
    typed: NDArray[Any] | None

    def __init__(self, data: NDArray[np.uint8], element_type: Element) -> None:
        self.bytes = data
        self.element = element_type
        self.count = data.size * 8 // element_type.bits
        self.typed = None
        if element_type.bits % 8 == 0:
            typed = data[: self.count * element_type.bytes].view(storage_dtype(element_type))
            if data.size and not typed.flags.aligned:
                raise ShapeError(
                    f"the memory starts at an address that {element_type.name} is not aligned to.",
                    hint="copy it: a new array, or bytes(...) of it, is aligned",
                    element=element_type,
                )
            self.typed = typed

    def __reduce__(self) -> tuple[Any, ...]:
        return Memory, (self.bytes, self.element)

    @property
    def writable(self) -> bool:
        return bool(self.bytes.flags.writeable)

    def read(self, where: Any) -> Any:
        """The stored values at an offset, or at an array of offsets, all known to be inside."""
        if self.typed is not None:
            return self.typed[where]
        from . import subbyte

        return subbyte.get(self.bytes, self.element, where)

    def write(self, where: Any, values: Any) -> None:
        """Put stored values at offsets known to be inside and to be different."""
        if self.typed is not None:
            self.typed[where] = values
        else:
            from . import subbyte

            subbyte.put(self.bytes, self.element, where, values)

    def fill(self, value: Any) -> None:
        """Put one stored value everywhere."""
        if self.typed is not None:
            self.typed.fill(value)
        else:
            import numpy as np

            from . import subbyte

            self.bytes[:] = np.resize(subbyte.pack([value] * 8, self.element), self.bytes.size)


def allocate(element_type: Element, count: int, *, boundary: int = ALIGNMENT) -> Memory:
    """Zeroed memory for ``count`` elements that starts at a multiple of ``boundary`` bytes."""
    return Memory(allocate_bytes(-(-count * element_type.bits // 8), boundary=boundary), element_type)


def allocate_bytes(size: int, *, zeroed: bool = True, boundary: int = ALIGNMENT) -> NDArray[np.uint8]:
    """Bytes from a multiple of ``boundary`` on, on huge pages if they are many: zeros, or anything."""
    import numpy as np

    boundary = max(boundary, ALIGNMENT)
    try:
        room: NDArray[np.uint8] | None = None
        if native is not None and size >= LARGE:
            room = native.allocate(size)
        if room is not None and address_of(room) % boundary == 0:
            return room
        room = (np.zeros if zeroed else np.empty)(size + boundary, np.uint8)
    except (MemoryError, OverflowError, ValueError, TypeError):
        raise no_memory(size) from None
    start = -find_address(room) % boundary
    return room[start : start + size]


def no_memory(size: int) -> LimitExceeded:
    return LimitExceeded(f"there is no memory for {shown(size)} bytes.", hint="take a part of it", limit=size)


def address_of(array: NDArray[Any]) -> int:
    """Where the first element of an array is."""
    address: int = array.__array_interface__["data"][0]
    return address


find_address: Callable[[NDArray[Any]], int] = address_of if native is None else native.address
"""The same for memory that lies together, in less time."""


def memory_of(x: Any, dtype: Any = None) -> Memory:
    """The memory of ``x`` itself, never a copy.

    Arrays of numpy and of libraries with DLPack have a type of their own, which ``dtype`` must agree with, and lie
    together in memory, in row-major order. Everything else is bytes, and needs the type. Elements below a byte are
    packed, in bytes or in an array of uint8.
    """
    import numpy as np

    wanted = None if dtype is None else element(dtype)
    array = _array(x)
    if array is None:
        if wanted is None:
            raise ShapeError(
                f"{type(x).__name__} is bytes: of which elements is not known.", hint="pass the dtype", got=type(x)
            )
        return Memory(bytes_of(x), wanted)
    packed = wanted is not None and wanted.bits < 8 and array.dtype == np.uint8
    element_type = wanted if wanted is not None and packed else own_element(array)
    if wanted is not None and (
        wanted.bits != element_type.bits or storage_dtype(wanted) != storage_dtype(element_type)
    ):
        raise ShapeError(
            f"the array holds {array.dtype}, not {wanted.name}.",
            hint=f"view it as {wanted.underlying.name}, or pass memoryview(x).cast('B') for its bytes",
            got=array.dtype,
            expected=wanted,
        )
    if not array.flags.c_contiguous:
        raise ShapeError(
            f"an array of shape {array.shape} and strides {array.strides} does not lie together in memory.",
            hint="rl.tensor(x) wraps an array as it is",
            shape=array.shape,
        )
    return Memory(array.reshape(-1).view(np.uint8), wanted or element_type)


def own_element(array: NDArray[Any]) -> Element:
    """The type of an array's elements; other byte orders, records and objects are refused."""
    if not array.dtype.isnative:
        raise ShapeError(
            f"the array has the byte order of another machine ({array.dtype.str}).",
            hint="x.astype(x.dtype.newbyteorder('=')) copies it into this one",
            got=array.dtype,
        )
    element_type = element(array.dtype)
    if element_type.bits < 8:
        raise ShapeError(
            f"the array keeps each {element_type.name} in a byte of its own.",
            hint="rl.from_logical packs it; x.astype('int8') is a byte for each",
            got=array.dtype,
        )
    return element_type


def as_array(x: Any) -> NDArray[Any]:
    """``x`` as a numpy array over the same memory; refused where there is none."""
    array = _of_view(x) if isinstance(x, memoryview) else _array(x)
    if array is None:
        raise ShapeError(
            f"{shown(x)} is no array: it has no shape and strides.",
            hint="Tensor(x, layout, dtype) takes bytes, numpy.asarray(x) lists",
            got=type(x),
        )
    return array


def _of_view(x: memoryview) -> NDArray[Any]:
    import numpy as np

    try:
        return np.asarray(x)
    except (TypeError, ValueError, BufferError) as error:
        raise ShapeError(
            f"{shown(x)} holds nothing that numpy reads: {error}.", hint="cast it to bytes: x.cast('B')", got=type(x)
        ) from None


def _array(x: Any) -> NDArray[Any] | None:
    """``x`` as a numpy array over the same memory, or None if it is bytes."""
    import numpy as np

    if x.__class__ is np.ndarray:
        return x
    # Who has a masked array has imported numpy.ma, which takes longer than most repacks.
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(x, masked.MaskedArray):
        raise ShapeError(
            "a masked array has elements that do not count.", hint="fill them: x.filled(value)", got=type(x)
        )
    if isinstance(x, np.ndarray):
        return np.asarray(x)
    if hasattr(x, "__dlpack__"):
        from .dlpack import from_dlpack

        return from_dlpack(x)
    if isinstance(getattr(x, "__array_interface__", None), dict):
        return _from_interface(x, x.__array_interface__)
    return None


def exports_array(x: Any) -> bool:
    """Whether ``x`` is an array to other libraries, and not bytes."""
    return hasattr(x, "__dlpack__") or hasattr(x, "__array_interface__")


def bytes_of(x: Any) -> NDArray[np.uint8]:
    """The bytes of a buffer, one behind the other."""
    import numpy as np

    try:
        return np.frombuffer(x, np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        raise ShapeError(
            f"{shown(x)} has no memory that can be read: {error}.",
            hint="pass an array, bytes, a bytearray, a memoryview or an mmap",
            got=type(x),
        ) from None


def _from_interface(x: Any, description: dict[str, Any]) -> NDArray[Any]:
    """An array over a buffer that ``__array_interface__`` names; a bare address cannot be proven and is refused."""
    import numpy as np

    data = description.get("data")
    if data is None or isinstance(data, tuple) or description.get("mask") is not None:
        raise ShapeError(
            f"{type(x).__name__} gives the address of its memory, and not how long that is, or masks some of it.",
            hint="numpy.asarray(x), if you trust it; or pass a buffer",
            got=type(x),
        )
    flat = bytes_of(data)
    try:
        shape, dtype = tuple(description["shape"]), np.dtype(description["typestr"])
        element(dtype)
        return _inside(flat, shape, dtype, description.get("strides"), description.get("offset", 0))
    except LayoutError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ShapeError(
            f"the array interface of {type(x).__name__} does not fit together: {error}.",
            hint="give shape, typestr and data; strides and offset fit into the data",
            got=type(x),
        ) from None


def _inside(flat: NDArray[np.uint8], shape: Any, dtype: Any, strides: Any, start: int) -> NDArray[Any]:
    """An array over ``flat`` whose every element is proven to be inside."""
    import numpy as np

    if strides is None:
        strides = [product(shape[d + 1 :]) * dtype.itemsize for d in range(len(shape))]
    if product(shape):
        reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
        low = start + sum([r for r in reach if r < 0])
        high = start + sum([r for r in reach if r > 0]) + dtype.itemsize
        if low < 0 or high > flat.size:
            raise ShapeError(
                f"the array would use the bytes {low} to {high} of a buffer of {flat.size}.",
                hint="make shape, strides and offset fit into the buffer",
                shape=shape,
                strides=strides,
            )
    return np.ndarray(shape, dtype, buffer=flat, offset=start if product(shape) else 0, strides=strides)
