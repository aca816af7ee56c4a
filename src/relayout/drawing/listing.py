"""A layout as its coordinates in the order of memory, the way HTP's document lists it.

Round brackets are data, square ones padding. A line is one run of the fastest digit. Of many lines in a row the first
two, the last, and those on both sides of where data ends are shown; of the chunks behind the first one the first and
the last coordinate are.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as cartesian
from typing import NamedTuple

from ..errors import LimitExceeded, NotExpressible
from ..integers.inttuple import as_int
from ..layout.layout import Layout

LINE_LIMIT = 1 << 14
"""The longest listing, in lines."""


class MemoryLoop(NamedTuple):
    """One loop over memory: a digit of a dimension, how far a step goes there, and whether it is the rest."""

    dim: int
    size: int
    weight: int
    rest: bool


class Run(NamedTuple):
    """The part of the box from a coordinate on that some of the fastest digits reach."""

    start: tuple[int, ...]
    digits: tuple[MemoryLoop, ...]

    @property
    def end(self) -> tuple[int, ...]:
        """The last coordinate."""
        return self.at([d.size - 1 for d in self.digits])

    def at(self, places: list[int] | tuple[int, ...]) -> tuple[int, ...]:
        """The coordinate at one place of every digit."""
        found = list(self.start)
        for digit, place in zip(self.digits, places):
            found[digit.dim] += digit.weight * place
        return tuple(found)

    def parts(self) -> list[Run]:
        """One part for each step of the slowest digit."""
        digit, *rest = self.digits
        return [Run(Run(self.start, (digit,)).at([k]), tuple(rest)) for k in range(digit.size)]


def coordinates_in_memory(layout: Layout) -> Iterator[tuple[int, ...]]:
    """The coordinates of a layout's box in the order of memory, one for each address from the first on.

    Coordinates count from the data's first element on, so that those of padding in front are below 0.
    """
    run = Run(tuple([-o for o in layout.origin]), _digits(layout))
    return (run.at(places) for places in cartesian(*[range(digit.size) for digit in run.digits]))


def memory_listing(layout: Layout, loops: int | None = None) -> str:
    """The coordinates of a layout's box in the order of memory, as text; every element of the box has one place.

    With ``loops`` a line is one turn of so many of the slowest loops, its first and its last coordinate.
    """
    digits = _digits(layout)
    outer = max([k + 1 for k, digit in enumerate(digits) if digit.rest], default=0)
    if outer == len(digits):
        outer = 0
    if loops is not None:
        outer = min(as_int(loops, "loops"), len(digits))
    whole = Run(tuple([-o for o in layout.origin]), digits)
    lines = []
    for line in _lines(whole, outer, layout.extents, loops is None):
        lines.append(line)
        if len(lines) > LINE_LIMIT:
            raise LimitExceeded(
                f"the listing has more than {LINE_LIMIT} lines.", hint="list a smaller shape", limit=LINE_LIMIT
            )
    return "\n".join(lines)


def _digits(layout: Layout) -> tuple[MemoryLoop, ...]:
    """The loops over memory, slowest first; refused unless every address from the first on is one element's."""
    found = []
    for d in range(layout.rank):
        mode = layout._mode(d)
        weight = 1
        for k, (n, stride) in enumerate(zip(mode.sizes, mode.strides)):
            if n != 1:
                found.append((stride, MemoryLoop(d, n, weight, k == len(mode.sizes) - 1)))
            weight *= n
    found.sort(key=lambda pair: -pair[0])
    reach = 1
    for stride, digit in reversed(found):
        if stride != reach or layout.swizzle is not None:
            raise NotExpressible(
                f"{layout} has no order of loops: its elements do not lie end to end.",
                hint="rl.draw shows any layout",
                layout=layout,
            )
        reach *= digit.size
    return tuple([digit for _, digit in found])


def _lines(run: Run, outer: int, extents: tuple[int, ...], first: bool) -> Iterator[str]:
    """The lines of a part: ``outer`` of its digits number chunks; only the first chunk is shown element by element."""
    if outer == 0 and not first and run.digits:
        yield f"{_coordinate_text(run.start, extents)} ... {_coordinate_text(run.end, extents)}"
        return
    if len(run.digits) <= 1:
        yield _line(run, extents)
        return
    parts = run.parts()
    for k, gap in _shown([_has_data(part, extents) for part in parts]):
        if gap:
            yield "..."
        if outer <= 1 and k and outer:
            yield from _lines(parts[k], 0, extents, False)
        else:
            yield from _lines(parts[k], max(outer - 1, 0), extents, first and (k == 0 or not outer))


def _line(run: Run, extents: tuple[int, ...]) -> str:
    """A run of the fastest digit."""
    cells = [run.at([k]) for k in range(run.digits[0].size)] if run.digits else [run.start]
    words = []
    for k, gap in _shown([_is_data(c, extents) for c in cells]):
        words.append(("... " if gap else "") + _coordinate_text(cells[k], extents))
    return ", ".join(words)


def _shown(data: list[bool]) -> Iterator[tuple[int, bool]]:
    """Which of several are shown, each with whether some before it are left out."""
    n = len(data)
    edges = {k for k in range(1, n) if data[k] != data[k - 1]}
    kept = {0, 1, n - 1, *edges, *[k - 1 for k in edges]}
    kept |= {k for k in range(n) if k - 1 in kept and k + 1 in kept}
    before = -1
    for k in sorted(k for k in kept if k < n):
        yield k, k > before + 1
        before = k


def _has_data(run: Run, extents: tuple[int, ...]) -> bool:
    return all(a < n and b >= 0 for a, b, n in zip(run.start, run.end, extents))


def _is_data(coordinate: tuple[int, ...], extents: tuple[int, ...]) -> bool:
    return all(0 <= x < n for x, n in zip(coordinate, extents))


def _coordinate_text(coordinate: tuple[int, ...], extents: tuple[int, ...]) -> str:
    text = ",".join(map(str, coordinate))
    return f"({text})" if _is_data(coordinate, extents) else f"[{text}]"
