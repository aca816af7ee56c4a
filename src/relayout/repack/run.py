"""``repack``: data in another layout, in one call."""

from __future__ import annotations

from typing import Any

from ..dialects import with_shape
from ..errors import ShapeError
from ..format import Format
from ..interface import as_interface
from ..layout import Layout
from ..making import empty, placement, tensor
from ..memory import own_element
from ..nested import product
from ..tensor import Tensor
from ..transfer import in_one_piece
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
    source = tensor(x) if src is None else _unpacked(x, src, shape)
    means = source.interface if element is None else as_interface(element)
    if isinstance(dst, str) and is_pattern(dst):
        dst = pattern_format(dst)
    found = placement(dst, means.element)
    names = axes or source.axes
    if isinstance(found, Format) and names is not None:
        found = found.aligned(names)
    if out is None:
        made = empty(found, means, source.shape, fill=fill)
    else:
        made = Tensor(out, with_shape(found, source.shape), means)
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


def _unpacked(x: Any, src: Layout | Format | str, shape: Any) -> Tensor:
    """Flat memory as a tensor of the layout that it has."""
    import numpy as np

    flat = x.raw if isinstance(x, Tensor) else np.asarray(x).reshape(-1)
    found = placement(src, own_element(flat))
    if isinstance(found, Format) and shape is None:
        raise ShapeError(f"{found} has no shape yet.", hint="pass the shape of the data: shape=(...)", format=found)
    layout = found if isinstance(found, Layout) else found.layout(shape)
    axes = found.axes if isinstance(found, Format) else None
    return Tensor(flat, layout, axes=axes)


def _move(source: Tensor, target: Tensor) -> None:
    """Copy by a plan where both lie in one piece and elements stay what they are; else element by element."""
    (a, first), (b, second) = (in_one_piece(t.layout, t._table) for t in (source, target))
    same = source.interface == target.interface and source.interface.axis is None
    x, out = source._memories[a].typed, target._memories[b].typed
    if same and first is not None and second is not None and x is not None and out is not None:
        plan(first, second, source.interface.element.underlying.name)(x, out)
    else:
        target.copy_from(source)
