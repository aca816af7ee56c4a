"""The moves in the body of an HLO fusion: which of them stands for all, and where in memory the others are."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..errors import LayoutError, NotExpressible
from ..layout.layout import Layout
from .hlo_text import Instruction
from .kinds import SAME_BYTES
from .making import make_move
from .move import Move, Side


class FusedMove(NamedTuple):
    """A move in the body of a fusion, as far as the body tells."""

    instruction: Instruction
    move: Move
    operand: str
    start: Side


class FusionBody:
    """What the body of a fusion does."""

    def __init__(self) -> None:
        self.moves: list[FusedMove] = []
        self.parameters: set[str] = set()
        self.only_moves = True
        self.elementwise = True


def whole_move(body: FusionBody) -> FusedMove | None:
    """The move that stands for a fusion of moves one after another: the last that changes a place, or that copies."""
    before = ["", *[one.instruction.name for one in body.moves]]
    if any(one.operand != name and one.operand not in body.parameters for one, name in zip(body.moves, before)):
        return None
    if sum([one.operand in body.parameters for one in body.moves]) != 1:
        return None
    moving = [one for one in body.moves if one.move.kind != SAME_BYTES]
    copying = [one for one in body.moves if one.move.op == "copy"]
    found = moving or copying or body.moves
    return found[-1] if found else None


def move_at_once(moves: list[FusedMove], whole: Move) -> Move:
    """The move of a fusion from what it reads to what it writes; undecided where its moves cannot be told as one."""
    moving = [one for one in moves if one.move.kind != SAME_BYTES]
    if len(moving) < 2:
        return whole
    start, layout = moving[0].start, moving[0].start.layout
    between = moves[moves.index(moving[0]) : moves.index(moving[-1]) + 1]
    try:
        for one in between:
            layout = _follow(one.instruction, layout, one.move)
        return make_move(whole.place, whole.op, start._replace(layout=layout), whole.target, shape=whole.shape)
    except LayoutError as error:
        open_ = start._replace(layout=None, why=error.message)
        return make_move(whole.place, whole.op, open_, whole.target, shape=whole.shape)


def _follow(item: Instruction, layout: Any, move: Move) -> Any:
    """The layout of what a fusion reads, over the coordinates of what an instruction in it gives."""
    if item.opcode == "transpose" and isinstance(layout, Layout):
        return layout.permute(*[int(n) for n in re.findall(r"\d+", item.attribute("dimensions") or "")])
    if item.opcode == "reshape" and isinstance(layout, Layout):
        return layout.reshape(move.shape)
    if item.opcode == "copy":
        return layout
    raise NotExpressible(
        f"what {item.opcode} {item.name} does between others is not told as one move.",
        hint="audit the text before optimisation",
        op=item.opcode,
    )


def words_in_fusion(one: FusedMove, body: FusionBody, name: str) -> str:
    """Where the sides of a move inside a fusion are: in memory only where it begins or ends the fusion."""
    free = {other.instruction.name: other.operand for other in body.moves if other.move.kind == SAME_BYTES}
    operand = one.operand
    while operand in free:
        operand = free[operand]
    words = []
    if operand in body.parameters:
        words.append("read so")
    if one.instruction.root:
        words.append("written so")
    return f"{' and '.join(words)} by fusion {name}" if words else f"inside fusion {name}: in no memory"
