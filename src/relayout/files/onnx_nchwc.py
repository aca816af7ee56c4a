"""Weights that ONNX Runtime stores in blocks of channels, in the models that it saves after optimising them.

A convolution of the domain ``com.microsoft.nchwc`` takes its weights as ``OIHW16i16o``, or as ``OIHW16o`` where it is
depthwise or its input has fewer channels than a block. The sizes of the tensor are padded to whole blocks and stay in
the order OIHW, so that nothing in it tells. The block has 8 or 16 channels by the machine that saved the model, which
the file does not say: ``block_sizes`` keeps those that everything in the graph agrees with
(``nchwc_transformer.cc`` and ``MlasNchwcGetBlockSize`` of ONNX Runtime).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .onnx_nodes import OnnxNode

NCHWC = "com.microsoft.nchwc"
"""The domain of the operators over blocks of channels."""

BLOCKS = (8, 16)
"""The sizes of blocks that ONNX Runtime has."""


class BlockedFilter(NamedTuple):
    """Weights of a convolution over blocks: ``inner`` says that the input's channels are in blocks as well."""

    name: str
    inner: bool

    def text(self, block: int) -> str:
        """The layout as TVM writes it, over the dimensions OIHW."""
        return f"OIHW{block}i{block}o" if self.inner else f"OIHW{block}o"


class Nchwc(NamedTuple):
    """What a graph says of its blocks: the sizes that are possible, its weights in blocks, its values in blocks.

    ``values`` has for each its channels with the padding, where something tells them.
    """

    blocks: tuple[int, ...]
    filters: dict[str, BlockedFilter]
    values: dict[str, int | None]

    def texts(self, name: str) -> tuple[str, ...]:
        """The layouts that weights may have, one for each possible size of a block."""
        return tuple([self.filters[name].text(block) for block in self.blocks])


def blocked_parts(
    nodes: Iterable[OnnxNode],
    shapes: Mapping[str, tuple[int, ...]],
    numbers: Mapping[str, tuple[int, ...]] | None = None,
) -> Nchwc:
    """What is stored in blocks, from the nodes in the order of the graph and the shapes of the weights.

    ``numbers`` are those of integer constants: where blocks are split off by a Reshape, its shape names their size.
    """
    possible = set(BLOCKS)
    filters: dict[str, BlockedFilter] = {}
    channels: dict[str, int | None] = {}
    for node in nodes:
        inputs = [name for name in node.inputs if name in channels]
        if node.domain != NCHWC:
            if inputs and node.outputs:
                wanted = (numbers or {}).get(node.inputs[-1], ()) if node.operator == "Reshape" else ()
                if len(wanted) == 5 and wanted[-1] in BLOCKS:
                    possible &= {wanted[-1]}
                channels.update(dict.fromkeys(node.outputs, _common(node, [channels[name] for name in inputs])))
            continue
        if node.operator == "ReorderOutput":
            stored, kept = channels.get(node.inputs[0]) if node.inputs else None, node.integer("channels")
            if stored is not None and kept > 0:
                possible &= {b for b in possible if -(-kept // b) * b == stored}
            continue
        padded = channels.get(node.inputs[0]) if node.inputs else None
        if node.operator == "Conv" and len(node.inputs) > 1:
            shape = shapes.get(node.inputs[1], ())
            if len(shape) == 4:
                found = _filter(node, shape, node.inputs[0] in channels)
                filters[found.name] = found
                if found.inner:
                    channels[node.inputs[0]] = shape[1] * node.integer("group", 1)
                padded = shape[0]
                possible &= _agreeing(shape, found, node.integer("group", 1), possible)
        channels.update(dict.fromkeys(node.outputs, padded))
    return Nchwc(tuple(sorted(possible)), filters, channels)


def _common(node: OnnxNode, sizes: list[int | None]) -> int | None:
    """The channels of what an operator over blocks gives, padded."""
    known = [n for n in sizes if n is not None]
    if node.operator == "Concat":
        return sum(known) if len(known) == len(sizes) == len(node.inputs) else None
    return known[0] if known and len(set(known)) == 1 and node.operator != "Reshape" else None


def _filter(node: OnnxNode, shape: tuple[int, ...], blocked_input: bool) -> BlockedFilter:
    depthwise = node.integer("group", 1) > 1 and shape[1] == 1 and shape[0] == node.integer("group", 1)
    return BlockedFilter(node.inputs[1], blocked_input and not depthwise)


def _agreeing(shape: tuple[int, ...], found: BlockedFilter, group: int, possible: set[int]) -> set[int]:
    """The blocks that divide the padded channels; input channels that are not in blocks are fewer than a block."""
    agreeing = {b for b in possible if shape[0] % b == 0 and (not found.inner or shape[1] % b == 0)}
    return agreeing if found.inner or group > 1 else {b for b in agreeing if shape[1] < b}
