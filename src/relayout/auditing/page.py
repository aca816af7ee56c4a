"""Audits as one page with everything in it: what to change first, every move with its lines of the file and a picture.

No script runs in it; links lead from the changes and the table to the moves, and from a move to the one that undoes it.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from ..ask.comparing import compare
from ..drawing.draw import draw
from ..drawing.html import fill_template
from ..errors import LayoutError
from ..files.sizes import format_size
from ..layout.layout import Layout
from .audit import Audit
from .kinds import SAME_BYTES
from .move import Move
from .words import (
    Rows,
    buffer_rows,
    costliest,
    format_time,
    move_rows,
    remark,
    saved_text,
    shape_text,
    side_text,
    summary,
    totals_text,
    trouble_lines,
)

MOST_PICTURES = 30
"""Pictures of more pairs of layouts are left out."""

AROUND = 2
"""How many lines of the file are shown before and after that of a move."""

LONGEST_LINE = 300
"""Longer lines of the file are cut around their beginning."""


def audit_page(audits: Sequence[Audit]) -> str:
    """The whole page."""
    pictures: dict[Any, str] = {}
    bodies = [_audit(number, audit, pictures) for number, audit in enumerate(audits)]
    title = escape("; ".join([audit.file for audit in audits]))
    page = (files(__package__) / "page.html").read_text("utf-8")
    return fill_template(page, {"title": f"audit of {title}", "body": "\n".join(bodies)})


def _audit(number: int, audit: Audit, pictures: dict[Any, str]) -> str:
    shown = costliest(audit)
    excerpts = read_excerpts(audit, [audit.moves[k].place.line for k in shown])
    parts = [f"<section><h1>{escape(audit.file)}</h1><p class=summary>{escape(summary(audit))}</p>"]
    parts += _savings(number, audit, shown)
    parts += _table(number, move_rows(audit), shown, audit)
    parts += [f"<p>{escape(totals_text(audit))}</p>"] if audit.totals.moves else []
    parts += _table(number, buffer_rows(audit), [], audit)
    troubles = trouble_lines(audit)
    if troubles:
        items = "".join([f"<li>{escape(line.strip())}</li>" for line in troubles[1:]])
        parts.append(f"<h2>{escape(troubles[0])}</h2><ul>{items}</ul>")
    parts += [_move(number, k, audit, excerpts, pictures) for k in shown]
    return "\n".join([*parts, "</section>"])


def _anchor(number: int, move: int) -> str:
    return f"m{number}-{move}"


def _savings(number: int, audit: Audit, shown: list[int]) -> Iterator[str]:
    """What to change first, with links to the moves."""
    if not audit.savings:
        return
    items = []
    for saving in audit.savings:
        told = saved_text(saving)
        links = [_link(number, k, audit.moves[k]) for k in saving.moves[:8] if k in shown]
        more = f" <span>{' '.join(links)}</span>" if links else ""
        items.append(f"<li>{escape(saving.change)} <b>({told})</b>{more}</li>")
    yield f"<h2>What would save most</h2><ol>{''.join(items)}</ol>"


def _link(number: int, k: int, move: Move) -> str:
    where = f"line {move.place.line}" if move.place.line else escape(move.place.name)
    return f'<a href="#{_anchor(number, k)}">{where}</a>'


def _table(number: int, table: Rows, shown: list[int], audit: Audit) -> Iterator[str]:
    """A table; the rows of moves lead to them, and those that are undone, or undo, stand out."""
    if not table.rows:
        return
    paired = {k for pair in audit.pairs for k in (pair.first, pair.second)}
    rows = []
    for place, row in enumerate(table.rows):
        cells = [escape(cell) for cell in row]
        if shown:
            k = shown[place]
            cells[0] = f'<a href="#{_anchor(number, k)}">{cells[0] or k}</a>'
            cells[-1] = _linked_remark(number, audit, k)
        marked = " class=pair" if shown and shown[place] in paired else ""
        rows.append(f"<tr{marked}><td>{'</td><td>'.join(cells)}</td></tr>")
    titles = "</th><th>".join(table.titles)
    more = f"<p>and {table.left_out} more, which <code>--json</code> has</p>" if table.left_out else ""
    yield f"<table><thead><tr><th>{titles}</th></tr></thead><tbody>{''.join(rows)}</tbody></table>{more}"


def _linked_remark(number: int, audit: Audit, k: int) -> str:
    """A remark, where what undoes the move is a link."""
    text = escape(remark(audit.moves[k]))
    others = [p.second if p.first == k else p.first for p in audit.pairs if k in (p.first, p.second)]
    for other in others:
        place = audit.moves[other].place
        word = str(place.line) if place.line else escape(place.name)
        for verb in ("undone by", "undoes"):
            link = f'{verb} <a href="#{_anchor(number, other)}">{word}</a>'
            text = re.sub(rf"\b{verb} {re.escape(word)}(?![\w.])", link.replace("\\", r"\\"), text)
    return text


def _move(number: int, k: int, audit: Audit, excerpts: dict[int, str], pictures: dict[Any, str]) -> str:
    move = audit.moves[k]
    size = "" if move.bytes is None else f", {format_size(move.bytes)}"
    time = "" if move.time is None else f", {format_time(move.time)}"
    where = f"line {move.place.line}" if move.place.line else ""
    sides = f"{escape(side_text(move, 'source'))} &rarr; {escape(side_text(move, 'target'))}"
    name = escape(" ".join([word for word in (where, move.op, move.place.name) if word]))
    lines = [f'<article id="{_anchor(number, k)}"><h3>{name}</h3>']
    lines.append(
        f"<p><code>{sides}</code>, {shape_text(move.shape)}{size}{time}. {_linked_remark(number, audit, k)}</p>"
    )
    lines.append(excerpts.get(move.place.line, ""))
    lines.append(_picture(move, pictures))
    return "\n".join([*lines, "</article>"])


def _picture(move: Move, pictures: dict[Any, str]) -> str:
    """Both layouts, where they differ; once for all moves between the same two."""
    source, target = move.source.layout, move.target.layout
    if source is None or target is None or move.kind == SAME_BYTES:
        return ""
    key = (source, target)
    if key in pictures:
        return f'<p><a href="#{pictures[key]}">the picture of these two layouts</a></p>'
    if len(pictures) >= MOST_PICTURES:
        return ""
    try:
        both = isinstance(source, Layout) and isinstance(target, Layout)
        drawn = [draw(compare(source, target))] if both else [draw(source), draw(target)]
        images = [b64encode(drawing.svg().encode()).decode() for drawing in drawn]
    except LayoutError as error:
        return f"<p>no picture: {escape(error.message)}</p>"
    pictures[key] = f"p{len(pictures)}"
    alt = escape(f"{move.source.text} and {move.target.text}")
    tags = [f'<img alt="{alt}" src="data:image/svg+xml;base64,{data}">' for data in images]
    return f'<figure id="{pictures[key]}">{"".join(tags)}</figure>'


def read_excerpts(audit: Audit, lines: Sequence[int]) -> dict[int, str]:
    """The lines around each of some lines of the file, read in one pass."""
    wanted = {n for line in lines if line for n in range(line - AROUND, line + AROUND + 1)}
    if not wanted or audit.artefact is None:
        return {}
    found: dict[int, str] = {}
    last = max(wanted)
    for number, text in audit.artefact.lines():
        if number > last:
            break
        if number in wanted and number not in found:
            found[number] = text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]} ..."
    return {line: _excerpt(found, line) for line in lines if line in found}


def _excerpt(found: dict[int, str], line: int) -> str:
    rows = []
    for n in range(line - AROUND, line + AROUND + 1):
        if n in found:
            row = f"<span>{n:>6}</span>  {escape(found[n])}"
            rows.append(f"<mark>{row}</mark>" if n == line else row)
    return f"<pre>{chr(10).join(rows)}</pre>"
