"""A text in other notations: what it writes down, and the notations that may hold it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..dialects.registry import dialect_names
from ..dialects.resolve import resolve
from ..dialects.shardings import SHARDING_DIALECTS, as_sharding
from .rosetta import Rosetta, in_each


class Translation(NamedTuple):
    """A layout, a format or a sharding, its notations, and the function that writes it in one of them, or refuses."""

    subject: Any
    notations: Sequence[str]
    write: Callable[[str], str]

    @property
    def rosetta(self) -> Rosetta:
        """The subject in every one of its notations, or the refusal."""
        return Rosetta(self.subject, in_each(self.notations, self.write))


def translation(
    text: str, shape: Any = None, *, axes: str | None = None, dtype: Any = None, padded: bool = False
) -> Translation:
    """How ``text``, in any notation, is written in others; with ``padded`` the whole box, where one has no padding."""
    sharding = as_sharding(text, shape)
    if sharding is not None:
        return Translation(sharding, SHARDING_DIALECTS, sharding.to)
    meant = resolve(text, shape=shape, axes=axes, element=dtype)

    def write(name: str) -> str:
        return meant.to(name, padded=padded, dtype=dtype)

    return Translation(meant.description, dialect_names(), write)
