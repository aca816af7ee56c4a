"""``Inference``: what was found out about some data, and ``Candidate``: one layout that it may have."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...errors import LayoutError
from ...format.format import Format
from ...layout.layout import Layout
from ..rosetta import rosetta


class Mismatch(NamedTuple):
    """An element that is not where a layout puts it: the dump holds ``got`` there, or ends before (None)."""

    coordinate: tuple[int, ...]
    position: int
    expected: Any
    got: Any

    def __str__(self) -> str:
        held = "which the dump does not reach" if self.got is None else f"where the dump holds {self.got!r}"
        return f"{self.coordinate} is {self.expected!r} and goes to {self.position}, {held}"


class Candidate(NamedTuple):
    """A layout that the data may have, with its names and its format, each the same function in the same storage.

    ``mismatches`` counts the elements that the dump holds elsewhere; ``mismatch`` is the first of them. ``text`` is the
    hypothesis as it was given.
    """

    layout: Layout
    names: tuple[str, ...] = ()
    format: Format | None = None
    mismatches: int = 0
    mismatch: Mismatch | None = None
    text: str | None = None

    def __str__(self) -> str:
        told = ", ".join(self.names[:3]) or (str(self.format) if self.format is not None else "")
        return self.text or (f"{self.layout} ({told})" if told else str(self.layout))


class Inference(NamedTuple):
    """What was found out about some data.

    ``layout`` is the simplest exact layout; with a dump its box fills the dump wherever a box can. ``names`` are all
    its names in the catalog and ``format`` is the plainest format, where these give the same function in the same
    storage for its extents, and for elements of its width. ``related`` says, in words, which named formats it is apart
    from a header, padding or that width.

    ``seen`` counts the elements whose place the data give; the places of the others follow, as in any layout without a
    swizzle, unless some are ``missing``. Then ``others`` fit all data as well, and ``next_probe`` are coordinates whose
    places decide. ``padding`` counts the positions of the dump that hold no element, and ``fill`` is the value of all
    of them, if it is one. ``dtype`` is the type of the elements, where it is known.
    """

    layout: Layout
    format: Format | None
    names: tuple[str, ...]
    elements: int
    seen: int
    padding: int | None = None
    fill: Any = None
    related: tuple[str, ...] = ()
    others: tuple[Candidate, ...] = ()
    missing: tuple[tuple[int, ...], ...] = ()
    next_probe: tuple[tuple[int, ...], ...] = ()
    dtype: str | None = None

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Every layout that fits all data, as far as the search goes: the simplest and best known first."""
        return (Candidate(self.layout, self.names, self.format), *self.others)

    @property
    def settled(self) -> bool:
        """Whether the data prove the layout; otherwise the candidates fit, and ``next_probe`` decides."""
        return not self.others and not self.missing

    @property
    def pitch(self) -> tuple[int, ...] | None:
        """The strides of an array of plain strides that leave gaps, such as padded rows; None for every other."""
        modes = [self.layout._mode(d) for d in range(self.layout.rank)]
        if self.layout.swizzle is not None or self.layout.has_basis or any(len(m.sizes) > 1 for m in modes):
            return None
        strides = [m.strides[0] if m.strides else 0 for m in modes]
        reach = 1
        for stride, extent in sorted([(abs(s), m.extent) for s, m in zip(strides, modes) if m.extent > 1]):
            if stride > reach:
                return tuple(strides)
            reach = stride * extent
        return None

    @property
    def texts(self) -> dict[str, str | LayoutError]:
        """The layout in every dialect, or the refusal of a dialect that cannot hold it.

        A dialect that cannot hold the layout has the format instead, if there is one.
        """
        texts = dict(rosetta(self.layout, dtype=self.dtype))
        if self.format is not None:
            for dialect, text in rosetta(self.format, dtype=self.dtype).items():
                if isinstance(text, str) and not isinstance(texts[dialect], str):
                    texts[dialect] = text
        return texts

    def __str__(self) -> str:
        lines = [f"layout    {self.layout}"]
        if self.pitch is not None and self.format is None:
            lines.append(f"strides   {self.pitch}")
        if self.format is not None:
            lines.append(f"format    {self.format}")
        if self.names:
            lines.append(f"names     {', '.join(self.names)}")
        lines += [f"is        {words}" for words in self.related]
        lines.append(f"elements  {self.elements}" + f", {self.seen} of them seen" * (self.seen < self.elements))
        if self.padding:
            lines.append(f"padding   {self.padding}" + (f", all {self.fill!r}" if self.fill is not None else ""))
        lines += [f"or        {candidate}" for candidate in self.others]
        if not self.settled:
            where = ", ".join(map(str, self.next_probe[:4])) + ", ..." * (len(self.next_probe) > 4)
            plural = "lies" if len(self.next_probe) == 1 else "lie"
            lines.append(f"open      all data fit, but do not say where {where} {plural}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from ...drawing.notebook_tables import html_of

        return html_of(self)
