"""Copies for every pair of layouts: swizzles, block tables, blocks that do not divide each other, packed elements.

The compiled core walks both layouts at once, tile by tile. Where vectors of both sides hold the same elements of 1, 2,
4 or 8 bits, or the same bytes of wider ones (``in_bytes``), a network brings each to its place; else elements that stay
together are moved as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

from ...errors import LimitExceeded, NotExpressible, OutOfBounds, Overlap, ShapeError
from ...layout.layout import Layout
from ...layout.ranges import effective_swizzle
from ...native import native
from ...tensors.block_table import BlockTable
from .. import tuning
from ..nest import looked_up, make_nest


class GeneralProgram:
    """A copy from one layout to another, of elements of so many bits; it may be run many times, by many threads.

    With a block size a layout gives virtual addresses, and a run gets a table of the blocks. The target has a place
    for every element. ``in_bytes`` moves the bytes of elements, as networks do; there are no swizzles and blocks then.
    """

    __slots__ = ("_copy", "_width")

    def __init__(
        self,
        source: Layout,
        target: Layout,
        bits: int,
        source_block: int | None = None,
        target_block: int | None = None,
        in_bytes: bool = False,
    ) -> None:
        if native is None:
            raise NotExpressible(
                "the compiled core is not there.", hint="copy by offsets: out[target.offsets()] = x[source.offsets()]"
            )
        nest = make_nest(source, target)
        self._width = bits // 8 if in_bytes else 1
        if in_bytes:
            nest, bits = nest.in_bytes(self._width), 8
        dims = list(nest.dims)
        while prod([len(boxes) for boxes in dims]) > tuning.ACTIVE.max_general_boxes:
            cut = [d for d, boxes in enumerate(dims) if len(boxes) > 1]
            smallest = min(cut, key=lambda d: source.extents[d])
            dims[smallest] = (looked_up(source, target, smallest),)
        swizzles = [effective_swizzle(layout) if layout.size else None for layout in (source, target)]
        moves = [None if swizzle is None else swizzle.parameters for swizzle in swizzles]
        try:
            self._copy = native.GeneralProgram(
                bits,
                nest.source,
                nest.target,
                tuple([tuple([box[:4] for box in dim]) for dim in dims]),
                moves[0],
                moves[1],
                source_block,
                target_block,
            )
        except ValueError as error:
            raise LimitExceeded(
                f"there is no copy from {source} to {target}: {error}.", hint="copy a part of it", limit=1 << 55
            ) from None

    @property
    def count_by_networks(self) -> int:
        """How many of the elements change places in vectors; the others are copied run by run."""
        return int(self._copy.count_by_networks) // self._width

    def __call__(
        self,
        x: Sequence[Any],
        out: Sequence[Any],
        x_table: BlockTable | None = None,
        out_table: BlockTable | None = None,
        threads: int = 1,
    ) -> None:
        """Copy between buffers: one on each side, or as many as the table of that side names."""
        tables = [None if table is None else (table.buffers, table.starts) for table in (x_table, out_table)]
        try:
            apart = self._copy(x, out, tables[0], tables[1], threads)
        except IndexError as error:
            raise OutOfBounds(f"nothing is copied: {error}.", hint="give more memory") from None
        except BufferError as error:
            raise ShapeError(f"nothing is copied: {error}.", hint="pass contiguous memory, writable for out") from None
        if not apart:
            raise Overlap("source and target share memory.", hint="copy the source first")


general_program = lru_cache(maxsize=256)(GeneralProgram)
"""Programs by their arguments; plans that differ by nothing but a fill or threads share one."""
