"""TVM's layout strings: ``NCHW16c``, ``OIHW16i16o``, ``NHWC8h8w32c``.

Capital letters are the dimensions in logical order; a number and a small letter is a block of that dimension, one each.
"""

from __future__ import annotations

from ..errors import NotExpressible
from ..format import Format
from ..layout import Layout
from .blocked import letters_and_blocks, plain_format
from .scan import Scanner


def parse(text: str) -> Format:
    scan = Scanner(text, "tvm", "NCHW16c")
    outer, blocks = letters_and_blocks(scan)
    axes = "".join([letter for letter, _ in outer])
    if not axes:
        scan.fail("a capital letter", 0)
    for k, (letter, at) in enumerate(outer):
        if letter.islower() or letter in axes[:k]:
            scan.fail("a capital letter for each dimension, each once", at)
    for k, (size, letter, at) in enumerate(blocks):
        if letter.upper() not in axes or letter.isupper() or size < 1 or letter in [b[1] for b in blocks[:k]]:
            scan.fail("a small letter of one of the dimensions, each once", at)
    factors = [(d, 0) for d in range(len(axes))] + [(axes.index(letter.upper()), size) for size, letter, _ in blocks]
    return Format(len(axes), factors, axes=axes.lower())


def render(x: Layout | Format) -> str:
    fmt = plain_format(x, "tvm")
    if fmt.axes is None or fmt.order != tuple(range(fmt.rank)) or len({f.dim for f in fmt.blocks}) < len(fmt.blocks):
        raise NotExpressible(
            f"TVM needs named dimensions stored in logical order and one block for each at most, not {fmt}.",
            hint="name the axes; permute the tensor so that its dimensions are stored in order",
            dialect="tvm",
            format=fmt,
        )
    return fmt.axes.upper() + "".join([f"{f.size}{fmt.axes[f.dim].lower()}" for f in fmt.blocks])
