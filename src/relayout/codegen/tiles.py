"""Transpositions cut into tiles: where the neighbours in the source are others than those in the target.

A tile takes whole lines of both memories: each line is read once and written once, whatever the strides are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2, prod
from typing import NamedTuple

from .loop_nest import LoopAxis, NestLevel, NestTile
from .values import ONE, Definitions, Monomial

LINE = 64
"""The bytes of a line of memory, which a tile writes as a whole."""

LINES = 4
"""So many lines of small elements a tile writes where it starts and ends within some."""

COLUMNS = 16
"""So many neighbours in the source a tile has at most: more take more passes to turn it."""

SMALLEST = 4
"""So few neighbours, or fewer, are moved one by one."""

CACHED_TILE = 32
"""Elements that are converted are moved one by one, within tiles of so many, which stay in a cache."""

CACHE = 1 << 14
"""The bytes of lines that surely stay in a cache, beside others and whatever their places are."""

FASTEST = 1 << 62
NEARLY = (FASTEST - 1, 0, 0)
"""How slow a loop right around a tile is."""


class TileCut(NamedTuple):
    """How many steps of a loop a tile has, whether the last tile overlaps the one before, and how many times an
    element is moved on average.
    """

    steps: int
    overlaps: bool = False
    waste: float = 1.0


def cut_tiles(
    levels: list[NestLevel], axes: Sequence[LoopAxis], definitions: Definitions, size: int
) -> tuple[list[NestLevel], NestTile | None]:
    """The loops with the fastest of either side cut, these parts the last of all; and the tile, for elements of
    ``size`` bytes that are moved as they are.
    """
    writes = next((level for level in levels if level.target == ONE and level.source != ONE), None)
    reads = next((level for level in levels if level.source == ONE and level.target != ONE), None)
    if writes is None or reads is None or writes.axis == reads.axis:
        return levels, None
    own = [axes[level.axis] for level in (reads, writes)]
    if any(axis.low or axis.split is not None for axis in own):
        return levels, None
    cuts = _whole_cuts(reads, writes, levels, size) if size else _cached_cuts(reads, writes, levels)
    if cuts is None:
        return levels, None
    found = [level for level in levels if level not in (writes, reads)]
    wide = cuts[1].steps * size >= LINE
    for turn, (level, cut) in enumerate(zip((reads, writes), cuts)):
        if level.steps != Monomial(cut.steps):
            slowness = NEARLY if wide and level is reads else level.slowness
            found += [x._replace(slowness=slowness) for x in _split_loop(level, levels, axes, definitions, cut.steps)]
        found.append(level._replace(steps=Monomial(cut.steps), slowness=(FASTEST, turn, 0)))
    overlapping = frozenset([level.axis for level, cut in zip((reads, writes), cuts) if cut.overlaps])
    whole = writes.source == Monomial(cuts[0].steps), reads.target == Monomial(cuts[1].steps)
    tile = NestTile(cuts[1].steps, cuts[0].steps, overlapping, whole) if size else None
    return _number_loops(found, axes), tile


def finish_lines(
    levels: list[NestLevel], axes: Sequence[LoopAxis], definitions: Definitions, size: int, tile: NestTile | None
) -> list[NestLevel]:
    """The loops, with one more around the last where that reads less than a line of the source: the rest of the line.

    Otherwise a line would be read again for each part of it, and meanwhile leave the cache.
    """
    run = next((level for level in levels if level.source == ONE), None)
    few = next((level for level in levels if level.target == ONE and level is not run), None)
    if few is not None and tile is None and not (few.steps.known and few.steps.number <= 2 * SMALLEST):
        return levels
    if not size or (tile is None and (run is None or not run.steps.known)):
        return levels
    reach = tile.columns if tile is not None else run.steps.number if run is not None else 1
    more = -(-LINE * (1 if few is None or tile is not None else LINES) // (reach * size))
    rest = next((level for level in levels if level.source == Monomial(reach) and level.slowness < NEARLY), None)
    if rest is None or (tile is not None and rest.axis in tile.overlapping) or not _leaves_cache(rest, levels):
        return levels
    if more < 2 or not rest.steps.known or axes[rest.axis].low or axes[rest.axis].split is not None:
        return levels
    n = rest.steps.number
    found = [level for level in levels if level is not rest]
    if run is not None and tile is None:
        found = [level._replace(slowness=(FASTEST, 0, 0)) if level is run else level for level in found]
        found = [level._replace(slowness=(FASTEST, 1, 0)) if level is few else level for level in found]
    if n <= 2 * more:
        return [*found, rest._replace(slowness=NEARLY)]
    steps = next((k for k in range(more, 2 * more + 1) if n % k == 0), more if _is_top(rest, levels) else 0)
    if not steps:
        return levels
    found += [
        *_split_loop(rest, levels, axes, definitions, steps),
        rest._replace(steps=Monomial(steps), slowness=NEARLY),
    ]
    return _number_loops(found, axes)


def _leaves_cache(level: NestLevel, levels: Sequence[NestLevel]) -> bool:
    """Whether the loops inside one read more lines than a cache holds, as far as is known."""
    around_run = [x for x in levels if x.source != ONE]
    inside = [x.steps for x in around_run if level.slowness < x.slowness < NEARLY]
    return not all(steps.known for steps in inside) or prod([x.number for x in inside]) * LINE > CACHE


def _split_loop(
    level: NestLevel, levels: Sequence[NestLevel], axes: Sequence[LoopAxis], definitions: Definitions, steps: int
) -> list[NestLevel]:
    """The loop over parts of so many steps."""
    place, own = level.place * steps, axes[level.axis]
    count = level.steps.over(Monomial(steps))
    if _is_top(level, levels):
        count = definitions.quotient(own.high, place, f"{own.axis.name}_blocks")
    source = None if level.source is None else level.source * steps
    return [level._replace(place=place, steps=count, source=source, target=level.target * steps)]


def _whole_cuts(
    reads: NestLevel, writes: NestLevel, levels: Sequence[NestLevel], size: int
) -> tuple[TileCut, TileCut] | None:
    """The steps of a tile along both loops that move the fewest elements twice.

    One of them is a power of two, by which a tile is turned.
    """
    high = max(LINE // size, SMALLEST)
    if size <= 2 and not (reads.target.known and reads.target.number * size % LINE == 0):
        high *= LINES
    wide = min(high, COLUMNS)
    found = []
    for power in (True, False):
        columns, rows = _steps(reads, levels, wide, not power), _steps(writes, levels, high, power)
        if columns is not None and rows is not None and _is_worthwhile(reads, writes, columns.steps, rows.steps):
            found.append((columns.waste * rows.waste, (columns, rows)))
    return min(found, key=lambda x: x[0])[1] if found else None


def _is_worthwhile(reads: NestLevel, writes: NestLevel, columns: int, rows: int) -> bool:
    """Whether a tile is faster than loops, of which compilers make vectors where few neighbours are interleaved."""
    long_run = reads.target == Monomial(rows) and not (reads.steps.known and reads.steps.number < COLUMNS)
    few_rows = rows <= (2 * SMALLEST if long_run else SMALLEST)
    few_columns = columns <= SMALLEST and not (columns == 2 and writes.source == Monomial(2))
    return not few_rows and not few_columns


def _steps(level: NestLevel, levels: Sequence[NestLevel], side: int, power: bool) -> TileCut | None:
    """About ``side`` steps of a loop; a power of two where that is asked for."""
    top = _is_top(level, levels)
    if not level.steps.known:
        return TileCut(side) if top else None
    n = level.steps.number
    alone = not any(x.axis == level.axis and x is not level for x in levels)
    sides = [side >> k for k in range(side.bit_length()) if 2 <= side >> k <= n]
    if not power:
        count = max(1, round(n / side))
        sides = [-(-n // count)] if alone else [k for k in range(side + side // 2, 1, -1) if n % k == 0]
    cuts = [TileCut(k, n % k != 0, -(-n // k) * k / n) for k in sides if alone or n % k == 0]
    if not cuts:
        return TileCut(side) if top and n > side else None
    return min(cuts, key=lambda cut: cut.waste + log2(side / cut.steps) / 16)


def _cached_cuts(reads: NestLevel, writes: NestLevel, levels: Sequence[NestLevel]) -> tuple[TileCut, TileCut] | None:
    """Tiles of two long loops."""
    for level in (reads, writes):
        short = level.steps.known and level.steps.number < 2 * CACHED_TILE
        whole = level.steps.known and level.steps.number % CACHED_TILE == 0
        if short or not (whole or _is_top(level, levels)):
            return None
    return TileCut(CACHED_TILE), TileCut(CACHED_TILE)


def _is_top(level: NestLevel, levels: Sequence[NestLevel]) -> bool:
    return all(x.place.divides(level.place) for x in levels if x.axis == level.axis)


def _is_power(n: int) -> bool:
    return n.bit_count() == 1


def _number_loops(levels: Sequence[NestLevel], axes: Sequence[LoopAxis]) -> list[NestLevel]:
    """The loops, each with its number among those of its axis."""
    found = []
    for level in levels:
        name = axes[level.axis].axis.name
        own = [x.place for x in levels if x.axis == level.axis]
        below = [place for place in own if place.divides(level.place) and place != level.place]
        found.append(level._replace(name=name if len(own) == 1 else f"{name}_{len(below)}"))
    return found
