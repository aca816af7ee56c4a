"""What becomes of a quantised checkpoint whose weights another kernel is to read: codes, scales, zeros and bias."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ...elements.encoding import Encoding
from ...elements.interface import Interface, Plain
from ...elements.subbyte import pack
from ...elements.types import ELEMENTS
from ...errors import NotExpressible, OutOfBounds
from ...tensors.tensor import Tensor
from ..contents import Source, StoredTensor, with_tensor
from ..file_pool import FilePool
from ..quantised import QuantisedLayer, quantised_layers, zeros_interface
from ..record import LayoutRecord, interface_json
from .changes import Operands, TensorChange, copy_unchanged, names_by_reason, plan_change
from .float_scales import marlin_encodings
from .kernel_packings import KERNEL_PACKINGS, Packing
from .rules import Rule, Rules

if TYPE_CHECKING:
    from numpy.typing import NDArray


class PackedChanges(NamedTuple):
    """What becomes of every tensor of a checkpoint, by which packing, of which layers.

    ``symmetric`` says that every zero is in the middle of the codes. ``rest`` are the layers that stay as they are.
    """

    changes: list[TensorChange]
    packing: Packing
    layers: list[QuantisedLayer]
    symmetric: bool
    rest: list[QuantisedLayer]


class _Part(NamedTuple):
    """A tensor of a layer as it is to be: what it is made of, by which rule, and what it is."""

    source: str
    rule: Rule
    role: str


def packed_changes(source: Source, rules: Rules) -> PackedChanges | None:
    """What becomes of every tensor where the layout asked for is a packing and the file has quantised layers.

    None where it is not so. Everything that the packing cannot hold exactly is refused before a byte is written.
    """
    packing = KERNEL_PACKINGS.get(rules.default.to) if isinstance(rules.default.to, str) else None
    if packing is None or rules.rules:
        return None
    recognised, layers = quantised_layers(source)
    chosen = [layer for layer in layers if rules.find(layer.tensors["weight"]) is not None]
    if not chosen:
        return None
    made: dict[str, list[TensorChange]] = {}
    left_out: list[str] = []
    in_the_middle = [_check_layer(recognised, layer, packing) for layer in chosen]
    symmetric = all(in_the_middle)
    operands = Operands()
    for layer in chosen:
        made |= {name: [] for name in layer.tensors.values()}
        made[layer.tensors["weight"]] = list(_changes(recognised, layer, packing, symmetric, operands))
        if "g_idx" in layer.tensors and "g_idx" not in packing.names:
            left_out.append(layer.tensors["g_idx"])
    why = f"{packing.system} has no place for it, and it says no more than the size of a group"
    for reason, names in names_by_reason([(why, name) for name in left_out]).items():
        warnings.warn(f"left out: {names} ({reason}).", stacklevel=3)
    changes = [x for name, entry in source.items() for x in made.get(name, [copy_unchanged(entry)])]
    _check_names(changes)
    rest = [layer for layer in layers if rules.find(layer.tensors["weight"]) is None]
    return PackedChanges(changes, packing, chosen, symmetric, rest)


def _changes(
    source: Source, layer: QuantisedLayer, packing: Packing, symmetric: bool, operands: Operands
) -> Iterator[TensorChange]:
    """What becomes of the tensors of a layer."""
    k, n = layer.shape
    groups = -(-k // layer.group)
    # compressed-tensors says by a word that all zeros are in the middle; GPTQ and AWQ store them, Marlin takes either.
    without_zeros = packing.system == "compressed" and symmetric
    for part in _parts(source, layer, packing, groups, without_zeros):
        entry = source[part.source]
        if part.role == "weight" and packing.codes and isinstance(entry.interface, Plain):
            entry = around_the_middle(entry, layer.bits)
        try:
            change = plan_change(entry, part.rule, operands)
        except NotExpressible as error:
            raise with_tensor(error, part.source) from None
        planned = change.planned._replace(name=f"{layer.name}.{packing.names[part.role]}")
        if part.role != "global_scale":
            planned = planned._replace(shape=packing.stored_shape(part.role, k, n, groups))
        if part.role in ("weight", "zeros"):
            planned = planned._replace(element=ELEMENTS[packing.words])
        yield change._replace(planned=planned)
    if "g_idx" in layer.tensors and "g_idx" in packing.names:
        change = copy_unchanged(source[layer.tensors["g_idx"]])
        yield change._replace(planned=change.planned._replace(name=f"{layer.name}.{packing.names['g_idx']}"))
    if "zeros" not in layer.tensors and packing.system in ("gptq", "awq", "compressed") and not without_zeros:
        yield _zeros_in_the_middle(layer, packing, groups)
    if "shape" in packing.names:
        yield _shape_of(source, layer, f"{layer.name}.{packing.names['shape']}")


def _parts(
    source: Source, layer: QuantisedLayer, packing: Packing, groups: int, without_zeros: bool
) -> Iterator[_Part]:
    tensors = layer.tensors
    yield _Part(tensors["weight"], Rule(to=packing.weight, dtype=_codes(source, layer, packing)), "weight")
    bias = source.get(tensors.get("bias", ""))
    if bias is not None:
        yield _Part(bias.name, Rule(to=packing.bias), "bias")
    if layer.scheme in ("nvfp4", "fp8"):
        encodings = marlin_encodings(source, layer)
        yield _Part(tensors["scales"], Rule(to=packing.scales, dtype=encodings["scales"]), "scales")
        if "global_scale" in tensors:
            yield _Part(tensors["global_scale"], Rule(dtype=encodings["global_scale"]), "global_scale")
        return
    kind = source[tensors["scales"]].element.name
    times = Encoding(f"{kind}*{packing.times}") if packing.times > 1 else Plain(kind)
    scales = Rule(to=packing.scales if groups > 1 else packing.channel_scales, dtype=times)
    yield _Part(tensors["scales"], scales, "scales")
    if "biases" in packing.names:
        # A code q of scale s and zero z is worth q*s - z*s, and MLX adds a bias: exact where z is a power of two.
        yield _Part(
            tensors["scales"], scales._replace(dtype=Encoding(f"{kind}*-{middle_of_codes(layer.bits)}")), "biases"
        )
    elif "zeros" in tensors and "zeros" in packing.names and not without_zeros:
        to = zeros_interface(layer.bits, packing.zero_less_one)
        yield _Part(tensors["zeros"], Rule(to=packing.zeros, dtype=to), "zeros")


def _codes(source: Source, layer: QuantisedLayer, packing: Packing) -> Interface | None:
    """What the codes become, where they are not stored as they were."""
    stored = source[layer.tensors["weight"]].interface
    if packing.codes:
        return Encoding(packing.codes)
    return None if isinstance(stored, Plain) else _around_the_middle(layer.bits)


def _around_the_middle(bits: int) -> Encoding:
    return Encoding(f"uint{bits}-{middle_of_codes(bits)}")


def around_the_middle(entry: StoredTensor, bits: int) -> StoredTensor:
    """Codes as the numbers that they are once the zero is taken off, which for all of them is in the middle."""
    if entry.record is None:
        return entry
    return entry._replace(record=entry.record._replace(interface=interface_json(_around_the_middle(bits))))


def _zeros_in_the_middle(layer: QuantisedLayer, packing: Packing, groups: int) -> TensorChange:
    """The zeros of a layer that has none of its own, since all are in the middle."""
    k, n = layer.shape
    name = f"{layer.name}.{packing.names['zeros']}"
    shape, meaning = packing.stored_shape("zeros", k, n, groups), zeros_interface(layer.bits, packing.zero_less_one)
    axes = "ng" if packing.along == "rows" else "gn"
    sizes = (n, groups) if axes == "ng" else (groups, n)
    record = LayoutRecord.of(packing.zeros, sizes, meaning, axes=axes)
    code = meaning.encode(middle_of_codes(layer.bits))
    byte = int(pack([code] * 8, meaning.element)[0]) if layer.bits < 8 else int(code)
    entry = StoredTensor(name, ELEMENTS[packing.words], shape, (), record, _repeated(byte, 4 * shape[0] * shape[1]))
    return copy_unchanged(entry)


@lru_cache(maxsize=4)
def _filled(byte: int, size: int) -> bytes:
    return bytes([byte]) * size


def _repeated(byte: int, size: int) -> bytes:
    """At least so many bytes of one value; layers of about one size share them."""
    return _filled(byte, 1 << (size - 1).bit_length())


def _shape_of(source: Source, layer: QuantisedLayer, name: str) -> TensorChange:
    """The tensor that tells the shape of a layer: its own, or a new one."""
    k, n = layer.shape
    told = source.get(layer.tensors.get("shape", ""))
    data = n.to_bytes(8, "little") + k.to_bytes(8, "little")
    return copy_unchanged(told or StoredTensor(name, ELEMENTS["int64"], (2,), (), inline=data))


def _check_layer(source: Source, layer: QuantisedLayer, packing: Packing) -> bool:
    """Refuse a layer that the packing cannot hold; says whether all its zeros are in the middle of the codes."""
    k, n = layer.shape
    weight = layer.tensors["weight"]
    if layer.scheme not in packing.schemes:
        why = f"its codes are those of {layer.scheme}, and {packing.called} holds those of {', '.join(packing.schemes)}"
        if layer.scheme == "mlx":
            why = "its zeros are those of mlx, which are no integers in the units of a code"
    elif layer.bits != packing.bits:
        why = f"its codes have {layer.bits} bits, and {packing.weight} holds {packing.bits}"
    elif k % packing.rows or n % packing.columns:
        why = f"{k} x {n} codes are no whole tiles of {packing.rows} x {packing.columns}"
    elif packing.groups and layer.group not in packing.groups:
        why = f"its groups are of {layer.group}, and those of {packing.system} of {', '.join(map(str, packing.groups))}"
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
            hint="a GPTQ checkpoint of version 2 stores every zero",
            tensor=name,
        )
    return bool((zeros == middle).all())


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


def _check_names(changes: list[TensorChange]) -> None:
    """Refuse a checkpoint that has a tensor of a name that another is to get."""
    seen: set[str] = set()
    for name in [change.planned.name for change in changes]:
        if name in seen:
            raise NotExpressible(
                f"tensor {name!r} is there already, and another is to be called so.",
                hint="rename it, or leave it out of the checkpoint",
                tensor=name,
            )
        seen.add(name)


def middle_of_codes(bits: int) -> int:
    """The zero of codes without zeros of their own."""
    return 1 << (bits - 1)


def _least(interface: Interface) -> int:
    """The zero that a stored 0 means."""
    return int(interface.decode(0))
