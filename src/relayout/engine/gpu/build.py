"""From a plan to the kernels that run it, for memories of known alignment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from ...elements.interface import Interface
from ...errors import NotExpressible
from ...immutable import NamedTuple
from ...layout.ranges import effective_swizzle
from ..conversion import refuses_nan
from ..nest import make_nest
from ..places import box_range, element_range, prove_places
from .convert import conversion_text
from .element import element_kernel, fill_kernel
from .kernel import Kernel, kernel
from .kernel_text import KernelInputs
from .packed import packed_element_kernel, packed_kernel
from .prelude import DEVICE
from .tile_choice import other_tiles, tile
from .tiles import MAX_SHARED_BYTES
from .work import Work, byte_swizzle, common_axes, merge_axes, widen

if TYPE_CHECKING:
    from ..plan import Plan

SATURATE = "ScaleOffset(..., nan='saturate') stores NaN as the upper limit, and refuses nothing"
"""The way out where only NaN could be refused, which a device that nobody waits for cannot tell."""

WIDTHS = (8, 16, 32, 64, 128)
"""The bits of elements that a device moves as whole bytes."""

SHUFFLED_RUN_BYTES = 64
"""Bytes go through the kernel of packed elements only where so many of a tile lie together on both sides."""

MAX_PIECES = 8
"""A packed plan of more pieces is copied element by element: each would be a kernel."""


def kernels(
    plan: Plan, aligned: tuple[int, int], whole: tuple[int, int] | None = None, shared: int = MAX_SHARED_BYTES
) -> list[Kernel]:
    """The kernels of a plan, in their order: a fill where the copy does not write the padding itself, and the copy.

    A fill covers the ``whole`` of the target, by default its box. Addresses are multiples of the bytes in ``aligned``,
    and a block has so many bytes of ``shared`` memory.
    """
    if plan.element == plan.dst_element and plan.element.element.bits < 8:
        return packed_kernels(plan, aligned, whole)
    for means in (plan.element, plan.dst_element):
        check_element(means)
    convert = None
    if plan.element != plan.dst_element:
        convert = conversion_text(plan.element, plan.dst_element)
        if convert is None:
            raise NotExpressible(
                f"a device does not convert {plan.element} to {plan.dst_element}: a value could be refused, or there "
                "is no kernel for it.",
                hint=SATURATE
                if refuses_nan(plan.element, plan.dst_element)
                else "repack the stored values, and convert them before or after; or copy them to the host first",
                source=plan.element,
                target=plan.dst_element,
            )
    if plan.fill is None:
        return [copy_kernel(plan, aligned, convert, None, shared)[0]] if plan.target.size else []
    low, high = whole or box_range(plan.target)
    if high - low <= plan.target.size:
        return [copy_kernel(plan, aligned, convert, None, shared)[0]] if plan.target.size else []
    if plan.target.size and (low, high) == box_range(plan.target) and prove_places(plan.target):
        found, filled = copy_kernel(plan, aligned, convert, plan.fill, shared)
        if filled:
            return [found]
    size = plan.dst_element.element.bytes
    filling = fill_kernel(low * size, high * size, plan.fill)
    return [filling, *([copy_kernel(plan, aligned, convert, None, shared)[0]] if plan.target.size else [])]


def packed_kernels(plan: Plan, aligned: tuple[int, int], whole: tuple[int, int] | None) -> list[Kernel]:
    """Those of elements below a byte: a fill of whole bytes, and a copy for each piece of the nest."""
    bits, found = plan.element.element.bits, list[Kernel]()
    if plan.fill is not None:
        low, high = whole or box_range(plan.target)
        if high - low > plan.target.size:
            if (8 % bits and any(plan.fill)) or low * bits % 8 or (whole is None and high * bits % 8):
                raise NotExpressible(
                    f"a device fills whole bytes, and the box of {plan.target} has {high - low} elements of {bits} "
                    f"bits from {low} on.",
                    hint="make a plan without a fill; or repack it on the host",
                    element=plan.element.element,
                )
            found.append(fill_kernel(low * bits // 8, -(-high * bits // 8), plan.fill[:1]))
    if not plan.target.size:
        return found
    plain = effective_swizzle(plan.source) is effective_swizzle(plan.target) is None
    pieces = list(islice(make_nest(plan.source, plan.target).pieces(), MAX_PIECES + 1)) if plain else []
    made = [packed_kernel(piece, bits, aligned) if 8 % bits == 0 else None for piece in pieces]
    copies = [kernel for kernel in made if kernel is not None]
    if copies and len(copies) == len(pieces) <= MAX_PIECES:
        return [*found, *copies]
    return [*found, packed_element_kernel(plan.source, plan.target, bits)]


class CopyWork(NamedTuple):
    """What tiles are made for, and what their kernels know of the memories."""

    work: Work
    memory: KernelInputs


def other_kernels(
    plan: Plan, made: Sequence[Kernel], aligned: tuple[int, int], shared: int = MAX_SHARED_BYTES
) -> Iterator[Kernel]:
    """Kernels that do what the last one of a plan's does, by tiles of other kinds; none where it has no tiles."""
    found = copy_work(plan, aligned, None, plan.fill if len(made) == 1 else None)
    chosen = None if found is None else tile(found.work, aligned, False, shared)
    if found is None or chosen is None or kernel(chosen, found.memory) != made[-1]:
        return
    seen = [made[-1]]
    for other in other_tiles(found.work, aligned, shared):
        seen.append(kernel(other, found.memory))
        if seen[-1] not in seen[:-1]:
            yield seen[-1]


