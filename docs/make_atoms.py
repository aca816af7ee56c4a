"""Writes the tables of docs/atoms.md from the atoms: ``python docs/make_atoms.py``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import groupby, pairwise
from math import prod
from pathlib import Path

from relayout.hardware.atom import Atom
from relayout.hardware.atoms import TABLES

PAGE = Path(__file__).parent / "atoms.md"
START, END = "<!-- tables of the atoms -->\n", "<!-- end of tables -->\n"
VENDORS = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel"}

_TOKENS = re.compile(r"([._]|(?<=\d)(?=[nk]\d))")
_COUNTED = re.compile(r"(?<=[nx])\d+(?=k\d|$)")
"""What tells the members of a family apart: the n of a shape, the number of repetitions of a copy."""


def in_braces(names: Sequence[str]) -> list[str]:
    """The names with what differs in braces, as a shell expands them: ``mma.{a,b}``, ``n{8..32..8}``."""
    split = [_TOKENS.split(name) for name in names]
    if len({len(tokens) for tokens in split}) == 1:
        options = [list(dict.fromkeys(column)) for column in zip(*split, strict=True)]
        if prod(map(len, options)) == len(names):
            return ["".join(map(_alternatives, options))]
        place = next(i for i, values in enumerate(options) if len(values) > 1)
        parts = [[n for n, tokens in zip(names, split) if tokens[place] == value] for value in options[place]]
    else:
        parts = [[n for n, t in zip(names, split) if len(t) == size] for size in dict.fromkeys(map(len, split))]
    return [text for part in parts for text in in_braces(part)]


def _alternatives(values: Sequence[str]) -> str:
    if len(values) == 1:
        return values[0]
    letter, numbers = values[0][:1], [value[1:] for value in values]
    if len(values) > 2 and all(value[:1] == letter and value[1:].isdecimal() for value in values):
        counts = [int(number) for number in numbers]
        steps = {b - a for a, b in pairwise(counts)}
        if len(steps) == 1:
            return f"{letter}{{{counts[0]}..{counts[-1]}..{steps.pop()}}}"
    return f"{{{','.join(values)}}}"


def families(atoms: Iterable[Atom]) -> list[list[Atom]]:
    """Atoms that lie alike, and with them those that differ in the size of n or in a number of repetitions only."""
    same: dict[object, list[Atom]] = {}
    for atom in atoms:
        held = tuple((one.name, one.layout, one.tile, one.where) for one in atom.operands)
        same.setdefault((held, atom.threads, atom.judges, atom.arch), []).append(atom)
    grown: dict[object, list[Atom]] = {}
    for (_, *rest), group in same.items():  # type: ignore[misc]
        grown.setdefault((*rest, *[_COUNTED.sub("#", atom.name) for atom in group]), []).extend(group)
    return list(grown.values())


def row(family: Sequence[Atom]) -> str:
    first = family[0]
    names = "<br>".join([f"`{text}`" for text in in_braces([atom.name for atom in family])])
    shape = "x".join(map(str, first.shape)) + (f", {first.blocks} blocks" if first.blocks > 1 else "")
    if len({atom.shape for atom in family}) > 1:
        shape += ", ..."
    held = [one for one in first.operands if one.name != "D" or one.layout != first.operand("C").layout]
    operands = "<br>".join([f"{one.name} `{one.layout.to('cute')}`" for one in held])
    return f"| {names} | {shape} | {first.threads} | {operands} | {first.arch} | {', '.join(first.judges)} |\n"


def tables() -> str:
    """One table for every source of every vendor."""
    parts = []
    for vendor, modules in groupby(TABLES, lambda table: table.partition("_")[0]):
        parts.append(f"## {VENDORS[vendor]}\n\n")
        atoms = [a for table in modules for a in import_module(f"relayout.hardware.{table}").atoms()]
        for source, group in groupby(atoms, lambda atom: atom.source):
            rows = "".join([row(family) for family in families(group)])
            head = "| instruction | m x n x k | threads | layouts | since | judged by |\n|---|---|---|---|---|---|\n"
            parts.append(f"{source}\n\n{head}{rows}\n")
    return "\n" + "".join(parts)


def page(text: str) -> str:
    """The page with its tables replaced by the current ones."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return before + START + tables() + END + after


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
