"""How Marlin wants the scales of weights in FP4 and FP8: encodings by the model's type, and by the scales."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...elements.encoding import Encoding
from ...elements.types import storage_dtype
from ...errors import NotExpressible
from ..contents import Source, StoredTensor
from ..file_pool import FilePool
from ..quantised import activation_type
from ..quantised_schemes import QuantisedLayer

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BIASES = {"float16": 15, "bfloat16": 127}
"""The exponent's bias of the types that the kernel computes in."""

_E4M3, _E2M1 = 7, 1
"""That of the types of weights."""

_MOST = 448
"""The largest number in E4M3."""

_READ = 1 << 22


def marlin_encodings(source: Source, layer: QuantisedLayer) -> dict[str, Encoding]:
    """The encodings of a layer's scales.

    The kernel widens a code by its bits alone, so what its exponent then lacks is in the scale: of the row in FP8, and
    of the whole tensor in NVFP4, where 7 of it are in the scales of groups. Those are brought up by the power of two
    that the largest of them leaves room for, in bfloat16, and the scale of the whole tensor brought down by it.
    """
    kind = activation_type(source.path)
    if kind not in _BIASES:
        raise NotExpressible(
            f"tensor {layer.tensors['scales']!r}: its encoding depends on the type that the model computes in, and "
            f"config.json says {kind or 'none'}.",
            hint='say "torch_dtype": "bfloat16" or "float16" in config.json',
            tensor=layer.tensors["scales"],
        )
    if layer.scheme == "fp8":
        return {"scales": Encoding(f"{kind}*2^{_BIASES[kind] - _E4M3}")}
    up = _room(source[layer.tensors["scales"]]) if kind == "bfloat16" else 0
    whole = _BIASES[kind] - _E2M1 - 7 - up
    scales = Encoding(f"marlin_s0e5m3*{1 << up}" if up else "marlin_s0e5m3")
    return {"scales": scales, "global_scale": Encoding(f"float32*2^{whole}")}


def _room(scales: StoredTensor) -> int:
    """The largest power of two by which no scale becomes more than E4M3 holds."""
    import numpy as np

    largest = 0.0
    data: NDArray[Any] = np.empty(min(scales.size, _READ), np.uint8)
    with FilePool() as files:
        for low in range(0, scales.size, _READ):
            part = data[: min(_READ, scales.size - low)]
            files.read(scales.segments, [low], part)
            values = part.view(storage_dtype(scales.element)).astype(np.float32)
            largest = max(largest, float(np.nanmax(values, initial=0)))
    return int(np.floor(np.log2(_MOST / largest))) if largest else 0
