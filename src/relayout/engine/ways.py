"""The way that a copy takes: which engine moves the elements of a plan, with what it has prepared for that.

``choose_way`` decides once, from layouts and types alone. Arguments that are no flat memory of the host take a way of
their own, which ``way_of_call`` finds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import inf
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from ..elements.interface import Interface, ScaleOffset
from ..elements.memory import allocate
from ..errors import Cancelled, LimitExceeded, NotExpressible, ShapeError
from ..integers.nested import product
from ..layout.layout import Layout
from ..native import native
from ..tensors.gather import scatter
from ..tensors.tensor import Tensor
from . import tuning
from .cpu.flat import (
    as_tensor,
    check_apart,
    check_memory,
    check_tensor,
    fill_range,
    flat_memory,
    for_library_of,
    needs_table,
)
from .cpu.program import buffer_dtype, compile_program, speed_of_tiles
from .places import box_range

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..tensors.block_table import BlockTable
    from .cpu.general import GeneralProgram
    from .nest import Piece
    from .plan import Plan
    from .recoding import Recoding

Progress: TypeAlias = Callable[[int, int], Any]
"""Called with the bytes that are done and those that there are; False stops the run."""


class Way(ABC):
    """How the elements of a plan are moved."""

    __slots__ = ()
    name: ClassVar[str]

    @abstractmethod
    def run(self, plan: Plan, x: Any, out: Any, progress: Progress | None) -> Any:
        """Copy from ``x`` to ``out``, or to new memory, and return that."""

    @property
    def fastest(self) -> Way:
        """The way that a copy takes next, as far as that is known."""
        return self

    def __repr__(self) -> str:
        return f"<{self.name}>"


class HostWay(Way):
    """A way between flat memories of the host."""

    __slots__ = ()

    def run(self, plan: Plan, x: Any, out: Any, progress: Progress | None) -> Any:
        result = out
        if out is None:
            out = _allocate(plan)
            result = _tensor_like(plan, x, out) if isinstance(x, Tensor) else for_library_of(x, out, out)
        source = flat_memory(x, plan.source, plan.element.element, "source")
        target = flat_memory(out, plan.target, plan.dst_element.element, "target")
        if progress is None:
            self.copy(plan, source, target)
        else:
            _run_in_parts(plan, source, target, progress)
        return result

    @abstractmethod
    def copy(self, plan: Plan, x: NDArray[Any], out: NDArray[Any]) -> None:
        """Fill and copy between flat memories; those that are too short, shared or read-only are refused before."""


class NativeWay(HostWay):
    """A program of the compiled core for these two layouts; one that ``fills`` writes the plan's fill in one pass."""

    __slots__ = ("element_program", "fills")
    name = "native"

    def __init__(self, element_program: Any, fills: bool) -> None:
        self.element_program, self.fills = element_program, fills

    def copy(self, plan: Plan, x: NDArray[Any], out: NDArray[Any]) -> None:
        if not self.fills:
            check_memory(plan, x, out)
            _fill_box(plan, out)
        if self.element_program(x, out, plan.threads or 0) != 0:
            check_memory(plan, x, out)
            if isinstance(plan.dst_element, ScaleOffset):
                plan.dst_element.refuse_nan(as_tensor(x, plan.source, plan.element).numpy())
            raise ShapeError("the compiled core does not take this memory.", hint="copy it to a new array first")


class GeneralWay(HostWay):
    """The program of the compiled core that walks any two layouts, run by run."""

    __slots__ = ("program",)
    name = "general"

    def __init__(self, program: GeneralProgram) -> None:
        self.program = program

    def copy(self, plan: Plan, x: NDArray[Any], out: NDArray[Any]) -> None:
        check_memory(plan, x, out)
        _fill_box(plan, out)
        self.program([x], [out], threads=workers(plan.threads))


class NetworkWay(GeneralWay):
    """Networks, or tiles where those are faster, which no rule foresees: each gets some of the first copies."""

    __slots__ = ("_least", "_turns", "tiles")

    def __init__(self, program: GeneralProgram, tiles: NativeWay, wait: int) -> None:
        """After ``wait`` copies by networks."""
        super().__init__(program)
        self.tiles = tiles
        self._turns = -wait
        self._least = [inf, inf]

    @property
    def fastest(self) -> Way:
        """The one that took less time so far; networks, if neither was taken."""
        return self.tiles if self._least[1] < self._least[0] else self

    def copy(self, plan: Plan, x: NDArray[Any], out: NDArray[Any]) -> None:
        turn, trials = self._turns, tuning.ACTIVE.network_trials
        by_tiles = self.fastest is self.tiles if turn >= 2 * trials else turn >= trials
        start = perf_counter_ns()
        if by_tiles:
            self.tiles.copy(plan, x, out)
        else:
            super().copy(plan, x, out)
        if turn < 2 * trials:
            self._turns += 1
        if 0 <= turn < 2 * trials:
            self._least[by_tiles] = min(self._least[by_tiles], perf_counter_ns() - start)


