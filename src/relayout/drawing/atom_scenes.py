"""Instructions as pictures: A and B around C, or what a copy reads beside what it delivers."""

from __future__ import annotations

from itertools import product

from ..algebra.recast import upcast
from ..errors import LayoutError, NotExpressible
from ..hardware.atom import Atom, Operand
from ..layout.layout import Layout
from .scene import Pane, Scene
from .threads import OWNERS, Owner, check_limit, owners_pane, shared_notes

WORDS = (128, 64, 32, 16, 8, 4, 2, 1)
"""How many bits of a copy are drawn as one cell, if they stay together: the most that do."""


def atom_scene(atom: Atom, limit: int) -> Scene:
    """Of a product B above C and A left of it, so that a row of A and a column of B meet at their sum.

    Of several blocks the first is drawn. A sparse A has columns j of what is kept.
    """
    if "A" in [operand.name for operand in atom.operands]:
        a, b, c = (_first_block(atom.operand(name)) for name in "ABC")
        _check(limit, a, b, c)
        along = "k" if a.tile[1] == b.tile[1] else "j"
        drawn = [_Drawn(atom, b, ("k", "n"), turned=True), _Drawn(atom, a, ("m", along)), _Drawn(atom, c, ("m", "n"))]
        return Scene([one.pane() for one in drawn], [], _notes(atom, drawn), around=True)
    drawn = [_Drawn(atom, operand, ("", ""), turned=True) for operand in _in_words(atom)]
    _check(limit, *[one.operand for one in drawn])
    return Scene([one.pane() for one in drawn], [], _notes(atom, drawn))


def _notes(atom: Atom, drawn: list[_Drawn]) -> list[str]:
    blocks = [f"block 0 of {atom.blocks}"] if atom.blocks > 1 else []
    return [atom.name, *blocks, *shared_notes([one.owners for one in drawn])]


def _first_block(operand: Operand) -> Operand:
    """The operand with the tile of one block; what lies beyond it is in others."""
    return operand._replace(tile=operand.tile[:2])


def _check(limit: int, *operands: Operand) -> None:
    for operand in operands:
        check_limit(Layout(operand.tile).size, limit)
        if operand.where != "shared memory":
            check_limit(operand.layout.size, OWNERS)


class _Drawn:
    """An operand by its tile: who holds each place, or for shared memory only which place it is."""

    def __init__(self, atom: Atom, operand: Operand, names: tuple[str, str], turned: bool = False) -> None:
        self.operand, self.names, self.turned = operand, names, turned
        self.owners: dict[int, list[Owner]] = {}
        if operand.where == "shared memory" and operand.name in "AB":
            return
        places = Layout(operand.tile).size
        for thread, value in product(*[range(n) for n in operand.layout.extents]):
            index = operand.layout(thread, value)
            if index >= places:
                continue
            held = self.owners.setdefault(self._place(index), [])
            if "registers" in operand.where or not held:  # all threads name memory together, and the first one counts
                held.append((thread if atom.lanes is None else atom.lanes(thread), value))

    @property
    def sides(self) -> tuple[int, int]:
        first = self.operand.tile[0]
        sides = (first, Layout(self.operand.tile).size // first)
        return (sides[1], sides[0]) if self.turned else sides

    def _place(self, index: int) -> int:
        """The number of a cell, row by row."""
        second, first = divmod(index, self.operand.tile[0])
        return second * self.sides[1] + first if self.turned else first * self.sides[1] + second

    def pane(self) -> Pane:
        operand, (rows, columns) = self.operand, self.sides
        where = "" if operand.where == "registers" else f", {operand.where}"
        title = f"{operand.name}: {operand.element} {rows} x {columns}{where}"
        letter = "L" if operand.where == "tensor memory" else "T"
        return owners_pane(title, rows, columns, self.owners, self.names, letter)


def _in_words(atom: Atom) -> list[Operand]:
    """What a copy reads and delivers, over words as long as both keep together."""
    for bits in WORDS:
        try:
            return [_upcast(operand, bits) for operand in atom.operands]
        except LayoutError:
            continue
    return list(atom.operands)


def _upcast(operand: Operand, bits: int) -> Operand:
    """The operand in elements of so many bits, or bytes' worth of them; refused where they are not together."""
    count = bits // 8 if operand.element == "b8" else bits
    layout = upcast(operand.layout, count)
    if layout.extents[0] != operand.layout.extents[0] or layout.size * count != operand.layout.size:
        raise NotExpressible(f"{operand.layout} parts {bits} bits.", hint="take fewer", layout=operand.layout)
    tile = (operand.tile[0] // count, *operand.tile[1:])
    return operand._replace(layout=layout, tile=tile, element=f"b{bits}")
