"""Tables of offsets: every value of a layout, in C order, as one int64 array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from ..errors import ShapeError
from ..native import native

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Offsets: TypeAlias = NDArray[np.int64]
    Dim: TypeAlias = tuple[int, int] | Offsets


def offset_table(dims: Sequence[Dim], start: int, swizzle: tuple[int, int, int] | None) -> Offsets:
    """The flat array of ``swizzle(start + sum of each dim's value)``, the last dim running fastest.

    A dim is a pair ``(size, stride)`` or the 1-D array of its values. ``swizzle`` is CuTe's
    ``(bits, base, shift)``. The caller proves that every sum fits in int64; past it sums wrap.
    """
    import numpy as np

    bits, base, shift = swizzle or (0, 0, 0)
    if bits == 0:
        base = shift = 0
    if bits < 0 or base < 0 or bits + base + abs(shift) > 63:
        raise ShapeError(f"Swizzle({bits}, {base}, {shift}) does not stay within 63 bits")
    exact: list[Dim] = [
        dim if isinstance(dim, tuple) else dim.astype(np.int64, order="C", casting="safe", copy=False) for dim in dims
    ]
    sizes = [dim[0] if isinstance(dim, tuple) else dim.size for dim in exact]
    if min(sizes, default=0) < 0:
        raise ShapeError(f"a size must not be negative: {sizes}")
    if math.prod(sizes) == 0:
        return np.empty(0, np.int64)
    if native is None:
        return _pure_table(exact, start, bits, base, shift)
    out = np.empty(math.prod(sizes), np.int64)
    native.fill_offsets(out, exact, start, bits, base, shift)
    return out


def _pure_table(dims: Sequence[Dim], start: int, bits: int, base: int, shift: int) -> Offsets:
    import numpy as np

    out = np.full(1, start, np.int64)
    for dim in dims:
        values = np.arange(dim[0], dtype=np.int64) * dim[1] if isinstance(dim, tuple) else dim
        out = np.add.outer(out, values).ravel()
    if bits:
        moved = out & (((1 << bits) - 1) << (base + max(shift, 0)))
        out ^= moved >> shift if shift >= 0 else moved << -shift
    return out
