"""Laws, and what is told of those that are broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import TypeAlias, TypeVar

from ..errors import LayoutError

Subject = TypeVar("Subject")

Law: TypeAlias = Callable[[Subject], Iterator[str]]
"""Tells how a subject breaks it, and nothing if it does not; the first line of its docstring is its name."""


class ConformanceError(AssertionError):
    """A plug-in that breaks laws: ``subject`` is its name, and ``failures`` says each with what was tried."""

    def __init__(self, subject: str, failures: Sequence[str]) -> None:
        self.subject, self.failures = subject, tuple(failures)
        broken = "\n".join([f"  {failure}" for failure in failures])
        super().__init__(f"{subject} does not conform:\n{broken}")


def check_laws(name: str, subject: Subject, laws: Iterable[Law[Subject]]) -> None:
    """Hold a subject against all laws, and raise one error for those that it breaks."""
    failures = [f"{_title(law)}: {failure}" for law in laws for failure in law(subject)]
    if failures:
        raise ConformanceError(name, failures)


def _title(law: Law[Subject]) -> str:
    return (law.__doc__ or law.__name__).partition("\n")[0].rstrip(".")


class Attempt:
    """What becomes of the calls in its ``with``: a refusal and a crash end them, and are kept to be looked at.

    A ``refusal`` is an error of ours; a ``crash`` is any other error.
    """

    refusal: LayoutError | None = None
    crash: Exception | None = None

    def __enter__(self) -> Attempt:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        if isinstance(error, LayoutError):
            self.refusal = error
        elif isinstance(error, Exception):
            self.crash = error
        return isinstance(error, Exception)

    @property
    def accepted(self) -> bool:
        """Whether the calls went through."""
        return self.refusal is None and self.crash is None

    @property
    def told(self) -> str:
        """The crash in words."""
        return f"{type(self.crash).__name__}: {self.crash}"
