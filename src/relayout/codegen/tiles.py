"""Transpositions cut into tiles: where the neighbours in the source are others than those in the target.

A tile takes whole lines of both memories: each line is read once and written once, whatever the strides are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .loop_nest import LoopAxis, NestLevel, NestTile
from .values import ONE, Definitions, Monomial

LINE = 64
"""The bytes of a line of memory, which a tile writes as a whole."""

COLUMNS = 16
"""So many neighbours in the source a tile has at most: more take more passes to turn it."""

SMALLEST = 4
"""Fewer neighbours are moved one by one."""

CACHED_TILE = 32
"""Elements that are converted are moved one by one, within tiles of so many, which stay in a cache."""

FASTEST = 1 << 62


class TileCut(NamedTuple):
    """How many steps of a loop a tile has, and whether the last tile overlaps the one before."""

    steps: int
    overlaps: bool = False


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
            place = level.place * cut.steps
            name = f"{axes[level.axis].axis.name}_blocks"
            top = _is_top(level, levels)
            count = (
                definitions.quotient(axes[level.axis].high, place, name)
                if top
                else level.steps.over(Monomial(cut.steps))
            )
            source = None if level.source is None else level.source * cut.steps
            slowness = (FASTEST - 1, 0, 0) if wide and level is reads else level.slowness
            target = level.target * cut.steps
            found.append(level._replace(place=place, steps=count, source=source, target=target, slowness=slowness))
        found.append(level._replace(steps=Monomial(cut.steps), slowness=(FASTEST, turn, 0)))
    overlapping = frozenset([level.axis for level, cut in zip((reads, writes), cuts) if cut.overlaps])
    tile = NestTile(cuts[1].steps, cuts[0].steps, overlapping) if size else None
    return [_number_loop(level, found, axes[level.axis].axis.name) for level in found], tile


def _whole_cuts(
    reads: NestLevel, writes: NestLevel, levels: Sequence[NestLevel], size: int
) -> tuple[TileCut, TileCut] | None:
    """The steps of a tile along both loops; one of them is a power of two, by which a tile is turned."""
    side = max(LINE // size, SMALLEST)
    columns, rows = _steps(reads, levels, min(side, COLUMNS), False), _steps(writes, levels, side, False)
    if columns is not None and rows is not None and not _is_power(rows.steps) and not _is_power(columns.steps):
        columns = _steps(reads, levels, min(side, COLUMNS), True)
    return None if columns is None or rows is None else (columns, rows)


def _steps(level: NestLevel, levels: Sequence[NestLevel], side: int, power: bool) -> TileCut | None:
    """Up to ``side`` steps of a loop; a power of two where that is asked for."""
    top = _is_top(level, levels)
    if not level.steps.known:
        return TileCut(side) if top else None
    n = level.steps.number
    if n < SMALLEST:
        return None
    if n <= side and (not power or _is_power(n)):
        return TileCut(n)
    if power:
        side = min(side, 1 << (n.bit_length() - 1))
    alone = not any(x.axis == level.axis and x is not level for x in levels)
    if alone or n % side == 0:
        return TileCut(side, n % side != 0)
    fitting = [k for k in range(side, SMALLEST - 1, -1) if n % k == 0 and (not power or _is_power(k))]
    if fitting:
        return TileCut(fitting[0])
    return TileCut(side) if top else None


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


def _number_loop(level: NestLevel, levels: Sequence[NestLevel], name: str) -> NestLevel:
    """The loop with its number among those of its axis."""
    own = [x.place for x in levels if x.axis == level.axis]
    below = [place for place in own if place.divides(level.place) and place != level.place]
    return level._replace(name=name if len(own) == 1 else f"{name}_{len(below)}")