class StridedWay(HostWay):
    """numpy's copies between strided views, one for each piece; without pieces by the offsets of all elements."""

    __slots__ = ("pieces",)
    name = "strided"

    def __init__(self, pieces: tuple[Piece, ...] | None) -> None:
        self.pieces = pieces

    def copy(self, plan: Plan, x: NDArray[Any], out: NDArray[Any]) -> None:
        from .cpu.strided import copy_elements

        check_memory(plan, x, out)
        _fill_box(plan, out)
        copy_elements(plan.source, plan.target, plan.element.element, self.pieces, x, out)


class EncodedWay(HostWay):
    """Values decoded and encoded by numpy, by way of an array; one may be refused, and then nothing is written."""

    __slots__ = ()
    name = "encoded"

    def copy(self, plan: Plan, x: NDArray[Any], out: NDArray[Any]) -> None:
        check_memory(plan, x, out)
        stored = plan.dst_element.encode(as_tensor(x, plan.source, plan.element).numpy())
        _fill_box(plan, out)
        target = as_tensor(out, plan.target, plan.dst_element)
        scatter(target._memories, target.layout, None, stored)


class RecodedWay(EncodedWay):
    """Stored elements looked up in a table of bytes, and then moved as they are.

    Where a byte may hold an element that is refused, values are decoded and encoded: it may be none of the layout's.
    """

    __slots__ = ("move", "recoding")
    name = "recoded"

    def __init__(self, recoding: Recoding, move: HostWay) -> None:
        self.recoding, self.move = recoding, move

    def copy(self, plan: Plan, x: NDArray[Any], out: NDArray[Any]) -> None:
        check_memory(plan, x, out)
        data = x.view("u1")
        if self.recoding.known[data].all():
            self.move.copy(plan, self.recoding.table[data].view(out.dtype), out)
        else:
            super().copy(plan, x, out)


