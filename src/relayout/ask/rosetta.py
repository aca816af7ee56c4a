"""One layout in every notation, or the reason why one cannot hold it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..dialects.registry import Shapeless, dialect_names
from ..dialects.resolve import resolve
from ..errors import LayoutError
from ..format.format import Format
from ..layout.layout import Layout

if TYPE_CHECKING:
    from ..sharding.sharding import Sharding


class Rosetta(Mapping[str, "str | LayoutError"]):
    """Every dialect's name with the text in it, or with the refusal; it prints as a table."""

    def __init__(self, x: Layout | Format | Sharding, entries: dict[str, str | LayoutError]) -> None:
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
        return {name: refusal.message for name, refusal in self.refusals.items()}

    @property
    def refusals(self) -> dict[str, LayoutError]:
        """The notations that cannot hold it, with what each says."""
        return {name: entry for name, entry in self._entries.items() if isinstance(entry, LayoutError)}

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Every notation with its text, or after a dash why it has none."""
        return [
            (name, entry if isinstance(entry, str) else f"- {refusal_reason(entry, self.x)}")
            for name, entry in self._entries.items()
        ]

    def __str__(self) -> str:
        width = max(map(len, self._entries))
        return "\n".join([f"{name:<{width}}  {text}" for name, text in self.rows])

    def __repr__(self) -> str:
        return f"<rosetta of {self.x}: {', '.join(self.texts)}>"

    def _repr_html_(self) -> str:
        from ..drawing.notebook_tables import html_of

        return html_of(self)


def refusal_reason(error: LayoutError, x: Layout | Format | Sharding) -> str:
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
    return Rosetta(meant.description, in_each(dialect_names(), lambda name: meant.to(name, dtype=dtype)))


def in_each(notations: Iterable[str], write: Callable[[str], str]) -> dict[str, str | LayoutError]:
    """What ``write`` writes in each notation, or its refusal."""
    entries: dict[str, str | LayoutError] = {}
    for name in notations:
        try:
            entries[name] = write(name)
        except LayoutError as refusal:
            entries[name] = refusal
    return entries
