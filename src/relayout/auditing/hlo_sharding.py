"""Shardings in XLA's programs: what each device holds of a value, and what devices exchange where one changes."""

from __future__ import annotations

from typing import Any

from ..dialects.shardings import read_sharding
from ..errors import LayoutError, ParseError
from ..sharding.sharding import Sharding
from .hlo_shapes import Shaped
from .kinds import UNDECIDED, decide_kind
from .move import Move, Place, Side

Words = tuple[tuple[str, ...], dict[str, Any]]
"""What people read, and the numbers for JSON."""


def per_device(text: str, whole: Shaped, local: bool) -> Words:
    """What a sharding says about a value of that shape: the largest part that a device holds, and its bytes.

    ``local`` is true for a program that was partitioned already: its shapes are the parts themselves.
    """
    if not text:
        return (), {}
    words = _words(text)
    try:
        sharding = _read(text, whole.shape, local)
    except LayoutError as error:
        return (f"sharding {words}: {error.message}",), {"sharding": words}
    devices = sharding.mesh.devices
    if devices is None:
        return ("every device holds all of it",), {"sharding": words}
    if local:
        return (f"the part of each of {len(devices)} devices",), {"sharding": words, "devices": len(devices)}
    part = max([sharding.local_shape(device) for device in devices], key=_size)
    bytes = -(-_size(part) * (0 if whole.side.element is None else whole.side.element.bits) // 8)
    copies = f"; every element is on {sharding.replicas}" if sharding.replicas > 1 else ""
    uneven = "" if sharding.is_even() else " at most"
    said = f"each of {len(devices)} devices holds{uneven} {_shape_text(part)}, {bytes} bytes{copies}"
    details = {"sharding": words, "devices": len(devices), "device_shape": list(part), "device_bytes": bytes}
    return (said,), details


def resharding(place: Place, op: str, texts: tuple[str, str], value: Shaped, flow: tuple[str, str]) -> Move:
    """The move from one sharding to another; its bytes are those that devices receive from others."""
    sides = [_side(text, value) for text in texts]
    kind, why, _ = decide_kind(*sides)
    bytes: int | None = None
    if kind != UNDECIDED and value.side.element is not None and value.side.element.bits % 8 == 0:
        bytes = sides[0].layout.exchange(sides[1].layout, value.side.element.bits // 8).total
    words = (why,) if why else ()
    return Move(place, op, kind, sides[0], sides[1], value.shape, bytes, None, 1, *flow, words)


def _side(text: str, value: Shaped) -> Side:
    if not text.strip("{}"):
        return Side("?", why="the text does not tell how the operand is dealt")
    try:
        return Side(_words(text), _read(text, value.shape, False), value.side.element)
    except LayoutError as error:
        return Side(text, why=error.message)


def _read(text: str, shape: tuple[int, ...], local: bool) -> Sharding:
    own = text if text.startswith(("{", "sdy.", "#sdy.")) else f"{{{text}}}"
    found = read_sharding(own, "sdy" if "sdy." in own else "hlo", len(shape))
    if found is None:
        raise ParseError(f"{text} is no sharding.", hint="as in {devices=[4,2]<=[8]}")
    return found if local or found.shape is not None else found.at(shape)


def _words(text: str) -> str:
    """The sharding without the mesh that stands before it."""
    return text[text.find("#sdy.sharding") :] if "#sdy.sharding" in text else text


def _size(shape: tuple[int, ...]) -> int:
    n = 1
    for size in shape:
        n *= size
    return n


def _shape_text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "a scalar"
