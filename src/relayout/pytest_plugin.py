"""A pytest plugin: the guards are on while tests run, and ``assert_layout`` is a fixture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def pytest_configure() -> None:
    from relayout.guards import guard

    guard(True)


def pytest_unconfigure() -> None:
    from relayout.guards import guard

    guard(None)


@pytest.fixture
def assert_layout() -> Callable[..., Any]:
    """``assert_layout(x, "htp:R4Crouton")`` fails the test unless ``x`` has that layout, and says what it has."""
    from relayout.errors import LayoutMismatch
    from relayout.guards import check

    def assert_layout(x: Any, expects: Any, *, axes: str | None = None) -> None:
        __tracebackhide__ = True
        try:
            check(x, expects, axes=axes)
        except LayoutMismatch as mismatch:
            pytest.fail(str(mismatch), pytrace=False)

    return assert_layout
