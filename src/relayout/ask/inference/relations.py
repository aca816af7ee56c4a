"""A table whose entries are sums of one value per dimension, some of them unknown.

An entry follows from three others that form a rectangle with it. So two places along a dimension belong together when
some pair of known entries differs in nothing else, and a dimension whose places all belong together is known whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .lines import extrapolate, mode_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHOWN = 64
"""How many missing coordinates are named at most."""


class LineSum(NamedTuple):
    """The table ``start + sum(lines[d][c_d])``; every line begins with 0."""

    start: int
    lines: tuple[NDArray[np.int64], ...]

    def table(self) -> NDArray[np.int64]:
        import numpy as np

        total = np.full((1,) * len(self.lines), self.start, np.int64)
        for d, line in enumerate(self.lines):
            total = total + broadcast_along(line, d, len(self.lines))
        return total

    def wrong(self, table: NDArray[np.int64], known: NDArray[np.bool_]) -> bool:
        """Whether some known entry is no such sum."""
        return bool(((self.table() != table) & known).any())


class OpenLines(NamedTuple):
    """What the known entries leave open: lines around ``base``, each valid where it is ``settled``.

    The entries at ``missing``, one for each part that is not connected to the rest, would settle everything.
    """

    base: tuple[int, ...]
    value: int
    lines: tuple[NDArray[np.int64], ...]
    settled: tuple[NDArray[np.bool_], ...]
    missing: tuple[tuple[int, ...], ...]

    def question(self) -> str:
        """What the data do not say, in words."""
        first = ", ".join(map(str, self.missing[:4])) + ", ..." * (len(self.missing) > 4)
        return f"the data do not say where {first} {'lies' if len(self.missing) == 1 else 'lie'}"

    def continuation(self) -> LineSum | None:
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
            guess = line[first] + extrapolate(mode, -first, line.size)
            if (guess != line)[settled].any():
                return None
            start += int(guess[0] - guess[at])
            full.append(guess - guess[0])
        return LineSum(start, tuple(full))


def broadcast_along(line: NDArray[Any], d: int, rank: int) -> NDArray[Any]:
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


def solve(table: NDArray[np.int64], known: NDArray[np.bool_]) -> LineSum | OpenLines:
    """The lines that the known entries give if the table is a sum of lines at all; the caller checks that it is."""
    centre = hub(known)
    if centre is None:
        return _solve_by_components(table, known)
    lines = [line_through(table, centre, d) - table[centre] for d in range(table.ndim)]
    start = int(table[centre]) + sum(int(line[0]) for line in lines)
    return LineSum(start, tuple([line - line[0] for line in lines]))


class _Components:
    """The connected components of the places along one dimension.

    ``label`` is the number of a place's component, ``height`` the place's value above its component's first place.
    """

    def __init__(self, n: int) -> None:
        import numpy as np

        self.label = np.arange(n)
        self.height = np.zeros(n, np.int64)
        self.count = n

    def merge(self, label: NDArray[np.int64], height: NDArray[np.int64]) -> None:
        """Component ``k`` becomes part of ``label[k]``, its first place ``height[k]`` above that one's first."""
        self.height = self.height + height[self.label]
        self.label = label[self.label]
        self.count = int(label.max()) + 1


def _solve_by_components(table: NDArray[np.int64], known: NDArray[np.bool_]) -> LineSum | OpenLines:
    """Components of places merged, dimension after dimension, until nothing more follows.

    An entry is known by the components that its places are in, one label for each dimension, and by its value where all
    of them begin; so every merge makes entries alike, and one of each kind is kept.
    """
    import numpy as np

    labels = list(np.nonzero(known)) if known.ndim else []
    values = table[known]
    dims = [_Components(n) for n in table.shape]
    merging = True
    while merging:
        merging = False
        for d, here in enumerate(dims):
            links = _links(labels, values, d, here.count) if here.count > 1 else None
            if not links:
                continue
            merging = True
            label, height = _label_components(links, here.count)
            here.merge(label, height)
            values = values - height[labels[d]]
            labels[d] = label[labels[d]]
            _, first = np.unique(np.ravel_multi_index(labels, [c.count for c in dims]), return_index=True)
            labels, values = [x[first] for x in labels], values[first]
    if values.size and all(c.count == 1 for c in dims):
        start = int(values[0]) + sum(int(c.height[0]) for c in dims)
        return LineSum(start, tuple([c.height - c.height[0] for c in dims]))
    return _open_lines(dims, labels, values)


Links = dict[int, list[tuple[int, int]]]
"""A graph of components: for each its neighbours, and how much higher a neighbour's first place is."""


def _links(labels: list[NDArray[np.int64]], values: NDArray[np.int64], d: int, count: int) -> Links:
    """The links between the ``count`` components along ``d``, one for each pair that two known entries connect.

    Two entries connect their components along ``d`` if all other labels agree. Entries that do stand together once they
    are sorted, by ``d`` last, and it is enough to compare neighbours.
    """
    import numpy as np

    others = [x for k, x in enumerate(labels) if k != d]
    order = np.lexsort([labels[d], *others])
    low, high = order[:-1], order[1:]
    alike = np.ones(low.size, bool)
    for x in others:
        alike &= x[low] == x[high]
    low, high = low[alike], high[alike]
    lower, upper, rise = labels[d][low], labels[d][high], values[high] - values[low]
    _, first = np.unique(lower * count + upper, return_index=True)
    links: Links = {}
    for a, b, up in zip(lower[first].tolist(), upper[first].tolist(), rise[first].tolist()):
        links.setdefault(a, []).append((b, up))
        links.setdefault(b, []).append((a, -up))
    return links


def _label_components(links: Links, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The connected component of each of ``count`` nodes, and the node's height above the first of its component."""
    import numpy as np

    label = np.full(count, -1)
    height = np.zeros(count, np.int64)
    components = 0
    for root in range(count):
        if label[root] >= 0:
            continue
        label[root] = components
        stack = [root]
        while stack:
            here = stack.pop()
            for node, up in links.get(here, ()):
                if label[node] < 0:
                    label[node], height[node] = components, height[here] + up
                    stack.append(node)
        components += 1
    return label, height


def _open_lines(dims: list[_Components], labels: list[NDArray[np.int64]], values: NDArray[np.int64]) -> OpenLines:
    """What the entries that are left say: the lines around the one that the most places are connected to."""
    import numpy as np

    where, value = [0] * len(dims), 0
    if values.size:
        weight = np.ones(values.size)
        for c, x in zip(dims, labels):
            weight *= np.bincount(c.label, minlength=c.count)[x]
        heaviest = int(np.argmax(weight))
        where, value = [int(x[heaviest]) for x in labels], int(values[heaviest])
    settled = [c.label == g for c, g in zip(dims, where)]
    base = tuple([int(np.argmax(s)) for s in settled])
    value += sum(int(c.height[x]) for c, x in zip(dims, base))
    missing = [] if values.size else [base]
    for d, c in enumerate(dims):
        firsts = np.unique(c.label, return_index=True)[1]
        others = firsts[c.label[firsts] != where[d]][:SHOWN]
        missing += [(*base[:d], int(x), *base[d + 1 :]) for x in others]
    lines = [c.height - c.height[x] for c, x in zip(dims, base)]
    return OpenLines(base, value, tuple(lines), tuple(settled), tuple(missing[:SHOWN]))


def _longest_run(settled: NDArray[np.bool_]) -> tuple[int, int]:
    import numpy as np

    edges = np.flatnonzero(np.diff(np.concatenate([[False], settled, [False]]).astype(np.int8)))
    starts, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - starts))
    return int(starts[longest]), int(ends[longest])
