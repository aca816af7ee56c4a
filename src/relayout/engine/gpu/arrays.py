"""Arrays of other libraries in the memory of a device: torch and cupy by name, others by DLPack. Nothing is copied."""

from __future__ import annotations

import sys
from functools import cache
from math import prod
from typing import Any

from ...elements.dlpack import description, shape_and_strides
from ...elements.types import Element, element
from ...errors import DeviceError, ShapeError, shown
from ...immutable import NamedTuple
from .device import on_device
from .foreign import LEGACY, Exported


class Array(NamedTuple):
    """Where an array lies; its strides count elements."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    kind: str
    device: int
    writable: bool
    lent: Any = None
    """What keeps the memory, where a library lends it for a while."""

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def form(self) -> tuple[Any, ...]:
        """All that a kernel depends on."""
        return self[1:6], self.pointer % 16


class Torch:
    """PyTorch."""

    def __init__(self) -> None:
        self.module = sys.modules["torch"]
        # The same number without an object around it, which takes longer to make than a launch.
        self._raw_stream = getattr(self.module._C, "_cuda_getCurrentRawStream", None)

    def array(self, x: Any) -> Array:
        if x.requires_grad:
            raise ShapeError(
                "the tensor records gradients, and a repack has none.", hint="pass x.detach()", got=type(x)
            )
        if x.is_conj() or x.is_neg():
            raise ShapeError("the tensor is stored conjugated or negated.", hint="pass x.resolve_conj().resolve_neg()")
        return Array(x.data_ptr(), x.shape, x.stride(), _torch_name(x.dtype), x.get_device(), True)

    def stream(self, device: int) -> int:
        if self._raw_stream is not None:
            return int(self._raw_stream(device))
        return int(self.module.cuda.current_stream(device).cuda_stream)

    def empty(self, shape: tuple[int, ...], kind: Element, like: Any) -> tuple[Any, int]:
        made = self.module.empty(shape, dtype=self.dtype(kind), device=like.device)
        return made, made.data_ptr()

    def as_bytes(self, x: Any) -> Any:
        return x.reshape(-1).view(self.module.uint8)

    def dtype(self, kind: Element) -> Any:
        found = getattr(self.module, kind.underlying.name, None)
        if found is None:
            raise _no_type("torch", kind)
        return found

    def as_strided(self, flat: Any, shape: tuple[int, ...], strides: tuple[int, ...], start: int) -> Any:
        return flat if min(strides, default=0) < 0 else flat.as_strided(shape, strides, start)


class Cupy:
    """CuPy."""

    def __init__(self) -> None:
        self.module = sys.modules["cupy"]

    def array(self, x: Any) -> Array:
        size = x.dtype.itemsize
        strides = tuple([s // size for s in x.strides])
        if any(s % size for s in x.strides):
            raise ShapeError(f"strides of {x.strides} bytes are no whole numbers of elements.", hint="copy the array")
        return Array(x.data.ptr, x.shape, strides, x.dtype.name, x.device.id, True)

    def stream(self, device: int) -> int:
        return int(self.module.cuda.get_current_stream(device).ptr)

    def empty(self, shape: tuple[int, ...], kind: Element, like: Any) -> tuple[Any, int]:
        try:
            with like.device:
                made = self.module.empty(shape, kind.underlying.name)
        except TypeError:
            raise _no_type("cupy", kind) from None
        return made, made.data.ptr

    def as_bytes(self, x: Any) -> Any:
        return x.reshape(-1).view("uint8")

    def as_strided(self, flat: Any, shape: tuple[int, ...], strides: tuple[int, ...], start: int) -> Any:
        size = flat.dtype.itemsize
        return self.module.lib.stride_tricks.as_strided(flat[start:], shape, [s * size for s in strides])


class Foreign:
    """Any library with DLPack: it waits for its data, and for ours, on the device."""

    def array(self, x: Any) -> Array:
        capsule = x.__dlpack__(stream=LEGACY)
        tensor, _ = description(capsule)
        shape, strides = shape_and_strides(tensor)
        pointer = (tensor.data or 0) + tensor.byte_offset
        kind = str(x.dtype.name if hasattr(x.dtype, "name") else x.dtype)
        if getattr(x, "__array_namespace__", None) is None:
            raise ShapeError(
                f"{shown(type(x))} has no __array_namespace__, which takes the result.",
                hint="pass torch.from_dlpack(x), or cupy.from_dlpack(x)",
                got=type(x),
            )
        return Array(pointer, tuple(shape), tuple(strides), kind, tensor.device[1], False, capsule)

    def stream(self, device: int) -> int:
        return LEGACY

    def empty(self, shape: tuple[int, ...], kind: Element, like: Any) -> tuple[Any, int]:
        made = Exported(shape, kind, like.__dlpack_device__()[1])
        return made, made.pointer

    def as_bytes(self, x: Any) -> Any:
        raise ShapeError(
            f"{shown(type(x))} does not tell how to see its words as bytes.",
            hint="pass torch.from_dlpack(x), or cupy.from_dlpack(x)",
            got=type(x),
        )

    def as_strided(self, flat: Any, shape: tuple[int, ...], strides: tuple[int, ...], start: int) -> Any:
        return flat


def library(x: Any) -> Any:
    """What knows arrays of this kind, and of classes made of it."""
    known = _libraries.get(type(x))
    if known is None:
        names = {base.__module__.partition(".")[0] for base in type(x).__mro__}
        known = (Torch if "torch" in names else Cupy if "cupy" in names else Foreign)()
        _libraries[type(x)] = known
    return known


_libraries: dict[type, Any] = {}


def _no_type(name: str, kind: Element) -> ShapeError:
    return ShapeError(f"{name} has no type {kind.underlying.name}.", hint="repack to another type", element=kind)


@cache
def _torch_name(dtype: Any) -> str:
    return element(dtype).name


def describe(x: Any, what: str) -> Array:
    """Where an array lies; refused on the host."""
    if not on_device(x):
        raise DeviceError(
            f"the {what} {shown(type(x))} is not on the device.",
            hint="move both to one device, or both to the host",
            got=type(x),
        )
    try:
        found: Array = library(x).array(x)
    except (AttributeError, BufferError, RuntimeError, TypeError) as error:
        raise ShapeError(
            f"{type(x).__name__} hands out no memory: {error}.", hint="detach it, or copy it", got=type(x)
        ) from None
    return found
