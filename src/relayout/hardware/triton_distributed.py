"""Triton's encodings of tensors in registers: who holds which element.

Each is told as the steps that deal a tile, from the fastest, by ``register``, ``lane`` and ``warp``. A larger tensor
repeats the tile in further registers; of a smaller one several threads, or registers, hold the same element.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .triton_encoding import (
    THREADS,
    Bases,
    Basis,
    Dealing,
    TritonEncoding,
    check_blocks,
    check_order,
    check_sizes,
    misfit,
    row_major,
)
from .triton_linear import check_bases


@dataclass(frozen=True)
class BlockedEncoding(TritonEncoding):
    """A thread holds a box of elements, the lanes of a warp a box of those, the warps of a block a box of these."""

    kind: ClassVar[str] = "ttg.blocked"
    size_per_thread: tuple[int, ...]
    threads_per_warp: tuple[int, ...]
    warps_per_cta: tuple[int, ...]
    order: tuple[int, ...]
    blocks: Bases = ()

    def __post_init__(self) -> None:
        check_order(self.kind, self.order)
        check_sizes(self.kind, self.size_per_thread, "sizePerThread", self.rank)
        check_sizes(self.kind, self.threads_per_warp, "threadsPerWarp", self.rank)
        check_sizes(self.kind, self.warps_per_cta, "warpsPerCTA", self.rank)
        check_blocks(self.kind, self.blocks, self.rank)

    @property
    def rank(self) -> int:
        return len(self.order)

    def bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        tile = Dealing(self.rank)
        for name, sizes in zip(THREADS, (self.size_per_thread, self.threads_per_warp, self.warps_per_cta)):
            tile.count_all(name, sizes, self.order)
        found = tile.fit(shape, "register", self.order, self.blocks)
        # A thread that would hold an element twice holds it once; matrix instructions have no such choice.
        found["register"] = [basis for basis in found.get("register", []) if any(basis)]
        return found

    def operand_bases(self, shape: tuple[int, ...], index: int) -> dict[str, list[Basis]]:
        """Of an operand of a product without a matrix instruction: every thread has all of its k."""
        k = inner_dim(self.rank, index)
        tile = Dealing(self.rank)
        sizes = [shape[d] if d == k else n for d, n in enumerate(self.size_per_thread)]
        tile.count_all("register", sizes, self.order)
        tile.count_all("lane", self.threads_per_warp, self.order, repeated=k)
        tile.count_all("warp", self.warps_per_cta, self.order, repeated=k)
        return tile.fit(shape, "register", self.order, without(self.blocks, k))


@dataclass(frozen=True)
class NvidiaMmaEncoding(TritonEncoding):
    """The accumulator of mma.sync (version 2) or wgmma (version 3)."""

    kind: ClassVar[str] = "ttg.nvidia_mma"
    version: tuple[int, int]
    warps_per_cta: tuple[int, ...]
    instr_shape: tuple[int, ...]
    blocks: Bases = ()

    def __post_init__(self) -> None:
        if self.version[0] not in (2, 3):
            raise misfit(
                self.kind,
                f"there is no version {self.version[0]}",
                "2 is mma.sync of Turing and later, 3 is wgmma; on Blackwell the accumulator is in tensor memory",
                version=self.version,
            )
        check_sizes(self.kind, self.warps_per_cta, "warpsPerCTA")
        check_sizes(self.kind, self.instr_shape, "instrShape")
        check_blocks(self.kind, self.blocks, self.rank)
        needed = 3 if self.hopper else self.rank
        if self.rank not in ((2,) if self.hopper else (2, 3)) or len(self.instr_shape) != needed:
            raise misfit(
                self.kind,
                f"instrShape {list(self.instr_shape)} is none of version {self.version[0]} for {self.rank} dimensions",
                "version 2 has [16, 8] or [1, 16, 8], version 3 [16, n, k]",
            )
        if self.tile[-2] < 8 or self.tile[-1] < 8:
            raise misfit(self.kind, f"instrShape {list(self.instr_shape)} is smaller than 8 x 8", "as in [16, 8]")

    @property
    def rank(self) -> int:
        return len(self.warps_per_cta)

    @property
    def hopper(self) -> bool:
        return self.version[0] == 3

    @property
    def tile(self) -> tuple[int, ...]:
        return self.instr_shape[:2] if self.hopper else self.instr_shape

    @property
    def warp_order(self) -> tuple[int, ...]:
        """wgmma counts the warps of a group along m first."""
        return (0, 1) if self.hopper else row_major(self.rank)

    def bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        m, n = self.rank - 2, self.rank - 1
        tile = self._quads(n, m, self.tile[n], self.tile[m], 2)
        tile.count_all("warp", self.warps_per_cta, self.warp_order)
        return tile.fit(shape, "register", row_major(self.rank), self.blocks)

    def operand_bases(self, shape: tuple[int, ...], index: int, width: int) -> dict[str, list[Basis]]:
        """Of A or B: ``width`` elements along k are one register of 32 bits, or several."""
        if self.hopper and index:
            raise misfit("ttg.dot_op", "wgmma reads B from shared memory", "its layout is #ttg.nvmma_shared")
        k, outer = inner_dim(self.rank, index), self.rank - 2 + index
        deep = width * (4 if self.tile[self.rank - 2] == 8 else 8)
        tile = self._quads(k, outer, deep, 8 if index else self.tile[outer], width)
        tile.count_all("warp", self.warps_per_cta, self.warp_order, repeated=k)
        return tile.fit(shape, "register", operand_order(self.rank, index), without(self.blocks, k))

    def _quads(self, inner: int, outer: int, columns: int, rows: int, width: int) -> Dealing:
        """Four lanes side by side, eight of those quads below each other; further ones are other registers."""
        return (
            Dealing(self.rank)
            .count("register", inner, width)
            .count("lane", inner, 4)
            .count("lane", outer, 8)
            .count("register", outer, rows // 8)
            .count("register", inner, columns // (4 * width))
        )


@dataclass(frozen=True)
class AmdMfmaEncoding(TritonEncoding):
    """The accumulator of a matrix instruction of CDNA, of 64 lanes."""

    kind: ClassVar[str] = "ttg.amd_mfma"
    version: int
    warps_per_cta: tuple[int, ...]
    instr_shape: tuple[int, ...]
    transposed: bool
    blocks: Bases = ()
    tiles_per_warp: tuple[int, ...] = ()
    element_bits: int = 32

    def __post_init__(self) -> None:
        if not 0 <= self.version <= 4:
            raise misfit(
                self.kind,
                f"there is no version {self.version}",
                "1 is gfx908, 2 gfx90a, 3 gfx942, 4 gfx950",
                version=self.version,
            )
        if self.instr_shape[:2] not in ((32, 32), (16, 16), (64, 4), (4, 64)) or len(self.instr_shape) not in (2, 3):
            raise misfit(
                self.kind,
                f"there is no instruction {list(self.instr_shape)}",
                "m and n are 32 x 32, 16 x 16, 64 x 4 or 4 x 64",
            )
        if self.instr_shape[:2] == (64, 4) and not self.transposed:
            raise misfit(self.kind, "64 x 4 is always transposed", "isTransposed = true")
        if self.element_bits not in (32, 64):
            raise misfit(self.kind, f"no accumulator has {self.element_bits} bits", "elementBitWidth is 32 or 64")
        if not self.tiles_per_warp:
            object.__setattr__(self, "tiles_per_warp", (1,) * self.rank)
        if self.rank not in (2, 3):
            raise misfit(self.kind, f"{self.rank} dimensions are none of a product", "2, or 3 with a batch")
        check_sizes(self.kind, self.warps_per_cta, "warpsPerCTA")
        check_sizes(self.kind, self.tiles_per_warp, "tilesPerWarp")
        check_blocks(self.kind, self.blocks, self.rank)
        if len(self.tiles_per_warp) < self.rank:
            raise misfit(self.kind, "tilesPerWarp has too few sizes", "one for each dimension")

    @property
    def rank(self) -> int:
        return len(self.warps_per_cta)

    def bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        m, n = self.rank - 2, self.rank - 1
        rows, columns = self.instr_shape[:2]
        # Lanes run along n and registers along m; transposed it is the other way round.
        along, across, lanes = (n, m, columns) if not self.transposed else (m, n, rows)
        high = 1 if self.element_bits == 64 else 4
        tile = Dealing(self.rank).count("register", across, high)
        tile.count("lane", along, lanes).count("lane", across, 64 // lanes)
        tile.count("register", across, max(1, rows * columns // (64 * high)))
        tile.count("register", n, self.tiles_per_warp[n]).count("warp", n, self.warps_per_cta[n])
        wide = columns * self.warps_per_cta[n] * self.tiles_per_warp[n]
        tile.count("register", n, max(1, shape[n] // wide))
        tile.count("register", m, self.tiles_per_warp[m]).count("warp", m, self.warps_per_cta[m])
        if self.rank == 3:
            tile.count("warp", 0, self.warps_per_cta[0])
        return tile.fit(shape, "register", row_major(self.rank), self.blocks)

    def operand_bases(self, shape: tuple[int, ...], index: int, width: int) -> dict[str, list[Basis]]:
        """Of A or B: a lane has ``width`` elements along k, and so on until the tensor's k is dealt."""
        k, outer = inner_dim(self.rank, index), self.rank - 2 + index
        lanes = self.instr_shape[index]
        tile = Dealing(self.rank).count("register", k, width)
        tile.count("lane", outer, lanes).count("lane", k, 64 // lanes)
        if lanes == 64:
            tile.count("register", k, 16)
        tile.count("register", k, max(1, shape[k] // tile.sizes[k]))
        tile.count("register", outer, self.tiles_per_warp[outer])
        tile.count_all("warp", self.warps_per_cta, row_major(self.rank))
        return tile.fit(shape, "register", operand_order(self.rank, index), self.blocks)


@dataclass(frozen=True)
class AmdWmmaEncoding(TritonEncoding):
    """The accumulator of a matrix instruction of RDNA or gfx1250, of 32 lanes.

    ``warp_bases`` and ``register_bases`` say, in tiles, which warp and which further registers have which tile.
    """

    kind: ClassVar[str] = "ttg.amd_wmma"
    version: int
    transposed: bool
    warp_bases: Bases
    register_bases: Bases = ()
    blocks: Bases = ()
    instr_shape: tuple[int, ...] = (16, 16, 16)
    dims: int = 2

    SHAPES: ClassVar[dict[int, tuple[tuple[int, ...], ...]]] = {
        1: ((16, 16, 16),),
        2: ((16, 16, 16), (16, 16, 32)),
        3: ((16, 16, 4), (16, 16, 32), (16, 16, 64), (16, 16, 128), (32, 16, 64), (32, 16, 128)),
    }

    def __post_init__(self) -> None:
        if self.version not in self.SHAPES:
            raise misfit(
                self.kind, f"there is no version {self.version}", "1 is RDNA3, 2 RDNA4, 3 gfx1250", version=self.version
            )
        if self.instr_shape not in self.SHAPES[self.version]:
            known = ", ".join([str(list(shape)) for shape in self.SHAPES[self.version]])
            raise misfit(
                self.kind,
                f"version {self.version} has no instruction {list(self.instr_shape)}",
                f"it has {known}",
            )
        if self.dims not in (2, 3):
            raise misfit(self.kind, f"{self.dims} dimensions are none of a product", "2, or 3 with a batch")
        check_bases(self.kind, {"register": self.register_bases, "warp": self.warp_bases}, self.dims)
        check_blocks(self.kind, self.blocks, self.dims)

    @property
    def rank(self) -> int:
        return self.dims

    def bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        m, n = self.rank - 2, self.rank - 1
        along, across = (m, n) if self.transposed else (n, m)
        tile = Dealing(self.rank)
        if self.version == 1:
            tile.count("lane", along, 16).count("lane", across, 2).count("register", across, 8)
        else:
            tile.count("register", across, 8).count("lane", along, 16).count("lane", across, 2)
            tile.count("register", across, self.instr_shape[0] // 16)
        tile.multiply({"register": self.register_bases, "warp": self.warp_bases})
        return tile.fit(shape, "register", row_major(self.rank), self.blocks)

    def operand_bases(self, shape: tuple[int, ...], index: int, width: int) -> dict[str, list[Basis]]:
        """Of A or B: 16 lanes along m or n, the other 16 further along k, or in RDNA3 with the same elements again."""
        k, outer = inner_dim(self.rank, index), self.rank - 2 + index
        tile = Dealing(self.rank).count("register", k, width).count("lane", outer, 16)
        if self.version == 1:
            tile.repeat("lane", 2)
        else:
            tile.count("lane", k, 2)
        tile.count("register", k, max(1, self.instr_shape[2] // (2 * width)))
        rows, columns = self.instr_shape[:2]
        swapped = self.transposed and rows != columns
        tile.count("register", outer, (rows, columns)[1 - index if swapped else index] // 16)
        tiles = {"register": without(self.register_bases, k), "warp": without(self.warp_bases, k)}
        tiles["register"] = tuple([basis for basis in tiles["register"] if any(basis)])
        tile.multiply(tiles)
        return tile.fit(shape, "register", operand_order(self.rank, index), without(self.blocks, k))


@dataclass(frozen=True)
class DotOperandEncoding(TritonEncoding):
    """A or B of a product whose accumulator has the encoding ``parent``."""

    kind: ClassVar[str] = "ttg.dot_op"
    index: int
    parent: TritonEncoding
    width: int = 0

    def __post_init__(self) -> None:
        if self.index not in (0, 1):
            raise misfit(self.kind, f"there is no operand {self.index}", "opIdx is 0 for A and 1 for B")
        if not isinstance(self.parent, BlockedEncoding | NvidiaMmaEncoding | AmdMfmaEncoding | AmdWmmaEncoding):
            raise misfit(
                self.kind,
                f"#{self.parent.kind} is the encoding of no product",
                "its parent is #ttg.blocked, #ttg.nvidia_mma, #ttg.amd_mfma or #ttg.amd_wmma",
            )
        if isinstance(self.parent, BlockedEncoding):
            if self.width:
                raise misfit(self.kind, "an operand of #ttg.blocked has no kWidth", "leave it out")
            if self.parent.rank < 2:
                raise misfit(self.kind, "a product has two dimensions", "a parent of rank 2 or 3")
        elif self.width < 1 or self.width & (self.width - 1):
            raise misfit(
                self.kind, f"kWidth is {self.width}", "the elements along k that a thread has together: 1, 2, 4, ..."
            )
        if isinstance(self.parent, AmdWmmaEncoding):
            widths = {1: (8, 16), 2: (4, 8, 16)}.get(self.parent.version)
            if widths and self.width not in widths:
                known = " or ".join(map(str, widths))
                raise misfit(self.kind, f"WMMA {self.parent.version} has no kWidth {self.width}", f"it is {known}")

    @property
    def rank(self) -> int:
        return self.parent.rank

    def bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        if isinstance(self.parent, BlockedEncoding):
            return self.parent.operand_bases(shape, self.index)
        if isinstance(self.parent, NvidiaMmaEncoding | AmdMfmaEncoding | AmdWmmaEncoding):
            return self.parent.operand_bases(shape, self.index, self.width)
        raise misfit(self.kind, f"#{self.parent.kind} is the encoding of no product", "give that of the accumulator")


@dataclass(frozen=True)
class SliceEncoding(TritonEncoding):
    """The encoding ``parent`` without one of its dimensions, as a reduction along it leaves it."""

    kind: ClassVar[str] = "ttg.slice"
    dim: int
    parent: TritonEncoding

    def __post_init__(self) -> None:
        if self.parent.inputs != THREADS:
            raise misfit(self.kind, f"#{self.parent.kind} deals nothing to threads", "give a distributed encoding")
        if not 0 <= self.dim < self.parent.rank or self.parent.rank < 2:
            raise misfit(
                self.kind,
                f"its parent has {self.parent.rank} dimensions and none to leave out at {self.dim}",
                f"a number from 0 to {self.parent.rank - 1}, of a parent of rank 2 or more",
            )

    @property
    def rank(self) -> int:
        return self.parent.rank - 1

    def bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        whole = self.parent.bases((*shape[: self.dim], 1, *shape[self.dim :]))
        found = {name: [(*b[: self.dim], *b[self.dim + 1 :]) for b in group] for name, group in whole.items()}
        found["register"] = [basis for basis in found.get("register", []) if any(basis)]
        return found


def inner_dim(rank: int, index: int) -> int:
    """The dimension of k, which both operands share."""
    return rank - 1 - index


def operand_order(rank: int, index: int) -> tuple[int, ...]:
    """k, then m or n, then the batch."""
    return (inner_dim(rank, index), rank - 2 + index, *range(rank - 3, -1, -1))


def without(bases: Bases, dim: int) -> Bases:
    """Bases that stand still along a dimension."""
    return tuple([tuple([0 if d == dim else x for d, x in enumerate(basis)]) for basis in bases])
