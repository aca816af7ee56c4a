"""The copy by numpy alone: what the compiled core gives, at numpy's speed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product as cartesian
from typing import TYPE_CHECKING, Any

from ...elements.subbyte import get, put
from ...elements.types import Element
from ...errors import LimitExceeded
from ...layout.layout import Layout
from .. import tuning
from ..nest import Piece, make_nest

if TYPE_CHECKING:
    from numpy.typing import NDArray


def copy_elements(
    source: Layout,
    target: Layout,
    element: Element,
    pieces: tuple[Piece, ...] | None,
    x: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Copy every element from one flat memory to the other; all are known to be inside. Packed ones are bytes."""
    if element.bits % 8:
        put(out, element, target.offsets(), get(x, element, source.offsets()))
        return
    if pieces is None:
        out[target.offsets()] = x[source.offsets()]
        return
    for piece in _looked_up(pieces):
        _view(out, piece.target, piece, 2)[...] = _view(x, piece.source, piece, 1)


@lru_cache(maxsize=256)
def common_loops(source: Layout, target: Layout) -> tuple[Piece, ...] | None:
    """The loops of both layouts; None where elements are looked up one by one."""
    if source.swizzle is not None or target.swizzle is not None:
        return None
    try:
        pieces = tuple(make_nest(source, target).pieces())
    except LimitExceeded:
        return None
    return (
        pieces if sum([piece.lookups for piece in pieces if piece.tables]) <= tuning.ACTIVE.max_strided_copies else None
    )


def _looked_up(pieces: tuple[Piece, ...]) -> Iterator[Piece]:
    """Every piece, once for each combination of its tables' entries."""
    for piece in pieces:
        entries = [zip(table.source.tolist(), table.target.tolist()) for table in piece.tables]
        for moves in cartesian(*entries):
            source, target = [sum([move[side] for move in moves]) for side in (0, 1)]
            yield Piece(piece.source + source, piece.target + target, piece.loops)


def _view(flat: NDArray[Any], start: int, piece: Piece, field: int) -> NDArray[Any]:
    import numpy as np

    size = flat.itemsize
    strides = [loop[field] * size for loop in piece.loops]
    return np.ndarray([loop.steps for loop in piece.loops], flat.dtype, flat, start * size, strides)
