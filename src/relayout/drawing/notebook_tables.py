"""What a notebook shows of an answer that is no picture: a table, which follows the reader's light or dark mode.

Nothing in it needs anything from elsewhere, and every text in it is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from ..errors import LayoutError
from ..files.sizes import format_size

_STYLE = (
    ".rl-table{overflow-x:auto;color:inherit}"
    ".rl-table .rl-rows{max-height:32em;overflow:auto}"
    # Twice the class: a notebook's own style of tables is as specific as one.
    ".rl-table.rl-table table{border-collapse:collapse;border:0;margin:.3em 0;color:inherit;background:none}"
    ".rl-table.rl-table tr{background:none;border:0}"
    ".rl-table.rl-table th,.rl-table.rl-table td{text-align:left;vertical-align:top;padding:.15em 1.2em .15em 0;"
    "border:0;border-bottom:1px solid rgba(128,128,128,.3);color:inherit;white-space:pre-wrap;"
    "overflow-wrap:break-word;max-width:60em}"
    ".rl-table.rl-table td{font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace}"
    ".rl-table.rl-table p{margin:.4em 0;white-space:pre-wrap}"
    ".rl-table .rl-off{opacity:.6}"
)

_OFF = ' class="rl-off"'


def html_of(x: Any) -> str:
    """The table of what ``rosetta``, ``infer``, ``banks``, ``sectors``, ``advise``, ``resolve`` or the catalog say."""
    from ..ask.advice import Advice
    from ..ask.banks import Banks
    from ..ask.inference.result import Inference
    from ..ask.rosetta import Rosetta
    from ..ask.sectors import Sectors
    from ..dialects.resolve import Resolved

    if isinstance(x, Rosetta):
        return _rosetta(x)
    if isinstance(x, Inference):
        return labelled_html(str(x).splitlines())
    if isinstance(x, Banks | Sectors):
        return _count_table(x)
    if isinstance(x, Resolved):
        rows = x._asdict() | {"element": None if x.element is None else x.element.name}
        return table_html([(name, str(value)) for name, value in rows.items() if value is not None])
    return _advice(x) if isinstance(x, Advice) else _catalog(x)


def table_html(rows: Iterable[Sequence[str]], titles: Sequence[str] = (), head: str = "", foot: str = "") -> str:
    """A table of texts under titles, after a sentence and before another, or before HTML that is a picture."""
    return division_html(
        words_html(head), rows_html(rows, titles), foot if foot.startswith("<svg") else words_html(foot)
    )


def labelled_html(lines: Sequence[str], head: str = "") -> str:
    """Lines that each begin with a label, as a table."""
    cut = [line.partition(" ") for line in lines]
    return table_html([(label, text.strip()) for label, _, text in cut], head=head)


def words_html(text: str) -> str:
    """Lines of plain words, one paragraph each."""
    return "".join([_sentence(line) for line in text.splitlines()])


def file_html(file: Any) -> str:
    """The tensors of a file that was opened, none of which is read for it."""
    rows = []
    for name in file.source:
        entry = file.source[name]
        shape, kind = " x ".join(map(str, entry.layout.extents)) or "a scalar", str(entry.interface.element.name)
        rows.append((name, kind, shape, format_size(entry.size), str(entry.layout)))
    return table_html(rows, ("tensor", "type", "shape", "size", "layout"), head=repr(file)[1:-1])


def report_html(report: Any) -> str:
    """What became of each tensor of a file that was repacked."""
    titles = ("tensor", "before", "after", "bytes before", "bytes after", "padding")
    rows = [
        (
            row.name,
            row.before,
            row.why or ("kept" if row.kept else row.after),
            str(row.bytes_before),
            str(row.bytes_after),
            f"{row.padding:.1%}",
        )
        for row in report.rows
    ]
    return table_html(rows, titles, head=f"{report.source} to {report.destination}: {format_size(report.total)}")


def verdict_html(verdict: Any) -> str:
    """What a comparison says in words."""
    return division_html(words_html(str(verdict)))


def division_html(*parts: str) -> str:
    """Parts of HTML in one division with the style of tables."""
    return f'<div class="rl-table"><style>{_STYLE}</style>{"".join(parts)}</div>'


def _sentence(text: str) -> str:
    return f"<p>{escape(text)}</p>" if text else ""


def rows_html(rows: Iterable[Sequence[str]], titles: Sequence[str] = (), faint: frozenset[int] = frozenset()) -> str:
    """Rows of texts under titles, each with its first text as its head; ``faint`` are the numbers of pale ones."""
    head = "".join([f"<th>{escape(title)}</th>" for title in titles])
    body = []
    for k, (first, *rest) in enumerate(rows):
        cells = [f'<th scope="row">{escape(first)}</th>', *[f"<td>{escape(text)}</td>" for text in rest]]
        body.append(f"<tr{_OFF if k in faint else ''}>{''.join(cells)}</tr>")
    top = f"<thead><tr>{head}</tr></thead>" if titles else ""
    return f'<div class="rl-rows"><table>{top}<tbody>{"".join(body)}</tbody></table></div>'


def _rosetta(x: Any) -> str:
    from ..ask.rosetta import refusal_reason

    rows, faint = [], set()
    for k, (name, entry) in enumerate(x.items()):
        if isinstance(entry, LayoutError):
            faint.add(k)
        rows.append((name, entry if isinstance(entry, str) else refusal_reason(entry, x.x)))
    return division_html(words_html(str(x.x)), rows_html(rows, ("notation", "text"), frozenset(faint)))


def _count_table(x: Any) -> str:
    """The numbers of an access, and the picture of the worst."""
    from .notebook import svg_of

    facts = x.facts()
    rows = [(label.replace("_", " "), _number(value)) for label, value in facts.items() if label not in _BESIDE]
    lines = str(x).splitlines()
    worst = [("worst", line.partition(": ")[2]) for line in lines[1:] if line.startswith("worst")]
    return table_html([*rows, *worst], head=lines[0], foot=svg_of(x) or "")


_BESIDE = ("each", "worst", "source")
"""The facts that are tables themselves, or told in words."""


def _number(value: Any) -> str:
    return f"{value:.1%}" if isinstance(value, float) else str(value)


def _advice(x: Any) -> str:
    told = str(x).splitlines()
    accesses = [(row.access, *map(str, (row.weight, row.wavefronts, row.ideal))) for row in x.rows]
    others = [(other.kind, str(other.wavefronts), str(other.bytes), other.words) for other in x.alternatives]
    return division_html(
        words_html("\n".join(told[: told.index("")])),
        rows_html(accesses, ("access", "weight", "wavefronts", "ideal")),
        rows_html(others, ("best", "wavefronts", "bytes", "layout")),
        words_html("\n".join(x.why)),
    )


def _catalog(x: Any) -> str:
    """One entry, or a table of them."""
    from ..ask.catalog_search import entry_pairs, entry_row
    from ..format.entries import Entry
    from ..format.records import NamedRecord

    if isinstance(x, Entry | NamedRecord):
        return table_html(entry_pairs(x))
    rows = [(*entry_row(entry), entry.provenance) for entry in x.values()]
    return table_html(rows, ("name", "axes", "format", "source"), head=repr(x)[1:-1])
