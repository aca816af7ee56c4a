"""Two tensors of files compared element by element, a part at a time, through the layouts that they have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from ...elements.interface import Interface, Plain
from ...elements.memory import Memory
from ...engine.blocks import Block
from ...engine.plan import make_plan
from ...errors import NotExpressible
from ...layout.layout import Layout
from ..contents import Segment, StoredTensor
from ..file_pool import FilePool
from .changes import LogicalTensor, TensorChange
from .loader import Loader
from .memory_budget import MemoryBudget, ThreadBuffers
from .thread_pool import run_unordered
from .tiles import Tiling, tile_plans

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BYTES = Plain("uint8")

_COMPARED_BYTES = 1 << 16
"""So many bytes are compared at a time: they and what numpy finds of them stay in the nearest caches."""


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


class TensorPair(NamedTuple):
    """Two stored tensors that should be the same, and how each is read."""

    one: StoredTensor
    x: LogicalTensor
    two: StoredTensor
    y: LogicalTensor

    @classmethod
    def of_change(cls, change: TensorChange, segments: tuple[Segment, ...]) -> TensorPair:
        """A tensor, and what was made of it there."""
        entry, planned, plan = change.entry, change.planned, change.plan
        written = StoredTensor(planned.name, planned.element, planned.shape, segments, planned.record)
        if plan is None:
            raw = LogicalTensor(Layout.row_major(entry.size), _BYTES, None)
            return cls(entry, raw, written, raw)
        source = LogicalTensor(plan.source, plan.element, None)
        return cls(entry, source, written, LogicalTensor(plan.target, plan.dst_element, None))

    def with_equal_axes(self) -> TensorPair:
        """The second with its dimensions in the order of the first, where both name them."""
        x, y = self.x, self.y
        if x.axes is None or y.axes is None or x.axes == y.axes or sorted(x.axes) != sorted(y.axes):
            return self
        return self._replace(y=y.permute(tuple([y.axes.index(axis) for axis in x.axes])))


def compare_tensors(
    files: FilePool,
    pairs: Iterable[TensorPair],
    budget: MemoryBudget,
    jobs: int,
    report: Callable[[int], object] = lambda size: None,
) -> TensorDifference | None:
    """The first difference, by pair and then in row-major order of the coordinates, or None.

    So many threads compare parts, each with that budget; ``report`` gets the bytes of every part of a first tensor.
    """
    search = _DifferenceSearch(files, budget)
    with closing(run_unordered(jobs, search.compare, search.parts(pairs))) as finished:
        for part in finished:
            report(-(-part.blocks[0].target.size * part.pair.x.interface.element.bits // 8))
    return search.difference


class _ComparedPart(NamedTuple):
    """Equal parts of both tensors of the ``number``-th pair."""

    number: int
    pair: TensorPair
    tilings: list[Tiling]
    blocks: tuple[Block, Block]


class _DifferenceSearch:
    """The first difference of those that were found, and the parts in which there may be one before it."""

    def __init__(self, files: FilePool, budget: MemoryBudget) -> None:
        self._files, self._budget, self._buffers = files, budget, ThreadBuffers()
        self._lock = Lock()
        self._place: tuple[int, tuple[int, ...]] | None = None
        self.difference: TensorDifference | None = None

    def parts(self, pairs: Iterable[TensorPair]) -> Iterator[_ComparedPart]:
        """The parts of all pairs, one after another."""
        for number, given in enumerate(pairs):
            if self._place is not None:
                return
            pair = given.with_equal_axes()
            shape, other = pair.x.layout.extents, pair.y.layout.extents
            if shape != other:
                turned = sorted(shape) == sorted(other)
                way = "; give the rules (--map) that put its dimensions in another order" if turned else ""
                reason = f"its shapes are {shape} and {other}{way}."
                self._keep(number, (), TensorDifference(pair.one.name, reason=reason))
                return
            tilings = _tilings(pair.x.layout, pair.x.interface, pair.y.layout, pair.y.interface, self._budget)
            for blocks in zip(*tilings):
                if self._may_precede(number, blocks[0].index):
                    yield _ComparedPart(number, pair, tilings, blocks)

    def compare(self, part: _ComparedPart) -> None:
        """Compare one part."""
        number, pair, tilings, blocks = part
        first = blocks[0]
        if not self._may_precede(number, first.index):
            return
        name, interface = pair.one.name, pair.y.interface
        try:
            left = Loader(self._files, pair.one, self._buffers).load(tilings[0], first, "first").data
        except NotExpressible as error:
            self._keep(number, first.index, TensorDifference(name, reason=error.message))
            return
        right = Loader(self._files, pair.two, self._buffers).load(tilings[1], blocks[1], "second").data
        differing = _first_difference(left, right)
        if differing is not None:
            at = differing * 8 // interface.element.bits
            coordinate = tuple([n + k for n, k in zip(first.index, _coordinate(at, first.shape))])
            values = _value(left, at, interface), _value(right, at, interface)
            self._keep(number, coordinate, TensorDifference(name, coordinate, values))

    def _may_precede(self, number: int, index: tuple[int, ...]) -> bool:
        return self._place is None or (number, index) <= self._place

    def _keep(self, number: int, coordinate: tuple[int, ...], difference: TensorDifference) -> None:
        with self._lock:
            if self._place is None or (number, coordinate) < self._place:
                self._place, self.difference = (number, coordinate), difference


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

    for start in range(0, a.size, _COMPARED_BYTES):
        left, right = a[start : start + _COMPARED_BYTES], b[start : start + _COMPARED_BYTES]
        whole = left.size - left.size % 8
        same = np.array_equal(left[:whole].view(np.uint64), right[:whole].view(np.uint64))
        if not same or not np.array_equal(left[whole:], right[whole:]):
            return start + int(np.argmax(left != right))
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
