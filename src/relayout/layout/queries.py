"""Questions about the offsets of a layout: where they lie, whose they are, what holds of them, whether two agree."""

# Every Queries is a Layout: the class only keeps these methods in a file of their own.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ShapeError, shown
from ..integers.inttuple import as_int
from .ranges import is_injective, is_packed, offset_range, offsets, preimage, preimages, storage_size

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .comparison import Comparison
    from .layout import Layout


class Queries:
    """The methods of :class:`Layout` that ask about all of its offsets at once."""

    __slots__ = ()

    @property
    def min_offset(self: Layout) -> int:
        """The smallest offset of any logical coordinate."""
        return offset_range(self)[0]

    @property
    def max_offset(self: Layout) -> int:
        """The largest offset of any logical coordinate."""
        return offset_range(self)[1]

    @property
    def storage_size(self: Layout) -> int:
        """The elements that a buffer needs to hold the offset and the whole box."""
        return storage_size(self)

    def idx2crd(self: Layout, i: int) -> Any:
        """The coordinate, nested like the shape, whose offset is ``i``; refused when there is none or more than one."""
        return self._natural(preimage(self, as_int(i, "an offset")))

    def preimages(self: Layout, i: int) -> list[Any]:
        """Every coordinate, nested like the shape, whose offset is ``i``, in colexicographic order."""
        coordinates = preimages(self, as_int(i, "an offset"))
        return [self._natural(c) for c in sorted(coordinates, key=lambda c: c[::-1])]

    def offsets(self: Layout) -> NDArray[np.int64]:
        """The table of all offsets: an int64 array of shape ``extents``, one entry per logical coordinate."""
        return offsets(self)

    def is_injective(self: Layout) -> bool:
        """Whether no two logical coordinates share an offset."""
        return is_injective(self)

    def is_packed(self: Layout) -> bool:
        """Whether the offsets have no holes: every integer from the smallest to the largest occurs."""
        return is_packed(self)

    def is_bijective(self: Layout) -> bool:
        """Whether the layout maps its coordinates one to one onto a range without holes."""
        return self.is_injective() and self.is_packed()

    def is_contiguous(self: Layout) -> bool:
        """Whether the offsets count up by one in row-major order, from any start; an empty layout is contiguous."""
        from .comparison import follows

        return follows(self, self.row_major(self.extents))

    def is_fortran_contiguous(self: Layout) -> bool:
        """Whether the offsets count up by one in column-major order, from any start."""
        from .comparison import follows

        return follows(self, self.col_major(self.extents))

    def normal_form(self: Layout) -> Layout:
        """The simplest layout of this function, the same for all with one swizzle; refused with an origin."""
        from .comparison import normal_form

        return normal_form(self)

    def equivalent(self: Layout, other: Layout) -> bool:
        """Whether both are the same function on the same domain."""
        return bool(self.compare(other))

    def compare(self: Layout, other: Layout, flat: bool = False) -> Comparison:
        """The verdict on ``self`` and ``other`` with a counterexample when they differ."""
        from .comparison import compare

        if not isinstance(other, Queries):
            raise ShapeError(
                f"compare takes layouts, got {shown(other)}.", hint="Layout(shape, stride), or parse a text", got=other
            )
        return compare(self, other, flat=flat)
