"""Composition, exact or refused: ``composition(A, B)(c) == A(B(c))`` everywhere, or an error that shows why not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

from ..errors import LimitExceeded, NotExpressible, OutOfBounds, ShapeError, shown
from ..integers.inttuple import as_int
from ..integers.nested import flatten, product, unflatten, within_depth
from ..layout.basis import Basis
from ..layout.carry import BelowZero, Carried, Leaf, Undecided, compose_digits
from ..layout.layout import PLAIN, Layout
from ..layout.modes import coalesced, open_sum
from ..layout.ranges import offset_range
from ..layout.swizzle import Swizzle
from .swizzled import compose_bits, identity_to

F = TypeVar("F", bound=Callable[..., Any])


def composition(a: Any, b: Any) -> Layout:
    """``A`` after ``B``: a layout whose shape refines B's leaf by leaf, with ``result(c) == A(B(c))``.

    ``B`` is a layout, an integer ``n`` (meaning ``n:1``), or a tuple that composes mode by mode (None leaves a mode
    alone; modes past the end of the tuple are dropped, as in CuTe). A's last mode extends beyond its size, as in CuTe.
    A's offset and swizzle stay outside. A swizzle inside, of ``B`` or as ``B`` itself (over A's shape), goes through
    where both are linear over bits. Refused with a counterexample when no layout is the composition.
    """
    if hasattr(a, "_with_inner"):
        return a._with_inner(composition(a._domain, b))  # type: ignore[no-any-return]
    if isinstance(a, Swizzle):
        if not isinstance(b, Layout):
            raise ShapeError(
                f"a swizzle composes with a layout, got {shown(b)}.", hint="wrap it: Layout(shape, stride)", got=b
            )
        return b._apply_swizzle(a)
    plain(a, "composition", swizzle=True)
    if b.__class__ is not Layout:
        if b is None:
            return a  # type: ignore[no-any-return]
        if isinstance(b, tuple | list):
            return _by_mode(a, tuple(b))
        b = Layout(a.shape).with_swizzle(b) if isinstance(b, Swizzle) else as_tiler(b)
    plain(b, "composition", swizzle=True)
    if b.swizzle is not None:
        return _after_swizzle(a, b)
    leaves = list(zip(flatten(b.shape), flatten(b.stride)))
    if 0 in flatten(b.shape):
        return _assemble(a, b.shape, [[(n, 0)] for n, _ in leaves], a.offset)
    for _, d in leaves:
        if d.__class__ is Basis:
            return _through_coordinates(a, b, leaves)
    start = b.offset
    if start.__class__ is Basis:
        return _through_coordinates(a, b, leaves)
    if 0 in flatten(a.shape):
        raise OutOfBounds(f"{a} is empty, so it has no value to compose with.", hint="give every mode a size", a=a, b=b)
    sizes, strides = open_digits(a)
    parts = _compose_digits(sizes, strides, leaves, start, a, b)
    offset = a.offset
    if start:
        offset += open_sum(sizes, strides, start)
    if strides[0].__class__ is Basis:
        # Axes along which the result does not move keep their place in its coordinates.
        offset = sum([d * 0 for d in flatten(a.stride)], offset)
    return _assemble(a, b.shape, parts, offset)


def _after_swizzle(a: Layout, b: Layout) -> Layout:
    """``A(B(c))`` for a swizzled B: B itself where A is the identity on it, else over bits."""
    low, high = offset_range(b) if b.size else (0, 0)
    if low >= 0 and high < identity_to(a):
        return b
    reach = high.bit_length()
    try:
        plain_a = a if a.size >= 1 << reach else composition(a, Layout._plain(1 << reach, 1))
        return compose_bits(plain_a, b)
    except NotExpressible as why:
        raise NotExpressible(
            f"no layout is known to be {a} after {b}: {why.message}",
            hint="ComposedLayout(A, B) is the exact function",
            operation="composition",
            a=a,
            b=b,
        ) from None


def open_digits(a: Layout) -> tuple[list[int], list[Any]]:
    """A's digits, coalesced, the last one without a size because it runs on: one size less than strides."""
    leaves, steps = flatten(a.shape), flatten(a.stride)
    if not leaves:
        return [], [0]
    sizes, strides = coalesced(leaves[:-1], steps[:-1])
    if sizes and sizes[-1] * strides[-1] == steps[-1]:
        sizes.pop()
    else:
        strides.append(steps[-1])
    return sizes, strides


