"""``from_logical``: an array or a tensor as a new tensor in another layout."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ..dialects.resolve import resolve
from ..elements.interface import Plain
from ..elements.types import element
from ..errors import ShapeError
from ..format.format import Format
from ..layout.layout import Layout
from ..tensors.data import values_of
from ..tensors.make import empty, tensor
from ..tensors.tensor import Tensor
from .growth import growth_warning
from .plan import plan

if TYPE_CHECKING:
    from ..dialects.registry import Shapeless


def from_logical(
    array: Any,
    layout: Layout | Format | Shapeless | str,
    interface: Any = None,
    *,
    fill: Any = None,
    axes: str | None = None,
    left_pad: Any = None,
    right_pad: Any = None,
    gap: int = 0,
    align: int | None = None,
) -> Tensor:
    """A copy of an array or a tensor in another layout; ``axes`` names its dimensions, in their order.

    Everything beside the data gets ``fill``, and blocks lie apart by ``gap`` and ``align``, as in ``empty``. Without an
    ``interface`` elements keep their type.
    """
    source = array if isinstance(array, Tensor) else values_of(array)
    means = interface
    if isinstance(source, Tensor):
        axes = source.axes if axes is None else axes
        means = source.interface if interface is None else interface
    elif interface is None:
        means = Plain(element(source.dtype))
    if axes is None:
        resolve(layout, element=means).check_position(source.shape)
    words = {"fill": fill, "axes": axes, "left_pad": left_pad, "right_pad": right_pad, "gap": gap, "align": align}
    made = empty(layout, means, source.shape, **words)
    bits = made.interface.element.bits
    growth = growth_warning(-(-made.layout.size * bits // 8), -(-made.layout.storage_size * bits // 8))
    if growth is not None:
        warnings.warn(growth, stacklevel=2)
    try:
        data = tensor(source)
    except ShapeError:  # values that are no memory of elements: misaligned, of another byte order, or below a byte
        return made.copy_from(source)
    plan(data.layout, made.layout, data.interface, made.interface)(data, made)
    return made
