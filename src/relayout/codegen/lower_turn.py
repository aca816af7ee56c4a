"""A tile turned: its columns become rows, by passes that weave two halves of an array into one.

Weaving ``a0 a1 a2 ...`` and ``b0 b1 b2 ...`` to ``a0 b0 a1 b1 ...`` doubles the number of every place, modulo one less
than the length. So as many passes as the rows are doublings of one take entry (i, j) of so many rows to (j, i); and
passes backwards do it where the columns are a power of two. Compilers make vectors of such passes.
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
    Expression,
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


def turn_routines(owner: str, kind: str, tile: NestTile) -> list[Routine]:
    """``tile``, which moves a tile from one memory to another, and the pass that it repeats."""
    rows, columns = tile.rows, tile.columns
    length = rows * columns
    weaves = rows.bit_count() == 1 and (columns.bit_count() != 1 or rows <= columns)
    passes = (rows if weaves else columns).bit_length() - 1
    memories = ("a", "b")
    steps: list[Statement] = [
        Do(Call(owner, "weave", (Name(memories[k % 2]), Name(memories[(k + 1) % 2])))) for k in range(passes)
    ]
    into = At("a", product([ROW, Number(columns)]))
    read = Copy(into, At("from", product([ROW, Name("from_step")])), Number(columns))
    out = At(memories[passes % 2], product([ROW, Number(rows)]))
    written = Copy(At("to", product([ROW, Name("to_step")])), out, Number(rows))
    body: list[Statement] = [
        LocalArray("a", kind, length),
        LocalArray("b", kind, length),
        For("", "i", Number(0), Number(rows), (read,)),
        *steps,
        For("", "i", Number(0), Number(columns), (written,)),
    ]
    about = (f"Turns a tile: {rows} rows of {columns} elements become {columns} rows of {rows}.",)
    parameters = (
        Parameter("from", kind, "src"),
        Parameter("from_step", INDEX),
        Parameter("to", kind, "dst"),
        Parameter("to_step", INDEX),
    )
    return [_weave(owner, kind, length, weaves), Routine(owner, "tile", about, parameters, None, tuple(body))]


def _weave(owner: str, kind: str, length: int, forwards: bool) -> Routine:
    half = length // 2
    even, odd = product([Number(2), K]), total([product([Number(2), K]), Number(1)])
    first, second = K, total([K, Number(half)])
    pairs: list[tuple[Expression, Expression]] = [(even, first), (odd, second)]
    if not forwards:
        pairs = [(y, x) for x, y in pairs]
    moves = tuple([Assign(At("to", to), At("from", place)) for to, place in pairs])
    words = "Weaves two halves into one: a0 a1 ... and b0 b1 ... become a0 b0 a1 b1 ..."
    if not forwards:
        words = "Parts what is woven: a0 b0 a1 b1 ... becomes a0 a1 ... and b0 b1 ..."
    parameters = (Parameter("from", kind, "src"), Parameter("to", kind, "dst"))
    return Routine(owner, "weave", (words,), parameters, None, (For("", "k", Number(0), Number(half), moves),))