def extended_value(outer: Any, y: Any) -> Any:
    """The value of ``outer`` at ``y``; an integer past a plain layout's size runs on in its last mode."""
    if isinstance(outer, Layout) and not outer.windowed and y.__class__ is int and y >= outer.size > 0:
        inner = outer.offset + open_sum(*open_digits(outer), y)
        return inner if outer.swizzle is None else outer.swizzle(inner)
    return outer(y)


def on_inner(operation: F) -> F:
    """``operation`` that also takes a composition as its first operand, and then works on the inner layout of it.

    What regroups coordinates is the same before any outer function: ``op(A o B)`` is ``A o op(B)``, as in CuTe.
    """

    @wraps(operation)
    def either(*operands: Any, **options: Any) -> Any:
        if operands and hasattr(operands[0], "_with_inner"):
            composed, *rest = operands
            return composed._with_inner(either(composed._domain, *rest, **options))
        return operation(*operands, **options)

    return either  # type: ignore[return-value]


def as_tiler(x: Any) -> Layout:
    """``x`` itself if it is a layout; an integer ``n`` is ``n:1``."""
    if isinstance(x, Layout):
        return x
    n = as_int(x, "a tiler")
    return Layout._plain(n, 1) if n >= 0 else Layout(n, 1)


def plain(layout: Any, operation: str, *, swizzle: bool = False) -> Layout:
    """``layout`` itself when ``operation`` can take it: without a window, and without a swizzle unless allowed."""
    if not isinstance(layout, Layout):
        raise ShapeError(
            f"{operation} takes layouts, got {shown(layout)}.", hint="wrap it: Layout(shape, stride)", got=layout
        )
    if layout._rest is PLAIN:
        return layout
    if layout.windowed:
        raise NotExpressible(
            f"{operation} of a layout with a window is not defined: {layout}.",
            hint="use the view methods (narrow, reshape, permute), or compose the box: Layout(L.shape, L.stride)",
            operation=operation,
            layout=layout,
        )
    if layout.swizzle is not None and not swizzle:
        raise NotExpressible(
            f"{operation} cannot see through the swizzle of {layout}.",
            hint="work on Layout(L.shape, L.stride) and apply the swizzle to the result, or use ComposedLayout",
            operation=operation,
            layout=layout,
        )
    return layout


def _by_mode(a: Layout, tiler: tuple[Any, ...]) -> Layout:
    check_tiler(tiler, a)
    return join_modes([composition(m, t) for m, t in zip(a, tiler)], a.offset, a.swizzle)


def check_tiler(tiler: Any, layout: Layout) -> None:
    """Raise unless a tuple of tilers has at most one entry per mode."""
    within_depth(tiler, "the tiler")
    if len(tiler) > layout.rank:
        raise ShapeError(
            f"{shown(tiler)} has more entries than {layout} has modes.",
            hint="give at most one entry per mode",
            tiler=tiler,
            layout=layout,
        )


def map_modes(layout: Layout, tiler: tuple[Any, ...], operation: Callable[[Layout, Any], Layout]) -> Layout:
    """``operation`` on each mode that ``tiler`` has an entry for; the other modes are kept."""
    check_tiler(tiler, layout)
    modes = list(layout)
    for k, entry in enumerate(tiler):
        modes[k] = operation(modes[k], entry)
    return join_modes(modes, layout.offset, layout.swizzle)


def join_modes(modes: Iterable[Layout], offset: Any = 0, swizzle: Swizzle | None = None) -> Layout:
    """The layouts as modes of one, their offsets added up."""
    shapes, strides = [], []
    nested = False
    for m in modes:
        shapes.append(m.shape)
        strides.append(m.stride)
        if m._rest is not PLAIN:
            offset += m.offset
        if m.shape.__class__ is tuple:
            nested = True
    if nested:
        within_depth(shapes, "the result")
    if offset.__class__ is int and not offset and swizzle is None:
        return Layout._plain(tuple(shapes), tuple(strides))
    return Layout._make(tuple(shapes), tuple(strides), offset, swizzle=swizzle)


