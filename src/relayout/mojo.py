"""Mojo's words: what its ``layout`` package calls things, so that code reads as on Mojo's pages.

``from relayout.mojo import Layout, LayoutTensor, IntTuple, print_layout``. What has CuTe's name and meaning is the
function of ``relayout`` itself; what Mojo defines otherwise (``coalesce``, ``zipped_divide``) is here as Mojo has it.
A parameter in square brackets becomes an argument in front: ``apply[func](t)`` is ``apply(func, t)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from .algebra.building import append, make_layout, make_ordered_layout, zip_modes
from .algebra.composed import ComposedLayout
from .algebra.composition import composition
from .algebra.inverses import complement, right_inverse
from .algebra.mojo_forms import (
    apply_tiler,
    blocked_product,
    coalesce,
    expand_strides,
    hierarchical_unzip,
    is_contiguous_dim,
    is_row_major,
    sublayout,
    zipped_divide,
)
from .algebra.recast import downcast, upcast
from .algebra.tiling import logical_divide, logical_product, tile_to_shape
from .drawing.text import format_layout, print_layout
from .elements.interface import Plain
from .elements.memory import Memory
from .elements.types import element
from .errors import NotExpressible, ShapeError, shown
from .integers.elementwise import (
    apply,
    apply_zip,
    fill_like,
    is_flat,
    is_int,
    is_tuple,
    mul,
    reduce,
    reverse,
    shallow_apply,
    to_nest,
    tuple_max,
    tuple_min,
)
from .integers.inttuple import (
    IntTuple,
    as_int,
    compact_order,
    compatible,
    congruent,
    crd2idx,
    flatten,
    idx2crd,
    inner_product,
    prefix_product,
    product,
    product_each,
    shape_div,
    weakly_compatible,
    weakly_congruent,
)
from .layout.layout import Layout
from .layout.measures import cosize, depth, rank, size
from .layout.swizzle import Swizzle
from .tensors.tensor import Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ComposedLayout",
    "IntTuple",
    "Layout",
    "LayoutTensor",
    "Swizzle",
    "append",
    "apply",
    "apply_tiler",
    "apply_zip",
    "blocked_product",
    "coalesce",
    "compact_order",
    "compatible",
    "complement",
    "composition",
    "congruent",
    "cosize",
    "crd2idx",
    "depth",
    "downcast",
    "expand_strides",
    "fill_like",
    "flatten",
    "format_layout",
    "hierarchical_unzip",
    "idx2crd",
    "inner_product",
    "is_contiguous_dim",
    "is_flat",
    "is_int",
    "is_row_major",
    "is_tuple",
    "logical_divide",
    "logical_product",
    "make_layout",
    "make_ordered_layout",
    "make_swizzle",
    "mul",
    "prefix_product",
    "print_layout",
    "product",
    "product_each",
    "product_flatten",
    "rank",
    "reduce",
    "reverse",
    "right_inverse",
    "shallow_apply",
    "shape_div",
    "size",
    "sublayout",
    "tile_to_shape",
    "to_nest",
    "tuple_max",
    "tuple_min",
    "upcast",
    "weakly_compatible",
    "weakly_congruent",
    "zip_modes",
    "zipped_divide",
]

product_flatten = product_each
"""Mojo's method of ``IntTuple``, as a function: the product of each entry."""


