"""An audit in words: the line that sums up, rows of moves and buffers, totals, and the changes that would save most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..files.sizes import format_size
from .kinds import ACCESSES, REARRANGES
from .move import Buffer, Move

if TYPE_CHECKING:
    from .audit import Audit
    from .savings import Saving

SCARCE = ("shared", "tensor memory")
"""The roles of buffers that are always told: a block has only so much of that memory."""

MOST_ROWS = 40
"""A table has no more rows: the costliest, in the order of the file."""

LONGEST_CELL = 44
"""A layout's text is cut to so many characters in a table; JSON has all of it."""


class Rows(NamedTuple):
    """A table: titles, rows, and how many more there would be."""

    titles: list[str]
    rows: list[list[str]]
    left_out: int


def percent(share: float) -> str:
    """A share for people.

    >>> percent(0.8153), percent(0.0004), percent(0)
    ('82 %', 'under 1 %', '0 %')
    """
    return "under 1 %" if 0 < share < 0.005 else f"{share * 100:.0f} %"


def format_time(seconds: float) -> str:
    """A time for people.

    >>> format_time(0.00153), format_time(2)
    ('1.53 ms', '2 s')
    """
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"
    return "0 s"


def several(count: int, what: str) -> str:
    """A count with its noun.

    >>> several(1, "move"), several(3, "move")
    ('1 move', '3 moves')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def summary(audit: Audit) -> str:
    """One line: how much of the time, or of the bytes, moving takes; how many pairs cancel; what was not read."""
    t = audit.totals
    said = []
    if t.moves:
        bound = "at most " if t.unsized_steps else "at least " if t.unsized else ""
        shares = [("", t.time_share, "of the time"), (bound, t.byte_share, "of the bytes")]
        told = " and ".join([f"{word}{percent(share)} {what}" for word, share, what in shares if share is not None])
        said += [f"moving takes {told}"] if told else []
        verb = "writes" if t.moves == 1 else "write"
        written = f"{format_size(t.bytes)}, {format_size(t.rearranged)} rearranged"
        said.append(
            f"{several(t.moves, 'move')} {verb} {written if t.unsized < t.moves else 'bytes that nobody tells'}"
        )
    elif t.buffers:
        pieces = sum([b.details.get("pieces", 1) for b in audit.buffers])
        said.append(f"{several(t.buffers, 'tensor')} of {format_size(t.buffer_bytes)}")
        said += [several(pieces, "piece")] if pieces > t.buffers else []
    else:
        said.append(several(len(audit.timings), "timed operation") if audit.timings else "nothing moves")
    if audit.pairs:
        numbers = {k for pair in audit.pairs for k in (pair.first, pair.second)}
        share = sum([audit.moves[k].total_bytes for k in numbers]) / t.bytes if t.bytes and not t.unsized else None
        told = "" if share is None else f" ({percent(share)} of what is written)"
        said.append(f"{several(len(audit.pairs), 'cancelling pair')}{told}")
    if t.padding_bytes:
        said.append(f"{format_size(t.padding_bytes)} of padding")
    if audit.troubles:
        said.append(f"{several(len(audit.troubles), 'error')}")
    return f"{audit.file} ({audit.title}): {'; '.join(said)}"


def move_rows(audit: Audit) -> Rows:
    """The moves, one row each."""
    shown = [audit.moves[k] for k in costliest(audit)]
    timed = any(move.time is not None for move in shown)
    ops = len({move.op for move in shown}) > 1
    lined = any(move.place.line for move in shown)
    titles = ["line" if lined else "name", *(["op"] if ops else []), "from", "to", "shape", "bytes"]
    titles += ["time", "remark"] if timed else ["remark"]
    rows = []
    for move in shown:
        row = [where(move), *([cut(move.op)] if ops else [])]
        row += [side_text(move, "source"), side_text(move, "target"), shape_text(move.shape)]
        row += ["?" if move.bytes is None else format_size(move.bytes)]
        row += ["" if move.time is None else format_time(move.time)] if timed else []
        rows.append([*row, remark(move)])
    return Rows(titles, rows, len(audit.moves) - len(shown))


def costliest(audit: Audit) -> list[int]:
    """The numbers of the moves worth a row: those that a change would save first; in the order of the file."""
    moves = audit.moves
    saved = {k for saving in audit.savings for k in saving.moves}
    order = sorted(range(len(moves)), key=lambda k: (k not in saved, -(moves[k].time or 0), -moves[k].total_bytes, k))
    return sorted(order[:MOST_ROWS])


def where(move: Move) -> str:
    """The line of a move, or without one its name."""
    return str(move.place.line) if move.place.line else cut(move.place.name)


def side_text(move: Move, which: str) -> str:
    """How the artefact writes one side, with its memory and its type where the other side has another one."""
    side, other = (move.source, move.target) if which == "source" else (move.target, move.source)
    words = [cut(side.text)]
    if side.element is not None and other.element is not None and side.element != other.element:
        words.append(side.element.name)
    if side.memory != other.memory and side.memory not in side.text:
        words.append(side.memory)
    return " ".join([word for word in words if word])


def shape_text(shape: Sequence[int]) -> str:
    """A shape as people write it; a size that is not known is negative.

    >>> shape_text((1, 64, -1, 8))
    '1x64x?x8'
    """
    return "x".join(["?" if n < 0 else str(n) for n in shape])


def remark(move: Move) -> str:
    """What there is to say about a move: its kind unless the operation tells it, its runs, and its remarks."""
    said = [] if move.kind in (REARRANGES, ACCESSES) else [move.kind]
    said += [f"{move.count} runs"] if move.count > 1 else []
    return "; ".join([*said, *[text.rstrip(".") for text in move.remarks]])


def cut(text: str) -> str:
    """A text short enough for a table."""
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 3]}..."


def buffer_rows(audit: Audit) -> Rows:
    """The buffers in scarce memory, with padding, or with something to say about them; all, where nothing moves."""
    told = [b for b in audit.buffers if not audit.moves or b.side.padding or b.remarks or b.role in SCARCE]
    shown = sorted(told, key=lambda b: -(b.side.stored_bytes or 0))[:MOST_ROWS]
    lined = any(b.place.line for b in shown)
    rows = [
        [
            *([str(b.place.line) if b.place.line else ""] if lined else []),
            cut(b.place.name),
            cut(b.side.text),
            shape_text(b.shape),
            "?" if b.side.stored_bytes is None else format_size(b.side.stored_bytes),
            buffer_remark(b),
        ]
        for b in shown
    ]
    titles = [*(["line"] if lined else []), "buffer", "layout", "shape", "bytes", "remark"]
    return Rows(titles, rows, len(told) - len(shown))


def buffer_remark(buffer: Buffer) -> str:
    """What there is to say about a buffer."""
    padding = [f"padding {percent(buffer.side.padding)}"] if buffer.side.padding else []
    return "; ".join([*([buffer.role] if buffer.role != "tensor" else []), *padding, *buffer.remarks]).strip("; ")


def totals_text(audit: Audit) -> str:
    """The sums, in one line."""
    t = audit.totals
    said = [f"{format_size(t.bytes)} written by {several(t.moves, 'move')}", f"{format_size(t.rearranged)} rearranged"]
    said += [f"{t.free} of them write{'s' * (t.free == 1)} nothing"] if t.free else []
    said += [f"{t.undecided} undecided"] if t.undecided else []
    said += [f"{t.unsized} of unknown size"] if t.unsized else []
    if t.time is not None:
        whole = t.time + (t.step_time or 0)
        said.append(f"{format_time(t.time)} of {format_time(whole)}")
    said += [f"padding {format_size(t.padding_bytes)} of {format_size(t.buffer_bytes)}"] if t.padding_bytes else []
    return f"Total: {'; '.join(said)}."


def saved_text(saving: Saving) -> str:
    """What a change would save."""
    told = [format_size(saving.bytes)] if saving.bytes else []
    told += [] if saving.time is None else [format_time(saving.time)]
    return ", ".join(told) or "nothing tells how much"


def saving_lines(audit: Audit) -> list[str]:
    """The changes that would save most, one line each."""
    lines = []
    for number, saving in enumerate(audit.savings, 1):
        lines.append(f"  {number}. {saving.change} ({saved_text(saving)})")
    return ["What would save most:", *lines] if lines else []


def trouble_lines(audit: Audit) -> list[str]:
    """What could not be read, one line each."""
    shown = audit.troubles[:MOST_ROWS]
    lines = [f"  {trouble.place}: {trouble.message}" for trouble in shown]
    lines += [f"  and {len(audit.troubles) - len(shown)} more"] if len(audit.troubles) > len(shown) else []
    return ["Not read, or contradicting itself:", *lines] if lines else []


def audit_html(audit: Audit) -> str:
    """What a notebook shows of it: the summary, the tables, and what would save most."""
    from ..drawing.notebook_tables import division_html, rows_html, words_html

    parts = [words_html(summary(audit))]
    for table in (move_rows(audit), buffer_rows(audit)):
        if table.rows:
            parts.append(rows_html(table.rows, table.titles))
            parts += [words_html(f"and {table.left_out} more")] if table.left_out else []
    parts += [words_html(totals_text(audit))] if audit.totals.moves else []
    parts += [words_html("\n".join(lines)) for lines in (saving_lines(audit), trouble_lines(audit)) if lines]
    return division_html(*parts)


def audit_text(audit: Audit) -> str:
    """All of it in plain text, tables in columns."""
    parts = [summary(audit)]
    for table in (move_rows(audit), buffer_rows(audit)):
        if table.rows:
            widths = [max(map(len, column)) for column in zip(table.titles, *table.rows)]
            lines = [table.titles, *table.rows]
            parts.append("\n".join(["  ".join([c.ljust(n) for c, n in zip(row, widths)]).rstrip() for row in lines]))
            parts[-1] += f"\nand {table.left_out} more" if table.left_out else ""
    parts += [totals_text(audit)] if audit.totals.moves else []
    parts += ["\n".join(lines) for lines in (saving_lines(audit), trouble_lines(audit)) if lines]
    return "\n\n".join(parts)