def copy_kernel(
    plan: Plan, aligned: tuple[int, int], convert: str | None, fill: bytes | None, shared: int
) -> tuple[Kernel, bool]:
    """The kernel that moves the elements, and whether it writes the padding as well."""
    shuffled = None
    if convert is None and fill is None and plan.element.element.bytes == 1:
        shuffled = _shuffled_bytes(plan, aligned)
    if shuffled is not None:
        return shuffled, False
    found = copy_work(plan, aligned, convert, fill)
    planned = None if found is None else tile(found.work, aligned, bool(convert), shared)
    if found is not None and planned is not None:
        return kernel(planned, found.memory), fill is not None
    source, target = plan.source, plan.target
    sizes, swizzles, memory = _memory(plan, convert, fill)
    empty = Work(source.offset, target.offset, *sizes, (), *swizzles)
    return element_kernel(source, target, empty, memory), False


def copy_work(plan: Plan, aligned: tuple[int, int], convert: str | None, fill: bytes | None) -> CopyWork | None:
    """The axes of both layouts, merged and in units as wide as can be; None where they have no common digits."""
    sizes, swizzles, memory = _memory(plan, convert, fill)
    found = common_axes(plan.source, plan.target, fill is not None)
    if found is None:
        return None
    kept = {axis for axis in memory.channels if axis is not None}
    work, places = merge_axes(Work(found[0], found[1], *sizes, tuple(found[2]), *swizzles), kept)
    one, other = [None if axis is None else places[axis] for axis in memory.channels]
    return CopyWork(work if convert else widen(work, min(aligned)), memory._replace(channels=(one, other)))


def _memory(
    plan: Plan, convert: str | None, fill: bytes | None
) -> tuple[tuple[int, int], list[tuple[int, int] | None], KernelInputs]:
    """The bytes of elements, the swizzles, and what a kernel knows of the memories, of both sides of a plan."""
    sizes = plan.element.element.bytes, plan.dst_element.element.bytes
    swizzles = [byte_swizzle(effective_swizzle(x), n) for x, n in zip((plan.source, plan.target), sizes)]
    low, high = element_range(plan.source)
    channels = plan.element.axis, plan.dst_element.axis
    return sizes, swizzles, KernelInputs((low * sizes[0], high * sizes[0]), fill or b"\0", convert, channels)


def _shuffled_bytes(plan: Plan, aligned: tuple[int, int]) -> Kernel | None:
    """The kernel of packed elements for bytes that change places in a few words: where it writes by an image.

    Between such layouts on an H200 it has 0.93 to 0.98 of a copy's rate, and the kernel of tiles 0.70 to 0.93; between
    others it has less by 0.03 to 0.07.
    """
    if effective_swizzle(plan.source) is not None or effective_swizzle(plan.target) is not None:
        return None
    piece, *more = islice(make_nest(plan.source, plan.target).pieces(), 2)
    found = None if more else packed_kernel(piece, 8, aligned, SHUFFLED_RUN_BYTES)
    return found if found is not None and "store_image" in found.phases else None


def check_element(means: Interface) -> None:
    if means.element.bits not in WIDTHS:
        raise NotExpressible(
            f"a device converts elements of 1, 2, 4, 8 and 16 bytes, and {means.element.name} has "
            f"{means.element.bits} bits.",
            hint="repack the stored values; or convert them on the host",
            element=means.element,
        )


def device_text(kernel: Kernel, name: str) -> str:
    """All of the CUDA C++ of a kernel."""
    calls = "\n    __syncthreads();\n    ".join(
        [f"{phase}(source, target, room, blockIdx.x, threadIdx.x);" for phase in kernel.phases]
    )
    room = "extern __shared__ __align__(16) u8 room[];" if kernel.shared else "u8 *const room = nullptr;"
    return (
        f"{DEVICE}\n{kernel.text}\n"
        f'extern "C" __global__ void __launch_bounds__({kernel.threads})\n'
        f"{name}(const u8 *__restrict__ source, u8 *__restrict__ target) {{\n    {room}\n    {calls}\n}}\n"
    )
