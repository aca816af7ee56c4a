"""The kit of laws: what is ours keeps them, and what breaks one is told which."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import relayout as rl
from relayout import Format, Layout
from relayout.catalog import Entry
from relayout.dialects import mojo
from relayout.dialects.registry import BUILT_IN
from relayout.testing import ConformanceError, conformance


@pytest.mark.parametrize("dialect", BUILT_IN)
def test_every_dialect_of_ours_conforms(dialect: str) -> None:
    conformance(dialect)


def test_every_named_format_of_ours_conforms() -> None:
    for name in rl.catalog.names():
        conformance(name)


def forgets_strides(text: str) -> Layout:
    return Layout(mojo.parse(text).shape)


def crashes(text: str) -> Layout:
    return mojo.parse(text) if text.startswith("(") else Layout(int(text), 1)


def reads_all(text: str) -> Layout:
    return Layout(1, 0)


def refuses_all(x: Any, dtype: Any = None) -> str:
    raise rl.NotExpressible("no.", hint="none")


def refuses_without_a_hint(x: Any, dtype: Any = None) -> str:
    raise rl.NotExpressible("no.")


@pytest.mark.parametrize(
    ("parse", "render", "examples", "law"),
    [
        (forgets_strides, mojo.render, ("(4:2)",), "It writes only what it reads back"),
        (crashes, mojo.render, ("(4:1)",), "It refuses a broken text"),
        (reads_all, refuses_all, ("x",), "It refuses the texts of other dialects"),
        (mojo.parse, refuses_all, (), "It has EXAMPLES"),
        (mojo.parse, refuses_all, ("no layout",), "It has EXAMPLES"),
        (mojo.parse, refuses_without_a_hint, ("(4:1)",), "It writes only what it reads back"),
        (mojo.parse, lambda x, dtype=None: 7, ("(4:1)",), "It writes only what it reads back"),
    ],
)
def test_a_dialect_that_breaks_a_law_is_told_which(parse: Any, render: Any, examples: Any, law: str) -> None:
    with pytest.raises(ConformanceError) as caught:
        conformance(SimpleNamespace(parse=parse, render=render, EXAMPLES=examples))
    assert any(failure.startswith(law) for failure in caught.value.failures)


@pytest.mark.parametrize(
    "entry",
    [
        Entry("Brick", "hw", {None: Format(2, [(0, 0), (1, 0)], axes="hw")}, "a guide"),
        Entry("acme:Brick", "wh", {None: Format(2, [(0, 0), (1, 0)], axes="hw")}, "a guide"),
        Entry("acme:Brick", "hw", {}, "a guide"),
        Entry("acme:Brick", "hw", {None: Format(2, [(0, 0), (1, 0)], axes="hw")}, ""),
    ],
)
def test_a_format_that_breaks_a_law_is_told(entry: Entry) -> None:
    with pytest.raises(ConformanceError, match="does not conform"):
        conformance(entry)


def test_what_is_nothing_to_check() -> None:
    with pytest.raises(rl.ShapeError, match="nothing to check"):
        conformance(5)
