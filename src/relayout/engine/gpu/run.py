"""Repacks and plans on arrays of a device: launched on the caller's stream, never waited for."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ...elements.memory import memory_of
from ...elements.types import Element, storage_dtype
from ...errors import DeviceError, NotExpressible, OutOfBounds, Overlap, ShapeError, shown
from ...integers.nested import product
from ...layout.layout import Layout
from ..buffers import flat_memory
from ..places import box_range, element_range
from .arrays import Array, Foreign, described, library
from .build import kernels
from .driver import Device, Function, device
from .foreign import hold
from .kernel import Kernel

if TYPE_CHECKING:
    from ...format.format import Format
    from ..plan import Plan
    from ..repack import Recipe

MAX_READY = 1024
"""How many repacks, runs of plans and kernels are kept, of each."""


class Ready(NamedTuple):
    """A copy that is compiled: what to launch, and where in each memory it begins and ends, in bytes."""

    where: Device
    functions: tuple[Function, ...]
    reads: tuple[int, int]
    writes: tuple[int, int]
    starts: tuple[int, int]
    """Of both memories, in bytes from their arrays' pointers."""
    places: int
    """The elements of a new target."""

    def __call__(self, source: int, target: int, stream: int) -> None:
        first, second = source + self.starts[0], target + self.starts[1]
        low, high = first + self.reads[0], first + self.reads[1]
        if max(low, second + self.writes[0]) < min(high, second + self.writes[1]):
            raise Overlap("source and target share memory.", hint="copy the source first")
        for function in self.functions:
            self.where.call(function, first, second, stream)


class Made(NamedTuple):
    """A repack but for its memory."""

    ready: Ready
    recipe: Recipe
    shape: tuple[int, ...]
    strided: tuple[tuple[int, ...], tuple[int, ...], int] | None


_made: dict[Any, Made] = {}
_plans: dict[Any, tuple[Plan, Ready]] = {}
"""By the plan's ``id``, which stays its own since it is kept."""


def repack(
    x: Any,
    dst: Layout | Format | str,
    src: Layout | Format | str | None,
    shape: Any,
    axes: str | None,
    out: Any,
    fill: Any,
    element: Any,
    progress: Any,
) -> Any:
    """``relayout.repack`` of an array on a device."""
    check_no_progress(progress)
    own = described(x, "source")
    into = target_of(x, out)
    key: Any = own.form, dst, src, shape, axes, fill, element, type(x)
    if into is not None or fill is not None or shape is not None or getattr(dst, "fill", None) is not None:
        # 0.0, -0.0, 0 and False are equal, and not the same.
        key = key, None if into is None else into.form, repr((fill, getattr(dst, "fill", None), shape))
    try:
        made = _made.get(key)
    except TypeError:
        key, made = None, None
    if made is None:
        made = _make(own, into, dst, src, shape, axes, fill, element)
        if key is not None:
            if len(_made) >= MAX_READY:
                _made.clear()
            _made[key] = made
    recipe, known = made.recipe, library(x)
    if out is None:
        if recipe.warning is not None:
            warnings.warn(recipe.warning, stacklevel=3)
        target, pointer = known.empty(made.shape, recipe.means.element, x)
    else:
        target, pointer = out.reshape(made.shape), into.pointer  # type: ignore[union-attr]
    made.ready(own.pointer, pointer, known.stream(own.device))
    if isinstance(known, Foreign):
        return taken(x, own, target)
    return target if made.strided is None else known.strided(target, *made.strided)


def taken(x: Any, own: Array, made: Any) -> Any:
    """Memory made for a library that knows DLPack, as its array; the source stays until it is read."""
    hold(own.lent, own.device)
    return x.__array_namespace__().from_dlpack(made)


