"""A table whose entries are sums of one value per dimension, some of them unknown.

An entry follows from three others that form a rectangle with it. So two places along a dimension belong together when
some pair of known entries differs in nothing else, and a dimension whose places all belong together is known whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .lines import extended, mode_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHOWN = 64
"""How many missing coordinates are named at most."""


class Lines(NamedTuple):
    """The table ``start + sum(lines[d][c_d])``; every line begins with 0."""

    start: int
    lines: tuple[NDArray[np.int64], ...]

    def table(self) -> NDArray[np.int64]:
        import numpy as np

        total = np.full((1,) * len(self.lines), self.start, np.int64)
        for d, line in enumerate(self.lines):
            total = total + along(line, d, len(self.lines))
        return total

    def wrong(self, table: NDArray[np.int64], known: NDArray[np.bool_]) -> bool:
        """Whether some known entry is no such sum."""
        return bool(((self.table() != table) & known).any())


class Open(NamedTuple):
    """What the known entries leave open: lines around ``base``, each valid where it is ``settled``.

    The entries at ``missing``, one for each part that is not connected to the rest, would settle everything.
    """

    base: tuple[int, ...]
    value: int
    lines: tuple[NDArray[np.int64], ...]
    settled: tuple[NDArray[np.bool_], ...]
    missing: tuple[tuple[int, ...], ...]

    def continued(self) -> Lines | None:
        """Every line continued from its longest settled run, if the other settled places agree."""
        if self.base in self.missing:
            return None
        full = []
        start = self.value
        for line, settled, at in zip(self.lines, self.settled, self.base):
            first, end = _longest_run(settled)
            mode = mode_of(line[first:end])
            if mode is None or end - first < min(2, line.size):
                return None
            guess = line[first] + extended(mode, -first, line.size)
            if (guess != line)[settled].any():
                return None
            start += int(guess[0] - guess[at])
            full.append(guess - guess[0])
        return Lines(start, tuple(full))


def along(line: NDArray[Any], d: int, rank: int) -> NDArray[Any]:
    """A line as an array that broadcasts along dimension ``d``."""
    return line.reshape([-1 if k == d else 1 for k in range(rank)])


def hub(known: NDArray[np.bool_]) -> tuple[int, ...] | None:
    """A coordinate all of whose lines are known, or None."""
    import numpy as np

    whole = known
    for d in range(known.ndim):
        whole = whole & known.all(axis=d, keepdims=True)
    where = int(np.argmax(whole))
    return tuple([int(c) for c in np.unravel_index(where, known.shape)]) if whole.any() else None


def line_through(table: NDArray[Any], c: Sequence[int], d: int) -> NDArray[Any]:
    """The entries that differ from coordinate ``c`` in dimension ``d`` only."""
    return table[tuple([slice(None) if k == d else x for k, x in enumerate(c)])]


def solve(table: NDArray[np.int64], known: NDArray[np.bool_]) -> Lines | Open:
    """The lines that the known entries give if the table is a sum of lines at all; the caller checks that it is."""
    centre = hub(known)
    if centre is None:
        return _connected(table, known)
    lines = [line_through(table, centre, d) - table[centre] for d in range(table.ndim)]
    start = int(table[centre]) + sum(int(line[0]) for line in lines)
    return Lines(start, tuple([line - line[0] for line in lines]))


class _Places:
    """The places along one dimension, in groups; ``height`` is a place's value above its group's first one."""

    def __init__(self, n: int) -> None:
        import numpy as np

        self.group = np.arange(n)
        self.height = np.zeros(n, np.int64)
        self.count = n

    def merge(self, group: NDArray[np.int64], height: NDArray[np.int64]) -> None:
        """Every old group becomes part of ``group`` at ``height`` above that one's first place."""
        self.height = self.height + height[self.group]
        self.group = group[self.group]
        self.count = int(group.max()) + 1


def _connected(table: NDArray[np.int64], known: NDArray[np.bool_]) -> Lines | Open:
    """Groups of places merged, dimension after dimension, until nothing more follows."""
    import numpy as np

    labels = list(np.nonzero(known)) if known.ndim else []
    values = table[known]
    places = [_Places(n) for n in table.shape]
    merged = True
    while merged:
        merged = False
        for d, here in enumerate(places):
            found = _merged(labels, values, d, here.count)
            if found is None:
                continue
            merged = True
            group, height = found
            here.merge(group, height)
            values = values - height[labels[d]]
            labels[d] = group[labels[d]]
            _, first = np.unique(np.ravel_multi_index(labels, [p.count for p in places]), return_index=True)
            labels, values = [x[first] for x in labels], values[first]
    if values.size and all(p.count == 1 for p in places):
        start = int(values[0]) + sum(int(p.height[0]) for p in places)
        return Lines(start, tuple([p.height - p.height[0] for p in places]))
    return _open(places, labels, values)


def _merged(
    labels: list[NDArray[np.int64]], values: NDArray[np.int64], d: int, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """New groups for the ``count`` groups along ``d``, from entries that differ only there; None if none merge."""
    import numpy as np

    if count == 1 or values.size < 2:
        return None
    order = np.lexsort([labels[d], *[x for k, x in enumerate(labels) if k != d]])
    same = np.ones(order.size - 1, bool)
    for k, x in enumerate(labels):
        if k != d:
            same &= x[order[1:]] == x[order[:-1]]
    a, b = labels[d][order[:-1]][same], labels[d][order[1:]][same]
    rise = (values[order[1:]] - values[order[:-1]])[same]
    _, first = np.unique(a * count + b, return_index=True)
    if first.size == 0:
        return None
    links: dict[int, list[tuple[int, int]]] = {}
    for x, y, up in zip(a[first].tolist(), b[first].tolist(), rise[first].tolist()):
        links.setdefault(x, []).append((y, up))
        links.setdefault(y, []).append((x, -up))
    group = np.full(count, -1)
    height = np.zeros(count, np.int64)
    groups = 0
    for root in range(count):
        if group[root] >= 0:
            continue
        group[root] = groups
        ahead = [root]
        while ahead:
            here = ahead.pop()
            for place, up in links.get(here, ()):
                if group[place] < 0:
                    group[place], height[place] = groups, height[here] + up
                    ahead.append(place)
        groups += 1
    return group, height


def _open(places: list[_Places], labels: list[NDArray[np.int64]], values: NDArray[np.int64]) -> Open:
    import numpy as np

    where, value = [0] * len(places), 0
    if values.size:
        weight = np.ones(values.size)
        for p, x in zip(places, labels):
            weight *= np.bincount(p.group, minlength=p.count)[x]
        heaviest = int(np.argmax(weight))
        where, value = [int(x[heaviest]) for x in labels], int(values[heaviest])
    settled = [p.group == g for p, g in zip(places, where)]
    base = tuple([int(np.argmax(s)) for s in settled])
    value += sum(int(p.height[x]) for p, x in zip(places, base))
    missing = [] if values.size else [base]
    for d, p in enumerate(places):
        firsts = np.unique(p.group, return_index=True)[1]
        others = firsts[p.group[firsts] != where[d]][:SHOWN]
        missing += [(*base[:d], int(x), *base[d + 1 :]) for x in others]
    lines = [p.height - p.height[x] for p, x in zip(places, base)]
    return Open(base, value, tuple(lines), tuple(settled), tuple(missing[:SHOWN]))


def _longest_run(settled: NDArray[np.bool_]) -> tuple[int, int]:
    import numpy as np

    edges = np.flatnonzero(np.diff(np.concatenate([[False], settled, [False]]).astype(np.int8)))
    starts, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - starts))
    return int(starts[longest]), int(ends[longest])
