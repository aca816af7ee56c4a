"""Making layouts from shapes and from other layouts, and taking their modes apart again."""

from __future__ import annotations

from typing import Any

from ..errors import OutOfBounds, ShapeError
from ..integers import inttuple
from ..integers.inttuple import as_int, as_ints, compact_order, rank_error, value_at
from ..integers.nested import flatten as leaves
from ..integers.nested import unflatten
from ..layout.basis import E
from ..layout.layout import Layout, as_layout
from .composition import composition, join_modes, on_inner, plain

UNIT = Layout(1, 0)
"""The mode that does nothing."""


def make_layout(*layouts: Layout) -> Layout:
    """One mode per layout: ``result(c0, c1, ...) == L0(c0) + L1(c1) + ...``."""
    for layout in layouts:
        plain(layout, "make_layout")
    return join_modes(layouts)


def make_ordered_layout(shape: Any, order: Any) -> Layout:
    """A compact layout: the mode with the smallest ``order`` has the smallest stride, ties rank left to right."""
    return Layout(shape, compact_order(shape, order))


def make_layout_like(layout: Layout) -> Layout:
    """A compact layout of the same shape whose strides rank as they do in ``layout``; stride-0 modes stay broadcast."""
    plain(layout, "make_layout_like", swizzle=True)
    sizes = leaves(layout.shape)
    strides = leaves(layout.stride)
    kept = tuple([1 if d == 0 else s for s, d in zip(sizes, strides, strict=True)])
    compact = compact_order(kept, tuple([abs(d) for d in strides]))
    return Layout._make(layout.shape, unflatten(iter(compact), layout.shape))


def make_identity_layout(shape: Any) -> Layout:
    """The layout that maps every coordinate to itself, nested like ``shape``; of an integer it is ``n:1``."""
    shape = as_ints(shape, "shape")
    return Layout(shape, _basis(shape, ()) if isinstance(shape, tuple) else 1)


def _basis(shape: Any, path: tuple[int, ...]) -> Any:
    if isinstance(shape, tuple):
        return tuple([_basis(s, (*path, k)) for k, s in enumerate(shape)])
    return E(*path)


def with_shape(layout: Layout, shape: Any) -> Layout:
    """The elements counted colexicographically under another shape: ``composition(L, Layout(shape))``."""
    return composition(layout, Layout(shape))


@on_inner
def select(layout: Layout, *modes: Any) -> Layout:
    """The modes named, in that order; the others stay at 0."""
    plain(layout, "select", swizzle=True)
    picked = modes[0] if len(modes) == 1 and isinstance(modes[0], tuple | list) else modes
    return join_modes([layout[k] for k in picked], layout.offset, layout.swizzle)


@on_inner
def group(layout: Layout, begin: int, end: int) -> Layout:
    """The modes ``begin .. end - 1`` as one nested mode."""
    plain(layout, "group", swizzle=True)
    modes = list(layout)
    begin, end = as_int(begin, "begin"), as_int(end, "end")
    if not 0 <= begin <= end <= len(modes):
        raise OutOfBounds(
            f"modes {begin} to {end} of {layout} do not exist.",
            hint=f"keep 0 <= begin <= end <= {len(modes)}",
            begin=begin,
            end=end,
        )
    return join_modes([*modes[:begin], join_modes(modes[begin:end], 0), *modes[end:]], layout.offset, layout.swizzle)


def flatten(x: Any) -> Any:
    """The leaves from left to right: those of a nested tuple as a tuple, those of a layout as its modes.

    ``L.flatten()`` is the view that merges dimensions, in row-major order.
    """
    return _flat_modes(x) if isinstance(x, Layout) or hasattr(x, "_with_inner") else inttuple.flatten(x)


@on_inner
def _flat_modes(layout: Layout) -> Layout:
    plain(layout, "flatten", swizzle=True)
    if not isinstance(layout.shape, tuple):
        return layout
    modes = zip(leaves(layout.shape), leaves(layout.stride), strict=True)
    return join_modes([Layout._plain(s, d) for s, d in modes], layout.offset, layout.swizzle)


@on_inner
def append(layout: Layout, mode: Layout = UNIT) -> Layout:
    """``layout`` with one more mode at the end."""
    plain(layout, "append", swizzle=True)
    return join_modes([*layout, plain(mode, "append")], layout.offset, layout.swizzle)


