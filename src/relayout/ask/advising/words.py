"""What advice says: a table of the accesses, the best of each family, and why nothing that was searched is better."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from ..banks import plural

if TYPE_CHECKING:
    from ..advice import Advice
    from .search import Choice, Search


def reasons(search: Search, choice: Choice) -> tuple[str, tuple[str, ...]]:
    """How it is known that nothing is better (bound, exhaustive, undecided), and the same in sentences."""
    tile = -(-prod(search.shape) * search.bits // 8)
    reached = choice.cost == search.least
    lines = [f"No layout takes fewer than {plural(search.least, 'wavefront')}: {_bound(search)}."]
    if reached and choice.bytes == tile:
        lines.append(f"None takes fewer than the {tile} bytes of the tile.")
    elif search.exhausted:
        what = "comes to that in fewer bytes" if reached else "comes closer"
        lines.append(f"Of what was tried nothing {what}, and that is all there is of these families.")
    else:
        lines.append("Of what was tried nothing is better; an XOR matrix that was not tried may be.")
    lines.append(f"Tried: {_search_words(search)}.")
    return "bound" if reached else "exhaustive" if search.exhausted else "undecided", tuple(lines)


def _bound(search: Search) -> str:
    arch = search.demands[0].arch
    if search.least == sum(demand.weight * demand.ideal for demand in search.demands):
        return f"lanes that are served together want so many different bytes, {arch.wavefront_bytes} a wavefront"
    widest = max(demand.access.bytes for demand in search.demands)
    banks = arch.banks * arch.bank_bytes // widest
    return f"vectors of {widest} bytes stay whole, so words at one place of them have {banks} of the {arch.banks} banks"


def _search_words(search: Search) -> str:
    def count(kind: str, what: str) -> str:
        total, tried = search.total.get(kind, 0), search.tried.get(kind, 0)
        if total == 0:
            return f"no {what.format('s')}, for there is none"
        if tried < total:
            return f"{tried} of {total} {what.format('s')}, where the bound is reached"
        many = "both" if total == 2 else f"all {total}"
        return f"{many} {what.format('s')}" if total > 1 else f"the only {what.format('')}"

    run = plural(max(1, search.vector * search.bits // 8), "byte")
    parts = [
        count("none", "order{} of the dimensions"),
        count("swizzle", "swizzle{} that leave runs of " + run + " whole"),
    ]
    if search.shorter:
        parts.append(f"{search.shorter} that break such runs, as far as no access takes those")
    alone = "" if search.every_padding else " of one dimension at a time"
    parts.append(count("padding", "padding{} by multiples of " + run + alone + " below one turn of the banks"))
    if search.nodes:
        way = "the rest ruled out" if search.exhausted else "then given up"
        parts.append(f"XOR matrices by branch and bound, {search.nodes} columns chosen, {way}")
    else:
        parts.append("no XOR matrix, for none can be better")
    return "; ".join(parts)


def advice_text(advice: Advice) -> str:
    """The advice as text."""
    shape = " x ".join(map(str, advice.shape))
    bound = "as few as any layout" if advice.wavefronts == advice.least else f"at least {advice.least}"
    lines = [
        f"{advice.words}",
        f"  {advice.layout}",
        f"{shape} {advice.element.name} on {advice.arch.name}: {plural(advice.wavefronts, 'wavefront')} ({bound}), "
        f"{plural(advice.bytes, 'byte')}",
        "",
        *_table(
            ("access", "wavefronts", "ideal", "bare", ""),
            [
                (row.access, str(row.wavefronts), str(row.ideal), "-" if row.bare is None else str(row.bare), note)
                for row in advice.rows
                for note in [_note(row.weight, row.known)]
            ],
        ),
        "",
        *_table(
            ("best", "wavefronts", "bytes", ""),
            [(other.kind, str(other.wavefronts), str(other.bytes), other.words) for other in advice.alternatives],
        ),
        "",
        *advice.why,
    ]
    return "\n".join(lines)


def _note(weight: int, known: str) -> str:
    notes = [f"weight {weight}"] * (weight != 1) + [f"{known}, not measured"] * (known != "measured")
    return "; ".join(notes)


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows under titles: the first column and the last to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(titles, *rows)]
    lines = []
    for row in (titles, *rows):
        cells = [f"{row[0]:<{widths[0]}}", *[f"{cell:>{n}}" for cell, n in zip(row[1:-1], widths[1:-1])], row[-1]]
        lines.append("  ".join(cells).rstrip())
    return lines
