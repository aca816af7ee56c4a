"""Triton's encodings of Blackwell's tensor memory: the element at each row and column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import ShapeError
from .triton_encoding import Bases, Basis, Dealing, block_sizes, check_blocks, check_sizes, misfit
from .triton_memory import MemoryEncoding

TENSOR_MEMORY_ROWS = 128


@dataclass(frozen=True)
class TensorMemoryEncoding(MemoryEncoding):
    """Accumulators and operands in Blackwell's tensor memory: 128 rows, and columns of one element.

    A layout counts them colexicographically: the row, then 128 times the column.
    """

    kind: ClassVar[str] = "ttng.tensor_memory_encoding"
    inputs: ClassVar[tuple[str, ...]] = ("row", "col", "block")
    block_m: int
    block_n: int
    column_stride: int = 1
    blocks: Bases = ()
    two_ctas: bool = False
    fp4_padded: bool = False

    def __post_init__(self) -> None:
        if self.block_m not in (64, 128):
            raise misfit(self.kind, f"there is no blockM of {self.block_m}", "64 or 128", got=self.block_m)
        check_sizes(self.kind, [self.block_n], "blockN")
        check_sizes(self.kind, [self.column_stride], "colStride")
        check_blocks(self.kind, self.blocks, self.rank)

    @property
    def rank(self) -> int:
        return 2

    def bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        own = [max(1, n // p) for n, p in zip(shape, block_sizes(self.blocks, 2))]
        wide = min(self.block_n, own[1])
        tile = Dealing(2).repeat("col", self.column_stride)
        if self.fp4_padded:
            tile.repeat("col", 2)
        if own[0] < self.block_m:
            raise ShapeError(
                f"#{self.kind} has blocks of {self.block_m} rows, and a block of the cluster has {own[0]}.",
                hint="a larger shape, or blockM = 64",
                shape=shape,
            )
        if self.block_m == 64 and not self.two_ctas:
            tile.count("row", 0, 16).count("col", 1, wide)
            # Rows 16 to 31 of each 32 hold the next 64 rows of the tensor, or its next columns, or nothing.
            if own[0] > 64:
                later, tile.sizes[0] = (64, 0), 128
            elif own[1] > wide:
                later, tile.sizes[1] = (0, wide), 2 * wide
            else:
                later = (0, 0)
            tile.bases["row"] += [later, (16, 0), (32, 0)]
            tile.sizes[0] = max(tile.sizes[0], 64)
        else:
            tile.count("row", 0, self.block_m).count("col", 1, wide)
            if self.block_m == 64:
                tile.bases["row"].append(tile.bases["col"].pop())
        tile.count("col", 0, own[0] // tile.sizes[0]).count("col", 1, own[1] // tile.sizes[1])
        tile.bases["block"] = [tuple([x * n for x, n in zip(basis, own)]) for basis in self.blocks]
        return tile.bases

    def place(self, *values: int) -> int:
        return values[0] + TENSOR_MEMORY_ROWS * values[1]


@dataclass(frozen=True)
class TensorMemoryScalesEncoding(MemoryEncoding):
    """Scale factors in tensor memory: blocks of 64 x 4, each there four times, for each of four warps."""

    kind: ClassVar[str] = "ttng.tensor_memory_scales_encoding"
    inputs: ClassVar[tuple[str, ...]] = ("row", "col", "block")
    blocks: Bases = ()
    k_first: bool = False

    def __post_init__(self) -> None:
        check_blocks(self.kind, self.blocks, self.rank)

    @property
    def rank(self) -> int:
        return 2

    def bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        own = [max(1, n // p) for n, p in zip(shape, block_sizes(self.blocks, 2))]
        if any(x >= n for basis in self.blocks for x, n in zip(basis, shape)):
            raise ShapeError(
                f"the shape {shape} is smaller than the blocks of a cluster that #{self.kind} shares it out to.",
                hint="a larger shape, or fewer blocks",
                shape=shape,
            )
        tile = Dealing(2).count("row", 0, 32).repeat("row", 4).count("col", 1, 4).count("col", 0, 2)
        if own[0] > 64:
            tile.count("col", 0, 2)
        for d in (1, 0) if self.k_first else (0, 1):
            tile.count("col", d, max(1, own[d] // tile.sizes[d]))
        for group in tile.bases.values():
            group[:] = [tuple([x if x < n else 0 for x, n in zip(basis, own)]) for basis in group]
        tile.bases["block"] = [tuple([x * n for x, n in zip(basis, own)]) for basis in self.blocks]
        return tile.bases

    def place(self, *values: int) -> int:
        return values[0] + TENSOR_MEMORY_ROWS * values[1]
