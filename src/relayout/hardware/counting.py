"""How many wavefronts an access to shared memory takes, from the byte addresses of its lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LayoutError, OutOfBounds, ShapeError, shown
from .architecture import Access, Architecture, Known, Lanes
from .registry import architecture_named

OFF = -1
"""The address of a lane that takes no part."""

_LARGEST = 1 << 48
"""No address is as large as this."""


class Wavefronts(int):
    """A number of wavefronts that says how it is known: ``known`` is "measured", "documented" or "read"."""

    known: Known
    source: str

    def __new__(cls, count: int, known: Known, source: str) -> Wavefronts:
        self = super().__new__(cls, count)
        self.known, self.source = known, source
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        return int(self), self.known, self.source

    def __repr__(self) -> str:
        return f"{int(self)}" if self.known == "measured" else f"{int(self)} ({self.known}, not measured)"

    def __str__(self) -> str:
        return f"{int(self)}"


class WavefrontArray(np.ndarray[Any, np.dtype[np.int64]]):
    """Numbers of wavefronts, one for each access, that say how they are known, as ``Wavefronts`` does."""

    known: Known | None
    source: str

    def __array_finalize__(self, made_of: Any) -> None:
        self.known = getattr(made_of, "known", None)
        self.source = getattr(made_of, "source", "")


def wavefronts(addresses: Any, access: str | Access, arch: str | Architecture = "sm90") -> Wavefronts | WavefrontArray:
    """How many wavefronts the lanes of a warp need for their byte addresses; one each at best, and more by conflicts.

    ``addresses`` has one for each lane; None is a lane that is off. Of ``(lanes,)`` addresses comes an int, of
    ``(..., lanes)`` an array. Matrix instructions take rows: ``ldmatrix.x1`` and ``.x2`` ignore the other lanes.
    The result says how it is known: its ``known`` is "measured", "documented" or "read", and ``source`` says where.

    >>> wavefronts([128 * lane for lane in range(32)], "ld.shared.b32")
    32
    >>> wavefronts([16 * lane for lane in range(32)], "ld.shared.v4.f32")
    4
    """
    machine = architecture_named(arch)
    kind = access if isinstance(access, Access) else machine.access(access)
    table = address_table(addresses, kind, machine)
    counts = count_wavefronts(table.reshape(-1, machine.lanes), kind, machine)
    if table.ndim == 1:
        return Wavefronts(int(counts[0]), kind.known, kind.source)
    found = counts.reshape(table.shape[:-1]).view(WavefrontArray)
    found.known, found.source = kind.known, kind.source
    return found


def address_table(addresses: Any, access: Access, arch: Architecture, off: int | None = None) -> NDArray[np.int64]:
    """The addresses as an array of integers with one column a lane; lanes that are off or ignored are ``OFF``.

    ``off`` is what stands for a lane that is off in an array of integers.
    """
    given = addresses if isinstance(addresses, np.ndarray) else np.asarray(addresses, dtype=object)
    if given.ndim == 0 or given.shape[-1] != arch.lanes:
        ragged = given.dtype == object and any(isinstance(entry, Sequence) for entry in given.flat)
        came = f"{given.shape[-1]} addresses" if given.ndim and not ragged else f"{shown(addresses)}"
        raise ShapeError(
            f"a warp of {arch.name} has {arch.lanes} lanes, and {came} came.",
            hint=f"give {arch.lanes} addresses, None for a lane that is off",
            addresses=addresses,
            arch=arch.name,
        )
    lanes = list(access.lanes)
    table = np.full(given.shape, OFF, np.int64)
    chosen = given[..., lanes]
    if chosen.dtype.kind not in "iu":
        chosen = _integers(chosen, lanes)
    idle = chosen == off
    chosen = np.where(idle, 0, chosen)
    _refuse((chosen < 0) | (chosen >= _LARGEST), chosen, lanes, access, _outside)
    _refuse(chosen % access.bytes != 0, chosen, lanes, access, _misalignment)
    table[..., lanes] = np.where(idle, OFF, chosen)
    return table


def _integers(chosen: NDArray[Any], lanes: list[int]) -> NDArray[Any]:
    """The entries, each an integer or None."""
    for index, address in np.ndenumerate(chosen):
        if address is not None and (isinstance(address, bool) or not isinstance(address, int | np.integer)):
            raise ShapeError(
                f"lane {lanes[index[-1]]} has the address {shown(address)}, which is no integer.",
                hint="addresses are bytes from the start of shared memory; None is a lane that is off",
                lane=lanes[index[-1]],
                address=address,
            )
    return chosen.astype(object)


def _refuse(
    wrong: NDArray[np.bool_],
    chosen: NDArray[Any],
    lanes: list[int],
    access: Access,
    error: Callable[[int, int, Access], LayoutError],
) -> None:
    """Raise the error of the first address that is wrong."""
    if np.any(wrong):
        first = np.argwhere(wrong)[0]
        raise error(lanes[first[-1]], int(chosen[tuple(first)]), access)


def _outside(lane: int, address: int, access: Access) -> LayoutError:
    return OutOfBounds(
        f"lane {lane} has the address {shown(address)}, which is outside memory.",
        hint="addresses are bytes from the start of shared memory, from 0 on; None is a lane that is off",
        lane=lane,
        address=address,
        access=access.name,
    )


def _misalignment(lane: int, address: int, access: Access) -> LayoutError:
    return ShapeError(
        f"lane {lane} has the address {address}, and {access.name} needs a multiple of {access.bytes}.",
        hint=f"align it, or use an access of {address & -address} bytes",
        lane=lane,
        address=address,
        access=access.name,
    )


def are_paired(table: NDArray[np.int64], access: Access) -> NDArray[np.bool_]:
    """For each row of addresses, whether the larger phases of paired lanes serve it."""
    paired = np.zeros(len(table), bool)
    lanes = np.array(access.lanes)
    for distance in access.pairs:
        mine, theirs = table[:, lanes], table[:, lanes ^ distance]
        paired |= ((mine == theirs) | (mine == OFF) | (theirs == OFF)).all(axis=1)
    return paired


def count_wavefronts(table: NDArray[np.int64], access: Access, arch: Architecture) -> NDArray[np.int64]:
    """The wavefronts of each row of checked addresses."""
    total = np.zeros(len(table), np.int64)
    for rows, phases in _by_phases(table, access):
        total[rows] = sum(phase_wavefronts(table[rows][:, phase], access, arch) for phase in phases)
    return np.maximum(total, least_wavefronts(table, access))


def least_wavefronts(table: NDArray[np.int64], access: Access) -> NDArray[np.int64]:
    """The wavefronts of each row without conflicts: one for each phase that has a lane on, or for every phase."""
    least = np.zeros(len(table), np.int64)
    for rows, phases in _by_phases(table, access):
        on = [(table[rows][:, phase] != OFF).any(axis=1) for phase in phases]
        least[rows] = np.any(on, axis=0) * len(phases) if access.steady else np.sum(on, axis=0)
    return least


def _by_phases(table: NDArray[np.int64], access: Access) -> Iterator[tuple[NDArray[np.bool_], tuple[Lanes, ...]]]:
    """Which rows are served by which phases."""
    paired = are_paired(table, access)
    for rows, phases in ((~paired, access.phases), (paired, access.paired_phases)):
        if rows.any():
            yield rows, phases


def phase_wavefronts(table: NDArray[np.int64], access: Access, arch: Architecture) -> NDArray[np.int64]:
    """The wavefronts of one phase for each row: the most words that a bank has, distinct ones where lanes share."""
    words_each = -(-access.bytes // arch.bank_bytes)
    words = table[:, :, None] // arch.bank_bytes + np.arange(words_each)
    words = np.where(table[:, :, None] == OFF, OFF, words).reshape(len(table), -1)
    words.sort(axis=1)
    fresh = words != OFF
    if access.shares:
        fresh[:, 1:] &= words[:, 1:] != words[:, :-1]
    rows, columns = np.nonzero(fresh)
    counts = np.bincount(rows * arch.banks + words[rows, columns] % arch.banks, minlength=len(table) * arch.banks)
    found: NDArray[np.int64] = counts.reshape(len(table), arch.banks).max(axis=1)
    return found


def bank_words(
    addresses: Sequence[int], phase: Lanes, access: Access, arch: Architecture
) -> dict[int, dict[int, Lanes]]:
    """What a phase wants of each bank: its words, each with the lanes that want it."""
    wanted: dict[int, dict[int, Lanes]] = {}
    for lane in phase:
        if addresses[lane] == OFF:
            continue
        first = addresses[lane] // arch.bank_bytes
        for word in range(first, first + -(-access.bytes // arch.bank_bytes)):
            lanes = wanted.setdefault(word % arch.banks, {})
            lanes[word] = (*lanes.get(word, ()), lane)
    return wanted