def _through_coordinates(a: Layout, b: Layout, leaves: list[Leaf]) -> Layout:
    """``A(B(c))`` where B gives coordinates of A: each leaf of B moves along one submode of A, and stays inside it."""
    if a.has_basis:
        raise NotExpressible(
            f"{a} gives coordinates, so it has no place for those of {b}.", hint="compose with memory", a=a, b=b
        )
    a(b((0,) * b.rank))
    paths = dict(b.offset.terms) if isinstance(b.offset, Basis) else {}
    for n, d in leaves:
        if n > 1 and isinstance(d, Basis):
            moving = [path for path, k in d.terms if k]
            if len(moving) > 1:
                raise NotExpressible(
                    f"stride {d} of {b} runs along several modes at once.", hint="use ComposedLayout", a=a, b=b
                )
            for path in moving:
                paths.setdefault(path, 0)
    parts: list[list[Leaf]] = [[(n, 0)] for n, _ in leaves]
    offset = a.offset
    for path, start in paths.items():
        along = [(n, dict(d.terms).get(path, 0) if isinstance(d, Basis) else 0) for n, d in leaves]
        part = _submode(a, path)
        highest = start + sum((n - 1) * k for n, k in along if k > 0)
        if highest >= product(part.shape):
            raise OutOfBounds(
                f"{b} reaches {highest} along mode {path} of {a}, which has {product(part.shape)} elements.",
                hint="keep the coordinates inside the outer layout",
                a=a,
                b=b,
            )
        sizes, strides = open_digits(part)
        for k, digits in enumerate(_compose_digits(sizes, strides, along, start, a, b)):
            if along[k][1]:
                parts[k] = digits
        offset += open_sum(sizes, strides, start)
    return _assemble(a, b.shape, parts, offset)


def _compose_digits(
    sizes: list[int], strides: list[Any], leaves: list[Leaf], start: int, a: Layout, b: Layout
) -> list[list[Leaf]]:
    """The digits of each leaf's part of ``A(start + sum(c * b))``; without any, an error that names ``a`` and ``b``."""
    try:
        return compose_digits(sizes, strides, leaves, start)
    except BelowZero as why:
        raise OutOfBounds(
            f"{b} reaches {why.lowest}, and {a} has no values below 0.",
            hint="give the inner layout an offset, as flip does",
            a=a,
            b=b,
        ) from None
    except Carried as why:
        raise _no_layout(a, b, why) from None
    except Undecided as why:
        raise LimitExceeded(
            f"whether a layout is {a} after {b} is undecided: "
            f"{why.count} combinations are over the budget of {why.limit}.",
            hint="ComposedLayout(A, B) is the exact function; or choose sizes that divide",
            limit=why.limit,
            a=a,
            b=b,
        ) from None


def _no_layout(a: Layout, b: Layout, why: Carried) -> NotExpressible:
    """The refusal, with the values of the composition itself: the parts leave out offsets and the swizzle."""
    coordinate = unflatten(iter(why.coordinate), b.shape)
    value, expected = why.value, why.expected
    inner = extended_value(a.with_swizzle(None), b(coordinate))
    if not isinstance(inner, tuple):
        value, expected = inner, inner + expected - value
    if a.swizzle is not None:
        value, expected = a.swizzle(value), a.swizzle(expected)
    return NotExpressible(
        f"no layout is {a} after {b}: at {coordinate} the composition is {value}, but {why.reason} {expected}.",
        hint="ComposedLayout(A, B) is the exact function; or choose sizes that divide",
        operation="composition",
        a=a,
        b=b,
        coordinate=coordinate,
        value=value,
        expected=expected,
        counterexample=(coordinate, value, expected),
    )


def _submode(a: Layout, path: tuple[int, ...]) -> Layout:
    """The mode that a path of mode numbers names; an integer mode has only the number 0."""
    shape, stride = a.shape, a.stride
    for k in path:
        modes = shape if isinstance(shape, tuple) else (shape,)
        if k >= len(modes):
            raise OutOfBounds(
                f"{a} has no mode {path}.", hint="the coordinates must fit the outer layout", path=path, layout=a
            )
        if isinstance(shape, tuple):
            shape, stride = shape[k], stride[k]
    return Layout._plain(shape, stride)


def _assemble(a: Layout, profile: Any, parts: list[list[Leaf]], offset: Any) -> Layout:
    """A layout whose leaves, in order, are the parts: a part of several digits becomes a nested mode."""
    shapes: list[Any] = []
    strides: list[Any] = []
    split = False
    for part in parts:
        if len(part) == 1:
            n, d = part[0]
            shapes.append(n)
            strides.append(d)
        else:
            split = True
            shapes.append(tuple([n for n, _ in part]))
            strides.append(tuple([d for _, d in part]))
    if profile.__class__ is tuple:
        shape, stride = unflatten(iter(shapes), profile), unflatten(iter(strides), profile)
        if split and any(e.__class__ is tuple for e in profile):
            within_depth(shape, "the composition")
    else:
        shape, stride = shapes[0], strides[0]
    if a._rest is PLAIN and offset.__class__ is int and not offset:
        return Layout._plain(shape, stride)
    return Layout._make(shape, stride, offset, swizzle=a.swizzle)
