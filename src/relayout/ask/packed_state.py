"""Whether data is packed as a kernel wants it, not at all, or twice: told by the plain tensor that it was made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..dialects.read import as_record
from ..dialects.resolve import Resolved, resolve
from ..elements.subbyte import unpack
from ..elements.types import ELEMENTS
from ..errors import LayoutMismatch, ShapeError, shown
from ..format.format import Format
from ..format.record import Record
from ..integers.nested import product
from .inference.live import array_type, on_host
from .inference.packers import stored_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class _ExpectedMemory(NamedTuple):
    """What is expected of memory: how many elements of ``bits`` it has, and ``read``, the tensor of a shape in it.

    ``room`` is the shape that fills the memory, padding included.
    """

    bits: int
    size: int
    room: tuple[int, ...]
    read: Callable[[NDArray[Any], tuple[int, ...]], NDArray[Any]]
    place: Callable[[tuple[int, ...]], str]
    hint: str


def check_against(x: Any, expects: Any, reference: Any, axes: str | None) -> None:
    """Refuse ``x`` unless its memory holds ``reference`` as ``expects`` says, bit for bit; tell what it holds."""
    plain = _as_integers(on_host(reference, "the reference"))
    record = as_record(expects)
    packing = _of_layout(expects, reference, plain, axes) if record is None else _of_record(record, expects, plain)
    memory = _elements(stored_bytes(x), plain, packing.bits)
    if memory.size != packing.size and (memory.size != plain.size or (memory != plain.reshape(-1)).any()):
        raise ShapeError(
            f"{memory.size} elements are stored, and {expects} of shape {plain.shape} needs {packing.size}.",
            hint="give the whole memory of the packed tensor",
            expects=expects,
        )
    if memory.size != packing.size:
        where, state, why = None, "not packed", f"{expects} takes {packing.size} elements with its padding"
    else:
        found = packing.read(memory, plain.shape)
        if (found == plain).all():
            return
        where, state = _first_elsewhere(found, plain), _state(memory, packing, plain)
        why = f"{expects} has element {where} of the reference{packing.place(where)} where another value is stored"
    raise LayoutMismatch(
        f"{shown(type(x).__name__)} is {state}: {why}.",
        hint=packing.hint,
        expected=expects,
        coordinate=where,
    )


def _state(memory: NDArray[Any], packing: _ExpectedMemory, plain: NDArray[Any]) -> str:
    if memory.size == plain.size and (memory == plain.reshape(-1)).all():
        return "not packed"
    if memory.size == product(packing.room):
        once = packing.read(memory, packing.room).reshape(-1)
        if (packing.read(once, plain.shape) == plain).all():
            return "packed twice"
    return "packed otherwise"


def _of_layout(expects: Any, reference: Any, plain: NDArray[Any], axes: str | None) -> _ExpectedMemory:
    kind = array_type(reference)
    operand: Resolved = resolve(expects, element=kind)
    if isinstance(operand.format, Format) and (operand.format.element_bits or 8) < 8:
        kind = ELEMENTS[f"uint{operand.format.element_bits}"]
    placed = operand.for_data(plain.shape, axes)
    blocks = placed.format.block_shape if isinstance(placed.format, Format) else (1,) * plain.ndim

    def read(memory: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        return memory[operand.for_data(shape, axes).placed.offsets().reshape(shape)]

    return _ExpectedMemory(
        plain.dtype.itemsize * 8 if kind is None else kind.bits,
        placed.placed.storage_size,
        tuple([-(-n // b) * b for n, b in zip(plain.shape, blocks, strict=True)]),
        read,
        lambda where: f" at {placed.placed(*where)},",
        f"rl.repack(reference, {expects!r}) packs it once",
    )


def _of_record(record: Record, expects: Any, plain: NDArray[Any]) -> _ExpectedMemory:
    """Records of codes alone; scales beside them are no part of a plain tensor."""
    if len(record.fields) > 1 or record.fields[0].shape != record.block:
        raise ShapeError(
            f"{expects} holds {', '.join([f.name for f in record.fields])}, and a plain tensor has no such fields.",
            hint="record.unpack(data, shape) gives each of them",
            expects=expects,
        )
    [field] = record.fields

    def read(memory: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        found: NDArray[Any] = record.unpack(memory.astype("u1"), shape)[field.name]
        return found.astype(plain.dtype)

    if plain.dtype.itemsize > 1:
        raise ShapeError(
            f"{expects} holds {field.element}, and the reference {plain.dtype.itemsize} bytes an element.",
            hint="give the codes, each in a byte of its own",
            expects=expects,
        )
    size = record.size_of(plain.shape)
    hint = f"record.pack({{{field.name!r}: reference}}, shape) packs it once"
    return _ExpectedMemory(8, size, plain.shape, read, lambda where: "", hint)


def _first_elsewhere(found: NDArray[Any], plain: NDArray[Any]) -> tuple[int, ...]:
    import numpy as np

    return tuple([int(i) for i in np.unravel_index(int(np.argmin(found == plain)), plain.shape)])


def _as_integers(x: NDArray[Any]) -> NDArray[Any]:
    """The elements as their bits, by which NaN is itself and -0 is not 0."""
    import numpy as np

    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}") if x.dtype.itemsize in (1, 2, 4, 8) else x


def _elements(data: NDArray[Any], plain: NDArray[Any], bits: int) -> NDArray[Any]:
    """The memory as elements of the reference's type; packed ones each in a byte."""
    if bits < 8:
        return unpack(data, f"uint{bits}", data.size * 8 // bits).astype(plain.dtype)
    return data.view(plain.dtype)
