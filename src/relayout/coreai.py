"""Apple Core AI's words: ``NDArray``, its interleaved dimension, default strides, and the forms of one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .dialects.coreai import SCALAR_TYPES
from .elements.interface import as_interface
from .elements.memory import allocate
from .elements.types import Element
from .errors import NotExpressible, ShapeError
from .format.interleave import InterleaveLayout, NDArrayDescriptor, describe, equivalents, layout, packed
from .layout.layout import Layout
from .tensors.allocation import Padding
from .tensors.make import tensor
from .tensors.tensor import Tensor

__all__ = ["InterleaveLayout", "NDArray", "NDArrayDescriptor", "describe", "equivalents", "layout", "packed"]

_NAMES = {element: name for name, element in SCALAR_TYPES.items()}


class NDArray(Tensor):
    """A tensor as Core AI describes it: shape, scalar type, strides in elements, and the dimension that is interleaved.

    Without ``strides`` it has Core AI's default ones. The memory is its own and holds 0, or is that of ``storage``, an
    array or bytes, and nothing is copied. A view of it is an ``NDArray`` again; one that Core AI has no words for, as a
    slice that starts inside a block, refuses to tell its strides.

    >>> NDArray([8, 6], "float16", interleave_layout=InterleaveLayout(0, 4)).strides
    (24, 4)
    """

    __slots__ = ()

    def __init__(
        self,
        shape: Sequence[int],
        scalar_type: Any,
        strides: Sequence[int] | None = None,
        interleave_layout: InterleaveLayout | None = None,
        *,
        storage: Any = None,
    ) -> None:
        if not isinstance(interleave_layout, InterleaveLayout | None):
            raise ShapeError(
                f"interleave_layout is an InterleaveLayout or None, got {interleave_layout!r}.",
                hint="InterleaveLayout(dimension, factor)",
                got=interleave_layout,
            )
        placed = packed(shape, interleave_layout) if strides is None else layout(shape, strides, interleave_layout)
        _check_strides(placed)
        means = as_interface(
            SCALAR_TYPES.get(scalar_type, scalar_type) if isinstance(scalar_type, str) else scalar_type
        )
        if storage is not None:
            super().__init__(storage, placed, means)
            return
        memory = allocate(means.element, describe(placed).allocation_elements)
        none = (0,) * placed.rank
        self._set((memory,), placed, means, None, None, Padding(none, none))

    @classmethod
    def from_numpy(cls, x: Any) -> NDArray:
        """The array ``x`` over the same memory: of numpy, of any library with DLPack, or a tensor.

        Refused, with the reason, where Core AI has no words for it.
        """
        t = tensor(x)
        if t.blocks is not None:
            raise NotExpressible(
                "an array of Core AI has no block table.", hint="repack it into one piece of memory", tensor=t
            )
        _check_strides(t.layout)
        _, *parts = t.__reduce__()[1]
        return cls.__new__(cls)._set(*parts)

    @property
    def scalar_type(self) -> str:
        """Core AI's name of the stored type."""
        return _name_of(self.interface.element)

    @property
    def descriptor(self) -> NDArrayDescriptor:
        """Shape, strides, interleave layout, scalar type and offset; refused where Core AI has no words."""
        return describe(self.layout, self.scalar_type)

    @property
    def strides(self) -> tuple[int, ...]:
        """The distance between neighbours in elements; along the interleaved dimension between blocks."""
        return describe(self.layout).strides

    @property
    def interleave_layout(self) -> InterleaveLayout | None:
        """Which dimension is interleaved, and by what factor; None if none is."""
        return describe(self.layout).interleave_layout

    def without_interleave(self) -> NDArray:
        """This memory in the form that needs no interleave layout: the block is a last dimension.

        Where the factor does not divide the size, that is the form of the same shape, if one stride says it; else it is
        refused, for the interleaved form is the only one.
        """
        plain = next((form for form in equivalents(self.layout) if form.interleave_layout is None), None)
        if plain is None:
            raise NotExpressible(
                f"{self.interleave_layout} does not divide the shape {self.shape}: strides alone cannot say it.",
                hint="t.numpy() is a copy; rl.repack(t, 'row-major') is one in plain strides",
                tensor=self,
            )
        return self._like(plain.layout, self.interface, None)


def _check_strides(x: Layout) -> None:
    """Refuse what no array of Core AI has: strides below 0, and 0 where there is more than one element."""
    for d, (n, step) in enumerate(zip(x.extents, describe(x).strides)):
        if step == 0 and n > 1 and x.size:
            raise ShapeError(
                f"dimension {d} has {n} elements and the stride 0.",
                hint="an array of Core AI repeats no element: copy it, or use rl.Tensor",
                layout=x,
            )


def _name_of(element: Element) -> str:
    name = _NAMES.get(element.underlying)
    if name is None:
        raise NotExpressible(
            f"Core AI has no scalar type {element.name}.",
            hint=f"it has {', '.join(SCALAR_TYPES)}",
            dialect="coreai",
            element=element,
        )
    return name
