"""Are two layouts the same function? Decided exactly for any size, with the first coordinate where they differ.

Along one mode the step from one element to the next depends only on how far the carry runs: on the *level* of the
next position. Two modes agree when no two levels with different steps ever meet, which is a question about congruences.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any

from ..errors import LimitExceeded, NotExpressible
from ..immutable import NamedTuple
from .bit_form import bit_form
from .checks import checked_window
from .modes import Mode, coalesced, simplify_mode
from .ranges import ENUMERATION_LIMIT, effective_swizzle, numeric_modes
from .regroup import merge_modes
from .regrouping import Regrouping, regrouping

if TYPE_CHECKING:
    from .layout import Layout

PROBES = 1 << 12
"""How many coordinates of a larger layout are looked at for a difference before the answer is 'undecided'."""


class Comparison(NamedTuple):
    """The verdict on two layouts; it is truthy when they are the same function on the same domain.

    When they are not, ``coordinate`` is the first (in colexicographic order) where they differ and ``offsets`` are the
    two values there; or ``domains`` are the two different extents. ``regrouping`` is then how the second one is a view
    of the first, if both describe one memory.
    """

    a: Layout
    b: Layout
    coordinate: Any = None
    offsets: tuple[int, int] | None = None
    domains: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    regrouping: Regrouping | None = None

    def __bool__(self) -> bool:
        return self.equivalent

    @property
    def equivalent(self) -> bool:
        return self.offsets is None and self.domains is None

    @property
    def same_storage(self) -> bool:
        """Whether both need a buffer of the same size."""
        return self.a.storage_size == self.b.storage_size

    def _repr_svg_(self) -> str | None:
        from ..drawing.notebook import svg_of

        return svg_of(self)

    def __str__(self) -> str:
        if self.domains is not None:
            same = "" if self.regrouping is None else f"; two descriptions of one memory: b is a.{self.regrouping}"
            return f"different domains: {self.domains[0]} and {self.domains[1]}{same}"
        if self.offsets is not None:
            return f"different at {self.coordinate}: {self.offsets[0]} and {self.offsets[1]}"
        storage = "" if self.same_storage else f"; storage differs: {self.a.storage_size} and {self.b.storage_size}"
        return f"the same function{storage}"


def compare(a: Layout, b: Layout, flat: bool = False, limit: int = ENUMERATION_LIMIT) -> Comparison:
    """Whether ``a`` and ``b`` give the same offset at every coordinate.

    Domains of different ranks or extents differ, unless ``flat`` asks to count elements colexicographically. Different
    swizzles, and windows under ``flat``, are decided over bits where all sizes are powers of two, unless both sums
    carry first at the same place; what is left is enumerated up to ``limit``.
    """
    for layout in (a, b):
        numeric_modes(layout)
    if a.extents != b.extents if not flat else a.size != b.size:
        return Comparison(a, b, domains=(a.extents, b.extents), regrouping=regrouping(a, b))
    if a.size == 0:
        return Comparison(a, b)
    where = _first_difference(a, b, limit)
    if where is None:
        return Comparison(a, b)
    coordinate = where if flat else a.coordinates(where).modes
    return Comparison(a, b, coordinate, (a(where), b(where)))


def _first_difference(a: Layout, b: Layout, limit: int) -> int | None:
    """The first integer coordinate where two layouts of one size differ."""
    if a(0) != b(0):
        return 0
    if effective_swizzle(a) == effective_swizzle(b):
        pairs = _mode_pairs(a, b)
        if pairs is not None:
            weight = 1
            for x, y in pairs:
                step = first_difference(x, y)
                if step is not None:
                    return step * weight
                weight *= x.extent
            return None
    first, second = bit_form(a), bit_form(b)
    if first is not None and second is not None:
        where = next((1 << k for k, (x, y) in enumerate(zip(first.columns, second.columns)) if x != y), None)
        if where is not None:
            return where
        if first.carry != second.carry:
            return min(sum(form.carry) for form in (first, second) if form.carry is not None)
        if first.carry is None:
            return None
    looked_at = a.size if a.size <= limit else min(limit, PROBES)
    where = next((i for i in range(looked_at) if a(i) != b(i)), None)
    if where is None and a.size > limit:
        raise LimitExceeded(
            f"whether {a} and {b} are the same function is undecided after {looked_at} of {a.size} elements.",
            hint="compare parts (narrow, pick), or pass a larger limit",
            limit=limit,
            a=a,
            b=b,
        )
    return where


def _mode_pairs(a: Layout, b: Layout) -> list[tuple[Mode, Mode]] | None:
    """Modes to compare one by one; None when elements are counted across windows."""
    modes = [m for m in numeric_modes(a) if m.extent != 1]
    others = [m for m in numeric_modes(b) if m.extent != 1]
    if [m.extent for m in modes] == [m.extent for m in others]:
        return list(zip(modes, others, strict=True))
    whole, other = merge_modes(modes[::-1])[1], merge_modes(others[::-1])[1]
    return None if whole is None or other is None else [(whole, other)]


def _levels(mode: Mode) -> tuple[list[int], list[int]]:
    """The weights of a mode's digits, and the step that a carry of each length makes."""
    weights: list[int] = []
    steps: list[int] = []
    weight, span = 1, 0
    for s, d in zip(*coalesced(mode.sizes, mode.strides), strict=True):
        weights.append(weight)
        steps.append(d - span)
        weight *= s
        span += (s - 1) * d
    return weights, steps


