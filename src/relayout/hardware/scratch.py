"""The layout of shared memory through which a tensor goes from one layout of threads to another without conflicts.

Bits of the coordinate that count registers on both sides are a vector. Of the others, those that the lanes of one phase
of the stores count, and those of the loads, each have banks of their own: a bit of the one and a bit of the other share
a bank by XOR, so that either side alone runs over all of them.
"""

from __future__ import annotations

from typing import NamedTuple

from ..algebra.linear import LinearLayout
from ..errors import LayoutError
from ..integers.gf2 import ColumnSpan, multiply
from ..integers.nested import product
from .architecture import Architecture

WIDEST = 16
"""The most bytes that a lane stores or loads at once."""


class Scratch(NamedTuple):
    """A scratch memory: the layout from the coordinate to the offset, and the first access of each side.

    ``vector`` bits are together; the lanes' addresses are in bytes, and ``store_registers`` and ``load_registers`` are
    the bits that count the registers of each side.
    """

    layout: LinearLayout
    bits: int
    vector: int
    store_lanes: list[int]
    load_lanes: list[int]
    store_registers: int
    load_registers: int

    @property
    def bytes(self) -> int:
        return product(tuple(self.layout.in_dims.values())) * self.bits // 8

    def access(self, arch: Architecture, writes: bool) -> str:
        """The instruction that moves a vector."""
        return access_name(arch, (self.bits << self.vector) // 8, writes)


def access_name(arch: Architecture, size: int, writes: bool) -> str:
    """The instruction of an architecture that stores or loads ``size`` bytes a lane."""
    if "ld.shared.b32" in arch.accesses:
        return f"{'st' if writes else 'ld'}.shared.b{8 * size}"
    return f"ds_{'write' if writes else 'read'}_b{8 * size}"


def scratch_of(source: LinearLayout, target: LinearLayout, bits: int, arch: Architecture) -> Scratch:
    """The scratch memory of a conversion of elements of ``bits`` bits."""
    stored, loaded = (x.flatten_outs().bases for x in (source, target))
    registers = [[basis[0] for basis in x["register"]] for x in (stored, loaded)]
    common = [column for column in registers[0] if column in registers[1]]
    vector = common[: max(0, (8 * WIDEST // bits).bit_length() - 1)]
    size = (bits << len(vector)) // 8
    phases = [_phase([basis[0] for basis in x["lane"]], arch, size, w) for x, w in ((stored, True), (loaded, False))]
    total = sum(n.bit_length() - 1 for n in source.out_dims.values())
    word = max(0, (arch.bank_bytes // size).bit_length() - 1)
    images = _images(vector, phases, word, _banks(arch, size), total)
    span = ColumnSpan(list(images))
    places = list(images.values())
    columns = [multiply(places, span.choice(1 << k) or 0) for k in range(total)]
    flat = LinearLayout({"place": [(column,) for column in columns]}, {"offset": 1 << total})
    layout = flat.reshape_ins(source.out_dims)
    lanes = [_addresses(x, flat, bits) for x in (source, target)]
    return Scratch(layout, bits, len(vector), lanes[0], lanes[1], len(registers[0]), len(registers[1]))


def _banks(arch: Architecture, size: int) -> int:
    """The bits that choose a bank, or a group of banks as wide as a vector."""
    return (arch.banks * arch.bank_bytes // max(size, arch.bank_bytes)).bit_length() - 1


def _phase(lanes: list[int], arch: Architecture, size: int, writes: bool) -> list[int]:
    """The coordinates that the lanes of one phase count."""
    try:
        span = arch.access(access_name(arch, size, writes)).span
    except LayoutError:
        span = None
    chosen = span or tuple([1 << k for k in range(min(len(lanes), _banks(arch, size)))])
    found = [multiply(lanes, lane) for lane in chosen]
    return [column for column in found if column]


def _images(vector: list[int], phases: list[list[int]], word: int, banks: int, total: int) -> dict[int, int]:
    """The places of ``total`` independent coordinates: the vector, then bits of a word, banks, and the rest.

    A coordinate that only the loads count has a place above the banks, and exchanges one that only the stores count.
    """
    stored = _independent(vector, phases[0])
    shared = [column for column in stored if column in phases[1]]
    only = [column for column in stored if column not in shared]
    loaded = _independent([*vector, *stored], phases[1])
    paired, single = loaded[: len(only)], loaded[len(only) :]
    # A word that several elements share is filled with what no phase counts, as far as there is any.
    spare = _independent([*vector, *stored, *loaded], [1 << k for k in range(total)])
    wanted = [*spare[:word], *shared, *only, *single, *spare[word:]]
    low = len(vector) + word + banks
    order = [*vector, *wanted]
    order = [*order[:low], *paired, *order[low:]] if low < total else [*order, *paired]
    images = {column: 1 << k for k, column in enumerate(order)}
    for one, other in zip(only, paired):
        if images[one] < 1 << low:
            images[other] |= images[one]
    return images


def _independent(known: list[int], wanted: list[int]) -> list[int]:
    """Those of ``wanted`` that no sum of the others before them and of ``known`` is."""
    found: list[int] = []
    for column in wanted:
        if ColumnSpan([*known, *found]).choice(column) is None:
            found.append(column)
    return found


def _addresses(threads: LinearLayout, flat: LinearLayout, bits: int) -> list[int]:
    """The byte addresses of the lanes of the first warp, for their first register."""
    lanes = [basis[0] for basis in threads.flatten_outs().bases["lane"]]
    return [flat(multiply(lanes, lane)) * bits // 8 for lane in range(1 << len(lanes))]
