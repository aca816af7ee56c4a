"""Triton's encodings of shared memory: the element at each offset.

A linear layout goes from the offset to the coordinate; ``layout`` is the way back, from the coordinate to the offset in
the memory of a block, and is there only where the blocks of a cluster share nothing out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import NotExpressible, ShapeError
from ..integers.nested import product
from ..layout.bit_layouts import linear_layout
from ..layout.layout import Layout
from ..layout.modes import coalesced
from .triton_encoding import (
    Bases,
    Basis,
    Dealing,
    TritonEncoding,
    block_sizes,
    check_blocks,
    check_order,
    check_sizes,
    misfit,
    row_major,
)
from .triton_linear import check_bases

TMA_MOST = 256
"""The most elements of a dimension that one copy of the tensor memory accelerator moves."""


@dataclass(frozen=True)
class MemoryEncoding(TritonEncoding):
    """An encoding that places elements in memory."""

    inputs: ClassVar[tuple[str, ...]] = ("offset", "block")

    def layout(self, shape: Any) -> Layout:
        """The offset of every coordinate, in elements, in the memory of a block."""
        linear = self.linear(shape)
        if len(linear.bases["block"]) and any(map(any, linear.bases["block"])):
            raise NotExpressible(
                f"#{self.kind} shares the tensor out to {linear.in_dims['block']} blocks: a coordinate has an offset "
                "and a block, and a layout one place.",
                hint="rl.LinearLayout.parse(text, shape) has both; the encoding without CGALayout is that of one block",
                encoding=self,
            )
        back = linear.pseudo_invert()
        groups = [[self.place(*values) for values in group] for group in back.bases.values()]
        return self.layout_of_places(groups)

    def layout_of_places(self, groups: list[list[int]]) -> Layout:
        """The layout whose dimensions have these places at 1, 2, 4, ..."""
        return linear_layout(groups)

    def place(self, *values: int) -> int:
        """The address of an offset; where there are several inputs, of one value of each."""
        return values[0]

    def stage_elements(self, shape: tuple[int, ...]) -> int:
        """How far one buffer of several is from the next."""
        return 1 << len(self.bases(shape).get("offset", ()))


@dataclass(frozen=True)
class SwizzledSharedEncoding(MemoryEncoding):
    """Rows in which groups of ``vec`` elements are exchanged by XOR: with a number that counts up every ``per_phase``
    rows and starts again after ``max_phase``.

    ``rotating`` ones start each time with the next number: AMD's.
    """

    kind: ClassVar[str] = "ttg.swizzled_shared"
    vec: int
    per_phase: int
    max_phase: int
    order: tuple[int, ...]
    blocks: Bases = ()
    rotating: bool = False

    def __post_init__(self) -> None:
        check_order(self.kind, self.order)
        check_sizes(self.kind, [self.vec], "vec")
        check_sizes(self.kind, [self.per_phase], "perPhase")
        check_sizes(self.kind, [self.max_phase], "maxPhase")
        check_blocks(self.kind, self.blocks, self.rank)

    @property
    def rank(self) -> int:
        return len(self.order)

    def bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        found = Dealing(self.rank).fit(shape, "offset", self.order, self.blocks)
        if self.rank == 1:
            return found
        column, row = self.order[:2]
        columns = max(1, shape[column] // block_sizes(_blocks_within(self.blocks, shape), self.rank)[column])
        found["offset"] = [self._swizzled_basis(basis, row, column, columns) for basis in found.get("offset", [])]
        return found

    def _swizzled_basis(self, basis: Basis, row: int, column: int, columns: int) -> Basis:
        if not basis[row]:
            return basis
        line = basis[row] // self.per_phase
        phase = line % self.max_phase ^ (line // self.max_phase % self.max_phase if self.rotating else 0)
        return tuple([x ^ (self.vec * phase % columns if d == column else 0) for d, x in enumerate(basis)])


class WrittenBases(MemoryEncoding):
    """Memory whose text has the bases themselves, and so the shape."""

    offset: Bases
    block: Bases
    dims: int

    @property
    def rank(self) -> int:
        return self.dims

    @property
    def own_shape(self) -> tuple[int, ...]:
        """The shape that its bases hold, the only one that it has."""
        return tuple(block_sizes((*self.offset, *self.block), self.dims))

    def bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        check_own_shape(self.kind, self.own_shape, shape)
        return {"offset": list(self.offset), "block": list(self.block)}


@dataclass(frozen=True)
class PaddedSharedEncoding(WrittenBases):
    """Elements in the order of ``offset``, and after every ``interval`` of them so many free places."""

    kind: ClassVar[str] = "ttg.padded_shared"
    paddings: tuple[tuple[int, int], ...]
    offset: Bases
    block: Bases
    dims: int

    def __post_init__(self) -> None:
        if not self.paddings:
            raise misfit(self.kind, "it has no interval", "as in [32:+4]")
        check_sizes(self.kind, [n for n, _ in self.paddings], "an interval")
        check_sizes(self.kind, [n for _, n in self.paddings], "a padding")
        if len({n for n, _ in self.paddings}) < len(self.paddings):
            raise misfit(self.kind, "an interval is there twice", "add its paddings up")
        check_bases(self.kind, {"offset": self.offset, "block": self.block}, self.dims)
        if not all(map(any, self.offset)):
            raise misfit(self.kind, "an offset of zeros holds no element of its own", "leave it out")

    def place(self, *values: int) -> int:
        return values[0] + sum([values[0] // interval * padding for interval, padding in self.paddings])

    def layout_of_places(self, groups: list[list[int]]) -> Layout:
        # Bits of an offset stand alone, and so do the intervals that they hold: their places add up.
        modes = [coalesced([2] * len(group), group) for group in groups]
        shapes = [(*sizes, 1)[0] if len(sizes) < 2 else tuple(sizes) for sizes, _ in modes]
        strides = [(*steps, 0)[0] if len(steps) < 2 else tuple(steps) for _, steps in modes]
        return Layout(tuple(shapes), tuple(strides))

    def stage_elements(self, shape: tuple[int, ...]) -> int:
        return self.place(1 << len(self.offset))


@dataclass(frozen=True)
class SharedLinearEncoding(WrittenBases):
    """Bases in the text itself."""

    kind: ClassVar[str] = "ttg.shared_linear"
    offset: Bases
    block: Bases
    dims: int
    alignment: int = 16

    def __post_init__(self) -> None:
        check_sizes(self.kind, [self.alignment], "alignment")
        check_bases(self.kind, {"offset": self.offset, "block": self.block}, self.dims, {"offset", "block"})


@dataclass(frozen=True)
class NvmmaSharedEncoding(MemoryEncoding):
    """What wgmma, tcgen05 and TMA read and write: rows of 16 to 128 bytes, swizzled in groups of eight.

    With ``fp4_padded`` half of every 16 bytes is free.
    """

    kind: ClassVar[str] = "ttg.nvmma_shared"
    swizzle_bytes: int
    transposed: bool
    element_bits: int
    fp4_padded: bool = False
    blocks: Bases = ()
    dims: int = 2

    def __post_init__(self) -> None:
        if self.swizzle_bytes not in (0, 32, 64, 128):
            raise misfit(
                self.kind,
                f"there is no swizzle of {self.swizzle_bytes} bytes",
                "0, 32, 64 or 128",
                got=self.swizzle_bytes,
            )
        check_sizes(self.kind, [self.element_bits], "elementBitWidth")
        if self.element_bits > 128:
            raise misfit(self.kind, f"elements of {self.element_bits} bits", "8, 16, 32 or 64")
        check_blocks(self.kind, self.blocks, self.dims)

    @property
    def rank(self) -> int:
        return self.dims

    def bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        own = [max(1, n // p) for n, p in zip(shape, block_sizes(_blocks_within(self.blocks, shape), self.rank))]
        # The dimensions from the fastest: transposed, the first one is.
        order = (0, *range(self.rank - 1, 0, -1)) if self.transposed else row_major(self.rank)
        inner, packed = order[0], 2 if self.fp4_padded else 1
        most = [min(n, TMA_MOST) for n in own]
        most[inner] = min(packed * own[inner], TMA_MOST) // packed
        tile = Dealing(self.rank)
        if not self.swizzle_bytes and self.transposed and self.rank > 2:
            raise NotExpressible(
                f"#{self.kind} without a swizzle, transposed, of {self.rank} dimensions is not what Triton documents: "
                "its own linear layout does not have the first dimension together.",
                hint="write the order out: #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [...]}>",
                encoding=self,
            )
        if not self.swizzle_bytes:
            return tile.count_all("offset", most, order).fit(shape, "offset", range(self.rank), self.blocks)
        width = 8 * self.swizzle_bytes // self.element_bits // packed
        if self.rank < 2 or own[inner] < width or product(tuple(most)) // most[inner] < 8:
            raise self._too_small(width, own[inner], shape)
        most[inner] = width
        rows = most[-1] if self.transposed else product(tuple(most[:-1]))
        if rows < 8:
            raise self._too_small(width, own[inner], shape)
        for basis in self._matrix(rows, product(tuple(most)) // rows, width):
            tile.put("offset", _split(basis, most, order))
        tile.sizes = most
        return tile.fit(shape, "offset", range(self.rank), self.blocks)

    def _matrix(self, rows: int, columns: int, width: int) -> Iterator[int]:
        """The places at 1, 2, 4, ... of a matrix, counted along its rows, whose first ``width`` columns are swizzled.

        Of three dimensions or more, its rows are all of them but the fastest; transposed, only the last one.
        """
        for k in range(width.bit_length() - 1):
            if self.fp4_padded and k == 3:
                yield 0
            yield 1 << k
        group, phases = 128 // self.element_bits, self.swizzle_bytes // 16
        for k in range(rows.bit_length() - 1):
            moved = group * ((1 << k) * self.swizzle_bytes // 128 % phases) if k < 3 else 0
            yield (columns << k) + (moved // 16 * 8 + moved % 8 if self.fp4_padded else moved)
        for k in range(width.bit_length() - 1, columns.bit_length() - 1):
            yield 1 << k

    def _too_small(self, width: int, columns: int, shape: tuple[int, ...]) -> ShapeError:
        return ShapeError(
            f"#{self.kind} swizzles 8 rows of {width} elements, and {shape} has less in a block.",
            hint="use a narrower swizzle, or swizzlingByteWidth = 0",
            shape=shape,
        )


@dataclass(frozen=True)
class PartitionedSharedEncoding(MemoryEncoding):
    """One dimension dealt to several memories in turn; within each the pieces follow each other."""

    kind: ClassVar[str] = "ttg.partitioned_shared"
    inputs: ClassVar[tuple[str, ...]] = ("offset", "block", "partition")
    partitions: int
    groups: int
    dim: int
    inner: MemoryEncoding

    def __post_init__(self) -> None:
        check_sizes(self.kind, [self.partitions], "numPartitions")
        check_sizes(self.kind, [self.groups], "numGroups")
        if self.partitions < 2:
            raise misfit(self.kind, "one partition is the inner layout itself", "numPartitions is 2 or more")
        if not 0 <= self.dim < self.inner.rank:
            raise misfit(self.kind, f"there is no dimension {self.dim}", f"below {self.inner.rank}")

    @property
    def rank(self) -> int:
        return self.inner.rank

    def bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        pieces = self.partitions * self.groups
        if shape[self.dim] % pieces:
            raise ShapeError(
                f"#{self.kind} cuts dimension {self.dim} into {pieces} pieces, and it has {shape[self.dim]}.",
                hint="a larger shape, or fewer pieces",
                shape=shape,
            )
        piece = tuple([n // pieces if d == self.dim else n for d, n in enumerate(shape)])
        found = self.inner.bases(piece)
        more = Dealing(self.rank)
        more.sizes[self.dim] = piece[self.dim]
        more.count("partition", self.dim, self.partitions).count("offset", self.dim, self.groups)
        return {
            "offset": [*found.get("offset", []), *more.bases.get("offset", [])],
            "block": found["block"],
            "partition": more.bases.get("partition", []),
        }

    def layout(self, shape: Any) -> Layout:
        raise NotExpressible(
            f"#{self.kind} has a place in one of {self.partitions} memories, and a layout has one memory.",
            hint="rl.LinearLayout.parse(text, shape) has the offset and the partition",
            encoding=self,
        )


def check_own_shape(kind: str, own: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Refuse another shape than the one in the text."""
    if own != shape:
        raise ShapeError(f"#{kind} has the shape {own}, not {shape}.", hint="leave the shape out", shape=shape)


def _split(place: int, sizes: Sequence[int], order: Sequence[int]) -> Basis:
    """The coordinate of a place that counts the dimensions in that order."""
    found = [0] * len(sizes)
    for d in order:
        found[d] = place % sizes[d]
        place //= sizes[d]
    return tuple(found)


def _blocks_within(blocks: Bases, shape: tuple[int, ...]) -> Bases:
    """The bases of blocks as far as the shape goes."""
    return tuple([tuple([x if x < n else 0 for x, n in zip(basis, shape)]) for basis in blocks])
