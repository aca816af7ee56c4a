"""What an access asks of a buffer, whatever its layout: which elements each lane takes, and what they cost at least."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...hardware.architecture import Access, Architecture, Lanes
from ...hardware.counting import OFF, are_paired, count_wavefronts, least_wavefronts
from ...layout.swizzle import Swizzle

Integers: TypeAlias = NDArray[np.int64]


class Classes(NamedTuple):
    """Byte addresses of the lanes of instructions, one of each class, and how many instructions each class has."""

    rows: Integers
    counts: Integers


class Alike(NamedTuple):
    """Instructions that cost the same in every padded tile: the first of each kind, and how many there are."""

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

    def wavefronts(self, offsets: Integers, alike: Alike | None = None) -> int | None:
        """The wavefronts of all instructions, or None where the offsets are not those of vectors.

        Of instructions that are ``alike``, for offsets that are a sum over the coordinates, only the first is counted.
        """
        table = self.addresses(offsets)
        if table is None:
            return None
        rows, counts = alike or Alike(np.arange(len(table)), np.ones(len(table), np.int64))
        return int((count_wavefronts(table[rows], self.access, self.arch) * counts).sum())

    def alike(self, shape: Sequence[int]) -> Alike:
        """The instructions up to a step through the tile: it adds one number to all addresses of an instruction.

        That turns the banks, if the number is one of whole words; so narrower accesses are all told apart.
        """
        starts = self.elements[..., 0]
        on = starts != OFF
        if self.access.bytes < self.arch.bank_bytes:
            return Alike(np.arange(len(starts)), np.ones(len(starts), np.int64))
        coordinates = np.stack(np.unravel_index(np.where(on, starts, 0), tuple(shape)), axis=-1)
        first = np.take_along_axis(coordinates, on.argmax(axis=1)[:, None, None], axis=1)
        steps = np.where(on[:, :, None], coordinates - first, np.iinfo(np.int64).max)
        _, rows, counts = np.unique(steps.reshape(len(starts), -1), axis=0, return_index=True, return_counts=True)
        return Alike(rows, counts)

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
        """The wavefronts without any conflict."""
        return int(least_wavefronts(self.elements[..., 0], self.access).sum())

    def least(self, vectors: Vectors) -> int:
        """The wavefronts that no layout is below that keeps every one of the vectors together and aligned.

        A phase moves its different bytes, as many in a wavefront as all banks have. And such a vector fixes the word of
        each of its elements, and its place among the words of the vector: words at one place fit into few of the banks.
        """
        starts = self.elements[..., 0]
        on = starts != OFF
        places, each = vectors.bytes // self.arch.bank_bytes, -(-self.access.bytes // self.arch.bank_bytes)
        if places and (vectors.owner[starts[on]] != OFF).all():
            word = vectors.owner * places + vectors.slot * self.bits // 8 // self.arch.bank_bytes
            keys = np.where(on, word[starts], OFF)[:, :, None] + np.where(on[:, :, None], np.arange(each), 0)
            capacity = self.arch.banks // places
        else:
            keys, places = starts[:, :, None], 1
            capacity = self.arch.wavefront_bytes // self.access.bytes
        total = np.zeros(len(starts), np.int64)
        for rows, phase in self._phases(starts):
            total[rows] += self._phase_least(keys[rows][:, phase].reshape(int(rows.sum()), -1), places, capacity)
        return int(np.maximum(total, least_wavefronts(starts, self.access)).sum())

    def _phase_least(self, keys: Integers, places: int, capacity: int) -> Integers:
        """What a phase takes at least for each row of words: at each place so many fit into one wavefront."""
        ordered = np.sort(keys, axis=1)
        fresh = ordered != OFF
        again = fresh[:, 1:] & (ordered[:, 1:] == ordered[:, :-1])
        if self.access.shares:
            fresh[:, 1:] &= ~again
        counts = np.bincount(np.nonzero(fresh)[0] * places + ordered[fresh] % places, minlength=len(keys) * places)
        least: Integers = (-(-counts // capacity)).reshape(-1, places).max(axis=1)
        most = 1
        while not self.access.shares and again.any():
            most += 1
            least = np.where(again.any(axis=1), np.maximum(least, most), least)
            again = again[:, 1:] & again[:, :-1]
        return least

    def adds_up(self, classes: Classes) -> bool:
        """Whether every instruction takes what its phases take, and not more because some of them are off."""
        if not self.access.steady:
            return True
        on = [(classes.rows[rows][:, phase] != OFF).any(axis=1).all() for rows, phase in self._phases(classes.rows)]
        return all(on)

    def patterns(self, classes: Classes) -> list[tuple[Integers, int]]:
        """The sets of words that phases want, each moved by XOR so that it has the word 0, and how many want it."""
        each = -(-self.access.bytes // self.arch.bank_bytes)
        found: dict[bytes, int] = {}
        for row, count in zip(classes.rows, classes.counts.tolist()):
            for _, phase in self._phases(row[None]):
                taken = row[list(phase)]
                words = np.sort((taken[taken != OFF][:, None] // self.arch.bank_bytes + np.arange(each)).ravel())
                if len(words):
                    moved = np.unique(words ^ words[0]) if self.access.shares else np.sort(words ^ words[0])
                    found[moved.tobytes()] = found.get(moved.tobytes(), 0) + count
        return [(np.frombuffer(key, np.int64), count) for key, count in sorted(found.items())]

    def _phases(self, table: Integers) -> Iterator[tuple[NDArray[np.bool_], Lanes]]:
        """The lanes that are served together, and for which rows of ``table`` they are."""
        paired = are_paired(table, self.access)
        for rows, phases in ((~paired, self.access.phases), (paired, self.access.paired_phases)):
            if rows.any():
                for phase in phases:
                    yield rows, phase


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
