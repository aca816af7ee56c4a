"""Shardings in plain words: who holds what, how often, and how much of it is padding."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import LimitExceeded
from ..integers.nested import product
from ..sharding.digits import Deal
from ..sharding.sharding import Sharding

_MOST_DEVICES = 8
_MOST_BOXES = 2


def sharding_lines(s: Sharding, bits: int | None) -> Iterator[str]:
    """What each device holds, from the mesh down to the boxes of the first devices."""
    if s.mesh.devices is None:
        yield "Every device holds all; nothing says how many there are."
        return
    yield _mesh_line(s)
    yield from [_dim_line(s, d, deals) for d, deals in enumerate(s.dims) if any(x.axis is not None for x in deals)]
    yield _copies_line(s)
    if s.shape is None:
        return
    sizes = sorted({product(s.local_shape(device)) for device in s.devices})
    each = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    in_bytes = f" ({-(-sizes[-1] * bits // 8)} bytes at most)" if bits else ""
    yield f"Of {product(s.shape)} elements a device holds {each}{in_bytes}."
    if not s.is_even():
        empty = [device for device in s.devices if 0 in s.local_shape(device)]
        nothing = f"; {len(empty)} of {len(s.devices)} devices hold nothing" if empty else ""
        yield f"The sizes are not divided evenly{nothing}."
    try:
        for device in s.devices[:_MOST_DEVICES]:
            yield f"Device {device}: {_boxes_text(s, device)}."
    except LimitExceeded:
        return
    if len(s.devices) > _MOST_DEVICES:
        yield f"And {len(s.devices) - _MOST_DEVICES} devices more."


def _mesh_line(s: Sharding) -> str:
    count = s.mesh.size
    if not s.mesh.axes:
        return f"One device, {s.devices[0]}, holds all."
    axes = " x ".join([f"{name}={n}" for name, n in s.mesh.axes.items()])
    order = "" if s.mesh.in_order else f", in the order {', '.join(map(str, s.mesh.known_devices()[:8]))}"
    more = ", ..." if not s.mesh.in_order and count > 8 else ""
    return f"A mesh of {count} devices, {axes}{order}{more}."


def _dim_line(s: Sharding, d: int, deals: tuple[Deal, ...]) -> str:
    words = []
    for deal in deals:
        part = "" if deal.axis is None or deal.size == s.mesh.axes[deal.axis] else "a part of "
        kept = f"{deal.size} kept" if deal.size else "the rest kept"
        words.append(kept if deal.axis is None else f"{deal.size} along {part}{deal.axis}")
    rule = {"pad": "", "chunk": ", every piece split by itself", "refuse": ", and no sizes that leave a remainder"}
    return f"Dimension {d}, its digits from the most significant: {', '.join(words)}{rule[s.uneven]}."


def _copies_line(s: Sharding) -> str:
    if s.replicas == 1:
        return "Every element is on one device: a partition."
    used = {deal.axis for deals in s.dims for deal in deals if deal.axis is not None}
    idle = [name for name, n in s.mesh.axes.items() if name not in used and n > 1]
    along = f", along {', '.join(idle)}" if idle else ""
    return f"Every element is on {s.replicas} devices{along}."


def _boxes_text(s: Sharding, device: int) -> str:
    boxes = s.boxes(device)
    listed = [f"[{', '.join([f'{start}:{stop}' for start, stop in box])}]" for box in boxes[:_MOST_BOXES]]
    more = f" and {len(boxes) - _MOST_BOXES} boxes more" if len(boxes) > _MOST_BOXES else ""
    return (" ".join(listed) or "nothing") + more