def first_difference(a: Mode, b: Mode) -> int | None:
    """The first position, from the start of both windows, where two modes of one extent have moved differently."""
    (u, steps), (v, other_steps) = _levels(a), _levels(b)
    best = a.extent
    for p, step in enumerate(steps):
        for q, other in enumerate(other_steps):
            if step != other:
                best = min(best, _meeting(u, p, a.origin, v, q, b.origin, best))
    return best if best < a.extent else None


def _meeting(u: list[int], p: int, a: int, v: list[int], q: int, b: int, end: int) -> int:
    """The first ``t`` below ``end`` where ``a + t`` has exactly level p in u and ``b + t`` level q in v; else ``end``.

    Positions of level p or more in u and of level q or more in v form a progression. Those of a higher level in u (or
    in v) are a progression within it, every second member or rarer: unless they cover it, they leave one of any four.
    """
    shared = gcd(u[p], v[q])
    if (a - b) % shared:
        return end
    period = u[p] // shared * v[q]
    k = (a - b) // shared * pow(u[p] // shared, -1, v[q] // shared) % (v[q] // shared)
    t = (k * u[p] - a - 1) % period + 1
    for _ in range(4):
        if t >= end:
            return end
        in_u = p + 1 < len(u) and (a + t) % u[p + 1] == 0
        if not in_u and not (q + 1 < len(v) and (b + t) % v[q + 1] == 0):
            return t
        t += period
    return end


def normal_form(layout: Layout) -> Layout:
    """The simplest layout of this function: modes coalesced, windows trimmed, strides of size-1 modes 0.

    Layouts with equal swizzles are equivalent exactly when their normal forms are equal.
    """
    if layout.size == 0:
        numeric_modes(layout)
        empty = layout.extents
        return layout._make(*((empty[0], 0) if len(empty) == 1 else (empty, (0,) * len(empty))))
    offset = layout.offset
    shapes: list[Any] = []
    strides: list[Any] = []
    extents = []
    for mode in numeric_modes(layout):
        constant, mode = simplify_mode(mode)
        if mode.origin:
            raise NotExpressible(
                f"{layout} starts inside a block, so it has no normal form.",
                hint="compare(a, b) decides equivalence for any window",
                layout=layout,
            )
        offset += constant
        shapes.append(mode.sizes if len(mode.sizes) > 1 else mode.sizes[0] if mode.sizes else 1)
        strides.append(mode.strides if len(mode.sizes) > 1 else mode.strides[0] if mode.sizes else 0)
        extents.append(mode.extent)
    swizzle = effective_swizzle(layout)
    if len(shapes) == 1 and not isinstance(shapes[0], tuple):
        return layout._make(shapes[0], strides[0], offset, swizzle=swizzle)
    shape = tuple(shapes)
    return layout._make(shape, tuple(strides), offset, *checked_window(shape, tuple(extents), None), swizzle)


def follows(layout: Layout, reference: Layout) -> bool:
    """Whether ``layout`` is ``reference`` moved by a constant."""
    numeric_modes(layout)
    return layout.size == 0 or bool(compare(layout, reference.with_offset(layout(0))))
