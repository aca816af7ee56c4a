"""A pytest plugin: the guards are on while tests run, and ``assert_layout`` is a fixture.

It is a package of its own, so that a test run imports relayout only where a test does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

_before = pytest.StashKey[str | None]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_before] = os.environ.get("RELAYOUT_GUARDS")
    os.environ["RELAYOUT_GUARDS"] = "1"


def pytest_unconfigure(config: pytest.Config) -> None:
    before = config.stash.get(_before, None)
    if before is None:
        os.environ.pop("RELAYOUT_GUARDS", None)
    else:
        os.environ["RELAYOUT_GUARDS"] = before


@pytest.fixture
def assert_layout() -> Callable[..., None]:
    """``assert_layout(x, "htp:R4Crouton")`` fails the test unless ``x`` has that layout, and says what it has."""
    return fail_unless


def fail_unless(x: Any, expects: Any, **words: Any) -> None:
    """Fail the test unless ``x`` has the layout; ``words`` are those of ``relayout.check``, such as axes."""
    from relayout.ask.guards import check
    from relayout.errors import LayoutMismatch

    what = None
    try:
        check(x, expects, **words)
    except LayoutMismatch as mismatch:
        what = str(mismatch)
    if what is not None:  # outside of the handler, or pytest would print the mismatch a second time, as the cause
        pytest.fail(what, pytrace=False)
