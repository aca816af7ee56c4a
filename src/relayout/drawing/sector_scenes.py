"""Accesses to global memory, drawn as they move: a row is a line, heavier lines part its sectors."""

from __future__ import annotations

from itertools import pairwise

from ..ask.banks import lanes_text, plural
from ..ask.sectors import LINE, OFF, SECTOR, Sectors
from .scene import CATEGORIES, PADDING, PLAIN, Grid, LegendEntry, Pane, PaneAxis, Scene

WORD = 4
"""Bytes of a cell."""


def sectors_scene(asked: Sectors, limit: int) -> Scene:
    """The worst access: every line that it touches, a cell for each word; what moves and nobody wants is hatched."""
    warp, access = asked.worst_access
    wanted: dict[int, list[int]] = {}
    for lane, place in enumerate(asked.addresses[warp, access].tolist()):
        if place != OFF:
            for word in range(place // WORD, (place + asked.width - 1) // WORD + 1):
                wanted.setdefault(word, []).append(lane)
    moved = {word * WORD // SECTOR for word in wanted}
    rows = sorted({word * WORD // LINE for word in wanted}) or [0]
    across = LINE // WORD
    drawn = rows[: max(1, limit // across)]
    cells = [row * across + column for row in drawn for column in range(across)]
    grid = Grid(
        (),
        [_text(wanted[word]) if word in wanted else "" for word in cells],
        [_tint(word, wanted, moved) for word in cells],
        [wanted[word][0] if word in wanted else -1 for word in cells],
        words=[_words(word, wanted.get(word, []), word * WORD // SECTOR in moved) for word in cells],
    )
    gaps = [int(after != before + 1) for before, after in pairwise(drawn)]
    down = PaneAxis(None, "", tuple([str(row * LINE) for row in drawn]), (0, *gaps, 0))
    rules = tuple([int(0 < k < across and k * WORD % SECTOR == 0) for k in range(across + 1)])
    columns = PaneAxis(None, "byte", tuple([str(k * WORD) for k in range(across)]), rules)
    where = [f"warp {warp}"] * (len(asked.counts) > 1) + [f"access {access}"] * (asked.counts.shape[1] > 1)
    told = [plural(int(asked.counts[warp, access]), "sector"), plural(int(asked.lines[warp, access]), "line")]
    pane = Pane(", ".join([*where, *told]), "threads", down, columns, [grid], outside="moved, and nobody wants it")
    notes = [*str(asked).splitlines(), "A row is a line of 128 bytes and begins at the byte on its left."]
    notes += [f"{plural(len(rows) - len(drawn), 'line')} more not drawn."] if len(drawn) < len(rows) else []
    wasted = any(tint == PADDING for tint in grid.tints)
    return Scene([pane], [LegendEntry((PADDING,), "moved, and nobody wants it")] if wasted else [], notes)


def _tint(word: int, wanted: dict[int, list[int]], moved: set[int]) -> int:
    if word in wanted:
        return wanted[word][0] % CATEGORIES
    return PADDING if word * WORD // SECTOR in moved else PLAIN


def _text(lanes: list[int]) -> str:
    return f"T{lanes[0]}" + (f" +{len(lanes) - 1}" if len(lanes) > 1 else "")


def _words(word: int, lanes: list[int], moved: bool) -> str:
    """What a cell is, and on a second line where."""
    what = lanes_text(lanes) if lanes else "moved, and nobody wants it" if moved else "not moved"
    return f"{what}\nbyte {word * WORD}, sector {word * WORD // SECTOR}"
