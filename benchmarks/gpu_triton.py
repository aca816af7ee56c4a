"""The plain Triton kernel that one would write by hand: a tiled transpose of many matrices, not tuned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from repack_cases import Side

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

TILE = 64


if triton is not None:

    @triton.jit
    def _transpose(x, y, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # type: ignore[no-untyped-def]
        size = rows.to(tl.int64) * columns
        x += tl.program_id(2) * size
        y += tl.program_id(2) * size
        r = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
        c = (tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)).to(tl.int64)
        inside = (r[:, None] < rows) & (c[None, :] < columns)
        tile = tl.load(x + r[:, None] * columns + c[None, :], mask=inside)
        back = (c[:, None] < columns) & (r[None, :] < rows)
        tl.store(y + c[:, None] * rows + r[None, :], tl.trans(tile), mask=back)


def transposed(source: Side, target: Side, x: Any, y: Any) -> Callable[[], Any] | None:
    """The call for layouts that are a batch of matrices and their transposes; None for others."""
    shape = _matrices(source, target)
    if triton is None or shape is None:
        return None
    batch, rows, columns = shape
    sizes = [min(TILE, 1 << (n - 1).bit_length()) for n in (rows, columns)]
    if min(sizes) < TILE:
        sizes = [max(size, 256) if size == TILE else size for size in sizes]
    if x.element_size() == 1:
        sizes = [2 * size if size == TILE else size for size in sizes]
    grid = (-(-rows // sizes[0]), -(-columns // sizes[1]), batch)

    def call() -> Any:
        _transpose[grid](x, y, rows, columns, ROWS=sizes[0], COLUMNS=sizes[1])
        return y

    return call


def _matrices(source: Side, target: Side) -> tuple[int, int, int] | None:
    """How many matrices, of how many rows and columns."""
    if not source.plain or not target.plain or not source.compact or not target.compact:
        return None
    first, second = [[side.digits[k].dim for k in side.order] for side in (source, target)]
    sizes = source.extents
    for start in range(len(first)):
        for cut in range(start + 1, len(first)):
            if first[:start] == second[:start] and second[start:] == first[cut:] + first[start:cut]:
                parts = [first[:start], first[start:cut], first[cut:]]
                counts = [1, 1, 1]
                for k, part in enumerate(parts):
                    for d in part:
                        counts[k] *= sizes[d]
                return counts[0], counts[1], counts[2]
    return None
