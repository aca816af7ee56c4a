"""Whether data is packed as a kernel wants it, not at all, or twice: told by the plain tensor that it was made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..dialects.resolve import resolve
from ..elements.subbyte import unpack
from ..elements.types import ELEMENTS
from ..errors import LayoutMismatch, ShapeError, shown
from ..format.format import Format
from ..layout.layout import Layout
from .inference.live import array_type, on_host
from .inference.packers import stored_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray


def check_against(x: Any, expects: Any, reference: Any, axes: str | None) -> None:
    """Refuse ``x`` unless its memory holds ``reference`` as ``expects`` says; tell what it holds instead."""
    plain = on_host(reference, "the reference")
    kind = array_type(reference)
    operand = resolve(expects, element=kind)
    if isinstance(operand.format, Format) and (operand.format.element_bits or 8) < 8:
        kind = ELEMENTS[f"uint{operand.format.element_bits}"]
    layout = operand.for_data(plain.shape, axes).placed
    bits = plain.dtype.itemsize * 8 if kind is None else kind.bits
    memory, once = _elements(stored_bytes(x), plain, bits), plain.reshape(-1)
    if memory.size != layout.storage_size:
        raise ShapeError(
            f"{memory.size} elements are stored, and {expects} of shape {plain.shape} needs {layout.storage_size}.",
            hint="give the whole memory of the packed tensor",
            expects=expects,
        )
    if _holds(memory, layout, once):
        return
    where = _first_elsewhere(memory, layout, plain)
    raise LayoutMismatch(
        f"{shown(type(x).__name__)} is {_state(memory, layout, once)}: {expects} has element {where} of the reference "
        f"at {layout(*where)}, where another value is stored.",
        hint=f"rl.repack(reference, {expects!r}) packs it once",
        expected=expects,
        coordinate=where,
    )


def _state(memory: NDArray[Any], layout: Layout, plain: NDArray[Any]) -> str:
    if memory.size == plain.size and (memory == plain).all():
        return "not packed"
    if layout.storage_size == layout.size:
        packed = _pack(plain, layout)
        if _holds(memory, layout, packed):
            return "packed twice"
    return "packed otherwise"


def _pack(plain: NDArray[Any], layout: Layout) -> NDArray[Any]:
    import numpy as np

    made = np.empty(layout.storage_size, plain.dtype)
    made[layout.offsets().reshape(-1)] = plain
    return made


def _holds(memory: NDArray[Any], layout: Layout, plain: NDArray[Any]) -> bool:
    return bool((memory[layout.offsets().reshape(-1)] == plain).all())


def _first_elsewhere(memory: NDArray[Any], layout: Layout, plain: NDArray[Any]) -> tuple[int, ...]:
    import numpy as np

    at = int(np.argmin(memory[layout.offsets().reshape(-1)] == plain.reshape(-1)))
    return tuple([int(i) for i in np.unravel_index(at, plain.shape)])


def _elements(data: NDArray[Any], plain: NDArray[Any], bits: int) -> NDArray[Any]:
    """The memory as elements of the reference's type; packed ones each in a byte."""
    if bits < 8:
        return unpack(data, f"uint{bits}", data.size * 8 // bits).astype(plain.dtype)
    return data.view(plain.dtype)
