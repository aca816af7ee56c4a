"""``banks``: how many wavefronts the threads of a program need to read or write a tile of shared memory, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..elements.types import Element
from ..hardware.architecture import Access, Architecture, Lanes
from ..hardware.registry import architecture_named

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..hardware.counting import Wavefronts

WORDS_TOLD = 4
"""How many words of a bank are told one by one."""


class Phase(NamedTuple):
    """Lanes that are served together: of which access of which warp, and what they want of each bank.

    ``banks`` has for each bank its words, each with the lanes that want it; a word is its number in memory. Where the
    access ``shares``, lanes that want one word are served together.
    """

    warp: int
    access: int
    lanes: Lanes
    banks: dict[int, dict[int, Lanes]]
    shares: bool

    def turns(self, bank: int) -> int:
        """How many wavefronts a bank is busy for: one for each of its words, or for each lane where none is shared."""
        words = self.banks.get(bank, {})
        return len(words) if self.shares else sum(len(lanes) for lanes in words.values())

    @property
    def wavefronts(self) -> int:
        """As many as the fullest bank is busy for."""
        return self.turns(self.bank)

    @property
    def bank(self) -> int:
        """The first bank that is busy for longest; 0 where all lanes are off."""
        return min(self.banks, key=lambda bank: (-self.turns(bank), bank), default=0)

    @property
    def words(self) -> dict[int, Lanes]:
        """The words of that bank, each with the lanes that want it."""
        return self.banks.get(self.bank, {})


@dataclass(frozen=True, eq=False)
class Banks:
    """What an access to a tile costs: ``counts`` are the wavefronts of each (warp, access), ``ideals`` the least.

    ``addresses`` are the bytes of each (warp, access, lane), -1 for a lane that is off. A phase needs one wavefront at
    least; each more is a conflict.
    """

    access: Access
    arch: Architecture
    element: Element
    addresses: NDArray[np.int64]
    counts: NDArray[np.int64]
    ideals: NDArray[np.int64]

    @property
    def wavefronts(self) -> Wavefronts:
        """The wavefronts of all accesses; the number says how it is known."""
        from ..hardware.counting import Wavefronts

        return Wavefronts(int(self.counts.sum()), self.access.known, self.access.source)

    @property
    def ideal(self) -> int:
        """The wavefronts that the same lanes need without conflicts: one for each phase that has a lane on."""
        return int(self.ideals.sum())

    @property
    def conflicts(self) -> int:
        """The wavefronts over the ideal, as profilers count them."""
        return int(self.wavefronts) - self.ideal

    def phases(self, warp: int = 0, access: int = 0) -> list[Phase]:
        """The phases of one access of one warp, in the order in which lanes are grouped."""
        from ..hardware.counting import are_paired, bank_words

        row = self.addresses[warp, access]
        paired = bool(are_paired(row[None], self.access)[0])
        groups = self.access.paired_phases if paired else self.access.phases
        places = row.tolist()
        wanted = [bank_words(places, group, self.access, self.arch) for group in groups]
        return [Phase(warp, access, group, words, self.access.shares) for group, words in zip(groups, wanted)]

    @property
    def worst_access(self) -> tuple[int, int]:
        """The warp and the number of the first access with the most wavefronts."""
        warp, access = divmod(int(self.counts.argmax()), self.counts.shape[1])
        return warp, access

    @property
    def worst(self) -> Phase:
        """The first phase of the worst access with the most wavefronts."""
        return max(self.phases(*self.worst_access), key=lambda phase: phase.wavefronts)

    def facts(self) -> dict[str, Any]:
        """All of it in numbers and words, for JSON."""
        worst = self.worst
        words = [{"word": word, "lanes": list(lanes)} for word, lanes in worst.words.items()]
        return {
            "access": self.access.name,
            "arch": self.arch.name,
            "element": self.element.name,
            "wavefronts": int(self.wavefronts),
            "ideal": self.ideal,
            "conflicts": self.conflicts,
            "known": self.access.known,
            "source": self.access.source,
            "warps": len(self.counts),
            "accesses": self.counts.shape[1],
            "each": self.counts.tolist(),
            "worst": {
                "warp": worst.warp,
                "access": worst.access,
                "lanes": list(worst.lanes),
                "wavefronts": worst.wavefronts,
                "bank": worst.bank,
                "words": words,
            },
        }

    def __str__(self) -> str:
        return f"{self.headline}\n{self._worst_line() if self.conflicts else 'no conflicts'}"

    @property
    def headline(self) -> str:
        """One line: what was asked for, the wavefronts, the ideal, and how they are known."""
        what = f"{self.access.name} on {self.arch.name}{how_many(self.counts)}"
        return f"{what}: {plural(int(self.wavefronts), 'wavefront')}, ideal {self.ideal} ({self.access.known})"

    def _worst_line(self) -> str:
        worst = self.worst
        warps, accesses = self.counts.shape
        where = [f"warp {worst.warp}"] * (warps > 1) + [f"access {worst.access}"] * (accesses > 1)
        told = [f"{word} of {lanes_text(lanes)}" for word, lanes in list(worst.words.items())[:WORDS_TOLD]]
        more = ["..."] * (len(worst.words) > WORDS_TOLD)
        words = plural(len(worst.words), "word")
        return (
            f"worst phase: {', '.join([*where, lanes_text(worst.lanes)])}: {plural(worst.wavefronts, 'wavefront')}; "
            f"bank {worst.bank} has {words}: {', '.join([*told, *more])}"
        )

    def __repr__(self) -> str:
        return f"<{self.headline}>"

    def _repr_html_(self) -> str:
        from ..drawing.notebook_tables import html_of

        return html_of(self)


def banks(
    smem: Any,
    threads: Any,
    element: Any,
    access: str | Access,
    arch: str | Architecture = "sm90",
    *,
    shape: Any = None,
) -> Banks:
    """What the threads' accesses to a tile of shared memory cost: wavefronts, the ideal, and the worst phase.

    ``smem`` is the tile's layout, in any form and notation; ``shape`` is for formats. ``threads`` is a layout from
    (thread, value) to the column-major index of the tile, or a list with the coordinates of each thread: one, or a list
    of them; None is a thread that is off. Values are moved in order, as many at once as ``access`` has room for; a
    single value is the first of them. For ``ldmatrix`` and ``stmatrix`` a thread has the row that it points at. Or
    ``threads`` is a word: a warp takes the whole tile by ``"rows"``, each lane the next of a row, or by ``"columns"``,
    each lane that of the next row.

    >>> import relayout as rl
    >>> tile = rl.Layout.row_major(4, 64)
    >>> print(banks(tile, [(lane % 4, lane // 4) for lane in range(32)], "float32", "ld.shared.b32"))
    ld.shared.b32 on sm90: 4 wavefronts, ideal 1 (measured)
    worst phase: lanes 0-31: 4 wavefronts; bank 0 has 4 words: 0 of lane 0, 64 of lane 1, 128 of lane 2, 192 of lane 3
    """
    from .lanes import access_addresses, warp_table

    machine = architecture_named(arch)
    kind = access if isinstance(access, Access) else machine.access(access)
    memory, addresses = access_addresses(smem, threads, element, shape, kind, machine.lanes)
    return count_banks(warp_table(addresses, machine.lanes), kind, machine, memory.element)


def count_banks(table: NDArray[np.int64], access: Access, arch: Architecture, element: Element) -> Banks:
    """The answer for the byte addresses of (warp, access, lane), -1 for a lane that is off."""
    from ..hardware.counting import address_table, count_wavefronts, least_wavefronts

    checked = address_table(table, access, arch, off=-1)
    rows, shape = checked.reshape(-1, arch.lanes), table.shape[:2]
    counts, ideals = count_wavefronts(rows, access, arch), least_wavefronts(rows, access)
    return Banks(access, arch, element, checked, counts.reshape(shape), ideals.reshape(shape))


def how_many(counts: NDArray[np.int64]) -> str:
    """How many warps make how many accesses, where it is more than one."""
    warps, accesses = counts.shape
    each = f"{plural(accesses, 'access')}{' each' * (warps > 1)}"
    parts = [plural(warps, "warp")] * (warps > 1) + [each] * (accesses > 1)
    return f" by {', '.join(parts)}" if parts else ""


def plural(count: int, word: str) -> str:
    """A count with its word: ``1 wavefront``, ``2 wavefronts``."""
    return f"{count} {word}{'' if count == 1 else 'es' if word.endswith('s') else 's'}"


def lanes_text(lanes: Sequence[int]) -> str:
    """Lanes as runs: ``lanes 0-3, 20-23``, ``lane 5``."""
    runs: list[list[int]] = []
    for lane in lanes:
        if runs and lane == runs[-1][1] + 1:
            runs[-1][1] = lane
        else:
            runs.append([lane, lane])
    told = ", ".join(f"{a}-{b}" if b > a else f"{a}" for a, b in runs)
    return f"lane{'' if len(lanes) == 1 else 's'} {told}"
