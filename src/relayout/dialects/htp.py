"""Qualcomm HTP's form: ``ChunkedMemoryLayout<4, 0,0, 1,0, 2,0, 3,0, 1,8, 2,8, 3,32>``, ``FlatMemoryLayout<4>``, names.

Pairs (dimension, size), slowest first, size 0 for the rest. Comments and a name after the angle brackets are read over.
It has no shape: parsing gives a ``Format``. Block sizes are powers of two.
"""

from __future__ import annotations

import re
from typing import Any

from ..format import catalog
from ..format.entries import Entry
from ..format.factors import MAX_FACTORS
from ..format.format import Format
from ..layout.layout import Layout
from .blocked import plain_format
from .refusal import cannot
from .scan import Scanner

_DECLARED = re.compile(r"\s*(?:typedef\s+|using\s+\w+\s*=\s*)?(?:typename\s+)?(?:\w+::)*")


EXAMPLES = (
    "FlatMemoryLayout<2>;",
    "ChunkedMemoryLayout<2, /* rows */ 0,0,\n 1,0, // columns\n 0,2, 1,4> MyTile;",
)
"""Texts that it reads, one for each way to write."""


def parse(text: str) -> Format | Entry:
    scan = Scanner(text, "htp", "ChunkedMemoryLayout<2, 0,0, 1,0, 0,8, 1,32>")
    declared = _DECLARED.match(scan.text)
    scan.position = declared.end() if declared else 0
    scan.peek()
    at = scan.position
    name = scan.name()
    if name == "FlatMemoryLayout":
        scan.expect("<")
        at = scan.position
        rank = scan.integer()
        if not 0 <= rank <= MAX_FACTORS:
            scan.fail(f"a rank of 0 to {MAX_FACTORS}", at)
        scan.expect(">")
        _ending(scan)
        return Format(rank, [(d, 0) for d in range(rank)])
    if name != "ChunkedMemoryLayout":
        entry = catalog.lookup(f"htp:{name}")
        if entry is None:
            scan.fail("ChunkedMemoryLayout, FlatMemoryLayout or the name of an HTP layout", at)
        _ending(scan)
        return entry
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


def render(x: Layout | Format, dtype: Any = None) -> str:
    fmt = plain_format(x, "htp")
    odd = next((f.size for f in fmt.blocks if f.size & (f.size - 1)), None)
    if odd is not None:
        raise cannot(x, "htp", f"its block sizes are powers of two, and {odd} is none", "pad to a power of two")
    if not fmt.blocks and fmt.order == tuple(range(fmt.rank)):
        return f"FlatMemoryLayout<{fmt.rank}>"
    return f"ChunkedMemoryLayout<{fmt.rank}, {', '.join([f'{d},{n}' for d, n in fmt.pairs])}>"
