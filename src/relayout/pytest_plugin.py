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
def assert_layout() -> Callable[..., None]:
    """``assert_layout(x, "htp:R4Crouton")`` fails the test unless ``x`` has that layout, and says what it has."""
    return fail_unless


def fail_unless(x: Any, expects: Any, *, axes: str | None = None) -> None:
    """Fail the test unless ``x`` has the layout."""
    from relayout.errors import LayoutMismatch
    from relayout.guards import check

    try:
        check(x, expects, axes=axes)
    except LayoutMismatch as mismatch:
        pytest.fail(str(mismatch), pytrace=False)
