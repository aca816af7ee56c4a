"""Probe tensors: data that tell every element from every other, and from padding, after an opaque converter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..elements.types import ELEMENTS, storage_dtype
from ..errors import LimitExceeded, ShapeError, shown
from ..integers.inttuple import as_int
from ..integers.nested import product

if TYPE_CHECKING:
    from numpy.typing import NDArray

PROBE_LIMIT = 1 << 24
"""The most elements that are told apart, and the largest table that a layout is inferred from."""


MOST_INTEGERS = 1 << 31
"""The most integers that a digit takes, so that their products stay in int64."""


def probes(shape: Any, dtype: Any = "uint8") -> list[NDArray[Any]]:
    """Arrays of that shape and type to send through a converter one by one: ``infer(probes, dumps)`` then has all.

    Each array holds one digit of the element's number, as a small integer that the type holds exactly. The second
    digit never equals the first, so padding that is the same constant in every dump is never taken for an element.
    Elements of a packed type (``"uint4"``) have a byte each here; ``infer(probes, dumps, dtype="uint4")`` reads dumps
    where they share one.

    >>> [p.tolist() for p in probes(4)]
    [[0, 1, 2, 3], [1, 2, 3, 4]]
    """
    import numpy as np

    sizes = tuple([as_int(n, "shape") for n in (shape if isinstance(shape, tuple | list) else (shape,))])
    if min(sizes, default=0) < 0:
        raise ShapeError(f"shape {sizes} has a negative size.", hint="sizes are integers >= 0", shape=sizes)
    count = product(sizes)
    if count > PROBE_LIMIT:
        raise LimitExceeded(
            f"probes of {count} elements are over the limit of {PROBE_LIMIT}.",
            hint="probe a smaller tensor that still has several blocks along each dimension",
            limit=PROBE_LIMIT,
        )
    kind, base = _number_type(dtype)
    number = np.arange(count, dtype=np.int64).reshape(sizes)
    number, first = number // base, number % base
    number, step = number // (base - 1), number % (base - 1)
    digits = [first, (first + 1 + step) % base]
    left = -(-count // (base * (base - 1)))
    while left > 1:
        digits.append(number % base)
        number, left = number // base, -(-left // base)
    return [d.astype(kind) for d in digits]


def _number_type(dtype: Any) -> tuple[Any, int]:
    """numpy's type for one element of that type, and how many integers from 0 on it holds exactly."""
    import numpy as np

    named = ELEMENTS.get(dtype if isinstance(dtype, str) else str(getattr(dtype, "__name__", dtype)))
    try:
        kind = np.dtype(dtype) if named is None else storage_dtype(named)
    except (TypeError, ValueError):
        raise ShapeError(
            f"numpy has no type {shown(dtype)}.", hint="probe with an integer type of the same width", dtype=dtype
        ) from None
    if named is not None and named.integral and named.limits[1]:
        return kind, min(named.limits[1] + 1, MOST_INTEGERS)
    if named is not None and named.integral:
        raise ShapeError(f"{named.name} has no numbers from 0 to 1.", hint="probe with uint1", dtype=dtype)
    if kind.kind in "iu":
        return kind, min(int(np.iinfo(kind).max) + 1, MOST_INTEGERS)
    if kind.kind in "fc":
        return kind, min(1 << (np.finfo(kind).nmant + 1), MOST_INTEGERS)
    exact = 0 if named is None else _integers_of_small_float(kind)
    if exact < 2:
        raise ShapeError(f"probes are numbers, not {kind}.", hint="use an integer type of the same width", dtype=kind)
    return kind, exact


def _integers_of_small_float(kind: Any) -> int:
    """How many integers from 0 on a float type of at most 16 bits holds, by trying them."""
    import numpy as np

    numbers = np.arange(1 << 12, dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        exact = numbers.astype(kind).astype(np.float32) == numbers
    return int(np.argmin(exact)) if not exact.all() else numbers.size
