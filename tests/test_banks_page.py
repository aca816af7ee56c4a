"""The page of banks is current, and its tables have every access of every architecture."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from relayout.hardware import architecture_named, architecture_names


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    path = Path(__file__).parent.parent / "docs" / "make_banks.py"
    spec = importlib.util.spec_from_file_location("make_banks", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current(maker: ModuleType) -> None:
    text = maker.PAGE.read_text()
    assert maker.page(text) == text, "python docs/make_banks.py"


def test_every_access_has_a_row(maker: ModuleType) -> None:
    tables = maker.tables()
    for arch in map(architecture_named, architecture_names()):
        assert f"`{arch.name}`" in tables
        for name in arch.accesses:
            assert any(f"`{name}`" in line and arch.name in line for line in tables.splitlines()), (arch.name, name)
        for name in arch.refused:
            assert any(name in line and arch.name in line for line in tables.splitlines()), (arch.name, name)
