"""The bytes that devices must exchange to get a tensor from one sharding to another."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ..errors import LimitExceeded, ShapeError
from ..integers.inttuple import as_int
from .digits import Runs, common

if TYPE_CHECKING:
    from .sharding import Sharding

MAX_PAIRS = 1 << 22
"""No more pairs of devices are looked at than this."""


class Exchange(NamedTuple):
    """Bytes by ``(sender, receiver)``, none that are zero; what a device holds already is not sent.

    Where several devices hold what one lacks, one of them sends it: receivers take them in turn, by their place in
    the mesh. So the bytes that each device receives are what they must be, and their senders are one choice.
    """

    pairs: dict[tuple[int, int], int]
    kept: int
    """The bytes that stay where they are, over all devices."""

    @property
    def total(self) -> int:
        """All bytes that are sent."""
        return sum(self.pairs.values())

    def matrix(self) -> list[list[int]]:
        """The bytes from each device, down, to each device, across; devices from 0 to the highest."""
        count = 1 + max([device for pair in self.pairs for device in pair], default=-1)
        return [[self.pairs.get((a, b), 0) for b in range(count)] for a in range(count)]

    def bytes_received(self, device: int) -> int:
        """The bytes that a device receives."""
        return sum([n for (_, to), n in self.pairs.items() if to == device])

    def bytes_sent(self, device: int) -> int:
        """The bytes that a device sends."""
        return sum([n for (sender, _), n in self.pairs.items() if sender == device])

    def __str__(self) -> str:
        busiest = max((self.bytes_received(device) for device in {to for _, to in self.pairs}), default=0)
        return f"{self.total} bytes between {len(self.pairs)} pairs of devices, at most {busiest} to one"


def exchange(source: Sharding, target: Sharding, element_bytes: int) -> Exchange:
    """What must be sent so that every device of ``target`` has its part, when ``source`` is there."""
    size = as_int(element_bytes, "element_bytes")
    if size < 1:
        raise ShapeError(f"an element has no {size} bytes.", hint="1 or more", element_bytes=element_bytes)
    if source.shape != target.shape:
        raise ShapeError(
            f"{source.shape} and {target.shape} are not one tensor's.", hint="give both one shape", source=source
        )
    if source.mesh.devices is None:
        raise ShapeError(
            "nothing says which devices hold the tensor first.", hint="give it a mesh of devices", source=source
        )
    groups: dict[tuple[tuple[int, ...], ...], list[int]] = {}
    for device in source.mesh.devices:
        groups.setdefault(source.dealt(device), []).append(device)
    receivers = target.mesh.devices or source.mesh.devices
    if len(groups) * len(receivers) > MAX_PAIRS:
        raise LimitExceeded(
            f"{len(groups)} parts and {len(receivers)} devices are more pairs than {MAX_PAIRS}.",
            hint="ask about a smaller mesh",
            limit=MAX_PAIRS,
        )
    held = {key: source.runs(members[0]) for key, members in groups.items()}
    shared = lru_cache(maxsize=1 << 16)(common)
    pairs: dict[tuple[int, int], int] = {}
    kept = 0
    for place, device in enumerate(receivers):
        wanted = target.runs(device)
        for key, members in groups.items():
            count = size * _volume(wanted, held[key], shared)
            if device in members:
                kept += count
            elif count:
                pair = (members[place % len(members)], device)
                pairs[pair] = pairs.get(pair, 0) + count
    return Exchange(pairs, kept)


def _volume(a: list[Runs], b: list[Runs], shared: Callable[[Runs, Runs], int]) -> int:
    total = 1
    for one, other in zip(a, b):
        total *= shared(one, other)
        if not total:
            return 0
    return total
