"""Where clang-format breaks a statement that is too long: the breaks that cost least, by its penalties."""

from __future__ import annotations

import re
from heapq import heappop, heappush
from typing import NamedTuple

COSTS = {
    ";": 0,
    ",": 1,
    **dict.fromkeys(("=", "|=", "&=", "+=", "-=", "%=", "*="), 2),
    **dict.fromkeys(("?", ":"), 3),
    "||": 4,
    "&&": 5,
    "|": 6,
    "^": 7,
    "&": 8,
    **dict.fromkeys(("==", "!="), 9),
    **dict.fromkeys(("<", "<=", ">", ">="), 10),
    **dict.fromkeys(("<<", ">>"), 12),
    **dict.fromkeys(("+", "-"), 13),
    **dict.fromkeys(("*", "/", "%"), 14),
    "(": 19,
}
"""What a break behind these costs."""

NESTED = 20
"""What it costs more for each bracket around it."""

FIRST = 15
"""What the first break of an expression costs more: then others of the same are cheaper than one of another."""

HEAD = 81
"""What a break before the first parameter of a function costs more than one before an argument."""

TOO_LONG = 1_000_000
ASSIGNMENT, HIGHEST, INSIDE = 2, 15, 16
"""The strengths of signs: of the weakest, above all, and of brackets within an operand."""


class BracketLevel(NamedTuple):
    """An open bracket: where breaks behind its commas go on, where the operand of each strength began, and the
    strengths whose expressions are broken.
    """

    column: int
    starts: tuple[int, ...]
    deeper: int = 0
    """How much further operands go on than they began: 4 where there are several arguments."""
    broken: frozenset[int] = frozenset()


class BrokenPart(NamedTuple):
    """The first pieces of a statement, laid out: how wide the line is, and the column of each break."""

    next_piece: int
    column: int
    levels: tuple[BracketLevel, ...]
    breaks: tuple[tuple[int, int], ...]


def break_statement(text: str, indent: int, width: int) -> list[str]:
    """The lines of a statement, or of the head of a function, each with its indentation."""
    pieces, several = _pieces(text), _several_arguments(text)
    head = HEAD * text.endswith(") {")
    opened = [0]
    for piece, _ in pieces:
        opened.append(opened[-1] + sum([piece.count(bracket) for bracket in "([{"]))
    start = indent + 7 * text.startswith("return ")
    queue = [(0, 0, BrokenPart(0, indent, (BracketLevel(indent + 4, (start,) * HIGHEST),), ()))]
    turn, seen = 0, set()
    while queue:
        cost, _, part = heappop(queue)
        if part.next_piece == len(pieces):
            return _lines(pieces, part.breaks, indent)
        if part[:3] in seen:
            continue
        seen.add(part[:3])
        piece, sign = pieces[part.next_piece]
        end = part.column + len(piece.rstrip())
        cost += TOO_LONG * max(0, end - width)
        levels = _open_levels(part.levels, piece, part.column, several[opened[part.next_piece] :])
        ways = [] if _must_break(levels[-1], sign) else [(0, part.column + len(piece), part.breaks)]
        if sign and part.next_piece + 1 < len(pieces):
            own = levels[-1]
            column = indent + 4
            if sign in ",;":
                column = own.column
            elif sign != "(" and COSTS[sign] != ASSIGNMENT:
                column = own.starts[COSTS[sign]] + own.deeper
            price = COSTS[sign] + NESTED * len(levels) + FIRST * (_strength(sign) not in own.broken)
            price += head * (sign == "(")
            ways.append((price, column, (*part.breaks, (part.next_piece, column))))
        for more, column, breaks in ways:
            turn += 1
            known = _begin_operand(levels, sign, column, bool(more))
            heappush(queue, (cost + more, turn, BrokenPart(part.next_piece + 1, column, known, breaks)))
    return [" " * indent + text]


def _pieces(text: str) -> list[tuple[str, str]]:
    """Parts that are never broken, with the spaces behind them, each with the sign that it may be broken behind."""
    found: list[tuple[str, str]] = []
    for word in re.findall(r"(?:<<<.*?>>>|\S)+ *", text):
        parts = re.split(r"(?<=[\w>]\()(?=[^)])", word) if not word.startswith("sizeof(") else [word]
        found += [(part, "(") for part in parts[:-1]]
        last = parts[-1].rstrip()
        found.append((parts[-1], last if last in COSTS else last[-1] if last[-1] in ",;" else ""))
    return found


def _several_arguments(text: str) -> list[bool]:
    """For each bracket that is opened, whether there are commas in it."""
    found: list[bool] = []
    stack: list[int] = []
    for character in text:
        if character in "([{":
            stack.append(len(found))
            found.append(False)
        elif character in ")]}" and stack:
            stack.pop()
        elif character == "," and stack:
            found[stack[-1]] = True
    return found


def _open_levels(
    levels: tuple[BracketLevel, ...], piece: str, column: int, several: list[bool]
) -> tuple[BracketLevel, ...]:
    """The brackets that are open behind a piece."""
    turn = 0
    for k, character in enumerate(piece):
        if character in "([{":
            here = column + k + 1
            levels = (*levels, BracketLevel(here, (here,) * HIGHEST, 4 * several[turn]))
            turn += 1
        elif character in ")]}" and len(levels) > 1:
            inner, levels = levels[-1], levels[:-1]
            if inner.broken:
                levels = (*levels[:-1], levels[-1]._replace(broken=levels[-1].broken | {INSIDE}))
    return levels


def _strength(sign: str) -> int:
    """The kind of expression that a sign belongs to; commas and brackets are of one."""
    return COSTS[sign] if ASSIGNMENT <= COSTS[sign] < HIGHEST else 0


def _must_break(level: BracketLevel, sign: str) -> bool:
    """Whether what stands before a sign is broken itself, so that what follows has a line of its own."""
    if sign == ",":
        return any(strength > ASSIGNMENT for strength in level.broken)
    return bool(sign) and INSIDE in level.broken and ASSIGNMENT < COSTS[sign] < HIGHEST


def _begin_operand(levels: tuple[BracketLevel, ...], sign: str, column: int, breaks: bool) -> tuple[BracketLevel, ...]:
    """The levels where the next piece begins: what binds stronger than the sign begins anew."""
    if not sign:
        return levels
    own, strength = levels[-1], _strength(sign)
    kept = 0 if strength <= ASSIGNMENT else strength + 1
    starts = own.starts[:kept] + (column,) * (HIGHEST - kept)
    broken = frozenset([n for n in own.broken if n <= strength] + [strength] * breaks)
    return (*levels[:-1], BracketLevel(column if sign == "(" and breaks else own.column, starts, own.deeper, broken))


def _lines(pieces: list[tuple[str, str]], breaks: tuple[tuple[int, int], ...], indent: int) -> list[str]:
    lines, column, first = [], indent, 0
    for last, behind in [*breaks, (len(pieces) - 1, 0)]:
        lines.append(" " * column + "".join([piece for piece, _ in pieces[first : last + 1]]).rstrip())
        column, first = behind, last + 1
    return lines
