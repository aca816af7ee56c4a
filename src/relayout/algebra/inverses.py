"""What undoes a layout and what it leaves out: inverses, the complement, and the run that two layouts share.

Every function states the law that its result obeys and refuses, with the reason, where no layout obeys it.
"""

from __future__ import annotations

from typing import Any

from ..errors import LimitExceeded, NotExpressible
from ..integers.inttuple import as_shape
from ..integers.lattice import solutions
from ..integers.nested import flatten, product
from ..layout.layout import Layout
from ..layout.modes import coalesced
from ..layout.ranges import collision
from ..layout.swizzle import Swizzle
from .coalescing import coalesce, filter_zeros, flat_layout
from .composed import ComposedLayout
from .composition import composition, plain
from .swizzled import kept_multiple


def complement(layout: Layout, cotarget: Any = None) -> Layout:
    """What ``layout`` leaves out: offsets that, added to those of ``layout``, repeat none of them.

    The result is ordered and ``make_layout(L, result)`` is injective; it fills ``cotarget`` (by default the cosize of
    ``layout``) where every stride is a multiple of the span below it. Stride-0 modes do not count. Refused where modes
    of ``layout`` overlap or interleave.
    """
    plain(layout, "complement")
    if layout.size == 0:
        raise NotExpressible(
            f"{layout} is empty and has no complement.", hint="an empty layout leaves everything out", layout=layout
        )
    target = layout.cosize if cotarget is None else _as_size(cotarget)
    sizes: list[int] = []
    strides: list[int] = []
    filled = 1
    for d, s in sorted([(abs(d), s) for s, d in zip(flatten(layout.shape), flatten(layout.stride)) if s != 1]):
        if d == 0:
            continue
        if d < filled:
            raise _not_apart("complement", filter_zeros(layout))
        sizes.append(d // filled)
        strides.append(filled)
        filled = d * s
    sizes.append(-(-target // filled))
    strides.append(filled)
    return flat_layout(*coalesced(sizes, strides))


def _as_size(x: Any) -> int:
    if x.__class__ is int and x >= 0:
        return x
    return x.size if isinstance(x, Layout) else product(as_shape(x, "the target"))


def _not_apart(operation: str, layout: Layout) -> NotExpressible:
    try:
        pair = collision(layout)
    except LimitExceeded:
        pair = None
    why = f"{pair[0]} and {pair[1]} share one offset" if pair else "its modes interleave"
    return NotExpressible(
        f"{operation} of {layout} is refused: {why}.",
        hint="every stride must be at least the span of the modes with smaller strides",
        operation=operation,
        layout=layout,
        counterexample=pair,
    )


def right_inverse(layout: Layout | ComposedLayout) -> Any:
    """``R`` with ``L(R(i)) == i`` for every ``i < R.size``, as far as strides 1, s0, s0*s1, ... are found.

    Of a swizzled layout it is the inverse of what is inside, after the swizzle, which undoes itself: a composition
    where no layout is known to be that. Under an offset it begins at the element that lies at 0; without one, refused.
    """
    if isinstance(layout, ComposedLayout):
        return _right_inverse_of_composed(layout)
    if isinstance(layout, Layout) and layout.swizzle is not None:
        inside, swizzle = right_inverse(layout.with_swizzle(None)), layout.swizzle
        run = kept_multiple(swizzle)
        reach = inside.size // run * run or min(inside.size, swizzle.source_mask & -swizzle.source_mask)
        return ComposedLayout(inside, Layout._make(reach, 1, swizzle=None if reach < run else swizzle)).collapse()
    _check_invertible(layout, "right_inverse")
    leaves = []
    weight, start = 1, 0
    for s, d, x in zip(flatten(layout.shape), flatten(layout.stride), _digits_of_zero(layout), strict=True):
        if s != 1 and ((d > 0 and x == 0) or (d < 0 and x == s - 1)):
            leaves.append((abs(d), weight, s, weight if d > 0 else -weight))
        start += weight * x
        weight *= s
    sizes: list[int] = []
    strides: list[int] = []
    reach = 1
    for d, _, s, place in sorted(leaves):
        if d == reach:
            sizes.append(s)
            strides.append(place)
            reach *= s
    return flat_layout(*coalesced(sizes, strides)).with_offset(start)


def _digits_of_zero(layout: Layout) -> tuple[int, ...]:
    """The digits of an element that lies at 0."""
    sizes = flatten(layout.shape)
    if not layout.offset:
        return (0,) * len(sizes)
    for digits in solutions(sizes, flatten(layout.stride), -layout.offset, question="which element lies at 0"):
        return digits
    raise NotExpressible(
        f"right_inverse of {layout} is refused: none of its elements lies at 0.",
        hint="invert L.with_offset(0) and subtract the offset first",
        operation="right_inverse",
        layout=layout,
    )


def left_inverse(layout: Layout | ComposedLayout) -> Any:
    """``N`` with ``N(L(i)) == i`` for every ``i < L.size``; where modes have stride 0, ``L(N(L(i))) == L(i)``.

    Of the integers that a stride-0 mode sends to one offset the smallest is taken. Refused, as in CuTe, unless every
    other stride is a multiple of the next smaller one and lies past that one's mode; the lowest offset must be a
    multiple of the largest of them that is not merged.
    """
    if isinstance(layout, ComposedLayout):
        return _left_inverse_of_composed(layout)
    if isinstance(layout, Layout) and layout.swizzle is not None:
        inside, run = left_inverse(layout.with_swizzle(None)), kept_multiple(layout.swizzle)
        run_up = Layout._make(-(-inside.size // run) * run, 1, swizzle=layout.swizzle)
        return ComposedLayout(inside, run_up).collapse()
    _check_invertible(layout, "left_inverse")
    leaves = []
    weight, start, low = 1, 0, layout.offset
    for s, d in zip(flatten(layout.shape), flatten(layout.stride)):
        if s != 1 and d != 0:
            leaves.append((abs(d), weight, s, weight if d > 0 else -weight))
            if d < 0:
                start += weight * (s - 1)
                low += d * (s - 1)
        weight *= s
    if low < 0:
        raise NotExpressible(
            f"left_inverse of {layout} is refused: it reaches below 0, where no layout has values.",
            hint=f"give it an offset that is larger by {-low}",
            layout=layout,
        )
    sizes: list[int] = []
    strides = [0]
    below, filled = 1, 1
    for d, _, s, place in sorted(leaves):
        if d < filled:
            raise _not_apart("left_inverse", layout)
        if d % below:
            raise NotExpressible(
                f"left_inverse of {layout} is refused: the stride {d} is no multiple of {below}.",
                hint="L.idx2crd(i) finds the coordinate of any offset",
                layout=layout,
            )
        sizes.append(d // below)
        strides.append(place)
        below, filled = d, d * s
    sizes, strides = coalesced([*sizes, filled // below], strides)
    if not low:
        return flat_layout(sizes, strides).with_offset(start)
    # Counted from the lowest offset on: the last digit runs on below it, and the others must not notice.
    period = product(tuple(sizes[:-1]))
    if low % period:
        raise NotExpressible(
            f"left_inverse of {layout} is refused: its lowest offset {low} is no multiple of {period}.",
            hint="invert L.with_offset(0) and subtract the offset first",
            operation="left_inverse",
            layout=layout,
        )
    steps = low // period
    if not sizes:
        return Layout._plain(1 + steps, 0)
    sizes[-1] += steps
    return flat_layout(sizes, strides).with_offset(start - steps * strides[-1])


def _right_inverse_of_composed(composed: ComposedLayout) -> Any:
    """``inner``'s inverse after ``outer``'s, as far as the first has elements for what the second gives."""
    found = composed.collapse()
    if isinstance(found, Layout):
        return right_inverse(found)
    outer, inner, offset = _with_offset_inside(composed)
    inside = right_inverse(inner)
    outside = right_inverse(Layout._make(inside.size, 1, swizzle=outer) if isinstance(outer, Swizzle) else outer)
    parts = [outside]
    if isinstance(outside, Layout):
        sizes, strides = list(flatten(outside.shape)), list(flatten(outside.stride))
        parts = [flat_layout(sizes[:k], strides[:k], outside) for k in range(len(sizes), -1, -1)]
    for part in parts:
        if part.min_offset >= offset and part.max_offset - offset < inside.size:
            return ComposedLayout(inside, part, -offset).collapse()
    raise NotExpressible(
        f"right_inverse of {composed} is refused: {outer} gives 0 at {outside(0)}, which {inner} plus {offset}"
        f" does not give among its first {inside.size} values in a row.",
        hint="invert the outer and the inner layout one by one",
        operation="right_inverse",
        layout=composed,
    )


def _left_inverse_of_composed(composed: ComposedLayout) -> Any:
    """``inner``'s inverse after ``outer``'s, which must be one to one on all that ``inner`` gives."""
    found = composed.collapse()
    if isinstance(found, Layout):
        return left_inverse(found)
    outer, inner, offset = _with_offset_inside(composed)
    reach = inner.max_offset + offset + 1
    if isinstance(outer, Swizzle):
        run = kept_multiple(outer)
        outer = Layout._make(-(-reach // run) * run, 1, swizzle=outer)
    elif isinstance(outer, Layout) and not outer.windowed and outer.size < reach:
        whole = product(flatten(outer.shape)[:-1])
        outer = composition(outer, Layout._plain(-(-reach // whole) * whole, 1))
    if inner.min_offset + offset < 0 or reach > outer.size or not _is_one_to_one(outer):
        raise NotExpressible(
            f"left_inverse of {composed} is refused: {outer} is not one to one, from 0 on, on all values of {inner}.",
            hint="invert the outer and the inner layout one by one",
            operation="left_inverse",
            layout=composed,
        )
    inside, outside = left_inverse(inner), left_inverse(outer)
    if outside.min_offset < offset:
        raise NotExpressible(
            f"left_inverse of {composed} is refused: where {outer} begins, {inner} plus {offset} has no value.",
            hint="invert the outer and the inner layout one by one",
            operation="left_inverse",
            layout=composed,
        )
    return ComposedLayout(inside, outside, -offset).collapse()


def _with_offset_inside(composed: ComposedLayout) -> tuple[Any, Any, int]:
    """Outer, inner and offset of a composition; the offset is part of an inner layout that has no swizzle."""
    outer, inner, offset = composed.outer, composed._domain, composed.offset
    if isinstance(inner, Layout) and inner.swizzle is None:
        return outer, inner.with_offset(inner.offset + offset) if offset else inner, 0
    return outer, inner, offset


def _is_one_to_one(outer: Layout | ComposedLayout) -> bool:
    if isinstance(outer, Layout):
        return outer.is_injective()
    return len(set(outer._values().ravel().tolist())) == outer.size


def _check_invertible(layout: Layout, operation: str) -> None:
    plain(layout, operation)
    if layout.size == 0:
        raise NotExpressible(
            f"{operation} of the empty layout {layout} is not defined.",
            hint="give every mode a size",
            operation=operation,
            layout=layout,
        )


def max_common_layout(a: Layout, b: Layout) -> Layout:
    """The longest ``C`` along b's unit strides that both send to the same run: ``a(C(i)) == b(C(i)) == i``.

    As in CuTe, under different swizzles it is cut to the run that these keep together everywhere, and one swizzle of
    both does not count.
    """
    swizzles = [plain(x, "max_common_layout", swizzle=True).swizzle for x in (a, b)]
    if any(swizzles):
        inside = max_common_layout(a.with_swizzle(None), b.with_swizzle(None))
        if a.swizzle == b.swizzle:
            return inside
        kept = min([inside.size, *[1 << s.base for s in swizzles if s is not None and s.bits]])
        return composition(inside, Layout._plain(kept, 1))
    for x in (a, b):
        _check_invertible(x, "max_common_layout")
        if x.offset:
            raise NotExpressible(
                f"max_common_layout of {x} is refused: its first element lies at {x.offset}, not at 0.",
                hint="compare L.with_offset(0)",
                operation="max_common_layout",
                layout=x,
            )
    inverse = right_inverse(b)
    sizes: list[int] = []
    strides: list[int] = []
    for s, d in zip(flatten(inverse.shape), flatten(inverse.stride)):
        low, high = 1, s
        while low < high:
            middle = (low + high + 1) // 2
            if _sends_to_run(a, flat_layout([*sizes, middle], [*strides, d])):
                low = middle
            else:
                high = middle - 1
        if low > 1:
            sizes.append(low)
            strides.append(d)
        if low < s:
            break
    return flat_layout(sizes, strides)


def _sends_to_run(a: Layout, inner: Layout) -> bool:
    """Whether ``a`` sends ``inner``, all of it inside ``a``, to 0, 1, 2, ..."""
    if inner.cosize > a.size:
        return False
    try:
        run = coalesce(composition(a, inner))
    except NotExpressible:
        return False
    return run == Layout._plain(inner.size, 1)


def max_common_vector(a: Layout, b: Layout) -> int:
    """How many consecutive elements of memory ``a`` and ``b`` both reach by the same coordinates."""
    return max_common_layout(a, b).size