class ScatteredWay(Way):
    """Block by block, as a table says where the blocks of one side lie."""

    __slots__ = ()
    name = "scattered"

    def run(self, plan: Plan, x: Any, out: Any, progress: Progress | None) -> Any:
        if plan.fill is not None:
            raise NotExpressible("scattered blocks are not filled.", hint="make a plan without a fill", target=out)
        if out is None:
            out = _tensor_like(plan, x, _allocate(plan))
        sides = []
        for side, layout, interface, what in (
            (x, plan.source, plan.element, "source"),
            (out, plan.target, plan.dst_element, "target"),
        ):
            if needs_table(side, layout):
                check_tensor(side, side.layout, layout, interface.element, what)
                sides.append(side)
            else:
                sides.append(as_tensor(flat_memory(side, layout, interface.element, what), layout, interface))
        check_apart(sides[0], sides[1])
        _copy_blocks(sides[0], sides[1], plan.threads)
        if progress is not None:
            total = -(-plan.dst_element.element.bits * plan.target.size // 8)
            _report(progress, total, total)
        return out


class DeviceWay(Way):
    """Kernels on a CUDA device, made for each pair of memories."""

    __slots__ = ()
    name = "device"

    def run(self, plan: Plan, x: Any, out: Any, progress: Progress | None) -> Any:
        from .gpu.launch import run_plan

        return run_plan(plan, x, out, progress)


ENCODED, SCATTERED, DEVICE = EncodedWay(), ScatteredWay(), DeviceWay()


def choose_way(
    source: Layout,
    target: Layout,
    element: Interface,
    dst_element: Interface,
    fill: bytes | None,
    threads: int | None,
    dense: bool,
) -> HostWay:
    """The fastest way between flat memories; ``dense`` says that the target's box has every place of memory once."""
    fills = fill is None or (dense and element == dst_element)
    program = compile_program(source, target, element, dst_element, fill if fills else None, threads=threads or 0)
    if program is not None:
        tiles = NativeWay(program, fills)
        walk = _network(source, target, element, dst_element, program)
        if walk is None:
            return tiles
        size, limits = element.element.bits * target.size // 8, tuning.ACTIVE
        return (
            GeneralWay(walk) if size < limits.min_trial_bytes else NetworkWay(walk, tiles, limits.trials_after // size)
        )
    if not target.size:
        return StridedWay(())
    if element != dst_element:
        from .recoding import recoding

        table = recoding(element, dst_element)
        if table is None:
            return ENCODED
        return RecodedWay(table, choose_way(source, target, dst_element, dst_element, fill, threads, dense))
    if native is not None:
        from .cpu.general import general_program

        try:
            return GeneralWay(general_program(source, target, element.element.bits))
        except LimitExceeded:
            pass  # offsets that are too large for the compiled core are left to Python's integers
    from .cpu.strided import common_loops

    return StridedWay(common_loops(source, target))


def _network(
    source: Layout, target: Layout, element: Interface, dst_element: Interface, program: Any
) -> GeneralProgram | None:
    """The walk by networks, for small elements whose tiles would be slow; networks take nearly all."""
    limits = tuning.ACTIVE
    bits = element.element.bits
    if bits > 16 or element != dst_element or bits * target.size < 8 * limits.min_network_bytes:
        return None
    if speed_of_tiles(program) >= limits.network_speed:
        return None
    from .cpu.general import general_program

    try:
        walk = general_program(source, target, bits, in_bytes=True)
    except LimitExceeded:
        return None
    return walk if walk.count_by_networks >= limits.min_network_share * target.size else None


def way_of_call(plan: Plan, x: Any, out: Any) -> Way:
    """The plan's own way, unless an argument is on a device, or a tensor whose blocks are scattered."""
    if _on_device(x) or _on_device(out):
        return DEVICE
    if needs_table(x, plan.source) or needs_table(out, plan.target):
        return SCATTERED
    return plan.way


def _on_device(x: Any) -> bool:
    import numpy as np

    if x is None or x.__class__ is np.ndarray or isinstance(x, Tensor | bytes | bytearray | memoryview):
        return False
    from .gpu.device import on_device

    return on_device(x)


def workers(threads: int | None) -> int:
    """As many threads as asked for, else ``RELAYOUT_THREADS`` of the environment, else all processors."""
    return threads or (1 if native is None else native.default_threads())


def _allocate(plan: Plan) -> NDArray[Any]:
    """Memory for the target that holds the fill, or 0, wherever a run does not write."""
    memory = allocate(plan.dst_element.element, plan.target.storage_size)
    out = memory.bytes if memory.typed is None else memory.typed
    if plan.new_fill is not None and any(plan.new_fill):
        kept = plan.target.storage_size if plan.fill is None else box_range(plan.target)[0]
        fill_range(out.view(buffer_dtype(memory.element)), (0, kept), memory.element, plan.new_fill)
    return out


def _tensor_like(plan: Plan, x: Tensor, out: NDArray[Any]) -> Tensor:
    interface = x.interface if plan.element == plan.dst_element else plan.dst_element
    return Tensor(out, plan.target, interface, axes=x.axes)


def _run_in_parts(plan: Plan, x: NDArray[Any], out: NDArray[Any], progress: Progress) -> None:
    """Run block by block, and tell of each."""
    check_memory(plan, x, out)
    bits = plan.dst_element.element.bits
    filled = plan.fill is not None
    low, high = box_range(plan.target)
    total = -(-bits * (high - low if filled else plan.target.size) // 8)
    done = 0
    for block in plan.blocks(tuning.ACTIVE.progress_bytes):
        part = block.plan()
        try:
            part.way.run(part, x, out, None)
        except NotExpressible as error:
            from .blocks import error_in_whole

            raise error_in_whole(error, block.index) from None
        low, high = block.target_range
        done = min(done - (-bits * (high - low if filled else product(block.shape)) // 8), total)
        _report(progress, done, total)


def _report(progress: Progress, done: int, total: int) -> None:
    if progress(done, total) is False:
        raise Cancelled(
            f"the run was stopped after {done} of {total} bytes.",
            hint="what was not yet written is as it was",
            done=done,
            total=total,
        )


def _fill_box(plan: Plan, out: NDArray[Any]) -> None:
    """The fill of a plan at every place of the target's box, unless elements take all of them."""
    if plan.fill is not None:
        low, high = box_range(plan.target)
        if high - low > plan.target.size:
            fill_range(out, (low, high), plan.dst_element.element, plan.fill)


def _copy_blocks(source: Tensor, target: Tensor, threads: int | None) -> None:
    """Copy between tensors of one shape whose blocks may be scattered."""
    if source.interface != target.interface or native is None:
        target.copy_from(source)
        return
    (a, x), (b, out) = [(t.layout, [m.bytes for m in t._memories]) for t in (source, target)]
    copy_scattered(a, b, source.interface.element.bits, x, out, source._table, target._table, threads)


def copy_scattered(
    source: Layout,
    target: Layout,
    bits: int,
    x: Sequence[NDArray[Any]],
    out: Sequence[NDArray[Any]],
    x_table: BlockTable | None,
    out_table: BlockTable | None,
    threads: int | None = None,
) -> None:
    """Move stored elements as they are between memories whose blocks lie where the tables say."""
    from .cpu.general import general_program

    sizes = [None if table is None else table.elements for table in (x_table, out_table)]
    general_program(source, target, bits, *sizes)(x, out, x_table, out_table, workers(threads))
