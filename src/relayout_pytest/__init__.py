"""A pytest plugin: the guards are on while tests run, ``assert_layout`` is a fixture, and claims are tests.

Each claim of a file ``layouts.toml`` (``relayout check`` proves the same ones) is a test of its own.

It is a package of its own, so that a test run imports relayout only where a test does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("relayout_claims", "the names of files with claims about layouts", "args", ["layouts.toml"])


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ClaimFile | None:
    names = parent.config.getini("relayout_claims")
    return ClaimFile.from_parent(parent, path=file_path) if file_path.name in names else None


class ClaimFile(pytest.File):
    """A file of claims."""

    def collect(self) -> Iterator[ClaimItem]:
        from relayout.errors import BadFile
        from relayout.files.claims import read_claims, unreadable_layouts

        try:
            layouts, claims = read_claims(self.path)
        except BadFile as error:
            raise self.CollectError(str(error)) from None
        for claim in claims:
            yield ClaimItem.from_parent(self, name=claim.name, claim=claim, layouts=layouts)
        for verdict in unreadable_layouts(self.path, layouts):
            yield ClaimItem.from_parent(
                self, name=verdict.claim.name, claim=verdict.claim, layouts=layouts, verdict=verdict
            )


class ClaimItem(pytest.Item):
    """One claim, which holds or fails."""

    def __init__(self, *, claim: Any, layouts: dict[str, Any], verdict: Any = None, **words: Any) -> None:
        super().__init__(**words)
        self.claim, self.layouts, self.verdict = claim, layouts, verdict

    def runtest(self) -> None:
        from relayout.files.claims import check_claim

        verdict = self.verdict or check_claim(self.claim, self.layouts)
        if not verdict.holds:
            pytest.fail(f"{verdict.claim.place}: {verdict.words}", pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, max(self.claim.line - 1, 0), f"claim: {self.name}"


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
