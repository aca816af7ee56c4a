"""Arrays of any library: their shape and strides in elements, and their values on the host."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...elements.types import ELEMENTS, Element
from ...errors import NotExpressible, ShapeError, shown
from ...layout.layout import Layout

if TYPE_CHECKING:
    from numpy.typing import NDArray


def array_layout(x: Any) -> Layout:
    """The layout of a live array; see ``relayout.infer`` for what its offset counts from."""
    import numpy as np

    if _is_torch(x):
        return _torch_layout(x)
    if isinstance(x, np.ndarray):
        return _layout_of_byte_strides(x.shape, x.strides, x.itemsize)
    for name in ("__cuda_array_interface__", "__array_interface__"):
        interface = getattr(x, name, None)
        if isinstance(interface, dict):
            item = np.dtype(interface["typestr"]).itemsize
            shape, strides = interface["shape"], interface.get("strides")
            if strides is None:
                return Layout.row_major(_int_or_tuple(shape))
            return _layout_of_byte_strides(shape, strides, item)
    if hasattr(x, "__dlpack__"):
        return _layout_from_lowest(*_dlpack(x))
    try:
        view = memoryview(x)
    except TypeError:
        raise ShapeError(
            f"infer takes a live array, got {shown(x)}.",
            hint="pass an array (numpy, torch, DLPack, a buffer), a table as offsets=, or a reference with its dump",
            got=type(x),
        ) from None
    if any(s >= 0 for s in view.suboffsets or ()):
        raise NotExpressible("a buffer of pointers has no strides.", hint="copy it into one array", got=type(x))
    return _layout_of_byte_strides(view.shape or (), view.strides or (), view.itemsize)


def array_type(x: Any) -> Element | None:
    """The type of an array's elements, where it says one that has a name here."""
    import numpy as np

    kind = getattr(x, "dtype", None)
    if kind is None and isinstance(interface := getattr(x, "__array_interface__", None), dict):
        kind = np.dtype(interface["typestr"])
    return ELEMENTS.get(str(getattr(kind, "name", kind)).removeprefix("torch."))


def is_array(x: Any) -> bool:
    """Whether ``x`` is an array of some library, and no list, text or number."""
    if hasattr(x, "__array_interface__") or hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__"):
        return True
    return isinstance(x, bytes | bytearray | memoryview) or type(x).__module__ == "array"


def on_host(x: Any, what: str) -> NDArray[Any]:
    """The values of ``x`` as a numpy array; types that numpy lacks come as integers with the same bits."""
    import numpy as np

    if _is_torch(x):
        return _torch_values(x)
    try:
        values = np.asarray(x)
    except (TypeError, ValueError) as error:
        raise ShapeError(
            f"{what} is no array in host memory: {error}", hint="copy it to the host first", got=type(x)
        ) from None
    if values.dtype.kind not in "biufcSUVmM" or values.dtype.char in "gG" or not values.itemsize:
        raise ShapeError(
            f"{what} has elements of type {values.dtype}, whose bits do not tell values apart.",
            hint="use numbers of a fixed size",
            got=values.dtype,
        )
    return values


def _is_torch(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _torch_layout(x: Any) -> Layout:
    if x.layout != sys.modules["torch"].strided:
        raise NotExpressible(f"a {x.layout} tensor has no strides.", hint="make it dense: x.to_dense()", got=x.layout)
    shape, strides = tuple(map(int, x.shape)), tuple(map(int, x.stride()))
    return Layout(_int_or_tuple(shape), _int_or_tuple(strides), offset=int(x.storage_offset()))


def _torch_values(x: Any) -> NDArray[Any]:
    torch = sys.modules["torch"]
    values = x.detach().cpu().resolve_conj().resolve_neg()
    if values.is_quantized:
        values = values.int_repr()
    try:
        return values.numpy()  # type: ignore[no-any-return]
    except TypeError:
        same_width = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[values.element_size()]
        return values.view(same_width).numpy()  # type: ignore[no-any-return]


def _layout_of_byte_strides(shape: Sequence[int], strides: Sequence[int], item: int) -> Layout:
    """The layout of byte strides, which must be whole elements wherever they matter."""
    steps = []
    for d, (n, s) in enumerate(zip(shape, strides)):
        if item and s % item == 0:
            steps.append(s // item)
        elif n <= 1 or 0 in shape:
            steps.append(0)
        else:
            raise NotExpressible(
                f"dimension {d} steps {s} bytes, which is no whole number of elements of {item} bytes.",
                hint="copy the field, or view the array as bytes (uint8) first",
                dim=d,
                stride=s,
                itemsize=item,
            )
    return _layout_from_lowest(shape, steps)


def _layout_from_lowest(shape: Sequence[int], strides: Sequence[int]) -> Layout:
    """The layout whose lowest offset is 0."""
    reach = 0 if 0 in shape else sum((n - 1) * s for n, s in zip(shape, strides) if s < 0)
    return Layout(_int_or_tuple(shape), _int_or_tuple(strides), offset=-reach)


def _int_or_tuple(entries: Sequence[int]) -> Any:
    """One integer for one dimension, else a tuple."""
    return int(entries[0]) if len(entries) == 1 else tuple([int(e) for e in entries])


def _dlpack(x: Any) -> tuple[list[int], list[int]]:
    """Shape and strides from the capsule alone, whatever device the memory is on; the capsule is not consumed."""
    from ...elements.dlpack import description, shape_and_strides

    capsule = x.__dlpack__()
    return shape_and_strides(description(capsule)[0])
