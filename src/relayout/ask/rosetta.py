"""One layout in every notation, or the reason why one cannot hold it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..dialects.registry import Shapeless, dialect_names
from ..dialects.resolve import resolve
from ..errors import LayoutError
from ..format.format import Format
from ..layout.layout import Layout


class Rosetta(Mapping[str, "str | LayoutError"]):
    """Every dialect's name with the text in it, or with the refusal; it prints as a table."""

    def __init__(self, x: Layout | Format, entries: dict[str, str | LayoutError]) -> None:
        self.x = x
        self._entries = entries

    def __getitem__(self, dialect: str) -> str | LayoutError:
        try:
            return self._entries[dialect]
        except KeyError:
            raise KeyError(f"no dialect {dialect!r}; there are {', '.join(self._entries)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def texts(self) -> dict[str, str]:
        """The notations that hold it, with its text in each."""
        return {name: entry for name, entry in self._entries.items() if isinstance(entry, str)}

    @property
    def reasons(self) -> dict[str, str]:
        """The notations that cannot hold it, with the reason."""
        return {name: entry.message for name, entry in self._entries.items() if isinstance(entry, LayoutError)}

    def __str__(self) -> str:
        width = max(map(len, self._entries))
        lines = []
        for name, entry in self._entries.items():
            text = entry if isinstance(entry, str) else f"- {refusal_reason(entry, self.x)}"
            lines.append(f"{name:<{width}}  {text}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<rosetta of {self.x}: {', '.join(self.texts)}>"

    def _repr_html_(self) -> str:
        from ..drawing.notebook_tables import html_of

        return html_of(self)


def refusal_reason(error: LayoutError, x: Layout | Format) -> str:
    """The refusal without the layout itself."""
    _, found, why = error.message.partition(f"cannot hold {x}: ")
    return why if found else error.message.removeprefix(f"{x} ")


def rosetta(x: Layout | Format | Shapeless | str, shape: Any = None, *, dtype: Any = None) -> Rosetta:
    """``x``, or what a text in any dialect writes down, in every dialect; byte-based ones need the ``dtype``, which the
    text may carry.

    A format with a ``shape`` stands for its layout.

    >>> rosetta(Layout((3, 4), (4, 1)))["candle"]
    'Layout { shape: [3, 4], stride: [4, 1], start_offset: 0 }'
    """
    meant = resolve(x, shape=shape, element=dtype)
    found = meant.description
    entries: dict[str, str | LayoutError] = {}
    for name in dialect_names():
        try:
            entries[name] = meant.to(name, dtype=dtype)
        except LayoutError as refusal:
            entries[name] = refusal
    return Rosetta(found, entries)
