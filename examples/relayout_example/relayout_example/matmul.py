"""The matrix instruction of ACME's NPU: 4 x 4 x 4 by eight lanes, each with two neighbours along the rows."""

from collections.abc import Iterator

from relayout import Layout
from relayout.hardware import Atom
from relayout.hardware.atom import product_operands

PAIRS = Layout(((2, 4), 2), ((8, 1), 4))
"""(lane, value) to row + 4 * column: two lanes share a row, and each has two neighbours of it."""


def atoms() -> Iterator[Atom]:
    """The one instruction that it has."""
    operands = product_operands((4, 4, 4), {"A": PAIRS, "B": PAIRS, "C": PAIRS}, ("s32", "s8", "s8", "s32"))
    manual = "ACME NPU manual, chapter 7"
    yield Atom("npu1.matmul.s32.s8", (4, 4, 4), 8, operands, "npu1", manual, ("the manual's figure 12",))
