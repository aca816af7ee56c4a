"""Runs the examples of README and docs, sets how Hypothesis searches, and tells which kinds of tests were skipped."""

import os
from typing import Any

from hypothesis import settings
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("ci" if os.environ.get("CI") else "default")

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser()], patterns=["README.md", "docs/*.md", "docs/*/*.md"]
).pytest()


LONG = ("test_sanitized", "test_native_build", "test_site", "test_browser", "test_repack_file", "test_conformance")
"""Files that begin first, the longest before the others: what is left at the end keeps all processors busy."""


def pytest_collection_modifyitems(items: list[Any]) -> None:
    def turn(item: Any) -> int:
        return LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG)

    items.sort(key=turn)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line for every kind of tests that could not run here: their reason begins with NO ... TESTS."""
    reasons = {str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", [])}
    for reason in sorted(reasons):
        told = reason.removeprefix("Skipped: ")
        if told.startswith("NO "):
            terminalreporter.write_line(told, yellow=True, bold=True)
