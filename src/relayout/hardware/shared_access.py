"""What it costs to load a tensor from shared memory into registers, or to store it there: by which instructions, and
with how many wavefronts.

The instruction is the one that Triton takes for ``ttg.local_load`` and ``ttg.local_store``: whole matrices where the
layouts have them, and else as many neighbours as a lane holds, up to 16 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import xor
from typing import TYPE_CHECKING

from ..errors import LayoutError
from ..integers.gf2 import multiply
from .registry import architecture_named
from .scratch import WIDEST, access_name
from .triton_memory import PaddedSharedEncoding, PartitionedSharedEncoding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..algebra.linear import LinearLayout
    from .architecture import Architecture
    from .triton_memory import MemoryEncoding

TRANSPOSING = ("gfx950", "gfx1250")
"""Architectures whose loads can transpose small elements, which nobody has measured."""


@dataclass(frozen=True, slots=True)
class SharedAccess:
    """So many instructions of each warp, and the wavefronts that those of all warps take; ``ideal`` is without
    conflicts. Where nobody knows what the access costs, both are None and ``why`` says so.
    """

    access: str
    instructions: int
    wavefronts: int | None = None
    ideal: int | None = None
    why: str = ""

    @property
    def conflicts(self) -> int | None:
        """The wavefronts over the ideal."""
        return None if self.wavefronts is None or self.ideal is None else self.wavefronts - self.ideal

    def __str__(self) -> str:
        if self.wavefronts is None or self.ideal is None:
            return f"{self.access}: cost not known, {self.why}"
        if not self.conflicts:
            return f"{self.access}: no bank conflicts"
        times = self.wavefronts / self.ideal
        return f"{self.access}: bank conflicts, {self.wavefronts} wavefronts where {self.ideal} would do ({times:.3g}x)"


class _Places:
    """Where registers, lanes and warps lie in memory, each bit of them alone: the places add up by XOR."""

    def __init__(self, threads: LinearLayout, memory: LinearLayout) -> None:
        back = memory.pseudo_invert()
        at = list(back.out_dims).index("offset")
        units = [[places[at] for places in group] for group in back.bases.values()]
        sizes = list(threads.out_dims.values())
        self.registers, self.lanes, self.warps = (
            [_xor([multiply(unit, x) for unit, x in zip(units, basis)]) for basis in threads.bases[name]]
            for name in ("register", "lane", "warp")
        )
        self.registers = [x for x, basis in zip(self.registers, threads.bases["register"]) if any(basis)]
        self.parts = [x for unit, n in zip(units, sizes) for x in unit[n.bit_length() - 1 :]]
        """Of a part of a buffer, the places that say which part."""

    def split(self, tile: list[int], low: int) -> list[int] | None:
        """The registers beside those of a tile that fills the lowest ``low`` bits; None where another bit is there."""
        others = [x for x in self.registers if x not in tile]
        rest = [*others, *[x for x in self.lanes if x not in tile], *self.warps, *self.parts]
        return None if any(x & (1 << low) - 1 for x in rest) else others


def _xor(values: list[int]) -> int:
    return reduce(xor, values, 0)


@lru_cache(maxsize=4096)
def shared_access(
    threads: LinearLayout, memory: MemoryEncoding, whole: tuple[int, ...], bits: int, arch: str, writes: bool
) -> SharedAccess:
    """The cost of moving a tensor between registers and shared memory: all of a buffer of that shape, or a part of it
    whose sizes and place are powers of two.
    """
    machine = architecture_named(arch)
    if isinstance(memory, PartitionedSharedEncoding):
        return SharedAccess("shared memory", 0, why="the memory is in several partitions")
    if bits < 8:
        return SharedAccess("shared memory", 0, why=f"elements have {bits} bits")
    if threads.in_dims["block"] > 1:
        return SharedAccess("shared memory", 0, why=f"the tensor is dealt to {threads.in_dims['block']} blocks")
    if threads.in_dims["lane"] != machine.lanes:
        return SharedAccess("shared memory", 0, why=f"{machine.name} has {machine.lanes} lanes")
    places = _Places(threads, memory.linear(whole))
    padded = isinstance(memory, PaddedSharedEncoding)
    matrices = None if padded else _matrices(places, bits, machine, writes)
    if matrices is not None:
        name, rows, others = matrices
        return _count(name, machine, _table(rows, others, places.warps), memory, bits)
    vector, others = _vector(places, bits, memory)
    if not writes and machine.name in TRANSPOSING and bits << vector < 64 and bits < 32:
        return SharedAccess("shared memory", 0, why="it may be a load that transposes")
    name = access_name(machine, (bits << vector) // 8, writes)
    return _count(name, machine, _table(places.lanes, others, places.warps), memory, bits)


def _vector(places: _Places, bits: int, memory: MemoryEncoding) -> tuple[int, list[int]]:
    """How many bits count neighbours that a lane moves at once, and the registers that count the instructions."""
    most = (8 * WIDEST // bits).bit_length() - 1
    if isinstance(memory, PaddedSharedEncoding):
        most = min(most, min([interval for interval, _ in memory.paddings]).bit_length() - 1)
    for count in range(most, 0, -1):
        tile = [1 << k for k in range(count)]
        found = all(x in places.registers for x in tile)
        # Between paddings registers are taken in their order.
        if found and isinstance(memory, PaddedSharedEncoding):
            found = places.registers[:count] == tile
        if found and (others := places.split(tile, count)) is not None:
            return count, others
    return 0, places.registers


def _matrices(places: _Places, bits: int, arch: Architecture, writes: bool) -> tuple[str, list[int], list[int]] | None:
    """The matrix instruction that serves, the places of the rows that its lanes name, and the registers beyond it."""
    name = "stmatrix" if writes else "ldmatrix"
    if f"{name}.x1" not in arch.accesses or len(places.lanes) != 5:
        return None
    row = (128 // bits).bit_length() - 1
    pair = max(0, (32 // bits).bit_length() - 1)
    if bits <= 32:
        tile = [1 << k for k in range(row)]
        held = all(x in places.registers for x in tile[:pair]) and places.lanes[:2] == tile[pair:]
        if held and (others := places.split(tile, row)) is not None:
            return _several(name, places.lanes[2:], others, "")
    others = places.split([1, 2, 4], row) if bits == 16 and places.lanes[2:] == [1, 2, 4] else None
    if others:
        return _several(name, [others[0], *places.lanes[:2]], others[1:], ".trans")
    return None


def _several(name: str, rows: list[int], others: list[int], suffix: str) -> tuple[str, list[int], list[int]]:
    count = min(2, len(others))
    return f"{name}.x{1 << count}{suffix}", [*rows, *others[:count]], others[count:]


def _table(lanes: list[int], others: list[int], warps: list[int]) -> NDArray[np.int64]:
    """The offsets of each (warp, instruction, lane)."""
    import numpy as np

    table = np.zeros(1, np.int64)
    for group in (lanes, others, warps):
        sums = np.zeros(1, np.int64)
        for place in group:
            sums = np.concatenate([sums, sums ^ place])
        table = sums.reshape(-1, *[1] * table.ndim) ^ table
    return table.reshape(1 << len(warps), 1 << len(others), 1 << len(lanes))


def _count(
    name: str, arch: Architecture, offsets: NDArray[np.int64], memory: MemoryEncoding, bits: int
) -> SharedAccess:
    import numpy as np

    from .counting import address_table, count_wavefronts, least_wavefronts

    instructions = offsets.shape[1]
    if isinstance(memory, PaddedSharedEncoding):
        offsets = offsets + sum([offsets // interval * padding for interval, padding in memory.paddings])
    try:
        access = arch.access(name)
        # A matrix instruction that names fewer rows ignores the other lanes.
        lanes = np.tile(offsets.reshape(-1, offsets.shape[2]), (1, arch.lanes // offsets.shape[2]))
        table = address_table(lanes * bits // 8, access, arch)
    except LayoutError as error:
        return SharedAccess(name, instructions, why=error.message.rstrip("."))
    return SharedAccess(
        name,
        instructions,
        int(count_wavefronts(table, access, arch).sum()),
        int(least_wavefronts(table, access).sum()),
    )
