"""A pytest plugin: guards are on in every test run, and ``assert_layout`` is a fixture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def pytest_configure() -> None:
    import os

    os.environ["RELAYOUT_GUARDS"] = "1"


@pytest.fixture
def assert_layout() -> Callable[..., Any]:
    """``assert_layout(x, "htp:R4Crouton")`` fails the test unless ``x`` has that layout, and says what it has."""
    from relayout.guards import check

    return check
