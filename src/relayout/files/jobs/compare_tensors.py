"""Two tensors of files compared element by element, a part at a time, through the layouts that they have."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ...elements.interface import Interface, Plain
from ...elements.memory import Memory
from ...engine.plan import make_plan
from ...errors import NotExpressible
from ...layout.layout import Layout
from ..contents import Segment, StoredTensor
from ..file_pool import FilePool
from .changes import LogicalTensor, TensorChange
from .loader import Loader
from .memory_budget import MemoryBudget, ThreadBuffers
from .tiles import Tiling, tile_plans

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BYTES = Plain("uint8")


class TensorDifference(NamedTuple):
    """Two tensors that are not the same: the first logical element that differs, with both stored values.

    ``reason`` says instead why they cannot be compared.
    """

    tensor: str
    coordinate: tuple[int, ...] | None = None
    values: tuple[Any, Any] | None = None
    reason: str | None = None

    def __str__(self) -> str:
        if self.values is None:
            return f"tensor {self.tensor!r}: {self.reason}"
        first, second = map(str, self.values)
        bits = ", of other bits" if first == second else ""
        return f"tensor {self.tensor!r} differs at {self.coordinate}: {first} and {second}{bits}"


def verify_change(
    files: FilePool, change: TensorChange, segments: tuple[Segment, ...], budget: MemoryBudget
) -> TensorDifference | None:
    """The first difference between a tensor and what was made of it, or None."""
    entry, planned = change.entry, change.planned
    written = StoredTensor(planned.name, planned.element, planned.shape, segments, planned.record)
    if change.plan is None:
        raw = LogicalTensor(Layout.row_major(entry.size), _BYTES, None)
        return compare_tensors(files, (entry, raw), (written, raw), budget)
    plan = change.plan
    source = LogicalTensor(plan.source, plan.element, None)
    target = LogicalTensor(plan.target, plan.dst_element, None)
    return compare_tensors(files, (entry, source), (written, target), budget)


def compare_tensors(
    files: FilePool, a: tuple[StoredTensor, LogicalTensor], b: tuple[StoredTensor, LogicalTensor], budget: MemoryBudget
) -> TensorDifference | None:
    """The first difference between two tensors in row-major order of their coordinates, or None."""
    (one, x), (two, y) = a, b
    name = one.name
    if x.axes is not None and y.axes is not None and x.axes != y.axes and sorted(x.axes) == sorted(y.axes):
        y = y.permute(tuple([y.axes.index(axis) for axis in x.axes]))
    shape = x.layout.extents
    if shape != y.layout.extents:
        turned = sorted(shape) == sorted(y.layout.extents)
        way = "; give the rules (--map) that put its dimensions in another order" if turned else ""
        return TensorDifference(name, reason=f"its shapes are {shape} and {y.layout.extents}{way}.")
    kind = y.interface.element
    tiled = _tilings(x.layout, x.interface, y.layout, y.interface, budget)
    buffers = ThreadBuffers()
    loaders = [Loader(files, entry, buffers) for entry in (one, two)]
    least: tuple[int, ...] | None = None
    values: tuple[Any, Any] | None = None
    for first, second in zip(*tiled):
        if least is not None and first.index > least:
            continue
        try:
            left = loaders[0].load(tiled[0], first, "first").data
        except NotExpressible as error:
            return TensorDifference(name, least, values, error.message if least is None else None)
        right = loaders[1].load(tiled[1], second, "second").data
        differing = _first_difference(left, right)
        if differing is not None:
            at = differing * 8 // kind.bits
            coordinate = tuple([n + k for n, k in zip(first.index, _coordinate(at, first.shape))])
            if least is None or coordinate < least:
                least, values = coordinate, (_value(left, at, y.interface), _value(right, at, y.interface))
    return None if least is None else TensorDifference(name, least, values)


@lru_cache(maxsize=256)
def _tilings(
    a: Layout, a_interface: Interface, b: Layout, b_interface: Interface, budget: MemoryBudget
) -> list[Tiling]:
    """How both are put in the order of their coordinates, a part at a time."""
    rows, kind = Layout.row_major(a.extents), b_interface.element
    zero = bytes(kind.bits if kind.bits < 8 else kind.bytes)
    sides = (a, a_interface), (b, b_interface)
    plans = [make_plan(layout, rows, interface, b_interface, zero, 1) for layout, interface in sides]
    return tile_plans(plans, MemoryBudget(budget.source, budget.target // 2))


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


def _value(data: NDArray[np.uint8], at: int, interface: Interface) -> Any:
    return Memory(data, interface.element).read(at)


def _coordinate(at: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The row-major coordinate of an element."""
    digits = []
    for n in reversed(shape):
        at, digit = divmod(at, n)
        digits.append(digit)
    return tuple(digits[::-1])
