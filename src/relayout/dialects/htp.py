"""Qualcomm HTP's form: ``ChunkedMemoryLayout<4, 0,0, 1,0, 2,0, 3,0, 1,8, 2,8, 3,32>``, ``FlatMemoryLayout<4>``, names.

Pairs (dimension, size), slowest first, size 0 for the rest. Comments and a name after the angle brackets are read over.
It has no shape: parsing gives a ``Format``. Block sizes are powers of two.
"""

from __future__ import annotations

import re

from .. import catalog
from ..errors import NotExpressible, ShapeError
from ..format import Format
from ..layout import Layout
from .blocked import plain_format
from .scan import Scanner

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def parse(text: str) -> Format:
    blank = _COMMENT.sub(lambda comment: " " * len(comment.group()), text)
    scan = Scanner(text, "htp", "ChunkedMemoryLayout<2, 0,0, 1,0, 0,8, 1,32>", read=blank)
    scan.peek()
    at = scan.position
    name = scan.name()
    if name == "FlatMemoryLayout":
        scan.expect("<")
        rank = scan.integer()
        scan.expect(">")
        _ending(scan)
        return Format(rank, [(d, 0) for d in range(rank)])
    if name != "ChunkedMemoryLayout":
        _ending(scan)
        try:
            return catalog.get(f"htp:{name}")
        except ShapeError:
            scan.fail("ChunkedMemoryLayout, FlatMemoryLayout or the name of an HTP layout", at)
    scan.expect("<")
    rank = scan.integer()
    factors = []
    while scan.accept(","):
        dim = scan.integer()
        scan.expect(",")
        factors.append((dim, scan.integer()))
    scan.expect(">")
    _ending(scan)
    return Format(rank, factors)


def _ending(scan: Scanner) -> None:
    """An optional declared name and semicolon, then the end."""
    scan.name()
    scan.accept(";")
    scan.end()


def render(x: Layout | Format) -> str:
    fmt = plain_format(x, "htp")
    odd = next((f.size for f in fmt.blocks if f.size & (f.size - 1)), None)
    if odd is not None:
        raise NotExpressible(
            f"HTP's block sizes are powers of two, and {fmt} has {odd}.",
            hint="pad to a power of two",
            dialect="htp",
            format=fmt,
        )
    if not fmt.blocks and fmt.order == tuple(range(fmt.rank)):
        return f"FlatMemoryLayout<{fmt.rank}>"
    return f"ChunkedMemoryLayout<{fmt.rank}, {', '.join([f'{d},{n}' for d, n in fmt.pairs])}>"
