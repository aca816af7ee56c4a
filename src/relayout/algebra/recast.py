"""One memory in other units: layouts of wider or narrower elements."""

from __future__ import annotations

from math import gcd
from typing import Any

from ..errors import NotExpressible, ShapeError
from ..integers.inttuple import as_int
from ..integers.nested import flatten, unflatten
from ..layout.layout import Layout
from ..layout.swizzle import Swizzle
from .composition import plain


def upcast(layout: Layout, n: int) -> Layout:
    """Addresses in units of ``n`` elements: runs of ``n`` become one; refused where they are not whole.

    Runs may go backwards: ``upcast(Layout(8, -1, offset=7), 2)`` is ``Layout(4, -1, offset=3)``.
    """
    plain(layout, "upcast", swizzle=True)
    n = _positive(n)
    leaves = list(zip(flatten(layout.shape), flatten(layout.stride)))
    starts = {abs(d) for s, d in leaves if s > 1}
    remainder = below = 0
    modes: list[tuple[int, int]] = []
    for s, d in leaves:
        step = abs(d)
        if step % n == 0 or s < 2:
            modes.append((s, -(-d // n)))
            continue
        ratio = n // step
        goes_on = s < ratio and ratio % s == 0 and step * s in starts
        inside = s if goes_on else ratio
        if n % step or s % inside:
            raise _uneven(layout, n, f"{s}:{d} is no whole number of runs of {n}")
        remainder += (inside - 1) * step
        if d < 0:
            below += (inside - 1) * step
        modes.append((s // inside, 1 if d > 0 else -1))
    if remainder >= n:
        raise _uneven(layout, n, "its modes of small stride together reach past one run")
    if (layout.offset - below) % n:
        raise _uneven(layout, n, f"its first run starts at {layout.offset - below}, no multiple of it")
    return _recast(layout, modes, layout.offset // n, _scaled_swizzle(layout, n, -1))


def downcast(layout: Layout, n: int) -> Layout:
    """Addresses in units of one ``n``-th: the unit-stride mode gets ``n`` times as long, all other strides too."""
    plain(layout, "downcast", swizzle=True)
    n = _positive(n)
    leaves = list(zip(flatten(layout.shape), flatten(layout.stride), strict=True))
    units = [k for k, (_, d) in enumerate(leaves) if d == 1]
    runs = [k for k in units if leaves[k][0] != 1] or units[:1]
    if n > 1 and len(runs) != 1:
        raise _uneven(layout, n, "it needs exactly one mode of stride 1, whose elements are adjacent")
    modes = [(s * n, d) if k in runs else (s, d * n) for k, (s, d) in enumerate(leaves)] if n > 1 else leaves
    return _recast(layout, modes, layout.offset * n, _scaled_swizzle(layout, n, 1))


def recast_layout(layout: Layout, old_bits: int, new_bits: int) -> Layout:
    """The layout of the same memory seen as elements of ``new_bits`` instead of ``old_bits`` bits."""
    old_bits, new_bits = _positive(old_bits), _positive(new_bits)
    common = gcd(old_bits, new_bits)
    return upcast(downcast(layout, old_bits // common), new_bits // common)


def _recast(layout: Layout, modes: list[tuple[int, int]], offset: int, swizzle: Swizzle | None) -> Layout:
    return Layout._make(
        unflatten(iter([s for s, _ in modes]), layout.shape),
        unflatten(iter([d for _, d in modes]), layout.shape),
        offset,
        swizzle=swizzle,
    )


def _scaled_swizzle(layout: Layout, n: int, direction: int) -> Swizzle | None:
    swizzle = layout.swizzle
    if swizzle is None or n == 1:
        return swizzle
    base = swizzle.base + direction * (n.bit_length() - 1)
    if n & (n - 1) or base < 0:
        raise _uneven(layout, n, f"the swizzle {swizzle} moves parts of a run")
    return Swizzle(swizzle.bits, base, swizzle.shift)


def _positive(n: Any) -> int:
    value = as_int(n, "a number of elements or bits")
    if value < 1:
        raise ShapeError(f"a number of elements or bits must be at least 1, got {value}.", hint="use >= 1", got=value)
    return value


def _uneven(layout: Layout, n: int, why: str) -> NotExpressible:
    return NotExpressible(
        f"{layout} cannot be recast by {n}: {why}.",
        hint="choose an element width that divides the runs",
        layout=layout,
        n=n,
    )
