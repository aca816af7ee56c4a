"""Two checkpoints side by side: quantised layers are paired by what their tensors are, whatever they are called."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import NamedTuple

from ...elements.encoding import Encoding
from ...elements.interface import Plain
from ...errors import BadFile
from ..contents import Source, StoredTensor
from ..quantised import quantised_layers
from ..quantised_schemes import QuantisedLayer
from ..record import LayoutRecord
from .compare_tensors import TensorDifference
from .layer_checks import is_in_order, middle_of_codes, zeros_of
from .packed_weights import around_the_middle


class StoredPair(NamedTuple):
    """Two stored tensors that should hold the same; one that is alone has no other, and a ``difference`` says why not.

    ``name`` is that in the first checkpoint.
    """

    name: str
    first: StoredTensor | None
    second: StoredTensor | None
    difference: TensorDifference | None = None


def checkpoint_pairs(one: Source, two: Source) -> list[StoredPair]:
    """The tensors of two checkpoints side by side, those of quantised layers with the records of what they hold."""
    if len(one) == len(two) == 1:
        return [StoredPair(name, entry, other) for (name, entry), other in zip(one.items(), two.values())]
    try:
        (first, layers), (second, others) = quantised_layers(one), quantised_layers(two)
    except BadFile as error:
        warnings.warn(f"compared as they are stored: {error.message}", stacklevel=3)
        first, layers, second, others = one, [], two, []
    by_name = {layer.name: layer for layer in others}
    pairs: list[StoredPair] = []
    paired: set[str] = set()
    for layer in layers:
        other = by_name.get(layer.name)
        if other is not None:
            pairs += _layer_pairs(first, layer, second, other)
            paired |= {*layer.tensors.values(), *other.tensors.values()}
    names = [name for name in dict.fromkeys([*first, *second]) if name not in paired]
    return [*pairs, *[StoredPair(name, first.get(name), second.get(name)) for name in names]]


def _layer_pairs(one: Source, a: QuantisedLayer, two: Source, b: QuantisedLayer) -> Iterator[StoredPair]:
    """The tensors of a layer; what one side says by another tensor, or by none, is compared as what it says."""
    for role in dict.fromkeys([*a.tensors, *b.tensors]):
        if role == "shape" and not {role} <= a.tensors.keys() & b.tensors.keys():
            continue  # the shape of the codes says it
        left, right = one.get(a.tensors.get(role, "")), two.get(b.tensors.get(role, ""))
        name = a.tensors.get(role) or b.tensors[role]
        if left is not None and right is not None:
            if role == "weight" and (a.scheme, b.scheme) not in (("nvfp4", "nvfp4"), ("fp8", "fp8")):
                left, right = _alike(left, right, a.bits), _alike(right, left, a.bits)
            yield StoredPair(name, left, right)
        elif role == "g_idx":
            source, layer = (one, a) if left is not None else (two, b)
            if not is_in_order(source, layer):
                yield StoredPair(name, left, right)
        elif role == "zeros":
            source, layer = (one, a) if left is not None else (two, b)
            odd = _odd_zero(source, layer)
            if odd is not None:
                yield StoredPair(name, left, right, TensorDifference(name, reason=odd))
        elif role == "biases":
            scales = (two[b.tensors["scales"]], one[a.tensors["scales"]])[left is None]._replace(name=name)
            biases = _as_scales(left or right, middle_of_codes(a.bits))
            yield StoredPair(name, *((biases, scales) if left is not None else (scales, biases)))
        else:
            yield StoredPair(name, left, right)


def _alike(codes: StoredTensor, others: StoredTensor, bits: int) -> StoredTensor:
    """Codes as numbers around their middle, if those that they are compared with are."""
    encoded = isinstance(codes.interface, Plain) and isinstance(others.interface, Encoding)
    return around_the_middle(codes, bits) if encoded else codes


def _odd_zero(source: Source, layer: QuantisedLayer) -> str | None:
    """Why zeros that only one side stores are not those that the other side means, if they are not."""
    import numpy as np

    zeros = zeros_of(source[layer.tensors["zeros"]])
    broken = np.argwhere(zeros != middle_of_codes(layer.bits))
    if not len(broken):
        return None
    at = tuple([int(k) for k in broken[0]])
    return f"its zero at {at} is {int(zeros[at])}, and the other checkpoint means {middle_of_codes(layer.bits)}."


def _as_scales(biases: StoredTensor | None, zero: int) -> StoredTensor | None:
    """Biases read as the scales that, times the zero of all codes, they are."""
    if biases is None:
        return None
    meaning = Encoding(f"{biases.element.name}*-{zero}")
    return biases._replace(record=LayoutRecord.of("row-major", biases.shape, meaning, axes="ng"))
