"""What the notations of plain shape, stride and offset share."""

from __future__ import annotations

from typing import Any

from ..immutable import NamedTuple
from ..layout.layout import Layout
from ..layout.modes import simplify_mode
from .refusal import cannot

_PADDING = "padded=True writes the whole box; the mojo form keeps the window"
_WAY_OUT = "repack into plain strides, or keep it in the mojo form"


class Strided(NamedTuple):
    """One size and one stride per dimension, and an offset, in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


class Strides(NamedTuple):
    """Strides and an offset for a shape that is still to come."""

    strides: tuple[int, ...]
    offset: int

    def layout(self, shape: Any) -> Layout:
        return Layout(shape if isinstance(shape, tuple | list) else (shape,), self.strides, offset=self.offset)


def sizes_and_strides(layout: Layout, dialect: str, negative: bool = False) -> Strided:
    """``layout`` as plain sizes and strides; refused where blocks, padding or a swizzle do not fit into them.

    The strides say a pitch; what it leaves behind the last element, less than one largest step, needs no word.
    """
    if layout.swizzle is not None or layout.has_basis:
        raise cannot(layout, dialect, "it has no swizzles and no coordinates as strides", _WAY_OUT)
    strides = []
    offset = layout.offset
    for d in range(layout.rank):
        mode = layout._mode(d)
        if len(mode.sizes) == 1:
            offset += mode.origin * mode.strides[0]
            strides.append(mode.strides[0])
            continue
        constant, mode = simplify_mode(mode)
        if len(mode.sizes) > 1:
            raise cannot(layout, dialect, f"dimension {d} steps in blocks, and a stride is one number", _WAY_OUT)
        offset += constant
        strides.append(mode.strides[0] if mode.sizes else 0)
    if not negative and (offset < 0 or any(s < 0 for s in strides)):
        raise cannot(layout, dialect, "it has no negative strides or offsets", _WAY_OUT)
    if layout.windowed:
        room = layout.storage_size - Layout(layout.extents, tuple(strides), offset=offset).storage_size
        if room >= max([1, *[abs(s) for s, n in zip(strides, layout.extents) if n > 1]]):
            raise cannot(layout, dialect, f"it has no padding, and {room} elements of the box are padding", _PADDING)
    return Strided(layout.extents, tuple(strides), offset)
