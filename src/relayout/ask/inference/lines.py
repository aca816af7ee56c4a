"""One dimension of a table: the mode that has its values, and what a broken line should have said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...integers.nested import product
from ...layout.modes import Mode, coalesced, digit_sum, simplify_mode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GLANCE = 64
"""How many uneven steps are looked at before all are."""


def mode_of(line: NDArray[np.int64]) -> Mode | None:
    """The smallest mode with these values relative to the first; None when no mode has them."""
    import numpy as np

    found = _fit_levels(np.diff(line)) if line.size > 1 else (0, [])
    if found is None:
        return None
    origin, levels = found
    strides: list[int] = []
    span = 0
    for s, step in levels:
        strides.append(step + span)
        span += (s - 1) * strides[-1]
    mode = Mode(tuple([s for s, _ in levels]), tuple(strides), origin, line.size)
    return _shrink_blocks(simplify_mode(mode)[1]) if len(levels) > 1 else mode


def _fit_levels(steps: NDArray[np.int64]) -> tuple[int, list[tuple[int, int]]] | None:
    """An origin, and for each level its size and the step that a carry to it makes: ``modes.fitted`` for long arrays.

    The lowest level's step is one of the first two, and all other steps lie in one residue class.
    """
    import numpy as np

    if (steps == steps[0]).all():
        return 0, [(steps.size + 1, int(steps[0]))]
    for lowest in dict.fromkeys(steps[:2].tolist()):
        others = np.flatnonzero(steps != lowest) + 1
        distances = others - others[0]
        if np.gcd.reduce(distances[:GLANCE]) == 1:
            continue
        period = int(np.gcd.reduce(distances)) or steps.size + 1
        if period > 1:
            first = int(others[0] - 1) % period + 1
            above = _fit_levels(steps[first - 1 :: period])
            if above is not None:
                return -first % period + period * above[0], [(period, lowest), *above[1]]
    return None


def _shrink_blocks(mode: Mode) -> Mode:
    """The mode with the smallest blocks: a window that enters the next block only once leaves their size open."""
    while (free := _free_block(mode)) is not None:
        size, least = free
        if size == least:
            break
        sizes, strides, origin, extent = resize_block(mode, least)
        shorter = coalesced(sizes, strides)
        mode = Mode(tuple(shorter[0]), tuple(shorter[1]), origin, extent)
    return mode


def _free_block(mode: Mode) -> tuple[int, int] | None:
    """The size of the blocks and the least that it may be, where the window crosses their boundary once."""
    if len(mode.sizes) < 2 or mode.sizes[-1] != 2:
        return None
    below, crossing = _crossing(mode)
    return mode.sizes[-2], max(-(-crossing // below), -(-(mode.extent - crossing) // below))


def _crossing(mode: Mode) -> tuple[int, int]:
    """The weight of the second digit from the top, and where the window enters the second block."""
    below = product(mode.sizes[:-2])
    return below, below * mode.sizes[-2] - mode.origin


def resize_block(mode: Mode, size: int) -> Mode:
    """A mode with these values and blocks of another size, whose boundary the window crosses once."""
    below, crossing = _crossing(mode)
    top = mode.strides[-1] + (size - mode.sizes[-2]) * mode.strides[-2]
    return Mode((*mode.sizes[:-2], size, 2), (*mode.strides[:-1], top), below * size - crossing, mode.extent)


def readings(mode: Mode, limit: int) -> Iterator[Mode]:
    """The mode, then the same values in larger blocks that would divide the distance between them."""
    yield mode
    free = _free_block(mode)
    if free is None or not mode.strides[-2]:
        return
    size, _ = free
    rest, remainder = divmod(mode.strides[-1] - size * mode.strides[-2], mode.strides[-2])
    if remainder == 0:
        yield from (resize_block(mode, p) for p in range(size + 1, min(abs(rest), size + limit) + 1) if rest % p == 0)


def extrapolate(mode: Mode, first: int, count: int) -> NDArray[np.int64]:
    """The values at ``count`` places from ``first`` on, relative to place 0: the top digit runs on both ways."""
    import numpy as np

    places = np.arange(first, first + count, dtype=np.int64) + mode.origin
    total = np.full(count, -digit_sum(mode.sizes, mode.strides, mode.origin), np.int64)
    for s, d in zip(mode.sizes[:-1], mode.strides):
        places, digit = places // s, places % s
        total = total + digit * d
    return total + places * (mode.strides[-1] if mode.strides else 0)


def fitting_prefix(line: NDArray[np.int64]) -> int:
    """The length of the longest beginning that a mode has; the line as a whole has none."""
    good, bad = 1, line.size
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if mode_of(line[:middle]) is not None else (good, middle)
    return good


def nearest_line(line: NDArray[np.int64]) -> NDArray[np.int64]:
    """The values of a mode that differs in few places from a line without one.

    It continues the beginning of the line: up to the shortest prefix that no mode has, or a little less, since the
    wrong value may be the one that made the prefix look like a block.
    """
    good = fitting_prefix(line)
    best = line[:1].repeat(line.size)
    for end in range(max(1, good - 3), good + 1):
        mode = mode_of(line[:end])
        if mode is not None:
            guess = line[0] + extrapolate(mode, 0, line.size)
            if (guess != line).sum() < (best != line).sum():
                best = guess
    return best
