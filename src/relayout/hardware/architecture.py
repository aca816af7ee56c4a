"""An architecture as data: its banks, and for each access to shared memory the lanes that are served together.

An access is served in *phases*: fixed groups of lanes, one after another. A phase takes as many *wavefronts* as the
bank with the most distinct words has of them; lanes that want one word share it, save in atomics. Some loads serve
larger groups when all lanes come in pairs at one address, or one of the two is off: ``paired_phases`` holds those
groups, ``pairs`` how far partners are apart. Such loads take no less time when lanes are off (``steady``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..errors import NotExpressible, ShapeError, shown
from ..integers.gf2 import ColumnSpan

Lanes: TypeAlias = tuple[int, ...]
"""The lanes of a phase."""

Known: TypeAlias = Literal["measured", "documented", "read"]
"""How a fact is known: measured on the machine, written by the vendor, or read in the source of a compiler."""


@dataclass(frozen=True, slots=True)
class Access:
    """One instruction that reads or writes shared memory: ``bytes`` a lane, and the lanes that are served together.

    Lanes that no phase has are ignored. ``known`` and ``source`` say where the phases are from. Where it ``writes``,
    two lanes at one place race; those of an atomic do not.
    """

    name: str
    bytes: int
    phases: tuple[Lanes, ...]
    known: Known
    source: str
    writes: bool = False
    pairs: tuple[int, ...] = ()
    paired_phases: tuple[Lanes, ...] = ()
    steady: bool = False
    """Whether it takes as many wavefronts as it has phases at least, also where whole phases are off."""
    shares: bool = True
    """Whether lanes that want one word are served together."""

    @property
    def lanes(self) -> Lanes:
        """The lanes whose addresses count, in order."""
        return tuple(sorted(lane for phase in self.phases for lane in phase))

    @property
    def span(self) -> Lanes | None:
        """Lanes whose sums by XOR are the first phase, if every phase is a coset of those; else None."""
        first, *others = self.phases
        origin = first[0]
        columns: list[int] = []
        for lane in first:
            if ColumnSpan(columns).choice(lane ^ origin) is None:
                columns.append(lane ^ origin)
        reached = ColumnSpan(columns)
        alike = all(
            len(phase) == 1 << len(columns) and all(reached.choice(lane ^ phase[0]) is not None for lane in phase)
            for phase in (first, *others)
        )
        return tuple(columns) if alike else None


@dataclass(frozen=True, slots=True)
class Architecture:
    """A family of GPUs: lanes of a warp, banks, bytes of a bank, and what each access does.

    ``refused`` has the accesses that the hardware has and nobody can tell, each with the reason.
    """

    name: str
    title: str
    vendor: str
    lanes: int
    banks: int
    bank_bytes: int
    accesses: Mapping[str, Access] = field(hash=False)
    refused: Mapping[str, str] = field(default_factory=dict, hash=False)
    aliases: tuple[str, ...] = ()

    @property
    def wavefront_bytes(self) -> int:
        """The bytes that all banks together serve in one wavefront."""
        return self.banks * self.bank_bytes

    def access(self, text: str) -> Access:
        """The access that a text names: ``ld.shared.v4.u32`` is ``ld.shared.b128``."""
        from .instructions import canonical_name

        name = canonical_name(text)
        if name in self.accesses:
            return self.accesses[name]
        if name in self.refused:
            raise NotExpressible(
                f"what {name} costs on {self.name} is not known: {self.refused[name]}.",
                hint=f"{self.name} answers {', '.join(self.accesses) or 'no access'}",
                access=text,
                arch=self.name,
            )
        raise ShapeError(
            f"{self.name} has no access {shown(text)}.", hint=_near(name, self.accesses), access=text, arch=self.name
        )


def in_order(lanes: int, size: int) -> tuple[Lanes, ...]:
    """Phases of ``size`` lanes, one after another."""
    return tuple(tuple(range(first, first + size)) for first in range(0, lanes, size))


def cosets(span: Lanes, shifts: Lanes) -> tuple[Lanes, ...]:
    """The phases that are the sums by XOR of ``span``, moved by each sum of ``shifts``; the first shift varies first.

    >>> cosets((1, 4), (2,))
    ((0, 1, 4, 5), (2, 3, 6, 7))
    """
    return tuple(tuple(sorted(lane ^ shift for lane in _sums(span))) for shift in _sums(shifts))


def _sums(columns: Lanes) -> list[int]:
    found = [0]
    for column in columns:
        found += [x ^ column for x in found]
    return found


def _near(name: str, known: Mapping[str, Access]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name[:80], known, 4, 0.5)
    return f"did you mean {', '.join(close)}?" if close else f"there are {', '.join(known)}"
