"""Numbers as they are stored: arrays of known types whose values a type of elements holds, or a refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import NotExpressible, ShapeError, shown
from .types import Element, element, storage_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray


def numbers(values: Any) -> NDArray[Any]:
    """The values as an array of a known type."""
    import numpy as np

    try:
        x = np.asarray(values)
        element_type = element(x.dtype)
    except (TypeError, ValueError):
        raise ShapeError(
            f"{shown(values)} are no numbers of a type that numpy or ml_dtypes has.",
            hint="give numbers, nested lists of one shape or an array; integers of more than 64 bits as floats",
            got=values,
        ) from None
    # ml_dtypes' integers know few operations; as bytes they are the same numbers.
    return x.astype(storage_dtype(element_type)) if element_type.integral and element_type.bits < 8 else x


def like(values: Any, x: NDArray[Any]) -> Any:
    """``x``, or the Python number where a number was given."""
    import numpy as np

    return x if x.ndim or isinstance(values, np.ndarray) else x.item()


def integers(x: NDArray[Any], element_type: Element) -> NDArray[Any]:
    """``x`` as the integers that ``element_type`` is stored as; refused where one does not fit."""
    import numpy as np

    if x.size and x.dtype.kind not in "biu":
        if element(x.dtype).complex:
            raise misfit(x, 0, element_type, "complex")
        x = x.astype(np.float64)
        broken = np.flatnonzero(~(np.isfinite(x) & (np.rint(x) == x)))
        if broken.size:
            raise misfit(x, int(broken[0]), element_type, "not an integer")
    low, high = element_type.limits
    stored = storage_dtype(element_type)
    if x.size and (x.dtype != stored or element_type.bits < 8):
        for k in (int(x.argmin()), int(x.argmax())):
            if not low <= int(x.reshape(-1)[k]) <= high:
                raise misfit(x, k, element_type, f"outside {low} to {high}")
    return x.astype(stored, copy=False)


_MANTISSAS = {"float16": 10, "float32": 23, "float64": 52}


def floats(x: NDArray[Any], element_type: Element) -> NDArray[Any]:
    """``x`` rounded to a type of reals or complex numbers, as numpy does it.

    To a type that numpy lacks it is rounded twice, first to float32 or complex64. Refused where a number would become
    NaN, or NaN a number. The bits of a NaN are the same on every machine (`converted_nans`).
    """
    import numpy as np

    stored = storage_dtype(element_type)
    if x.dtype == stored:
        return x
    if element(x.dtype).complex and not element_type.complex:
        raise misfit(x, 0, element_type, "complex")
    with np.errstate(all="ignore"):
        if not hasattr(np, element_type.name):
            x = x.astype(np.complex64 if element_type.complex else np.float32, copy=False)
        y = x.astype(stored, copy=False)
        nan = np.isnan(x)
        broken = np.flatnonzero(np.isnan(y) != nan)
    if broken.size:
        k = int(broken[0])
        raise misfit(x, k, element_type, f"it would become {y.reshape(-1)[k]}")
    if nan.any() and x.dtype.name != stored.name and {x.dtype.name, stored.name} <= _MANTISSAS.keys():
        y[nan] = converted_nans(x[nan], stored)
    return y


def converted_nans(x: NDArray[Any], stored: Any) -> NDArray[Any]:
    """NaNs of one of float16, float32 and float64 as those of another, by their bits.

    The sign is kept, and of the mantissa the first bits, the very first of which says that a NaN is quiet. To and from
    float16 that one is kept too, so that all halves come back from a wider type as they were; what would have no bits
    left has the last one. Between float32 and float64 a NaN becomes quiet, as IEEE 754 has it. numpy's own way depends
    on the machine: processors of ARM make NaNs of float16 quiet.
    """
    import numpy as np

    a, b = _MANTISSAS[x.dtype.name], _MANTISSAS[stored.name]
    top_a, top_b = [8 * kind.itemsize - 1 for kind in (x.dtype, stored)]
    bits = x.astype(x.dtype.newbyteorder("=")).view(f"u{x.itemsize}").astype(np.uint64)
    sign, rest = bits >> np.uint64(top_a) << np.uint64(top_b), bits & np.uint64((1 << a) - 1)
    kept = rest << np.uint64(b - a) if b > a else rest >> np.uint64(a - b)
    kept = np.maximum(kept, 1) if 10 in (a, b) else kept | np.uint64(1 << (b - 1))
    infinity = np.uint64((1 << top_b) - (1 << b))
    return (sign | infinity | kept).astype(f"u{stored.itemsize}").view(stored)


def misfit(x: NDArray[Any], k: int, element_type: Element, why: str) -> NotExpressible:
    """The refusal of the k-th value."""
    import numpy as np

    value = x.reshape(-1)[k].item() if x.size else x.dtype
    index = tuple([int(i) for i in np.unravel_index(k, x.shape)]) if x.size else ()
    return NotExpressible(
        f"{shown(value)}{f' at {index}' if index else ''} has no place in {element_type.name}: {why}.",
        hint="round, clip or convert the values first, as you want it done",
        counterexample=index or value,
        value=value,
        element=element_type,
    )
