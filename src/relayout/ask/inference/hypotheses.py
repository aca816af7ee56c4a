"""Layouts that data may have, side by side: how many elements each misplaces, and which coordinates decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dialects.resolve import resolve
from ...errors import ShapeError
from ...layout.layout import Layout
from .boxes import names_and_format
from .pairs import EncodedPair
from .result import Candidate, Mismatch

DECISIVE = 8
"""How many coordinates that decide between candidates are told at most."""


def rank_hypotheses(pair: EncodedPair, among: Sequence[Any], axes: str | None = None) -> tuple[Candidate, ...]:
    """The hypotheses, each any operand that is a layout for the shape of the reference, fewest mismatches first.

    ``axes`` are the dimensions of the reference.
    """
    if isinstance(among, str) or not len(among):
        raise ShapeError("among takes a list of layouts, formats or texts.", hint='as in among=["nchw", "nhwc"]')
    ranked = []
    for operand in among:
        found = resolve(operand, element=pair.element).for_data(pair.elements.shape, axes)
        ranked.append(_judge(found.placed, pair, str(operand)))
    return tuple(sorted(ranked, key=lambda candidate: candidate.mismatches))


def rank_candidates(layouts: Sequence[Layout], pair: EncodedPair) -> tuple[Candidate, ...]:
    """Layouts that fit, each function once: those that fill the dump first, then named ones, then plain ones."""
    distinct: list[Layout] = []
    for layout in sorted(layouts, key=lambda x: x.storage_size != pair.memory.size):
        if not any(layout.equivalent(other) for other in distinct):
            distinct.append(layout)
    found = [Candidate(layout, *names_and_format(layout, pair.bits)) for layout in distinct]
    return tuple(sorted(found, key=lambda x: _plainness(x, pair.memory.size)))


def _plainness(candidate: Candidate, length: int) -> tuple[bool, bool, int, bool]:
    layout = candidate.layout
    digits = sum(len(layout._mode(d).sizes) for d in range(layout.rank))
    return layout.storage_size != length, not candidate.names, digits, candidate.format is None


def _judge(layout: Layout, pair: EncodedPair, text: str) -> Candidate:
    """The layout with the number of elements that the dump holds elsewhere, and the first of them."""
    import numpy as np

    offsets = layout.offsets()
    wrong = pair.misplaced_by(offsets)
    count = int(wrong.sum())
    names, fmt = names_and_format(layout, pair.bits)
    if not count:
        return Candidate(layout, names, fmt, text=text)
    where = tuple([int(x) for x in np.unravel_index(int(np.argmax(wrong)), wrong.shape)])
    position = int(offsets[where])
    inside = 0 <= position < pair.memory.size
    first = Mismatch(where, position, pair.reference_value(where), pair.value(position) if inside else None)
    return Candidate(layout, names, fmt, count, first, text)


def distinguishing(layouts: Sequence[Layout]) -> tuple[tuple[int, ...], ...]:
    """Coordinates whose places tell the first layout from each of the others."""
    import numpy as np

    if len(layouts) < 2:
        return ()
    first, *rest = [layout.offsets() for layout in layouts]
    found: list[tuple[int, ...]] = []
    for other in rest:
        if any(first[c] != other[c] for c in found):
            continue
        differ = first != other
        if differ.any():
            found.append(tuple([int(x) for x in np.unravel_index(int(np.argmax(differ)), differ.shape)]))
    return tuple(found[:DECISIVE])
