"""What an access asks of a buffer, whatever its layout: which elements each lane takes, and what they cost at least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...hardware.architecture import Access, Architecture
from ...hardware.counting import OFF, are_paired, count_wavefronts
from ...layout.swizzle import Swizzle

Integers: TypeAlias = NDArray[np.int64]


class Classes(NamedTuple):
    """Byte addresses of the lanes of instructions, one of each class, and how many instructions each class has."""

    rows: Integers
    counts: Integers


class Vectors(NamedTuple):
    """The widest vectors of some accesses: for each element the number of its vector and its place in there, or OFF."""

    bytes: int
    owner: Integers
    slot: Integers


@dataclass(frozen=True, slots=True)
class Demand:
    """The elements that the lanes of some instructions take, as numbers in C order of the buffer's coordinates.

    ``elements`` has a row for each instruction, a column for each lane and an entry for each element of its vector; a
    lane that takes no part has ``OFF``. Where a lane names the first element of its vector only, that is the one entry.
    """

    access: Access
    arch: Architecture
    elements: Integers
    bits: int
    weight: int = 1

    def addresses(self, offsets: Integers) -> Integers | None:
        """The byte address of every lane, given the offset of every element; None where a vector is broken or crooked.

        A vector must lie together, in order, at a multiple of its own length.
        """
        taken = self.elements[..., 0] != OFF
        places = offsets[self.elements]
        if (places[taken] - places[taken][:, :1] != np.arange(places.shape[-1])).any():
            return None
        starts = places[..., 0] * self.bits
        if (starts[taken] % (8 * self.access.bytes)).any():
            return None
        return np.where(taken, starts // 8, OFF)

    def wavefronts(self, offsets: Integers) -> int | None:
        """The wavefronts of all instructions, or None where the offsets are not those of vectors."""
        table = self.addresses(offsets)
        return None if table is None else int(count_wavefronts(table, self.access, self.arch).sum())

    def classes(self, offsets: Integers) -> Classes:
        """The instructions up to XOR: those of a class cost the same where a function linear over bits moves all."""
        table = np.where(self.elements[..., 0] == OFF, OFF, offsets[self.elements[..., 0]] * self.bits // 8)
        on = table != OFF
        first = np.take_along_axis(table, on.argmax(axis=1)[:, None], axis=1)
        rows, counts = np.unique(np.where(on, table ^ first, OFF), axis=0, return_counts=True)
        return Classes(rows, counts)

    def class_wavefronts(self, classes: Classes, swizzles: Sequence[Swizzle]) -> int:
        """The wavefronts of all instructions where swizzles of elements, one after another, move their addresses."""
        places = classes.rows * 8 // self.bits
        for swizzle in swizzles:
            places = swizzle(places)
        moved = np.where(classes.rows == OFF, OFF, places * self.bits // 8)
        return int((count_wavefronts(moved, self.access, self.arch) * classes.counts).sum())

    @property
    def ideal(self) -> int:
        """The wavefronts without any conflict: a phase moves its distinct bytes, a wavefront what all banks have.

        Vectors are aligned, so that two of them are the same or share nothing.
        """
        total = 0
        for starts in self._phases(self.elements[..., 0]):
            ordered = np.sort(starts, axis=1)
            distinct = (ordered[:, 0] != OFF) + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)
            total += int((-(-distinct * self.access.bytes // self.arch.wavefront_bytes)).sum())
        return total

    def least(self, vectors: Vectors) -> int:
        """The wavefronts that no layout is below that keeps every one of the vectors together and aligned.

        Such a vector fixes the word of each of its elements, and that word's place among the words of the vector; and
        the words at one place fit into few of the banks.
        """
        places = vectors.bytes // self.arch.bank_bytes
        starts = self.elements[..., 0]
        if places == 0 or (vectors.owner[starts[starts != OFF]] == OFF).any():
            return self.ideal
        each = -(-self.access.bytes // self.arch.bank_bytes)
        first = vectors.owner * places + vectors.slot * self.bits // 8 // self.arch.bank_bytes
        total = 0
        for taken in self._phases(starts):
            words = np.where(taken == OFF, OFF, first[taken])[:, :, None] + np.arange(each)
            words = np.sort(np.where(taken[:, :, None] == OFF, OFF, words).reshape(len(taken), -1), axis=1)
            fresh = words != OFF
            fresh[:, 1:] &= words[:, 1:] != words[:, :-1]
            rows = np.nonzero(fresh)[0]
            counts = np.bincount(rows * places + words[fresh] % places, minlength=len(taken) * places)
            total += int((-(-counts * places // self.arch.banks)).reshape(-1, places).max(axis=1).sum())
        return total

    def patterns(self, classes: Classes) -> list[tuple[Integers, int]]:
        """The sets of words that phases want, each moved by XOR so that it has the word 0, and how many want it."""
        each = -(-self.access.bytes // self.arch.bank_bytes)
        found: dict[bytes, int] = {}
        for row, count in zip(classes.rows, classes.counts.tolist()):
            for starts in self._phases(row[None]):
                taken = starts[starts != OFF]
                if len(taken):
                    words = np.unique(taken[:, None] // self.arch.bank_bytes + np.arange(each))
                    key = np.sort(words ^ words[0]).tobytes()
                    found[key] = found.get(key, 0) + count
        return [(np.frombuffer(key, np.int64), count) for key, count in sorted(found.items())]

    def _phases(self, table: Integers) -> list[Integers]:
        """The columns of ``table`` that are served together, for the instructions whose phases they are."""
        paired = are_paired(table, self.access)
        groups = ((~paired, self.access.phases), (paired, self.access.paired_phases))
        return [table[rows][:, phase] for rows, phases in groups if rows.any() for phase in phases]


def widest_vectors(demands: Sequence[Demand], size: int) -> Vectors:
    """The vectors of the widest of the accesses to a buffer of ``size`` elements."""
    widest = max(demand.access.bytes for demand in demands)
    owner, slot = np.full(size, OFF, np.int64), np.full(size, OFF, np.int64)
    for demand in demands:
        if demand.access.bytes == widest and demand.elements.shape[-1] * demand.bits == 8 * widest:
            elements = demand.elements[demand.elements[..., 0] != OFF]
            owner[elements] = elements[:, :1]
            slot[elements] = np.arange(elements.shape[1])
    return Vectors(widest, owner, slot)
