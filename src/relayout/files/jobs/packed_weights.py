"""What becomes of a quantised checkpoint whose weights another kernel is to read: codes, scales, zeros and bias."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ...elements.encoding import Encoding
from ...elements.interface import Interface, Plain
from ...elements.subbyte import pack
from ...elements.types import ELEMENTS
from ...errors import NotExpressible
from ...format import catalog
from ..contents import Source, StoredTensor, with_tensor
from ..quantised import quantised_layers, unknown_layers
from ..quantised_schemes import QuantisedLayer, zeros_interface
from ..record import LayoutRecord, interface_json
from .changes import Operands, TensorChange, copy_unchanged, names_by_reason, plan_change
from .float_scales import marlin_encodings
from .kernel_packings import KERNEL_PACKINGS, Packing
from .layer_checks import check_layer, middle_of_codes
from .rules import Rule, Rules


class PackedChanges(NamedTuple):
    """What becomes of every tensor of a checkpoint, by which packing, of which layers.

    ``symmetric`` says that every zero is in the middle of the codes. ``rest`` are the layers that stay as they are.
    """

    changes: list[TensorChange]
    packing: Packing
    layers: list[QuantisedLayer]
    symmetric: bool
    rest: list[QuantisedLayer]


class _LayerPart(NamedTuple):
    """A tensor of a layer as it is to be: what it is made of, by which rule, and what it is."""

    source: str
    rule: Rule
    role: str


def packed_changes(source: Source, rules: Rules) -> PackedChanges | None:
    """What becomes of every tensor where the layout asked for is a packing and the file has quantised layers.

    None where it is not so. Everything that the packing cannot hold exactly is refused before a byte is written.
    """
    packing = KERNEL_PACKINGS.get(rules.default.to) if isinstance(rules.default.to, str) else None
    if packing is None:
        _check_is_no_order_of_codes(source, rules)
    if packing is None or rules.rules:
        return None
    recognised, layers = quantised_layers(source)
    chosen = [layer for layer in layers if rules.find(layer.tensors["weight"]) is not None]
    for name in unknown_layers(source, layers) if rules.default.src is None else []:
        if rules.find(name) is not None:
            raise NotExpressible(
                f"tensor {name!r} is named as packed codes are, but is no layer with scales and a config that fit.",
                hint="complete the checkpoint, or leave it out by --except",
                tensor=name,
            )
    if not chosen:
        return None
    made: dict[str, list[TensorChange]] = {}
    foreign: list[str] = []
    in_the_middle = [check_layer(recognised, layer, packing) for layer in chosen]
    symmetric = all(in_the_middle)
    operands = Operands()
    for layer in chosen:
        made |= {name: [] for name in layer.tensors.values()}
        made[layer.tensors["weight"]] = list(_changes(recognised, layer, packing, symmetric, operands))
        if "g_idx" in layer.tensors and "g_idx" not in packing.names:
            foreign.append(layer.tensors["g_idx"])
    why = f"{packing.system} has no name for it, and its loader may refuse it: it says no more than the size of a group"
    for reason, names in names_by_reason([(why, name) for name in foreign]).items():
        warnings.warn(f"kept under its name: {names} ({reason}).", stacklevel=3)
    changes = [x for name, entry in source.items() for x in made.get(name, [copy_unchanged(entry)])]
    _check_names(changes)
    rest = [layer for layer in layers if rules.find(layer.tensors["weight"]) is None]
    return PackedChanges(changes, packing, chosen, symmetric, rest)


def _check_is_no_order_of_codes(source: Source, rules: Rules) -> None:
    """Refuse an order of codes for a checkpoint whose words hold them: words would be moved, and scales stay behind."""
    to = rules.default.to
    named = catalog.lookup(to) if isinstance(to, str) and rules.default.src is None else None
    if named is None or not any((getattr(form, "element_bits", None) or 8) < 8 for form in named.forms.values()):
        return
    for layer in quantised_layers(source)[1]:
        if rules.find(layer.tensors["weight"]) is not None and source[layer.tensors["weight"]].record is None:
            raise NotExpressible(
                f"tensor {layer.tensors['weight']!r}: {to} is an order of codes, and no packing of layers with scales.",
                hint=f"choose one of {', '.join(KERNEL_PACKINGS)}, or tell its codes alone by --from and --shape",
                tensor=layer.tensors["weight"],
            )


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
    if "g_idx" in layer.tensors:
        change = copy_unchanged(source[layer.tensors["g_idx"]])
        name = f"{layer.name}.{packing.names.get('g_idx', 'g_idx')}"
        yield change._replace(planned=change.planned._replace(name=name))
    if "zeros" not in layer.tensors and packing.system in ("gptq", "awq", "compressed") and not without_zeros:
        yield _zeros_in_the_middle(layer, packing, groups)
    if "shape" in packing.names:
        yield _shape_of(source, layer, f"{layer.name}.{packing.names['shape']}")


def _parts(
    source: Source, layer: QuantisedLayer, packing: Packing, groups: int, without_zeros: bool
) -> Iterator[_LayerPart]:
    tensors = layer.tensors
    yield _LayerPart(tensors["weight"], Rule(to=packing.weight, dtype=_codes(source, layer, packing)), "weight")
    bias = source.get(tensors.get("bias", ""))
    if bias is not None:
        yield _LayerPart(bias.name, Rule(to=packing.bias), "bias")
    if layer.scheme in ("nvfp4", "fp8"):
        encodings = marlin_encodings(source, layer)
        yield _LayerPart(tensors["scales"], Rule(to=packing.scales, dtype=encodings["scales"]), "scales")
        if "global_scale" in tensors:
            yield _LayerPart(tensors["global_scale"], Rule(dtype=encodings["global_scale"]), "global_scale")
        return
    kind = source[tensors["scales"]].element.name
    times = Encoding(f"{kind}*{packing.times}") if packing.times > 1 else Plain(kind)
    scales = Rule(to=packing.scales if groups > 1 else packing.channel_scales, dtype=times)
    yield _LayerPart(tensors["scales"], scales, "scales")
    if "biases" in packing.names:
        # A code q of scale s and zero z is worth q*s - z*s, and MLX adds a bias: exact where z is a power of two.
        yield _LayerPart(
            tensors["scales"], scales._replace(dtype=Encoding(f"{kind}*-{middle_of_codes(layer.bits)}")), "biases"
        )
    elif "zeros" in tensors and "zeros" in packing.names and not without_zeros:
        to = zeros_interface(layer.bits, packing.zero_less_one)
        yield _LayerPart(tensors["zeros"], Rule(to=packing.zeros, dtype=to), "zeros")


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
    entry = StoredTensor(name, ELEMENTS[packing.words], shape, (), record, _repeat(byte, 4 * shape[0] * shape[1]))
    return copy_unchanged(entry)


@lru_cache(maxsize=4)
def _fill(byte: int, size: int) -> bytes:
    return bytes([byte]) * size


def _repeat(byte: int, size: int) -> bytes:
    """At least so many bytes of one value; layers of about one size share them."""
    return _fill(byte, 1 << (size - 1).bit_length())


def _shape_of(source: Source, layer: QuantisedLayer, name: str) -> TensorChange:
    """The tensor that tells the shape of a layer: its own, or a new one."""
    k, n = layer.shape
    told = source.get(layer.tensors.get("shape", ""))
    data = n.to_bytes(8, "little") + k.to_bytes(8, "little")
    return copy_unchanged(told or StoredTensor(name, ELEMENTS["int64"], (2,), (), inline=data))


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
