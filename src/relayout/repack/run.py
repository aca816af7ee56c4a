"""``repack``: data in another layout, in one call."""

from __future__ import annotations

from typing import Any

from ..dialects import with_shape
from ..errors import ShapeError
from ..factors import checked_axes
from ..format import Format
from ..interface import as_interface
from ..layout import Layout
from ..making import empty, placement, tensor
from ..memory import as_array, own_element
from ..nested import product
from ..tensor import Tensor
from ..transfer import in_one_piece
from .copying import check_apart
from .einops import is_pattern, pattern_format
from .plan import plan


def repack(
    x: Any,
    dst: Layout | Format | str,
    *,
    src: Layout | Format | str | None = None,
    shape: Any = None,
    axes: str | None = None,
    out: Any = None,
    fill: Any = None,
    element: Any = None,
) -> Any:
    """The data of ``x``, a tensor or an array, in the layout ``dst``: a layout, a format, a text in any dialect, or an
    einops pattern with sizes, ``h (w q) -> w h q, q=8``.

    ``src`` says how a flat buffer is laid out, with ``shape`` where that is a format; ``axes`` names the dimensions of
    the data, and a format with names is aligned to them. ``element`` is the type or interface of the result. Fresh
    memory holds ``fill`` beside the data, by default that of the format, else 0; of ``out``, flat memory, only elements
    are written, unless ``fill`` is given.

    A tensor gives a tensor. An array gives an array: of the stored shape for a format, one axis per factor; with the
    strides of a plain layout; else flat.
    """
    source = _source(x, src, shape, element)
    means = source.interface if element is None else as_interface(element)
    if isinstance(dst, str) and is_pattern(dst):
        dst = pattern_format(dst)
    found = placement(dst, means.element)
    names = source.axes if axes is None else checked_axes(axes, source.ndim)
    if isinstance(found, Format) and names is not None:
        found = found.aligned(names)
    if out is None:
        made = empty(found, means, source.shape, fill=fill)
    else:
        made = Tensor(out, with_shape(found, source.shape), means)
        check_apart(source, made)
        if fill is not None:
            made._memories[0].fill(made._code(fill))
    _move(source, made)
    if isinstance(x, Tensor):
        return made
    if isinstance(found, Format):
        stored = found.physical_shape(source.shape)
        return made.raw.reshape(stored) if made.raw.size == product(stored) else made.raw
    strided = made._strided()
    return made.raw if strided is None or found.windowed else strided


def _source(x: Any, src: Layout | Format | str | None, shape: Any, kind: Any) -> Tensor:
    """The data as a tensor; with ``src`` flat memory of that layout, whose ``shape`` a format needs."""
    if src is None:
        found = tensor(x)
        if shape is not None:
            with_shape(Layout.row_major(found.shape), shape)
        return found
    if isinstance(x, Tensor):
        raise ShapeError("a tensor knows its layout.", hint="leave src out, or pass t.raw for its memory", tensor=x)
    raw = isinstance(x, bytes | bytearray | memoryview)
    flat = x if raw else as_array(x)
    if not raw and not flat.flags.c_contiguous:
        raise ShapeError("the memory does not lie together.", hint="copy it: numpy.ascontiguousarray", got=flat.shape)
    if raw and kind is None:
        raise ShapeError("bytes do not tell their elements.", hint="pass element=", got=type(x))
    placed = placement(src, as_interface(kind).element if raw else own_element(flat))
    if isinstance(placed, Format) and shape is None:
        raise ShapeError(f"{placed} has no shape yet.", hint="pass the shape of the data: shape=(...)", format=placed)
    layout = placed if shape is None else with_shape(placed, shape)
    axes = placed.axes if isinstance(placed, Format) else None
    return Tensor(flat if raw else flat.reshape(-1), layout, kind if raw else None, axes=axes)  # type: ignore[arg-type]


def _move(source: Tensor, target: Tensor) -> None:
    """Copy by a plan where both lie in one piece and elements stay what they are; else element by element."""
    (a, first), (b, second) = (in_one_piece(t.layout, t._table) for t in (source, target))
    same = source.interface == target.interface and source.interface.axis is None
    x, out = source._memories[a].typed, target._memories[b].typed
    if same and first is not None and second is not None and x is not None and out is not None:
        plan(first, second, source.interface.element.underlying)(x, out)
    else:
        target.copy_from(source)
