"""Repacks and plans on arrays of a device: launched on the caller's stream, never waited for."""

from __future__ import annotations

import os
import warnings
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from ...dialects.registry import Shapeless
from ...dialects.resolve import resolve
from ...elements.interface import Plain
from ...elements.memory import memory_of
from ...elements.types import Element, element, storage_dtype
from ...errors import DeviceError, NotExpressible, OutOfBounds, Overlap, ShapeError, shown
from ...format.name_changes import clear_on_change
from ...immutable import NamedTuple
from ...integers.nested import product
from ...layout.layout import Layout
from .. import tuning
from ..cache import Cache
from ..cpu.flat import flat_memory
from ..fill import fill_bytes
from ..places import box_range, element_range
from ..plan import Plan, make_plan
from ..recipe import Recipe, packed_element, recipe_of
from .arrays import Array, Foreign, describe, library
from .build import kernels, other_kernels
from .driver import Device, Function, device
from .foreign import hold
from .kernel import Kernel
from .trials import TriedFunction

if TYPE_CHECKING:
    from ...format.format import Format


BYTE = element("uint8")
"""What new memory of packed elements holds."""


class CompiledCopy(NamedTuple):
    """A copy that is compiled: what to launch, and where in each memory it begins and ends, in bytes."""

    where: Device
    functions: tuple[Function | TriedFunction, ...]
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


class DeviceRepack(NamedTuple):
    """A repack but for its memory."""

    copy: CompiledCopy
    recipe: Recipe
    shape: tuple[int, ...]
    strided: tuple[tuple[int, ...], tuple[int, ...], int] | None


_repacks: Cache[DeviceRepack] = Cache(tuning.ACTIVE.cached_launches)
clear_on_change(_repacks.clear)
_plans: Cache[tuple[Plan, CompiledCopy]] = Cache(tuning.ACTIVE.cached_launches)
"""By the plan's ``id``, which stays its own since the plan is kept too."""


def repack_on_device(
    x: Any,
    dst: Layout | Format | Shapeless | str,
    src: Layout | Format | Shapeless | str | None,
    shape: Any,
    axes: str | None,
    out: Any,
    fill: Any,
    element: Any,
    progress: Any,
) -> Any:
    """``relayout.repack`` of an array on a device."""
    check_no_progress(progress)
    own = describe(x, "source")
    if src is not None and out is None and (packed := packed_element(src, _element_of(own))) is not None:
        return _repack_words(x, own, dst, src, shape, axes, fill, packed)
    into = target_of(x, out)
    key: Any = own.form, dst, src, shape, axes, fill, element, type(x)
    if into is not None or fill is not None or shape is not None or getattr(dst, "fill", None) is not None:
        # 0.0, -0.0, 0 and False are equal, and not the same.
        key = key, None if into is None else into.form, repr((fill, getattr(dst, "fill", None), shape))
    try:
        found = _repacks.get(key)
    except TypeError:
        key, found = None, None
    if found is None:
        found = _build(own, into, dst, src, shape, axes, fill, element)
        if key is not None:
            _repacks.keep(key, found)
    recipe, known = found.recipe, library(x)
    if out is None:
        if recipe.warning is not None:
            warnings.warn(recipe.warning, stacklevel=3)
        target, pointer = known.empty(found.shape, recipe.interface.element, x)
    else:
        target, pointer = out.reshape(found.shape), into.pointer  # type: ignore[union-attr]
    found.copy(own.pointer, pointer, known.stream(own.device))
    if isinstance(known, Foreign):
        return _hand_over(x, own, target)
    return target if found.strided is None else known.as_strided(target, *found.strided)


def _element_of(array: Array) -> Element:
    return element(array.kind)


def _repack_words(x: Any, own: Array, dst: Any, src: Any, shape: Any, axes: Any, fill: Any, packed: Element) -> Any:
    """The words of an array that elements narrower than a byte are packed in, as words of the same type."""
    if own.size > 1 and tuple(own.strides) != Layout.row_major(tuple(own.shape)).stride:
        raise ShapeError("the memory does not lie together.", hint="copy it: x.contiguous()", got=own.shape)
    source = resolve(src, shape=shape, element=packed)
    target = resolve(dst, element=packed, fill=fill).for_data(source.placed.extents, axes or source.axes)
    code = None if target.fill is None else fill_bytes(Plain(packed), target.fill)
    plan = make_plan(source.placed, target.placed, Plain(packed), Plain(packed), code, None, on_device=True)
    made = run_plan(plan, library(x).as_bytes(x), None, None)
    return made.view(x.dtype) if made.shape[0] % x.dtype.itemsize == 0 else made


def _hand_over(x: Any, own: Array, made: Any) -> Any:
    """Memory made for a library that knows DLPack, as its array; the source stays until it is read."""
    hold(own.lent, own.device)
    return x.__array_namespace__().from_dlpack(made)


