"""Conversions between interfaces, as the compiled core takes them: described once, then run beside the copy."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from ..elements.encoding import Encoding
from ..elements.interface import Interface, ScaleOffset
from ..elements.types import storage_dtype
from ..errors import NotExpressible
from ..immutable import NamedTuple
from ..native import native

Scales: TypeAlias = tuple[tuple[float, ...], tuple[int, ...]]
"""The scales and offsets of all channels; of one where they hold for all elements."""


class Conversion(NamedTuple):
    """A conversion: the types that both sides are stored as, and the scales of those that are quantised.

    ``table`` holds, for a source of 8 bits whose type is looked up, the 256 stored values that its bytes become.
    ``refuses_nan`` says that a run stops at NaN, which the target does not store.
    """

    source: str
    target: str
    decode: Scales | None
    encode: Scales | None
    table: bytes | None
    refuses_nan: bool


@lru_cache(maxsize=1024)
def conversion(source: Interface, target: Interface) -> Conversion | None:
    """How stored values of one interface become those of another, bit for bit as the interfaces decode and encode.

    None where nothing is to be converted, where a value but NaN could be refused, and where the compiled core lacks it.
    """
    if native is None or source == target or min(source.element.bits, target.element.bits) < 8:
        return None
    if isinstance(source, Encoding) or isinstance(target, Encoding):
        return None
    names = source.element.underlying.name, target.element.underlying.name
    looked_up = source.element.bits == 8 and not source.element.integral
    table = table_of(source, target) if looked_up else None
    found = Conversion(*names, scales_of(source), scales_of(target), table, refuses_nan(source, target))
    return found if looked_up == (table is not None) and native.converts(found) else None


def refuses_nan(source: Interface, target: Interface) -> bool:
    """Whether the source may hold NaN, and the target refuses it."""
    return isinstance(target, ScaleOffset) and target.nan == "refuse" and not source.element.integral


def scales_of(x: Interface) -> Scales | None:
    if not isinstance(x, ScaleOffset):
        return None
    scales = x.scale if isinstance(x.scale, tuple) else (x.scale,)
    offsets = x.offset if isinstance(x.offset, tuple) else (x.offset,)
    return scales, offsets


def table_of(source: Interface, target: Interface) -> bytes | None:
    """What every byte becomes; None where that depends on the channel, or is refused."""
    import numpy as np

    if target.axis is not None or target.element.complex:
        return None
    try:
        every = np.arange(256, dtype=np.uint8).view(storage_dtype(source.element))
        stored: bytes = target.encode(every).tobytes()
        return stored
    except NotExpressible:
        return None
