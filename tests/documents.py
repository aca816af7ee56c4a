"""A document as the list of its statements in their order, each with what checks it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parent.parent / "docs"


class Statement(NamedTuple):
    """What the document says, the check of it, and the reason where relayout answers differently."""

    text: str
    check: Callable[[], None]
    because: str


class Document:
    """Statements, collected in the order in which they are written down."""

    def __init__(self, page: str) -> None:
        self.page = (DOCS / page).read_text()
        self.statements: list[Statement] = []

    def says(self, text: str, *, because: str = "") -> Callable[[Callable[[], None]], None]:
        """A decorator: the function checks this statement, or what holds instead and why."""

        def collect(check: Callable[[], None]) -> None:
            self.statements.append(Statement(text, check, because))

        return collect

    def unexplained(self) -> list[str]:
        """The reasons for other answers that the page for readers of the document does not give."""
        words = " ".join(self.page.split())
        return [s.because for s in self.statements if s.because and s.because not in words]

    def names(self) -> list[str]:
        """The statements, for the names of the tests."""
        return [s.text[:60] for s in self.statements]
