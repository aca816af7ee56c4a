"""What becomes of a quantised checkpoint whose weights another kernel is to read: codes, scales, zeros and bias."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...elements.interface import Interface
from ...elements.subbyte import unpack
from ...elements.types import ELEMENTS
from ...errors import NotExpressible, OutOfBounds
from ..contents import Source, with_tensor
from ..file_pool import FilePool
from ..quantised import WORD, QuantisedLayer, quantised_layers, zeros_interface
from .changes import Operands, TensorChange, copy_unchanged, plan_change
from .rules import Rule, Rules


class Packing(NamedTuple):
    """How one kernel wants a layer: the orders of codes, scales and zeros, and the array of words that holds codes.

    An order is the name of a format, or row-major. ``words`` gives the shape of the 32-bit words of a matrix of (k, n)
    codes, ``columns`` how many columns a kernel takes at a time. Version 1 of GPTQ stores one less than the zero.
    """

    bits: int
    weight: str
    scales: str
    channel_scales: str
    zeros: str
    words: Callable[[int, int, int], tuple[int, int]]
    rows: int
    columns: int
    zero_less_one: bool = False
    bias: str = "row-major"


def _along_k(k: int, n: int, bits: int) -> tuple[int, int]:
    return k * bits // WORD, n


def _along_n(k: int, n: int, bits: int) -> tuple[int, int]:
    return k, n * bits // WORD


def _tiles_of_16(k: int, n: int, bits: int) -> tuple[int, int]:
    return k // 16, n * 16 * bits // WORD


_ROWS = "row-major"

KERNEL_PACKINGS = {
    **{
        f"gptq:w{b}": Packing(b, f"gptq:w{b}", _ROWS, _ROWS, f"gptq:w{b}.zeros", _along_k, WORD // b, WORD // b, True)
        for b in (2, 4, 8)
    },
    "awq:gemm": Packing(4, "awq:gemm", _ROWS, _ROWS, "awq:gemm.zeros", _along_n, 1, 8),
    **{
        f"marlin:w{b}a16": Packing(
            b,
            f"marlin:w{b}a16",
            f"marlin:w{b}a16.scales",
            f"marlin:w{b}a16.channel_scales",
            f"marlin:w{b}a16.zeros",
            _tiles_of_16,
            16,
            64,
            bias="format:0 / 0,4@2 0,4@8 0,2 axes n",
        )
        for b in (4, 8)
    },
}
"""The packings of whole layers, by the name of the order of their codes."""


def packed_changes(source: Source, rules: Rules) -> list[TensorChange] | None:
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
    made: dict[str, TensorChange] = {}
    operands = Operands()
    for layer in chosen:
        for role, (rule, words) in _rules(recognised, layer, packing).items():
            name = layer.tensors[role]
            try:
                change = plan_change(recognised[name], rule, operands)
            except NotExpressible as error:
                raise with_tensor(error, name) from None
            made[name] = _in_words(change, words)
    return [made.get(name) or copy_unchanged(entry) for name, entry in source.items()]


def _rules(source: Source, layer: QuantisedLayer, packing: Packing) -> dict[str, tuple[Rule, tuple[int, ...]]]:
    """For each tensor that changes, how, and the shape of the words that hold it."""
    k, n = layer.shape
    _check_layer(layer, packing)
    groups = -(-k // layer.group)
    found: dict[str, tuple[Rule, tuple[int, ...]]] = {
        "weight": (Rule(to=packing.weight), packing.words(k, n, packing.bits)),
        "scales": (Rule(to=packing.scales if groups > 1 else packing.channel_scales), (groups, n)),
    }
    if "zeros" in layer.tensors:
        to = zeros_interface(layer.bits, packing.zero_less_one)
        _check_zeros(source, layer.tensors["zeros"], to)
        found["zeros"] = Rule(to=packing.zeros, dtype=to), (groups, n * packing.bits // WORD)
    bias = source.get(layer.tensors.get("bias", ""))
    if bias is not None and (packing.bias != _ROWS or bias.record is not None):
        found["bias"] = Rule(to=packing.bias), (n,)
    return found


def _check_layer(layer: QuantisedLayer, packing: Packing) -> None:
    k, n = layer.shape
    weight = layer.tensors["weight"]
    if layer.scheme not in ("gptq", "awq", "marlin"):
        why = f"its zeros are those of {layer.scheme}, which are no integers in the units of a code"
    elif layer.bits != packing.bits:
        why = f"its codes have {layer.bits} bits, and {packing.weight} holds {packing.bits}"
    elif k % packing.rows or n % packing.columns:
        why = f"{k} x {n} codes are no whole tiles of {packing.rows} x {packing.columns}"
    else:
        return
    raise NotExpressible(
        f"tensor {weight!r}: {why}.", hint="quantise the layer again, or choose another packing", tensor=weight
    )


def _in_words(change: TensorChange, shape: tuple[int, ...]) -> TensorChange:
    """The change with its codes in an array of 32-bit words, as the kernel's own loader expects it."""
    planned = change.planned
    if planned.element.bits > 8:
        return change._replace(planned=planned._replace(shape=shape))
    return change._replace(planned=planned._replace(element=ELEMENTS["int32"], shape=shape))


def _check_zeros(source: Source, name: str, to: Interface) -> None:
    """Refuse zeros that the packing cannot store: version 1 of GPTQ has no 0, and none holds one past its bits."""
    entry = source[name]
    shift = _least(to) - _least(entry.interface)
    if not shift:
        return
    import numpy as np

    bits = to.element.bits
    data = np.empty(entry.size, np.uint8)
    with FilePool() as files:
        files.read(entry.segments, [0], data)
    codes = unpack(data, f"uint{bits}", data.size * 8 // bits) if bits < 8 else data
    lost = 0 if shift > 0 else (1 << bits) - 1
    if (codes == lost).any():
        raise OutOfBounds(
            f"tensor {name!r}: a zero of {lost + _least(entry.interface)} cannot be stored: zeros are {_least(to)} to "
            f"{_least(to) + (1 << bits) - 1} there.",
            hint="a GPTQ checkpoint of version 2 stores every zero",
            tensor=name,
        )


def _least(interface: Interface) -> int:
    """The zero that a stored 0 means."""
    return int(interface.decode(0))