class LayoutTensor(Tensor):
    """A layout and a pointer to data: a ``Tensor`` with Mojo's methods, which its views have too.

    ``LayoutTensor[dtype, layout](storage)`` is ``LayoutTensor(storage, layout)``: the storage knows its type, or the
    third argument says it. Unlike Mojo's, every place of the layout is proven to be inside the storage.
    """

    __slots__ = ()

    @property
    def rank(self) -> int:
        """The number of modes."""
        return self.ndim

    def dim(self, axis: int) -> int:
        """The size along one axis; of a nested one, all of it."""
        return self.shape[self.layout._dim(axis)]

    def stride(self, axis: int) -> int:
        """The distance in memory, in elements, of two neighbours along one axis that is not nested."""
        stride = self.layout[self.layout._dim(axis)].stride
        if isinstance(stride, tuple):
            raise NotExpressible(
                f"axis {axis} of {self.layout} is nested, and has no one stride.",
                hint="t.layout[axis].stride has one for each of its modes",
                layout=self.layout,
            )
        return int(stride)

    def split(self, count: int, axis: int = 0) -> tuple[Tensor, ...]:
        """``count`` equal parts along one axis; refused where ``count`` does not divide its size.

        ``split[axis](count, idx)`` is ``split(count, axis)[idx]``. A ``Tensor`` splits by sizes, as torch does.
        """
        n, size = as_int(count, "count"), self.dim(axis)
        if n < 1 or size % n:
            raise ShapeError(
                f"{size} along axis {axis} cannot be split into {n} equal parts.",
                hint="chunk(count, axis) makes parts that are as even as they can be",
                count=n,
                size=size,
            )
        return tuple([self.narrow(axis, k * (size // n), size // n) for k in range(n)])

    def load(self, *coordinate: Any, width: int = 1) -> NDArray[Any]:
        """``width`` elements from a coordinate on, along the last axis, as a vector of values.

        ``t.load[4](row, col)`` is ``t.load(row, col, width=4)``. They must lie next to each other in memory.
        """
        return self._vector(coordinate, width).numpy().copy()

    def store(self, *coordinate_and_values: Any) -> None:
        """Write a vector of values from a coordinate on, along the last axis: ``t.store(row, col, values)``."""
        import numpy as np

        *coordinate, values = coordinate_and_values or (None,)
        vector = np.atleast_1d(np.asarray(values))
        if vector.ndim != 1:
            raise ShapeError(f"a vector is stored, got {shown(values)}.", hint="t.store(row, col, values)", got=values)
        self._vector(tuple(coordinate), len(vector))[...] = vector

    def _vector(self, coordinate: tuple[Any, ...], width: int) -> Tensor:
        """The view of ``width`` elements along the last axis, proven to be neighbours in memory."""
        keys = coordinate[0] if len(coordinate) == 1 and isinstance(coordinate[0], tuple | list) else coordinate
        if len(keys) != self.ndim or not self.ndim:
            raise ShapeError(
                f"{shown(coordinate)} is no place in a tensor of rank {self.ndim}.",
                hint="give one index for each axis",
                got=coordinate,
            )
        row = self.slice(*keys[:-1]) if self.ndim > 1 else self
        vector = row.narrow(0, as_int(keys[-1], "an index"), as_int(width, "width"))
        layout = vector.layout
        run = Layout(layout.size, 1, offset=layout.min_offset) if layout.size else layout
        if self.blocks is not None or not layout.equivalent(run):
            raise NotExpressible(
                f"{width} elements from {tuple(keys)} on do not lie next to each other in memory.",
                hint="index them: t[row, col : col + width]",
                tensor=self,
            )
        return vector

    def bitcast(self, dtype: Any) -> Self:
        """This memory, under this layout, as elements of another type.

        The layout counts elements of the new type from the place where the tensor begins, as in Mojo; what would leave
        the memory is refused. ``rl.recast_layout`` gives the layout that keeps the bytes of every element.
        """
        old, new = self.interface.element, element(dtype)
        layout = self.layout
        if old.bits != new.bits:
            start = layout.offset * old.bits
            if self.blocks is not None or layout.swizzle is not None or start % new.bits:
                raise NotExpressible(
                    f"{self!r} is not seen as {new.name}: it has blocks or a swizzle, or begins inside of an element.",
                    hint="cast to a type of the same width",
                    tensor=self,
                )
            layout = layout.with_offset(start // new.bits)
        memories = tuple([Memory(m.bytes, new) for m in self._memories])
        return self.__new__(type(self))._set(memories, layout, Plain(new), self.axes, self.blocks)


def make_swizzle(num_rows: int, row_size: int, access_size: int) -> Swizzle:
    """The swizzle of ``num_rows`` rows of ``row_size`` elements, read ``access_size`` at a time; powers of two."""
    sizes = [as_int(x, "a size") for x in (num_rows, row_size, access_size)]
    if any(x < 1 or x & (x - 1) for x in sizes) or sizes[1] <= sizes[2]:
        raise ShapeError(
            f"make_swizzle of {', '.join(map(str, sizes))} is refused.",
            hint="give powers of two, and rows that are longer than one access",
            sizes=sizes,
        )
    bits, row, base = [x.bit_length() - 1 for x in sizes]
    return Swizzle(bits, base, row - base)
