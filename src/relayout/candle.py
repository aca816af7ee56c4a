"""Hugging Face Candle's words: its ``Layout``, which is relayout's own, and its ``Shape``.

``Layout(shape)`` is column-major here, as in CuTe; Candle's is ``Layout.contiguous(shape)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import OutOfBounds, ShapeError, shown
from .integers.inttuple import as_int
from .integers.nested import product
from .layout.layout import Layout
from .layout.strided_blocks import MultipleBlocks, SingleBlock, UniformBlocks

__all__ = ["SCALAR", "D", "Layout", "MultipleBlocks", "Shape", "SingleBlock", "UniformBlocks"]


class D:
    """Dimensions counted from the end, as Candle writes them: ``D.Minus1`` is -1, the last one."""

    Minus1 = -1
    Minus2 = -2

    @staticmethod
    def Minus(n: int) -> int:
        """The ``n``-th dimension from the end."""
        return -as_int(n, "a dimension from the end")


class Shape(tuple[int, ...]):
    """The sizes of an array, one for each dimension: a tuple that has Candle's methods.

    Sizes are given one by one or as one sequence. It is taken wherever a flat shape is.

    >>> Shape(2, 3, 4).stride_contiguous()
    (12, 4, 1)
    """

    __slots__ = ()

    def __new__(cls, *dims: Any) -> Shape:
        given = dims[0] if len(dims) == 1 and hasattr(dims[0], "__iter__") else dims
        sizes = [as_int(n, "a size of a shape") for n in given]
        if any(n < 0 for n in sizes):
            raise ShapeError(f"a shape has no negative sizes, got {shown(sizes)}.", hint="sizes are >= 0", got=sizes)
        return super().__new__(cls, sizes)

    def __getnewargs__(self) -> tuple[tuple[int, ...]]:
        return (tuple(self),)

    def __repr__(self) -> str:
        return f"Shape({', '.join(map(str, self))})"

    def __str__(self) -> str:
        """As Candle prints it: ``[2, 3, 4]``."""
        return str(list(self))

    @classmethod
    def from_dims(cls, dims: Sequence[int]) -> Shape:
        return cls(dims)

    @property
    def rank(self) -> int:
        """The number of dimensions, 0 for a scalar."""
        return len(self)

    @property
    def dims(self) -> tuple[int, ...]:
        """The sizes as a plain tuple."""
        return tuple(self)

    def into_dims(self) -> list[int]:
        """The sizes as a list."""
        return list(self)

    def dim(self, dim: int) -> int:
        """The size of one dimension; negative ones, and ``D.Minus1``, count from the end."""
        d = as_int(dim, "a dimension")
        if not -len(self) <= d < len(self):
            raise OutOfBounds(
                f"dimension {d} of the shape {self} does not exist.",
                hint=f"dimensions run from {-len(self)} to {len(self) - 1}" if self else "a scalar has none",
                dim=d,
                shape=self,
            )
        return self[d]

    @property
    def elem_count(self) -> int:
        """The number of elements: the product of the sizes."""
        return product(tuple(self))

    def dims0(self) -> tuple[()]:
        """Nothing; refused unless it is the shape of a scalar."""
        self._require_rank(0)
        return ()

    def dims1(self) -> int:
        """The size of a vector; refused for other shapes."""
        return self._require_rank(1)[0]

    def dims2(self) -> tuple[int, ...]:
        """The two sizes of a matrix; refused for other shapes."""
        return self._require_rank(2)

    def dims3(self) -> tuple[int, ...]:
        """The three sizes; refused for other ranks."""
        return self._require_rank(3)

    def dims4(self) -> tuple[int, ...]:
        """The four sizes; refused for other ranks."""
        return self._require_rank(4)

    def dims5(self) -> tuple[int, ...]:
        """The five sizes; refused for other ranks."""
        return self._require_rank(5)

    def _require_rank(self, rank: int) -> tuple[int, ...]:
        if len(self) != rank:
            raise ShapeError(
                f"the shape {self} has {len(self)} dimensions, not {rank}.", hint="look at rank first", shape=self
            )
        return tuple(self)

    def stride_contiguous(self) -> tuple[int, ...]:
        """The strides of a contiguous array of this shape, in elements: the last dimension is the fastest."""
        strides: tuple[int, ...] = Layout.contiguous(tuple(self)).stride
        return strides

    def is_contiguous(self, stride: Sequence[int]) -> bool:
        """Whether the strides are row-major where they matter; not if there are more or fewer than dimensions."""
        return len(stride) == len(self) and Layout(tuple(self), tuple(stride)).is_contiguous()

    def is_fortran_contiguous(self, stride: Sequence[int]) -> bool:
        """Whether the strides are column-major where they matter; not if there are more or fewer than dimensions."""
        return len(stride) == len(self) and Layout(tuple(self), tuple(stride)).is_fortran_contiguous()

    def extend(self, additional_dims: Sequence[int]) -> Shape:
        """The shape with more dimensions behind its own."""
        return Shape((*self, *additional_dims))

    def broadcast_shape_binary_op(self, rhs: Sequence[int], op: str = "binary_op") -> Shape:
        """The shape of an operation ``op`` of two arrays, element by element: sizes of 1 repeat, aligned at the end."""
        other = Shape(rhs)
        rank = max(len(self), len(other))
        pairs = list(zip((1,) * (rank - len(self)) + self, (1,) * (rank - len(other)) + other, strict=True))
        if any(1 not in pair and pair[0] != pair[1] for pair in pairs):
            raise ShapeError(
                f"{op}: the shapes {self} and {other} do not broadcast.",
                hint="sizes at the same place from the end are equal, or one of them is 1",
                lhs=self,
                rhs=other,
            )
        return Shape([b if a == 1 else a for a, b in pairs])

    def broadcast_shape_matmul(self, rhs: Sequence[int]) -> tuple[Shape, Shape]:
        """Both operands of a product of matrices, their leading dimensions broadcast to one shape."""
        other = Shape(rhs)
        if min(len(self), len(other)) < 2 or self[-1] != other[-2]:
            raise ShapeError(
                f"matmul: the shapes {self} and {other} do not fit.",
                hint="at least two dimensions each, the last of the left as long as the last but one of the right",
                lhs=self,
                rhs=other,
            )
        leading = Shape(self[:-2]).broadcast_shape_binary_op(other[:-2], "broadcast_matmul")
        return leading.extend(self[-2:]), leading.extend(other[-2:])


SCALAR = Shape()
"""The shape of a scalar."""
