"""What Candle calls the parts of a layout: the same facts and views under its names."""

# Every CandleMembers is a Layout: the class only keeps these members in a file of their own.
# mypy: disable-error-code="misc"

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .layout import Layout


class CandleMembers:
    """The members of :class:`Layout` with Candle's names; a layout of blocks and windows answers them as well."""

    __slots__ = ()

    @classmethod
    def contiguous(cls: type[Layout], *shape: Any) -> Layout:
        """Row-major strides from offset 0, as in Candle; ``Layout(shape)`` alone is column-major, as in CuTe."""
        return cls.row_major(*shape)

    @classmethod
    def contiguous_with_offset(cls: type[Layout], shape: Any, start_offset: int) -> Layout:
        """Row-major strides from ``start_offset`` on."""
        return cls.row_major(shape).with_offset(start_offset)

    @property
    def start_offset(self: Layout) -> int:
        """Where the first element lies; of an empty layout the offset."""
        return self(0) if self.size else self.offset  # type: ignore[no-any-return]

    @property
    def dims(self: Layout) -> tuple[int, ...]:
        """The number of elements along each dimension: the extents."""
        return self.extents

    def dim(self: Layout, dim: int) -> int:
        """The number of elements along one dimension; negative ones count from the end."""
        return self.extents[self._dim(dim)]

    @property
    def elem_count(self: Layout) -> int:
        """The number of elements: the size."""
        return self.size

    def broadcast_as(self: Layout, *shape: Any) -> Layout:
        """The layout repeated to ``shape``: ``broadcast_to``."""
        return self.broadcast_to(*shape)

    def contiguous_offsets(self: Layout) -> tuple[int, int] | None:
        """The first offset and the one behind the last where the layout is contiguous, else None."""
        return (self.start_offset, self.start_offset + self.size) if self.is_contiguous() else None

    def strided_index(self: Layout) -> Iterator[int]:
        """Every offset in row-major order, one after the other, for layouts of any size."""
        from .strided_index import strided_index

        return strided_index(self)
