"""Flat memory that holds elements of one type: what a tensor's offsets point into."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .elements import Element, element, storage_dtype
from .errors import LayoutError, ShapeError, shown
from .nested import product

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALIGNMENT = 64
"""The address of fresh memory is a multiple of this many bytes."""


class Memory:
    """Bytes, the type of the elements in them, and whether they may be written.

    Element ``i`` has the bits ``i * element.bits`` and on, the least significant bit of a byte first.
    """

    __slots__ = ("bytes", "count", "element", "typed")
    bytes: NDArray[np.uint8]
    element: Element
    count: int
    typed: NDArray[Any] | None

    def __init__(self, data: NDArray[np.uint8], kind: Element) -> None:
        self.bytes = data
        self.element = kind
        self.count = data.size * 8 // kind.bits
        self.typed = None
        if kind.bits % 8 == 0:
            if data.size and data.ctypes.data % storage_dtype(kind).alignment:
                raise ShapeError(
                    f"the memory starts at an address that {kind.name} is not aligned to.",
                    hint="copy it: an array of that type, or bytes(...) of it, is aligned",
                    element=kind,
                )
            self.typed = data[: self.count * kind.bytes].view(storage_dtype(kind))

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


def fresh(kind: Element, count: int) -> Memory:
    """Zeroed memory for ``count`` elements that starts at a multiple of 64 bytes."""
    import numpy as np

    size = -(-count * kind.bits // 8)
    room = np.zeros(size + ALIGNMENT, np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    return Memory(room[start : start + size], kind)


def memory_of(x: Any, dtype: Any = None) -> Memory:
    """The memory of ``x`` itself, never a copy.

    Arrays of numpy and of libraries with DLPack have a type of their own, which ``dtype`` must agree with, and lie
    together in memory, in row-major order. Everything else is bytes, and needs the type.
    """
    import numpy as np

    array = _array(x)
    if array is None:
        if dtype is None:
            raise ShapeError(
                f"{type(x).__name__} is bytes: of which elements is not known.", hint="pass the dtype", got=type(x)
            )
        try:
            data = np.frombuffer(x, np.uint8)
        except (TypeError, ValueError, BufferError) as error:
            raise ShapeError(
                f"{shown(x)} has no memory that can be read: {error}.",
                hint="pass an array, bytes, a bytearray, a memoryview or an mmap",
                got=type(x),
            ) from None
        return Memory(data, element(dtype))
    kind = own_element(array)
    wanted = kind if dtype is None else element(dtype)
    if wanted.bits != kind.bits or storage_dtype(wanted) != array.dtype:
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
    return Memory(array.reshape(-1).view(np.uint8), wanted)


def own_element(array: NDArray[Any]) -> Element:
    """The type of an array's elements; other byte orders, records and objects are refused."""
    if not array.dtype.isnative:
        raise ShapeError(
            f"the array has the byte order of another machine ({array.dtype.str}).",
            hint="x.astype(x.dtype.newbyteorder('=')) copies it into this one",
            got=array.dtype,
        )
    kind = element(array.dtype)
    if kind.bits < 8:
        raise ShapeError(
            f"the array keeps each {kind.name} in a byte of its own.",
            hint="x.view('int8') is what is stored; relayout.subbyte.pack(x, kind) packs it",
            got=array.dtype,
        )
    return kind


def as_array(x: Any) -> NDArray[Any]:
    """``x`` as a numpy array over the same memory; refused where there is none."""
    array = _array(x)
    if array is None:
        raise ShapeError(
            f"{shown(x)} is no array: it has no shape and strides.",
            hint="Tensor(x, layout, dtype) takes bytes",
            got=type(x),
        )
    return array


def _array(x: Any) -> NDArray[Any] | None:
    """``x`` as a numpy array over the same memory, or None if it is bytes."""
    import numpy as np

    if isinstance(x, np.ndarray):
        return x
    if not hasattr(x, "__dlpack__"):
        if not isinstance(x, bytes | bytearray | memoryview) and hasattr(x, "__array_interface__"):
            return _from_interface(x)
        return None
    device = getattr(x, "__dlpack_device__", lambda: (1, 0))()
    if device[0] != 1:
        raise ShapeError(
            f"the memory is on another device (DLPack {device}).", hint="copy it to the host first", device=device
        )
    special = _bits_of_torch(x)
    if special is not None:
        return special
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ShapeError(
            f"{type(x).__name__} hands out no memory: {error}.", hint="detach it, or copy it into numpy", got=type(x)
        ) from None


def _bits_of_torch(x: Any) -> NDArray[Any] | None:
    """A torch tensor of a type that numpy lacks, as the same bits of an integer type seen as that type."""
    import numpy as np

    name = str(getattr(x, "dtype", ""))
    if not name.startswith("torch."):
        return None
    kind = element(name)
    if storage_dtype(kind).type.__module__.split(".")[0] == "numpy":
        return None
    import torch  # type: ignore[import-not-found]

    return np.from_dlpack(x.view({8: torch.uint8, 16: torch.int16}[kind.bits])).view(storage_dtype(kind))


def _from_interface(x: Any) -> NDArray[Any]:
    """An array over a buffer that ``__array_interface__`` names; a bare address cannot be proven and is refused."""
    import numpy as np

    description = x.__array_interface__
    data = description.get("data") if isinstance(description, dict) else None
    if data is None or isinstance(data, tuple):
        raise ShapeError(
            f"{type(x).__name__} gives the address of its memory, and not how long that is.",
            hint="numpy.asarray(x), if you trust it; or pass a buffer",
            got=type(x),
        )
    try:
        flat = np.frombuffer(data, np.uint8)
        shape, kind = tuple(description["shape"]), np.dtype(description["typestr"])
        strides, start = description.get("strides"), description.get("offset", 0)
        return _inside(flat, shape, kind, strides, start)
    except LayoutError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ShapeError(
            f"the array interface of {type(x).__name__} does not fit together: {error}.",
            hint="give shape, typestr and data; strides and offset fit into the data",
            got=type(x),
        ) from None


def _inside(flat: NDArray[np.uint8], shape: Any, kind: Any, strides: Any, start: int) -> NDArray[Any]:
    """An array over ``flat`` whose every element is proven to be inside."""
    import numpy as np

    if strides is None:
        strides, step = [0] * len(shape), kind.itemsize
        for d in range(len(shape) - 1, -1, -1):
            strides[d] = step
            step *= shape[d]
    if product(tuple(shape)):
        low = start + sum([min(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True)])
        high = start + sum([max(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True)]) + kind.itemsize
        if low < 0 or high > flat.size:
            raise ShapeError(
                f"the array would use the bytes {low} to {high} of a buffer of {flat.size}.",
                hint="make shape, strides and offset fit into the buffer",
                shape=shape,
                strides=strides,
            )
    return np.ndarray(shape, kind, buffer=flat, offset=start, strides=strides)
