"""``sectors``: which 32-byte sectors and 128-byte lines of global memory the threads of a program touch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..elements.types import Element
from ..errors import OutOfBounds, ShapeError
from ..integers.inttuple import as_int
from .banks import how_many, lanes_text, plural

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .lanes import TileMemory

OFF = -1
"""The address of a lane that is off."""

SECTOR = 32
"""Bytes that global memory moves at once."""

LINE = 128
"""Bytes of a line of the cache: four sectors under one tag."""

LANES = 32

WIDTHS = (16, 8, 4, 2, 1)
"""The bytes a lane that an access may move, widest first."""

_ACCESS = re.compile(r"(?:(ld|st)\.)?(?:[a-z_:0-9]+\.)*?global\.(?:[a-z_:0-9]+\.)*?(?:v([248])\.)?[a-z]+(\d+)")


@dataclass(frozen=True, eq=False)
class Sectors:
    """What an access to global memory moves: ``counts`` are the sectors of each (warp, access), ``lines`` the lines.

    ``addresses`` are the bytes of each (warp, access, lane), -1 for a lane that is off; ``width`` is what a lane moves.
    ``ideals`` are the sectors that the bytes asked for fill, were they together and aligned, ``ideal_lines`` the lines.
    """

    width: int
    element: Element
    base: int
    addresses: NDArray[np.int64]
    counts: NDArray[np.int64]
    lines: NDArray[np.int64]
    useful: NDArray[np.int64]

    @property
    def ideals(self) -> NDArray[np.int64]:
        return -(-self.useful // SECTOR)

    @property
    def ideal_lines(self) -> NDArray[np.int64]:
        return -(-self.useful // LINE)

    @property
    def sectors(self) -> int:
        """The sectors of all accesses."""
        return int(self.counts.sum())

    @property
    def ideal(self) -> int:
        """The sectors that the bytes of each access would fill."""
        return int(self.ideals.sum())

    @property
    def efficiency(self) -> float:
        """Of the bytes that are moved, the part that somebody asked for; 1 is ideal."""
        return int(self.useful.sum()) / (self.sectors * SECTOR) if self.sectors else 1.0

    @property
    def worst_access(self) -> tuple[int, int]:
        """The warp and the number of the first access with the most sectors over its ideal."""
        warp, access = divmod(int((self.counts - self.ideals).argmax()), self.counts.shape[1])
        return warp, access

    def facts(self) -> dict[str, Any]:
        """All of it in numbers and words, for JSON."""
        warp, access = self.worst_access
        return {
            "element": self.element.name,
            "bytes_per_lane": self.width,
            "base": self.base,
            "sectors": self.sectors,
            "ideal": self.ideal,
            "lines": int(self.lines.sum()),
            "ideal_lines": int(self.ideal_lines.sum()),
            "bytes": int(self.useful.sum()),
            "efficiency": self.efficiency,
            "warps": len(self.counts),
            "accesses": self.counts.shape[1],
            "each": self.counts.tolist(),
            "worst": {
                "warp": warp,
                "access": access,
                "sectors": int(self.counts[warp, access]),
                "ideal": int(self.ideals[warp, access]),
                "lines": int(self.lines[warp, access]),
            },
        }

    def __str__(self) -> str:
        return "\n".join([self.headline, self._worst_line()])

    @property
    def headline(self) -> str:
        """One line: the sectors, the ideal, the lines, and how much of what is moved is used."""
        return (
            f"{plural(self.width, 'byte')} a lane{how_many(self.counts)}: "
            f"{plural(self.sectors, 'sector')}, ideal {self.ideal}; "
            f"{plural(int(self.lines.sum()), 'line')}, ideal {int(self.ideal_lines.sum())}; "
            f"{self.efficiency:.0%} of the bytes are used"
        )

    def _worst_line(self) -> str:
        warp, access = self.worst_access
        warps, accesses = self.counts.shape
        where = [f"warp {warp}"] * (warps > 1) + [f"access {access}"] * (accesses > 1)
        places = {lane: place for lane, place in enumerate(self.addresses[warp, access].tolist()) if place != OFF}
        if not places:
            return "every lane is off"
        low, high = min(places.values()), max(places.values()) + self.width - 1
        told = plural(int(self.counts[warp, access]), "sector")
        return f"worst access: {', '.join([*where, lanes_text(list(places))])}: {told} in bytes {low} to {high}"

    def __repr__(self) -> str:
        return f"<{self.headline}>"

    def _repr_html_(self) -> str:
        from ..drawing.notebook_tables import html_of

        return html_of(self)


def sectors(
    gmem: Any, threads: Any, element: Any, base: int = 0, *, access: str | None = None, shape: Any = None
) -> Sectors:
    """The 32-byte sectors and 128-byte lines of global memory that each access of a warp touches, and the ideal.

    ``gmem`` is the layout of the data, as in ``banks``, and ``base`` the byte address of offset 0: a base that
    is off by 16 bytes costs sectors. ``threads`` is as in ``banks``. An access moves as many values of a lane as
    ``access`` says (``ld.global.v4.f32``), or as many as every lane has together and aligned, 16 bytes at most.

    >>> import relayout as rl
    >>> print(sectors(rl.Layout(64), [2 * lane for lane in range(32)], "float32", 32, access="ld.global.b64"))
    8 bytes a lane: 8 sectors, ideal 8; 3 lines, ideal 2; 100% of the bytes are used
    worst access: lanes 0-31: 8 sectors in bytes 32 to 287
    """
    import numpy as np

    from .lanes import HIGHEST, check_race, memory_of, thread_indices, vector_addresses, warp_table

    start = as_int(base, "base")
    if not 0 <= start < HIGHEST:
        raise OutOfBounds(f"the base {start} is outside memory.", hint="a base is a byte address from 0 on", base=base)
    memory = memory_of(gmem, element, shape)
    vector = 1 if access is None else 8 * _width(access) // memory.element.bits
    offsets = memory.offsets(thread_indices(threads, memory, vector))
    width = _widest(offsets, memory, start) if access is None else _width(access)
    name = access or f"an access of {width} bytes"
    addresses = vector_addresses(offsets, memory, width, name, start)
    if name.startswith("st"):
        check_race(addresses, width, name)
    wrong = np.argwhere((addresses != OFF) & (addresses % width != 0))
    if len(wrong):
        thread, number = wrong[0].tolist()
        raise ShapeError(
            f"thread {thread} has the address {addresses[thread, number]}, and {name} needs a multiple of {width}.",
            hint="align the base and the layout, or leave the access out",
            thread=thread,
            address=int(addresses[thread, number]),
        )
    table = warp_table(addresses, LANES)
    rows = table.reshape(-1, LANES)
    distinct = [_distinct(rows, width, unit).reshape(table.shape[:2]) for unit in (SECTOR, LINE, 1)]
    return Sectors(width, memory.element, start, table, distinct[0], distinct[1], distinct[2])


def _width(access: str) -> int:
    found = _ACCESS.fullmatch(access.strip().lower()) if isinstance(access, str) else None
    bits = int(found[2] or 1) * int(found[3]) if found else 0
    if bits not in (8, 16, 32, 64, 128, 256):
        raise ShapeError(
            f"{access!r} is no access to global memory.",
            hint="as in ld.global.b32, st.global.v4.f32; or leave it out",
            access=access,
        )
    return bits // 8


def _widest(offsets: NDArray[np.int64], memory: TileMemory, base: int) -> int:
    """The widest access that every lane can make: its values lie together, and each access is aligned."""
    import numpy as np

    bits, values = memory.element.bits, offsets.shape[1]
    for width in WIDTHS:
        together = 8 * width // bits
        if 8 * width % bits or not together or values % together:
            continue
        runs = offsets.reshape(len(offsets), -1, together)
        on = runs[:, :, 0] != OFF
        first = np.where(on, runs[:, :, 0], 0)
        steps = np.where(on[:, :, None], runs - runs[:, :, :1], np.arange(together))
        aligned = (first * bits + 8 * base) % (8 * width) == 0
        if (steps == np.arange(together)).all() and (aligned | ~on).all():
            return width
    raise ShapeError(
        f"no access fits: a thread has {values} values of {memory.element.name}, of {bits} bits each.",
        hint="give elements of whole bytes, aligned to their width, or values that fill bytes and lie together",
        element=memory.element.name,
    )


def _distinct(rows: NDArray[np.int64], width: int, unit: int) -> NDArray[np.int64]:
    """How many aligned units of bytes each row touches."""
    import numpy as np

    steps = np.arange(0, width, min(unit, width))
    places = (rows[:, :, None] + steps) // unit
    places = np.where(rows[:, :, None] == OFF, OFF, places).reshape(len(rows), rows.shape[1] * len(steps))
    places.sort(axis=1)
    fresh = places != OFF
    fresh[:, 1:] &= places[:, 1:] != places[:, :-1]
    found: NDArray[np.int64] = fresh.sum(axis=1)
    return found
