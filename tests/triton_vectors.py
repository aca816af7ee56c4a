"""Triton's own linear layouts, as its wheel gave them: the encoding as it prints it, the shape, and the bases.

``tests/ttg_vectors`` has the lines and the scripts that made them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "ttg_vectors"


class Vector(NamedTuple):
    """One encoding at one shape; ``bases`` has a coordinate for each bit of an input."""

    text: str
    shape: tuple[int, ...]
    bases: dict[str, list[tuple[int, ...]]]


@cache
def vectors(name: str) -> list[Vector]:
    """The lines of one file: ``operands`` has one tile of every matrix instruction."""
    return [_vector(line) for line in (FOLDER / f"{name}.txt").read_text().splitlines()]


def _vector(line: str) -> Vector:
    text, sizes, bases = line.split("\t")
    inputs = dict(part.split("=") for part in bases.split(" "))
    return Vector(text, _integers(sizes, "x"), {name: _basis(given) for name, given in inputs.items()})


def _basis(text: str) -> list[tuple[int, ...]]:
    return [_integers(one, ",") for one in text.split(";") if one]


def _integers(text: str, separator: str) -> tuple[int, ...]:
    return tuple([int(n) for n in text.split(separator)])
