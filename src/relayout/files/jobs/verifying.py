"""Two tensors of files compared element by element, a part at a time, through the layouts that they have."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...elements.interface import Interface, Plain
from ...elements.memory import Memory
from ...engine.plan import make_plan
from ...errors import NotExpressible
from ...layout.layout import Layout
from ..entry import Entry, Segment
from ..regions import Files
from .changes import Change, Held
from .pieces import Loader
from .room import Buffers, Room
from .tiles import Tiling, tilings
from .verify import Verification

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BYTES = Plain("uint8")


def verify_change(files: Files, change: Change, segments: tuple[Segment, ...], room: Room) -> Verification | None:
    """The first difference between a tensor and what was made of it, or None."""
    entry, planned = change.entry, change.planned
    made = Entry(planned.name, planned.element, planned.shape, segments, planned.record)
    if change.plan is None:
        same = Held(Layout.row_major(entry.size), _BYTES, None)
        return compare_entries(files, (entry, same), (made, same), room)
    plan = change.plan
    sides = Held(plan.source, plan.element, None), Held(plan.target, plan.dst_element, None)
    return compare_entries(files, (entry, sides[0]), (made, sides[1]), room)


def compare_entries(files: Files, a: tuple[Entry, Held], b: tuple[Entry, Held], room: Room) -> Verification | None:
    """The first difference between two tensors, or None."""
    (one, x), (two, y) = a, b
    name = one.name
    if x.axes is not None and y.axes is not None and x.axes != y.axes and sorted(x.axes) == sorted(y.axes):
        y = y.permuted(tuple([y.axes.index(axis) for axis in x.axes]))
    shape = x.layout.extents
    if shape != y.layout.extents:
        turned = sorted(shape) == sorted(y.layout.extents)
        way = "; give the rules (--map) that put its dimensions in another order" if turned else ""
        return Verification(1, 0, name, reason=f"its shapes are {shape} and {y.layout.extents}{way}.")
    kind = y.means.element
    tiled = _tilings(x.layout, x.means, y.layout, y.means, room)
    buffers = Buffers()
    loaders = [Loader(files, entry, buffers) for entry in (one, two)]
    found: Verification | None = None
    for first, second in zip(*tiled):
        if found is not None and first.index > (found.coordinate or ()):
            continue
        try:
            left = loaders[0].load(tiled[0], first, "first").data
        except NotExpressible as error:
            return found or Verification(1, 0, name, reason=error.message)
        right = loaders[1].load(tiled[1], second, "second").data
        differing = _first_difference(left, right)
        if differing is not None:
            at = differing * 8 // kind.bits
            coordinate = tuple([n + k for n, k in zip(first.index, _coordinate(at, first.shape))])
            if found is None or coordinate < (found.coordinate or ()):
                found = Verification(1, 0, name, coordinate, (_value(left, at, y.means), _value(right, at, y.means)))
    return found


@lru_cache(maxsize=256)
def _tilings(a: Layout, a_means: Interface, b: Layout, b_means: Interface, room: Room) -> list[Tiling]:
    """How both are put in the order of their coordinates, a part at a time."""
    rows, kind = Layout.row_major(a.extents), b_means.element
    zero = bytes(kind.bits if kind.bits < 8 else kind.bytes)
    plans = [make_plan(layout, rows, means, b_means, zero, 1) for layout, means in ((a, a_means), (b, b_means))]
    return tilings(plans, Room(room.source, room.target // 2))


def _first_difference(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> int | None:
    """The first byte that differs."""
    import numpy as np

    if a.data == b.data:
        return None
    step = 1 << 16
    for start in range(0, a.size, step):
        differing = a[start : start + step] != b[start : start + step]
        if differing.any():
            return start + int(np.argmax(differing))
    return None


def _value(data: NDArray[np.uint8], at: int, means: Interface) -> Any:
    return Memory(data, means.element).read(at)


def _coordinate(at: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major."""
    found = []
    for n in reversed(shape):
        at, rest = divmod(at, n)
        found.append(rest)
    return tuple(found[::-1])
