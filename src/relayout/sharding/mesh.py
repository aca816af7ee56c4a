"""``Mesh``: devices in a grid whose axes have names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product as cartesian
from typing import Any

from ..errors import LimitExceeded, OutOfBounds, ShapeError, shown
from ..immutable import Immutable
from ..integers.inttuple import as_int
from ..integers.nested import product

MAX_DEVICES = 1 << 16
"""A mesh has no more devices than this: each one is looked at."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


class Mesh(Immutable):
    """Devices in a grid: ``axes`` has the size of each axis by its name, the slowest first.

    ``devices`` are the numbers of the devices in row-major order of the grid. With ``devices=None`` nobody has said how
    many there are, as in XLA's ``{replicated}``: every device is one of them, and there are no axes.
    """

    __slots__ = ("_coordinates", "axes", "devices")
    axes: dict[str, int]
    devices: tuple[int, ...] | None
    _coordinates: dict[int, tuple[int, ...]]

    def __new__(cls, axes: Mapping[str, int] | Iterable[tuple[str, int]], devices: Any = ()) -> Mesh:
        sizes = _checked_axes(axes)
        count = product(tuple(sizes.values()))
        if count > MAX_DEVICES:
            raise LimitExceeded(
                f"a mesh of {count} devices is over the limit of {MAX_DEVICES}.",
                hint="leave axes out that nothing is dealt to",
                limit=MAX_DEVICES,
            )
        numbers = None if devices is None else _checked_devices(sizes, count, devices)
        self = super().__new__(cls)
        object.__setattr__(self, "axes", sizes)
        object.__setattr__(self, "devices", numbers)
        grid = cartesian(*[range(n) for n in sizes.values()])
        object.__setattr__(self, "_coordinates", dict(zip(numbers or (), grid)))
        return self

    @property
    def size(self) -> int:
        """How many devices there are; refused where nobody has said."""
        return len(self.known_devices())

    @property
    def in_order(self) -> bool:
        """Whether the devices are numbered from 0 in row-major order."""
        return self.devices == tuple(range(len(self.devices or ())))

    def known_devices(self) -> tuple[int, ...]:
        """The devices in row-major order of the grid; refused where nobody has said which there are."""
        if self.devices is None:
            raise ShapeError(
                "nothing says how many devices there are: every one holds all.",
                hint="give a mesh, as in rl.Sharding({'x': 8}, [])",
                mesh=self,
            )
        return self.devices

    def coordinate(self, device: Any) -> tuple[int, ...]:
        """Where in the grid a device is."""
        number = as_int(device, "a device")
        if self.devices is None and number >= 0:
            return ()
        if number not in self._coordinates:
            some = ", ".join(map(str, sorted(self._coordinates)[:8]))
            more = ", ..." if len(self._coordinates) > 8 else ""
            raise OutOfBounds(
                f"there is no device {number} in the mesh.", hint=f"there are {some}{more}", device=device, mesh=self
            )
        return self._coordinates[number]

    def _key(self) -> tuple[Any, ...]:
        return tuple(self.axes.items()), self.devices

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Mesh) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        return Mesh, self._key()

    def __repr__(self) -> str:
        order = "" if self.in_order else f", {list(self.devices) if self.devices is not None else None}"
        return f"Mesh({self.axes}{order})"

    def __str__(self) -> str:
        if self.devices is None:
            return "mesh(*)"
        axes = ", ".join([f"{name}={n}" for name, n in self.axes.items()])
        order = "" if self.in_order else f"; {order_text(self.devices)}"
        return f"mesh({axes}{order})"


def iota(sizes: Sequence[int], order: Sequence[int]) -> list[int]:
    """0, 1, 2, ... in a grid of ``sizes``, its dimensions then brought into ``order``, in row-major order."""
    steps = [product(tuple(sizes[d + 1 :])) for d in range(len(sizes))]
    found = [0]
    for d in order:
        found = [x + k * steps[d] for x in found for k in range(sizes[d])]
    return found


def as_iota(devices: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The sizes and the order for which ``iota`` gives these devices, with the fewest dimensions; None if none does."""
    loops = list(_loops(devices))
    if devices[0] or any(step <= 0 for _, step in loops):
        return None
    ranked = sorted(range(len(loops)), key=lambda k: -loops[k][1])
    sizes = tuple([loops[k][0] for k in ranked]) or (1,)
    order = tuple([ranked.index(k) for k in range(len(loops))]) or (0,)
    return (sizes, order) if iota(sizes, order) == list(devices) else None


def order_text(devices: Sequence[int]) -> str:
    """The order of devices as XLA writes it: ``[2,4]T(1,0)`` where it is a transposed grid, else all of them."""
    found = as_iota(devices)
    if found is None:
        return ",".join(map(str, devices))
    sizes, order = found
    transposed = f"T({','.join(map(str, order))})" if order != tuple(range(len(order))) else ""
    return f"[{','.join(map(str, sizes))}]{transposed}"


def _loops(devices: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Loops, the slowest first, whose steps give the devices if any do: ``(size, step)``."""
    inner: list[tuple[int, int]] = []
    block = list(devices)
    while len(block) > 1:
        step = block[1] - block[0]
        count = 1
        while count < len(block) and block[count] - block[count - 1] == step:
            count += 1
        while len(block) % count:
            count -= 1
        if count == 1:
            break
        inner.append((count, step))
        block = block[::count]
    yield from inner[::-1]


def _checked_axes(axes: Any) -> dict[str, int]:
    pairs = list(axes.items() if isinstance(axes, Mapping) else axes)
    sizes: dict[str, int] = {}
    for name, n in pairs:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ShapeError(f"a mesh axis has a name, got {shown(name)}.", hint="a word, as in {'x': 4}", axes=axes)
        if name in sizes:
            raise ShapeError(f"the mesh has two axes {name!r}.", hint="give each a name of its own", axes=axes)
        sizes[name] = as_int(n, f"the size of mesh axis {name!r}")
        if sizes[name] < 1:
            raise ShapeError(f"mesh axis {name!r} has the size {n}.", hint="sizes are 1 or more", axes=axes)
    return sizes


def _checked_devices(sizes: dict[str, int], count: int, devices: Any) -> tuple[int, ...]:
    numbers = tuple([as_int(d, "a device") for d in devices]) or tuple(range(count))
    if len(numbers) != count:
        axes = " x ".join([f"{name}={n}" for name, n in sizes.items()]) or "no axes"
        raise ShapeError(
            f"the mesh axes {axes} multiply to {count}, and there are {len(numbers)} devices.",
            hint="the sizes of the axes multiply to the number of devices",
            devices=devices,
        )
    if len(set(numbers)) != count or min(numbers) < 0:
        twice = next((d for k, d in enumerate(numbers) if d in numbers[:k] or d < 0), None)
        raise ShapeError(
            f"device {twice} is in the mesh twice, or below 0.", hint="each device has one place", devices=devices
        )
    return numbers
