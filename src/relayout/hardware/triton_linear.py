"""Triton's encodings that are written as bases, and what bases have to keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..integers.gf2 import ColumnSpan
from .triton_encoding import Bases, Basis, Dealing, TritonEncoding, block_sizes, misfit, row_major


@dataclass(frozen=True)
class LinearEncoding(TritonEncoding):
    """Bases in the text itself; ``generic`` ones may move a warp in several dimensions at once."""

    kind: ClassVar[str] = "ttg.linear"
    registers: Bases
    lanes: Bases
    warps: Bases
    blocks: Bases
    dims: int
    generic: bool = False

    def __post_init__(self) -> None:
        given = {"register": self.registers, "lane": self.lanes, "warp": self.warps, "block": self.blocks}
        check_bases(self.kind, given, self.dims, {"warp"} if self.generic else set(), repeats=self.generic)

    @property
    def rank(self) -> int:
        return self.dims

    @property
    def own_shape(self) -> tuple[int, ...]:
        """The smallest shape that holds the bases."""
        return tuple(block_sizes((*self.registers, *self.lanes, *self.warps, *self.blocks), self.dims))

    def bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        own = {"register": self.registers, "lane": self.lanes, "warp": self.warps, "block": self.blocks}
        tile = Dealing(self.rank).multiply(own)
        # Registers go on in the order in which those of the text first move along a dimension.
        seen = [next((d for d, x in enumerate(basis) if x), None) for basis in self.registers]
        order = dict.fromkeys([d for d in (*seen, *row_major(self.rank)) if d is not None])
        given = len(self.registers)
        found = tile.fit(shape, "register", order)
        found["block"] = [tuple([x if x < n else 0 for x, n in zip(basis, shape)]) for basis in self.blocks]
        registers = found.get("register", [])
        found["register"] = [b for k, b in enumerate(registers) if any(b) or (k < given and not any(self.registers[k]))]
        return found


def check_bases(
    kind: str, bases: dict[str, Bases], rank: int, crossing: set[str] | None = None, repeats: bool = False
) -> None:
    """Refuse bases that are not of the rank, move in several dimensions, or leave some of the tensor to nobody.

    Inputs in ``crossing`` may move in several dimensions at once; with ``repeats`` a step may be there twice.
    """
    every = [basis for group in bases.values() for basis in group]
    for name, group in bases.items():
        for basis in group:
            if len(basis) != rank:
                raise misfit(kind, f"{name} has {list(basis)} for {rank} dimensions", "one number for each dimension")
            if name in (crossing or ()) or kind == "ttg.amd_wmma":
                continue
            if sum(1 for x in basis if x) > 1 or any(x & (x - 1) for x in basis):
                raise misfit(
                    kind,
                    f"{name} has {list(basis)}, which is no single step",
                    "a basis is zeros but for one power of two; only warps of #ttg.generic_linear move otherwise",
                    basis=basis,
                )
    sizes = block_sizes(tuple(every), rank)
    shifts = [sum(n.bit_length() - 1 for n in sizes[:d]) for d in range(rank)]
    columns = [sum(x << shift for x, shift in zip(basis, shifts)) for basis in every if any(basis)]
    reached = ColumnSpan(columns).rank
    if reached != sum(n.bit_length() - 1 for n in sizes):
        raise misfit(kind, "its bases leave some elements to nobody", "every power of two below the size is a step")
    if not repeats and reached != len(columns):
        raise misfit(kind, "its bases have a step twice", "repeat by zeros; or write #ttg.generic_linear")