def _make(own: Array, into: Array | None, dst: Any, src: Any, shape: Any, axes: Any, fill: Any, element: Any) -> Made:
    from ..plan import make_plan
    from ..repack import recipe_of

    recipe = recipe_of(stand_in(own), dst, src, shape, axes, into is None, fill, element, None)
    means = recipe.means.element
    count = recipe.places
    if into is not None:
        check_target(own, into)
        count = memory_of(stand_in(into), means).count
    plan = make_plan(recipe.plan.source, recipe.layout, recipe.plan.element, recipe.means, recipe.fill, None)
    lowest = 0 if src is not None else sum([min(0, (n - 1) * s) for n, s in zip(own.shape, own.strides)])
    readable = own.size if src is not None else None
    start = lowest * plan.element.element.bytes if own.size else 0
    aligned = alignment(own.pointer + start), 16 if into is None else alignment(into.pointer)
    ready = prepared(plan, own.device, aligned, readable, count, (0, count), (start, 0))
    stored: tuple[int, ...] = (count,)
    strided = None
    if recipe.stored is not None:
        stored = recipe.stored if product(recipe.stored) == count else stored
    elif recipe.strided is not None:
        extents, offset, steps = recipe.strided
        strided = extents, tuple([s // means.bytes for s in steps]), offset // means.bytes
        if strided[1:] == (Layout.row_major(extents).stride, 0) and product(extents) == count:
            stored, strided = extents, None
    return Made(ready, recipe, stored, strided)


def prepared(
    plan: Plan,
    number: int,
    aligned: tuple[int, int],
    readable: int | None,
    writable: int,
    whole: tuple[int, int] | None,
    starts: tuple[int, int],
) -> Ready:
    """The compiled kernels of a plan, for memories of so many elements; a fill covers the ``whole`` of the target."""
    reads = element_range(plan.source)
    writes = element_range(plan.target)
    if plan.fill is not None:
        writes = whole or box_range(plan.target)
    for (_, high), count, layout, what in (
        (reads, readable, plan.source, "source"),
        (writes, writable, plan.target, "target"),
    ):
        if count is not None and high > count:
            raise OutOfBounds(
                f"the {what} {layout} goes up to {high - 1}, and its memory has {count} elements.",
                hint="give more memory",
                layout=layout,
            )
    sizes = plan.element.element.bytes, plan.dst_element.element.bytes
    for size, known, what in zip(sizes, aligned, ("source", "target")):
        if known < size:
            raise ShapeError(
                f"the {what} starts at an address that elements of {size} bytes are not aligned to.",
                hint="copy it: new memory is aligned",
            )
    where = device(number)
    functions = tuple([_function(where, kernel) for kernel in kernels(plan, aligned, whole)])
    return Ready(
        where,
        functions,
        (reads[0] * sizes[0], reads[1] * sizes[0]),
        (writes[0] * sizes[1], writes[1] * sizes[1]),
        starts,
        writable,
    )


@lru_cache(maxsize=MAX_READY)
def _function(where: Device, kernel: Kernel) -> Function:
    """A kernel, compiled once: many alignments, and memories of any length, come to the same text."""
    return Function(where, kernel)


def run_plan(plan: Plan, x: Any, out: Any, progress: Any) -> Any:
    """A plan on arrays of a device; without ``out`` on new memory."""
    check_no_progress(progress)
    own = described(x, "source")
    into = target_of(x, out)
    key = id(plan), own.form, None if into is None else into.form
    kept = _plans.get(key)
    if kept is None:
        kept = plan, _ready(plan, own, into)
        if len(_plans) >= MAX_READY:
            _plans.clear()
        _plans[key] = kept
    ready, known = kept[1], library(x)
    if into is None:
        out, pointer = known.empty((ready.places,), plan.dst_element.element, x)
    else:
        pointer = into.pointer
    ready(own.pointer, pointer, known.stream(own.device))
    return taken(x, own, out) if isinstance(known, Foreign) else out


def _ready(plan: Plan, own: Array, into: Array | None) -> Ready:
    from ..plan import make_plan

    kind, other = plan.element.element, plan.dst_element.element
    start, readable = flat(own, plan.source, kind, "source")
    if into is None:
        offset, writable = 0, plan.target.storage_size
        code = plan.new_fill or plan.fill or bytes(other.bytes)
        plan = make_plan(plan.source, plan.target, plan.element, plan.dst_element, code, None)
        whole, pointer = (0, writable), 0
    else:
        check_target(own, into)
        offset, writable = flat(into, plan.target, other, "target")
        whole, pointer = None, into.pointer + offset
    aligned = alignment(own.pointer + start), alignment(pointer)
    return prepared(plan, own.device, aligned, readable, writable, whole, (start, offset))


def flat(array: Array, layout: Layout, kind: Element, what: str) -> tuple[int, int]:
    """Where the flat memory of an array begins, in bytes from its pointer, and how many elements it has."""
    found = stand_in(array)
    memory = flat_memory(found, layout, kind, what)
    return memory.ctypes.data - found.ctypes.data if memory.size else 0, memory.size


def stand_in(array: Array) -> Any:
    """An array of numpy that looks the same, for questions about shapes and strides; its memory is not there."""
    import numpy as np

    kind = storage_dtype(array.kind)
    strides = [s * kind.itemsize for s in array.strides]
    return np.lib.stride_tricks.as_strided(np.empty(1, f"V{kind.itemsize}"), array.shape, strides).view(kind)


def alignment(pointer: int) -> int:
    """The bytes, up to 16, that an address is a multiple of."""
    return min(16, pointer & -pointer) if pointer else 16


def target_of(x: Any, out: Any) -> Array | None:
    """Where a target lies, if there is one; of another library it would have another stream."""
    if out is None:
        return None
    found = described(out, "target")
    if type(library(x)) is not type(library(out)):
        raise ShapeError(
            f"the source {shown(type(x))} and the target {shown(type(out))} are of two libraries.",
            hint="pass one of them to the other's library: from_dlpack",
            got=type(out),
        )
    return found


def check_target(own: Array, into: Array) -> None:
    """Refuse a target on another device, or that cannot be written."""
    if own.device != into.device:
        raise DeviceError(
            f"the source is on device {own.device}, and the target on device {into.device}.",
            hint="copy one of them to the other's device",
        )
    if not into.writable:
        raise ShapeError("arrays of this library cannot be written.", hint="leave out= away: a new array is returned")


def check_no_progress(progress: Any) -> None:
    if progress is not None:
        raise NotExpressible(
            "a run on a device is one launch, which tells nothing of its progress.", hint="leave progress out"
        )
