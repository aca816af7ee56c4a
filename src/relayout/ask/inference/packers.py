"""The layout that an opaque packer gives its codes: it is run on probes, and its results are read as memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...elements.types import element
from ...errors import NotExpressible, ShapeError, Undetermined
from ...format import catalog
from ...format.record import Record
from ...format.records import known_records
from ..probes import probes
from .dumps import from_dump
from .live import array_layout, is_array, on_host
from .result import Inference

if TYPE_CHECKING:
    from numpy.typing import NDArray

WEIGHTS = "kn"
"""The dimensions of the codes that a packer takes: input features, then output features."""


def from_packer(packer: Callable[[Any], Any], shape: Any, dtype: Any) -> Inference:
    """The order in which a packer stores codes of that type, whether it stores them as they are or flips their sign.

    The packer takes an array of codes of that shape, each in a byte or a wider element of its own, and gives an array,
    a tensor or bytes. What it stores is read in the order of memory. Where the bits of codes are apart there is no
    layout over whole codes: the error then says which named record it is.
    """
    kind = element(dtype)
    tensors = probes(shape, kind.name)
    packed = [stored_bytes(packer(tensor)) for tensor in tensors]
    try:
        found = _with_names(from_dump(tensors, packed, kind.name), kind.bits)
        return found._replace(names=(*found.names, *_records_of(tensors, packed, kind.bits)))
    except (NotExpressible, Undetermined) as error:
        if not kind.integral:
            raise
        names = _records_of(tensors, packed, kind.bits)
        if names:
            raise NotExpressible(
                f"no layout has these codes whole: their bits lie as in the record {', '.join(names)}.",
                hint=f'rl.catalog.record("{names[0]}") unpacks and packs them',
                names=names,
            ) from None
        flipped = _with_sign_flipped(packed, kind.bits)
        try:
            found = from_dump(tensors, flipped, kind.name)
        except (NotExpressible, Undetermined):
            raise error from None
        told = f"that of the codes with their highest bit flipped, XOR {1 << (kind.bits - 1)}"
        return _with_names(found._replace(related=(*found.related, told)), kind.bits)


def _with_names(found: Inference, bits: int) -> Inference:
    """The inference with the names of weights: the codes of a packer are over k and n, whichever order a name has."""
    if found.format is None or found.layout.rank != len(WEIGHTS):
        return found
    turned = {WEIGHTS: found.layout, WEIGHTS[::-1]: found.layout.permute(1, 0)}
    fits = [(axes, name) for axes, layout in turned.items() for name in catalog.find(layout, bits)]
    weights = [name for axes, name in fits if catalog.ENTRIES[name].axes == axes]
    others = [name for name in found.names if set(catalog.ENTRIES[name].axes) != set(WEIGHTS)]
    return found._replace(names=(*weights, *others))


def _records_of(tensors: list[NDArray[Any]], packed: list[NDArray[Any]], bits: int) -> tuple[str, ...]:
    """The named records of codes alone that hold every probe; rows m of one are output features."""
    return tuple([name for name, named in known_records().items() if _holds(named.record, tensors, packed, bits)])


def _holds(record: Record, tensors: list[NDArray[Any]], packed: list[NDArray[Any]], bits: int) -> bool:
    axes, field = record.axes.replace("m", "n"), record.fields[0]
    if len(record.fields) > 1 or (field.shape, field.bits) != (record.block, bits) or set(axes) != set(WEIGHTS):
        return False
    turned = [tensor if axes == WEIGHTS else tensor.T for tensor in tensors]
    if turned[0].ndim != len(WEIGHTS) or any(n % b for n, b in zip(turned[0].shape, record.block)):
        return False
    if packed[0].size != record.size_of(turned[0].shape):
        return False
    try:
        return all((record.unpack(memory, x.shape)[field.name] == x).all() for x, memory in zip(turned, packed))
    except ShapeError:  # its order takes whole groups of records
        return False


def stored_bytes(x: Any) -> NDArray[Any]:
    """The bytes of an array or of a buffer in the order of memory, which of a strided view is not that of indices."""
    import numpy as np

    if not is_array(x) or isinstance(x, bytes | bytearray | memoryview):
        return np.frombuffer(bytes(x), np.uint8)
    values = on_host(x, "what the packer gave")
    layout = array_layout(x)
    order = sorted(range(values.ndim), key=lambda d: -abs(layout._mode(d).strides[0]) if values.shape[d] > 1 else 0)
    return np.ascontiguousarray(values.transpose(order)).reshape(-1).view(np.uint8)


def _with_sign_flipped(packed: list[NDArray[Any]], bits: int) -> list[NDArray[Any]]:
    """The memory with the highest bit of every element flipped."""
    mask = sum([1 << (bits * place + bits - 1) for place in range(8 // bits)]) if 8 % bits == 0 else 0
    return [memory ^ mask for memory in packed]