def _build(
    own: Array, into: Array | None, dst: Any, src: Any, shape: Any, axes: Any, fill: Any, element: Any
) -> DeviceRepack:
    recipe = recipe_of(array_like(own), dst, src, shape, axes, into is None, fill, element, None, on_device=True)
    plan, kind, count = recipe.plan, recipe.interface.element, recipe.capacity
    if into is not None:
        check_target(own, into)
        count = memory_of(array_like(into), kind).count
    lowest = 0 if src is not None else sum([min(0, (n - 1) * s) for n, s in zip(own.shape, own.strides)])
    readable = own.size if src is not None else None
    start = lowest * plan.element.element.bytes if own.size else 0
    aligned = alignment(own.pointer + start), 16 if into is None else alignment(into.pointer)
    copy = compile_copy(plan, own.device, aligned, readable, count, (0, count), (start, 0))
    stored: tuple[int, ...] = (count,)
    strided = None
    if recipe.stored_shape is not None:
        stored = recipe.stored_shape if product(recipe.stored_shape) == count else stored
    elif recipe.strided is not None:
        extents, offset, steps = recipe.strided
        strided = extents, tuple([s // kind.bytes for s in steps]), offset // kind.bytes
        if strided[1:] == (Layout.row_major(extents).stride, 0) and product(extents) == count:
            stored, strided = extents, None
    return DeviceRepack(copy, recipe, stored, strided)


def compile_copy(
    plan: Plan,
    number: int,
    aligned: tuple[int, int],
    readable: int | None,
    writable: int,
    whole: tuple[int, int] | None,
    starts: tuple[int, int],
) -> CompiledCopy:
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
    kinds = plan.element.element, plan.dst_element.element
    for size, known, what in zip([-(-kind.bits // 8) for kind in kinds], aligned, ("source", "target")):
        if known < size:
            raise ShapeError(
                f"the {what} starts at an address that elements of {size} bytes are not aligned to.",
                hint="copy it: new memory is aligned",
            )
    where = device(number)
    made = kernels(plan, aligned, whole, where.shared)
    chosen = [_function(where, kernel) for kernel in made]
    functions: list[Function | TriedFunction] = [*chosen]
    if chosen and _tries_kernels(plan):
        functions[-1] = TriedFunction(where, chosen[-1], partial(other_kernels, plan, made, aligned, where.shared))
    return CompiledCopy(
        where,
        tuple(functions),
        in_bytes(reads, kinds[0]),
        in_bytes(writes, kinds[1]),
        starts,
        writable,
    )


def _tries_kernels(plan: Plan) -> bool:
    """Whether a plan may have other kernels, and is large enough for them to matter."""
    bits = plan.element.element.bits
    enough = plan.target.storage_size * bits >= 8 * tuning.ACTIVE.min_device_trial_bytes
    return enough and bits >= 8 and plan.element == plan.dst_element and os.environ.get("RELAYOUT_DEVICE_TRIALS") != "0"


def in_bytes(places: tuple[int, int], kind: Element) -> tuple[int, int]:
    """The bytes that hold a range of elements."""
    low, high = places
    return low * kind.bits // 8, -(-high * kind.bits // 8)


@lru_cache(maxsize=tuning.ACTIVE.cached_launches)
def _function(where: Device, kernel: Kernel) -> Function:
    """A kernel, compiled once: many alignments, and memories of any length, come to the same text."""
    return Function(where, kernel)


def run_plan(plan: Plan, x: Any, out: Any, progress: Any) -> Any:
    """A plan on arrays of a device; without ``out`` on new memory."""
    check_no_progress(progress)
    own = describe(x, "source")
    into = target_of(x, out)
    key = id(plan), own.form, None if into is None else into.form
    found = _plans.get(key)
    if found is None:
        found = _plans.keep(key, (plan, _compile_plan(plan, own, into)))
    copy, known = found[1], library(x)
    if into is None:
        kind = plan.dst_element.element
        packed = kind.bits % 8
        out, pointer = known.empty((copy.writes[1] if packed else copy.places,), BYTE if packed else kind, x)
    else:
        pointer = into.pointer
    copy(own.pointer, pointer, known.stream(own.device))
    return _hand_over(x, own, out) if isinstance(known, Foreign) else out


def _compile_plan(plan: Plan, own: Array, into: Array | None) -> CompiledCopy:
    kind, other = plan.element.element, plan.dst_element.element
    start, readable = flat_range(own, plan.source, kind, "source")
    if into is None:
        # Elements that share bytes end with one.
        offset, writable = 0, -(-plan.target.storage_size * other.bits // 8) * 8 // other.bits
        code = plan.new_fill or plan.fill or bytes(-(-other.bits // 8))
        plan = make_plan(plan.source, plan.target, plan.element, plan.dst_element, code, None, on_device=True)
        whole, pointer = (0, writable), 0
    else:
        check_target(own, into)
        offset, writable = flat_range(into, plan.target, other, "target")
        whole, pointer = None, into.pointer + offset
    aligned = alignment(own.pointer + start), alignment(pointer)
    return compile_copy(plan, own.device, aligned, readable, writable, whole, (start, offset))


def flat_range(array: Array, layout: Layout, kind: Element, what: str) -> tuple[int, int]:
    """Where the flat memory of an array begins, in bytes from its pointer, and how many elements it has."""
    found = array_like(array)
    memory = flat_memory(found, layout, kind, what)
    return memory.ctypes.data - found.ctypes.data if memory.size else 0, memory.nbytes * 8 // kind.bits


def array_like(array: Array) -> Any:
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
    found = describe(out, "target")
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
