"""DLPack: arrays of other libraries over their own memory, and ours for them. A description is checked before use."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from ..errors import LayoutError, ShapeError
from ..integers.nested import product
from .types import Element, element, storage_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

HOST = (1, 3, 11, 13)
"""DLPack's numbers of devices whose memory the host reads: its own, and memory pinned or managed for a GPU."""

UNSIGNED = 1
"""DLPack's code of unsigned integers, which stand in for types that numpy lacks."""

COPIED = 2
"""The flag of a capsule that holds a copy."""

_CODES = {
    "bfloat16": 4,
    "float8_e3m4": 7,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 9,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
}


class DLTensor(ctypes.Structure):
    """DLPack's description of an array; strides count elements, and none mean row-major."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    """The head of DLPack's versioned capsule, up to the array."""

    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    )


def from_dlpack(x: Any) -> NDArray[Any]:
    """An array over the memory of ``x``, never a copy; refused on other devices."""
    import numpy as np

    checked = _Checked(x)
    # torch hands out the memory of such a tensor, and does not tell that its values have the other sign.
    negated = getattr(x, "is_neg", None)
    if negated is not None and negated() is True:
        raise ShapeError("the tensor's values are negated on reading.", hint="pass x.resolve_neg()", got=type(x))
    try:
        device = checked.__dlpack_device__()
        if device[0] not in HOST:
            raise ShapeError(
                f"the memory is on another device (DLPack {device}).", hint="copy it to the host first", device=device
            )
        array = np.from_dlpack(checked)
    except LayoutError:
        raise
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ShapeError(
            f"{type(x).__name__} hands out no memory: {error}.", hint="detach it, or copy it into numpy", got=type(x)
        ) from None
    return array if checked.element is None else array.view(storage_dtype(checked.element))


def to_dlpack(array: NDArray[Any], element_type: Element, words: dict[str, Any]) -> Any:
    """A capsule of the array, which holds elements of ``element_type``."""
    if element_type.name not in _CODES:
        return array.__dlpack__(**words)
    capsule = array.view(f"u{element_type.bytes}").__dlpack__(**words)
    description(capsule)[0].dtype[0] = _CODES[element_type.name]
    return capsule


class _Checked:
    """A producer whose capsule is looked at before numpy reads it."""

    element: Element | None = None

    def __init__(self, producer: Any) -> None:
        self.producer = producer

    def __dlpack_device__(self) -> Any:
        return self.producer.__dlpack_device__()

    def __dlpack__(self, **words: Any) -> Any:
        capsule = self.producer.__dlpack__(**words)
        self.element = _prove(capsule)
        return capsule


def _prove(capsule: Any) -> Element | None:
    """Refuse a description that does not fit together; its type, made readable for numpy, if numpy lacks it."""
    tensor, flags = description(capsule)
    code, bits, *lanes = tensor.dtype
    known = 0 <= tensor.ndim <= 64 and (tensor.shape or tensor.ndim == 0)
    shape, strides = shape_and_strides(tensor) if known else ([], [])
    if known and (lanes != [1, 0] or bits % 8):
        raise ShapeError(
            f"the array has elements of {bits} bits in lanes of {lanes[0] + 256 * lanes[1]}, which numpy lacks.",
            hint="view it as bytes: in torch x.view(torch.uint8); Tensor(bytes, layout, 'int4') takes packed elements",
        )
    if not known or min(shape, default=0) < 0:
        raise _unfit(f"{tensor.ndim} dimensions of sizes {shape}")
    if flags & COPIED:
        raise ShapeError("the library hands out a copy, not its memory.", hint="copy it into numpy yourself")
    if product(tuple(shape)):
        reach = [(n - 1) * s * bits // 8 for n, s in zip(shape, strides)]
        start = (tensor.data or 0) + tensor.byte_offset
        low, high = start + sum([r for r in reach if r < 0]), start + sum([r for r in reach if r > 0]) + bits // 8
        if not tensor.data or low < 0 or high > 1 << 63:
            raise _unfit(f"the addresses {low} to {high}, at {tensor.data or 'none'} + {tensor.byte_offset}")
    missing = next(
        (element(name) for name, number in _CODES.items() if (number, element(name).bits) == (code, bits)), None
    )
    if missing is not None:
        # numpy reads the same bits as integers. The capsule was made for us alone.
        tensor.dtype[0] = UNSIGNED
    return missing


def description(capsule: Any) -> tuple[DLTensor, int]:
    """The array that an unused capsule describes, and its flags."""
    api = ctypes.pythonapi
    name_of, pointer_of = api.PyCapsule_GetName, api.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = name_of(capsule)
    if name == b"dltensor_versioned":
        versioned = _Versioned.from_address(pointer_of(capsule, name))
        return versioned.tensor, versioned.flags
    if name != b"dltensor":
        raise _unfit(f"a capsule named {name!r}")
    return DLTensor.from_address(pointer_of(capsule, name)), 0


def shape_and_strides(tensor: DLTensor) -> tuple[list[int], list[int]]:
    """Both in elements; without strides the array is row-major."""
    shape = [tensor.shape[d] for d in range(tensor.ndim)]
    if tensor.strides:
        return shape, [tensor.strides[d] for d in range(tensor.ndim)]
    return shape, [product(tuple(shape[d + 1 :])) for d in range(len(shape))]


def _unfit(what: str) -> ShapeError:
    return ShapeError(f"the DLPack capsule does not fit together: {what}.", hint="the library that made it is wrong")