@on_inner
def prepend(layout: Layout, mode: Layout = UNIT) -> Layout:
    """``layout`` with one more mode at the front."""
    plain(layout, "prepend", swizzle=True)
    return join_modes([plain(mode, "prepend"), *layout], layout.offset, layout.swizzle)


def replace(layout: Layout, k: int, mode: Layout) -> Layout:
    """``layout`` with another mode at place ``k``."""
    plain(layout, "replace", swizzle=True)
    modes = list(layout)
    modes[layout._dim(k)] = plain(mode, "replace")
    return join_modes(modes, layout.offset, layout.swizzle)


def zip_modes(a: Layout, b: Layout) -> Layout:
    """Modes of equal number side by side: mode k of the result is ``(a[k], b[k])``."""
    plain(a, "zip_modes")
    plain(b, "zip_modes")
    if a.rank != b.rank:
        raise ShapeError(f"zip_modes needs layouts of one rank, got {a} and {b}.", hint="append unit modes", a=a, b=b)
    return join_modes([make_layout(x, y) for x, y in zip(a, b, strict=True)], a.offset + b.offset)


def slice_layout(coord: Any, layout: Any) -> Any:
    """The modes where ``coord`` has None, at the place that the integers of ``coord`` fix."""
    if hasattr(layout, "_with_inner"):
        return layout._with_inner(slice_layout(coord, layout._domain))
    plain(layout, "slice_layout", swizzle=True)
    shapes, strides, offset = _slice(coord, layout.shape, layout.stride, coord)
    if coord is None:
        return layout
    return Layout._make(tuple(shapes), tuple(strides), layout.offset + offset, swizzle=layout.swizzle)


def _slice(coord: Any, shape: Any, stride: Any, whole: Any) -> tuple[list[Any], list[Any], Any]:
    if coord is None:
        return [shape], [stride], 0
    if not isinstance(coord, tuple | list):
        return [], [], value_at(coord, shape, stride)
    _check_same_rank(coord, shape, whole)
    shapes: list[Any] = []
    strides: list[Any] = []
    offset: Any = 0
    for c, s, d in zip(coord, shape, stride, strict=True):
        kept_shapes, kept_strides, moved = _slice(c, s, d, whole)
        shapes += kept_shapes
        strides += kept_strides
        offset += moved
    return shapes, strides, offset


def dice(coord: Any, layout: Any) -> Any:
    """The modes where ``coord`` has an integer: what :func:`slice_layout` takes away. One integer names all modes.

    Of a tuple, such as a shape, the entries at those places, as a tuple. Of a composition, that of its inner layout.
    """
    if hasattr(layout, "_with_inner"):
        return layout._with_inner(dice(coord, layout._domain))
    if isinstance(layout, tuple | list):
        shape = as_ints(layout, "a tuple")
        if isinstance(coord, tuple | list) or coord is None:
            return tuple([s for s, _ in _dice(coord, shape, shape, coord)])
        value_at(coord, shape, shape)
        return shape
    plain(layout, "dice", swizzle=True)
    if coord is not None and not isinstance(coord, tuple | list):
        layout(coord)
        return layout
    modes = _dice(coord, layout.shape, layout.stride, coord)
    return Layout._make(
        tuple([s for s, _ in modes]), tuple([d for _, d in modes]), layout.offset, swizzle=layout.swizzle
    )


def _dice(coord: Any, shape: Any, stride: Any, whole: Any) -> list[tuple[Any, Any]]:
    if coord is None:
        return []
    if not isinstance(coord, tuple | list):
        value_at(coord, shape, stride)
        return [(shape, stride)]
    _check_same_rank(coord, shape, whole)
    return [mode for c, s, d in zip(coord, shape, stride, strict=True) for mode in _dice(c, s, d, whole)]


def _check_same_rank(coord: Any, shape: Any, whole: Any) -> None:
    if not isinstance(shape, tuple) or len(coord) != len(shape):
        raise rank_error(whole, shape)


def domain_offset(coord: Any, layout: Layout) -> Layout:
    """The layout seen from ``coord`` on: ``result(c) == L(coord + c)`` for every ``c`` that stays inside ``L``."""
    start = as_layout(layout, "domain_offset").coordinates(coord).modes
    result = layout
    for k, x in enumerate(start):
        result = result.narrow(k, x, layout.extents[k] - x)
    return result
