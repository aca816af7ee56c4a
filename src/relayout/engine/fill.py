"""The fill of a plan: the bytes of one stored value."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..elements.interface import Interface
from ..tensors.data import fill_code


def fill_bytes(interface: Interface, fill: Any) -> bytes:
    """The bytes of one element that holds a stored value, or of eight that share bytes."""
    # 0.0 and -0.0 are equal; their words are not.
    return (
        _encode(interface, fill, repr(fill))
        if isinstance(fill, int | float | str)
        else _encode.__wrapped__(interface, fill)
    )


@lru_cache(maxsize=256)
def _encode(interface: Interface, fill: Any, word: str = "") -> bytes:
    code, element = fill_code(interface, fill), interface.element
    if element.bits % 8 == 0:
        return code.tobytes()
    from ..elements.subbyte import pack

    return pack([code] * 8, element).tobytes()
