"""The copy by numpy alone: the same results as the compiled core, at numpy's speed."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

from ..elements import Element
from ..layout import Layout
from ..subbyte import get, put
from .loops import Nest, Piece, nest

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_LOOKUPS = 1 << 12
"""How many combinations of table entries are walked one by one; more are copied by their offsets."""


def copy_elements(source: Layout, target: Layout, kind: Element, x: NDArray[Any], out: NDArray[Any]) -> None:
    """Copy every element from one flat memory to the other; all are known to be inside. Packed ones are bytes."""
    if kind.bits % 8:
        put(out, kind, target.offsets(), get(x, kind, source.offsets()))
        return
    loops = common_loops(source, target)
    if loops is None:
        out[target.offsets()] = x[source.offsets()]
        return
    for piece in _pieces(loops):
        _view(out, piece.target, piece, 2)[...] = _view(x, piece.source, piece, 1)


@lru_cache(maxsize=256)
def common_loops(source: Layout, target: Layout) -> Nest | None:
    """The loops of both layouts; None where elements are looked up one by one."""
    if source.swizzle is not None or target.swizzle is not None:
        return None
    found = nest(source, target)
    return found if prod([len(table.source) for table in found.tables]) <= MAX_LOOKUPS else None


def _pieces(loops: Nest) -> tuple[Piece, ...]:
    """Every piece, once for each combination of the tables' entries."""
    pieces = loops.pieces
    for table in loops.tables:
        entries = list(zip(table.source.tolist(), table.target.tolist()))
        pieces = tuple([p._replace(source=p.source + a, target=p.target + b) for p in pieces for a, b in entries])
    return pieces


def _view(flat: NDArray[Any], start: int, piece: Piece, field: int) -> NDArray[Any]:
    import numpy as np

    size = flat.itemsize
    strides = [loop[field] * size for loop in piece.loops]
    return np.ndarray([loop.steps for loop in piece.loops], flat.dtype, flat, start * size, strides)
