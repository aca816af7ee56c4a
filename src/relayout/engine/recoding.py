"""Conversions of elements that share a byte or fill it: one table from bytes to bytes, whatever both sides mean."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..elements.interface import Interface
from ..elements.subbyte import pack, unpack
from ..elements.types import storage_dtype
from ..errors import NotExpressible
from ..immutable import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Recoding(NamedTuple):
    """What every byte of stored elements becomes, and which bytes have no element that is refused."""

    table: NDArray[Any]
    known: NDArray[Any]


@lru_cache(maxsize=64)
def recoding(source: Interface, target: Interface) -> Recoding | None:
    """The table between elements of one width that bytes are made of; None where there is none for all elements.

    It is what the interfaces decode and encode, bit for bit.
    """
    import numpy as np

    bits = source.element.bits
    if bits != target.element.bits or bits not in (1, 2, 4, 8) or source.axis is not None or target.axis is not None:
        return None
    every = np.arange(256, dtype=np.uint8)
    stored = every.view(storage_dtype(source.element)) if bits == 8 else unpack(every, source.element, 2048 // bits)
    codes, place = np.unique(stored.view(np.uint8), return_inverse=True)
    firsts = [int(np.flatnonzero(place == k)[0]) for k in range(codes.size)]
    made, held = np.zeros(codes.size, storage_dtype(target.element)), np.zeros(codes.size, bool)
    for k, first in enumerate(firsts):
        try:
            made[k] = target.encode(source.decode(stored[first : first + 1]))[0]
            held[k] = True
        except NotExpressible:
            pass
    moved = made[place.reshape(-1)]
    table = moved.view(np.uint8) if bits == 8 else pack(moved, target.element)
    return Recoding(np.asarray(table), np.asarray(held[place.reshape(-1)].reshape(256, -1).all(axis=1)))
