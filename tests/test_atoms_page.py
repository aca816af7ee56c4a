"""The page of the atoms is current, and its braces stand for every name, once."""

from __future__ import annotations

import importlib.util
import re
from itertools import product
from pathlib import Path
from types import ModuleType

import pytest

import relayout as rl


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    path = Path(__file__).parent.parent / "docs" / "make_atoms.py"
    spec = importlib.util.spec_from_file_location("make_atoms", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expanded(text: str) -> list[str]:
    """What a shell makes of braces."""
    parts: list[list[str]] = []
    for plain, braces in re.findall(r"([^{]*)(?:\{(.*?)\})?", text):
        parts.append([plain])
        if found := re.fullmatch(r"(\d+)\.\.(\d+)\.\.(\d+)", braces):
            first, last, step = map(int, found.groups())
            parts.append([str(n) for n in range(first, last + 1, step)])
        elif braces:
            parts.append(braces.split(","))
    return ["".join(chosen) for chosen in product(*parts)]


def rows_of(maker: ModuleType) -> list[str]:
    tables = maker.PAGE.read_text().partition(maker.START)[2].partition(maker.END)[0]
    return [line for line in tables.splitlines() if line.startswith("| `")]


def test_the_page_is_current(maker: ModuleType) -> None:
    text = maker.PAGE.read_text()
    assert maker.page(text) == text, "python docs/make_atoms.py"


def test_the_page_names_every_atom_once(maker: ModuleType) -> None:
    named = [
        name
        for row in rows_of(maker)
        for text in re.findall(r"`(.*?)`", row.split(" | ")[0])
        for name in expanded(text)
    ]
    assert len(named) == len(set(named))
    assert set(named) == set(rl.atoms)
    assert expanded("a{b,c}.n{8..24..8}") == ["ab.n8", "ab.n16", "ab.n24", "ac.n8", "ac.n16", "ac.n24"]


def test_a_row_tells_the_layouts_of_its_first_atom(maker: ModuleType) -> None:
    for names, shape, threads, layouts, since, judges in [line.split(" | ") for line in rows_of(maker)]:
        atom = rl.atoms[expanded(re.findall(r"`(.*?)`", names)[0])[0]]
        assert shape.startswith("x".join(map(str, atom.shape)))
        assert int(threads) == atom.threads
        assert since == atom.arch
        assert judges.removesuffix(" |") == ", ".join(atom.judges)
        for which, text in re.findall(r"(\w+) `(.*?)`", layouts):
            assert rl.compare(f"cute:{text}", atom.operand(which).layout)
