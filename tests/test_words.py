"""The words of the code: a class name exists once, docstrings stand alone, functions are verbs or nouns, and the
glossary names what there is."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import relayout

SOURCE = Path(relayout.__file__).parent
ROOT = Path(__file__).parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"

PARTICIPLE = re.compile(
    r"\w+[^e]ed|along|built|chosen|done|drawn|found|given|held|kept|known|laid|made|met|sent|shown|taken|told|written"
)
FIELD_WORDS = {
    "coalesced": "the layout algebra's word",
    "packed": "Core AI's word for its default strides",
    "unscattered": "blocks that follow each other",
    "aligned": "public: Format.aligned",
    "batched": "public: Format.batched",
    "renamed": "public: Format.renamed",
    "stored": "public: Tensor.stored, the stored values",
    "shown": "what an error message shows of a value",
}
"""Participles that are the field's word, or a public name, and why."""


def definitions() -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef]]:
    """Every class and function with the name of its module below ``relayout``."""
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                yield module, node


DEFINITIONS = list(definitions())


def test_a_class_name_exists_once() -> None:
    homes = defaultdict(list)
    for module, node in DEFINITIONS:
        if isinstance(node, ast.ClassDef):
            homes[node.name.strip("_")].append(module)
    twice = {name: modules for name, modules in homes.items() if len(modules) > 1}
    assert not twice, twice


def test_a_docstring_stands_alone() -> None:
    leaning = {
        f"{module}.{node.name}"
        for module, node in DEFINITIONS
        if re.match(r"the same\b", ast.get_docstring(node) or "", re.IGNORECASE)
    }
    assert not leaning, leaning


def test_no_function_is_a_bare_participle() -> None:
    bare = defaultdict(list)
    for module, node in DEFINITIONS:
        word = node.name.strip("_")
        participle = "_" not in word and PARTICIPLE.fullmatch(word)
        if isinstance(node, ast.FunctionDef) and participle and word not in FIELD_WORDS and not _is_property(node):
            bare[module.partition(".")[0]].append(f"{module}.{node.name}")
    assert not bare, dict(bare)


def _is_property(node: ast.FunctionDef) -> bool:
    """Whether it is read as an attribute, where an adjective is the right word."""
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


ENTRIES = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("- **")] if GLOSSARY.exists() else []


def test_the_glossary_is_in_order_and_says_each_term_once() -> None:
    sections: list[list[str]] = []
    for line in GLOSSARY.read_text().splitlines():
        if line.startswith("## "):
            sections.append([])
        elif line.startswith("- **"):
            sections[-1].append(line.split("**")[1].lower())
    terms = [term for section in sections for term in section]
    assert len(terms) == len(set(terms)) > 50
    for section in sections:
        assert section == sorted(section)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.split("**")[1])
def test_what_the_glossary_names_exists(entry: str) -> None:
    places = [code for code in re.findall("`([^`]+)`", entry) if re.fullmatch(r"[\w/.]+", code) and "." in code]
    assert places, "an entry says where its term is in the code"
    for place in places:
        if "/" in place:
            assert (ROOT / place).is_file(), place
        else:
            look_up(place)


def look_up(path: str) -> object:
    """What a dotted path below ``relayout`` leads to: a module, or a name in one."""
    parts = path.removeprefix("relayout.").split(".")
    for k in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(["relayout", *parts[:k]]))
        except ModuleNotFoundError:
            continue
        break
    else:
        k, found = 0, relayout
    for name in parts[k:]:
        fields = getattr(found, "__annotations__", {})
        found = fields[name] if name in fields and not hasattr(found, name) else getattr(found, name)
    return found
