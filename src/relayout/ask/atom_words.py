"""An atom in plain words: the row and the column of each value of each thread, as a vendor's manual writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..algebra.building import make_identity_layout
from ..algebra.composition import composition
from ..errors import NotExpressible
from ..hardware.atom import Atom, Operand
from ..integers.nested import flatten, product
from ..layout.basis import Basis
from ..layout.layout import Layout

DIMENSIONS = {"A": "mk", "B": "nk", "C": "mn", "D": "mn", "E": "mj", "SFA": "ms", "SFB": "ns"}
"""The names of an operand's dimensions; s counts the parts of k that have a scale, j what a sparse A keeps."""


def atom_lines(atom: Atom) -> Iterator[str]:
    """What it does, where each operand's elements are, and by whom that is known."""
    sizes = " x ".join(map(str, atom.shape))
    blocks = f" in each of {atom.blocks} blocks b" if atom.blocks > 1 else ""
    one = "1 thread" if atom.threads == 1 else f"{atom.threads} threads t"
    what = "D = A * B + C" if any(operand.name == "C" for operand in atom.operands) else "A copy"
    yield f"{atom.name}: {what} of {sizes}{blocks}, by {one} with values v."
    for operand, name in _with_names(atom.operands):
        formulas = operand_formulas(atom, operand)
        where = "" if operand.where == "registers" else f" in {operand.where}"
        told = ", ".join(formulas) if formulas else operand.layout.to("cute")
        yield f"{name} ({operand.element} {' x '.join(map(str, operand.tile))}{where}): {told}{_copies(operand)}."
    yield f"Since {atom.arch}; {atom.source}."
    if atom.judges:
        yield f"Judged by {', '.join(atom.judges)}."
    if atom.note:
        yield f"{atom.note[0].upper()}{atom.note[1:]}."


def operand_formulas(atom: Atom, operand: Operand) -> list[str]:
    """The formulas of an operand of the atom: a sparse A counts what it keeps."""
    kept = operand.name == "A" and operand.tile[1] < atom.shape[2]
    return index_formulas(operand, "mj" if kept else None)


def index_formulas(operand: Operand, names: str | None = None) -> list[str]:
    """Each coordinate of the tile as a sum of digits of the thread t and the value v; empty where it is no such sum.

    ``names`` are those of the dimensions, where they are not the usual ones of the operand.

    >>> from relayout import atoms
    >>> index_formulas(atoms["v_mfma_f32_32x32x8_f16"].operand("C"))
    ['m = v%4 + 4*(t//32) + 8*(v//4)', 'n = t%32']
    """
    if operand.layout.swizzle is not None:
        return []
    try:
        placed = composition(make_identity_layout(operand.tile), operand.layout)
    except NotExpressible:
        return []
    if not isinstance(placed, Layout):
        return []
    usual = names or DIMENSIONS.get(operand.name)
    called = [*usual, "b"] if usual else [f"i{d}" for d in range(len(operand.tile))]
    terms: list[list[tuple[int, str]]] = [[] for _ in operand.tile]
    for variable, shape, stride in zip("tv", placed.shape, placed.stride):
        for digit, step in _digits(variable, shape, stride):
            for (dimension,), scale in step.terms:
                terms[dimension].append((scale, digit))
    return [f"{name} = {_total(found)}" for name, found in zip(called, terms)]


def _digits(variable: str, shape: Any, stride: Any) -> Iterator[tuple[str, Basis]]:
    whole, below = product(shape), 1
    for size, step in zip(flatten(shape), flatten(stride)):
        if size > 1 and isinstance(step, Basis):
            shifted = variable if below == 1 else f"{variable}//{below}"
            yield (shifted if below * size == whole else f"{shifted}%{size}"), step
        below *= size


def _total(terms: list[tuple[int, str]]) -> str:
    parts = [digit if scale == 1 else f"{scale}*{_factor(digit)}" for scale, digit in sorted(terms)]
    return " + ".join(parts) or "0"


def _factor(digit: str) -> str:
    return digit if digit.isalpha() else f"({digit})"


def _with_names(operands: tuple[Operand, ...]) -> Iterator[tuple[Operand, str]]:
    """The operands with the names that they go by: C and D are told of once where they are alike."""
    for operand in operands:
        alike = operand.name in "CD" and operand._replace(name="CD".replace(operand.name, "")) in operands
        if not alike:
            yield operand, operand.name
        elif operand.name == "C":
            yield operand, "C and D"


def _copies(operand: Operand) -> str:
    """How often an element is held."""
    times = operand.layout.size // product(operand.tile)
    return f"; each element {times} times" if times > 1 else ""
