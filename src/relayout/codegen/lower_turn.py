"""A tile turned: its columns become rows, by passes that weave two halves of an array into one.

Weaving ``a0 a1 a2 ...`` and ``b0 b1 b2 ...`` to ``a0 b0 a1 b1 ...`` doubles the number of every place, modulo one less
than the length; weaving four parts is two such steps. So as many of them as the rows are doublings of one take entry
(i, j) of so many rows to (j, i), and steps backwards do it where the columns are a power of two. Compilers make
vectors of such passes.
"""

from __future__ import annotations

from .loop_nest import NestTile
from .statements import (
    INDEX,
    Assign,
    At,
    Call,
    Copy,
    Do,
    For,
    LocalArray,
    Name,
    Number,
    Parameter,
    Routine,
    Statement,
    product,
    total,
)

ROW, K = Name("i"), Name("k")


def turn_routines(owner: str, kind: str, tile: NestTile, streams: int) -> list[Routine]:
    """``tile``, which moves a tile from one memory to another, and the passes that it repeats; with ``streams`` its
    rows are written past the caches.
    """
    rows, columns = tile.rows, tile.columns
    length = rows * columns
    weaves = rows.bit_count() == 1 and (columns.bit_count() != 1 or rows <= columns)
    passes = (rows if weaves else columns).bit_length() - 1
    memories = ("a", "b")
    ways = [4] * (passes // 2) + [2] * (passes % 2)
    steps: list[Statement] = [
        Do(Call(owner, WEAVES[way], (Name(memories[k % 2]), Name(memories[(k + 1) % 2])))) for k, way in enumerate(ways)
    ]
    last = memories[len(ways) % 2]
    into = At("a", product([ROW, Number(columns)]))
    read: Statement = Copy(into, At("from", product([ROW, Name("from_step")])), Number(columns))
    read = For("", "i", Number(0), Number(rows), (read,))
    if tile.whole[0]:
        read = Copy(At("a", Number(0)), At("from", Number(0)), Number(length))
    out = At(last, product([ROW, Number(rows)]))
    written: Statement = Copy(At("to", product([ROW, Name("to_step")])), out, Number(rows), streams)
    written = For("", "i", Number(0), Number(columns), (written,))
    if tile.whole[1]:
        written = Copy(At("to", Number(0)), At(last, Number(0)), Number(length), streams)
    body: list[Statement] = [
        LocalArray("a", kind, length),
        LocalArray("b", kind, length),
        read,
        *steps,
        written,
    ]
    about = (f"Turns a tile: {rows} rows of {columns} elements become {columns} rows of {rows}.",)
    parameters = (
        Parameter("from", kind, "src"),
        *[Parameter("from_step", INDEX)] * (not tile.whole[0]),
        Parameter("to", kind, "dst"),
        *[Parameter("to_step", INDEX)] * (not tile.whole[1]),
    )
    woven = [_weave(owner, kind, length, way, weaves) for way in dict.fromkeys(ways)]
    return [*woven, Routine(owner, "tile", about, parameters, None, tuple(body))]


WEAVES = {4: "weave", 2: "pair"}
"""What the passes that weave four parts into one, or two, are called."""


def _weave(owner: str, kind: str, length: int, ways: int, forwards: bool) -> Routine:
    part = length // ways
    moves = []
    for j in range(ways):
        woven = total([product([Number(ways), K]), *[Number(j)] * bool(j)])
        apart = total([K, *[Number(j * part)] * bool(j)])
        to, place = (woven, apart) if forwards else (apart, woven)
        moves.append(Assign(At("to", to), At("from", place)))
    letters = "abcd"[:ways]
    parts = " and ".join([f"{x}0 {x}1 ..." for x in letters])
    one = " ".join([f"{x}{k}" for k in range(2) for x in letters])
    words = f"Weaves {parts} to {one} ..." if forwards else f"Parts {one} ... into {parts}"
    parameters = (Parameter("from", kind, "src"), Parameter("to", kind, "dst"))
    loop = For("", "k", Number(0), Number(part), tuple(moves))
    return Routine(owner, WEAVES[ways], (words,), parameters, None, (loop,))
