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


def floats(x: NDArray[Any], element_type: Element) -> NDArray[Any]:
    """``x`` rounded to a type of reals or complex numbers, as numpy does it.

    To a type that numpy lacks it is rounded twice, first to float32 or complex64. Refused where a number would become
    NaN, or NaN a number.
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
        broken = np.flatnonzero(np.isnan(y) != np.isnan(x))
    if broken.size:
        k = int(broken[0])
        raise misfit(x, k, element_type, f"it would become {y.reshape(-1)[k]}")
    return y


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
