"""What a packing of layers cannot hold exactly: each is refused with its tensor, before a byte is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...elements.encoding import Encoding
from ...elements.interface import Interface
from ...elements.types import storage_dtype
from ...errors import NotExpressible, OutOfBounds
from ...tensors.tensor import Tensor
from ..contents import Source, StoredTensor
from ..file_pool import FilePool
from ..quantised_schemes import QuantisedLayer, zeros_interface
from .kernel_packings import Packing

if TYPE_CHECKING:
    from numpy.typing import NDArray


def check_layer(source: Source, layer: QuantisedLayer, packing: Packing) -> bool:
    """Refuse a layer that the packing cannot hold; says whether all its zeros are in the middle of the codes."""
    k, n = layer.shape
    weight = layer.tensors["weight"]
    if layer.scheme not in packing.schemes:
        why = f"its codes are those of {layer.scheme}, and {packing.called} holds those of {', '.join(packing.schemes)}"
    elif layer.scheme == "mlx" and not _has_biases_in_the_middle(source, layer):
        why = f"its biases are not all -{middle_of_codes(layer.bits)} scales, and others are no zeros"
    elif layer.bits != packing.bits:
        why = f"its codes have {layer.bits} bits, and {packing.weight} holds {packing.bits}"
    elif k % packing.rows or n % packing.columns:
        why = f"{k} x {n} codes are no whole tiles of {packing.rows} x {packing.columns}"
    elif packing.groups and layer.group not in packing.groups:
        why = f"its groups are of {layer.group}, and those of {packing.system} of {', '.join(map(str, packing.groups))}"
    elif k % layer.group and packing.system != "gptq":
        why = f"its last group has {k % layer.group} of {layer.group} rows, and {packing.system} has whole ones"
    elif "g_idx" in layer.tensors and (most := int(_stored(source[layer.tensors["g_idx"]]).max())) * layer.group >= k:
        why = f"{layer.tensors['g_idx']} deals rows to a group {most}, and there are {-(-k // layer.group)}"
    elif "g_idx" in layer.tensors and "g_idx" not in packing.names and not is_in_order(source, layer):
        why = f"its rows are in groups by {layer.tensors['g_idx']}, and {packing.system} has them in order"
    else:
        return _check_zeros(source, layer, packing)
    raise NotExpressible(
        f"tensor {weight!r}: {why}.", hint="quantise the layer again, or choose another packing", tensor=weight
    )


def _check_zeros(source: Source, layer: QuantisedLayer, packing: Packing) -> bool:
    """Refuse zeros that the packing cannot store: version 1 of GPTQ has no 0, and none holds one past its bits.

    Says whether all are in the middle.
    """
    name = layer.tensors.get("zeros")
    if name is None:
        return True
    entry, middle = source[name], middle_of_codes(layer.bits)
    zeros = zeros_of(entry)
    if "zeros" not in packing.names:
        odd = zeros[zeros != middle]
        if odd.size:
            zero = int(odd[0])
            why = (
                f"is a bias of {-zero} scales in {packing.system}, and only that of {middle} is never rounded"
                if "biases" in packing.names
                else f"has no place in {packing.called}, whose codes are around {middle}"
            )
            raise NotExpressible(
                f"tensor {name!r}: a zero of {zero} {why}.",
                hint="choose a packing with zeros, or quantise the layer again",
                tensor=name,
            )
        return True
    least = _least(zeros_interface(layer.bits, packing.zero_less_one))
    most = least + (1 << layer.bits) - 1
    lost = zeros[(zeros < least) | (zeros > most)]
    if lost.size:
        raise OutOfBounds(
            f"tensor {name!r}: a zero of {int(lost[0])} cannot be stored: zeros are {least} to {most} there.",
            hint=f"gptq_v2:w{layer.bits} stores every zero of its codes"
            if int(lost[0]) < least
            else "version 1 stores 0 so, too, and loaders read it as either: quantise the layer again",
            tensor=name,
        )
    return bool((zeros == middle).all())


def _has_biases_in_the_middle(source: Source, layer: QuantisedLayer) -> bool:
    """Whether the biases of MLX are exactly what the zero in the middle gives."""
    import numpy as np

    scales, biases = [source[layer.tensors[role]] for role in ("scales", "biases")]
    if scales.element != biases.element:
        return False
    meaning = Encoding(f"{scales.element.name}*-{middle_of_codes(layer.bits)}")
    kind = storage_dtype(scales.element)
    stored = [_stored(x).reshape(-1).view(kind) for x in (scales, biases)]
    return bool(np.array_equal(meaning.decode(stored[1]), stored[0]))


def zeros_of(entry: StoredTensor) -> NDArray[Any]:
    """The zeros that a tensor means."""
    import numpy as np

    return _stored(entry).astype(np.int16) + _least(entry.interface)


def is_in_order(source: Source, layer: QuantisedLayer) -> bool:
    """Whether ``g_idx`` says that rows are dealt to groups one after another."""
    import numpy as np

    told = _stored(source[layer.tensors["g_idx"]])
    return bool(np.array_equal(told, np.arange(layer.shape[0]) // layer.group))


def _stored(entry: StoredTensor) -> NDArray[Any]:
    """The stored elements of a tensor in logical order."""
    import numpy as np

    data = np.empty(entry.size, np.uint8) if entry.inline is None else np.frombuffer(entry.inline, np.uint8)
    if entry.inline is None:
        with FilePool() as files:
            files.read(entry.segments, [0], data)
    return Tensor(data.data, entry.layout, entry.interface.element.underlying.name).stored()


def middle_of_codes(bits: int) -> int:
    """The zero of codes without zeros of their own."""
    return 1 << (bits - 1)


def _least(interface: Interface) -> int:
    """The zero that a stored 0 means."""
    return int(interface.decode(0))
