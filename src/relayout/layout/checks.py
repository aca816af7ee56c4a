"""What a layout may be made of: every argument of its constructor, proven to fit or refused."""

from __future__ import annotations

from typing import Any

from ..errors import ShapeError, WindowError, shown
from ..integers.inttuple import as_int, as_shape
from ..integers.nested import MAX_DEPTH, congruent, flatten, product, within_depth
from .basis import Basis
from .swizzle import Swizzle


def checked_stride(shape: Any, stride: Any) -> Any:
    """``stride`` as nested tuples congruent with ``shape``."""
    stride = _as_strides(within_depth(stride, "stride"))
    if not congruent(shape, stride):
        raise ShapeError(
            f"shape {shape} and stride {stride} are not congruent.",
            hint="give every integer of the shape one stride, nested alike",
            shape=shape,
            stride=stride,
        )
    leaves = flatten(stride)
    if any(isinstance(d, Basis) for d in leaves) and any(type(d) is int and d != 0 for d in leaves):
        raise ShapeError(
            f"stride {stride} mixes memory and coordinates.",
            hint="use basis strides or integers, not both",
            stride=stride,
        )
    return stride


def compact(shape: Any) -> tuple[Any, Any]:
    """``shape``, checked, and its compact column-major strides, with CuTe's 0 for a mode of size 1."""
    strides, running = _strides_from(1, shape, 0)
    if running < 0:
        shape = as_shape(shape)
        strides, _ = _strides_from(1, shape, 0)
    return shape, strides


def _strides_from(running: int, shape: Any, level: int) -> tuple[Any, int]:
    """The strides and the size so far; a negative size when ``shape`` needs a closer look first."""
    if shape.__class__ is int and shape >= 0:
        return (running if shape != 1 else 0), running * shape
    if shape.__class__ is not tuple or level == MAX_DEPTH:
        return None, -1
    strides: list[Any] = []
    for s in shape:
        if s.__class__ is int and s >= 0:
            strides.append(running if s != 1 else 0)
            running *= s
        else:
            inner, running = _strides_from(running, s, level + 1)
            if running < 0:
                return None, -1
            strides.append(inner)
    return tuple(strides), running


def checked_offset(offset: Any, stride: Any) -> Any:
    """``offset`` as an integer, or as a coordinate where the strides point along coordinates too."""
    leaves = flatten(stride)
    if isinstance(offset, Basis):
        if any(type(d) is int and d != 0 for d in leaves):
            raise ShapeError(
                f"offset {offset} is a coordinate, and the strides {stride} are memory.",
                hint="use basis strides or integers, not both",
                offset=offset,
                stride=stride,
            )
        return offset
    start = as_int(offset, "offset")
    if start and any(isinstance(d, Basis) for d in leaves):
        raise ShapeError(
            f"offset {start} is memory, and the strides {stride} are coordinates.",
            hint="use an offset such as E(0) * 2",
            offset=start,
            stride=stride,
        )
    return start


def _as_strides(stride: Any) -> Any:
    if isinstance(stride, tuple | list):
        return tuple([_as_strides(d) for d in stride])
    return stride if isinstance(stride, Basis) else as_int(stride, "stride")


def checked_swizzle(swizzle: Any, stride: Any) -> Swizzle | None:
    """``swizzle`` as a Swizzle; None for the identity."""
    if isinstance(swizzle, tuple | list) and len(swizzle) == 3:
        swizzle = Swizzle(*swizzle)
    if not isinstance(swizzle, Swizzle):
        raise ShapeError(
            f"swizzle must be a Swizzle, got {shown(swizzle)}.", hint="Swizzle(bits, base, shift)", got=swizzle
        )
    if not swizzle.bits:
        return None
    if any(isinstance(d, Basis) for d in flatten(stride)):
        raise ShapeError(
            "a layout of coordinates has no addresses to swizzle.", hint="swizzle the layout it is composed into"
        )
    return swizzle


def checked_window(shape: Any, extents: Any, origin: Any) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """Origin and extents, one integer per mode, inside the box; two None when they are the whole box."""
    box = tuple([product(s) for s in shape]) if isinstance(shape, tuple) else (shape,)
    start = _per_mode(origin, "origin", len(box)) if origin is not None else (0,) * len(box)
    count = (
        _per_mode(extents, "extents", len(box))
        if extents is not None
        else tuple([b - o for b, o in zip(box, start, strict=True)])
    )
    for o, n, b in zip(start, count, box, strict=True):
        if o < 0 or n < 0 or o + n > b:
            raise WindowError(
                f"the window with origin {start} and extents {count} leaves the box {box}.",
                hint="keep 0 <= origin and origin + extents <= box in every mode, or enlarge the shape",
                origin=start,
                extents=count,
                box=box,
            )
    return (None, None) if count == box else (start, count)


def _per_mode(entries: Any, what: str, modes: int) -> tuple[int, ...]:
    if not isinstance(entries, tuple | list):
        entries = (entries,)
    if len(entries) != modes:
        raise ShapeError(
            f"{what} {tuple(entries)} needs one entry for each of the {modes} top-level modes.",
            hint="give integers, one per mode",
            got=entries,
        )
    return tuple([as_int(e, what) for e in entries])
