"""Atoms on the page: the picture of an instruction that the first field names, and what there is to tell of it."""

from __future__ import annotations

from typing import Any

from ..ask.explain import explain
from ..hardware.atom import Atom
from ..hardware.atoms import as_atom
from .state import State, blame_field

DRAWN = ("", "look", "threads")
"""What is done with a field that may hold the name of an atom."""


def atom_in(state: State) -> Atom | None:
    """The atom that the first field names; a name that is none is refused with those near it."""
    if state.do not in DRAWN:
        return None
    with blame_field("a"):
        return as_atom(state.a)


def atom_json(atom: Atom) -> dict[str, Any]:
    """What the page shows beside the field."""
    told = f"{'x'.join(map(str, atom.shape))} on {atom.threads} threads, since {atom.arch}"
    return {"label": "A", "layout": told, "shape": [], "names": [], "example": False}


def atom_sheet(atom: Atom) -> dict[str, Any]:
    """The ledger of an atom, its explanation, and the layouts of its operands."""
    ledger = [("shape", "x".join(map(str, atom.shape))), ("threads", str(atom.threads)), ("since", atom.arch)]
    ledger += [("blocks", str(atom.blocks))] if atom.blocks > 1 else []
    return {
        "label": "A",
        "title": atom.name,
        "ledger": [*ledger, ("source", atom.source), ("judged by", ", ".join(atom.judges))],
        "words": explain(atom).splitlines(),
        "rosetta": [{"notation": one.name, "text": one.layout.to("cute"), "reason": ""} for one in atom.operands],
    }


def python_of_atom(atom: Atom) -> list[str]:
    """The lines of Python that tell of it and draw the picture."""
    return [f"print(rl.explain({atom.name!r}))", f'rl.draw({atom.name!r}).save("picture.svg")']
