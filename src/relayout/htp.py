"""Qualcomm HTP's words, as its document "Tensors and Memory Layout" has them: layouts, interfaces, types of tensors.

A layout by its name, ``htp.R4CroutonLayout``, and written out, ``htp.ChunkedMemoryLayout(4, 0,0, ...)``, is one and the
same ``Format``. A type of tensors, ``htp.QUint8CroutonTensor``, is a layout with an interface and a type of elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .dialects.htp import TENSOR_TYPES, tensor_type
from .dialects.resolve import resolve
from .drawing.listing import coordinates_in_memory, memory_listing
from .elements.interface import Plain as PlainInterface
from .elements.interface import ScaleOffset as ScaleOffsetInterface
from .errors import ShapeError
from .format import catalog
from .format.format import Format
from .layout.layout import Layout
from .tensors.make import empty
from .tensors.tensor import Tensor


def ChunkedMemoryLayout(rank: int, *pairs: int) -> Format:
    """The layout of these (dimension, size) pairs, slowest first, as ``ChunkedMemoryLayout<4, 0,0, ...>`` is read.

    >>> ChunkedMemoryLayout(4, 0,0, 1,0, 2,0, 3,0, 1,8, 2,8, 3,32) == __getattr__("R4CroutonLayout")
    True
    """
    return _format(f"ChunkedMemoryLayout<{', '.join(map(str, [rank, *pairs]))}>")


def FlatMemoryLayout(rank: int) -> Format:
    """The row-major layout of that rank: chunks of one element."""
    return _format(f"FlatMemoryLayout<{rank}>")


def listing(layout: Any, shape: Any = None, *, loops: int | None = None) -> str:
    """The order of memory as the document lists it: data in round brackets, padding in square ones.

    The first chunk is shown run by run, the others by their first and last coordinate. With ``loops`` a line is one
    turn of so many of the slowest loops.

    >>> print(listing("htp:weights", (3, 3, 32, 50), loops=1))
    (0,0,0,0) ... (2,2,31,31)
    (0,0,0,32) ... [2,2,31,63]
    """
    return memory_listing(_layout_at(layout, shape), loops)


def order(layout: Any, shape: Any = None) -> Iterator[tuple[int, ...]]:
    """The coordinates in the order of memory, those of padding included, one for each address."""
    return coordinates_in_memory(_layout_at(layout, shape))


class TensorType(NamedTuple):
    """A type of tensors: the memory layout, the interface and the elements. ``rl.expects`` takes one as a signature."""

    layout: Format
    interface: type[PlainInterface] | type[ScaleOffsetInterface]
    element: str

    def empty(self, shape: Any, scale: Any = None, offset: Any = 0, **words: Any) -> Tensor:
        """A tensor of this type; a quantised one needs its scale. ``words`` are those of ``rl.empty``."""
        if self.interface is PlainInterface:
            if scale is not None or offset != 0:
                raise ShapeError(f"{self.element} is plain: it has no scale.", hint="leave scale and offset out")
            return empty(self.layout, PlainInterface(self.element), shape, **words)
        if scale is None:
            raise ShapeError(f"{self.element} is quantised: it has a scale.", hint="pass scale=, and offset=")
        return empty(self.layout, ScaleOffsetInterface(scale, offset, self.element), shape, **words)


def _format(text: str) -> Format:
    found = resolve(text, dialect="htp").format
    if not isinstance(found, Format):
        raise ShapeError(f"{text} is no format.", hint="pass the rank and pairs")
    return found


def _layout_at(layout: Any, shape: Any) -> Layout:
    return resolve(layout, shape=shape).placed


_LAYOUTS = (
    "R4FlatMemoryLayout",
    "R5FlatMemoryLayout",
    "R6FlatMemoryLayout",
    "R4NCHWMemoryLayout",
    "R4Depth32MemoryLayout",
    "R4CroutonLayout",
    "R4Crouton4x1Layout",
    "R4Crouton2x2Layout",
    "R4Crouton2Layout",
    "R4Crouton4Layout",
    "R4WideCroutonLayout",
    "R4WideCrouton2x2Layout",
    "R4WideCrouton4Layout",
    "R5CroutonLayout",
    "ChannelMajorCrouton",
    "SpatialXYMajor",
    "SpatialXMajor",
)


def __getattr__(name: str) -> Any:
    if name in _LAYOUTS:
        return catalog.get(f"htp:{name}")
    found = tensor_type(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    layout, element = found
    interface = ScaleOffsetInterface if element.startswith("q") else PlainInterface
    return TensorType(_format(layout), interface, element)


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "ChunkedMemoryLayout",
    "FlatMemoryLayout",
    "PlainInterface",
    "ScaleOffsetInterface",
    "TensorType",
    "listing",
    "order",
    *_LAYOUTS,
    *TENSOR_TYPES,
]
