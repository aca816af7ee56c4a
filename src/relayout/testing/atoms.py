"""The laws of atoms: every element of an operand has a thread that holds it, and all has a source and a judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import LayoutError
from ..hardware.atom import Atom, check_atom
from ..hardware.atoms import atoms
from ..layout.layout import Layout
from .laws import check_laws

PRODUCT = {"A": (0, 2), "B": (1, 2), "C": (0, 1), "D": (0, 1)}
"""Which of m, n and k the sides of an operand are."""


def find_atom(x: Any) -> Atom | None:
    """The atom that ``x`` is, or that it names."""
    return x if isinstance(x, Atom) else atoms.get(x)


def check_atom_laws(atom: Atom) -> None:
    """Hold an atom against every law."""
    check_laws(f"the atom {atom.name}", atom, LAWS)


def fits_its_threads_and_tiles(atom: Atom) -> Iterator[str]:
    """Every layout has a mode of threads and one of values, and stays in the tile of its operand."""
    try:
        check_atom(atom)
    except LayoutError as error:
        yield f"- {error.message}"


def holds_every_element(atom: Atom) -> Iterator[str]:
    """Every element of an operand is held by some thread."""
    for operand in atom.operands:
        places, layout = Layout(operand.tile).size, operand.layout
        alike = layout[0].max_offset == layout[0].min_offset  # as in shared memory: every thread names all of it
        threads = range(1 if alike else layout.extents[0])
        held = {layout(t, v) for t in threads for v in range(layout.extents[1])}
        missing = next((place for place in range(places) if place not in held), None)
        if missing is not None:
            yield f"- nobody holds place {missing} of {operand.name}"


def has_the_sides_of_a_product(atom: Atom) -> Iterator[str]:
    """The operands of a product have the sides that its shape says, then blocks; a sparse A has half of k."""
    names = [operand.name for operand in atom.operands]
    if "A" not in names:
        return
    behind = (atom.blocks,) if atom.blocks > 1 else ()
    for operand in atom.operands:
        if operand.name in PRODUCT:
            first, second = [atom.shape[side] for side in PRODUCT[operand.name]]
            sides = (first, second // 2 if operand.name == "A" and "E" in names else second, *behind)
            if operand.tile != sides:
                yield f"- {operand.name} is {operand.tile}, not {sides}"


def gives_each_thread_a_lane(atom: Atom) -> Iterator[str]:
    """Where threads are not counted as lanes are, each has a lane of its own."""
    if atom.lanes is not None and (atom.lanes.size != atom.threads or not atom.lanes.is_injective()):
        yield f"- {atom.threads} threads and lanes {atom.lanes}"


def says_where_it_is_from(atom: Atom) -> Iterator[str]:
    """It has a name, an architecture, a source and a judge."""
    for what in ("name", "arch", "source", "judges"):
        if not getattr(atom, what):
            yield f"- no {what}"


LAWS = (
    fits_its_threads_and_tiles,
    holds_every_element,
    has_the_sides_of_a_product,
    gives_each_thread_a_lane,
    says_where_it_is_from,
)
